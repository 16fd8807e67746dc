//! Which upstreams there are. A configuration is data without secrets: credentials are named here and their
//! values are fetched once, by [`crate::credentials::Secrets::resolve`], when a runtime starts.
//!
//! `parse.rs` reads the file, `client.rs` one of an MCP client, `comments.rs` takes out what only such files have, `headers.rs` has the
//! rules for headers, `fields.rs` reads objects strictly, `locate.rs` finds the file, `canonical.rs` says what approvals are bound to.

mod approval;
mod by_tool;
mod canonical;
mod client;
mod comments;
mod env_file;
mod fields;
mod headers;
mod locate;
mod parse;
mod problem;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptc_lisp::analyze::is_language_namespace;
use ptc_lisp::reader::{ReadLimits, read_all};
use reqwest::Url;
use serde_json::{Map, Value as Json};

pub use self::approval::{Approval, ApprovalRules};
pub use self::by_tool::client_tool_name;
pub(crate) use self::by_tool::fits;
pub(crate) use self::fields::Fields;
pub use self::headers::{AuthRule, Scheme, is_value};
pub use self::locate::{ENV_VAR, Found, locate};
pub use self::problem::{ConfigError, Problem, closest};
use crate::credentials::{Bindings, Secrets};
use crate::model::ToolDef;
pub use ptc_system::environment::Template;

/// How large an answer may be if nothing else is said.
pub const MAX_RESPONSE_BYTES: usize = 2 * 1024 * 1024;

/// All upstreams, and the names of the credentials that they use.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The upstreams, in the order of the file; names are unique.
    pub upstreams: Vec<UpstreamConfig>,
    /// Where the values of credentials come from.
    pub credentials: Bindings,
    /// Where the definitions of tools are pinned, if they are.
    pub pins: Option<PinsConfig>,
    /// What is worth knowing, although nothing is wrong: what of the file of an MCP client has no meaning here, and
    /// servers whose names mean something else in programs.
    pub notes: Vec<Problem>,
    /// Whether it is the file of an MCP client. Clients start what they can: a server whose variables are not set is then
    /// broken by itself, and the others are used.
    pub of_client: bool,
    /// What is wrong with servers of a client's file that are here and cannot be used, by name.
    pub unusable: BTreeMap<String, Vec<Problem>>,
}

/// One upstream.
#[derive(Clone, Debug)]
pub struct UpstreamConfig {
    /// The name by which programs call it.
    pub name: String,
    /// What it is for, shown by `tool/servers`.
    pub description: Option<String>,
    /// What it is about, in a few words that catalogs show.
    pub tags: Vec<String>,
    /// What tools do to the world, where the operator knows better than the server.
    pub effects: BTreeMap<String, EffectClass>,
    /// Which calls somebody must approve.
    pub approval: ApprovalRules,
    /// Which of its tools there are.
    pub tools: ToolFilter,
    /// How large an answer may be before it is decoded; the runtime's own cap applies too.
    pub max_response_bytes: usize,
    /// How long one call may take, in place of what holds for all upstreams.
    pub call_timeout: Option<Duration>,
    /// How it is reached.
    pub transport: TransportConfig,
}

impl UpstreamConfig {
    /// What the operator says that a tool does to the world.
    pub fn effect_of(&self, tool: &str) -> Option<EffectClass> {
        by_tool::find(&self.effects, tool).copied()
    }

    /// Rules for tools that are neither among these nor among those that the rules themselves left out, in words.
    pub(crate) fn idle_rules(&self, tools: &[ToolDef], excluded: &[String]) -> Vec<String> {
        let there = || tools.iter().map(|tool| tool.name.as_str()).chain(excluded.iter().map(String::as_str));
        let effects = self.effects.keys().map(|name| ("effects", name));
        let approval = self.approval.tools.keys().map(|name| ("approval", name));
        let included = self.tools.include.iter().flatten().map(|name| ("include_tools", name));
        // A pattern may be there for tools that could come.
        let excluded = self.tools.exclude.iter().filter(|name| !name.contains('*'));
        let excluded = excluded.map(|name| ("exclude_tools", name));
        effects
            .chain(approval)
            .chain(included)
            .chain(excluded)
            .filter(|(_, name)| !there().any(|tool| by_tool::restrains(name, tool)))
            .map(|(key, name)| match name.contains('*') {
                true => format!("\"{key}\" has the pattern '{name}', which no tool fits"),
                false => missing(key, name, there()),
            })
            .collect()
    }

    /// The first name in `effects` that is none of these tools, in words. Whoever wrote it meant another tool, which would be
    /// taken for what a pattern beside it or the server says, so nothing of that server may be called.
    pub(crate) fn misnamed_effect(&self, tools: &[ToolDef], excluded: &[String]) -> Option<String> {
        let there = || tools.iter().map(|tool| tool.name.as_str()).chain(excluded.iter().map(String::as_str));
        let is_missing = |name: &&String| !name.contains('*') && !there().any(|tool| tool == name.as_str());
        self.effects.keys().find(is_missing).map(|name| missing("effects", name, there()))
    }
}

