//! What can go wrong on the way to a provider, by class, and the one line that says what to do about it.

use ptc_agent::model::{ModelError, ModelErrorKind};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value as Json;

/// The classes that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Auth,
    NoSuchModel,
    NoCredit,
    RateLimit,
    Timeout,
    Unavailable,
    BadRequest,
    ContextLength,
    Malformed,
    TooLarge,
}

/// A class, its kind for agents, whether another attempt may help, and what to do.
struct Row(Class, ModelErrorKind, bool, &'static str);

use Class::*;
const TABLE: [Row; 10] = [
    Row(Auth, ModelErrorKind::ConfigError, false, "give it a key that is valid for this model"),
    Row(NoSuchModel, ModelErrorKind::ConfigError, false, "check the model's id and the URL"),
    Row(NoCredit, ModelErrorKind::ConfigError, false, "add credit to the account, or use another model"),
    Row(RateLimit, ModelErrorKind::RateLimit, true, "wait, or use another model"),
    Row(Timeout, ModelErrorKind::Timeout, true, "try again, or raise receive_timeout in llm_opts"),
    Row(Unavailable, ModelErrorKind::ServerError, true, "try again later, or check the URL"),
    Row(BadRequest, ModelErrorKind::ClientError, false, "check llm_opts and what the model supports"),
    Row(
        ContextLength,
        ModelErrorKind::ClientError,
        false,
        "turn on compaction, shorten the prompt, or use a model with a longer context",
    ),
    Row(Malformed, ModelErrorKind::Unknown, false, "check that the URL is that of a model server"),
    Row(TooLarge, ModelErrorKind::Unknown, false, "ask for less, or check the URL"),
];

impl Class {
    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.0 == self).unwrap_or(&TABLE[8])
    }

    /// Whether it is the infrastructure that failed, so that another attempt may help.
    pub(super) fn is_worth_another_attempt(self) -> bool {
        self.row().2
    }
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Fault {
    pub(super) class: Class,
    pub(super) message: String,
    pub(super) retry_after_ms: Option<u64>,
}

impl Fault {
    pub(super) fn new(class: Class, message: impl Into<String>) -> Self {
        Fault { class, message: message.into(), retry_after_ms: None }
    }

    /// What a status and its body mean.
    pub(super) fn of_status(status: u16, headers: &HeaderMap, body: &str) -> Self {
        let said = said(body);
        let class = match status {
            402 => NoCredit,
            400 | 403 | 429 if is_about(NO_CREDIT, &said, body) => NoCredit,
            429 => RateLimit,
            408 | 504 => Timeout,
            500.. => Unavailable,
            401 | 403 => Auth,
            400 | 413 | 422 if is_about(TOO_LONG, &said, body) => ContextLength,
            404 => NoSuchModel,
            400..500 => BadRequest,
            _ => Malformed,
        };
        let message = match said.is_empty() {
            true => format!("status {status}"),
            false => format!("status {status}: {said}"),
        };
        Fault { class, message, retry_after_ms: retry_after(headers) }
    }

    /// What an error inside a stream means: providers send them after a status of 200.
    pub(super) fn of_event(error: &Json) -> Self {
        let kind = ["type", "code"].iter().find_map(|key| error.get(key)).map(text_of).unwrap_or_default();
        let said = said(&error.to_string());
        let is_request = |kind: &str| kind.contains("invalid_request") || kind.contains("validation");
        let class = match kind.to_lowercase().as_str() {
            kind if is_about(NO_CREDIT, &said, kind) || kind == "402" => NoCredit,
            kind if kind.contains("rate_limit") || kind.contains("throttl") || kind == "429" => RateLimit,
            kind if kind.contains("timeout") => Timeout,
            kind if kind.contains("auth") || kind.contains("permission") => Auth,
            kind if is_request(kind) && is_about(TOO_LONG, &said, "") => ContextLength,
            kind if is_request(kind) => BadRequest,
            _ => Unavailable,
        };
        Fault::new(class, format!("{kind} in the middle of the reply: {said}"))
    }

    /// What an error of the transport means.
    pub(super) fn of_transport(error: &reqwest::Error) -> Self {
        if error.is_timeout() {
            return Fault::new(Timeout, "no connection in time");
        }
        if error.is_builder() {
            return Fault::new(BadRequest, format!("the request cannot be made: {}", innermost(error)));
        }
        let what = if error.is_connect() { "no connection" } else { "the connection was cut" };
        Fault::new(Unavailable, format!("{what}: {}", innermost(error)))
    }

    /// The error that agents see, with who failed and what to do. `hidden` never shows.
    pub(super) fn into_error(self, who: &str, key_variable: Option<&str>, hidden: &str) -> ModelError {
        let Row(_, kind, _, advice) = self.class.row();
        let advice = match (self.class, key_variable) {
            (Auth, Some(variable)) => format!("set {variable} to a valid key"),
            _ => (*advice).to_owned(),
        };
        let mut message = format!("{who}: {}; {advice}", self.message);
        if !hidden.is_empty() {
            message = message.replace(hidden, "[key]");
        }
        ModelError { kind: *kind, message, retry_after_ms: self.retry_after_ms }
    }
}

