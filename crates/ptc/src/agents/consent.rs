//! People who decide about calls: on the terminal while a run goes on, or with options of `ptc resume`.

use std::io::{self, IsTerminal, Write};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use ptc_host::{arguments, visible_json};
use ptc_runner::model::Pending;
use ptc_runner::{Answers, Approver, Decision, PendingCall};
use ptc_upstream::Redactor;
use serde_json::Value as Json;
use tokio::sync::{Mutex, oneshot};

use super::progress::Progress;
use super::show::grouped;
use crate::terminal::{self, errln, framed, plain, quoting};

/// What to do about calls that wait for a person.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Decisions {
    /// Make a call that waits for a person: its number, or `all`; may be repeated
    #[arg(long, value_name = "CALL")]
    approve: Vec<String>,

    /// Do not make a call that waits for a person; the agent is told why; may be repeated
    #[arg(long, value_names = ["CALL", "REASON"], num_args = 2)]
    reject: Vec<String>,

    /// Make a call that waits for a person with other arguments: one JSON object; may be repeated
    #[arg(long, value_names = ["CALL", "JSON"], num_args = 2)]
    edit: Vec<String>,
}

/// All calls that nothing else is said about.
const ALL: &str = "all";

impl Decisions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.approve.is_empty() && self.reject.is_empty() && self.edit.is_empty()
    }

    /// The decisions by the numbers of the calls that wait.
    pub fn about(&self, pending: &[PendingCall]) -> anyhow::Result<Vec<(u64, Decision)>> {
        let mut decided: Vec<(u64, Decision)> = Vec::new();
        let mut add = |option: &str, call: &str, decision: Decision| -> anyhow::Result<()> {
            let id = number(option, call, pending)?;
            if decided.iter().any(|(other, _)| *other == id) {
                bail!("--{option}: call {id} is decided twice");
            }
            decided.push((id, decision));
            Ok(())
        };
        for pair in self.reject.chunks_exact(2) {
            add("reject", &pair[0], Decision::Reject(pair[1].clone()))?;
        }
        for pair in self.edit.chunks_exact(2) {
            let args = arguments(&pair[1]).map_err(|error| anyhow!("--edit: call {}: {error}", pair[0]))?;
            let call = pending.iter().find(|call| call.id.to_string() == pair[0]);
            if let Some(Err(message)) = call.map(|call| call.accepts(&args)) {
                bail!("--edit: call {}: {message}", pair[0]);
            }
            add("edit", &pair[0], Decision::Edit(args))?;
        }
        for call in self.approve.iter().filter(|call| *call != ALL) {
            add("approve", call, Decision::Approve)?;
        }
        if self.approve.iter().any(|call| call == ALL) {
            if pending.is_empty() {
                bail!("--approve: no call waits for a decision");
            }
            let rest: Vec<u64> = pending.iter().map(|call| call.id).collect();
            for id in rest {
                if !decided.iter().any(|(other, _)| *other == id) {
                    decided.push((id, Decision::Approve));
                }
            }
        }
        Ok(decided)
    }
}

fn number(option: &str, call: &str, pending: &[PendingCall]) -> anyhow::Result<u64> {
    let known = pending.iter().find(|waiting| waiting.id.to_string() == call);
    let Some(known) = known else {
        let waiting: Vec<String> =
            pending.iter().map(|call| format!("{} ({})", call.id, plain(&call.tool.name))).collect();
        match waiting.as_slice() {
            [] => bail!("--{option}: no call waits for a decision"),
            waiting => {
                bail!("--{option}: no call {call} waits for a decision; there are {}", waiting.join(", "))
            }
        }
    };
    Ok(known.id)
}

/// Asks on the terminal, one question at a time.
pub struct Terminal {
    progress: Arc<Progress>,
    turn: Arc<Mutex<()>>,
}

impl Terminal {
    /// The terminal, if there is one to ask and to be answered on.
    pub fn open(progress: &Arc<Progress>) -> Option<Arc<dyn Approver>> {
        let there = io::stdin().is_terminal() && terminal::stderr().is_terminal();
        there.then(|| {
            Arc::new(Terminal { progress: progress.clone(), turn: Arc::default() }) as Arc<dyn Approver>
        })
    }
}

