//! What becomes of the entry of a server when it moves: it must mean in our file what it means in the client's. Variables are
//! written as our reader knows them, and what is relative to a folder becomes absolute. An entry for which that cannot be
//! done stays in the client.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ptc_system::environment::is_variable;
use ptc_upstream::Config;
use serde_json::{Map, Value as Json, json};

use super::client::{Client, Format, Unset, Variables};
use super::elsewhere::is_whole;
use super::json;

/// The variable in which a client passes on the folder that is worked in.
pub const WORKSPACE: &str = "PTC_WORKSPACE_FOLDER";

/// Our key for how long a call may take.
pub const CALL_TIME: &str = "call_timeout_ms";

/// A dollar that is no beginning of a variable.
const DOLLAR: &str = "${$}";

/// Keys for what only the client does, and what to write in their place.
const OF_CLIENT: &[(&str, &str)] = &[
    ("envFile", "read by the client; write its variables into \"env\""),
    ("headersHelper", "run by the client; write a token into \"headers\""),
    ("oauth", "how the client signs in; write a token into \"headers\""),
    ("authProviderType", "how the client signs in; write a token into \"headers\""),
];

/// Where entries come from.
pub struct EntryOrigin<'o> {
    /// The client.
    pub client: &'o Client,
    /// The folder that is worked in; nothing in the file of a user, where it is another one each time.
    pub folder: Option<&'o Path>,
}

/// The entry as it is kept, or why it stays in the client.
pub fn moved(entry: &Json, origin: &EntryOrigin) -> Result<Json, String> {
    let entry = &Config::client_entry(entry.clone());
    let is_set = |key: &str| entry.get(key).is_some_and(|value| !value.is_null() && *value != json!(false));
    if let Some((key, why)) = OF_CLIENT.iter().find(|(key, _)| is_set(key)) {
        return Err(format!("\"{key}\" is {why} to move it"));
    }
    if is_own(entry) {
        return Err("it is ptc itself".to_owned());
    }
    if !is_whole(entry) && origin.client.name == "zed" {
        return Err("it is of an extension, and only Zed can start it".to_owned());
    }
    if !is_whole(entry) && ["enabled", "disabled"].iter().any(|key| entry.get(key).is_some()) {
        return Err("it only changes a server that stands in another file".to_owned());
    }
    let mut entry = translated_fields(entry, origin.client)?;
    times(&mut entry, origin.client);
    if origin.client.format == Format::Toml {
        entry = codex(entry);
    }
    if origin.client.inherits && entry.get("command").is_some() {
        entry["inherit_env"] = json!(true);
    }
    let mut entry = changed(&entry, &|text| in_folder(text, origin))?;
    for key in ["cwd", "cd"] {
        if let Some(Json::String(text)) = entry.get(key) {
            entry[key] = Json::String(whole(text, origin)?);
        }
    }
    let runs_elsewhere = entry.get("cwd").or(entry.get("cd")).is_some_and(Json::is_string);
    if let (Some(folder), false) = (origin.folder, runs_elsewhere) {
        let command = match entry.get_mut("command") {
            Some(Json::Array(words)) => words.first_mut(),
            command => command,
        };
        if let Some(Json::String(text)) = command
            && (text.starts_with("./") || text.starts_with("../"))
        {
            *text = literal(&absolute(folder, text));
        }
    }
    Ok(entry)
}

