//! What is on disk after runs: lines, policies, names, rotation.

use std::sync::{Arc, mpsc};

use ptc_trace::{
    Bounds, Files, Keep, Memory, Options, Policy, ReadBounds, Record, Sink, Tracer, Tree, read, subject,
    subscriber,
};
use serde_json::{Value as Json, json};

use crate::support::{Dir, TRACE, lines, run};

const PARALLEL: &str =
    r#"(println "hello") (pmap #(tool/echo {:n % :note "private"}) data/rows) (return (tool/double {:n 4}))"#;

fn traced(dir: &Dir, policy: Policy, program: &str) {
    let subscriber = subscriber(&dir.0, policy).unwrap();
    run(program, TRACE, &mut |event| subscriber(event.clone()));
}

#[test]
fn r13_21_r13_22_a_run_is_a_file_of_numbered_lines_with_a_head_and_an_end() {
    let dir = Dir::new("run");
    traced(&dir, Policy::Full, PARALLEL);
    let path = dir.only();
    let name = path.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("1970-01-01T00-16-40.") && name.ends_with("-ok.jsonl"), "{name}");
    let lines = lines(&path);
    assert_eq!(
        (&lines[0]["event"], &lines[0]["data"]["trace_kind"]),
        (&json!("trace.start"), &json!("agent_run"))
    );
    let last = lines.last().unwrap();
    assert_eq!((&last["event"], &last["status"]), (&json!("trace.stop"), &json!("ok")));
    for (at, line) in lines.iter().enumerate() {
        assert_eq!(
            (&line["seq"], &line["schema_version"], &line["trace_id"]),
            (&json!(at), &json!(2), &json!(TRACE))
        );
    }
    let stop =
        lines.iter().find(|line| line["event"] == "turn.stop" && line["agent_name"] == "worker").unwrap();
    assert_eq!(
        (&stop["turn"], &stop["input_tokens"], &stop["total_tokens"]),
        (&json!(1), &json!(100), &json!(120))
    );
    assert!(stop["data"]["program"].as_str().unwrap().contains("pmap"), "{stop}");
    assert_eq!(stop["data"]["prints"], json!(["hello"]));
}

#[test]
fn a_file_reads_back_as_a_tree_of_agents_turns_programs_and_calls() {
    let dir = Dir::new("tree");
    traced(&dir, Policy::Summary, PARALLEL);
    let tree = Tree::of(&read(&dir.only(), ReadBounds::default()).unwrap());
    let outline: Vec<String> = tree
        .walk()
        .into_iter()
        .map(|at| {
            let node = &tree.nodes[at];
            assert!(node.end.is_some() && node.status.as_deref() == Some("ok"), "{node:?}");
            format!("{}{}", "  ".repeat(node.depth), node.tool.as_deref().unwrap_or(&node.subject))
        })
        .collect();
    assert_eq!(
        outline.join("\n"),
        "\
run
  turn
    llm
    lisp.execute
      pmap
        echo
        echo
        echo
      double
        run
          turn
            llm
            lisp.execute"
    );
    let sums = &tree.summary;
    assert_eq!((sums.agents, sums.turns, sums.llm_calls, sums.tool_calls), (2, 2, 2, 4));
    assert_eq!((sums.label.as_str(), sums.status.as_str(), sums.input_tokens), ("worker", "ok", 200));
    assert!(sums.fuel > 0 && sums.bytes > 0 && sums.lost == 0);
    assert_eq!(sums.policy.as_deref(), Some("summary"));
}

#[test]
fn calls_that_were_refused_stand_in_the_tree_and_are_not_counted() {
    let dir = Dir::new("refused");
    let program = r#"(try (tool/double {:n "x"}) (catch Exception e nil)) (return (tool/echo {:n 1}))"#;
    traced(&dir, Policy::None, program);
    let tree = Tree::of(&read(&dir.only(), ReadBounds::default()).unwrap());
    let tools = tree.nodes.iter().filter(|node| node.subject == "tool").count();
    assert_eq!((tools, tree.summary.tool_calls), (2, 1));
}

