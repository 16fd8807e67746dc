//! The synchronous driver.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use ptc_host::{
    Answer, CallEnd, Cancel, ErrorKind, Limits, Program, ProgramEnd, STACK, Tool, Tools, run_at_once,
    run_blocking,
};
use serde_json::{Value, json};

/// Tools that answer with their arguments, fail in every way, or count.
fn tools() -> Tools {
    let number = |args: &Value| args["x"].as_i64().unwrap_or(0);
    Tools::new()
        .with("inc", Tool::quick(move |args| json!(number(&args) + 1)))
        .with("dec", Tool::blocking(move |args| json!(number(&args) - 1)))
        .with("echo", Tool::quick(|args| args))
        .with("broken", Tool::quick(|_| Err::<Value, _>("out of paper")))
        .with("panics", Tool::blocking(|_| -> Value { panic!("on purpose") }))
        .with("remote", Tool::quick(|_| Answer::upstream(json!([1]))))
        .with("offline", Tool::quick(|_| Answer::Fault { reason: "timeout".into(), message: "no".into() }))
}

fn value(source: &str) -> String {
    let outcome = run_blocking(&Program::new(source).tools(tools()));
    match outcome.result {
        Ok(_) => outcome.value,
        Err(error) => error.to_string(),
    }
}

#[test]
fn tools_answer_in_every_way() {
    let cases = [
        ("(tool/inc {:x 1})", "2"),
        ("(tool/dec {:x 1})", "0"),
        ("(tool/echo {:some-key [:a nil 1.5]})", "{:some_key [\"a\" nil 1.5]}"),
        ("(tool/remote {})", "{:ok true, :value [1], :value_kind :json}"),
        ("(tool/offline {})", "{:ok false, :reason :timeout, :message \"no\"}"),
        ("(tool/broken {})", "tool_error: tool broken failed: out of paper"),
        ("(try (tool/broken {}) (catch Exception e (ex-message e)))", "\"tool broken failed: out of paper\""),
        ("(tool/panics {})", "tool_error: tool panics failed: it panicked: on purpose"),
    ];
    for (source, expected) in cases {
        assert_eq!(value(source), expected, "{source}");
    }
}

#[test]
fn branches_go_on_with_their_own_answers() {
    let cases = [
        ("(pmap #(tool/inc {:x (tool/inc {:x (tool/dec {:x %})})}) (range 5))", "(1 2 3 4 5)"),
        ("(pcalls #(tool/inc {:x (tool/inc {:x 1})}) (fn [] :none) #(tool/dec {:x 1}))", "(3 :none 0)"),
        // The inner failure belongs to the inner branch, whoever is answered last.
        (
            "(pcalls #(try (pcalls (fn [] (tool/broken {}))) (catch Exception e :caught)) #(tool/inc {:x 1}))",
            "(:caught 2)",
        ),
        // A branch that is given up makes no more calls, and nobody waits for it.
        (
            "[(try (pcalls #(tool/inc {:x 1}) #(/ 1 0)) (catch Exception e :caught)) (tool/inc {:x 1})]",
            "[:caught 2]",
        ),
    ];
    for (source, expected) in cases {
        assert_eq!(value(source), expected, "{source}");
    }
}

#[test]
fn an_outcome_tells_everything() {
    let program =
        Program::new("(println (:n (first data/rows))) (return {:ok (tool/inc {:x (rand-int 1)})})")
            .data(json!({"rows": [{"n": 7}]}))
            .tools(tools())
            .seed(3)
            .clock_ms(0);
    let outcome = run_blocking(&program);
    assert_eq!(outcome.result, Ok(ProgramEnd::Return));
    assert_eq!((outcome.value.as_str(), &outcome.json), ("{:ok 1}", &json!({"ok": 1})));
    assert_eq!(outcome.prints, ["7"]);
    assert_eq!(outcome.manifest.tools(), ["inc"]);
    assert!(outcome.fuel > 0);
    let call = &outcome.calls[0];
    assert_eq!(
        (call.id, call.tool.as_str(), &call.args, call.end),
        (1, "inc", &json!({"x": 0}), CallEnd::Value)
    );
}

