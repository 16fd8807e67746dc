//! The machine as a host drives it: suspension at tool calls, parallel branches, sessions, limits.

#[path = "machine/answer_use.rs"]
mod answer_use;
#[path = "machine/edges.rs"]
mod edges;
#[path = "machine/near_limit.rs"]
mod near_limit;
#[path = "machine/parked.rs"]
mod parked;

use ptc_lisp::machine::{Answer, Machine, ProgramEnd, Step};
use ptc_lisp::{Error, ErrorKind, Limits};
use serde_json::{Value, json};

/// Runs a program whose tools all answer `{"n": argument n times ten}`; gives the value, the tools
/// called in order, and how many times the host was asked.
fn run(machine: &mut Machine, source: &str) -> (Result<String, Error>, Vec<Value>, usize) {
    let (mut calls_made, mut rounds) = (Vec::new(), 0);
    if let Err(error) = machine.load(source) {
        return (Err(error), calls_made, rounds);
    }
    loop {
        match machine.run(50) {
            Step::Yield => {}
            Step::Done(_) => return (Ok(machine.value()), calls_made, rounds),
            Step::Failed(error) => return (Err(error), calls_made, rounds),
            Step::Calls(calls) => {
                assert!(!calls.is_empty(), "{source} waits for nothing");
                rounds += 1;
                for call in calls {
                    calls_made.push(call.args.clone());
                    let answer = match call.args["n"].as_i64() {
                        Some(13) => Err(Error::new(ErrorKind::Tool, "tool price failed: unlucky")),
                        n => Ok(json!(n.unwrap_or(0) * 10)),
                    };
                    machine.resume(call.id, answer).expect("the call waits");
                }
            }
        }
    }
}

fn machine() -> Machine {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["price".to_owned()]);
    machine
}

#[test]
fn programs_stop_at_tool_calls_wherever_they_are() {
    // Source, value, how many calls, how many rounds with the host.
    let cases = [
        ("(tool/price {:n 1})", "10", 1, 1),
        ("(+ (tool/price {:n 1}) (tool/price :n 2))", "30", 2, 2),
        ("(loop [i 0 s 0] (if (< i 3) (recur (inc i) (+ s (tool/price {:n i}))) s))", "30", 3, 3),
        ("(map #(tool/price {:n %}) [1 2 3])", "(10 20 30)", 3, 3),
        ("(pmap #(tool/price {:n %}) [1 2 3])", "(10 20 30)", 3, 1),
        ("(pcalls #(tool/price {:n 1}) (fn [] 5) #(tool/price {:n 2}))", "(10 5 20)", 2, 1),
        ("(pmap (fn [x] (reduce + (pmap #(tool/price {:n %}) [x x]))) [1 2])", "(20 40)", 4, 1),
        ("(pmap #(tool/price {:n (tool/price {:n (tool/price {:n %})})}) [1 2])", "(1000 2000)", 6, 3),
        // The inner failure belongs to the inner branch, whoever is answered last.
        (
            "(pcalls #(try (pcalls (fn [] (tool/price {:n 13}))) (catch Exception e :no)) #(tool/price {:n 1}))",
            "(:no 10)",
            2,
            1,
        ),
        // A branch that is given up makes no calls any more.
        (
            "[(try (pcalls #(tool/price {:n 1}) #(/ 1 0)) (catch Exception e :no)) (tool/price {:n 2})]",
            "[:no 20]",
            1,
            1,
        ),
        (
            "(try (tool/price {:n 13}) (catch Exception e (ex-message e)))",
            "\"tool price failed: unlucky\"",
            1,
            1,
        ),
        ("(try (tool/price {:n 1}) (finally (tool/price {:n 2})))", "10", 2, 2),
        ("(take 2 (map #(tool/price {:n %}) (iterate inc 1)))", "(10 20)", 2, 2),
        ("(sort-by #(- (tool/price {:n %})) [1 3 2])", "(3 2 1)", 3, 3),
        ("(let [{:keys [a] :or {a (tool/price {:n 4})}} {}] a)", "40", 1, 1),
        ("(reduce (fn [acc x] (+ acc (tool/price {:n x}))) 0 #{1 2})", "30", 2, 2),
        ("(let [a (atom 0)] (swap! a (fn [x] (+ x (tool/price {:n 7})))) @a)", "70", 1, 1),
        ("(defn f [n] (if (zero? n) 0 (+ (tool/price {:n n}) (f (dec n))))) (f 3)", "60", 3, 3),
        // What binding puts in front belongs to its branch, and goes with a branch that is given up.
        (
            "(def ^:dynamic *x* 0) [(pmap (fn [i] (binding [*x* i] (tool/price {:n i}) *x*)) [1 2 3]) *x*]",
            "[(1 2 3) 0]",
            3,
            1,
        ),
        (
            "(def ^:dynamic *x* 0) (binding [*x* 5] (pcalls (fn [] (tool/price {:n 1}) *x*) (fn [] *x*)))",
            "(5 5)",
            1,
            1,
        ),
        (
            "(def ^:dynamic *x* 0) [(try (pcalls #(binding [*x* 1] (tool/price {:n 1})) #(/ 1 0)) \
             (catch Exception e :no)) *x*]",
            "[:no 0]",
            0,
            0,
        ),
        ("(call \"price\" {:n 2})", "20", 1, 1),
        ("(map tool/price [{:n 1} {:n 2}])", "(10 20)", 2, 2),
        ("(->> [1 2] (map (fn [n] {:n n})) (mapv tool/price))", "[10 20]", 2, 2),
    ];
    for (source, value, calls, rounds) in cases {
        let (result, made, asked) = run(&mut machine(), source);
        assert_eq!(result.as_deref(), Ok(value), "{source}");
        assert_eq!((made.len(), asked), (calls, rounds), "{source}");
    }
}