/// The entry with the variables of a client as our reader knows them, also where they have no value.
fn translated_fields(entry: &Json, client: &Client) -> Result<Json, String> {
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

/// The entry with the folder that is worked in now, to look at its server from here.
pub fn from_here(entry: &Json) -> Json {
    let here = std::env::current_dir().map(|folder| folder.display().to_string()).unwrap_or_default();
    let filled = |text: &str| Ok(text.replace(&format!("${{{WORKSPACE}}}"), &literal(&here)));
    changed(entry, &filled).unwrap_or_else(|_| entry.clone())
}

/// Whether this program is what an entry starts.
fn is_own(entry: &Json) -> bool {
    let command = match entry.get("command") {
        Some(Json::Array(words)) => words.first(),
        command => command,
    };
    let Some(path) = command.and_then(Json::as_str).map(Path::new).filter(|path| path.is_absolute()) else {
        return false;
    };
    let own = std::env::current_exe().and_then(std::fs::canonicalize);
    own.is_ok_and(|own| path.canonicalize().is_ok_and(|path| path == own))
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
fn changed(value: &Json, change: &dyn Fn(&str) -> Result<String, String>) -> Result<Json, String> {
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
fn literal(text: &str) -> String {
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

/// A text with the folder that is worked in filled in, or left to the client.
fn in_folder(text: &str, origin: &EntryOrigin) -> Result<String, String> {
    const FOLDER: &[&str] = &["${workspaceFolder}", "${workspaceRoot}"];
    const BASENAME: &str = "${workspaceFolderBasename}";
    let fills = matches!(origin.client.variables, Variables::Braces | Variables::Prefixed);
    if !fills || !text.contains("${workspace") {
        return Ok(text.to_owned());
    }
    let (folder, basename) = match origin.folder {
        Some(folder) => {
            let name = folder.file_name().unwrap_or_default().to_string_lossy();
            (literal(&folder.display().to_string()), Some(literal(&name)))
        }
        None if origin.client.fills_workspace() => (format!("${{{WORKSPACE}}}"), None),
        None => return Err(format!("{} has no meaning in the file of a user", FOLDER[0])),
    };
    let mut text = text.to_owned();
    for variable in FOLDER {
        text = text.replace(variable, &folder);
    }
    match basename {
        Some(name) => Ok(text.replace(BASENAME, &name)),
        None if text.contains(BASENAME) => Err(format!("{BASENAME} is known to the client only")),
        None => Ok(text),
    }
}

/// A folder, from the one that is worked in.
fn whole(text: &str, origin: &EntryOrigin) -> Result<String, String> {
    if Path::new(text).is_absolute() || text.starts_with("${") {
        return Ok(text.to_owned());
    }
    match origin.folder {
        Some(folder) => Ok(literal(&absolute(folder, text))),
        None if origin.client.fills_workspace() => Ok(format!("${{{WORKSPACE}}}/{text}")),
        None => Err(format!(
            "it runs in the folder {text:?}, which is another one wherever the client is started; write the whole path to move it"
        )),
    }
}

fn absolute(folder: &Path, text: &str) -> String {
    let path: PathBuf = folder.join(text);
    std::path::absolute(&path).unwrap_or(path).display().to_string()
}

/// How long starting a server and one call may take, in our words. Longer than our longest they cannot.
fn times(entry: &mut Json, client: &Client) {
    const USUAL: u64 = 5_000;
    const LONGEST: u64 = 600_000;
    // Never less than a call has anyway: for opencode it is also the time for listing tools.
    let call = client.call_time(entry).max(USUAL);
    let is_said = client.said_time(entry).is_some();
    let number = |key: &str| entry.get(key).and_then(Json::as_f64);
    let start = number("startup_timeout_ms").or_else(|| Some(number("startup_timeout_sec")? * 1_000.0));
    let start = start.filter(|_| client.format == Format::Toml).map(|start| start as u64);
    let Some(fields) = entry.as_object_mut() else { return };
    for (key, time) in [(CALL_TIME, Some(call)), ("handshake_timeout_ms", start)] {
        if let Some(time) = time {
            fields.insert(key.to_owned(), json!(time.clamp(1, LONGEST)));
        }
    }
    if is_said {
        fields.shift_remove("timeout");
        fields.shift_remove("tool_timeout_sec");
    }
    if start.is_some() {
        fields.shift_remove("startup_timeout_ms");
        fields.shift_remove("startup_timeout_sec");
    }
}

/// A server of Codex as other clients write it: its token comes from a variable that it names. Variables that it passes on
/// by name, and headers from them, our reader knows: it leaves those without a value out, too.
fn codex(mut entry: Json) -> Json {
    let Some(fields) = entry.as_object_mut() else { return entry };
    let mut headers = match fields.remove("http_headers") {
        Some(Json::Object(headers)) => headers,
        _ => Map::new(),
    };
    if let Some(Json::String(variable)) = fields.remove("bearer_token_env_var") {
        headers.insert("Authorization".to_owned(), json!(format!("Bearer ${{{variable}}}")));
    }
    if !headers.is_empty() {
        fields.insert("headers".to_owned(), Json::Object(headers));
    }
    codex_approval(fields);
    entry
}

/// The tools about which Codex asks every time.
fn codex_approval(fields: &mut Map<String, Json>) {
    let asks = |mode: Option<&Json>| mode.and_then(Json::as_str) == Some("prompt");
    let mut approval = Map::new();
    if asks(fields.get("default_tools_approval_mode")) {
        fields.remove("default_tools_approval_mode");
        approval.insert("*".to_owned(), json!("ask"));
    }
    for (tool, said) in fields.get("tools").and_then(Json::as_object).into_iter().flatten() {
        if asks(said.get("approval_mode")) {
            approval.insert(tool.clone(), json!("ask"));
        }
    }
    if !approval.is_empty() {
        fields.insert("approval".to_owned(), Json::Object(approval));
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