impl Approver for Terminal {
    fn decide(&self, call: PendingCall) -> Pending<Option<Decision>> {
        let (progress, turn) = (self.progress.clone(), self.turn.clone());
        Box::pin(async move {
            let _turn = turn.lock().await;
            let (sender, decided) = oneshot::channel();
            let quiet = progress.hush();
            // A thread of its own, which nobody waits for when the run is stopped.
            std::thread::spawn(move || {
                errln!("{}", shown(&call.json(), progress.redactor(), terminal::columns()));
                terminal::look();
                let decision = ask(&call, terminal::answer).unwrap_or_default();
                drop(quiet);
                drop(sender.send(decision));
            });
            decided.await.ok().flatten()
        })
    }
}

/// What the question shows: who asks, the tool, all of the arguments, with secrets covered before anything is broken.
/// From the second row on it stands behind a margin, so that the arguments cannot look like a question.
pub fn shown(call: &Json, redactor: &Redactor, columns: usize) -> String {
    let mut call = call.clone();
    redactor.redact_json(&mut call);
    let text = |value: &Json| plain(value.as_str().unwrap_or_default());
    let mut line = format!("call {}: tool/{}", call["call"], text(&call["tool"]));
    if let Some(agent) = call["agent"].as_str() {
        line.push_str(&format!(", asked by {}", plain(agent)));
    }
    let about = call["about"].as_object().into_iter().flatten();
    for (name, value) in about {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        line.push_str(&format!(", {}: {}", plain(name), plain(&value)));
    }
    format!("{}\n{}", quoting(&line, columns), framed(&visible_json(&call["args"]), columns))
}

/// The longest name in a question.
const NAME_CHARS: usize = 40;

/// The question itself, which tells the call although its arguments may have left the screen.
fn question(call: &PendingCall) -> String {
    let name = |name: &str| match plain(name) {
        name if name.chars().count() <= NAME_CHARS => name,
        name => name.chars().take(NAME_CHARS).chain(['…']).collect(),
    };
    let mut tool = format!("tool/{}", name(&call.tool.name));
    if let (Answers::Upstream, Some(server), Some(of)) =
        (call.tool.answers, call.args["server"].as_str(), call.args["tool"].as_str())
    {
        tool.push_str(&format!(" {}/{}", name(server), name(of)));
    }
    let size = call.args.to_string().chars().count() as u64;
    let id = call.id;
    format!(
        "call {id}, {tool}, {} characters of arguments: approve (a), reject (r), edit (e), decide later (l)? ",
        grouped(size)
    )
}

/// Asks until there is a decision. The end of input means that nobody decides now.
fn ask(
    call: &PendingCall,
    mut answer: impl FnMut(&str) -> io::Result<Option<String>>,
) -> io::Result<Option<Decision>> {
    loop {
        let Some(word) = answer(&question(call))? else { return Ok(None) };
        match word.to_lowercase().as_str() {
            "a" | "approve" | "y" | "yes" => return Ok(Some(Decision::Approve)),
            "r" | "reject" | "n" | "no" => {
                let reason = answer("why? ")?.unwrap_or_default();
                return Ok(Some(Decision::Reject(reason)));
            }
            "e" | "edit" => match edited(call, &mut answer) {
                Ok(args) => return Ok(Some(Decision::Edit(args))),
                Err(error) => errln!("{error:#}"),
            },
            "l" | "later" => return Ok(None),
            _ => {}
        }
    }
}

/// Other arguments: from an editor if one is set, else from one line.
fn edited(
    call: &PendingCall,
    answer: &mut impl FnMut(&str) -> io::Result<Option<String>>,
) -> anyhow::Result<Json> {
    let editor = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let text = match editor.filter(|editor| !editor.trim().is_empty()) {
        Some(editor) => in_editor(&editor, &visible_json(&call.args))?,
        None => answer("new arguments, one line of JSON: ")?.unwrap_or_default(),
    };
    let args = arguments(&text).map_err(|error| anyhow!("{error}"))?;
    call.accepts(&args).map_err(|message| anyhow!("{message}"))?;
    Ok(args)
}

