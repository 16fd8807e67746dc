//! Clients and where they keep their servers. Data; `file.rs` reads and changes the files.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

/// A program that speaks MCP.
pub struct Client {
    /// How it is named on the command line.
    pub name: &'static str,
    /// Its file, from the folder of the user: on Linux, and on a Mac where that is another one.
    file: (&'static str, Option<&'static str>),
    /// Its file in the folder of a project, if it has one there.
    project: Option<&'static str>,
    /// The keys that lead to its servers.
    pub place: &'static [&'static str],
    /// How the file is written.
    pub format: Format,
    /// The entry of a server that is started with these words.
    pub entry: fn(&str, &[String]) -> Json,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON, perhaps with comments.
    Json,
    Toml,
}

fn plain(program: &str, args: &[String]) -> Json {
    json!({"command": program, "args": args})
}

fn typed(program: &str, args: &[String]) -> Json {
    json!({"type": "stdio", "command": program, "args": args})
}

const SERVERS: &[&str] = &["mcpServers"];

/// All of them.
pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        file: (".claude.json", None),
        project: Some(".mcp.json"),
        place: SERVERS,
        format: Format::Json,
        entry: typed,
    },
    Client {
        name: "claude-desktop",
        file: (
            ".config/Claude/claude_desktop_config.json",
            Some("Library/Application Support/Claude/claude_desktop_config.json"),
        ),
        project: None,
        place: SERVERS,
        format: Format::Json,
        entry: plain,
    },
    Client {
        name: "cursor",
        file: (".cursor/mcp.json", None),
        project: Some(".cursor/mcp.json"),
        place: SERVERS,
        format: Format::Json,
        entry: plain,
    },
    Client {
        name: "vscode",
        file: (".config/Code/User/mcp.json", Some("Library/Application Support/Code/User/mcp.json")),
        project: Some(".vscode/mcp.json"),
        place: &["servers"],
        format: Format::Json,
        entry: typed,
    },
    Client {
        name: "codex",
        file: (".codex/config.toml", None),
        project: Some(".codex/config.toml"),
        place: &["mcp_servers"],
        format: Format::Toml,
        entry: plain,
    },
    Client {
        name: "opencode",
        file: (".config/opencode/opencode.json", None),
        project: Some("opencode.json"),
        place: &["mcp"],
        format: Format::Json,
        entry: |program, args| {
            let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
            json!({"type": "local", "command": words, "enabled": true})
        },
    },
    Client {
        name: "gemini",
        file: (".gemini/settings.json", None),
        project: Some(".gemini/settings.json"),
        place: SERVERS,
        format: Format::Json,
        entry: plain,
    },
    Client {
        name: "zed",
        file: (".config/zed/settings.json", None),
        project: Some(".zed/settings.json"),
        place: &["context_servers"],
        format: Format::Json,
        entry: |program, args| json!({"source": "custom", "command": program, "args": args, "env": {}}),
    },
    Client {
        name: "windsurf",
        file: (".codeium/windsurf/mcp_config.json", None),
        project: None,
        place: SERVERS,
        format: Format::Json,
        entry: plain,
    },
];

impl Client {
    /// The client of this name.
    pub fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Where its file is for a user.
    pub fn file(&self, home: &Path) -> PathBuf {
        let (linux, mac) = self.file;
        home.join(mac.filter(|_| cfg!(target_os = "macos")).unwrap_or(linux))
    }

    /// Where its file is in a project.
    pub fn project_file(&self, folder: &Path) -> Option<PathBuf> {
        self.project.map(|file| folder.join(file))
    }
}
