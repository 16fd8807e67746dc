//! `ptc effects`: calls that may have changed something and whose outcome nobody knows.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{anyhow, bail};
use ptc_server::effects::StoreJournal;
use ptc_store::Store;
use ptc_store::effects::{EffectError, Finding, Gap};
use serde_json::{Value as Json, json};

use super::eval::ignore_closed_pipe;
use super::{open_existing, undamaged};
use crate::agents::{Checkpoints, STORE, run_of, several, usual as usual_runs};
use crate::exit::Outcome;
use crate::terminal::{self, plain};
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

    /// Print a JSON line for each instead of text
    #[arg(long)]
    json: bool,
}

/// Where calls were written down.
#[derive(Clone, Debug, clap::Args)]
struct JournalPlace {
    /// The store of a server or of `ptc apply`; the files of this user, unless told
    #[arg(long, value_name = "PLACE", conflicts_with = "checkpoint")]
    store: Option<String>,

    /// The folder of `ptc run --checkpoint DIR`
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
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

    fn has(&self, gap: &Gap) -> bool {
        let age = u64::try_from(ptc_host::now_ms().saturating_sub(gap.begun_ms)).unwrap_or_default();
        self.upstream.as_ref().is_none_or(|name| *name == gap.server)
            && self.older_than.is_none_or(|least| Duration::from_millis(age) >= least)
    }
}

#[derive(Debug, clap::Subcommand)]
enum EffectsCommand {
    /// Note what became of a call, or of several, so that they are not listed any more.
    ///
    /// Whoever tries again is told what you found: a plan that is applied again, a request that comes again, a run that is
    /// resumed. So settle the calls of a run before it goes on. Calls that are under way cannot be settled.
    Settle(Settle),
}

#[derive(Debug, clap::Args)]
struct Settle {
    /// The identity of the call, or its beginning; where several are meant, what you found
    #[arg(value_name = "IDENTITY")]
    first: String,

    /// What you found
    #[arg(value_name = "NOTE")]
    second: Option<String>,

    /// All calls that are listed, but for those under way
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    which: WhichCalls,

    /// The call happened: whoever tries again gets this JSON, null unless told, as its result
    #[arg(long, value_name = "JSON", value_parser = json_value, num_args = 0..=1, default_missing_value = "null", require_equals = true, conflicts_with = "did_not_happen")]
    happened: Option<Json>,

    /// The call did not happen: whoever tries again makes it
    #[arg(long)]
    did_not_happen: bool,

    #[command(flatten)]
    place: JournalPlace,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  no call is without an answer, or they were settled
  1  there are such calls
  2  the command line or the store makes no sense, or the call is under way

Examples:
  ptc effects --store server.db --older-than 1d
  ptc effects settle 3f2a99 'the mail did go out' --happened --store server.db
  ptc effects settle 3f2a99 'no such order' --did-not-happen --store server.db
  ptc effects settle --all --older-than 7d 'too old to matter' --store server.db
  ptc effects settle --upstream crm 'compared with its log' --happened --store server.db";

/// A value that is written as JSON. Without this a text would be one that has the JSON in it.
fn json_value(text: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}; a text stands in quotes: '\"text\"'"))
}

