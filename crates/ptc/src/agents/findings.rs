//! What became of calls that a run waited for when its process ended: what the journal of calls has, and what people found
//! out and settled. A run that goes on is told exactly that.
//!
//! Runs of agents use the journal of calls only to report, because `journal::unanswered` already keeps a run from making a
//! call again. Every process of a run has identities of its own; they begin with the number of the ask
//! (`runtime::numbered`), by which the call is found here.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;
use ptc_runner::{LostCall, OpenCall, Supply, Waiting, WaitsOn};
use ptc_store::effects::{Became, Effects, Finding, Gap, Known, NewEffect};
use ptc_upstream::runtime::identity_prefix;
use serde_json::{Value as Json, json};

use super::lent;

/// What stands for the server of calls that tools of agents make.
pub const OWN: &str = "tool";

/// How notes begin about calls of an agent's own tools that are made once more. The next time is a call of its own.
const MADE_AGAIN: &str = "made again";

/// What a run that goes on is told.
#[derive(Debug, Default)]
pub struct Findings {
    /// Answers, as a journal of a run keeps them.
    pub answers: Vec<(u64, Vec<u8>)>,
    /// Calls that did not happen and are made now.
    pub did_not_happen: BTreeSet<u64>,
    /// Calls of which nobody knows, as people find them.
    pub open: BTreeMap<u64, OpenCall>,
}

/// The calls of a run in the journal.
struct Book<'e> {
    effects: &'e Effects,
    run: &'e str,
    rows: Vec<Known>,
}

/// What a run waited for when something of it was last kept.
#[derive(Clone, Copy, Debug)]
pub struct Waits<'w> {
    /// The run.
    pub run: &'w str,
    /// What it has no answer to.
    pub calls: &'w [Waiting],
    /// When that was, in milliseconds since 1970: its calls were made then.
    pub since: i64,
    /// Whether every call of an upstream was written down before it was made.
    pub journalled: bool,
}

impl Waits<'_> {
    /// Calls of an agent's own tools that may change something and are not written down.
    pub fn open(&self, effects: &Effects) -> anyhow::Result<Vec<Gap>> {
        let (book, scope) = (Book::read(effects, self.run)?, lent::scope(self.run));
        let gap = |call: &Waiting| {
            let WaitsOn::Tool { tool, args, once: true } = &call.on else { return None };
            let (identity, None) = book.own(call.id) else { return None };
            let (scope, server, tool, args) = (scope.clone(), OWN.to_owned(), tool.clone(), args.clone());
            let begun_ms = self.since;
            Some(Gap { scope, identity, server, tool, args, begun_ms, maker: None, silent_maker: None })
        };
        Ok(self.calls.iter().filter_map(gap).collect())
    }

    /// Writes them down, so that they are listed although their process has ended. Calls of upstreams were written down
    /// before they were made.
    pub fn tell(&self, effects: &Effects) -> anyhow::Result<()> {
        for Gap { scope, identity, server, tool, args, begun_ms, .. } in self.open(effects)? {
            let call = NewEffect { identity: &identity, server: &server, tool: &tool, args: &args };
            effects.found_open(&scope, &call, begun_ms)?;
        }
        Ok(())
    }
}

/// Writes down a call of an agent's own tool without which its run goes on, so that it is listed; its identity.
pub fn lost(effects: &Effects, run: &str, call: &LostCall) -> anyhow::Result<String> {
    let LostCall { ask, tool, args, called_ms } = call.clone();
    let calls = [Waiting { id: ask, agent: None, on: WaitsOn::Tool { tool, args, once: true } }];
    Waits { run, calls: &calls, since: called_ms, journalled: true }.tell(effects)?;
    Ok(Book::read(effects, run)?.own(ask).0)
}

/// What the run is told of its calls without an answer. If told so, those of which nobody knows anything are made again,
/// and then nobody needs to hear of them.
pub fn of(effects: &Effects, waits: Waits<'_>, repeat: bool) -> anyhow::Result<Findings> {
    waits.tell(effects)?;
    let book = Book::read(effects, waits.run)?;
    let mut findings = Findings::default();
    for call in waits.calls {
        let WaitsOn::Tool { once, .. } = &call.on else { continue };
        let row = match *once {
            true => book.found_own(call.id, repeat)?,
            false => book.upstream(call.id),
        };
        let Some(Known { identity, became, begun_ms, .. }) = row else {
            // It was never begun. One that only reads has no row either, and is made again all the same.
            if !*once && waits.journalled {
                findings.did_not_happen.insert(call.id);
            }
            continue;
        };
        match became.clone() {
            Became::Answered(kept) => {
                let value = if *once { kept["value"].clone() } else { as_upstream(kept) };
                let bytes = Supply::Tool(Ok(value)).to_bytes();
                let bytes = bytes.map_err(|error| anyhow!("the answer to call {}: {error}", call.id))?;
                findings.answers.push((call.id, bytes));
            }
            Became::DidNotHappen => {
                findings.did_not_happen.insert(call.id);
            }
            became @ (Became::Unknown | Became::Dismissed) => {
                let is_dismissed = became == Became::Dismissed;
                let open = OpenCall { identity: Some(identity.clone()), begun_ms: *begun_ms, is_dismissed };
                findings.open.insert(call.id, open);
            }
        }
    }
    Ok(findings)
}

