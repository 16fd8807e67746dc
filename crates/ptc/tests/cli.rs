//! The command as people and scripts meet it: the real binary, its output and its exit codes.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ptc_runner::model;
use serde_json::{Value, json};

#[path = "cli/agents.rs"]
mod agents;
#[path = "cli/approval.rs"]
mod approval;
#[path = "cli/attached.rs"]
mod attached;
#[path = "cli/backing.rs"]
mod backing;
#[path = "cli/contracts.rs"]
mod contracts;
#[path = "cli/counted.rs"]
mod counted;
#[path = "../../ptc-store/tests/it/eventually.rs"]
mod eventually;
#[path = "cli/examples.rs"]
mod examples;
#[path = "cli/figures.rs"]
mod figures;
// Tests of the servers use the rest of it.
#[allow(dead_code)]
#[path = "shared/flood.rs"]
mod flood;
#[path = "cli/inputs.rs"]
mod inputs;
#[path = "../../ptc-store/examples/journal/measured.rs"]
mod journal;
#[path = "cli/killed.rs"]
mod killed;
#[path = "cli/lent.rs"]
mod lent;
#[path = "cli/odd_servers.rs"]
mod odd_servers;
#[path = "cli/outside.rs"]
mod outside;
#[path = "cli/packaging.rs"]
mod packaging;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/picture.rs"]
mod picture;
#[path = "cli/plans.rs"]
mod plans;
#[path = "shared/port.rs"]
mod port;
#[path = "../../ptc-store/tests/it/postgres.rs"]
mod postgres;
#[path = "cli/preludes.rs"]
mod preludes;
#[path = "cli/recordings.rs"]
mod recordings;
#[path = "cli/repl.rs"]
mod repl;
#[path = "cli/resume.rs"]
mod resume;
#[path = "cli/setup.rs"]
mod setup;
#[path = "cli/setup_places.rs"]
mod setup_places;
#[path = "cli/setup_rules.rs"]
mod setup_rules;
#[path = "cli/setup_undo.rs"]
mod setup_undo;
#[path = "shared/shell_server.rs"]
mod shell_server;
#[path = "../../ptc-store/tests/it/skip.rs"]
mod skip;
#[path = "cli/stores.rs"]
mod stores;
#[path = "cli/stores_looked_at.rs"]
mod stores_looked_at;
#[path = "../../ptc-agent/tests/runs/tokens.rs"]
mod tokens;
#[path = "cli/upstreams.rs"]
mod upstreams;
#[path = "cli/words.rs"]
mod words;
#[path = "cli/worker.rs"]
mod worker;
#[path = "cli/world.rs"]
mod world;

/// What a run of the command gave.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn ptc(args: &[&str]) -> Ran {
    with_input(args, "")
}

fn with_input(args: &[&str], input: impl AsRef<[u8]>) -> Ran {
    with_env(args, input, &[])
}

fn with_env(args: &[&str], input: impl AsRef<[u8]>, env: &[(&str, &str)]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptc"));
    command
        .args(args)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.as_ref().to_vec();
    // A command that does not read its input closes the pipe, which is its right.
    let writer = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = child.wait_with_output().expect("the command ends");
    let _ = writer.join();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Ran {
        code: output.status.code().expect("it was not killed"),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}

/// A file for one test.
fn file(name: &str, content: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, content).expect("a temporary file");
    path.to_str().expect("UTF-8").to_owned()
}

/// Answers of a batch.
fn batch(args: &[&str], lines: &[Value]) -> Vec<Value> {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    batch_text(args, input.as_bytes())
}

