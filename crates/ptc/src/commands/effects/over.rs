//! `ptc effects --done` and `--settled`: calls that are over, for whoever asks what was done, or settles one twice.

use ptc_host::called_at;
use ptc_store::effects::{OverCall, WasFound};
use serde_json::{Value as Json, json};

use super::{JournalPlace, Listed, OpenedJournals, WhichCalls, Whose, as_gap, journals, print};
use crate::agents::{grouped, is_made_again};
use crate::exit::Outcome;
use crate::terminal::plain;

/// Lists calls that were answered, or those that people settled.
pub fn list(
    place: &JournalPlace,
    which: &WhichCalls,
    settled: bool,
    as_json: bool,
) -> anyhow::Result<Outcome> {
    let mut calls = Vec::new();
    let journals = journals(place)?;
    for opened in &journals.all {
        let effects = opened.journal.effects();
        let over = match settled {
            true => effects.settled()?,
            false => effects.over()?.into_iter().filter(|call| call.note.is_none()).collect(),
        };
        let meant = |call: &OverCall| opened.has(&call.scope) && which.has(&call.server, call.begun_ms);
        calls.extend(over.into_iter().filter(meant));
    }
    let mut lines: Vec<String> = calls
        .iter()
        .map(|call| match as_json {
            true => fields(call).to_string(),
            false => text(call),
        })
        .collect();
    if lines.is_empty() && !as_json {
        let such = if which.any() { "no such call" } else { "no call" };
        lines.push(match settled {
            true => format!("{such} was settled by a person, as far as the store still knows"),
            false => format!("{such} has an answer that the store still keeps"),
        });
    }
    print(&lines)?;
    Ok(journals.outcome())
}

/// How a call was settled last whose identity begins like this, for whoever settles it once more.
pub fn settled(journals: &OpenedJournals, identity: &str) -> anyhow::Result<Option<String>> {
    let mut last: Option<OverCall> = None;
    for opened in journals.all.iter().filter(|_| !identity.is_empty()) {
        let settled = opened.journal.effects().settled()?;
        let meant = |call: &OverCall| call.identity.starts_with(identity) && opened.has(&call.scope);
        last = settled.into_iter().filter(meant).chain(last).max_by_key(|call| call.ended_ms);
    }
    Ok(last.map(|call| {
        let (at, what) =
            (call.ended_ms.map(called_at).unwrap_or_default(), finding(&call).unwrap_or_default());
        let note = call.note.as_deref().unwrap_or_default();
        let OverCall { identity, server, tool, .. } = &call;
        let more = match call.found {
            WasFound::Dismissed => "; --happened or --did-not-happen say more",
            WasFound::Answered { .. } | WasFound::DidNotHappen => "",
        };
        plain(&format!(
            "{identity} {server}/{tool} has no answer to be settled: it was settled {at}, {what}: {note}{more}"
        ))
    }))
}

/// Calls whose identity begins like this that people settled without saying what became of them.
pub fn dismissed(journals: &OpenedJournals, identity: &str) -> anyhow::Result<Vec<Listed>> {
    let mut all = Vec::new();
    for opened in &journals.all {
        let meant = |call: &OverCall| {
            let made_again = call.note.as_deref().is_none_or(|note| is_made_again(&call.server, note));
            call.found == WasFound::Dismissed && call.identity.starts_with(identity) && !made_again
        };
        let over = opened.journal.effects().over()?;
        let calls = over.iter().filter(|call| meant(call) && opened.has(&call.scope));
        all.extend(calls.map(|call| Listed {
            journal: opened.journal.clone(),
            gap: as_gap(call),
            under_way: false,
            dismissed: true,
        }));
    }
    Ok(all)
}

/// What a person found, in a word.
fn finding(call: &OverCall) -> Option<&'static str> {
    call.note.as_ref().map(|_| match call.found {
        WasFound::Answered { .. } => "happened",
        WasFound::DidNotHappen => "did not happen",
        WasFound::Dismissed => "not known",
    })
}

fn fields(call: &OverCall) -> Json {
    let mut all = super::fields(&as_gap(call), &Whose::of(&call.scope, call.owner.clone()));
    all["ended"] = json!(call.ended_ms.map(called_at));
    if let WasFound::Answered { bytes } = call.found {
        all["answer_bytes"] = json!(bytes);
    }
    (all["finding"], all["note"]) = (json!(finding(call)), json!(call.note));
    all
}

fn text(call: &OverCall) -> String {
    let OverCall { identity, server, tool, args, scope, .. } = call;
    let begun = called_at(call.begun_ms);
    let ended = call.ended_ms.map(called_at).unwrap_or_default();
    let became = match (finding(call), &call.note, &call.found) {
        (Some(finding), Some(note), _) => format!("settled {ended}, {finding}: {note}"),
        (_, _, WasFound::Answered { bytes }) => format!("answered {ended}, {} bytes", grouped(*bytes)),
        _ => format!("ended {ended}"),
    };
    let whose = Whose::of(scope, call.owner.clone());
    plain(&format!("{identity}  {begun}  {server}/{tool} {args}  ({whose})  {became}"))
}
