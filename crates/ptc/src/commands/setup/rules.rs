//! What a client keeps from its model, or asks about first, by settings that stand beside its servers. Behind ours the tools of
//! a server have other names, which such settings do not know: so they go with the server.
//!
//! Each client has its own way to write them down (`Rules::of`); all of them are patterns for the names that its tools have in
//! it, and a server takes those along that mean its tools (`Rules::apply`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ptc_upstream::config::client_tool_name;
use serde_json::{Map, Value as Json, json};

use super::client::{Client, User};
use super::elsewhere::projects;
use super::file::{Scope, Spot};
use super::json;
use super::place::{SetupFiles, Text};

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// What is said of tools whose names in the client fit a pattern.
struct Rule {
    pattern: String,
    verdict: Verdict,
    file: PathBuf,
    /// The agent that it is for; the others have none of it.
    agent: Option<String>,
}

/// All rules of a client; of two that mean the same tool the later counts.
pub struct Rules {
    client: &'static str,
    rules: Vec<Rule>,
    /// Servers that the client does not start, and what says so.
    off: BTreeMap<String, PathBuf>,
    /// Patterns for tools that are called without asking.
    allowed: Vec<(String, PathBuf)>,
}

/// Keys for the tools that there are and are not.
const INCLUDE: &[&str] = &["includeTools", "enabledTools", "enabled_tools"];
const EXCLUDE: &[&str] = &["excludeTools", "disabledTools", "disabled_tools"];

/// Tools of Gemini CLI itself, which rules without a server mean.
const OF_GEMINI: &[&str] = &[
    "ask_user",
    "activate_skill",
    "glob",
    "google_web_search",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "replace",
    "run_shell_command",
    "save_memory",
    "search_file_content",
    "web_fetch",
    "write_file",
    "write_todos",
];

impl Rules {
    /// The rules for servers that stand at this place of the client's file, which has this text.
    pub fn of(client: &Client, files: &SetupFiles, spot: &Spot, text: &str) -> anyhow::Result<Rules> {
        let user = User::of_environment()?;
        let mut rules =
            Rules { client: client.name, rules: Vec::new(), off: BTreeMap::new(), allowed: Vec::new() };
        let folders = folders(client, spot, text, &user)?;
        match client.name {
            "claude-code" => rules.claude(&user, &folders, &files.scope),
            "opencode" => {
                let own = client.files(&user).into_iter().rev().chain(client.named_files(&user));
                let of_projects =
                    folders.iter().rev().flat_map(|folder| client.project_files(folder).into_iter().rev());
                for (file, top) in read(own.chain(of_projects).chain([files.file.clone()])) {
                    rules.opencode(&file, &top);
                }
            }
            "cursor" => {
                let own = [user.home.join(".cursor/cli-config.json")];
                let of_projects = folders.iter().map(|folder| folder.join(".cursor/cli.json"));
                for (file, top) in read(own.into_iter().chain(of_projects)) {
                    rules.listed(&file, &top, &["permissions", "deny"], Verdict::Deny);
                }
            }
            "gemini" => {
                let own = client.files(&user).into_iter().chain(client.fixed_files(&user));
                let of_projects = folders.iter().flat_map(|folder| client.project_files(folder));
                for (file, top) in read(own.chain(of_projects)) {
                    rules.listed(&file, &top, &["tools", "exclude"], Verdict::Deny);
                    rules.listed(&file, &top, &["excludeTools"], Verdict::Deny);
                }
            }
            "zed" => {
                let of_projects = folders.iter().flat_map(|folder| client.project_files(folder));
                for (file, top) in read(client.files(&user).into_iter().chain(of_projects)) {
                    rules.zed(&file, &top);
                }
            }
            _ => {}
        }
        Ok(rules)
    }

