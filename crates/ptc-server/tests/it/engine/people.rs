//! People decide, models do not: what a model is offered and told about programs that wait.

use std::sync::Arc;

use ptc_server::engine::{By, Choice, Decided, Parts, Profile, Settings, Signals, Which};
use ptc_server::options::ApprovalBy;
use ptc_store::Store;
use serde_json::{Value as Json, json};

use super::approval::{World, keys, put};
use super::support::{anna, call, call_as, eval, object, patient};

fn approve(id: &Json) -> Decided {
    let which = Which::Id(id.as_str().expect("an id").to_owned());
    Decided {
        by: By::Page,
        which,
        choices: vec![Choice { calls: None, decision: ptc_host::Decision::Approve }],
        program: None,
        wrong: None,
    }
}

#[tokio::test]
async fn a_model_is_offered_no_tool_that_decides_and_no_ticket() {
    let world = World::default();
    let settings = patient(Profile::Structured);
    assert_eq!(settings.approval_by, ApprovalBy::Person, "unless the operator says otherwise");
    let engine = world.server(settings, Parts::default()).await;
    let names: Vec<&str> = engine.tools(&anna()).iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["lisp_eval", "lisp_check", "lisp_result"]);
    for tool in engine.tools(&anna()) {
        let told = format!("{} {}", tool.description, tool.input_schema);
        assert!(!told.contains("lisp_approve") && !told.contains("ticket"), "{told}");
    }
    engine.decided_at("http://127.0.0.1:7332/approvals".to_owned(), "");
    let reply = eval(&engine, &put("1")).await;
    let shown = object(&reply);
    assert_eq!(shown["status"], "approval_required", "{shown}");
    assert!(shown.get("ticket").is_none() && !reply.text().contains("ptct1_"), "{shown}");
    assert_eq!(shown["page"], "http://127.0.0.1:7332/approvals");
    assert!(shown["feedback"].as_str().expect("feedback").contains("at http://127.0.0.1:7332/approvals"));
    // Not even with the ticket, should it come by it.
    let ticket = reply.approval.expect("transports have it").ticket;
    for tool in ["lisp_approve", "lisp_reject", "lisp_edit"] {
        let refused = call(&engine, tool, json!({"ticket": ticket, "args": {}})).await;
        assert_eq!(object(&refused)["reason"], "unknown_tool", "{refused:?}");
    }
    assert!(world.seen().is_empty());
}

#[tokio::test]
async fn what_came_of_a_program_is_told_to_its_owner_once_people_have_decided() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    let program = format!("[(:n {}) (:n {})]", put("1"), put("2"));
    let reply = eval(&engine, &program).await;
    let first = object(&reply)["id"].clone();
    let asked = call(&engine, "lisp_result", json!({"id": first})).await;
    assert_eq!(object(&asked)["status"], "approval_required", "{asked:?}");
    assert_eq!(object(&asked)["message"], "nobody has decided yet");
    let page = engine.decide(&anna(), approve(&first), Signals::default()).await.expect("decided");
    let second = object(&page)["id"].clone();
    let asked = call(&engine, "lisp_result", json!({"id": first})).await;
    assert_eq!(object(&asked)["id"], second, "the program waits again: {asked:?}");
    assert!(!asked.text().contains("ptct1_"), "{}", asked.text());
    engine.decide(&anna(), approve(&second), Signals::default()).await.expect("decided");
    for id in [&first, &second] {
        let told = call(&engine, "lisp_result", json!({"id": id})).await;
        assert_eq!((told.text().as_str(), told.is_error), ("user=> [1 2]", false), "{told:?}");
    }
    let ben = ptc_server::engine::Caller::new("ben", ptc_server::engine::Transport::Http);
    let foreign = call_as(&ben, &engine, "lisp_result", json!({"id": first})).await;
    assert!(foreign.is_error && !foreign.text().contains("user=>"), "{foreign:?}");
    for wrong in [json!({}), json!({"id": 7}), json!({"id": first, "more": 1})] {
        let refused = call(&engine, "lisp_result", wrong).await;
        assert_eq!(object(&refused)["reason"], "args_error", "{refused:?}");
    }
    assert_eq!(world.seen(), ["put {\"n\":1}", "put {\"n\":2}"]);
}

