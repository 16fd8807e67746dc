//! From JSON to a [`Config`]. What each transport knows is said once, in the function that reads it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptc_system::environment::{self, Template};
use reqwest::Url;
use serde_json::Value as Json;

use super::fields::{Fields, kind};
use super::problem::{ConfigError, Problem, closest, listed};
use super::{
    ApprovalRules, Config, EffectClass, Endpoint, HttpConfig, MAX_RESPONSE_BYTES, OpenApiConfig,
    OperationOverride, PinPolicy, PinsConfig, SchemaSource, StdioConfig, ToolFilter, TransportConfig,
    UpstreamConfig,
};
use super::{client, headers};
use crate::credentials::Bindings;

/// No answer may be larger than this, whatever a configuration says.
const LARGEST_RESPONSE: u64 = 256 * 1024 * 1024;

/// How long a child may take to start: package managers fetch it the first time.
pub(super) const STDIO_HANDSHAKE_MS: u64 = 60_000;
/// How long shaking hands over HTTP may take.
pub(super) const HTTP_HANDSHAKE_MS: u64 = 10_000;
/// How long connecting, and one request over HTTP, may take.
pub(super) const CONNECT_MS: u64 = 5_000;
const REQUEST_MS: u64 = 30_000;
/// How long a call may take where nothing is said, as fixes name it.
const CALL_MS: u64 = 5_000;

const PIN_POLICIES: &[(&str, PinPolicy)] = &[("refuse", PinPolicy::Refuse), ("warn", PinPolicy::Warn)];

/// Names that other programs use for transports, and what they are here.
const OTHER_TRANSPORTS: &[(&str, &str)] = &[
    ("stdio", "mcp_stdio"),
    ("http", "mcp_http"),
    ("sse", "mcp_http"),
    ("streamable_http", "mcp_http"),
    ("streamable-http", "mcp_http"),
    ("rest", "openapi"),
];

#[derive(Clone, Copy)]
enum Kind {
    Stdio,
    Http,
    OpenApi,
}

const TRANSPORTS: &[(&str, Kind)] =
    &[("mcp_stdio", Kind::Stdio), ("mcp_http", Kind::Http), ("openapi", Kind::OpenApi)];

/// Reads a whole configuration.
pub fn config(value: Json, base: &Path) -> Result<Config, ConfigError> {
    let (config, problems) = readable(value, base)?;
    match problems.is_empty() {
        true => Ok(config),
        false => Err(ConfigError { file: None, problems }),
    }
}

/// The same, with all that is wrong beside what can be read of it, unless nothing can.
pub fn readable(value: Json, base: &Path) -> Result<(Config, Vec<Problem>), ConfigError> {
    if !value.is_object() {
        let message = format!("must be a JSON object, not {}", kind(&value));
        return Err(ConfigError::one(Problem::general(message, "write {\"upstreams\": {…}}")));
    }
    if let Some(servers) = client::servers(&value) {
        let notes = client::other_places(&value);
        return client::config(servers, base).map(|mut config| {
            config.notes.extend(notes);
            (config, Vec::new())
        });
    }
    if let Some(problem) = client::no_servers(&value) {
        return Err(ConfigError::one(problem));
    }
    let mut problems = Vec::new();
    let mut fields = Fields::open("", value, &mut problems);
    if !fields.has("upstreams") {
        fields.problem("upstreams", "is missing", "add \"upstreams\": {\"<name>\": {…}}");
    }
    let credentials = Bindings::parse(&mut fields, base);
    let entries = fields.object("upstreams");
    let pins = fields.take("pins");
    fields.close();
    let pins = pins.and_then(|value| pins_config(value, base, &mut problems));
    let upstreams = entries
        .into_iter()
        .filter_map(|(name, value)| upstream(name, value, base, &credentials, &mut problems))
        .collect();
    Ok((Config { upstreams, credentials, pins, ..Config::default() }, problems))
}

fn pins_config(value: Json, base: &Path, problems: &mut Vec<Problem>) -> Option<PinsConfig> {
    let mut fields = Fields::open("key 'pins'", value, problems);
    let file = fields.required_text("file", "upstreams.pins.json");
    let policy = fields.word("policy", PIN_POLICIES).unwrap_or(PinPolicy::Refuse);
    fields.close();
    Some(PinsConfig { file: base.join(file?), policy })
}

