//! `lisp_session_eval`: a program in a session, kept whole or not at all.
//!
//! Whether a program is kept depends on limits, on the schema and on whether anybody still waits. All of it is decided on
//! the thread of the machine, by the hook that runs when the program ends and that rolls it back if need be. So there is no
//! moment at which a refused program is visible.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ptc_host::{ErrorKind, Outcome, Program, ProgramEnd, Resumption};
use ptc_lisp::machine::Machine;
use ptc_store::sessions::SessionError as Refusal;
use ptc_trace::recording::Begun;
use ptc_upstream::Redactor;
use ptc_upstream::ledger::{LedgerEntry, Status};
use ptc_upstream::metrics::Returned;
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::super::again::{self, Basis};
use super::super::api::{Args, CallError, Caller, Signals};
use super::super::args::EvalArgs;
use super::super::audit::AuditNote;
use super::super::context::Context;
use super::super::envelope::{self, Family};
use super::super::eval::{shown, validated};
use super::super::evaluate::{self, End, Evaluated, Noted};
use super::super::gate::Permit;
use super::super::host::Witness;
use super::super::payload::{Payload, Upstream, answer_bytes, result_line, upstream_summary};
use super::super::reason::Reason;
use super::super::receipt::Receipt;
use super::super::recordings::Recorded;
use super::super::schema::OutputSchema;
use super::super::settings;
use super::super::text::{cut_chars, harmless};
use super::super::tickets::{Ended, Head, ResumeError, stale};
use super::super::trace::Execution;
use super::super::upstreams::Calls;
use super::super::{Answered, CallFacts, Engine, Handled};
use super::error::SessionError;
use super::guidance::{guidance, history_notices, kept_note, notes};
use super::machine::{bounds, preview};
use super::turn::Did;
use super::{Reservation, Session, SessionState, Sessions, args};

/// Characters of feedback.
const FEEDBACK_CHARS: usize = 2048;
/// Characters of the value of `(fail value)`.
const FAIL_CHARS: usize = 2_000;

impl Engine {
    pub(in super::super) async fn session_eval(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        mut given: Args,
        signals: &Signals,
    ) -> Handled {
        let schema = given.get("output_schema").filter(|schema| !schema.is_null()).cloned();
        let (reservation, args) = match self.session_program(sessions, caller, &mut given).await {
            Ok(taken) => taken,
            Err(error) => return Ok(again::without_session(&error, signals)),
        };
        let session = reservation.session().clone();
        let calls = self.calls(caller, session.grants.clone(), signals);
        self.settle_program(session.frozen.prelude.as_ref(), calls.context(), &args.program).await;
        let permit = match self.permit(caller, signals).await {
            Ok(Ok(permit)) => permit,
            Ok(Err(busy)) => {
                reservation.give_back().await;
                return Ok(self.session_shaped(&busy));
            }
            Err(error) => {
                reservation.give_back().await;
                return Err(error);
            }
        };
        let facts = CallFacts::of(&args);
        let head = Head {
            source: args.program.clone(),
            schema,
            grants: self.session_digest(&session),
            session: Some((session.id.clone(), session.state().changes)),
            ..Head::default()
        };
        let judge = self.session_judge(sessions, &reservation, args.schema, signals);
        let source: Arc<str> = args.program.into();
        let witness = Witness::of(session.owner.clone());
        let inputs = self.recordings.inputs(&args.context);
        let history_bytes = Some(judge.limits.history_entry_bytes);
        let program = self.session_source(&session, &source, args.context, &judge, &witness, signals);
        let basis = || Basis { grants: head.grants.clone(), session: head.session.clone() };
        let program = match again::as_before(program, basis, signals) {
            Ok(program) => program,
            Err(stale) => {
                reservation.give_back().await;
                return Ok(*stale);
            }
        };
        let (program, recorded) = self.session_recorded(&session, calls.attach(program), |begun| Begun {
            inputs,
            strict_inputs: true,
            takes_back: true,
            history_bytes,
            ..begun
        });
        let receipt = Receipt::of(signals);
        let turn = Turn { reservation, calls, judge, witness, head, facts, permit, recorded, receipt };
        Ok(match self.session_turn(sessions, caller, turn, program, signals).await? {
            Ended::Over(answered) | Ended::Unkept(answered) => *answered,
            Ended::Waits(new, facts) => self.keep_ticket(*new, *facts, signals).await,
        })
    }