fn in_editor(editor: &str, text: &str) -> anyhow::Result<String> {
    let path = std::env::temp_dir().join(format!("ptc-call-{}.json", std::process::id()));
    // Arguments are nobody else's.
    let mut file =
        ptc_system::private::create_new(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let _gone = Gone(&path);
    writeln!(file, "{text}")?;
    drop(file);
    // Editors are set with options, so a shell takes them apart.
    let ended = Command::new("sh").args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(&path).status()?;
    if !ended.success() {
        bail!("the editor `{editor}` failed");
    }
    Ok(std::fs::read_to_string(&path)?)
}

/// A file that goes when this does.
struct Gone<'p>(&'p std::path::Path);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_runner::Tool;
    use secrecy::ExposeSecret;
    use serde_json::json;

    fn pending(id: u64) -> PendingCall {
        let tool = Tool::new("pay", |args| args).signature("(sum :int) -> :any").unwrap();
        PendingCall { id, agent: None, tool: Arc::new(tool), args: json!({"sum": 1}), about: Json::Null }
    }

    #[test]
    fn answers_on_the_terminal_become_decisions() {
        for (typed, expected) in [
            ("a\n", Some(Decision::Approve)),
            ("what?\n\nyes\n", Some(Decision::Approve)),
            ("r\ntoo much\n", Some(Decision::Reject("too much".into()))),
            ("r\n", Some(Decision::Reject(String::new()))),
            ("l\n", None),
            ("", None),
        ] {
            let mut lines = typed.lines();
            let found = ask(&pending(1), |_| Ok(lines.next().map(str::to_owned)));
            assert_eq!(found.unwrap(), expected, "{typed:?}");
        }
    }

    #[test]
    fn options_become_decisions_about_calls_that_wait() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let waiting = [pending(3), pending(5), pending(8)];
        let decisions = |approve: &[&str], reject: &[&str], edit: &[&str]| {
            Decisions { approve: words(approve), reject: words(reject), edit: words(edit) }.about(&waiting)
        };
        let edit = Decision::Edit(json!({"sum": 2}));
        assert_eq!(
            decisions(&["all"], &["5", "no"], &["8", "{\"sum\": 2}"]).unwrap(),
            [(5, Decision::Reject("no".into())), (8, edit), (3, Decision::Approve)]
        );
        assert_eq!(decisions(&["3"], &[], &[]).unwrap(), [(3, Decision::Approve)]);
        for (found, expected) in [
            (decisions(&["4"], &[], &[]), "there are 3 (pay), 5 (pay), 8 (pay)"),
            (decisions(&["3", "3"], &[], &[]), "decided twice"),
            (decisions(&[], &[], &["3", "{"]), "are not JSON"),
            (decisions(&[], &[], &["3", "{\"sum\": \"x\"}"]), "Tool validation"),
        ] {
            let error = found.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let none = Decisions { approve: words(&["all"]), ..Decisions::default() }.about(&[]).unwrap_err();
        assert!(none.to_string().contains("no call waits"), "{none}");
    }

    #[test]
    fn nothing_in_a_call_can_hide_from_whoever_reads_it() {
        let call = json!({
            "call": 1, "tool": "pay\u{1b}[2J", "agent": "a\rb", "about": {"server": "s"},
            "args": {"to": "alice\u{202e}bob\u{9b}31m\u{200b}"},
        });
        let text = shown(&call, &Redactor::none(), 80);
        assert!(text.starts_with(r"call 1: tool/pay\u001b[2J, asked by a\u000db, server: s"), "{text}");
        assert!(text.contains(r"alice\u202ebob\u009b31m\u200b"), "{text}");
    }

    #[test]
    fn secrets_are_covered_wherever_a_row_would_end() {
        let secret = secrecy::SecretString::from("s3cr3t-0f-th3-h0us3");
        let redactor = Redactor::new([&secret]);
        for at in 0..80 {
            let call =
                json!({"call": 1, "tool": "pay", "args": {"to": " ".repeat(at) + secret.expose_secret()}});
            let text = shown(&call, &redactor, 80).replace("\n  │…", "");
            assert!(text.contains("[REDACTED]") && !text.contains("s3cr3t"), "{text}");
        }
    }

    #[test]
    fn a_question_tells_the_call_on_one_line() {
        let mut call = pending(7);
        assert_eq!(
            question(&call),
            "call 7, tool/pay, 9 characters of arguments: approve (a), reject (r), edit (e), decide later (l)? "
        );
        let name = format!("p\n{}", "y".repeat(50));
        let tool = Tool::new(name, |args| args).signature("(memo :string) -> :any").unwrap();
        call.tool = Arc::new(tool);
        call.args = json!({"memo": "x".repeat(3_000)});
        let expected = format!("call 7, tool/p\\u000a{}…, 3,011 characters of arguments: ", "y".repeat(33));
        assert!(question(&call).starts_with(&expected), "{}", question(&call));
    }
}
