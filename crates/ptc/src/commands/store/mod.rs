//! `ptc store`: copies of what servers keep, with the keys that belong to it, and a thorough look.

mod keys;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use ptc_lisp::dump;
use ptc_server::engine::{has_definitions, wrong_ticket};
use ptc_store::check::{self, LookedRows, Readers};
use ptc_store::log_check::{self, Damage};
use ptc_store::{Draft, Store, copy, rescue};

use self::keys::{TriedKeys, UnopenedPrograms};
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
    /// The copy is another store: plans that belong to the one that is copied are not applied with it. If programs wait for
    /// people and are sealed with keys that are not found, nothing is copied.
    #[command(allow_missing_positional = true)]
    Backup {
        /// The store; what PTC_RUNNER_MCP_STORE names, unless told
        store: Option<String>,
        /// Where the copy goes; a file that is not there
        #[arg(required = true)]
        copy: PathBuf,
        /// The file of keys that the servers were given, if it is not FILE.keys
        #[arg(long, value_name = "FILE")]
        ticket_keys: Option<PathBuf>,
        /// Copy the store also if programs that wait cannot go on with the keys that are copied
        #[arg(long)]
        without_keys: bool,
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
    /// Look for damage: in the log, in all pages and indexes, and in what is kept of tickets, requests, calls and sessions. Where
    /// there is no store, none is made.
    ///
    /// Nothing is changed, neither the file nor its log. Each row that cannot be read is told, with what to do about it, and so are
    /// programs that wait for people and are sealed with keys that are not found. Of a database on a server, the tables are looked
    /// for and their rows counted and looked at likewise; pages and indexes are for the tools of the server (pg_amcheck).
    Check {
        /// The store; what PTC_RUNNER_MCP_STORE names, unless told
        store: Option<String>,
        /// The file of keys that the servers were given, if it is not FILE.keys; what PTC_RUNNER_MCP_TICKET_KEYS names, unless told
        #[arg(long, value_name = "FILE")]
        ticket_keys: Option<PathBuf>,
        /// Go on without what stands behind a break in the log: it is gone for good, and may be done again
        #[arg(long)]
        accept_loss: bool,
    },
}

const AFTER_HELP: &str = "\
Exit codes:
  0  it is done, or nothing is wrong
  1  something is damaged, or keys are missing of programs that wait in a store that is looked at
  2  the command line or a file makes no sense, there is no store, or keys of a copy are missing
  6  of a damaged store something was saved, and something is lost

Examples:
  ptc store backup server.db backups/2026-11-17.db
  ptc store restore backups/2026-11-17.db server.db
  ptc store check server.db
  PTC_RUNNER_MCP_STORE=postgres://ptc@localhost/ptc ptc store check
  ptc store rescue damaged.db server.db";

/// Findings that are told one by one.
const FINDINGS: usize = 10;

/// Runs the command.
pub fn run(args: StoreArgs) -> anyhow::Result<Outcome> {
    match args.command {
        StoreCommand::Backup { store, copy, ticket_keys, without_keys } => {
            let store = needed(store.as_deref(), "it before the copy")?;
            backup(&store, &copy, ticket_keys.as_deref(), without_keys)
        }
        StoreCommand::Restore { copy, store } => restore(&copy, &store),
        StoreCommand::Rescue { store, saved } => save(&store, &saved),
        StoreCommand::Check { store, ticket_keys, accept_loss } => {
            look(&needed(store.as_deref(), "it behind the command")?, ticket_keys.as_deref(), accept_loss)
        }
    }
}

/// Names the store of a server, so that an address need not stand in the command line.
const STORE: &str = "PTC_RUNNER_MCP_STORE";

/// The store that is named in the command line, else in the environment.
pub fn asked_store(named: Option<&str>) -> Option<String> {
    let elsewhere = || std::env::var(STORE).ok().filter(|place| !place.is_empty());
    named.map(str::to_owned).or_else(elsewhere)
}

/// The same where there must be one; `how` says how it is named.
pub fn needed(named: Option<&str>, how: &str) -> anyhow::Result<String> {
    asked_store(named).ok_or_else(|| anyhow!("no store is named; name {how}, or in {STORE}"))
}

