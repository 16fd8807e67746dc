//! What is approved is what was shown: a tool that is defined otherwise, that is gone or that nobody can look at is not
//! called, and the ticket says why.

use std::sync::Arc;

use ptc_server::engine::{Engine, Parts, Profile, Settings};
use ptc_server::options::ApprovalBy;
use ptc_store::Store;
use ptc_upstream::RuntimeOptions;
use ptc_upstream::model::{Fault, Reason, ToolDef};
use serde_json::{Value as Json, json};

use super::approval::{keys, put};
use super::support::{Seen, call, eval, object, patient};
use super::upstream::{Upstream, frozen, start, structured};

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

impl Lists {
    fn tools(self) -> Result<Vec<ToolDef>, Fault> {
        let tool = |name: &str, about: &str| {
            vec![ToolDef { name: name.to_owned(), description: about.to_owned(), ..ToolDef::default() }]
        };
        match self {
            Put(about) => Ok(tool("put", about)),
            Others => Ok(tool("get", "Reads.")),
            Nothing => Err(Fault::new(Reason::UpstreamUnavailable, "it is being moved")),
        }
    }
}

/// A server of tickets in front of an upstream that lists this now and counts its calls, with this setting of its own.
async fn server(
    lists: Lists,
    seen: &Seen,
    store: &Arc<Store>,
    (key, value): (&str, Json),
    options: RuntimeOptions,
) -> (Arc<Engine>, Upstream) {
    let mut entry = json!({"transport": "mcp_http", "url": "https://crm.example/mcp", "approval": "writes"});
    entry[key] = value;
    let seen = seen.clone();
    let upstream = Upstream::new(lists.tools()).answering(move |tool, args| {
        let answer = Json::Object(args);
        seen.note(&tool, &answer);
        async { structured(answer) }
    });
    let config = json!({"upstreams": {"crm": entry}});
    let parts = Parts {
        runtime: Some(start(config, options, |_| upstream.clone()).await),
        store: Some(store.clone()),
        ticket_keys: keys(&["k1"]),
        ..Parts::default()
    };
    let settings = Settings { approval_by: ApprovalBy::Model, ..patient(Profile::Structured) };
    (Engine::with(settings, parts).await.expect("it starts"), upstream)
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
        let seen = Seen::default();
        let calls = || seen.calls("").len();
        let live = RuntimeOptions::default;
        let (first, _) = server(before, &seen, &store, (SAME.0, SAME.1.into()), live()).await;
        let waits = eval(&first, &put("1")).await;
        let ticket = object(&waits)["ticket"].as_str().unwrap_or_else(|| panic!("{place}: {waits:?}"));
        let (second, _) = server(after, &seen, &store, (key, value.into()), live()).await;
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
            let (third, _) = server(before, &seen, &store, (SAME.0, SAME.1.into()), live()).await;
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

/// What a server knows of its upstreams may be older than the ticket: they are asked when somebody approves, whether or not
/// they have told that their tools changed.
#[tokio::test]
async fn the_upstream_is_asked_what_its_tool_is_when_somebody_approves() {
    let cases = [
        (Put("Puts."), "none", ""),
        (Put("Deletes."), "ticket_stale", "is not what was shown"),
        (Others, "ticket_stale", "is not there any more"),
        (Nothing, "upstream_unavailable", "it is being moved"),
    ];
    for (after, expected, told) in cases {
        for options in [RuntimeOptions::default(), frozen()] {
            let (store, seen) = (Arc::new(Store::open(":memory:").expect("a store")), Seen::default());
            let is_frozen = options.snapshot == frozen().snapshot;
            let place = format!("{after:?}, frozen: {is_frozen}");
            let before = Put("Puts.");
            let (engine, upstream) = server(before, &seen, &store, (SAME.0, SAME.1.into()), options).await;
            let waits = eval(&engine, &put("1")).await;
            let ticket = object(&waits)["ticket"].as_str().unwrap_or_else(|| panic!("{place}: {waits:?}"));
            upstream.lists(after.tools());
            let approve = async || call(&engine, "lisp_approve", json!({"ticket": ticket})).await;
            let answer = approve().await;
            let reason = object(&answer)["reason"].as_str().unwrap_or("none");
            let calls = seen.calls("").len();
            assert_eq!((reason, calls), (expected, usize::from(expected == "none")), "{place}: {answer:?}");
            if expected == "none" {
                continue;
            }
            let message = object(&answer)["message"].as_str().expect("a message");
            // A frozen server says of every other tool that it is not the one that it started with.
            let told = if is_frozen && expected == "ticket_stale" { "is not as it was" } else { told };
            assert!(message.contains("crm/put") && message.contains(told), "{place}: {message}");
            if expected == "upstream_unavailable" {
                assert!(answer.text().contains("See to it that the server crm can be reached"), "{answer:?}");
                upstream.lists(before.tools());
                let answer = approve().await;
                assert_eq!(
                    object(&answer)["result"],
                    "user=> {:n 1}",
                    "the ticket was not used up: {answer:?}"
                );
            }
        }
    }
}
