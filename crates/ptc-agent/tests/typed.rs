//! Functions with `#[tool]` (rules 8.1–8.5, 7.20–7.23): what models are told about them, and how they are called.

use ptc_agent::typed::{Call, Json, TypedFunction, schemars, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Serialize, JsonSchema)]
struct Order {
    id: i64,
    total: f64,
}

/// Orders of one customer,
/// newest first.
///
/// This is only for readers of the code.
#[tool]
fn find_orders(
    customer_id: i64,
    /// How many
    /// at most.
    limit: Option<u32>,
) -> Result<Vec<Order>, String> {
    match customer_id {
        0 => Err("there is no customer 0".to_owned()),
        id => {
            Ok((0..limit.unwrap_or(2)).map(|n| Order { id: id * 100 + i64::from(n), total: 9.5 }).collect())
        }
    }
}

#[tool]
async fn shout(text: String) -> String {
    text.to_uppercase()
}

#[tool(name = "add-up", description = "Adds numbers")]
fn add(numbers: Vec<f64>, r#type: Option<String>) -> f64 {
    assert!(r#type.is_none());
    numbers.iter().sum()
}

#[derive(Deserialize, JsonSchema)]
struct Filter {
    /// What to look for.
    query: String,
    status: Option<Status>,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Status {
    Open,
    Closed,
}

/// Search.
#[tool]
fn search(args: Filter) -> Vec<String> {
    vec![args.query, json!(args.status).to_string()]
}

#[tool]
async fn search_pattern(Filter { query, .. }: Filter) -> Result<String, std::num::ParseIntError> {
    query.parse::<i64>().map(|number| number.to_string())
}

#[tool]
fn ping() {}

/// One parameter of a name other than `args` is a field like any other, a struct too.
#[tool]
fn nested(filter: Filter) -> String {
    filter.query
}

fn now(call: Call) -> Result<Json, String> {
    match call {
        Call::Now(result) => result,
        Call::Later(_) => panic!("the function is not async"),
    }
}

/// Waits for a future that never has to.
fn later(call: Call) -> Result<Json, String> {
    let Call::Later(mut future) = call else { panic!("the function is async") };
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(result) => result,
        std::task::Poll::Pending => panic!("nothing to wait for"),
    }
}

#[test]
fn r8_3_parameters_become_the_signature_and_the_doc_comment_the_description() {
    for (description, signature, text) in [
        (
            find_orders::describe(),
            "(customer_id :int, limit :int[>=0]?) -> [{id :int, total :float}]",
            Some("Orders of one customer, newest first."),
        ),
        (shout::describe(), "(text :string) -> :string", None),
        (add::describe(), "(numbers [:float], type :string?) -> :float", Some("Adds numbers")),
        (search::describe(), "(query :string, status :enum[open closed]?) -> [:string]", Some("Search.")),
        (search_pattern::describe(), "(query :string, status :enum[open closed]?) -> :string", None),
        (ping::describe(), "() -> :nil", None),
        (
            nested::describe(),
            "(filter {query :string, status :enum[open closed]?}) -> :string",
            Some("One parameter of a name other than `args` is a field like any other, a struct too."),
        ),
    ] {
        assert_eq!(description.signature.to_string(), signature, "{}", description.name);
        assert_eq!(description.description.as_deref(), text, "{}", description.name);
    }
    assert_eq!((find_orders::NAME, add::NAME), ("find_orders", "add-up"));
}

#[test]
fn docs_on_parameters_describe_them() {
    let described = |field: &ptc_signature::Field| field.description.clone();
    let fields = find_orders::describe().signature.input.fields;
    assert_eq!(
        fields.iter().map(described).collect::<Vec<_>>(),
        [None, Some("How many at most.".to_owned())]
    );
    let fields = search::describe().signature.input.fields;
    assert_eq!(described(&fields[0]).as_deref(), Some("What to look for."));
}

#[test]
fn r7_23_arguments_are_converted_and_results_are_json() {
    let found = now(find_orders::call(json!({"customer-id": "7", "limit": 1})));
    assert_eq!(found, Ok(json!([{"id": 700, "total": 9.5}])));
    assert_eq!(now(find_orders::call(json!({"customer_id": 7}))).unwrap().as_array().unwrap().len(), 2);
    assert_eq!(now(add::call(json!({"numbers": [1, 2.5]}))), Ok(json!(3.5)));
    assert_eq!(now(search::call(json!({"query": "x", "status": "open"}))), Ok(json!(["x", "\"open\""])));
    assert_eq!(now(nested::call(json!({"filter": {"query": "x"}}))), Ok(json!("x")));
}

#[test]
fn r18_6_a_tool_without_parameters_takes_an_empty_map_or_nothing() {
    assert_eq!(now(ping::call(json!({}))), Ok(json!(null)));
    assert_eq!(now(ping::call(json!(null))), Ok(json!(null)));
}

#[test]
fn r8_5_an_error_is_text_for_the_model() {
    assert_eq!(now(find_orders::call(json!({"customer_id": 0}))), Err("there is no customer 0".to_owned()));
    let error = later(search_pattern::call(json!({"query": "x"}))).unwrap_err();
    assert_eq!(error, "invalid digit found in string");
}

#[test]
fn async_functions_run_when_they_are_waited_for() {
    assert_eq!(later(shout::call(json!({"text": "hi"}))), Ok(json!("HI")));
    assert_eq!(later(search_pattern::call(json!({"query": "42"}))), Ok(json!("42")));
    // Arguments are checked at once.
    assert!(matches!(shout::call(json!({})), Call::Now(Err(_))));
}

#[test]
fn r7_10_arguments_that_break_the_signature_are_named_with_the_way_to_call() {
    let error = now(find_orders::call(json!({"customer_id": "seven", "limit": -1}))).unwrap_err();
    assert_eq!(
        error,
        "Tool validation errors:\n- customer_id: expected int, got string \"seven\"\n- limit: expected int >=0, got \
         int -1\nCall it as find_orders(customer-id :int, limit :int[>=0]?) -> [{id :int, total :float}]"
    );
    let error = now(nested::call(json!({"filter": {"query": 1}}))).unwrap_err();
    assert!(error.contains("- filter.query: expected string, got int 1"), "{error}");
    let error = now(find_orders::call(json!([1]))).unwrap_err();
    assert!(error.contains("expected map, got list"), "{error}");
}

#[test]
fn what_fits_the_signature_but_not_the_type_is_an_error_too() {
    let error = now(find_orders::call(json!({"customer_id": 1, "limit": 5_000_000_000_u64}))).unwrap_err();
    assert!(error.starts_with("limit: ") && error.contains("u32"), "{error}");
}

#[test]
fn functions_stay_functions() {
    assert_eq!(find_orders(3, Some(1)).unwrap()[0].id, 300);
    ping();
}
