//! `ptc store`: copies of what servers keep, with the keys that belong to it, and a thorough look.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use ptc_store::log_check::{self, Damage};
use ptc_store::{Store, copy, rescue};
use ptc_system::owned::{self, Reach};
use ptc_system::private;

use super::ignore_closed_pipe;
use crate::agents::{grouped, several};
use crate::exit::Outcome;
use crate::terminal::{self, errln, plain};

/// Copy a store while servers use it, put a copy in place, look for damage, and save what is left.
///
/// A store is an SQLite file, with the keys of programs that wait for people beside it (FILE.keys). A database on a server
/// has tools of its own; keep the file of --ticket-keys with what they copy.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, clap::Subcommand)]
enum StoreCommand {
    /// Copy a store, whole and at one moment, while servers write it.
    ///
    /// The copy is another store: plans that belong to the one that is copied are not applied with it.
    Backup {
        /// The store
        store: String,
        /// Where the copy goes; a file that is not there
        copy: PathBuf,
        /// The file of keys that the servers were given, if it is not FILE.keys
        #[arg(long, value_name = "FILE")]
        ticket_keys: Option<PathBuf>,
    },
    /// Put a copy where a store is to be. What is there already is not touched.
    ///
    /// It does not know what was done since the copy was made, so plans of the store that was copied are refused.
    Restore {
        /// The copy
        copy: String,
        /// The store; a file that is not there
        store: PathBuf,
    },
    /// Save what can still be read of a store with damaged pages into another one.
    ///
    /// The damaged store is left as it is. What cannot be read is not in the other one: calls and requests that are missing
    /// there may be done again, and plans of the damaged store are refused.
    Rescue {
        /// The damaged store
        store: String,
        /// Where the other one goes; a file that is not there
        saved: PathBuf,
    },
    /// Look for damage: in the log, and in all pages and indexes. Where there is no store, none is made.
    Check {
        /// The store
        store: String,
        /// Go on without what stands behind a break in the log: it is gone for good, and may be done again
        #[arg(long)]
        accept_loss: bool,
    },
}

const AFTER_HELP: &str = "\
Exit codes:
  0  it is done, or nothing is wrong
  1  something is damaged
  2  the command line or a file makes no sense, or there is no store

Examples:
  ptc store backup server.db backups/2026-11-17.db
  ptc store restore backups/2026-11-17.db server.db
  ptc store check server.db
  ptc store rescue damaged.db server.db";

/// Findings that are told one by one.
const FINDINGS: usize = 10;

/// The longest file of keys that is copied.
const KEYS_BYTES: u64 = 1 << 20;

/// Runs the command.
pub fn run(args: StoreArgs) -> anyhow::Result<Outcome> {
    match args.command {
        StoreCommand::Backup { store, copy, ticket_keys } => backup(&store, &copy, ticket_keys.as_deref()),
        StoreCommand::Restore { copy, store } => restore(&copy, &store),
        StoreCommand::Rescue { store, saved } => save(&store, &saved),
        StoreCommand::Check { store, accept_loss } => check(&store, accept_loss),
    }
}

/// Refuses a store whose log has lost something that was acknowledged, before it is opened: it would go on from an older
/// state without a word. What a loss of power leaves behind is given, for whoever tells of it; with that a store goes on.
pub fn acknowledged(place: &str) -> anyhow::Result<Option<Damage>> {
    match log_check::damage(place)? {
        Some(damage) if !damage.is_harmless() => bail!(
            "store {place}: {damage}, so what was done since may be done again; restore a backup, or go on without it: \
             ptc store check {place} --accept-loss"
        ),
        torn => Ok(torn),
    }
}

/// The same, told here.
pub fn undamaged(place: &str) -> anyhow::Result<()> {
    if let Some(torn) = acknowledged(place)? {
        errln!("ptc: store {place}: {torn}");
    }
    Ok(())
}

/// Opens a store that is there and whose log is not damaged, for a look: opening it would already drop what is behind the damage.
pub fn open_existing(place: &str) -> anyhow::Result<Store> {
    undamaged(place)?;
    Ok(Store::open_existing(place)?)
}

fn backup(store: &str, to: &Path, ticket_keys: Option<&Path>) -> anyhow::Result<Outcome> {
    undamaged(store)?;
    let keys = ticket_keys.map_or_else(|| beside(Path::new(store)), Path::to_owned);
    let to_keys = beside(to);
    if to_keys.exists() {
        bail!("{} is there already; name another file", to_keys.display());
    }
    let bytes = copy::copy(store, to)?;
    // Behind the store: whatever was sealed up to there has its key by now.
    let with = match (keys.exists(), ticket_keys) {
        (true, _) => {
            copy_keys(&keys, &to_keys)?;
            format!(", with the keys of {}", keys.display())
        }
        (false, Some(_)) => bail!("--ticket-keys: there is no {}", keys.display()),
        (false, None) => ", without keys: there are none beside it".to_owned(),
    };
    said(&format!("{store} is copied to {}: {} bytes{with}", to.display(), grouped(bytes)))
}

