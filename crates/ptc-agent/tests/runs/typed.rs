//! Answers as Rust types: what the agent is asked for, and what is read from its step.

use ptc_agent::typed::schemars;
use ptc_agent::{Agent, AnswerError};
use serde_json::{Value as Json, json};

use crate::support::{Script, code, run};

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Report {
    total: i64,
    regions: Vec<Region>,
    note: Option<String>,
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Region {
    name: String,
    share: f64,
}

#[test]
fn the_fields_of_the_type_are_the_signature_and_its_inputs_stay() {
    let agent =
        Agent::builder("Report").signature("(month :string) -> :any").returns::<Report>().build().unwrap();
    let signature = agent.signature().expect("it has one").to_string();
    assert_eq!(
        signature,
        "(month :string) -> {total :int, regions [{name :string, share :float}], note :string?}"
    );
    let without_inputs = Agent::builder("Report").returns::<Vec<i64>>().build().unwrap();
    assert_eq!(without_inputs.signature().expect("it has one").to_string(), "() -> [:int]");
}

#[test]
fn a_signature_that_does_not_read_is_told_with_a_type_behind_it() {
    let built = Agent::builder("Report").signature("(month").returns::<Report>().build();
    assert!(built.is_err(), "{built:?}");
}

#[test]
fn an_answer_is_read_into_the_type() {
    let agent = Agent::builder("Report").returns::<Report>().build().unwrap();
    let program = "(return {:total 3 :regions [{:name \"north\" :share 0.5}]})";
    let step = run(agent, json!({}), &mut Script::new([code(program)]));
    let regions = vec![Region { name: "north".to_owned(), share: 0.5 }];
    assert_eq!(step.parse::<Report>().unwrap(), Report { total: 3, regions, note: None });
    let wrong = step.parse::<Vec<i64>>().expect_err("it is a map");
    assert!(wrong.to_string().starts_with("the answer does not fit the Rust type: "), "{wrong}");
}

#[test]
fn a_run_that_failed_is_an_error_of_rust() {
    fn total(agent: Agent) -> Result<Json, Box<dyn std::error::Error>> {
        let step = run(agent, json!({}), &mut Script::new([code("(fail \"no orders\")")]));
        assert!(matches!(step.parse::<Report>(), Err(AnswerError::Failed(_))));
        Ok(step.result()?.clone())
    }
    let failed = total(Agent::builder("Report").returns::<Report>().build().unwrap()).expect_err("it fails");
    assert_eq!(failed.to_string(), "failed: \"no orders\"");
}
