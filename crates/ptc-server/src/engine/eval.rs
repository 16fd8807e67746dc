//! `lisp_eval`: one program, nothing kept.

use std::sync::PoisonError;

use ptc_host::Outcome;
use ptc_trace::recording::{Begun, Lent};
use ptc_upstream::Grants;
use ptc_upstream::ledger::LedgerEntry;
use ptc_upstream::metrics::Returned;
use serde_json::Value as Json;

use super::again::{self, Basis};
use super::api::{Args, Caller, Signals};
use super::args::{self, EvalArgs};
use super::depth::too_deep;
use super::evaluate::{self, End, Evaluated, Given, Job, Noted};
use super::payload::{Payload, Upstream, answer_bytes, result_line, upstream_summary};
use super::reason::Reason;
use super::schema::OutputSchema;
use super::text::{cut_chars, harmless};
use super::tickets::{Ended, Head};
use super::trace::Execution;
use super::{Answered, CallFacts, Engine, Handled};

/// Characters of feedback.
const FEEDBACK_CHARS: usize = 512;
/// Characters of the value of `(fail value)`.
const FAIL_CHARS: usize = 2_000;

/// A program that is over, or waits.
pub struct Ran {
    /// What came of it.
    pub outcome: Outcome,
    /// What its machine said of its value.
    pub noted: Noted,
    /// The upstream calls that it made, if there are upstreams.
    pub ledger: Option<Vec<LedgerEntry>>,
}

impl Engine {
    pub(super) async fn eval(&self, caller: &Caller, mut args: Args, signals: &Signals) -> Handled {
        let schema = args.get("output_schema").filter(|schema| !schema.is_null()).cloned();
        // The old argument has a message of its own.
        let known = args::known(&args, &["program", "context", "output_schema"], &["signature"]);
        let args = match known.and_then(|()| EvalArgs::read(&mut args, &self.settings)) {
            Ok(args) => args,
            Err(message) => return Ok(self.shaped(&args_error(message))),
        };
        let calls = self.calls(caller, Grants::all(), signals);
        self.settle_program(self.prelude.as_ref(), calls.context(), &args.program).await;
        let permit = match self.permit(caller, signals).await? {
            Ok(permit) => permit,
            Err(busy) => return Ok(self.shaped(&busy)),
        };
        let facts = CallFacts::of(&args);
        let head = Head {
            source: args.program.clone(),
            schema,
            // Only tickets tell grants apart.
            grants: self.desk.as_ref().map(|_| self.grants_digest(&Grants::all(), None)).unwrap_or_default(),
            ..Head::default()
        };
        let inputs = self.recordings.inputs(&args.context);
        let without_inputs = args.context.is_empty();
        let job = Job {
            source: args.program.into(),
            context: args.context,
            prelude: self.prelude.clone(),
            owner: caller.owner.clone(),
        };
        let (program, noted) = evaluate::program(job, &self.settings);
        let basis = || Basis { grants: self.grants_digest(&Grants::all(), None), session: None };
        let program = match again::as_before(program, basis, signals) {
            Ok(program) => program,
            Err(stale) => return Ok(*stale),
        };
        let prelude = self.prelude.as_deref().map(Lent::of);
        let (program, recorded) = self.recordings.program(calls.attach(program), |program| Begun {
            inputs,
            prelude,
            strict_inputs: true,
            ..Begun::of("lisp_eval", program)
        });
        let (program, execution) = Execution::begin(program, &head.source, signals);
        // Inputs may be large, and are read where nobody waits for it.
        let outcome = match without_inputs.then(|| ptc_host::run_at_once(&program)).flatten() {
            Some(outcome) => outcome,
            None => {
                let running = self.pool.run(self.owned(program, caller, &permit));
                evaluate::wait(running, signals, &calls).await?
            }
        };
        execution.end(&outcome);
        recorded.end(&outcome).await;
        drop(permit);
        let noted = std::mem::take(&mut *noted.lock().unwrap_or_else(PoisonError::into_inner));
        let ran = Ran { outcome, noted, ledger: calls.finish() };
        Ok(match self.eval_ended(caller, head, args.schema.as_ref(), ran, facts).await {
            Ended::Over(answered) | Ended::Unkept(answered) => *answered,
            Ended::Waits(new, facts) => Box::pin(self.keep_ticket(*new, *facts, signals)).await,
        })
    }

