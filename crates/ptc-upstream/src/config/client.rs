//! The file of an MCP client, as it is: `mcp.json` of Claude, Cursor, VS Code and others. Each server becomes an
//! upstream. Headers that carry secrets become credentials, and variables are filled in where clients fill them in. What
//! has no meaning here is noted; what would mean something else here is a problem.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_system::environment::{self, Part, Template, is_secret_name, is_variable};
use reqwest::Url;
use serde_json::{Map, Value as Json};

use super::env_file;
use super::fields::{Fields, kind};
use super::headers::{FRAMING, PROTOCOL, SECRET, is_token, is_value};
use super::parse::{CONNECT_MS, HTTP_HANDSHAKE_MS, STDIO_HANDSHAKE_MS, call_timeout, name_fault, request_ms};
use super::problem::{ConfigError, Problem};
use super::{
    ApprovalRules, AuthRule, Config, Endpoint, HttpConfig, MAX_RESPONSE_BYTES, Scheme, StdioConfig,
    ToolFilter, TransportConfig, UpstreamConfig,
};
use crate::credentials;

/// Where clients keep their servers: keys from the top of the file on.
const PLACES: &[&[&str]] =
    &[&["mcpServers"], &["servers"], &["mcp", "servers"], &["context_servers"], &["mcp"]];

/// Keys that say how a client asks its user, or what it shows; approval and descriptions are settings of ours.
const WITHOUT_MEANING: &[&str] = &[
    "alwaysAllow",
    "autoApprove",
    "autoStart",
    "default_tools_approval_mode",
    "dev",
    "gallery",
    "icon",
    "icons",
    "name",
    "note",
    "required",
    "source",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "timeout",
    "tool_timeout_sec",
    "trust",
    "version",
];

/// Keys that say how a server is reached, and keys for its address.
const TYPES: &[&str] = &["type", "transport", "transportType"];
const ADDRESSES: &[&str] = &["url", "httpUrl", "serverUrl"];

/// Settings of ours that may stand beside those of a client.
const OUR_KEYS: &[&str] =
    &["approval", "call_timeout_ms", "handshake_timeout_ms", "inherit_env", "unset_variables"];

/// What becomes of variables without a value: Claude Code passes the text on as it stands.
const UNSET: &[(&str, bool)] = &[("keep", true), ("refuse", false)];

/// The servers in the file of a client; `None` if it is none.
pub fn servers(value: &Json) -> Option<Map<String, Json>> {
    if value.get("upstreams").is_some() {
        return None;
    }
    let at =
        |place: &&[&str]| place.iter().try_fold(value, |value, key| value.get(key))?.as_object().cloned();
    PLACES.iter().find_map(at)
}

/// Notes for servers that stand at a second place, which is not read.
pub fn other_places(value: &Json) -> Vec<Problem> {
    let found = |place: &&&[&str]| {
        let at = place.iter().try_fold(value, |value, key| value.get(key)).and_then(Json::as_object);
        // `mcp.servers` is one place, and not a server of that name under `mcp`.
        let outer = |servers: &Map<String, Json>| place.len() == 1 && servers.contains_key("servers");
        at.is_some_and(|servers| !servers.is_empty() && !outer(servers))
    };
    let mut places = PLACES.iter().filter(found).map(|place| place.join("."));
    let Some(first) = places.next() else { return Vec::new() };
    let note = |place: String| Problem {
        place: format!("key '{place}'"),
        message: format!("is left out: the servers of '{first}' are used"),
        fix: "move its servers there".to_owned(),
    };
    places.map(note).collect()
}

/// What is wrong with a file that has a place for servers and no object there.
pub fn no_servers(value: &Json) -> Option<Problem> {
    if value.get("upstreams").is_some() {
        return None;
    }
    let (key, found) = PLACES.iter().find_map(|place| Some((place[0], value.get(place[0])?)))?;
    Some(Problem {
        place: format!("key '{key}'"),
        message: format!("must be an object of servers, not {}", kind(found)),
        fix: format!("write \"{key}\": {{\"<name>\": {{\"command\": \"…\"}}}}"),
    })
}

