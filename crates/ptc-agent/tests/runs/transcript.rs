//! The canonical transcript of combined mode: a native search is kept whole, the model sees its shape, and a
//! program with the call that the hint shows works on all rows without a second search.

use ptc_agent::model::{Message, Reply, Role};
use ptc_agent::{Agent, Expose, Preview, RunOptions, Tool};
use serde_json::{Value as Json, json};

use crate::support::{Script, call, eval, run_with, scripted};

const ROWS: usize = 1842;

fn search_logs(rows: usize) -> Tool {
    let row =
        |id| json!({"id": id, "timestamp": "2026-01-02T03:04:05Z", "message": format!("error 42 no. {id}")});
    Tool::new("search_logs", move |_| Json::from((0..rows).map(row).collect::<Vec<Json>>()))
        .signature("(query :string) -> [:any]")
        .expect("the signature is right")
        .description("Search log events.")
        .expose(Expose::Both)
        .cached()
        .native_result(Preview::Metadata)
}

/// The first call of a tool in a text, as a model would copy it.
fn pasted(hint: &str) -> &str {
    let from = hint.find("(tool/").expect("the hint has a call");
    let mut depth = 0;
    for (at, c) in hint[from..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => continue,
        }
        if depth == 0 {
            return &hint[from..=from + at];
        }
    }
    panic!("the call does not end: {hint}")
}

/// A model that follows the transcript, and reads the hint.
struct Model {
    script: Script,
    turn: usize,
}

impl ptc_agent::Host for Model {
    fn now(&mut self) -> u64 {
        self.script.now()
    }

    fn wait(&mut self, ms: u64) {
        self.script.wait(ms);
    }

    fn model(
        &mut self,
        _llm: &ptc_agent::model::Llm,
        request: &std::sync::Arc<ptc_agent::model::Request>,
    ) -> Result<Reply, ptc_agent::model::ModelError> {
        self.script.requests.push(request.clone());
        self.turn += 1;
        let last = &request.messages.last().expect("there is one").content;
        let told = || serde_json::from_str::<Json>(last).expect("answers are JSON");
        Ok(match self.turn {
            1 => Reply::calls(vec![call("call_1", "search_logs", json!({"query": "error code 42"}))]),
            2 => {
                let told = told();
                let call = pasted(told["cache_hint"].as_str().expect("a hint"));
                eval(&format!("(def rows {call})\n(return {{:total (count rows)}})"))
            }
            _ => {
                assert_eq!(told()["result"], format!("user=> {{:total {ROWS}}}"));
                Reply::text("There were 1842 errors with code 42 in the queried window.")
            }
        })
    }

    fn tool(&mut self, tool: &Tool, args: Json) -> ptc_agent::ToolResult {
        self.script.tool(tool, args)
    }

    fn event(&mut self, event: ptc_agent::Event) {
        self.script.events.push(event);
    }
}

