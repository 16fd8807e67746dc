//! What a run is doing, on standard error while it runs: one line that changes on a terminal, plain lines
//! otherwise. Every turn leaves its program and what came of it.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use ptc_runner::Event;
use ptc_upstream::Redactor;
use ptc_upstream::redact::RedactedStream;
use serde_json::Value as Json;

use super::highlight::{self, Paint};
use super::show::{dollars, grouped};
use crate::terminal::{self, Bar, errln, plain};

/// Shows events of a run.
pub struct Progress {
    bar: Option<Bar>,
    /// What is to be said when the screen is free again; nothing while it is.
    held: Mutex<Option<Vec<String>>>,
    paint: Paint,
    quiet: bool,
    began: Instant,
    counts: Mutex<Counts>,
    answered: AtomicBool,
    /// The answer, as far as it was printed or held back.
    answer: Mutex<RedactedStream>,
    redactor: Redactor,
}

/// What was seen so far.
#[derive(Default)]
struct Counts {
    turn: u64,
    calls: u64,
    tokens: u64,
    cost: f64,
    doing: String,
    /// The span of the agent that was asked for; runs that go on do not tell it again.
    root: Option<String>,
    /// The span of its turn.
    span: Option<String>,
    /// The model gave no reply, which is told when the run ends.
    no_reply: bool,
    /// The arguments of native calls that are under way, by the span of the call. Those of programs stand in the program.
    native: BTreeMap<String, String>,
    /// Whether the model called tools itself in this turn.
    called: bool,
}

impl Counts {
    /// What was used so far.
    fn used(&self) -> String {
        let mut line = format!("{} {}", self.calls, if self.calls == 1 { "call" } else { "calls" });
        if self.tokens > 0 {
            line.push_str(&format!(", {} tokens", grouped(self.tokens)));
        }
        if self.cost > 0.0 {
            line.push_str(&format!(", {}", dollars(self.cost)));
        }
        line
    }
}

/// Prints on standard output. Whoever reads the answer may have enough of it.
fn print_piece(piece: &str) {
    let mut out = terminal::stdout();
    let _ = out.write_all(piece.as_bytes()).and_then(|()| out.flush());
}

impl Progress {
    /// Shows a run, unless it is to be quiet.
    pub fn new(quiet: bool, redactor: Redactor) -> Self {
        Progress {
            bar: (!quiet && terminal::stderr().is_terminal()).then(Bar::new),
            held: Mutex::default(),
            paint: Paint::for_stream(&terminal::stderr()),
            quiet,
            began: Instant::now(),
            counts: Mutex::default(),
            answered: AtomicBool::new(false),
            answer: Mutex::new(RedactedStream::new(redactor.clone())),
            redactor,
        }
    }

    /// What covers secrets.
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// Prints a piece of the answer on standard output. What may be the beginning of a secret waits for what comes next.
    pub fn answer(&self, piece: &str) {
        if !self.answered.swap(true, Ordering::Relaxed) {
            self.end();
        }
        print_piece(&self.stream().push(piece));
    }

    /// Prints what was held back: there are no more pieces.
    pub fn end_answer(&self) {
        print_piece(&self.stream().finish());
    }

