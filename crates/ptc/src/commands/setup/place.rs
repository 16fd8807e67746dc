//! The files that a setup is about: the client's own, and those that we keep for each of them.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ptc_system::private;
use sha2::{Digest as _, Sha256};

use super::SetupArgs;
use super::client::{Client, User};
use super::file::{self, Scope, Spot};

/// Below the user's folder of configurations.
const FOLDER: &str = "ptc_runner_mcp/setup";

/// How a text in UTF-8 may begin.
const MARK: char = '\u{feff}';

/// The files of one setup.
pub struct SetupFiles {
    /// The client's own.
    pub file: PathBuf,
    /// Whose it is.
    pub scope: Scope,
    /// The folder of what is kept.
    folder: PathBuf,
    /// How the names of what is kept begin. Each file of a client has its own: there may be one for the user and one for
    /// each project.
    stem: String,
    /// The file that was set up and still is, where this one is a copy of it.
    pub copied_from: Option<PathBuf>,
}

/// What is kept of a file that was set up.
pub struct State {
    /// The file with all servers in it.
    pub base: Text,
    /// The file as it was left.
    pub after: Text,
}

impl SetupFiles {
    /// The files that the arguments mean.
    pub fn of(client: &Client, args: &SetupArgs) -> anyhow::Result<SetupFiles> {
        let user = User::of_environment()?;
        let folder = user.config.join(FOLDER);
        let here = std::env::current_dir().context("the current folder cannot be found")?;
        let place = |file: &Path, scope: &Scope| -> anyhow::Result<SetupFiles> {
            let file = named(file)?;
            let stem = stem(client, &file);
            let folder = folder.clone();
            let place = SetupFiles { file, scope: scope.clone(), folder, stem, copied_from: None };
            Ok(place.found_again(client, args.undo))
        };
        let users = client.files(&user);
        if let Some(file) = &args.config {
            let file = named(file)?;
            let is_users = users.iter().any(|user| named(user).is_ok_and(|user| user == file));
            return place(&file, &if is_users { Scope::User } else { Scope::Named(worked_in(&file)) });
        }
        let (files, scope) = match args.project {
            true => (client.project_files(&here), Scope::Project(here)),
            false => (users, Scope::User),
        };
        let places = files.iter().map(|file| place(file, &scope)).collect::<anyhow::Result<Vec<_>>>()?;
        // Of several names the one that was set up counts, then the one with servers in it, then the one that is there.
        let ranks: [&dyn Fn(&SetupFiles) -> bool; 4] = [
            &|place| place.kept("before").exists(),
            &|place| place.has_servers(client),
            &|place| place.file.exists(),
            &|_| true,
        ];
        let best = ranks.iter().find_map(|fits| places.iter().position(fits));
        let best = best.and_then(|best| places.into_iter().nth(best));
        best.with_context(|| format!("{} has no file in projects; leave out --project", client.name))
    }

    /// The files of a setup that was made when the file stood elsewhere, in a folder that was moved or copied since: its own
    /// server names them. A copy can be undone, and is no setup of its own else.
    fn found_again(self, client: &Client, undo: bool) -> SetupFiles {
        if self.copy().exists() {
            return self;
        }
        let named = self.named_servers(client).map(PathBuf::from);
        let named = named.filter(|servers| servers.parent() == Some(&self.folder));
        let Some(name) = named.as_deref().and_then(Path::file_name) else { return self };
        let name = name.to_string_lossy().into_owned();
        let stems = name.match_indices('.').map(|(at, _)| name[..at].to_owned());
        let is_kept = |stem: &String| self.folder.join(format!("{stem}.before")).exists();
        let Some(earlier) = stems.into_iter().find(is_kept) else { return self };
        let place = SetupFiles { stem: earlier, ..self };
        let names_it = |file: &PathBuf| std::fs::read_to_string(file).is_ok_and(|text| text.contains(&name));
        // Setups of earlier versions do not say which file they were for: they may be needed there.
        let first =
            std::fs::read_to_string(place.kept("file")).map_or_else(|_| place.kept("after"), PathBuf::from);
        let copied_from = Some(first).filter(|first| *first != place.file && names_it(first));
        match copied_from {
            Some(_) if !undo => {
                let stem = stem(client, &place.file);
                SetupFiles { stem, copied_from: None, ..place }
            }
            copied_from => SetupFiles { copied_from, ..place },
        }
    }