/// That a rule names a tool that is not there, and what was probably meant.
fn missing<'t>(key: &str, name: &str, there: impl Iterator<Item = &'t str>) -> String {
    let meant = closest(name, there).map(|best| format!("; did you mean '{best}'?")).unwrap_or_default();
    format!("\"{key}\" names the tool '{name}', which is not there{meant}")
}

/// Which tools of a server there are for programs. Names may be patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Only these, if it is said.
    pub include: Option<BTreeSet<String>>,
    /// Not these.
    pub exclude: BTreeSet<String>,
}

impl ToolFilter {
    /// Whether there is a tool of this name.
    pub fn admits(&self, tool: &str) -> bool {
        let includes = |names: &BTreeSet<String>| names.iter().any(|name| by_tool::fits(name, tool));
        let is_excluded = self.exclude.iter().any(|name| by_tool::restrains(name, tool));
        self.include.as_ref().is_none_or(includes) && !is_excluded
    }
}

/// The ways to reach an upstream.
#[derive(Clone, Debug)]
pub enum TransportConfig {
    /// A child process that speaks MCP over its standard streams.
    Stdio(StdioConfig),
    /// A server that speaks MCP over Streamable HTTP.
    Http(HttpConfig),
    /// A JSON API that an OpenAPI document describes.
    OpenApi(OpenApiConfig),
}

impl TransportConfig {
    /// The name in configurations.
    pub fn name(&self) -> &'static str {
        match self {
            TransportConfig::Stdio(_) => "mcp_stdio",
            TransportConfig::Http(_) => "mcp_http",
            TransportConfig::OpenApi(_) => "openapi",
        }
    }

    /// The endpoint, where there is one.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            TransportConfig::Stdio(_) => None,
            TransportConfig::Http(http) => Some(&http.endpoint),
            TransportConfig::OpenApi(openapi) => Some(&openapi.endpoint),
        }
    }
}

/// A child process.
#[derive(Clone, Debug)]
pub struct StdioConfig {
    /// The program: a path, or a name that is looked up in `PATH`.
    pub command: Template,
    /// Its arguments. Variables in them, and in the command, are those of the file of an MCP client.
    pub args: Vec<Template>,
    /// What is added to its environment; `${VAR}` is filled in at start, never here.
    pub env: BTreeMap<String, Template>,
    /// Whether it has our whole environment, not only what every child gets.
    pub inherit_env: bool,
    /// The directory in which it runs.
    pub directory: Option<PathBuf>,
    /// How long starting it and shaking hands may take.
    pub handshake_timeout: Duration,
}

/// What all upstreams over HTTP have in common.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Where requests go.
    pub url: Url,
    /// Secret headers, in order.
    pub auth: Vec<AuthRule>,
    /// Literal headers, names in lower case.
    pub static_headers: Vec<(String, String)>,
    /// How long connecting may take.
    pub connect_timeout: Duration,
    /// How long one request may take; the smaller of this and the call's own timeout counts.
    pub request_timeout: Duration,
    /// Whether plain HTTP is allowed, for the address of a schema too.
    pub allow_insecure_http: bool,
    /// Whether credentials may travel over plain HTTP.
    pub allow_insecure_auth: bool,
}

/// An MCP server over HTTP.
#[derive(Clone, Debug)]
pub struct HttpConfig {
    /// Where it is and how to be let in.
    pub endpoint: Endpoint,
    /// How long shaking hands may take.
    pub handshake_timeout: Duration,
    /// Whether it speaks HTTP with server-sent events, as MCP had it before Streamable HTTP. Servers that refuse the
    /// latter are asked for the former anyway.
    pub legacy_sse: bool,
}

/// An API that an OpenAPI document describes.
#[derive(Clone, Debug)]
pub struct OpenApiConfig {
    /// The base address of operations and how to be let in.
    pub endpoint: Endpoint,
    /// Where the document is.
    pub schema: SchemaSource,
    /// Whether the document is fetched with the headers of `endpoint` although it is at another origin.
    pub allow_schema_auth: bool,
    /// How large the document may be.
    pub schema_max_bytes: usize,
    /// The operations that become tools: `operationId`s, methods with paths, patterns, tags; never empty.
    pub include_operations: Vec<String>,
    /// Changes to single operations, by `operationId`.
    pub overrides: BTreeMap<String, OperationOverride>,
    /// Whether all included operations may be more than plain GETs; each can also be allowed alone.
    pub allow_writes: bool,
}

impl OpenApiConfig {
    /// Whether a request for the document at this address carries the headers of calls.
    pub fn sends_auth_to(&self, url: &Url) -> bool {
        self.allow_schema_auth || url.origin() == self.endpoint.url.origin()
    }
}

/// Where an OpenAPI document comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchemaSource {
    /// A file; paths in configurations are relative to the configuration.
    File(PathBuf),
    /// An address, fetched when the upstream starts.
    Url(Url),
}

/// What the operator changes about one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationOverride {
    /// Another name for the tool.
    pub name: Option<String>,
    /// Another description.
    pub description: Option<String>,
    /// Arguments that are filled in where the caller gives none; `None` leaves the document's own.
    pub default_args: Option<Map<String, Json>>,
    /// What it does to the world, where the method does not say.
    pub effect: Option<EffectClass>,
    /// Whether it may be more than a plain GET.
    pub allow_writes: bool,
}

