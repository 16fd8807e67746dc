//! What a setup does not see by itself: other files that the client reads servers from, and settings of the client that keep
//! servers out. A setup changes one file; what stands in others stays, and is told.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::client::{Client, Format, User};
use super::file::{LOCAL_NAME, NAME, PROJECT_NAME, Scope};
use super::place::{SetupFiles, Text, named};
use super::plan::Step;
use super::{json, toml};

/// Another file that the client reads.
pub struct Other {
    file: PathBuf,
    /// The servers in it, ours too.
    names: Vec<String>,
    /// Servers of other files about which it changes something: Codex and opencode put entries of one name together.
    changed: Vec<String>,
    reach: Reach,
}

/// How its servers are moved.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reach {
    /// By naming the file, which is the user's too: the client puts what stands in both together.
    Beside,
    /// As that of the user.
    User,
    /// As that of the project in this folder.
    Project(PathBuf),
    /// Not at all: it belongs to the machine or to an extension.
    Fixed,
}

/// The other files of a client with servers in them.
pub fn others(client: &Client, place: &SetupFiles) -> anyhow::Result<Vec<Other>> {
    let user = User::of_environment()?;
    let here = std::env::current_dir()?;
    let beside = |files: Vec<PathBuf>, reach: Reach| files.into_iter().map(move |file| (file, reach.clone()));
    let own = client.files(&user).into_iter().chain(client.named_files(&user));
    let mut files: Vec<(PathBuf, Reach)> = match &place.scope {
        // Whoever names a file knows what else there is.
        Scope::Named(_) => return Ok(Vec::new()),
        Scope::User => beside(own.collect(), Reach::Beside).collect(),
        Scope::Project(folder) => beside(client.project_files(folder), Reach::Beside)
            .chain(beside(own.collect(), Reach::User))
            .collect(),
    };
    for folder in projects(&here, &user.home) {
        files.extend(beside(client.project_files(folder), Reach::Project(folder.to_path_buf())));
    }
    files.extend(beside(client.fixed_files(&user), Reach::Fixed));
    let mut seen = vec![place.file.clone()];
    let mut found = Vec::new();
    for (file, reach) in files {
        let file = named(&file)?;
        if seen.contains(&file) {
            continue;
        }
        seen.push(file.clone());
        let (whole, part): (Vec<_>, Vec<_>) =
            servers(client, &file).into_iter().partition(|(_, entry)| is_whole(entry));
        let names = |entries: Vec<(String, Json)>| entries.into_iter().map(|(name, _)| name).collect();
        let other = Other { file, names: names(whole), changed: names(part), reach };
        if !other.names.is_empty() || !other.changed.is_empty() {
            found.push(other);
        }
    }
    Ok(found)
}

/// The folders that are projects from here on upwards: clients look for files there too.
pub fn projects<'p>(here: &'p Path, home: &'p Path) -> impl Iterator<Item = &'p Path> {
    let mut inside = true;
    here.ancestors().take_while(move |folder| {
        let goes_on = inside && *folder != home && folder.parent().is_some();
        inside = !folder.join(".git").exists();
        goes_on
    })
}

/// The servers of a file; none if it cannot be read, which is then no matter of this setup.
fn servers(client: &Client, file: &Path) -> Map<String, Json> {
    let Ok(text) = Text::read(file) else { return Map::new() };
    let keys: Vec<String> = client.place.iter().map(|key| (*key).to_owned()).collect();
    let servers = match client.format {
        Format::Json => json::object(&text.text, &keys),
        Format::Toml => toml::table(&text.text, &keys),
    };
    servers.unwrap_or_default()
}

/// Whether an entry says how its server is reached, and not only what is changed about one of another file.
pub fn is_whole(entry: &Json) -> bool {
    ["command", "url", "httpUrl", "serverUrl"].iter().any(|key| entry.get(key).is_some())
}

