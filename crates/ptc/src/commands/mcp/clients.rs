//! What clients want to be told to start or reach the server.

use std::collections::BTreeSet;
use std::path::Path;

use ptc_server::options::{Options, SETTINGS};
use ptc_upstream::config::{ENV_VAR, Found};
use serde_json::{Map, Value as Json, json};

use crate::commands::setup::needed_variables;

/// Programs that speak MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownClient {
    ClaudeDesktop,
    ClaudeCode,
    Cursor,
    VsCode,
    Codex,
    OpenCode,
    Gemini,
    Zed,
    Windsurf,
}

impl KnownClient {
    /// Them by name.
    pub const NAMES: &[(&str, KnownClient)] = &[
        ("claude-desktop", KnownClient::ClaudeDesktop),
        ("claude-code", KnownClient::ClaudeCode),
        ("cursor", KnownClient::Cursor),
        ("vscode", KnownClient::VsCode),
        ("codex", KnownClient::Codex),
        ("opencode", KnownClient::OpenCode),
        ("gemini", KnownClient::Gemini),
        ("zed", KnownClient::Zed),
        ("windsurf", KnownClient::Windsurf),
    ];

    /// What to do with the text.
    pub fn place(self) -> &'static str {
        match self {
            KnownClient::ClaudeDesktop => {
                "this goes into claude_desktop_config.json: Settings, Developer, Edit Config"
            }
            KnownClient::ClaudeCode => "run this in the folder of your project",
            KnownClient::Cursor => {
                "this goes into .cursor/mcp.json of your project, or into ~/.cursor/mcp.json"
            }
            KnownClient::VsCode => "this goes into .vscode/mcp.json of your folder",
            KnownClient::Codex => "this goes into ~/.codex/config.toml",
            KnownClient::OpenCode => {
                "this goes into opencode.json of your project, or into ~/.config/opencode/opencode.json"
            }
            KnownClient::Gemini => {
                "this goes into .gemini/settings.json of your project, or into ~/.gemini/settings.json"
            }
            KnownClient::Zed => "this goes into ~/.config/zed/settings.json",
            KnownClient::Windsurf => "this goes into ~/.codeium/windsurf/mcp_config.json",
        }
    }

    pub fn named(name: &str) -> Option<KnownClient> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, client)| *client)
    }
}

/// How the server is called in clients.
const NAME: &str = "ptc";

/// The variable from which clients take the token.
const TOKEN: &str = "PTC_TOKEN";

/// The text for a client's configuration, with the flags of this command line.
pub fn snippet(client: KnownClient, flags: &[(String, String)], options: &Options) -> anyhow::Result<String> {
    match options.http.on {
        true => remote(client, options),
        false => Ok(local(client, flags, &needed(options)?)?),
    }
}

fn pretty(json: &Json) -> String {
    format!("{json:#}\n")
}

/// The variables that the configuration of upstreams needs.
fn needed(options: &Options) -> anyhow::Result<BTreeSet<String>> {
    Ok(match &options.upstreams_config {
        Found::File(path) => needed_variables(&std::fs::read_to_string(path)?),
        Found::Inline(text) => {
            let mut needed = needed_variables(text);
            needed.insert(ENV_VAR.to_owned());
            needed
        }
        Found::Nowhere => BTreeSet::new(),
    })
}

/// The entry of a server that is started. Codex and Gemini CLI hold variables back, so theirs name what is needed.
fn local(
    client: KnownClient,
    flags: &[(String, String)],
    needed: &BTreeSet<String>,
) -> anyhow::Result<String> {
    let program = std::env::current_exe()?.display().to_string();
    let args = arguments(flags)?;
    let command = json!({"command": program, "args": args});
    Ok(match client {
        KnownClient::Gemini if !needed.is_empty() => {
            let env: Map<String, Json> =
                needed.iter().map(|name| (name.clone(), json!(format!("${name}")))).collect();
            pretty(&json!({"mcpServers": {NAME: {"command": program, "args": args, "env": env}}}))
        }
        KnownClient::ClaudeDesktop | KnownClient::Cursor | KnownClient::Gemini | KnownClient::Windsurf => {
            pretty(&json!({"mcpServers": {NAME: command}}))
        }
        KnownClient::OpenCode => {
            let words: Vec<&String> = std::iter::once(&program).chain(&args).collect();
            pretty(&json!({"mcp": {NAME: {"type": "local", "command": words}}}))
        }
        KnownClient::Zed => pretty(
            &json!({"context_servers": {NAME: {"source": "custom", "command": program, "args": args, "env": {}}}}),
        ),
        KnownClient::VsCode => {
            pretty(&json!({"servers": {NAME: {"type": "stdio", "command": program, "args": args}}}))
        }
        KnownClient::ClaudeCode => {
            let words: Vec<String> = std::iter::once(&program).chain(&args).map(|word| shell(word)).collect();
            format!("claude mcp add {NAME} -- {}\n", words.join(" "))
        }
        KnownClient::Codex => {
            // Strings and lists of JSON are those of TOML.
            let variables = match needed.is_empty() {
                true => String::new(),
                false => format!("env_vars = {}\n", json!(needed)),
            };
            format!("[mcp_servers.{NAME}]\ncommand = {}\nargs = {}\n{variables}", json!(program), json!(args))
        }
    })
}