    /// What came of a program, or of the part of it until it waits.
    pub(super) async fn eval_ended(
        &self,
        caller: &Caller,
        mut head: Head,
        schema: Option<&OutputSchema>,
        ran: Ran,
        mut facts: CallFacts,
    ) -> Ended {
        let Ran { mut outcome, noted, ledger } = ran;
        if let Some(held) = outcome.held.take() {
            let upstream = ledger.as_ref().map(|calls| Upstream::of(calls, Returned::default()));
            head.before = head.before.and(upstream.as_ref());
            head.used = self.used(&outcome.manifest, Grants::all());
            facts.seen(&Payload::default(), ledger.as_deref());
            return match Box::pin(self.ticket(caller, head, *held)).await {
                Ok(new) => Ended::Waits(Box::new(new), Box::new(facts)),
                Err(answered) => Ended::Over(answered),
            };
        }
        let evaluated = evaluate::evaluated(outcome, noted, &head.source, &self.redactor);
        let mut payload = payload(&evaluated, schema, self.settings.result_bytes);
        if let Some((_, message)) = &payload.error
            && let Some(summary) = ledger.as_deref().and_then(|calls| upstream_summary(calls, message))
        {
            payload.feedback.push_str(&format!("\n{summary}"));
        }
        payload.upstream = ledger.as_ref().map(|calls| Upstream::of(calls, payload.returned()));
        head.before.complete(payload.upstream.as_mut());
        self.keep_whole(caller, &evaluated, &mut payload).await;
        facts.seen(&payload, ledger.as_deref());
        Ended::Over(Box::new(Answered { facts, ..self.shaped(&payload) }))
    }

    /// Keeps a result that is not shown whole.
    async fn keep_whole(&self, caller: &Caller, evaluated: &Evaluated, payload: &mut Payload) {
        let End::Value(given) = &evaluated.end else { return };
        if payload.error.is_some() {
            return;
        }
        let cut = match &payload.validated {
            None => payload.truncated,
            Some(validated) => super::text::json_bytes(validated) > self.settings.result_bytes,
        };
        if cut {
            let text = given.json.to_string();
            payload.resource = self.resources.keep(caller, "lisp_eval result", text).await;
        }
    }
}

/// The answer to arguments that are wrong.
pub fn args_error(message: String) -> Payload {
    Payload::error(Reason::ARGS.name, message, "Mend the arguments and call again.")
}

/// What a program of `lisp_eval` came to.
fn payload(evaluated: &Evaluated, schema: Option<&OutputSchema>, result_bytes: usize) -> Payload {
    let prints = evaluated.prints.clone();
    match &evaluated.end {
        End::Value(given) => {
            let validated = match schema.map(|schema| validated(given, schema)).transpose() {
                Ok(validated) => validated,
                Err(message) => {
                    let feedback = "Mend the program so that its result fits output_schema.";
                    return Payload { prints, ..Payload::error(Reason::VALIDATION.name, message, feedback) };
                }
            };
            let (line, cut) = result_line(given, result_bytes, false);
            let result = (!given.is_nil()).then_some(line);
            // A value that fits a schema is shown as its JSON.
            let truncated = cut && validated.is_none();
            let feedback = shown(&prints, result.as_deref().unwrap_or("user=> nil"), FEEDBACK_CHARS);
            let whole_bytes = answer_bytes(given);
            Payload { result, truncated, whole_bytes, validated, prints, feedback, ..Payload::default() }
        }
        End::Fail(given) => {
            let (line, truncated) = result_line(given, result_bytes, false);
            let message = harmless(cut_chars(&given.text, FAIL_CHARS).0);
            Payload {
                result: Some(line),
                truncated,
                prints,
                ..Payload::error(Reason::FAIL.name, message.as_str(), message.as_str())
            }
        }
        End::Error { kind, message, feedback } => {
            let reason = evaluate::class(*kind);
            // The class stands where the kind did, so that reason and text say the same.
            let feedback = match feedback.strip_prefix(kind.reason()) {
                Some(rest) => format!("{}{rest}", reason.name),
                None => feedback.clone(),
            };
            Payload { prints, ..Payload::error(reason.name, message.as_str(), feedback) }
        }
    }
}

/// The JSON of a value that fits a schema, or why there is none.
pub fn validated(given: &Given, schema: &OutputSchema) -> Result<Json, String> {
    if let Some(path) = &given.noted.not_json {
        return Err(format!("validated value: non-JSON-encodable value at return{path}"));
    }
    if let Some(why) = too_deep(&given.json, "return") {
        return Err(format!("validated value: {why}"));
    }
    let json = schema.spelt(given.json.clone());
    schema.check(&json).map(|()| json)
}

/// Printed lines and the result, cut by characters.
pub fn shown(prints: &[String], result: &str, chars: usize) -> String {
    let lines: Vec<&str> = prints.iter().map(String::as_str).chain([result]).collect();
    cut_chars(&lines.join("\n"), chars).0.to_owned()
}
