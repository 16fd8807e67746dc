//! Looking at the servers that move: whether they can be reached, and what their tools cost a model.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use ptc_upstream::config::ENV_VAR;
use ptc_upstream::inspect::{ServerReport, inspect_each};
use ptc_upstream::model::{Allowance, Reason};
use ptc_upstream::{Config, Secrets, client};
use serde_json::{Map, Value as Json, json};

use super::entry::WORKSPACE;
use super::plan::Step;
use crate::terminal::{self, errln};

/// Why a server stays that only the client is let into.
pub const SIGN_IN: &str =
    "it asks for a sign-in, which the client has and ptc has not; give it a token in \"headers\" to move it";

/// What was found.
#[derive(Default)]
pub struct Looked {
    /// Servers that let nobody in and have no credentials of their own: the client signs in to them.
    pub signed_in: Vec<String>,
    /// Whether all others could be reached.
    pub others: bool,
    /// What the servers that could be reached are.
    pub reports: Vec<ServerReport>,
}

/// Reaches the servers and tells how they are: all in the end, and each at once to whoever waits at a terminal.
pub fn look(config: &Config, told: &mut String) -> anyhow::Result<Looked> {
    let secrets = match Secrets::resolve(config) {
        Ok(secrets) => secrets,
        Err(error) => {
            let _ = writeln!(told, "  ! {error}");
            return Ok(Looked::default());
        }
    };
    let waits = terminal::stderr().is_terminal();
    let names: Vec<&str> = config.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    if waits {
        errln!("looking at {}", names.join(", "));
    }
    let seen = |report: &ServerReport| {
        if waits {
            errln!("  {}", state(report));
        }
    };
    let reports = runtime()?.block_on(inspect_each(config, &secrets, seen));
    let mut looked = Looked { others: true, ..Looked::default() };
    for report in reports {
        let endpoint = config.upstream(&report.name).and_then(|upstream| upstream.transport.endpoint());
        let is_open = endpoint.is_some_and(|endpoint| endpoint.auth.is_empty());
        let _ = match &report.tools {
            Ok(_) => writeln!(told, "  {}", state(&report)),
            Err(fault) if is_open && fault.reason == Reason::AuthFailed => {
                looked.signed_in.push(report.name);
                continue;
            }
            Err(_) => {
                looked.others = false;
                writeln!(told, "  ! {}", state(&report))
            }
        };
        if report.tools.is_ok() {
            looked.reports.push(report);
        }
    }
    Ok(looked)
}

/// How a server is, in a line.
fn state(report: &ServerReport) -> String {
    match &report.tools {
        Ok(tools) => {
            let more = if tools.len() == 1 { "" } else { "s" };
            format!("{} is ready: {} tool{more}", report.name, tools.len())
        }
        Err(fault) => format!("{} cannot be reached: {}", report.name, fault.message),
    }
}

/// How large the definitions of tools are, those of the servers and ours; nothing if it cannot be measured. A token is about
/// four bytes. What a client sends of them is its own matter: Claude Code holds definitions back until they are looked for.
pub fn tokens(step: &Step, config: &Config, program: &str) -> anyhow::Result<Option<String>> {
    measured(step, config, program, (step.words(), None))
}

/// The same before anything is written: our server gets its servers in a variable, and keeps nothing of what they offer.
pub fn tokens_before(step: &Step, config: &Config, program: &str) -> anyhow::Result<Option<String>> {
    let mut words = step.words_without_servers();
    words.push("--remember-catalogs=false".to_owned());
    measured(step, config, program, (words, Some(step.kept())))
}

/// `own` is how our server is started: its words, and its servers unless the words name their file.
fn measured(
    step: &Step,
    config: &Config,
    program: &str,
    own: (Vec<String>, Option<String>),
) -> anyhow::Result<Option<String>> {
    let (mut words, servers) = own;
    // Its description names the tools of servers that are there.
    words.push("--require-upstreams".to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    let mut env: Map<String, Json> = step
        .variables()
        .into_iter()
        .filter(|name| std::env::var_os(name).is_some())
        .map(|name| (name.clone(), json!(format!("${{{name}}}"))))
        .collect();
    env.insert(WORKSPACE.to_owned(), json!(here));
    if servers.is_some() {
        // What stands in their entries is filled in by our server.
        env.insert(ENV_VAR.to_owned(), json!(format!("${{{ENV_VAR}}}")));
    }
    let lookup = |name: &str| match (&servers, name) {
        (Some(servers), ENV_VAR) => Some(servers.clone()),
        _ => std::env::var(name).ok(),
    };
    let own = json!({"mcpServers": {step.spot.name: {"command": program, "args": words, "env": env, "inherit_env": true}}});
    let Ok(own) = Config::from_value(own, Path::new("")) else { return Ok(None) };
    let (Some(before), Some(after)) = (bytes(config, &lookup)?, bytes(&own, &lookup)?) else {
        return Ok(None);
    };
    let of = match (step.spot.is_main(), &step.spot.folder) {
        (false, Some(folder)) => format!(" in {}", folder.display()),
        _ => String::new(),
    };
    Ok(Some(format!(
        "definitions of all tools{of}: about {} tokens; of ptc: about {}\n",
        before / 4,
        after / 4
    )))
}

/// How many bytes the tools of these servers are; nothing if one of them cannot be asked.
fn bytes(config: &Config, lookup: &dyn Fn(&str) -> Option<String>) -> anyhow::Result<Option<usize>> {
    let allowance = Allowance {
        timeout: Duration::from_secs(120),
        max_bytes: 64 << 20,
        max_values: usize::MAX,
        once: false,
    };
    // One of them is this program itself, which is not its own upstream here.
    let Ok(secrets) = Secrets::resolve_with(config, lookup, None) else {
        return Ok(None);
    };
    let mut bytes = 0;
    for upstream in &config.upstreams {
        let Some(client) = client::connect(upstream, &secrets) else { return Ok(None) };
        let listed = runtime()?.block_on(async {
            let listed = client.list(allowance).await;
            client.close().await;
            listed
        });
        let Ok(tools) = listed else { return Ok(None) };
        for tool in tools {
            let shown =
                json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema});
            bytes += shown.to_string().len();
        }
    }
    Ok(Some(bytes))
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime for connections")
}
