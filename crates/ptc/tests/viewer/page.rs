//! Who the page answers: requests as browsers and others send them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use crate::browser::Viewer;
use crate::support::{err, folder, ptc};

/// Sends a request and reads all of the answer.
fn ask(viewer: &Viewer, line: &str, headers: &[&str], body: &str) -> (u16, String) {
    let address = viewer.url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(address).expect("a connection");
    let own = format!("Host: {address}");
    let host =
        if headers.iter().any(|header| header.starts_with("Host:")) { None } else { Some(own.as_str()) };
    let lines: Vec<&str> = host.into_iter().chain(headers.iter().copied()).collect();
    let text = format!(
        "{line} HTTP/1.1\r\n{}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        lines.join("\r\n"),
        body.len()
    );
    // Who refuses a request answers and hangs up before all of it was sent. The answer has come by then.
    let sent = stream.write_all(text.as_bytes());
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let answer = String::from_utf8(bytes).expect("text");
    assert!(!answer.is_empty(), "no answer: {sent:?}, {read:?}");
    let status = answer.split_whitespace().nth(1).and_then(|code| code.parse().ok()).expect("a status");
    (status, answer)
}

fn token(viewer: &Viewer) -> String {
    let (_, page) = ask(viewer, "GET /", &[], "");
    let (_, rest) = page.split_once("name=\"ptc-token\" content=\"").expect("a token");
    rest.split('"').next().expect("an end").to_owned()
}

#[test]
fn only_the_page_itself_is_answered() {
    let viewer = Viewer::start(&folder("guard"));
    let (status, page) = ask(&viewer, "GET /", &[], "");
    assert_eq!(status, 200);
    let head = page.to_lowercase();
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'",
        "require-trusted-types-for 'script'",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "x-frame-options: deny",
    ] {
        assert!(head.contains(header), "{header}: {page}");
    }
    let evil = "Origin: http://evil.example";
    for (line, headers, expected) in [
        ("GET /api/runs", vec!["Host: evil.example"], 421),
        ("GET /", vec!["Host: 127.0.0.1.evil.example:80"], 421),
        ("GET /api/runs", vec![evil], 403),
        ("GET /api/runs", vec!["Sec-Fetch-Site: cross-site"], 403),
        ("GET /api/runs", vec!["Sec-Fetch-Site: same-origin"], 200),
        ("GET /api/runs", vec![], 200),
        ("GET /api/runs/..%2f..%2fetc%2fpasswd", vec![], 404),
        ("GET /assets/..%2fCargo.toml", vec![], 404),
        ("GET /assets/app.js", vec![], 200),
    ] {
        assert_eq!(ask(&viewer, line, &headers, "").0, expected, "{line} {headers:?}");
    }
}

#[test]
fn programs_run_only_for_who_has_the_token_and_within_limits() {
    let viewer = Viewer::start(&folder("eval-guard"));
    let token = format!("X-Ptc-Token: {}", token(&viewer));
    let kind = "Content-Type: application/json";
    let body = r#"{"program": "(+ 1 data/n)", "data": {"n": 2}}"#;
    for (headers, expected) in [
        (vec![kind], 403),
        (vec![kind, "X-Ptc-Token: 0"], 403),
        (vec!["Content-Type: text/plain", &token], 415),
        (vec![kind, &token, "Origin: http://evil.example"], 403),
        (vec![kind, &token], 200),
    ] {
        assert_eq!(ask(&viewer, "POST /api/eval", &headers, body).0, expected, "{headers:?}");
    }
    let eval = |program: &str| {
        let body = serde_json::json!({"program": program}).to_string();
        ask(&viewer, "POST /api/eval", &[kind, &token], &body).1
    };
    assert!(eval("(+ 1 2)").contains(r#""value":"3""#));
    assert!(eval("(reduce + (range))").contains(r#""ok":false"#));
    assert!(eval("(tool/anything {})").contains(r#""ok":false"#));
    assert!(eval("(").contains("parse_error"));
    let huge = format!(r#"{{"program": "1", "data": {{"x": "{}"}}}}"#, "x".repeat(3 << 20));
    assert_eq!(ask(&viewer, "POST /api/eval", &[kind, &token], &huge).0, 413);
}

#[test]
fn a_directory_that_is_not_there_and_a_port_that_is_taken_are_told() {
    let folder = folder("refused");
    let ran = ptc(&folder, &["viewer", "nowhere"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        err(&ran).contains("there is no directory nowhere; runs with --trace nowhere make it"),
        "{}",
        err(&ran)
    );
    fs::create_dir(folder.join("traces")).expect("a folder");
    fs::write(folder.join("traces/run.jsonl"), "").expect("a file");
    let ran = ptc(&folder, &["viewer", "traces/run.jsonl"]);
    assert_eq!(ran.status.code(), Some(2));
    let told = "traces/run.jsonl is a file, and a directory is shown: ptc viewer traces";
    assert!(err(&ran).contains(told), "{}", err(&ran));
    let viewer = Viewer::start(&folder.join("traces"));
    let port = viewer.url.trim_end_matches('/').rsplit(':').next().expect("a port");
    let ran = ptc(&folder, &["viewer", "--port", port]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(err(&ran).contains("is taken; give another with --port"), "{}", err(&ran));
}
