//! Questions to models: which model, what the budget allows, attempts that failed, and replies.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::events::add_tokens;
use super::node::{Asking, Node, Spans, State};
use super::{Asked, Next, Shared, Spent, What, content, finish, text, tool_call};
use crate::agent::Mode;
use crate::budget::{Unit, micro_usd};
use crate::model::{Llm, Message, ModelError, Reply, Request, Tokens, ToolSchema};
use crate::reason::Reason;
use crate::step::{Fail, TurnType};

/// The most tokens that a reply gets where tokens are limited: enough for any program.
const REPLY_TOKENS: u64 = 8_192;

/// A reply gets one part in so many of what is left, so that agents beside this one get something too.
const SHARE: u64 = 4;

/// A reply gets so many tokens if there are so many.
const LEAST_REPLY: u64 = 512;

/// About how many tokens a text has.
pub(super) fn estimate(chars: usize) -> u64 {
    (chars as u64).div_ceil(4)
}

/// The model of a node, looked up in the registry if it is a name.
pub(super) fn llm(node: &Node, shared: &Shared) -> Result<Llm, Fail> {
    match &node.llm {
        None => Err(Fail::new(Reason::LLM_REQUIRED, "no model was given")),
        Some(Llm::Named(name)) => match shared.options.registry.get(name) {
            Some(Llm::Named(other)) => Err(Fail::new(
                Reason::INVALID_LLM_REGISTRY,
                format!("`{name}` leads to another name, `{other}`, not to a model"),
            )),
            Some(llm) => Ok(llm.clone()),
            None => {
                if let Some(llm) = shared.options.resolver.as_ref().and_then(|resolver| resolver(name)) {
                    return Ok(llm);
                }
                let known: Vec<&str> = shared.options.registry.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let message = format!("there is no model `{name}`; the registry has {known}");
                Err(Fail::new(Reason::MODEL_NOT_FOUND, message))
            }
        },
        Some(llm) => Ok(llm.clone()),
    }
}

/// Begins a turn: asks the model.
pub(super) fn ask(node: &mut Node, shared: &mut Shared) -> Next {
    if let Err(stop) = shared.budget.spend(node.account, Unit::Turns, 1) {
        return Next::Over(Err(Fail::new(
            Reason::TURN_BUDGET_EXHAUSTED,
            format!("all {} turns that the agents of this run share are used", stop.limit),
        )));
    }
    let kind = node.book.tally.kind();
    node.book.tally.begin();
    node.book.draft = crate::step::Turn { number: node.turn(), kind, ..Default::default() };
    node.book.turn_began = shared.now;
    begin_events(node, shared, kind);
    let mut request = match node.agent.mode() {
        Mode::Content => content::request(node, shared, kind),
        Mode::ToolCall => tool_call::request(node, shared, kind),
        Mode::Text | Mode::Combined => text::request(node, shared),
    };
    request.llm_opts = node.agent.options().llm_opts.clone();
    request.cache = shared.options.cache;
    if let Err(fail) = llm(node, shared) {
        return ended(node, shared, fail);
    }
    let asking = match reserve(node, shared, &mut request) {
        Ok(asking) => asking,
        Err(over) => return over,
    };
    note_request(node, shared, &request);
    send(node, shared, Arc::new(request), 0);
    node.state = State::Asking(asking);
    Next::Wait
}

fn begin_events(node: &mut Node, shared: &mut Shared, kind: TurnType) {
    node.book.spans = Spans { turn: shared.span(), ..Spans::default() };
    let tools = if kind == TurnType::Normal { node.agent.tools().len() } else { 0 };
    let facts = json!({"turn": node.turn(), "type": kind, "tools_count": tools});
    shared.turn_event(node, "turn.start", json!({}), facts);
}

/// Reserves tokens and dollars for a request and its reply, where there is a budget of them. The reply may
/// have what is left, but not so much that agents beside this one get nothing.
fn reserve(node: &mut Node, shared: &mut Shared, request: &mut Request) -> Result<Asking, Next> {
    let mut asking = Asking { attempt: 1, since: shared.now, tokens: None, cost: None };
    let input = request_tokens(request);
    let mut output = REPLY_TOKENS;
    if let Some(left) = shared.budget.remaining(node.account, Unit::Tokens) {
        let room = left.saturating_sub(input);
        output = output.min((room / SHARE).max(LEAST_REPLY)).min(room);
        if output == 0 {
            return Err(finish::over_budget(
                node,
                shared,
                "the next request would use more tokens than are left",
            ));
        }
        asking.tokens = shared.budget.reserve(node.account, Unit::Tokens, input + output).ok();
        request.max_tokens = Some(output);
    }
    let (Some(left), Some(price)) = (shared.budget.remaining(node.account, Unit::Cost), shared.options.price)
    else {
        return Ok(asking);
    };
    // Dollars per million tokens are millionths of a dollar per token.
    let room = left as f64 - input as f64 * price.input;
    let affordable = if price.output > 0.0 { (room / price.output).floor() } else { f64::MAX };
    if room < 0.0 || affordable < 1.0 {
        settle(shared, &asking, Tokens::default());
        let fail =
            Fail::new(Reason::COST_EXCEEDED, "the next request could cost more than is left of max_cost_usd");
        return Err(Next::Over(Err(fail)));
    }
    output = output.min(affordable as u64);
    let most = (input as f64 * price.input + output as f64 * price.output).ceil() as u64;
    asking.cost = shared.budget.reserve(node.account, Unit::Cost, most.min(left)).ok();
    request.max_tokens = Some(output);
    Ok(asking)
}

