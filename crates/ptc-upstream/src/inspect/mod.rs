//! Looking at upstreams without running a program: is each one there, which tools does it have, what is wrong
//! with their schemas, and are they as they were pinned?

mod schemas;

use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use futures_util::stream::FuturesUnordered;

pub use self::schemas::problems;
use crate::catalog::{Argument, arguments, one_line, shortened};
use crate::client::{self, About};
use crate::config::{Config, EffectClass, TransportConfig, UpstreamConfig};
use crate::credentials::Secrets;
use crate::effects::classify;
use crate::model::{Allowance, Fault, Reason, ToolDef};
use crate::pins::{Difference, Pins};
use crate::redact::Redactor;

/// What was found at one upstream. Texts have secrets covered.
#[derive(Clone, Debug)]
pub struct ServerReport {
    /// Its name in the configuration.
    pub name: String,
    /// Its transport in the configuration.
    pub transport: &'static str,
    /// What it says about itself, where it says something.
    pub about: Option<About>,
    /// Its tools, or why they cannot be listed.
    pub tools: Result<Vec<ToolReport>, Fault>,
    /// How long reaching it and listing its tools took.
    pub took: Duration,
    /// How its tools differ from their pins.
    pub changes: Vec<Difference>,
    /// What is wrong with its list as a whole.
    pub problems: Vec<String>,
    /// Whether the configuration says what a tool does that is not there, so that nothing of the server may be called.
    pub is_refused: bool,
    /// What it has and no program can use, each with the reason.
    pub left_out: Vec<String>,
    /// The definitions as they came, for pinning.
    definitions: Vec<ToolDef>,
    /// The names of tools that the configuration leaves out.
    excluded: Vec<String>,
}

/// The most characters of why something is left out.
const LEFT_OUT: usize = 400;

/// One tool.
#[derive(Clone, Debug)]
pub struct ToolReport {
    /// Its name.
    pub name: String,
    /// Its arguments, in words.
    pub arguments: Vec<Argument>,
    /// Its description on one line, cut.
    pub description: String,
    /// What it does to the world.
    pub effect: EffectClass,
    /// Whether somebody must approve its calls.
    pub asks: bool,
    /// What is wrong with its schemas or its name.
    pub problems: Vec<String>,
}

impl ServerReport {
    /// The names of all its tools, also of those that the configuration leaves out, as they came.
    pub fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.definitions.iter().map(|tool| tool.name.as_str()).chain(self.excluded.iter().map(String::as_str))
    }

    /// Notes the tools as pinned, unless the server could not be reached.
    pub fn pin(&self, pins: &mut Pins) {
        if self.tools.is_ok() {
            pins.pin(&self.name, &self.definitions);
        }
    }

    /// Everything that is wrong with schemas and names, each with the tool that it is about.
    pub fn all_problems(&self) -> impl Iterator<Item = String> {
        let tools = self.tools.iter().flatten();
        let told = tools
            .flat_map(|tool| tool.problems.iter().map(|problem| format!("tool '{}': {problem}", tool.name)));
        self.problems.iter().cloned().chain(told)
    }
}

/// Reaches all upstreams of a configuration at once, those named in `only` if it is not empty, and compares
/// their tools with `pins`. All are closed again.
pub async fn inspect(
    config: &Config,
    secrets: &Secrets,
    pins: Option<&Pins>,
    only: &[String],
) -> Vec<ServerReport> {
    let wanted = config.upstreams.iter().filter(|upstream| only.is_empty() || only.contains(&upstream.name));
    join_all(wanted.map(|upstream| look(upstream, secrets, pins))).await
}

/// Reaches all upstreams of a configuration at once and hands over each report as soon as it is there, for somebody who
/// waits. All are closed again.
pub async fn inspect_each(
    config: &Config,
    secrets: &Secrets,
    mut seen: impl FnMut(&ServerReport),
) -> Vec<ServerReport> {
    let mut looking: FuturesUnordered<_> = (config.upstreams.iter().enumerate())
        .map(|(place, upstream)| async move { (place, look(upstream, secrets, None).await) })
        .collect();
    let mut reports = Vec::new();
    while let Some((place, report)) = looking.next().await {
        seen(&report);
        reports.push((place, report));
    }
    reports.sort_by_key(|(place, _)| *place);
    reports.into_iter().map(|(_, report)| report).collect()
}