impl Other {
    /// What people should know of it, in lines, where these servers move.
    pub fn told(&self, client: &Client, moved: &[&String]) -> String {
        let ours = [NAME, PROJECT_NAME, LOCAL_NAME];
        let names: Vec<&str> =
            self.names.iter().map(String::as_str).filter(|name| !ours.contains(name)).collect();
        let mut told = String::new();
        if names.is_empty() {
            return told;
        }
        let (file, client) = (self.file.display(), client.name);
        let how = match &self.reach {
            Reach::Beside => format!("`ptc setup {client} --config {file}` moves them"),
            Reach::User => format!("`ptc setup {client}` moves them"),
            Reach::Project(folder) => {
                format!("`ptc setup {client} --project` in {} moves them", folder.display())
            }
            Reach::Fixed => "they are not the user's to move".to_owned(),
        };
        let _ = writeln!(told, "  ! {file} has servers, too, which stay: {}; {how}", names.join(", "));
        let both: Vec<&str> =
            names.into_iter().filter(|name| moved.iter().any(|moved| moved == name)).collect();
        if !both.is_empty() {
            let both = both.join(", ");
            let _ =
                writeln!(told, "    {both}: the client took one of the two, and its model gets both then");
        }
        told
    }

    /// Whether a server of this name here would take the place of one in the file that is set up, or it that of ours.
    pub fn collides(&self, name: &str) -> bool {
        self.reach == Reach::Beside && self.names.iter().any(|known| known == name)
    }

    /// Leaves servers in the client that it changes: without them nothing would be left of what it says, which keeps clients
    /// from starting.
    pub fn leave(&self, step: &mut Step) {
        let why = format!("{} changes something about it", self.file.display());
        self.changed.iter().for_each(|name| step.leave(name, &why));
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

/// Tells that servers stand in a variable, which is no file.
pub fn in_variable(client: &Client) -> String {
    const CONTENT: &str = "OPENCODE_CONFIG_CONTENT";
    let content = std::env::var(CONTENT).ok().filter(|_| client.name == "opencode").unwrap_or_default();
    let servers = json::object(&content, &["mcp".to_owned()]).unwrap_or_default();
    match servers.is_empty() {
        true => String::new(),
        false => format!("  ! the variable {CONTENT} has servers, too, which stay\n"),
    }
}

/// Settings in the file of a client that keep servers out.
pub struct Gate {
    allowed: Option<Vec<String>>,
    excluded: Vec<String>,
}

impl Gate {
    /// What a file says. Only Gemini CLI has such lists beside its servers.
    pub fn of(client: &Client, text: &str) -> Gate {
        let mut gate = Gate { allowed: None, excluded: Vec::new() };
        if client.name != "gemini" {
            return gate;
        }
        let texts = |value: Option<&Json>| -> Option<Vec<String>> {
            let items = value?.as_array()?.iter();
            Some(items.filter_map(|item| item.as_str().map(str::to_owned)).collect())
        };
        let top = json::object(text, &[]).unwrap_or_default();
        let empty = Map::new();
        let mcp = top.get("mcp").and_then(Json::as_object).unwrap_or(&empty);
        // Older files have the lists at the top.
        gate.allowed = texts(mcp.get("allowed")).or_else(|| texts(top.get("allowMCPServers")));
        gate.excluded =
            texts(mcp.get("excluded")).or_else(|| texts(top.get("excludeMCPServers"))).unwrap_or_default();
        gate
    }

    /// Why the client does not start a server of this name.
    pub fn keeps_out(&self, name: &str) -> Option<&'static str> {
        if self.excluded.iter().any(|excluded| excluded == name) {
            return Some("\"mcp.excluded\" names it");
        }
        let allowed = self.allowed.as_ref()?;
        (!allowed.iter().any(|allowed| allowed == name)).then_some("\"mcp.allowed\" does not name it")
    }
}

/// Projects for which Claude Code has switched servers off that move: behind ours they are on there.
pub fn switched_off(client: &Client, text: &str, moved: &[&String]) -> String {
    let mut told = String::new();
    if !client.has_local_servers() {
        return told;
    }
    for (folder, project) in json::object(text, &["projects".to_owned()]).unwrap_or_default() {
        let off = project.get("disabledMcpServers").and_then(Json::as_array).into_iter().flatten();
        let off: Vec<&str> =
            off.filter_map(Json::as_str).filter(|name| moved.iter().any(|moved| moved == name)).collect();
        if !off.is_empty() {
            let _ = writeln!(
                told,
                "  ! {} is switched off in {folder}; behind ptc it is on there",
                off.join(", ")
            );
        }
    }
    told
}
