//! `ptc validate`: reads the file of an agent, checks everything that can be checked without asking a model, and
//! says what the agent may do.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use ptc_lisp::prelude::{self as export, Export, Missing, Offer, Upstreams};
use ptc_llm::Source;
use ptc_runner::upstreams::silent;
use ptc_runner::{Agent, AgentFile, Body, Builtin, Effect, Tool};
use ptc_upstream::config::{EffectClass, TransportConfig, UpstreamConfig};
use serde_json::{Value, json};

use super::eval::ignore_closed_pipe;
use super::run::Changes;
use crate::agents::{Inputs, Models, available, grouped, lend_upstreams, upstreams_config};
use crate::exit::{Outcome, look_codes};
use crate::terminal::{self, errln};

/// Look at the file of an agent: is it valid, and what may the agent do? No model is asked, no tool is called.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ValidateArgs {
    /// The file of an agent (agent.toml, agent.json)
    #[arg(value_name = "FILE")]
    file: String,

    #[command(flatten)]
    inputs: Inputs,

    #[command(flatten)]
    changes: Changes,

    /// Show what the model would be sent, too
    #[arg(long)]
    prompt: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = concat!(
    look_codes!(),
    "
Examples:
  ptc validate agent.toml
  ptc validate agent.toml --input data.json --prompt"
);

/// Runs the command.
pub fn run(args: ValidateArgs) -> anyhow::Result<Outcome> {
    let mission = args.changes.mission(&args.file, &args.inputs)?;
    let (agent, file) = mission.agent()?;
    let Some(file) = file else { bail!("there is no file {}; make one with `ptc init DIR`", args.file) };
    let mut warnings = Vec::new();
    if args.inputs.any() {
        mission.check_inputs(&agent)?;
        warnings = agent.unknown_inputs(mission.inputs.brief());
    }
    let models = Models::load()?;
    let name = file.model.clone().unwrap_or_else(|| models.default_model());
    let source = models.resolve(&name).map_err(|error| anyhow!(file.wrong("model", error)))?;
    for name in &file.tool_models {
        models.resolve(name).map_err(|error| anyhow!(file.wrong("tools", error)))?;
    }
    let upstreams = upstreams(&file)?;
    let offers = file.upstreams.as_ref().filter(|path| path.is_file()).map(|_| Configured(&upstreams));
    let offers = offers.as_ref().map(|offers| offers as &dyn Upstreams);
    let unbacked = agent.unbacked(offers);
    if !unbacked.is_empty() {
        bail!(file.wrong("preludes", Missing::refusal(&unbacked).text()));
    }
    let preludes = prelude_lines(&agent, offers);
    let notes = notes(&file, &source, &upstreams, &mission.path().unwrap_or_default());
    let upstreams: Vec<(String, &str)> =
        upstreams.into_iter().map(|upstream| (upstream.name, upstream.transport.name())).collect();
    let agent = Arc::new(agent);
    let mut out = terminal::stdout();
    let mut written = match args.json {
        true => {
            let mut document = document(&agent, &name, &source, &upstreams, &notes);
            document["warnings"] = json!(warnings);
            writeln!(out, "{document}")
        }
        false => {
            let facts = (upstreams.as_slice(), preludes.as_slice(), notes.as_slice());
            writeln!(out, "{}", text(&agent, &args.file, &name, &source, facts))
        }
    };
    if args.prompt && !args.json {
        let lent = with_upstreams(agent, file, &upstreams)?;
        let preview = lent.preview_context(mission.inputs.clone()).map_err(|fail| anyhow!(fail.message))?;
        written = written
            .and_then(|()| writeln!(out, "\n--- system\n{}\n--- user\n{}", preview.system, preview.user));
    }
    ignore_closed_pipe(written)?;
    warnings.iter().for_each(|warning| errln!("ptc: warning: {}", terminal::plain(warning)));
    Ok(Outcome::Done)
}

/// The agent with the tools that reach its upstreams, which are not asked: their tools stand in the prompt of a run only.
fn with_upstreams(
    agent: Arc<Agent>,
    file: AgentFile,
    upstreams: &[(String, &str)],
) -> anyhow::Result<Arc<Agent>> {
    if upstreams.is_empty() {
        return Ok(agent);
    }
    let names: Vec<&str> = upstreams.iter().map(|(name, _)| name.as_str()).collect();
    let told = format!("Calls a tool of a server. Servers: {} (a run lists their tools)", names.join(", "));
    Ok(Arc::new(lend_upstreams(file, silent(&told, None))?.build()?))
}

