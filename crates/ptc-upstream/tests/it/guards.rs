//! What a change of a definition means, what every call is allowed, and edges of limits.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ptc_upstream::config::EffectClass;
use ptc_upstream::effects::Policy;
use ptc_upstream::model::ToolDef;
use ptc_upstream::pins::{Change, Pins, digest};
use ptc_upstream::runtime::{Begun, EffectJournal, NewEffect};
use ptc_upstream::{Caps, Config, Runtime, RuntimeOptions, SnapshotMode};
use serde_json::{Map, Value as Json, json};

use crate::fixture::{Answered, Fixture, object, open, structured, text, try_start, value};

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

/// The upstream `db`, whose tools say all that there is about what they do.
fn db(answer: impl Fn(&str, &Json) -> Answered + Send + Sync + 'static) -> Fixture {
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
    Fixture::with_tools("db", tools, answer)
}

/// The same, whatever it is asked.
fn one() -> Fixture {
    db(|_, _| structured(json!(1)))
}

async fn started(client: &Fixture, fields: Json) -> Arc<Runtime> {
    let mut entry = json!({"transport": "mcp_http", "url": "https://db.example/mcp"});
    object(fields).into_iter().for_each(|(key, field)| entry[key] = field);
    frozen(client, json!({"upstreams": {"db": entry}})).await
}

async fn frozen(client: &Fixture, config: Json) -> Arc<Runtime> {
    let config = Config::from_value(config, Path::new("")).expect("it is right");
    let options = RuntimeOptions { snapshot: SnapshotMode::Frozen, ..RuntimeOptions::default() };
    try_start(&config, &[client], options).await.expect("it starts")
}

/// A transport may send again what only reads. What nobody knows may change the world.
#[tokio::test]
async fn only_calls_that_read_may_be_sent_again() {
    let client = one();
    let runtime = started(&client, json!({})).await;
    for (name, once) in [("reads", false), ("writes", true), ("silent", true), ("torn", true)] {
        let said = value(&open(&runtime), &format!("(:ok (tool/call 'db/{name}))")).await;
        assert_eq!(said, "true", "{name}");
        let (called, allowance) = client.allowed().pop().expect("it was called");
        assert_eq!((called.as_str(), allowance.once), (name, once));
    }
}

#[tokio::test]
async fn the_smaller_bound_of_run_and_upstream_counts() {
    for (of_upstream, of_run, expected) in [(5_000, 9_000, 5_000), (9_000, 5_000, 5_000)] {
        let client = one();
        let runtime = started(&client, json!({"max_response_bytes": of_upstream})).await;
        let caps = Caps { max_response_bytes: of_run, ..Caps::default() };
        let said = value(&runtime.context(caps, Policy::open()), "(:ok (tool/call 'db/reads))").await;
        assert_eq!(said, "true");
        let seen = client.allowed();
        assert_eq!((seen[0].1.max_bytes, seen[0].1.timeout), (expected, caps.call_timeout));
    }
}

/// Values take many times the bytes of their text, so their number is bounded too, by the memory of the program.
#[tokio::test]
async fn an_answer_with_more_values_than_the_program_has_room_for_is_not_decoded() {
    let list = |items: usize| format!("[{}]", vec!["{}"; items].join(","));
    for (items, expected) in [(1_000, "1000"), (1_001, ":response_too_large")] {
        let answered = list(items);
        let client = db(move |_, _| text(answered.clone()));
        let caps = Caps { max_response_values: Caps::values_within(128_000), ..Caps::default() };
        let run = started(&client, json!({})).await.context(caps, Policy::open());
        let source = "(let [r (tool/call 'db/reads)] (if (:ok r) (count (:value r)) (:reason r)))";
        assert_eq!(value(&run, source).await, expected, "{items}");
    }
}

/// The cap is a number of calls that may be made, not of calls before the last.
#[tokio::test]
async fn a_run_makes_exactly_as_many_calls_as_it_may() {
    let client = one();
    let runtime = started(&client, json!({})).await;
    for most in [0_usize, 1, 3] {
        let before = client.calls();
        let context = runtime.context(Caps { calls: most, ..Caps::default() }, Policy::open());
        let said = value(&context, "(mapv (fn [_] (:reason (tool/call 'db/reads))) (range 4))").await;
        let reasons: Vec<&str> = (0..4).map(|n| if n < most { "nil" } else { ":cap_exhausted" }).collect();
        assert_eq!(said, format!("[{}]", reasons.join(" ")), "{most}");
        assert_eq!(client.calls() - before, most);
    }
}

/// A call that cannot be made any more fails by itself: nobody is asked about it.
#[tokio::test]
async fn nobody_is_asked_about_a_call_beyond_the_cap() {
    let client = one();
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
    let runtime = frozen(&db(|_, _| text(format!("the key is {SECRET}"))), config).await;
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

/// Beside `"*": "read"` a slip would leave a tool that writes as one that reads.
#[tokio::test]
async fn an_effect_of_a_tool_that_is_not_there_closes_its_server() {
    let fixture = Fixture::new("s", &[("remove_all", json!({})), ("look", json!({}))], |_, _| text("ok"));
    let start = async |name: &str| {
        let mut config = crate::fixture::config(&[&fixture], json!({}));
        let effects = [("*", EffectClass::Read), (name, EffectClass::Write)];
        config.upstreams[0].effects = effects.map(|(name, class)| (name.to_owned(), class)).into();
        try_start(&config, &[&fixture], RuntimeOptions::default()).await.expect("it starts")
    };
    let call = "[(:reason (tool/call 's/remove_all)) (:reason (tool/call 's/look)) (dir 's)]";
    let slip = start("remove_al").await;
    let given = value(&open(&slip), call).await;
    let why = "\\\"effects\\\" names the tool 'remove_al', which is not there; did you mean 'remove_all'?";
    assert_eq!(given, format!("[:upstream_unavailable :upstream_unavailable [\"s (down: {why})\"]]"));
    assert_eq!(fixture.calls(), 0);
    // A pattern may be there for tools that could come.
    for right in ["remove_all", "remove_al*", "gone*"] {
        assert_eq!(
            value(&open(&start(right).await), "(:value (tool/call 's/look))").await,
            "\"ok\"",
            "{right}"
        );
    }
}
