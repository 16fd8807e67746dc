//! Every setting of the server, once: its flag, the field of [`Options`] that holds it, its kind and default, and
//! what it is for. Parsing, help, `--print-config` and `docs/mcp-options.md` are made from this table.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ptc_upstream::config::Found;
use secrecy::SecretString;
use serde_json::Value as Json;

use super::kinds::{
    ApprovalBy, ApprovalPage, CatalogMode, Form, Listen, LogLevel, Natural, ResponseProfile, StorePlace,
    TracePayloads, ValueKind, Within,
};

/// A setting, described.
pub struct Setting {
    /// What it belongs to, as help lists it.
    pub group: &'static str,
    /// Its name on the command line, without the hyphens in front.
    pub flag: &'static str,
    /// What it takes, in words.
    pub takes: &'static str,
    /// What help calls its value, by its kind alone.
    value: &'static str,
    /// How it stands on the command line.
    pub form: Form,
    /// What it is unless set, in words.
    pub default: &'static str,
    /// What it is for.
    pub help: &'static str,
    pub(super) set: fn(&mut Options, &str) -> Result<(), String>,
    pub(super) show: fn(&Options) -> Json,
}

impl Setting {
    /// The variable of the environment that sets it.
    pub fn variable(&self) -> String {
        match self.flag {
            "upstreams-config" => ptc_upstream::config::ENV_VAR.to_owned(),
            flag => format!("{PREFIX}{}", flag.to_uppercase().replace('-', "_")),
        }
    }

    /// What help calls its value. What a number counts stands in the name of its flag.
    pub fn value(&self) -> &'static str {
        match self.value {
            "N" if self.flag.ends_with("-bytes") => "BYTES",
            "N" if self.flag.ends_with("-ms") => "MILLISECONDS",
            value => value,
        }
    }
}

/// How variables of the server begin.
pub const PREFIX: &str = "PTC_RUNNER_MCP_";

