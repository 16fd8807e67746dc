//! `ptc effects`: calls that may have changed something, whose outcome nobody knows or that are over.

mod over;
mod settle;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use ptc_host::called_at;
use ptc_server::effects::{StoreJournal, key_in, owner_in};
use ptc_store::Store;
use ptc_store::effects::{Gap, OverCall};
use serde_json::{Value as Json, json};

use super::eval::ignore_closed_pipe;
use super::{asked_store, open_existing, undamaged};
use crate::agents::{Checkpoints, STORE, has_runs, usual as usual_runs};
use crate::exit::Outcome;
use crate::plans::store::{Unseen, elsewhere};
use crate::terminal::{self, errln, plain};
use crate::values;

/// List calls whose outcome is not known, and note what became of them.
///
/// A call that may change something is written down before it is made and after it was answered. One without an answer
/// was made by a process that ended too early, or ended with no word from the server. It may or may not have happened, and
/// it is not made again. One that a process is making right now is marked as under way. Calls of an agent's own tools are
/// listed as tool/NAME.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct EffectsArgs {
    #[command(subcommand)]
    command: Option<EffectsCommand>,

    #[command(flatten)]
    place: JournalPlace,

    #[command(flatten)]
    which: WhichCalls,

    /// List calls that have their answers instead, for as long as the store keeps them
    #[arg(long, conflicts_with = "settled")]
    done: bool,

    /// List calls that people settled instead, with what they found
    #[arg(long)]
    settled: bool,

    /// Print a JSON line for each instead of text
    #[arg(long)]
    json: bool,
}

/// Where calls were written down.
#[derive(Clone, Debug, clap::Args)]
struct JournalPlace {
    /// The store of a server or of `ptc apply`; what PTC_RUNNER_MCP_STORE names, else the files of this user, unless told
    #[arg(long, value_name = "PLACE", conflicts_with = "checkpoint")]
    store: Option<String>,

    /// The folder of `ptc run --checkpoint DIR`
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
}

impl JournalPlace {
    /// The store that is named, here or in the environment.
    fn store(&self) -> Option<String> {
        match &self.checkpoint {
            Some(_) => None,
            None => asked_store(self.store.as_deref()),
        }
    }
}

/// Which calls are meant.
#[derive(Clone, Debug, clap::Args)]
struct WhichCalls {
    /// Calls of this server; `tool` for an agent's own tools
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,

    /// Calls that were begun so long ago: 30m, 12h, 7d
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    older_than: Option<Duration>,
}

impl WhichCalls {
    fn any(&self) -> bool {
        self.upstream.is_some() || self.older_than.is_some()
    }

    /// Whether a call of this server is meant that was begun then.
    fn has(&self, server: &str, begun_ms: i64) -> bool {
        let age = u64::try_from(ptc_host::now_ms().saturating_sub(begun_ms)).unwrap_or_default();
        self.upstream.as_ref().is_none_or(|name| name == server)
            && self.older_than.is_none_or(|least| Duration::from_millis(age) >= least)
    }
}

#[derive(Debug, clap::Subcommand)]
enum EffectsCommand {
    /// Note what became of a call, or of several, so that they are not listed any more.
    ///
    /// Whoever tries again is told what you found: a plan that is applied again, a request that comes again, a run that is
    /// resumed. So settle the calls of a run before it goes on. A request that was answered keeps its reply: whoever sends it
    /// again gets that, and the call is made only by a request under another key. Calls that are under way cannot be settled.
    /// A call that was settled without --happened or --did-not-happen can be settled again with one of them; that is final.
    #[command(
        override_usage = "ptc effects settle IDENTITY NOTE [OPTIONS]\n       ptc effects settle --all --note TEXT [OPTIONS]"
    )]
    Settle(settle::Settle),
}

const AFTER_HELP: &str = "\
Exit codes:
  0  no call is without an answer, they were settled, or those that are over are listed
  1  there are such calls
  2  the command line or a store makes no sense, a store of plans cannot be looked into, or the call is under way

Examples:
  ptc effects --store server.db --older-than 1d
  ptc effects --done --upstream crm --store server.db
  ptc effects --settled --store server.db
  ptc effects settle 3f2a99 'the mail did go out' --happened --store server.db
  ptc effects settle 3f2a99 'no such order' --did-not-happen --store server.db
  ptc effects settle 8b01c2 'asked the team behind crm' --store server.db
  ptc effects settle --all --older-than 7d --note 'too old to matter' --store server.db
  ptc effects settle --all --upstream crm --note 'compared with its log' --happened --store server.db";

/// Runs the command.
pub fn run(args: EffectsArgs) -> anyhow::Result<Outcome> {
    match args.command {
        None if args.done || args.settled => over::list(&args.place, &args.which, args.settled, args.json),
        None => list(&args.place, &args.which, args.json),
        Some(EffectsCommand::Settle(settle)) => settle.run(),
    }
}

