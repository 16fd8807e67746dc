//! Discovery forms: what the machine answers itself, what it asks the host, and what it refuses.

use ptc_lisp::machine::{Answer, Call, Machine, Step};
use ptc_lisp::{Error, ErrorKind, Limits};
use serde_json::{Value as Json, json};

/// Runs a program whose questions get `answer`; gives its value and the questions.
fn ask(source: &str, answer: &Json) -> (Result<String, Error>, Vec<Json>) {
    let mut machine = Machine::new(Limits { tool_calls: 0, ..Limits::default() });
    machine.set_discovery(true);
    let mut asked = Vec::new();
    if let Err(error) = machine.load(source) {
        return (Err(error), asked);
    }
    assert!(machine.manifest().uses.is_empty(), "{source}: questions are no tool calls");
    loop {
        match machine.run(u64::MAX) {
            Step::Yield => {}
            Step::Failed(error) => return (Err(error), asked),
            Step::Done(_) => {
                assert_eq!(machine.tool_calls(), 0, "{source}");
                return (Ok(machine.value()), asked);
            }
            Step::Calls(calls) => {
                for Call { id, tool, args, discovery } in calls {
                    assert!(discovery && tool == "discover", "{source}");
                    asked.push(args);
                    machine.answer(id, Answer::Value(answer.clone())).expect("it waits");
                }
            }
        }
    }
}