    fn claude(&mut self, user: &User, folders: &[PathBuf], scope: &Scope) {
        let machine = match cfg!(target_os = "macos") {
            true => "/Library/Application Support/ClaudeCode/managed-settings.json",
            false => "/etc/claude-code/managed-settings.json",
        };
        let own = user.variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| user.home.join(".claude"));
        let of_projects = folders.iter().flat_map(|folder| {
            ["settings.json", "settings.local.json"].map(|name| folder.join(".claude").join(name))
        });
        let settings = read([machine.into(), own.join("settings.json")].into_iter().chain(of_projects));
        // What is denied is denied, whatever else is said of it.
        for (key, verdict) in [("ask", Verdict::Ask), ("deny", Verdict::Deny)] {
            settings.iter().for_each(|(file, top)| self.listed(file, top, &["permissions", key], verdict));
        }
        for (file, top) in &settings {
            let allowed = top.get("permissions").and_then(|permissions| permissions.get("allow"));
            let allowed = texts(allowed, Json::as_str);
            self.allowed.extend(allowed.into_iter().map(|pattern| (pattern, file.clone())));
            let denied = texts(top.get("deniedMcpServers"), |item| item.get("serverName")?.as_str());
            self.off.extend(denied.into_iter().map(|name| (name, file.clone())));
            if matches!(scope, Scope::Project(_)) {
                let rejected = texts(top.get("disabledMcpjsonServers"), Json::as_str);
                self.off.extend(rejected.into_iter().map(|name| (name, file.clone())));
            }
        }
        if let Scope::Project(folder) = scope {
            let home = user.variable("CLAUDE_CONFIG_DIR").unwrap_or_else(|| user.home.clone());
            for (file, top) in read([home.join(".claude.json")]) {
                let project = top.get("projects").and_then(|known| known.get(&*folder.to_string_lossy()));
                let rejected = project.and_then(|project| project.get("disabledMcpjsonServers"));
                let rejected = texts(rejected, Json::as_str);
                self.off.extend(rejected.into_iter().map(|name| (name, file.clone())));
            }
        }
    }

    /// `tools` of opencode says which there are, `permission` also which are asked about; agents have their own.
    fn opencode(&mut self, file: &Path, top: &Map<String, Json>) {
        self.opencode_part(file, top.get("tools"), top.get("permission"), None);
        for key in ["agent", "mode"] {
            for (agent, part) in top.get(key).and_then(Json::as_object).into_iter().flatten() {
                self.opencode_part(file, part.get("tools"), part.get("permission"), Some(agent));
            }
        }
    }

    fn opencode_part(
        &mut self,
        file: &Path,
        tools: Option<&Json>,
        permission: Option<&Json>,
        agent: Option<&String>,
    ) {
        let everything = permission.and_then(Json::as_str).map(|word| ("*".to_owned(), json!(word)));
        let named = [tools, permission].into_iter().flatten().filter_map(Json::as_object).flatten();
        let named = named.map(|(pattern, said)| (pattern.clone(), said.clone()));
        for (pattern, said) in named.chain(everything) {
            // Where it depends on what is asked for, the whole tool counts.
            let said = said.get("*").unwrap_or(&said);
            let verdict = match (said.as_bool(), said.as_str()) {
                (Some(true), _) | (_, Some("allow")) => Verdict::Allow,
                (Some(false), _) | (_, Some("deny")) => Verdict::Deny,
                (_, Some("ask")) => Verdict::Ask,
                _ => continue,
            };
            self.rules.push(Rule { pattern, verdict, file: file.to_path_buf(), agent: agent.cloned() });
        }
    }

    fn zed(&mut self, file: &Path, top: &Map<String, Json>) {
        let tools =
            ["tool_permissions", "tools"].iter().try_fold(top.get("agent"), |at, key| Some(at?.get(key)));
        for (pattern, said) in tools.flatten().and_then(Json::as_object).into_iter().flatten() {
            let verdict = match said.get("default").and_then(Json::as_str) {
                Some("deny") => Verdict::Deny,
                Some("confirm") => Verdict::Ask,
                _ => continue,
            };
            self.rules.push(Rule {
                pattern: pattern.clone(),
                verdict,
                file: file.to_path_buf(),
                agent: None,
            });
        }
    }

    /// The patterns of a list that keys lead to. What stands in brackets says which calls are meant, and a tool is one thing
    /// here; Cursor has the whole name in them.
    fn listed(&mut self, file: &Path, top: &Map<String, Json>, keys: &[&str], verdict: Verdict) {
        let at = keys[1..].iter().try_fold(top.get(keys[0]), |at, key| Some(at?.get(key))).flatten();
        for pattern in texts(at, Json::as_str) {
            let inside = pattern.strip_prefix("Mcp(").and_then(|rest| rest.strip_suffix(')'));
            let pattern = match inside {
                Some(inside) => format!("Mcp({inside}"),
                None => pattern.split('(').next().unwrap_or_default().to_owned(),
            };
            self.rules.push(Rule { pattern, verdict, file: file.to_path_buf(), agent: None });
        }
    }

    /// The file that lets the model call tools of a server without asking, and the pattern in it.
    pub fn allowed(&self, server: &str) -> Option<(&str, &Path)> {
        let means = |pattern: &&(String, PathBuf)| !self.meant_by(&pattern.0, server).is_empty();
        self.allowed.iter().find(means).map(|(pattern, file)| (pattern.as_str(), file.as_path()))
    }

    /// Puts into the entry of a server what is said of its tools, and gives it in words; or why the server stays.
    pub fn apply(&self, server: &str, entry: &mut Json) -> Result<Vec<String>, String> {
        if let Some(file) = self.off.get(server) {
            return Err(format!("{} switches it off", file.display()));
        }
        let (mut rest, mut tools) = (None, BTreeMap::new());
        let mut remarks = Vec::new();
        for rule in &self.rules {
            for pattern in self.meant_by(&rule.pattern, server) {
                match (&rule.agent, pattern.as_str()) {
                    (Some(_), _) if rule.verdict == Verdict::Allow => {}
                    (Some(agent), _) => remarks.push(format!(
                        "! {} restricts {pattern} for the agent '{agent}'; behind ptc all agents have the same tools",
                        rule.file.display()
                    )),
                    (None, "*") => {
                        tools.clear();
                        rest = Some(rule);
                    }
                    (None, _) => _ = tools.insert(pattern.clone(), rule),
                }
            }
        }
        let usual = rest.map_or(Verdict::Allow, |rule| rule.verdict);
        let given: Vec<&String> =
            tools.iter().filter(|(_, rule)| rule.verdict != Verdict::Deny).map(|(name, _)| name).collect();
        if let (Verdict::Deny, Some(rule)) = (usual, rest) {
            if given.is_empty() {
                return Err(format!("{} denies all its tools", rule.file.display()));
            }
            add(entry, INCLUDE, given.iter().copied());
            remarks.push(format!("only {}, as {} says", words(&given), rule.file.display()));
        }
        // What the entry itself says comes first; rules of other files may say more, and not less.
        let mut approval = entry.get("approval").and_then(Json::as_object).cloned().unwrap_or_default();
        for (name, _) in approval.iter().filter(|(_, said)| **said == json!("ask")) {
            let what = if name == "*" { "every call" } else { name };
            remarks.push(format!("{what} needs approval, as its entry says"));
        }
        if let (Verdict::Ask, Some(rule)) = (usual, rest) {
            approval.insert("*".to_owned(), json!("ask"));
            remarks.push(format!("every call needs approval, as {} says", rule.file.display()));
        }
        for (name, rule) in &tools {
            let file = rule.file.display();
            match (rule.verdict, usual) {
                (Verdict::Deny, _) => {
                    add(entry, EXCLUDE, [name].into_iter());
                    remarks.push(format!("without {name}, which {file} denies"));
                }
                (Verdict::Ask, _) => {
                    approval.insert(name.clone(), json!("ask"));
                    remarks.push(format!("{name} needs approval, as {file} says"));
                }
                (Verdict::Allow, Verdict::Ask) => _ = approval.entry(name.clone()).or_insert(json!("never")),
                (Verdict::Allow, _) => {}
            }
        }
        if !approval.is_empty() {
            entry["approval"] = Json::Object(approval);
        }
        Ok(remarks)
    }

    /// The tools of a server that a rule with this pattern means, as patterns.
    fn meant_by(&self, pattern: &str, server: &str) -> BTreeSet<String> {
        let plain = client_tool_name(server);
        let whole = match self.client {
            "gemini" => uncut(pattern),
            _ => pattern.to_owned(),
        };
        let pattern = whole.as_str();
        let prefixes = match self.client {
            "claude-code" if pattern == format!("mcp__{plain}") => return ["*".to_owned()].into(),
            "claude-code" => vec![format!("mcp__{plain}__")],
            "opencode" => vec![format!("{plain}_")],
            "cursor" => vec![format!("Mcp({server}:")],
            "zed" => vec![format!("mcp:{server}:")],
            "gemini" => {
                // It leaves dots and colons in names.
                let own = |c: char| {
                    if matches!(c, '.' | ':') { c.to_string() } else { client_tool_name(&c.to_string()) }
                };
                let plain: String = server.chars().map(own).collect();
                let prefixes = [format!("{plain}__"), format!("mcp_{plain}_"), format!("mcp__{plain}__")];
                let is_bare = !pattern.contains("__") && !pattern.starts_with("mcp_");
                match is_bare && !OF_GEMINI.contains(&pattern) {
                    true => vec![String::new()],
                    false => prefixes.to_vec(),
                }
            }
            _ => return BTreeSet::new(),
        };
        let mut meant = BTreeSet::new();
        for prefix in &prefixes {
            behind(pattern, prefix, &mut meant);
        }
        // Our patterns have no sign for one character.
        let meant: BTreeSet<String> = meant.into_iter().map(|pattern| pattern.replace('?', "*")).collect();
        match meant.iter().any(|pattern| pattern.chars().all(|c| c == '*') && !pattern.is_empty()) {
            true => ["*".to_owned()].into(),
            false => meant.into_iter().filter(|pattern| !pattern.is_empty()).collect(),
        }
    }
}