/// Reads the servers; relative paths in the file, and the folder that is worked in, are relative to `base`. Clients start what
/// they can, so a server with a mistake is down for that reason, and the others are used.
pub fn config(servers: Map<String, Json>, base: &Path) -> Result<Config, ConfigError> {
    let mut reader = Reader::new(base);
    let mut problems = Vec::new();
    for (given, own) in clashes(&servers) {
        reader.set_aside(given, servers.get(given).is_some_and(is_far), vec![own.clone()]);
        problems.push(own);
    }
    for (given, entry) in servers {
        let is_far = is_far(&entry);
        let upstream = reader.server(&given, entry);
        let own = std::mem::take(&mut reader.problems);
        match own.is_empty() {
            true => reader.config.upstreams.extend(upstream),
            false => {
                problems.extend(own.iter().cloned());
                reader.set_aside(&given, is_far, own);
            }
        }
    }
    let Reader { mut config, unset, .. } = reader;
    problems.extend(unset);
    // Nothing would be left.
    if !problems.is_empty() && config.unusable.len() == config.upstreams.len() {
        return Err(ConfigError { file: None, problems });
    }
    config.notes.extend(problems);
    Ok(config)
}

/// The servers that would have one name in programs, each with what is wrong with that.
fn clashes(servers: &Map<String, Json>) -> Vec<(&String, Problem)> {
    let is_on = |entry: &Json| entry["disabled"] != true && entry["enabled"] != false;
    let names: Vec<&String> =
        servers.iter().filter(|(_, entry)| is_on(entry)).map(|(name, _)| name).collect();
    let is_taken =
        |name: &&String| names.iter().filter(|other| plain_name(other) == plain_name(name)).count() > 1;
    let problem = |name: &String| Problem {
        place: format!("server '{name}'"),
        message: format!("would be called '{}' like another one", plain_name(name)),
        fix: "rename it".to_owned(),
    };
    names.iter().filter(|name| is_taken(name)).map(|name| (*name, problem(name))).collect()
}

/// The name of a server in programs: clients allow any text.
pub fn plain_name(given: &str) -> String {
    let plain = |c: char| if c.is_whitespace() || c.is_control() || c == '/' { '-' } else { c };
    given.trim().chars().map(plain).collect()
}

/// What keeps servers from being used, by name.
pub fn problems(servers: Map<String, Json>, base: &Path) -> BTreeMap<String, Vec<Problem>> {
    let mut reader = Reader::new(base);
    let mut found = BTreeMap::new();
    for (name, entry) in servers {
        let upstream = reader.server(&name, entry);
        let problems = std::mem::take(&mut reader.problems);
        match problems.is_empty() {
            true => reader.config.upstreams.extend(upstream),
            false => drop(found.insert(name, problems)),
        }
    }
    found
}

/// The fields of a server, also where its command holds all that belongs to it, as in older files of Zed: `{"command":
/// {"path": …, "args": […], "env": {…}}}`.
pub fn flat(mut fields: Map<String, Json>) -> Map<String, Json> {
    let Some(Json::Object(inside)) = fields.get("command").cloned() else { return fields };
    fields.shift_remove("command");
    for (key, value) in inside {
        let key = if key == "path" { "command".to_owned() } else { key };
        fields.entry(key).or_insert(value);
    }
    fields
}

/// Headers as they are, names in lower case.
type Literal = Vec<(String, String)>;

/// What an entry says in our words.
struct Ours {
    approval: ApprovalRules,
    call_timeout: Option<Duration>,
    handshake_timeout: Option<Duration>,
    inherit_env: bool,
    keeps_unset: bool,
}

/// How an entry reaches its server.
enum Reach {
    Stdio,
    Http,
    Sse,
}

struct Reader<'b> {
    base: &'b Path,
    config: Config,
    problems: Vec<Problem>,
    /// Servers that are left out because a variable in their address or folder is not set.
    unset: Vec<Problem>,
    /// Whether the entry that is read keeps variables without a value as they stand.
    keeps_unset: bool,
}

/// One entry that is being read.
struct Entry {
    /// The name of the upstream.
    name: String,
    fields: Map<String, Json>,
}

impl Entry {
    fn place(&self, key: &str) -> String {
        format!("server '{}', key '{key}'", self.name)
    }

    /// The value of the first of these keys that is there, and the key.
    fn take<'k>(&mut self, keys: &[&'k str]) -> Option<(&'k str, Json)> {
        keys.iter().find_map(|key| Some((*key, self.fields.shift_remove(*key)?)))
    }
}