#[test]
fn what_is_not_known_here_is_asked_of_the_host() {
    let line = json!(["fs/read_file - Reads a file."]);
    let cases = [
        ("(tool/servers)", json!([{"name": "fs"}]), r#"[{"name" "fs"}]"#, json!({"op": "servers"})),
        ("(:name (first (tool/servers)))", json!([{"name": "fs"}]), r#""fs""#, json!({"op": "servers"})),
        (
            "(dir 'fs)",
            line.clone(),
            r#"["fs/read_file - Reads a file."]"#,
            json!({"op": "dir", "ref": "fs", "limit": 50, "offset": 0}),
        ),
        (
            "(dir \"fs\" {:limit 200 :offset 7})",
            json!([]),
            "[]",
            json!({"op": "dir", "ref": "fs", "limit": 200, "offset": 7}),
        ),
        ("(doc fs/read_file)", json!("Reads."), r#""Reads.""#, json!({"op": "doc", "ref": "fs/read_file"})),
        ("(doc 'fs/read_file)", json!(null), "nil", json!({"op": "doc", "ref": "fs/read_file"})),
        (
            "(meta fs/read_file)",
            json!({"server": "fs"}),
            r#"{"server" "fs"}"#,
            json!({"op": "meta", "ref": "fs/read_file"}),
        ),
        ("(meta \"fs/read_file\")", json!(null), "nil", json!({"op": "meta", "ref": "fs/read_file"})),
        (
            "(first (apropos \"read file\" {:limit 1 :load true}))",
            line.clone(),
            r#""fs/read_file - Reads a file.""#,
            json!({"op": "apropos", "query": "read file", "limit": 1, "load": true}),
        ),
        (
            "(str/starts-with? (second (apropos \"frequencies\")) \"local: frequencies - \")",
            line,
            "true",
            json!({"op": "apropos", "query": "frequencies", "limit": 8, "load": false}),
        ),
    ];
    for (source, answer, value, question) in cases {
        let (result, asked) = ask(source, &answer);
        assert_eq!(result.as_deref(), Ok(value), "{source}");
        assert_eq!(asked, [question], "{source}");
    }
}

#[test]
fn what_is_known_here_is_not_asked() {
    let cases = [
        ("(count (dir clojure.set))", "12"),
        ("(str/starts-with? (first (dir 'clojure.set {:offset 11})) \"u\")", "true"),
        ("(str/starts-with? (doc inc) \"clojure.core/inc\")", "true"),
        ("(do (defn f \"twice\" [x] x) (doc f))", "\"f\\n  [x]\\n  twice\""),
        ("(:ref (meta 'str/join))", "\"clojure.string/join\""),
        ("(:namespace (get (ns-publics 'clojure.set) 'union))", "\"clojure.set\""),
        ("(str/starts-with? (doc 'ptc/language) \"You write programs in PTC-Lisp\")", "true"),
        ("(str/includes? (doc ptc/tools) \"(tool/call {:server\")", "true"),
        ("(doc \"ptc/prelude\")", "\"ptc/prelude: no prelude is attached.\""),
        (
            "(map #(str/includes? (doc 'ptc) %) [\"ptc/language\" \"ptc/tools\" \"ptc/prelude\"])",
            "(true true true)",
        ),
        ("(meta 'x)", "nil"),
        ("(meta \"plain text\")", "nil"),
        ("(with-out-str (source nothing/here))", "\"no source available for nothing/here\\n\""),
    ];
    for (source, value) in cases {
        let (result, asked) = ask(source, &json!("asked"));
        assert!(asked.is_empty(), "{source} asks");
        assert_eq!(result.as_deref(), Ok(value), "{source}");
    }
}

#[test]
fn options_are_checked_before_anybody_is_asked() {
    let cases = [
        ("(apropos \"x\" {:limit 0})", "apropos :limit must be an integer 1..50, got 0"),
        ("(apropos \"x\" {:limit 51})", "apropos :limit must be an integer 1..50, got 51"),
        ("(apropos \"x\" {:load 1})", "apropos :load must be a boolean, got 1"),
        ("(apropos \"\")", "apropos requires query (non-empty string), got \"\""),
        ("(apropos 5)", "apropos requires query (non-empty string), got 5"),
        ("(dir 'fs {:limit 201})", "dir :limit must be an integer 1..200, got 201"),
        ("(dir 'fs {:limit \"x\"})", "dir :limit must be an integer 1..200, got \"x\""),
        ("(dir 'fs {:offset -1})", "dir :offset must be a non-negative integer, got -1"),
        ("(dir 'fs [])", "dir takes its options as a map, got []"),
    ];
    for (source, message) in cases {
        let (result, asked) = ask(source, &json!([]));
        let error = result.expect_err(source);
        assert_eq!((error.kind, error.text().as_str()), (ErrorKind::IllegalArgument, message), "{source}");
        assert!(asked.is_empty(), "{source} asks");
    }
}

#[test]
fn without_a_host_that_answers_unknown_references_are_errors() {
    for source in ["(tool/servers)", "(dir 'fs)", "(doc 'fs/read_file)"] {
        let mut machine = Machine::new(Limits::default());
        machine.load(source).expect("it compiles");
        let Step::Failed(error) = machine.run(u64::MAX) else { panic!("{source} goes on") };
        assert!(error.message.contains("needs a configured backend"), "{source}: {error}");
    }
}

#[test]
fn what_the_world_cannot_answer_is_nil_and_what_the_program_got_wrong_is_raised() {
    let mut machine = Machine::new(Limits::default());
    machine.set_discovery(true);
    let source = "[(dir 'a) (try (doc 'a/b) (catch Exception e (ex-message e)))]";
    machine.load(source).expect("it compiles");
    let mut answers = vec![
        Answer::Raise(Error::new(ErrorKind::Runtime, "no tool 'b' in upstream 'a'")),
        Answer::Fault { reason: "catalog_cap_exhausted".to_owned(), message: "no more".to_owned() },
    ];
    // A machine that waits for an answer can be written and loaded.
    for _ in 0..2 {
        let Step::Calls(calls) = machine.run(u64::MAX) else { panic!("it asks") };
        let bytes = machine.dump().expect("it is at rest");
        machine = Machine::load_dump(&bytes, &Limits::default()).expect("it loads");
        assert_eq!(machine.outstanding(), calls);
        machine.answer(calls[0].id, answers.pop().expect("two are asked")).expect("it waits");
    }
    assert!(matches!(machine.run(u64::MAX), Step::Done(_)));
    assert_eq!(machine.value(), r#"[nil "no tool 'b' in upstream 'a'"]"#);
}

#[test]
fn what_the_world_found_and_did_not_tell_is_counted() {
    let mut machine = Machine::new(Limits::default());
    machine.set_discovery(true);
    for (load, more) in [(true, 5), (true, 0), (false, 5)] {
        machine.load(&format!("(apropos \"zebra\" {{:limit 2 :load {load}}})")).expect("it compiles");
        let Step::Calls(calls) = machine.run(u64::MAX) else { panic!("it asks") };
        let told = json!({"found": ["zoo/feed - Feeds", "zoo/clean - Cleans"], "more": more, "most": 4_000});
        machine.answer(calls[0].id, Answer::Value(told)).expect("it waits");
        assert!(matches!(machine.run(u64::MAX), Step::Done(_)));
        let last = format!("… {more} more: (apropos \\\"zebra\\\" {{:limit {}}})", 2 + more);
        assert_eq!(machine.value().contains(&last), more > 0, "{}", machine.value());
        assert_eq!(machine.value().contains("more"), more > 0, "{}", machine.value());
    }
}

#[test]
fn a_tool_named_servers_is_a_tool() {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["servers".to_owned()]);
    machine.load("(tool/servers)").expect("it compiles");
    assert!(machine.manifest().allows("servers"));
    let Step::Calls(calls) = machine.run(u64::MAX) else { panic!("it calls") };
    assert!(!calls[0].discovery);
}

/// Whoever reads a page with a program is shown all of it.
#[test]
fn pages_fit_what_is_shown_of_a_result() {
    for (name, about) in ptc_lisp::pages::names() {
        assert!(!about.is_empty() && name.starts_with("ptc/"), "{name}");
        let Some(text) = ptc_lisp::pages::page(name) else { continue };
        assert!(text.len() < 8_000 && text.trim() == text, "{name} has {} bytes", text.len());
    }
}

#[test]
fn results_that_tell_what_there_is_are_known_by_the_call_that_told_it() {
    let told = |source: &str| {
        let mut machine = Machine::new(Limits::default());
        machine.load(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        assert!(matches!(machine.run(u64::MAX), Step::Done(_)), "{source}");
        machine.discovered().map(|discovered| discovered.call)
    };
    for source in [
        "(doc map)",
        "(dir clojure.set)",
        "(ns-publics 'clojure.set)",
        "(apropos \"map\" {:limit 50})",
        "(meta 'map)",
        "(describe [1 2 3])",
        "(subs (doc map) 3)",
        "(subvec (subvec (dir clojure.set) 2) 1)",
    ] {
        assert_eq!(told(source), Some(Some(source.to_owned())), "{source}");
    }
    assert_eq!(told("(return (doc map))"), Some(Some("(doc map)".to_owned())));
    // The call alone would not tell it again.
    for source in ["(def n 1) (subs (doc map) n)", "(let [n 1] (subs (doc map) n))"] {
        assert_eq!(told(source), Some(None), "{source}");
    }
    for source in ["(count (dir clojure.set))", "(str (doc map))", "\"(doc map)\"", "(subs \"abc\" 1)"] {
        assert_eq!(told(source), None, "{source}");
    }
}
