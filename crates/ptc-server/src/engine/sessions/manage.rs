//! Session tools that run nothing: list, preludes, inspect, forget and close.

use ptc_lisp::machine::Machine;
use ptc_upstream::Redactor;
use serde_json::{Map, Value as Json, json};

use super::super::api::{Args, Caller, Signals};
use super::super::reason::Reason;
use super::super::receipt::Receipt;
use super::super::{Answered, Engine, envelope};
use super::error::SessionError;
use super::machine::{bounds, preview};
use super::{Session, SessionState, Sessions, args};

type Told = Result<Json, SessionError>;

fn answered(told: Told) -> Answered {
    match told {
        Ok(object) => Answered::new(envelope::plain(object, false), None),
        Err(error) => error.answered(),
    }
}

impl Engine {
    pub(in super::super) async fn session_list(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        mut given: Args,
    ) -> Answered {
        let told = match args::only(&mut given, &[]) {
            Ok(()) => sessions.summaries(caller).await,
            Err(error) => Err(error),
        };
        answered(told.map(|own| json!({"status": "ok", "count": own.len(), "sessions": own})))
    }

    pub(in super::super) async fn session_preludes(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        mut given: Args,
    ) -> Answered {
        let found = match args::only(&mut given, &["session_id"]).and_then(|()| args::session_id(&given)) {
            Ok(id) => self.found(sessions, caller, id).await,
            Err(error) => Err(error),
        };
        answered(found.map(
            |session| json!({"status": "ok", "session_id": session.id, "prelude_refs": session.frozen.refs}),
        ))
    }

    pub(in super::super) async fn session_inspect(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        mut given: Args,
    ) -> Answered {
        let wanted = args::only(&mut given, &["session_id", "view"])
            .and_then(|()| Ok((args::session_id(&given)?, args::one_of(&given, "view", VIEWS)?)));
        let (found, view) = match wanted {
            Ok((id, view)) => (self.found(sessions, caller, id).await, view.unwrap_or("overview")),
            Err(error) => return error.answered(),
        };
        let session = match found {
            Ok(session) => session,
            Err(error) => return error.answered(),
        };
        let mut object = json!({
            "status": "ok",
            "session_id": session.id,
            "view": view,
            "session": session.summary(),
        });
        if matches!(view, "memory" | "history" | "limits")
            && let Err(error) = self.loaded(&session).await
        {
            return error.answered();
        }
        let fields = self.view(sessions, &session, view).await;
        if let Json::Object(object) = &mut object {
            object.extend(fields);
        }
        session.touch();
        Answered::new(envelope::plain(object, false), None)
    }

    /// The fields of a view.
    async fn view(&self, sessions: &Sessions, session: &Session, view: &str) -> Map<String, Json> {
        let settings = sessions.settings();
        let (chars, redactor) = (settings.preview_chars, self.redactor.clone());
        let usage = usage(&session.state());
        let fields = match view {
            "memory" => {
                let text = seen(session, move |machine| memory_text(machine, chars, &redactor)).await;
                json!({"text": text, "stored_keys": session.state().stored, "usage": usage})
            }
            "prints" => {
                let prints = session.state().prints.to_json();
                json!({"text": lines(&prints), "prints": prints})
            }
            "tool_calls" => {
                let state = session.state();
                let (own, upstream) = (state.tool_calls.to_json(), state.upstream_calls.to_json());
                let text = format!(
                    "{} tool calls, {} upstream calls",
                    state.tool_calls.len(),
                    state.upstream_calls.len()
                );
                json!({"text": text, "tool_calls": own, "upstream_calls": upstream})
            }
            "history" => {
                let history = seen(session, move |machine| history(machine, chars, &redactor)).await;
                let text: Vec<String> =
                    history.iter().map(|(name, text, _)| format!("{name} {text}")).collect();
                let entries: Vec<Json> = history
                    .iter()
                    .map(|(name, text, cut)| json!({"name": name, "preview": text, "truncated": cut}))
                    .collect();
                json!({"text": text.join("\n"), "history": entries})
            }
            "limits" => {
                let most = settings.memory_bytes;
                let mut sizes = seen(session, move |machine| machine.definition_sizes(most)).await;
                sizes.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
                let top: Vec<Json> = sizes
                    .iter()
                    .take(10)
                    .map(|(name, bytes)| json!({"name": name, "bytes": bytes}))
                    .collect();
                json!({"limits": settings.to_json(), "usage": usage, "top_bindings": top})
            }
            _ => {
                let state = session.state();
                let text = format!(
                    "turn {}, {} bindings, {} bytes: {}",
                    state.turn,
                    state.stored.len(),
                    state.memory_bytes,
                    state.stored.join(", ")
                );
                drop(state);
                json!({"text": text, "usage": usage})
            }
        };
        match fields {
            Json::Object(fields) => fields,
            _ => Map::new(),
        }
    }

    pub(in super::super) async fn session_forget(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        given: Args,
        signals: &Signals,
    ) -> Answered {
        let forgotten = self.forgotten(sessions, caller, given, signals).await;
        forgotten.unwrap_or_else(|error| error.answered())
    }