macro_rules! settings {
    ($(group $group:literal; $($flag:literal $field:ident: $kind:ty = $default:expr, $shown:literal, $help:literal;)+)+) => {
        /// The server's configuration.
        #[derive(Clone, Debug)]
        pub struct Options {
            $($(#[doc = $help] pub $field: $kind,)+)+
        }

        /// What holds without flags and variables, and without upstreams.
        impl Default for Options {
            fn default() -> Options {
                Options { $($($field: $default,)+)+ }
            }
        }

        /// All settings, in the order of documentation.
        pub static SETTINGS: &[Setting] = &[$($(Setting {
            group: $group,
            flag: $flag,
            takes: <$kind as ValueKind>::TAKES,
            value: <$kind as ValueKind>::VALUE,
            form: <$kind as ValueKind>::FORM,
            default: $shown,
            help: $help,
            set: |options, text| <$kind as ValueKind>::read(text).map(|value| options.$field = value),
            show: |options| options.$field.show(),
        },)+)+];
    };
}

settings! {
    group "Upstreams";
    "upstreams-config" upstreams_config: Found = Found::Nowhere, "~/.config/ptc_runner_mcp/upstreams.json if it exists",
        "Upstream servers that programs may call.";
    group "Programs";
    "max-frame-bytes" max_frame_bytes: u64 = 8 << 20, "8388608", "Bytes of one message on stdio.";
    "max-program-bytes" max_program_bytes: u64 = 65_536, "65536", "Bytes of a program.";
    "max-context-bytes" max_context_bytes: u64 = 4 << 20, "4194304", "Bytes of a context, as compact JSON.";
    "max-result-bytes" max_result_bytes: u64 = 8_192, "8192",
        "Bytes of a result that is shown whole; of a longer one the answer says what it is and how to get the rest. What doc, \
         dir, apropos and the like tell has 16384 at least.";
    "max-prints-bytes" max_prints_bytes: u64 = 8_192, "8192", "Bytes of printed lines that are shown.";
    "max-concurrent-calls" max_concurrent_calls: u64 = processors().min(8), "8, or the number of processors if lower",
        "Programs of one owner that run at a time; further calls wait for their turn.";
    "max-waiting-calls" max_waiting_calls: u64 = 256, "256",
        "Programs of one owner that wait for upstreams at a time; further calls wait for their turn.";
    "max-queued-calls" max_queued_calls: Natural = Natural(256), "256",
        "Calls of one owner that wait for their turn; one more is answered `busy`.";
    "program-timeout-ms" program_timeout_ms: u64 = 1_000, "1000; 10000 with upstreams", "Time of a program.";
    "program-memory-limit-bytes" program_memory_limit_bytes: u64 = 64 << 20, "64 MiB",
        "Memory of a program.";
    "max-programs-memory-bytes" max_programs_memory_bytes: u64 = programs_memory(), "half of what the machine or its container has",
        "Memory of all programs: one that runs counts with what it may use, one that waits for upstreams with what it keeps; \
         further calls wait for their turn. An owner without a program gets one in any case.";
    "seed" seed: Option<u64> = None, "random for each program",
        "Where random numbers of programs begin, the same for all; for tests.";
    group "Upstreams";
    "upstream-call-timeout-ms" upstream_call_timeout_ms: u64 = 5_000, "5000", "Time of one call of an upstream tool.";
    "max-upstream-response-bytes" max_upstream_response_bytes: u64 = 2 << 20, "2097152", "Bytes of an upstream's answer.";
    "max-upstream-calls-per-program" max_upstream_calls_per_program: u64 = 50, "50", "Upstream calls of one program.";
    "require-upstreams" require_upstreams: bool = false, "false",
        "Start only if all upstreams can be used. Else they start while clients are served, and those that fail are tried again.";
    "aggregator-read-only" aggregator_read_only: bool = false, "false",
        "Refuse programs that may call upstream tools which write.";
    "catalog-mode" catalog_mode: CatalogMode = CatalogMode::Auto, "auto",
        "How much of the upstreams' catalogs stands in descriptions of tools.";
    "catalog-inline-max-chars" catalog_inline_max_chars: u64 = 800, "800", "Longest catalog that `auto` shows whole.";
    "catalog-inline-max-tools" catalog_inline_max_tools: u64 = 8, "8", "Most tools of a catalog that `auto` shows whole.";
    "remember-catalogs" remember_catalogs: bool = true, "true",
        "Keep in the user's cache what upstreams offered, so that descriptions name their tools before they are up again.";
    "max-catalog-ops-per-program" max_catalog_ops_per_program: u64 = 25, "25", "Discovery calls of one program.";
    "max-catalog-result-bytes" max_catalog_result_bytes: u64 = 262_144, "262144", "Bytes of what a discovery call gives.";
    group "Logs, traces and recordings";
    "log-level" log_level: LogLevel = LogLevel::Info, "info", "Which log lines are written to stderr.";
    "trace-dir" trace_dir: Option<PathBuf> = None, "unset", "Folder for one trace file per call.";
    "trace-payloads" trace_payloads: TracePayloads = TracePayloads::Summary, "summary",
        "What traces and debug records keep of programs, contexts and results.";
    "trace-max-files" trace_max_files: u64 = 1_000, "1000", "Trace files that are kept.";
    "record-dir" record_dir: Option<PathBuf> = None, "unset",
        "Folder for one recording per call of a program or task, which `ptc replay` plays; payloads are whole, secrets covered.";
    "record-max-files" record_max_files: u64 = 1_000, "1000", "Recordings that are kept.";
    "record-max-bytes" record_max_bytes: u64 = 16 << 20, "16777216", "Bytes of one recording; a longer one is cut off.";
    "turn-log-dir" turn_log_dir: Option<PathBuf> = None, "unset", "Folder for the log of turns of sessions.";
    "turn-log-tags" turn_log_tags: BTreeMap<String, String> = BTreeMap::new(), "unset", "Tags of every turn in that log.";
    group "Preludes and the store";
    "prelude" prelude: Option<PathBuf> = None, "unset",
        "Prelude of all programs. Sessions then neither choose preludes of a store nor write to it.";
    "evidence-bundle" evidence_bundle: Option<PathBuf> = None, "unset", "Manifest of evidence that programs may read.";
    "store" store: StorePlace = StorePlace(None), "unset; in memory with a seed",
        "Where versions of preludes and, with --sessions, sessions are kept.";
    "journal-retention-ms" journal_retention_ms: u64 = 86_400_000, "86400000",
        "How long the store keeps answers of calls and replies to requests with a key, at least ten minutes. After that a \
         request that comes again is a new one. Calls without an answer are kept until somebody settles them, those of plans for good.";
    "prelude-store-seed" prelude_store_seed: Option<PathBuf> = None, "unset",
        "File or folder of preludes that the store begins with.";
    "prelude-store-max-versions" prelude_store_max_versions: u64 = 1_000, "1000",
        "Latest versions of each prelude that the store keeps. Beside them stay the default version, versions that somebody \
         made the default, and those that other preludes need.";
    "prelude-store-max-bytes" prelude_store_max_bytes: u64 = 10 << 20, "10485760",
        "Bytes of all versions of preludes in the store; superseded ones make room for new ones.";
    group "Approval";
    "approval-by" approval_by: ApprovalBy = ApprovalBy::Person, "person",
        "Who decides about calls that wait for approval. `person`: people, with forms of their client and on the page \
         `/approvals`. `model`: also the model, with `lisp_approve`, `lisp_reject` and `lisp_edit`; it can then approve \
         its own calls, and no person need see them.";
    "approval-page" approval_page: ApprovalPage = ApprovalPage::Own, "/approvals where the server listens; on stdio a port of 127.0.0.1",
        "Where people decide about calls that wait for approval: an address that answers name in place of the server's \
         own, or `off`. On stdio, either keeps the server from opening a page.";
    "ticket-keys" ticket_keys: Option<PathBuf> = None, "a file beside the store; in memory without",
        "File of keys that seal programs which wait for approval, one per line: an id and 32 bytes in Base64.";
    "ticket-ttl-ms" ticket_ttl_ms: u64 = 3_600_000, "3600000", "How long programs wait for approval.";
    "max-tickets-per-owner" max_tickets_per_owner: u64 = 1_000, "1000",
        "Programs of one owner that wait for approval at a time.";
    "max-ticket-bytes-per-owner" max_ticket_bytes_per_owner: u64 = 64 << 20, "67108864",
        "Bytes of all programs of one owner that wait for approval, with their arguments.";
    group "Answers";
    "response-profile" response_profile: ResponseProfile = ResponseProfile::Slim, "slim; debug with --debug-tool",
        "How much of an evaluation a client gets.";
    "debug-tool" debug_tool: bool = false, "false", "Offer `lisp_debug`.";
    "debug-ring-size" debug_ring_size: Within<10, 5_000> = Within::new(500), "500, moved into 10 to 5000",
        "Calls that `lisp_debug` remembers.";
    "max-debug-response-bytes" max_debug_response_bytes: Within<4_096, { u64::MAX }> = Within::new(65_536),
        "65536, at least 4096", "Bytes of an answer of `lisp_debug`.";
    group "Tasks for an agent";
    "agentic" agentic: bool = false, "false", "Offer `lisp_task`; needs upstreams.";
    "agentic-model" agentic_model: String = "gemini-flash-lite".to_owned(), "gemini-flash-lite", "Model of `lisp_task`.";
    "agentic-task-timeout-ms" agentic_task_timeout_ms: u64 = 45_000, "45000", "Time of a task.";
    "agentic-planner-timeout-ms" agentic_planner_timeout_ms: u64 = 15_000, "15000", "Time of one reply of the model.";
    "agentic-max-output-tokens" agentic_max_output_tokens: u64 = 1_200, "1200", "Tokens of one reply of the model.";
    "agentic-max-result-bytes" agentic_max_result_bytes: u64 = 4_096, "4096", "Bytes of a task's answer.";
    "agentic-include-program" agentic_include_program: bool = true, "true", "Show the program of a task.";
    "agentic-trace-prompts" agentic_trace_prompts: bool = false, "false", "Keep prompts in traces.";
    "agentic-max-turns" agentic_max_turns: u64 = 1, "1", "Turns of a task.";
    "agentic-retry-turns" agentic_retry_turns: Natural = Natural(0), "0", "More turns to correct an answer.";
    "agentic-allow-writes" agentic_allow_writes: bool = false, "false", "Let tasks call upstream tools that write.";
    "agentic-subagent-config" agentic_subagent_config: Option<PathBuf> = None, "unset", "File with options of the task's agent.";
    "agentic-capability-summary" agentic_capability_summary: Option<PathBuf> = None, "unset",
        "File that replaces the list of upstream capabilities in the description of `lisp_task`.";
    "agentic-capability-summary-max-bytes" agentic_capability_summary_max_bytes: u64 = 800, "800", "Bytes of that list.";
    group "Sessions";
    "sessions" sessions: bool = false, "false", "Offer sessions beside `lisp_eval`.";
    "sessions-allow-prelude-write" sessions_allow_prelude_write: bool = false, "false",
        "Let sessions write preludes to the store.";
    "session-roles" session_roles: Option<PathBuf> = None, "unset", "Policy file: roles of sessions and what they grant.";
    "max-sessions" max_sessions: u64 = 64, "64", "Sessions at a time.";
    "max-sessions-per-owner" max_sessions_per_owner: u64 = 16, "16", "Sessions of one owner.";
    "max-live-sessions" max_live_sessions: u64 = 64, "64", "Stored sessions that stay in memory between programs.";
    "session-ttl-ms" session_ttl_ms: u64 = 1_800_000, "1800000", "Longest life of a session.";
    "session-idle-timeout-ms" session_idle_timeout_ms: u64 = 900_000, "900000", "Longest life of a session without use.";
    "max-session-memory-bytes" max_session_memory_bytes: u64 = 1 << 20, "1048576", "Bytes of all bindings of a session.";
    "max-session-binding-bytes" max_session_binding_bytes: u64 = 262_144, "262144", "Bytes of one binding.";
    "max-session-bindings" max_session_bindings: u64 = 200, "200", "Bindings of a session.";
    "max-session-history-entry-bytes" max_session_history_entry_bytes: u64 = 65_536, "65536", "Bytes of `*1`, `*2`, `*3`.";
    "max-session-print-entries" max_session_print_entries: u64 = 50, "50", "Printed lines that a session keeps.";
    "max-session-print-bytes" max_session_print_bytes: u64 = 65_536, "65536", "Bytes of them.";
    "max-session-tool-call-entries" max_session_tool_call_entries: u64 = 50, "50", "Tool calls that a session keeps.";
    "max-session-tool-call-bytes" max_session_tool_call_bytes: u64 = 131_072, "131072", "Bytes of them.";
    "max-session-upstream-call-entries" max_session_upstream_call_entries: u64 = 50, "50", "Upstream calls that a session keeps.";
    "max-session-upstream-call-bytes" max_session_upstream_call_bytes: u64 = 131_072, "131072", "Bytes of them.";
    "max-session-preview-chars" max_session_preview_chars: u64 = 512, "512", "Characters of a definition that a session shows.";
    group "Answers";
    "collection-hint" collection_hint: bool = false, "false", "Point out long lists of maps to the model.";
    group "HTTP";
    "http" http: Listen = Listen { on: false, address: None }, "false", "Serve HTTP instead of stdio, here.";
    "http-host" http_host: String = "127.0.0.1".to_owned(), "127.0.0.1", "IP address to listen at, or localhost.";
    "http-port" http_port: u16 = 7332, "7332", "Port; 0 takes any that is free.";
    "http-path" http_path: String = "/mcp".to_owned(), "/mcp", "Path of the MCP endpoint.";
    "http-auth-token" http_auth_token: Option<SecretString> = None, "unset", "Token that all clients send.";
    "http-admin-token" http_admin_token: Option<SecretString> = None, "unset", "Token of the admin endpoints; off without.";
    "http-role-tokens" http_role_tokens: Option<PathBuf> = None, "unset", "File of tokens with roles.";
    "http-disable-auth" http_disable_auth: bool = false, "false", "No tokens, said explicitly; loopback only.";
    "http-allowed-origin" http_allowed_origin: Vec<String> = Vec::new(), "loopback origins", "Origins that browsers may come from.";
    "http-request-timeout-ms" http_request_timeout_ms: u64 = 15_000, "15000", "Time in which a request must arrive, and in which a client must take something of an answer that waits for it.";
    "http-shutdown-grace-ms" http_shutdown_grace_ms: u64 = 10_000, "10000", "Time for calls to end when the server stops.";
    "http-max-body-bytes" http_max_body_bytes: u64 = 8 << 20, "that of --max-frame-bytes", "Bytes of a request.";
    "http-max-bodies-bytes" http_max_bodies_bytes: u64 = 64 << 20, "67108864, at least twice that of --http-max-body-bytes",
        "Bytes of all requests that arrive or are answered at a time, and of all answers until they are sent, without the first \
         64 KiB of each. An owner has at most as many as it leaves free, one alone half of them; what does not fit is answered 503.";
    "http-session-ttl-ms" http_session_ttl_ms: u64 = 3_600_000, "3600000", "Longest life of an MCP session.";
    "http-session-idle-timeout-ms" http_session_idle_timeout_ms: u64 = 900_000, "900000", "Longest life of one without use.";
    "http-max-connections" http_max_connections: u64 = 640, "640",
        "Connections at a time; the oldest without a request that has arrived makes room for a new one. Of those with one, an \
         owner has at most as many as it leaves free, one alone half of them; one more is answered 503.";
    "http-max-connections-per-address" http_max_connections_per_address: u64 = 576, "576",
        "Connections of one address at a time, with the same rule, an IPv6 network of 64 bits counting as one; behind a proxy all clients \
         have its address.";
    "http-max-sessions" http_max_sessions: u64 = 256, "256", "MCP sessions at a time.";
    "http-max-sessions-per-owner" http_max_sessions_per_owner: u64 = 32, "32", "MCP sessions of one token, and as many subscriptions (`subscriptions/listen`).";
    "http-max-in-flight-per-session" http_max_in_flight_per_session: u64 = 256, "256", "Calls at a time of one MCP session.";
    "http-auth-rate-limit" http_auth_rate_limit: bool = true, "true", "Answer 429 to wrong tokens of addresses that send many; right tokens are always admitted.";
    "http-auth-rate-limit-window-ms" http_auth_rate_limit_window_ms: u64 = 60_000, "60000", "Time in which failures are counted.";
    "http-auth-rate-limit-max-failures" http_auth_rate_limit_max_failures: u64 = 5, "5", "Wrong tokens of an address after which further ones are answered 429.";
    "http-auth-rate-limit-block-ms" http_auth_rate_limit_block_ms: u64 = 60_000, "60000", "Time for which they are.";
    "http-allow-unsafe-network" http_allow_unsafe_network: bool = false, "false",
        "Listen beyond loopback, although HTTP is not encrypted.";
    "http-metrics" http_metrics: bool = false, "false", "Serve metrics in the Prometheus text format.";
    "http-metrics-path" http_metrics_path: String = "/metrics".to_owned(), "/metrics", "Path of the metrics.";
    "http-instance-label" http_instance_label: String = hostname(), "the host's name", "Name of this instance in /ready and metrics.";
}

/// Half of the memory that there is: a program may for moments take twice what it may use.
pub(crate) fn programs_memory() -> u64 {
    /// Where the system does not say how much there is.
    const UNKNOWN: u64 = 4 << 30;
    ptc_system::memory::available().map_or(UNKNOWN, |bytes| (bytes / 2).max(1))
}

fn processors() -> u64 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u64)
}

fn hostname() -> String {
    let named =
        std::fs::read_to_string("/proc/sys/kernel/hostname").ok().or_else(|| std::env::var("HOSTNAME").ok());
    named
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}
