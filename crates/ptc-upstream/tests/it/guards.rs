//! What a change of a definition means, what every call is allowed, and edges of limits.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ptc_upstream::effects::Policy;
use ptc_upstream::model::{Allowance, Fault, Payload, ToolDef};
use ptc_upstream::pins::{Change, Pins, digest};
use ptc_upstream::runtime::{Begun, EffectJournal, NewEffect};
use ptc_upstream::{Caps, Client, Config, Runtime, RuntimeOptions, Secrets, SnapshotMode};
use serde_json::{Map, Value as Json, json};

use crate::fixture::{object, open, value};

fn tool() -> ToolDef {
    ToolDef {
        name: "drop_table".to_owned(),
        description: "Drops a table.".to_owned(),
        input_schema: object(json!({"type": "object", "properties": {"name": {"type": "string"}}})),
        output_schema: Some(object(json!({"type": "object"}))),
        annotations: object(json!({"destructiveHint": true})),
        ..ToolDef::default()
    }
}

/// Hints decide whether somebody is asked, so a server that flips one has changed the tool.
#[test]
fn a_pin_holds_for_everything_that_a_tool_says_of_itself() {
    let mut pins = Pins::new();
    pins.pin("db", &[tool()]);
    assert_eq!(pins.compare("db", &[tool()]), []);
    type Edit = fn(&mut ToolDef);
    let changes: [(&str, Edit); 7] = [
        ("description", |tool| tool.description = "Lists tables.".to_owned()),
        ("input", |tool| tool.input_schema = object(json!({"type": "object"}))),
        ("no output", |tool| tool.output_schema = None),
        ("output", |tool| tool.output_schema = Some(object(json!({"type": "array"})))),
        ("flipped hint", |tool| tool.annotations = object(json!({"readOnlyHint": true}))),
        ("no hint", |tool| tool.annotations = Map::new()),
        ("more hints", |tool| {
            tool.annotations.insert("idempotentHint".to_owned(), json!(true));
        }),
    ];
    for (what, change) in changes {
        let mut other = tool();
        change(&mut other);
        let found = pins.compare("db", &[other]);
        assert_eq!(found.iter().map(|one| one.change).collect::<Vec<_>>(), [Change::Changed], "{what}");
    }
    let renamed = ToolDef { name: "look".to_owned(), ..tool() };
    let found: Vec<_> = pins.compare("db", &[renamed]).iter().map(|one| one.change).collect();
    assert_eq!(found, [Change::Removed, Change::Added]);
    assert_eq!(pins.compare("other", &[tool()])[0].change, Change::Added, "pins are those of one upstream");
}

#[test]
fn the_order_of_fields_is_no_change() {
    let mut pins = Pins::new();
    let one =
        ToolDef { annotations: object(json!({"a": {"x": 1, "y": [{"p": 1, "q": 2}]}, "b": 2})), ..tool() };
    let other =
        ToolDef { annotations: object(json!({"b": 2, "a": {"y": [{"q": 2, "p": 1}], "x": 1}})), ..tool() };
    pins.pin("db", &[one]);
    assert_eq!(pins.compare("db", std::slice::from_ref(&other)), []);
    let moved =
        ToolDef { annotations: object(json!({"b": 2, "a": {"y": [{"p": 2, "q": 1}], "x": 1}})), ..other };
    assert_eq!(pins.compare("db", &[moved]).len(), 1, "values that change places are");
}

/// An upstream that keeps what each of its calls was allowed.
#[derive(Clone, Default)]
struct Allowed(Arc<Mutex<Vec<(String, Allowance)>>>);

