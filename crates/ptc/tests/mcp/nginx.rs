//! The proxy of `docs/mcp-server.md`: the configuration that stands there serves TLS in front of the server.

use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::port::own_port;
use crate::support::{Folder, HttpServer, TOKEN, call, eventually, initialize};

const PAGE: &str = include_str!("../../../../docs/mcp-server.md");

/// The block of the page that begins with this word.
fn documented(language: &str) -> &'static str {
    let begin = format!("```{language}\n");
    let rest = PAGE.split_once(&begin).unwrap_or_else(|| panic!("no {language} in the page")).1;
    rest.split_once("```").unwrap().0
}

struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        crate::skip::skip(program);
    }
    found
}

#[test]
fn the_documented_proxy_works() {
    if !has("nginx") || !has("openssl") || !has("curl") {
        return;
    }
    let folder = Folder::new();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let certificate = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=ptc.example"])
        .args([
            "-addext",
            "subjectAltName=DNS:ptc.example",
            "-keyout",
            &path("key.pem"),
            "-out",
            &path("cert.pem"),
        ])
        .output()
        .unwrap();
    assert!(certificate.status.success(), "{certificate:?}");
    let server = HttpServer::start(&["--http-auth-token", TOKEN, "--program-timeout-ms", "2500"]);
    let port = own_port();
    // Only places and ports differ from the page.
    let site = documented("nginx")
        .replace("listen 443 ssl", &format!("listen 127.0.0.1:{port} ssl"))
        .replace("/etc/ssl/ptc/cert.pem", &path("cert.pem"))
        .replace("/etc/ssl/ptc/key.pem", &path("key.pem"))
        .replace("127.0.0.1:7332", &server.address.to_string());
    let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {};", path(kind)))
        .join("\n");
    let config = format!(
        "daemon off;\nmaster_process off;\npid {};\nerror_log {};\nevents {{}}\nhttp {{\naccess_log off;\n{temp}\n{site}\n}}\n",
        path("nginx.pid"),
        path("error.log"),
    );
    let file = folder.file("nginx.conf", &config);
    let _nginx = Nginx(Command::new("nginx").args(["-c", &file, "-e", &path("error.log")]).spawn().unwrap());
    eventually("nginx listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());

    let curl = |args: &[&str], body: &str| {
        let output = Command::new("curl")
            .args(["-sS", "-i", "--raw", "--cacert", &path("cert.pem")])
            .args([
                "--resolve",
                &format!("ptc.example:{port}:127.0.0.1"),
                "-H",
                "content-type: application/json",
            ])
            .args(["-H", "accept: application/json, text/event-stream"])
            .args(args)
            .args(["-d", body, &format!("https://ptc.example:{port}/mcp")])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        crate::support::answer(&String::from_utf8(output.stdout).unwrap())
    };
    let bearer = format!("authorization: Bearer {TOKEN}");
    let open = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize("2025-11-25")});
    assert_eq!(curl(&[], &open.to_string()).status, 401);
    let opened = curl(&["-H", &bearer], &open.to_string());
    assert_eq!(opened.status, 200, "{opened:?}");
    let session = format!("mcp-session-id: {}", opened.headers["mcp-session-id"]);
    let three = curl(
        &["-H", &bearer, "-H", &session],
        &call(2, "lisp_eval", json!({"program": "(+ 1 2)"})).to_string(),
    );
    assert!(three.body.contains("user=> 3"), "{three:?}");
    let mut slow = call(3, "lisp_eval", json!({"program": crate::support::SLOW}));
    slow["params"]["_meta"] = json!({"progressToken": 1});
    let streamed = curl(&["-H", &bearer, "-H", &session], &slow.to_string());
    assert!(streamed.body.contains("notifications/progress"), "streams pass: {streamed:?}");
}
