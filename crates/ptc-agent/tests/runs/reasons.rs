//! Every reason that the library gives stands in its table, whatever the transport.

use ptc_agent::model::Reply;
use ptc_agent::{Agent, Builder, Expose, MemoryStrategy, Tool, Transport};
use serde_json::json;

use crate::support::{Script, code, eval, run};

const PROGRAMS: [&str; 24] = [
    "(fail \"x\")",
    "(fail {:message \"m\"})",
    "(def a (vec (range 30000)))",
    "(",
    "(let [x])",
    "(if)",
    "{:a 1 :a 2}",
    "nope",
    "(eval 1)",
    "(+ 1 :a)",
    "(nth [1] 5)",
    "(/ 1 0)",
    "((fn [x] x))",
    "(1)",
    "(throw (ex-info \"x\" {}))",
    "(loop [] (recur))",
    "(pmap inc [:a])",
    "(pcalls inc)",
    "data/gone",
    "(tool/t 1 2)",
    "(tool/t {:n \"x\"})",
    "(tool/bad)",
    "(tool/nope)",
    "(Integer/parseInt \"x\")",
];

/// A transport: its name, an agent of it, a program as a reply, and the last reply.
type Case = (&'static str, fn() -> Builder, fn(&str) -> Reply, Reply);

#[test]
fn reasons_of_turns_stand_in_the_table_in_every_transport() {
    let tools = |builder: Builder| {
        let t = Tool::new("t", |_| json!(1)).signature("(n :int) -> :int").unwrap();
        let bad = Tool::new("bad", |_| Err::<serde_json::Value, _>("no".to_owned()));
        builder.tool(t.expose(Expose::PtcLisp)).tool(bad.expose(Expose::PtcLisp))
    };
    let transports: [Case; 3] = [
        ("content", || Agent::builder("x"), code, code("(return 1)")),
        ("tool_call", || Agent::builder("x").transport(Transport::ToolCall), eval, eval("(return 1)")),
        ("combined", || Agent::builder("x").combined(), eval, Reply::text("1")),
    ];
    for (name, builder, program, end) in transports {
        for strategy in [MemoryStrategy::Rollback, MemoryStrategy::Strict] {
            for source in PROGRAMS {
                let agent =
                    tools(builder()).set("fuel", &json!(1_000_000)).set("memory_limit", &json!(100_000));
                let agent = agent.memory_strategy(strategy).build().unwrap();
                let step = run(agent, json!({}), &mut Script::new([program(source), end.clone()]));
                let turn = &step.trace()[0];
                assert!(!turn.success, "{name} {source}: {turn:?}");
                let reason = turn.result["reason"].as_str().unwrap_or_default();
                assert!(
                    ptc_agent::REASONS.iter().any(|info| info.name == reason),
                    "{name} {source}: {reason}"
                );
            }
        }
    }
}
