//! `lisp_check`: it runs nothing and tells everything.

use ptc_server::engine::{Profile, Settings};
use serde_json::json;

use super::support::{aggregator, call, engine, object, patient};

#[tokio::test]
async fn mistakes_come_with_their_place_and_fix() {
    let engine = engine(patient(Profile::Slim)).await;
    for (program, reason, line) in [
        ("(+ 1 2", "parse_error", 1),
        ("(let [x 1]\n  (+ x yy))", "unbound_var", 2),
        ("(inc 1 2)", "invalid_arity", 1),
    ] {
        let reply = call(&engine, "lisp_check", json!({"program": program})).await;
        let shown = object(&reply);
        assert_eq!((&shown["status"], &shown["valid"]), (&json!("ok"), &json!(false)), "{shown}");
        let error = &shown["errors"][0];
        assert!(error["message"].is_string() && error["line"] == line, "{program}: {error}");
        let reasons = [reason, "arity_error"];
        assert!(reasons.iter().any(|one| error["reason"] == *one), "{program}: {error}");
    }
    let wrong = call(&engine, "lisp_check", json!({})).await;
    assert_eq!(object(&wrong)["reason"], "args_error");
}

#[tokio::test]
async fn all_mistakes_are_told_at_once_in_their_order() {
    let engine = engine(patient(Profile::Slim)).await;
    let program = "(defn f [x] (foo x))\n(inc 1 2)\n(let [y] y)\n(f)\n(nope/g (inc bar))\n(f 1)";
    let reply = call(&engine, "lisp_check", json!({"program": program})).await;
    let errors = object(&reply)["errors"].as_array().expect("errors").clone();
    let found: Vec<(&str, u64)> = errors
        .iter()
        .map(|error| (error["reason"].as_str().unwrap_or_default(), error["line"].as_u64().unwrap_or(0)))
        .collect();
    assert_eq!(
        found,
        [
            ("unbound_var", 1),
            ("arity_error", 2),
            ("invalid_form", 3),
            ("arity_error", 4),
            ("invalid_form", 5),
            ("unbound_var", 5)
        ],
        "{errors:#?}"
    );
}

#[tokio::test]
async fn calls_of_what_is_not_there_are_told_beside_other_mistakes() {
    let engine = aggregator(patient(Profile::Slim)).await;
    let program = r#"(inc 1 2)
        (tool/call {:server "crm" :tool "gett"})
        (crm/putt {})
        (try (tool/call {:server "crm" :tool "caught"}) (catch Exception e nil))
        (tool/call {:server "crn" :tool "get"})
        (foo 1)"#;
    let reply = call(&engine, "lisp_check", json!({"program": program})).await;
    let errors = object(&reply)["errors"].as_array().expect("errors").clone();
    let found: Vec<(&str, u64)> = errors
        .iter()
        .map(|error| (error["reason"].as_str().unwrap_or_default(), error["line"].as_u64().unwrap_or(0)))
        .collect();
    let expected = [
        ("arity_error", 1),
        ("unknown_tool", 2),
        ("unknown_tool", 3),
        ("unknown_tool", 5),
        ("unbound_var", 6),
    ];
    assert_eq!(found, expected, "{errors:#?}");
    assert!(errors[1]["fix"].as_str().is_some_and(|fix| fix.contains("get")), "{errors:#?}");
}

#[tokio::test]
async fn calls_have_effects_and_a_bound_where_there_is_one() {
    let engine = aggregator(patient(Profile::Slim)).await;
    let check =
        async |program: &str| object(&call(&engine, "lisp_check", json!({"program": program})).await).clone();
    let none = check("(+ 1 2)").await;
    assert_eq!((&none["effect"], &none["max_calls"], &none["uses"]), (&json!("none"), &json!(0), &json!([])));
    let once = check(r#"(tool/call {:server "crm" :tool "get" :args {:id data/id}})"#).await;
    assert_eq!((&once["effect"], &once["max_calls"]), (&json!("read"), &json!(1)), "{once}");
    assert_eq!(once["uses"][0]["target"], "crm/get");
    assert_eq!(once["tools"], json!(["crm/get"]));
    assert_eq!(once["uses"][0]["args"], json!({"id": "data"}));
    let many = check(r#"(map #(tool/call {:server "crm" :tool "put" :args {:id %}}) [1 2])"#).await;
    assert_eq!((&many["effect"], &many["max_calls"]), (&json!("write"), &json!(null)));
    let dynamic = check(r#"(tool/call {:server data/s :tool "get"})"#).await;
    assert_eq!((&dynamic["uses"][0]["dynamic"], &dynamic["allowed"]), (&json!(true), &json!(true)));
    let any = check("(map tool/call [])").await;
    assert_eq!(any["tools"], json!(["crm/get", "crm/guess", "crm/put"]));
    for (program, reason, fix) in [
        (r#"(tool/call {:server "crm" :tool "gett"})"#, "unknown_tool", "get"),
        (r#"(tool/call {:server "crn" :tool "get"})"#, "unknown_server", "crm"),
    ] {
        let nowhere = check(program).await;
        // It is refused when it is loaded, so it is a mistake.
        assert_eq!(
            (&nowhere["valid"], &nowhere["errors"][0]["reason"]),
            (&json!(false), &json!("unknown_tool"))
        );
        assert!(nowhere["errors"][0].to_string().contains(fix), "{nowhere}");
        let place = (&nowhere["errors"][0]["line"], &nowhere["errors"][0]["column"]);
        assert_eq!(place, (&json!(1), &json!(1)), "{nowhere}");
        let ran = call(&engine, "lisp_eval", json!({"program": program})).await;
        assert!(ran.is_error && ran.text().contains("runtime_error"), "{}", ran.text());

        // Where it may be caught it runs, and the program is told beforehand what comes of it.
        let caught = format!("(try {program} (catch Exception e 7))");
        let nowhere = check(&caught).await;
        assert_eq!((&nowhere["valid"], &nowhere["warnings"][0]["reason"]), (&json!(true), &json!(reason)));
        let message = nowhere["warnings"][0]["message"].as_str().expect("a message");
        assert!(message.ends_with("; the call fails where it is reached"), "{nowhere}");
        assert!(nowhere["warnings"][0]["fix"].as_str().expect("a fix").contains(fix), "{nowhere}");
        let ran = call(&engine, "lisp_eval", json!({"program": caught})).await;
        assert_eq!(ran.text(), "user=> 7");
    }
    assert_eq!(once.get("warnings"), None);
    assert_eq!(engine.metrics().upstream_calls, 0, "nothing was run");
    let read_only = aggregator(Settings { read_only: true, ..patient(Profile::Slim) }).await;
    let refused =
        call(&read_only, "lisp_check", json!({"program": r#"(tool/call {:server "crm" :tool "put"})"#}))
            .await;
    assert_eq!((&object(&refused)["valid"], &object(&refused)["allowed"]), (&json!(true), &json!(false)));
    assert!(object(&refused)["refusal"].as_str().expect("it says why").contains("crm/put"));
}