impl<'b> Reader<'b> {
    fn new(base: &'b Path) -> Reader<'b> {
        let config = Config { of_client: true, ..Config::default() };
        Reader { base, config, problems: Vec::new(), unset: Vec::new(), keeps_unset: false }
    }

    fn problem(&mut self, place: String, message: impl Into<String>, fix: impl Into<String>) {
        self.problems.push(Problem { place, message: message.into(), fix: fix.into() });
    }

    fn note(&mut self, place: String, message: impl Into<String>) {
        self.config.notes.push(Problem { place, message: message.into(), fix: String::new() });
    }

    /// Keeps the place of a server that cannot be used, so that programs are told why it is not there. One without a name
    /// that programs could use has none.
    fn set_aside(&mut self, given: &str, is_far: bool, problems: Vec<Problem>) {
        let name = plain_name(given);
        if name_fault(&name).is_some() {
            return;
        }
        if self.config.upstream(&name).is_none() {
            self.config.upstreams.push(nothing(name.clone(), is_far));
        }
        self.config.unusable.entry(name).or_default().extend(problems);
    }

    fn server(&mut self, given: &str, entry: Json) -> Option<UpstreamConfig> {
        if self.config.unusable.contains_key(&plain_name(given)) {
            return None;
        }
        let Json::Object(fields) = entry else {
            let message = format!("must be an object, not {}", kind(&entry));
            self.problem(
                format!("server '{given}'"),
                message,
                "write {\"command\": \"…\"} or {\"url\": \"…\"}",
            );
            return None;
        };
        let name = self.name(given)?;
        let mut entry = Entry { name, fields: flat(fields) };
        if let Some(key) = self.is_off(&mut entry) {
            self.note(format!("server '{given}'"), format!("is switched off ({key}) and was left out"));
            return None;
        }
        let reach = self.reach(&mut entry);
        let description = self.text(&mut entry, &["description"]);
        let tools = self.tools(&mut entry);
        let ours = self.ours(&mut entry);
        self.keeps_unset = ours.keeps_unset;
        let transport = match reach? {
            Reach::Stdio => self.stdio(&mut entry, &ours).map(TransportConfig::Stdio),
            Reach::Http => self.http(&mut entry, &ours, false).map(TransportConfig::Http),
            Reach::Sse => self.http(&mut entry, &ours, true).map(TransportConfig::Http),
        };
        self.close(entry.fields.keys().map(|key| (key.clone(), entry.place(key))).collect());
        Some(UpstreamConfig {
            name: entry.name,
            description,
            tags: Vec::new(),
            effects: BTreeMap::new(),
            approval: ours.approval,
            tools,
            max_response_bytes: MAX_RESPONSE_BYTES,
            call_timeout: ours.call_timeout,
            transport: transport?,
        })
    }

    /// A name that programs can call: clients allow any text.
    fn name(&mut self, given: &str) -> Option<String> {
        let plain = plain_name(given);
        if let Some(fault) = name_fault(&plain) {
            self.problem(format!("server '{given}'"), fault, "rename it");
            return None;
        }
        if self.config.upstream(&plain).is_some() {
            self.problem(
                format!("server '{given}'"),
                format!("would be called '{plain}' like another one"),
                "rename it",
            );
            return None;
        }
        if plain != given {
            self.note(format!("server '{given}'"), format!("is called '{plain}' in programs"));
        }
        Some(plain)
    }

    /// The key that switches it off. Whose file this is, and whether that client knows the key, cannot be seen here.
    fn is_off(&mut self, entry: &mut Entry) -> Option<&'static str> {
        let disabled = self.flag(entry, "disabled");
        let enabled = self.flag(entry, "enabled");
        match (disabled, enabled) {
            (Some(true), _) => Some("\"disabled\": true"),
            (_, Some(false)) => Some("\"enabled\": false"),
            _ => None,
        }
    }

    fn reach(&mut self, entry: &mut Entry) -> Option<Reach> {
        let word = self.text(entry, TYPES);
        let has = |key: &str| entry.fields.contains_key(key);
        let is_far = || ADDRESSES.iter().any(|key| has(key));
        Some(match word.as_deref() {
            Some("stdio" | "local") => Reach::Stdio,
            Some("http" | "streamable-http" | "streamable_http" | "streamableHttp" | "remote") => Reach::Http,
            Some("sse") => Reach::Sse,
            Some(other) => {
                let message = format!("does not know {other:?}");
                let likely = if has("command") { Reach::Stdio } else { Reach::Http };
                let is_clear = has("command") || is_far();
                self.problem(entry.place("type"), message, "use \"stdio\", \"http\" or \"sse\"");
                // What else is wrong is told at once.
                return is_clear.then_some(likely);
            }
            None if has("command") => Reach::Stdio,
            None if is_far() => Reach::Http,
            None => {
                let fix = "add \"command\" for a program or \"url\" for a server";
                self.problem(format!("server '{}'", entry.name), "has neither \"command\" nor \"url\"", fix);
                return None;
            }
        })
    }

