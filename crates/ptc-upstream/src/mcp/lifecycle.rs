//! When a server is started, and started again. One state per upstream, which everybody who needs it watches:
//! the first one starts the server, the others wait for that. A start goes on even if nobody waits any more,
//! so a slow server is there for the next call. After a crash there is a window in which calls fail at once;
//! it grows with every crash in a row.
//!
//! Over HTTP, a server may be replaced by another one at the same address. When a request is answered as if there had been
//! no handshake, the connection is retired: requests in flight keep it, the next one performs a new handshake.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ListToolsRequest, PaginatedRequestParams,
};
use serde_json::{Map, Value as Json};
use tokio::sync::watch;

use super::answer::{self, Page};
use super::connection::{Connection, Handshake, late};
use super::inbox::UNREAD;
use crate::catalog::one_line;
use crate::client::{About, Client};
use crate::config::{TransportConfig, UpstreamConfig};
use crate::credentials::Secrets;
use crate::model::{Allowance, Fault, Payload, Reason, ToolDef, UNCALLED_VALUES};
use crate::redact::Redactor;
use crate::wire::{advised, too_large};

/// The first window after a crash; each further crash doubles it.
const FIRST_WINDOW: Duration = Duration::from_millis(500);
const LONGEST_WINDOW: Duration = Duration::from_secs(30);

/// A server that ran this long has recovered from whatever it had.
const STEADY: Duration = Duration::from_secs(30);

/// Bounds of a listing.
const MOST_PAGES: usize = 100;
const MOST_TOOLS: usize = 5_000;

/// No message of a fault is longer.
const MESSAGE_CHARS: usize = 500;

#[derive(Clone)]
enum ConnectionStatus {
    Idle,
    Starting,
    Live(Arc<Connection>),
    Down { until: Instant, fault: Fault },
}

struct Shared {
    config: UpstreamConfig,
    secrets: Secrets,
    redactor: Redactor,
    status: watch::Sender<ConnectionStatus>,
    crashes: AtomicU32,
    generation: Arc<AtomicU64>,
    about: Mutex<Option<About>>,
    /// How hands were shaken before, which need not be found out again.
    handshake: Mutex<Option<Handshake>>,
    /// The tools that the configuration leaves out.
    excluded: Mutex<Vec<String>>,
    /// Tools that cannot be used, with the reason.
    left_out: Mutex<Vec<String>>,
    /// Those of them that have a name and that the configuration lets in.
    unreadable: Mutex<BTreeMap<String, String>>,
}

/// The client of one MCP upstream.
pub struct McpClient(Arc<Shared>);

impl McpClient {
    /// A client that has not started anything; `None` if the upstream does not speak MCP.
    pub fn new(config: &UpstreamConfig, secrets: &Secrets) -> Option<McpClient> {
        if matches!(config.transport, TransportConfig::OpenApi(_)) {
            return None;
        }
        Some(McpClient(Arc::new(Shared {
            config: config.clone(),
            secrets: secrets.clone(),
            redactor: secrets.redactor(),
            status: watch::Sender::new(ConnectionStatus::Idle),
            crashes: AtomicU32::new(0),
            generation: Arc::default(),
            about: Mutex::default(),
            handshake: Mutex::default(),
            excluded: Mutex::default(),
            left_out: Mutex::default(),
            unreadable: Mutex::default(),
        })))
    }

    async fn request(&self, request: ClientRequest, allowance: Allowance) -> Result<String, Fault> {
        let began = Instant::now();
        let connection = tokio::time::timeout(allowance.timeout, self.0.connection());
        let connection = connection.await.map_err(|_| {
            let waited = allowance.timeout.as_millis();
            let message = format!("still starting after {waited} ms: try again in a moment");
            Fault::new(Reason::UpstreamUnavailable, message).before_sending()
        })?;
        let connection = connection.map_err(Fault::before_sending)?;
        let left = allowance.timeout.saturating_sub(began.elapsed());
        let answer = connection.request(request, Allowance { timeout: left, ..allowance }).await;
        // What was asked for counts, not what was left of it.
        answer.map_err(|fault| match fault.reason {
            Reason::Timeout if fault.message == late(left).message => late(allowance.timeout),
            _ => fault,
        })
    }

