//! The page on which people approve calls: who asks, what waits for the owner of a token, exactly as it would be made, and
//! three buttons. The page itself holds nothing; what it shows comes with the token, as for clients.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use ptc_host::{Decision, arguments};
use ptc_http::Peer;
use serde_json::{Value as Json, json};

use super::Http;
use super::endpoint::caller;
use super::refusal::Refusal;
use crate::engine::{By, Choice, Decided, Signals, Which};

/// The files of the page.
const PAGE: &str = include_str!("../../../assets/approvals.html");
const SCRIPT: &str = include_str!("../../../assets/approvals.js");
const STYLE: &str = include_str!("../../../assets/approvals.css");
/// What stands in the tab of the browser while nothing waits, and while something does.
const ICON: &str = include_str!("../../../assets/approvals-icon.svg");
const WAITING: &str = include_str!("../../../assets/approvals-icon-waiting.svg");

/// Where browsers say from where a request comes.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What every answer says. The page needs nothing from elsewhere and runs nothing but its own file.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// The page and what it asks for.
pub fn routes() -> Router<Arc<Http>> {
    let file = |kind: &'static str, text: &'static str| {
        get(move |State(http): State<Arc<Http>>, headers: HeaderMap| async move {
            http.guard.check(&headers)?;
            Ok::<_, Refusal>(told(([(CONTENT_TYPE, kind)], text).into_response()))
        })
    };
    Router::new()
        .route("/approvals", file("text/html; charset=utf-8", PAGE))
        .route("/approvals/page.js", file("text/javascript; charset=utf-8", SCRIPT))
        .route("/approvals/page.css", file("text/css; charset=utf-8", STYLE))
        .route("/approvals/palette.css", file("text/css; charset=utf-8", ptc_http::PALETTE))
        .route("/approvals/icon.svg", file("image/svg+xml", ICON))
        .route("/approvals/icon-waiting.svg", file("image/svg+xml", WAITING))
        .route("/approvals/list", get(list))
        .route("/approvals/decide", post(decide))
}

fn told(mut response: Response<Body>) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What waits.
async fn list(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    own_page(&headers)?;
    let identity = http.admit(&peer, &headers)?;
    let _hold = peer.hold_for(&identity.owner).map_err(|_| Refusal::CROWDED)?;
    let caller = caller(identity.owner.clone(), &identity);
    Ok(told(match http.engine.open_tickets(&caller).await {
        Ok(tickets) => ptc_http::Json(json!({"tickets": tickets})).into_response(),
        Err(error) => {
            // Where the store is, and what it said, is nothing for clients.
            tracing::error!(%error, "tickets cannot be listed");
            let told = json!({"error": "the store cannot be used at the moment"});
            (StatusCode::SERVICE_UNAVAILABLE, ptc_http::Json(told)).into_response()
        }
    }))
}

/// Decides, and tells what came of it.
async fn decide(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Response, Refusal> {
    let headers = request.headers();
    own_page(headers)?;
    let identity = http.admit(&peer, headers)?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Err(Refusal::NOT_JSON);
    }
    let body = http.body(&identity, request.into_body()).await?;
    let _hold = peer.hold_for(&identity.owner).map_err(|_| Refusal::CROWDED)?;
    let caller = caller(identity.owner.clone(), &identity);
    let decided = match read(&body.bytes) {
        Ok(decided) => decided,
        Err(why) => {
            let refused = (StatusCode::BAD_REQUEST, ptc_http::Json(json!({"error": why})));
            return Ok(told(refused.into_response()));
        }
    };
    let signals = Signals { request_id: "approvals".to_owned(), ..Signals::default() };
    let given_up = signals.given_up.clone();
    let reply = http.engine.decide(&caller, decided, signals).await;
    let reply = reply.unwrap_or_else(|_| http.engine.cancelled(&given_up));
    let told_back = json!({"error": reply.is_error, "waits": reply.approval.is_some(), "text": reply.text()});
    Ok(told(ptc_http::Json(told_back).into_response()))
}

/// Requests of other pages are not answered, whatever browsers let them send.
fn own_page(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get(FETCH_SITE).map(HeaderValue::as_bytes) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(Refusal::FORBIDDEN),
    }
}

/// `{id, calls, decision, args, reason}`
fn read(body: &[u8]) -> Result<Decided, String> {
    let asked: Json = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let id = asked["id"].as_str().ok_or("the id is missing")?.to_owned();
    let calls = asked["calls"].as_array().ok_or("the calls are missing")?;
    let calls = calls.iter().map(Json::as_u64).collect::<Option<Vec<u64>>>().ok_or("calls are numbers")?;
    let decision = match asked["decision"].as_str() {
        Some("approve") => Decision::Approve,
        Some("reject") => Decision::Reject(match asked["reason"].as_str().map(str::trim) {
            None | Some("") => "rejected on the approval page".to_owned(),
            Some(why) => why.chars().take(2_000).collect(),
        }),
        // As text, so that numbers stay as they were written.
        Some("edit") => Decision::Edit(arguments(asked["args"].as_str().ok_or("`args` must be JSON text")?)?),
        _ => return Err("a decision is approve, reject or edit".to_owned()),
    };
    Ok(Decided {
        by: By::Page,
        which: Which::Id(id),
        choices: vec![Choice { calls: Some(calls), decision }],
        program: None,
        wrong: None,
    })
}