    /// Which tools the client offers its model: programs get no others.
    fn tools(&mut self, entry: &mut Entry) -> ToolFilter {
        let include = self.texts(entry, &["includeTools", "enabledTools", "enabled_tools"]);
        let exclude = self.texts(entry, &["excludeTools", "disabledTools", "disabled_tools"]);
        ToolFilter {
            include: include.map(|names| names.into_iter().collect::<BTreeSet<_>>()),
            exclude: exclude.unwrap_or_default().into_iter().collect(),
        }
    }

    /// Settings of ours, which `ptc setup` writes beside those of the client.
    fn ours(&mut self, entry: &mut Entry) -> Ours {
        let own =
            OUR_KEYS.iter().filter_map(|key| Some(((*key).to_owned(), entry.fields.shift_remove(*key)?)));
        let own = Json::Object(own.collect());
        let mut fields = Fields::open(format!("server '{}'", entry.name), own, &mut self.problems);
        let handshake = fields
            .has("handshake_timeout_ms")
            .then(|| fields.millis("handshake_timeout_ms", STDIO_HANDSHAKE_MS));
        let ours = Ours {
            approval: ApprovalRules::parse(&mut fields),
            call_timeout: call_timeout(&mut fields),
            handshake_timeout: handshake,
            inherit_env: fields.flag("inherit_env"),
            keeps_unset: fields.word("unset_variables", UNSET).unwrap_or(false),
        };
        fields.close();
        ours
    }

    fn stdio(&mut self, entry: &mut Entry, ours: &Ours) -> Option<StdioConfig> {
        let words = self.words(entry);
        let mut env = self.env_file(entry);
        for (name, text) in self.text_map(entry, &["env", "environment"]) {
            let template = self.template(entry.place("env"), &text);
            match environment::is_name(&name) {
                true => env.extend(template.map(|template| (name, template))),
                false => self.problem(
                    entry.place("env"),
                    format!("{name:?} cannot be the name of a variable"),
                    "rename it",
                ),
            }
        }
        env.extend(self.passed_on(entry));
        let directory = match self.text(entry, &["cwd", "cd"]) {
            Some(text) => self.filled(entry.place("cwd"), &text).map(|folder| Some(self.base.join(folder))),
            None => Some(None),
        };
        let mut words = words?.into_iter();
        Some(StdioConfig {
            command: words.next()?,
            args: words.collect(),
            env,
            inherit_env: ours.inherit_env,
            directory: directory?,
            handshake_timeout: ours.handshake_timeout.unwrap_or(Duration::from_millis(STDIO_HANDSHAKE_MS)),
        })
    }