/// What a call does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EffectClass {
    /// It only looks.
    Read,
    /// It changes something.
    Write,
    /// Nobody said.
    Unknown,
}

impl EffectClass {
    /// The classes by the names that configurations and records use.
    pub const NAMES: &[(&str, EffectClass)] =
        &[("read", EffectClass::Read), ("write", EffectClass::Write), ("unknown", EffectClass::Unknown)];

    /// The name that configurations and records use.
    pub fn name(self) -> &'static str {
        match self {
            EffectClass::Read => "read",
            EffectClass::Write => "write",
            EffectClass::Unknown => "unknown",
        }
    }
}

/// Where pins are kept and what a change means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinsConfig {
    /// The file with the pins.
    pub file: PathBuf,
    /// What happens when a tool is not as pinned.
    pub policy: PinPolicy,
}

/// What happens when a tool is not as it was pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinPolicy {
    /// The tool is withheld; a runtime that freezes its catalog does not start.
    Refuse,
    /// The tool is used and the change is reported.
    Warn,
}

impl Config {
    /// Reads the file at `path`; relative paths in it are relative to it.
    pub fn from_file(path: &Path) -> Result<Config, ConfigError> {
        let file = Some(path.to_path_buf());
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
            file: file.clone(),
            problems: vec![Problem::general(format!("cannot be read: {error}"), "check the path")],
        })?;
        let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
        Config::from_json(&text, &base).map_err(|error| ConfigError { file, ..error })
    }

    /// Reads JSON text, which may begin with a byte order mark and have comments and commas at the end of lists, as files of
    /// clients have; relative paths in it are relative to `base`.
    pub fn from_json(text: &str, base: &Path) -> Result<Config, ConfigError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value = ptc_host::strict_json(&comments::blanked(text)).map_err(|error| {
            ConfigError::one(Problem::general(
                format!("JSON decode failed: {error}"),
                "check the file with a JSON formatter",
            ))
        })?;
        // What only a start can find is told with the rest of it.
        if let Ok((readable, problems)) = parse::readable(value.clone(), base)
            && !problems.is_empty()
        {
            let more = Secrets::resolve(&readable).err().map(|error| error.problems).unwrap_or_default();
            return Err(ConfigError { file: None, problems: problems.into_iter().chain(more).collect() });
        }
        Config::from_value(value, base)
    }

    /// What keeps each of these servers of an MCP client from being used, by name; variables that are not set are none of
    /// it. Servers that can be used are not there.
    pub fn client_problems(servers: Map<String, Json>, base: &Path) -> BTreeMap<String, Vec<Problem>> {
        client::problems(servers, base)
    }

    /// The name in programs of a server that an MCP client knows by this one.
    pub fn client_server_name(given: &str) -> String {
        client::plain_name(given)
    }

    /// The entry of a server of an MCP client with its command and arguments where most clients write them.
    pub fn client_entry(entry: Json) -> Json {
        match entry {
            Json::Object(fields) => Json::Object(client::flat(fields)),
            other => other,
        }
    }

    /// Reads a JSON value; relative paths in it are relative to `base`.
    pub fn from_value(value: Json, base: &Path) -> Result<Config, ConfigError> {
        let mut config = parse::config(value, base)?;
        config.notes.extend(config.upstreams.iter().filter_map(|upstream| no_namespace(&upstream.name)));
        Ok(config)
    }

    /// The notes but for those about servers that cannot be used: of these it is told where they are not there.
    pub fn other_notes(&self) -> impl Iterator<Item = &Problem> {
        let is_told = |note: &Problem| self.unusable.values().flatten().any(|known| known == note);
        self.notes.iter().filter(move |note| !is_told(note))
    }

    /// The upstream of this name.
    pub fn upstream(&self, name: &str) -> Option<&UpstreamConfig> {
        self.upstreams.iter().find(|upstream| upstream.name == name)
    }
}

/// What there is to say about a server whose tools cannot be functions; nothing of others.
fn no_namespace(name: &str) -> Option<Problem> {
    let message = match () {
        () if is_language_namespace(name) => format!("{name}/ is a namespace of the language"),
        () if !is_readable(name) => format!("{name}/ cannot be read as the namespace of a function"),
        () => return None,
    };
    Some(Problem {
        place: format!("upstream '{name}'"),
        message,
        fix: format!(
            "programs call its tools as (tool/call {{:server \"{name}\" :tool \"…\" :args {{…}}}}); under another name they \
             are functions"
        ),
    })
}

/// Whether a name reads as the namespace of a symbol: one that begins with a digit, for instance, is no name at all.
fn is_readable(name: &str) -> bool {
    let read = read_all(&format!("{name}/tool"), &ReadLimits::default());
    read.is_ok_and(|forms| {
        matches!(forms.as_slice(), [form] if form.as_symbol().is_some_and(|symbol| symbol.split_once('/') == Some((name, "tool"))))
    })
}