#[test]
fn tool_arguments_are_json_with_underscored_keys() {
    let source = "(tool/price {:order-id 1 :tags #{:a} \"as-is\" nil :nested {:deep-key [:x 'y 1.5]}})";
    let (_, made, _) = run(&mut machine(), source);
    let expected =
        json!({"order_id": 1, "tags": ["a"], "as-is": null, "nested": {"deep_key": ["x", "y", 1.5]}});
    assert_eq!(made, [expected]);
}

#[test]
fn keys_get_underscores_where_a_program_writes_them_and_stay_where_they_are_data() {
    let data = json!({"m": {"2025-08": 3, "web-1": 4, "a-b": 5}, "rows": [{"web-1": 1}], "both": {"web-1": 1, "web_1": 2}});
    let kept = &data["m"];
    let cases = [
        ("{:counts data/m}", json!({"counts": kept})),
        // What is read, compared, printed or said is not written.
        ("(do (:web-1 data/m) (get data/m :a-b) (= :a-b :web-1) {:counts data/m})", json!({"counts": kept})),
        ("{:n (:web-1 data/m) :s \":a-b\" :k :a-b} ; {:web-1 1}", json!({"n": 4, "s": ":a-b", "k": "a-b"})),
        ("(let [{:keys [web-1]} data/m {x :a-b} data/m] {:x x :m data/m})", json!({"x": 5, "m": kept})),
        (
            "{:m (select-keys data/m [:web-1]) :g (dissoc data/m :a-b :web-1)}",
            json!({"m": {"web-1": 4}, "g": {"2025-08": 3}}),
        ),
        ("{:case (case :a-b :a-b 1 :web-1 2) :both data/both}", json!({"case": 1, "both": data["both"]})),
        ("data/m", kept.clone()),
        // Every way to write one.
        ("{:page-size 1 :deep [{:x-y 2}]}", json!({"page_size": 1, "deep": [{"x_y": 2}]})),
        ("'{:page-size 1}", json!({"page_size": 1})),
        (
            "(-> {} (assoc :page-size 1) (assoc-in [:at-once :x-y] 2))",
            json!({"page_size": 1, "at_once": {"x_y": 2}}),
        ),
        (
            "(update (update-in {} [:page-size :x] (fnil inc 0)) :at-once (constantly 2))",
            json!({"page_size": {"x": 1}, "at_once": 2}),
        ),
        ("(hash-map :page-size 1)", json!({"page_size": 1})),
        ("(zipmap [:page-size :at-once] [1 2])", json!({"page_size": 1, "at_once": 2})),
        ("(deref (doto (atom {}) (swap! assoc :page-size 1)))", json!({"page_size": 1})),
        ("(clojure.set/rename-keys {:x 1} {:x :page-size})", json!({"page_size": 1})),
        ("{\"page-size\" 1}", json!({"page-size": 1})),
    ];
    for (arguments, expected) in cases {
        let mut machine = machine();
        machine.set_data(&data).expect("it fits");
        let (value, made, _) = run(&mut machine, &format!("(tool/price {arguments}\n)"));
        assert!(value.is_ok(), "{arguments}: {value:?}");
        assert_eq!(made, [expected], "{arguments}");
    }
    let (_, made, _) = run(&mut machine(), "(tool/price :page-size 1)");
    assert_eq!(made, [json!({"page_size": 1})]);
    for clash in ["{:web-1 1 :web_1 2}", "{:web-1 1 \"web_1\" 2}", "(assoc data/both :web-1 5)"] {
        let mut machine = machine();
        machine.set_data(&data).expect("it fits");
        let (value, made, _) = run(&mut machine, &format!("(tool/price {clash})"));
        let error = value.expect_err("two keys are one");
        assert!(error.message.contains(":web-1") && error.message.contains("web_1"), "{}", error.message);
        assert!(made.is_empty());
    }
}

