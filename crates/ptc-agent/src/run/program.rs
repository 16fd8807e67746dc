//! Programs: loaded into the node's machine, run a slice at a time, stopped at their tool calls.

use std::sync::Arc;

use ptc_lisp::machine::{Answer, Call, Machine, Step, ValueKind};
use ptc_lisp::{Error, ErrorKind, Limits, Position};
use ptc_signature::keys;
use serde_json::{Value as Json, json};

use super::calls::{self, Batch, Layer, Slot};
use super::children::Birth;
use super::node::{After, Node, State};
use super::sandbox::{Ended, Setup};
use super::{Next, Shared, clock, consent, lent, program_ended};
use crate::agent::{Agent, MemoryStrategy, Mode};
use crate::budget::{Standing, Unit, remaining_map};
use crate::model::Tokens;
use crate::step::CallRecord;
use crate::tool::{Answers, Body, Builtin, Expose, Visibility};

/// Fuel between two looks at the clock: about a millisecond of work.
const SLICE: u64 = 100_000;

/// Loads a program and makes it the one that runs.
pub(super) fn begin(node: &mut Node, shared: &mut Shared, source: &str, after: After) -> Next {
    node.book.draft.program = Some(source.to_owned());
    node.book.prints.clear();
    node.book.fuel_counted = 0;
    node.book.spans.program = shared.span();
    let caller = match after {
        After::Content => "content",
        After::Eval(_) => "lisp_eval",
        After::Whole => "compiled",
    };
    let facts = json!({"turn": node.turn(), "caller": caller});
    execute_event(node, shared, "lisp.execute.start", json!({"program_bytes": source.len()}), facts);
    if let Err(fail) = lent::admit(node, shared) {
        // What is missing now will not be there in another turn: no model can mend that.
        node.state = State::Program(after);
        return Next::Over(Err(fail));
    }
    match load(node, shared, source) {
        Ok(()) => {
            node.state = State::Program(after);
            Next::Again
        }
        Err(error) => {
            let error = explained(node, error);
            node.state = State::Program(after);
            over(node, shared, Ended::Failed(error))
        }
    }
}

/// Tells of the program that runs.
fn execute_event(node: &Node, shared: &mut Shared, name: &str, measured: Json, facts: Json) {
    let spans = &node.book.spans;
    shared.event_in(node, name, (&spans.program, &spans.turn), measured, facts);
}

fn load(node: &mut Node, shared: &mut Shared, source: &str) -> Result<(), Error> {
    let limits = limits(node, shared);
    let budget = remaining(node, shared);
    let fail = node.book.last_fail.clone();
    let left_out = left_out(node);
    let discovery = answers_questions(&node.agent);
    let servers = lent::servers(node, shared);
    let tools = machine_tools(&node.agent);
    let private: Vec<String> = private_tools(&node.agent).map(str::to_owned).collect();
    open(node, shared, limits)?;
    refuel(node, shared)?;
    node.sandbox.since = shared.now;
    let Some(machine) = node.sandbox.machine.as_deref_mut() else { return Ok(()) };
    machine.set_tools(tools);
    machine.set_discovery(discovery);
    machine.set_servers(servers);
    machine.set_private_tools(private);
    machine.set_clock(i64::try_from(shared.now).unwrap_or(i64::MAX));
    machine.set_budget(&budget)?;
    machine.set_input("fail", &fail)?;
    for name in &left_out {
        machine.set_input(name, &Json::Null)?;
    }
    machine.set_strict_inputs(true);
    let manifest = machine.load(source)?;
    let admit = shared.options.admit.as_ref().filter(|_| node.caller.is_none());
    let admitted = admit.map_or(Ok(()), |admit| admit(&manifest));
    if admitted.is_err() {
        node.sandbox.cancel();
    }
    admitted
}

/// Inputs that the agent takes and was not given: they are nil, unlike those that it never heard of.
fn left_out(node: &Node) -> Vec<String> {
    let fields =
        node.agent.signature().map(|signature| signature.input.fields.as_slice()).unwrap_or_default();
    let given = |name: &str| keys::lookup(&*node.context, name).is_some();
    fields.iter().map(|field| field.name.clone()).filter(|name| !given(name)).collect()
}