fn remote(client: KnownClient, options: &Options) -> anyhow::Result<String> {
    let host = match options.http_host.contains(':') {
        true => format!("[{}]", options.http_host),
        false => options.http_host.clone(),
    };
    let url = format!("http://{host}:{}{}", options.http_port, options.http_path);
    let secured = options.http_auth_token.is_some() || options.http_role_tokens.is_some();
    let headers = |value: &str| match secured {
        true => json!({"Authorization": format!("Bearer {value}")}),
        false => json!({}),
    };
    Ok(match client {
        KnownClient::ClaudeDesktop => anyhow::bail!(
            "Claude Desktop starts servers itself: leave out --http, or add {url} as a connector in its settings"
        ),
        KnownClient::Cursor => {
            let headers = headers(&format!("${{env:{TOKEN}}}"));
            pretty(&json!({"mcpServers": {NAME: {"url": url, "headers": headers}}}))
        }
        KnownClient::VsCode => {
            let input = json!([{"type": "promptString", "id": "ptc-token", "description": "Token", "password": true}]);
            let headers = headers("${input:ptc-token}");
            let server = json!({"type": "http", "url": url, "headers": headers});
            match secured {
                true => pretty(&json!({"inputs": input, "servers": {NAME: server}})),
                false => pretty(&json!({"servers": {NAME: server}})),
            }
        }
        KnownClient::ClaudeCode => {
            let header = match secured {
                // In single quotes: the client fills in the variable when it starts, not the shell now.
                true => format!(" --header 'Authorization: Bearer ${{{TOKEN}}}'"),
                false => String::new(),
            };
            format!("claude mcp add --transport http {NAME} {url}{header}\n")
        }
        KnownClient::Codex => {
            let token = match secured {
                true => format!("bearer_token_env_var = \"{TOKEN}\"\n"),
                false => String::new(),
            };
            format!("[mcp_servers.{NAME}]\nurl = {}\n{token}", json!(url))
        }
        KnownClient::OpenCode => {
            let headers = headers(&format!("{{env:{TOKEN}}}"));
            pretty(&json!({"mcp": {NAME: {"type": "remote", "url": url, "headers": headers}}}))
        }
        KnownClient::Gemini => {
            let headers = headers(&format!("${TOKEN}"));
            pretty(&json!({"mcpServers": {NAME: {"httpUrl": url, "headers": headers}}}))
        }
        KnownClient::Windsurf => {
            let headers = headers(&format!("${{env:{TOKEN}}}"));
            pretty(&json!({"mcpServers": {NAME: {"serverUrl": url, "headers": headers}}}))
        }
        KnownClient::Zed if secured => anyhow::bail!(
            "Zed fills in no variables, so the token would stand in its settings: leave out --http, or write the header yourself"
        ),
        KnownClient::Zed => pretty(&json!({"context_servers": {NAME: {"url": url}}})),
    })
}

/// The flags for another start: paths are absolute, because clients start servers elsewhere, and secrets stay out.
fn arguments(flags: &[(String, String)]) -> anyhow::Result<Vec<String>> {
    let mut args = vec!["mcp".to_owned()];
    for (flag, value) in flags {
        let takes = SETTINGS.iter().find(|setting| setting.flag == *flag).map_or("", |setting| setting.takes);
        if takes.contains("token") || (takes.contains("postgres") && value.contains("://")) {
            anyhow::bail!(
                "--{flag} holds a secret: set its variable where the client starts, and leave the flag out"
            );
        }
        let value = match takes.starts_with("a path") || (takes.contains("file") && value != ":memory:") {
            true => std::path::absolute(Path::new(value))?.display().to_string(),
            false => value.clone(),
        };
        args.push(format!("--{flag}={value}"));
    }
    Ok(args)
}

/// A word as shells read it.
fn shell(word: &str) -> String {
    match word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_=./:,".contains(&byte)) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
