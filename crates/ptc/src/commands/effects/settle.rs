//! `ptc effects settle`: notes what a person found out about calls without an answer.

use anyhow::bail;
use ptc_server::effects::StoreJournal;
use ptc_store::effects::{EffectError, Finding, Gap};
use ptc_store::requests::Stands;
use serde_json::{Value as Json, json};

use super::{JournalPlace, Listed, OpenedJournals, WhichCalls, gaps, journals, over, print};
use crate::agents::several;
use crate::exit::Outcome;
use crate::terminal::{errln, plain};

#[derive(Debug, clap::Args)]
pub struct Settle {
    /// The identity of the call, or its beginning
    identity: Option<String>,

    /// What you found
    note: Option<String>,

    /// Settle all calls that are listed, but for those under way; --upstream and --older-than narrow that
    #[arg(long)]
    all: bool,

    /// What you found, with --all
    #[arg(id = "said", long = "note", value_name = "TEXT")]
    said: Option<String>,

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

/// A value that is written as JSON. Without this a text would be one that has the JSON in it.
fn json_value(text: &str) -> Result<Json, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}; a text stands in quotes: '\"text\"'"))
}

/// How several calls are settled.
const SEVERAL: &str =
    "ptc effects settle --all --note 'what you found', which --upstream and --older-than narrow";
/// How one call is settled.
const ONE: &str = "ptc effects settle IDENTITY 'what you found'";

/// What is to be settled, and what was found.
enum Meant<'a> {
    One { identity: &'a str, note: &'a str },
    All { note: &'a str },
}

impl Meant<'_> {
    fn note(&self) -> &str {
        match self {
            Meant::One { note, .. } | Meant::All { note } => note,
        }
    }
}

impl Settle {
    pub fn run(self) -> anyhow::Result<Outcome> {
        let finding = match (&self.happened, self.did_not_happen) {
            // As the journal keeps answers.
            (Some(value), _) => Finding::Happened(json!({"ok": true, "value": value, "kind": "json"})),
            (None, true) => Finding::DidNotHappen,
            (None, false) => Finding::Dismissed,
        };
        let meant = self.meant()?;
        let journals = journals(&self.place)?;
        let gaps = gaps(&journals)?;
        // Whoever forgot the note would settle something else than was meant.
        let note = meant.note();
        if gaps.iter().any(|listed| !note.is_empty() && listed.gap.identity.starts_with(note)) {
            bail!("`{note}` is the identity of a call and not what you found; write {ONE}");
        }
        let lines = match meant {
            Meant::One { identity, note } => vec![one(&journals, &gaps, identity, &finding, note)?],
            Meant::All { note } => {
                let meant = |listed: &&Listed| self.which.has(&listed.gap.server, listed.gap.begun_ms);
                all(gaps.iter().filter(meant), &finding, note)?
            }
        };
        print(&lines)?;
        let some = gaps.iter().any(|listed| lines.iter().any(|line| line.contains(&listed.gap.identity)));
        if some && matches!(finding, Finding::Dismissed) {
            errln!("ptc: {UNFOUND}");
        }
        // Whatever could not be looked into may have more of them.
        Ok(match self.all {
            true => journals.outcome(),
            false => Outcome::Done,
        })
    }

    /// One call or several, never more than somebody asked for by name.
    fn meant(&self) -> anyhow::Result<Meant<'_>> {
        let note = self.note.as_ref().or(self.said.as_ref());
        if note.is_some_and(|note| note.trim().is_empty()) {
            let usage = if self.all { SEVERAL } else { ONE };
            bail!(
                "the note is empty, and whoever asks later could not know why nobody looks any more: {usage}"
            );
        }
        Ok(match (self.all, &self.identity, &self.note, &self.said) {
            (true, None, _, Some(note)) => Meant::All { note },
            (true, None, _, None) => bail!("say what you found: {SEVERAL}"),
            (true, Some(_), ..) => bail!("name one call by its identity, or several: {SEVERAL}"),
            (false, ..) if self.which.any() => {
                bail!("one call is named by its identity alone: {ONE}; several are settled with {SEVERAL}")
            }
            (false, _, _, Some(_)) => bail!("--note is for several calls: {SEVERAL}; for one write {ONE}"),
            (false, Some(identity), Some(note), None) => Meant::One { identity, note },
            (false, Some(_), None, None) => bail!("say what you found: {ONE}"),
            (false, None, ..) => bail!("name a call: {ONE}; or several: {SEVERAL}"),
        })
    }
}

