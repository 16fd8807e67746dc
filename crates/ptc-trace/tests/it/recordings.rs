//! What playing a recording proves, and what it does not.

use std::sync::Arc;

use ptc_agent::model::{Llm, Reply, Request};
use ptc_agent::tape::{Entry, Given, Of, Question};
use ptc_agent::{Agent, AgentRun, Approval, AskKind, Decision, Need, RunOptions, Step, Supply, Tool};
use ptc_host::{Program, Tools, run_blocking};
use ptc_trace::recording::{
    Against, Allowance, Begun, Keeping, Place, Proof, Recorder, Recording, RecordingError, Taped, Verdict,
    against, first_difference, verify, verify_program,
};
use serde_json::{Value as Json, json};

use crate::support::Dir;

/// As much as a recording asks for.
fn any() -> Allowance {
    Allowance { limits: ptc_host::Limits::default(), until: None }
}

/// A program that calls `double` for each of its numbers, recorded.
fn recorded(dir: &Dir, source: &str) -> Recording {
    let tools = Tools::new().with(
        "double",
        ptc_host::Tool::quick(|args: Json| json!(args["n"].as_i64().unwrap_or_default() * 2)),
    );
    let program = Program::new(source).tools(tools).seed(7);
    let path = dir.0.join("program.recording");
    let place = path.clone();
    let taped = Taped::new(Begun::of("eval", &program), Keeping::default(), move || place);
    let outcome = run_blocking(&taped.attach(program));
    assert!(taped.finish(&outcome).unwrap(), "it was recorded");
    Recording::read(&path).unwrap()
}

/// A recording of two calls whose lines somebody changed.
fn edited(dir: &Dir, edit: impl FnOnce(&mut Vec<Json>)) -> Recording {
    recorded(dir, TWO_CALLS);
    let text = std::fs::read_to_string(dir.0.join("program.recording")).unwrap();
    let mut lines: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    edit(&mut lines);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    Recording::read_from(text.as_bytes()).unwrap()
}

/// The one place in lines where there is something at this path.
fn one_at<'l>(lines: &'l mut [Json], of: &str, id: u64, path: &str) -> &'l mut Json {
    let is = |line: &&mut Json| line.pointer(&format!("{of}/id")) == Some(&json!(id));
    lines.iter_mut().find(is).and_then(|line| line.pointer_mut(&format!("{of}{path}"))).unwrap()
}

const TWO_CALLS: &str = "(+ (tool/double {:n 1}) (tool/double {:n 2}))";

/// A failed call is answered with when it was called and its identity, in whichever form its driver writes that.
#[test]
fn what_was_measured_in_a_failed_call_of_a_program_hides_no_difference() {
    type Form = fn(String) -> Json;
    let forms: [Form; 3] = [
        |message| json!({"fault": {"reason": "upstream_error", "message": message}}),
        |message| json!({"raise": {"kind": "tool_error", "message": message, "function": null, "hint": null}}),
        |message| json!({"upstream": {"kind": "json", "value": {"ok": false, "message": message}}}),
    ];
    let dir = Dir::new("measured");
    for form in forms {
        let with = |second: u32, identity: &str, total: u32| {
            let message =
                format!("HTTP 500, called at 2026-11-19T04:32:5{second}Z; its identity is {identity}");
            edited(&dir, |lines| {
                lines[0]["head"]["subject"]["program"]["clock_ms"] = 1.into();
                *one_at(lines, "/answer/entry/answer", 1, "/given") = json!({"answer": form(message)});
                *one_at(lines, "/answer/entry/answer", 2, "/given") = json!({"value": total});
            })
        };
        let one = with(4, "1cf4-a", 4);
        assert_eq!(first_difference(&one, &with(7, "77ab-b", 4)), None);
        let found = first_difference(&one, &with(7, "77ab-b", 5)).expect("a difference");
        assert_eq!((found.place, found.right), (Place::Answered(2), json!(5)));
    }
}

