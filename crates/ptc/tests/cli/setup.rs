//! `ptc setup`: the servers of clients go behind `ptc mcp`, and come back byte by byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Ran;

/// Answers `initialize`, and `tools/list` with one tool.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"script","version":"7"},"capabilities":{"tools":{}}}}\n' "$id" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"look","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  esac
done
"#;

/// Files of the clients, from the folder of the user. Where clients allow comments, there are some.
const FILES: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        ".claude.json",
        "{\n  \"numStartups\": 12,\n  \"mcpServers\": {\n    \"script\": {\n      \"type\": \"stdio\",\n      \"command\": \"sh\",\n      \"args\": [\"SERVER\"],\n      \"env\": {}\n    }\n  },\n  \"projects\": {\"/home/ada\": {\"allowedTools\": []}}\n}\n",
    ),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "{\"mcpServers\":{\"script\":{\"command\":\"sh\",\"args\":[\"SERVER\"]},\"off\":{\"command\":\"x\",\"disabled\":true}},\"theme\":\"dark\"}",
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\n\t\"mcpServers\": {\n\t\t\"script\": {\"command\": \"sh\", \"args\": [\"SERVER\"], \"env\": {\"A_TOKEN\": \"${env:HOME}\"}}\n\t}\n}\n",
    ),
    (
        "vscode",
        ".config/Code/User/mcp.json",
        "{\r\n  // what I use\r\n  \"servers\": {\r\n    \"script\": {\"type\": \"stdio\", \"command\": \"sh\", \"args\": [\"SERVER\"]}, // mine\r\n  },\r\n  \"inputs\": []\r\n}\r\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "model = \"gpt-6\" # the good one\n\n[mcp_servers.script]\ncommand = \"sh\"\nargs = [\"SERVER\"]\n\n[mcp_servers.far]\nurl = \"https://far.example/mcp\"\nbearer_token_env_var = \"HOME\"\nenabled = false\n\n[tui]\nnotifications = true\n",
    ),
    (
        "opencode",
        ".config/opencode/opencode.json",
        "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"mcp\": {\n    \"script\": {\"type\": \"local\", \"command\": [\"sh\", \"SERVER\"], \"enabled\": true}\n  }\n}\n",
    ),
    (
        "gemini",
        ".gemini/settings.json",
        "{\"mcpServers\": {\"script\": {\"command\": \"sh\", \"args\": [\"SERVER\"], \"timeout\": 3000, \"trust\": false}}}\n",
    ),
    (
        "zed",
        ".config/zed/settings.json",
        "// Zed settings\n{\n  \"theme\": \"One Dark\",\n  \"context_servers\": {\n    \"script\": {\"source\": \"custom\", \"command\": \"sh\", \"args\": [\"SERVER\"], \"env\": {}},\n  },\n}\n",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\n  \"mcpServers\": {\n    \"script\": {\"command\": \"sh\", \"args\": [\"SERVER\"], \"disabledTools\": []}\n  }\n}",
    ),
];