/// What can be done where nothing of a store is left.
const BEGIN_ANEW: &str =
    "what was done may be done again: restore a backup, or move its files away to begin anew";

/// Refuses a store whose log has lost something that was acknowledged, before it is opened: it would go on from an older
/// state without a word. What a loss of power leaves behind is given, for whoever tells of it; with that a store goes on.
pub fn acknowledged(place: &str) -> anyhow::Result<Option<Damage>> {
    let found = log_check::damage(place)?;
    let place = ptc_store::shown(place);
    match found {
        Some(damage) if damage.is_total() => bail!("store {place}: {damage}; {BEGIN_ANEW}"),
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
        errln!("ptc: store {}: {torn}", ptc_store::shown(place));
    }
    Ok(())
}

/// Opens a store that is there and whose log is not damaged, for a look: opening it would already drop what is behind the damage.
pub fn open_existing(place: &str) -> anyhow::Result<Store> {
    undamaged(place)?;
    Ok(Store::open_existing(place)?)
}

fn backup(store: &str, to: &Path, ticket_keys: Option<&Path>, without_keys: bool) -> anyhow::Result<Outcome> {
    Draft::check_name(to)?;
    undamaged(store)?;
    let keys = ticket_keys.map_or_else(|| keys_of(store), |keys| Ok(keys.to_owned()))?;
    let to_keys = beside(to);
    keys::free(&to_keys, &keys, "name another file")?;
    if ticket_keys.is_some() && !keys.exists() {
        bail!("--ticket-keys: there is no {}", keys.display());
    }
    let UnopenedPrograms { lacking, damaged } = keys::unopened(store, &keys)?;
    if !without_keys && let Some(lacking) = &lacking {
        bail!(
            "{lacking}, which {} does not have; name the file of keys that the servers were given with --ticket-keys, or copy \
             the store --without-keys: those programs cannot go on from the copy",
            keys.display()
        );
    }
    let draft = copy::draft(store, to)?;
    // Behind the store: whatever was sealed up to there has its key by now. Before its name: what is there is whole.
    let with = match keys.exists() {
        true => {
            keys::copy(&keys, &to_keys)?;
            format!(", with the keys of {}", keys.display())
        }
        false => ", without keys: there are none beside it".to_owned(),
    };
    let bytes = draft.publish()?;
    let lacking = lacking.map(|lacking| format!("; {lacking}, which is not copied")).unwrap_or_default();
    let damaged = damaged.map(|damaged| format!("; {damaged}")).unwrap_or_default();
    let with = format!("{with}{lacking}{damaged}");
    said(&format!("{store} is copied to {}: {} bytes{with}", to.display(), grouped(bytes)))
}

fn restore(from: &str, store: &Path) -> anyhow::Result<Outcome> {
    Draft::check_name(store)?;
    undamaged(from)?;
    let first = "stop the servers and move it away first";
    // What SQLite would take for parts of the store.
    for ending in ["", "-wal", "-shm", "-journal"] {
        let part = PathBuf::from(format!("{}{ending}", store.display()));
        if part.exists() {
            bail!("{} is there already; {first}", part.display());
        }
    }
    let (keys, to_keys) = (keys_of(from)?, beside(store));
    keys::free(&to_keys, &keys, first)?;
    let draft = copy::draft(from, store)?;
    let with = match keys.exists() {
        true => {
            keys::copy(&keys, &to_keys)?;
            let UnopenedPrograms { lacking, damaged } = keys::unopened(from, &keys)?;
            let lacking = lacking.map(|lacking| format!("; {lacking}, which is not among them"));
            let damaged = damaged.map(|damaged| format!("; {damaged}"));
            format!(", with its keys{}{}", lacking.unwrap_or_default(), damaged.unwrap_or_default())
        }
        false => ", without keys: programs that wait for people can go on only with those of the servers"
            .to_owned(),
    };
    let bytes = draft.publish()?;
    said(&format!("{} is restored from {from}: {} bytes{with}", store.display(), grouped(bytes)))
}