/// Runs the command.
pub fn run(args: EffectsArgs) -> anyhow::Result<Outcome> {
    match args.command {
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
            let file = folder.join(STORE);
            if !file.is_file() {
                bail!("there are no checkpoints in {}", folder.display());
            }
            file.to_string_lossy().into_owned()
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
}

impl Listed {
    /// Notes what a person found out; false, and nothing is noted, if a process is making the call.
    fn settle(&self, finding: &Finding, note: &str) -> anyhow::Result<bool> {
        if self.under_way {
            return Ok(false);
        }
        match self.journal.settle(&self.gap, finding, note) {
            // It was begun once more since it was listed.
            Err(EffectError::UnderWay) => Ok(false),
            settled => Ok(settled.map(|()| true)?),
        }
    }
}

/// The calls without an answer of all places that are meant, each with its journal.
fn gaps(place: &JournalPlace) -> anyhow::Result<Vec<Listed>> {
    let mut all = Vec::new();
    if place.checkpoint.is_none() {
        if let Some(store) = &place.store {
            // A slip in the path must not be told as a store in which all is well.
            open_existing(store)?;
        }
        add(&mut all, journal(place.store.as_deref(), None)?, |_| false)?;
    }
    let folder = match (&place.checkpoint, &place.store) {
        (Some(folder), _) => Some(folder.clone()),
        (None, None) => usual_runs().ok().filter(|folder| folder.join(STORE).is_file()),
        (None, Some(_)) => None,
    };
    if let Some(folder) = folder {
        let (journal, runs) = (journal(None, Some(&folder))?, Checkpoints::open(Some(&folder))?);
        runs.tell_all_gaps()?;
        // A run that goes on has a lock, which goes with its process.
        add(&mut all, journal, |gap| run_of(&gap.scope).is_some_and(|run| runs.is_held(run)))?;
    }
    Ok(all)
}

fn add(all: &mut Vec<Listed>, journal: StoreJournal, is_held: impl Fn(&Gap) -> bool) -> anyhow::Result<()> {
    let gaps = journal.gaps().map_err(anyhow::Error::msg)?;
    // Afterwards: a call that ended in between has its answer, which no settling changes.
    let told: BTreeSet<_> = journal.calls_under_way().map_err(anyhow::Error::msg)?.into_iter().collect();
    for gap in gaps {
        let under_way = is_held(&gap) || told.contains(&(gap.scope.clone(), gap.identity.clone()));
        all.push(Listed { journal: journal.clone(), gap, under_way });
    }
    Ok(())
}

fn list(place: &JournalPlace, which: &WhichCalls, as_json: bool) -> anyhow::Result<Outcome> {
    let gaps: Vec<Listed> = gaps(place)?.into_iter().filter(|listed| which.has(&listed.gap)).collect();
    let mut lines: Vec<String> = gaps.iter().map(|listed| line(listed, as_json)).collect();
    if lines.is_empty() && !as_json {
        let such = if which.any() { "every such call" } else { "every call" };
        lines.push(format!("{such} that was begun has its answer"));
    }
    let mut out = terminal::stdout();
    ignore_closed_pipe(lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(if gaps.is_empty() { Outcome::Done } else { Outcome::Failed })
}

fn line(Listed { gap, under_way, .. }: &Listed, as_json: bool) -> String {
    let begun = jiff::Timestamp::from_millisecond(gap.begun_ms).map(|at| at.to_string()).unwrap_or_default();
    let Gap { scope, identity, server, tool, args, .. } = gap;
    match as_json {
        true => json!({"identity": identity, "scope": scope, "server": server, "tool": tool, "args": args,
                       "begun": begun, "under_way": under_way})
        .to_string(),
        false => {
            let mark = if *under_way { "  under way" } else { "" };
            plain(&format!("{identity}  {begun}  {server}/{tool} {args}  ({scope}){mark}"))
        }
    }
}

impl Settle {
    fn run(self) -> anyhow::Result<Outcome> {
        let finding = match (&self.happened, self.did_not_happen) {
            // As the journal keeps answers.
            (Some(value), _) => Finding::Happened(json!({"ok": true, "value": value, "kind": "json"})),
            (None, true) => Finding::DidNotHappen,
            (None, false) => Finding::Dismissed,
        };
        let gaps = gaps(&self.place)?;
        let said = match (self.all || self.which.any(), &self.second) {
            (true, None) => self.several(&gaps, &finding)?,
            (true, Some(_)) => {
                bail!("name one call by its identity, or several with --all, --upstream and --older-than")
            }
            (false, Some(note)) => one(&gaps, &self.first, &finding, note)?,
            (false, None) => bail!("say what you found: ptc effects settle IDENTITY 'what you found'"),
        };
        ignore_closed_pipe(writeln!(terminal::stdout(), "{said}"))?;
        Ok(Outcome::Done)
    }

    /// Settles all that are meant and not under way.
    fn several(&self, gaps: &[Listed], finding: &Finding) -> anyhow::Result<String> {
        let meant = gaps.iter().filter(|listed| self.which.has(&listed.gap));
        let (mut settled, mut under_way) = (0, 0);
        for listed in meant {
            match listed.settle(finding, &self.first)? {
                true => settled += 1,
                false => under_way += 1,
            }
        }
        let left = match under_way {
            0 => String::new(),
            1 => "; 1 is under way and was left".to_owned(),
            more => format!("; {more} are under way and were left"),
        };
        Ok(format!("settled {}{left}", several(settled, "call")))
    }
}

/// What somebody may look for here in vain.
const NOT_LISTED: &str = "`ptc effects` lists them. Calls of missions on Restate cannot be settled: their programs were told \
                          that the outcome is unknown, and have gone on";

fn one(gaps: &[Listed], identity: &str, finding: &Finding, note: &str) -> anyhow::Result<String> {
    let mut alike = gaps.iter().filter(|listed| listed.gap.identity.starts_with(identity));
    let listed = match (alike.next(), alike.next()) {
        (Some(found), None) if !identity.is_empty() => found,
        (Some(_), _) => bail!("more than one call begins with `{identity}`; write more of it"),
        (None, _) => bail!("no call without an answer begins with `{identity}`; {NOT_LISTED}"),
    };
    let gap = &listed.gap;
    if !listed.settle(finding, note)? {
        bail!(
            "{}/{} is under way in a process that goes on; settle it if it has no answer when that has ended",
            gap.server,
            plain(&gap.tool)
        );
    }
    Ok(format!("settled {} {}/{}", gap.identity, gap.server, plain(&gap.tool)))
}