    /// Goes on with a program of a session, unless the session has changed since the program began.
    pub(in super::super) async fn session_goes_on(
        &self,
        caller: &Caller,
        head: Head,
        resumption: Resumption,
        (permit, receipt, note): (Permit, Receipt, &AuditNote),
        signals: &Signals,
    ) -> Result<Ended, ResumeError> {
        let gone = |message: &str| Err(ResumeError::Unused(Box::new(stale(message))));
        let (Some(sessions), Some((id, changes))) = (&self.sessions, head.session.clone()) else {
            return gone("this server has no sessions");
        };
        let taken = self.taken(sessions, caller, &id).await;
        let reservation = taken.map_err(|error| ResumeError::Unused(Box::new(error.answered())))?;
        let session = reservation.session().clone();
        let unchanged = session.state().changes == changes;
        let refused = match (unchanged, self.session_digest(&session) == head.grants) {
            (true, true) => None,
            (false, _) => gone("the session has changed since the program began").err(),
            (true, false) => gone("what the session may use has changed since the program began").err(),
        };
        if let Some(refused) = refused {
            reservation.give_back().await;
            return Err(refused);
        }
        note.tell(&self.counts);
        let made = resumption.calls_made("call");
        let calls = self.calls(caller, session.grants.clone(), signals).resumed(made);
        let schema = head.schema.as_ref().and_then(|schema| OutputSchema::parse(schema).ok());
        let judge = self.session_judge(sessions, &reservation, schema, signals);
        let looking = judge.clone();
        let witness = Witness::of(session.owner.clone());
        let mut program = Program::resumed(resumption)
            .owner(session.owner.clone())
            .tools(session.frozen.host_tools(&witness, signals.journal.as_ref()))
            .limits(evaluate::limits(&self.settings))
            .timeout(self.settings.program_timeout)
            .look(move |machine, outcome| looking.judge(machine, outcome));
        program.prelude = session.frozen.prelude.clone();
        let source = head.source.clone();
        let goes_on = |begun| Begun { source, ..begun };
        let (program, recorded) = self.session_recorded(&session, calls.attach(program), goes_on);
        let facts = CallFacts { program: Some(head.source.clone()), ..CallFacts::default() };
        let receipt = Some(receipt);
        let turn = Turn { reservation, calls, judge, witness, head, facts, permit, recorded, receipt };
        self.session_turn(sessions, caller, turn, program, signals).await.map_err(ResumeError::Call)
    }