/// Whether programs of an agent may ask what there is besides the library.
pub(super) fn answers_questions(agent: &crate::agent::Agent) -> bool {
    agent.tools().values().any(|tool| tool.answers == Answers::Discovery)
}

/// The machine of a node, made with its inputs if there is none.
pub(super) fn open(node: &mut Node, shared: &Shared, limits: Limits) -> Result<(), Error> {
    let (agent, root) = (node.agent.clone(), node.caller.is_none());
    let (context, written) = (node.context.clone(), node.written.clone());
    let options = shared.options.clone();
    let seed = seed(node, options.seed);
    node.sandbox.open(limits, move || Setup {
        prelude: agent.options().prelude.clone(),
        data: context,
        written,
        memory: if root { options.initial_memory.clone() } else { Default::default() },
        journal: if root { options.journal.clone() } else { Default::default() },
        seed,
        history_bytes: Some(agent.options().format.history_max_bytes).filter(|bytes| *bytes > 0),
        firewall: agent.options().firewall,
        takes_back: agent.options().memory_limit.is_some()
            && agent.options().memory_strategy == MemoryStrategy::Rollback,
        owner: options.owner.clone(),
    })?;
    Ok(())
}

/// The tools that programs may call.
pub(super) fn program_tools(node: &Node) -> impl Iterator<Item = &str> {
    public_tools(&node.agent)
}

fn public_tools(agent: &Agent) -> impl Iterator<Item = &str> {
    let granted = |tool: &&Arc<crate::tool::Tool>| {
        agent.exposure(tool).programs()
            && tool.visibility == Visibility::Public
            && tool.answers != Answers::Discovery
    };
    agent.tools().values().filter(granted).map(|tool| tool.name.as_str())
}

/// Tools that only exports of the agent's prelude may call.
fn private_tools(agent: &Agent) -> impl Iterator<Item = &str> {
    let lent = agent.options().prelude.is_some();
    let private = move |tool: &&Arc<crate::tool::Tool>| {
        lent && agent.exposure(tool).programs() && tool.visibility == Visibility::Private
    };
    agent.tools().values().filter(private).map(|tool| tool.name.as_str())
}

/// All tools that the machine of an agent knows.
pub(super) fn machine_tools(agent: &Agent) -> Vec<String> {
    public_tools(agent).chain(private_tools(agent)).map(str::to_owned).collect()
}

/// The limits of a program, with as much fuel as it could have.
pub(super) fn limits(node: &Node, shared: &Shared) -> Limits {
    let options = node.agent.options();
    let standard = Limits::default();
    // In combined mode the limit is for the calls that the model makes itself.
    let calls = options.max_tool_calls.filter(|_| node.agent.mode() != Mode::Combined);
    let limits = Limits {
        fuel: options.fuel.unwrap_or(standard.fuel),
        memory: shared.options.max_heap.or(options.max_heap).unwrap_or(standard.memory),
        tool_calls: calls.unwrap_or(standard.tool_calls),
        ..standard
    };
    shared.options.within_ceiling(limits)
}

/// Where the random numbers of a node begin: those of an agent that is called are not those of its caller.
fn seed(node: &Node, seed: u64) -> u64 {
    match node.caller {
        None => seed,
        Some(_) => seed ^ crate::hash::fnv(node.span.as_bytes()),
    }
}

/// Holds fuel for the program where the run has a budget of fuel, so that programs beside it cannot use it up.
fn refuel(node: &mut Node, shared: &mut Shared) -> Result<(), Error> {
    if node.book.fuel_held.is_some() || shared.budget.remaining(node.account, Unit::Fuel).is_none() {
        return Ok(());
    }
    let mut limits = limits(node, shared);
    let wanted = limits.fuel.saturating_sub(node.book.fuel_counted).max(1);
    let Ok((held, granted)) = shared.budget.reserve_up_to(node.account, Unit::Fuel, 1, wanted) else {
        return Err(Error::new(
            ErrorKind::FuelExceeded,
            "the fuel that all agents of this run share is used up",
        ));
    };
    node.book.fuel_held = Some(held);
    limits.fuel = node.book.fuel_counted.saturating_add(granted);
    node.book.fuel_limit = Some(limits.fuel);
    if let Some(machine) = node.sandbox.machine.as_deref_mut() {
        machine.set_limits(limits);
    }
    Ok(())
}

