//! Programs that wait for approval: tickets, decisions, and every way in which a ticket is refused.

use std::sync::Arc;
use std::time::Duration;

use ptc_server::engine::{Caller, Engine, Keys, Parts, Profile, Settings, Transport, settings};
use ptc_server::options::ApprovalBy;
use ptc_store::Store;
use ptc_upstream::Runtime;
use ptc_upstream::model::ToolDef;
use serde_json::{Value as Json, json};

use super::support::{SECRET, Seen, anna, args, call, call_as, eval, object, patient, tool, until};
use super::upstream::{Upstream, frozen, start, structured};

/// A world that counts: `get` reads, `put` and `send` write and must be approved. All give back what they got, or
/// nothing ever if that has a key `wait`. Only `send` says what it takes.
#[derive(Clone, Default)]
pub struct World(Seen);

impl World {
    /// The calls that reached it.
    pub fn seen(&self) -> Vec<String> {
        let mut seen = self.0.calls("");
        seen.sort();
        seen
    }

    /// A runtime that reaches it.
    pub async fn runtime(&self) -> Arc<Runtime> {
        let config = json!({
            "credentials": {"token": {"source": "literal", "value": SECRET}},
            "upstreams": {"crm": {"transport": "mcp_http", "url": "https://crm.example/mcp", "approval": "writes",
                                  "auth": [{"scheme": "bearer", "binding": "token"}]}},
        });
        let takes = json!({"type": "object", "required": ["id"], "additionalProperties": false,
                           "properties": {"id": {"type": "string", "minLength": 1}, "n": {"type": "integer"}}});
        let tools = vec![
            tool("get", json!({"readOnlyHint": true})),
            tool("put", json!({"destructiveHint": true})),
            ToolDef { input_schema: args(takes), ..tool("send", json!({"destructiveHint": true})) },
        ];
        let seen = self.0.clone();
        let upstream = Upstream::new(Ok(tools)).answering(move |tool, args| {
            let answer = Json::Object(args);
            seen.note(&tool, &answer);
            async {
                if answer.get("wait").is_some() {
                    std::future::pending::<()>().await;
                }
                structured(answer)
            }
        });
        start(config, frozen(), |_| upstream.clone()).await
    }

    /// A server over it, with these parts besides.
    pub async fn server(&self, settings: Settings, parts: Parts) -> Arc<Engine> {
        let parts = Parts { runtime: Some(self.runtime().await), ..parts };
        Engine::with(settings, parts).await.expect("it starts")
    }
}

/// A call of the world in a program.
pub fn put(n: &str) -> String {
    format!("(:value (tool/call {{:server \"crm\" :tool \"put\" :args {{:n {n}}}}}))")
}

/// Settings with which the tests decide as a model may that was allowed to.
fn deciding() -> Settings {
    Settings { approval_by: ApprovalBy::Model, ..patient(Profile::Structured) }
}

async fn engine(world: &World) -> Arc<Engine> {
    world.server(deciding(), Parts::default()).await
}

/// Runs a program that must wait; its ticket.
async fn waits(engine: &Engine, program: &str) -> String {
    let reply = eval(engine, program).await;
    ticket(&reply)
}

fn ticket(reply: &ptc_server::engine::Reply) -> String {
    let shown = object(reply);
    assert_eq!((&shown["status"], reply.is_error), (&json!("approval_required"), false), "{shown}");
    let ticket = shown["ticket"].as_str().expect("a ticket").to_owned();
    assert!(ticket.starts_with("ptct1_"), "{ticket}");
    ticket
}