/// What would stop a run although the file is valid.
fn notes(file: &AgentFile, source: &Source, upstreams: &[UpstreamConfig], path: &Path) -> Vec<String> {
    let mut notes = Vec::new();
    match source {
        Source::Remote(target) if !available(target.provider) => {
            let variable = target.provider.key_variable().unwrap_or_default();
            notes
                .push(format!("set {variable} to the key of {}, which is missing", target.provider.prefix()));
        }
        Source::Script(path) | Source::Replay(path) if !path.is_file() => {
            notes.push(format!("the model's file {} is not there", path.display()));
        }
        _ => {}
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    // Those of other files are beside these.
    for (tool, words) in file.commands.iter().filter(|(tool, _)| !tool.contains('/')) {
        let program = words.first().map(String::as_str).unwrap_or_default();
        if let Some(problem) = cannot_run(program, folder) {
            notes.push(format!("the command `{program}` of the tool `{tool}` {problem}"));
        }
    }
    for (upstream, stdio) in upstreams.iter().filter_map(|upstream| match &upstream.transport {
        TransportConfig::Stdio(stdio) => Some((&upstream.name, stdio)),
        _ => None,
    }) {
        // Variables that are not set are told when the upstream starts.
        let Ok(program) = stdio.command.fill(&|name| std::env::var(name).ok()) else { continue };
        if let Some(problem) = cannot_run(&program, stdio.directory.as_deref().unwrap_or(Path::new(""))) {
            notes.push(format!("the command `{program}` of the upstream `{upstream}` {problem}"));
        }
    }
    for path in file.upstreams.iter().filter(|path| !path.is_file()) {
        notes.push(format!("{} is not there", path.display()));
    }
    notes
}

/// Why a command cannot be run: a path from the folder, or a name that is looked for in the search path.
fn cannot_run(program: &str, folder: &Path) -> Option<&'static str> {
    if program.contains('/') {
        let path = folder.join(program);
        return match path.is_file() {
            false => Some("is not there"),
            true => (!is_executable(&path)).then_some("is not executable; chmod +x makes it so"),
        };
    }
    let search = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&search).map(|folder| folder.join(program));
    let mut found = found.filter(|path| path.is_file());
    (!found.any(|path| is_executable(&path))).then_some("is not in the search path (PATH)")
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_path: &Path) -> bool {
    true
}

/// The servers that programs may call. None is started.
fn upstreams(file: &AgentFile) -> anyhow::Result<Vec<UpstreamConfig>> {
    if file.upstreams.as_ref().is_none_or(|path| !path.is_file()) {
        return Ok(Vec::new());
    }
    Ok(upstreams_config(file)?.map(|(config, _)| config.upstreams).unwrap_or_default())
}

fn text(
    agent: &Agent,
    file: &str,
    name: &str,
    source: &Source,
    (upstreams, preludes, notes): (&[(String, &str)], &[String], &[String]),
) -> String {
    let mission = agent.prompt().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = vec![format!("{file} is valid"), format!("  mission  {mission}")];
    let signature = agent.signature().map_or_else(|| "any answer".to_owned(), ToString::to_string);
    lines.push(format!("  contract {signature}"));
    lines.push(format!("  model    {}", model(name, source)));
    lines.push(
        format!("  tools    {}", if agent.tools().is_empty() { "none" } else { "" }).trim_end().to_owned(),
    );
    lines.extend(agent.tools().values().map(|tool| format!("    {}", tool_line(tool))));
    lines.extend(preludes.iter().map(|line| format!("  prelude  {line}")));
    lines.extend(upstreams.iter().map(|(name, how)| format!("  upstream {name}: {how}")));
    lines.push(format!("  limits   {}", limits(agent)));
    lines.extend(notes.iter().map(|note| format!("  note     {note}")));
    lines.join("\n")
}

/// A line for each export of the agent's prelude.
fn prelude_lines(agent: &Agent, upstreams: Option<&dyn Upstreams>) -> Vec<String> {
    let lent = agent.options().prelude.iter().flat_map(|prelude| prelude.exports());
    let line = |export: &Export| {
        format!("{} {}: {}", export.name, export.arglists(), export.effect_with(upstreams).name())
    };
    lent.map(line).collect()
}

