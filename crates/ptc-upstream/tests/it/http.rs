//! Clients over Streamable HTTP: sessions, versions, statuses, and streams that break.

use std::time::Duration;

use ptc_upstream::Client;
use ptc_upstream::model::{Allowance, Reason};
use serde_json::{Value as Json, json};

use crate::support::*;

async fn seen(client: &dyn Client) -> Json {
    call(client, "seen", json!({})).await.expect("an answer").structured.expect("a value")
}

#[tokio::test]
async fn a_session_begins_is_kept_and_ends() {
    let server = HttpServer::start(&["--auth"]);
    let first = client(server.upstream());
    names(&*first).await;
    assert_eq!(
        seen(&*first).await,
        json!({"begun": 1, "ended": 0, "version": "2025-11-25", "tenant": "blue"}),
        "one session, and every request names version and literal headers"
    );
    first.close().await;
    let second = client(server.upstream());
    assert_eq!(seen(&*second).await["ended"], json!(1), "closing deletes the session");
    drop(second);
    until("a client that is dropped deletes its session", async || {
        seen(&*client(server.upstream())).await["ended"].as_u64() >= Some(2)
    })
    .await;
}

#[tokio::test]
async fn a_session_that_expired_is_begun_again() {
    for flags in [&[][..], &["--session-400"], &["--sse"]] {
        let server = HttpServer::start(flags);
        let client = client(server.upstream());
        names(&*client).await;
        call(&*client, "forget", json!({})).await.unwrap();
        let calls = (0..5).map(|n| {
            let client = client.clone();
            async move { text(&*client, "echo", json!({"text": n.to_string()})).await }
        });
        assert_eq!(futures_util::future::join_all(calls).await, ["0", "1", "2", "3", "4"], "{flags:?}");
        assert_eq!(seen(&*client).await["begun"], json!(2), "{flags:?}: once for all of them");
    }
}

#[tokio::test]
async fn what_may_change_the_world_is_not_sent_again_on_a_guess() {
    let server = HttpServer::start(&["--session-400"]);
    let client = client(server.upstream());
    names(&*client).await;
    call(&*client, "forget", json!({})).await.unwrap();
    let once = Allowance { once: true, ..ALLOWANCE };
    let fault =
        call_within(&*client, "echo", json!({"text": "x"}), once).await.expect_err("it is not sent again");
    assert_eq!(fault.reason, Reason::UpstreamError, "{fault}");
    until("hands are shaken again", async || {
        call_within(&*client, "echo", json!({"text": "x"}), once).await.is_ok()
    })
    .await;
}

#[tokio::test]
async fn the_version_is_negotiated() {
    for (flags, version) in [
        (&["--version", "2024-11-05"][..], "2024-11-05"),
        (&["--version", "2025-06-18"], "2025-06-18"),
        (&[], "2025-11-25"),
        (&["--modern"], "2026-07-28"),
    ] {
        let server = HttpServer::start(flags);
        let client = client(server.upstream());
        names(&*client).await;
        assert_eq!(client.about().unwrap().protocol, version);
        assert_eq!(seen(&*client).await["version"], json!(version), "requests say so too");
    }
    let server = HttpServer::start(&["--version", "1999-01-01"]);
    let fault = client(server.upstream()).list(ALLOWANCE).await.unwrap_err();
    assert_eq!(fault.reason, Reason::UpstreamUnavailable);
    assert!(fault.message.contains("1999-01-01"), "{fault}");
}

#[tokio::test]
async fn a_status_has_its_reason() {
    for flags in [&[][..], &["--sse"], &["--modern"]] {
        let server = HttpServer::start(flags);
        let client = client(server.upstream());
        for (code, reason, message) in [
            (
                401,
                Reason::AuthFailed,
                "http 401: the credentials were not accepted; upstream 'x' sends 'token': see that its value in \
                 \"credentials\" (\"headers\" in a client's file) is right and has not expired",
            ),
            (429, Reason::RateLimited, "http 429: too many requests"),
            (500, Reason::UpstreamUnavailable, "http 500"),
            (503, Reason::UpstreamUnavailable, "http 503"),
            (403, Reason::UpstreamError, "http 403: refused [REDACTED]"),
            (302, Reason::UpstreamError, "http 302: redirects are not followed: refused [REDACTED]"),
        ] {
            let told = fault(&*client, "status", json!({"code": code})).await;
            assert_eq!(told, (reason, message.to_owned()), "{flags:?}");
            assert_eq!(text(&*client, "echo", json!({"text": "on"})).await, "on", "{flags:?} after {code}");
        }
        let (reason, message) = fault(&*client, "html", json!({})).await;
        assert_eq!(reason, Reason::UpstreamError, "{flags:?}");
        assert!(message.contains("content type \"text/html\""), "{flags:?}: {message}");
        assert_eq!(client.generation(), 1, "{flags:?}");
    }
}

#[tokio::test]
async fn a_status_before_any_call_has_its_reason() {
    for (flags, reason, message) in [
        (&["--status", "401"][..], Reason::AuthFailed, "http 401"),
        (&["--status", "429"], Reason::RateLimited, "http 429"),
        (&["--status", "503"], Reason::UpstreamUnavailable, "http 503"),
        (&["--status", "404"], Reason::UpstreamError, "http 404"),
    ] {
        let server = HttpServer::start(flags);
        let client = client(server.upstream());
        let fault = client.list(ALLOWANCE).await.unwrap_err();
        assert_eq!(fault.reason, reason, "{flags:?}: {fault}");
        assert!(fault.message.contains(message) && !fault.message.contains(SECRET), "{flags:?}: {fault}");
    }
    let server = HttpServer::start(&["--auth"]);
    let mut stranger = server.upstream();
    stranger.as_object_mut().unwrap().remove("auth");
    let fault = client(stranger).list(ALLOWANCE).await.unwrap_err();
    assert_eq!(fault.reason, Reason::AuthFailed, "{fault}");
    let expected = "http 401: the server wants credentials, and upstream 'x' has no \"auth\"; name a credential in \
                    \"credentials\" and add \"auth\": [{\"scheme\": \"bearer\", \"binding\": \"…\"}] to it; in the file of a client, write it into \"headers\"";
    assert_eq!(fault.message, expected);
}