/// About how many tokens a request has.
pub(super) fn request_tokens(request: &Request) -> u64 {
    let chars = |text: &str| text.chars().count();
    let message = |message: &Message| {
        let calls = message.tool_calls.iter().map(|call| chars(&call.name) + chars(&call.args.to_string()));
        chars(&message.content) + calls.sum::<usize>()
    };
    let tool = |tool: &ToolSchema| chars(&tool.description) + chars(&tool.parameters.to_string());
    let schema = request.schema.as_ref().map_or(0, |schema| chars(&schema.to_string()));
    estimate(
        chars(&request.system)
            + request.messages.iter().map(message).sum::<usize>()
            + request.tools.iter().map(tool).sum::<usize>()
            + schema,
    )
}

/// What a reply used; where the provider does not say, about that.
fn used(request: &Request, reply: &Reply) -> Tokens {
    reply.tokens.unwrap_or_else(|| {
        let calls = reply.tool_calls.iter().map(|call| call.args.to_string().chars().count());
        let said = reply.content.as_deref().unwrap_or_default().chars().count() + calls.sum::<usize>();
        Tokens { input: request_tokens(request), output: estimate(said), ..Tokens::default() }
    })
}

fn note_request(node: &mut Node, shared: &mut Shared, request: &Request) {
    if node.turn() == 1 {
        node.book.usage.system_prompt_tokens = estimate(request.system.chars().count());
    }
    if let Some(schema) = &request.schema {
        node.book.usage.schema_used = true;
        node.book.usage.schema_bytes = schema.to_string().len();
    }
    node.system.clone_from(&request.system);
    if shared.options.collect_messages {
        node.book.draft.messages.clone_from(&request.messages);
    }
    let model = node.llm.as_ref().map_or("none", Llm::label).to_owned();
    let mut facts = json!({"turn": node.turn(), "messages": request.messages.len(), "model": model});
    node.book.sent.tell(request, &mut facts, |text| node.veil.cover(text).into_owned());
    node.book.spans.llm = shared.span();
    llm_event(node, shared, "llm.start", json!({}), facts);
}

fn llm_event(node: &Node, shared: &mut Shared, name: &str, measured: Json, facts: Json) {
    let spans = &node.book.spans;
    shared.event_in(node, name, (&spans.llm, &spans.turn), measured, facts);
}

/// Puts a request on the list of what is needed.
fn send(node: &mut Node, shared: &mut Shared, request: Arc<Request>, after_ms: u64) {
    node.book.usage.llm_requests = node.book.usage.llm_requests.saturating_add(1);
    shared.ask(Asked::by(node, What::Model { request, after_ms }));
}

/// Takes the reply to a request.
pub(super) fn supplied(
    node: &mut Node,
    shared: &mut Shared,
    request: Arc<Request>,
    reply: Result<Reply, ModelError>,
) {
    let State::Asking(asking) = &node.state else { return };
    let mut asking = asking.clone();
    match reply {
        Err(error) => {
            let own = shared.options.llm_retry.clone().or_else(|| node.agent.options().llm_retry.clone());
            // What has been streamed cannot be taken back.
            let delay =
                (!request.stream).then(|| own.unwrap_or_default().delay_ms(asking.attempt, &error)).flatten();
            match delay {
                Some(after_ms) => {
                    asking.attempt += 1;
                    node.state = State::Asking(asking);
                    send(node, shared, request, after_ms);
                    return;
                }
                None => {
                    settle(shared, &asking, Tokens::default());
                    let took = shared.now.saturating_sub(asking.since);
                    let text = error.to_string();
                    let facts = json!({
                        "turn": node.turn(),
                        "reason": error.kind.name(),
                        "error": &*node.veil.cover(&text),
                        "attempts": asking.attempt,
                    });
                    llm_event(node, shared, "llm.exception", json!({"duration": took}), facts);
                    node.state = State::Replied(Err(error));
                }
            }
        }
        Ok(reply) => {
            settle(shared, &asking, used(&request, &reply));
            let tokens = reply.tokens.unwrap_or_default();
            let took = shared.now.saturating_sub(asking.since);
            let mut measured =
                json!({"duration": took, "input_tokens": tokens.input, "output_tokens": tokens.output});
            add_tokens(&mut measured, &tokens);
            if let Some(cost) = tokens.cost_usd {
                measured["cost_usd"] = json!(cost);
            }
            node.book.spans.tokens = tokens;
            let said = if reply.tool_calls.is_empty() {
                reply.content.clone().unwrap_or_default()
            } else {
                "tool_calls".into()
            };
            let said = node.veil.cover(&said).into_owned();
            let model = node.llm.as_ref().map(Llm::label);
            let facts = json!({"turn": node.turn(), "response": said, "model": model});
            llm_event(node, shared, "llm.stop", measured, facts);
            count(node, shared, tokens, &asking);
            node.state = State::Replied(Ok(reply));
        }
    }
    shared.ready.push_back(node.id);
}

