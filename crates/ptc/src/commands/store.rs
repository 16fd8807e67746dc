//! `ptc store`: copies of what servers keep, with the keys that belong to it, and a thorough look.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use ptc_store::{Store, copy, log_check};
use ptc_system::owned::{self, Reach};
use ptc_system::private;

use super::ignore_closed_pipe;
use crate::agents::grouped;
use crate::exit::Outcome;
use crate::terminal::{self, plain};

/// Copy a store while servers use it, put a copy in place, and look for damage.
///
/// A store is an SQLite file, with the keys of programs that wait for people beside it (FILE.keys). A database on a server
/// has tools of its own; keep the file of --ticket-keys with what they copy.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Copy a store, whole and at one moment, while servers write it.
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
    Restore {
        /// The copy
        copy: String,
        /// The store; a file that is not there
        store: PathBuf,
    },
    /// Look for damage: in the log, and in all pages and indexes.
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
  2  the command line or a file makes no sense

Examples:
  ptc store backup server.db backups/2026-11-17.db
  ptc store restore backups/2026-11-17.db server.db
  ptc store check server.db";

/// The longest file of keys that is copied.
const KEYS_BYTES: u64 = 1 << 20;

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Backup { store, copy, ticket_keys } => backup(&store, &copy, ticket_keys.as_deref()),
        Command::Restore { copy, store } => restore(&copy, &store),
        Command::Check { store, accept_loss } => check(&store, accept_loss),
    }
}

/// Refuses a store whose log is damaged, before it is opened: it would go on from an older state without a word.
pub fn undamaged(place: &str) -> anyhow::Result<()> {
    match log_check::damage(place)? {
        None => Ok(()),
        Some(damage) => bail!(
            "store {place}: {damage}, so what was done since may be done again; restore a backup, or go on without it: \
             ptc store check {place} --accept-loss"
        ),
    }
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
    if let Some(damage) = log_check::damage(store)? {
        if !accept_loss {
            said(&format!(
                "{store}: {damage}. Whatever was done since the break may be done again. Restore a backup; or stop the \
                 servers and go on without it: ptc store check {store} --accept-loss"
            ))?;
            return Ok(Outcome::Failed);
        }
        copy::forget_log(store)?;
        said(&format!("{store}: {damage}; the store goes on without them"))?;
    }
    let found = copy::check(store)?;
    if found.is_empty() {
        return said(&format!("{store}: nothing is wrong"));
    }
    for line in &found {
        said(&format!("{store}: {line}"))?;
    }
    Ok(Outcome::Failed)
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