/// Where models decide, one that lost the answer with the ticket gets it again, on whichever server, and is told that it decides.
#[tokio::test]
async fn who_asks_what_came_of_a_program_is_told_who_decides() {
    let (world, store) = (World::default(), Arc::new(Store::open(":memory:").expect("a store")));
    let server = async |approval_by, number: &str| {
        let ticket_keys = keys(&[number]);
        let parts = Parts { store: Some(store.clone()), ticket_keys, ..Parts::default() };
        world.server(Settings { approval_by, ..patient(Profile::Structured) }, parts).await
    };
    let first = server(ApprovalBy::Model, "k1").await;
    let waits = eval(&first, &put("1")).await;
    let id = json!({"id": object(&waits)["id"]});
    for engine in [&first, &server(ApprovalBy::Model, "k1").await] {
        let asked = call(engine, "lisp_result", id.clone()).await;
        let told = object(&asked);
        assert_eq!(
            (&told["status"], &told["message"]),
            (&json!("approval_required"), &json!("nobody has decided yet"))
        );
        assert_eq!(
            (&told["pending"], &told["expires_at"]),
            (&object(&waits)["pending"], &object(&waits)["expires_at"])
        );
        let feedback = told["feedback"].as_str().expect("feedback");
        assert!(feedback.contains("You decide") && !feedback.contains("A person decides"), "{feedback}");
    }
    let person = call(&*server(ApprovalBy::Person, "k1").await, "lisp_result", id.clone()).await;
    assert!(person.text().contains("A person decides") && !person.text().contains("ptct1_"), "{person:?}");
    let unopened = call(&*server(ApprovalBy::Model, "k2").await, "lisp_result", id.clone()).await;
    let told = object(&unopened);
    assert!(
        told["ticket"].is_null() && unopened.text().contains("on the server that it came from"),
        "{told}"
    );
    let again = call(&first, "lisp_result", id).await;
    let ticket = object(&again)["ticket"].clone();
    let done = call(&first, "lisp_approve", json!({"ticket": ticket})).await;
    assert_eq!(object(&done)["result"], "user=> {:n 1}", "{done:?}");
}

#[tokio::test]
async fn people_see_the_numbers_that_are_sent_and_what_would_hide() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    let program =
        "(tool/call {:server \"crm\" :tool \"put\" :args {:id 9007199254740993 :amount 12345678901234567891
                    :one 1.0 :to \"alice\u{202e}bob\u{200b}\"}})";
    eval(&engine, program).await;
    let listed = engine.open_tickets(&anna()).await.expect("a list");
    let text = listed[0]["pending"][0]["args_text"].as_str().expect("the text");
    for part in ["9007199254740993", "12345678901234567891", "1.0", "alice\\u202ebob\\u200b"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let program = listed[0]["program"].as_str().expect("the program");
    assert!(program.contains("alice\\u202ebob") && !program.contains('\u{202e}'), "{program}");
    engine.decide(&anna(), approve(&listed[0]["id"]), Signals::default()).await.expect("decided");
    let sent = world.seen().remove(0);
    let sent: Json = serde_json::from_str(sent.strip_prefix("put ").expect("a call")).expect("JSON");
    assert_eq!(serde_json::from_str::<Json>(text).expect("JSON"), sent, "what was shown is what was sent");
}

