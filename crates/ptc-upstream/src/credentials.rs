//! The one place that knows secrets. A configuration has the names of credentials; [`Secrets::resolve`] fetches
//! their values once, when a runtime starts, and hands out finished headers and environments, nothing else.

mod written;

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ptc_system::environment::{Part, Template, is_secret_name};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value as Json;

use crate::config::Fields;
use crate::config::{
    Config, ConfigError, Endpoint, OpenApiConfig, Problem, SchemaSource, Scheme, StdioConfig,
    TransportConfig, UpstreamConfig,
};
use crate::redact::{LARGEST, Redactor, SHORTEST, TOTAL};

/// User names of fewer bytes are not covered on their own: `admin` is a word, not a secret.
const SHORTEST_USER: usize = 6;

/// Values of fewer bytes that a child merely inherits are not covered: nobody said that they are secrets, and `SOME_KEY=true`
/// would cover a word.
const SHORTEST_INHERITED: usize = 8;

/// The secrets in what is added to the environment of a command: values whose names say so, and those of variables whose
/// names do.
pub fn in_environment(
    added: &[(String, Template)],
    lookup: &dyn Fn(&str) -> Option<String>,
) -> Vec<SecretString> {
    let mut secrets = Vec::new();
    for (name, template) in added {
        let of_variables =
            template.variables().filter(|variable| is_secret_name(variable)).filter_map(lookup);
        secrets.extend(of_variables.map(SecretString::from));
        if is_secret_name(name) {
            secrets.extend(template.fill(lookup).ok().map(SecretString::from));
        }
    }
    secrets
}

/// Where the values of credentials come from, by name.
#[derive(Clone, Debug, Default)]
pub struct Bindings(BTreeMap<String, Source>);

#[derive(Clone, Debug)]
enum Source {
    Env(String),
    File(PathBuf),
    Literal(SecretString),
    /// As the file of an MCP client has it.
    Text(Written),
    /// Nowhere: what is wrong with it is told already.
    Mistaken,
}

/// A text that may be a secret by itself.
#[derive(Clone)]
struct Written(Template);

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Written([REDACTED])")
    }
}

#[derive(Clone, Copy)]
enum SourceName {
    Env,
    File,
    Literal,
}

const SOURCES: &[(&str, SourceName)] =
    &[("env", SourceName::Env), ("file", SourceName::File), ("literal", SourceName::Literal)];

impl Bindings {
    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is a credential of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Adds a credential that an MCP client has as text, under a name that is free.
    pub(crate) fn add(&mut self, name: &str, value: Template) -> String {
        let taken = |name: &String| self.0.contains_key(name);
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name));
        let name = free.unwrap_or_else(|| name.to_owned());
        self.0.insert(name.clone(), Source::Text(Written(value)));
        name
    }

    /// Reads the key `credentials`; paths are relative to `base`.
    pub(crate) fn parse(fields: &mut Fields, base: &Path) -> Bindings {
        let mut bindings = BTreeMap::new();
        for (name, value) in fields.object("credentials") {
            let mut entry = Fields::open(format!("credential '{name}'"), value, fields.problems());
            if !is_name(&name) {
                let fix = "begin with a letter and go on with letters, digits, '-' and '_'";
                entry.problem("credentials", "has a name that cannot be used", fix);
            }
            let source = Source::parse(&mut entry, base);
            entry.text("scheme_hint");
            entry.close();
            // One with a mistake is there all the same: whoever names it makes none.
            bindings.insert(name, source.unwrap_or(Source::Mistaken));
        }
        Bindings(bindings)
    }
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

impl Source {
    fn parse(entry: &mut Fields, base: &Path) -> Option<Source> {
        if !entry.has("source") {
            entry.problem("source", "is missing", "add \"source\": \"env\", \"file\" or \"literal\"");
            entry.take("source");
            return None;
        }
        match entry.word("source", SOURCES)? {
            SourceName::Env => entry.required_text("var", "GITHUB_TOKEN").map(Source::Env),
            SourceName::File => {
                entry.required_text("path", "/run/secrets/token").map(|p| Source::File(base.join(p)))
            }
            SourceName::Literal => entry.required_text("value", "…").map(|v| Source::Literal(v.into())),
        }
    }