/// Where calls of plans are written down if no store is named.
pub fn usual() -> Option<String> {
    let folder = terminal::state_folder()?;
    Some(folder.join("effects.db").to_string_lossy().into_owned())
}

/// The journal in a store, in a folder of checkpoints, or that of this user.
pub fn journal(store: Option<&str>, checkpoint: Option<&Path>) -> anyhow::Result<StoreJournal> {
    let place = match (store, checkpoint) {
        (Some(place), _) => place.to_owned(),
        (None, Some(folder)) => {
            if !has_runs(folder)? {
                bail!("there are no checkpoints in {}", folder.display());
            }
            folder.join(STORE).to_string_lossy().into_owned()
        }
        (None, None) => {
            usual().ok_or_else(|| anyhow!("there is no HOME to keep calls in; name a store with --store"))?
        }
    };
    undamaged(&place)?;
    Ok(StoreJournal::new(Arc::new(Store::open(&place)?)).openly())
}

/// A call without an answer.
struct Listed {
    journal: StoreJournal,
    gap: Gap,
    /// Whether a process is making it.
    under_way: bool,
    /// Whether a person settled it before, without saying what became of it.
    dismissed: bool,
}

/// Where calls were written down.
struct OpenedJournal {
    journal: StoreJournal,
    /// The runs that it belongs to, if it lies beside runs.
    runs: Option<Checkpoints>,
    /// The scopes that are meant, if not all of them are.
    scopes: Option<BTreeSet<String>>,
}

impl OpenedJournal {
    fn whole(journal: StoreJournal) -> OpenedJournal {
        OpenedJournal { journal, runs: None, scopes: None }
    }

    /// Whether calls of a scope are meant.
    fn has(&self, scope: &str) -> bool {
        self.scopes.as_ref().is_none_or(|scopes| scopes.contains(scope))
    }
}

/// All places that are meant, and what is to be said of those that cannot be looked into.
struct OpenedJournals {
    all: Vec<OpenedJournal>,
    unseen: Vec<Unseen>,
}

impl OpenedJournals {
    /// How a look at all places went that found nothing wrong: not well if one was left out that is there.
    fn outcome(&self) -> Outcome {
        self.unseen.iter().for_each(|unseen| errln!("ptc: {}", plain(&unseen.why)));
        if self.unseen.iter().all(|unseen| unseen.is_gone) { Outcome::Done } else { Outcome::Usage }
    }
}

/// The folder of runs whose store this is, if it is one.
fn folder_of_runs(store: &str) -> Option<PathBuf> {
    let store = Path::new(store);
    let is_of_runs = store.file_name().is_some_and(|name| name == STORE) && store.is_file();
    is_of_runs.then(|| Path::new(".").join(store.parent().unwrap_or(Path::new(""))))
}

/// Opens all places that are meant.
fn journals(place: &JournalPlace) -> anyhow::Result<OpenedJournals> {
    let (mut all, mut unseen, store) = (Vec::new(), Vec::new(), place.store());
    // Runs are looked at with their locks, by whichever name.
    let runs = place.checkpoint.clone().or_else(|| folder_of_runs(store.as_deref()?));
    if runs.is_none() {
        if let Some(store) = &store {
            // A slip in the path must not be told as a store in which all is well.
            open_existing(store)?;
        }
        all.push(OpenedJournal::whole(journal(store.as_deref(), None)?));
    }
    if let (Some(usual), None) = (all.first(), &store) {
        let mut others = Vec::new();
        for other in elsewhere(&usual.journal)? {
            let (journal, why) = other.open();
            let of_plans = |journal| OpenedJournal { journal, runs: None, scopes: Some(other.scopes) };
            others.extend(journal.map(of_plans));
            unseen.extend(why);
        }
        all.append(&mut others);
    }
    let usual = || usual_runs().ok().filter(|folder| folder.join(STORE).is_file());
    if let Some(folder) = runs.or_else(|| store.is_none().then(usual).flatten()) {
        let (journal, runs) = (journal(None, Some(&folder))?, Checkpoints::open(Some(&folder))?);
        all.push(OpenedJournal { journal, runs: Some(runs), scopes: None });
    }
    Ok(OpenedJournals { all, unseen })
}

/// The calls without an answer of all places that are meant, each with its journal.
fn gaps(journals: &OpenedJournals) -> anyhow::Result<Vec<Listed>> {
    let mut all = Vec::new();
    for opened in &journals.all {
        if let Some(runs) = &opened.runs {
            runs.tell_all_gaps()?;
        }
        add(&mut all, opened)?;
    }
    Ok(all)
}

