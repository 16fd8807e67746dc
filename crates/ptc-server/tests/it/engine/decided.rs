//! Programs that were decided about before, or that made calls before: what is made once is not made again, what was
//! decided counts, and whoever ends a program is told what it has made.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ptc_host::Decision;
use ptc_server::effects::StoreJournal;
use ptc_server::engine::{
    By, CallError, Choice, Decided, Engine, Parts, Profile, Reply, Settings, Signals, Which, settings,
};
use ptc_server::options::ApprovalBy;
use ptc_store::Store;
use ptc_store::tickets::{Ruling, Tickets};
use ptc_upstream::RuntimeOptions;
use ptc_upstream::model::ToolDef;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::approval::keys;
use super::support::{Seen, anna, args, call, eval, eval_in, object, patient, session, tool};
use super::upstream::{Upstream, start, structured};

/// A shop with two servers, `crm` and `mail`: `get` reads, and never answers while it is held; `put` writes. Calls are
/// counted.
#[derive(Clone)]
struct Shop {
    seen: Seen,
    holds: Arc<AtomicBool>,
    /// How its tools are described.
    about: &'static str,
    store: Arc<Store>,
}

impl Shop {
    fn new() -> Shop {
        let store = Arc::new(Store::open(":memory:").expect("a store"));
        Shop { seen: Seen::default(), holds: Arc::default(), about: "As ever.", store }
    }

    /// The calls of a tool that reached it.
    fn calls(&self, tool: &str) -> Vec<String> {
        self.seen.calls(tool)
    }

    fn upstream(&self) -> Upstream {
        let tool = |name: &str, hint: &str| ToolDef {
            description: self.about.to_owned(),
            input_schema: args(json!({"type": "object", "properties": {"n": {}, "note": {}}})),
            ..tool(name, json!({hint: true}))
        };
        let tools = vec![tool("get", "readOnlyHint"), tool("put", "destructiveHint")];
        let (seen, holds) = (self.seen.clone(), self.holds.clone());
        Upstream::new(Ok(tools)).answering(move |tool, args| {
            let (answer, holds) = (Json::Object(args), holds.clone());
            seen.note(&tool, &answer);
            async move {
                if tool == "get" && holds.load(Ordering::SeqCst) {
                    std::future::pending::<()>().await;
                }
                structured(answer)
            }
        })
    }

    /// A server on the store whose configuration asks about writes of each server so.
    async fn server(&self, crm: &str, mail: &str) -> Arc<Engine> {
        self.server_with(crm, mail, |_, _| {}).await
    }

    /// One that is set up otherwise.
    async fn server_with(
        &self,
        crm: &str,
        mail: &str,
        otherwise: impl FnOnce(&mut Settings, &mut Parts),
    ) -> Arc<Engine> {
        let entry = |name: &str, asks: &str| json!({"transport": "mcp_http", "url": format!("https://{name}.example/mcp"), "approval": asks});
        let config = json!({"upstreams": {"crm": entry("crm", crm), "mail": entry("mail", mail)}});
        let runtime = start(config, RuntimeOptions::default(), |_| self.upstream()).await;
        assert_eq!(runtime.load_all().await, [], "both are there");
        let mut parts = Parts {
            runtime: Some(runtime),
            store: Some(self.store.clone()),
            effects: Some(StoreJournal::new(self.store.clone())),
            ticket_keys: keys(&["k1"]),
            ..Parts::default()
        };
        let mut settings = Settings {
            approval_by: ApprovalBy::Model,
            sessions: Some(settings::SessionSettings::default()),
            ..patient(Profile::Structured)
        };
        otherwise(&mut settings, &mut parts);
        Engine::with(settings, parts).await.expect("it starts")
    }

    fn tickets(&self) -> Tickets {
        Tickets::new(self.store.clone())
    }
}

/// A call in a program, and what it gives.
fn made(server: &str, tool: &str, n: u32) -> String {
    format!("(:n (:value (tool/call {{:server \"{server}\" :tool \"{tool}\" :args {{:n {n}}}}})))")
}

fn ticket(reply: &Reply) -> String {
    object(reply)["ticket"].as_str().unwrap_or_else(|| panic!("it waits: {reply:?}")).to_owned()
}

fn id(reply: &Reply) -> String {
    object(reply)["id"].as_str().unwrap_or_else(|| panic!("it waits: {reply:?}")).to_owned()
}

fn reason(reply: &Reply) -> &str {
    object(reply)["reason"].as_str().unwrap_or_default()
}