fn look(store: &str, ticket_keys: Option<&Path>, accept_loss: bool) -> anyhow::Result<Outcome> {
    let place = ptc_store::shown(store);
    match log_check::damage(store)? {
        None => {}
        Some(torn) if torn.is_harmless() => {
            said(&format!("{place}: {torn}"))?;
        }
        Some(damage) if damage.is_total() => {
            said(&format!("{place}: {damage}; {BEGIN_ANEW}"))?;
            return Ok(Outcome::Failed);
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
                "{place}: {damage}; the store goes on with what is left, and plans that belonged to it do not any more"
            ))?;
        }
    }
    let found = copy::check(store)?;
    let keys = TriedKeys::find(ticket_keys, store)?;
    // Damage of pages keeps nobody from what else can be read.
    let rows = match looked_at(store, &keys) {
        Err(_) if !found.is_empty() => LookedRows::default(),
        looked => looked?,
    };
    keys.problem()?;
    for line in found.iter().take(FINDINGS) {
        said(&format!("{place}: {line}"))?;
    }
    if found.len() > FINDINGS {
        said(&format!("{place}: and {} more", found.len() - FINDINGS))?;
    }
    for line in &rows.found {
        said(&format!("{place}: {line}"))?;
    }
    if let Some(line) = keys.told(&rows) {
        said(&format!("{place}: {line}"))?;
    }
    let counted = copy::counted(store)?;
    if !found.is_empty() && counted.is_none() {
        for line in saved(store)? {
            said(&line)?;
        }
    }
    if !found.is_empty() || !rows.found.is_empty() || !rows.lacking.is_empty() {
        return Ok(Outcome::Failed);
    }
    let unasked = keys.unasked(&rows);
    said(&match counted {
        None => format!("{place}: nothing is wrong"),
        Some(tables) => format!(
            "{place}: all {} are there, with {}, and what is kept of tickets, requests, calls and sessions can be read; {unasked}pages \
             and indexes were not looked at, which pg_amcheck does; as far as that, nothing is wrong",
            several(tables.len() as u64, "table"),
            several(tables.iter().map(|table| table.rows).sum(), "row"),
        ),
    })
}

/// Looks at the rows of a store.
fn looked_at(store: &str, keys: &TriedKeys) -> anyhow::Result<LookedRows> {
    let readers = Readers {
        state: &|bytes| dump::look_at(bytes).err().map(|error| error.to_string()),
        defines: &has_definitions,
        ticket: wrong_ticket,
        seal: &|id, owner, sealed| keys.wrong_seal(id, owner, sealed),
    };
    Ok(check::rows(store, &readers)?)
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
    Draft::check_name(to)?;
    undamaged(store)?;
    let (keys, to_keys) = (keys_of(store)?, beside(to));
    keys::free(&to_keys, &keys, "name another file")?;
    let (draft, tables) = rescue::rescue(store, to)?;
    if keys.exists() {
        keys::copy(&keys, &to_keys)?;
    }
    draft.publish()?;
    for table in &tables {
        let rows = several(table.rows, "row");
        match table.is_whole {
            true => said(&format!("{}: all of it, {rows}", table.name))?,
            false => said(&format!("{}: {rows}; the others cannot be read", table.name))?,
        };
    }
    said(&format!("{} has what could be read of {store}", to.display()))?;
    Ok(match tables.iter().all(|table| table.is_whole) {
        true => Outcome::Done,
        false => Outcome::Partly,
    })
}

/// The keys that belong to a store that is there: beside its file, also if it is reached through a link.
fn keys_of(store: &str) -> anyhow::Result<PathBuf> {
    Ok(ptc_store::beside(store, ".keys")?.unwrap_or_else(|| beside(Path::new(store))))
}

/// The keys that belong to a store that is made.
fn beside(store: &Path) -> PathBuf {
    PathBuf::from(format!("{}.keys", store.display()))
}

fn said(line: &str) -> anyhow::Result<Outcome> {
    ignore_closed_pipe(writeln!(terminal::stdout(), "{}", plain(line)))?;
    Ok(Outcome::Done)
}
