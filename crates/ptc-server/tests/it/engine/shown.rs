//! What is approved is what was shown: a tool that is defined otherwise, that is gone or that nobody can look at is not
//! called, and the ticket says why.

use std::path::Path;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use ptc_server::engine::{Engine, Parts, Profile, Settings};
use ptc_server::options::ApprovalBy;
use ptc_store::Store;
use ptc_upstream::model::{Allowance, Fault, Payload, Reason, ToolDef};
use ptc_upstream::{Client, Config, Runtime, RuntimeOptions, Secrets};
use serde_json::{Map, Value as Json, json};

use super::approval::{keys, put};
use super::support::{call, eval, object, patient};

/// What a server says when it is asked for its tools.
#[derive(Clone, Copy, Debug)]
enum Lists {
    /// The tool `put`, described so.
    Put(&'static str),
    /// Other tools.
    Others,
    /// Nothing.
    Nothing,
}
use Lists::{Nothing, Others, Put};

/// A server that counts its calls.
#[derive(Clone)]
struct Crm {
    lists: Lists,
    calls: Arc<Mutex<usize>>,
}

impl Client for Crm {
    fn list(&self, _: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        let tool = |name: &str, about: &str| {
            vec![ToolDef { name: name.to_owned(), description: about.to_owned(), ..ToolDef::default() }]
        };
        let listed = match self.lists {
            Put(about) => Ok(tool("put", about)),
            Others => Ok(tool("get", "Reads.")),
            Nothing => Err(Fault::new(Reason::UpstreamUnavailable, "it is being moved")),
        };
        Box::pin(async move { listed })
    }

    fn call<'a>(
        &'a self,
        _: &'a str,
        args: Map<String, Json>,
        _: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        *self.calls.lock().expect("nobody panics") += 1;
        Box::pin(async move { Ok(Payload { structured: Some(Json::Object(args)), ..Payload::default() }) })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

impl Crm {
    /// A server of tickets in front of it, as it answers from now on, with this setting of its own.
    async fn server(&self, lists: Lists, store: &Arc<Store>, (key, value): (&str, Json)) -> Arc<Engine> {
        let mut entry =
            json!({"transport": "mcp_http", "url": "https://crm.example/mcp", "approval": "writes"});
        entry[key] = value;
        let config = Config::from_value(json!({"upstreams": {"crm": entry}}), Path::new(""));
        let config = config.expect("it is right");
        let secrets = Secrets::resolve(&config).expect("there are none");
        let client: Arc<dyn Client> = Arc::new(Crm { lists, ..self.clone() });
        let connect = |_: &_, _: &_| Some(client.clone());
        let runtime = Runtime::start_with(&config, secrets, RuntimeOptions::default(), &connect).await;
        let parts = Parts {
            runtime: Some(runtime.expect("it starts")),
            store: Some(store.clone()),
            ticket_keys: keys(&["k1"]),
            ..Parts::default()
        };
        let settings = Settings { approval_by: ApprovalBy::Model, ..patient(Profile::Structured) };
        Engine::with(settings, parts).await.expect("it starts")
    }
}

const SAME: (&str, &str) = ("description", "Customers.");

#[tokio::test]
async fn only_a_tool_that_is_what_was_shown_is_called_and_every_other_can_be_rejected() {
    // What is listed when the program stops and when somebody approves, a setting that differs then, and the answer.
    let cases = [
        (Put("Puts."), Put("Puts."), SAME, "none", ""),
        (Put("Puts."), Put("Puts."), ("description", "New words for readers."), "none", ""),
        (
            Put("Puts."),
            Put("Puts."),
            ("url", "https://other.example/mcp"),
            "ticket_stale",
            "is not what was shown",
        ),
        (Put("Puts."), Put("Deletes."), SAME, "ticket_stale", "is not what was shown"),
        (Put("Puts."), Others, SAME, "ticket_stale", "is not there any more"),
        (Put("Puts."), Nothing, SAME, "upstream_unavailable", "it is being moved"),
        (Nothing, Put("Puts."), SAME, "ticket_stale", "nobody was shown"),
    ];
    for (before, after, (key, value), expected, told) in cases {
        let place = format!("{before:?} {after:?} {key}");
        let store = Arc::new(Store::open(":memory:").expect("a store"));
        let crm = Crm { lists: before, calls: Arc::default() };
        let calls = || *crm.calls.lock().expect("nobody panics");
        let first = crm.server(before, &store, (SAME.0, SAME.1.into())).await;
        let waits = eval(&first, &put("1")).await;
        let ticket = object(&waits)["ticket"].as_str().unwrap_or_else(|| panic!("{place}: {waits:?}"));
        let second = crm.server(after, &store, (key, value.into())).await;
        let answer = call(&second, "lisp_approve", json!({"ticket": ticket})).await;
        let reason = object(&answer)["reason"].as_str().unwrap_or("none");
        assert_eq!((reason, calls()), (expected, usize::from(expected == "none")), "{place}: {answer:?}");
        if expected == "none" {
            continue;
        }
        let message = object(&answer)["message"].as_str().expect("a message");
        assert!(message.contains("crm/put") && message.contains(told), "{place}: {message}");
        // It waits as before: for a server that can be asked again, or to be rejected.
        if expected == "upstream_unavailable" {
            let third = crm.server(before, &store, (SAME.0, SAME.1.into())).await;
            let answer = call(&third, "lisp_approve", json!({"ticket": ticket})).await;
            assert_eq!(
                (object(&answer)["result"].as_str(), calls()),
                (Some("user=> {:n 1}"), 1),
                "{answer:?}"
            );
            continue;
        }
        let rejected = call(&second, "lisp_reject", json!({"ticket": ticket})).await;
        assert!(!rejected.is_error && calls() == 0, "{place}: {rejected:?}");
    }
}