fn upstream(
    name: String,
    value: Json,
    base: &Path,
    bindings: &Bindings,
    problems: &mut Vec<Problem>,
) -> Option<UpstreamConfig> {
    let place = format!("upstream '{name}'");
    if let Some(fault) = name_fault(&name) {
        let fix = "use letters, digits, '-' and '_', at most 64".to_owned();
        problems.push(Problem { place: place.clone(), message: fault.to_owned(), fix });
    }
    let mut fields = Fields::open(place, value, problems);
    let told = transport_kind(&mut fields);
    // What else is wrong is told at once, where it can be seen what was meant.
    let Some(kind) = told.or_else(|| likely_kind(&fields)) else {
        fields.abandon();
        return None;
    };
    let description = fields.text("description");
    let tags = fields.texts("tags");
    let effects = effects(&mut fields);
    let approval = ApprovalRules::parse(&mut fields);
    let include = fields.knows("include_tools").then(|| fields.texts("include_tools").into_iter().collect());
    let tools = ToolFilter { include, exclude: fields.texts("exclude_tools").into_iter().collect() };
    let max_response_bytes =
        fields.number("max_response_bytes", MAX_RESPONSE_BYTES as u64, 1..=LARGEST_RESPONSE) as usize;
    let call_timeout = call_timeout(&mut fields);
    let transport = match kind {
        Kind::Stdio => stdio(&mut fields, base).map(TransportConfig::Stdio),
        Kind::Http => http(&mut fields, bindings, call_timeout).map(TransportConfig::Http),
        Kind::OpenApi => openapi(&mut fields, base, bindings, call_timeout).map(TransportConfig::OpenApi),
    };
    fields.close();
    let transport = transport.filter(|_| told.is_some())?;
    Some(UpstreamConfig {
        name,
        description,
        tags,
        effects,
        approval,
        tools,
        max_response_bytes,
        call_timeout,
        transport,
    })
}

/// How long one call may take, if it is said.
pub(super) fn call_timeout(fields: &mut Fields) -> Option<Duration> {
    fields.knows("call_timeout_ms").then(|| fields.millis("call_timeout_ms", CALL_MS))
}

/// How long one request over HTTP may take if nothing else is said: as long as the call that it is for.
pub(super) fn request_ms(call: Option<Duration>) -> u64 {
    call.map_or(REQUEST_MS, |call| REQUEST_MS.max(call.as_millis() as u64))
}

/// The transport that the other keys are for.
fn likely_kind(fields: &Fields) -> Option<Kind> {
    let keys = [("command", Kind::Stdio), ("url", Kind::Http), ("base_url", Kind::OpenApi)];
    keys.into_iter().find(|(key, _)| fields.has(key)).map(|(_, kind)| kind)
}

pub(super) fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        Some("has no name")
    } else if name.chars().count() > 64 {
        Some("has a name of more than 64 characters")
    } else if name.contains('/') {
        Some("has a '/' in its name, which separates server and tool")
    } else if name.chars().any(|c| c.is_whitespace() || c.is_control()) {
        Some("has white space in its name")
    } else {
        None
    }
}

fn transport_kind(fields: &mut Fields) -> Option<Kind> {
    let all = || listed(TRANSPORTS.iter().map(|(word, _)| *word));
    if !fields.has("transport") {
        fields.problem("transport", "is missing", format!("say which one it is: {}", all()));
        return None;
    }
    let text = fields.text("transport")?;
    if let Some((_, kind)) = TRANSPORTS.iter().find(|(word, _)| *word == text) {
        return Some(*kind);
    }
    let fix = match OTHER_TRANSPORTS.iter().find(|(other, _)| *other == text) {
        Some((_, ours)) => format!("use \"{ours}\""),
        None => match closest(&text, TRANSPORTS.iter().map(|(word, _)| *word)) {
            Some(best) => format!("did you mean \"{best}\"?"),
            None => format!("use one of {}", all()),
        },
    };
    fields.problem("transport", format!("does not know {text:?}"), fix);
    None
}

