//! What exports need of the host: inferred, declared, held against grants, and part of a program's manifest.

use crate::support::{drive, machine, prelude};
use ptc_lisp::prelude::{Effect, Grants, Offer, Upstreams};

const SOURCE: &str = r#"
(ns crm)
(defn- fetch [id] (tool/call {:server "crm" :tool "get_user" :args {:id id}}))
(defn- deeper [id] (fetch id))
(defn user [id] (deeper id))
(defn users [ids] (map deeper ids))
(defn both [id] [(fetch id) (tool/call 'crm/list {})])
(defn pair [id] (tool/call :server "crm" :tool "pair" :args {:id id}))
(defn any [server tool] (tool/call {:server server :tool tool :args {}}))
(defn handed [f] (f tool/call))
(defn typed [] (tool/log_sessions {}))
(defn servers [] (tool/servers))
(defn pure [x] (inc x))
(defn shadowed [tool] (let [call tool] (call 1)))
(defn quoted [] '(tool/call {:server "no" :tool "no"}))
(defn added {:requires ["upstream:crm/more"] :effect :write} [id] (user id))
(defn named {:provider-ref "upstream:other/x"} [id] (user id))
(defn mixed [id s] [(user id) (any s s)])
"#;

#[test]
fn r10_3_requires_are_inferred_transitively_and_united_with_declared_ones() {
    let prelude = prelude(SOURCE);
    let (write, unknown) = (Effect::Write, Effect::Unknown);
    let user = "upstream:crm/get_user";
    // Name, requires, provider, effect, whether it is dynamic.
    type Case<'a> = (&'a str, &'a [&'a str], Option<&'a str>, Effect, bool);
    let cases: &[Case<'_>] = &[
        ("user", &[user], Some(user), unknown, false),
        ("users", &[user], Some(user), unknown, false),
        ("both", &[user, "upstream:crm/list"], None, unknown, false),
        ("pair", &["upstream:crm/pair"], Some("upstream:crm/pair"), unknown, false),
        ("any", &[], None, unknown, true),
        ("handed", &[], None, unknown, true),
        ("typed", &["tool:log_sessions"], None, unknown, false),
        ("servers", &[], None, unknown, false),
        ("pure", &[], None, unknown, false),
        ("shadowed", &[], None, unknown, false),
        ("quoted", &[], None, unknown, false),
        ("added", &[user, "upstream:crm/more"], Some(user), write, false),
        ("named", &[user], Some("upstream:other/x"), unknown, false),
        ("mixed", &[user], Some(user), unknown, true),
    ];
    for (name, requires, provider, effect, dynamic) in cases {
        let export = prelude.export(&format!("crm/{name}")).expect(name);
        assert_eq!(export.requires, *requires, "{name}");
        assert_eq!(
            (export.provider.as_deref(), export.effect, export.dynamic),
            (*provider, *effect, *dynamic),
            "{name}"
        );
    }
}

struct Runtime;

impl Upstreams for Runtime {
    fn offer(&self, server: &str, tool: &str) -> Offer {
        match (server, tool) {
            ("crm", "get_user") => Offer::Granted,
            ("crm", "secret") => Offer::Denied,
            ("crm", _) => Offer::UnknownTool,
            ("down", _) => Offer::Unreachable,
            _ => Offer::UnknownServer,
        }
    }

    fn why(&self, server: &str, _: &str) -> Option<String> {
        (server == "down").then(|| "connection refused".to_owned())
    }

    fn effect(&self, _: &str, tool: &str) -> Effect {
        match tool {
            "get_user" | "list" => Effect::Read,
            "pair" => Effect::Write,
            _ => Effect::Unknown,
        }
    }
}

#[test]
fn effects_are_what_authors_say_else_the_worst_of_what_upstreams_say() {
    let prelude = prelude(SOURCE);
    for (name, with, without) in [
        ("user", Effect::Read, Effect::Unknown),
        ("both", Effect::Read, Effect::Unknown),
        ("pair", Effect::Write, Effect::Unknown),
        ("typed", Effect::Unknown, Effect::Unknown),
        ("any", Effect::Unknown, Effect::Unknown),
        ("mixed", Effect::Unknown, Effect::Unknown),
        ("pure", Effect::Unknown, Effect::Unknown),
        ("added", Effect::Write, Effect::Write),
    ] {
        let export = prelude.export(&format!("crm/{name}")).expect(name);
        assert_eq!((export.effect_with(Some(&Runtime)), export.effect_with(None)), (with, without), "{name}");
    }
    assert_eq!(prelude.required_servers(), ["crm"]);
    let shown = |tools: &[&str]| {
        let tools: Vec<String> = tools.iter().map(|tool| (*tool).to_owned()).collect();
        prelude
            .inventory_for(&Grants { tools: &tools, upstreams: Some(&Runtime) })
            .expect("some are for prompts")
    };
    assert!(shown(&["call", "log_sessions"]).contains("crm/both (both id) [read]"), "{}", shown(&["call"]));
    assert!(!shown(&[]).contains("crm/both"), "nobody is told of what cannot be called");
}

#[test]
fn r10_4_1_every_way_to_be_missing_has_its_message() {
    let prelude = prelude(
        r#"(ns crm)
           (defn user [id] (tool/call {:server "crm" :tool "get_user" :args {:id id}}))
           (defn gone [] (tool/call {:server "crm" :tool "gone"}))
           (defn secret [] (tool/call {:server "crm" :tool "secret"}))
           (defn far [] (tool/call {:server "far" :tool "x"}))
           (defn down [] (tool/call {:server "down" :tool "x"}))
           (defn log [] (tool/log_sessions))
           (defn odd {:requires ["database"]} [] 1)"#,
    );
    let told = |grants: Grants<'_>| -> Vec<String> {
        prelude.missing(&grants).iter().map(ToString::to_string).collect()
    };
    let all = [
        "export `crm/gone` requires upstream operation `upstream:crm/gone`, but upstream `crm` has no tool `gone`",
        "export `crm/secret` requires upstream operation `upstream:crm/secret`, but it is not granted",
        "export `crm/far` requires upstream operation `upstream:far/x`, but there is no upstream `far`",
        "export `crm/down` requires upstream operation `upstream:down/x`, but upstream `down` cannot be reached \
         (connection refused)",
        "export `crm/log` requires granted tool `log_sessions`, but it is not granted",
        "export `crm/odd` declares an unrecognized backing requirement `database`",
    ];
    assert_eq!(told(Grants { tools: &[], upstreams: Some(&Runtime) }), all);
    let granted = ["log_sessions".to_owned()];
    // 10.4.2: without a runtime nobody asks for upstream operations.
    assert_eq!(told(Grants { tools: &granted, upstreams: None }), all[5..]);
    assert_eq!(told(Grants::default()), all[4..]);
    let error = prelude.admit(&Grants::default()).expect_err("something is missing");
    assert_eq!(error.kind.reason(), "prelude_attach_failed");
    assert!(
        error.message.starts_with("prelude attach failed: export `crm/log` requires granted tool"),
        "{error}"
    );
}

#[test]
fn the_manifest_of_a_program_has_what_its_exports_may_call() {
    let prelude = prelude(SOURCE);
    let mut machine = machine(&prelude, &["call", "log_sessions"]);
    let uses = |program: &str, machine: &mut ptc_lisp::machine::Machine| -> Vec<String> {
        let manifest = machine.check(program).unwrap_or_else(|error| panic!("{program}: {error}"));
        let text = |tool_use: &ptc_lisp::analyze::ToolUse| {
            let part = |key: &str| {
                tool_use.args.as_ref().and_then(|args| args.get(key)?.as_str().map(str::to_owned))
            };
            assert_eq!(tool_use.at_most, None, "{program}");
            match (part("server"), part("tool")) {
                (Some(server), Some(tool)) => format!("{} {server}/{tool}", tool_use.tool),
                _ => tool_use.tool.clone(),
            }
        };
        let mut uses: Vec<String> = manifest.uses.iter().map(text).collect();
        uses.sort_unstable();
        uses
    };
    let cases: &[(&str, &[&str])] = &[
        ("(crm/user 1)", &["call crm/get_user"]),
        ("(map crm/user [1 2])", &["call crm/get_user"]),
        ("(let [f (comp :value crm/user)] (f 1))", &["call crm/get_user"]),
        ("(do (require '[crm :as c]) (c/user 1))", &["call crm/get_user"]),
        ("(do (require '[crm :refer [user]]) (user 1))", &["call crm/get_user"]),
        ("(if false crm/both 1)", &["call crm/get_user", "call crm/list"]),
        ("#'crm/user", &["call crm/get_user"]),
        ("(crm/any \"a\" \"b\")", &["call"]),
        ("(crm/typed)", &["log_sessions"]),
        ("(crm/pure 1)", &[]),
        ("(doc crm/user)", &[]),
        ("'crm/user", &[]),
    ];
    for (program, expected) in cases {
        assert_eq!(uses(program, &mut machine), *expected, "{program}");
    }
}

/// Functions of servers, in every way that programs have.
const FUNCTIONS: &str = r#"
(ns w (:require [github :as gh]))
(defn- fetch [id] (crm/get_user {:id id}))
(defn user [id] (fetch id))
(defn paired [id] (crm/get_user :id id))
(defn handed [rows] (map crm/get_user rows))
(defn plain [] (crm/get_user))
(defn given [args] (crm/get_user args))
(defn aliased [] (gh/search_issues {:q "x"}))
(defn caught [] (try (crm/get_user {}) (catch Exception e (ex-message e))))
"#;

#[test]
fn functions_of_servers_are_what_they_are_in_programs() {
    let prelude = prelude(FUNCTIONS);
    let user = "upstream:crm/get_user";
    for name in ["user", "paired", "handed", "plain", "given", "caught"] {
        let export = prelude.export(&format!("w/{name}")).expect(name);
        let effect = export.effect_with(Some(&Runtime));
        assert_eq!(
            (export.requires.as_slice(), effect, export.dynamic),
            (&[user.to_owned()][..], Effect::Read, false),
            "{name}"
        );
    }
    let aliased = prelude.export("w/aliased").expect("it is public");
    assert_eq!(aliased.requires, ["upstream:github/search_issues"]);
    assert_eq!(prelude.required_servers(), ["crm", "github"]);

    let echo = |call: &ptc_lisp::machine::Call| match call.args["server"].as_str() {
        Some("crm") => serde_json::json!({"ok": true, "value": call.args["args"]}),
        _ => serde_json::json!({"ok": false, "reason": "upstream_error", "message": "no answer"}),
    };
    for (program, value) in [
        ("(w/user 7)", "{:id 7}"),
        ("(w/paired 7)", "{:id 7}"),
        ("(vec (w/handed [{:id 1} {:id 2}]))", "[{:id 1} {:id 2}]"),
        ("(w/given {:id 7})", "{:id 7}"),
        ("(w/plain)", "{}"),
    ] {
        let mut machine = machine(&prelude, &["call"]);
        assert_eq!(drive(&mut machine, program, echo).as_deref(), Ok(value), "{program}");
    }
    let error = drive(&mut machine(&prelude, &["call"]), "(w/aliased)", echo).expect_err("it raises");
    assert!(error.message.contains("no answer"), "{error}");
    let error = machine(&prelude, &[]).check("(w/user 1)").expect_err("there are no upstreams");
    assert!(error.hint.is_some_and(|hint| hint.contains("the tool get_user of the upstream server crm")));
}

#[test]
fn a_namespace_that_is_nothing_is_no_server_either_when_it_is_attached() {
    let prelude = prelude("(ns w) (defn f [x] (helpers/tidy x))");
    let error =
        prelude.admit(&Grants { tools: &[], upstreams: Some(&Runtime) }).expect_err("it is not there");
    assert_eq!(error.kind.reason(), "prelude_attach_failed");
    assert!(error.message.contains("there is no upstream `helpers`"), "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("namespace of another prelude")));
}