    /// The value, or what is wrong and how to fix it.
    fn fetch(&self, lookup: &dyn Fn(&str) -> Option<String>) -> Result<SecretString, (String, String)> {
        let value = match self {
            Source::Mistaken => return Ok("mistaken".into()),
            Source::Literal(value) => value.clone(),
            Source::Env(var) => match lookup(var).filter(|value| !value.is_empty()) {
                Some(value) => value.into(),
                None => {
                    return Err((format!("env {var} is not set"), format!("export {var} before starting")));
                }
            },
            Source::File(path) => read_file(path)?,
            Source::Text(Written(template)) => match template.fill(lookup) {
                Ok(value) => value.into(),
                Err(var) => {
                    return Err((format!("env {var} is not set"), format!("export {var} before starting")));
                }
            },
        };
        match value.expose_secret().len() {
            // A client that fills in nothing sends nothing.
            0 if matches!(self, Source::Text(Written(template)) if has_default(template)) => Ok(value),
            0 => Err(("is empty".to_owned(), "give it a value".to_owned())),
            length if length > LARGEST => {
                Err((format!("has more than {LARGEST} bytes"), "a credential is a short text".to_owned()))
            }
            _ => Ok(value),
        }
    }
}

fn has_default(template: &Template) -> bool {
    template.parts().iter().any(|part| matches!(part, Part::Variable { default: Some(_), .. }))
}

fn read_file(path: &Path) -> Result<SecretString, (String, String)> {
    let fault = |error: std::io::Error| {
        (
            format!("file {} cannot be read: {error}", path.display()),
            "check its path and permissions".to_owned(),
        )
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(fault)?;
    file.take(LARGEST as u64 + 1024).read_to_string(&mut text).map_err(fault)?;
    Ok(text.trim_end().to_owned().into())
}

/// The values of all credentials and environments of one configuration. Cheap to clone; nothing shows them.
#[derive(Clone, Default)]
pub struct Secrets {
    vault: Arc<Vault>,
    redactor: Redactor,
}

#[derive(Default)]
struct Vault {
    values: BTreeMap<String, SecretString>,
    environments: BTreeMap<String, Vec<(String, SecretString)>>,
    /// The command of each stdio upstream, and its arguments.
    commands: BTreeMap<String, (String, Vec<SecretString>)>,
    /// Why upstreams cannot be started, where the others are used all the same.
    broken: BTreeMap<String, String>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({} credentials)", self.vault.values.len())
    }
}

impl Secrets {
    /// Fetches all values from the environment and from files, and checks what only a start can check: that
    /// variables are set, that credentials fit into headers, and that no upstream is this program itself.
    pub fn resolve(config: &Config) -> Result<Secrets, ConfigError> {
        let own = std::env::current_exe().ok();
        Secrets::resolve_with(config, &variable, own.as_deref())
    }