fn settle(shared: &mut Shared, asking: &Asking, tokens: Tokens) {
    if let Some(reservation) = asking.tokens {
        shared.budget.settle(reservation, tokens.input.saturating_add(tokens.output));
    }
    if let Some(reservation) = asking.cost {
        let cost = tokens.cost_usd.map(micro_usd).or_else(|| {
            let price = shared.options.price?;
            Some((tokens.input as f64 * price.input + tokens.output as f64 * price.output).ceil() as u64)
        });
        shared.budget.settle(reservation, cost.unwrap_or(0));
    }
}

/// Adds what a reply used.
fn count(node: &mut Node, shared: &mut Shared, tokens: Tokens, asking: &Asking) {
    let usage = &mut node.book.usage;
    usage.input_tokens = usage.input_tokens.saturating_add(tokens.input);
    usage.output_tokens = usage.output_tokens.saturating_add(tokens.output);
    usage.total_tokens = usage.total_tokens.saturating_add(tokens.input.saturating_add(tokens.output));
    usage.cache_creation_tokens = usage.cache_creation_tokens.saturating_add(tokens.cache_creation);
    usage.cache_read_tokens = usage.cache_read_tokens.saturating_add(tokens.cache_read);
    if let Some(cost) = tokens.cost_usd {
        usage.cost_usd = Some(usage.cost_usd.unwrap_or(0.0) + cost);
        if asking.cost.is_none() {
            shared.budget.record(node.account, Unit::Cost, micro_usd(cost));
        }
    }
    if asking.tokens.is_none() {
        shared.budget.record(node.account, Unit::Tokens, tokens.input.saturating_add(tokens.output));
    }
}

/// Reads the reply that is there.
pub(super) fn read(node: &mut Node, shared: &mut Shared, born: &mut Vec<super::children::Birth>) -> Next {
    let State::Replied(reply) = std::mem::replace(&mut node.state, State::Between) else { return Next::Wait };
    match reply {
        Err(error) => failed(node, shared, &error),
        Ok(reply) => {
            if let Some(over) = spent_too_much(node, shared) {
                return over;
            }
            node.book.draft.raw_response = raw(&reply);
            super::read_reply(node, shared, reply, born)
        }
    }
}

/// The reply as the trace keeps it.
fn raw(reply: &Reply) -> String {
    let mut text = reply.content.clone().unwrap_or_default();
    for call in &reply.tool_calls {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[{} {}]", call.name, call.args));
    }
    text
}

fn failed(node: &mut Node, shared: &mut Shared, error: &ModelError) -> Next {
    let details = json!({"kind": error.kind.name()});
    // A saved run may come back without its model.
    let reason = if node.llm.is_some() { Reason::LLM_ERROR } else { Reason::LLM_REQUIRED };
    ended(node, shared, Fail { details, ..Fail::new(reason, error.to_string()) })
}

/// Ends a run that has no reply.
fn ended(node: &mut Node, shared: &mut Shared, fail: Fail) -> Next {
    // The turn was begun, so it has a record.
    node.close_failed(&fail);
    shared.turn_stop(node);
    Next::Over(Err(fail))
}

/// After a reply and before what it asks for: is the budget of tokens and dollars kept?
fn spent_too_much(node: &mut Node, shared: &mut Shared) -> Option<Next> {
    let usage = &node.book.usage;
    let spent = Spent {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
        llm_requests: usage.llm_requests,
    };
    if shared.options.budget.as_ref().is_some_and(|check| !check(&spent)) {
        return Some(finish::over_budget(node, shared, "the host's budget check said stop"));
    }
    if shared.budget.is_overdrawn(node.account, Unit::Tokens) {
        return Some(finish::over_budget(node, shared, "the token limit is used up"));
    }
    if shared.budget.is_overdrawn(node.account, Unit::Cost) {
        let fail = Fail::new(Reason::COST_EXCEEDED, "the run costs more than max_cost_usd");
        return Some(Next::Over(Err(fail)));
    }
    None
}
