//! `ptc effects`: calls that may have changed something and whose outcome nobody knows.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{anyhow, bail};
use ptc_server::effects::StoreJournal;
use ptc_store::Store;
use ptc_store::effects::{Finding, Gap};
use serde_json::{Value as Json, json};

use super::eval::ignore_closed_pipe;
use crate::agents::{Checkpoints, OWN, STORE, usual};
use crate::exit::Outcome;
use crate::terminal::{self, plain};

/// List calls whose outcome is not known, and note what became of them.
///
/// A call that may change something is written down before it is made and after it was answered. One without an answer
/// was made by a process that ended too early, or is under way, or ended with no word from the server. It may or may not
/// have happened, and it is not made again. Calls of an agent's own tools are listed as tool/NAME.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    place: Place,

    /// Print a JSON line for each instead of text
    #[arg(long)]
    json: bool,
}

/// Where calls were written down.
#[derive(Clone, Debug, clap::Args)]
struct Place {
    /// The store of a server or of `ptc apply`; the files of this user, unless told
    #[arg(long, value_name = "PLACE", conflicts_with = "checkpoint")]
    store: Option<String>,

    /// The folder of `ptc run --checkpoint DIR`
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Note what became of a call, so that it is not listed any more.
    Settle(Settle),
}

#[derive(Debug, clap::Args)]
struct Settle {
    /// The identity of the call, or its beginning
    identity: String,

    /// What you found
    note: String,

    /// The call happened: whoever tries again gets this JSON, null unless told, as its result
    #[arg(long, value_name = "JSON", num_args = 0..=1, default_missing_value = "null", require_equals = true, conflicts_with = "did_not_happen")]
    happened: Option<Json>,

    /// The call did not happen: whoever tries again makes it
    #[arg(long)]
    did_not_happen: bool,

    #[command(flatten)]
    place: Place,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  no call is without an answer, or it was settled
  1  there are such calls
  2  the command line or the store makes no sense

Examples:
  ptc effects --store server.db
  ptc effects settle 3f2a99 'the mail did go out' --happened --store server.db
  ptc effects settle 3f2a99 'no such order' --did-not-happen --store server.db";

/// Runs the command.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match args.command {
        None => list(&args.place, args.json),
        Some(Command::Settle(settle)) => settle.run(),
    }
}

/// The journal in a store, in a folder of checkpoints, or that of this user.
pub fn journal(store: Option<&str>, checkpoint: Option<&Path>) -> anyhow::Result<StoreJournal> {
    let usual = || terminal::state_folder().map(|folder| folder.join("effects.db"));
    let place = match (store, checkpoint) {
        (Some(place), _) => place.to_owned(),
        (None, Some(folder)) => {
            let file = folder.join(STORE);
            if !file.is_file() {
                bail!("there are no checkpoints in {}", folder.display());
            }
            file.to_string_lossy().into_owned()
        }
        (None, None) => usual()
            .ok_or_else(|| anyhow!("there is no HOME to keep calls in; name a store with --store"))?
            .to_string_lossy()
            .into_owned(),
    };
    Ok(StoreJournal::new(Arc::new(Store::open(&place)?)))
}

/// The gaps of all places that are meant, each with its journal.
fn gaps(place: &Place) -> anyhow::Result<Vec<(StoreJournal, Gap)>> {
    let mut journals = Vec::new();
    if place.checkpoint.is_none() {
        journals.push(journal(place.store.as_deref(), None)?);
    }
    let folder = match (&place.checkpoint, &place.store) {
        (Some(folder), _) => Some(folder.clone()),
        (None, None) => usual().ok().filter(|folder| folder.join(STORE).is_file()),
        (None, Some(_)) => None,
    };
    if let Some(folder) = folder {
        journals.push(journal(None, Some(&folder))?);
        Checkpoints::open(Some(&folder))?.tell_all_gaps()?;
    }
    let mut all = Vec::new();
    for journal in journals {
        let gaps = journal.gaps().map_err(anyhow::Error::msg)?;
        all.extend(gaps.into_iter().map(|gap| (journal.clone(), gap)));
    }
    Ok(all)
}

fn list(place: &Place, as_json: bool) -> anyhow::Result<Outcome> {
    let gaps = gaps(place)?;
    let mut lines: Vec<String> = gaps.iter().map(|(_, gap)| line(gap, as_json)).collect();
    if lines.is_empty() && !as_json {
        lines.push("every call that was begun has its answer".to_owned());
    }
    let mut out = terminal::stdout();
    ignore_closed_pipe(lines.iter().try_for_each(|line| writeln!(out, "{line}")))?;
    Ok(if gaps.is_empty() { Outcome::Done } else { Outcome::Failed })
}

fn line(gap: &Gap, as_json: bool) -> String {
    let begun = jiff::Timestamp::from_millisecond(gap.begun_ms).map(|at| at.to_string()).unwrap_or_default();
    let Gap { scope, identity, server, tool, args, .. } = gap;
    match as_json {
        true => json!({"identity": identity, "scope": scope, "server": server, "tool": tool, "args": args,
                       "begun": begun})
        .to_string(),
        false => plain(&format!("{identity}  {begun}  {server}/{tool} {args}  ({scope})")),
    }
}

impl Settle {
    fn run(self) -> anyhow::Result<Outcome> {
        let gaps = gaps(&self.place)?;
        let mut alike = gaps.iter().filter(|(_, gap)| gap.identity.starts_with(&self.identity));
        let (journal, gap) = match (alike.next(), alike.next()) {
            (Some(found), None) if !self.identity.is_empty() => found,
            (Some(_), _) => bail!("more than one call begins with `{}`; write more of it", self.identity),
            (None, _) => {
                bail!("no call without an answer begins with `{}`; `ptc effects` lists them", self.identity)
            }
        };
        let finding = match (self.happened, self.did_not_happen) {
            // As the journal keeps answers.
            (Some(value), _) => Finding::Happened(json!({"ok": true, "value": value, "kind": "json"})),
            // Runs do not make calls of their own tools again; what they still know of must not be listed again.
            (None, true) if gap.server == OWN => Finding::Dismissed,
            (None, true) => Finding::DidNotHappen,
            (None, false) => Finding::Dismissed,
        };
        journal.effects().settle(&gap.scope, &gap.identity, &finding, &self.note)?;
        ignore_closed_pipe(writeln!(
            terminal::stdout(),
            "settled {} {}/{}",
            gap.identity,
            gap.server,
            plain(&gap.tool)
        ))?;
        Ok(Outcome::Done)
    }
}
