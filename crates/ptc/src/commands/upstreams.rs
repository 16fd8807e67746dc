//! `ptc upstreams`: looks at the servers of a configuration, says which tools they have and what is wrong, and
//! pins the definitions of tools so that a later change is noticed.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use ptc_upstream::catalog::Argument;
use ptc_upstream::config::{Config, ENV_VAR, Found, PinPolicy, locate};
use ptc_upstream::credentials::Secrets;
use ptc_upstream::inspect::{ServerReport, ToolReport, inspect};
use ptc_upstream::model::Reason;
use ptc_upstream::pins::{Change, Difference, Pins};
use serde_json::{Value as Json, json};

use super::eval::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal::{self, errln, plain};

/// Exit codes of these commands.
const CODES: &str = "Exit codes:
  0  every server was reached, and tools are as pinned
  1  a server cannot be reached, or a tool is not as pinned
  2  the command line, the configuration, a credential or the pins file cannot be used; nothing was started
";

/// Look at upstream servers, and pin their tools.
#[derive(Debug, clap::Args)]
pub struct UpstreamsArgs {
    #[command(subcommand)]
    command: Sub,
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// Reach every server, list its tools, and say what is wrong with them or has changed.
    #[command(after_long_help = CODES)]
    Check(Check),
    /// Write down the definitions of all tools as they are now, so that a later change is noticed.
    #[command(after_long_help = CODES)]
    Pin(Pin),
}

/// Which configuration, and which of its servers.
#[derive(Debug, clap::Args)]
struct WhichServers {
    /// The configuration; otherwise what PTC_RUNNER_MCP_UPSTREAMS names or holds, otherwise
    /// ptc_runner_mcp/upstreams.json in the user's configuration folder
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,

    /// Only this server; may be given more than once
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,

    /// The file with the pins, in place of the one that the configuration names
    #[arg(long, value_name = "FILE")]
    pins: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct Check {
    #[command(flatten)]
    which: WhichServers,

    /// Problems with schemas fail the check, too
    #[arg(long)]
    strict: bool,
}

#[derive(Debug, clap::Args)]
struct Pin {
    #[command(flatten)]
    which: WhichServers,

    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
}

/// Runs the command.
pub fn run(args: UpstreamsArgs) -> anyhow::Result<Outcome> {
    match args.command {
        Sub::Check(args) => check(args),
        Sub::Pin(args) => pin(args),
    }
}

/// A configuration that is ready to be looked at.
struct ReadyConfig {
    config: Config,
    secrets: Secrets,
    /// Where pins are, and what a change means.
    pins: Option<(PathBuf, PinPolicy)>,
}

impl WhichServers {
    fn ready(&self) -> anyhow::Result<ReadyConfig> {
        let found = locate(self.config.as_deref(), &|name| std::env::var(name).ok());
        let config = match found {
            Found::File(path) => Config::from_file(&path)?,
            Found::Inline(text) => Config::from_json(&text, Path::new(""))?,
            Found::Nowhere => bail!(
                "no upstreams config: name a file, set {ENV_VAR}, or write ptc_runner_mcp/upstreams.json in your \
                 configuration folder (~/.config)"
            ),
        };
        let names = || config.upstreams.iter().map(|upstream| upstream.name.as_str());
        let unknown = self.server.iter().find(|name| !names().any(|known| known == **name));
        if let Some(name) = unknown {
            let known = names().collect::<Vec<_>>().join(", ");
            bail!("no upstream '{name}' configured. Configured upstreams: {known}");
        }
        let secrets = Secrets::resolve(&config)?;
        for note in &config.notes {
            errln!("ptc: {note}");
        }
        if config.upstreams.is_empty() {
            errln!("ptc: the configuration has no servers");
        }
        let policy = config.pins.as_ref().map_or(PinPolicy::Refuse, |pins| pins.policy);
        let file = self.pins.clone().or_else(|| config.pins.as_ref().map(|pins| pins.file.clone()));
        Ok(ReadyConfig { config, secrets, pins: file.map(|file| (file, policy)) })
    }
}

/// Looks at the servers. A runtime is started only here, so that other commands start without one.
fn look(ready: &ReadyConfig, pins: Option<&Pins>, only: &[String]) -> anyhow::Result<Vec<ServerReport>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("cannot start a runtime for connections")?;
    Ok(runtime.block_on(inspect(&ready.config, &ready.secrets, pins, only)))
}

