//! Budgets of real runs: random trees of agents, nested and side by side, never spend more than they have,
//! in any unit, whatever order answers come in and whatever is given up on the way.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_agent::model::{Reply, Request, Tokens};
use ptc_agent::{Agent, AgentRun, Ask, AskKind, Need, Price, RunOptions, Step, Supply, Tool, Transport};
use serde_json::json;

use crate::support::{Dice, code, eval, scripted};

/// Dollars per million tokens.
const PRICE: Price = Price { input: 3.0, output: 15.0 };

/// What an agent may spend, with all below it.
#[derive(Clone, Debug, Default)]
struct Most {
    turns: u64,
    tokens: Option<u64>,
    micro_usd: Option<u64>,
    calls: Option<u64>,
    fuel: Option<u64>,
    time_ms: Option<u64>,
    depth: u32,
}

/// A random agent with agents below it; notes what each may spend by its name.
fn tree(dice: &mut Dice, level: usize, most: &mut BTreeMap<String, Most>) -> Agent {
    let name = format!("a{}", most.len());
    let own = Most {
        turns: 1 + dice.roll(14),
        tokens: dice.maybe(1_500, 30_000),
        micro_usd: dice.maybe(8_000, 200_000),
        calls: dice.maybe(1, 12),
        fuel: dice.maybe(200, 30_000),
        time_ms: dice.maybe(50, 2_000),
        depth: 1 + dice.roll(4) as u32,
    };
    most.insert(name.clone(), own.clone());
    let mut builder = Agent::builder("Work")
        .name(&name)
        .description("Works")
        .tool(Tool::new("ping", |_| json!([1, 2, 3])))
        .max_turns(1 + dice.roll(6) as u32)
        .timeout_ms(300)
        .turn_budget(own.turns)
        .max_depth(own.depth);
    if dice.roll(2) == 0 {
        builder = builder.transport(Transport::ToolCall);
    }
    for (option, value) in [
        ("token_limit", own.tokens),
        ("tool_call_budget", own.calls),
        ("fuel_budget", own.fuel),
        ("mission_timeout", own.time_ms),
    ] {
        builder = builder.set(option, &json!(value));
    }
    builder = builder.set("max_cost_usd", &json!(own.micro_usd.map(|micro| micro as f64 / 1e6)));
    let children = if level < 3 { dice.roll(3) } else { 0 };
    for child in 0..children {
        builder = builder.tool(Tool::agent(format!("kid{child}"), Arc::new(tree(dice, level + 1, most))));
    }
    builder.build().unwrap()
}

/// What the outside saw being spent.
#[derive(Debug, Default)]
struct Seen {
    requests: u64,
    tokens: u64,
    micro_usd: f64,
    calls: u64,
}

/// Tokens of a request as the library estimates them.
fn input(request: &Request) -> u64 {
    let messages = request.messages.iter().map(|message| {
        let calls = message.tool_calls.iter().map(|call| call.name.len() + call.args.to_string().len());
        message.content.chars().count() + calls.sum::<usize>()
    });
    let tools = request
        .tools
        .iter()
        .map(|tool| tool.description.chars().count() + tool.parameters.to_string().chars().count());
    ((request.system.chars().count() + messages.sum::<usize>() + tools.sum::<usize>()) as u64).div_ceil(4)
}

/// A model's reply: calls of tools and agents, one by one and side by side, work, mistakes, answers.
fn reply(dice: &mut Dice, request: &Request) -> Reply {
    let kid = |dice: &mut Dice| format!("kid{}", dice.roll(2));
    let program = match dice.roll(9) {
        0 => "(return 1)".to_owned(),
        1 => "(tool/ping {})".to_owned(),
        2 => format!("(pmap (fn [n] (tool/ping {{:n n}})) (range {}))", 1 + dice.roll(6)),
        3 => format!("(pmap (fn [n] (tool/{} {{:n n}})) (range {}))", kid(dice), 1 + dice.roll(3)),
        4 => format!("(def x (tool/{} {{}}))", kid(dice)),
        5 => format!("(reduce + (map inc (range {})))", dice.roll(4_000)),
        6 => format!("(pcalls #(tool/{} {{}}) #(tool/ping {{}}) #(tool/{} {{}}))", kid(dice), kid(dice)),
        7 => "(/ 1 0)".to_owned(),
        _ => "(count (tool/ping {}))".to_owned(),
    };
    let output = dice.roll(2_000).min(request.max_tokens.unwrap_or(u64::MAX));
    let (input, reply) = (input(request), if request.tools.is_empty() { code } else { eval }(&program));
    Reply { tokens: Some(Tokens { input, output, ..Tokens::default() }), ..reply }
}