#[test]
fn r12_1_3_r14_4_4_policies_hold_for_everything_in_the_file() {
    for (policy, shown, hidden) in [
        (Policy::None, vec!["sha256", "echo"], vec!["private", "on fire", "hello", "Work:"]),
        (Policy::Summary, vec!["sha256", "private", "on fire", "hello"], vec![]),
        (Policy::Full, vec!["private", "on fire", "hello", "Work:"], vec!["sha256"]),
    ] {
        let dir = Dir::new(&format!("policy-{policy}"));
        traced(&dir, policy, r#"(println "hello") (tool/echo {:note "private"}) (tool/broken {})"#);
        let path = dir.only();
        assert!(path.to_str().unwrap().ends_with("-error.jsonl"), "{path:?}");
        let text = std::fs::read_to_string(path).unwrap();
        // Why something failed is a fact: of the program, and of the run.
        for word in
            shown.into_iter().chain(["\"reason\":\"tool_error\"", "\"reason\":\"max_turns_exceeded\""])
        {
            assert!(text.contains(word), "{policy} shows {word}:\n{text}");
        }
        for word in hidden {
            assert!(!text.contains(word), "{policy} hides {word}:\n{text}");
        }
    }
}

/// Traces hold payloads: they are for whoever runs the program and for nobody else.
#[cfg(unix)]
#[test]
fn traces_and_recordings_are_readable_for_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Dir::new("modes");
    let inner = Dir(dir.0.join("made/by/us"));
    traced(&inner, Policy::Full, "(return 1)");
    let recording = dir.0.join("run.recording");
    ptc_trace::recording::Recorder::create(&recording, serde_json::json!({}), &[]).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner.only()), 0o600, "a trace that ended");
    assert_eq!(mode(&inner.0), 0o700, "its folder");
    assert_eq!(mode(&recording), 0o600, "a recording");
}

#[test]
fn secrets_are_replaced_under_every_policy() {
    for policy in [Policy::None, Policy::Summary, Policy::Full] {
        let memory = Memory::default();
        let scrub: ptc_trace::Scrub =
            Arc::new(|text: &str| text.contains("private").then(|| text.replace("private", "█")));
        let options = Options { policy, scrub: Some(scrub), ..Options::default() };
        let tracer = Tracer::new(options, vec![Box::new(memory.clone())]);
        run(PARALLEL, TRACE, &mut |event| tracer.agent_event(event));
        assert!(tracer.flush());
        let text = format!("{:?}", memory.records());
        assert!(text.contains("echo") && !text.contains("private"), "{policy}");
    }
}

#[test]
fn a_run_that_is_cut_off_stays_pending_and_reads_as_running() {
    let dir = Dir::new("pending");
    let subscriber = subscriber(&dir.0, Policy::Summary).unwrap();
    let mut left = 8;
    run(PARALLEL, TRACE, &mut |event| {
        if left > 0 {
            subscriber(event.clone());
        }
        left -= 1;
    });
    drop(subscriber);
    let path = dir.only();
    assert!(path.to_str().unwrap().ends_with("-pending.jsonl"));
    let tree = Tree::of(&read(&path, ReadBounds::default()).unwrap());
    assert_eq!(tree.summary.status, "running");
    assert!(tree.nodes.iter().any(|node| node.end.is_none()));
}

#[test]
fn the_oldest_files_go_when_there_are_too_many() {
    let dir = Dir::new("rotation");
    let keep = Keep { max_files: 5, ..Keep::default() };
    let tracer = Tracer::new(Options::default(), vec![Box::new(Files::open(&dir.0, keep).unwrap())]);
    for number in 0..12 {
        run("(return 1)", &format!("{number:032x}"), &mut |event| tracer.agent_event(event));
        assert!(tracer.flush());
    }
    let names = dir.names();
    assert_eq!(names.len(), 5, "{names:?}");
    let newest = lines(&dir.0.join(
        names.iter().find(|name| lines(&dir.0.join(name))[0]["trace_id"] == format!("{:032x}", 11)).unwrap(),
    ));
    assert_eq!(newest.last().unwrap()["event"], "trace.stop");
}

#[test]
fn two_runs_with_one_id_have_a_file_each() {
    let dir = Dir::new("twice");
    let subscriber = subscriber(&dir.0, Policy::Summary).unwrap();
    run("(return 1)", TRACE, &mut |event| subscriber(event.clone()));
    run("(return 1)", TRACE, &mut |event| subscriber(event.clone()));
    drop(subscriber);
    assert_eq!(dir.names().len(), 2);
}

/// A sink that waits until it is let go.
struct Stuck(mpsc::Receiver<()>, Memory);

impl Sink for Stuck {
    fn take(&mut self, record: &Record) {
        let _ = self.0.recv();
        self.1.take(record);
    }
}

