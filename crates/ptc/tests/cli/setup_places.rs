//! Where `ptc setup` finds the files of clients, and what it tells of those that it leaves alone.

use std::fs;
use std::path::Path;

use super::setup::{FILES, Home};

fn is_set_up(text: &str) -> bool {
    text.contains("servers.json") && !text.contains("server.sh")
}

#[test]
fn files_are_where_the_variables_of_clients_say() {
    for (client, variable, value, file) in [
        ("claude-code", "CLAUDE_CONFIG_DIR", "own", "own/.claude.json"),
        ("codex", "CODEX_HOME", "own", "own/config.toml"),
        ("gemini", "GEMINI_CLI_HOME", "own", "own/.gemini/settings.json"),
        ("opencode", "XDG_CONFIG_HOME", "own", "own/opencode/opencode.json"),
        ("zed", "XDG_CONFIG_HOME", "own", "own/zed/settings.json"),
    ] {
        let home = Home::new(&format!("named-{client}"));
        let (_, usual, text) = FILES.iter().find(|(name, ..)| *name == client).expect("a client");
        let before = home.write(file, text);
        let unused = home.write(usual, text);
        let folder = home.0.join(value);
        let env: [(&str, &Path); 1] = [(variable, &folder)];
        let done = home.ptc_with(".", &["setup", client, "--yes", "--no-check"], &env);
        assert_eq!(done.code, 0, "{client}: {}{}", done.out, done.err);
        assert!(is_set_up(&home.read(file)), "{client}: {}", home.read(file));
        assert_eq!(home.read(usual), unused, "{client} does not read it");
        let undone = home.ptc_with(".", &["setup", client, "--undo"], &env);
        assert_eq!((undone.code, home.read(file)), (0, before), "{client}: {}{}", undone.out, undone.err);
    }
}

#[test]
fn servers_in_other_files_are_told_and_how_they_move() {
    let home = Home::new("others");
    let servers = |names: &[&str]| {
        let entries: Vec<String> =
            names.iter().map(|name| format!("\"{name}\": {{\"command\": \"{name}\"}}")).collect();
        format!("{{\"mcpServers\": {{{}}}}}\n", entries.join(", "))
    };
    home.write(".claude.json", &servers(&["a", "b"]));
    home.write("shop/.mcp.json", &servers(&["b", "c"]));
    home.write("shop/sub/empty.txt", "");
    fs::create_dir_all(home.0.join("shop/.git")).expect("a folder");
    let told = home.ptc_in("shop/sub", &["setup", "claude-code", "--dry-run", "--no-check"]).out;
    let folder = home.0.join("shop").canonicalize().expect("it is there");
    let (file, folder) = (folder.join(".mcp.json").display().to_string(), folder.display().to_string());
    let line = format!(
        "  ! {file} has servers, too, which stay: b, c; `ptc setup claude-code --project` in {folder} moves them\n    b: the client took"
    );
    assert!(told.contains(&line), "{told}");
    let told = home.ptc_in("shop", &["setup", "claude-code", "--project", "--dry-run", "--no-check"]).out;
    assert!(
        told.contains(".claude.json has servers, too, which stay: a, b; `ptc setup claude-code` moves"),
        "{told}"
    );
    // A folder beside has nothing to do with it.
    home.write("other/x.txt", "");
    let told = home.ptc_in("other", &["setup", "claude-code", "--dry-run", "--no-check"]).out;
    assert!(!told.contains("has servers, too"), "{told}");

    home.write(".gemini/settings.json", &servers(&["a"]));
    home.write(".gemini/extensions/maps/gemini-extension.json", &servers(&["maps"]));
    let told = home.ptc(&["setup", "gemini", "--dry-run", "--no-check"]).out;
    assert!(
        told.contains("gemini-extension.json has servers, too, which stay: maps; they are not the user's"),
        "{told}"
    );
}

#[test]
fn files_that_a_client_puts_together_do_not_get_our_server_twice() {
    let home = Home::new("together");
    let text =
        |name: &str| format!("{{\"mcp\": {{\"{name}\": {{\"type\": \"local\", \"command\": [\"x\"]}}}}}}\n");
    home.write(".config/opencode/opencode.json", &text("a"));
    let second = home.write(".config/opencode/opencode.jsonc", &text("b"));
    let done = home.ptc(&["setup", "opencode", "--yes", "--no-check"]);
    let hint = "opencode.jsonc has servers, too, which stay: b; `ptc setup opencode --config ";
    assert!(done.code == 0 && done.out.contains(hint), "{}{}", done.out, done.err);
    let args = ["setup", "opencode", "--config", ".config/opencode/opencode.jsonc", "--yes", "--no-check"];
    let refused = home.ptc(&args);
    assert!(
        refused.code == 2 && refused.err.contains("opencode.json has a server 'ptc', too"),
        "{}",
        refused.err
    );
    assert_eq!(home.read(".config/opencode/opencode.jsonc"), second);

    // A file that only a variable names is told, too.
    home.write("mine/own.json", &text("c"));
    let file = home.0.join("mine/own.json");
    home.write(".config/opencode/opencode.json", &text("a"));
    fs::remove_dir_all(home.0.join(".config/ptc_runner_mcp")).expect("it was set up");
    let dry = ["setup", "opencode", "--dry-run", "--no-check"];
    let told = home.ptc_with(".", &dry, &[("OPENCODE_CONFIG", &file)]).out;
    assert!(told.contains("own.json has servers, too, which stay: c"), "{told}");
}