    /// The variables that Codex passes on by name; those without a value it leaves out.
    fn passed_on(&mut self, entry: &mut Entry) -> Vec<(String, Template)> {
        let Some((key, value)) = entry.take(&["env_vars"]) else { return Vec::new() };
        // It may say where a variable comes from, too.
        let name = |item: &Json| item.as_str().or_else(|| item.get("name")?.as_str()).map(str::to_owned);
        let names = value.as_array().and_then(|items| items.iter().map(name).collect::<Option<Vec<_>>>());
        let Some(names) = names else {
            self.problem(entry.place(key), "must be a list of names of variables", "");
            return Vec::new();
        };
        let (set, unset): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| credentials::variable(name).is_some());
        for name in unset {
            self.note(entry.place(key), format!("{name} is not set and is left out, as by the client"));
        }
        set.into_iter().map(|name| (name.clone(), [Part::variable(&name)].into_iter().collect())).collect()
    }

    /// The headers that Codex fills in from variables; those without a value it leaves out.
    fn named_headers(&mut self, entry: &mut Entry) -> Vec<(String, String)> {
        let mut headers = Vec::new();
        for (header, variable) in self.text_map(entry, &["env_http_headers"]) {
            match credentials::variable(&variable) {
                Some(_) if is_variable(&variable) => headers.push((header, format!("${{{variable}}}"))),
                _ => {
                    let message = format!(
                        "{variable} is not set, and the header {header:?} is left out, as by the client"
                    );
                    self.note(entry.place("env_http_headers"), message);
                }
            }
        }
        headers
    }

    /// The variables in the file that an entry names for them; those of `env` come after them.
    fn env_file(&mut self, entry: &mut Entry) -> BTreeMap<String, Template> {
        let Some(text) = self.text(entry, &["envFile", "env_file"]) else { return BTreeMap::new() };
        let Some(file) = self.filled(entry.place("envFile"), &text) else { return BTreeMap::new() };
        let file = self.base.join(file);
        match env_file::read(&file) {
            Ok(variables) => variables,
            Err(why) => {
                let fix = "write its variables into \"env\", or mend the file";
                self.problem(entry.place("envFile"), format!("{}: {why}", file.display()), fix);
                BTreeMap::new()
            }
        }
    }

    /// The command and its arguments.
    fn words(&mut self, entry: &mut Entry) -> Option<Vec<Template>> {
        if !entry.fields.contains_key("command") {
            self.problem(entry.place("command"), "is missing", "add \"command\": \"npx\"");
        }
        // A list has the arguments in it.
        let command = match entry.fields.get("command") {
            Some(Json::Array(_)) => self.texts(entry, &["command"]),
            _ => self.text(entry, &["command"]).map(|command| vec![command]),
        };
        let is_empty = |words: &Vec<String>| words.first().is_none_or(|command| command.trim().is_empty());
        if command.as_ref().is_some_and(is_empty) {
            self.problem(entry.place("command"), "is empty", "write something like \"npx\"");
        }
        let args = self.texts(entry, &["args"]).unwrap_or_default();
        let words = command.iter().flatten().chain(&args);
        let words: Vec<Option<Template>> =
            words.map(|word| self.template(entry.place("args"), word)).collect();
        words.into_iter().collect()
    }

    fn http(&mut self, entry: &mut Entry, ours: &Ours, legacy_sse: bool) -> Option<HttpConfig> {
        let Some((key, value)) = entry.take(ADDRESSES) else {
            self.problem(entry.place("url"), "is missing", "add \"url\": \"https://example.com/mcp\"");
            return None;
        };
        let Json::String(text) = value else {
            self.problem(entry.place(key), format!("must be a string, not {}", kind(&value)), "");
            return None;
        };
        let url = self.url(entry, key, &text);
        let (static_headers, auth) = self.headers(entry);
        let url = url?;
        let near = is_loopback(&url);
        if url.scheme() == "http" && !near && !auth.is_empty() {
            let fix = "use an https:// address; or write it as one of our upstreams with \"allow_insecure_auth\": true";
            self.problem(entry.place(key), "would send credentials over plain HTTP", fix);
            return None;
        }
        if url.scheme() == "http" && !near {
            self.note(entry.place(key), "is plain HTTP: others on the way can read and change it");
        }
        Some(HttpConfig {
            endpoint: Endpoint {
                allow_insecure_http: url.scheme() == "http",
                allow_insecure_auth: near,
                url,
                auth,
                static_headers,
                connect_timeout: Duration::from_millis(CONNECT_MS),
                request_timeout: Duration::from_millis(request_ms(ours.call_timeout)),
            },
            handshake_timeout: ours.handshake_timeout.unwrap_or(Duration::from_millis(HTTP_HANDSHAKE_MS)),
            legacy_sse,
        })
    }

    fn url(&mut self, entry: &Entry, key: &str, text: &str) -> Option<Url> {
        let text = self.filled(entry.place(key), text)?;
        let fault = match Url::parse(&text) {
            Err(error) => Some(format!("is no address: {error}")),
            Ok(url) if !url.has_host() => Some("has no host".to_owned()),
            Ok(url) if !matches!(url.scheme(), "http" | "https") => Some("is no address of HTTP".to_owned()),
            Ok(url) if !url.username().is_empty() || url.password().is_some() => {
                Some("has a user or password in it; send it as a header".to_owned())
            }
            Ok(url) => return Some(url),
        };
        self.problem(
            entry.place(key),
            fault.unwrap_or_default(),
            "write a full address such as https://example.com/mcp",
        );
        None
    }

    /// Literal headers, and those that carry secrets.
    fn headers(&mut self, entry: &mut Entry) -> (Literal, Vec<AuthRule>) {
        let (mut literal, mut auth) = (Literal::new(), Vec::<AuthRule>::new());
        let mut given = self.text_map(entry, &["headers", "http_headers"]);
        given.extend(self.named_headers(entry));
        for (name, text) in given {
            let place = entry.place("headers");
            let lower = name.to_ascii_lowercase();
            if !is_token(&name) {
                self.problem(place, format!("{name:?} is no header name"), "use letters, digits and hyphens");
                continue;
            }
            if PROTOCOL.contains(&lower.as_str()) || FRAMING.contains(&lower.as_str()) {
                self.note(place, format!("the header {name:?} is set by ptc itself"));
                continue;
            }
            if literal.iter().any(|(known, _)| *known == lower)
                || auth.iter().any(|rule| rule.scheme.header() == lower)
            {
                self.problem(place, format!("the header {name:?} stands there twice"), "keep one");
                continue;
            }
            let Some(template) = self.template(place.clone(), &text) else { continue };
            let secret = SECRET.contains(&lower.as_str()) || is_secret_name(&lower.replace('-', "_"));
            if !secret && template.variables().next().is_none() {
                if !is_value(&text) {
                    self.problem(
                        place,
                        format!("the header {name:?} has control characters"),
                        "use visible ASCII characters",
                    );
                    continue;
                }
                literal.push((lower, text));
                continue;
            }
            auth.extend(self.secret_header(&entry.name, lower, &text, place));
        }
        (literal, auth)
    }

    /// The scheme of a header and a credential for what is secret of it, so that just that is covered.
    fn secret_header(&mut self, server: &str, header: String, text: &str, place: String) -> Option<AuthRule> {
        let rest = |scheme: &str| {
            let (word, rest) = text.trim().split_once(' ')?;
            (header == "authorization" && word.eq_ignore_ascii_case(scheme)).then(|| rest.trim())
        };
        let decoded = rest("basic").and_then(|rest| String::from_utf8(STANDARD.decode(rest).ok()?).ok());
        let (scheme, template) = if let Some(token) = rest("bearer") {
            (Scheme::Bearer, self.template(place, token)?)
        } else if let Some(pair) = decoded.filter(|pair| pair.contains(':')) {
            (Scheme::Basic, Template::from(pair.as_str()))
        } else {
            (Scheme::CustomHeader(header.clone()), self.template(place, text)?)
        };
        // By itself it may come back without what stands around it.
        let is_part = template.parts().len() > 1 || matches!(scheme, Scheme::CustomHeader(_));
        for variable in template.variables().filter(|_| is_part) {
            let name = credential_name(server, variable);
            self.config.credentials.add(&name, [Part::variable(variable)].into_iter().collect());
        }
        let binding = self.config.credentials.add(&credential_name(server, &header), template);
        Some(AuthRule { scheme, binding })
    }

    /// A text with the variables of clients in it.
    fn template(&mut self, place: String, text: &str) -> Option<Template> {
        match self.parts(text, 0) {
            Ok(template) => {
                for name in self.kept_names(&template) {
                    let message =
                        format!("{name} is not set and is passed on as it stands, as by the client");
                    let note = Problem { place: place.clone(), message, fix: String::new() };
                    if !self.config.notes.contains(&note) {
                        self.config.notes.push(note);
                    }
                }
                Some(template)
            }
            Err((message, fix)) => {
                self.problem(place, message, fix);
                None
            }
        }
    }

    /// What stands in a template for variables that have no value and are kept.
    fn kept_names(&self, template: &Template) -> Vec<String> {
        let texts = template.parts().iter().filter_map(|part| match part {
            Part::Literal(text) if self.keeps_unset => {
                variable(text).filter(|(before, ..)| before.is_empty())
            }
            _ => None,
        });
        texts
            .filter(|(_, _, after)| after.is_empty())
            .map(|(_, inside, _)| format!("${{{inside}}}"))
            .collect()
    }

    /// The parts of a text. Defaults of variables may have variables of their own.
    fn parts(&self, text: &str, depth: usize) -> Result<Template, (String, String)> {
        /// How deep variables stand in defaults of others.
        const DEEPEST: usize = 8;
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, inside, after)) = variable(rest) {
            if depth >= DEEPEST {
                let message = format!("nests variables deeper than {DEEPEST}");
                return Err((message, "write the value itself".to_owned()));
            }
            if !before.is_empty() {
                parts.push(Part::Literal(before.to_owned()));
            }
            parts.push(match inside.split_once(":-") {
                Some((name, default)) if is_variable(name) => {
                    let default = Some(self.parts(default, depth + 1)?);
                    Part::Variable { name: name.to_owned(), default }
                }
                _ => self.part(inside).map_err(|(what, fix)| (format!("${{{inside}}} {what}"), fix))?,
            });
            rest = after;
        }
        if depth > 0 && rest.contains("${") {
            let fix = "close every ${ with }, and write ${$} for a $ before {".to_owned();
            return Err((format!("has a default with '${{' and no '}}': {rest}"), fix));
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(parts.into_iter().collect())
    }

    /// What stands between `${` and `}`, where it has no default.
    fn part(&self, inside: &str) -> Result<Part, (&'static str, String)> {
        let unknown = || {
            ("cannot be filled in: the folder of the file is not known", "write the whole path".to_owned())
        };
        let workspace = || workspace(self.base).ok_or_else(unknown);
        let name = inside.strip_prefix("env:").unwrap_or(inside);
        Ok(match inside {
            "workspaceFolder" | "workspaceRoot" => Part::Literal(workspace()?.display().to_string()),
            "workspaceFolderBasename" => {
                let folder = workspace()?;
                Part::Literal(folder.file_name().ok_or_else(unknown)?.to_string_lossy().into_owned())
            }
            "userHome" => Part::variable("HOME"),
            "pathSeparator" | "/" => Part::Literal(std::path::MAIN_SEPARATOR.to_string()),
            // What `ptc setup` writes for clients in whose files `${` means itself.
            "$" => Part::Literal("$".to_owned()),
            _ if inside.starts_with("input:") => {
                let fix = "set a variable of the environment and write ${env:NAME} in its place".to_owned();
                return Err(("is asked for by the client, and nobody is asked here", fix));
            }
            _ if is_variable(name) && self.keeps_unset && credentials::variable(name).is_none() => {
                Part::Literal(format!("${{{inside}}}"))
            }
            _ if is_variable(name) => Part::variable(name),
            _ => {
                let fix = "write ${NAME}, ${NAME:-default} or ${env:NAME}".to_owned();
                return Err(("is no variable that is known here", fix));
            }
        })
    }

    /// The value of a text that is needed at once.
    fn filled(&mut self, place: String, text: &str) -> Option<String> {
        let template = self.template(place.clone(), text)?;
        // A secret in an address or a path is covered like any other.
        for variable in template.variables().filter(|variable| is_secret_name(variable)) {
            if credentials::variable(variable).is_some() {
                self.config.credentials.add(variable, [Part::variable(variable)].into_iter().collect());
            }
        }
        match template.fill(&credentials::variable) {
            Ok(value) => Some(value),
            Err(variable) => {
                let message = format!("needs the environment variable {variable}, which is not set");
                let fix = format!("export {variable} before starting; the server is left out until then");
                self.unset.push(Problem { place, message, fix });
                None
            }
        }
    }

    fn text(&mut self, entry: &mut Entry, keys: &[&str]) -> Option<String> {
        match entry.take(keys)? {
            (_, Json::String(text)) => Some(text),
            (_, Json::Null) => None,
            (key, other) => {
                self.problem(entry.place(key), format!("must be a string, not {}", kind(&other)), "");
                None
            }
        }
    }

    fn flag(&mut self, entry: &mut Entry, key: &str) -> Option<bool> {
        match entry.take(&[key])?.1 {
            Json::Bool(flag) => Some(flag),
            Json::Null => None,
            other => {
                self.problem(entry.place(key), format!("must be true or false, not {}", kind(&other)), "");
                None
            }
        }
    }

    fn texts(&mut self, entry: &mut Entry, keys: &[&str]) -> Option<Vec<String>> {
        let (key, value) = entry.take(keys)?;
        let texts = match value {
            Json::Null => return None,
            Json::Array(items) => items.into_iter().map(|item| plain(&item)).collect::<Option<Vec<_>>>(),
            _ => None,
        };
        if texts.is_none() {
            self.problem(entry.place(key), "must be a list of strings", "");
        }
        texts
    }

    fn text_map(&mut self, entry: &mut Entry, keys: &[&str]) -> Vec<(String, String)> {
        let Some((key, value)) = entry.take(keys) else { return Vec::new() };
        let texts = match value {
            Json::Null => Some(Vec::new()),
            Json::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| Some((name, plain(&value)?)))
                .collect::<Option<Vec<_>>>(),
            _ => None,
        };
        if texts.is_none() {
            self.problem(entry.place(key), "must be an object of strings", "");
        }
        texts.unwrap_or_default()
    }

    /// Notes the keys that are left over.
    fn close(&mut self, left: Vec<(String, String)>) {
        for (key, place) in left {
            let message = match WITHOUT_MEANING.contains(&key.as_str()) {
                // Clients count it in milliseconds or seconds, and from the start or for each call.
                true if key.contains("timeout") => {
                    "is a setting of the client; \"call_timeout_ms\" says here how long a call may take"
                }
                true => "is a setting of the client and has no meaning here",
                false => "is not known here and was left out",
            };
            self.note(place, message);
        }
    }
}

