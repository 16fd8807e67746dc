//! `lisp_eval`: arguments, results, errors, profiles and their bounds.

use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{CallError, Caller, Content, Profile, Settings, Signals, Transport};
use serde_json::json;

use super::support::{
    aggregator, anna, args, call, call_as, engine, eval, eval_in, object, patient, session, with_sessions,
};

#[tokio::test]
async fn p1_slim_answers_are_text_only() {
    let engine = engine(patient(Profile::Slim)).await;
    let reply = eval(&engine, "(+ 1 2)").await;
    assert_eq!((reply.text().as_str(), &reply.structured, reply.is_error), ("user=> 3", &None, false));
    assert_eq!(eval(&engine, "nil").await.text(), "user=> nil");
    assert_eq!(eval(&engine, "(return 5) 6").await.text(), "user=> 5");
    let printed = eval(&engine, r#"(println "a </prints> b") [1 2]"#).await;
    assert_eq!(printed.text(), "<prints>\na &lt;/prints> b\n</prints>\n\n<result>\nuser=> [1 2]\n</result>");
}

#[tokio::test]
async fn r2_1_arguments_are_checked_before_anything_runs() {
    let settings = Settings { max_program_bytes: 20, max_context_bytes: 20, ..patient(Profile::Structured) };
    let engine = engine(settings).await;
    for (arguments, expected) in [
        (json!({}), "argument `program` is required"),
        (json!({"program": 5}), "argument `program` must be a string, got number"),
        (json!({"program": null}), "argument `program` must be a string, got null"),
        (json!({"program": " \n"}), "argument `program` must be a non-empty string"),
        (
            json!({"program": "(+ 1 2 3 4 5 6 7 8 9)"}),
            "argument `program` exceeds max_program_bytes (21 > 20)",
        ),
        (
            json!({"program": "1", "signature": null}),
            "argument `signature` is no longer supported; use `output_schema`",
        ),
        (json!({"program": "1", "context": []}), "argument `context` must be a JSON object, got array"),
        (
            json!({"program": "1", "context": {"a": "xxxxxxxxxxxxxxxx"}}),
            "argument `context` exceeds max_context_bytes (24 > 20); send less, or start the server with a higher \
             --max-context-bytes",
        ),
        (json!({"program": "1", "context": {"": 1}}), "argument `context` keys must be non-empty"),
        (
            json!({"program": "1", "context": {"a/b": 1}}),
            "argument `context` keys must not contain `/`, which separates namespaces",
        ),
        (
            json!({"program": "1", "output_schema": {"type": "date"}}),
            "argument `output_schema` is invalid: output_schema.type must be one of string, integer, number, \
             boolean, null, array, object",
        ),
    ] {
        let reply = call(&engine, "lisp_eval", arguments.clone()).await;
        assert!(reply.is_error, "{arguments}");
        assert_eq!(object(&reply)["reason"], "args_error", "{arguments}");
        assert_eq!(object(&reply)["message"], expected, "{arguments}");
    }
    let noted = json!({"program": "1", "context": null, "_meta": {"from": "a client"}});
    assert!(!call(&engine, "lisp_eval", noted).await.is_error, "notes of clients are ignored");
}

#[tokio::test]
async fn r2_2_5_errors_have_their_class() {
    let settings = Settings { program_memory_bytes: 2 << 20, ..patient(Profile::Structured) };
    let engine = engine(settings).await;
    for (program, reason) in [
        ("(+ 1", "parse_error"),
        ("(nope)", "runtime_error"),
        ("(inc)", "runtime_error"),
        ("(/ 1 0)", "runtime_error"),
        ("data/missing", "runtime_error"),
        ("(tool/call {:server \"a\" :tool \"b\"})", "runtime_error"),
        ("(loop [xs [1]] (recur (into xs xs)))", "memory_limit"),
        ("(fail {:why 1})", "fail"),
    ] {
        let reply = eval(&engine, program).await;
        assert_eq!(object(&reply)["reason"], reason, "{program}");
        assert!(reply.is_error && reply.text().starts_with(reason), "{}", reply.text());
        let kinds = ["unbound_var", "arity_error", "arithmetic_error", "unknown_tool", "memory_exceeded"];
        assert!(!kinds.iter().any(|kind| reply.text().contains(kind)), "one kind: {}", reply.text());
    }
    let missing = eval(&engine, "data/missing").await;
    assert!(missing.text().contains("data/missing"), "{}", missing.text());
    let quick = Settings { program_timeout: std::time::Duration::from_millis(50), ..patient(Profile::Slim) };
    let hasty = super::support::engine(quick).await;
    let late = eval(&hasty, "(loop [] (recur))").await;
    assert!(late.text().starts_with("timeout at 1:"), "{}", late.text());
}

#[tokio::test]
async fn a_program_whose_time_is_over_says_where_it_was() {
    let sessions = with_sessions(Profile::Slim, SessionSettings::default());
    let hasty = Settings { program_timeout: std::time::Duration::from_millis(300), ..sessions };
    let engine = aggregator(hasty).await;
    let session = session(&engine).await;
    let spins = "(defn spin [n]\n  (loop [i n]\n    (if (neg? i) i (recur (inc i)))))\n(+ 1\n   (spin 0))";
    let waits = "(+ 1\n   (count\n     (tool/call {:server \"crm\" :tool \"get\" :args {:wait 1}})))";
    let side_by_side = "(def xs\n  (pmap\n    (fn [n] (loop [] (recur)))\n    [1 2]))";
    for (program, lines) in [(spins, 2..=3), (waits, 3..=3), (side_by_side, 2..=3)] {
        for reply in [eval(&engine, program).await, eval_in(&engine, &session, program).await] {
            let text = reply.text();
            let line = text.strip_prefix("timeout at ").and_then(|rest| rest.split(':').next()?.parse().ok());
            assert!(line.is_some_and(|line: u32| lines.contains(&line)), "{program}: {text}");
        }
    }
    eval_in(&engine, &session, "(defn spin []\n\n\n  (loop [] (recur)))").await;
    let reply = eval_in(&engine, &session, "(+ 1\n (spin))").await;
    assert!(reply.text().starts_with("timeout at 2:"), "its own text: {}", reply.text());
}

#[tokio::test]
async fn r2_2_4_fail_shows_its_value() {
    let engine = engine(patient(Profile::Debug)).await;
    let reply = eval(&engine, r#"(println "seen") (fail {:why "no"})"#).await;
    let shown = object(&reply);
    assert_eq!(shown["message"], r#"{:why "no"}"#);
    assert_eq!((&shown["feedback"], &shown["result"]), (&shown["message"], &json!(r#"user=> {:why "no"}"#)));
    assert_eq!(shown["prints"], json!(["seen"]));
}

/// 8,192 bytes of a result, in every profile; what is longer is told as what it is, and never cut inside.
#[tokio::test]
async fn results_are_shown_whole_or_as_what_they_are_and_kept_as_a_resource() {
    for profile in [Profile::Slim, Profile::Structured, Profile::Debug] {
        let engine = engine(patient(profile)).await;
        let whole = eval(&engine, "(apply str (repeat 8190 \"x\"))").await;
        assert!(
            whole.text().contains(&"x".repeat(8190)) && !whole.text().contains("[truncated]"),
            "{profile:?}"
        );
        let longer = eval(&engine, "(apply str (repeat 8191 \"x\"))").await;
        assert!(longer.text().contains(";; string of 8,191 characters, "), "{profile:?}: {}", longer.text());
        assert!(!longer.text().contains(&"x".repeat(2_048)), "{profile:?}");
    }
    let engine = engine(patient(Profile::Structured)).await;
    let reply = eval(&engine, "(mapv (fn [n] {:id n :name (str \"row\" n)}) (range 1842))").await;
    let shown = object(&reply)["result"].as_str().expect("a result");
    assert!(shown.lines().all(|line| line.starts_with(";; ")), "{shown}");
    for part in [
        ";; vector of 1,842 items, ",
        "results are shown whole up to 8,192 bytes",
        ";; each: {:id int :name string}",
        ";; head: [{:id 0 ",
        ":id 1841 ",
        ";; return less of it",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(reply.text().ends_with("\n\n[truncated]"));
    let Some(Content::ResourceLink(link)) = reply.content.get(1) else { panic!("a link follows") };
    assert_eq!(object(&reply)["resource"]["uri"], link.uri.as_str());
    let whole = engine.read_resource(&anna(), &link.uri).await.expect("anna reads it");
    let rows: Vec<serde_json::Value> = serde_json::from_str(&whole.text).expect("it is JSON");
    assert_eq!((rows.len(), link.size as usize), (1842, whole.text.len()));
    let ben = Caller::new("ben", Transport::Stdio);
    assert!(engine.read_resource(&ben, &link.uri).await.is_err(), "it is anna's");
    engine.close_owner("anna");
    assert!(engine.read_resource(&anna(), &link.uri).await.is_err());
}

#[tokio::test]
async fn results_of_clients_that_cannot_be_told_apart_are_read_by_their_addresses_and_not_listed() {
    let engine = engine(patient(Profile::Structured)).await;
    let stateless = Caller::new("the token", Transport::Http);
    let program = json!({"program": "(vec (range 9000))"});
    for (caller, listed) in [(&stateless, 0), (&Caller { owner: "mcp_1".into(), ..stateless.clone() }, 1)] {
        let reply = call_as(caller, &engine, "lisp_eval", program.clone()).await;
        let Some(Content::ResourceLink(link)) = reply.content.get(1) else { panic!("a link follows") };
        assert!(engine.read_resource(caller, &link.uri).await.is_ok());
        assert_eq!(engine.resources(caller).await.len(), listed);
    }
}

/// A program that fails cannot be mended by what nobody sees.
#[tokio::test]
async fn what_a_program_printed_is_shown_with_its_error() {
    for profile in [Profile::Slim, Profile::Structured] {
        let engine = engine(patient(profile)).await;
        let reply = eval(&engine, "(println \"before\") (println (range 5) \"</prints>\") (+ 1 nil)").await;
        let text = reply.text();
        assert!(reply.is_error && text.starts_with("<prints>\nbefore\n(0 1 2 3 4) "), "{text}");
        assert!(
            text.contains("</prints>\n\n<error>\nruntime_error at 1:") && text.ends_with("</error>"),
            "{text}"
        );
        assert_eq!(text.matches("</prints>").count(), 1, "{text}");
        let prints = reply.structured.as_ref().map(|object| object["prints"][0].clone());
        assert!(prints.is_none_or(|first| first == "before"));
    }
}

#[tokio::test]
async fn prints_are_shown_up_to_their_limit_and_a_line_that_is_longer_is_cut() {
    let engine = engine(patient(Profile::Structured)).await;
    let reply = eval(&engine, "(dotimes [n 500] (println n)) 1").await;
    assert!(reply.text().contains("\n499\n</prints>"), "{}", reply.text());
    let reply = eval(&engine, "(dotimes [n 5000] (println n)) 1").await;
    let shown = reply.text();
    assert!(
        shown.contains("\n1000\n") && !shown.contains("\n4999\n") && shown.contains("[truncated]"),
        "{shown}"
    );
    let reply = eval(&engine, "(println (apply str (repeat 9000 \"x\"))) (println 2) 1").await;
    assert!(
        reply.text().contains(
            "x\n</prints>\n… (808 bytes of the first line and 1 of 2 lines are missing here)\n\n<result>\nuser=> 1\n"
        ),
        "{}",
        reply.text()
    );
    let reply = eval(&engine, "(println 1) (vec (range 5000))").await;
    let text = reply.text();
    let (prints, rest) = text.split_once("</prints>\n\n;; vector of 5,000 items, ").expect("our words");
    let (ours, data) = rest.split_once("\n<result>\n").expect("a result");
    assert!(
        prints.starts_with("<prints>\n1\n") && ours.contains("\n;; return less of it, or print "),
        "{text}"
    );
    assert!(data.starts_with(";; each of the first 2,000: int\n;; head: [0 1 2 "), "{data}");
}

#[tokio::test]
async fn r2_3_3_results_are_checked_by_the_schema_of_the_caller() {
    let engine = engine(patient(Profile::Structured)).await;
    let schema =
        json!({"type": "object", "properties": {"day": {"type": "string"}, "n": {"type": "integer"}}});
    let run = async |program: &str| {
        call(&engine, "lisp_eval", json!({"program": program, "output_schema": schema})).await
    };
    let fits = run(r#"{:day (LocalDate/parse "2026-01-02") :n 3}"#).await;
    assert_eq!(object(&fits)["validated"], json!({"day": "2026-01-02", "n": 3}));
    let keyed = run(r#"{:levels (sorted-map 1 2) :days {(LocalDate/parse "2026-01-02") 3}}"#).await;
    assert_eq!(object(&keyed)["validated"], json!({"levels": {"1": 2}, "days": {"2026-01-02": 3}}));
    let exact = run(r#"{:day 12345678901234567.89M}"#).await;
    assert_eq!(
        object(&exact)["validated"],
        json!({"day": "12345678901234567.89"}),
        "text where JSON has no such number"
    );
    for (program, message) in [
        ("{:n \"x\"}", "return.n: expected integer, got string"),
        (
            "{:n 123456789012345678901234567890}",
            "return.n: expected integer, got string (an integer beyond 64 bits is a text in JSON: ask for a string, or give \
             a smaller number)",
        ),
        ("{:f {:g inc}}", "validated value: non-JSON-encodable value at return.f.g"),
        (
            "{:m {1 2 \"1\" 3}}",
            "validated value: non-JSON-encodable value at return.m: a map with two keys that are one in JSON, 1 and \"1\"",
        ),
    ] {
        let reply = run(program).await;
        assert_eq!(object(&reply)["reason"], "validation_error", "{program}");
        assert_eq!(object(&reply)["message"], message, "{program}");
    }
}

#[tokio::test]
async fn structured_answers_nest_no_deeper_than_decoders_read() {
    let deep = |levels: usize| format!("(reduce (fn [a _] {{:a a}}) 1 (range {levels}))");
    for profile in [Profile::Slim, Profile::Structured, Profile::Debug] {
        let engine = engine(with_sessions(profile, SessionSettings::default())).await;
        let id = session(&engine).await;
        for (tool, mut ask) in [("lisp_eval", json!({})), ("lisp_session_eval", json!({"session_id": id}))] {
            ask["output_schema"] = json!({"type": "object"});
            for levels in [101, 250, 900] {
                ask["program"] = deep(levels).into();
                let refused = call(&engine, tool, ask.clone()).await;
                let told = refused.text();
                let expected =
                    "nests deeper than the 100 levels that structured answers may have, at return.a.a.a";
                assert!(refused.is_error && told.contains(expected) && told.contains("(pr-str v)"), "{told}");
            }
            ask["program"] = deep(100).into();
            let reply = call(&engine, tool, ask).await;
            let message =
                json!({"jsonrpc": "2.0", "result": {"structuredContent": reply.structured}}).to_string();
            assert!(
                !reply.is_error && serde_json::from_str::<serde_json::Value>(&message).is_ok(),
                "{}",
                reply.text()
            );
        }
        let free = eval(&engine, &deep(900)).await;
        assert!(!free.is_error, "as text it is what it is");
    }
}

#[tokio::test]
async fn r2_6_2_validated_is_exact_or_absent() {
    let schema = json!({"type": "array"});
    let run = async |profile, program: &str| {
        let engine = engine(patient(profile)).await;
        call(&engine, "lisp_eval", json!({"program": program, "output_schema": schema})).await
    };
    for profile in [Profile::Slim, Profile::Structured] {
        assert_eq!(run(profile, "[1 2]").await.text(), "[1,2]");
        let long = run(profile, "(vec (repeat 300 \"ab\"))").await.text();
        assert_eq!(
            serde_json::from_str::<Vec<String>>(&long).map(|list| list.len()).ok(),
            Some(300),
            "{long}"
        );
    }
    let exact = run(Profile::Structured, "(vec (repeat 30 \"ab\"))").await;
    assert_eq!(object(&exact)["validated"].as_array().map(Vec::len), Some(30));
    let larger = run(Profile::Structured, "(vec (range 10000))").await;
    let shown = object(&larger);
    assert!(shown.get("validated").is_none() && shown["validated_preview_truncated"] == true);
    assert_eq!(shown["validated_bytes"], json!(48_891));
    assert!(
        shown["validated_preview"].as_str().is_some_and(|text| text.contains("vector of 10,000 items")),
        "{shown}"
    );
    assert!(larger.text().ends_with("[truncated]"), "{}", larger.text());
    assert!(matches!(larger.content.get(1), Some(Content::ResourceLink(_))));
}

#[tokio::test]
async fn r2_6_4_envelopes_stay_within_their_size() {
    let noisy =
        "(dotimes [n 400] (println (apply str (repeat 1900 \"é\\\"\")))) (apply str (repeat 100000 \"x\"))";
    for (profile, most) in [(Profile::Slim, 48), (Profile::Structured, 96), (Profile::Debug, 512)] {
        let engine = engine(patient(profile)).await;
        for program in [noisy, &format!("{noisy} (fail (apply str (repeat 100000 \"é\")))")] {
            let reply = eval(&engine, program).await;
            let bytes = json!(reply.text()).to_string().len()
                + reply.structured.as_ref().map_or(0, |object| object.to_string().len());
            assert!(bytes <= most << 10, "{profile:?}: {bytes}");
            assert!(reply.text().contains("truncated"));
        }
    }
}

#[tokio::test]
async fn r2_5_3_debug_shows_everything_twice() {
    let engine = engine(patient(Profile::Debug)).await;
    let reply = eval(&engine, "(println 1) 2").await;
    assert_eq!(
        object(&reply),
        &json!({"status": "ok", "result": "user=> 2", "prints": ["1"], "feedback": "1\nuser=> 2",
                "truncated": false})
    );
    assert_eq!(reply.text(), object(&reply).to_string());
}

#[tokio::test]
async fn r2_11_fixed_answers_are_the_same_in_every_profile() {
    for profile in [Profile::Slim, Profile::Structured, Profile::Debug] {
        let engine = engine(patient(profile)).await;
        let reply = call(&engine, "lisp_nothing", json!({})).await;
        assert_eq!(object(&reply)["reason"], "unknown_tool");
        assert_eq!(object(&reply)["message"], "unknown tool: lisp_nothing");
        assert_eq!(object(&engine.cancelled(&Default::default()))["reason"], "cancelled");
        engine.drain();
        let drained = eval(&engine, "1").await;
        assert_eq!(object(&drained)["reason"], "shutting_down");
        assert!(!engine.ready(2));
    }
}

#[tokio::test]
async fn p3_one_call_too_many_is_busy_at_once_and_cancelling_frees_its_permit() {
    let engine =
        engine(Settings { max_concurrent_calls: 1, max_queued_calls: 0, ..patient(Profile::Structured) })
            .await;
    let signals = Signals::default();
    let (progress, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let slow = tokio::spawn({
        let signals = Signals { progress: Some(progress), ..signals.clone() };
        let engine = engine.clone();
        async move {
            engine.call(&anna(), "lisp_eval", args(json!({"program": "(loop [] (recur))"})), signals).await
        }
    });
    let report = reports.recv().await.expect("a long call reports");
    assert!(report.progress > 0.0, "{report:?}");
    assert_eq!(engine.metrics().in_flight, 1);
    let busy = eval(&engine, "1").await;
    assert_eq!(
        object(&busy)["message"],
        "server busy: 1 programs of yours run and 0 calls wait for their turn"
    );
    let wrong = call(&engine, "lisp_eval", json!({})).await;
    assert_eq!(object(&wrong)["reason"], "args_error", "arguments are checked before a permit is taken");
    signals.cancel.cancel();
    assert_eq!(slow.await.expect("it ends"), Err(CallError::Cancelled));
    assert_eq!(engine.metrics().in_flight, 0);
    assert_eq!(eval(&engine, "1").await.text(), "user=> 1");
}