#[test]
fn keys_that_earlier_programs_and_preludes_wrote_are_known_also_after_a_dump() {
    let mut machine = machine();
    machine.set_data(&json!({"m": {"web-1": 4}})).expect("it fits");
    run(&mut machine, "(def row {:page-size 1})").0.expect("it runs");
    machine
        .load("(tool/price {:row row :m data/m :n 1}) (return {:row row :m data/m :at-once 2})")
        .expect("it loads");
    let Step::Calls(calls) = machine.run(10_000) else { panic!("it calls") };
    assert_eq!(calls[0].args, json!({"row": {"page_size": 1}, "m": {"web-1": 4}, "n": 1}));
    let bytes = machine.dump().expect("it can be written");
    let mut machine = Machine::load_dump(&bytes, &Limits::default()).expect("it can be read");
    machine.resume(calls[0].id, Ok(json!(1))).expect("it waits");
    assert!(matches!(machine.run(10_000), Step::Done(ProgramEnd::Return)));
    let expected = json!({"row": {"page_size": 1}, "m": {"web-1": 4}, "at_once": 2});
    assert_eq!(machine.try_value_json_spelt(), Ok(expected));
    let prelude = ptc_lisp::prelude::Prelude::compile_text("(ns crm) (defn row [] {:page-size 1})")
        .expect("it compiles");
    let mut machine = Machine::new(Limits::default());
    machine.attach(&std::sync::Arc::new(prelude)).expect("it fits");
    machine.set_data(&json!({"m": {"web-1": 4}})).expect("it fits");
    run(&mut machine, "(assoc (crm/row) :m data/m)").0.expect("it runs");
    assert_eq!(machine.try_value_json_spelt(), Ok(json!({"page_size": 1, "m": {"web-1": 4}})));
}

#[test]
fn errors_quote_less_of_a_value_than_could_be_recognised() {
    let text = "a private note of a customer that is longer than thirty-two bytes by far, žluťoučký kůň";
    let programs = [
        "(java.time.LocalDate/parse data/t)",
        "(java.time.Instant/parse data/t)",
        "(java.time.LocalDate/parse data/t (java.time.format.DateTimeFormatter/ofPattern \"d/M/y\"))",
        "(java.time.format.DateTimeFormatter/ofPattern data/t)",
        "(java.time.ZoneId/of data/t)",
        "(java.time.ZoneOffset/of data/t)",
        "(java.util.UUID/fromString data/t)",
        "(java.time.DayOfWeek/valueOf data/t)",
        "(bigdec data/t)",
        "(bigint data/t)",
        "(BigDecimal. data/t)",
        "(BigInteger. data/t)",
        "(Integer/parseInt data/t)",
        "(Double/parseDouble data/t)",
        "(case data/t 1 2)",
        "(condp = data/t 1 2)",
        "(let [[a] {:t data/t}] a)",
        "(let [[a] 5 b data/t] a)",
        "(let [{:keys [a]} data/t] (a))",
        "(data/t 1)",
        "({:a data/t} 1 2 3)",
        "(re-pattern (str data/t \"(\"))",
        "(into {} [data/t])",
        "(conj {} data/t)",
        "(format \"%d\" data/t)",
        "(+ 1 data/t)",
        "(nth data/t :x)",
        "(sort data/t [1 2])",
        "(json/parse-string data/t)",
        "(clojure.edn/read-string data/t)",
        "(keyword 5 data/t)",
        "(tool/price data/t)",
        "(tool/price {:a {(keyword data/t) 1 data/t 2}})",
        "(defmulti f identity) (f data/t)",
        "(get-in {(keyword data/t) inc} [])",
        "(java.util.Base64/getDecoder data/t)",
        "(str/replace \"a\" data/t 5)",
        "(subs data/t 900)",
        "(parse-long 5 data/t)",
        "(java.security.MessageDigest/getInstance data/t)",
        "(assert (nil? data/t))",
    ];
    for program in programs {
        let mut machine = machine();
        machine.set_data(&json!({"t": text})).expect("it fits");
        let Err(error) = run(&mut machine, program).0 else { continue };
        let told = format!("{} {}", error.text(), error.hint.unwrap_or_default());
        let found =
            text.as_bytes().windows(32).find(|piece| told.as_bytes().windows(32).any(|part| part == *piece));
        assert!(found.is_none(), "{program}: {told}");
    }
}