/// Counts the fuel that the program has used since it was last counted, and frees the rest.
pub(super) fn settle_fuel(node: &mut Node, shared: &mut Shared) {
    let used = node.sandbox.machine.as_deref().map_or(0, ptc_lisp::machine::Machine::fuel_used);
    // Work that was refused is not work.
    let used = node.book.fuel_limit.take().map_or(used, |limit| used.min(limit));
    let fresh = used.saturating_sub(node.book.fuel_counted);
    node.book.fuel_counted = used;
    node.book.usage.fuel = node.book.usage.fuel.saturating_add(fresh);
    match node.book.fuel_held.take() {
        Some(held) => drop(shared.budget.settle(held, fresh)),
        None => shared.budget.record(node.account, Unit::Fuel, fresh),
    }
}

/// What `(budget/remaining)` says.
fn remaining(node: &Node, shared: &Shared) -> Json {
    let (tally, usage) = (&node.book.tally, &node.book.usage);
    let standing = Standing {
        work_turns: tally.work_left.into(),
        retry_turns: tally.retry_left.into(),
        depth: u64::from(node.depth) + 1,
        max_depth: node.depth_limit.into(),
        tokens: Tokens {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_creation: usage.cache_creation_tokens,
            cache_read: usage.cache_read_tokens,
            cost_usd: usage.cost_usd,
        },
        llm_requests: usage.llm_requests.into(),
    };
    remaining_map(&standing, &shared.budget, node.account, shared.now)
}

/// Goes on with the program.
pub(super) fn go_on(node: &mut Node, shared: &mut Shared, born: &mut Vec<Birth>) -> Next {
    if let Err(error) = refuel(node, shared) {
        node.sandbox.cancel();
        return over(node, shared, Ended::Failed(error));
    }
    let limit = node.agent.options().timeout_ms;
    let deadline = node.sandbox.since.saturating_add(limit);
    let interrupt = shared.looks.interrupt(&shared.clock, deadline, limit);
    match node.sandbox.run(SLICE, interrupt) {
        Step::Yield => Next::Busy,
        Step::Done(signal) => over(node, shared, Ended::Value(signal)),
        Step::Failed(error) => {
            let error = explained(node, error);
            over(node, shared, Ended::Failed(error))
        }
        Step::Calls(asked) => {
            if asked.is_empty() {
                let stuck =
                    Error::new(ErrorKind::Runtime, "the program waits for something that cannot come");
                return over(node, shared, Ended::Failed(stuck));
            }
            make_calls(node, shared, asked, born)
        }
    }
}

/// Starts the calls of a step, all together.
fn make_calls(node: &mut Node, shared: &mut Shared, asked: Vec<Call>, born: &mut Vec<Birth>) -> Next {
    let State::Program(after) = std::mem::replace(&mut node.state, State::Between) else { return Next::Wait };
    // Agents that the program waits for need fuel too.
    settle_fuel(node, shared);
    let of_branches = node.sandbox.machine.as_deref().map(Machine::calls_of_branches).unwrap_or_default();
    let mut batch = Batch::new(Layer::Program, shared.now);
    for call in asked {
        let in_branch = of_branches.contains(&call.id);
        let slot = calls::slot(call.id, "", &call.tool, call.args, shared.now);
        batch.slots.push(Slot { in_branch, ..slot });
    }
    batch.span.clone_from(&node.book.spans.program);
    if batch.slots.len() > 1 {
        batch.span = shared.span();
        batch_event(node, shared, &batch, "pmap.start");
    }
    for at in 0..batch.slots.len() {
        calls::start(node, shared, &mut batch, at, born);
    }
    let complete = batch.is_complete();
    node.state = State::Calls(after, batch);
    if complete { Next::Again } else { Next::Wait }
}