    /// Runs a program of a session, or the part of it that goes on, to its end or until it waits.
    async fn session_turn(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        turn: Turn,
        program: Program,
        signals: &Signals,
    ) -> Result<Ended, CallError> {
        let Turn { mut reservation, calls, judge, witness, mut head, mut facts, permit, recorded, receipt } =
            turn;
        let over = |answered: Answered| Ok(Ended::Over(Box::new(answered)));
        // Nothing of it was kept: who decided about it may go on where the session is.
        let lost = |answered: Answered| Ok(Ended::Unkept(Box::new(answered)));
        let (session, started) = (reservation.session().clone(), Instant::now());
        session.state().attempts += 1;
        reservation.begin();
        let (program, execution) = Execution::begin(program, &head.source, signals);
        let running = session.machine.run(self.owned(program, caller, &permit));
        let mut outcome = tokio::select! {
            biased;
            () = session.over.cancelled() => return lost(given_up(&session, &calls, signals)),
            () = tokio::time::sleep_until(session.until().expires.into()) => {
                sessions.expire(&session);
                return lost(given_up(&session, &calls, signals));
            }
            outcome = evaluate::wait(running, signals, &calls) => outcome?,
        };
        execution.end(&outcome);
        recorded.end(&outcome).await;
        drop(permit);
        let mut verdict = judge.take();
        if session.is_over() || verdict.given_up {
            return match signals.cancel.is_cancelled() {
                true => Err(CallError::Cancelled),
                false => lost(given_up(&session, &calls, signals)),
            };
        }
        let (ledger, asked) = calls.account().map(|account| (account.calls, account.catalog_ops)).unzip();
        if let Some(held) = outcome.held.take() {
            // The machine has taken the program back: the session is as before.
            reservation.give_back().await;
            let upstream = ledger.as_ref().map(|calls| Upstream::of(calls, Returned::default()));
            head.before = head.before.and(upstream.as_ref());
            head.used = self.used(&outcome.manifest, session.grants.clone());
            facts.seen(&Payload::default(), ledger.as_deref());
            return match Box::pin(self.ticket(caller, head, *held)).await {
                Ok(new) => {
                    session.waits_until(new.expires_ms());
                    Ok(Ended::Waits(Box::new(new), Box::new(facts)))
                }
                Err(answered) => over(*answered),
            };
        }
        let own_calls = own_calls(&outcome, &self.redactor);
        // The machine is gone; a session that is stored has another.
        let is_broken = matches!(&outcome.result, Err(error) if error.kind == ErrorKind::Internal);
        let evaluated = evaluate::evaluated(outcome, verdict.noted.clone(), &head.source, &self.redactor);
        let mut payload = self.session_payload(sessions.settings(), &session, &evaluated, &verdict, &ledger);
        if let Some(note) = kept_note(payload.error.is_none(), &witness.kept()) {
            payload.notes.insert(0, note);
        }
        head.before.complete(payload.upstream.as_mut());
        let next = next_state(&session, &payload, &verdict, own_calls);
        payload.session.insert("session".to_owned(), position(&session.id, &next));
        self.keep_session_result(caller, &evaluated, &mut payload).await;
        facts.seen(&payload, ledger.as_deref());
        let answered = Answered { facts, ..self.session_shaped(&payload) };
        let receipt = receipt.filter(|_| reservation.is_stored()).map(|one| one.filled(&answered));
        let kept = receipt.is_some();
        if let Err(error) = reservation.commit(next, verdict.dump.take(), receipt).await {
            let calls = ledger.as_deref().unwrap_or_default();
            let answered = error.after(calls, unwritten(signals)).answered();
            return Ok(Ended::Unkept(Box::new(answered)));
        }
        if !reservation.is_stored() && payload.error.is_none() {
            session.nothing_waits();
            self.drop_waiting(&session.id).await;
        }
        if is_broken {
            session.discard();
        }
        let did = Did {
            ledger: ledger.as_deref().unwrap_or_default(),
            asked: asked.as_deref().unwrap_or_default(),
            reads: witness.take(),
        };
        self.log_turn(&session, &head.source, &payload, &did, started);
        drop(reservation);
        over(Answered { kept, ..answered })
    }

    /// What judges a program of a session.
    fn session_judge(
        &self,
        sessions: &Sessions,
        reservation: &Reservation,
        schema: Option<OutputSchema>,
        signals: &Signals,
    ) -> Arc<Judge> {
        Arc::new(Judge {
            limits: sessions.settings().clone(),
            result_bytes: self.settings.result_bytes,
            schema,
            redactor: self.redactor.clone(),
            given_up: [signals.cancel.clone(), reservation.session().over.clone()],
            dumps: reservation.is_stored(),
            verdict: Mutex::default(),
        })
    }

    /// A digest of what a session may use.
    fn session_digest(&self, session: &Session) -> String {
        self.grants_digest(&session.grants, session.frozen.hash())
    }

    async fn session_program(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        given: &mut Args,
    ) -> Result<(Reservation, EvalArgs), SessionError> {
        // The old argument has a message of its own.
        args::only_or(given, &["session_id", "program", "context", "output_schema"], &["signature"])?;
        let id = args::session_id(given)?.to_owned();
        let program = EvalArgs::read(given, &self.settings).map_err(SessionError::args)?;
        Ok((self.taken(sessions, caller, &id).await?, program))
    }

    /// The program with hooks that judge it on the machine's own thread, before anybody sees it.
    fn session_source(
        &self,
        session: &Session,
        source: &Arc<str>,
        context: Context,
        judge: &Arc<Judge>,
        witness: &Arc<Witness>,
        signals: &Signals,
    ) -> Program {
        let history = judge.limits.history_entry_bytes;
        let (judge, frozen) = (judge.clone(), &session.frozen);
        let furnish = evaluate::furnish(frozen.prelude.clone(), context, frozen.private_tools());
        Program::new(source.clone())
            .owner(session.owner.clone())
            .seed(self.settings.seed())
            .tools(frozen.host_tools(witness, signals.journal.as_ref()))
            .limits(evaluate::limits(&self.settings))
            .timeout(self.settings.program_timeout)
            .prepare(move |machine| {
                machine.set_takes_back(true);
                machine.set_history_bytes(Some(history));
                furnish(machine)
            })
            .look(move |machine, outcome| judge.judge(machine, outcome))
    }

