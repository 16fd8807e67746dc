//! The viewer: a page on the loopback address that lists traces, shows a run with its turns, programs, calls
//! and nested agents, follows runs that go on, and evaluates programs against sample data.
//!
//! Everything the page needs is in the binary. Traces are hostile input: the page puts texts into the document
//! as text and nothing else, and its content security policy lets no other script run. Requests are answered
//! only under the names of the loopback address and only for the page itself (`guard`). Whatever comes is bounded by
//! `ptc-http`, because everybody on the machine reaches the socket.

mod assets;
mod guard;
mod live;
mod playground;
mod runs;
mod shown;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use ptc_host::{Pool, PoolConfig};
use ptc_http::{Bounds, Connections, Protocol};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Who connects, and for how long a request may arrive. A page needs a handful of connections.
const BOUNDS: Bounds = Bounds { total: 256, per_address: 256, head_time: Duration::from_secs(15) };

/// What all requests share.
struct Site {
    dir: PathBuf,
    /// The address that the page is served at.
    address: SocketAddr,
    /// Only the page knows it, so only the page can ask for something to be done.
    token: String,
    known: Mutex<BTreeMap<String, runs::Known>>,
    /// Runs the programs of the playground.
    pool: Pool,
    /// How many programs run at once.
    slots: Semaphore,
    /// Reads their requests.
    bodies: ptc_http::Bodies,
}

/// Serves the traces of a directory until the process ends. The listener must be one of the loopback address.
pub async fn serve(listener: TcpListener, dir: impl Into<PathBuf>) -> io::Result<()> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        let message = "the viewer answers only at the loopback address";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let site = Site {
        dir: dir.into(),
        address,
        token: guard::new_token()?,
        known: Mutex::new(BTreeMap::new()),
        pool: Pool::new(PoolConfig { workers: 2, programs: 16, park_after: None }),
        slots: Semaphore::new(playground::AT_ONCE),
        bodies: playground::bodies(),
    };
    let connections = Connections::new(BOUNDS);
    let (router, never) = (router(Arc::new(site)), CancellationToken::new());
    connections.serve(listener, Protocol::Http1, router, never, |_| ()).await;
    Ok(())
}

fn router(site: Arc<Site>) -> Router {
    Router::new()
        .route("/", get(assets::page))
        .route("/assets/{name}", get(assets::asset))
        .route("/api/runs", get(runs::list))
        .route("/api/runs/{file}", get(runs::one))
        .route("/api/runs/{file}/value", get(runs::value))
        .route("/api/runs/{file}/raw", get(runs::raw))
        .route("/api/runs/{file}/live", get(live::follow))
        .route("/api/live", get(live::watch))
        .route("/api/eval", post(playground::eval))
        .layer(from_fn_with_state(site.clone(), guard::guard))
        .with_state(site)
}
