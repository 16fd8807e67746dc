//! Keys of programs that wait for people: which a store needs, and a copy of them.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use ptc_server::engine::{Keys, LackingKeys, wrong_seal};
use ptc_store::check::{LookedRows, WrongSeal};
use ptc_store::copy;
use ptc_system::owned::{self, Reach};
use ptc_system::private;

use crate::agents::several;

/// The longest file of keys that is copied.
const KEYS_BYTES: u64 = 1 << 20;

/// Names the file of keys of a server.
const KEYS: &str = "PTC_RUNNER_MCP_TICKET_KEYS";

/// The file of keys with which a look at a store tries what waits. One that is not needed is not looked into.
pub struct TriedKeys {
    /// Nothing of a database for which no file was named: there is none beside it.
    file: Option<PathBuf>,
    keys: OnceCell<Result<Option<Keys>, String>>,
}

impl TriedKeys {
    /// The file that is named in the command line, else in the environment, else the one beside the store.
    pub fn find(named: Option<&Path>, store: &str) -> anyhow::Result<TriedKeys> {
        let set = || std::env::var_os(KEYS).filter(|file| !file.is_empty()).map(PathBuf::from);
        let file = match named.map(Path::to_owned).or_else(set) {
            Some(file) => Some(file),
            None => ptc_store::beside(store, ".keys")?,
        };
        Ok(TriedKeys { file, keys: OnceCell::new() })
    }

    fn read(&self, file: &Path) -> &Result<Option<Keys>, String> {
        self.keys.get_or_init(|| file.exists().then(|| Keys::load(file)).transpose())
    }

    /// Why a ticket cannot be opened, if it cannot and that can be told.
    pub fn wrong_seal(&self, id: &str, owner: &str, sealed: &[u8]) -> Option<WrongSeal> {
        let keys = self.read(self.file.as_deref()?).as_ref().ok()?;
        wrong_seal(keys.as_ref(), id, owner, sealed)
    }

    /// Refuses a file that was needed and cannot be read.
    pub fn problem(&self) -> anyhow::Result<()> {
        match self.keys.get() {
            Some(Err(problem)) => bail!("{problem}"),
            _ => Ok(()),
        }
    }

    /// What is said of programs that cannot be opened, if there are any.
    pub fn told(&self, rows: &LookedRows) -> Option<String> {
        let count = rows.lacking.len() as u64;
        let file = self.file.as_deref().filter(|_| count > 0)?;
        let names: BTreeSet<&str> = rows.lacking.iter().map(String::as_str).collect();
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        Some(format!(
            "{}, which {} does not have, so they cannot go on. Put the file of keys back; if the servers were given another one, name \
             it with --ticket-keys; if the key is gone for good, their owners reject them, or whoever runs the servers: ptc tickets \
             reject",
            waits(count, &names),
            file.display()
        ))
    }

    /// What is said if it cannot be told whether the keys of programs that wait are there.
    pub fn unasked(&self, rows: &LookedRows) -> String {
        match (&self.file, rows.waiting) {
            (Some(_), _) | (None, 0) => String::new(),
            (None, waiting) => format!(
                "whether the keys of {} that {} for people are there was not looked at (--ticket-keys FILE); ",
                several(waiting, "program"),
                if waiting == 1 { "waits" } else { "wait" },
            ),
        }
    }
}

/// How many programs wait that are sealed with these keys.
fn waits(count: u64, names: &str) -> String {
    let waits = if count == 1 { "waits" } else { "wait" };
    format!("{} {waits}, sealed with the key {names}", several(count, "program"))
}

/// What is said of programs of a store that wait and cannot go on with the keys of a file.
pub struct UnopenedPrograms {
    /// Of those whose key is not in it, if there are any.
    pub lacking: Option<String>,
    /// Of those that are damaged: with whichever file, they cannot go on.
    pub damaged: Option<String>,
}

/// Looks which programs of a store wait that cannot go on with the keys of a file.
pub fn unopened(store: &str, file: &Path) -> anyhow::Result<UnopenedPrograms> {
    // A file that is not needed is not looked into.
    let mut keys = None;
    let mut lacking = LackingKeys::default();
    copy::each_seal(store, |id, owner, sealed| {
        let keys = keys.get_or_insert_with(|| file.exists().then(|| Keys::load(file)));
        lacking.look(keys.as_ref().and_then(|keys| keys.as_ref().ok()), id, owner, sealed);
    })?;
    if let Some(Some(Err(problem))) = keys {
        bail!("{problem}");
    }
    let (count, damaged) = (lacking.count(), lacking.damaged);
    Ok(UnopenedPrograms {
        lacking: (count > 0).then(|| waits(count, &lacking.names())),
        damaged: (damaged > 0).then(|| {
            format!(
                "of {} what is sealed is damaged, or was sealed with another key of the same name, so that can only be rejected: \
                 `ptc tickets` says which",
                several(damaged, "program"),
            )
        }),
    })
}

fn read(from: &Path) -> anyhow::Result<Vec<u8>> {
    let mut keys = Vec::new();
    let file = std::fs::File::open(from).with_context(|| format!("cannot read {}", from.display()))?;
    file.take(KEYS_BYTES + 1).read_to_end(&mut keys)?;
    if keys.len() as u64 > KEYS_BYTES {
        bail!("{} is no file of keys: it is too long", from.display());
    }
    Ok(keys)
}

/// What is said of keys without a store.
const LEFT: &str = ". No store lies beside it: a command that was killed may have left it, and then remove it; if a store was moved \
                    away, its keys belong to it";

/// Refuses a place where there are other keys than these; the same ones were left by a command that was killed.
pub fn free(place: &Path, keys: &Path, first: &str) -> anyhow::Result<()> {
    if !place.exists() || (keys.exists() && read(place)? == read(keys)?) {
        return Ok(());
    }
    // Beside a store they are its own.
    let left = if place.with_extension("").exists() { "" } else { LEFT };
    bail!("{} is there already; {first}{left}", place.display())
}

/// Copies a file of keys into one that is not there, or has the same keys.
pub fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    owned::check(from, Reach::GroupReads).map_err(|problem| anyhow!("{problem}"))?;
    let keys = read(from)?;
    if to.exists() && read(to)? == keys {
        return Ok(());
    }
    let written = private::create_new(to).and_then(|mut file| {
        file.write_all(&keys)?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write {}", to.display()))
}