/// Whether the entry of a server is meant for one that is reached over HTTP, whatever is wrong with it.
fn is_far(entry: &Json) -> bool {
    let text = |key: &&str| entry.get(*key).and_then(Json::as_str);
    let has = |key: &str| entry.get(key).is_some();
    match TYPES.iter().find_map(text) {
        Some("stdio" | "local") => false,
        Some(_) => !has("command"),
        None => !has("command") && ADDRESSES.iter().any(|key| has(key)),
    }
}

/// The upstream of a server that cannot be started, of the kind that is meant.
fn nothing(name: String, is_far: bool) -> UpstreamConfig {
    let nowhere = is_far.then(|| Url::parse("http://nowhere.invalid/").ok()).flatten();
    let transport = match nowhere {
        Some(url) => TransportConfig::Http(HttpConfig {
            endpoint: Endpoint {
                url,
                auth: Vec::new(),
                static_headers: Vec::new(),
                connect_timeout: Duration::from_millis(CONNECT_MS),
                request_timeout: Duration::from_millis(request_ms(None)),
                allow_insecure_http: false,
                allow_insecure_auth: false,
            },
            handshake_timeout: Duration::from_millis(HTTP_HANDSHAKE_MS),
            legacy_sse: false,
        }),
        None => TransportConfig::Stdio(StdioConfig {
            command: Template::from(""),
            args: Vec::new(),
            env: BTreeMap::new(),
            inherit_env: false,
            directory: None,
            handshake_timeout: Duration::from_millis(STDIO_HANDSHAKE_MS),
        }),
    };
    UpstreamConfig {
        name,
        description: None,
        tags: Vec::new(),
        effects: BTreeMap::new(),
        approval: ApprovalRules::default(),
        tools: ToolFilter::default(),
        max_response_bytes: MAX_RESPONSE_BYTES,
        call_timeout: None,
        transport,
    }
}