/// Servers as far as their configuration tells, without asking them.
struct Configured<'c>(&'c [UpstreamConfig]);

impl Configured<'_> {
    fn server(&self, name: &str) -> Option<&UpstreamConfig> {
        self.0.iter().find(|upstream| upstream.name == name)
    }
}

impl Upstreams for Configured<'_> {
    fn offer(&self, server: &str, tool: &str) -> Offer {
        match self.server(server) {
            None => Offer::UnknownServer,
            Some(upstream) if !upstream.tools.admits(tool) => Offer::Denied,
            Some(_) => Offer::Granted,
        }
    }

    fn why(&self, server: &str, tool: &str) -> Option<String> {
        let left_out = self.server(server).is_some_and(|upstream| !upstream.tools.admits(tool));
        left_out.then(|| "its configuration leaves the tool out".to_owned())
    }

    fn effect(&self, server: &str, tool: &str) -> export::Effect {
        match self.server(server).and_then(|upstream| upstream.effect_of(tool)) {
            Some(EffectClass::Read) => export::Effect::Read,
            Some(EffectClass::Write) => export::Effect::Write,
            Some(EffectClass::Unknown) | None => export::Effect::Unknown,
        }
    }
}

fn model(name: &str, source: &Source) -> String {
    match source {
        Source::Remote(target) if name.contains(':') => {
            format!("{}:{}", target.provider.prefix(), target.model)
        }
        Source::Remote(target) => format!("{name}, which is {}:{}", target.provider.prefix(), target.model),
        Source::Script(_) | Source::Replay(_) => format!("{name}, no network"),
        Source::Record(..) => name.to_owned(),
    }
}

fn tool_line(tool: &Tool) -> String {
    let signature = tool.signature.as_ref().map(|signature| format!(" {signature}")).unwrap_or_default();
    let about = tool.description.as_deref().map(|text| format!("; {text}")).unwrap_or_default();
    format!("{}{signature}: {}, {}{about}", tool.name, kind(tool), effect(tool.effect))
}

fn kind(tool: &Tool) -> &'static str {
    match &tool.body {
        Body::Function(_) => "runs a command",
        Body::Judge(_) | Body::Builtin(Builtin::LlmQuery) => "asks a model",
        Body::Agent(_) | Body::Compiled(_) => "is an agent",
        Body::This => "is this agent itself",
        Body::Builtin(_) => "comes with the library",
    }
}

fn effect(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "only reads",
        Effect::Write => "changes things",
        Effect::Unknown => "may change things",
    }
}

fn limits(agent: &Agent) -> String {
    let options = agent.options();
    let mut parts = vec![
        format!("{} turns", options.max_turns),
        format!("{} ms per program", grouped(options.timeout_ms)),
        format!("{} turns of all agents", options.turn_budget),
    ];
    parts.extend(options.fuel.map(|fuel| format!("{} fuel per program", grouped(fuel))));
    parts.extend(options.max_tool_calls.map(|calls| format!("{} tool calls per program", grouped(calls))));
    parts.extend(options.tool_call_budget.map(|calls| format!("{} tool calls in all", grouped(calls))));
    parts.extend(options.token_limit.map(|tokens| format!("{} tokens", grouped(tokens))));
    parts.extend(options.max_cost_usd.map(|dollars| format!("${dollars}")));
    parts.extend(options.mission_timeout_ms.map(|ms| format!("{} ms in all", grouped(ms))));
    parts.join(", ")
}

fn document(
    agent: &Agent,
    name: &str,
    source: &Source,
    upstreams: &[(String, &str)],
    notes: &[String],
) -> Value {
    let upstream = |(name, how): &(String, &str)| json!({"name": name, "transport": how});
    let tool = |tool: &Arc<Tool>| {
        json!({
            "name": tool.name, "signature": tool.signature.as_ref().map(ToString::to_string),
            "description": tool.description, "kind": kind(tool), "effect": tool.effect,
        })
    };
    json!({
        "ok": true,
        "prompt": agent.prompt(),
        "signature": agent.signature().map(ToString::to_string),
        "model": {"name": name, "is": model(name, source)},
        "tools": agent.tools().values().map(tool).collect::<Vec<_>>(),
        "prelude": agent.options().prelude.as_ref().map(|prelude| prelude.trace_summary()),
        "upstreams": upstreams.iter().map(upstream).collect::<Vec<_>>(),
        "limits": limits(agent),
        "notes": notes,
    })
}