    /// As [`Secrets::resolve`], with an environment and a program of one's own.
    pub fn resolve_with(
        config: &Config,
        lookup: &dyn Fn(&str) -> Option<String>,
        own_program: Option<&Path>,
    ) -> Result<Secrets, ConfigError> {
        let mut problems = Vec::new();
        let mut vault = Vault::default();
        let mut missing = BTreeMap::new();
        for (name, source) in &config.credentials.0 {
            match source.fetch(lookup) {
                Ok(value) => drop(vault.values.insert(name.clone(), value)),
                Err((message, fix)) => {
                    let place = format!("credential '{name}'");
                    missing.insert(name.as_str(), Problem { place, message, fix });
                }
            }
        }
        if !config.of_client {
            problems.extend(std::mem::take(&mut missing).into_values());
        }
        let given = vault.values.values().filter(|value| !value.expose_secret().is_empty());
        let mut covered: Vec<SecretString> = given.cloned().collect();
        let mut broken = Vec::new();
        for upstream in &config.upstreams {
            if let Some(own) = config.unusable.get(&upstream.name) {
                broken.push((upstream.name.clone(), own.clone()));
                continue;
            }
            let mut own = missing_for(upstream, &missing);
            if let TransportConfig::Stdio(stdio) = &upstream.transport {
                let mut filling = Filling { upstream, lookup, covered: &mut covered, problems: &mut own };
                let filled = filling.environment(stdio);
                vault.environments.insert(upstream.name.clone(), filled);
                if let Some(command) = filling.command(stdio) {
                    own.extend(self_as_upstream(upstream, stdio, &command.0, lookup, own_program));
                    vault.commands.insert(upstream.name.clone(), command);
                }
                covered.retain(|secret| secret.expose_secret().len() >= SHORTEST);
            }
            let endpoint = upstream.transport.endpoint();
            covered.extend(endpoint.into_iter().flat_map(|endpoint| written::in_address(&endpoint.url)));
            if let TransportConfig::OpenApi(OpenApiConfig { schema: SchemaSource::Url(url), .. }) =
                &upstream.transport
            {
                covered.extend(written::in_address(url));
            }
            let checked = problems.is_empty() && own.is_empty();
            if let Some(endpoint) = upstream.transport.endpoint().filter(|_| checked) {
                own.extend(vault.check(upstream, endpoint, &mut covered));
            }
            match config.of_client {
                true => broken.extend((!own.is_empty()).then_some((upstream.name.clone(), own))),
                false => problems.extend(own),
            }
        }
        match broken.len() == config.upstreams.len() {
            // Nothing would be left.
            true => problems.extend(broken.into_iter().flat_map(|(_, own)| own)),
            false => vault.broken = broken.into_iter().map(|(name, own)| (name, told(&own))).collect(),
        }
        let total: usize = covered.iter().map(|secret| secret.expose_secret().len()).sum();
        if total > TOTAL {
            let message = format!("credentials have more than {TOTAL} bytes together");
            problems.push(Problem::general(message, "credentials are short texts; remove the large ones"));
        }
        if !problems.is_empty() {
            return Err(ConfigError { file: None, problems });
        }
        let redactor = Redactor::new(&covered);
        if redactor.without_codes() > 0 {
            let message = "there are too many credentials to look for each of them in every code";
            let fix = "use fewer ones, or shorter ones; about 700 of 40 bytes are not too many";
            let problems = vec![Problem::general(message.to_owned(), fix)];
            return Err(ConfigError { file: None, problems });
        }
        Ok(Secrets { vault: Arc::new(vault), redactor })
    }

    /// What covers these secrets in everything that leaves.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// Covers secrets of the host too, so that no upstream can bring one back.
    #[must_use]
    pub fn covering<'s>(self, more: impl IntoIterator<Item = &'s SecretString>) -> Secrets {
        Secrets { redactor: self.redactor.and(more), ..self }
    }

    /// The headers of a request to this endpoint: literal ones and secret ones, the latter marked so that no
    /// library shows them.
    pub fn headers(&self, endpoint: &Endpoint) -> Result<HeaderMap, String> {
        self.vault.headers(endpoint)
    }

    /// The command of a stdio upstream, and its arguments.
    pub(crate) fn command(&self, upstream: &str) -> Option<(&str, impl Iterator<Item = &str>)> {
        let (command, args) = self.vault.commands.get(upstream)?;
        Some((command, args.iter().map(ExposeSecret::expose_secret)))
    }

    /// Why an upstream cannot be started, if it cannot.
    pub(crate) fn broken(&self, upstream: &str) -> Option<&str> {
        self.vault.broken.get(upstream).map(String::as_str)
    }

    /// What is added to the environment of a stdio upstream.
    pub(crate) fn environment(&self, upstream: &str) -> impl Iterator<Item = (&str, &str)> {
        let filled = self.vault.environments.get(upstream).map(Vec::as_slice).unwrap_or_default();
        filled.iter().map(|(name, value)| (name.as_str(), value.expose_secret()))
    }
}