fn effects(fields: &mut Fields) -> BTreeMap<String, EffectClass> {
    let mut effects = BTreeMap::new();
    for (tool, word) in fields.text_map("effects") {
        match EffectClass::NAMES.iter().find(|(name, _)| *name == word) {
            Some((_, class)) => drop(effects.insert(tool, *class)),
            None => {
                let fix = format!("use one of {}", listed(EffectClass::NAMES.iter().map(|(name, _)| *name)));
                fields.problem("effects", format!("does not know {word:?} for the tool {tool:?}"), fix);
            }
        }
    }
    effects
}

fn stdio(fields: &mut Fields, base: &Path) -> Option<StdioConfig> {
    let command = fields.required_text("command", "npx");
    let args = fields.texts("args").iter().map(|arg| Template::from(arg.as_str())).collect();
    let mut env = BTreeMap::new();
    for (name, value) in fields.text_map("env") {
        match Template::parse(&value) {
            Ok(template) if environment::is_name(&name) => drop(env.insert(name, template)),
            Ok(_) => fields.problem("env", format!("{name:?} cannot be the name of a variable"), "rename it"),
            Err(fault) => {
                fields.problem("env", format!("{name:?} {fault}"), "write ${NAME}, or no '${' at all")
            }
        }
    }
    let inherit_env = fields.flag("inherit_env");
    let directory = fields.text("cd").map(|directory| base.join(directory));
    let handshake_timeout = fields.millis("handshake_timeout_ms", STDIO_HANDSHAKE_MS);
    for key in ["url", "auth", "static_headers"] {
        if fields.has(key) {
            fields.problem(key, "is for transports over HTTP", "remove it, or use \"env\" to pass a secret");
            fields.take(key);
        }
    }
    Some(StdioConfig {
        command: command?.as_str().into(),
        args,
        env,
        inherit_env,
        directory,
        handshake_timeout,
    })
}

fn http(fields: &mut Fields, bindings: &Bindings, call: Option<Duration>) -> Option<HttpConfig> {
    let endpoint = endpoint(fields, "url", "https://example.com/mcp", bindings, call);
    let handshake_timeout = fields.millis("handshake_timeout_ms", HTTP_HANDSHAKE_MS);
    let legacy_sse = fields.flag("legacy_sse");
    Some(HttpConfig { endpoint: endpoint?, handshake_timeout, legacy_sse })
}

fn endpoint(
    fields: &mut Fields,
    key: &'static str,
    example: &str,
    bindings: &Bindings,
    call: Option<Duration>,
) -> Option<Endpoint> {
    let allow_insecure_http = fields.flag("allow_insecure_http");
    let allow_insecure_auth = fields.flag("allow_insecure_auth");
    let text = fields.required_text(key, example);
    let static_headers = headers::static_headers(fields);
    let auth = headers::auth(fields, &static_headers, bindings);
    let connect_timeout = fields.millis("connect_timeout_ms", CONNECT_MS);
    let request_timeout = fields.millis("request_timeout_ms", request_ms(call));
    let url = text.and_then(|text| address(fields, key, &text, allow_insecure_http))?;
    if url.scheme() == "http" && !auth.is_empty() && !allow_insecure_auth {
        let message = "would send credentials over plain HTTP";
        fields.problem(
            "auth",
            message,
            "use an https:// address, or set \"allow_insecure_auth\": true as well",
        );
        return None;
    }
    Some(Endpoint {
        url,
        auth,
        static_headers,
        connect_timeout,
        request_timeout,
        allow_insecure_http,
        allow_insecure_auth,
    })
}

/// An address: HTTPS unless plain HTTP is allowed, without credentials in it.
fn address(fields: &mut Fields, key: &str, text: &str, allow_insecure: bool) -> Option<Url> {
    let example = "write a full address such as https://example.com/path";
    let url = match Url::parse(text) {
        Ok(url) if url.host_str().is_some_and(|host| host.contains("${")) => {
            let fix = "${VAR} is filled in only inside \"env\" of mcp_stdio; write the address itself";
            fields.problem(key, "has a variable as its host", fix);
            return None;
        }
        Ok(url) if url.has_host() => url,
        Ok(_) => {
            fields.problem(key, "has no host", example);
            return None;
        }
        Err(error) => {
            fields.problem(key, format!("is no address: {error}"), example);
            return None;
        }
    };
    let fault = match url.scheme() {
        "https" => None,
        "http" if allow_insecure => None,
        "http" => Some(("is plain HTTP", "use https://, or set \"allow_insecure_http\": true")),
        _ => Some(("has a scheme other than https", "use an https:// address")),
    };
    let fault = fault.or_else(|| {
        let named = !url.username().is_empty() || url.password().is_some();
        named.then_some(("has a user or password in it", "move it to \"credentials\" and \"auth\""))
    });
    if let Some((message, fix)) = fault {
        fields.problem(key, message, fix);
        return None;
    }
    Some(url)
}

