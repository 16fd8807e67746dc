//! Variables in the entries of clients: what stands for one in each client, what becomes of one without a value, and which of
//! them an entry needs. In our file they are written as our reader knows them.

use std::collections::BTreeSet;

use ptc_system::environment::is_variable;
use serde_json::{Map, Value as Json, json};

use super::client::{Client, Unset, Variables};
use super::json;

/// A dollar that is no beginning of a variable.
const DOLLAR: &str = "${$}";

/// The entry with the variables of a client as our reader knows them, also where they have no value.
pub fn translated_fields(entry: &Json, client: &Client) -> Result<Json, String> {
    /// Where Gemini CLI leaves nothing of a variable without a value; elsewhere the text stays.
    const FILLED: &[&str] = &["env", "headers"];
    let Json::Object(fields) = entry else { return Ok(entry.clone()) };
    let mut translated = Map::new();
    for (key, value) in fields {
        let empties = client.variables != Variables::Dollar || FILLED.contains(&key.as_str());
        let value = changed(value, &|text| {
            let text = written(text, client.variables, empties)?;
            // Editors write `${env:NAME}`.
            let unset = client.unset == Unset::Empty && client.variables == Variables::Prefixed;
            Ok(if unset { or_empty(&text) } else { text })
        })?;
        translated.insert(key.clone(), value);
    }
    let mut entry = Json::Object(translated);
    if client.unset == Unset::Kept && !variables(&entry).is_empty() {
        entry["unset_variables"] = json!("keep");
    }
    Ok(entry)
}

/// The text with nothing in the place of `${env:NAME}` where that has no value.
fn or_empty(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${env:") {
        out.push_str(before);
        match after.split_once('}').filter(|(name, _)| is_variable(name)) {
            Some((name, behind)) => {
                out.push_str(&format!("${{{name}:-}}"));
                rest = behind;
            }
            None => {
                out.push_str("${env:");
                rest = after;
            }
        }
    }
    out + rest
}

/// Variables of an entry that have no value here, and for which the client leaves nothing.
pub fn emptied(entry: &Json) -> Vec<String> {
    let text = entry.to_string();
    let is_emptied = |name: &String| text.contains(&format!("${{{name}:-}}"));
    let unset = variables(entry).into_iter().filter(|name| std::env::var_os(name).is_none());
    unset.filter(is_emptied).collect()
}

/// What clients fill in that is no variable of the environment.
const OF_CLIENTS: &[&str] =
    &["pathSeparator", "userHome", "workspaceFolder", "workspaceFolderBasename", "workspaceRoot"];

/// The variables of the environment that a configuration of upstreams needs, ours or that of a client.
pub fn needed_variables(text: &str) -> BTreeSet<String> {
    let top = json::object(text.trim_start_matches('\u{feff}'), &[]).unwrap_or_default();
    if !top.contains_key("upstreams") {
        return variables(&Json::Object(top));
    }
    let each = |value: Option<&Json>| value.and_then(Json::as_object).cloned().unwrap_or_default();
    let filled =
        each(top.get("upstreams")).into_iter().filter_map(|(_, upstream)| upstream.get("env").map(variables));
    let named = each(top.get("credentials")).into_iter().filter_map(|(_, credential)| {
        let is_variable = credential.get("source")? == "env";
        credential.get("var")?.as_str().filter(|_| is_variable).map(str::to_owned)
    });
    filled.flatten().chain(named).collect()
}

/// The variables of the environment that an entry needs, as it is kept.
pub fn variables(entry: &Json) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each(entry, &mut |text| {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once("${") {
            let Some((inside, after)) = after.split_once('}') else { return };
            let name = inside.split(":-").next().unwrap_or_default();
            let name = name.strip_prefix("env:").unwrap_or(name);
            // What clients call so is no variable of the environment.
            if is_variable(name) && !OF_CLIENTS.contains(&name) {
                found.insert(name.to_owned());
            }
            rest = after;
        }
    });
    named(entry, &mut found);
    found
}

/// The variables that Codex names without a dollar: `env_vars` has their names, `env_http_headers` those for headers.
fn named(value: &Json, found: &mut BTreeSet<String>) {
    let Json::Object(fields) = value else { return };
    for (key, value) in fields {
        let names: Vec<&Json> = match (key.as_str(), value) {
            ("env_vars", Json::Array(names)) => names.iter().collect(),
            ("env_http_headers", Json::Object(headers)) => headers.values().collect(),
            _ => {
                named(value, found);
                continue;
            }
        };
        let names = names.into_iter().filter_map(|name| name.as_str().or_else(|| name.get("name")?.as_str()));
        found.extend(names.map(str::to_owned));
    }
}