    fn session_payload(
        &self,
        settings: &settings::SessionSettings,
        session: &Session,
        evaluated: &Evaluated,
        verdict: &Verdict,
        ledger: &Option<Vec<LedgerEntry>>,
    ) -> Payload {
        let prints = evaluated.prints.clone();
        let (most, kept) = (self.settings.result_bytes, !verdict.history_cut);
        let mut payload = match (&evaluated.end, &verdict.refused) {
            (End::Value(_), Some(refused)) => refused.payload(),
            (End::Value(given), None) => {
                let (line, cut) = result_line(given, most, kept);
                let result = (!given.is_nil()).then_some(line);
                // A value that fits a schema is shown as its JSON.
                let truncated = cut && !verdict.validated;
                let feedback = shown(&prints, result.as_deref().unwrap_or("user=> nil"), FEEDBACK_CHARS);
                let validated = verdict.validated.then(|| given.json.clone());
                let whole_bytes = answer_bytes(given);
                Payload { result, truncated, whole_bytes, validated, feedback, ..Payload::default() }
            }
            (End::Fail(given), _) => {
                let (line, truncated) = result_line(given, most, false);
                let message = harmless(cut_chars(&given.text, FAIL_CHARS).0);
                let failed = Payload::error(Reason::FAIL.name, message.as_str(), message.as_str());
                Payload { result: Some(line), truncated, ..failed }
            }
            (End::Error { kind, message, feedback }, _) => {
                Payload::error(kind.reason(), message.as_str(), feedback.as_str())
            }
        };
        payload.prints = prints;
        let committed = payload.error.is_none();
        let changed: &[String] = if committed { &verdict.changed } else { &[] };
        payload.guidance = guidance(settings, &payload, verdict);
        if committed {
            for line in &payload.guidance {
                payload.feedback.push_str(&format!("\n{line}"));
            }
        }
        if let Some((_, message)) = &payload.error
            && let Some(summary) = ledger.as_deref().and_then(|calls| upstream_summary(calls, message))
        {
            payload.feedback.push_str(&format!("\n{summary}"));
        }
        let stored = if committed { verdict.stored.clone() } else { session.state().stored.clone() };
        let mut memory = json!({"changed_keys": changed, "stored_keys": stored, "truncated": false});
        if self.settings.profile == settings::Profile::Debug && committed {
            let previews = verdict.previews.iter();
            memory["changed"] = previews.map(|(name, text)| json!({"name": name, "preview": text})).collect();
        }
        payload.session.insert("memory".to_owned(), memory);
        payload.session.insert("history_notices".to_owned(), history_notices(settings, verdict, committed));
        if let Some(detail) = verdict.refused.as_ref().and_then(CommitRefused::detail) {
            payload.session.insert("detail".to_owned(), detail);
        }
        payload.upstream = ledger.as_ref().map(|calls| Upstream::of(calls, payload.returned()));
        payload.notes = notes(changed, ledger.as_deref());
        payload
    }

    async fn keep_session_result(&self, caller: &Caller, evaluated: &Evaluated, payload: &mut Payload) {
        if let (End::Value(given), None, true) = (&evaluated.end, &payload.error, payload.truncated) {
            let text = given.json.to_string();
            payload.resource = self.resources.keep(caller, "lisp_session_eval result", text).await;
        }
    }

    fn session_shaped(&self, payload: &Payload) -> Answered {
        let reply = envelope::envelope(payload, &self.settings, Family::Session);
        Answered::new(reply, payload.reason())
    }
}

