//! What becomes of the entry of a server when it moves: it must mean in our file what it means in the client's. Variables are
//! written as our reader knows them, and what is relative to a folder becomes absolute. An entry for which that cannot be
//! done stays in the client.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ptc_system::environment::is_variable;
use ptc_upstream::Config;
use serde_json::{Map, Value as Json, json};

use super::client::{Client, Format, Variables};

/// The variable in which a client passes on the folder that is worked in.
pub const WORKSPACE: &str = "PTC_WORKSPACE_FOLDER";

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
    let mut entry = changed(entry, &|text| written(text, origin.client.variables))?;
    if origin.client.format == Format::Toml {
        entry = codex(entry);
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
            if is_variable(name) && !matches!(name, "userHome" | "pathSeparator") {
                found.insert(name.to_owned());
            }
            rest = after;
        }
    });
    found
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
fn written(text: &str, variables: Variables) -> Result<String, String> {
    match variables {
        Variables::Braces => Ok(braces(text, |inside| {
            is_variable(inside.split(":-").next().unwrap_or_default()) || inside.starts_with("workspace")
        })),
        Variables::Prefixed => prefixed(text),
        Variables::None => Ok(literal(text)),
        Variables::Dollar => Ok(dollars(text)),
        Variables::Words => words(&literal(text)),
    }
}

/// A text in which `${…}` is a variable where it is `known`, and else means itself.
fn braces(text: &str, known: impl Fn(&str) -> bool) -> String {
    translated(text, "${", &format!("{DOLLAR}{{"), known)
}