    async fn list_all(&self, allowance: Allowance) -> Result<Vec<ToolDef>, Fault> {
        let cap = allowance.max_bytes.min(self.0.config.max_response_bytes);
        let deadline = Instant::now() + allowance.timeout;
        let (mut tools, mut bytes, mut values, mut cursor) = (Vec::new(), 0, 0, None);
        let (mut left_out, mut unreadable) = (Vec::new(), Vec::new());
        for _ in 0..MOST_PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let request = ListToolsRequest::with_param(params);
            let left = deadline.saturating_duration_since(Instant::now());
            let text = self.request(request.into(), Allowance { timeout: left, ..allowance }).await?;
            bytes += text.len();
            if bytes > cap {
                return Err(too_large(bytes, cap));
            }
            values += ptc_host::parts::extent(text.as_bytes()).values;
            if values > UNCALLED_VALUES {
                let message =
                    format!("lists tools with more than {UNCALLED_VALUES} values in their definitions");
                return Err(Fault::new(Reason::ResponseTooLarge, message));
            }
            let mut page = Page::read(&text)?;
            left_out.append(&mut page.left_out);
            unreadable.append(&mut page.unreadable);
            tools.extend(page.tools(self.0.config.transport.name()));
            if tools.len() > MOST_TOOLS {
                return Err(Fault::new(Reason::UpstreamError, format!("lists more than {MOST_TOOLS} tools")));
            }
            match page.next_cursor {
                None => {
                    let admits = |tool: &ToolDef| self.0.config.tools.admits(&tool.name);
                    let others = tools.iter().filter(|tool| !admits(tool)).map(|tool| tool.name.clone());
                    *self.0.excluded.lock().unwrap_or_else(PoisonError::into_inner) = others.collect();
                    tools.retain(admits);
                    unreadable.retain(|(name, _)| self.0.config.tools.admits(name));
                    *self.0.unreadable.lock().unwrap_or_else(PoisonError::into_inner) =
                        unreadable.into_iter().collect();
                    self.leave_out(left_out);
                    return Ok(tools);
                }
                next if next == cursor => {
                    return Err(Fault::new(Reason::UpstreamError, "lists tools in pages without end"));
                }
                next => cursor = next,
            }
        }
        Err(Fault::new(Reason::UpstreamError, format!("lists tools in more than {MOST_PAGES} pages")))
    }

    /// Notes tools that cannot be used, and tells of them if they are others than before.
    fn leave_out(&self, left_out: Vec<String>) {
        let mut before = self.0.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        if *before != left_out {
            for left in &left_out {
                let told = one_line(&self.0.redactor.redact_str(left), MESSAGE_CHARS);
                tracing::warn!(upstream = %self.0.config.name, "is used without {told}");
            }
            *before = left_out;
        }
    }

    /// The fault as it may leave: secrets covered, of bounded length, on one line.
    fn clean(&self, fault: Fault) -> Fault {
        let fault = match self.0.config.transport.endpoint() {
            Some(endpoint) => advised(fault, &self.0.config.name, endpoint),
            None => fault,
        };
        let covered = self.0.redactor.redact_string(fault.message);
        let mut message: String = covered.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((cut, _)) = message.char_indices().nth(MESSAGE_CHARS) {
            message.truncate(cut);
            message.push('…');
        }
        Fault { message, ..fault }
    }
}

impl Client for McpClient {
    fn list(&self, allowance: Allowance) -> BoxFuture<'_, Result<Vec<ToolDef>, Fault>> {
        Box::pin(async move { self.list_all(allowance).await.map_err(|fault| self.clean(fault)) })
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        args: Map<String, Json>,
        allowance: Allowance,
    ) -> BoxFuture<'a, Result<Payload, Fault>> {
        Box::pin(async move {
            let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(args);
            let request = CallToolRequest::new(params);
            let text = self.request(request.into(), allowance).await;
            text.and_then(|text| answer::payload(&text, allowance.max_values))
                .map_err(|fault| self.clean(fault))
        })
    }

    fn generation(&self) -> u64 {
        self.0.generation.load(Ordering::Relaxed)
    }

    fn down(&self) -> Option<Fault> {
        let fault = match &*self.0.status.borrow() {
            ConnectionStatus::Down { fault, .. } => Some(fault.clone()),
            ConnectionStatus::Idle | ConnectionStatus::Starting | ConnectionStatus::Live(_) => None,
        };
        fault.map(|fault| self.clean(fault))
    }

    fn rests_until(&self) -> Option<Instant> {
        match &*self.0.status.borrow() {
            ConnectionStatus::Down { until, .. } => Some(*until),
            ConnectionStatus::Idle | ConnectionStatus::Starting | ConnectionStatus::Live(_) => None,
        }
    }

    fn ended(&self) -> BoxFuture<'_, ()> {
        let mut status = self.0.status.subscribe();
        Box::pin(async move {
            // The sender lives as long as this client.
            let _ = status.wait_for(|status| matches!(status, ConnectionStatus::Down { .. })).await;
        })
    }

    fn left_out(&self) -> Vec<String> {
        self.0.left_out.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn unusable(&self) -> BTreeMap<String, String> {
        self.0.unreadable.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn excluded(&self) -> Vec<String> {
        self.0.excluded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn about(&self) -> Option<About> {
        self.0.about.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let ConnectionStatus::Live(connection) = self.0.status.send_replace(ConnectionStatus::Idle) {
                connection.stop();
                connection.ended().await;
            }
        })
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        if let ConnectionStatus::Live(connection) = self.0.status.send_replace(ConnectionStatus::Idle) {
            connection.stop();
        }
    }
}