#[test]
fn a_program_that_does_the_same_is_proved() {
    let dir = Dir::new("proved");
    let recording = recorded(&dir, TWO_CALLS);
    let proof = verify_program(&recording, &any()).unwrap();
    assert!(matches!(proof.verdict, Verdict::Equal), "{proof:?}");
    assert_eq!((proof.calls, proof.changed), (2, None));
    assert_eq!(recording.end.as_ref().unwrap().step["fuel"], json!(proof.fuel));
}

/// A call that the program no longer makes is looked for where the tape goes on although the program has ended.
#[test]
fn a_recorded_call_that_is_not_made_any_more_is_named() {
    let dir = Dir::new("left-over");
    let recording = edited(&dir, |lines| {
        let of = Of::Tool { tool: "double".to_owned(), args: json!({"n": 3}) };
        let asks = Entry::Ask(Question { id: 3, agent: None, of });
        lines.insert(lines.len() - 1, json!({"tape": asks}));
    });
    let proof = verify_program(&recording, &any()).unwrap();
    let Verdict::Differs(parting) = proof.verdict else { panic!("the third call is left over: {proof:?}") };
    assert_eq!((parting.call, parting.what.as_str()), (Some(3), "it no longer asks for this"));
    assert_eq!(parting.recorded["tool"]["args"], json!({"n": 3}), "{parting:?}");
}

/// The most memory that this process ever had, in bytes.
#[cfg(target_os = "linux")]
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// As values, the numbers of these 16 MB would take half a gigabyte.
#[cfg(target_os = "linux")]
#[test]
fn a_recording_of_numbers_takes_about_as_much_memory_as_its_text() {
    let dir = Dir::new("numbers");
    let before = peak();
    let recording = edited(&dir, |lines| {
        let numbers = format!("[{}0]", "0,".repeat(99_999));
        *one_at(lines, "/tape/ask", 2, "/tool/args/n") = numbers.into();
    });
    let line = serde_json::to_string(&recording.calls().nth(1).unwrap().question).unwrap();
    let head = serde_json::to_string(&json!({"head": recording.head})).unwrap();
    let asks = line.replace("\"[", "[").replace("]\"", "]");
    let text = format!("{head}\n{}", format!("{{\"tape\":{{\"ask\":{asks}}}}}\n").repeat(80));
    assert!(text.len() > 16_000_000);
    let recording = Recording::read_from(text.as_bytes()).unwrap();
    assert_eq!(recording.calls().count(), 80);
    assert!(verify_program(&recording, &any()).is_ok());
    let grown = peak() - before;
    assert!(grown < 5 * text.len(), "{grown} bytes for {} bytes of text", text.len());
}

#[test]
fn a_program_that_asks_for_something_else_is_told_where() {
    let dir = Dir::new("asks");
    let recording = edited(&dir, |lines| *one_at(lines, "/tape/ask", 2, "/tool/args/n") = json!(9));
    let proof = verify_program(&recording, &any()).unwrap();
    let Verdict::Differs(parting) = proof.verdict else { panic!("{proof:?}") };
    assert_eq!((parting.call, parting.what.as_str()), (Some(2), "it asks for something else"));
    assert_eq!((parting.recorded, parting.now), (json!(9), json!(2)));
}

#[test]
fn an_answer_that_was_changed_afterwards_is_told_from_a_program_that_changed() {
    let dir = Dir::new("changed");
    let recording = edited(&dir, |lines| {
        *one_at(lines, "/answer/entry/answer", 2, "/given") = json!({"value": 40});
    });
    let proof = verify_program(&recording, &any()).unwrap();
    assert_eq!(proof.changed, Some(2), "{proof:?}");
    let Verdict::Differs(parting) = proof.verdict else { panic!("{:?}", proof.verdict) };
    assert_eq!((parting.path.as_str(), parting.recorded, parting.now), ("/return", json!("6"), json!("42")));
}

