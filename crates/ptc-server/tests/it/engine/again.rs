//! Requests under a key that were begun before and that a server does not carry out: they are told what was made, and whether
//! anything is decided under their key.

use std::sync::Arc;

use ptc_server::effects::StoreJournal;
use ptc_server::engine::roles::Policy;
use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{CallError, Engine, Parts, Profile, Reply, Settings, Signals};
use ptc_store::Store;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::support::*;

/// Servers of one store.
struct Shop {
    store: Arc<Store>,
    waiting: Waiting,
}

impl Shop {
    fn new() -> Shop {
        Shop { store: Arc::new(Store::open(":memory:").expect("a store")), waiting: Waiting::default() }
    }

    async fn server(&mut self, settings: Settings) -> Arc<Engine> {
        let (runtime, waiting) = crm_that_counts().await;
        self.waiting = waiting;
        let effects = Some(StoreJournal::new(self.store.clone()));
        let store = Some(self.store.clone());
        Engine::with(settings, Parts { runtime: Some(runtime), store, effects, ..Parts::default() })
            .await
            .expect("it starts")
    }
}

fn keyed() -> Signals {
    Signals { request_key: Some("k".to_owned()), ..Signals::default() }
}

async fn send(engine: &Engine, tool: &str, given: &Json) -> Reply {
    engine.call(&anna(), tool, args(given.clone()), keyed()).await.expect("it is answered")
}

/// A program that writes, and then reads what does not come while it is to wait.
const PROGRAM: &str = "(:ok (tool/call {:server \"crm\" :tool \"put\" :args {:n 1}}))
                       (:ok (tool/call {:server \"crm\" :tool \"get\" :args {:hold 1}}))";

/// Sends a request that is taken back after its write.
async fn begun(shop: &Shop, engine: &Engine, tool: &str, given: &Json) {
    let cancel = CancellationToken::new();
    let signals = Signals { cancel: cancel.clone(), ..keyed() };
    let anna = anna();
    let mut call = std::pin::pin!(engine.call(&anna, tool, args(given.clone()), signals));
    tokio::select! {
        ended = &mut call => panic!("it waits: {ended:?}"),
        () = until_waiting(&shop.waiting, 1) => cancel.cancel(),
    }
    assert_eq!(call.await, Err(CallError::Cancelled));
}

fn sessions(tools: Option<&str>) -> SessionSettings {
    let roles = tools.map(|tools| {
        let text = format!(r#"{{"default_role": "r", "roles": {{"r": {{"upstream_tools": {tools}, "credentials": ["token"]}}}}}}"#);
        Arc::new(Policy::parse(&text).expect("it is right"))
    });
    SessionSettings { roles, ..SessionSettings::default() }
}

/// A session that one server refuses is not over: another one goes on with the request.
#[tokio::test]
async fn a_session_that_only_this_server_refuses_is_not_over() {
    let mut shop = Shop::new();
    let with = |tools| with_sessions(Profile::Debug, sessions(tools));
    let first = shop.server(with(Some("\"all\""))).await;
    let id = session(&first).await;
    let given = json!({"session_id": id, "program": PROGRAM});
    begun(&shop, &first, "lisp_session_eval", &given).await;
    for other in [Some("[]"), None] {
        let refused = send(&*shop.server(with(other)).await, "lisp_session_eval", &given).await;
        let told = object(&refused);
        assert_eq!(
            (&told["reason"], &told["calls_made"]),
            (&json!("request_stale"), &json!(["crm/put"])),
            "{told}"
        );
        assert!(
            refused.text().contains("this server does not run it again, because what the session's role"),
            "{told}"
        );
        assert!(refused.text().contains("nothing is decided under its key"), "{told}");
    }
    let again = shop.server(with(Some("\"all\""))).await;
    shop.waiting.send_replace(RELEASED);
    let reply = send(&again, "lisp_session_eval", &given).await;
    assert!(!reply.is_error && !reply.recalled, "{reply:?}");
    assert_eq!(object(&reply)["upstream_calls"][0]["recalled"], true, "{reply:?}");
}

/// Whatever a server refuses a request for: what was made is told, in every profile, and nothing is decided.
#[tokio::test]
async fn whoever_is_refused_is_told_what_was_made_before() {
    for profile in [Profile::Slim, Profile::Structured, Profile::Debug] {
        let mut shop = Shop::new();
        let settings = || with_sessions(profile, SessionSettings::default());
        let first = shop.server(settings()).await;
        let given = json!({"program": PROGRAM});
        begun(&shop, &first, "lisp_eval", &given).await;
        first.drain();
        let narrow = shop.server(Settings { max_program_bytes: 10, ..settings() }).await;
        for (server, reason) in [(&first, "shutting_down"), (&narrow, "args_error")] {
            let refused = send(server, "lisp_eval", &given).await;
            let told = object(&refused);
            assert_eq!(
                (&told["reason"], &told["calls_made"]),
                (&json!(reason), &json!(["crm/put"])),
                "{told}"
            );
            assert!(
                refused.is_error && refused.text().contains("send it again under the same key"),
                "{told}"
            );
            let new = server
                .call(&anna(), "lisp_eval", args(given.clone()), Signals::default())
                .await
                .expect("a reply");
            assert!(!new.text().contains("crm/put"), "one that is new has made nothing: {new:?}");
        }
        let last = shop.server(settings()).await;
        shop.waiting.send_replace(RELEASED);
        assert!(!send(&last, "lisp_eval", &given).await.is_error);
    }
}

/// A session that has changed is never again what it was, so that is the one reply of the key.
#[tokio::test]
async fn a_request_that_can_go_on_nowhere_has_one_reply() {
    let mut shop = Shop::new();
    let settings = || with_sessions(Profile::Debug, SessionSettings::default());
    let first = shop.server(settings()).await;
    let id = session(&first).await;
    let given = json!({"session_id": id, "program": PROGRAM});
    begun(&shop, &first, "lisp_session_eval", &given).await;
    eval_in(&first, &id, "(def y 2)").await;
    // What else has changed does not matter then.
    let reads = shop.server(Settings { read_only: true, ..settings() }).await;
    let reply = send(&reads, "lisp_session_eval", &given).await;
    assert_eq!(object(&reply)["reason"], "request_stale", "{reply:?}");
    assert!(reply.text().contains("its session has changed since it began") && !reply.recalled, "{reply:?}");
    for server in [&first, &reads] {
        let again = send(server, "lisp_session_eval", &given).await;
        assert!(again.recalled && object(&again) == object(&reply), "{again:?}");
    }
}