    async fn forgotten(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        mut given: Args,
        signals: &Signals,
    ) -> Result<Answered, SessionError> {
        args::only(&mut given, &["session_id", "bindings", "clear"])?;
        let names = args::texts(&given, "bindings")?;
        let clear = args::texts(&given, "clear")?;
        if clear.iter().any(|target| !CLEAR.contains(&target.as_str())) {
            return Err(SessionError::args("invalid clear target"));
        }
        let mut reservation = self.taken(sessions, caller, args::session_id(&given)?).await?;
        let session = reservation.session().clone();
        reservation.begin();
        let stored = reservation.is_stored();
        let clears = |what: &str| clear.iter().any(|target| target == what);
        let (all, history) = (clears("memory"), clears("history"));
        let forgotten = session.machine.visit(move |machine| {
            let names = if all { machine.definitions() } else { names };
            let removed: Vec<String> = names.into_iter().filter(|name| machine.forget(name)).collect();
            if history {
                machine.forget_history();
            }
            let dump = stored.then(|| machine.dump()).transpose();
            (removed, machine.definitions(), machine.memory_bytes(), dump)
        });
        let (removed, stored, bytes, dump) =
            forgotten.await.unwrap_or_else(|| (Vec::new(), Vec::new(), 0, Ok(None)));
        let dump = dump.map_err(|error| {
            SessionError::new(Reason::SESSIONS_UNAVAILABLE, format!("the session cannot be stored: {error}"))
        })?;
        let mut state = session.state().clone();
        state.changes += 1;
        state.memory_bytes = bytes;
        state.stored = stored.clone();
        state.updated_ms = ptc_host::now_ms();
        if clears("prints") {
            state.prints.clear();
        }
        if clears("tool_calls") {
            state.tool_calls.clear();
        }
        if clears("upstream_calls") {
            state.upstream_calls.clear();
        }
        let told = answered(Ok(json!({
            "status": "ok",
            "session_id": session.id,
            "removed_bindings": removed,
            "cleared": clear,
            "stored_keys": stored,
            "usage": usage(&state),
        })));
        let receipt = Receipt::of(signals).filter(|_| reservation.is_stored()).map(|one| one.filled(&told));
        let kept = receipt.is_some();
        reservation.commit(state, dump, receipt).await?;
        if !reservation.is_stored() {
            session.nothing_waits();
            self.drop_waiting(&session.id).await;
        }
        Ok(Answered { kept, ..told })
    }

    pub(in super::super) async fn session_close(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        given: Args,
        signals: &Signals,
    ) -> Answered {
        self.closed(sessions, caller, given, signals).await.unwrap_or_else(|error| error.answered())
    }

    async fn closed(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        mut given: Args,
        signals: &Signals,
    ) -> Result<Answered, SessionError> {
        args::only(&mut given, &["session_id", "reason"])?;
        let (id, reason) = (args::session_id(&given)?, args::text(&given, "reason", 256)?);
        let reason = reason.map(|reason| self.redactor.redact_string(reason));
        let told = answered(Ok(json!({"status": "ok", "session_id": id, "closed": true, "reason": reason})));
        let stored = sessions.keeper().is_some();
        let receipt = Receipt::of(signals).filter(|_| stored).map(|receipt| receipt.filled(&told));
        let kept = receipt.is_some();
        sessions.close(id, caller, receipt).await?;
        if !stored {
            self.drop_waiting(id).await;
        }
        Ok(Answered { kept, ..told })
    }
}

/// What `lisp_session_inspect` shows.
pub const VIEWS: &[&str] = &["overview", "memory", "prints", "tool_calls", "history", "limits"];
/// What `lisp_session_forget` clears.
pub const CLEAR: &[&str] = &["memory", "history", "prints", "tool_calls", "upstream_calls"];

/// Looks at the machine, if it is at rest.
async fn seen<T: Default + Send + 'static>(
    session: &Session,
    look: impl FnOnce(&mut Machine) -> T + Send + 'static,
) -> T {
    let busy = session.state().busy;
    match busy {
        true => T::default(),
        false => session.machine.visit(look).await.unwrap_or_default(),
    }
}

fn memory_text(machine: &mut Machine, chars: usize, redactor: &Redactor) -> String {
    let line = |name: &String| {
        let (text, _) = preview(machine.glimpse_definition(name, &bounds())?, chars, redactor);
        Some(format!("{name} = {text}"))
    };
    let lines: Vec<String> = machine.definitions().iter().filter_map(line).collect();
    lines.join("\n")
}

fn history(machine: &mut Machine, chars: usize, redactor: &Redactor) -> Vec<(String, String, bool)> {
    let entries = machine.history(&bounds()).into_iter().enumerate();
    entries
        .map(|(index, glimpse)| {
            let (text, cut) = preview(glimpse, chars, redactor);
            (format!("*{}", index + 1), text, cut)
        })
        .collect()
}

fn lines(texts: &Json) -> String {
    let texts = texts.as_array().into_iter().flatten().filter_map(Json::as_str);
    texts.collect::<Vec<_>>().join("\n")
}

fn usage(state: &SessionState) -> Json {
    json!({
        "memory_bytes": state.memory_bytes,
        "binding_count": state.stored.len(),
        "turns": state.turn,
        "attempts": state.attempts,
        "print_entries": state.prints.len(),
        "print_bytes": state.prints.bytes(),
        "tool_call_entries": state.tool_calls.len(),
        "upstream_call_entries": state.upstream_calls.len(),
    })
}
