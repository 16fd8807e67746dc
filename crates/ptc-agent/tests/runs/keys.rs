//! Keys of data stay as they are on every way into tools and out of runs, and no entry is lost without a word.

use ptc_agent::model::{Output, Reply};
use ptc_agent::{Agent, Expose, Tool};
use serde_json::{Value as Json, json};

use crate::support::{Script, call, code, run};

fn data() -> Json {
    json!({"2025-08": 3, "web-1": 4, "x_y": 1, "x-y": 2})
}

fn echo() -> Tool {
    Tool::new("echo", |args| args)
}

fn signed(signature: &str) -> Tool {
    echo().signature(signature).expect("a signature")
}

#[test]
fn reader_2a_native_calls_bring_keys_of_data_as_they_are() {
    let cases = [
        (signed("(counts :map) -> :any"), json!({"counts": data()}), json!({"counts": data()})),
        (echo(), json!({"customer-id": 7, "deep": data()}), json!({"customer-id": 7, "deep": data()})),
        // A field that the tool declares has the name that it declares.
        (
            signed("(customer_id :int, rows [{unit_price :float}]) -> :any"),
            json!({"customer-id": 7, "rows": [{"unit-price": 1.5}]}),
            json!({"customer_id": 7, "rows": [{"unit_price": 1.5}]}),
        ),
    ];
    for (tool, given, expected) in cases {
        let mut script = Script::new([Reply::calls(vec![call("e", "echo", given)]), "done".into()]);
        let agent = Agent::builder("x").output(Output::Text).tool(tool).build().unwrap();
        assert!(run(agent, json!({}), &mut script).is_ok());
        assert_eq!(script.calls, [("echo".to_owned(), expected)]);
    }
    let both = json!({"customer-id": 7, "customer_id": 8});
    let mut script = Script::new([Reply::calls(vec![call("e", "echo", both)]), "done".into()]);
    let tool = signed("(customer_id :int) -> :any");
    run(Agent::builder("x").output(Output::Text).tool(tool).build().unwrap(), json!({}), &mut script);
    assert!(script.calls.is_empty());
    assert!(script.told(2).contains("`customer-id` and `customer_id`"), "{}", script.told(2));
}

#[test]
fn reader_2b_programs_hand_data_on_as_it_is() {
    let program = "(let [got (tool/echo {:counts data/m :page-size 3})] (return (tool/echo {:again got})))";
    let mut script = Script::new([code(program)]);
    let step = run(Agent::builder("x").tool(echo()).build().unwrap(), json!({"m": data()}), &mut script);
    let once = json!({"counts": data(), "page_size": 3});
    assert_eq!(
        script.calls,
        [("echo".to_owned(), once.clone()), ("echo".to_owned(), json!({"again": once}))]
    );
    assert_eq!(step.result(), Ok(&json!({"again": once})));
    // A child agent gets what it was given.
    let child = Agent::builder("Count")
        .name("kid")
        .description("Counts.")
        .signature("(counts :map) -> :any")
        .max_turns(1);
    let tool = Tool::agent("kid", std::sync::Arc::new(child.build().unwrap()));
    let replies = [code("(return (tool/kid {:counts data/m}))"), code("data/counts")];
    let mut script = Script::new(replies);
    let step = run(Agent::builder("x").tool(tool).build().unwrap(), json!({"m": data()}), &mut script);
    assert_eq!(step.result(), Ok(&data()), "{:?}", step.fail);
}

#[test]
fn reader_2_calls_that_differ_in_a_key_of_data_are_different_calls() {
    let tool = echo().cached();
    let program = "(return [(tool/echo {:m data/a}) (tool/echo {:m data/b})])";
    let mut script = Script::new([code(program)]);
    let inputs = json!({"a": {"web-1": 1}, "b": {"web_1": 1}});
    let step = run(Agent::builder("x").tool(tool).build().unwrap(), inputs, &mut script);
    assert_eq!(step.value, json!([{"m": {"web-1": 1}}, {"m": {"web_1": 1}}]));
    assert_eq!(script.calls.len(), 2);
}

#[test]
fn reader_3_keys_of_data_stay_in_answers_whatever_programs_mention() {
    let agent = || Agent::builder("x").signature("(m :map) -> {counts :map}").build().unwrap();
    for program in [
        "(println (:web-1 data/m)) (return {:counts data/m})",
        "; look at :web-1\n(return {:counts data/m})",
        "(println \":web-1\" (get data/m :x-y) (contains? data/m :web-1)) (return {:counts data/m})",
    ] {
        let step = run(agent(), json!({"m": data()}), &mut Script::new([code(program)]));
        assert_eq!(step.result(), Ok(&json!({"counts": data()})), "{program}");
    }
    let earlier = [code("(println (:web-1 data/m))"), code("(return {:counts data/m})")];
    let step = run(agent(), json!({"m": data()}), &mut Script::new(earlier));
    assert_eq!(step.result(), Ok(&json!({"counts": data()})));
}

#[test]
fn reader_11_a_fallback_loses_no_entry() {
    for signature in [None, Some("{x_y :int?, z :int?}")] {
        let agent = Agent::builder("x").max_turns(2).fallback();
        let agent = match signature {
            Some(signature) => agent.signature(signature),
            None => agent,
        };
        let step =
            run(agent.build().unwrap(), json!({}), &mut Script::new([code("{:x-y 1 \"x_y\" 2 :z 3}")]));
        assert!(!step.is_ok(), "{:?}", step.value);
        let told = step.warnings.join("\n");
        assert!(told.contains("x-y") && told.contains("x_y"), "{told}");
    }
    let agent = Agent::builder("x").max_turns(2).fallback().build().unwrap();
    let step = run(agent, json!({"m": data()}), &mut Script::new([code("{:page-size 1 :m data/m}")]));
    assert_eq!(step.value, json!({"page_size": 1, "m": data()}));
}

#[test]
fn reader_11_a_fallback_is_advised_only_where_it_would_help() {
    let details = |agent: ptc_agent::Builder, reply: Reply| {
        let replies = [reply.clone(), reply];
        run(agent.max_turns(2).build().unwrap(), json!({}), &mut Script::new(replies))
            .fail
            .expect("it fails")
            .details
    };
    let advised = |details: Json| !details["last_values"].is_null() && details["no_fallback"].is_null();
    assert!(advised(details(Agent::builder("x"), code("5"))));
    let explicit = Agent::builder("x").set("completion_mode", &json!("explicit"));
    assert!(!advised(details(explicit, code("5"))));
    let combined = Agent::builder("x").combined().tool(echo().expose(Expose::Both));
    let eval = crate::support::eval("5");
    assert!(!advised(details(combined, eval)));
}