#[test]
fn a_server_that_a_project_only_changes_stays() {
    let home = Home::new("changed-elsewhere");
    home.write(
        ".codex/config.toml",
        "[mcp_servers.a]\ncommand = \"a\"\n\n[mcp_servers.b]\ncommand = \"b\"\n",
    );
    home.write("shop/.codex/config.toml", "[mcp_servers.a]\nenabled = false\n");
    let done = home.ptc_in("shop", &["setup", "codex", "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let line = done.out.lines().find(|line| line.starts_with("  = a stays in the client: "));
    let why = "shop/.codex/config.toml changes something about it";
    assert!(line.is_some_and(|line| line.ends_with(why)), "{}", done.out);
    let left = home.read(".codex/config.toml").parse::<toml::Table>().expect("TOML");
    assert!(left["mcp_servers"].get("a").is_some() && left["mcp_servers"].get("b").is_none(), "{left}");
}

#[test]
fn lists_of_gemini_cli_that_keep_servers_out_are_heeded() {
    let home = Home::new("gate");
    let text = |lists: &str| {
        format!(
            "{{\"mcpServers\": {{\"a\": {{\"command\": \"a\"}}, \"b\": {{\"command\": \"b\"}}}}, {lists}}}\n"
        )
    };
    let setup = || home.ptc(&["setup", "gemini", "--yes", "--no-check"]);
    home.write(".gemini/settings.json", &text("\"mcp\": {\"excluded\": [\"b\"]}"));
    let done = setup();
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    assert!(
        done.out.contains("  = b stays in the client: server 'b': the client does not start it"),
        "{}",
        done.out
    );
    assert_eq!(home.ptc(&["setup", "gemini", "--undo"]).code, 0);
    let before = home.write(".gemini/settings.json", &text("\"mcp\": {\"allowed\": [\"a\"]}"));
    let refused = setup();
    assert!(refused.code == 2 && refused.err.contains("keeps our server 'ptc' out"), "{}", refused.err);
    assert_eq!(home.read(".gemini/settings.json"), before);
    home.write(".gemini/settings.json", &text("\"mcp\": {\"allowed\": [\"a\", \"ptc\"]}"));
    assert_eq!(setup().code, 0);
}

#[test]
fn servers_that_claude_code_has_switched_off_in_a_project_are_told() {
    let home = Home::new("switched-off");
    home.write(
        ".claude.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}, \"projects\": {\"/x/shop\": {\"disabledMcpServers\": [\"a\"]}}}",
    );
    let told = home.ptc(&["setup", "claude-code", "--dry-run", "--no-check"]).out;
    assert!(told.contains("  ! a is switched off in /x/shop; behind ptc it is on there\n"), "{told}");
}

#[test]
fn servers_of_zed_move_in_both_spellings() {
    let home = Home::new("zed-spellings");
    let before = home.write(
        ".config/zed/settings.json",
        "{\n  \"context_servers\": {\n    // as it was written once\n    \"old\": {\"source\": \"custom\", \"command\": {\"path\": \"sh\", \"args\": [\"SERVER\"], \"env\": {}}},\n    \"new\": {\"command\": \"sh\", \"args\": [\"SERVER\"]},\n  },\n}\n",
    );
    let done = home.ptc(&["setup", "zed", "--yes"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    for name in ["old", "new"] {
        assert!(done.out.contains(&format!("  {name} is ready: 1 tool\n")), "{}", done.out);
    }
    assert_eq!(home.ptc(&["setup", "zed", "--undo"]).code, 0);
    assert_eq!(home.read(".config/zed/settings.json"), before);
}

/// The project `shop`, set up.
fn shop(name: &str) -> (Home, String) {
    let home = Home::new(name);
    let before = home.write("shop/.mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"a\"}}}\n");
    let done = home.ptc_in("shop", &["setup", "claude-code", "--project", "--yes", "--no-check"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    (home, before)
}

const UNDO: &[&str] = &["setup", "claude-code", "--project", "--undo"];

#[test]
fn a_project_that_was_moved_is_undone_where_it_is() {
    let (home, before) = shop("moved-project");
    fs::rename(home.0.join("shop"), home.0.join("store")).expect("it is moved");
    let again = home.ptc_in("store", &["setup", "claude-code", "--project", "--yes", "--no-check"]);
    assert!(again.out.contains("is set up already"), "{}{}", again.out, again.err);
    let undone = home.ptc_in("store", UNDO);
    assert_eq!((undone.code, home.read("store/.mcp.json")), (0, before), "{}{}", undone.out, undone.err);
    let kept = fs::read_dir(home.0.join(".config/ptc_runner_mcp/setup")).expect("a folder").count();
    assert_eq!(kept, 0);
}

#[test]
fn an_undo_in_a_copy_leaves_what_the_first_one_needs() {
    let (home, before) = shop("copied-project");
    fs::create_dir(home.0.join("copy")).expect("a folder");
    fs::copy(home.0.join("shop/.mcp.json"), home.0.join("copy/.mcp.json")).expect("it is copied");
    let undone = home.ptc_in("copy", UNDO);
    assert_eq!(
        (undone.code, home.read("copy/.mcp.json")),
        (0, before.clone()),
        "{}{}",
        undone.out,
        undone.err
    );
    assert!(undone.out.contains("what was kept stays: "), "{}", undone.out);
    let undone = home.ptc_in("shop", UNDO);
    assert_eq!((undone.code, home.read("shop/.mcp.json")), (0, before), "{}{}", undone.out, undone.err);
}
