//! Files that nobody should trust.

use std::io::Cursor;

use ptc_trace::{ReadBounds, Trace, Tree, find, read_from};

use crate::support::Dir;

fn parsed(text: &str) -> Trace {
    read_from(Cursor::new(text.as_bytes()), ReadBounds::default()).unwrap()
}

#[test]
fn torn_foreign_and_unknown_lines_are_passed_over() {
    let text = concat!(
        "{\"event\":\"trace.start\",\"trace_id\":\"t\"}\n",
        "not json\n\n[1,2]\n{\"event\":\"\"}\n{\"no\":\"event\"}\n",
        "{\"event\":\"from.the.future\",\"span_id\":\"a\",\"schema_version\":99,\"new_field\":{}}\n",
        "{\"event\":\"run.start\",\"span_id\":\"a\"}\n",
        "{\"event\":\"run.stop\",\"span_id\":\"a\",\"sta",
    );
    let trace = parsed(text);
    assert_eq!((trace.records.len(), trace.bad_lines, trace.torn), (3, 4, true));
    let tree = Tree::of(&trace);
    assert_eq!((tree.nodes.len(), tree.loose.len(), tree.summary.status.as_str()), (1, 1, "running"));
    assert_eq!(
        usize::try_from(trace.bytes).unwrap(),
        text.rfind('\n').unwrap() + 1,
        "where to go on reading"
    );
}

#[test]
fn spans_that_lie_inside_each_other_make_no_cycle() {
    let line = |event: &str, id: &str, parent: &str| {
        format!("{{\"event\":\"{event}\",\"span_id\":\"{id}\",\"parent_span_id\":\"{parent}\"}}\n")
    };
    let mut text = line("a.start", "a", "b") + &line("b.start", "b", "a") + &line("c.start", "c", "c");
    // A ladder that is deeper than any stack.
    for level in 0..50_000 {
        text.push_str(&line("d.start", &format!("d{level}"), &format!("d{}", level - 1)));
    }
    let tree = Tree::of(&parsed(&text));
    assert_eq!(tree.walk().len(), 50_003, "every span is there once");
    assert!(tree.nodes.iter().all(|node| node.depth <= 201));
}

#[test]
fn what_is_longer_than_the_bounds_is_not_read() {
    let bounds = ReadBounds { bytes: 1_000, line_bytes: 50, events: 4 };
    let line = "{\"event\":\"x.start\",\"span_id\":\"a\"}\n";
    let read = |text: &str| read_from(Cursor::new(text.as_bytes()), bounds).unwrap();
    let many = read(&line.repeat(10));
    assert_eq!((many.records.len(), many.cut), (4, true));
    let long = format!("{{\"event\":\"{}\"}}\n{line}", "x".repeat(100));
    let long = read(&long);
    assert_eq!((long.records.len(), long.bad_lines), (1, 1));
    assert!(read(&" ".repeat(5_000)).cut);
    let deep = format!("{{\"event\":\"x\",\"data\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(parsed(&deep).bad_lines, 1);
}

#[test]
fn numbers_out_of_range_do_not_overflow() {
    let big = u64::MAX;
    let text = format!(
        "{{\"event\":\"llm.start\",\"span_id\":\"a\",\"timestamp\":{big},\"input_tokens\":{big}}}\n\
         {{\"event\":\"llm.start\",\"span_id\":\"b\",\"timestamp\":0,\"input_tokens\":{big}}}\n\
         {{\"event\":\"llm.stop\",\"span_id\":\"a\",\"timestamp\":0}}\n\
         {{\"event\":\"trace.stop\",\"data\":{{\"shed\":{big},\"omitted\":{big}}}}}\n\
         {{\"event\":\"trace.stop\",\"data\":{{\"shed\":{big},\"omitted\":{big}}}}}\n"
    );
    let tree = Tree::of(&parsed(&text));
    assert_eq!((tree.summary.input_tokens, tree.summary.duration_ms), (big, big));
}

#[test]
fn r13_27_only_plain_names_of_plain_files_are_found() {
    let dir = Dir::new("names");
    let outside = Dir::new("outside");
    std::fs::write(outside.0.join("secret.jsonl"), "").unwrap();
    std::fs::write(dir.0.join("fine.jsonl"), "").unwrap();
    std::fs::write(dir.0.join("other.txt"), "").unwrap();
    std::fs::create_dir(dir.0.join("dir.jsonl")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.0.join("secret.jsonl"), dir.0.join("link.jsonl")).unwrap();
    assert!(find(&dir.0, "fine.jsonl").is_some());
    let up = format!("../{}/secret.jsonl", outside.0.file_name().unwrap().to_str().unwrap());
    for name in
        ["other.txt", "dir.jsonl", "link.jsonl", "gone.jsonl", ".jsonl", "", "a\0.jsonl", &up, "/etc/x.jsonl"]
    {
        assert_eq!(find(&dir.0, name), None, "{name:?}");
    }
    assert_eq!(dir.names(), ["fine.jsonl"]);
}