#[test]
fn positional_arguments_are_refused_whatever_their_number() {
    let calls = [
        "(tool/price \"budget\")",
        "(tool/price \"budget\" 10)",
        "(tool/price \"budget\" 10 \"x\" 2)",
        "(tool/price :n 1 \"unit\" 2)",
        "(tool/price 1 2)",
        "(tool/price {:n 1} {:m 2})",
        "(tool/price [1] 2)",
        "(let [q \"budget\" n 10] (tool/price q n))",
        "(apply tool/price [\"budget\" 10])",
        "(first (map tool/price [\"a\"] [1]))",
    ];
    for source in calls {
        let (result, made, _) = run(&mut machine(), source);
        let error = result.expect_err(source);
        assert_eq!(error.kind, ErrorKind::InvalidToolArgs, "{source}");
        assert_eq!(error.hint.as_deref(), Some("write (tool/price {:name value})"), "{source}");
        assert!(made.is_empty(), "{source}");
    }
    for source in ["(tool/price :n 1)", "(let [k :n] (tool/price k 1))", "(apply tool/price [:n 1])"] {
        assert_eq!(run(&mut machine(), source).1, [json!({"n": 1})], "{source}");
    }
    let caught = "(try (apply tool/price [\"a\" 1]) (catch Exception e (ex-message e)))";
    let message = "tool/price takes named arguments, not positional ones";
    assert_eq!(run(&mut machine(), caught).0, Ok(format!("{message:?}")));
}

#[test]
fn a_failing_branch_fails_its_parent_and_can_be_caught() {
    let (result, ..) = run(&mut machine(), "(pmap #(tool/price {:n %}) [1 13 2])");
    let error = result.expect_err("a branch fails");
    assert_eq!(error.kind, ErrorKind::Pmap);
    let (result, ..) = run(&mut machine(), "(try (pmap #(/ 1 %) [1 0]) (catch Exception e :caught))");
    assert_eq!(result.as_deref(), Ok(":caught"));
    let (result, ..) = run(&mut machine(), "(pmap (fn [x] (return x)) [1])");
    assert_eq!(result.expect_err("return is refused").kind, ErrorKind::Pmap);
}

#[test]
fn what_a_branch_throws_arrives_with_message_data_and_class() {
    let caught = [
        ("(ex-data e)", "{:code 402}"),
        ("(ex-message e)", "\"no money\""),
        ("(instance? clojure.lang.ExceptionInfo e)", "true"),
    ];
    for (asked, expected) in caught {
        for call in
            ["(pmap f [1 2])", "(pcalls (fn [] 1) (fn [] (f 2)))", "(pmap (fn [x] (pmap f [x])) [1 2])"]
        {
            let source = format!(
                "(defn f [x] (if (= x 2) (throw (ex-info \"no money\" {{:code 402}})) x))
                 (try (doall {call}) (catch clojure.lang.ExceptionInfo e {asked}))"
            );
            assert_eq!(run(&mut machine(), &source).0.as_deref(), Ok(expected), "{source}");
        }
    }
    let told = [
        ("(pmap (fn [x] (throw (ex-info \"bad\" {}))) [1])", "pmap: item 0: bad"),
        ("(pmap #(+ 1 %) [1 nil])", "pmap: item 1: +: expected a number, got nil"),
        ("(pmap (fn [x] (pmap #(/ 1 %) [x])) [1 0])", "pmap: item 1: pmap: item 0: Divide by zero"),
        ("(pcalls (fn [] 1) (fn [] (throw (ex-info \"bad\" {}))))", "pcalls: item 1: bad"),
        ("(pcalls (fn [] 1) inc)", "pcalls: item 1: inc takes 1 argument, got 0"),
    ];
    for (source, text) in told {
        let error = run(&mut machine(), source).0.expect_err("a branch fails");
        assert_eq!(error.text(), text, "{source}");
        assert!(error.hint.is_some_and(|hint| hint.contains("try")), "{source}");
    }
}

#[test]
fn unknown_tools_are_refused_before_anything_runs() {
    let (result, made, _) = run(&mut machine(), "(tool/price {:n 1}) (if false (tool/pirce {:n 1}) 2)");
    let error = result.expect_err("no such tool");
    assert_eq!(
        (error.kind, error.hint.as_deref()),
        (ErrorKind::UnknownTool, Some("did you mean tool/price?"))
    );
    assert!(made.is_empty());
}

#[test]
fn the_manifest_names_every_tool_with_literal_arguments_and_a_bound() {
    let mut machine = machine();
    let manifest = machine.check("(tool/price {:n 1}) (when false (tool/price {:n 2}))").expect("it checks");
    assert_eq!(manifest.tools(), ["price"]);
    assert_eq!(manifest.max_calls(), Some(2));
    assert!(manifest.uses.iter().all(|tool_use| tool_use.args.is_some()));
    let manifest = machine.check("(map #(tool/price {:n %}) [1 2])").expect("it checks");
    assert_eq!(manifest.max_calls(), None);
    assert_eq!(machine.check("(+ 1 2)").expect("it checks").tools(), Vec::<&str>::new());
}