/// The value of a variable. A client that cannot fill one in passes its placeholder on, which is no value.
pub(crate) fn variable(name: &str) -> Option<String> {
    let is_placeholder = |value: &String| {
        let inside = value.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        inside.or_else(|| value.strip_prefix('$')) == Some(name)
    };
    std::env::var(name).ok().filter(|value| !is_placeholder(value))
}

/// The credentials that the headers of an upstream need and that have no value.
fn missing_for(upstream: &UpstreamConfig, missing: &BTreeMap<&str, Problem>) -> Vec<Problem> {
    let auth = upstream.transport.endpoint().into_iter().flat_map(|endpoint| &endpoint.auth);
    let place = || format!("upstream '{}', key 'headers'", upstream.name);
    let named = auth.filter_map(|rule| missing.get(rule.binding.as_str()));
    named.map(|problem| Problem { place: place(), ..problem.clone() }).collect()
}

/// The problems of one upstream on one line. Whoever shows it names the upstream.
fn told(problems: &[Problem]) -> String {
    let told = problems.iter().map(|problem| {
        let key = problem.place.split_once(", ").map_or("", |(_, key)| key);
        Problem { place: key.to_owned(), ..problem.clone() }.to_string()
    });
    told.collect::<Vec<_>>().join("; ")
}

impl Vault {
    fn headers(&self, endpoint: &Endpoint) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        let name = |text: &str| HeaderName::try_from(text).map_err(|_| format!("'{text}' is no header name"));
        for (header, value) in &endpoint.static_headers {
            let value =
                HeaderValue::try_from(value).map_err(|_| format!("'{header}' has an unusable value"))?;
            headers.insert(name(header)?, value);
        }
        for rule in &endpoint.auth {
            let binding = &rule.binding;
            let secret =
                self.values.get(binding).ok_or_else(|| format!("credential '{binding}' has no value"))?;
            let secret = secret.expose_secret();
            let text = match &rule.scheme {
                Scheme::Bearer => format!("Bearer {secret}"),
                Scheme::Basic => {
                    let (user, pass) = user_and_password(secret).ok_or_else(|| {
                        format!("credential '{binding}' is neither user:pass nor {{\"user\", \"pass\"}}")
                    })?;
                    format!("Basic {}", STANDARD.encode(format!("{user}:{pass}")))
                }
                Scheme::CustomHeader(_) => secret.to_owned(),
            };
            let mut value = HeaderValue::try_from(text)
                .map_err(|_| format!("credential '{binding}' has characters that a header cannot carry"))?;
            value.set_sensitive(true);
            headers.insert(name(rule.scheme.header())?, value);
        }
        Ok(headers)
    }

    /// Whether the headers of an endpoint can be made; the parts of basic credentials are secrets too.
    fn check(
        &self,
        upstream: &UpstreamConfig,
        endpoint: &Endpoint,
        covered: &mut Vec<SecretString>,
    ) -> Option<Problem> {
        for rule in endpoint.auth.iter().filter(|rule| rule.scheme == Scheme::Basic) {
            let secret = self.values.get(&rule.binding).map(|secret| secret.expose_secret());
            let Some((user, pass)) = secret.and_then(user_and_password) else { continue };
            covered.push(format!("{user}:{pass}").into());
            if user.len() >= SHORTEST_USER {
                covered.push(user.into());
            }
            covered.push(pass.into());
        }
        let fault = self.headers(endpoint).err()?;
        let place = format!("upstream '{}', key 'auth'", upstream.name);
        Some(Problem { place, message: fault, fix: "change the value of the credential".to_owned() })
    }
}

