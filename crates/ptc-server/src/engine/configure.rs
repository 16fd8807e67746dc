//! From the options of the command to the settings and parts of the engine.

use std::sync::Arc;
use std::time::Duration;

use ptc_lisp::prelude::{Prelude, Source};
use ptc_upstream::Caps;
use ptc_upstream::catalog::{CatalogMode, CatalogText};
use secrecy::ExposeSecret;
use serde_json::{Map, Value as Json};

use super::roles::Policy;
use super::settings::{Debug, LogRetention, Payloads, Profile, SessionSettings, Settings, Task};
use super::{Keys, Parts};
use crate::options::{self, ApprovalPage, Options, ResponseProfile, TracePayloads};

impl Settings {
    /// The settings that options ask for; the error names the option that is wrong.
    pub fn of(options: &Options) -> Result<Settings, String> {
        Ok(Settings {
            profile: match options.response_profile {
                ResponseProfile::Slim => Profile::Slim,
                ResponseProfile::Structured => Profile::Structured,
                ResponseProfile::Debug => Profile::Debug,
            },
            max_program_bytes: size(options.max_program_bytes),
            max_context_bytes: size(options.max_context_bytes),
            max_concurrent_calls: size(options.max_concurrent_calls),
            max_waiting_calls: size(options.max_waiting_calls),
            max_queued_calls: size(options.max_queued_calls.0),
            approval_by: options.approval_by,
            approval_page: match &options.approval_page {
                ApprovalPage::At(address) => Some(address.clone()),
                ApprovalPage::Own | ApprovalPage::Off => None,
            },
            seed: options.seed,
            program_timeout: Duration::from_millis(options.program_timeout_ms),
            program_memory_bytes: size(options.program_memory_limit_bytes),
            programs_memory_bytes: size(options.max_programs_memory_bytes),
            caps: Caps {
                calls: size(options.max_upstream_calls_per_program),
                catalog_ops: size(options.max_catalog_ops_per_program),
                call_timeout: Duration::from_millis(options.upstream_call_timeout_ms),
                // So that a program can still say what it found, and what is not there.
                start_wait: Some(Duration::from_millis(options.program_timeout_ms / 2)),
                max_response_bytes: size(options.max_upstream_response_bytes),
                max_response_values: Caps::values_within(size(options.program_memory_limit_bytes)),
                max_catalog_bytes: size(options.max_catalog_result_bytes),
                ..Caps::default()
            },
            read_only: options.aggregator_read_only,
            catalog: CatalogText {
                mode: match options.catalog_mode {
                    options::CatalogMode::Inline => CatalogMode::Inline,
                    options::CatalogMode::Auto => CatalogMode::Auto,
                    options::CatalogMode::Lazy => CatalogMode::Lazy,
                },
                max_tools: size(options.catalog_inline_max_tools),
                max_chars: size(options.catalog_inline_max_chars),
            },
            payloads: match options.trace_payloads {
                TracePayloads::None => Payloads::None,
                TracePayloads::Summary => Payloads::Summary,
                TracePayloads::Full => Payloads::Full,
            },
            result_bytes: size(options.max_result_bytes),
            prints_bytes: size(options.max_prints_bytes),
            trace_dir: options.trace_dir.clone(),
            trace_max_files: size(options.trace_max_files),
            record_dir: options.record_dir.clone(),
            record_max_files: size(options.record_max_files),
            record_max_bytes: options.record_max_bytes,
            evidence: options.evidence_bundle.clone(),
            turn_log_dir: options.turn_log_dir.clone(),
            ticket_ttl: Duration::from_millis(options.ticket_ttl_ms),
            tickets_per_owner: options.max_tickets_per_owner,
            ticket_bytes_per_owner: options.max_ticket_bytes_per_owner,
            sessions: options.sessions.then(|| SessionSettings::of(options)).transpose()?,
            debug: options.debug_tool.then(|| Debug {
                ring_size: size(options.debug_ring_size.get()),
                max_response_bytes: size(options.max_debug_response_bytes.get()),
            }),
            task: options.agentic.then(|| Task::of(options)).transpose()?,
            ..Settings::default()
        })
    }
}

impl SessionSettings {
    fn of(options: &Options) -> Result<SessionSettings, String> {
        let kept = |entries, bytes| LogRetention { entries: size(entries), bytes: size(bytes) };
        let tags = options.turn_log_tags.iter();
        Ok(SessionSettings {
            most: size(options.max_sessions),
            per_owner: size(options.max_sessions_per_owner),
            live: size(options.max_live_sessions),
            ttl: Duration::from_millis(options.session_ttl_ms),
            idle: Duration::from_millis(options.session_idle_timeout_ms),
            memory_bytes: size(options.max_session_memory_bytes),
            binding_bytes: size(options.max_session_binding_bytes),
            bindings: size(options.max_session_bindings),
            history_entry_bytes: size(options.max_session_history_entry_bytes),
            prints: kept(options.max_session_print_entries, options.max_session_print_bytes),
            tool_calls: kept(options.max_session_tool_call_entries, options.max_session_tool_call_bytes),
            upstream_calls: kept(
                options.max_session_upstream_call_entries,
                options.max_session_upstream_call_bytes,
            ),
            preview_chars: size(options.max_session_preview_chars),
            collection_hint: options.collection_hint,
            allow_prelude_write: options.sessions_allow_prelude_write,
            boot_tags: tags.map(|(key, value)| (key.clone(), Json::from(value.as_str()))).collect(),
            roles: options.session_roles.as_deref().map(read_policy).transpose()?,
        })
    }
}

