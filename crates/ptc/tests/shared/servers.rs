//! Sixteen servers as people have them behind one client: ten of npm, four of PyPI, and two HTTP APIs. All of them start
//! and list their tools without a network; tokens are made up. `cargo xtask packages` installs the programs.
//!
//! Other test programs take this file by its path; they need `crate::skip`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

/// How a server is run.
enum Kind {
    /// Node with a file, from `node_modules`.
    Npm(&'static str),
    /// A program, in an environment of Python.
    Python(&'static str, &'static str),
    /// An HTTP API, by its document beside this file.
    Api(&'static str),
}

/// A server. `FOLDER` in its arguments and its environment is the folder of the test.
struct Server {
    name: &'static str,
    kind: Kind,
    args: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
}

/// A server without arguments and without an environment of its own.
const fn plain(name: &'static str, kind: Kind) -> Server {
    Server { name, kind, args: &[], env: &[] }
}

/// The environment of Python with the current SDK, and the one with the SDK that older servers need.
const CURRENT: &str = "python";
const OLD: &str = "python-mcp1";

/// All of them. Their tokens open nothing.
const SERVERS: &[Server] = &[
    Server {
        args: &["stdio"],
        ..plain("everything", Kind::Npm("@modelcontextprotocol/server-everything/dist/index.js"))
    },
    Server {
        args: &["FOLDER/files"],
        ..plain("filesystem", Kind::Npm("@modelcontextprotocol/server-filesystem/dist/index.js"))
    },
    Server {
        env: &[("MEMORY_FILE_PATH", "FOLDER/memory.jsonl")],
        ..plain("memory", Kind::Npm("@modelcontextprotocol/server-memory/dist/index.js"))
    },
    plain("thinking", Kind::Npm("@modelcontextprotocol/server-sequential-thinking/dist/index.js")),
    Server {
        env: &[("GITHUB_PERSONAL_ACCESS_TOKEN", "made-up-token-of-github")],
        ..plain("github", Kind::Npm("@modelcontextprotocol/server-github/dist/index.js"))
    },
    Server {
        env: &[("GITLAB_PERSONAL_ACCESS_TOKEN", "made-up-token-of-gitlab")],
        ..plain("gitlab", Kind::Npm("@modelcontextprotocol/server-gitlab/dist/index.js"))
    },
    Server {
        env: &[("SLACK_BOT_TOKEN", "made-up-token-of-slack"), ("SLACK_TEAM_ID", "T0000000000")],
        ..plain("slack", Kind::Npm("@modelcontextprotocol/server-slack/dist/index.js"))
    },
    Server {
        env: &[("GOOGLE_MAPS_API_KEY", "made-up-key-of-maps")],
        ..plain("maps", Kind::Npm("@modelcontextprotocol/server-google-maps/dist/index.js"))
    },
    Server {
        args: &[
            "--headless",
            "--isolated",
            "--no-sandbox",
            "--executable-path",
            "/usr/bin/chromium",
            "--output-dir",
            "FOLDER/pages",
        ],
        ..plain("playwright", Kind::Npm("@playwright/mcp/cli.js"))
    },
    Server {
        env: &[("NOTION_TOKEN", "made-up-token-of-notion")],
        ..plain("notion", Kind::Npm("@notionhq/notion-mcp-server/bin/cli.mjs"))
    },
    Server {
        args: &["--local-timezone", "Europe/Berlin"],
        ..plain("time", Kind::Python(CURRENT, "mcp-server-time"))
    },
    Server {
        args: &["--repository", "FOLDER/repository"],
        env: &[
            ("GIT_AUTHOR_NAME", "Ann"),
            ("GIT_AUTHOR_EMAIL", "ann@example.com"),
            ("GIT_COMMITTER_NAME", "Ann"),
            ("GIT_COMMITTER_EMAIL", "ann@example.com"),
        ],
        ..plain("git", Kind::Python(CURRENT, "mcp-server-git"))
    },
    Server {
        // The web of tests is on this computer.
        args: &["--allow-private-ips", "--ignore-robots-txt"],
        ..plain("fetch", Kind::Python(CURRENT, "mcp-server-fetch"))
    },
    Server {
        args: &["--db-path", "FOLDER/data.sqlite"],
        ..plain("sqlite", Kind::Python(OLD, "mcp-server-sqlite"))
    },
    plain("shop", Kind::Api("shop.yaml")),
    plain("helpdesk", Kind::Api("helpdesk.yaml")),
];

/// Nobody listens there.
pub const NOWHERE: &str = "http://127.0.0.1:9";

/// Their names.
pub fn names() -> Vec<&'static str> {
    SERVERS.iter().map(|server| server.name).collect()
}

/// The upstreams configuration with all of them, and what they need in `folder`. The HTTP APIs are at `base_url`, each
/// under its name. `None` where there is no Node, Python or git.
pub fn config(folder: &Path, base_url: &str) -> Option<Json> {
    for program in ["node", "python3", "git"] {
        if !runs(program) {
            crate::skip::skip(&format!("`{program}`, which real servers need,"));
            return None;
        }
    }
    std::fs::create_dir_all(folder.join("files")).expect("a folder of files");
    std::fs::create_dir_all(folder.join("pages")).expect("a folder of pages");
    repository(&folder.join("repository"));
    let upstreams: serde_json::Map<String, Json> =
        SERVERS.iter().map(|server| (server.name.to_owned(), server.entry(folder, base_url))).collect();
    Some(json!({ "upstreams": upstreams }))
}

/// Whether a program is there and runs.
fn runs(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Makes a folder that is an empty repository.
pub fn repository(folder: &Path) {
    let made = Command::new("git").args(["init", "--quiet"]).arg(folder).status();
    assert!(made.is_ok_and(|status| status.success()), "git cannot make {}", folder.display());
}

/// A path in the workspace, which must be there.
fn there(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    assert!(path.exists(), "{} is not there: run `cargo xtask packages`", path.display());
    path
}

impl Server {
    /// Its entry in the configuration.
    fn entry(&self, folder: &Path, base_url: &str) -> Json {
        let filled = |text: &str| text.replace("FOLDER", &folder.display().to_string());
        let (program, mut args) = match &self.kind {
            Kind::Npm(file) => (
                PathBuf::from("node"),
                vec![there(&format!(".tools/npm/node_modules/{file}")).display().to_string()],
            ),
            Kind::Python(environment, name) => {
                (there(&format!(".tools/{environment}/bin/{name}")), Vec::new())
            }
            Kind::Api(document) => return self.api(document, base_url),
        };
        args.extend(self.args.iter().map(|arg| filled(arg)));
        let env: serde_json::Map<String, Json> =
            self.env.iter().map(|(name, value)| ((*name).to_owned(), json!(filled(value)))).collect();
        json!({"transport": "mcp_stdio", "command": program, "args": args, "env": env, "cd": folder})
    }

    fn api(&self, document: &str, base_url: &str) -> Json {
        json!({
            "transport": "openapi",
            "base_url": format!("{base_url}/{}", self.name),
            "allow_insecure_http": true,
            "schema_file": there(&format!("crates/ptc/tests/shared/servers/{document}")),
            "include_operations": ["*"],
            "allow_writes": true,
        })
    }
}