fn openapi(
    fields: &mut Fields,
    base: &Path,
    bindings: &Bindings,
    call: Option<Duration>,
) -> Option<OpenApiConfig> {
    let endpoint = endpoint(fields, "base_url", "https://api.example.com", bindings, call);
    let allow_schema_auth = fields.flag("allow_schema_auth");
    let schema = schema(fields, base, endpoint.as_ref(), allow_schema_auth);
    let schema_max_bytes = fields.number("schema_max_bytes", MAX_RESPONSE_BYTES as u64, 1..=LARGEST_RESPONSE);
    let include_operations = fields.texts("include_operations");
    if include_operations.is_empty() {
        let fix = "list what becomes tools: \"include_operations\": [\"listThings\", \"GET /things/*\", \"tag:things\"]";
        fields.problem("include_operations", "names no operation", fix);
    }
    let allow_writes = fields.flag("allow_writes");
    let mut overrides = BTreeMap::new();
    for (operation, value) in fields.object("operation_overrides") {
        // What patterns and tags mean, the document says.
        let broad = |text: &String| text.contains('*') || text.starts_with('/') || text.starts_with("tag:");
        if !include_operations.contains(&operation) && !include_operations.iter().any(broad) {
            let fix = match closest(&operation, include_operations.iter().map(String::as_str)) {
                Some(best) => format!("did you mean '{best}'?"),
                None => "add it to \"include_operations\" or remove it".to_owned(),
            };
            fields.problem(
                "operation_overrides",
                format!("changes '{operation}', which is not included"),
                fix,
            );
        }
        let place = format!("{} '{operation}'", fields.place_of("operation_overrides"));
        overrides.insert(operation, operation_override(Fields::open(place, value, fields.problems())));
    }
    Some(OpenApiConfig {
        endpoint: endpoint?,
        schema: schema?,
        allow_schema_auth,
        schema_max_bytes: schema_max_bytes as usize,
        include_operations,
        overrides,
        allow_writes,
    })
}

fn schema(
    fields: &mut Fields,
    base: &Path,
    endpoint: Option<&Endpoint>,
    allow_schema_auth: bool,
) -> Option<SchemaSource> {
    let file = fields.text("schema_file");
    let url = fields.text("schema_url");
    match (file, url) {
        (Some(file), None) => Some(SchemaSource::File(base.join(PathBuf::from(file)))),
        (None, Some(text)) => {
            let allowed = endpoint.is_some_and(|endpoint| endpoint.allow_insecure_http);
            let url = address(fields, "schema_url", &text, allowed)?;
            let secret = endpoint.is_some_and(|endpoint| {
                let sent = allow_schema_auth || url.origin() == endpoint.url.origin();
                sent && !endpoint.auth.is_empty() && !endpoint.allow_insecure_auth
            });
            if url.scheme() == "http" && secret {
                let message = "would be fetched with credentials over plain HTTP";
                fields.problem(
                    "schema_url",
                    message,
                    "use https://, or set \"allow_insecure_auth\": true as well",
                );
                return None;
            }
            Some(SchemaSource::Url(url))
        }
        (None, None) => {
            fields.problem("schema_file", "is missing", "add \"schema_file\" (a path) or \"schema_url\"");
            None
        }
        (Some(_), Some(_)) => {
            fields.problem("schema_url", "stands beside schema_file", "keep one of the two");
            None
        }
    }
}

fn operation_override(mut fields: Fields) -> OperationOverride {
    let changed = OperationOverride {
        name: fields.text("name"),
        description: fields.text("description"),
        default_args: fields.optional_object("default_args"),
        effect: fields.word("effect", EffectClass::NAMES),
        allow_writes: fields.flag("allow_writes"),
    };
    fields.close();
    changed
}