#[test]
fn seed_000_the_transcript_of_combined_mode() {
    let agent =
        Agent::builder("You are a support assistant.").combined().tool(search_logs(ROWS)).max_turns(6);
    let options = RunOptions { collect_messages: true, ..RunOptions::new(scripted()) };
    let mut model = Model { script: Script::default(), turn: 0 };
    let mut run = ptc_agent::AgentRun::new(std::sync::Arc::new(agent.build().unwrap()), options, 0);
    let step = ptc_agent::drive(&mut run, &mut model);
    let script = model.script;

    assert_eq!(step.result(), Ok(&json!("There were 1842 errors with code 42 in the queried window.")));
    assert_eq!(step.usage.turns, 3);
    assert_eq!(script.calls, [("search_logs".to_owned(), json!({"query": "error code 42"}))], "it ran once");

    let native: Vec<&str> = script.requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(native, ["search_logs", "lisp_eval"]);

    let preview: Json = serde_json::from_str(script.told(2)).unwrap();
    let hint = preview["cache_hint"].as_str().unwrap();
    assert_eq!(pasted(hint), "(tool/search_logs {:query \"error code 42\"})");
    assert!(hint.contains("lisp_eval"));
    let properties = json!({"id": "integer", "message": "string", "timestamp": "string"});
    let schema = json!({"type": "array", "items": {"type": "object", "properties": properties}});
    assert_eq!(
        preview,
        json!({
            "status": "ok", "result_count": ROWS, "schema": schema,
            "sample_keys": ["id", "message", "timestamp"], "full_result_cached": true, "cache_hint": hint,
        })
    );
    assert!(!script.told(2).contains("error 42 no."), "no row leaves");

    let eval_told: Json = serde_json::from_str(script.told(3)).unwrap();
    assert_eq!((&eval_told["status"], &eval_told["prints"]), (&json!("ok"), &json!([])));
    let roles: Vec<Role> = step.messages.unwrap().iter().map(|message: &Message| message.role).collect();
    use Role::{Assistant, System, Tool, User};
    assert_eq!(roles, [System, User, Assistant, Tool, Assistant, Tool, Assistant]);

    let called = |at: usize| &script.event("tool.call")[at].metadata;
    assert_eq!((&called(0)["exposure_layer"], &called(0)["cached"]), (&json!("native"), &json!(false)));
    assert_eq!((&called(1)["exposure_layer"], &called(1)["cached"]), (&json!("ptc_lisp"), &json!(true)));
    assert_eq!(
        (&called(2)["tool_name"], &called(2)["exposure_layer"]),
        (&json!("lisp_eval"), &json!("native"))
    );
    assert_eq!(called(0)["cache_key_hash"], called(1)["cache_key_hash"]);
}

#[test]
fn seed_000_a_program_that_comes_first_seeds_the_cache_for_the_native_call() {
    let agent = Agent::builder("x").combined().tool(search_logs(ROWS)).build().unwrap();
    let replies = [
        eval("(count (tool/search_logs {:query \"q\"}))"),
        Reply::calls(vec![call("call_1", "search_logs", json!({"query": "q"}))]),
        "done".into(),
    ];
    let mut script = Script::new(replies);
    let step = run_with(agent, RunOptions::new(scripted()), &mut script);
    assert_eq!((step.value, script.calls.len()), (json!("done"), 1));
    let preview: Json = serde_json::from_str(script.told(3)).unwrap();
    assert_eq!((&preview["result_count"], &preview["full_result_cached"]), (&json!(ROWS), &json!(true)));
}

#[test]
fn seed_000_the_canonical_program_takes_200_000_rows_in_the_defaults() {
    let program = "(def rows (tool/search_logs {:query \"q\"})) (return {:total (count rows)})";
    let agent = Agent::builder("x").tool(search_logs(200_000)).build().unwrap();
    let mut script = Script::new([crate::support::code(program)]);
    let step = run_with(agent, RunOptions::new(scripted()), &mut script);
    assert_eq!((&step.value, step.usage.turns), (&json!({"total": 200_000}), 1), "{:?}", step.fail);
    assert!(step.usage.bytes_kept > 14_000_000, "{}", step.usage.bytes_kept);
}

/// A moving average over 500,000 numbers, and a regular expression over 200,000 lines with a filter behind it.
#[test]
fn large_sequences_fit_the_defaults_of_a_run() {
    let average = "(count (filter #(> % 100) (map #(/ (reduce + %) 5.0) (partition 5 1 (range 500000)))))";
    let lines =
        "(map #(str \"T00:\" % (if (zero? (mod % 100)) \" ERROR \" \" INFO \") \"request\") (range 200000))";
    let search = format!(
        "(count (filter #(= \"ERROR\" (second %)) (map #(re-find #\"T[\\d:]+ (\\w+) req\" %) {lines})))"
    );
    for (program, answer) in [(average, 499_897), (&search, 2_000)] {
        let agent = Agent::builder("x").build().unwrap();
        let mut script = Script::new([crate::support::code(&format!("(return {program})"))]);
        let step = run_with(agent, RunOptions::new(scripted()), &mut script);
        assert_eq!((&step.value, step.usage.turns), (&json!(answer), 1), "{program}: {:?}", step.fail);
    }
}
