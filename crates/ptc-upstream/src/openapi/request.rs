//! The request of a call: arguments put where the operation wants them. Nothing that a program passes can leave
//! its place: values are percent-encoded and may not be steps of a path.

use reqwest::Url;
use serde_json::{Map, Value as Json};

use super::compile::{Operation, PathForm, Place, Style};
use super::path::has_dot_steps;

/// A request that is ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Where it goes.
    pub url: Url,
    /// Headers from parameters.
    pub headers: Vec<(String, String)>,
    /// The JSON body.
    pub body: Option<Json>,
}

/// Makes the request of a call, or says what is wrong with its arguments.
pub fn request(operation: &Operation, base: &Url, args: Map<String, Json>) -> Result<Request, String> {
    let mut all = operation.default_args.clone();
    // An argument that is nil is one that was not given.
    all.extend(args.into_iter().filter(|(_, value)| !value.is_null()));
    let body = if operation.has_body { all.remove("body") } else { None };
    let mut path = operation.path.clone();
    let mut query: Vec<String> = Vec::new();
    let mut headers = Vec::new();
    for param in &operation.params {
        let Some(value) = all.remove(&param.name) else {
            if param.place == Place::Path {
                return Err(format!("missing path arg '{}'", param.name));
            }
            continue;
        };
        let name = &param.name;
        match param.place {
            Place::Path => {
                let text = in_path(name, param.style, &value)
                    .map_err(|why| format!("unsupported path arg '{name}': {why}"))?;
                path = path.replace(&format!("{{{name}}}"), &text);
            }
            Place::Query => {
                let written = written(name, param.style, &value);
                query.extend(written.ok_or_else(|| match param.style {
                    Style::Single => format!("unsupported query arg '{name}': it takes one value"),
                    _ => format!(
                        "unsupported query arg '{name}': there is no way to write what is nested in it"
                    ),
                })?);
            }
            Place::Header => {
                let text = scalar(&value).filter(|text| crate::config::is_value(text));
                let text = text.ok_or_else(|| {
                    format!("unsupported header arg '{name}': it must be one line of plain text")
                })?;
                headers.push((name.clone(), text));
            }
        }
    }
    if let Some(name) = all.keys().next() {
        let known: Vec<&str> = operation.params.iter().map(|param| param.name.as_str()).collect();
        return Err(format!("unknown arg '{}'; it takes {}", crate::ledger::cut(name, 80), known.join(", ")));
    }
    // Two values may only together be a step.
    if has_dot_steps(&path) {
        return Err("unsupported path args: together they lead to another path".to_owned());
    }
    Ok(Request { url: address(base, &path, &query), headers, body })
}

/// A value as a part of a path, as OpenAPI writes it.
fn in_path(name: &str, style: Style, value: &Json) -> Result<String, String> {
    let Style::InPath(style) = style else { return Err("it has no place in a path".to_owned()) };
    let checked = |text: String| -> Result<String, String> {
        if text.is_empty() {
            return Err("\"\" is no name".to_owned());
        }
        if has_dot_steps(&text) {
            let shown = crate::ledger::cut(&text, 80);
            return Err(format!("{shown:?} has a step '.' or '..', which could lead to another path"));
        }
        Ok(encoded(&text))
    };
    let nested = || "there is no way to write what is nested in it".to_owned();
    let one = |value: &Json| scalar(value).ok_or_else(nested).and_then(checked);
    // What stands before the whole, between its parts if they are by themselves, and before each of them.
    let (before, between, each) = match style.form {
        PathForm::Simple => ("", ",", String::new()),
        PathForm::Label => (".", ".", String::new()),
        PathForm::Matrix => (";", ";", format!("{}=", encoded(name))),
    };
    Ok(match value {
        Json::Array(_) | Json::Object(_) if style.single => return Err("it must be a scalar".to_owned()),
        Json::Array(items) => {
            let items = items.iter().map(one).collect::<Result<Vec<_>, _>>()?;
            match style.explode {
                _ if items.is_empty() => return Err("an empty list is no name".to_owned()),
                true => {
                    let items = items.iter().map(|item| format!("{each}{item}"));
                    format!("{before}{}", items.collect::<Vec<_>>().join(between))
                }
                false => format!("{before}{each}{}", items.join(",")),
            }
        }
        Json::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| Ok((encoded(key), one(value)?)));
            let fields = fields.collect::<Result<Vec<_>, String>>()?;
            match style.explode {
                _ if fields.is_empty() => return Err("an empty map is no name".to_owned()),
                true => {
                    let fields = fields.iter().map(|(key, text)| format!("{key}={text}"));
                    format!("{before}{}", fields.collect::<Vec<_>>().join(between))
                }
                false => {
                    let fields = fields.into_iter().flat_map(|(key, text)| [key, text]);
                    format!("{before}{each}{}", fields.collect::<Vec<_>>().join(","))
                }
            }
        }
        _ => format!("{before}{each}{}", scalar(value).ok_or_else(nested).and_then(checked)?),
    })
}

/// The path behind the base, with a query.
fn address(base: &Url, path: &str, query: &[String]) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{}", base.path().trim_end_matches('/'), path.trim_start_matches('/')));
    url.set_query((!query.is_empty()).then(|| query.join("&")).as_deref());
    url.set_fragment(None);
    url
}

/// A value as parts of a query; nothing if the style has no way to say it.
fn written(name: &str, style: Style, value: &Json) -> Option<Vec<String>> {
    let pair = |name: &str, text: &str| format!("{}={}", encoded(name), encoded(text));
    let whole = |parts: Vec<String>, by: &str| vec![format!("{}={}", encoded(name), parts.join(by))];
    Some(match (value, style) {
        (Json::Array(_) | Json::Object(_), Style::Json) => vec![pair(name, &value.to_string())],
        (Json::Array(_) | Json::Object(_), Style::Single) => return None,
        (Json::Array(items), _) => {
            let items = items.iter().map(scalar).collect::<Option<Vec<_>>>()?;
            match style {
                Style::Joined(_) if items.is_empty() => Vec::new(),
                Style::Joined(by) => whole(items.iter().map(|item| encoded(item)).collect(), by),
                _ => items.iter().map(|item| pair(name, item)).collect(),
            }
        }
        (Json::Object(fields), _) => {
            let fields =
                fields.iter().map(|(key, value)| Some((key, scalar(value)?))).collect::<Option<Vec<_>>>()?;
            match style {
                Style::Deep => {
                    fields.iter().map(|(key, text)| pair(&format!("{name}[{key}]"), text)).collect()
                }
                Style::Joined(_) if fields.is_empty() => Vec::new(),
                Style::Joined(by) => {
                    whole(fields.iter().flat_map(|(key, text)| [encoded(key), encoded(text)]).collect(), by)
                }
                _ => fields.iter().map(|(key, text)| pair(key, text)).collect(),
            }
        }
        _ => vec![pair(name, &scalar(value)?)],
    })
}

/// A text, number or truth value as text.
fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(_) | Json::Bool(_) => Some(value.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Percent-encoded, all but unreserved characters.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
