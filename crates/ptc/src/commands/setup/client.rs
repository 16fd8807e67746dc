//! Clients and where they keep their servers. Data; `file.rs` reads and changes the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json, json};

use super::entry::WORKSPACE;

/// A program that speaks MCP.
pub struct Client {
    /// How it is named on the command line.
    pub name: &'static str,
    /// The names that its file can have, from the folder of the user: on Linux, and on a Mac where that is another one.
    file: (&'static [&'static str], Option<&'static str>),
    /// The names that its file can have in the folder of a project, none if it has none there.
    project: &'static [&'static str],
    /// The keys that lead to its servers.
    pub place: &'static [&'static str],
    /// How the file is written.
    pub format: Format,
    /// How variables stand in the file.
    pub variables: Variables,
    /// The entry of a server that is started with these words.
    entry: fn(&str, &[String]) -> Json,
    /// How variables get to servers that it starts.
    passes: Passes,
}

/// How variables stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variables {
    /// `${NAME}`, `${env:NAME}`, `${NAME:-default}`.
    Braces,
    /// `$NAME` too.
    Dollar,
    /// `{env:NAME}`, and `{file:path}` for what is in a file.
    Words,
    /// Not at all: what looks like one is text.
    None,
}

/// How variables get to servers that a client starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passes {
    /// All of them, by themselves.
    All,
    /// All of them, and the folder that is worked in is filled in.
    AllAndWorkspace,
    /// Those that the entry names in `env_vars`.
    Named,
    /// Those that look like secrets only if they stand in `env`.
    Written,
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
        file: (&[".claude.json"], None),
        project: &[".mcp.json"],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Braces,
        passes: Passes::All,
        entry: typed,
    },
    Client {
        name: "claude-desktop",
        file: (
            &[".config/Claude/claude_desktop_config.json"],
            Some("Library/Application Support/Claude/claude_desktop_config.json"),
        ),
        project: &[],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Braces,
        passes: Passes::All,
        entry: plain,
    },
    Client {
        name: "cursor",
        file: (&[".cursor/mcp.json"], None),
        project: &[".cursor/mcp.json"],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Braces,
        passes: Passes::AllAndWorkspace,
        entry: plain,
    },
    Client {
        name: "vscode",
        file: (&[".config/Code/User/mcp.json"], Some("Library/Application Support/Code/User/mcp.json")),
        project: &[".vscode/mcp.json"],
        place: &["servers"],
        format: Format::Json,
        variables: Variables::Braces,
        passes: Passes::AllAndWorkspace,
        entry: typed,
    },
    Client {
        name: "codex",
        file: (&[".codex/config.toml"], None),
        project: &[".codex/config.toml"],
        place: &["mcp_servers"],
        format: Format::Toml,
        variables: Variables::None,
        passes: Passes::Named,
        entry: plain,
    },
    Client {
        name: "opencode",
        file: (&[".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"], None),
        project: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
        place: &["mcp"],
        format: Format::Json,
        variables: Variables::Words,
        passes: Passes::All,
        entry: |program, args| {
            let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
            json!({"type": "local", "command": words, "enabled": true})
        },
    },
    Client {
        name: "gemini",
        file: (&[".gemini/settings.json"], None),
        project: &[".gemini/settings.json"],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Dollar,
        passes: Passes::Written,
        entry: plain,
    },
    Client {
        name: "zed",
        file: (&[".config/zed/settings.json"], None),
        project: &[".zed/settings.json"],
        place: &["context_servers"],
        format: Format::Json,
        variables: Variables::Braces,
        passes: Passes::All,
        entry: |program, args| json!({"source": "custom", "command": program, "args": args, "env": {}}),
    },
    Client {
        name: "windsurf",
        file: (&[".codeium/windsurf/mcp_config.json"], None),
        project: &[],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Braces,
        passes: Passes::All,
        entry: plain,
    },
];

impl Client {
    /// The client of this name.
    pub fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Where its file can be for a user, the usual place first.
    pub fn files(&self, home: &Path) -> Vec<PathBuf> {
        let (linux, mac) = &self.file;
        match mac.filter(|_| cfg!(target_os = "macos")) {
            Some(mac) => vec![home.join(mac)],
            None => linux.iter().map(|file| home.join(file)).collect(),
        }
    }

    /// Where its file can be in a project, the usual place first; nowhere if it has none there.
    pub fn project_files(&self, folder: &Path) -> Vec<PathBuf> {
        self.project.iter().map(|file| folder.join(file)).collect()
    }

    /// Whether it keeps servers of single projects in the file of the user too, below `projects`.
    pub fn has_local_servers(&self) -> bool {
        self.name == "claude-code"
    }

    /// Whether it fills in the folder that is worked in, in the file of the user too.
    pub fn fills_workspace(&self) -> bool {
        self.passes == Passes::AllAndWorkspace
    }

    /// Our entry: it is started with these words, and needs these variables.
    pub fn own_entry(&self, program: &str, args: &[String], variables: &BTreeSet<String>) -> Json {
        let mut entry = (self.entry)(program, args);
        let others = || variables.iter().filter(|name| *name != WORKSPACE);
        match self.passes {
            Passes::Named if others().next().is_some() => {
                entry["env_vars"] = others().map(|name| json!(name)).collect();
            }
            Passes::Written if others().next().is_some() => {
                let env = others().map(|name| (name.clone(), json!(format!("${name}"))));
                entry["env"] = Json::Object(env.collect::<Map<_, _>>());
            }
            Passes::AllAndWorkspace if variables.contains(WORKSPACE) => {
                entry["env"] = json!({WORKSPACE: "${workspaceFolder}"});
            }
            _ => {}
        }
        entry
    }
}
