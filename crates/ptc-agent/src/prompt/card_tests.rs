//! The cards: files, budgets, facts, and that every program in them runs.

use ptc_lisp::Limits;
use ptc_lisp::machine::{Answer, Machine, Step};
use serde_json::json;

use super::Card;

/// The value of `key: value` in the notes above a card.
fn note(card: Card, key: &str) -> Option<&'static str> {
    let notes = card.source().split("<!--").next()?;
    notes.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

#[test]
fn r3_8b_cards_have_notes_markers_and_a_budget_that_they_keep() {
    for card in Card::ALL {
        let source = card.source();
        for marker in ["<!-- card start -->", "<!-- card end -->"] {
            assert_eq!(source.matches(marker).count(), 1, "{card:?} {marker}");
        }
        for key in ["subject", "sent", "facts"] {
            assert!(note(*card, key).is_some_and(|text| !text.is_empty()), "{card:?} {key}");
        }
        let budget: usize = note(*card, "budget").unwrap().parse().unwrap();
        let text = card.text();
        assert!(budget <= 1500, "{card:?}");
        assert!(!text.is_empty() && text.len() <= budget, "{card:?} has {} bytes", text.len());
        assert!(!text.contains("subject:") && text.trim() == text, "{card:?}");
    }
    assert!(Card::Combined.text().chars().count() / 4 <= 300);
}

#[test]
fn r3_8b_cards_are_blind_to_any_domain() {
    let words = [
        "order", "customer", "invoice", "email", "employee", "product", "ticket", "patient", "price", "user",
    ];
    for card in Card::ALL {
        for word in card.text().to_lowercase().split(|c: char| !c.is_alphabetic()) {
            assert!(
                !words.contains(&word) && !words.contains(&word.trim_end_matches('s')),
                "{card:?}: {word}"
            );
        }
    }
}

/// What each card has to say, by words that cannot be said otherwise.
#[test]
fn r3_8_cards_say_what_they_must() {
    let facts: [(Card, &[&str]); 18] = [
        (
            Card::Reference,
            &[
                "PTC-Lisp",
                "Clojure",
                "data/name",
                "(:total row)",
                "group-by",
                "str/",
                "set/",
                "walk/",
                "regex",
                "Math/",
                "describe",
                "json/parse-string",
                "pmap",
                "pcalls",
                "macros",
                "eval",
                "files",
                "threads",
            ],
        ),
        (Card::SingleShot, &["one program", "last form", "data/"]),
        (
            Card::MultiTurn,
            &[
                "one program",
                "(tool/name {:key value})",
                "Never positional",
                "{result_bytes}",
                "{print_bytes}",
                "def",
                "short",
                "comments",
                "several",
                "(budget/remaining)",
                "~{data/x}",
            ],
        ),
        (Card::ExplicitReturn, &["println", "(return ", "(fail {:reason", ":message", "at once"]),
        (Card::Journal, &["(task ", "(step-done ", "(task-reset ", "<mission_log>"]),
        (Card::OutputContent, &["exactly one block", "```clojure"]),
        (Card::OutputContentThinking, &["thinking:", "exactly one block", "```clojure"]),
        (
            Card::OutputToolCall,
            &["lisp_eval", "final answer", "No Markdown fence", "(tool/name {:key value})"],
        ),
        (
            Card::OutputToolCallThinking,
            &["lisp_eval", "thinking:", "final answer", "no Markdown fence", "(tool/name"],
        ),
        (
            Card::Combined,
            &[
                "lisp_eval",
                "data/name",
                "<ptc_tools>",
                "{result_bytes} bytes",
                "never positional",
                "full_result_cached",
                "cache_hint",
                "native",
                "macros",
                "(return ",
            ],
        ),
        (Card::JsonSystem, &["valid JSON", "no Markdown", "shape"]),
        (Card::TextToolsSystem, &["tools", "<output_format>", "raw JSON"]),
        (Card::PlainSystem, &["assistant"]),
        (
            Card::LlmQuery,
            &["tool/llm-query", ":prompt", ":signature", ":llm", ":response_template", "{{text}}", "string"],
        ),
        (Card::LispEvalWithAppTools, &["sandbox", "(tool/name {:key value})", "only native tool"]),
        (Card::LispEvalTextMode, &["sandbox", "same turn", "native"]),
        (Card::LispEvalNoTools, &["No tools", "context", "between calls"]),
        (Card::LispEvalProgram, &["PTC-Lisp source"]),
    ];
    assert_eq!(facts.map(|(card, _)| card).as_slice(), Card::ALL, "every card once");
    for (card, facts) in facts {
        for fact in facts {
            assert!(card.text().contains(fact), "{card:?} lacks {fact:?}");
        }
    }
}

