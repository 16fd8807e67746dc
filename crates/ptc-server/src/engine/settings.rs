//! What the engine was told, with everything settled that depends on something else.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ptc_upstream::Caps;
use ptc_upstream::catalog::CatalogText;
use serde_json::{Map, Value as Json, json};

use super::roles::Policy;
use crate::options::ApprovalBy;

/// How much of an answer is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Text only.
    #[default]
    Slim,
    /// Text and a compact object.
    Structured,
    /// Everything, as an object and as its text.
    Debug,
}

/// How much of programs and their inputs records keep.
pub type Payloads = ptc_trace::Policy;

/// What the engine works by.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How much of an answer is shown.
    pub profile: Profile,
    /// The largest program in bytes.
    pub max_program_bytes: usize,
    /// The largest context in bytes of compact JSON.
    pub max_context_bytes: usize,
    /// Programs of one owner that run at a time.
    pub max_concurrent_calls: usize,
    /// Programs of one owner that wait for tools at a time.
    pub max_waiting_calls: usize,
    /// Calls of one owner that wait for their turn.
    pub max_queued_calls: usize,
    /// Where random numbers of programs begin, if that is said.
    pub seed: Option<u64>,
    /// How long a program may take.
    pub program_timeout: Duration,
    /// How much memory a program may use.
    pub program_memory_bytes: usize,
    /// How much memory all programs that have begun may use together.
    pub programs_memory_bytes: usize,
    /// How much a program may ask of upstreams.
    pub caps: Caps,
    /// Whether programs may only call upstream tools that read.
    pub read_only: bool,
    /// How much of the catalog descriptions carry.
    pub catalog: CatalogText,
    /// How much of programs and their inputs records keep.
    pub payloads: Payloads,
    /// Where each call has a trace file.
    pub trace_dir: Option<PathBuf>,
    /// Bytes of a result that is shown whole.
    pub result_bytes: usize,
    /// Bytes of printed lines that are shown.
    pub prints_bytes: usize,
    /// Trace files that are kept.
    pub trace_max_files: usize,
    /// Where each call of a program or a task has a recording.
    pub record_dir: Option<PathBuf>,
    /// Recordings that are kept.
    pub record_max_files: usize,
    /// Bytes of one recording.
    pub record_max_bytes: u64,
    /// The manifest of evidence that programs of sessions may read.
    pub evidence: Option<PathBuf>,
    /// Where the turns of sessions are logged.
    pub turn_log_dir: Option<PathBuf>,
    /// Bytes of results that are kept for reading.
    pub resource_bytes: usize,
    /// Results that are kept for one owner.
    pub resources_per_owner: usize,
    /// Who decides about calls that wait for approval.
    pub approval_by: ApprovalBy,
    /// Where people do, if it is not where the server listens.
    pub approval_page: Option<String>,
    /// How long programs wait for approval.
    pub ticket_ttl: Duration,
    /// Programs of one owner that wait for approval at a time.
    pub tickets_per_owner: u64,
    /// Bytes of all of them.
    pub ticket_bytes_per_owner: u64,
    /// Sessions, if they are offered.
    pub sessions: Option<SessionSettings>,
    /// `lisp_debug`, if it is offered.
    pub debug: Option<Debug>,
    /// `lisp_task`, if it is offered.
    pub task: Option<Task>,
}

/// Sessions: who may have how many, and how much they keep.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// Sessions at a time.
    pub most: usize,
    /// Sessions of one owner.
    pub per_owner: usize,
    /// Stored sessions that stay in memory between programs.
    pub live: usize,
    /// The longest life of a session.
    pub ttl: Duration,
    /// The longest life without use.
    pub idle: Duration,
    /// Bytes of all bindings.
    pub memory_bytes: usize,
    /// Bytes of one binding.
    pub binding_bytes: usize,
    /// Bindings.
    pub bindings: usize,
    /// Bytes of each of `*1`, `*2`, `*3`.
    pub history_entry_bytes: usize,
    /// Printed lines, and their bytes.
    pub prints: LogRetention,
    /// Calls of the server's own tools, and their bytes.
    pub tool_calls: LogRetention,
    /// Upstream calls, and their bytes.
    pub upstream_calls: LogRetention,
    /// Characters of a result that are shown.
    pub preview_chars: usize,
    /// Whether long lists of maps are pointed out.
    pub collection_hint: bool,
    /// Whether sessions may write preludes.
    pub allow_prelude_write: bool,
    /// Tags of every session.
    pub boot_tags: Map<String, Json>,
    /// Roles and what they grant.
    pub roles: Option<Arc<Policy>>,
}

/// How much of a log a session keeps; the oldest entries go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRetention {
    /// Entries.
    pub entries: usize,
    /// Bytes of all entries.
    pub bytes: usize,
}

/// `lisp_debug`: how much it remembers and says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Debug {
    /// Calls that are remembered.
    pub ring_size: usize,
    /// Bytes of an answer.
    pub max_response_bytes: usize,
}