fn restore(from: &str, store: &Path) -> anyhow::Result<Outcome> {
    undamaged(from)?;
    // What SQLite would take for parts of the store.
    for ending in ["", "-wal", "-shm", "-journal", ".keys"] {
        let part = PathBuf::from(format!("{}{ending}", store.display()));
        if part.exists() {
            bail!("{} is there already; stop the servers and move it away first", part.display());
        }
    }
    let bytes = copy::copy(from, store)?;
    let (keys, to_keys) = (beside(Path::new(from)), beside(store));
    let with = match keys.exists() {
        true => {
            copy_keys(&keys, &to_keys)?;
            ", with its keys"
        }
        false => ", without keys: programs that wait for people can go on only with those of the servers",
    };
    said(&format!("{} is restored from {from}: {} bytes{with}", store.display(), grouped(bytes)))
}

fn check(store: &str, accept_loss: bool) -> anyhow::Result<Outcome> {
    let place = ptc_store::shown(store);
    match log_check::damage(store)? {
        None => {}
        Some(torn) if torn.is_harmless() => {
            said(&format!("{place}: {torn}"))?;
        }
        Some(damage) if !accept_loss => {
            said(&format!(
                "{place}: {damage}. Whatever was done since the break may be done again. Restore a backup; or stop the \
                 servers and go on without it: ptc store check {place} --accept-loss"
            ))?;
            return Ok(Outcome::Failed);
        }
        Some(damage) => {
            copy::forget_log(store)?;
            said(&format!(
                "{place}: {damage}; the store goes on without them, and plans that belonged to it do not any more"
            ))?;
        }
    }
    let found = copy::check(store)?;
    if found.is_empty() {
        return said(&format!("{place}: nothing is wrong"));
    }
    for line in found.iter().take(FINDINGS) {
        said(&format!("{place}: {line}"))?;
    }
    if found.len() > FINDINGS {
        said(&format!("{place}: and {} more", found.len() - FINDINGS))?;
    }
    for line in saved(store)? {
        said(&line)?;
    }
    Ok(Outcome::Failed)
}

/// What can be saved of a store with damaged pages, and how.
fn saved(store: &str) -> anyhow::Result<Vec<String>> {
    let tables = rescue::readable(store)?;
    let listed = |whole: bool| {
        let some = tables.iter().filter(|table| table.is_whole == whole);
        some.map(|table| format!("{} ({})", table.name, several(table.rows, "row")))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (whole, rest) = (listed(true), listed(false));
    let mut lines = vec![match whole.is_empty() {
        true => format!("{store}: no table of it can be read to its end"),
        false => format!("{store}: these tables can be read to their ends: {whole}"),
    }];
    if !rest.is_empty() {
        lines.push(format!("{store}: these cannot: {rest}"));
    }
    lines.push(format!(
        "Stop the servers, move the store away and restore a backup: ptc store restore COPY {store}. Without one, save \
         what can be read: ptc store rescue {store} SAVED. What is missing from ptc_effects and ptc_requests may be done again"
    ));
    Ok(lines)
}

fn save(store: &str, to: &Path) -> anyhow::Result<Outcome> {
    undamaged(store)?;
    let to_keys = beside(to);
    if to_keys.exists() {
        bail!("{} is there already; name another file", to_keys.display());
    }
    let tables = rescue::rescue(store, to)?;
    let keys = beside(Path::new(store));
    if keys.exists() {
        copy_keys(&keys, &to_keys)?;
    }
    for table in &tables {
        let rows = several(table.rows, "row");
        match table.is_whole {
            true => said(&format!("{}: all of it, {rows}", table.name))?,
            false => said(&format!("{}: {rows}; the others cannot be read", table.name))?,
        };
    }
    said(&format!("{} has what could be read of {store}", to.display()))
}

/// The keys that belong to a store.
fn beside(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}.keys", store.display()))
}

fn copy_keys(from: &Path, to: &Path) -> anyhow::Result<()> {
    owned::check(from, Reach::GroupReads).map_err(|problem| anyhow!("{problem}"))?;
    let mut keys = Vec::new();
    let file = std::fs::File::open(from).with_context(|| format!("cannot read {}", from.display()))?;
    file.take(KEYS_BYTES + 1).read_to_end(&mut keys)?;
    if keys.len() as u64 > KEYS_BYTES {
        bail!("{} is no file of keys: it is too long", from.display());
    }
    let written = private::create_new(to).and_then(|mut file| {
        file.write_all(&keys)?;
        file.sync_all()
    });
    written.with_context(|| format!("cannot write {}", to.display()))
}

fn said(line: &str) -> anyhow::Result<Outcome> {
    ignore_closed_pipe(writeln!(terminal::stdout(), "{}", plain(line)))?;
    Ok(Outcome::Done)
}
