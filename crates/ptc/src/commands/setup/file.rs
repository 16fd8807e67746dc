//! The file of a client: where servers stand in it, the file with one server in their place, and the file with them back in
//! it. All else in it stays as it is, comments and white space too. `json.rs` and `toml.rs` know how files are written.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::client::{Client, Format};
use super::{json, toml};

/// How our server is called in the file of a user. A project's own may not have the same name: clients take the nearest of
/// two servers of one name, and those of the user would be gone there.
pub const NAME: &str = "ptc";
pub const PROJECT_NAME: &str = "ptc-project";
pub const LOCAL_NAME: &str = "ptc-local";

/// Whose file it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The user's, which is used in all folders.
    User,
    /// That of a project, in this folder.
    Project(PathBuf),
    /// One that was named, which belongs to this folder.
    Named(PathBuf),
}

/// A place in a file where servers stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The keys that lead there.
    pub keys: Vec<String>,
    /// The folder that is worked in, if it is always the same.
    pub folder: Option<PathBuf>,
    /// How our server is called there.
    pub name: &'static str,
}

impl Spot {
    /// Whether it is where all servers of the file stand, not those of one project.
    pub fn is_main(&self) -> bool {
        self.name != LOCAL_NAME
    }
}

/// The places in a file where servers can stand, the main one first.
pub fn spots(client: &Client, scope: &Scope, text: &str) -> anyhow::Result<Vec<Spot>> {
    let keys = client.place.iter().map(|key| (*key).to_owned()).collect();
    let (folder, name) = match scope {
        Scope::User => (None, NAME),
        Scope::Project(folder) => (Some(folder.clone()), PROJECT_NAME),
        Scope::Named(folder) => (Some(folder.clone()), NAME),
    };
    let mut spots = vec![Spot { keys, folder, name }];
    if client.has_local_servers() && !matches!(scope, Scope::Project(_)) {
        let projects = json::object(text, &["projects".to_owned()])?;
        let with_servers = projects.iter().filter(|(_, project)| {
            project.get("mcpServers").and_then(Json::as_object).is_some_and(|servers| !servers.is_empty())
        });
        spots.extend(with_servers.map(|(folder, _)| Spot {
            keys: vec!["projects".to_owned(), folder.clone(), "mcpServers".to_owned()],
            folder: Some(Path::new(folder).to_path_buf()),
            name: LOCAL_NAME,
        }));
    }
    Ok(spots)
}

/// The servers that stand there, as JSON.
pub fn servers(client: &Client, text: &str, spot: &Spot) -> anyhow::Result<Map<String, Json>> {
    match client.format {
        Format::Json => json::object(text, &spot.keys),
        Format::Toml => toml::table(text, &spot.keys),
    }
}

/// The text with our server in the place of these.
pub fn replaced(
    client: &Client,
    text: &str,
    spot: &Spot,
    moved: &[String],
    entry: &Json,
) -> anyhow::Result<String> {
    match client.format {
        Format::Json => json::replaced(text, &spot.keys, moved, (spot.name, entry)),
        Format::Toml => toml::replaced(text, &spot.keys, moved, (spot.name, entry)),
    }
}

/// The texts of a file that was set up.
pub struct Texts<'t> {
    /// With all servers in it.
    pub base: &'t str,
    /// As it was left.
    pub after: &'t str,
    /// As it is now.
    pub now: &'t str,
}

/// The text as it is now with the servers back that ours took the place of there. Those that stand there again stay as
/// they are.
pub fn restored(client: &Client, texts: &Texts, spot: &Spot) -> anyhow::Result<String> {
    let missing = missing(client, texts, spot)?;
    match client.format {
        Format::Json => json::restored(texts, &spot.keys, spot.name, &missing),
        Format::Toml => toml::restored(texts, &spot.keys, spot.name, &missing),
    }
}

/// The servers that were moved from there.
pub fn moved(client: &Client, base: &str, after: &str, spot: &Spot) -> anyhow::Result<Vec<String>> {
    let left = servers(client, after, spot)?;
    let all = servers(client, base, spot)?;
    Ok(all.into_iter().map(|(name, _)| name).filter(|name| !left.contains_key(name)).collect())
}

/// Those of them that are not there again.
fn missing(client: &Client, texts: &Texts, spot: &Spot) -> anyhow::Result<Vec<String>> {
    let now = servers(client, texts.now, spot)?;
    let moved = moved(client, texts.base, texts.after, spot)?;
    Ok(moved.into_iter().filter(|name| !now.contains_key(name)).collect())
}
