//! The playground: programs of the page, in the same sandbox and with tighter limits than elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::extract::{Extension, Request, State};
use axum::http::StatusCode;
use ptc_host::{Limits, Outcome, Program};
use ptc_http::{Bodies, BodyError, Json as Body, Peer};
use ptc_lisp::{Error, Position};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::Site;
use crate::runs::Refusal;

/// Programs that run at once; others wait.
pub const AT_ONCE: usize = 2;
/// Most bytes of a request, and how long they may take to arrive.
const BODY_BYTES: usize = 2 << 20;
const BODY_TIME: Duration = Duration::from_secs(15);
/// About as many bytes all requests together have.
const BODIES_BYTES: usize = 32 << 20;

/// What reads the requests.
pub fn bodies() -> Bodies {
    Bodies::new(BODY_BYTES, BODY_TIME, BODIES_BYTES)
}
/// How long a program may take.
const TIMEOUT: Duration = Duration::from_secs(5);

fn limits() -> Limits {
    Limits {
        fuel: 50_000_000,
        memory: 64 << 20,
        source_bytes: 256 << 10,
        print_bytes: 256 << 10,
        output_bytes: 1 << 20,
        tool_calls: 0,
        ..Limits::default()
    }
}

/// A program with its data.
#[derive(Debug, Deserialize)]
pub struct Ask {
    program: String,
    #[serde(default)]
    data: Map<String, Json>,
}

/// Runs a program and says what came of it. The guard has seen the page's token before.
pub async fn eval(
    State(site): State<Arc<Site>>,
    Extension(peer): Extension<Peer>,
    request: Request,
) -> Result<Body<Json>, Refusal> {
    let ask = read(&site.bodies, request).await?;
    let _hold = peer.hold();
    let busy = |_| (StatusCode::SERVICE_UNAVAILABLE, "the viewer is closing".to_owned());
    let _slot = site.slots.acquire().await.map_err(busy)?;
    let bytes = Arc::new(AtomicUsize::new(0));
    let seen = bytes.clone();
    let program = Program::new(ask.program.as_str())
        .data(Json::Object(ask.data))
        .limits(limits())
        .timeout(TIMEOUT)
        .look(move |machine, _| seen.store(machine.live_bytes(), Ordering::Relaxed));
    let outcome = site.pool.run(program).await;
    Ok(Body(answer(&outcome, &ask.program, bytes.load(Ordering::Relaxed))))
}

async fn read(bodies: &Bodies, request: Request) -> Result<Ask, Refusal> {
    let refused = |status, message: &str| (status, message.to_owned());
    let arrived =
        bodies.read(&Arc::from("page"), request.into_body()).await.map_err(|error| match error {
            BodyError::TooLarge => {
                refused(StatusCode::PAYLOAD_TOO_LARGE, "program and data together have at most 2 MiB")
            }
            BodyError::TooSlow => refused(StatusCode::REQUEST_TIMEOUT, "the request did not arrive"),
            BodyError::Full => refused(StatusCode::SERVICE_UNAVAILABLE, "too many requests arrive at once"),
            BodyError::Broken => refused(StatusCode::BAD_REQUEST, "the request is not whole"),
        })?;
    serde_json::from_slice(&arrived.bytes)
        .map_err(|error| (StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))
}

fn answer(outcome: &Outcome, source: &str, bytes: usize) -> Json {
    let mut answer = json!({
        "ok": outcome.result.is_ok(),
        "prints": outcome.prints,
        "fuel": outcome.fuel,
        "bytes": bytes,
        "ms": outcome.elapsed.as_secs_f64() * 1e3,
    });
    match &outcome.result {
        Ok(signal) => {
            answer["value"] = json!(outcome.value);
            answer["json"] = outcome.json.clone();
            answer["signal"] = json!(format!("{signal:?}").to_lowercase());
        }
        Err(error) => answer["error"] = told(error, source),
    }
    answer
}

fn told(error: &Error, source: &str) -> Json {
    let at = error.span.map(|span| Position::of(source, span.start));
    json!({
        "kind": error.kind.reason(),
        "message": error.text(),
        "line": at.map(|at| at.line),
        "column": at.map(|at| at.column),
        "hint": error.hint,
        "repaired": error.repaired,
    })
}