/// What the program left behind: everything if it is kept, else only what happened to the world.
fn next_state(session: &Session, payload: &Payload, verdict: &Verdict, own_calls: Vec<Json>) -> SessionState {
    let mut state = session.state().clone();
    state.updated_ms = ptc_host::now_ms();
    state.upstream_calls.extend(payload.upstream.iter().flat_map(|upstream| upstream.calls.iter().cloned()));
    if payload.error.is_none() {
        state.turn += 1;
        state.changes += 1;
        state.memory_bytes = verdict.memory_bytes;
        state.stored.clone_from(&verdict.stored);
        state.prints.extend(payload.prints.iter().map(|line| Json::from(line.as_str())));
        state.tool_calls.extend(own_calls);
    }
    state
}

/// A program that is about to run in a session, or to go on.
struct Turn {
    reservation: Reservation,
    calls: Calls,
    judge: Arc<Judge>,
    witness: Arc<Witness>,
    head: Head,
    facts: CallFacts,
    permit: Permit,
    recorded: Recorded,
    receipt: Option<Receipt>,
}

/// Decides on the machine's thread whether a program that ended well is kept.
struct Judge {
    limits: settings::SessionSettings,
    /// Bytes of a result that is shown whole.
    result_bytes: usize,
    schema: Option<OutputSchema>,
    redactor: Redactor,
    /// Whoever gives up before the program is judged has not had it kept.
    given_up: [CancellationToken; 2],
    /// Whether the machine is stored.
    dumps: bool,
    verdict: Mutex<Verdict>,
}

/// What the machine was like after a program.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    given_up: bool,
    refused: Option<CommitRefused>,
    validated: bool,
    noted: Noted,
    changed: Vec<String>,
    stored: Vec<String>,
    previews: Vec<(String, String)>,
    memory_bytes: usize,
    pub(super) history_cut: bool,
    /// The machine, if it is stored.
    dump: Option<Vec<u8>>,
    /// Names of long lists of maps, with their counts; `*1` for the result.
    pub(super) collections: Vec<(String, usize)>,
}

/// Why a program that ended well is not kept.
#[derive(Debug)]
enum CommitRefused {
    Invalid(String),
    Limit {
        field: &'static str,
        actual: usize,
        max: usize,
    },
    /// It cannot be stored.
    NotStored(String),
}

impl CommitRefused {
    fn payload(&self) -> Payload {
        match self {
            CommitRefused::Invalid(message) => Payload::error(
                Reason::VALIDATION.name,
                message.as_str(),
                "Mend the program so that its result fits output_schema.",
            ),
            CommitRefused::Limit { field, actual, max } => Payload::error(
                Reason::SESSION_LIMIT.name,
                format!(
                    "the session's persisted-state limit {field} was exceeded ({actual} > {max}); the eval was \
                     not committed"
                ),
                "Keep less: define smaller values, or forget some with lisp_session_forget.",
            ),
            CommitRefused::NotStored(why) => Payload::error(
                Reason::SESSION_LIMIT.name,
                format!("the session cannot be stored: {why}; the eval was not committed"),
                "Keep plainer values: nothing that nests very deeply.",
            ),
        }
    }

    fn detail(&self) -> Option<Json> {
        match self {
            CommitRefused::Invalid(_) | CommitRefused::NotStored(_) => None,
            CommitRefused::Limit { field, actual, max } => {
                Some(json!({"field": field, "limit": field, "actual": actual, "max": max}))
            }
        }
    }
}