#[test]
fn an_outcome_that_differs_in_anything_is_no_proof() {
    let dir = Dir::new("outcome");
    let recording = recorded(&dir, &format!("(println \"on the way\") (def x 1) {TWO_CALLS}"));
    for (path, other) in [
        ("return", json!("7")),
        ("prints", json!(["elsewhere"])),
        ("fuel", json!(1)),
        ("defined", json!({})),
        ("signal", json!("return")),
    ] {
        let mut changed = recording.clone();
        changed.end.as_mut().unwrap().step[path] = other;
        let proof = verify_program(&changed, &any()).unwrap();
        let Verdict::Differs(parting) = &proof.verdict else { panic!("{path}: {proof:?}") };
        assert!(parting.path.starts_with(&format!("/{path}")), "{path}: {parting:?}");
    }
    let mut unfinished = recording;
    unfinished.end = None;
    assert!(matches!(verify_program(&unfinished, &any()).unwrap().verdict, Verdict::Unfinished));
}

/// An agent that pays once for each row of its input; every payment is decided about by a person.
fn payer() -> Agent {
    let pay = Tool::new("pay", |args: Json| json!({"paid": args["sum"]})).approval(Approval::Ask);
    Agent::builder("Pay").name("payer").tool(pay).build().unwrap()
}

const PAYS: &str = "```clojure\n(return (mapv (fn [_] (:paid (tool/pay {:sum 5}))) data/rows))\n```";

fn options(rows: Json) -> RunOptions {
    let llm = Llm::function(|_: &Request| Err::<Reply, _>("the test answers"));
    RunOptions { context: json!({"rows": rows}).into(), ..RunOptions::new(llm) }
}

/// Runs the agent, with everything that comes into it on a tape.
fn paid(dir: &Dir, rows: Json, decisions: &[Decision]) -> (Step, Recording) {
    let path = dir.0.join("run.recording");
    let mut recorder = Recorder::create(&path, json!({}), &[]).unwrap();
    let mut run = AgentRun::new(Arc::new(payer()), options(rows), 1_000);
    recorder.entry(Entry::Begin { now: 1_000 });
    let mut decisions = decisions.iter();
    let step = loop {
        recorder.entry(Entry::Next { now: 1_000, times: 1 });
        let need = run.next(1_000);
        run.take_events().iter().for_each(|event| recorder.event(event));
        match need {
            Need::Done(step) => break *step,
            Need::Busy => {}
            Need::Wait { .. } => panic!("everything is answered at once"),
            Need::Asks(asks) => {
                for ask in asks {
                    recorder.entry(Entry::Ask(Question::from(&ask)));
                    let supply = match &ask.kind {
                        AskKind::Model { .. } => Supply::Model(Ok(Reply::text(PAYS))),
                        AskKind::Tool { args, .. } => Supply::Tool(Ok(json!({"paid": args["sum"]}))),
                        _ => Supply::Approval(decisions.next().expect("a decision").clone()),
                    };
                    let given = match supply.clone() {
                        Supply::Model(reply) => Given::Reply(reply.unwrap()),
                        Supply::Tool(result) => Given::Value(result.unwrap()),
                        Supply::Approval(decision) => Given::Decision(decision),
                        Supply::Lost(message) => Given::Lost(message),
                    };
                    recorder.entry(Entry::Answer { id: ask.id, now: 1_000, given });
                    run.supply(ask.id, supply);
                }
            }
        }
    };
    recorder.finish(&step).unwrap();
    (step, Recording::read(&path).unwrap())
}

/// Tools are taken to say the same again; people are not.
#[test]
fn a_decision_on_record_counts_for_one_call_only() {
    let dir = Dir::new("decisions");
    let (step, recording) = paid(&dir, json!([1]), &[Decision::Approve]);
    assert_eq!(step.value, json!([5]), "{step:#?}");
    assert_eq!(against(&recording, Arc::new(payer()), options(json!([1])), &any()), Against::Same);
    let more = against(&recording, Arc::new(payer()), options(json!([1, 2])), &any());
    let Against::Unknown(missing) = &more else { panic!("nobody decided about the second: {more:?}") };
    assert!(missing.starts_with("a decision about tool pay"), "{missing}");
    // Two decisions are used in their order.
    let decisions = [Decision::Approve, Decision::Edit(json!({"sum": 7}))];
    let (step, recording) = paid(&dir, json!([1, 2]), &decisions);
    assert_eq!(step.value, json!([5, 7]), "{step:#?}");
    assert_eq!(against(&recording, Arc::new(payer()), options(json!([1, 2])), &any()), Against::Same);
}