/// Fenced programs and forms in backquotes.
fn programs(card: Card) -> Vec<String> {
    let text = card.text();
    let fenced = text.split("```clojure\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let mut found: Vec<String> = fenced.map(str::to_owned).collect();
    let prose: String = text.split("```").step_by(2).collect();
    let quoted = prose.split('`').skip(1).step_by(2).filter(|form| form.starts_with('('));
    // Dots stand for whatever the reader puts there.
    found.extend(quoted.map(|form| form.replace("…", "1")));
    let bare = text.split("Example: ").skip(1).filter(|rest| rest.starts_with('('));
    found.extend(bare.map(str::to_owned));
    found
}

#[test]
fn every_program_in_a_card_runs() {
    // What the cards take for granted besides the language.
    let prelude = "(def row {:total 1 :meta {:name \"n\"} :n nil :body \"b\"}) (def rows [row]) (def x [1 2]) \
                   (def xs x) (def id 7) (def ids x) (def texts [\"t\"]) (def f inc) (def value 1) (def name :n) \
                   (def key :k) (def k :k)";
    let wrong = "(tool/name \"x\")";
    let mut seen = 0;
    for card in Card::ALL {
        for program in programs(*card) {
            let outcome = run(prelude, &program);
            match program == wrong {
                false => assert_eq!(outcome, Ok(()), "{card:?}: {program}"),
                true => assert!(outcome.unwrap_err().contains("named arguments"), "{card:?}: {program}"),
            }
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen}");
}

fn run(prelude: &str, program: &str) -> Result<(), String> {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["name", "llm-query"].map(str::to_owned));
    let rows = json!([{"n": 20, "kind": "a", "active": true, "open": true}, {"n": 5, "kind": "b"}]);
    machine.set_data(&json!({"rows": rows, "x": 1, "name": "n"})).unwrap();
    for source in [prelude, program] {
        machine.load(source).map_err(|error| error.to_string())?;
        loop {
            match machine.run(100_000) {
                Step::Yield => {}
                Step::Calls(calls) => {
                    for call in calls {
                        machine.resume(call.id, Ok(json!({"ok": true}))).unwrap();
                    }
                }
                Step::Done(_) => break,
                // `fail` in a program is what the program was to show.
                Step::Failed(error)
                    if program.starts_with("(fail") && error.to_string().contains("failed") =>
                {
                    break;
                }
                Step::Failed(error) => return Err(error.to_string()),
            }
        }
    }
    Ok(())
}

#[test]
fn a_failing_tool_can_be_caught_as_the_card_says() {
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["name".to_owned()]);
    machine.load("(try (tool/name) (catch Exception e (ex-message e)))").unwrap();
    let Step::Calls(calls) = machine.run(100_000) else { panic!("a call") };
    let error = ptc_lisp::Error::new(ptc_lisp::ErrorKind::Tool, "it is down");
    machine.answer(calls[0].id, Answer::Raise(error)).unwrap();
    assert!(matches!(machine.run(100_000), Step::Done(_)));
    assert!(machine.value().contains("it is down"), "{}", machine.value());
}

#[test]
fn what_the_reference_claims_about_the_language_holds() {
    let claims = [
        ("(/ 7 2)", "3.5"),
        ("(+ 0.10M (bigdec 0.2))", "0.30M"),
        ("(let [row {:item_id 7}] [(:item-id row) (:item_id row)])", "[7 7]"),
        ("(:item-id (first data/rows))", "7"),
        ("(= \"item_id\" (name (ffirst (first data/rows))))", "true"),
        ("(assoc (first data/rows) :item-id 8)", "{:item_id 8}"),
        ("(str/upper-case \"a\")", "\"A\""),
        ("(set/union #{1} #{1})", "#{1}"),
        ("(walk/keywordize-keys {\"a\" 1})", "{:a 1}"),
        ("(math/floor 1.5)", "1.0"),
        ("(str (LocalDate/parse \"2024-01-31\"))", "\"2024-01-31\""),
        ("(try (/ 1 0) (catch Exception e :caught))", ":caught"),
        ("(let [a (atom 1)] (swap! a inc) @a)", "2"),
        ("(take 2 (iterate inc 1))", "(1 2)"),
        ("(avg-by :n [{:n 1} {:n 2}])", "1.5"),
        ("(return 1) (fail 2)", "1"),
        ("(pmap inc [1 2])", "(2 3)"),
    ];
    for (program, expected) in claims {
        let mut machine = Machine::new(Limits::default());
        machine.set_data(&json!({"rows": [{"item_id": 7}]})).unwrap();
        machine.load(program).unwrap();
        while matches!(machine.run(100_000), Step::Yield) {}
        assert_eq!(machine.value(), expected, "{program}");
    }
    for missing in [
        "(defmacro m [] 1)",
        "(eval (list '+ 1 2))",
        "(Thread. inc)",
        "(slurp \"f\")",
        "(map #(map #(inc %) %) [[1]])",
    ] {
        assert!(Machine::new(Limits::default()).load(missing).is_err(), "{missing}");
    }
}