#[test]
fn r12_2_4_a_full_queue_sheds_and_never_waits() {
    let (release, gate) = mpsc::channel();
    let memory = Memory::default();
    let options = Options { queue: 10, ..Options::default() };
    let tracer = Tracer::new(options, vec![Box::new(Stuck(gate, memory.clone()))]);
    // The sink is stuck on the first event; the rest fills the queue, and nobody waits.
    for number in 0..1_000 {
        tracer.record(Record::new(format!("n{number}.start"), TRACE, number));
    }
    assert!(tracer.dropped() >= 980, "{}", tracer.dropped());
    drop(release);
    assert!(tracer.flush());
    assert_eq!(memory.records().len() as u64 + tracer.dropped(), 1_000);
}

#[test]
fn large_events_wait_within_a_bound_of_bytes() {
    let (release, gate) = mpsc::channel();
    let memory = Memory::default();
    let options = Options { queue_bytes: 1 << 20, policy: Policy::Full, ..Options::default() };
    let tracer = Tracer::new(options, vec![Box::new(Stuck(gate, memory.clone()))]);
    for number in 0..100 {
        let mut record = Record::new("big.start", TRACE, number);
        record.data.insert("program".into(), json!("x".repeat(100_000)));
        tracer.record(record);
    }
    assert!(tracer.dropped() > 70, "{}", tracer.dropped());
    drop(release);
    assert!(tracer.flush());
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_before_the_run() {
    let dir = Dir::new("no-dir");
    let file = dir.0.join("file");
    std::fs::write(&file, "").unwrap();
    assert!(subscriber(file.join("below"), Policy::Summary).is_err());
}

#[test]
fn r12_1_2_evaluations_and_upstream_calls_are_spans_of_one_trace() {
    let dir = Dir::new("spans");
    let tracer =
        Tracer::new(Options::default(), vec![Box::new(Files::open(&dir.0, Keep::default()).unwrap())]);
    let call = tracer.begin("mcp_call", subject::MCP_CALL, "7", json!({"session_id": "s1"}));
    let eval = call.child(subject::EXECUTE, json!({"program": "(+ 1 2)", "program_bytes": 7}));
    drop(eval.child(subject::UPSTREAM_CALL, json!({"server": "crm", "tool_name": "search"})));
    eval.outcome(&ptc_host::run_blocking(&ptc_host::Program::new("(println \"hi\") (+ 1 2)")));
    call.stop(json!({"calls_count": 1}));
    drop((call, eval, tracer));
    let path = dir.only();
    assert!(path.to_str().unwrap().ends_with("-ok.jsonl"));
    let tree = Tree::of(&read(&path, ReadBounds::default()).unwrap());
    assert_eq!((tree.summary.kind.as_str(), tree.summary.label.as_str()), ("mcp_call", "7"));
    assert_eq!(tree.summary.policy.as_deref(), Some("summary"));
    let of = |subject: &str| tree.nodes.iter().find(|node| node.subject == subject).unwrap();
    assert_eq!(of("lisp.execute").data["result"]["preview"], "3");
    assert_eq!(of("lisp.execute").data["prints"], json!(["hi"]));
    assert_eq!((of("upstream.call").status.as_deref(), of("upstream.call").depth), (Some("error"), 2));
    assert_eq!(of("upstream.call").data["reason"], "cancelled");
    assert_eq!(of("mcp.call").data["calls_count"], json!(1));
}

#[test]
fn r12_2_4_an_event_that_is_too_long_leaves_a_note() {
    let dir = Dir::new("omitted");
    let bounds = Bounds { event_bytes: 2_000, text_bytes: 100_000, ..Bounds::default() };
    let files = Files::open(&dir.0, Keep { bounds, ..Keep::default() }).unwrap();
    let options = Options { policy: Policy::Full, bounds, ..Options::default() };
    let tracer = Tracer::new(options, vec![Box::new(files)]);
    run(&format!("(return (count \"{}\"))", "x".repeat(3_000)), TRACE, &mut |event| {
        tracer.agent_event(event)
    });
    drop(tracer);
    let lines = lines(&dir.only());
    let omitted: Vec<&Json> = lines.iter().filter(|line| line["event"] == "trace.event_omitted").collect();
    assert!(omitted.iter().any(|line| line["data"]["event"] == "turn.stop"), "{omitted:?}");
    assert_eq!(lines.last().unwrap()["event"], "trace.stop");
}
