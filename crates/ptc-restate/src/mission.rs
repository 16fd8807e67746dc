//! The workflow: drives the run of an agent from its beginning to its end, with an entry in the journal for
//! everything that comes to it from outside.
//!
//! The SDK runs one step at a time. So a step does not stand for one call: it waits for the first answer of all calls in
//! flight. Calls run concurrently, answers are journalled one by one, and the order in which the run got them is the order
//! of the journal. Every entry has the time of its answer; the run sees no other clock. Whether something is journalled
//! depends on the run alone, never on this process: not on what is in flight here, and not on what an upstream currently
//! says about a tool.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ptc_runner::{Ask, AskKind, Need, OpenCall, RunOptions, Step, Supply, unanswered};
use restate_sdk::context::{ContextSideEffects, ContextWriteState, RunFuture, WorkflowContext};
use restate_sdk::errors::{HandlerError, TerminalError};
use restate_sdk::serde::Json;
use serde_json::Value;

use crate::calls::{Calls, Missions, Waiting};
use crate::entry::{Begin, Came};
use crate::people::{self, WAITING};
use crate::pinned::{Gone, Pinned};
use crate::worker::Served;

/// Characters of the name of an entry.
const NAME: usize = 60;

/// Calls of a run at once, unless its agent says otherwise.
const AT_ONCE: usize = 16;

/// The time, in milliseconds since 1970.
pub(crate) fn now() -> u64 {
    u64::try_from(ptc_host::now_ms()).unwrap_or(0)
}

impl From<Gone> for TerminalError {
    fn from(gone: Gone) -> Self {
        TerminalError::new(gone.to_string())
    }
}

/// Runs a mission to its end.
pub(crate) async fn conduct(
    ctx: &WorkflowContext<'_>,
    served: &Served,
    missions: &Missions,
    inputs: Value,
) -> Result<Step, HandlerError> {
    check_inputs(served, &inputs)?;
    let (agent, options) = served.begin(&inputs).map_err(HandlerError::from)?;
    let id = agent.id().to_owned();
    let begin = Begin { version: Begin::VERSION, now: now(), agent: id.clone() };
    let Json(begin) = ctx.run(|| async move { Ok(Json(begin)) }).name("begin").await?;
    begin.check(&id)?;
    let at_once = agent.options().pmap_max_concurrency.unwrap_or(AT_ONCE).clamp(1, 1 << 16);
    let options = RunOptions { seed: ctx.random_seed(), ..options };
    let mission = Mission {
        ctx,
        run: Pinned::begin(agent, options, begin.now),
        calls: missions.join(ctx.invocation_id(), at_once),
        now: begin.now,
        at_once,
        waiting: BTreeMap::new(),
    };
    let step = mission.drive().await?;
    missions.over(ctx.invocation_id());
    Ok(step)
}

/// Inputs that the agent does not take are the fault of who sent them.
fn check_inputs(served: &Served, inputs: &Value) -> Result<(), TerminalError> {
    let found = served.agent().validate(inputs);
    if found.is_empty() {
        return Ok(());
    }
    let problems: Vec<&str> = found.iter().map(|fail| fail.message.as_str()).collect();
    let takes = served.agent().signature().map(|signature| format!("; the signature is {signature}"));
    let message = format!("the inputs do not fit: {}{}", problems.join("; "), takes.unwrap_or_default());
    Err(TerminalError::new_with_code(400, message))
}

struct Mission<'a, 'ctx> {
    ctx: &'a WorkflowContext<'ctx>,
    run: Pinned,
    calls: Arc<Calls>,
    /// The time as the journal knows it: programs see no other, so that they see the same in every attempt.
    now: u64,
    /// How many calls run at once.
    at_once: usize,
    waiting: BTreeMap<u64, Waiting>,
}

impl Mission<'_, '_> {
    async fn drive(mut self) -> Result<Step, HandlerError> {
        loop {
            match self.next().await? {
                Need::Done(step) => return Ok(*step),
                Need::Busy => {}
                Need::Asks(asks) => self.ask(asks),
                Need::Wait { until } => self.wait(until).await?,
            }
        }
    }

    /// What the run needs; what it does not want any more is stopped.
    async fn next(&mut self) -> Result<Need, TerminalError> {
        let (now, known) = (self.now, self.waiting.keys().copied().collect::<Vec<_>>());
        let work = self.run.with(move |run| {
            let need = run.next(now);
            let dropped: Vec<u64> = known.into_iter().filter(|id| !run.wants(*id)).collect();
            run.take_events();
            (need, dropped)
        });
        let (need, dropped) = work.await?;
        if !dropped.is_empty() {
            let people = self.people().len();
            self.waiting.retain(|id, _| !dropped.contains(id));
            if self.people().len() < people {
                self.show_waiting();
            }
            self.calls.drop_all_but(|id| self.waiting.contains_key(&id));
        }
        Ok(need)
    }

    /// Takes note of what is asked for.
    fn ask(&mut self, asks: Vec<Ask>) {
        let people = asks.iter().any(is_for_people);
        for ask in asks {
            let due = is_announced(&ask);
            self.waiting.insert(ask.id, Waiting { ask: Arc::new(ask), due, lost: None });
        }
        if people {
            self.show_waiting();
        }
    }

    /// The calls that wait for a person.
    fn people(&self) -> Vec<u64> {
        self.waiting.values().filter(|wait| is_for_people(&wait.ask)).map(|wait| wait.ask.id).collect()
    }

