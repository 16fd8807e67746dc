//! The world of `world.py`: a server that programs change and that counts what it is asked to do.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::eventually::eventually;

/// The server, and a folder with a configuration that names it.
pub struct World {
    server: Child,
    pub folder: PathBuf,
}

impl World {
    pub fn start(name: &str) -> World {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("world-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/world.py");
        let mut server = Command::new("python3")
            .arg(program)
            .arg(&folder)
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut port = String::new();
        BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut port).expect("its port");
        let upstream = json!({"transport": "mcp_http", "url": format!("http://127.0.0.1:{}/mcp", port.trim()),
                              "allow_insecure_http": true});
        let world = World { server, folder };
        world.write("upstreams.json", &json!({"upstreams": {"world": upstream}}).to_string());
        world
    }

    /// Writes a file of the folder, at once.
    pub fn write(&self, name: &str, text: &str) {
        let fresh = self.folder.join(format!("{name}.fresh"));
        fs::write(&fresh, text).expect("a file");
        fs::rename(fresh, self.folder.join(name)).expect("in its place");
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    /// The state of the world.
    pub fn state(&self) -> Value {
        serde_json::from_str(&self.read("state.json")).unwrap_or_else(|_| json!({}))
    }

    /// How often something was noted.
    pub fn count(&self, line: &str) -> usize {
        self.read("log").lines().filter(|noted| *noted == line).count()
    }

    /// From now on servers ask about calls as this says.
    #[allow(dead_code, reason = "not all tests that share this file need it")]
    pub fn ask_about(&self, approval: Value) {
        let mut config: Value = serde_json::from_str(&self.read("upstreams.json")).expect("JSON");
        config["upstreams"]["world"]["approval"] = approval;
        self.write("upstreams.json", &config.to_string());
    }

    /// Keys for tickets that servers share, in a file `keys`.
    #[allow(dead_code, reason = "not all tests that share this file need it")]
    pub fn share_keys(&self) {
        self.write("keys", "k1 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
        let owners = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        fs::set_permissions(self.folder.join("keys"), owners).expect("it changes");
    }

    /// Writes wait at these moments until others are held.
    pub fn hold(&self, moments: &[&str]) {
        self.write("hold", &moments.join("\n"));
    }

    /// Waits until something was noted.
    pub fn wait_for(&self, line: &str) {
        eventually(line, || self.count(line) > 0);
    }

    /// Ends the server, so that nobody can reach it.
    #[allow(dead_code, reason = "not all tests that share this file need it")]
    pub fn stop(&mut self) {
        self.server.kill().expect("kill -9");
        self.server.wait().expect("it is gone");
    }

    /// The command in the folder, with files of this user in it too.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        let settings = std::env::vars().filter(|(name, _)| name.starts_with("PTC_RUNNER_MCP_"));
        settings.for_each(|(name, _)| {
            command.env_remove(name);
        });
        command
            .current_dir(&self.folder)
            .args(args)
            .env("XDG_STATE_HOME", &self.folder)
            .env("HOME", &self.folder);
        command
    }

    /// Runs it: its exit code, and what it prints.
    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().expect("the command starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
    }

    /// The calls without an answer, as `ptc effects` lists them.
    pub fn gaps(&self, place: &[&str]) -> Vec<Value> {
        let (_, out, err) = self.run(&[&["effects", "--json"], place].concat());
        assert_eq!(err, "");
        out.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