#[tokio::test]
async fn a_server_that_signs_people_in_says_what_to_configure() {
    let server = HttpServer::start(&["--auth", "--oauth"]);
    let mut stranger = server.upstream();
    stranger.as_object_mut().unwrap().remove("auth");
    let fault = client(stranger).list(ALLOWANCE).await.unwrap_err();
    let expected = "http 401: the server wants a sign-in with OAuth, which is not done here; get a token from its \
                    provider, name it in \"credentials\" and add \"auth\": [{\"scheme\": \"bearer\", \
                    \"binding\": \"…\"}] to upstream 'x'; in the file of a client, write it into \"headers\"";
    assert_eq!((fault.reason, fault.message.as_str()), (Reason::AuthFailed, expected));
}

#[tokio::test]
async fn a_stream_that_breaks_fails_its_call_at_once() {
    for flags in [&[][..], &["--modern"]] {
        let server = HttpServer::start(flags);
        let client = client(server.upstream());
        names(&*client).await;
        for tool in ["cut", "no_answer"] {
            let patient = call(&*client, "slow", json!({"ms": 50}));
            let (told, slow) = tokio::join!(fault(&*client, tool, json!({})), patient);
            assert_eq!(told.0, Reason::StreamClosedBeforeResponse, "{flags:?} {tool}: {}", told.1);
            assert!(slow.is_ok(), "{flags:?} beside {tool}");
        }
        assert_eq!(text(&*client, "echo", json!({"text": "on"})).await, "on", "{flags:?}");
        assert_eq!(client.generation(), 1, "{flags:?}");
    }
}

#[tokio::test]
async fn a_stream_with_event_ids_is_taken_up_again() {
    for flags in [&[][..], &["--modern"]] {
        let server = HttpServer::start(flags);
        let client = client(server.upstream());
        assert_eq!(text(&*client, "later", json!({})).await, "resumed", "{flags:?}");
    }
}

#[tokio::test]
async fn a_server_that_dies_is_found_again() {
    for flags in [&[][..], &["--modern"]] {
        let mut server = HttpServer::start(flags);
        let client = client(server.upstream());
        names(&*client).await;
        let slow = call(&*client, "slow", json!({"ms": 60_000}));
        let killed = async {
            until("the server has the call", async || text(&*client, "begun", json!({})).await != "0").await;
            server.kill();
        };
        let (slow, ()) = tokio::join!(slow, killed);
        let during = slow.unwrap_err();
        let dead = [Reason::UpstreamUnavailable, Reason::StreamClosedBeforeResponse];
        assert!(dead.contains(&during.reason), "{flags:?}: {during}");
        let (reason, message) = fault(&*client, "echo", json!({})).await;
        assert_eq!(reason, Reason::UpstreamUnavailable, "{flags:?}: {message}");
        assert!(!message.contains("127.0.0.1") && !message.contains(SECRET), "{message}");

        let again = HttpServer::start(&[flags, &["--port", &server.port]].concat());
        until("the server is back", async || call(&*client, "echo", json!({"text": "x"})).await.is_ok())
            .await;
        drop(again);
        // And one of another kind in its place.
        let other: &[&str] = if flags.is_empty() { &["--modern"] } else { &[] };
        let _other = HttpServer::start(&[other, &["--port", &server.port]].concat());
        until("another server is found", async || call(&*client, "echo", json!({"text": "x"})).await.is_ok())
            .await;
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_or_says_nothing() {
    let mut server = HttpServer::start(&[]);
    let upstream = server.upstream();
    server.kill();
    let client_of_none = client(upstream);
    let fault = client_of_none.list(ALLOWANCE).await.unwrap_err();
    assert_eq!(fault.reason, Reason::UpstreamUnavailable);
    assert!(fault.message.starts_with("cannot connect: "), "{fault}");
    let fault = client_of_none.list(ALLOWANCE).await.unwrap_err();
    assert!(fault.message.contains("tried again in"), "{fault}");

    let server = HttpServer::start(&["--silent"]);
    let mut upstream = server.upstream();
    upstream["handshake_timeout_ms"] = json!(300);
    let fault = client(upstream).list(ALLOWANCE).await.unwrap_err();
    let told = (fault.reason, fault.message.as_str());
    assert_eq!(told, (Reason::UpstreamUnavailable, "no handshake within 300 ms"));
}

#[tokio::test]
async fn the_smaller_timeout_counts() {
    let server = HttpServer::start(&[]);
    let mut upstream = server.upstream();
    upstream["request_timeout_ms"] = json!(150);
    let client = client(upstream);
    names(&*client).await;
    let told = fault(&*client, "slow", json!({"ms": 60_000})).await;
    assert_eq!(told, (Reason::Timeout, "no answer within 150 ms".to_owned()));
    let short = Allowance { timeout: Duration::from_millis(80), ..ALLOWANCE };
    let fault = call_within(&*client, "slow", json!({"ms": 60_000}), short).await.unwrap_err();
    assert_eq!(fault.message, "no answer within 80 ms");
}