fn reason(reply: &ptc_server::engine::Reply) -> &str {
    object(reply)["reason"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_program_stops_shows_the_whole_call_and_goes_on_when_it_is_approved() {
    let world = World::default();
    let engine = engine(&world).await;
    let program = format!("(println \"before\") [(:n {}) :after]", put("41"));
    let reply = eval(&engine, &program).await;
    let shown = object(&reply);
    let pending = json!([{"call": 1, "server": "crm", "tool": "put", "args": {"n": 41}, "effect": "write",
                          "description": ""}]);
    assert_eq!(shown["pending"], pending, "{shown}");
    assert!(world.seen().is_empty());
    let reply = call(&engine, "lisp_approve", json!({"ticket": ticket(&reply)})).await;
    assert_eq!(object(&reply)["result"], "user=> [41 :after]", "{reply:?}");
    assert!(reply.text().contains("before"), "{}", reply.text());
    assert_eq!(world.seen(), ["put {\"n\":41}"]);
}

#[tokio::test]
async fn edits_and_rejections_go_on_too() {
    let world = World::default();
    let engine = engine(&world).await;
    let program = r#"(let [r (tool/call {:server "crm" :tool "put" :args {:n 1}})] [(:reason r) (:message r) (:value r)])"#;
    let cases = [
        ("lisp_edit", json!({"args": {"n": 7}}), "user=> [nil nil {:n 7}]"),
        ("lisp_reject", json!({"reason": "too much"}), "user=> [:approval_rejected \"too much\" nil]"),
        ("lisp_reject", json!({}), "user=> [:approval_rejected \"rejected\" nil]"),
    ];
    for (tool, mut arguments, expected) in cases {
        arguments["ticket"] = waits(&engine, program).await.into();
        let reply = call(&engine, tool, arguments).await;
        assert_eq!(object(&reply)["result"], expected, "{tool}");
    }
    assert_eq!(world.seen(), ["put {\"n\":7}"]);
    let metrics = engine.metrics();
    let decided: Vec<_> = metrics.decisions.iter().map(|one| (one.decision, one.by, one.count)).collect();
    assert_eq!(decided, [("edited", "model", 1), ("rejected", "model", 2)]);
    assert_eq!((metrics.upstream_calls, metrics.upstream_errors), (1, 0), "what was rejected was not made");
}

#[tokio::test]
async fn an_edit_with_what_covers_a_secret_is_refused_and_the_call_still_waits() {
    let world = World::default();
    let engine = engine(&world).await;
    let ticket = waits(&engine, &put("1")).await;
    let covered = json!({"ticket": ticket, "args": {"n": 2, "key": ["Bearer [REDACTED]"]}});
    let refused = call(&engine, "lisp_edit", covered).await;
    assert_eq!(reason(&refused), "args_error", "{refused:?}");
    assert!(refused.text().contains("stands for a secret"), "{}", refused.text());
    let reply = call(&engine, "lisp_approve", json!({"ticket": ticket})).await;
    assert!(!reply.is_error, "{reply:?}");
    assert_eq!(world.seen(), ["put {\"n\":1}"]);
}

#[tokio::test]
async fn calls_of_branches_are_decided_together_or_one_at_a_time() {
    let world = World::default();
    let engine = engine(&world).await;
    let program = format!(
        "(pmap (fn [n] (if (even? n) (:value (tool/call {{:server \"crm\" :tool \"get\" :args {{:n n}}}})) {})) (range 4))",
        put("n")
    );
    let first = waits(&engine, &program).await;
    assert_eq!(world.seen(), ["get {\"n\":0}", "get {\"n\":2}"]);
    let reply = eval(&engine, &program).await;
    let calls: Vec<u64> = object(&reply)["pending"]
        .as_array()
        .expect("calls")
        .iter()
        .filter_map(|call| call["call"].as_u64())
        .collect();
    assert_eq!(calls.len(), 2);
    let several = call(&engine, "lisp_edit", json!({"ticket": ticket(&reply), "args": {"n": 9}})).await;
    assert_eq!(reason(&several), "args_error", "{several:?}");
    let one = json!({"ticket": ticket(&reply), "call": calls[1], "args": {"n": 9}});
    let reply = call(&engine, "lisp_edit", one).await;
    assert_eq!(object(&reply)["pending"].as_array().map(Vec::len), Some(1));
    let reply = call(&engine, "lisp_approve", json!({"ticket": ticket(&reply)})).await;
    assert_eq!(object(&reply)["result"], "user=> ({:n 0} {:n 1} {:n 2} {:n 9})");
    let reply = call(&engine, "lisp_approve", json!({"ticket": first})).await;
    assert_eq!(object(&reply)["result"], "user=> ({:n 0} {:n 1} {:n 2} {:n 3})");
    let writes: Vec<String> = world.seen().into_iter().filter(|call| call.starts_with("put")).collect();
    assert_eq!(writes, ["put {\"n\":1}", "put {\"n\":1}", "put {\"n\":3}", "put {\"n\":9}"]);
}

#[tokio::test]
async fn going_on_may_meet_the_next_approval_and_the_account_is_of_the_whole_program() {
    let world = World::default();
    let engine = world.server(Settings { profile: Profile::Debug, ..deciding() }, Parts::default()).await;
    let program = format!("[{} {} {}]", put("1"), put("2"), put("3"));
    let mut reply = eval(&engine, &program).await;
    for _ in 0..3 {
        reply = call(&engine, "lisp_approve", json!({"ticket": ticket(&reply)})).await;
    }
    let shown = object(&reply);
    assert_eq!(shown["result"], "user=> [{:n 1} {:n 2} {:n 3}]");
    assert_eq!(shown["upstream_calls"].as_array().map(Vec::len), Some(3), "{shown}");
    assert_eq!(world.seen().len(), 3);
}

#[tokio::test]
async fn schemas_hold_at_the_end() {
    let engine = engine(&World::default()).await;
    let ask = json!({"program": put("1"), "output_schema": {"type": "integer"}});
    let reply = call(&engine, "lisp_eval", ask).await;
    let reply = call(&engine, "lisp_approve", json!({"ticket": ticket(&reply)})).await;
    assert_eq!(reason(&reply), "validation_error");
}

#[tokio::test]
async fn a_ticket_is_used_once_and_says_what_came_of_it() {
    let world = World::default();
    let engine = engine(&world).await;
    let ticket = waits(&engine, &put("1")).await;
    call(&engine, "lisp_approve", json!({"ticket": ticket})).await;
    for tool in ["lisp_approve", "lisp_reject"] {
        let again = call(&engine, tool, json!({"ticket": ticket})).await;
        assert_eq!(reason(&again), "ticket_used");
        assert_eq!(object(&again)["ended"], json!({"status": "ok", "text": "user=> {:n 1}"}), "{again:?}");
    }
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test]
async fn of_many_who_decide_at_once_one_goes_on() {
    let world = World::default();
    let engine = engine(&world).await;
    let ticket = waits(&engine, &put("1")).await;
    let both = futures_util::future::join_all(
        (0..4).map(|_| call(&engine, "lisp_approve", json!({"ticket": ticket}))),
    );
    let replies = both.await;
    let went_on = replies.iter().filter(|reply| !reply.is_error).count();
    assert!(went_on <= 1 && world.seen().len() == 1, "{went_on} {:?}", world.seen());
    for reply in replies.iter().filter(|reply| reply.is_error) {
        assert!(
            ["ticket_busy", "ticket_used", "busy", "store_unavailable"].contains(&reason(reply)),
            "{reply:?}"
        );
    }
}

#[tokio::test]
async fn tickets_that_are_changed_foreign_expired_or_unknown_are_refused_and_nothing_is_done() {
    let world = World::default();
    let engine = engine(&world).await;
    let ticket = waits(&engine, &put("1")).await;
    let mut changed = ticket.clone().into_bytes();
    let at = changed.len() / 2;
    changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).expect("a text");
    let other_key = ticket.replacen("ptct1_memory_", "ptct1_other_", 1);
    for (text, says) in [
        (changed, "changed"),
        (other_key, "key 'other'"),
        ("ptct1_nothing".to_owned(), "not sealed by this server"),
        ("hello".to_owned(), "not sealed by this server"),
    ] {
        let reply = call(&engine, "lisp_approve", json!({"ticket": text})).await;
        assert_eq!(reason(&reply), "ticket_invalid", "{text}");
        assert!(
            object(&reply)["message"].as_str().is_some_and(|message| message.contains(says)),
            "{reply:?}"
        );
    }
    let ben = Caller::new("ben", Transport::Stdio);
    let foreign = call_as(&ben, &engine, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(reason(&foreign), "ticket_owner_mismatch");
    for (arguments, says) in [
        (json!({}), "`ticket` is required"),
        (json!({"ticket": ticket, "calls": [99]}), "call 99 does not wait"),
        (json!({"ticket": ticket, "calls": []}), "nothing is decided"),
        (json!({"ticket": ticket, "calls": ["x"]}), "by the numbers"),
        (json!({"ticket": ticket, "what": 1}), "unknown argument `what`"),
    ] {
        let reply = call(&engine, "lisp_approve", arguments.clone()).await;
        assert_eq!(reason(&reply), "args_error", "{arguments}");
        assert!(
            object(&reply)["message"].as_str().is_some_and(|message| message.contains(says)),
            "{reply:?}"
        );
    }
    assert!(world.seen().is_empty());
    let reply = call(&engine, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(object(&reply)["result"], "user=> {:n 1}", "refusals have not used it up");

    let brief = Settings { ticket_ttl: Duration::from_millis(1), ..deciding() };
    let engine = world.server(brief, Parts::default()).await;
    let ticket = waits(&engine, &put("2")).await;
    let open = async || engine.open_tickets(&anna()).await.expect("a list");
    until("its time is over", async || open().await.is_empty()).await;
    let reply = call(&engine, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(reason(&reply), "ticket_expired");
    assert_eq!(world.seen().len(), 1);
}

/// Keys of which the first one seals.
pub fn keys(ids: &[&str]) -> Option<Arc<Keys>> {
    let line = |id: &&str| {
        let byte = id.bytes().last().unwrap_or(0);
        // 32 equal bytes in Base64.
        let text = base64_of([byte; 32]);
        format!("{id} {text}\n")
    };
    Some(Arc::new(Keys::parse(&ids.iter().map(line).collect::<String>()).expect("keys")))
}

fn base64_of(bytes: [u8; 32]) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for at in 0..4 {
            match at <= chunk.len() {
                true => text.push(char::from(SIGNS[(word >> (18 - 6 * at)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

#[tokio::test]
async fn another_server_with_the_store_and_the_keys_goes_on_and_one_without_the_key_does_not() {
    let world = World::default();
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let parts =
        |ids: &[&str]| Parts { store: Some(store.clone()), ticket_keys: keys(ids), ..Parts::default() };
    let first = world.server(deciding(), parts(&["k1"])).await;
    let ticket = waits(&first, &format!("(+ 1 (:n {}))", put("1"))).await;
    drop(first);
    let without = world.server(deciding(), parts(&["k2"])).await;
    let reply = call(&without, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(reason(&reply), "ticket_invalid");
    let second = world.server(deciding(), parts(&["k2", "k1"])).await;
    let reply = call(&second, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(object(&reply)["result"], "user=> 2");
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test]
async fn a_server_that_grants_other_things_does_not_go_on() {
    let world = World::default();
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let parts = || Parts { store: Some(store.clone()), ticket_keys: keys(&["k1"]), ..Parts::default() };
    let first = world.server(deciding(), parts()).await;
    let ticket = waits(&first, &put("1")).await;
    let reading = Settings { read_only: true, ..deciding() };
    let second = world.server(reading, parts()).await;
    let reply = call(&second, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(reason(&reply), "ticket_stale");
    assert!(world.seen().is_empty());
    let reply = call(&first, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(object(&reply)["result"], "user=> {:n 1}", "the ticket is as it was");
}

#[tokio::test]
async fn secrets_in_arguments_are_covered_and_still_sent() {
    let world = World::default();
    let engine = engine(&world).await;
    let reply = eval(&engine, &put(&format!("\"{SECRET}\""))).await;
    assert!(!reply.text().contains(SECRET), "{}", reply.text());
    let listed = engine.open_tickets(&anna()).await.expect("a list");
    assert_eq!(listed.len(), 1);
    assert!(!json!(listed).to_string().contains(SECRET), "{listed:?}");
    call(&engine, "lisp_approve", json!({"ticket": ticket(&reply)})).await;
    assert_eq!(world.seen(), [format!("put {{\"n\":\"{SECRET}\"}}")]);
    assert!(engine.open_tickets(&anna()).await.expect("a list").is_empty());
}

#[tokio::test]
async fn the_tools_are_listed_only_where_somebody_is_asked() {
    let names = |engine: &Engine| engine.tools(&anna()).iter().map(|tool| tool.name).collect::<Vec<_>>();
    let asking = engine(&World::default()).await;
    assert_eq!(
        names(&asking),
        ["lisp_eval", "lisp_check", "lisp_result", "lisp_approve", "lisp_reject", "lisp_edit"]
    );
    let plain = super::support::aggregator(patient(Profile::Slim)).await;
    assert_eq!(names(&plain), ["lisp_eval", "lisp_check"]);
    let reply = call(&plain, "lisp_approve", json!({"ticket": "x"})).await;
    assert_eq!(reason(&reply), "unknown_tool");
    let spec = asking.tools(&anna()).swap_remove(0);
    assert!(spec.description.contains("lisp_approve"), "{}", spec.description);
    assert_eq!(spec.output_schema.expect("it has one")["oneOf"].as_array().map(Vec::len), Some(3));
}

#[tokio::test]
async fn checks_say_which_calls_will_ask() {
    let engine = engine(&World::default()).await;
    let reply = call(&engine, "lisp_check", json!({"program": put("1")})).await;
    assert_eq!(object(&reply)["uses"][0]["asks"], json!(["crm/put"]));
}

async fn sessions(world: &World, parts: Parts) -> Arc<Engine> {
    let settings = Settings { sessions: Some(settings::SessionSettings::default()), ..deciding() };
    world.server(settings, parts).await
}

#[tokio::test]
async fn a_session_is_as_before_while_a_program_waits_and_keeps_what_it_defines_at_its_end() {
    let world = World::default();
    let engine = sessions(&world, Parts::default()).await;
    let session = super::support::session(&engine).await;
    let run = async |program: &str| super::support::eval_in(&engine, &session, program).await;
    run("(def a 1)").await;
    let reply = run(&format!("(def a 2) (def b (:n {}))", put("5"))).await;
    let waiting = ticket(&reply);
    assert_eq!(object(&run("(defined? 'b)").await)["status"], "error", "b is not there");
    let reply = call(&engine, "lisp_approve", json!({"ticket": waiting})).await;
    assert_eq!(object(&reply)["memory"]["stored_keys"], json!(["a", "b"]), "{reply:?}");
    assert_eq!(object(&run("[a b]").await)["result"], "user=> [2 5]");
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test]
async fn a_session_that_has_changed_since_refuses_the_program() {
    let world = World::default();
    let engine = sessions(&world, Parts::default()).await;
    let session = super::support::session(&engine).await;
    let run = async |program: &str| super::support::eval_in(&engine, &session, program).await;
    let waiting = ticket(&run(&format!("(def b {})", put("5"))).await);
    run("(def a 1)").await;
    let reply = call(&engine, "lisp_approve", json!({"ticket": waiting})).await;
    assert_eq!(reason(&reply), "ticket_stale", "{reply:?}");
    assert!(world.seen().is_empty());
    assert_eq!(object(&run("a").await)["result"], "user=> 1");
    let waiting = ticket(&run(&format!("(def b {})", put("5"))).await);
    let forget = json!({"session_id": session, "clear": ["history"]});
    call(&engine, "lisp_session_forget", forget).await;
    let reply = call(&engine, "lisp_approve", json!({"ticket": waiting})).await;
    assert_eq!(reason(&reply), "ticket_stale", "{reply:?}");
}

#[tokio::test]
async fn a_stored_session_goes_on_in_another_server() {
    let world = World::default();
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let parts = || Parts { store: Some(store.clone()), ticket_keys: keys(&["k1"]), ..Parts::default() };
    let first = sessions(&world, parts()).await;
    let session = super::support::session(&first).await;
    super::support::eval_in(&first, &session, "(def a 1)").await;
    let reply = super::support::eval_in(&first, &session, &format!("(def b (+ a (:n {})))", put("5"))).await;
    let waiting = ticket(&reply);
    first.shutdown().await;
    drop(first);
    let second = sessions(&world, parts()).await;
    let reply = call(&second, "lisp_approve", json!({"ticket": waiting})).await;
    assert_eq!(object(&reply)["memory"]["stored_keys"], json!(["a", "b"]), "{reply:?}");
    let reply = super::support::eval_in(&second, &session, "[a b]").await;
    assert_eq!(object(&reply)["result"], "user=> [1 6]");
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test]
async fn who_decided_and_died_is_followed_not_contradicted() {
    let world = World::default();
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let parts = Parts {
        store: Some(store.clone()),
        effects: Some(ptc_server::effects::StoreJournal::new(store.clone())),
        ticket_keys: keys(&["k1"]),
        ..Parts::default()
    };
    let engine = world.server(deciding(), parts).await;
    let waiting = waits(&engine, &put("1")).await;
    let id = engine.open_tickets(&anna()).await.expect("a list")[0]["id"].as_str().expect("an id").to_owned();
    // What a server leaves behind that approved the call and died.
    let decided = json!([[1, "approve"]]);
    ptc_store::tickets::Tickets::new(store).take(&id, "anna", &decided, 0).expect("taken");
    let other = call(&engine, "lisp_edit", json!({"ticket": waiting, "args": {"n": 2}})).await;
    assert_eq!((reason(&other), &object(&other)["decided"]), ("ticket_busy", &decided), "{other:?}");
    let same = call(&engine, "lisp_approve", json!({"ticket": waiting})).await;
    assert_eq!(object(&same)["result"], "user=> {:n 1}", "{same:?}");
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test(flavor = "current_thread")]
async fn a_stop_gives_back_the_tickets_and_sessions_of_programs_that_go_on() {
    let world = World::default();
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let parts = || Parts {
        store: Some(store.clone()),
        effects: Some(ptc_server::effects::StoreJournal::new(store.clone())),
        ticket_keys: keys(&["k1"]),
        ..Parts::default()
    };
    let first = sessions(&world, parts()).await;
    let session = super::support::session(&first).await;
    let get = "(tool/call {:server \"crm\" :tool \"get\" :args {:wait 1}})";
    let program = format!("{} {get}", put("1"));
    let alone = waits(&first, &program).await;
    let reply = super::support::eval_in(&first, &session, &program).await;
    let in_session = ticket(&reply);
    for waiting in [&alone, &in_session] {
        let (first, decision) = (first.clone(), args(json!({"ticket": waiting})));
        tokio::spawn(async move { first.call(&anna(), "lisp_approve", decision, Default::default()).await });
    }
    world.0.until("get", 2).await;
    first.shutdown().await;
    let second = sessions(&world, parts()).await;
    let open = second.open_tickets(&anna()).await.expect("a list");
    let busy: Vec<&Json> = open.iter().map(|ticket| &ticket["busy"]).collect();
    assert_eq!(busy, [&json!(false), &json!(false)], "both can be decided again at once");
    let reply = super::support::eval_in(&second, &session, "1").await;
    assert_eq!(object(&reply)["result"], "user=> 1", "{reply:?}");
    // What was approved was made, so nothing else can be decided about it. Whoever rejects it ends the program.
    let other = call(&second, "lisp_edit", json!({"ticket": alone, "args": {"n": 2}})).await;
    assert_eq!(reason(&other), "ticket_busy", "{other:?}");
    assert!(object(&other)["decided"].is_array(), "{other:?}");
    let over = call(&second, "lisp_reject", json!({"ticket": alone})).await;
    assert_eq!(object(&over)["calls_made"], json!(["crm/put"]), "{over:?}");
}

#[tokio::test]
async fn an_owner_has_so_many_programs_waiting_and_no_more() {
    let world = World::default();
    let settings = Settings { tickets_per_owner: 2, ..deciding() };
    let engine = world.server(settings, Parts::default()).await;
    let first = waits(&engine, &put("1")).await;
    waits(&engine, &put("2")).await;
    let reply = eval(&engine, &put("3")).await;
    assert_eq!((reason(&reply), reply.is_error), ("ticket_limit_exceeded", true), "{reply:?}");
    assert!(reply.text().contains("were not made"), "{}", reply.text());
    assert_eq!(engine.open_tickets(&anna()).await.expect("a list").len(), 2);
    // Another caller has room, and so has this one when something was decided; a program that waits again needs none.
    let ben = Caller::new("ben", Transport::Http);
    let reply = call_as(&ben, &engine, "lisp_eval", json!({"program": put("4")})).await;
    ticket(&reply);
    call(&engine, "lisp_reject", json!({"ticket": first})).await;
    let again = waits(&engine, &format!("[{} {}]", put("5"), put("6"))).await;
    let reply = call(&engine, "lisp_approve", json!({"ticket": again})).await;
    ticket(&reply);
    assert_eq!(world.seen(), ["put {\"n\":5}"]);
}

#[tokio::test]
async fn an_edit_is_checked_like_a_call_before_the_ticket_is_used() {
    let world = World::default();
    let engine = engine(&world).await;
    let program = r#"(:value (tool/call {:server "crm" :tool "send" :args {:id "a"}}))"#;
    let ticket = waits(&engine, program).await;
    for (edit, part) in [
        (json!({}), "id"),
        (json!({"id": 5}), "id: expected string, got number"),
        (json!({"id": "a", "n": "1"}), "n: expected integer, got string"),
        (json!({"id": "a", "other": 1}), "other: is not declared"),
    ] {
        let refused = call(&engine, "lisp_edit", json!({"ticket": ticket, "args": edit})).await;
        assert_eq!(reason(&refused), "args_error", "{edit}: {refused:?}");
        assert!(refused.text().contains(part), "{edit}: {}", refused.text());
    }
    assert!(world.seen().is_empty());
    let edit = json!({"ticket": ticket, "args": {"id": "b", "n": 2}});
    assert_eq!(object(&call(&engine, "lisp_edit", edit).await)["result"], "user=> {:id \"b\", :n 2}");
    assert_eq!(world.seen().len(), 1);
}

#[tokio::test]
async fn tickets_of_sessions_that_are_gone_are_gone_and_count_for_nothing() {
    let world = World::default();
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let stored = Parts { store: Some(store), ticket_keys: keys(&["k1"]), ..Parts::default() };
    for parts in [Parts::default(), stored] {
        let settings = Settings {
            sessions: Some(settings::SessionSettings::default()),
            tickets_per_owner: 1,
            ..deciding()
        };
        let engine = world.server(settings, parts).await;
        for end in ["closed", "changed", "forgotten"] {
            let session = super::support::session(&engine).await;
            let reply = super::support::eval_in(&engine, &session, &format!("(def b {})", put("5"))).await;
            let (waiting, shown) = (ticket(&reply), object(&reply).clone());
            assert_eq!(engine.open_tickets(&anna()).await.expect("a list").len(), 1, "{end}");
            match end {
                "closed" => call(&engine, "lisp_session_close", json!({"session_id": session})).await,
                "changed" => super::support::eval_in(&engine, &session, "(def a 1)").await,
                _ => {
                    let all = json!({"session_id": session, "clear": ["memory"]});
                    call(&engine, "lisp_session_forget", all).await
                }
            };
            assert!(engine.open_tickets(&anna()).await.expect("a list").is_empty(), "{end}");
            for tool in ["lisp_approve", "lisp_reject"] {
                let told = call(&engine, tool, json!({"ticket": waiting})).await;
                assert_eq!(reason(&told), "ticket_stale", "{end}: {told:?}");
            }
            let told = call(&engine, "lisp_result", json!({"id": shown["id"]})).await;
            assert_eq!(reason(&told), "ticket_stale", "{end}: {told:?}");
        }
    }
    assert!(world.seen().is_empty());
}

#[tokio::test]
async fn a_program_that_cannot_go_on_can_be_rejected() {
    let world = World::default();
    let store = Arc::new(Store::open(":memory:").expect("a store"));
    let parts = || Parts { store: Some(store.clone()), ticket_keys: keys(&["k1"]), ..Parts::default() };
    let first = world.server(deciding(), parts()).await;
    let waiting = waits(&first, &put("1")).await;
    let second = world.server(Settings { read_only: true, ..deciding() }, parts()).await;
    let refused = call(&second, "lisp_approve", json!({"ticket": waiting})).await;
    assert_eq!(reason(&refused), "ticket_stale", "{refused:?}");
    let rejected = call(&second, "lisp_reject", json!({"ticket": waiting})).await;
    assert!(!rejected.is_error && rejected.text().contains("the program is over"), "{rejected:?}");
    assert_eq!(reason(&call(&first, "lisp_approve", json!({"ticket": waiting})).await), "ticket_used");
    assert!(first.open_tickets(&anna()).await.expect("a list").is_empty() && world.seen().is_empty());
}