/// What reaching an upstream and listing its tools may cost.
fn allowance(upstream: &UpstreamConfig) -> Allowance {
    let reach = match &upstream.transport {
        TransportConfig::Stdio(stdio) => stdio.handshake_timeout,
        TransportConfig::Http(http) => http.handshake_timeout + http.endpoint.request_timeout,
        TransportConfig::OpenApi(api) => api.endpoint.connect_timeout + api.endpoint.request_timeout,
    };
    Allowance {
        timeout: reach + Duration::from_secs(10),
        max_bytes: upstream.max_response_bytes,
        max_values: usize::MAX,
        once: false,
    }
}

async fn look(upstream: &UpstreamConfig, secrets: &Secrets, pins: Option<&Pins>) -> ServerReport {
    let redactor = secrets.redactor();
    let began = Instant::now();
    let (listed, about, excluded, left_out) = match client::connect(upstream, secrets) {
        Some(client) => {
            let listed = client.list(allowance(upstream)).await;
            let about = client.about().map(|about| covered(about, &redactor));
            let (excluded, left_out) = (client.excluded(), client.left_out());
            client.close().await;
            (listed, about, excluded, left_out)
        }
        None => {
            let fault = Fault::new(Reason::UpstreamUnavailable, "there is no client for its transport");
            (Err(fault), None, Vec::new(), Vec::new())
        }
    };
    let took = began.elapsed();
    let definitions = listed.as_ref().cloned().unwrap_or_default();
    let changes = match (&listed, pins) {
        (Ok(tools), Some(pins)) => pins.compare(&upstream.name, tools),
        _ => Vec::new(),
    };
    ServerReport {
        name: upstream.name.clone(),
        transport: upstream.transport.name(),
        about,
        problems: list_problems(&definitions, &excluded, upstream, &redactor),
        is_refused: listed.is_ok() && upstream.misnamed_effect(&definitions, &excluded).is_some(),
        tools: listed.map(|tools| tools.into_iter().map(|tool| report(tool, upstream, &redactor)).collect()),
        took,
        left_out: left_out.iter().map(|left| one_line(&redactor.redact_str(left), LEFT_OUT)).collect(),
        changes: changes.into_iter().map(|change| covered_change(change, &redactor)).collect(),
        definitions,
        excluded,
    }
}

fn covered(about: About, redactor: &Redactor) -> About {
    shortened(about.map(|text| redactor.redact_string(text)))
}

fn covered_change(change: Difference, redactor: &Redactor) -> Difference {
    Difference { tool: redactor.redact_string(change.tool), ..change }
}

fn report(mut tool: ToolDef, upstream: &UpstreamConfig, redactor: &Redactor) -> ToolReport {
    let effect = classify(&tool, upstream.effect_of(&tool.name));
    redactor.redact_map(&mut tool.input_schema);
    tool.output_schema.iter_mut().for_each(|schema| redactor.redact_map(schema));
    tool.name = redactor.redact_string(tool.name);
    ToolReport {
        arguments: arguments(&tool.input_schema),
        description: one_line(&redactor.redact_str(&tool.description), 100),
        effect,
        asks: upstream.approval.asks(&tool.name, effect),
        problems: problems(&tool),
        name: tool.name,
    }
}

/// What is wrong with a list as a whole: names that stand twice, and rules of the configuration for tools that
/// are not there.
fn list_problems(
    tools: &[ToolDef],
    excluded: &[String],
    upstream: &UpstreamConfig,
    redactor: &Redactor,
) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let before = tools[..index].iter().filter(|other| other.name == tool.name).count();
        if before == 1 {
            let name = redactor.redact_str(&tool.name);
            problems.push(format!("tool '{name}' is listed more than once; only one of them can be called"));
        }
    }
    // A server that could not be reached, or has no tools at all, tells nothing about names.
    if !tools.is_empty() || !excluded.is_empty() {
        let mut rules = upstream.idle_rules(tools, excluded);
        // It refuses names that differ in hyphens and underscores too, and says what else that means.
        if let Some(misnamed) = upstream.misnamed_effect(tools, excluded) {
            rules.retain(|rule| *rule != misnamed);
            rules.insert(0, format!("nothing of this server can be called: {misnamed}"));
        }
        problems.extend(rules.into_iter().map(|rule| redactor.redact_string(rule)));
    }
    problems
}