    fn has_servers(&self, client: &Client) -> bool {
        let Ok(text) = Text::read(&self.file) else { return false };
        let spots = file::spots(client, &self.scope, &text.text).unwrap_or_default();
        spots.iter().any(|spot| file::servers(client, &text.text, spot).is_ok_and(|found| !found.is_empty()))
    }

    fn kept(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.stem))
    }

    /// The copy of the client's file before its first setup.
    pub fn copy(&self) -> PathBuf {
        self.kept("before")
    }

    /// Where the servers of a spot go.
    pub fn servers(&self, spot: &Spot) -> PathBuf {
        match spot.is_main() {
            true => self.kept("servers.json"),
            false => self.kept(&format!("{}.servers.json", digest(&spot.keys.join("\n")))),
        }
    }

    /// What is kept, if the file was set up.
    pub fn state(&self) -> anyhow::Result<Option<State>> {
        if !self.copy().exists() {
            return Ok(None);
        }
        let base = match self.kept("base") {
            base if base.exists() => base,
            _ => self.copy(),
        };
        let read = |file: PathBuf| {
            Text::read(&file).with_context(|| {
                format!(
                    "what is kept of {} is not complete: copy {}, which is the file before its first setup, over it by hand, \
                     and remove {}.*",
                    self.file.display(),
                    self.copy().display(),
                    self.folder.join(&self.stem).display()
                )
            })
        };
        Ok(Some(State { base: read(base)?, after: read(self.kept("after"))? }))
    }

    /// Keeps the client's file as it is now, before an undo puts another one in its place.
    pub fn keep_changed(&self, now: &Text) -> anyhow::Result<PathBuf> {
        let file = self.kept("changed");
        private::replace(&file, now.to_string().as_bytes())
            .with_context(|| format!("{} cannot be written", file.display()))?;
        Ok(file)
    }

    /// Keeps what an undo needs, and writes the client's file. The copy of the first setup stays what it is.
    pub fn keep(&self, base: &Text, after: &Text, servers: &[(PathBuf, String)]) -> anyhow::Result<()> {
        let cannot = |file: &Path| format!("{} cannot be written", file.display());
        private::folder(&self.folder).with_context(|| cannot(&self.folder))?;
        let first = !self.copy().exists();
        let sums = servers.iter().map(|(_, text)| digest(text) + "\n").collect();
        let copy = if first { "before" } else { "base" };
        // The copy comes last: it is what says that the file was set up.
        let file = self.file.display().to_string();
        let own = [("sums", sums), ("file", file), ("after", after.to_string()), (copy, base.to_string())];
        let own = own.map(|(ending, text)| (self.kept(ending), text));
        let kept: Vec<&(PathBuf, String)> = servers.iter().chain(&own).collect();
        let earlier: Vec<_> = kept.iter().map(|(file, _)| (file, std::fs::read(file).ok())).collect();
        let done = kept.iter().try_for_each(|(file, text)| {
            private::replace(file, text.as_bytes()).with_context(|| cannot(file))
        });
        let done = done.and_then(|()| self.write(after));
        if done.is_err() {
            // The client's file is what it was, and so is what is kept of it. What fails now is told already.
            for (file, bytes) in earlier.into_iter().rev() {
                let _ = match bytes {
                    Some(bytes) => private::replace(file, &bytes),
                    None => std::fs::remove_file(file),
                };
            }
        }
        done
    }

    /// Where the servers are that our entry in the file names.
    pub fn named_servers(&self, client: &Client) -> Option<String> {
        let text = Text::read(&self.file).ok()?.text;
        let spots = file::spots(client, &self.scope, &text).ok()?;
        let own = spots.iter().filter_map(|spot| file::servers(client, &text, spot).ok()?.remove(spot.name));
        own.map(|entry| entry.to_string()).find_map(|entry| {
            let path = entry.split("--upstreams-config=").nth(1)?.split('"').next()?;
            path.contains(FOLDER).then(|| path.to_owned())
        })
    }

    /// Writes the client's file: through links, and with the rights that it has.
    pub fn write(&self, text: &Text) -> anyhow::Result<()> {
        let file = std::fs::canonicalize(&self.file).unwrap_or_else(|_| self.file.clone());
        let rights = std::fs::metadata(&file).map(|meta| meta.permissions());
        private::replace(&file, text.to_string().as_bytes())
            .with_context(|| format!("{} cannot be written", file.display()))?;
        if let Ok(rights) = rights {
            std::fs::set_permissions(&file, rights)?;
        }
        Ok(())
    }

    /// The files of servers that somebody changed since the setup wrote them.
    pub fn edited(&self) -> anyhow::Result<Vec<PathBuf>> {
        // Setups of earlier versions kept none.
        let Ok(sums) = std::fs::read_to_string(self.kept("sums")) else { return Ok(Vec::new()) };
        let as_written = |file: &Path| {
            std::fs::read_to_string(file).is_ok_and(|text| sums.lines().any(|sum| sum == digest(&text)))
        };
        let servers = self.all_kept()?.into_iter();
        let servers = servers.filter(|file| file.to_string_lossy().ends_with("servers.json"));
        Ok(servers.filter(|file| !as_written(file)).collect())
    }

    /// Removes what is kept, but for these files, which get names that no setup uses. Gives the new names.
    pub fn forget(&self, spared: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
        let mut left = Vec::new();
        for file in self.all_kept()? {
            if !spared.contains(&file) {
                std::fs::remove_file(file)?;
                continue;
            }
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let names = (1..).map(|number| self.folder.join(format!("earlier-{number}-{name}")));
            let name = names.into_iter().find(|name| !name.exists()).context("no name is left")?;
            std::fs::rename(&file, &name)?;
            left.push(name);
        }
        Ok(left)
    }

    fn all_kept(&self) -> anyhow::Result<Vec<PathBuf>> {
        let begins = format!("{}.", self.stem);
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(&begins) {
                files.push(entry.path());
            }
        }
        Ok(files)
    }
}