fn check(args: Check) -> anyhow::Result<Outcome> {
    let ready = args.which.ready()?;
    let pins = match &ready.pins {
        Some((file, _)) if !file.exists() => {
            bail!("pins file {} is not there; run `ptc upstreams pin` to write it", file.display())
        }
        Some((file, _)) => Some(Pins::load(file).map_err(|fault| anyhow!(fault))?),
        None => None,
    };
    let servers = look(&ready, pins.as_ref(), &args.which.server)?;
    let lenient = matches!(ready.pins, Some((_, PinPolicy::Warn)));
    let failed = servers.iter().any(|server| {
        server.tools.is_err()
            || server.is_refused
            || (!lenient && !server.changes.is_empty())
            || (args.strict && server.all_problems().next().is_some())
    });
    let out = match args.which.json {
        true => format!(
            "{}\n",
            json!({"ok": !failed, "servers": servers.iter().map(document).collect::<Vec<_>>()})
        ),
        false => servers.iter().map(text).collect(),
    };
    ignore_closed_pipe(terminal::stdout().write_all(out.as_bytes()))?;
    Ok(if failed { Outcome::Failed } else { Outcome::Done })
}

fn pin(args: Pin) -> anyhow::Result<Outcome> {
    let ready = args.which.ready()?;
    let Some((file, _)) = &ready.pins else {
        bail!(
            "the configuration names no pins file; add \"pins\": {{\"file\": \"upstreams.pins.json\"}} to it, or \
             name a file with --pins"
        );
    };
    let mut notes = Vec::new();
    let mut pins = match file.exists() {
        true => Pins::load(file).unwrap_or_else(|_| {
            notes.push(format!("pins file {} cannot be read and is written anew", file.display()));
            Pins::new()
        }),
        false => Pins::new(),
    };
    let servers = look(&ready, Some(&pins), &args.which.server)?;
    servers.iter().for_each(|server| server.pin(&mut pins));
    let known: Vec<&str> = ready.config.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    pins.retain(&known);
    if !args.dry_run {
        pins.save(file).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let failed = servers.iter().any(|server| server.tools.is_err());
    let out = match args.which.json {
        true => {
            let servers: Vec<Json> = servers.iter().map(pinned_document).collect();
            format!(
                "{}\n",
                json!({"ok": !failed, "file": file, "written": !args.dry_run, "servers": servers, "notes": notes})
            )
        }
        false => {
            let mut lines: Vec<String> = notes;
            lines.extend(servers.iter().flat_map(pinned_text));
            let what = if args.dry_run { "would be written" } else { "written" };
            lines.push(format!("{} {what}", file.display()));
            lines.join("\n") + "\n"
        }
    };
    ignore_closed_pipe(terminal::stdout().write_all(out.as_bytes()))?;
    Ok(if failed { Outcome::Failed } else { Outcome::Done })
}

/// `1 tool`, `3 tools`.
fn counted(count: usize) -> String {
    format!("{count} tool{}", if count == 1 { "" } else { "s" })
}

fn text(server: &ServerReport) -> String {
    let mut lines = Vec::new();
    match &server.tools {
        Err(fault) => {
            let cure = match (fault.reason, server.transport) {
                (Reason::Timeout, "openapi") => "; \"request_timeout_ms\" gives it more time",
                (Reason::Timeout, _) => "; \"handshake_timeout_ms\" gives it more time",
                _ => "",
            };
            lines.push(format!("{} ({}): {fault}{cure}", server.name, server.transport));
        }
        Ok(tools) => {
            let about = server.about.as_ref().map(|about| {
                let who = plain(&format!("{} {}", about.name, about.version));
                format!("{}, protocol {}, ", who.trim(), about.protocol)
            });
            lines.push(format!(
                "{} ({}): ready in {} ms: {}{}",
                server.name,
                server.transport,
                server.took.as_millis(),
                about.unwrap_or_default(),
                counted(tools.len()),
            ));
            lines.extend(tools.iter().map(tool_line));
        }
    }
    lines.extend(server.left_out.iter().map(|left| format!("  left out: {}", plain(left))));
    lines.extend(server.all_problems().map(|problem| format!("  ! {}", plain(&problem.to_string()))));
    lines.extend(server.changes.iter().map(|change| format!("  ! {}", plain(&change.to_string()))));
    lines.join("\n") + "\n"
}

fn tool_line(tool: &ToolReport) -> String {
    let argument = |argument: &Argument| {
        format!("{} {}{}", plain(&argument.key), argument.kind, if argument.required { "" } else { "?" })
    };
    let arguments = tool.arguments.iter().map(argument).collect::<Vec<_>>().join(", ");
    let asks = if tool.asks { "asks " } else { "" };
    let line = format!(
        "  {:7} {asks}{} {{{arguments}}} {}",
        tool.effect.name(),
        plain(&tool.name),
        tool.description
    );
    line.trim_end().to_owned()
}

fn document(server: &ServerReport) -> Json {
    let tool = |tool: &ToolReport| {
        let argument = |argument: &Argument| json!({"key": argument.key, "type": argument.kind, "required": argument.required});
        json!({
            "name": tool.name, "description": tool.description, "effect": tool.effect.name(),
            "asks": tool.asks,
            "arguments": tool.arguments.iter().map(argument).collect::<Vec<_>>(), "problems": tool.problems,
        })
    };
    let mut document = json!({
        "name": server.name,
        "transport": server.transport,
        "state": if server.tools.is_ok() { "ready" } else { "unavailable" },
        "took_ms": server.took.as_millis() as u64,
        "problems": server.problems,
        "left_out": server.left_out,
        "pin_changes": server.changes.iter().map(change_document).collect::<Vec<_>>(),
    });
    match &server.tools {
        Ok(tools) => document["tools"] = tools.iter().map(tool).collect(),
        Err(fault) => {
            document["reason"] = json!(fault.reason.name());
            document["message"] = json!(fault.message);
        }
    }
    if let Some(about) = &server.about {
        document["server"] =
            json!({"name": about.name, "version": about.version, "protocol": about.protocol});
    }
    document
}

fn change_word(change: &Difference) -> &'static str {
    match change.change {
        Change::Added => "added",
        Change::Changed => "changed",
        Change::Removed => "removed",
    }
}

fn change_document(change: &Difference) -> Json {
    json!({"tool": change.tool, "change": change_word(change)})
}

fn pinned_text(server: &ServerReport) -> Vec<String> {
    let name = &server.name;
    match &server.tools {
        Err(fault) => vec![format!("{name}: {fault}; its pins stay as they were")],
        Ok(tools) => {
            let changes = server
                .changes
                .iter()
                .map(|change| format!("  {:7} {}", change_word(change), plain(&change.tool)));
            [format!("{name}: {}", counted(tools.len()))].into_iter().chain(changes).collect()
        }
    }
}

fn pinned_document(server: &ServerReport) -> Json {
    let mut document = json!({
        "name": server.name,
        "changes": server.changes.iter().map(change_document).collect::<Vec<_>>(),
    });
    match &server.tools {
        Ok(tools) => document["tools"] = json!(tools.len()),
        Err(fault) => {
            document["reason"] = json!(fault.reason.name());
            document["message"] = json!(fault.message);
        }
    }
    document
}