/// Clients take numbers and truth values for texts.
fn plain(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The first `${…}` of a text: what is before it, in it and behind it. What is in it may have others, and ends where it would
/// without them if they do not end.
fn variable(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (mut open, mut at) = (1, 0);
    while open > 0
        && let Some(next) = rest[at..].find(['$', '}']).map(|next| at + next)
    {
        at = next + 1;
        match &rest[next..] {
            closes if closes.starts_with('}') => open -= 1,
            opens if opens.starts_with("${") => open += 1,
            _ => {}
        }
    }
    let end = if open == 0 { at - 1 } else { rest.find('}')? };
    Some((before, &rest[..end], &rest[end + 1..]))
}

/// The folder that a client works in: files of it stand there, or in a folder of its own in it. Nothing if it cannot be
/// found, never a part of a path: `${workspaceFolder}/` would mean all files of the machine.
fn workspace(base: &Path) -> Option<PathBuf> {
    // A file that is named without a folder is in the current one.
    let whole = std::env::current_dir().map(|here| here.join(base)).or_else(|_| std::path::absolute(base));
    // Without the mark that joining nothing leaves at the end.
    let whole: PathBuf = std::path::absolute(whole.ok()?).ok()?.components().collect();
    let steps_up = whole.components().any(|step| step == Component::ParentDir);
    let folder = if steps_up { whole.canonicalize().ok()? } else { whole };
    let own = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    match folder.parent().filter(|_| own) {
        Some(parent) => Some(parent.to_path_buf()),
        None => Some(folder),
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// A name for the credential of a server.
fn credential_name(server: &str, what: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    format!("{}-{what}", server.chars().map(plain).collect::<String>())
}