/// Everything up to some line, and half of that line: what is left of the file of a process that was killed.
fn beginnings(text: &str) -> Vec<&[u8]> {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1);
    ends.flat_map(|end| {
        let next = text[end..].find('\n').unwrap_or(0);
        [&text.as_bytes()[..end], &text.as_bytes()[..end + next / 2]]
    })
    .collect()
}

#[test]
fn a_recording_is_played_to_its_last_line_wherever_its_process_was_killed() {
    let dir = Dir::new("killed");
    paid(&dir, json!([1, 2]), &[Decision::Approve, Decision::Approve]);
    recorded(&dir, TWO_CALLS);
    let text = |name: &str| std::fs::read_to_string(dir.0.join(name)).unwrap();
    let (run, program) = (text("run.recording"), text("program.recording"));
    let mission = |text: &[u8]| {
        let recording = Recording::read_from(text).unwrap();
        verify(&recording, Arc::new(payer()), options(json!([1, 2])), &any(), |_, _| {})
    };
    let alone = |text: &[u8]| verify_program(&Recording::read_from(text).unwrap(), &any()).unwrap();
    type Play<'p> = &'p dyn Fn(&[u8]) -> Proof;
    let played: [(&str, usize, Play<'_>); 2] = [(&run, 5, &mission), (&program, 2, &alone)];
    for (whole, calls, play) in played {
        let all = beginnings(whole);
        let (last, earlier) = all.split_last().expect("lines");
        assert!(matches!(play(last).verdict, Verdict::Equal), "{:?}", play(last));
        let mut seen = 0;
        for cut in earlier.iter().filter(|cut| *cut != last) {
            let proof = play(cut);
            let text = String::from_utf8_lossy(cut);
            assert!(matches!(proof.verdict, Verdict::Unfinished), "{proof:?}\n---\n{text}");
            assert!(proof.calls >= seen, "more lines have no fewer calls");
            seen = proof.calls;
        }
        assert_eq!(seen, calls, "all calls are before the end");
    }
    let torn = Recording::read_from(&run.as_bytes()[..40]);
    assert!(matches!(torn, Err(RecordingError::Torn)), "{torn:?}");
}

/// A run that asks for more than a whole recording has is another run.
#[test]
fn only_a_recording_without_its_end_may_end_anywhere() {
    let dir = Dir::new("left-out");
    paid(&dir, json!([1]), &[Decision::Approve]);
    let text = std::fs::read_to_string(dir.0.join("run.recording")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let ask = lines.iter().rposition(|line| line.starts_with("{\"tape\":{\"ask\"")).unwrap();
    let end = lines.iter().position(|line| line.starts_with("{\"end\"")).unwrap();
    let short = format!("{}\n{}\n", lines[..ask].join("\n"), lines[end]);
    let recording = Recording::read_from(short.as_bytes()).unwrap();
    let proof = verify(&recording, Arc::new(payer()), options(json!([1])), &any(), |_, _| {});
    let Verdict::Differs(parting) = &proof.verdict else { panic!("{proof:?}") };
    assert_eq!(parting.what, "it asks for something that is not on record");
}

#[test]
fn every_line_is_in_the_file_before_the_next_thing_happens() {
    let dir = Dir::new("lines");
    let path = dir.0.join("run.recording");
    let mut recorder = Recorder::create(&path, json!({}), &[]).unwrap();
    let entries = || Recording::read(&path).unwrap().tape.len();
    assert_eq!(entries(), 0, "the head is there from the beginning");
    recorder.entry(Entry::Begin { now: 1 });
    for id in 1..=3 {
        let before = entries();
        recorder.entry(Entry::Ask(Question {
            id,
            agent: None,
            of: Of::Tool { tool: "double".to_owned(), args: json!({"n": id}) },
        }));
        assert_eq!(entries(), before + 1);
        recorder.entry(Entry::Answer { id, now: 1, given: Given::Value(json!(id)) });
        assert_eq!(entries(), before + 2);
    }
}
