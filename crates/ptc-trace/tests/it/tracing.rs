//! What listeners of telemetry and of the `tracing` crate see.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use ptc_trace::{Listener, Memory, Options, Record, Sink, Spans, Tracer};
use tracing::span::{Attributes, Id, Record as Values};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{TRACE, run};

#[test]
fn r13_1_listeners_hear_the_names_of_telemetry_and_those_of_the_draft() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let own = heard.clone();
    let listener = Listener(move |name: &str, record: &Record| {
        own.lock().unwrap().push((name.to_owned(), record.event.clone()));
    });
    let tracer = Tracer::new(Options::default(), vec![Box::new(listener)]);
    run("(return (tool/echo {:n 1}))", TRACE, &mut |event| tracer.agent_event(event));
    assert!(tracer.flush());
    let heard = heard.lock().unwrap();
    let names: Vec<&str> = heard.iter().map(|(name, _)| name.as_str()).collect();
    for name in [
        "ptc_runner.sub_agent.run.start",
        "ptc_runner.sub_agent.turn.stop",
        "ptc_runner.sub_agent.llm.stop",
        "ptc_runner.sub_agent.tool.call",
        "ptc_runner.lisp.execute.stop",
        "ptc.subagent.mission_start",
        "ptc.subagent.turn_start",
        "ptc.subagent.turn_stop",
        "ptc.subagent.mission_stop",
    ] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
    let drafts = names.iter().filter(|name| name.starts_with("ptc.subagent.")).count();
    assert_eq!(drafts, 4, "each once");
}

#[test]
fn r13_26_memory_keeps_the_newest_within_its_bytes() {
    let mut memory = Memory::new(1_000);
    for number in 0..100 {
        memory.take(&Record::new(format!("event-{number}"), TRACE, number));
    }
    let kept = memory.records();
    assert!(kept.len() < 20 && kept.last().unwrap().event == "event-99", "{}", kept.len());
    let mut tiny = Memory::new(1);
    tiny.take(&Record::new("alone", TRACE, 0));
    assert_eq!(tiny.records().len(), 1, "the newest is always there");
    assert_eq!(memory.query(|record| record.event == "event-99").len(), 1);
    memory.clear();
    assert!(memory.records().is_empty());
}

/// Collects names of spans with the names around them.
#[derive(Default)]
struct Collector {
    next: AtomicU64,
    spans: Mutex<Vec<(u64, String)>>,
    fields: Mutex<Vec<String>>,
}

struct Fields<'f>(&'f Mutex<Vec<String>>);

impl tracing::field::Visit for Fields<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().push(format!("{}={value:?}", field.name()));
    }
}

struct Shared(Arc<Collector>);

impl Subscriber for Shared {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed) + 1;
        let spans = &mut self.0.spans.lock().unwrap();
        let around = span.parent().and_then(|parent| {
            spans.iter().find(|(id, _)| *id == parent.into_u64()).map(|(_, path)| path.clone())
        });
        let name = span.metadata().name();
        let path = around.map_or_else(|| name.to_owned(), |around| format!("{around} > {name}"));
        spans.push((id, path));
        span.record(&mut Fields(&self.0.fields));
        Id::from_u64(id)
    }
    fn record(&self, _: &Id, values: &Values<'_>) {
        values.record(&mut Fields(&self.0.fields));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn spans_of_tracing_nest_as_the_run_did_and_follow_the_conventions() {
    let collector = Arc::new(Collector::default());
    let mut records = Vec::new();
    run("(pmap #(tool/echo {:n %}) [1 2]) (return (tool/double {:n 4}))", TRACE, &mut |event| {
        records.push(Record::from(event.clone()));
    });
    tracing::subscriber::with_default(Shared(collector.clone()), || {
        let mut spans = Spans::default();
        records.iter().for_each(|record| spans.take(record));
    });
    let paths: Vec<String> = collector.spans.lock().unwrap().iter().map(|(_, path)| path.clone()).collect();
    let program = "invoke_agent > turn > program";
    for path in [
        "invoke_agent > turn > chat".to_owned(),
        format!("{program} > pmap > execute_tool"),
        format!("{program} > execute_tool > {program}"),
    ] {
        assert!(paths.contains(&path), "{path}: {paths:#?}");
    }
    let fields = collector.fields.lock().unwrap();
    for field in
        ["gen_ai.usage.input_tokens=100", "gen_ai.tool.name=\"echo\"", "gen_ai.agent.name=\"worker\""]
    {
        assert!(fields.iter().any(|seen| seen == field), "{field}: {fields:#?}");
    }
}