    fn stream(&self) -> MutexGuard<'_, RedactedStream> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Whether a piece of the answer was printed.
    pub fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Takes an event.
    pub fn event(&self, event: &Event) {
        if self.quiet {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let text = |name: &str| plain(event.metadata.get(name).and_then(Json::as_str).unwrap_or_default());
        let number = |name: &str| event.metadata.get(name).and_then(Json::as_u64).unwrap_or_default();
        let measured = |name: &str| event.measurements.get(name).and_then(Json::as_u64).unwrap_or_default();
        // Agents that agents call are only counted.
        let of = |span: &Option<String>| span.is_none() || event.parent_span_id == *span;
        match event.event.as_str() {
            "run.start" if event.parent_span_id.is_none() => counts.root = Some(event.span_id.clone()),
            "turn.start" if of(&counts.root) => {
                counts.turn = number("turn");
                counts.no_reply = false;
                counts.called = false;
                counts.span = Some(event.span_id.clone());
            }
            "llm.start" => {
                counts.doing = format!("asking {}", text("model"));
                if self.bar.is_none() && of(&counts.span) {
                    self.say(&format!("turn {}: asking {}", number("turn"), text("model")));
                }
            }
            "llm.stop" => {
                counts.tokens += measured("input_tokens") + measured("output_tokens");
                counts.cost += event.measurements.get("cost_usd").and_then(Json::as_f64).unwrap_or_default();
                counts.doing = "reading the reply".to_owned();
            }
            "tool.start" => {
                counts.doing = format!("calling {}", text("tool_name"));
                if text("exposure_layer") == "native" && text("tool_name") != "lisp_eval" {
                    counts.called = true;
                    counts.native.insert(event.span_id.clone(), text("args"));
                }
            }
            "approval.asked" => counts.doing = format!("waiting for a person about {}", text("tool_name")),
            "approval.decided" => {
                let mut line = format!("  tool/{} was {}", text("tool_name"), text("decision"));
                if !text("reason").is_empty() {
                    line.push_str(&format!(": {}", text("reason")));
                }
                self.say(&self.paint.dim(&line));
            }
            "tool.call" => {
                // As the run counts them: programs are none, what the cache has was called before, and what was refused
                // was not called.
                let is = |name: &str| event.metadata.get(name) == Some(&Json::Bool(true));
                if !is("cached") && !is("refused") && text("tool_name") != "lisp_eval" {
                    counts.calls += 1;
                }
                let args = counts.native.remove(&event.span_id).unwrap_or_default();
                self.say(&self.call(event, &args));
            }
            "llm.exception" if of(&counts.span) => counts.no_reply = true,
            "turn.stop" if of(&counts.root) && counts.no_reply => {}
            "turn.stop" if of(&counts.root) => self.say(&self.turn(event, &counts)),
            _ => return,
        }
        if let Some(bar) = &self.bar {
            let doing = self.redactor.redact_str(&counts.doing);
            bar.say(&format!("turn {}, {}: {doing}", counts.turn, counts.used()));
        }
    }

    /// A call that is over, with its arguments if the model made it.
    fn call(&self, event: &Event, args: &str) -> String {
        let args = if args.is_empty() { String::new() } else { format!(" {args}") };
        let tool = plain(event.metadata.get("tool_name").and_then(Json::as_str).unwrap_or_default());
        let took = event.measurements.get("duration_ms").and_then(Json::as_u64).unwrap_or_default();
        let cached = event.metadata.get("cached").and_then(Json::as_bool).unwrap_or_default();
        let refused = event.metadata.get("refused").and_then(Json::as_bool).unwrap_or_default();
        let how = match (cached, refused) {
            (true, _) => "from the cache".to_owned(),
            (_, true) => "not called".to_owned(),
            _ => format!("{took} ms"),
        };
        let mut line = match event.metadata.get("error").and_then(Json::as_str) {
            Some(error) => {
                let error = self.paint.wrong(&error.replace('\n', "\n    "));
                format!("  tool/{tool}{args} ({how}) {error}")
            }
            None => self.paint.dim(&format!("  tool/{tool}{args} ({how})")),
        };
        for warning in event.metadata.get("warnings").and_then(Json::as_array).into_iter().flatten() {
            line.push_str(&format!("\n    warning: {}", plain(warning.as_str().unwrap_or_default())));
        }
        line
    }

    /// A turn that is over: what the run has used so far, its program and what came of it.
    fn turn(&self, event: &Event, counts: &Counts) -> String {
        let text = |name: &str| event.metadata.get(name).and_then(Json::as_str);
        let number = event.metadata.get("turn").and_then(Json::as_u64).unwrap_or_default();
        let well = event.metadata.get("success").and_then(Json::as_bool).unwrap_or_default();
        let used = format!(" (so far {}, {:.1} s)", counts.used(), self.began.elapsed().as_secs_f64());
        let mut out = self.paint.strong(&format!("turn {number}")) + &self.paint.dim(&used);
        if let Some(program) = text("program") {
            out.push('\n');
            out.push_str(&indented(&highlight::program(program.trim_end(), self.paint)));
        }
        for line in event.metadata.get("prints").and_then(Json::as_array).into_iter().flatten() {
            out.push_str(&format!("\n  | {}", line.as_str().unwrap_or_default()));
        }
        // A turn without a program gave nothing yet, or the answer, which is printed when the run ends.
        if let Some(result) = text("result_preview").filter(|_| !well || text("program").is_some()) {
            let shown = if well { highlight::program(result, self.paint) } else { self.paint.wrong(result) };
            out.push_str(&format!("\n  => {shown}"));
        }
        // What the model said where a program was wanted is what its user has to know, and so is why it calls tools.
        let said = match text("raw_response").unwrap_or_default() {
            said if counts.called => words(said),
            said if !well => said.to_owned(),
            _ => String::new(),
        };
        if !said.trim().is_empty() {
            out.push_str(&format!("\n  the model said:\n{}", indented(&beginning(said.trim()))));
        }
        out
    }

    /// Leaves something on the screen, as soon as the screen is free.
    pub fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        let text = self.redactor.redact_str(text);
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        match (held.as_mut(), &self.bar) {
            (Some(held), _) => held.push(text.into_owned()),
            (None, Some(bar)) => bar.above(|| errln!("{text}")),
            (None, None) => errln!("{text}"),
        }
    }

    /// Leaves the screen to a question until what it gives is dropped: nothing stands between it and its answer.
    pub fn hush(self: &Arc<Self>) -> Hush {
        if let Some(bar) = &self.bar {
            bar.hide();
        }
        self.held.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
        Hush(self.clone())
    }

    /// Says what was held back.
    fn release(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        held.into_iter().flatten().for_each(|text| errln!("{text}"));
    }

    /// Clears the line that changes.
    pub fn end(&self) {
        self.release();
        if let Some(bar) = &self.bar {
            bar.end();
        }
    }
}

/// The screen is left to somebody else.
pub struct Hush(Arc<Progress>);

impl Drop for Hush {
    fn drop(&mut self) {
        self.0.release();
        if let Some(bar) = &self.0.bar {
            bar.show();
        }
    }
}

/// What a model said beside its calls, each of which is a line in brackets behind it.
fn words(reply: &str) -> String {
    reply.lines().take_while(|line| !line.starts_with('[')).collect::<Vec<_>>().join("\n")
}

/// Lines and characters of a reply that are shown in place of its program.
const SAID: (usize, usize) = (6, 600);

/// The beginning of a text.
fn beginning(text: &str) -> String {
    let (most_lines, most_chars) = SAID;
    let lines: Vec<&str> = text.lines().take(most_lines).collect();
    let short: String = lines.join("\n").chars().take(most_chars).collect();
    if short.len() < text.len() { format!("{short} …") } else { short }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