#[test]
fn inputs_are_json_and_what_makes_no_sense_is_an_error() {
    let too_deep = || {
        let deep = (0..1_100).fold(json!(1), |inner, _| Value::Array(vec![inner]));
        run_blocking(&Program::new("1").data(json!({"deep": deep})))
    };
    let outcome = std::thread::Builder::new().stack_size(STACK).spawn(too_deep).unwrap().join().unwrap();
    assert_eq!(outcome.result.unwrap_err().kind, ErrorKind::NestingTooDeep);
    let text = Program::new("(:n (first data/rows))");
    assert_eq!(run_blocking(&text.clone().data_text(r#"{"rows": [{"n": 7}]}"#)).value, "7");
    assert!(run_blocking(&text.data_text("{")).result.is_err());
    assert_eq!(run_blocking(&Program::new("(+ 1")).result.unwrap_err().kind, ErrorKind::Parse);
    let unknown = run_blocking(&Program::new("(tool/nope {})").tools(tools())).result.unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::UnknownTool);
}

#[test]
fn calls_of_a_pmap_run_at_once() {
    // Each waits for the other to have begun.
    let barrier = Arc::new(Barrier::new(2));
    let meet = Tool::blocking(move |args| {
        barrier.wait();
        args["x"].clone()
    });
    let program = Program::new("(pmap #(tool/meet {:x %}) [1 2])").tools(Tools::new().with("meet", meet));
    assert_eq!(run_blocking(&program).value, "(1 2)");
}

#[test]
fn no_more_calls_run_at_once_than_allowed() {
    let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let seen = most.clone();
    // None is over before as many are under way as may be.
    let all = Barrier::new(3);
    let busy = Tool::blocking(move |args| {
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        all.wait();
        now.fetch_sub(1, Ordering::SeqCst);
        args["x"].clone()
    });
    let tools = Tools::new().with("busy", busy).concurrency(3);
    let program = Program::new("(pmap #(tool/busy {:x %}) (range 21))").tools(tools);
    let outcome = run_blocking(&program);
    assert_eq!(outcome.json, json!((0..21).collect::<Vec<_>>()));
    assert_eq!(seen.load(Ordering::SeqCst), 3);
}

#[test]
fn a_slow_tool_raises_and_the_program_goes_on() {
    let (gate, closed) = mpsc::channel::<()>();
    let closed = std::sync::Mutex::new(closed);
    let stuck = Tool::blocking(move |_| closed.lock().unwrap().recv().map(|()| json!(1)));
    let tools = Tools::new().with("stuck", stuck.timeout(Duration::from_millis(5)));
    let program = Program::new("(try (tool/stuck {}) (catch Exception e (ex-message e)))").tools(tools);
    assert_eq!(run_blocking(&program).value, "\"tool stuck failed: no answer within 5ms\"");
    drop(gate);
}

#[test]
fn a_program_ends_with_its_time() {
    let endless = Program::new("(loop [] (recur))").timeout(Duration::from_millis(10));
    let endless = endless.limits(Limits { fuel: u64::MAX, ..Limits::default() });
    assert_eq!(run_blocking(&endless).result.unwrap_err().kind, ErrorKind::Timeout);

    let (gate, closed) = mpsc::channel::<()>();
    let closed = std::sync::Mutex::new(closed);
    let stuck = Tool::blocking(move |_| closed.lock().unwrap().recv().map(|()| json!(1)));
    let waits = Program::new("(tool/stuck {})").tools(Tools::new().with("stuck", stuck));
    let outcome = run_blocking(&waits.timeout(Duration::from_millis(500)));
    assert_eq!(outcome.result.unwrap_err().kind, ErrorKind::Timeout);
    assert_eq!(outcome.calls[0].end, CallEnd::Unanswered);
    drop(gate);
}

#[test]
fn a_token_stops_a_program_within_a_thousand_instructions() {
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let tools = Tools::new().with(
        "stop",
        Tool::quick(move |_| {
            stop.cancel();
            json!(null)
        }),
    );
    let endless = "(tool/stop {}) (loop [] (recur))";
    let program = Program::new(endless).tools(tools.clone()).cancel(cancel.clone());
    let outcome = run_blocking(&program);
    assert_eq!(outcome.result.unwrap_err().kind, ErrorKind::Cancelled);
    assert!(outcome.fuel < 1_100, "{} units of fuel", outcome.fuel);

    cancel.reset();
    let again = Program::new("(+ 1 2)").cancel(cancel);
    assert_eq!(run_blocking(&again).value, "3");
}

#[test]
fn a_token_stops_a_program_that_waits() {
    let cancel = Cancel::new();
    let (gate, closed) = mpsc::channel::<()>();
    let (stop, closed) = (cancel.clone(), std::sync::Mutex::new(closed));
    let stuck = Tool::blocking(move |_| {
        stop.cancel();
        closed.lock().unwrap().recv().map(|()| json!(1))
    });
    let program = Program::new("(tool/stuck {})").tools(Tools::new().with("stuck", stuck)).cancel(cancel);
    assert_eq!(run_blocking(&program).result.unwrap_err().kind, ErrorKind::Cancelled);
    drop(gate);
}

const CRM: &str = "(ns crm) (defn get [id] (tool/call {:server \"crm\" :tool \"get\" :args {:id id}}))
                   (defn log [] (tool/log_all))";

fn crm() -> Arc<ptc_lisp::prelude::Prelude> {
    Arc::new(ptc_lisp::prelude::Prelude::compile_text(CRM).expect("it compiles"))
}

/// A runtime without any server.
struct Nothing;

impl ptc_lisp::prelude::Upstreams for Nothing {
    fn offer(&self, _: &str, _: &str) -> ptc_lisp::prelude::Offer {
        ptc_lisp::prelude::Offer::UnknownServer
    }
}

#[test]
fn preludes_are_attached_or_nothing_runs() {
    let call = Tool::quick(|args: Value| Answer::upstream(args["args"].clone()));
    let tools = Tools::new().with("call", call).with_private("log_all", Tool::quick(|_| json!(["a"])));
    let run = |source: &str, tools: &Tools| {
        let program = Program::new(source).data(json!({"id": 7})).prelude(crm()).tools(tools.clone());
        run_blocking(&program)
    };
    let outcome = run("[(:id (:value (crm/get data/id))) (crm/log)]", &tools);
    assert_eq!(outcome.value, "[7 [\"a\"]]", "{:?}", outcome.result);
    let private = run("(tool/log_all)", &tools).result.expect_err("it is private");
    assert!(private.message.starts_with("Private tool may only be called"), "{private}");
    let missing = run("(println 1)", &Tools::new());
    assert_eq!(missing.result.expect_err("log_all is missing").kind, ErrorKind::PreludeAttach);
    assert!(missing.prints.is_empty());
    let offline =
        run("(println 1)", &tools.upstreams(Arc::new(Nothing))).result.expect_err("there is no upstream");
    assert!(offline.message.contains("there is no upstream `crm`"), "{offline}");
}

#[test]
fn short_programs_end_at_once_like_anywhere_else() {
    for source in [
        "(+ 1 2)",
        "(do (println \"x\") {:a [1 2.5 nil]})",
        "(reduce + (range 50))",
        "(return {:n (count \"abc\")})",
        "(fail :no)",
        "(str (rand-int 1000))",
        "(count (mapv (fn [i] {:a i :b [i i] :c {:d i}}) (range 60)))",
    ] {
        let program = Program::new(source).seed(7).clock_ms(0);
        let (here, there) = (run_at_once(&program).expect(source), run_blocking(&program));
        assert_eq!(here.result, there.result, "{source}");
        assert_eq!(
            (&here.value, &here.json, &here.prints, here.fuel),
            (&there.value, &there.json, &there.prints, there.fuel),
            "{source}"
        );
    }
}

#[test]
fn whatever_is_not_over_at_once_is_left_to_a_pool() {
    let tools = Tools::new().with("ask", Tool::quick(|_| -> Value { panic!("nobody calls it") }));
    let deep = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let long = format!("(count \"{}\")", "x".repeat(2000));
    for source in [
        "(loop [] (recur))",
        "(vec (range 1e12))",
        "(apply str (repeat 1000000000 \"x\"))",
        "(tool/ask {})",
        "(/ 1 0)",
        "(",
        &deep,
        &long,
    ] {
        let program = Program::new(source).tools(tools.clone());
        assert!(run_at_once(&program).is_none(), "{source}");
    }
}

#[test]
fn reading_inputs_takes_the_time_of_the_program() {
    let rows: Vec<Value> = (0..10_000).map(|n| json!({"id": n, "name": "a name"})).collect();
    let (small, large) = (json!({"rows": rows[..10]}), json!({"rows": rows}));
    let cancelled = Cancel::new();
    cancelled.cancel();
    for (data, is_read) in [(small, true), (large, false)] {
        for bounded in [
            Program::new("1").timeout(Duration::ZERO),
            Program::new("1").cancel(cancelled.clone()),
            Program::new("1").timeout(Duration::ZERO).data_text(data.to_string()),
        ] {
            let (read, expected) = (Arc::new(AtomicU32::new(0)), bounded.timeout.is_some());
            let seen = read.clone();
            // What a host prepares comes after the inputs.
            let program = if bounded.data.is_some() { bounded } else { bounded.data(data.clone()) };
            let outcome = run_blocking(&program.prepare(move |_| {
                seen.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }));
            let kind = if expected { ErrorKind::Timeout } else { ErrorKind::Cancelled };
            assert_eq!(outcome.result.map_err(|error| error.kind), Err(kind));
            assert_eq!(read.load(Ordering::Relaxed), u32::from(is_read), "the inputs were read to their end");
        }
    }
}

#[test]
fn inputs_that_take_long_to_read_are_not_read_at_once() {
    let program = |count: usize| Program::new("(count data/rows)").data(json!({"rows": vec!["text"; count]}));
    assert!(run_at_once(&program(10)).is_some_and(|outcome| outcome.value == "10"));
    assert!(run_at_once(&program(100_000)).is_none());
}
