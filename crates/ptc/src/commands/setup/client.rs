//! Clients and where they keep their servers. Data; `file.rs` reads and changes the files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Map, Value as Json, json};

use super::entry::WORKSPACE;

/// A program that speaks MCP.
pub struct Client {
    /// How it is named on the command line.
    pub name: &'static str,
    /// The folder that its file is in, for a user.
    root: Root,
    /// The names that its file can have there.
    names: &'static [&'static str],
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
    /// Whether servers that it starts have its whole environment. Claude Desktop passes on a few variables, Codex and Gemini
    /// CLI hold some back, and of Cursor and Windsurf nothing is documented.
    pub inherits: bool,
    /// The key of an entry that says how long a call may take, and how many milliseconds one of it is.
    time: Option<(&'static str, f64)>,
    /// How many milliseconds a call may take where an entry does not say.
    usual_time: u64,
    /// What becomes of a variable without a value.
    pub unset: Unset,
    /// What switches a server off in its entry.
    pub switch: Switch,
}

/// What a client makes of `disabled` and `enabled` in the entry of a server, with which some clients switch servers off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// It knows this one of the two, and not the other.
    Key(&'static str),
    /// It knows neither, and starts the server.
    Ignored,
    /// Nothing is documented.
    Unknown,
}

/// What a client does where a variable has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// It is not known, or the server is not started.
    Refused,
    /// Nothing stands in its place.
    Empty,
    /// The text stays as it is.
    Kept,
}

/// What the libraries of MCP allow a call, where a client says nothing of its own.
const OF_LIBRARY: u64 = 60_000;

/// The longest that a call may take here. Claude Code, which has no limit to speak of, and Gemini CLI give a call as long or
/// longer.
const LONGEST: u64 = 600_000;

/// The folder that the file of a user is in.
#[derive(Clone, Copy, Debug)]
enum Root {
    /// One below the folder of the user.
    Home(&'static str),
    /// The one that a variable names, else one below the folder of the user.
    Variable(&'static str, &'static str),
    /// One below the folder of configurations: `~/.config`, or what `XDG_CONFIG_HOME` says. On a Mac it may be another one.
    Config(&'static str, Option<&'static str>),
}

/// How variables stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variables {
    /// `${NAME}`, `${NAME:-default}`.
    Braces,
    /// `${env:NAME}`, and others that only the editor knows, such as `${workspaceFolder}`. `${NAME}` is text.
    Prefixed,
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
        root: Root::Variable("CLAUDE_CONFIG_DIR", ""),
        names: &[".claude.json"],
        project: &[".mcp.json"],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Braces,
        passes: Passes::All,
        inherits: true,
        time: Some(("timeout", 1.0)),
        usual_time: LONGEST,
        unset: Unset::Kept,
        switch: Switch::Ignored,
        entry: typed,
    },
    Client {
        name: "claude-desktop",
        root: Root::Config("Claude", Some("Library/Application Support/Claude")),
        names: &["claude_desktop_config.json"],
        project: &[],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::None,
        passes: Passes::All,
        inherits: false,
        time: None,
        usual_time: OF_LIBRARY,
        unset: Unset::Refused,
        switch: Switch::Unknown,
        entry: plain,
    },
    Client {
        name: "cursor",
        root: Root::Home(".cursor"),
        names: &["mcp.json"],
        project: &[".cursor/mcp.json"],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Prefixed,
        passes: Passes::AllAndWorkspace,
        inherits: false,
        time: None,
        usual_time: OF_LIBRARY,
        unset: Unset::Refused,
        switch: Switch::Unknown,
        entry: plain,
    },
    Client {
        name: "vscode",
        root: Root::Config("Code/User", Some("Library/Application Support/Code/User")),
        names: &["mcp.json"],
        project: &[".vscode/mcp.json"],
        place: &["servers"],
        format: Format::Json,
        variables: Variables::Prefixed,
        passes: Passes::AllAndWorkspace,
        inherits: true,
        time: None,
        usual_time: OF_LIBRARY,
        unset: Unset::Empty,
        switch: Switch::Ignored,
        entry: typed,
    },
    Client {
        name: "codex",
        root: Root::Variable("CODEX_HOME", ".codex"),
        names: &["config.toml"],
        project: &[".codex/config.toml"],
        place: &["mcp_servers"],
        format: Format::Toml,
        variables: Variables::None,
        passes: Passes::Named,
        inherits: false,
        time: Some(("tool_timeout_sec", 1000.0)),
        usual_time: OF_LIBRARY,
        unset: Unset::Refused,
        switch: Switch::Key("enabled"),
        entry: plain,
    },
    Client {
        name: "opencode",
        root: Root::Config("opencode", None),
        names: &["opencode.json", "opencode.jsonc", "config.json"],
        project: &["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"],
        place: &["mcp"],
        format: Format::Json,
        variables: Variables::Words,
        passes: Passes::All,
        inherits: true,
        time: Some(("timeout", 1.0)),
        usual_time: OF_LIBRARY,
        unset: Unset::Empty,
        switch: Switch::Key("enabled"),
        entry: |program, args| {
            let words: Vec<&str> = std::iter::once(program).chain(args.iter().map(String::as_str)).collect();
            json!({"type": "local", "command": words, "enabled": true})
        },
    },
    Client {
        name: "gemini",
        root: Root::Variable("GEMINI_CLI_HOME", ""),
        names: &[".gemini/settings.json"],
        project: &[".gemini/settings.json"],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Dollar,
        passes: Passes::Written,
        inherits: false,
        time: Some(("timeout", 1.0)),
        usual_time: LONGEST,
        unset: Unset::Empty,
        switch: Switch::Ignored,
        entry: plain,
    },
    Client {
        name: "zed",
        root: Root::Config("zed", None),
        names: &["settings.json"],
        project: &[".zed/settings.json"],
        place: &["context_servers"],
        format: Format::Json,
        variables: Variables::None,
        passes: Passes::All,
        inherits: true,
        time: None,
        usual_time: OF_LIBRARY,
        unset: Unset::Refused,
        switch: Switch::Key("enabled"),
        entry: |program, args| json!({"source": "custom", "command": program, "args": args, "env": {}}),
    },
    Client {
        name: "windsurf",
        root: Root::Home(".codeium/windsurf"),
        names: &["mcp_config.json"],
        project: &[],
        place: SERVERS,
        format: Format::Json,
        variables: Variables::Prefixed,
        passes: Passes::All,
        inherits: false,
        time: None,
        usual_time: OF_LIBRARY,
        unset: Unset::Refused,
        switch: Switch::Key("disabled"),
        entry: plain,
    },
];