impl Client for Allowed {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        let tool = |name: &str, annotations: Json| ToolDef {
            name: name.to_owned(),
            input_schema: object(json!({"type": "object"})),
            annotations: object(annotations),
            ..ToolDef::default()
        };
        let tools = vec![
            tool("reads", json!({"readOnlyHint": true})),
            tool("writes", json!({"destructiveHint": true})),
            tool("silent", json!({})),
            tool("torn", json!({"readOnlyHint": true, "destructiveHint": true})),
        ];
        Box::pin(async move { Ok(tools) })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        _: Map<String, Json>,
        allowance: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        self.0.lock().expect("no panics").push((tool.to_owned(), allowance));
        Box::pin(async { Ok(Payload { structured: Some(json!(1)), ..Payload::default() }) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

async fn started(client: &Allowed, fields: Json) -> Arc<Runtime> {
    let mut entry = json!({"transport": "mcp_http", "url": "https://db.example/mcp"});
    object(fields).into_iter().for_each(|(key, field)| entry[key] = field);
    let config = json!({"upstreams": {"db": entry}});
    let config = Config::from_value(config, Path::new("")).expect("it is right");
    let secrets = Secrets::resolve_with(&config, &|_| None, None).expect("there are none");
    let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
    let client = client.clone();
    let connect = move |_: &_, _: &_| Some(Arc::new(client.clone()) as Arc<dyn Client>);
    Runtime::start_with(&config, secrets, options, &connect).await.expect("it starts")
}

/// A transport may send again what only reads. What nobody knows may change the world.
#[tokio::test]
async fn only_calls_that_read_may_be_sent_again() {
    let client = Allowed::default();
    let runtime = started(&client, json!({})).await;
    for (name, once) in [("reads", false), ("writes", true), ("silent", true), ("torn", true)] {
        let said = value(&open(&runtime), &format!("(:ok (tool/call 'db/{name}))")).await;
        assert_eq!(said, "true", "{name}");
        let (called, allowance) = client.0.lock().expect("no panics").pop().expect("it was called");
        assert_eq!((called.as_str(), allowance.once), (name, once));
    }
}

#[tokio::test]
async fn the_smaller_bound_of_run_and_upstream_counts() {
    for (of_upstream, of_run, expected) in [(5_000, 9_000, 5_000), (9_000, 5_000, 5_000)] {
        let client = Allowed::default();
        let runtime = started(&client, json!({"max_response_bytes": of_upstream})).await;
        let caps = Caps { max_response_bytes: of_run, ..Caps::default() };
        let said = value(&runtime.context(caps, Policy::open()), "(:ok (tool/call 'db/reads))").await;
        assert_eq!(said, "true");
        let seen = client.0.lock().expect("no panics").clone();
        assert_eq!((seen[0].1.max_bytes, seen[0].1.timeout), (expected, caps.call_timeout));
    }
}

/// The cap is a number of calls that may be made, not of calls before the last.
#[tokio::test]
async fn a_run_makes_exactly_as_many_calls_as_it_may() {
    let client = Allowed::default();
    let runtime = started(&client, json!({})).await;
    for most in [0_usize, 1, 3] {
        client.0.lock().expect("no panics").clear();
        let context = runtime.context(Caps { calls: most, ..Caps::default() }, Policy::open());
        let said = value(&context, "(mapv (fn [_] (:reason (tool/call 'db/reads))) (range 4))").await;
        let reasons: Vec<&str> = (0..4).map(|n| if n < most { "nil" } else { ":cap_exhausted" }).collect();
        assert_eq!(said, format!("[{}]", reasons.join(" ")), "{most}");
        assert_eq!(client.0.lock().expect("no panics").len(), most);
    }
}

/// A call that cannot be made any more fails by itself: nobody is asked about it.
#[tokio::test]
async fn nobody_is_asked_about_a_call_beyond_the_cap() {
    let client = Allowed::default();
    let runtime = started(&client, json!({"approval": "writes"})).await;
    let context = runtime.context(Caps { calls: 1, ..Caps::default() }, Policy::open());
    let call = json!({"server": "db", "tool": "writes", "args": {}});
    assert!(context.asks(&call));
    assert_eq!(value(&context, "(:ok (tool/call 'db/reads))").await, "true");
    assert!(!context.asks(&call), "no call is left");
    assert_eq!(value(&context, "(:reason (tool/call 'db/writes))").await, ":cap_exhausted");
}

/// The secret of the upstream, which its server says back to whoever asks.
const SECRET: &str = "tok-4711-do-not-show";

/// An upstream that answers with a text that has the secret in it.
struct Telling;

impl Client for Telling {
    fn list(&self, allowance: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        Box::pin(async move { Allowed::default().list(allowance).await })
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        _: Map<String, Json>,
        _: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        let texts = vec![format!("the key is {SECRET}")];
        Box::pin(async { Ok(Payload { texts, ..Payload::default() }) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// A journal that keeps the arguments that it was told.
#[derive(Default)]
struct Told(Mutex<Vec<Json>>);

impl EffectJournal for Told {
    fn begin(&self, _: &str, call: &NewEffect<'_>) -> Result<Begun, String> {
        self.0.lock().expect("no panics").push(call.args.clone());
        Ok(Begun::Fresh)
    }

    fn done(&self, _: &str, _: &str, answer: &Json) -> Result<(), String> {
        self.0.lock().expect("no panics").push(answer.clone());
        Ok(())
    }
}

/// What is written down of a call, its answer and the hash of its arguments have secrets covered: whoever has the hash
/// of a secret could try guesses on it.
#[tokio::test]
async fn journals_accounts_and_texts_have_secrets_covered() {
    let config = json!({
        "credentials": {"token": {"source": "literal", "value": SECRET}},
        "upstreams": {"db": {"transport": "mcp_http", "url": "https://db.example/mcp",
                             "auth": [{"scheme": "bearer", "binding": "token"}]}},
    });
    let config = Config::from_value(config, Path::new("")).expect("it is right");
    let secrets = Secrets::resolve_with(&config, &|_| None, None).expect("there is one");
    let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
    let connect = |_: &_, _: &_| Some(Arc::new(Telling) as Arc<dyn Client>);
    let runtime = Runtime::start_with(&config, secrets, options, &connect).await.expect("it starts");
    let told = Arc::new(Told::default());
    let context = open(&runtime).journalled("scope", told.clone());
    let call = format!("(:value (tool/call {{:server \"db\" :tool \"writes\" :args {{:t \"{SECRET}\"}}}}))");
    assert_eq!(value(&context, &call).await, "\"the key is [REDACTED]\"");
    let written = json!(*told.0.lock().expect("no panics")).to_string();
    assert!(written.contains("[REDACTED]") && !written.contains(SECRET), "{written}");
    let account = context.finish();
    let covered = digest(&json!({"t": "[REDACTED]"}));
    assert_eq!(account.calls[0].args_hash, covered, "the hash is that of the covered arguments");
}