/// Runs a tree with answers in random order at random times.
fn run(dice: &mut Dice, agent: Agent, own: &Most) -> (Step, Seen) {
    let options = RunOptions { price: Some(PRICE), ..RunOptions::new(scripted()) };
    let (mut now, mut seen) = (1_000, Seen::default());
    let mut run = AgentRun::new(Arc::new(agent), options, now);
    let mut asked: Vec<(Ask, Option<Supply>)> = Vec::new();
    loop {
        match run.next(now) {
            Need::Done(step) => return (*step, seen),
            Need::Busy => {}
            Need::Asks(asks) => {
                assert!(own.time_ms.is_none_or(|time| now < 1_000 + time), "asked when time was over");
                for ask in asks {
                    // What is asked is spent, even if nobody waits for the answer in the end.
                    let supply = answer(dice, &ask, &mut seen);
                    asked.push((ask, Some(supply)));
                }
            }
            Need::Wait { until } if asked.is_empty() => match until {
                Some(until) => now = now.max(until),
                None => run.cancel(now),
            },
            Need::Wait { .. } => {
                let at = dice.roll(asked.len() as u64) as usize;
                let (ask, supply) = asked.swap_remove(at);
                now += dice.roll(60);
                run.supply(ask.id, supply.unwrap());
            }
        }
    }
}

fn answer(dice: &mut Dice, ask: &Ask, seen: &mut Seen) -> Supply {
    match &ask.kind {
        AskKind::Model { request, .. } => {
            let reply = reply(dice, request);
            let tokens = reply.tokens.unwrap();
            seen.requests += 1;
            seen.tokens += tokens.input + tokens.output;
            seen.micro_usd += tokens.input as f64 * PRICE.input + tokens.output as f64 * PRICE.output;
            Supply::Model(Ok(reply))
        }
        AskKind::Tool { tool, args, .. } => {
            seen.calls += 1;
            Supply::Tool(ptc_agent::call_function(tool, args.clone()))
        }
        AskKind::Approval { .. } => Supply::Approval(ptc_agent::Decision::Approve),
    }
}

/// Turns of a step and of all below it.
fn turns(step: &Step) -> u64 {
    u64::from(step.usage.turns) + step.child_steps.iter().map(turns).sum::<u64>()
}

/// Levels of agents.
fn levels(step: &Step) -> u32 {
    // A call that was refused for its depth leaves a step without a name.
    1 + step.child_steps.iter().filter(|child| child.name.is_some()).map(levels).max().unwrap_or(0)
}

/// Every agent of a tree stays within what it has.
fn check(step: &Step, most: &BTreeMap<String, Most>, seed: u64) -> u64 {
    let Some(own) = step.name.as_ref().and_then(|name| most.get(name)) else { return 0 };
    let cost = step.usage.input_tokens as f64 * PRICE.input + step.usage.output_tokens as f64 * PRICE.output;
    let say = |unit: &str| format!("tree {seed}: {unit} of {own:?}\n{:#?}", step.usage);
    assert!(turns(step) <= own.turns, "{}", say("turns"));
    assert!(own.tokens.is_none_or(|most| step.usage.total_tokens <= most), "{}", say("tokens"));
    assert!(own.micro_usd.is_none_or(|most| cost <= most as f64), "{}", say("cost"));
    assert!(own.calls.is_none_or(|most| step.usage.tool_calls <= most), "{}", say("calls"));
    assert!(own.fuel.is_none_or(|most| step.usage.fuel <= most), "{}", say("fuel"));
    assert!(levels(step) <= own.depth, "{}", say("depth"));
    1 + step.child_steps.iter().map(|child| check(child, most, seed)).sum::<u64>()
}

#[test]
fn issue_6_two_hundred_random_trees_never_spend_more_than_they_have() {
    let (mut agents, mut requests, mut ends) = (0, 0, BTreeMap::<String, u32>::new());
    for seed in 0..200 {
        let mut dice = Dice(seed * 7_919 + 1);
        let mut most = BTreeMap::new();
        let agent = tree(&mut dice, 0, &mut most);
        let own = most["a0"].clone();
        let (step, seen) = run(&mut dice, agent, &own);
        agents += check(&step, &most, seed);
        requests += seen.requests;
        *ends.entry(crate::support::reason(&step).to_owned()).or_default() += 1;
        let say = format!("tree {seed}: {own:?} {seen:?}");
        assert!(seen.requests <= own.turns, "{say}");
        assert!(own.tokens.is_none_or(|most| seen.tokens <= most), "{say}");
        assert!(own.micro_usd.is_none_or(|most| seen.micro_usd <= most as f64 + 1e-6), "{say}");
        assert!(own.calls.is_none_or(|most| seen.calls <= most), "{say}");
    }
    assert!(agents > 250 && requests > 400, "{agents} agents, {requests} requests");
    for end in ["ok", "turn_budget_exhausted", "budget_callback_exceeded", "cost_exceeded", "mission_timeout"]
    {
        assert!(ends.contains_key(end), "no tree ended with {end}: {ends:?}");
    }
}