/// What somebody may look for here in vain.
const NOT_LISTED: &str = "`ptc effects` lists them. Calls of missions on Restate cannot be settled: their programs were told \
                          that the outcome is unknown, and have gone on";

fn one(
    journals: &OpenedJournals,
    gaps: &[Listed],
    identity: &str,
    finding: &Finding,
    note: &str,
) -> anyhow::Result<String> {
    // A note alone is no finding, so one may follow.
    let dismissed = match finding {
        Finding::Dismissed => Vec::new(),
        Finding::Happened(_) | Finding::DidNotHappen => over::dismissed(journals, identity)?,
    };
    let mut alike = gaps.iter().chain(&dismissed).filter(|listed| listed.gap.identity.starts_with(identity));
    let listed = match (alike.next(), alike.next()) {
        (Some(found), None) if !identity.is_empty() => found,
        (Some(_), _) => bail!("more than one call begins with `{identity}`; write more of it"),
        (None, _) => match over::settled(journals, identity)? {
            Some(before) => bail!("{before}; `ptc effects --settled` lists what was found"),
            None => bail!("no call without an answer begins with `{identity}`; {NOT_LISTED}"),
        },
    };
    match settled(listed, finding, note)? {
        Some(line) => Ok(line),
        None => bail!(
            "{}/{} is under way in a process that goes on; settle it if it has no answer when that has ended",
            listed.gap.server,
            plain(&listed.gap.tool)
        ),
    }
}

/// Settles calls that are not under way, and names each.
fn all<'l>(
    meant: impl Iterator<Item = &'l Listed>,
    finding: &Finding,
    note: &str,
) -> anyhow::Result<Vec<String>> {
    let (mut lines, mut under_way) = (Vec::new(), 0);
    for listed in meant {
        match settled(listed, finding, note)? {
            Some(line) => lines.push(line),
            None => under_way += 1,
        }
    }
    let left = match under_way {
        0 => String::new(),
        1 => "; 1 is under way and was left".to_owned(),
        more => format!("; {more} are under way and were left"),
    };
    lines.push(format!("settled {}{left}", several(lines.len() as u64, "call")));
    Ok(lines)
}

/// Notes what a person found out, and says so; nothing is noted if a process is making the call.
fn settled(listed: &Listed, finding: &Finding, note: &str) -> anyhow::Result<Option<String>> {
    let Listed { journal, gap, under_way, dismissed } = listed;
    if *under_way {
        return Ok(None);
    }
    match journal.settle(gap, finding, note) {
        // It was begun once more since it was listed.
        Err(EffectError::UnderWay) => return Ok(None),
        noted => noted?,
    }
    let Gap { identity, server, tool, .. } = gap;
    let again = if *dismissed { "settled again" } else { "settled" };
    let line = format!("{again} {identity} {server}/{}{}", plain(tool), in_vain(journal, gap)?);
    Ok(Some(line))
}

/// What a note alone does. Whoever meant to say what became of the call must read that nobody was told.
const UNFOUND: &str = "the note is kept for people (`ptc effects --settled`) and tells programs nothing: whoever tries again is told \
                       that nobody knows what became of the call, and does not make it, and a plan goes no further than it; once you know, settle it again with --happened or --did-not-happen";

/// What whoever tries again is told all the same, if that is not what was found.
fn in_vain(journal: &StoreJournal, gap: &Gap) -> anyhow::Result<&'static str> {
    if let Stands::Done(_) = journal.requests().stands(&gap.scope)? {
        return Ok(
            "; its request was answered already, and whoever sends it again gets that reply: a call that is still to be \
                   made needs a request under another key",
        );
    }
    if journal.effects().is_of_ended_ticket(&gap.scope)? {
        return Ok(
            "; the program that waited for approval is over, and nobody tries the call again with its ticket",
        );
    }
    Ok("")
}