/// The innermost cause, which says most; URLs stay out, they may carry secrets.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Characters of a body that a message shows.
const SHOWN: usize = 300;

/// What the body of an error says, in one line.
fn said(body: &str) -> String {
    let json: Json = serde_json::from_str(body).unwrap_or_default();
    let places = ["/error/message", "/message", "/error", "/0/error/message", "/detail"];
    let found = places.iter().find_map(|place| json.pointer(place).and_then(Json::as_str));
    let line = found.unwrap_or(body).split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn text_of(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Providers have no common codes for these; the words are theirs.
const TOO_LONG: &[&str] = &[
    "context length",
    "context window",
    "context_length",
    "prompt is too long",
    "input is too long",
    "maximum number of tokens",
    "exceeds the available context",
];
const NO_CREDIT: &[&str] = &["insufficient_quota", "credit balance is too low", "billing_error"];

fn is_about(words: &[&str], said: &str, body: &str) -> bool {
    let (said, body) = (said.to_lowercase(), body.to_lowercase());
    words.iter().any(|words| said.contains(words) || body.contains(words))
}

/// How long the provider asks to wait. A date counts from the provider's own clock.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let ms = |seconds: f64| (seconds >= 0.0 && seconds.is_finite()).then_some((seconds * 1000.0) as u64);
    if let Some(wait) = text("retry-after-ms").and_then(|value| value.parse::<f64>().ok()) {
        return ms(wait / 1000.0);
    }
    let value = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse::<f64>() {
        return ms(seconds);
    }
    let date = |text: &str| jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp());
    ms((date(value)? - date(text(DATE.as_str())?)?).total(jiff::Unit::Second).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn statuses_have_classes() {
        for (status, body, class) in [
            (401, r#"{"error":{"message":"invalid x-api-key"}}"#, Auth),
            (403, "", Auth),
            (404, "", NoSuchModel),
            (429, "", RateLimit),
            (408, "", Timeout),
            (504, "", Timeout),
            (500, "", Unavailable),
            (529, "", Unavailable),
            (400, r#"{"error":{"message":"temperature must be positive"}}"#, BadRequest),
            (400, r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#, ContextLength),
            (400, r#"{"error":{"message":"prompt is too long: 300000 tokens"}}"#, ContextLength),
            (307, "", Malformed),
            (402, r#"{"error":{"message":"Insufficient credits"}}"#, NoCredit),
            (429, r#"{"error":{"message":"x","code":"insufficient_quota"}}"#, NoCredit),
            (400, r#"{"error":{"message":"Your credit balance is too low"}}"#, NoCredit),
        ] {
            assert_eq!(Fault::of_status(status, &HeaderMap::new(), body).class, class, "{status} {body}");
        }
    }

    #[test]
    fn events_have_classes() {
        for (event, class) in [
            (r#"{"type":"overloaded_error","message":"Overloaded"}"#, Unavailable),
            (r#"{"type":"rate_limit_error","message":"slow"}"#, RateLimit),
            (r#"{"type":"invalid_request_error","message":"prompt is too long"}"#, ContextLength),
            (r#"{"code":429,"message":"slow"}"#, RateLimit),
            (r#"{"code":502}"#, Unavailable),
            (r#"{"type":"throttlingException","message":"slow"}"#, RateLimit),
            (r#"{"type":"validationException","message":"wrong"}"#, BadRequest),
            (r#"{"type":"modelStreamErrorException","message":"broken"}"#, Unavailable),
        ] {
            assert_eq!(Fault::of_event(&serde_json::from_str(event).unwrap()).class, class, "{event}");
        }
    }

    #[test]
    fn waits_are_seconds_milliseconds_or_dates() {
        for (given, wanted) in [
            (&[("retry-after", "7")][..], Some(7_000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after", "7"), ("retry-after-ms", "1500")], Some(1_500)),
            (
                &[
                    ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT"),
                    ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ],
                Some(10_000),
            ),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT")], None),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ] {
            assert_eq!(retry_after(&headers(given)), wanted, "{given:?}");
        }
    }

    #[test]
    fn a_message_is_one_line_with_who_what_and_the_fix_and_without_the_key() {
        let body = "{\"error\":{\"message\":\"Incorrect API key\\n provided: sk-12345.\"}}";
        let error = Fault::of_status(401, &HeaderMap::new(), body).into_error(
            "openai",
            Some("OPENAI_API_KEY"),
            "sk-12345",
        );
        assert_eq!(
            error.to_string(),
            "config_error: openai: status 401: Incorrect API key provided: [key].; set OPENAI_API_KEY to a valid key"
        );
    }

    #[test]
    fn long_bodies_are_cut() {
        let fault = Fault::of_status(500, &HeaderMap::new(), &"ä".repeat(10_000));
        assert!(fault.message.chars().count() < SHOWN + 20, "{}", fault.message);
    }
}