/// Tells of calls that a program makes at once.
fn batch_event(node: &Node, shared: &mut Shared, batch: &Batch, name: &str) {
    let mut facts = json!({"count": batch.slots.len()});
    let mut measured = json!({});
    if name == "pmap.stop" {
        let good = batch.slots.iter().filter(|slot| matches!(slot.result, Some(Ok(_)))).count();
        facts["success_count"] = json!(good);
        facts["error_count"] = json!(batch.slots.len() - good);
        measured["duration"] = json!(shared.now.saturating_sub(batch.since));
    }
    shared.event_in(node, name, (&batch.span, &node.book.spans.program), measured, facts);
}

/// A result as the machine takes it.
fn answer(node: &Node, tool: &str, mut result: Json) -> Answer {
    let answers = node.agent.tools().get(tool).map_or(Answers::Plain, |tool| tool.answers);
    if answers != Answers::Upstream {
        return Answer::Value(result);
    }
    let text = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    if result["ok"] != Json::Bool(true) {
        return Answer::Fault { reason: text("reason"), message: text("message") };
    }
    let kind = match text("value_kind").as_str() {
        "text" => ValueKind::Text,
        "none" => ValueKind::None,
        _ => ValueKind::Json,
    };
    Answer::Upstream { value: result["value"].take(), kind }
}

/// Hands the results of a step to the machine, in order.
pub(super) fn answered(node: &mut Node, shared: &mut Shared, born: &mut Vec<Birth>) -> Next {
    calls::go_on(node, shared, born);
    let State::Calls(_, batch) = &node.state else { return Next::Wait };
    if !batch.is_complete() {
        return Next::Wait;
    }
    let State::Calls(after, batch) = std::mem::replace(&mut node.state, State::Between) else {
        return Next::Wait;
    };
    if batch.slots.len() > 1 {
        batch_event(node, shared, &batch, "pmap.stop");
    }
    // The time that agents take is theirs, not the program's.
    if batch.slots.iter().any(|slot| is_agent(node, slot)) {
        let theirs = shared.now.saturating_sub(batch.since).saturating_sub(batch.waited);
        node.sandbox.since = node.sandbox.since.saturating_add(theirs);
    }
    let as_data = node.agent.options().tool_errors_as_data;
    let mut refused = None;
    for mut slot in batch.slots {
        let failure = slot.failure.take();
        let answer = match slot.result.take().unwrap_or(Ok(Json::Null)) {
            Ok(value) => answer(node, &slot.record.name, value),
            Err(message) => {
                let error = tool_error(&slot.record, &message);
                // Only what a function gave is its own word; that it could not be called is a failure.
                let given = as_data && slot.own_error;
                if given { Answer::Value(json!(["error", message])) } else { Answer::Raise(error) }
            }
        };
        // Asking what there is calls nothing.
        if !calls::is_question(node, &slot) {
            node.book.draft.tool_calls.push(shared.recorded(slot.record));
        }
        if let Err(error) = node.sandbox.answer(slot.id, answer, &failure) {
            refused = refused.or(Some(error));
        }
    }
    node.state = State::Program(after);
    match refused {
        Some(error) => {
            node.sandbox.cancel();
            over(node, shared, Ended::Failed(error))
        }
        None => Next::Again,
    }
}

fn tool_error(record: &CallRecord, message: &str) -> Error {
    let kind = match message.starts_with("Tool validation") {
        _ if consent::is_rejected(record) => ErrorKind::Rejected,
        true => ErrorKind::InvalidToolArgs,
        false => ErrorKind::Tool,
    };
    let message = if kind == ErrorKind::InvalidToolArgs { in_a_line(message) } else { message.to_owned() };
    Error::new(kind, format!("tool/{}: {message}", record.name))
}

/// A list with a heading as a sentence: errors are told on one line, and what is wrong with two arguments must stay apart.
fn in_a_line(list: &str) -> String {
    let mut out = String::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let (item, line) = line.strip_prefix("- ").map_or((false, line), |item| (true, item));
        match (item, out.is_empty() || out.ends_with(':')) {
            (true, true) if !out.is_empty() => out.push(' '),
            (true, false) => out.push_str("; "),
            (false, _) if !out.is_empty() => out.push_str(". "),
            _ => {}
        }
        out.push_str(line);
    }
    out
}