/// The halves of a basic credential: `user:pass`, or JSON with both.
fn user_and_password(secret: &str) -> Option<(String, String)> {
    if secret.trim_start().starts_with('{')
        && let Ok(Json::Object(fields)) = serde_json::from_str(secret)
    {
        let text = |key: &str| fields.get(key).and_then(Json::as_str).map(str::to_owned);
        return text("user").zip(text("pass")).filter(|(user, _)| !user.contains(':'));
    }
    secret.split_once(':').map(|(user, pass)| (user.to_owned(), pass.to_owned()))
}

/// Templates of one upstream on their way to values.
struct Filling<'f> {
    upstream: &'f UpstreamConfig,
    lookup: &'f dyn Fn(&str) -> Option<String>,
    covered: &'f mut Vec<SecretString>,
    problems: &'f mut Vec<Problem>,
}

impl Filling<'_> {
    /// The value of a template; variables that are secret by their names are covered.
    fn fill(&mut self, key: &str, what: &str, template: &Template) -> Option<String> {
        match template.fill(self.lookup) {
            Ok(value) => {
                let secret = template.variables().filter(|variable| is_secret_name(variable));
                self.covered.extend(secret.filter_map(self.lookup).map(SecretString::from));
                Some(value)
            }
            Err(variable) => {
                self.problems.push(Problem {
                    place: format!("upstream '{}', key '{key}'", self.upstream.name),
                    message: format!("{what} needs the environment variable {variable}, which is not set"),
                    fix: format!("export {variable} before starting, or remove it"),
                });
                None
            }
        }
    }

    fn environment(&mut self, stdio: &StdioConfig) -> Vec<(String, SecretString)> {
        if stdio.inherit_env {
            let named = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
            let values = named.filter(|name| is_secret_name(name)).filter_map(|name| (self.lookup)(&name));
            let values = values.filter(|value| (SHORTEST_INHERITED..=LARGEST).contains(&value.len()));
            self.covered.extend(values.map(SecretString::from));
        }
        let mut filled = Vec::new();
        for (name, template) in &stdio.env {
            let Some(value) = self.fill("env", &format!("{name:?}"), template) else { continue };
            let value = SecretString::from(value);
            if is_secret_name(name) {
                self.covered.push(value.clone());
            }
            filled.push((name.clone(), value));
        }
        filled
    }

    fn command(&mut self, stdio: &StdioConfig) -> Option<(String, Vec<SecretString>)> {
        let command = self.fill("command", "it", &stdio.command);
        let args = stdio
            .args
            .iter()
            .map(|arg| self.fill("args", &format!("\"{arg}\""), arg).map(SecretString::from));
        let args: Vec<Option<SecretString>> = args.collect();
        let args = args.into_iter().collect::<Option<Vec<_>>>()?;
        let words: Vec<&str> = args.iter().map(ExposeSecret::expose_secret).collect();
        self.covered.extend(written::in_words(&words));
        Some((command?, args))
    }
}

fn self_as_upstream(
    upstream: &UpstreamConfig,
    stdio: &StdioConfig,
    command: &str,
    lookup: &dyn Fn(&str) -> Option<String>,
    own_program: Option<&Path>,
) -> Option<Problem> {
    let own = own_program?.canonicalize().ok()?;
    let path = find_program(command, stdio.directory.as_deref(), lookup("PATH").as_deref())?;
    (path.canonicalize().ok()? == own).then(|| Problem {
        place: format!("upstream '{}', key 'command'", upstream.name),
        message: format!("{command:?} is this program itself, which would call itself without end"),
        fix: "name another server".to_owned(),
    })
}

/// The file of a command: a path as it is (relative to the directory it runs in), a bare name by `PATH`.
pub(crate) fn find_program(command: &str, directory: Option<&Path>, path: Option<&str>) -> Option<PathBuf> {
    if command.contains(std::path::MAIN_SEPARATOR) || command.contains('/') {
        let file = directory.unwrap_or(Path::new("")).join(command);
        return is_program(&file).then_some(file);
    }
    std::env::split_paths(path?).map(|folder| folder.join(command)).find(|file| is_program(file))
}

#[cfg(unix)]
fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(file: &Path) -> bool {
    file.is_file()
}