/// Each text in a value, keys left out.
fn each(value: &Json, see: &mut impl FnMut(&str)) {
    match value {
        Json::String(text) => see(text),
        Json::Array(items) => items.iter().for_each(|item| each(item, see)),
        Json::Object(fields) => fields.values().for_each(|value| each(value, see)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// The value with each text in it changed.
pub fn changed(value: &Json, change: &dyn Fn(&str) -> Result<String, String>) -> Result<Json, String> {
    Ok(match value {
        Json::String(text) => Json::String(change(text)?),
        Json::Array(items) => {
            Json::Array(items.iter().map(|item| changed(item, change)).collect::<Result<_, _>>()?)
        }
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| Ok((name.clone(), changed(value, change)?)));
            Json::Object(fields.collect::<Result<_, String>>()?)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    })
}

/// A text that means itself.
pub fn literal(text: &str) -> String {
    text.replace("${", &format!("{DOLLAR}{{"))
}

/// A text of a client with its variables as our reader knows them.
fn written(text: &str, variables: Variables, empties: bool) -> Result<String, String> {
    match variables {
        Variables::Braces => Ok(braces(text, |inside| {
            is_variable(inside.split(":-").next().unwrap_or_default()) || inside.starts_with("workspace")
        })),
        Variables::Prefixed => prefixed(text),
        Variables::None => Ok(literal(text)),
        Variables::Dollar => Ok(dollars(text, empties)),
        Variables::Words => words(&literal(text)),
    }
}

/// A text in which `${…}` is a variable where it is `known`, and else means itself.
fn braces(text: &str, known: impl Fn(&str) -> bool) -> String {
    translated(text, "${", &format!("{DOLLAR}{{"), "", known)
}

/// A text in which whatever stands between `opening` and `}` is a variable where it is `known`. Where it is not, the
/// opening is written so that it means `itself`; `default` is what stands there for a variable without a value.
fn translated(
    text: &str,
    opening: &str,
    itself: &str,
    default: &str,
    known: impl Fn(&str) -> bool,
) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(opening) {
        out.push_str(before);
        match after.split_once('}').filter(|(inside, _)| known(inside)) {
            Some((inside, behind)) => {
                out.push_str(&format!("${{{inside}{default}}}"));
                rest = behind;
            }
            None => {
                out.push_str(itself);
                rest = after;
            }
        }
    }
    out + rest
}

/// `${env:NAME}` and what else editors fill in. What only they know keeps a server there.
fn prefixed(text: &str) -> Result<String, String> {
    const FILLED: &[&str] =
        &["workspaceFolder", "workspaceRoot", "workspaceFolderBasename", "userHome", "pathSeparator", "/"];
    const OF_EDITOR: &[&str] = &[
        "cwd",
        "defaultBuildTask",
        "execPath",
        "extensionInstallFolder",
        "file",
        "fileBasename",
        "fileBasenameNoExtension",
        "fileDirname",
        "fileDirnameBasename",
        "fileExtname",
        "fileWorkspaceFolder",
        "lineNumber",
        "columnNumber",
        "relativeFile",
        "relativeFileDirname",
        "selectedText",
    ];
    for inside in text.split("${").skip(1).filter_map(|part| part.split_once('}')).map(|(inside, _)| inside) {
        if OF_EDITOR.contains(&inside) || inside.starts_with("file:") {
            return Err(format!(
                "${{{inside}}} is known to the client only; write ${{env:NAME}} in its place to move it"
            ));
        }
    }
    // Others with a colon are told by whoever reads them.
    Ok(braces(text, |inside| inside.contains(':') || FILLED.contains(&inside)))
}

/// `$NAME` and `${NAME}`. What is written in small letters is rather a part of a password. Without a value nothing stands
/// there, or else the name with its dollar.
fn dollars(text: &str, empties: bool) -> String {
    let variable = |name: &str| match empties {
        true => format!("${{{name}:-}}"),
        false => format!("${{{name}:-${name}}}"),
    };
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        if let Some((inside, behind)) = braced
            && is_variable(inside.split(":-").next().unwrap_or_default())
        {
            let has_default = inside.contains(":-");
            out.push_str(&if has_default { format!("${{{inside}}}") } else { variable(inside) });
            rest = behind;
            continue;
        }
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let name = &after[..after.find(|c| !is_part(c)).unwrap_or(after.len())];
        let ends = !after[name.len()..].starts_with(|c: char| c.is_ascii_lowercase());
        if is_variable(name) && ends {
            out.push_str(&variable(name));
            rest = &after[name.len()..];
        } else {
            out.push_str(if after.starts_with('{') { DOLLAR } else { "$" });
            rest = after;
        }
    }
    out + rest
}

/// `{env:NAME}`.
fn words(text: &str) -> Result<String, String> {
    if text.contains("{file:") {
        return Err("{file:…} is read by the client; write {env:NAME} in its place to move it".to_owned());
    }
    Ok(translated(text, "{env:", "{env:", ":-", is_variable))
}
