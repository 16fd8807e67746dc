//! Traces: what agents, programs, calls of upstreams and sessions did, as one stream of events.
//!
//! A [`Tracer`] takes events and never fails or holds up whoever sends them. It hands them to [`Sink`]s:
//! [`Files`] writes a file of JSON lines per run, [`Memory`] keeps the last ones, [`Listener`] calls a function
//! under every name that telemetry knows them by, [`Spans`] makes spans of the `tracing` crate, and with the
//! feature `otlp` an `Otlp` sends them to a collector of OpenTelemetry. How much of programs, arguments and results is kept
//! is the [`Policy`].
//!
//! Agents send their events through a [`subscriber`]; everybody else begins a [`Span`]:
//!
//! ```
//! use ptc_trace::{Memory, Options, Tracer, subject};
//! use serde_json::json;
//!
//! let memory = Memory::default();
//! let tracer = Tracer::new(Options::default(), vec![Box::new(memory.clone())]);
//! let call = tracer.begin("mcp_call", subject::MCP_CALL, "request 1", json!({"program": "(+ 1 2)"}));
//! let upstream = call.child(subject::UPSTREAM_CALL, json!({"server": "crm", "tool_name": "search"}));
//! upstream.fail("timeout", "no answer within 5 s", json!({}));
//! call.stop(json!({"fuel": 12}));
//! tracer.flush();
//!
//! let names: Vec<String> = memory.records().into_iter().map(|record| record.event).collect();
//! assert_eq!(names[1..], ["mcp.call.start", "upstream.call.start", "upstream.call.exception", "mcp.call.stop"]);
//! ```
//!
//! [`read`] and [`Tree`] read files back, also torn, foreign and unfinished ones. [`recording`] keeps whole runs, to
//! play them back.

mod bound;
pub mod events;
mod files;
mod names;
#[cfg(feature = "otlp")]
mod otlp;
mod packed;
mod payload;
mod reader;
mod record;
pub mod recording;
mod sink;
mod span;
mod spans;
mod tracer;
mod tree;
mod watch;

pub use bound::Bounds;
pub use files::{Files, Keep, file_mark};
pub use names::{draft_name, for_each_name, full_name};
#[cfg(feature = "otlp")]
pub use otlp::{Complain, Otlp, OtlpError};
pub use payload::Policy;
pub use reader::{Entry, ReadBounds, Trace, find, list, read, read_from};
pub use record::{Phase, Record, SCHEMA_VERSION};
pub use sink::{Listener, Memory, Sink};
pub use span::{Span, new_trace_id, subject};
pub use spans::Spans;
pub use tracer::{Options, Scrub, Tracer};
pub use tree::{Node, Summary, Tree};

use std::path::PathBuf;
use std::sync::Arc;

/// Takes events of agents; what `Surroundings::subscriber` of `ptc-runner` holds.
pub type Subscriber = Arc<dyn Fn(ptc_agent::Event) + Send + Sync>;

/// A subscriber that writes every run into a file of a directory. What is not written when the last clone
/// goes, is written then.
pub fn subscriber(dir: impl Into<PathBuf>, policy: Policy) -> std::io::Result<Subscriber> {
    let files = Files::open(dir, Keep::default())?;
    Ok(Tracer::new(Options { policy, ..Options::default() }, vec![Box::new(files)]).subscriber())
}

impl Tracer {
    /// The tracer as a subscriber of agents.
    pub fn subscriber(&self) -> Subscriber {
        let tracer = self.clone();
        Arc::new(move |event| tracer.agent_event(&event))
    }
}