async fn decide(engine: &Engine, tool: &str, ticket: &str) -> Reply {
    call(engine, tool, json!({"ticket": ticket})).await
}

/// Approves on a server that stops when the program has come to its read.
async fn approve_and_stop(shop: &Shop, engine: Arc<Engine>, ticket: &str) {
    let reads = shop.calls("get").len();
    shop.holds.store(true, Ordering::SeqCst);
    let (first, decision) = (engine.clone(), args(json!({"ticket": ticket})));
    let deciding =
        tokio::spawn(async move { first.call(&anna(), "lisp_approve", decision, Signals::default()).await });
    shop.seen.until("get", reads + 1).await;
    engine.shutdown().await;
    // What it is told then does not matter: its server is as good as dead.
    drop(deciding);
    shop.holds.store(false, Ordering::SeqCst);
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_a_request_made_before_the_configuration_asked_about_it() {
    for in_session in [false, true] {
        let shop = Shop::new();
        let first = shop.server("never", "never").await;
        let parts =
            [made("crm", "put", 1), made("crm", "put", 1), made("crm", "get", 2), made("crm", "put", 1)];
        let program = format!("[{}]", parts.join(" "));
        let (name, given) = match in_session {
            false => ("lisp_eval", json!({"program": program})),
            true => ("lisp_session_eval", json!({"program": program, "session_id": session(&first).await})),
        };
        let cancel = CancellationToken::new();
        let keyed = || Signals { request_key: Some("k".to_owned()), ..Signals::default() };
        let signals = Signals { cancel: cancel.clone(), ..keyed() };
        shop.holds.store(true, Ordering::SeqCst);
        let anna = anna();
        let (ended, ()) = tokio::join!(first.call(&anna, name, args(given.clone()), signals), async {
            shop.seen.until("get", 1).await;
            cancel.cancel();
        });
        assert_eq!(ended, Err(CallError::Cancelled));
        shop.holds.store(false, Ordering::SeqCst);
        first.shutdown().await;

        let second = shop.server("writes", "never").await;
        let waits = second.call(&anna, name, args(given), keyed()).await.expect("it is answered");
        assert_eq!(object(&waits)["pending"].as_array().map(Vec::len), Some(1), "{waits:?}");
        assert_eq!(shop.calls("put").len(), 2, "{in_session}: what was made is not made again");
        let over = decide(&second, "lisp_approve", &ticket(&waits)).await;
        assert_eq!(object(&over)["result"], "user=> [1 1 2 1]", "{in_session}: {over:?}");
        assert_eq!(shop.calls("put").len(), 3, "{in_session}: the last one is another call");
    }
}

#[tokio::test]
async fn a_program_whose_tools_or_servers_are_others_by_now_does_not_go_on_and_says_what_it_has_made() {
    // What is different when somebody decides again, and what the answer names.
    for (about, mail, told) in
        [("Deletes.", "never", "crm/put"), ("As ever.", "writes", "the server mail is set up")]
    {
        let shop = Shop::new();
        let first = shop.server("writes", "never").await;
        let program =
            format!("[{} {} {}]", made("crm", "put", 1), made("crm", "get", 2), made("mail", "put", 3));
        let waiting = ticket(&eval(&first, &program).await);
        approve_and_stop(&shop, first, &waiting).await;

        let second = Shop { about, ..shop.clone() }.server("writes", mail).await;
        let stale = decide(&second, "lisp_approve", &waiting).await;
        assert_eq!(reason(&stale), "ticket_stale", "{told}: {stale:?}");
        let message = object(&stale)["message"].as_str().expect("a message");
        assert!(message.contains(told) && message.contains("it has made crm/put"), "{message}");
        assert!(!stale.text().contains("Nothing was done."), "{}", stale.text());
        assert_eq!(object(&stale)["calls_made"], json!(["crm/put"]), "{stale:?}");
        assert_eq!(shop.calls("put").len(), 1, "{told}");
        // On a server that is as it was it goes on.
        let third = shop.server("writes", "never").await;
        let over = decide(&third, "lisp_approve", &waiting).await;
        assert_eq!(object(&over)["result"], "user=> [1 2 3]", "{told}: {over:?}");
        assert_eq!(shop.calls("put").len(), 2, "{told}");
    }
}

#[tokio::test]
async fn a_program_that_cannot_go_on_tells_of_calls_of_its_earlier_parts() {
    let shop = Shop::new();
    let first = shop.server("writes", "never").await;
    let program =
        format!("[{} {} {}]", made("mail", "put", 1), made("mail", "get", 2), made("crm", "put", 3));
    let waiting = ticket(&eval(&first, &program).await);
    let second = Shop { about: "Deletes.", ..shop.clone() }.server("writes", "never").await;
    let stale = decide(&second, "lisp_approve", &waiting).await;
    assert_eq!(reason(&stale), "ticket_stale", "{stale:?}");
    assert_eq!(object(&stale)["calls_made"], json!(["mail/put"]), "reads are left out: {stale:?}");
    assert!(stale.text().contains("makes those calls again"), "{}", stale.text());
    let over = decide(&second, "lisp_reject", &waiting).await;
    assert!(!over.is_error && over.text().contains("the program is over"), "{over:?}");
    assert_eq!(object(&over)["calls_made"], json!(["mail/put"]), "{over:?}");
    assert_eq!(shop.calls("put").len(), 1);
}

#[tokio::test]
async fn a_program_whose_key_is_gone_tells_what_it_has_made() {
    let shop = Shop::new();
    let first = shop.server("writes", "never").await;
    let program =
        format!("[{} {} {}]", made("mail", "put", 1), made("mail", "get", 2), made("crm", "put", 3));
    let waits = id(&eval(&first, &program).await);
    let second = shop.server_with("writes", "never", |_, parts| parts.ticket_keys = keys(&["k2"])).await;
    let decide = async |decision: Decision| {
        let choices = vec![Choice { calls: None, decision }];
        let decided =
            Decided { by: By::Page, which: Which::Id(waits.clone()), choices, program: None, wrong: None };
        second.decide(&anna(), decided, Signals::default()).await.expect("a reply")
    };
    let refused = decide(Decision::Approve).await;
    assert_eq!(reason(&refused), "ticket_invalid", "{refused:?}");
    assert_eq!(object(&refused)["calls_made"], json!(["mail/put"]), "{refused:?}");
    let over = decide(Decision::Reject("no".to_owned())).await;
    assert!(!over.is_error && over.text().contains("the program is over"), "{over:?}");
    assert_eq!(object(&over)["calls_made"], json!(["mail/put"]), "{over:?}");
    let told = call(&second, "lisp_result", json!({"id": waits})).await;
    assert!(told.text().contains("mail/put"), "{told:?}");
}

#[tokio::test]
async fn a_program_that_finds_no_room_to_wait_tells_what_it_has_made() {
    let shop = Shop::new();
    let engine = shop.server_with("writes", "never", |settings, _| settings.tickets_per_owner = 1).await;
    eval(&engine, &made("crm", "put", 1)).await;
    let refused = eval(&engine, &format!("[{} {}]", made("mail", "put", 2), made("crm", "put", 3))).await;
    assert_eq!(reason(&refused), "ticket_limit_exceeded", "{refused:?}");
    assert_eq!(object(&refused)["calls_made"], json!(["mail/put"]), "{refused:?}");
    assert!(refused.text().contains("makes those calls again"), "{}", refused.text());
    let refused = eval(&engine, &made("crm", "put", 4)).await;
    assert_eq!(object(&refused).get("calls_made"), None, "nothing was made: {refused:?}");
    // Under a key, what was made is not made again.
    let program = format!("[{} {}]", made("mail", "put", 5), made("crm", "put", 6));
    let before = shop.calls("put").len();
    for _ in 0..2 {
        let keyed = Signals { request_key: Some("k".to_owned()), ..Signals::default() };
        let given = args(json!({"program": program}));
        let refused = engine.call(&anna(), "lisp_eval", given, keyed).await.expect("a reply");
        assert_eq!(reason(&refused), "ticket_limit_exceeded", "{refused:?}");
        let told = refused.text();
        assert!(told.contains("again under the same key") && !told.contains("makes those calls"), "{told}");
        assert_eq!(shop.calls("put").len(), before + 1);
    }
}

#[tokio::test]
async fn what_was_approved_can_be_rejected_when_nobody_goes_on_with_it() {
    for in_session in [false, true] {
        let shop = Shop::new();
        let first = shop.server("writes", "never").await;
        let program = format!("(def x 1) [{} {}]", made("crm", "put", 1), made("crm", "get", 2));
        let id = session(&first).await;
        let waits = match in_session {
            false => eval(&first, &program).await,
            true => eval_in(&first, &id, &program).await,
        };
        let waiting = ticket(&waits);
        approve_and_stop(&shop, first, &waiting).await;

        let second = shop.server("writes", "never").await;
        let over = decide(&second, "lisp_reject", &waiting).await;
        assert!(!over.is_error && over.text().contains("the program is over"), "{in_session}: {over:?}");
        assert_eq!(object(&over)["calls_made"], json!(["crm/put"]), "{in_session}: {over:?}");
        for tool in ["lisp_approve", "lisp_reject"] {
            assert_eq!(reason(&decide(&second, tool, &waiting).await), "ticket_used", "{in_session} {tool}");
        }
        let told = call(&second, "lisp_result", json!({"id": object(&waits)["id"]})).await;
        assert!(told.text().contains("crm/put"), "{in_session}: {told:?}");
        assert_eq!(shop.calls("put").len(), 1, "{in_session}");
        let found = eval_in(&second, &id, "(defined? 'x)").await;
        assert_ne!(object(&found)["result"], "user=> true", "nothing of it is kept: {found:?}");
        assert!(second.open_tickets(&anna()).await.expect("a list").is_empty(), "{in_session}");
    }
}

#[tokio::test]
async fn a_rejection_that_ends_a_program_stays_also_if_its_server_ends() {
    let shop = Shop::new();
    let engine = shop.server("writes", "never").await;
    let waits = eval(&engine, &made("crm", "put", 1)).await;
    let (waiting, id) = (ticket(&waits), id(&waits));
    // One server approved and ended, and so did another one that rejected then.
    let (approve, reject) = (json!([[1, "approve"]]), json!([[1, {"reject": "first"}]]));
    shop.tickets().take(&id, "anna", &approve, 0).expect("it is free");
    let instead = |before: &Json| Ruling::Instead(json!({"rejected": reject, "after": before}));
    shop.tickets().take_over(&id, "anna", &reject, 0, instead).expect("it is free");
    let other = decide(&engine, "lisp_approve", &waiting).await;
    assert_eq!(reason(&other), "ticket_busy", "{other:?}");
    let over = decide(&engine, "lisp_reject", &waiting).await;
    assert!(!over.is_error && over.text().contains("the program is over"), "{over:?}");
    assert!(shop.calls("put").is_empty());
}

#[tokio::test]
async fn of_many_who_approve_and_reject_what_was_left_one_has_it() {
    for round in 0..4 {
        let shop = Shop::new();
        let engine = shop.server("writes", "never").await;
        let waits = eval(&engine, &made("crm", "put", 1)).await;
        let (waiting, id) = (ticket(&waits), id(&waits));
        shop.tickets().take(&id, "anna", &json!([[1, "approve"]]), 0).expect("it is free");
        let mut tools = ["lisp_approve", "lisp_reject", "lisp_approve", "lisp_reject"];
        tools.rotate_left(round);
        let replies = futures_util::future::join_all(tools.map(|tool| decide(&engine, tool, &waiting))).await;
        let won: Vec<&Reply> = replies.iter().filter(|reply| !reply.is_error).collect();
        assert_eq!(won.len(), 1, "{replies:?}");
        let rejected = won[0].text().contains("the program is over");
        assert_eq!(shop.calls("put").len(), usize::from(!rejected), "{replies:?}");
        for lost in replies.iter().filter(|reply| reply.is_error) {
            assert!(["ticket_busy", "ticket_used"].contains(&reason(lost)), "{lost:?}");
        }
    }
}

#[tokio::test]
async fn decisions_that_do_the_same_are_the_same_and_the_first_reason_stays() {
    let edit = |args: Json| json!({"edit": {"server": "crm", "tool": "put", "args": args}});
    // What a server left that ended, what is decided then, and what the program gives.
    let cases = [
        (
            json!({"reject": "first"}),
            "lisp_reject",
            json!({"reason": "second"}),
            "user=> [:approval_rejected \"first\" nil]",
        ),
        (
            edit(json!({"n": 7, "note": {"a": 1, "b": 2}})),
            "lisp_edit",
            json!({"args": {"note": {"b": 2, "a": 1}, "n": 7}}),
            "user=> [nil nil 7]",
        ),
    ];
    for (left, tool, mut given, expected) in cases {
        let shop = Shop::new();
        let engine = shop.server("writes", "never").await;
        let program = r#"(let [r (tool/call {:server "crm" :tool "put" :args {:n 1}})] [(:reason r) (:message r) (:n (:value r))])"#;
        let waits = eval(&engine, program).await;
        shop.tickets().take(&id(&waits), "anna", &json!([[1, left]]), 0).expect("it is free");
        given["ticket"] = ticket(&waits).into();
        let reply = call(&engine, tool, given).await;
        assert_eq!(object(&reply)["result"], expected, "{tool}: {reply:?}");
    }
}

#[tokio::test]
async fn lists_say_what_was_decided_and_waits_to_be_taken_up() {
    let shop = Shop::new();
    let engine = shop.server("writes", "never").await;
    let waits = eval(&engine, &made("crm", "put", 1)).await;
    let listed = engine.open_tickets(&anna()).await.expect("a list");
    assert_eq!(listed[0]["decided"], Json::Null, "{listed:?}");
    let edited = json!([[1, {"edit": {"server": "crm", "tool": "put", "args": {"n": "quiet"}}}]]);
    shop.tickets().take(&id(&waits), "anna", &edited, 0).expect("it is free");
    let listed = engine.open_tickets(&anna()).await.expect("a list");
    let decided = &listed[0]["decided"][0];
    assert_eq!(
        (&listed[0]["busy"], &decided["call"], &decided["decision"]),
        (&json!(false), &json!(1), &json!("edit")),
        "{listed:?}"
    );
    let written = decided["args_text"].as_str().unwrap_or_default();
    assert!(written.contains("quiet"), "people have to write the same again: {listed:?}");
    let told = call(&engine, "lisp_result", json!({"id": id(&waits)})).await;
    let message = object(&told)["message"].as_str().expect("a message");
    assert!(message.contains("the same must be decided again"), "{message}");
    assert_eq!(object(&told)["decided"], json!([{"call": 1, "decision": "edit"}]), "{told:?}");
}

#[tokio::test]
async fn a_form_about_what_was_decided_elsewhere_is_told_what_came_of_it() {
    let shop = Shop::new();
    let engine = shop.server("writes", "never").await;
    let anna = anna();
    for key in [None, Some("k".to_owned())] {
        let signals = || Signals { request_key: key.clone(), ..Signals::default() };
        let given = args(json!({"program": format!("[{} 7]", made("crm", "put", 1))}));
        let waits = engine.call(&anna, "lisp_eval", given.clone(), signals()).await.expect("a reply");
        let approval = waits.approval.clone().expect("it waits");
        let approve = |which: Which, by: By| {
            let choices = vec![Choice { calls: None, decision: Decision::Approve }];
            Decided { by, which, choices, program: None, wrong: None }
        };
        assert_eq!(engine.no_longer_waits(&anna, &approval).await, None);
        let on_page = approve(Which::Id(approval.id.clone()), By::Page);
        let over = engine.decide(&anna, on_page, Signals::default()).await.expect("a reply");
        assert!(!over.is_error, "{over:?}");
        let again = || engine.call(&anna, "lisp_eval", given.clone(), signals());
        if key.is_some() {
            let waited = again().await.expect("a reply");
            assert_eq!((waited.recalled, waited.text()), (true, waits.text()), "a key has one reply");
            let asked = engine.no_longer_waits(&anna, &waited.approval.expect("it waited")).await;
            assert!(
                asked.is_some_and(|told| told.text().contains("7]")),
                "and nobody is asked about it again"
            );
        }
        let in_form = approve(Which::Text(approval.ticket.clone()), By::Form);
        let told = engine.decide(&anna, in_form, signals()).await.expect("a reply");
        assert!(!told.is_error && told.text().contains("7]"), "{told:?}");
        if key.is_some() {
            let last = again().await.expect("a reply");
            assert!(last.recalled && last.text().contains("7]"), "what came of the form counts: {last:?}");
        }
    }
}

#[tokio::test]
async fn an_edit_with_a_misspelt_argument_is_refused_and_says_what_was_meant() {
    let shop = Shop::new();
    let engine = shop.server("writes", "never").await;
    let waiting = ticket(&eval(&engine, &made("crm", "put", 1)).await);
    let edit = |args: Json| json!({"ticket": waiting, "args": args});
    let refused = call(&engine, "lisp_edit", edit(json!({"n": 1, "ntoe": "x"}))).await;
    assert_eq!(reason(&refused), "args_error", "{refused:?}");
    assert!(refused.text().contains("ntoe: is not declared; did you mean note?"), "{}", refused.text());
    let over = call(&engine, "lisp_edit", edit(json!({"n": 2, "note": "x", "more": 1}))).await;
    assert_eq!(object(&over)["result"], "user=> 2", "what the tool may take is its own business: {over:?}");
}
