//! `ptc setup`: the servers of clients go behind `ptc mcp`, and come back byte by byte.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

use super::Ran;
use super::shell_server::{listing_only, shell_server};

/// Files of the clients, from the folder of the user. Where clients allow comments, there are some.
pub const FILES: &[(&str, &str, &str)] = &[
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

/// Variables that say where clients have their files.
const PLACES: &[&str] = &[
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    "OPENCODE_CONFIG",
    "OPENCODE_CONFIG_DIR",
    "XDG_CONFIG_HOME",
];

/// The folder of a user.
pub struct Home(pub PathBuf);

impl Home {
    pub fn new(name: &str) -> Home {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("setup-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let script = shell_server(&listing_only("look"), ":");
        fs::write(folder.join("server.sh"), script).expect("a script");
        Home(folder)
    }

    /// Writes the file of a client and gives its text.
    pub fn write(&self, file: &str, text: &str) -> String {
        let text = text.replace("SERVER", self.0.join("server.sh").to_str().expect("a path in UTF-8"));
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(&path, &text).expect("it is written");
        text
    }

    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).expect("it is there")
    }

    pub fn ptc(&self, args: &[&str]) -> Ran {
        self.ptc_in(".", args)
    }

    /// The command, in a folder of this one.
    fn command(&self, folder: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
        command.args(args).current_dir(self.0.join(folder)).env("HOME", &self.0);
        for name in PLACES.iter().chain(&["PTC_RUNNER_MCP_UPSTREAMS", "XDG_CACHE_HOME"]) {
            command.env_remove(name);
        }
        command
    }

    pub fn ptc_in(&self, folder: &str, args: &[&str]) -> Ran {
        self.ptc_with(folder, args, &[])
    }

    /// With these variables.
    pub fn ptc_with(&self, folder: &str, args: &[&str], env: &[(&str, &Path)]) -> Ran {
        let output = self.command(folder, args).envs(env.iter().copied()).output().expect("it runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Ran {
            code: output.status.code().expect("it ended"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    /// Every file and folder below it, with what is in the files.
    fn everything(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let (mut found, mut folders) = (Vec::new(), vec![self.0.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                match path.is_dir() {
                    true => folders.push(path.clone()),
                    false => found.push((path.clone(), Some(fs::read(&path).expect("it is read")))),
                }
                found.push((path, None));
            }
        }
        found.sort();
        found
    }

    /// The files that a setup leaves.
    pub fn kept(&self) -> Vec<PathBuf> {
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
        assert!(
            again.code == 0 && again.out.contains("is set up already"),
            "{client}: {}{}",
            again.out,
            again.err
        );
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
    // Before anything is changed, too, and that writes nothing, not even what the servers offer.
    fs::create_dir(home.0.join("tmp")).expect("a folder");
    let before = home.everything();
    let dry = home.ptc_with(".", &["setup", client, "--dry-run"], &[("TMPDIR", &home.0.join("tmp"))]);
    let told = dry.out.lines().find(|line| line.starts_with("definitions of all tools: about "));
    assert!(told.is_some(), "{}{}", dry.out, dry.err);
    assert!(home.everything() == before, "{}", dry.out);
    let done = home.ptc(&["setup", client, "--yes"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(done.out.contains("  script is ready: 1 tool\n"), "{}", done.out);
    assert_eq!(done.out.lines().find(|line| line.starts_with("definitions of all tools: ")), told);
    assert!(done.out.contains(" tokens; of ptc: about "), "{}", done.out);
}

/// A client writes into its file, too. What comes back stands where it stood, each table whole.
#[test]
fn tables_come_back_to_their_places_beside_what_the_client_wrote() {
    let home = Home::new("tables");
    let file = ".codex/config.toml";
    let tables = [
        "model = \"m\"\n\n[mcp_servers.a] # mine\ncommand = \"sh\"\nargs = [\"SERVER\"]\n\n[mcp_servers.a.env]\nX = \"1\"\n",
        "\n[tui]\nnotifications = true\n",
        "\n# the other\n[mcp_servers.b]\ncommand = \"sh\"\nargs = [\"SERVER\"]\n\n[mcp_servers.b.tools.look]\nx = 1\n",
        "\n[[rules]]\nname = \"one\"\n\n[[rules]]\nname = \"two\"\n",
    ];
    let before = home.write(file, &tables.concat());
    let done = home.ptc(&["setup", "codex", "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let trusted = "\n[projects.\"/home/ada/shop\"]\ntrust_level = \"trusted\"\n";
    let after = home.read(file).replace("notifications = true", "notifications = false") + trusted;
    fs::write(home.0.join(file), after).expect("it is written");
    let undone = home.ptc(&["setup", "codex", "--undo"]);
    assert_eq!(undone.code, 0, "{}{}", undone.out, undone.err);
    let expected = before.replace("notifications = true", "notifications = false") + trusted;
    assert_eq!(home.read(file), expected);
}

/// Starting servers may take a minute, in which nobody should look at nothing.
#[test]
fn at_a_terminal_each_server_is_told_as_soon_as_it_is_there() {
    let home = Home::new("waits");
    let (client, file, text) = FILES[0];
    home.write(file, text);
    let output = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/terminal.py"))
        .args(["[]", env!("CARGO_BIN_EXE_ptc"), "setup", client, "--dry-run"])
        .env("HOME", &home.0)
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("CLAUDE_CONFIG_DIR")
        .current_dir(&home.0)
        .output()
        .expect("python3 is there");
    let shown = String::from_utf8_lossy(&output.stdout).replace('\r', "");
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
    let (begins, ready, list) =
        (at("looking at script\n"), at("  script is ready: 1 tool\n"), at("  - script\n"));
    assert!(begins < ready && ready < list, "{shown}");
    // Elsewhere it would be noise.
    let dry = home.ptc(&["setup", client, "--dry-run"]);
    assert_eq!((dry.code, dry.err.as_str()), (0, ""));
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
    assert!(refused.err.contains("--yes does it all the same"), "{}", refused.err);
    assert_eq!(home.read(file), changed);
    let done = home.ptc(&["setup", client, "--undo", "--yes"]);
    assert!(done.code == 0 && home.read(file).contains("server.sh"), "{}{}", done.out, done.err);
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
            Some("{\"mcpServers\": {\"x\": {\"command\": \"x\", \"disabled\": true}}}"),
            "server 'x': it is not documented whether the client starts a server with \"disabled\": true",
        ),
        (
            Some(
                "{\"mcpServers\": {\"x\": {\"url\": \"https://x.example\", \"auth\": {\"CLIENT_ID\": \"a\"}}}}",
            ),
            "server 'x': \"auth\" is how the client signs in; write a token into \"headers\" to move it",
        ),
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

#[test]
fn a_server_is_off_behind_ptc_only_if_the_client_knows_the_key_that_says_so() {
    let home = Home::new("switched");
    let entry = |key: &str| format!("{{\"mcpServers\": {{\"x\": {{\"command\": \"x\", {key}}}}}}}");
    home.write(".claude.json", &entry("\"disabled\": true"));
    let ran = home.ptc(&["setup", "claude-code", "--yes", "--no-check"]);
    let told = "  - x\n    ! \"disabled\": true does not keep the client from starting it: it is on behind ptc, too;";
    assert!(ran.code == 0 && ran.out.contains(told), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("switched off"), "{}", ran.out);
    home.write(".codeium/windsurf/mcp_config.json", &entry("\"disabled\": true"));
    let ran = home.ptc(&["setup", "windsurf", "--yes", "--no-check"]);
    assert!(ran.code == 2 && ran.err.contains("that could be moved are switched off"), "{}", ran.err);
}

/// The file with all nine clients in it again: what a setup and an undo leave is what was there.
fn round(home: &Home, client: &str, file: &str, before: &str) {
    let done = home.ptc(&["setup", client, "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{client}: {}{}", done.out, done.err);
    assert_ne!(home.read(file), before, "{client}");
    let undone = home.ptc(&["setup", client, "--undo"]);
    assert_eq!(
        (undone.code, home.read(file).as_str()),
        (0, before),
        "{client}: {}{}",
        undone.out,
        undone.err
    );
    assert_eq!(home.kept(), Vec::<PathBuf>::new(), "{client}");
}

/// Changes the file of a client as the client itself would.
fn edit(home: &Home, file: &str, change: impl FnOnce(String) -> String) -> String {
    let changed = change(home.read(file));
    fs::write(home.0.join(file), &changed).expect("it is written");
    changed
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The servers that are kept for a file, of which there is one.
pub fn kept_servers(home: &Home) -> Json {
    let is_servers = |path: &PathBuf| path.to_string_lossy().ends_with(".servers.json");
    let files: Vec<PathBuf> = home.kept().into_iter().filter(is_servers).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    json(&fs::read_to_string(file).expect("it is there"))["mcpServers"].clone()
}

const TWO: &str = "{\n  \"numStartups\": 1,\n  \"mcpServers\": {\n    \"a\": {\"command\": \"a\"},\n    \"b\": {\"command\": \"b\"}\n  }\n}\n";

#[test]
fn servers_that_are_added_later_join_those_that_were_moved() {
    let home = Home::new("later");
    let before = home.write(".claude.json", TWO);
    let setup = || home.ptc(&["setup", "claude-code", "--yes", "--no-check"]);
    assert_eq!(setup().code, 0);
    let copy = home.kept().into_iter().find(|path| path.extension().is_some_and(|ending| ending == "before"));
    let copy = copy.expect("a copy is kept");
    edit(&home, ".claude.json", |text| {
        text.replacen("\"mcpServers\": {", "\"mcpServers\": {\n    \"c\": {\"command\": \"c\"},", 1)
    });
    let again = setup();
    assert_eq!(again.code, 0, "{}{}", again.out, again.err);
    assert!(again.out.contains("  - c\n") && again.out.contains("    a was moved before\n"), "{}", again.out);
    let servers = kept_servers(&home);
    for name in ["a", "b", "c"] {
        assert_eq!(servers[name]["command"], name, "{servers}");
    }
    let left = json(&home.read(".claude.json"))["mcpServers"].clone();
    assert_eq!(left.as_object().map(|left| left.keys().collect::<Vec<_>>()), Some(vec![&"ptc".to_owned()]));
    assert_eq!(fs::read_to_string(copy).expect("it is there"), before);
    assert!(setup().out.contains("is set up already"));

    assert_eq!(home.ptc(&["setup", "claude-code", "--undo"]).code, 0);
    let back = json(&home.read(".claude.json"));
    let names: Vec<&String> = back["mcpServers"].as_object().expect("servers").keys().collect();
    assert!(
        names.len() == 3 && ["a", "b", "c"].iter().all(|name| names.contains(&&(*name).to_owned())),
        "{back}"
    );
    assert_eq!(back["numStartups"], 1);
}

#[test]
fn what_somebody_changed_in_the_kept_servers_stays_when_others_join() {
    let home = Home::new("edited");
    home.write(".claude.json", TWO);
    let setup = || home.ptc(&["setup", "claude-code", "--yes", "--no-check"]);
    assert_eq!(setup().code, 0);
    let file = home.kept().into_iter().find(|path| path.to_string_lossy().ends_with(".servers.json"));
    let file = file.expect("servers are kept");
    let text = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, text.replace("\"command\": \"a\"", "\"command\": \"a2\"")).expect("it is written");
    edit(&home, ".claude.json", |text| {
        text.replacen("\"mcpServers\": {", "\"mcpServers\": {\n    \"b\": {\"command\": \"b3\"},", 1)
    });
    assert_eq!(setup().code, 0);
    let servers = kept_servers(&home);
    assert_eq!((&servers["a"]["command"], &servers["b"]["command"]), (&"a2".into(), &"b3".into()));
}

#[test]
fn projects_with_similar_paths_do_not_share_files() {
    let home = Home::new("similar");
    let text = |name: &str| format!("{{\"mcpServers\": {{\"{name}\": {{\"command\": \"{name}\"}}}}}}\n");
    let first = home.write("a_b/.mcp.json", &text("one"));
    let second = home.write("a/b/.mcp.json", &text("two"));
    let run = |folder: &str, args: &[&str]| {
        home.ptc_in(folder, &[&["setup", "claude-code", "--project"], args].concat())
    };
    for folder in ["a_b", "a/b"] {
        let done = run(folder, &["--yes", "--no-check"]);
        assert_eq!(done.code, 0, "{}{}", done.out, done.err);
        assert!(done.out.contains("`ptc setup claude-code --project --undo` puts it back"), "{}", done.out);
    }
    assert_eq!(
        home.kept().iter().filter(|path| path.to_string_lossy().ends_with(".servers.json")).count(),
        2
    );
    for folder in ["a_b", "a/b"] {
        assert_eq!(run(folder, &["--undo"]).code, 0);
    }
    assert_eq!((home.read("a_b/.mcp.json"), home.read("a/b/.mcp.json")), (first, second));
}

#[test]
fn an_undo_keeps_what_the_client_wrote_meanwhile() {
    for (client, file, text) in FILES {
        let home = Home::new(&format!("meanwhile-{client}"));
        let before = home.write(file, text);
        assert_eq!(home.ptc(&["setup", client, "--yes", "--no-check"]).code, 0, "{client}");
        let is_toml = file.ends_with(".toml");
        let grown = |text: &str| match is_toml {
            true => format!("added = 1\n{text}"),
            false => text.replacen('{', "{\"added\": 1,", 1),
        };
        edit(&home, file, |text| grown(&text));
        let undone = home.ptc(&["setup", client, "--undo"]);
        assert_eq!(undone.code, 0, "{client}: {}{}", undone.out, undone.err);
        match is_toml {
            // The order of tables may be another one.
            true => {
                let read = |text: &str| text.parse::<toml::Table>().expect("TOML");
                assert_eq!(read(&home.read(file)), read(&grown(&before)), "{}", home.read(file));
            }
            false => assert_eq!(home.read(file), grown(&before), "{client}"),
        }
        assert_eq!(home.kept(), Vec::<PathBuf>::new(), "{client}");
    }
}

#[test]
fn an_undo_puts_servers_into_a_file_that_was_written_anew() {
    let home = Home::new("anew");
    home.write(".claude.json", TWO);
    assert_eq!(home.ptc(&["setup", "claude-code", "--yes", "--no-check"]).code, 0);
    // Claude Code writes the whole file again, and the user added a server.
    edit(&home, ".claude.json", |text| {
        let mut value = json(&text);
        value["numStartups"] = 2.into();
        value["mcpServers"]["new"] = serde_json::json!({"command": "new"});
        value.to_string()
    });
    let undone = home.ptc(&["setup", "claude-code", "--undo"]);
    assert_eq!(undone.code, 0, "{}", undone.err);
    let expected = serde_json::json!({"numStartups": 2, "mcpServers": {
        "a": {"command": "a"}, "b": {"command": "b"}, "new": {"command": "new"}
    }});
    assert_eq!(json(&home.read(".claude.json")), expected);

    // Even the place of the servers may be gone.
    home.write(".claude.json", TWO);
    assert_eq!(home.ptc(&["setup", "claude-code", "--yes", "--no-check"]).code, 0);
    edit(&home, ".claude.json", |_| "{\"numStartups\": 3}".to_owned());
    assert_eq!(home.ptc(&["setup", "claude-code", "--undo"]).code, 0);
    let back = json(&home.read(".claude.json"));
    assert_eq!((&back["numStartups"], &back["mcpServers"]["b"]["command"]), (&3.into(), &"b".into()));
}

/// A home whose server changes the file of the client, by this command of `sed`, while the setup looks at it.
fn home_that_changes(name: &str, command: &str) -> (Home, String) {
    let home = Home::new(name);
    let (_, file, text) = FILES[0];
    let text = home.write(file, text);
    let change = format!("sed -i '{command}' \"$HOME/{file}\"; {}", listing_only("look"));
    fs::write(home.0.join("server.sh"), shell_server(&change, ":")).expect("it is written");
    (home, text)
}

#[test]
fn what_the_client_writes_while_its_servers_are_looked_at_stays() {
    let (home, before) = home_that_changes("looking", "s/\"numStartups\": 12/\"numStartups\": 13/");
    let done = home.ptc(&["setup", "claude-code", "--yes"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let now = json(&home.read(".claude.json"));
    assert!(now["numStartups"] == 13 && now["mcpServers"]["ptc"].is_object(), "{now}");
    assert_eq!(home.ptc(&["setup", "claude-code", "--undo"]).code, 0);
    assert_eq!(home.read(".claude.json"), before.replace("12", "13"));

    // Servers that came meanwhile were not looked at.
    let (home, before) =
        home_that_changes("looking-servers", "s/\"script\": {/\"new\": {\"command\": \"new\"}, &/");
    let refused = home.ptc(&["setup", "claude-code", "--yes"]);
    assert_eq!(refused.code, 2, "{}{}", refused.out, refused.err);
    assert!(
        refused.err.contains("was changed meanwhile, and nothing was done; try again"),
        "{}",
        refused.err
    );
    let expected = before.replace("\"script\": {", "\"new\": {\"command\": \"new\"}, \"script\": {");
    assert_eq!((home.read(".claude.json"), home.kept()), (expected, Vec::new()));
}

#[test]
fn an_undo_keeps_the_server_whose_name_another_one_has_taken() {
    for again in [false, true] {
        let home = Home::new(&format!("taken-{again}"));
        home.write(".cursor/mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\", \"env\": {\"A_TOKEN\": \"only-here\"}}, \"b\": {\"command\": \"b\"}}}");
        let setup = || home.ptc(&["setup", "cursor", "--yes", "--no-check"]);
        assert_eq!(setup().code, 0);
        edit(&home, ".cursor/mcp.json", |text| {
            let mut value = json(&text);
            value["mcpServers"]["a"] = serde_json::json!({"command": "mine"});
            value.to_string()
        });
        if again {
            let told = setup();
            assert!(told.out.contains("  - a, in place of the one of this name"), "{}{}", told.out, told.err);
        }
        let undone = home.ptc(&["setup", "cursor", "--undo"]);
        assert_eq!(undone.code, 0, "{}", undone.err);
        let back = json(&home.read(".cursor/mcp.json"));
        assert_eq!(
            back["mcpServers"],
            serde_json::json!({"b": {"command": "b"}, "a": {"command": "mine"}}),
            "{back}"
        );
        assert!(undone.out.contains("'a' is not the one that was moved"), "{}", undone.out);
        let [copy] = home.kept().try_into().expect("one file is kept");
        let copy: PathBuf = copy;
        assert!(undone.out.contains(&copy.display().to_string()), "{}", undone.out);
        assert!(fs::read_to_string(&copy).expect("a copy").contains("only-here"));
        assert_private(&copy);
        // It is nobody's setup.
        assert_eq!((setup().code, home.ptc(&["setup", "cursor", "--undo"]).code), (0, 0));
        assert_eq!(home.kept(), [copy]);
    }
}

#[test]
fn an_undo_keeps_what_somebody_changed_in_the_kept_servers() {
    let home = Home::new("undo-edited");
    let before = home.write(".claude.json", TWO);
    assert_eq!(home.ptc(&["setup", "claude-code", "--yes", "--no-check"]).code, 0);
    let file = home.kept().into_iter().find(|path| path.to_string_lossy().ends_with(".servers.json"));
    let file = file.expect("servers are kept");
    let text = fs::read_to_string(&file).expect("it is there");
    fs::write(&file, text.replace("\"command\": \"a\"", "\"command\": \"a2\"")).expect("it is written");
    let undone = home.ptc(&["setup", "claude-code", "--undo"]);
    assert_eq!((undone.code, home.read(".claude.json")), (0, before), "{}", undone.err);
    assert!(undone.out.contains("what was changed in our file of servers is not put back"), "{}", undone.out);
    let [kept] = home.kept().try_into().expect("one file is kept");
    let kept: PathBuf = kept;
    assert!(fs::read_to_string(&kept).expect("it is there").contains("\"a2\""));
}

#[test]
fn a_name_that_stands_twice_is_not_moved() {
    let home = Home::new("twice");
    for (text, name) in [
        (
            "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}, \"mcpServers\": {\"b\": {\"command\": \"b\"}}}",
            "mcpServers",
        ),
        ("{\"mcpServers\": {\"a\": {\"command\": \"a\"}, \"a\": {\"command\": \"b\"}}}", "a"),
    ] {
        home.write(".cursor/mcp.json", text);
        let refused = home.ptc(&["setup", "cursor", "--yes", "--no-check"]);
        let message = format!("its key {name:?} stands there twice; leave one");
        assert!(refused.code == 2 && refused.err.contains(&message), "{}", refused.err);
        assert_eq!((home.read(".cursor/mcp.json").as_str(), home.kept()), (text, Vec::new()));
    }
}

#[test]
fn servers_of_one_project_in_the_file_of_the_user_move_too() {
    let home = Home::new("local");
    let text = "{\n  \"mcpServers\": {\"a\": {\"command\": \"a\"}},\n  \"projects\": {\n    \"/x/shop\": {\n      \"allowedTools\": [],\n      \"mcpServers\": {\"own\": {\"command\": \"./run\", \"cwd\": \"tools\"}}\n    },\n    \"/x/empty\": {\"mcpServers\": {}}\n  }\n}\n";
    let before = home.write(".claude.json", text);
    let done = home.ptc(&["setup", "claude-code", "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(done.out.contains(".claude.json, in /x/shop\n  - own\n  + ptc-local: "), "{}", done.out);
    let after = json(&home.read(".claude.json"));
    let local = &after["projects"]["/x/shop"]["mcpServers"];
    let words = local["ptc-local"]["args"].to_string();
    assert!(local.get("own").is_none() && after["mcpServers"].get("ptc").is_some(), "{after}");
    let servers = home.kept().into_iter().find(|path| words.contains(path.to_str().expect("UTF-8")));
    let servers = fs::read_to_string(servers.expect("its servers are kept")).expect("they are there");
    assert_eq!(json(&servers)["mcpServers"]["own"]["cwd"], "/x/shop/tools");
    assert_eq!(home.ptc(&["setup", "claude-code", "--undo"]).code, 0);
    assert_eq!(home.read(".claude.json"), before);

    // Servers may stand nowhere else.
    let text = "{\"projects\": {\"/x/shop\": {\"mcpServers\": {\"own\": {\"command\": \"run\"}}}}}";
    let before = home.write(".claude.json", text);
    round(&home, "claude-code", ".claude.json", &before);
}

#[test]
fn variables_of_clients_are_written_as_they_are_meant_and_passed_on() {
    let home = Home::new("variables");
    home.write(
        ".codex/config.toml",
        "[mcp_servers.a]\nurl = \"https://a.example/mcp\"\nbearer_token_env_var = \"A_TOKEN\"\n\n[mcp_servers.b]\ncommand = \"b\"\nenv = { TEXT = \"${NOT_A_VARIABLE}\" }\n",
    );
    assert_eq!(home.ptc(&["setup", "codex", "--yes", "--no-check"]).code, 0);
    let after = home.read(".codex/config.toml");
    assert!(after.contains("env_vars = [\"A_TOKEN\"]"), "{after}");
    let servers = kept_servers(&home);
    assert_eq!(servers["a"]["headers"]["Authorization"], "Bearer ${A_TOKEN}");
    assert_eq!(servers["b"]["env"]["TEXT"], "${$}{NOT_A_VARIABLE}");
    assert_eq!(home.ptc(&["setup", "codex", "--undo"]).code, 0);

    home.write(
        ".gemini/settings.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"a\", \"env\": {\"KEY\": \"$A_KEY\"}}}}",
    );
    assert_eq!(home.ptc(&["setup", "gemini", "--yes", "--no-check"]).code, 0);
    assert_eq!(json(&home.read(".gemini/settings.json"))["mcpServers"]["ptc"]["env"]["A_KEY"], "$A_KEY");
    assert_eq!(kept_servers(&home)["a"]["env"]["KEY"], "${A_KEY:-}");
    assert_eq!(home.ptc(&["setup", "gemini", "--undo"]).code, 0);

    home.write(
        ".config/opencode/opencode.json",
        "{\"mcp\": {\"a\": {\"type\": \"local\", \"command\": [\"a\"], \"environment\": {\"KEY\": \"{env:A_KEY}\"}}}}",
    );
    assert_eq!(home.ptc(&["setup", "opencode", "--yes", "--no-check"]).code, 0);
    assert_eq!(kept_servers(&home)["a"]["environment"]["KEY"], "${A_KEY:-}");
}

#[test]
fn a_variable_that_is_not_set_breaks_one_server_only() {
    let home = Home::new("unset");
    home.write(
        "servers.json",
        "{\"mcpServers\": {\"good\": {\"command\": \"sh\", \"args\": [\"SERVER\"]}, \"bad\": {\"command\": \"sh\", \"args\": [\"SERVER\"], \"env\": {\"A\": \"${PTC_NOT_SET}\"}}, \"far\": {\"url\": \"https://a.example/${PTC_NOT_SET_EITHER}\"}}}",
    );
    let checked = home.ptc(&["upstreams", "check", "servers.json"]);
    assert!(checked.out.contains("good (mcp_stdio): ready"), "{}{}", checked.out, checked.err);
    let told = "bad (mcp_stdio): upstream_unavailable: key 'env': \"A\" needs the environment variable PTC_NOT_SET, which is not set; export PTC_NOT_SET before starting";
    assert!(checked.code == 1 && checked.out.contains(told), "{}", checked.out);
    assert!(
        checked.err.contains("server 'far', key 'url': needs the environment variable PTC_NOT_SET_EITHER"),
        "{}",
        checked.err
    );
    let program = home.ptc(&["eval", "--upstreams-config", "servers.json", "-e", "(good/look)"]);
    assert!(!program.err.contains("upstreams config"), "{}{}", program.out, program.err);

    // As a client that cannot fill it in passes it on.
    home.write(
        "one.json",
        "{\"mcpServers\": {\"one\": {\"command\": \"sh\", \"env\": {\"A\": \"${PTC_PASSED}\"}}}}",
    );
    let mut command = home.command(".", &["upstreams", "check", "one.json"]);
    let output = command.env("PTC_PASSED", "$PTC_PASSED").output().expect("it runs");
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("needs the environment variable PTC_PASSED, which is not set"), "{err}");
}

#[test]
fn folders_of_a_project_mean_the_same_after_the_move() {
    let home = Home::new("folders");
    home.write("shop/run.sh", "cd \"$(dirname \"$0\")\" && exec sh SERVER\n");
    home.write(
        "shop/.cursor/mcp.json",
        "{\"mcpServers\": {\"script\": {\"command\": \"sh\", \"args\": [\"${workspaceFolder}/run.sh\"], \"cwd\": \"sub\"}}}",
    );
    fs::create_dir_all(home.0.join("shop/sub")).expect("a folder");
    let done = home.ptc_in("shop", &["setup", "cursor", "--project", "--yes"]);
    assert!(done.code == 0 && done.out.contains("script is ready: 1 tool"), "{}{}", done.out, done.err);
    let servers = kept_servers(&home);
    let folder = home.0.join("shop").canonicalize().expect("it is there");
    assert_eq!(servers["script"]["cwd"], folder.join("sub").to_str().expect("UTF-8"));
    assert_eq!(servers["script"]["args"][0], folder.join("run.sh").to_str().expect("UTF-8"));
    let after = json(&home.read("shop/.cursor/mcp.json"));
    assert!(after["mcpServers"].get("ptc-project").is_some(), "{after}");
}

#[test]
fn tokens_are_told_only_where_they_were_measured() {
    let home = Home::new("measured");
    home.write(
        ".cursor/mcp.json",
        "{\"mcpServers\": {\"script\": {\"command\": \"sh\", \"args\": [\"SERVER\"]}, \"gone\": {\"command\": \"ptc-no-such-program\"}}}",
    );
    let done = home.ptc(&["setup", "cursor", "--yes"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(done.out.contains("! gone cannot be reached"), "{}", done.out);
    assert!(!done.out.contains("tokens"), "{}", done.out);
}

#[test]
fn a_server_that_only_the_client_can_start_stays_and_the_others_move() {
    for (client, file, text, stays, why) in [
        (
            "zed",
            ".config/zed/settings.json",
            "{\n  \"context_servers\": {\n    \"ext\": {\"source\": \"extension\", \"settings\": {}}, // of an extension\n    \"script\": {\"source\": \"custom\", \"command\": \"sh\", \"args\": [\"SERVER\"]},\n  },\n}\n",
            "ext",
            "it is of an extension, and only Zed can start it",
        ),
        (
            "vscode",
            ".config/Code/User/mcp.json",
            "{\n  \"servers\": {\n    \"script\": {\"command\": \"sh\", \"args\": [\"SERVER\"]},\n    \"asks\": {\"command\": \"x\", \"env\": {\"T\": \"${input:token}\"}}\n  },\n  \"inputs\": [{\"id\": \"token\", \"type\": \"promptString\"}]\n}\n",
            "asks",
            "${input:token} is asked for by the client",
        ),
    ] {
        let home = Home::new(&format!("odd-{client}"));
        let before = home.write(file, text);
        let done = home.ptc(&["setup", client, "--yes", "--no-check"]);
        assert_eq!(done.code, 0, "{client}: {}{}", done.out, done.err);
        let line =
            done.out.lines().find(|line| line.starts_with(&format!("  = {stays} stays in the client: ")));
        assert!(line.is_some_and(|line| line.contains(why)), "{client}: {}", done.out);
        let after = home.read(file);
        assert!(
            after.contains(stays) && after.contains("\"ptc\"") && !after.contains("server.sh"),
            "{after}"
        );
        assert_eq!(after.contains("// of an extension"), before.contains("// of an extension"), "{after}");
        assert!(
            home.ptc(&["setup", client, "--yes", "--no-check"]).out.contains("is set up already"),
            "{client}"
        );
        assert_eq!(home.ptc(&["setup", client, "--undo"]).code, 0);
        assert_eq!(home.read(file), before, "{client}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_is_a_link_stays_one() {
    let home = Home::new("link");
    let before = home.write("dotfiles/claude.json", TWO);
    std::os::unix::fs::symlink(home.0.join("dotfiles/claude.json"), home.0.join(".claude.json"))
        .expect("a link");
    round(&home, "claude-code", ".claude.json", &before);
    assert!(home.0.join(".claude.json").is_symlink());
    assert_eq!(home.read("dotfiles/claude.json"), before);
}

#[test]
fn byte_order_marks_comments_and_inline_tables_are_kept() {
    for (client, file, text) in [
        ("cursor", ".cursor/mcp.json", "\u{feff}{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}"),
        (
            "opencode",
            ".config/opencode/opencode.jsonc",
            "{\n  // mine\n  \"mcp\": {\n    /* local */ \"a\": {\"type\": \"local\", \"command\": [\"a\"]}, // a\n  },\n}\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "mcp_servers = { a = { command = \"a\" }, b = { command = \"b\" } } # both\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers]\na = { command = \"a\", args = [\"b\"] }\n\n[tui]\nx = 1\n",
        ),
        ("codex", ".codex/config.toml", "mcp_servers.a.command = \"a\"\nmodel = \"m\"\n"),
    ] {
        let home = Home::new(&format!("kept-{client}"));
        let before = home.write(file, text);
        round(&home, client, file, &before);
        assert_eq!(home.ptc(&["setup", client, "--yes", "--no-check"]).code, 0, "{text}");
        let after = home.read(file);
        assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'), "{after:?}");
        assert!(!text.contains("// mine") || after.contains("// mine"), "{after}");
        if client == "codex" {
            let read = after.parse::<toml::Table>().unwrap_or_else(|error| panic!("{error}: {after}"));
            assert!(read["mcp_servers"]["ptc"]["args"].is_array(), "{after}");
            edit(&home, file, |text| format!("added = 1\n{text}"));
            assert_eq!(home.ptc(&["setup", client, "--undo"]).code, 0);
            let expected = format!("added = 1\n{before}").parse::<toml::Table>().expect("TOML");
            assert_eq!(
                home.read(file).parse::<toml::Table>().expect("TOML"),
                expected,
                "{}",
                home.read(file)
            );
        }
    }
}

#[test]
fn a_server_that_the_client_is_signed_in_to_stays() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream
                .write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        }
    });
    let home = Home::new("signed-in");
    let text = "{\"mcpServers\": {\"far\": {\"url\": \"http://ADDRESS/mcp\"}, \"script\": {\"command\": \"sh\", \"args\": [\"SERVER\"]}}}";
    home.write(".cursor/mcp.json", &text.replace("ADDRESS", &address.to_string()));
    let done = home.ptc(&["setup", "cursor", "--yes"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(
        done.out.contains("  = far stays in the client: server 'far': it asks for a sign-in"),
        "{}",
        done.out
    );
    let after = json(&home.read(".cursor/mcp.json"));
    let names: Vec<&String> = after["mcpServers"].as_object().expect("servers").keys().collect();
    assert_eq!(names, ["far", "ptc"]);
    let again = home.ptc(&["setup", "cursor", "--yes"]);
    assert!(again.out.contains("is set up already"), "{}{}", again.out, again.err);
}