/// The folder of a user.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Home {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("setup-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("server.sh"), SERVER).expect("a script");
        Home(folder)
    }

    /// Writes the file of a client and gives its text.
    fn write(&self, file: &str, text: &str) -> String {
        let text = text.replace("SERVER", self.0.join("server.sh").to_str().expect("a path in UTF-8"));
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(&path, &text).expect("it is written");
        text
    }

    fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).expect("it is there")
    }

    fn ptc(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        command.args(args).current_dir(&self.0).env("HOME", &self.0);
        command.env_remove("XDG_CONFIG_HOME").env_remove("PTC_RUNNER_MCP_UPSTREAMS");
        let output = command.output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Ran {
            code: output.status.code().expect("it ended"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// The files that a setup leaves.
    fn kept(&self) -> Vec<PathBuf> {
        let folder = self.0.join(".config/ptc_runner_mcp/setup");
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }
}

#[test]
fn the_servers_of_nine_clients_move_and_come_back() {
    for (client, file, text) in FILES {
        let home = Home::new(client);
        let before = home.write(file, text);
        let dry = home.ptc(&["setup", client, "--dry-run", "--no-check"]);
        assert_eq!((dry.code, home.read(file)), (0, before.clone()), "{client}: {}{}", dry.out, dry.err);
        assert!(
            dry.out.contains("  - script\n") && dry.out.contains("  + ptc: ptc mcp with "),
            "{client}: {}",
            dry.out
        );

        let done = home.ptc(&["setup", client, "--yes", "--no-check"]);
        assert_eq!(done.code, 0, "{client}: {}{}", done.out, done.err);
        let after = home.read(file);
        let servers = home.kept().into_iter().find(|path| path.to_string_lossy().ends_with(".servers.json"));
        let servers = servers.unwrap_or_else(|| panic!("{client}: the servers are kept"));
        assert!(
            after.contains(servers.to_str().expect("UTF-8")) && !after.contains("server.sh"),
            "{client}: {after}"
        );
        // What is not a server stays as it is.
        for other in [
            "numStartups\": 12",
            "\"theme\":\"dark\"",
            "// what I use\r\n",
            "# the good one",
            "[tui]",
            "// Zed settings",
        ] {
            assert_eq!(after.contains(other), before.contains(other), "{client}: {other}: {after}");
        }
        assert_private(&servers);
        let again = home.ptc(&["setup", client, "--yes", "--no-check"]);
        assert!(again.code == 2 && again.err.contains("is set up already"), "{client}: {}", again.err);
        let checked =
            home.ptc(&["upstreams", "check", servers.to_str().expect("UTF-8"), "--server", "script"]);
        assert!(
            checked.out.contains("script (mcp_stdio): ready"),
            "{client}: {}{}",
            checked.out,
            checked.err
        );

        let undone = home.ptc(&["setup", client, "--undo"]);
        assert_eq!((undone.code, home.read(file)), (0, before), "{client}: {}{}", undone.out, undone.err);
        assert_eq!(home.kept(), Vec::<PathBuf>::new(), "{client}");
    }
}

#[cfg(unix)]
fn assert_private(file: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o077, 0, "{}", file.display());
}

#[cfg(not(unix))]
fn assert_private(_: &Path) {}

#[test]
fn servers_are_looked_at_and_tokens_are_told() {
    let home = Home::new("look");
    let (client, file, text) = FILES[0];
    home.write(file, text);
    let done = home.ptc(&["setup", client, "--yes"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(done.out.contains("  script is ready: 1 tools\n"), "{}", done.out);
    assert!(done.out.contains("tools in the model's context: about "), "{}", done.out);
}

#[test]
fn what_was_changed_since_is_not_lost() {
    let home = Home::new("changed");
    let (client, file, text) = FILES[2];
    home.write(file, text);
    assert_eq!(home.ptc(&["setup", client, "--yes", "--no-check"]).code, 0);
    let changed = home.read(file).replace("\"args\"", "\"cwd\": \"/tmp\", \"args\"");
    fs::write(home.0.join(file), &changed).expect("it is written");
    let refused = home.ptc(&["setup", client, "--undo"]);
    assert!(refused.code == 2 && refused.err.contains("was changed since"), "{}", refused.err);
    assert_eq!(home.read(file), changed);
}

#[test]
fn what_cannot_be_moved_is_said() {
    let home = Home::new("wrong");
    for (text, expected) in [
        (None, "is not there"),
        (Some("{\"mcpServers\": {}}"), "has no servers to move"),
        (Some("{\"mcpServers\": {\"x\": {}}}"), "server 'x': has neither \"command\" nor \"url\""),
        (Some("{\"mcpServers\": "), "is not JSON"),
        (
            Some("{\"mcpServers\": {\"ptc\": {\"command\": \"a\"}, \"x\": {\"command\": \"b\"}}}"),
            "has a server 'ptc' beside others",
        ),
    ] {
        if let Some(text) = text {
            home.write(".cursor/mcp.json", text);
        }
        let ran = home.ptc(&["setup", "cursor", "--yes", "--no-check"]);
        assert!(ran.code == 2 && ran.err.contains(expected), "{text:?}: {} {}", ran.code, ran.err);
    }
    let ran = home.ptc(&["setup", "cursor", "--undo"]);
    assert!(ran.code == 2 && ran.err.contains("was not set up"), "{}", ran.err);
}