impl Shared {
    /// The connection, made if need be.
    async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, Fault> {
        let mut status = self.status.subscribe();
        loop {
            match &*status.borrow_and_update() {
                ConnectionStatus::Live(connection) => return Ok(connection.clone()),
                ConnectionStatus::Down { until, fault } if Instant::now() < *until => {
                    return Err(recovering(fault, *until));
                }
                ConnectionStatus::Starting | ConnectionStatus::Idle | ConnectionStatus::Down { .. } => {}
            }
            let mine = self.status.send_if_modified(|status| {
                let startable = match status {
                    ConnectionStatus::Idle => true,
                    ConnectionStatus::Down { until, .. } => Instant::now() >= *until,
                    ConnectionStatus::Starting | ConnectionStatus::Live(_) => false,
                };
                if startable {
                    *status = ConnectionStatus::Starting;
                }
                startable
            });
            if mine {
                tokio::spawn(self.clone().start());
            }
            let settled = status.wait_for(|status| !matches!(status, ConnectionStatus::Starting)).await;
            match settled.as_deref() {
                Ok(ConnectionStatus::Live(connection)) => return Ok(connection.clone()),
                Ok(ConnectionStatus::Down { fault, .. }) => return Err(fault.clone()),
                Ok(ConnectionStatus::Idle | ConnectionStatus::Starting) => {}
                Err(_) => return Err(Fault::new(Reason::UpstreamUnavailable, "the upstream was closed")),
            }
        }
    }

    /// Starts the server and sees it to its end.
    async fn start(self: Arc<Self>) {
        match self.open().await {
            Ok(connection) => {
                *self.handshake.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.handshake);
                *self.about.lock().unwrap_or_else(PoisonError::into_inner) = Some(connection.about.clone());
                self.generation.fetch_add(1, Ordering::Relaxed);
                let began = Instant::now();
                let connection = Arc::new(connection);
                let wanted = self.status.send_if_modified(|status| {
                    let wanted = matches!(status, ConnectionStatus::Starting);
                    if wanted {
                        *status = ConnectionStatus::Live(connection.clone());
                    }
                    wanted
                });
                if !wanted {
                    connection.stop();
                }
                tokio::select! {
                    () = connection.ended() => {}
                    left = connection.doubted() => return self.retire(&connection, left).await,
                }
                if began.elapsed() >= STEADY {
                    self.crashes.store(0, Ordering::Relaxed);
                }
                let fault = Fault::new(Reason::UpstreamUnavailable, connection.obituary().await);
                self.down(
                    fault,
                    |status| matches!(status, ConnectionStatus::Live(live) if Arc::ptr_eq(live, &connection)),
                );
            }
            Err(fault) => self.down(fault, |status| matches!(status, ConnectionStatus::Starting)),
        }
    }

    /// Shakes hands the way the server is known to understand; otherwise one way, then the other.
    async fn open(&self) -> Result<Connection, Fault> {
        let known = *self.handshake.lock().unwrap_or_else(PoisonError::into_inner);
        let open =
            |handshake| Connection::open(&self.config, &self.secrets, handshake, self.generation.clone());
        let first = open(known).await;
        let Err(fault) = first else { return first };
        // There may be another server in its place, so the next attempt finds out anew.
        *self.handshake.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let hopeless = matches!(fault.reason, Reason::AuthFailed | Reason::RateLimited) || known.is_some();
        let other = match &self.config.transport {
            TransportConfig::Stdio(_) if fault.message.starts_with("handshake refused") => {
                Handshake::Discover
            }
            TransportConfig::Http(http) if http.legacy_sse => return Err(fault),
            TransportConfig::Http(_) if !fault.message.starts_with("cannot connect") => Handshake::Initialize,
            _ => return Err(fault),
        };
        if hopeless {
            return Err(fault);
        }
        match open(Some(other)).await {
            // Servers of before Streamable HTTP do not take what is posted to the address of their stream.
            Err(second) if other == Handshake::Initialize && second.message.starts_with("http 4") => {
                open(Some(Handshake::Legacy)).await.map_err(|_| fault)
            }
            opened => opened.map_err(|second| if second.message.contains(UNREAD) { second } else { fault }),
        }
    }

    /// Lets the next request shake hands anew, while those under way have their time.
    async fn retire(&self, connection: &Arc<Connection>, left: Duration) {
        *self.handshake.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.status.send_if_modified(|status| {
            let mine = matches!(status, ConnectionStatus::Live(live) if Arc::ptr_eq(live, connection));
            if mine {
                *status = ConnectionStatus::Idle;
            }
            mine
        });
        let _ = tokio::time::timeout(left, connection.ended()).await;
        connection.stop();
    }

    /// Notes that the server is down, if it still is what `mine` says.
    fn down(&self, fault: Fault, mine: impl Fn(&ConnectionStatus) -> bool) {
        self.status.send_if_modified(|status| {
            if !mine(status) {
                return false;
            }
            let crashes = self.crashes.fetch_add(1, Ordering::Relaxed);
            let window = FIRST_WINDOW.saturating_mul(1 << crashes.min(10)).min(LONGEST_WINDOW);
            *status = ConnectionStatus::Down { until: Instant::now() + window, fault };
            true
        });
    }
}

fn recovering(fault: &Fault, until: Instant) -> Fault {
    fault.recovering(until.saturating_duration_since(Instant::now()).as_millis())
}