/// The program is over: counts what it used and goes on as the mode says.
fn over(node: &mut Node, shared: &mut Shared, ended: Ended) -> Next {
    let State::Program(after) = std::mem::replace(&mut node.state, State::Between) else { return Next::Wait };
    settle_fuel(node, shared);
    if let Some(machine) = node.sandbox.machine.as_deref() {
        node.book.draft.fuel = machine.fuel_used();
        // A definition may carry a hidden value under a name of its own.
        for name in machine.changed() {
            if let Some(value) = machine.definition_json(name).filter(|_| ptc_signature::is_firewalled(name))
            {
                // Without room it is shown: what a program makes is its own, and what came from outside was learned then.
                let _ = node.veil.learn_named(name, &value);
            }
        }
        let prints: Vec<String> =
            machine.prints().iter().map(|line| node.veil.cover(line).into_owned()).collect();
        node.book.draft.prints.clone_from(&prints);
        node.book.prints = prints;
    }
    let measured = json!({
        "duration": shared.now.saturating_sub(node.sandbox.since),
        "fuel": node.book.draft.fuel,
        "prints_count": node.book.draft.prints.len(),
    });
    match &ended {
        Ended::Value(signal) => {
            let facts = json!({"turn": node.turn(), "signal": format!("{signal:?}").to_lowercase()});
            execute_event(node, shared, "lisp.execute.stop", measured, facts);
        }
        Ended::Failed(error) => {
            let reason = error.kind.reason();
            let mut facts = json!({
                "turn": node.turn(),
                "reason": reason,
                "error": &*node.veil.cover(&error.message),
            });
            place(node, error, &mut facts);
            execute_event(node, shared, "lisp.execute.exception", measured, facts);
        }
    }
    program_ended(node, shared, after, ended)
}

/// Where an error is, and what to do about it.
fn place(node: &Node, error: &Error, facts: &mut Json) {
    let source = node.book.draft.program.as_deref().unwrap_or_default();
    if let Some(span) = error.span {
        let at = Position::of(source, span.start);
        facts["line"] = json!(at.line);
        facts["column"] = json!(at.column);
    }
    if let Some(hint) = &error.hint {
        facts["hint"] = json!(&*node.veil.cover(hint));
    }
}

/// An error with what only the agent knows: how a tool is called, or why it cannot be.
fn explained(node: &Node, mut error: Error) -> Error {
    if let Some(form) = named_form(node, &error) {
        error.hint = Some(format!("write {form}"));
    }
    if let Some(name) = error.message.strip_prefix("there is no input data/") {
        error.hint = Some(input_hint(node, name));
        return error;
    }
    if error.kind != ErrorKind::UnknownTool {
        return error;
    }
    let named = |tool: &&Arc<crate::tool::Tool>| mentions(&error.message, &tool.name);
    if let Some(tool) = node.agent.tools().values().find(named)
        && node.agent.exposure(tool) == Expose::Native
    {
        error.kind = ErrorKind::Runtime;
        error.message = format!("tool/{} is exposed as native only, programs cannot call it", tool.name);
        error.hint = Some(format!("call `{}` as a tool of its own, outside of programs", tool.name));
    } else if node.agent.options().tool_catalog.iter().any(|tool| mentions(&error.message, &tool.name)) {
        error.hint = Some("tools of the catalog are for planning; they cannot be called".to_owned());
    }
    error
}

/// How to call the tool that was given positional arguments.
fn named_form(node: &Node, error: &Error) -> Option<String> {
    let refused = |tool: &&Arc<crate::tool::Tool>| {
        error.message.contains(&Error::positional_arguments(&tool.name).message)
    };
    node.agent.tools().values().find(refused)?.call_form()
}

/// What to write for an input that is not there.
fn input_hint(node: &Node, name: &str) -> String {
    /// How many names are told.
    const NAMED: usize = 20;
    let fields = node.context.as_object();
    let inputs: Vec<&str> = fields.into_iter().flatten().map(|(name, _)| name.as_str()).take(NAMED).collect();
    match name.split_once('.') {
        Some((input, field)) if keys::lookup(&*node.context, input).is_some() => {
            format!("a field of an input is read with (:{field} data/{input})")
        }
        _ if inputs.is_empty() => "there are no inputs".to_owned(),
        _ => format!("inputs are {}", inputs.join(", ")),
    }
}

