//! Drivers that run programs of PTC-Lisp: one for the calling thread, and a fair pool for thousands.
//!
//! A machine of `ptc-lisp` never waits and never touches the outside: it says which tools it needs and
//! stops. This crate does the waiting. A [`Program`] names its source, inputs, tools and limits;
//! [`run_blocking`] runs it on the calling thread, a [`Pool`] runs thousands on a few threads, and what
//! comes back is an [`Outcome`]. The outcome is the same either way, to the unit of fuel.
//!
//! ```
//! use ptc_host::{Pool, Program, Tool, Tools, run_blocking};
//! use serde_json::json;
//!
//! let tools = Tools::new()
//!     // Answers from memory, on the program's own thread.
//!     .with("price", Tool::quick(|args| json!(if args["sku"] == "a" { 12 } else { 30 })))
//!     // May block: every call has a thread, calls of a `pmap` run at once.
//!     .with("stock", Tool::blocking(|_| std::fs::metadata("/").map(|_| json!(7))));
//! let program = Program::new("(reduce + (pmap #(* (tool/stock {}) (tool/price {:sku %})) data/skus))")
//!     .data(json!({"skus": ["a", "b"]}))
//!     .tools(tools)
//!     .timeout(std::time::Duration::from_secs(10));
//!
//! let outcome = run_blocking(&program);
//! assert_eq!((outcome.value.as_str(), outcome.calls.len()), ("294", 4));
//!
//! // The same on a pool; in async code `.await` it instead.
//! let pooled = Pool::global().run(program).wait();
//! assert_eq!((pooled.value, pooled.fuel), (outcome.value, outcome.fuel));
//! ```
//!
//! Async functions are tools too, and the future of a program is `Send`; dropping it cancels the
//! program:
//!
//! ```
//! # #[cfg(feature = "tokio")]
//! # fn main() {
//! use ptc_host::{Pool, Program, Tool, Tools};
//! use serde_json::{Value, json};
//!
//! async fn lookup(args: Value) -> Result<Value, std::io::Error> {
//!     Ok(json!({"name": args["id"], "ok": true}))
//! }
//!
//! let program = Program::new("(:name (tool/lookup {:id 5}))")
//!     .tools(Tools::new().with("lookup", Tool::future(lookup).timeout(std::time::Duration::from_secs(5))));
//! let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
//! let outcome = runtime.block_on(async { Pool::global().run(program).await });
//! assert_eq!(outcome.json, json!(5));
//! # }
//! # #[cfg(not(feature = "tokio"))]
//! # fn main() {}
//! ```
//!
//! **Order.** All calls of a step are started together and answered together, in order, when the last
//! is there. What a program does depends on what tools answer, never on which was faster.
//!
//! **Time.** Fuel and memory are counted by the machine. The timeout is a backstop: it counts the time a
//! program runs and waits for tools, not the time it stands in a pool's queue, so that no program times
//! out because of its neighbours. Cancelling takes effect within 1,000 instructions.
//!
//! **Approval.** A [`Judge`] looks at every call before it is made. Where it wants somebody to decide, the
//! program stops there: the outcome has a [`Held`], which is bytes, and a [`Resumption`] goes on from it in
//! any process, as if nothing had happened between. Nothing of the program is run twice.
//!
//! ```
//! use ptc_host::{Decision, Held, Judgement, Program, Resumption, Tool, Tools, run_blocking};
//! use serde_json::{Value, json};
//! use std::sync::Arc;
//!
//! let tools = Tools::new()
//!     .with("pay", Tool::quick(|args: Value| json!({"paid": args["euros"]})))
//!     .judge(Arc::new(|tool: &str, _: &Value| match tool {
//!         "pay" => Judgement::Ask(json!({"why": "money leaves"})),
//!         _ => Judgement::Go,
//!     }));
//! let outcome = run_blocking(&Program::new("(:paid (tool/pay {:euros 5}))").tools(tools.clone()));
//! let bytes = outcome.held.expect("it waits for a decision").to_bytes();
//!
//! // Later, anywhere.
//! let held = Held::from_bytes(&bytes).expect("they are whole");
//! let call = held.pending()[0].clone();
//! assert_eq!((call.tool.as_str(), &call.args["euros"]), ("pay", &json!(5)));
//! let decided = Resumption::new(held, [(call.id, Decision::Approve)]).expect("the call waits");
//! let outcome = run_blocking(&Program::resumed(decided).tools(tools));
//! assert_eq!(outcome.value, "5");
//! ```

mod blocking;
mod brisk;
mod cancel;
mod clock;
mod drive;
mod flight;
mod helpers;
mod hold;
mod outcome;
mod outline;
pub mod parts;
mod pool;
mod program;
#[cfg(feature = "tokio")]
mod runtime;
mod shown;
mod tape;
mod tools;
mod waiting;

pub use blocking::{Bounds, drive, drive_on, run_blocking};
pub use brisk::run_at_once;
pub use cancel::Cancel;
pub use flight::{CallEnd, Called};
pub use hold::{Decision, Held, HeldError, Judge, Judgement, PendingCall, Resumption};
pub use outcome::{BEGUN_BEFORE, DISMISSED, OUTCOME_UNKNOWN, called_at, look_and_settle, outcome_unknown};
pub use outline::{Kind, Weight, outline};
pub use pool::{Fair, Lane, Pool, PoolConfig, PoolStats, Running, STACK, Session};
pub use program::{Data, Hooks, Look, Outcome, Pace, Prepare, Program, Ran, Waits, now_ms, random_seed};
pub use ptc_lisp::json::strict_json;
pub use ptc_lisp::json::{RoundedInteger, exact, rounded_integer};
pub use ptc_lisp::machine::{Answer, ProgramEnd, ValueKind};
pub use ptc_lisp::visible::{is_format, visible};
pub use ptc_lisp::{Error, ErrorKind, Limits};
pub use shown::{arguments, is_read_alike, visible_json};
pub use tape::{Landed, Tape};
#[cfg(feature = "tokio")]
pub use tools::Room;
pub use tools::{IntoAnswer, Tool, Tools, Watch, Watched};