#[test]
fn the_manifest_shows_literal_arguments_as_the_tool_sees_them() {
    let mut machine = machine();
    let mut uses = |source: &str| machine.check(source).expect("it checks").uses.remove(0);
    let json = |tool_use: &ptc_lisp::analyze::ToolUse| tool_use.args.clone().map(serde_json::Value::Object);
    let whole = uses("(tool/price :unit-id :a :tags #{\"x\"} :at {:deep-key [nil true 1.5]})");
    assert_eq!(
        json(&whole),
        Some(json!({"unit_id": "a", "tags": ["x"], "at": {"deep_key": [null, true, 1.5]}}))
    );
    assert!(whole.complete);
    let part = uses("(let [n 2] (tool/price {:n n :unit 1}))");
    assert_eq!((json(&part), part.complete, part.at_most), (Some(json!({"unit": 1})), false, Some(1)));
    let unknown = uses("(let [args {}] (tool/price args))");
    assert_eq!((json(&unknown), unknown.complete, unknown.at_most), (None, false, Some(1)));
}

#[test]
fn the_manifest_says_where_arguments_come_from() {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["call".to_owned(), "price".to_owned()]);
    let cases = [
        (
            "(tool/price {:n 1 :at data/at :of (:id data/order) :sum (+ 1 2)})",
            "at data, n literal, of data, sum computed",
        ),
        ("(tool/price :n [1 data/x] :m {:a (count data/x)})", "m computed, n data"),
        (
            "(tool/call {:server \"s\" :tool \"t\" :args {:a 1 :b data/b :c (str data/c)}})",
            "args.a literal, args.b data, args.c computed, server literal, tool literal",
        ),
        (
            "(tool/call {:server \"s\" :tool \"t\" :args {:a 1}})",
            "args.a literal, server literal, tool literal",
        ),
        ("(tool/call 's/t {:a data/a})", "args.a data"),
        ("(tool/call {:server \"s\" :tool data/t :args data/args})", "args data, server literal, tool data"),
        ("(map tool/call data/calls)", ""),
    ];
    for (source, expected) in cases {
        let manifest = machine.check(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        let shown: Vec<String> =
            manifest.sources[0].iter().map(|(name, from)| format!("{name} {}", from.name())).collect();
        assert_eq!(shown.join(", "), expected, "{source}");
    }
}

#[test]
fn a_target_that_the_program_computes_is_not_in_the_manifest() {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["call".to_owned()]);
    let source = "(let [s 'other/tool] (tool/call s {} :server \"a\" :tool \"b\"))";
    assert_eq!(machine.check(source).expect("it checks").uses[0].args, None);
}

#[test]
fn calls_of_upstreams_must_say_what_json_can_say() {
    let cases = [
        ("(first (map tool/call [5]))", "tool/call requires a map, got 5"),
        ("(tool/call {:server \"s\" :tool \"t\" :arg 1 :args {}})", "tool/call got unknown key :arg"),
        ("(tool/call {:server \"s\" \"server\" \"z\" :tool \"t\"})", "tool/call got duplicate key :server"),
        (
            "(tool/call {:server \"s\" :tool \"t\" :args {:f [{:g inc}]}})",
            "tool 's.t' rejected args: not JSON-encodable (function)",
        ),
        (
            "(tool/call {:server \"s\" :tool \"t\" :args {:x ##Inf}})",
            "tool 's.t' rejected args: not JSON-encodable (infinite or not a number)",
        ),
        ("(tool/call 's/t {:a (atom 1)})", "tool 's.t' rejected args: not JSON-encodable (atom)"),
    ];
    for (source, expected) in cases {
        let mut machine = Machine::new(Limits::default());
        machine.set_tools(["call".to_owned()]);
        let error = run(&mut machine, source).0.expect_err(source);
        assert_eq!((error.kind, error.message.as_str()), (ErrorKind::Runtime, expected), "{source}");
    }
}

#[test]
fn what_earlier_programs_left_may_call_their_tools_as_long_as_they_are_granted() {
    let mut machine = machine();
    for source in ["(defn cost [] (tool/price {:n 1}))", "tool/price"] {
        run(&mut machine, source).0.expect("it runs");
    }
    assert_eq!(machine.check("(+ 1 2)").expect("it checks").tools(), Vec::<&str>::new());
    for source in ["(cost)", "(map (fn [_] (cost)) [1])", "(*1 {:n 1})", "(#'cost)"] {
        let manifest = machine.check(source).expect("it checks");
        assert_eq!((manifest.tools(), manifest.max_calls()), (vec!["price"], None), "{source}");
        let (result, made, _) = run(&mut machine, source);
        result.unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(made.len(), 1, "{source}");
        run(&mut machine, "tool/price").0.expect("it runs");
    }
    machine.set_tools([]);
    let error = run(&mut machine, "(cost)").0.expect_err("the tool is gone");
    assert_eq!(
        (error.kind, error.message.as_str()),
        (ErrorKind::UnknownTool, "tool price is no longer granted")
    );
}