/// The name of a tool that Gemini CLI has cut, as a pattern: it keeps both ends of names that are longer than 63 characters.
fn uncut(name: &str) -> String {
    const END: usize = 30;
    const CUT: &str = "...";
    match (name.get(..END), name.get(END..END + CUT.len()), name.get(END + CUT.len()..)) {
        (Some(first), Some(CUT), Some(last)) if last.len() == END => format!("{first}*{last}"),
        _ => name.to_owned(),
    }
}

/// Gives rules the names that tools of a server have, where they have those that the client shows its model. What it did is
/// said in words. Lists of tools that there are name them as the server does, but for those of opencode.
pub fn with_real_names(client: &Client, entry: &mut Json, tools: &[&str]) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut renamed = |name: &str| -> Vec<String> {
        let meant: Vec<&str> =
            tools.iter().copied().filter(|tool| *tool == name || client_tool_name(tool) == name).collect();
        if name.contains('*') || meant.contains(&name) && meant.len() == 1 {
            return vec![name.to_owned()];
        }
        let remark = match meant.is_empty() {
            true => format!("! no tool is called {name}; the rule is kept as it is"),
            false => format!("{name} is what the client calls {}", meant.join(", ")),
        };
        if !remarks.contains(&remark) {
            remarks.push(remark);
        }
        match meant.is_empty() {
            true => vec![name.to_owned()],
            false => meant.into_iter().map(str::to_owned).collect(),
        }
    };
    let include = if client.name == "opencode" { INCLUDE } else { &[] };
    for key in include.iter().chain(EXCLUDE) {
        if let Some(Json::Array(names)) = entry.get_mut(*key) {
            let real = names.iter().filter_map(Json::as_str).flat_map(&mut renamed);
            *names = real.map(Json::String).collect();
        }
    }
    if let Some(Json::Object(rules)) = entry.get_mut("approval") {
        let all = std::mem::take(rules);
        for (name, said) in all {
            renamed(&name).into_iter().for_each(|name| _ = rules.insert(name, said.clone()));
        }
    }
    remarks
}