/// Whose files are looked for.
pub struct User {
    /// The folder of the user.
    pub home: PathBuf,
    /// The folder of configurations.
    pub config: PathBuf,
}

impl User {
    /// Whoever runs this.
    pub fn of_environment() -> anyhow::Result<User> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from);
        let home =
            home.context("HOME is not set, so the client's file cannot be found; name it with --config")?;
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.filter(|folder| folder.is_absolute()).unwrap_or_else(|| home.join(".config"));
        Ok(User { home, config })
    }

    /// The path that a variable names, if it is set.
    pub fn variable(&self, name: &str) -> Option<PathBuf> {
        std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }
}

impl Client {
    /// The client of this name.
    pub fn named(name: &str) -> Option<&'static Client> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Where its file can be for a user, the usual place first.
    pub fn files(&self, user: &User) -> Vec<PathBuf> {
        let folder = self.folder(user);
        self.names.iter().map(|name| folder.join(name)).collect()
    }

    /// The folder that its file is in for a user.
    fn folder(&self, user: &User) -> PathBuf {
        match self.root {
            Root::Home(folder) => user.home.join(folder),
            Root::Variable(name, folder) => match user.variable(name) {
                Some(own) => own,
                None => user.home.join(folder),
            },
            Root::Config(_, Some(mac)) if cfg!(target_os = "macos") => user.home.join(mac),
            Root::Config(folder, _) => user.config.join(folder),
        }
    }

    /// Other files of the user that it reads, too.
    pub fn named_files(&self, user: &User) -> Vec<PathBuf> {
        if self.name != "opencode" {
            return Vec::new();
        }
        let folders = [Some(user.home.join(".opencode")), user.variable("OPENCODE_CONFIG_DIR")];
        let inside = folders
            .into_iter()
            .flatten()
            .flat_map(|folder| self.names.iter().map(move |name| folder.join(name)));
        user.variable("OPENCODE_CONFIG").into_iter().chain(inside).collect()
    }

    /// Files with servers that are not the user's: of the machine, and of extensions.
    pub fn fixed_files(&self, user: &User) -> Vec<PathBuf> {
        match self.name {
            "claude-code" if cfg!(target_os = "macos") => {
                vec!["/Library/Application Support/ClaudeCode/managed-mcp.json".into()]
            }
            "claude-code" => vec!["/etc/claude-code/managed-mcp.json".into()],
            "codex" => vec!["/etc/codex/config.toml".into()],
            "gemini" => {
                let machine = user.variable("GEMINI_CLI_SYSTEM_SETTINGS_PATH");
                let machine = machine.unwrap_or_else(|| "/etc/gemini-cli/settings.json".into());
                let extensions = std::fs::read_dir(self.folder(user).join(".gemini/extensions"));
                let extensions = extensions.into_iter().flatten().flatten();
                let files = extensions.map(|entry| entry.path().join("gemini-extension.json"));
                std::iter::once(machine).chain(files).collect()
            }
            _ => Vec::new(),
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

    /// What people are asked who have a new server in the file of a project.
    pub fn asks_about_projects(&self) -> &'static str {
        match self.name {
            "claude-code" => {
                " It asks whether it may use ptc-project, and does not with `claude -p` before that."
            }
            _ => "",
        }
    }

    /// Whether it fills in the folder that is worked in, in the file of the user too.
    pub fn fills_workspace(&self) -> bool {
        self.passes == Passes::AllAndWorkspace
    }

    /// How many milliseconds an entry gives a call, if it says so.
    pub fn said_time(&self, entry: &Json) -> Option<u64> {
        let (key, scale) = self.time?;
        Some((entry.get(key)?.as_f64()? * scale) as u64)
    }

    /// How many milliseconds a call has, whether the entry says so or not, and at most as many as it can have here.
    pub fn call_time(&self, entry: &Json) -> u64 {
        self.said_time(entry).unwrap_or(self.usual_time).clamp(1, LONGEST)
    }

    /// Our entry: it is started with these words, needs these variables, and its calls may take these milliseconds, if that
    /// is said of one of its servers.
    pub fn own_entry(
        &self,
        program: &str,
        args: &[String],
        variables: &BTreeSet<String>,
        time: Option<u64>,
    ) -> Json {
        let mut entry = (self.entry)(program, args);
        if let (Some((key, scale)), Some(time)) = (self.time, time) {
            entry[key] = json!((time as f64 / scale).ceil() as u64);
        }
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
