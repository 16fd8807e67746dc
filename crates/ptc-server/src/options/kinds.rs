//! What settings can hold: how each kind is read from text, shown, and written on the command line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptc_upstream::config::Found;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value as Json, json};

/// How a setting stands on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `--name`, or `--name=true` and `--name=false`.
    Switch,
    /// `--name VALUE`.
    Value,
    /// `--name`, or `--name VALUE`.
    Optional,
    /// `--name VALUE`, more than once.
    Many,
}

/// A kind of value.
pub trait ValueKind: Sized {
    /// What is to be written, in words.
    const TAKES: &'static str;
    /// What help calls it.
    const VALUE: &'static str;
    /// How it stands on a command line.
    const FORM: Form = Form::Value;
    /// Reads it; the problem continues "`--name` …".
    fn read(text: &str) -> Result<Self, String>;
    /// Shows it without secrets.
    fn show(&self) -> Json;
}

fn wrong<T>(takes: &str, text: &str) -> Result<T, String> {
    Err(format!("must be {takes}, got: {}", text.chars().take(80).collect::<String>()))
}

impl ValueKind for bool {
    const TAKES: &'static str = "true or false";
    const VALUE: &'static str = "BOOL";
    const FORM: Form = Form::Switch;
    fn read(text: &str) -> Result<bool, String> {
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "yes" | "on" => Ok(true),
            "0" | "false" | "no" | "off" => Ok(false),
            _ => wrong(Self::TAKES, text),
        }
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

/// A count, a size in bytes or a time in milliseconds.
impl ValueKind for u64 {
    const TAKES: &'static str = "a positive integer";
    const VALUE: &'static str = "N";
    fn read(text: &str) -> Result<u64, String> {
        match text.parse() {
            Ok(number @ 1..) => Ok(number),
            _ => wrong(Self::TAKES, text),
        }
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

/// A port; 0 takes any that is free.
impl ValueKind for u16 {
    const TAKES: &'static str = "a port from 0 to 65535";
    const VALUE: &'static str = "PORT";
    fn read(text: &str) -> Result<u16, String> {
        text.parse().or_else(|_| wrong(Self::TAKES, text))
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

/// A count that may be nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Natural(pub u64);

impl ValueKind for Natural {
    const TAKES: &'static str = "an integer from 0";
    const VALUE: &'static str = "N";
    fn read(text: &str) -> Result<Natural, String> {
        text.parse().map(Natural).or_else(|_| wrong(Self::TAKES, text))
    }
    fn show(&self) -> Json {
        json!(self.0)
    }
}

/// Any integer, moved into a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within<const LOW: u64, const HIGH: u64>(u64);

impl<const LOW: u64, const HIGH: u64> Within<LOW, HIGH> {
    /// The integer of the range that is next to `number`.
    pub const fn new(number: u64) -> Self {
        match number {
            _ if number < LOW => Within(LOW),
            _ if number > HIGH => Within(HIGH),
            _ => Within(number),
        }
    }

    /// The integer.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<const LOW: u64, const HIGH: u64> ValueKind for Within<LOW, HIGH> {
    const TAKES: &'static str = "an integer";
    const VALUE: &'static str = "N";
    fn read(text: &str) -> Result<Self, String> {
        match text.parse::<i128>() {
            Ok(number) => Ok(Self::new(u64::try_from(number.max(0)).unwrap_or(u64::MAX))),
            Err(_) => wrong(Self::TAKES, text),
        }
    }
    fn show(&self) -> Json {
        json!(self.0)
    }
}

impl ValueKind for String {
    const TAKES: &'static str = "text";
    const VALUE: &'static str = "TEXT";
    fn read(text: &str) -> Result<String, String> {
        Ok(text.to_owned())
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

impl ValueKind for Option<PathBuf> {
    const TAKES: &'static str = "a path";
    const VALUE: &'static str = "PATH";
    fn read(text: &str) -> Result<Option<PathBuf>, String> {
        Ok(Some(PathBuf::from(text)))
    }
    fn show(&self) -> Json {
        json!(self.as_ref().map(|path| path.display().to_string()))
    }
}

impl ValueKind for Option<u64> {
    const TAKES: &'static str = "a whole number";
    const VALUE: &'static str = "N";
    fn read(text: &str) -> Result<Option<u64>, String> {
        text.parse().map(Some).map_err(|_| "must be a whole number from 0 on".to_owned())
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

/// A secret of at least 32 bytes that is sent as a bearer token.
impl ValueKind for Option<SecretString> {
    const TAKES: &'static str = "a token of at least 32 bytes";
    const VALUE: &'static str = "TOKEN";
    fn read(text: &str) -> Result<Option<SecretString>, String> {
        match text.len() >= MIN_TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => Ok(Some(SecretString::from(text))),
            false => Err(format!(
                "must be at least {MIN_TOKEN_BYTES} bytes of visible ASCII (`openssl rand -hex 32` makes one)"
            )),
        }
    }
    fn show(&self) -> Json {
        match self {
            Some(secret) => json!(format!("(secret, {} bytes)", secret.expose_secret().len())),
            None => Json::Null,
        }
    }
}

/// Shorter tokens are refused.
pub const MIN_TOKEN_BYTES: usize = 32;

/// Where a store is. A database's address may hold secrets, so it is shown without.
#[derive(Clone, Debug, Default)]
pub struct StorePlace(pub Option<SecretString>);

impl ValueKind for StorePlace {
    const TAKES: &'static str = "a file, `:memory:` or postgres://…";
    const VALUE: &'static str = "FILE|URL";
    fn read(text: &str) -> Result<StorePlace, String> {
        Ok(StorePlace(Some(SecretString::from(text))))
    }
    fn show(&self) -> Json {
        self.0.as_ref().map_or(Json::Null, |place| json!(ptc_store::shown(place.expose_secret())))
    }
}

impl ValueKind for Vec<String> {
    const TAKES: &'static str = "one or more, with commas between";
    const VALUE: &'static str = "LIST";
    const FORM: Form = Form::Many;
    fn read(text: &str) -> Result<Vec<String>, String> {
        Ok(text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect())
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

/// Names with values.
impl ValueKind for BTreeMap<String, String> {
    const TAKES: &'static str = "a JSON object of text";
    const VALUE: &'static str = "JSON";
    fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
        let tags: BTreeMap<String, String> = match serde_json::from_str(text) {
            Ok(tags) => tags,
            Err(error) => return Err(format!("must be {}: {error}", Self::TAKES)),
        };
        match tags.iter().any(|(key, value)| key.is_empty() || value.is_empty()) {
            true => Err("must not have empty names or values".to_owned()),
            false => Ok(tags),
        }
    }
    fn show(&self) -> Json {
        json!(self)
    }
}

/// Where upstreams are configured.
impl ValueKind for Found {
    const TAKES: &'static str = "a path; in the variable also JSON";
    const VALUE: &'static str = "FILE";
    fn read(text: &str) -> Result<Found, String> {
        Ok(match text.trim_start().starts_with('{') {
            true => Found::Inline(text.to_owned()),
            false => Found::File(PathBuf::from(text)),
        })
    }
    fn show(&self) -> Json {
        match self {
            Found::File(path) => json!(path.display().to_string()),
            Found::Inline(text) => json!(format!("(JSON, {} bytes)", text.len())),
            Found::Nowhere => Json::Null,
        }
    }
}

/// Whether to serve HTTP, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listen {
    /// HTTP instead of stdio.
    pub on: bool,
    /// Host and port, if they were written here.
    pub address: Option<(String, u16)>,
}

impl ValueKind for Listen {
    const TAKES: &'static str = "true, false, HOST:PORT or :PORT";
    const VALUE: &'static str = "HOST:PORT";
    const FORM: Form = Form::Optional;
    fn read(text: &str) -> Result<Listen, String> {
        if let Ok(on) = bool::read(text) {
            return Ok(Listen { on, address: None });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host.trim_start_matches('[').trim_end_matches(']'), port.parse::<u16>()),
            None => return wrong(Self::TAKES, text),
        };
        match (host, port) {
            ("", Ok(port)) => Ok(Listen { on: true, address: Some(("127.0.0.1".to_owned(), port)) }),
            (host, Ok(port)) => Ok(Listen { on: true, address: Some((host.to_owned(), port)) }),
            _ => wrong(Self::TAKES, text),
        }
    }
    fn show(&self) -> Json {
        json!(self.on)
    }
}

/// Where people decide about calls that wait for approval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ApprovalPage {
    /// On the server's own page.
    #[default]
    Own,
    /// On no page.
    Off,
    /// At this address.
    At(String),
}

impl ValueKind for ApprovalPage {
    const TAKES: &'static str = "off, or an address that begins with http:// or https://";
    const VALUE: &'static str = "off|URL";
    fn read(text: &str) -> Result<ApprovalPage, String> {
        match text {
            "off" => Ok(ApprovalPage::Off),
            at if ["http://", "https://"].iter().any(|scheme| at.starts_with(scheme)) => {
                Ok(ApprovalPage::At(at.to_owned()))
            }
            _ => wrong(Self::TAKES, text),
        }
    }
    fn show(&self) -> Json {
        match self {
            ApprovalPage::Own => Json::Null,
            ApprovalPage::Off => json!("off"),
            ApprovalPage::At(address) => json!(address),
        }
    }
}

macro_rules! choices {
    ($($(#[doc = $doc:literal])+ $name:ident $takes:literal $value:literal { $($(#[doc = $case_doc:literal])+ $case:ident = $text:literal,)+ })+) => {$(
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($(#[doc = $case_doc])+ $case,)+ }

        impl $name {
            /// As it is written.
            pub const fn name(self) -> &'static str {
                match self { $($name::$case => $text,)+ }
            }
        }

        impl ValueKind for $name {
            const TAKES: &'static str = $takes;
            const VALUE: &'static str = $value;
            fn read(text: &str) -> Result<$name, String> {
                match text {
                    $($text => Ok($name::$case),)+
                    _ => wrong(Self::TAKES, text),
                }
            }
            fn show(&self) -> Json {
                json!(self.name())
            }
        }
    )+};
}

choices! {
    /// How much of upstreams' catalogs stands in descriptions of tools.
    CatalogMode "inline, auto or lazy" "inline|auto|lazy" {
        /// All tools.
        Inline = "inline",
        /// All tools if they are few.
        Auto = "auto",
        /// Servers only.
        Lazy = "lazy",
    }
    /// What traces keep of programs, contexts and results.
    TracePayloads "none, summary or full" "none|summary|full" {
        /// Hashes and sizes.
        None = "none",
        /// Those and the beginning.
        Summary = "summary",
        /// Everything, secrets removed.
        Full = "full",
    }
    /// How much of an evaluation a client gets.
    ResponseProfile "slim, structured or debug" "slim|structured|debug" {
        /// Text.
        Slim = "slim",
        /// Text and a compact object.
        Structured = "structured",
        /// Everything.
        Debug = "debug",
    }
    /// Who decides about calls that wait for approval.
    ApprovalBy "person or model" "person|model" {
        /// People: with forms of their client, and on the approval page.
        Person = "person",
        /// The model as well, with tools: it can approve its own calls.
        Model = "model",
    }
    /// Which log lines are written.
    LogLevel "debug, info, warn or error" "debug|info|warn|error" {
        /// All.
        Debug = "debug",
        /// Requests, beginnings and ends.
        Info = "info",
        /// What looks wrong.
        Warn = "warn",
        /// What went wrong.
        Error = "error",
    }
}