/// The whole path of a file. The folder is the real one, so that each file has one name; the file itself may be a link.
pub fn named(file: &Path) -> anyhow::Result<PathBuf> {
    let file = std::path::absolute(file)?;
    let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
    Ok(match (folder, file.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => file,
    })
}

/// The folder that is worked in with a file: the one it stands in, or the one around a folder of the client's own.
fn worked_in(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(file);
    let own = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    folder.parent().filter(|_| own).unwrap_or(folder).to_path_buf()
}

/// How the names of what is kept for a file begin: readable, and different for different paths.
fn stem(client: &Client, file: &Path) -> String {
    let plain = |c: char| if c.is_alphanumeric() || c == '-' { c } else { '_' };
    let folder = worked_in(file);
    let folder = folder.file_name().unwrap_or_default().to_string_lossy();
    let folder: String = folder.chars().map(plain).take(40).collect();
    format!("{}-{folder}-{}", client.name, digest(&file.to_string_lossy()))
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The text of a file, which may begin with a byte order mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    marked: bool,
    /// What comes behind it.
    pub text: String,
}

impl Text {
    /// Reads a file.
    pub fn read(file: &Path) -> anyhow::Result<Text> {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        Ok(match text.strip_prefix(MARK) {
            Some(rest) => Text { marked: true, text: rest.to_owned() },
            None => Text { marked: false, text },
        })
    }

    /// Another text that begins in the same way.
    pub fn with(&self, text: String) -> Text {
        Text { marked: self.marked, text }
    }
}

impl std::fmt::Display for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.marked {
            write!(f, "{MARK}")?;
        }
        f.write_str(&self.text)
    }
}