/// An answer of an upstream as tools of agents give it.
fn as_upstream(mut kept: Json) -> Json {
    match kept["ok"] == true {
        true => json!({"ok": true, "value": kept["value"].take(), "value_kind": kept["kind"]}),
        false => json!({"ok": false, "reason": kept["reason"], "message": kept["message"]}),
    }
}

impl<'e> Book<'e> {
    fn read(effects: &'e Effects, run: &'e str) -> anyhow::Result<Book<'e>> {
        let rows = effects.of_scope(&lent::scope(run))?;
        Ok(Book { effects, run, rows })
    }

    /// The last time that a call of an own tool was made: its identity, and what is known of it.
    fn own(&self, ask: u64) -> (String, Option<&Known>) {
        let first = format!("{}-{ask:04}", self.run);
        let times = (2..).map(|time| format!("{first}-{time}"));
        for identity in std::iter::once(first.clone()).chain(times) {
            let row = self.rows.iter().find(|row| row.identity == identity);
            if !row.is_some_and(was_made_again) {
                return (identity, row);
            }
        }
        (first, None)
    }

    /// What became of a call of an own tool. One that is made again is a call of its own from here on.
    fn found_own(&self, ask: u64, repeat: bool) -> anyhow::Result<Option<&Known>> {
        let (identity, row) = self.own(ask);
        let scope = lent::scope(self.run);
        match row.map(|row| &row.became) {
            Some(Became::DidNotHappen) => {
                let note = format!("{MADE_AGAIN}, because somebody found that it did not happen");
                self.effects.set_aside(&scope, &identity, &note)?;
            }
            Some(Became::Unknown | Became::Dismissed) if repeat => {
                let note = format!("{MADE_AGAIN} by `ptc resume --repeat`");
                self.effects.settle(&scope, &identity, &Finding::Dismissed, &note)?;
            }
            _ => {}
        }
        Ok(row)
    }

    /// The last time that a call of an upstream was made.
    fn upstream(&self, ask: u64) -> Option<&Known> {
        let prefix = identity_prefix(ask);
        self.rows.iter().rfind(|row| row.server != OWN && row.identity.starts_with(&prefix))
    }
}

fn was_made_again(row: &Known) -> bool {
    row.became == Became::Dismissed && row.note.as_deref().is_some_and(|note| is_made_again(OWN, note))
}

