//! Filling a store from files when a server begins.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::error::{PreludeError, Reason, refuse};
use super::forms::Forms;
use super::model::{Metadata, Pin, checksum};
use super::{Preludes, rows};

/// What seeding did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seeded {
    /// New versions, in the order they were written.
    pub written: Vec<Pin>,
    /// Preludes whose file was in the store already.
    pub unchanged: Vec<String>,
}

/// A file that was read.
struct Seed {
    path: PathBuf,
    id: String,
    source: String,
    needs: Vec<String>,
}

impl Preludes {
    /// Writes a file, or every `*.clj` file of a folder, into the store. The id is the namespace of the file; a
    /// file `NAME.deps` beside it lists, one per line, the preludes it needs. Files that need others wait for
    /// them. A source that is among the retained versions already is not written again, so that starting
    /// anew does not move the default. The first failure ends it.
    pub fn seed(&self, path: &Path) -> Result<Seeded, PreludeError> {
        let mut waiting = read_seeds(path)?;
        let mut seeded = Seeded::default();
        while !waiting.is_empty() {
            let ready = waiting.iter().position(|seed| !waits(seed, &waiting));
            let seed = match ready {
                Some(ready) => waiting.remove(ready),
                None => {
                    let message = "needs files that need it in turn";
                    return Err(at(&waiting[0].path, message, Reason::DependencyCycle));
                }
            };
            self.seed_one(&seed, &mut seeded).map_err(|error| match error {
                PreludeError::Refused { reason, message, compile_reason } => PreludeError::Refused {
                    reason,
                    message: format!("{}: {message}", seed.path.display()),
                    compile_reason,
                },
                other => other,
            })?;
        }
        Ok(seeded)
    }

    fn seed_one(&self, seed: &Seed, seeded: &mut Seeded) -> Result<(), PreludeError> {
        if self.is_seeded(seed)? {
            seeded.unchanged.push(seed.id.clone());
            return Ok(());
        }
        let mut metadata = Metadata::new();
        metadata.insert("reason".to_owned(), "boot seed".into());
        if !seed.needs.is_empty() {
            metadata.insert("requires_preludes".to_owned(), json!(seed.needs));
        }
        let written = self.write(&seed.id, &seed.source, &metadata)?.version;
        seeded.written.push(Pin { id: written.id, version: written.version, checksum: written.checksum });
        Ok(())
    }

    /// Whether a retained version has this source and is pinned to what a write would pin now.
    fn is_seeded(&self, seed: &Seed) -> Result<bool, PreludeError> {
        let sum = checksum(&seed.source);
        self.store.read(|tx| {
            if rows::heads(tx, &seed.id)?.is_none() {
                return Ok(false);
            }
            let mut needs = Vec::new();
            for need in &seed.needs {
                let current = rows::heads(tx, id_of(need))?.map(|heads| heads.current);
                needs.push((id_of(need).to_owned(), current));
            }
            needs.sort();
            let history = rows::history(tx, &seed.id)?;
            Ok(history.iter().filter(|version| version.checksum == sum).any(|version| {
                let pins = version.pins.iter().map(|pin| (pin.id.clone(), Some(pin.version)));
                pins.eq(needs.iter().cloned())
            }))
        })
    }
}

/// Whether a file must come later because files that it needs are still to come.
fn waits(seed: &Seed, waiting: &[Seed]) -> bool {
    seed.needs.iter().any(|need| waiting.iter().any(|other| other.id == id_of(need)))
}

/// The id in a reference.
fn id_of(reference: &str) -> &str {
    reference.split('@').next().unwrap_or_default()
}

fn at(path: &Path, message: &str, reason: Reason) -> PreludeError {
    refuse(reason, format!("{}: {message}", path.display()))
}

fn read_seeds(path: &Path) -> Result<Vec<Seed>, PreludeError> {
    let unreadable = |path: &Path, error: std::io::Error| at(path, &error.to_string(), Reason::InvalidConfig);
    let mut files = Vec::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(|error| unreadable(path, error))? {
            let file = entry.map_err(|error| unreadable(path, error))?.path();
            if file.extension().is_some_and(|extension| extension == "clj") {
                files.push(file);
            }
        }
        files.sort();
        if files.is_empty() {
            return Err(at(path, "has no *.clj files to seed from", Reason::InvalidConfig));
        }
    } else {
        files.push(path.to_path_buf());
    }
    let seeds = files.into_iter().map(|file| {
        let source = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, error))?;
        let forms =
            Forms::scan(&source).map_err(|error| at(&file, &error.to_string(), Reason::CompileError))?;
        let id = forms.namespaces().next().map(str::to_owned);
        let id = id.ok_or_else(|| at(&file, "declares no namespace", Reason::NamespaceViolation))?;
        let needs = read_needs(&file.with_extension("deps"))?;
        Ok(Seed { path: file, id, source, needs })
    });
    let seeds = seeds.collect::<Result<Vec<Seed>, PreludeError>>()?;
    for (at_index, seed) in seeds.iter().enumerate() {
        if let Some(other) = seeds[..at_index].iter().find(|other| other.id == seed.id) {
            let message = format!("declares `{}`, as does {}", seed.id, other.path.display());
            return Err(at(&seed.path, &message, Reason::InvalidConfig));
        }
    }
    Ok(seeds)
}

/// References, one per line; empty lines and those that begin with `;` or `#` do not count.
fn read_needs(path: &Path) -> Result<Vec<String>, PreludeError> {
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let lines = text.lines().map(str::trim);
            Ok(lines
                .filter(|line| !line.is_empty() && !line.starts_with([';', '#']))
                .map(str::to_owned)
                .collect())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(at(path, &error.to_string(), Reason::InvalidConfig)),
    }
}