impl Task {
    fn of(options: &Options) -> Result<Task, String> {
        let mut task = Task {
            timeout: Duration::from_millis(options.agentic_task_timeout_ms),
            planner_timeout: Duration::from_millis(options.agentic_planner_timeout_ms),
            max_output_tokens: options.agentic_max_output_tokens,
            max_result_bytes: size(options.agentic_max_result_bytes),
            include_program: options.agentic_include_program,
            trace_prompts: options.agentic_trace_prompts,
            max_turns: turns(options.agentic_max_turns),
            retry_turns: turns(options.agentic_retry_turns.0),
            allow_writes: options.agentic_allow_writes,
            capabilities_bytes: size(options.agentic_capability_summary_max_bytes),
            ..Task::default()
        };
        if let Some(file) = &options.agentic_capability_summary {
            let text = read("--agentic-capability-summary", file)?;
            if text.trim().len() > task.capabilities_bytes {
                return Err(format!(
                    "--agentic-capability-summary {} has more than {} bytes",
                    file.display(),
                    task.capabilities_bytes
                ));
            }
            task.capabilities = Some(text.trim().to_owned());
        }
        if let Some(file) = &options.agentic_subagent_config {
            let shown = format!("--agentic-subagent-config {}", file.display());
            let text = read("--agentic-subagent-config", file)?;
            task.configure(&text, options).map_err(|error| format!("{shown} {error}"))?;
        }
        Ok(task)
    }

    /// Reads the file of the task's agent; flags that were given win.
    fn configure(&mut self, text: &str, options: &Options) -> Result<(), String> {
        let fields: Map<String, Json> =
            serde_json::from_str(text).map_err(|error| format!("is not a JSON object: {error}"))?;
        let defaults = Options::default();
        for (key, value) in &fields {
            match key.as_str() {
                "max_turns" | "retry_turns" => {
                    let count = value.as_u64().ok_or_else(|| format!("{key} must be a number"))?;
                    if key == "max_turns" && options.agentic_max_turns == defaults.agentic_max_turns {
                        self.max_turns = turns(count.max(1));
                    }
                    if key == "retry_turns" && options.agentic_retry_turns == defaults.agentic_retry_turns {
                        self.retry_turns = turns(count);
                    }
                }
                "system_prompt" => {
                    let part = |name: &str| -> Result<String, String> {
                        let text = value.get(name).and_then(Json::as_str).unwrap_or_default();
                        match text.len() <= PROMPT_PART {
                            true => Ok(text.to_owned()),
                            false => Err(format!("system_prompt.{name} has more than {PROMPT_PART} bytes")),
                        }
                    };
                    (self.prompt_prefix, self.prompt_suffix) = (part("prefix")?, part("suffix")?);
                }
                other => {
                    let shown = super::text::cut(other, 40);
                    return Err(format!(
                        "has the key `{shown}`; there are max_turns, retry_turns and system_prompt"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// Bytes of the operator's parts of the planner's prompt.
const PROMPT_PART: usize = 4_096;

fn turns(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn read(flag: &str, file: &std::path::Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{flag} {}: {error}", file.display()))
}

impl Parts {
    /// Adds the prelude of all programs, if options name one.
    pub(super) fn completed(mut self, options: &Options) -> Result<Parts, String> {
        if let (None, Some(file)) = (&self.prelude, &options.prelude) {
            let shown = file.display().to_string();
            let text = read("--prelude", file)?;
            let source = Source { id: "prelude", text: &text, needs: &[], origin: &shown };
            let compiled = Prelude::compile(&[source], &ptc_lisp::prelude::Options::default());
            let prelude = compiled.map_err(|problem| {
                format!("--prelude {shown}: {}: {}", problem.reason.name(), problem.placed())
            })?;
            self.prelude = Some(Arc::new(prelude));
        }
        if self.ticket_keys.is_none() && self.runtime.as_ref().is_some_and(|runtime| runtime.asks()) {
            self.ticket_keys = ticket_keys(options)?.map(Arc::new);
        }
        Ok(self)
    }
}

/// What seals programs that wait: the file that is named, else one beside the store.
fn ticket_keys(options: &Options) -> Result<Option<Keys>, String> {
    if let Some(file) = &options.ticket_keys {
        return Keys::load(file).map(Some).map_err(|error| format!("--ticket-keys {error}"));
    }
    let Some(place) = options.store.0.as_ref().map(|place| place.expose_secret()) else { return Ok(None) };
    match place {
        ":memory:" => Ok(None),
        place if place.contains("://") => {
            Err("calls of an upstream must be approved, and programs that wait are \
             kept in a database: name a file of keys with --ticket-keys, the same on every server"
                .to_owned())
        }
        place => {
            // Beside the file itself where the place is a link: every server of the store finds the same ones.
            let typed = std::path::PathBuf::from(format!("{place}.keys"));
            let file = ptc_store::beside(place, ".keys").map_err(|error| error.to_string())?;
            let file = file.unwrap_or_else(|| typed.clone());
            if file != typed && typed.exists() && !file.exists() {
                return Err(format!(
                    "the keys of tickets lie beside a link, in {}, where earlier versions kept them; move them to {}",
                    typed.display(),
                    file.display()
                ));
            }
            Keys::kept(&file).map(Some).map_err(|error| format!("the keys of tickets: {error}"))
        }
    }
}

fn read_policy(file: &std::path::Path) -> Result<Arc<Policy>, String> {
    let shown = file.display();
    // Whoever can write it says what everybody may do.
    ptc_system::owned::check(file, ptc_system::owned::Reach::AllRead)
        .map_err(|problem| format!("--session-roles: {problem}"))?;
    let text = read("--session-roles", file)?;
    Policy::parse(&text).map(Arc::new).map_err(|error| format!("--session-roles {shown} {error}"))
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
