//! What is written is what is declared.

use std::path::Path;

use ptc_trace::events::{EVENTS, differences, kind};
use ptc_trace::{Memory, Options, Tracer};

use crate::support::{TRACE, run};

#[test]
fn events_of_agents_are_as_they_are_declared() {
    let memory = Memory::default();
    let tracer = Tracer::new(Options::default(), vec![Box::new(memory.clone())]);
    for program in [
        "(return (tool/echo {:n 1}))",
        "(return (pmap #(tool/double {:n %}) [1 2]))",
        "(tool/broken {})",
        "(println 1) (nope)",
        "(fail :no)",
    ] {
        run(program, TRACE, &mut |event| tracer.agent_event(event));
    }
    assert!(tracer.flush());
    let records = memory.records();
    let wrong: Vec<String> = records.iter().flat_map(differences).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    for name in ["run.stop", "llm.stop", "pmap.stop", "tool.call", "tool.exception", "lisp.execute.exception"]
    {
        assert!(records.iter().any(|record| record.event == name), "{name}");
    }
}

/// Whether a text looks like the name of an event.
fn is_name(text: &str) -> bool {
    let last = text.rsplit('.').next().unwrap_or_default();
    let phase = ["start", "stop", "exception", "asked", "decided", "triggered", "event_omitted"];
    text.contains('.')
        && (phase.contains(&last) || text == "tool.call")
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'.' | b'_'))
}

#[test]
fn every_event_that_the_code_names_is_declared() {
    let mut named = 0;
    let mut folders = vec![
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptc-agent/src/run"),
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
    ];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for name in text.split('"').filter(|text| is_name(text)) {
                assert!(kind(name).is_some(), "{name} in {} is not declared in events.rs", path.display());
                named += 1;
            }
        }
    }
    assert!(named > EVENTS.len(), "they were looked at: {named}");
}

#[test]
fn an_event_is_declared_once_and_begins_before_it_ends() {
    for (at, kind) in EVENTS.iter().enumerate() {
        assert!(EVENTS[..at].iter().all(|other| other.name != kind.name), "{}", kind.name);
        let both = kind.has.iter().find(|field| kind.may_have.contains(field));
        assert!(both.is_none(), "{}: {both:?}", kind.name);
        if let Some(subject) = kind.name.strip_suffix(".stop").or(kind.name.strip_suffix(".exception")) {
            assert!(EVENTS[..at].iter().any(|other| other.name == format!("{subject}.start")), "{subject}");
        }
    }
}