fn add(all: &mut Vec<Listed>, opened: &OpenedJournal) -> anyhow::Result<()> {
    let OpenedJournal { journal, runs, .. } = opened;
    let gaps = journal.gaps().map_err(anyhow::Error::msg)?;
    // Afterwards: a call that ended in between has its answer, which no settling changes.
    let told: BTreeSet<_> = journal.calls_under_way().map_err(anyhow::Error::msg)?.into_iter().collect();
    for gap in gaps.into_iter().filter(|gap| opened.has(&gap.scope)) {
        let under_way = told.contains(&(gap.scope.clone(), gap.identity.clone()));
        all.push(Listed { journal: journal.clone(), gap, under_way, dismissed: false });
    }
    // Of runs that go on: their calls of own tools have rows only when nobody waits for the answers any more.
    for gap in runs.as_ref().map_or(Ok(Vec::new()), Checkpoints::calls_under_way)? {
        all.push(Listed { journal: journal.clone(), gap, under_way: true, dismissed: false });
    }
    Ok(())
}

fn list(place: &JournalPlace, which: &WhichCalls, as_json: bool) -> anyhow::Result<Outcome> {
    let meant = |listed: &Listed| which.has(&listed.gap.server, listed.gap.begun_ms);
    let journals = journals(place)?;
    let gaps: Vec<Listed> = gaps(&journals)?.into_iter().filter(meant).collect();
    let mut lines: Vec<String> = gaps.iter().map(|listed| line(listed, as_json)).collect();
    if lines.is_empty() && !as_json {
        let such = if which.any() { "every such call" } else { "every call" };
        let seen = if journals.unseen.is_empty() { "" } else { ", where that can be looked up" };
        lines.push(format!("{such} that was written down has its answer{seen}"));
    }
    print(&lines)?;
    let looked = journals.outcome();
    Ok(if gaps.is_empty() { looked } else { Outcome::Failed })
}

fn print(lines: &[String]) -> anyhow::Result<()> {
    let mut out = terminal::stdout();
    ignore_closed_pipe(lines.iter().try_for_each(|line| writeln!(out, "{line}")))
}

/// Whose call it is and under which key, if that is known. The scope of a ticket does not say whose it is.
struct Whose<'s> {
    scope: &'s str,
    owner: Option<String>,
    key: Option<&'s str>,
}

impl<'s> Whose<'s> {
    fn of(scope: &'s str, of_ticket: Option<String>) -> Whose<'s> {
        let owner = owner_in(scope).map(str::to_owned).or(of_ticket);
        Whose { scope, owner, key: key_in(scope) }
    }
}

/// In words, with the scope where that says more.
impl std::fmt::Display for Whose<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.owner, self.key) {
            (Some(owner), Some(key)) => write!(f, "owner {owner}, key {key}"),
            (Some(owner), None) if owner_in(self.scope).is_some() => write!(f, "owner {owner}, no key"),
            (Some(owner), None) => write!(f, "owner {owner}, {}", self.scope),
            (None, _) => write!(f, "{}", self.scope),
        }
    }
}

fn line(listed: &Listed, as_json: bool) -> String {
    let Listed { journal, gap, under_way, .. } = listed;
    let begun = called_at(gap.begun_ms);
    let whose = Whose::of(&gap.scope, journal.owner(&gap.scope));
    let Gap { identity, server, tool, args, .. } = gap;
    match as_json {
        true => {
            let mut all = fields(gap, &whose);
            all["under_way"] = json!(under_way);
            all.to_string()
        }
        false => {
            let mark = if *under_way { "  under way" } else { "" };
            plain(&format!("{identity}  {begun}  {server}/{tool} {args}  ({whose}){mark}"))
        }
    }
}

/// What every list says of a call. What the other lists say besides is null.
fn fields(gap: &Gap, whose: &Whose<'_>) -> Json {
    json!({
        "identity": gap.identity, "scope": gap.scope, "owner": whose.owner, "key": whose.key, "server": gap.server,
        "tool": gap.tool, "args": gap.args, "begun": called_at(gap.begun_ms), "under_way": false, "ended": null,
        "answer_bytes": null, "finding": null, "note": null,
    })
}

/// A call that is over, as lists name calls.
fn as_gap(call: &OverCall) -> Gap {
    let OverCall { scope, identity, server, tool, args, begun_ms, .. } = call.clone();
    Gap { scope, identity, server, tool, args, begun_ms, maker: None, silent_maker: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_said_whose_a_call_is_and_under_which_key() {
        for (scope, of_ticket, owner, key, text) in [
            ("request:ann:order:7", None, Some("ann"), Some("order:7"), "owner ann, key order:7"),
            ("call:ann:9f3c", None, Some("ann"), None, "owner ann, no key"),
            ("ticket:tkt-1", Some("ann"), Some("ann"), None, "owner ann, ticket:tkt-1"),
            ("ticket:tkt-1", None, None, None, "ticket:tkt-1"),
            ("plan:3f2a", None, None, None, "plan:3f2a"),
            // As earlier versions named calls without a key.
            ("call:9f3c", None, None, None, "call:9f3c"),
        ] {
            let whose = Whose::of(scope, of_ticket.map(str::to_owned));
            assert_eq!((whose.owner.as_deref(), whose.key, whose.to_string().as_str()), (owner, key, text));
        }
    }
}