fn mentions(message: &str, tool: &str) -> bool {
    let wanted = format!("tool/{tool}");
    message
        .split(|c: char| c.is_whitespace() || "`,;()".contains(c))
        .any(|word| word == wanted || word == tool)
}

/// When the program of a node takes too long. While it waits for agents or people its clock stands still: agents
/// have limits of their own, people none.
pub(super) fn deadline(node: &Node) -> Option<u64> {
    let waits = match &node.state {
        State::Program(_) => false,
        State::Calls(_, batch) if batch.paused.is_some() => true,
        State::Calls(_, batch) => {
            batch.slots.iter().any(|slot| slot.result.is_none() && is_agent(node, slot))
        }
        _ => return None,
    };
    (!waits).then(|| node.sandbox.since.saturating_add(node.agent.options().timeout_ms))
}

/// Whether a call is answered by an agent.
fn is_agent(node: &Node, slot: &Slot) -> bool {
    let tool = node.agent.tools().get(&slot.record.name);
    tool.is_some_and(|tool| match &tool.body {
        Body::Agent(_) | Body::Judge(_) | Body::Compiled(_) | Body::This => true,
        Body::Builtin(Builtin::LlmQuery) => true,
        Body::Function(_) | Body::Builtin(_) => false,
    })
}

/// Ends the program of a node that took too long; true if it did.
pub(super) fn expire(node: &mut Node, shared: &mut Shared) -> bool {
    let now = shared.now;
    if deadline(node).is_none_or(|deadline| now < deadline) {
        return false;
    }
    let state = std::mem::replace(&mut node.state, State::Between);
    let after = match state {
        State::Program(after) => after,
        State::Calls(after, batch) => {
            (node.book.awaited, node.book.lost) = awaited(node, shared, &batch);
            keep_records(node, shared, batch);
            after
        }
        _ => return false,
    };
    node.sandbox.cancel();
    let limit = node.agent.options().timeout_ms;
    node.state = State::Expired(after, limit);
    shared.ready.push_back(node.id);
    true
}

/// The calls that a program waits for: those without an answer, or all of them if answers came too late. Then those of them
/// that may have changed something.
fn awaited(node: &Node, shared: &Shared, batch: &Batch) -> (Vec<String>, Vec<String>) {
    let open = batch.slots.iter().any(|slot| slot.result.is_none());
    let (mut all, mut lost) = (Vec::new(), Vec::new());
    for (at, slot) in batch.slots.iter().enumerate().filter(|(_, slot)| !open || slot.result.is_none()) {
        let args = shared.asked_with(node.id, at);
        let args = args.as_ref().unwrap_or(&slot.record.args);
        let name = calls::shown(node, &slot.record.name, args);
        if calls::may_have_changed(node, &slot.record.name, args) {
            lost.push(name.clone());
        }
        if !all.contains(&name) {
            all.push(name);
        }
    }
    (all, lost)
}

/// Keeps the records of calls that were made, answered or not.
pub(super) fn keep_records(node: &mut Node, shared: &mut Shared, batch: Batch) {
    for (at, mut slot) in batch.slots.into_iter().enumerate() {
        if calls::is_question(node, &slot) {
            continue;
        }
        if slot.result.is_none() {
            if let Some(args) = shared.asked_with(node.id, at) {
                slot.record.args = args;
            }
            calls::leave_unanswered(node, &mut slot.record);
            calls::note_upstream(node, &slot);
        }
        node.book.draft.tool_calls.push(shared.recorded(slot.record));
    }
}

/// What comes of a program that took too long.
pub(super) fn expired(node: &mut Node, shared: &mut Shared) -> Next {
    let State::Expired(after, limit) = std::mem::replace(&mut node.state, State::Between) else {
        return Next::Wait;
    };
    node.state = State::Program(after);
    let (awaited, lost) = (std::mem::take(&mut node.book.awaited), std::mem::take(&mut node.book.lost));
    let late = clock::late_for(limit, &awaited, &lost);
    over(node, shared, Ended::Failed(late))
}