/// A model tells its user what waits. Its client may read numbers as floats, and its context is no place for megabytes.
#[tokio::test]
async fn models_are_told_long_and_inexact_arguments_as_text() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    let told = async |args: &str| {
        let call = format!("(tool/call {{:server \"crm\" :tool \"put\" :args {{{args}}}}})");
        let reply = eval(&engine, &call).await;
        (object(&reply)["pending"][0].clone(), reply.text().len())
    };
    let (plain, _) = told(":n 9007199254740992 :x 1.5 :s \"1e5 -\\\"7\"").await;
    assert_eq!(plain["args"], json!({"n": 9_007_199_254_740_992_u64, "x": 1.5, "s": "1e5 -\"7"}), "{plain}");
    for (args, says) in [
        (":n 9007199254740993", "9007199254740993"),
        (":n -9007199254740993", "-9007199254740993"),
        (":to \"a\u{202e}b\"", "a\\u202eb"),
    ] {
        let (call, _) = told(args).await;
        assert!(call["args_text"].as_str().is_some_and(|text| text.contains(says)), "{call}");
        assert_eq!(call.get("args"), None, "{call}");
    }
    let (long, bytes) = told(":s (apply str (repeat 20000 \"abcdefghij\"))").await;
    let text = long["args_text"].as_str().expect("a text");
    assert!(
        text.len() < 5_000 && text.ends_with("of 200013 bytes; people see the rest"),
        "{}",
        &text[text.len() - 60..]
    );
    assert!(bytes < 20_000, "{bytes}");
    let listed = engine.open_tickets(&anna()).await.expect("a list");
    let whole =
        listed.iter().map(|ticket| ticket["pending"][0]["args_text"].as_str().map_or(0, str::len)).max();
    assert_eq!(whole, Some(200_013), "people see all of it");
}

/// A client whose user dismisses a form sends its request again with answers that decide nothing.
#[tokio::test]
async fn forms_that_were_dismissed_leave_the_program_waiting_and_say_where_people_decide() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    engine.decided_at("http://127.0.0.1:7332/approvals".to_owned(), "");
    let program = format!("[(:n {}) (:n {})]", put("1"), put("2"));
    let mut reply = eval(&engine, &program).await;
    for made in 0..2 {
        let approval = reply.approval.clone().expect("transports have it");
        let form = |choices: Vec<Choice>| {
            let which = Which::Text(approval.ticket.clone());
            Decided { by: By::Form, which, choices, program: Some(program.clone()), wrong: None }
        };
        // It may be dismissed more than once.
        for _ in 0..2 {
            let told = engine.decide(&anna(), form(Vec::new()), Signals::default()).await.expect("a reply");
            assert_eq!(
                (told.text(), told.is_error),
                (reply.text(), false),
                "as whoever shows no forms is told"
            );
            assert_eq!(told.approval, None, "nobody is asked again");
        }
        assert_eq!(world.seen().len(), made);
        let other = Decided { program: Some("1".to_owned()), ..form(Vec::new()) };
        let refused = engine.decide(&anna(), other, Signals::default()).await.expect("a reply");
        assert_eq!(object(&refused)["reason"], "ticket_invalid", "{refused:?}");
        let approve = vec![Choice { calls: None, decision: ptc_host::Decision::Approve }];
        reply = engine.decide(&anna(), form(approve), Signals::default()).await.expect("a reply");
        let late = engine.decide(&anna(), form(Vec::new()), Signals::default()).await.expect("a reply");
        assert!(!late.is_error && object(&late)["reason"].is_null(), "what came of it: {late:?}");
    }
    assert_eq!(reply.text(), "user=> [1 2]");
}

#[tokio::test]
async fn where_only_forms_decide_a_model_is_told_that_nobody_else_can() {
    let world = World::default();
    let engine = world.server(patient(Profile::Structured), Parts::default()).await;
    assert!(engine.only_forms_decide());
    let told = object(&eval(&engine, &put("1")).await)["feedback"].clone();
    let told = told.as_str().expect("feedback");
    assert!(told.contains("nobody can here") && told.contains("Do not run the program again"), "{told}");
    engine.decided_at("http://127.0.0.1:7332/approvals".to_owned(), "");
    assert!(!engine.only_forms_decide());
    let store = std::sync::Arc::new(ptc_store::Store::open(":memory:").expect("a store"));
    let parts = Parts { store: Some(store), ..Parts::default() };
    let engine = world.server(patient(Profile::Structured), parts).await;
    assert!(!engine.only_forms_decide());
    let told = object(&eval(&engine, &put("1")).await)["feedback"].clone();
    assert!(told.as_str().is_some_and(|told| told.contains("of a server on the same store")), "{told}");
}