/// Whether a note is no finding, but says that a call of an agent's own tool is made again under another identity.
pub fn is_made_again(server: &str, note: &str) -> bool {
    server == OWN && note.starts_with(MADE_AGAIN)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ptc_store::Store;

    use super::*;

    fn waits(id: u64, once: bool) -> Waiting {
        let tool = if once { "pay" } else { "call" };
        Waiting { id, agent: None, on: WaitsOn::Tool { tool: tool.to_owned(), args: json!({"n": id}), once } }
    }

    fn effects() -> Effects {
        Effects::new(Arc::new(Store::open(":memory:").expect("a store")))
    }

    fn happened(value: Json) -> Finding {
        Finding::Happened(json!({"ok": true, "value": value, "kind": "json"}))
    }

    #[test]
    fn a_run_is_told_what_people_found_about_calls_of_its_own_tools() {
        for (finding, told, again) in [
            (None, None, false),
            (Some(happened(json!({"paid": 5}))), Some(json!({"paid": 5})), false),
            (Some(Finding::DidNotHappen), None, true),
            (Some(Finding::Dismissed), None, false),
        ] {
            let (effects, calls) = (effects(), [waits(7, true)]);
            let waits = Waits { run: "r1", calls: &calls, since: 5_000, journalled: true };
            waits.tell(&effects).expect("told");
            let open = effects.gaps(None).expect("a list");
            assert_eq!((open.len(), open[0].identity.as_str(), open[0].begun_ms), (1, "r1-0007", 5_000));
            if let Some(finding) = &finding {
                effects.settle("run:r1", "r1-0007", finding, "looked").expect("settled");
            }
            let found = of(&effects, waits, false).expect("findings");
            let is_dismissed = matches!(finding, Some(Finding::Dismissed));
            let open = OpenCall { identity: Some("r1-0007".to_owned()), begun_ms: 5_000, is_dismissed };
            let is_open = told.is_none() && !again;
            assert_eq!(found.open, BTreeMap::from_iter(is_open.then_some((7, open))), "{finding:?}");
            let expected = told.map(|value| (7, Supply::Tool(Ok(value)).to_bytes().expect("bytes")));
            assert_eq!(found.answers, Vec::from_iter(expected), "{finding:?}");
            assert_eq!(found.did_not_happen.contains(&7), again, "{finding:?}");
        }
    }

    #[test]
    fn a_call_that_is_made_again_and_lost_again_is_listed_again() {
        for repeat in [false, true] {
            let (effects, calls) = (effects(), [waits(7, true)]);
            let waits = Waits { run: "r1", calls: &calls, since: 5_000, journalled: true };
            waits.tell(&effects).expect("told");
            if !repeat {
                effects.settle("run:r1", "r1-0007", &Finding::DidNotHappen, "looked").expect("settled");
                waits.tell(&effects).expect("listing changes nothing");
            }
            of(&effects, waits, repeat).expect("findings");
            let settled = effects.settled().expect("a list");
            let note = if repeat { "made again by `ptc resume --repeat`" } else { "looked" };
            assert_eq!(settled.iter().map(|call| call.note.as_deref()).collect::<Vec<_>>(), [Some(note)]);
            assert!(effects.gaps(None).expect("a list").is_empty(), "it is being made");
            let under_way = waits.open(&effects).expect("a list");
            assert_eq!(under_way[0].identity, "r1-0007-2", "for a list while it is made");
            waits.tell(&effects).expect("its process ended, too");
            assert_eq!(effects.gaps(None).expect("a list"), under_way);
            let found = of(&effects, waits, false).expect("findings");
            assert!(found.answers.is_empty() && found.did_not_happen.is_empty(), "nobody knows");
        }
    }

    #[test]
    fn a_call_of_an_upstream_is_told_by_its_number() {
        let (effects, args) = (effects(), json!({}));
        let call = |identity| NewEffect { identity, server: "crm", tool: "put", args: &args };
        for identity in ["0007-aa", "0008-bb", "0009-cc"] {
            effects.begin("run:r1", &call(identity)).expect("begun");
        }
        let late = json!({"ok": false, "reason": "upstream_error", "message": "no room"});
        effects.done("run:r1", "0007-aa", &late).expect("answered, and the run did not hear of it");
        effects.settle("run:r1", "0008-bb", &happened(json!(1)), "looked").expect("settled");
        effects.settle("run:r1", "0009-cc", &Finding::DidNotHappen, "looked").expect("settled");
        effects.begin("run:r1", &call("0010-dd")).expect("begun");
        let calls: Vec<Waiting> = (7..=11).map(|id| waits(id, false)).collect();
        let waits = |journalled| Waits { run: "r1", calls: &calls, since: 0, journalled };
        let found = of(&effects, waits(false), false).expect("findings");
        let bytes = |value: Json| Supply::Tool(Ok(value)).to_bytes().expect("bytes");
        let one = json!({"ok": true, "value": 1, "value_kind": "json"});
        assert_eq!(found.answers, [(7, bytes(late)), (8, bytes(one))]);
        assert_eq!(found.did_not_happen, BTreeSet::from([9]));
        let begun_ms = effects.gaps(None).expect("a list")[0].begun_ms;
        let open = OpenCall { identity: Some("0010-dd".to_owned()), begun_ms, is_dismissed: false };
        assert_eq!(found.open, BTreeMap::from([(10, open)]));
        // The last one has no row: where rows come first, it was never begun.
        let found = of(&effects, waits(true), false).expect("findings");
        assert_eq!(found.did_not_happen, BTreeSet::from([9, 11]));
    }

    #[test]
    fn a_call_without_which_its_run_goes_on_is_listed_once_with_the_time_at_which_it_was_made() {
        let (effects, args) = (effects(), json!({"n": 7}));
        let call = LostCall { ask: 7, tool: "pay".to_owned(), args, called_ms: 5_000 };
        for _ in 0..2 {
            assert_eq!(lost(&effects, "r1", &call).expect("it is written down"), "r1-0007");
        }
        let gaps = effects.gaps(None).expect("a list");
        let listed: Vec<_> = gaps.iter().map(|gap| (&*gap.server, &*gap.tool, gap.begun_ms)).collect();
        assert_eq!(listed, [(OWN, "pay", 5_000)]);
    }
}