/// A text in which whatever stands between `opening` and `}` is a variable where it is `known`. Where it is not, the
/// opening is written so that it means `itself`.
fn translated(text: &str, opening: &str, itself: &str, known: impl Fn(&str) -> bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(opening) {
        out.push_str(before);
        match after.split_once('}').filter(|(inside, _)| known(inside)) {
            Some((inside, behind)) => {
                out.push_str(&format!("${{{inside}}}"));
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

/// `$NAME` and `${NAME}`. What is written in small letters is rather a part of a password.
fn dollars(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        let braced = after.strip_prefix('{').and_then(|inside| inside.split_once('}'));
        if let Some((inside, behind)) = braced
            && is_variable(inside.split(":-").next().unwrap_or_default())
        {
            out.push_str(&format!("${{{inside}}}"));
            rest = behind;
            continue;
        }
        let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let name = &after[..after.find(|c| !is_part(c)).unwrap_or(after.len())];
        let ends = !after[name.len()..].starts_with(|c: char| c.is_ascii_lowercase());
        if is_variable(name) && ends {
            out.push_str(&format!("${{{name}}}"));
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
    Ok(translated(text, "{env:", "{env:", is_variable))
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

/// A server of Codex as other clients write it: tokens and headers come from variables that it names.
fn codex(mut entry: Json) -> Json {
    let Some(fields) = entry.as_object_mut() else { return entry };
    let mut headers = match fields.remove("http_headers") {
        Some(Json::Object(headers)) => headers,
        _ => Map::new(),
    };
    if let Some(Json::String(variable)) = fields.remove("bearer_token_env_var") {
        headers.insert("Authorization".to_owned(), json!(format!("Bearer ${{{variable}}}")));
    }
    if let Some(Json::Object(named)) = fields.remove("env_http_headers") {
        let filled = named
            .into_iter()
            .filter_map(|(name, variable)| Some((name, json!(format!("${{{}}}", variable.as_str()?)))));
        headers.extend(filled);
    }
    if let Some(Json::Array(names)) = fields.remove("env_vars") {
        let env = fields.entry("env").or_insert_with(|| json!({}));
        // It may say where a variable comes from, too.
        for name in names.iter().filter_map(|name| name.as_str().or_else(|| name.get("name")?.as_str())) {
            env[name] = json!(format!("${{{name}}}"));
        }
    }
    if !headers.is_empty() {
        fields.insert("headers".to_owned(), Json::Object(headers));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(client: &str, folder: Option<&'static str>) -> EntryOrigin<'static> {
        EntryOrigin { client: Client::named(client).expect("a client"), folder: folder.map(Path::new) }
    }

    #[test]
    fn variables_of_every_client_keep_their_meaning() {
        for (client, text, expected) in [
            ("claude-code", "${A_B}/x ${A:-b c}", "${A_B}/x ${A:-b c}"),
            ("claude-code", "${env:A} ${a b} ${open", "${$}{env:A} ${$}{a b} ${$}{open"),
            ("cursor", "${env:A_B}/x", "${env:A_B}/x"),
            ("vscode", "${userHome}${/}${env:A} ${A}", "${userHome}${/}${env:A} ${$}{A}"),
            ("windsurf", "${env:A} $B ${B}", "${env:A} $B ${$}{B}"),
            ("zed", "${A} ${env:B}", "${$}{A} ${$}{env:B}"),
            ("claude-desktop", "${A}", "${$}{A}"),
            ("gemini", "$A_TOKEN", "${A_TOKEN}"),
            ("gemini", "Bearer ${A_TOKEN}, $B/c", "Bearer ${A_TOKEN}, ${B}/c"),
            ("gemini", "pa$word $5 ${a b} $", "pa$word $5 ${$}{a b} $"),
            ("opencode", "{env:A_TOKEN}-${B}", "${A_TOKEN}-${$}{B}"),
            ("codex", "${A_TOKEN}$B", "${$}{A_TOKEN}$B"),
        ] {
            let entry = json!({"command": "x", "env": {"V": text}});
            let moved = moved(&entry, &origin(client, None)).expect("it moves");
            assert_eq!(moved["env"]["V"], expected, "{client}: {text}");
        }
        for (client, text) in [("vscode", "${fileDirname}/x"), ("windsurf", "${file:/run/token}")] {
            let why = moved(&json!({"command": "x", "args": [text]}), &origin(client, None));
            assert!(
                why.as_ref().is_err_and(|why| why.contains("is known to the client only")),
                "{text}: {why:?}"
            );
        }
        let why = moved(&json!({"command": ["x", "{file:~/token}"]}), &origin("opencode", None));
        assert!(why.is_err_and(|why| why.contains("{file:…} is read by the client")));
    }

    #[test]
    fn commands_of_zed_are_read_in_both_spellings() {
        let inside =
            json!({"source": "custom", "command": {"path": "x", "args": ["a"], "env": {"K": "${V}"}}});
        let beside = json!({"source": "custom", "command": "x", "args": ["a"], "env": {"K": "${V}"}});
        let expected = json!({"source": "custom", "command": "x", "args": ["a"], "env": {"K": "${$}{V}"}});
        for entry in [inside, beside] {
            assert_eq!(moved(&entry, &origin("zed", None)), Ok(expected.clone()), "{entry}");
        }
        let nested = json!({"command": {"path": "./run"}});
        let kept = moved(&nested, &origin("zed", Some("/x/shop"))).expect("it moves");
        assert_eq!(kept["command"], "/x/shop/run");
    }

    #[test]
    fn what_only_the_client_does_keeps_a_server_there() {
        let far = |key: &str, value: Json| json!({"url": "https://a.example/mcp", key: value});
        let why = moved(&far("oauth", json!({"clientId": "x"})), &origin("opencode", None));
        assert_eq!(
            why,
            Err("\"oauth\" is how the client signs in; write a token into \"headers\" to move it".to_owned())
        );
        assert!(moved(&far("oauth", json!(false)), &origin("opencode", None)).is_ok());
        assert!(moved(&json!({"command": "x", "envFile": ".env"}), &origin("vscode", None)).is_err());
    }

    #[test]
    fn folders_become_absolute_or_are_passed_on() {
        let project = origin("cursor", Some("/x/shop"));
        let entry = json!({"command": "./run", "args": ["${workspaceFolder}/a", "${workspaceFolderBasename}", "./b"]});
        let expected = json!({"command": "/x/shop/run", "args": ["/x/shop/a", "shop", "./b"]});
        assert_eq!(moved(&entry, &project), Ok(expected));
        let entry = json!({"command": "./run", "cwd": "tools"});
        assert_eq!(moved(&entry, &project), Ok(json!({"command": "./run", "cwd": "/x/shop/tools"})));

        let user = origin("cursor", None);
        let kept = moved(&json!({"command": "x", "cwd": "${workspaceFolder}"}), &user).expect("it moves");
        assert_eq!(kept["cwd"], "${PTC_WORKSPACE_FOLDER}");
        assert!(variables(&kept).contains(WORKSPACE));
        let own = user.client.own_entry("ptc", &[], &variables(&kept));
        assert_eq!(own["env"], json!({"PTC_WORKSPACE_FOLDER": "${workspaceFolder}"}));
        for entry in [json!({"command": "x", "cwd": "tools"}), json!({"command": "${workspaceFolder}/x"})] {
            assert!(moved(&entry, &origin("claude-code", None)).is_err(), "{entry}");
        }
    }

    #[test]
    fn clients_that_hold_variables_back_are_told_which_are_needed() {
        let needed = variables(
            &json!({"headers": {"Authorization": "Bearer ${A_TOKEN}"}, "args": ["${B:-c}", "${$}{D}"]}),
        );
        assert_eq!(needed, ["A_TOKEN".to_owned(), "B".to_owned()].into());
        let entry = |client: &str| origin(client, None).client.own_entry("ptc", &[], &needed);
        assert_eq!(entry("codex")["env_vars"], json!(["A_TOKEN", "B"]));
        assert_eq!(entry("gemini")["env"], json!({"A_TOKEN": "$A_TOKEN", "B": "$B"}));
        assert_eq!(entry("opencode").get("environment"), None);
    }
}
