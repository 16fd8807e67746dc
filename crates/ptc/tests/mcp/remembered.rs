//! What servers offered when they were last there stands in descriptions before they are up again.

use serde_json::{Value as Json, json};

use crate::late::{Gate, late_server};
use crate::support::{Folder, LIST_CHANGED, StdioServer, initialize, ptc};

/// Two servers that wait at gates, and a folder for what is remembered of them.
struct Late {
    folder: Folder,
    config: String,
    gates: [Gate; 2],
}

impl Late {
    fn new() -> Late {
        let folder = Folder::new();
        let script = folder.file("late.sh", &late_server());
        let gates = ["first", "second"].map(|name| Gate::shut(&folder, name));
        let entry = |gate: &Gate| json!({"command": "sh", "args": [script, gate.path()]});
        let servers = json!({"mcpServers": {"first": entry(&gates[0]), "second": entry(&gates[1])}});
        let config = folder.file("mcp.json", &servers.to_string());
        Late { folder, config, gates }
    }

    fn cache(&self) -> std::path::PathBuf {
        self.folder.path().join("cache")
    }

    fn server(&self, more: &[&str]) -> StdioServer {
        let mut command = ptc(&[&["--upstreams-config", &self.config], more].concat());
        command.env("XDG_CACHE_HOME", self.cache());
        let mut server = StdioServer::spawn(command);
        server.ask(0, "initialize", initialize("2025-11-25"));
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }
}

fn listed(server: &mut StdioServer) -> String {
    server.ask(9, "tools/list", json!({})).to_string()
}

fn is_up(server: &mut StdioServer, name: &str) {
    server.log.wait_for(&format!("{name} is ready"), |line| line.contains(name) && line.contains("is ready"));
}

#[test]
fn clients_hear_of_a_server_that_comes_up_only_if_it_is_not_as_it_was_remembered() {
    let mut late = Late::new();
    let mut server = late.server(&[]);
    late.gates[0].open();
    is_up(&mut server, "first");
    drop(server);
    // Only the first is remembered; now both are away.
    late.gates = ["first", "second"].map(|name| Gate::shut(&late.folder, name));
    let mut server = late.server(&[]);
    let before = listed(&mut server);
    assert!(before.contains("- first: 1 tool: look.") && before.contains("(dir 'second) lists"), "{before}");
    late.gates[0].open();
    is_up(&mut server, "first");
    assert_eq!(listed(&mut server), before);
    late.gates[1].open();
    let heard: Json = server.receive_any();
    assert_eq!(heard["method"], LIST_CHANGED, "{heard}");
    let after = listed(&mut server);
    assert!(after.contains("- second: 1 tool"), "the first change is that of the second server: {after}");
}

#[test]
fn nothing_is_kept_where_that_is_switched_off() {
    for (more, kept) in [(&[][..], true), (&["--remember-catalogs=false"][..], false)] {
        let mut late = Late::new();
        let mut server = late.server(more);
        late.gates[0].open();
        is_up(&mut server, "first");
        drop(server);
        assert_eq!(late.cache().join("ptc/catalogs").exists(), kept, "{more:?}");
        if kept {
            continue;
        }
        // Nor is anything read that another server kept.
        drop({
            let mut other = late.server(&[]);
            late.gates[0].open();
            is_up(&mut other, "first");
            other
        });
        assert!(late.cache().join("ptc/catalogs").exists());
        late.gates = ["first", "second"].map(|name| Gate::shut(&late.folder, name));
        let text = listed(&mut late.server(more));
        assert!(text.contains("- first: (dir 'first) lists its tools."), "{text}");
    }
}