#[test]
fn what_earlier_functions_call_is_known_until_a_dump_forgets_it() {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["call".to_owned()]);
    run(&mut machine, "(defn item [id] (tool/call {:server \"s\" :tool \"get\" :args {:id id}}))")
        .0
        .expect("it runs");
    run(&mut machine, "(defn all [] (map item [1 2]))").0.expect("it runs");
    let known = |machine: &mut Machine| {
        let uses = machine.check("(all)").expect("it checks").uses;
        uses.into_iter().map(|each| each.args.map(|args| args["tool"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(known(&mut machine), [Some(serde_json::json!("get"))]);
    let bytes = machine.dump().expect("it is idle");
    let mut loaded = Machine::load_dump(&bytes, &Limits::default()).expect("it loads");
    assert_eq!(known(&mut loaded), [None], "it may call anything");
    run(&mut loaded, "(defn put [] (tool/call {:server \"s\" :tool \"put\"}))").0.expect("it runs");
    assert!(known(&mut loaded).contains(&None), "what is not known stays so");
}

#[test]
fn definitions_and_results_last_from_program_to_program() {
    let mut machine = machine();
    let steps = [
        ("(def x 1)", Ok("#'x")),
        ("(defn f [y] (+ x y))", Ok("#'f")),
        ("(f 10)", Ok("11")),
        ("(def x 100) (f 10)", Ok("110")),
        ("[*1 *2]", Ok("[110 11]")),
        ("(def counter (atom 0)) (swap! counter inc)", Ok("1")),
        ("(swap! counter inc)", Ok("2")),
        ("(defonce x 5) x", Ok("100")),
        ("(or missing :default)", Ok(":default")),
    ];
    for (source, expected) in steps {
        let (result, ..) = run(&mut machine, source);
        assert_eq!(result.as_deref(), expected, "{source}");
    }
}

#[test]
fn a_failed_program_leaves_no_trace() {
    let mut machine = machine();
    for source in ["(def x 1)", "(def a (atom [1]))"] {
        run(&mut machine, source).0.expect("it runs");
    }
    for source in ["(def x 2) (swap! a conj 2) (/ 1 0)", "(def x 3) (reset! a nil) (fail :no)"] {
        let _ = run(&mut machine, source);
        assert_eq!(run(&mut machine, "[x @a]").0.as_deref(), Ok("[1 [1]]"), "{source}");
    }
    run(&mut machine, "(def y 4) (return :done) (def y 5)").0.expect("it returns");
    assert_eq!(run(&mut machine, "y").0.as_deref(), Ok("4"));
}

#[test]
fn programs_end_by_value_return_or_fail() {
    for (source, signal) in
        [("1", ProgramEnd::Value), ("(return 1)", ProgramEnd::Return), ("(fail 1)", ProgramEnd::Fail)]
    {
        let mut machine = machine();
        machine.load(source).expect("it loads");
        match machine.run(10_000) {
            Step::Done(got) => assert_eq!(got, signal, "{source}"),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn limits_cannot_be_caught() {
    let cases = [
        ("(try (loop [] (recur)) (catch Throwable e :caught))", ErrorKind::FuelExceeded),
        ("(try (loop [s \"x\"] (recur (str s s))) (catch Throwable e :caught))", ErrorKind::MemoryExceeded),
        ("(try (loop [v []] (recur [v])) (catch Throwable e :caught))", ErrorKind::NestingTooDeep),
        (
            "(try (while true (println \"xxxxxxxxxxxxxxxx\")) (catch Throwable e :caught))",
            ErrorKind::OutputExceeded,
        ),
        ("(try (loop [] (tool/price {:n 1}) (recur)) (catch Throwable e :caught))", ErrorKind::ToolCallLimit),
        ("((fn f [n] (inc (f n))) 1)", ErrorKind::MemoryExceeded),
        ("(doall (iterate inc 1))", ErrorKind::MemoryExceeded),
        ("(let [a (atom [])] (while true (swap! a conj (vec (range 100)))))", ErrorKind::MemoryExceeded),
        ("(vec (range 1000000000000))", ErrorKind::FuelExceeded),
    ];
    for (source, kind) in cases {
        let limits = Limits {
            fuel: 20_000_000,
            memory: 4 << 20,
            print_bytes: 10_000,
            tool_calls: 50,
            ..Limits::default()
        };
        let mut machine = Machine::new(limits);
        machine.set_tools(["price".to_owned()]);
        let error = run(&mut machine, source).0.expect_err(source);
        assert_eq!(error.kind, kind, "{source}: {error}");
    }
}

#[test]
fn inputs_and_answers_must_fit_the_memory() {
    let small = || Machine::new(Limits { memory: 1 << 20, ..Limits::default() });
    // A hundred thousand numbers are ten times as long in memory as in text.
    let (many, text) = (json!(vec![0; 100_000]), format!("[{}0]", "0,".repeat(100_000)));
    let kind = |result: Result<(), Error>| result.map_err(|error| error.kind);
    let refused = Err(ErrorKind::MemoryExceeded);
    assert_eq!(kind(small().set_data(&json!({"xs": many}))), refused);
    assert_eq!(kind(small().set_data_json(&format!("{{\"xs\":{text}}}"))), refused);
    assert_eq!(kind(small().add_data_json("xs", &text)), refused);
    let answers = [
        Answer::Value(many.clone()),
        Answer::upstream(many),
        Answer::Json(text),
        Answer::Fault { reason: "timeout".to_owned(), message: "x".repeat(2 << 20) },
    ];
    for answer in answers {
        let mut machine = small();
        machine.set_tools(["price".to_owned()]);
        machine.load("(tool/price {})").expect("it loads");
        let Step::Calls(calls) = machine.run(1_000) else { panic!("it calls") };
        assert_eq!(kind(machine.answer(calls[0].id, answer)), refused);
        // The call still waits, and an answer that fits is taken.
        machine.answer(calls[0].id, Answer::Value(json!(vec![0; 10_000]))).expect("it fits");
        assert!(matches!(machine.run(100_000), Step::Done(_)));
    }
}

#[test]
fn a_program_whose_inputs_hold_most_of_the_memory_hears_of_it() {
    let hint = |inputs: usize, source: &str| {
        let mut machine = Machine::new(Limits { memory: 1 << 20, ..Limits::default() });
        machine.set_data(&json!({"xs": vec![0; inputs]})).expect("it fits");
        machine.load(source).expect("it loads");
        let Step::Failed(error) = machine.run(10_000_000) else { panic!("{source} fits") };
        assert_eq!(error.kind, ErrorKind::MemoryExceeded);
        error.hint.expect("advice")
    };
    let told = hint(50_000, "(group-by identity (map inc (range 100000)))");
    assert!(told.starts_with("its inputs hold 1048832 of them: "), "{told}");
    assert!(told.contains("more memory; or keep less at once: "), "{told}");
    let own = hint(10, "(vec (map str (range 100000)))");
    assert!(own.starts_with("keep less at once: "), "{own}");
}

#[test]
fn garbage_makes_room_for_an_answer() {
    let mut machine = Machine::new(Limits { memory: 1 << 20, ..Limits::default() });
    machine.set_tools(["price".to_owned()]);
    machine.load("(dotimes [_ 9] (count (tool/price {})))").expect("it loads");
    for _ in 0..9 {
        let Step::Calls(calls) = machine.run(1_000_000) else { panic!("it calls") };
        machine.answer(calls[0].id, Answer::Value(json!(vec![0; 30_000]))).expect("it fits");
    }
    assert!(matches!(machine.run(1_000_000), Step::Done(_)));
}

#[test]
fn the_same_program_uses_the_same_fuel_whatever_the_slices() {
    let source = "(reduce + (map #(* % %) (filter odd? (take 200 (iterate inc 1)))))";
    let fuel = |slice: u64| {
        let mut machine = machine();
        machine.load(source).expect("it loads");
        while let Step::Yield = machine.run(slice) {}
        (machine.value(), machine.fuel_used())
    };
    let whole = fuel(u64::MAX / 2);
    assert_eq!(whole.0, "1333300");
    for slice in [1, 7, 100] {
        assert_eq!(fuel(slice), whole, "slices of {slice}");
    }
}

/// Where code goes straight on to its end, nothing looks at the meter on the way.
#[test]
fn a_program_that_ends_well_used_no_more_than_its_fuel() {
    let text = "(apply str (repeat 5000 \"a\"))";
    let programs = [
        format!("(let [a 1] {})", "(def x (+ a 1)) ".repeat(500)),
        format!("(return (let [a 1] {} a))", "(def x (- a 1)) ".repeat(500)),
        format!("(fail (let [a 1] {} a))", "(def x (* a 2)) ".repeat(500)),
        format!("(let [s {text} t {text}] [{}])", "(= s t) ".repeat(200)),
        format!("(let [s {text} t {text}] {} 1)", "{s 1 :b t} ".repeat(200)),
        format!("(let [s {text}] {} 1)", "#{s} ".repeat(200)),
        format!("(let [s {text} m {{s 1}}] [{}])", "(m s) ".repeat(200)),
        "[1 2 3]".to_owned(),
        "(vec (repeat 5000 \"a text of a few words\"))".to_owned(),
        "(map inc (range 100))".to_owned(),
    ];
    for program in &programs {
        let ended = |fuel: u64, slice: u64| {
            let mut machine = Machine::new(Limits { fuel, ..Limits::default() });
            machine.load(program).expect("it loads");
            let step = loop {
                match machine.run(slice) {
                    Step::Yield => {}
                    step => break step,
                }
            };
            (step, machine.fuel_used())
        };
        let (step, used) = ended(Limits::default().fuel, u64::MAX / 2);
        assert!(matches!(step, Step::Done(_)), "{program}");
        for slice in [1, 50, u64::MAX / 2] {
            let (step, again) = ended(used, slice);
            assert!(matches!(step, Step::Done(_)), "{program}: it has enough");
            assert_eq!(again, used, "{program}");
            let (step, told) = ended(used - 1, slice);
            let Step::Failed(error) = step else { panic!("{program}: {used} is more than its fuel") };
            assert_eq!((error.kind, told), (ErrorKind::FuelExceeded, used - 1), "{program}");
        }
    }
}

#[test]
fn machines_that_share_a_program_do_what_each_would_do_alone() {
    let source = "(def xs [1 :k \"a text of some length\" #{2} #\"x+\"]) [(tool/price {:n 1}) xs]";
    let alone = |tools: &[&str], fuel: u64| {
        let mut machine = Machine::new(Limits { fuel, ..Limits::default() });
        machine.set_tools(tools.iter().map(|tool| (*tool).to_owned()));
        let result = run(&mut machine, source).0;
        (result, machine.fuel_used(), machine.live_bytes(), machine.manifest().clone())
    };
    let expected = alone(&["price"], 100_000);
    assert!(expected.0.is_ok(), "{expected:?}");
    let mut first = machine();
    first.set_tools(["price".to_owned()]);
    first.load(source).expect("it loads");
    // Now the code is there.
    assert_eq!(alone(&["price"], 100_000), expected);
    assert_eq!(alone(&[], 100_000).0.map_err(|error| error.kind), Err(ErrorKind::UnknownTool));
    assert_eq!(alone(&["price"], 15).0.map_err(|error| error.kind), Err(ErrorKind::FuelExceeded));
}

#[test]
fn a_program_that_is_too_large_for_its_memory_is_told_so() {
    let source = format!("[{}]", "1 ".repeat(2000));
    let mut small = Machine::new(Limits { memory: 65_536, ..Limits::default() });
    let error = small.load(&source).map(drop).expect_err("there is too little memory");
    assert_eq!(error.kind, ErrorKind::ProgramTooLarge);
    assert!(error.message.ends_with(" forms, for which its memory would not last"), "{}", error.message);
}

/// Limits of what stands in the text of a program are caught only where a program that runs reads such a text.
#[test]
fn literals_beyond_their_limits_are_refused_before_anything_runs() {
    let (digits, pattern) = ("1".repeat(10_001), "a".repeat(10_001));
    for (literal, read, kind) in [
        (
            digits.clone(),
            format!("(edn/read-string (apply str (repeat {} \"1\")))", digits.len()),
            ErrorKind::Parse,
        ),
        (
            format!("#\"{pattern}\""),
            format!("(re-pattern (apply str (repeat {} \"a\")))", pattern.len()),
            ErrorKind::IllegalArgument,
        ),
    ] {
        let caught = |form: &str| format!("(try {form} :fine (catch Exception e :caught))");
        let refused = machine().load(&caught(&literal)).map(drop).expect_err("it does not begin");
        assert_eq!(refused.kind, kind, "{}", refused.message);
        assert_eq!(run(&mut machine(), &caught(&read)).0.as_deref(), Ok(":caught"), "{read}");
        let shorter = literal.replacen("11", "1", 1).replacen("aa", "a", 1);
        assert_eq!(run(&mut machine(), &caught(&shorter)).0.as_deref(), Ok(":fine"));
    }
}

#[test]
fn inputs_are_read_flexibly() {
    let mut machine = machine();
    machine.set_data(&json!({"user_rows": [{"first-name": "Ann", "age": 3}]})).expect("it fits");
    for source in [
        "(:age (first data/user-rows))",
        "(:age (first data/user_rows))",
        "(get (first data/user_rows) \"age\")",
        "(let [[{:keys [age]}] ctx/user_rows] age)",
    ] {
        assert_eq!(run(&mut machine, source).0.as_deref(), Ok("3"), "{source}");
    }
    assert_eq!(run(&mut machine, "data/nothing").0.as_deref(), Ok("nil"));
}