    /// Shows the calls that wait for a person to whoever looks at the mission.
    fn show_waiting(&self) {
        let pending = self.waiting.values().filter_map(|wait| Ask::clone(&wait.ask).into_pending());
        let shown: Vec<Value> = pending.map(|call| call.json()).collect();
        match shown.is_empty() {
            true => self.ctx.clear(WAITING),
            false => self.ctx.set(WAITING, Json(shown)),
        }
    }

    /// Waits for a decision or for a limit of time, and tells the run.
    async fn wait_for_people(&mut self, calls: &[u64], until: Option<u64>) -> Result<(), HandlerError> {
        let limit = until.map(|until| Duration::from_millis(until.saturating_sub(self.now).max(1)));
        let decided = people::decided(self.ctx, calls, limit).await?;
        let now = self.ctx.run(|| async { Ok(now()) }).name("decided").await?;
        self.now = self.now.max(now);
        match decided {
            Some((call, decision)) => {
                self.supply(call, Supply::Approval(decision)).await?;
                self.show_waiting();
            }
            None => self.now = self.now.max(until.unwrap_or(0)),
        }
        Ok(())
    }

    /// Announces calls that must not be made twice, as many as may run at once. An announcement with the mark of
    /// another process and without an answer behind it is a call that may or may not have happened.
    async fn announce(&mut self) -> Result<(), TerminalError> {
        let made = self.waiting.values().filter(|wait| !wait.due && is_announced(&wait.ask)).count();
        let room = self.at_once.saturating_sub(made);
        let due: Vec<u64> =
            self.waiting.iter().filter(|(_, wait)| wait.due).map(|(id, _)| *id).take(room).collect();
        if due.is_empty() {
            return Ok(());
        }
        let names = due.iter().filter_map(|id| self.waiting.get(id)).map(|wait| who(&wait.ask));
        let name = format!("calls {}", list(names));
        let mark = self.calls.mark().to_owned();
        let mark = self.ctx.run(|| async move { Ok(mark) }).name(name).await?;
        let lost = mark != self.calls.mark();
        // The last moment of which the journal knows before the call.
        let begun_ms = i64::try_from(self.now).unwrap_or(i64::MAX);
        let open = OpenCall { identity: None, begun_ms, is_dismissed: false };
        for id in due {
            if let Some(wait) = self.waiting.get_mut(&id) {
                wait.due = false;
                wait.lost = lost.then(|| unanswered(&wait.ask, false, Some(&open))).flatten();
            }
        }
        Ok(())
    }

    /// Waits for the next answer or for a limit of time, and tells the run.
    async fn wait(&mut self, until: Option<u64>) -> Result<(), HandlerError> {
        let people = self.people();
        if !people.is_empty() && people.len() == self.waiting.len() {
            return self.wait_for_people(&people, until).await;
        }
        self.announce().await?;
        let waiting = self.waiting.values().filter(|wait| !wait.due && !is_for_people(&wait.ask));
        let waiting: Vec<Waiting> = waiting.cloned().collect();
        let name = match waiting.as_slice() {
            [] => "wait".to_owned(),
            [one] => format!("{} {}", kind(&one.ask), who(&one.ask)),
            several => format!("one of {}", list(several.iter().map(|wait| who(&wait.ask)))),
        };
        let calls = self.calls.clone();
        let entry = self.ctx.run(|| async move { calls.next(waiting, until).await.to_bytes() }).name(name);
        let came = Came::from_bytes(&entry.await?)?;
        self.now = self.now.max(came.now);
        if let Some((id, supply)) = came.answer {
            self.supply(id, supply).await?;
        }
        Ok(())
    }

    async fn supply(&mut self, id: u64, supply: Supply) -> Result<(), HandlerError> {
        if self.waiting.remove(&id).is_none() {
            return Err(HandlerError::from(format!(
                "the journal answers question {id}, which the agent does not ask here; serve the mission with the \
                 file, the limits and the version of ptc that it was begun with"
            )));
        }
        self.calls.settle(id);
        let now = self.now;
        let work = self.run.with(move |run| {
            run.at(now);
            run.supply(id, supply);
        });
        work.await.map_err(TerminalError::from)?;
        Ok(())
    }
}

/// Whether a call is announced in the journal. What it does to the world may depend on things that are not the same
/// in every process; whether it is announced must be.
fn is_announced(ask: &Ask) -> bool {
    match &ask.kind {
        AskKind::Model { .. } | AskKind::Approval { .. } => false,
        AskKind::Tool { tool, args, .. } => tool.effect_of.is_some() || !tool.may_repeat(args),
    }
}

fn is_for_people(ask: &Ask) -> bool {
    matches!(ask.kind, AskKind::Approval { .. })
}

fn kind(ask: &Ask) -> &'static str {
    match &ask.kind {
        AskKind::Model { .. } => "model",
        AskKind::Tool { .. } => "tool",
        AskKind::Approval { .. } => "approval",
    }
}

fn who(ask: &Ask) -> &str {
    match &ask.kind {
        AskKind::Model { llm, .. } => llm.label(),
        AskKind::Tool { tool, .. } | AskKind::Approval { tool, .. } => &tool.name,
    }
}

/// Names, as many as are readable.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let text = names.collect::<Vec<_>>().join(", ");
    match text.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