/// `lisp_task`: how long and how much.
#[derive(Clone, Debug)]
pub struct Task {
    /// Time of a task.
    pub timeout: Duration,
    /// Time of one reply of the planner.
    pub planner_timeout: Duration,
    /// Tokens of one reply.
    pub max_output_tokens: u64,
    /// Bytes of an answer.
    pub max_result_bytes: usize,
    /// Whether the program is shown.
    pub include_program: bool,
    /// Whether trace files have what the planner was sent.
    pub trace_prompts: bool,
    /// Turns of the planner.
    pub max_turns: u32,
    /// More turns to correct an answer.
    pub retry_turns: u32,
    /// Whether tools that write may be called.
    pub allow_writes: bool,
    /// The operator's text at the beginning of the prompt.
    pub prompt_prefix: String,
    /// The operator's text towards its end.
    pub prompt_suffix: String,
    /// Bytes of tool documentation in the prompt.
    pub catalog_bytes: usize,
    /// The operator's words for what upstreams can do.
    pub capabilities: Option<String>,
    /// Bytes of what the description says about upstreams.
    pub capabilities_bytes: usize,
}

impl Default for Task {
    fn default() -> Self {
        Task {
            timeout: Duration::from_secs(45),
            planner_timeout: Duration::from_secs(15),
            max_output_tokens: 1_200,
            max_result_bytes: 4_096,
            include_program: true,
            trace_prompts: false,
            max_turns: 1,
            retry_turns: 0,
            allow_writes: false,
            prompt_prefix: String::new(),
            prompt_suffix: String::new(),
            catalog_bytes: 16 << 10,
            capabilities: None,
            capabilities_bytes: 800,
        }
    }
}

impl Settings {
    /// Where random numbers of the next program begin.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(ptc_host::random_seed)
    }
}

impl Default for Settings {
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Settings {
            profile: Profile::Slim,
            max_program_bytes: 64 << 10,
            max_context_bytes: 4 << 20,
            max_concurrent_calls: cpus.min(8),
            max_waiting_calls: 256,
            max_queued_calls: 256,
            seed: None,
            program_timeout: Duration::from_millis(1_000),
            program_memory_bytes: 64 << 20,
            programs_memory_bytes: usize::try_from(crate::options::programs_memory()).unwrap_or(usize::MAX),
            caps: Caps { start_wait: Some(Duration::from_millis(500)), ..Caps::default() },
            read_only: false,
            catalog: CatalogText::default(),
            payloads: Payloads::default(),
            result_bytes: 8 << 10,
            prints_bytes: 8 << 10,
            trace_dir: None,
            trace_max_files: 1_000,
            record_dir: None,
            record_max_files: 1_000,
            record_max_bytes: 16 << 20,
            evidence: None,
            turn_log_dir: None,
            resource_bytes: 32 << 20,
            resources_per_owner: 16,
            approval_by: ApprovalBy::Person,
            approval_page: None,
            ticket_ttl: Duration::from_secs(3_600),
            tickets_per_owner: 1_000,
            ticket_bytes_per_owner: 64 << 20,
            sessions: None,
            debug: None,
            task: None,
        }
    }
}

impl Default for SessionSettings {
    fn default() -> Self {
        SessionSettings {
            most: 64,
            per_owner: 16,
            live: 64,
            ttl: Duration::from_secs(1_800),
            idle: Duration::from_secs(900),
            memory_bytes: 1 << 20,
            binding_bytes: 256 << 10,
            bindings: 200,
            history_entry_bytes: 64 << 10,
            prints: LogRetention { entries: 50, bytes: 64 << 10 },
            tool_calls: LogRetention { entries: 50, bytes: 128 << 10 },
            upstream_calls: LogRetention { entries: 50, bytes: 128 << 10 },
            preview_chars: 512,
            collection_hint: false,
            allow_prelude_write: false,
            boot_tags: Map::new(),
            roles: None,
        }
    }
}

impl SessionSettings {
    /// The limits as clients see them.
    pub fn to_json(&self) -> Json {
        json!({
            "ttl_ms": self.ttl.as_millis() as u64,
            "idle_timeout_ms": self.idle.as_millis() as u64,
            "max_memory_bytes": self.memory_bytes,
            "max_binding_bytes": self.binding_bytes,
            "max_bindings": self.bindings,
            "max_history_entry_bytes": self.history_entry_bytes,
            "max_print_entries": self.prints.entries,
            "max_print_bytes": self.prints.bytes,
            "max_tool_call_entries": self.tool_calls.entries,
            "max_tool_call_bytes": self.tool_calls.bytes,
            "max_upstream_call_entries": self.upstream_calls.entries,
            "max_upstream_call_bytes": self.upstream_calls.bytes,
            "max_preview_chars": self.preview_chars,
        })
    }
}