/// The folders whose settings count for servers of a place. Those of the user are used in every project that is known.
fn folders(client: &Client, spot: &Spot, text: &str, user: &User) -> anyhow::Result<Vec<PathBuf>> {
    if let Some(folder) = &spot.folder {
        return Ok(vec![folder.clone()]);
    }
    let here = std::env::current_dir()?;
    let mut folders: Vec<PathBuf> = projects(&here, &user.home).map(Path::to_path_buf).collect();
    if client.has_local_servers() {
        let known = json::object(text, &["projects".to_owned()]).unwrap_or_default();
        folders.extend(known.keys().map(PathBuf::from).filter(|folder| *folder != user.home));
    }
    folders.dedup();
    Ok(folders)
}

/// Those of the files that are there, each once.
fn read(files: impl IntoIterator<Item = PathBuf>) -> Vec<(PathBuf, Map<String, Json>)> {
    let mut seen = BTreeSet::new();
    let first = files.into_iter().filter(|file| seen.insert(file.clone()));
    let found = first.filter_map(|file| {
        let top = json::object(&Text::read(&file).ok()?.text, &[]).ok()?;
        Some((file, top))
    });
    found.collect()
}

fn texts<'j>(list: Option<&'j Json>, text: impl Fn(&'j Json) -> Option<&'j str>) -> Vec<String> {
    let items = list.and_then(Json::as_array).into_iter().flatten();
    items.filter_map(text).map(str::to_owned).collect()
}

fn words(names: &[&String]) -> String {
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}

/// What is left of a pattern behind a text that it begins with, in all the ways in which its stars can be read.
fn behind(pattern: &str, text: &str, found: &mut BTreeSet<String>) {
    let Some(next) = text.chars().next() else {
        found.insert(pattern.to_owned());
        return;
    };
    let rest = &text[next.len_utf8()..];
    match pattern.chars().next() {
        Some('*') => {
            behind(&pattern[1..], text, found);
            behind(pattern, rest, found);
        }
        Some(c) if c == next || c == '?' => behind(&pattern[c.len_utf8()..], rest, found),
        _ => {}
    }
}

/// Adds names to the list under the first of these keys that is there.
fn add<'n>(entry: &mut Json, keys: &[&str], names: impl Iterator<Item = &'n String>) {
    let key = keys.iter().find(|key| entry.get(**key).is_some_and(Json::is_array)).unwrap_or(&keys[0]);
    let mut list = entry[*key].as_array().cloned().unwrap_or_default();
    list.extend(names.map(|name| json!(name)));
    entry[*key] = Json::Array(list);
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