fn batch_text(args: &[&str], input: &[u8]) -> Vec<Value> {
    let args: Vec<&str> = ["eval", "--batch"].into_iter().chain(args.iter().copied()).collect();
    let ran = with_input(&args, input);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

mod eval {
    use super::*;

    #[test]
    fn programs_come_from_a_flag_a_file_or_standard_input() {
        let path = file("program.clj", "(def xs [1 2 3])\n(reduce + xs)\n");
        for ran in [
            ptc(&["eval", "-e", "(reduce + [1 2 3])"]),
            ptc(&["eval", &path]),
            with_input(&["eval"], "(+ 1 2 3)"),
            with_input(&["eval", "-"], "(+ 1 2 3)"),
        ] {
            assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "6\n", ""));
        }
    }

    #[test]
    fn prints_come_before_the_value() {
        let ran = ptc(&["eval", "-e", "(println \"a\" 1) (println \"b\") :done"]);
        assert_eq!(ran.out, "a 1\nb\n:done\n");
    }

    #[test]
    fn large_integers_in_inputs_stay_exact() {
        let big = "[18446744073709551616, -123456789012345678901234567890]";
        let ran = ptc(&["eval", "-e", "(map inc data/x)", "--data", &format!("x={big}")]);
        assert_eq!(ran.out, "(18446744073709551617 -123456789012345678901234567889)\n");
        let line = format!(r#"{{"id": 1, "src": "(first data/x)", "data": {{"x": {big}}}}}"#);
        let ran = with_input(&["eval", "--batch"], &line);
        assert!(ran.out.contains(r#""value":"18446744073709551616""#), "{}", ran.out);
    }

    #[test]
    fn exit_codes_tell_outcomes_apart() {
        let cases: &[(&[&str], i32)] = &[
            (&["-e", "(return 1)"], 0),
            (&["-e", "(/ 1 0)"], 1),
            (&["-e", "(undefined-name)"], 1),
            (&["-e", "(fail {:reason :no})"], 1),
            (&["-e", "1", "--bogus"], 2),
            (&["no-such-file.clj"], 2),
            (&["-e", "(loop [] (recur))", "--fuel", "10k"], 3),
            (&["-e", "(vec (range 1000000))", "--memory", "1mb"], 3),
            (&["-e", "(loop [] (recur))", "--fuel", "1000g", "--timeout", "50ms"], 3),
        ];
        for (args, code) in cases {
            let args: Vec<&str> = ["eval"].into_iter().chain(args.iter().copied()).collect();
            let ran = ptc(&args);
            assert_eq!(ran.code, *code, "{args:?}: {}{}", ran.out, ran.err);
        }
    }

    #[test]
    fn errors_show_the_place_on_standard_error() {
        let ran = ptc(&["eval", "-e", "(println 1)\n(+ 1 (/ 4 0))"]);
        assert_eq!(ran.out, "1\n");
        assert_eq!(
            ran.err,
            "arithmetic_error: Divide by zero\n --> -e:2:6\n  |\n2 | (+ 1 (/ 4 0))\n  |      ^^^^^^^\n  \
             = help: look at the divisor first: (if (zero? d) nil (/ n d))\n"
        );
        let ran = ptc(&["eval", "-e", "(fail {:reason :no})"]);
        assert_eq!((ran.out.as_str(), ran.err.as_str()), ("", "failed: {:reason :no}\n"));
    }

    #[test]
    fn inputs_are_json_in_place_or_in_a_file() {
        let path = file("orders.json", r#"[{"id": 1, "total": 2.5}, {"id": 2, "total": 4}]"#);
        let orders = format!("orders=@{path}");
        let program = "[(reduce + (map :total data/orders)) data/region]";
        let ran = ptc(&["eval", "-e", program, "--data", &orders, "--data", "region=\"north\""]);
        assert_eq!(ran.out, "[6.5 \"north\"]\n", "{}", ran.err);
    }

    #[test]
    fn the_clock_and_the_seed_can_be_set() {
        let now = "(System/currentTimeMillis)";
        assert_eq!(ptc(&["eval", "-e", now, "--now", "1700000000000"]).out, "1700000000000\n");
        assert_eq!(ptc(&["eval", "-e", now, "--now", "1970-01-01T00:00:02Z"]).out, "2000\n");
        let dice = |seed: &str| ptc(&["eval", "-e", "(rand-int 1000000000)", "--seed", seed]).out;
        assert_eq!(dice("7"), dice("7"));
        assert_ne!(dice("7"), dice("8"));
    }

    #[test]
    fn json_has_everything_in_one_object() {
        let ran = ptc(&["eval", "-e", "(println \"hi\") {:a [1 2.5 nil]}", "--json"]);
        let answer: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!(
            answer,
            json!({"ok": true, "value": "{:a [1 2.5 nil]}", "json": {"a": [1, 2.5, null]}, "prints": ["hi"]})
        );
        let ran = ptc(&["eval", "-e", "(+ 1\n \"a\")", "--json", "--stats"]);
        let answer: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!(answer["error"]["kind"], "type_error");
        assert_eq!((&answer["error"]["line"], &answer["error"]["column"]), (&json!(1), &json!(1)));
        assert!(answer["stats"]["fuel"].is_u64() && answer["stats"]["ms"].is_f64(), "{answer}");
        assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    }

    #[test]
    fn a_misspelt_input_is_refused_before_the_program_runs() {
        let program = "(println \"ran\") (count data/ordrs)";
        for command in [&["eval"][..], &["eval", "--check"], &["check"]] {
            let args = [command, &["-e", program, "--data", "orders=[1, 2]"]].concat();
            let ran = ptc(&args);
            assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{args:?}");
            assert!(ran.err.contains("there is no input data/ordrs"), "{}", ran.err);
            assert!(ran.err.contains("inputs are orders"), "{}", ran.err);
        }
        assert_eq!(ptc(&["eval", "-e", "(count data/orders)", "--data", "orders=[1, 2]"]).out, "2\n");
        assert_eq!(ptc(&["eval", "--check", "-e", "(count data/orders)"]).code, 0, "no inputs are known");
    }

    #[test]
    fn keys_of_json_are_texts_and_none_is_lost() {
        let answer = |program: &str| {
            let ran = ptc(&["eval", "-e", program, "--json"]);
            let answer: Value = serde_json::from_str(&ran.out).expect("JSON");
            (answer, ran.code)
        };
        let (dated, _) = answer("{(LocalDate/parse \"2025-01-01\") 1 true 2 nil 3 :k 4 1.5 5}");
        assert_eq!(dated["json"], json!({"2025-01-01": 1, "true": 2, "nil": 3, "k": 4, "1.5": 5}));
        let (clash, code) = answer("{:m {1 :x \"1\" :y}}");
        assert_eq!((&clash["ok"], code), (&json!(false), 1), "{clash}");
        let message = clash["error"]["message"].as_str().expect("a message");
        assert!(message.ends_with("two keys that are one in JSON, 1 and \"1\" (at m)"), "{message}");
    }

    #[test]
    fn stats_go_to_standard_error() {
        let ran = ptc(&["eval", "-e", "(+ 1 2)", "--stats"]);
        assert_eq!(ran.out, "3\n");
        for part in ["fuel ", "live bytes ", "time ", "tool calls 0"] {
            assert!(ran.err.contains(part), "{}", ran.err);
        }
    }

    #[test]
    fn check_runs_nothing_and_lists_the_tools() {
        let tools = file("check-tools.json", r#"{"search": {"default": []}, "gh/pr": {"default": 1}}"#);
        let cases = [
            ("(println 1) (+ 1 2)", 0, "ok, calls no tools\n"),
            ("(tool/search {:q \"a\"})", 0, "ok, may call search once\n  search {\"q\":\"a\"}, once\n"),
            (
                "(tool/search {:q data/x :n 1})",
                0,
                "ok, may call search once\n  search {\"n\":1} and more, once\n",
            ),
            ("(map #(tool/search {:q %}) [1 2])", 0, "ok, may call search\n  search, any number of times\n"),
            ("(map tool/search [{}])", 0, "ok, may call search\n  search, any number of times\n"),
            (
                "(tool/search) (tool/call {:server \"gh\" :tool \"pr\" :args {:n data/n :user-id 1}})",
                0,
                "ok, may call call, search, at most 2 times in all\n  search {}, once\n  \
                 call {\"server\":\"gh\",\"tool\":\"pr\",\"args\":{\"user_id\":1}} and more, once\n",
            ),
            ("(tool/serch {})", 1, ""),
        ];
        for (source, code, out) in cases {
            let ran = ptc(&["eval", "--check", "-e", source, "--tools", &tools]);
            assert_eq!((ran.code, ran.out.as_str()), (code, out), "{source}: {}", ran.err);
        }
        let ran = ptc(&["eval", "--check", "-e", "(tool/search {})", "--tools", &tools, "--json"]);
        let answer: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!(
            (&answer["ok"], &answer["tools"], &answer["max_calls"]),
            (&json!(true), &json!(["search"]), &json!(1))
        );
        let ran = ptc(&["eval", "--check", "-e", "(foo)", "--json"]);
        let answer: Value = serde_json::from_str(&ran.out).expect("JSON");
        assert_eq!((&answer["ok"], &answer["error"]["kind"]), (&json!(false), &json!("unbound_var")));
    }

    #[test]
    fn canned_tools_come_from_a_file() {
        let tools = file(
            "tools.json",
            r#"{"search": {"cases": [[{"q": "a"}, [1, 2]]], "default": []},
                "gh/pr": {"default": {"title": "x"}}}"#,
        );
        let program = "[(tool/search {:q \"a\"}) (tool/search {:q \"b\"})
                        (:value (tool/call {:server \"gh\" :tool \"pr\"}))]";
        let ran = ptc(&["eval", "-e", program, "--tools", &tools]);
        assert_eq!(ran.out, "[[1 2] [] {:title \"x\"}]\n", "{}", ran.err);
        let both =
            file("both.json", r#"{"tools": {"f": {"default": 1}}, "upstream": {"s/t": {"default": 2}}}"#);
        let ran = ptc(&[
            "eval",
            "-e",
            "[(tool/f {}) (:value (tool/call {:server \"s\" :tool \"t\"}))]",
            "--tools",
            &both,
        ]);
        assert_eq!(ran.out, "[1 2]\n", "{}", ran.err);
    }

    #[test]
    fn canned_tools_whose_integers_would_be_rounded_are_refused() {
        let refused = "the integer 36893488147419103232123 does not fit 64 bits and would be rounded";
        let tools = file("large.json", r#"{"t": {"default": {"id": 36893488147419103232123}}}"#);
        let ran = ptc(&["eval", "-e", "(tool/t {})", "--tools", &tools]);
        assert_eq!((ran.code, ran.err.contains(refused)), (2, true), "{}", ran.err);
        let line = r#"{"id": 1, "src": "(tool/t {})", "tools": {"t": {"default": 36893488147419103232123}}}"#;
        let message = batch_text(&[], line.as_bytes())[0]["error"]["message"].to_string();
        assert!(message.contains(refused), "{message}");
        let line = r#"{"id": 1, "src": "(inc data/n)", "data": {"n": 36893488147419103232123}}"#;
        assert_eq!(batch_text(&[], line.as_bytes())[0]["value"], "36893488147419103232124", "data is exact");
    }
}

mod usage {
    use super::*;

    #[test]
    fn help_explains_exit_codes_tools_and_batches() {
        let ran = ptc(&["eval", "--help"]);
        assert_eq!(ran.code, 0);
        for part in
            ["Exit codes:", "Canned tools", "Batch (--batch)", "Examples:", "--data <NAME=JSON|NAME=@FILE>"]
        {
            assert!(ran.out.contains(part), "{part} in {}", ran.out);
        }
        for part in ["\nLimits:\n", "--timeout <DURATION>", "\nUpstreams:\n", "\nTraces and recordings:\n"] {
            assert!(ran.out.contains(part), "{part} in {}", ran.out);
        }
        let all = ptc(&["--help"]).out;
        for part in ["ptc eval -e", "\nAgents:\n", "\nPrograms:\n", "\nMCP servers:\n"] {
            assert!(all.contains(part), "{part} in {all}");
        }
        assert_eq!(ptc(&["help"]).out, all);
    }

    #[test]
    fn mistakes_are_named_exactly() {
        let bad = file("bad.json", "{");
        let list = file("list.json", "[]");
        let data = format!("x=@{bad}");
        let cases: &[(&[&str], &str)] = &[
            (&["eval", "--fule", "1"], "unexpected argument '--fule' found"),
            (&["eval", "-e", "1", "--data", "x"], "write name=JSON or name=@file.json"),
            (&["eval", "-e", "1", "--data", "=1"], "the name before `=` is missing"),
            (
                &["eval", "-e", "1", "--data", "x=north"],
                "`north` is not JSON: bad JSON at line 1, column 1: expected a value; quote text like '\"this\"'",
            ),
            (&["eval", "-e", "1", "--data", "x=@none.json"], "cannot read none.json: No such file"),
            (
                &["eval", "-e", "1", "--data", &data],
                "bad.json is not JSON: bad JSON at line 1, column 2: expected a key in double quotes",
            ),
            (
                &["eval", "-e", "1", "--memory", "64parsecs"],
                "unknown unit `parsecs`; write a size like 65536, 512kb, 64mb or 1gb",
            ),
            (
                &["eval", "-e", "1", "--timeout", "soon"],
                "unknown unit `soon`; write a duration like 500ms, 10s, 2m, 12h or 7d",
            ),
            (
                &["eval", "-e", "1", "--fuel", "much"],
                "unknown unit `much`; write a number like 1000000, 1_000_000 or 50m",
            ),
            (&["eval", "-e", "1", "--now", "noon"], "write milliseconds since 1970 or a moment like"),
            (&["eval", "-e", "1", "--tools", "none.json"], "ptc: --tools: cannot read none.json"),
            (&["eval", "-e", "1", "--tools", &list], "must be an object of tool names"),
            (&["eval", "-e", "1", "--batch"], "cannot be used with"),
            (&["eval", "none.clj"], "ptc: cannot read none.clj: No such file"),
            (&["frobnicate"], "unrecognized subcommand 'frobnicate'"),
        ];
        for (args, message) in cases {
            let ran = ptc(args);
            assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
            assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
        }
    }

    #[test]
    fn inputs_that_do_not_fit_the_memory_are_a_limit() {
        let large = file("large.json", &format!("[{}0]", "\"abcdefghijklmnopqrstuvwxyz\",".repeat(40_000)));
        let (large, args) = (format!("x=@{large}"), ["eval", "-e", "1", "--memory", "1mb", "--data"]);
        let message = "--data x: that is more than fits the memory of a program: the JSON takes more than";
        let ran = ptc(&[args.as_slice(), &[large.as_str()]].concat());
        assert_eq!(ran.code, 3, "{}", ran.err);
        assert!(ran.err.contains(message) && ran.err.contains("--memory 256mb gives more"), "{}", ran.err);
        let ran = ptc(&[args.as_slice(), &[large.as_str(), "--json"]].concat());
        let answer: Value = serde_json::from_str(&ran.out).expect("a document");
        assert_eq!((ran.code, &answer["error"]["kind"]), (3, &json!("memory_exceeded")), "{answer}");
        assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains(message)), "{answer}");
    }
}

mod batches {
    use super::*;

    #[test]
    fn lines_are_answered_in_order() {
        let answers = batch(
            &[],
            &[
                json!({"id": 1, "src": "(+ 1 data/x)", "data": {"x": 2}}),
                json!({"id": "two", "src": "(println :a) (return {:k [1]})"}),
                json!({"id": null, "src": "(fail \"no\")"}),
                json!({"src": "(+ 1 \"a\")"}),
            ],
        );
        assert_eq!(answers[0], json!({"id": 1, "ok": true, "value": "3", "json": 3}));
        assert_eq!(
            answers[1],
            json!({"id": "two", "ok": true, "value": "{:k [1]}", "json": {"k": [1]}, "signal": "return", "prints": [":a"]})
        );
        assert_eq!(
            answers[2],
            json!({"id": null, "ok": true, "value": "\"no\"", "json": "no", "signal": "fail"})
        );
        let error = &answers[3]["error"];
        assert_eq!((&answers[3]["id"], &answers[3]["ok"]), (&Value::Null, &json!(false)));
        assert_eq!(
            (&error["kind"], &error["line"], &error["column"]),
            (&json!("type_error"), &json!(1), &json!(1))
        );
        assert!(error["message"].is_string() && error["hint"].is_string(), "{error}");
    }

    #[test]
    fn programs_know_nothing_of_each_other() {
        let answers = batch(&[], &[json!({"id": 1, "src": "(def x 1) *1"}), json!({"id": 2, "src": "x"})]);
        assert_eq!(answers[0]["value"], "nil");
        assert_eq!(answers[1]["error"]["kind"], "unbound_var");
    }

    #[test]
    fn lines_that_make_no_sense_are_answered() {
        let deep = format!(
            "{{\"id\": 7, \"src\": \"1\", \"data\": {{\"x\": {}{}}}}}",
            "[".repeat(5_000),
            "]".repeat(5_000)
        );
        let lines = [
            "not json",
            "\"text\"",
            "{\"id\": 3}",
            "{\"id\": 4, \"src\": 5}",
            "{\"id\": 5, \"src\": \"1\", \"data\": [1]}",
            "{\"id\": 6, \"src\": \"1\", \"tools\": {\"t\": 5}}",
            &deep,
            "",
            "{\"id\": 9, \"src\": \"(inc 8)\"}",
        ];
        let mut input = lines.join("\n").into_bytes();
        input.extend(b"\n{\"id\": 10, \"src\": \"\xff\"}\n{\"id\": 11, \"src\": \"11\"}");
        let answers = batch_text(&[], &input);
        let ids: Vec<Value> = answers.iter().map(|answer| answer["id"].clone()).collect();
        assert_eq!(json!(ids), json!([null, null, 3, 4, 5, 6, 7, 9, 10, 11]));
        let kinds: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["kind"]).collect();
        let (bad, none) = (json!("invalid_line"), Value::Null);
        assert_eq!(kinds, [&bad, &bad, &bad, &bad, &bad, &bad, &bad, &none, &bad, &none]);
        let message = |at: usize| answers[at]["error"]["message"].as_str().expect("text").to_owned();
        assert!(message(0).starts_with("line 1 is not JSON: "), "{}", message(0));
        assert_eq!(message(2), "line 3: \"src\" must be the text of a program");
        assert_eq!(message(4), "line 5: \"data\" must be an object of inputs by name");
        assert!(message(5).starts_with("line 6: `tools` describes `t` wrongly: "), "{}", message(5));
    }

    /// Programs that try to break out, and how each ends: an error of this kind, or any answer.
    const HOSTILE: &[(&str, &str)] = &[
        ("(loop [] (recur))", "fuel_exceeded"),
        ("(defn f [n] (+ 1 (f n))) (f 1)", "memory_exceeded"),
        ("(try (loop [] (recur)) (catch Throwable t 1))", "fuel_exceeded"),
        ("(reduce (fn [a _] [a]) [] (range 100000))", "nesting_too_deep"),
        ("(vec (repeat 1000000 \"x\"))", "memory_exceeded"),
        ("(loop [s \"xxxxxxxxxxxxxxxx\"] (recur (str s s)))", "memory_exceeded"),
        (
            "(dotimes [i 1000000] (println \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"))",
            "output_exceeded",
        ),
        ("(format \"%1000000000d\" 5)", "illegal_argument"),
        ("(throw (throw (ex-info \"x\" {})))", "exception"),
        ("(tool/anything {})", "unknown_tool"),
        ("\u{0}\u{202e}", "parse_error"),
    ];

    #[test]
    fn hostile_programs_end_with_an_error_of_their_own() {
        let mut lines: Vec<Value> =
            HOSTILE.iter().enumerate().map(|(id, (source, _))| json!({"id": id, "src": source})).collect();
        lines.push(json!({"id": "last", "src": ":still-here"}));
        let answers = batch(&["--fuel", "5m", "--memory", "4mb", "--timeout", "60s"], &lines);
        for ((source, kind), answer) in HOSTILE.iter().zip(&answers) {
            assert_eq!(answer["error"]["kind"], *kind, "{source}: {answer}");
        }
        assert_eq!(answers[HOSTILE.len()]["value"], ":still-here");
    }

    #[test]
    fn texts_that_become_deep_trees_are_refused() {
        let nested =
            |open: &str, close: &str, times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
        let flat = |head: &str, part: &str, times: usize| format!("({head}{})", part.repeat(times));
        let sources = [
            nested("(", ")", 100_000),
            nested("[", "]", 100_000),
            nested("'", "", 100_000),
            nested("(do ", ")", 100_000),
            flat("-> 1", " inc", 50_000),
            flat("->> 1", " inc", 50_000),
            flat("some-> 1", " inc", 50_000),
            flat(".. \"a\"", " toString", 50_000),
            flat("cond", " false 1", 50_000),
            flat("condp = 1", " 2 3", 50_000),
            format!("(case 1 {})", (0..5_000).map(|n| format!("{n} :x ")).collect::<String>()),
            format!("(for [{}] 1)", "x [1] ".repeat(20_000)),
            format!("(doseq [{}] 1)", "x [1] ".repeat(20_000)),
            nested(&format!("(cond {} :else ", "false 1 ".repeat(100)), ")", 200),
        ];
        let lines: Vec<Value> = sources.iter().map(|source| json!({"src": source})).collect();
        for (source, answer) in sources.iter().zip(batch(&["--timeout", "60s"], &lines)) {
            assert_eq!(answer["error"]["kind"], "nesting_too_deep", "{:.40}: {answer}", source);
        }
    }

    #[test]
    fn large_flat_texts_get_an_answer() {
        let sources = [
            format!("(+ {})", "1 ".repeat(300_000)),
            format!("[{}]", "[] ".repeat(100_000)),
            format!("(and {})", "true ".repeat(50_000)),
            format!("(let [{}] 1)", (0..20_000).map(|n| format!("x{n} {n} ")).collect::<String>()),
            (0..20_000).map(|n| format!("(undefined-{n}) ")).collect(),
        ];
        let lines: Vec<Value> = sources.iter().map(|source| json!({"src": source})).collect();
        let answers = batch(&["--timeout", "60s"], &lines);
        let kinds: Vec<&Value> = answers.iter().map(|answer| &answer["error"]["kind"]).collect();
        let none = Value::Null;
        assert_eq!(kinds, [&json!("program_too_large"), &none, &none, &none, &json!("unbound_var")]);
        let message = answers[4]["error"]["message"].as_str().expect("text");
        assert!(message.ends_with("undefined-7 and more"), "{message}");
    }
}

mod tools {
    use super::*;

    /// The answer to a program with canned tools.
    fn answer(source: &str, tools: Value) -> Value {
        batch(&[], &[json!({"id": 1, "src": source, "tools": tools})]).remove(0)
    }

    fn upstream(source: &str, upstream: Value) -> Value {
        batch(&[], &[json!({"id": 1, "src": source, "upstream": upstream})]).remove(0)
    }

    #[test]
    fn equal_arguments_are_answered_in_order_and_the_last_repeats() {
        let search = json!({"cases": [[{"q": "a"}, 1], [{"q": "b"}, 10], [{"q": "a"}, 2]], "default": null});
        let source = "[(tool/s {:q \"a\"}) (tool/s {:q \"a\"}) (tool/s {:q \"a\"}) (tool/s {:q \"b\"}) (tool/s {:q \"c\"})]";
        let answer = answer(source, json!({"s": search}));
        assert_eq!(answer["json"], json!([1, 2, 2, 10, null]));
        let asked: Vec<&Value> =
            answer["calls"].as_array().expect("calls").iter().map(|call| &call["args"]["q"]).collect();
        assert_eq!(asked, ["a", "a", "a", "b", "c"]);
        assert_eq!(answer["calls"][0], json!({"tool": "s", "args": {"q": "a"}}));
    }

    #[test]
    fn arguments_are_compared_as_json() {
        let cases = json!({"cases": [[{"user_id": 1, "tags": ["x"], "deep": {"a_b": "c"}}, "hit"]], "default": "miss"});
        let sources = [
            ("(tool/f {:deep {:a-b :c} :tags '(:x) :user-id 1.0})", "hit"),
            ("(tool/f :user-id 1 :tags [\"x\"] :deep {\"a_b\" \"c\"})", "hit"),
            ("(tool/f {:user_id 2 :tags [\"x\"] :deep {:a_b \"c\"}})", "miss"),
        ];
        for (source, expected) in sources {
            assert_eq!(answer(source, json!({"f": cases}))["json"], expected, "{source}");
        }
    }

    #[test]
    fn a_tool_that_raises_can_be_caught() {
        let tools = json!({"f": {"default": {"$raise": "boom"}}});
        let raised = answer("(tool/f {})", tools.clone());
        assert_eq!(raised["error"]["kind"], "tool_error");
        assert_eq!(raised["error"]["message"], "tool f failed: boom");
        assert_eq!(raised["calls"], json!([{"tool": "f", "args": {}}]));
        let caught = answer("(try (tool/f {}) (catch Exception e (ex-message e)))", tools);
        assert_eq!(caught["json"], "tool f failed: boom");
    }

    #[test]
    fn hyphens_find_underscores() {
        let answer = answer("(tool/get-user {:id 1})", json!({"get_user": {"default": "x"}}));
        assert_eq!((&answer["json"], &answer["calls"][0]["tool"]), (&json!("x"), &json!("get_user")));
    }

    #[test]
    fn only_granted_tools_are_there() {
        assert_eq!(answer("(tool/g {})", json!({"f": {"default": 1}}))["error"]["kind"], "unknown_tool");
        assert_eq!(answer("(tool/call {})", json!({"f": {"default": 1}}))["error"]["kind"], "unknown_tool");
        let unanswered = answer("(tool/f {:x 1})", json!({"f": {"cases": []}}));
        assert_eq!(unanswered["error"]["message"], "tool f failed: no canned answer for {\"x\":1}");
    }

    #[test]
    fn parallel_calls_are_all_made() {
        let answer = answer(
            "(pmap #(tool/f {:i %}) (range 3))",
            json!({"f": {"cases": [[{"i": 1}, "one"]], "default": 0}}),
        );
        assert_eq!(answer["json"], json!([0, "one", 0]));
        assert_eq!(answer["calls"].as_array().map(Vec::len), Some(3));
    }

    #[test]
    fn upstreams_answer_in_tagged_form() {
        let stub = json!({
            "gh/pr": {
                "cases": [[{"n": 1}, {"title": "x"}], [{"n": 2}, "text"], [{"n": 3}, null]],
                "default": {"$fail": {"reason": "timeout", "message": "late"}}
            }
        });
        let cases = [
            ("{:n 1}", "{:ok true, :value {:title \"x\"}, :value_kind :json}"),
            ("{:n 2}", "{:ok true, :value \"text\", :value_kind :text}"),
            ("{:n 3}", "{:ok true, :value nil, :value_kind :none}"),
            ("{:n 4}", "{:ok false, :reason :timeout, :message \"late\"}"),
        ];
        for (args, expected) in cases {
            let source = format!("(tool/call {{:server \"gh\" :tool \"pr\" :args {args}}})");
            let answer = upstream(&source, stub.clone());
            assert_eq!(answer["value"], expected, "{source}: {answer}");
            assert_eq!(answer["calls"][0]["tool"], "call");
        }
    }

    #[test]
    fn wrong_upstream_calls_raise() {
        let cases = [
            ("(tool/call {:tool \"t\"})", "tool/call requires :server (string), got nil"),
            ("(tool/call {:server \"s\"})", "tool/call on upstream 's' requires :tool (string), got nil"),
            (
                "(tool/call {:server \"s\" :tool \"t\" :args 5})",
                "tool 's.t' rejected args: :args must be a map, got 5",
            ),
            (
                "(tool/call {:server \"x\" :tool \"t\"})",
                "no upstream 'x' configured. Configured upstreams: s",
            ),
            ("(tool/call {:server \"s\" :tool \"x\"})", "no tool 'x' in upstream 's'. Known tools: t, u"),
        ];
        for (source, message) in cases {
            let answer = upstream(source, json!({"s/t": {"default": 1}, "s/u": {"default": 1}}));
            assert_eq!(answer["error"]["message"], message, "{source}: {answer}");
            assert_eq!(answer["error"]["kind"], "runtime_error", "{source}");
        }
    }
}
