//! From the options of the command to the settings and parts of the engine.

use std::sync::Arc;
use std::time::Duration;

use ptc_lisp::prelude::{Prelude, Source};
use ptc_store::Store;
use ptc_store::preludes::Preludes;
use ptc_upstream::Caps;
use ptc_upstream::catalog::{CatalogMode, CatalogText};
use secrecy::ExposeSecret as _;
use serde_json::Value as Json;

use super::Parts;
use super::roles::Policy;
use super::settings::{Debug, Kept, Payloads, Profile, Sessions, Settings};
use crate::options::{self, Options, ResponseProfile, TracePayloads};

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
            program_timeout: Duration::from_millis(options.program_timeout_ms),
            program_memory_bytes: size(options.program_memory_limit_bytes),
            caps: Caps {
                calls: size(options.max_upstream_calls_per_program),
                catalog_ops: size(options.max_catalog_ops_per_program),
                call_timeout: Duration::from_millis(options.upstream_call_timeout_ms),
                max_response_bytes: size(options.max_upstream_response_bytes),
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
            traces: options.trace_dir.is_some(),
            sessions: options.sessions.then(|| Sessions::of(options)).transpose()?,
            debug: options.debug_tool.then(|| Debug {
                ring_size: size(options.debug_ring_size.get()),
                max_response_bytes: size(options.max_debug_response_bytes.get()),
            }),
            ..Settings::default()
        })
    }
}

impl Sessions {
    fn of(options: &Options) -> Result<Sessions, String> {
        let kept = |entries, bytes| Kept { entries: size(entries), bytes: size(bytes) };
        let tags = options.turn_log_tags.iter();
        Ok(Sessions {
            most: size(options.max_sessions),
            per_owner: size(options.max_sessions_per_owner),
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

impl Parts {
    /// Adds the prelude of all programs and the store of preludes, if options name them. It reads files and may
    /// open a database.
    pub(super) fn completed(mut self, options: &Options) -> Result<Parts, String> {
        if let (None, Some(file)) = (&self.prelude, &options.prelude) {
            let shown = file.display().to_string();
            let text =
                std::fs::read_to_string(file).map_err(|error| format!("--prelude {shown}: {error}"))?;
            let source = Source { id: "prelude", text: &text, needs: &[], origin: &shown };
            let compiled = Prelude::compile(&[source], &ptc_lisp::prelude::Options::default());
            let prelude = compiled.map_err(|problem| {
                format!("--prelude {shown}: {}: {}", problem.reason.name(), problem.placed())
            })?;
            self.prelude = Some(Arc::new(prelude));
        }
        let place = options.store.0.as_ref().map(|place| place.expose_secret());
        let place = place.or(options.prelude_store_seed.as_ref().map(|_| ":memory:"));
        if let (None, Some(place)) = (&self.preludes, place) {
            let store = Store::open(place).map_err(|error| format!("--store: {error}"))?;
            let preludes = Preludes::new(Arc::new(store));
            if let Some(seed) = &options.prelude_store_seed {
                preludes.seed(seed).map_err(|error| format!("--prelude-store-seed: {error}"))?;
            }
            self.preludes = Some(preludes);
        }
        Ok(self)
    }
}

fn read_policy(file: &std::path::Path) -> Result<Arc<Policy>, String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| format!("--session-roles {shown}: {error}"))?;
    Policy::parse(&text).map(Arc::new).map_err(|error| format!("--session-roles {shown} {error}"))
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
