//! What becomes of the entry of a server when it moves: it must mean in our file what it means in the client's. Variables are
//! written as our reader knows them, and what is relative to a folder becomes absolute. An entry for which that cannot be
//! done stays in the client.

use std::path::{Path, PathBuf};

use ptc_upstream::Config;
use serde_json::{Map, Value as Json, json};

use super::client::{Client, Format, Switch, Variables};
use super::elsewhere::is_whole;
use super::variables::{changed, literal, translated_fields};

/// The variable in which a client passes on the folder that is worked in.
pub const WORKSPACE: &str = "PTC_WORKSPACE_FOLDER";

/// Our key for how long a call may take.
pub const CALL_TIME: &str = "call_timeout_ms";

/// Keys for what only the client does, and what to write in their place.
const OF_CLIENT: &[(&str, &str)] = &[
    ("envFile", "read by the client; write its variables into \"env\""),
    ("headersHelper", "run by the client; write a token into \"headers\""),
    ("oauth", "how the client signs in; write a token into \"headers\""),
    ("auth", "how the client signs in; write a token into \"headers\""),
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

/// Makes a key that switches a server off mean what it means in the client, and says so where that is nothing: our reader
/// leaves such servers out.
pub fn switched(entry: &mut Json, client: &Client) -> Result<Vec<String>, String> {
    let mut said = Vec::new();
    for (key, off) in [("disabled", true), ("enabled", false)] {
        if client.switch == Switch::Key(key) || entry.get(key) != Some(&json!(off)) {
            continue;
        }
        if client.switch == Switch::Unknown {
            return Err(format!(
                "it is not documented whether the client starts a server with \"{key}\": {off}; take the key out to move \
                 it, or the server if it is not used"
            ));
        }
        if let Some(fields) = entry.as_object_mut() {
            fields.shift_remove(key);
        }
        let known = match client.switch {
            Switch::Key(known) => format!(", which knows \"{known}\""),
            Switch::Ignored | Switch::Unknown => String::new(),
        };
        said.push(format!(
            "! \"{key}\": {off} does not keep the client from starting it{known}: it is on behind ptc, too; to have it \
             off, take it out before you run the setup"
        ));
    }
    Ok(said)
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
    if let Some(Json::Object(tools)) = fields.get_mut("tools") {
        for (tool, said) in tools.iter_mut() {
            let mode = said.as_object_mut().and_then(|said| said.remove("approval_mode"));
            if asks(mode.as_ref()) {
                approval.insert(tool.clone(), json!("ask"));
            }
        }
        tools.retain(|_, said| said.as_object().is_none_or(|said| !said.is_empty()));
        if tools.is_empty() {
            fields.remove("tools");
        }
    }
    if !approval.is_empty() {
        fields.insert("approval".to_owned(), Json::Object(approval));
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