impl Judge {
    fn take(&self) -> Verdict {
        std::mem::take(&mut *self.verdict.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn judge(&self, machine: &mut Machine, outcome: &mut Outcome) {
        let noted = Noted::of(machine, outcome, self.result_bytes);
        let mut verdict = Verdict { noted, ..Verdict::default() };
        if matches!(outcome.result, Ok(ProgramEnd::Value | ProgramEnd::Return)) {
            verdict.given_up = self.given_up.iter().any(CancellationToken::is_cancelled);
            verdict.refused = self.refused(machine, outcome, &verdict).or_else(|| {
                let dumped = self.dumps.then(|| dumped(machine)).transpose();
                dumped.map(|dump| verdict.dump = dump).err()
            });
            verdict.validated = self.schema.is_some();
            match verdict.given_up || verdict.refused.is_some() {
                true => {
                    machine.take_back();
                }
                false => self.describe(machine, &mut verdict),
            }
        }
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = verdict;
    }

    fn refused(&self, machine: &Machine, outcome: &Outcome, verdict: &Verdict) -> Option<CommitRefused> {
        if let Some(schema) = &self.schema {
            let given = evaluate::Given {
                text: String::new(),
                json: outcome.json.clone(),
                noted: verdict.noted.clone(),
            };
            if let Err(message) = validated(&given, schema) {
                return Some(CommitRefused::Invalid(self.redactor.redact_string(message)));
            }
        }
        let limits = &self.limits;
        let sizes = machine.definition_sizes(limits.binding_bytes.max(limits.memory_bytes));
        let largest = sizes.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let fields = [
            ("max_session_bindings", sizes.len(), limits.bindings),
            ("max_session_binding_bytes", largest, limits.binding_bytes),
            ("max_session_memory_bytes", machine.memory_bytes(), limits.memory_bytes),
        ];
        let over = fields.into_iter().find(|(_, actual, max)| actual > max);
        over.map(|(field, actual, max)| CommitRefused::Limit { field, actual, max })
    }

    fn describe(&self, machine: &Machine, verdict: &mut Verdict) {
        verdict.changed = machine.changed().to_vec();
        verdict.stored = machine.definitions();
        verdict.memory_bytes = machine.memory_bytes();
        verdict.history_cut = !machine.history_is_whole();
        let chars = self.limits.preview_chars;
        let previews = verdict.changed.iter().filter_map(|name| {
            let glimpse = machine.glimpse_definition(name, &bounds())?;
            Some((name.clone(), preview(glimpse, chars, &self.redactor).0))
        });
        verdict.previews = previews.collect();
        if self.limits.collection_hint {
            let result = ("*1".to_owned(), machine.view_result(&bounds()));
            let changed = verdict
                .changed
                .iter()
                .filter_map(|name| Some((name.clone(), machine.view_definition(name, &bounds())?)));
            let long = std::iter::once(result).chain(changed);
            verdict.collections = long.filter_map(|(name, view)| Some((name, long_list(&view)?))).collect();
        }
    }
}

/// The length of a long list whose first items are maps.
fn long_list(view: &ptc_lisp::view::View) -> Option<usize> {
    use ptc_lisp::view::View;
    const LONG: usize = 20;
    let (View::Vector(part) | View::List(part)) = view else { return None };
    let maps = part.items.iter().take(3).all(|item| matches!(item, View::Map { .. }));
    (part.total >= LONG && maps && !part.items.is_empty()).then_some(part.total)
}

/// The machine as bytes, without the inputs of its last program, which the next one does not see.
fn dumped(machine: &mut Machine) -> Result<Vec<u8>, CommitRefused> {
    let emptied = machine.set_data(&json!({})).map_err(|error| error.text());
    let dump = emptied.and_then(|()| machine.dump().map_err(|error| error.to_string()));
    dump.map_err(CommitRefused::NotStored)
}

/// Where a session stands.
fn position(id: &str, state: &SessionState) -> Json {
    json!({
        "session_id": id,
        "turn": state.turn,
        "memory_bytes": state.memory_bytes,
        "binding_count": state.stored.len(),
    })
}

/// Calls of the server's own tools, without what they carry.
fn own_calls(outcome: &Outcome, redactor: &Redactor) -> Vec<Json> {
    let own = outcome.calls.iter().filter(|call| call.tool != "call");
    let entry = |call: &ptc_host::Called| {
        let mut args = ptc_store::preludes::ledger_arguments(&call.args);
        redactor.redact_json(&mut args);
        let status = match call.end {
            ptc_host::CallEnd::Value => Status::Ok,
            _ => Status::Error,
        };
        json!({"tool": call.tool, "args": args, "status": status,
               "duration_ms": call.elapsed.as_millis() as u64})
    };
    own.map(entry).collect()
}

/// The answer of a program whose session is over here: another server has it, or nobody.
fn given_up(session: &Session, calls: &Calls, signals: &Signals) -> Answered {
    let over = match session.is_lost() {
        true => SessionError::from(Refusal::Lost),
        false => SessionError::new(Reason::SESSION_NOT_FOUND, "eval request is no longer active"),
    };
    let calls = calls.finish().unwrap_or_default();
    over.after(&calls, unwritten(signals)).answered()
}

/// Calls of a program that may run again whose answers are not written down.
fn unwritten(signals: &Signals) -> Vec<String> {
    signals.journal.as_ref().map(|journal| journal.unwritten()).unwrap_or_default()
}
