//! What programs find out about a prelude, and what stands in prompts and traces.

use crate::support::{CRM, prelude, value};

#[test]
fn r10_6_discovery_finds_exports_and_hides_helpers() {
    let cases = [
        ("(contains? (set (all-ns)) \"crm\")", "true"),
        ("(= (all-ns) (sort (all-ns)))", "true"),
        ("(ns-name 'crm)", "\"crm\""),
        ("(ns-name \"crm\")", "\"crm\""),
        (
            "(sort (map str (keys (ns-publics 'crm))))",
            "(\"get-user\" \"get-user!\" \"list-users\" \"page-size\")",
        ),
        ("(:doc (get (ns-publics 'crm) 'get-user))", "\"Return a CRM user by id.\""),
        ("(first (dir 'crm))", "\"get-user - Return a CRM user by id.\""),
        ("(dir crm {:limit 1 :offset 2})", "[\"list-users - List CRM users.\"]"),
        ("(str/includes? (doc 'crm/get-user) \"Return a CRM user by id.\")", "true"),
        ("(str/starts-with? (doc crm/get-user) \"crm/get-user\\n  [id]\")", "true"),
        ("(str/includes? (doc 'crm) \"CRM helpers.\")", "true"),
        ("(:kind (meta 'crm/get-user))", "\"prelude-export\""),
        ("(:arity (meta crm/get-user))", "1"),
        ("(:effect (meta \"crm/get-user\"))", "\"unknown\""),
        ("(:requires (meta 'crm/get-user!))", "[\"upstream:crm/get_user\"]"),
        ("(:visibility (meta 'crm/list-users))", "\"discoverable\""),
        ("(first (apropos \"user\"))", "\"prelude: crm/get-user - Return a CRM user by id.\""),
        ("(filter #(str/includes? % \"crm/normalize\") (apropos \"normalize id\" {:limit 50}))", "()"),
        ("(meta 'crm/normalize-id)", "nil"),
        ("(contains? (ns-publics 'crm) 'normalize-id)", "false"),
        ("(source 'crm/get-user)", "nil"),
        (
            "(str/starts-with? (with-out-str (source crm/get-user)) \";; crm/get-user — visibility: prompt, arity: 1\\n;; depends-on: (source crm/normalize-id)\\n(defn get-user\")",
            "true",
        ),
        ("(str/includes? (with-out-str (source 'crm/normalize-id)) \"(str \\\"norm:\\\" raw)\")", "true"),
        ("(with-out-str (source 'crm/dead))", "\"no source available for crm/dead\\n\""),
        ("(with-out-str (source 'crm/nothing))", "\"no source available for crm/nothing\\n\""),
    ];
    for (program, expected) in cases {
        assert_eq!(value(CRM, program).as_deref(), Ok(expected), "{program}");
    }
}

#[test]
fn r10_7_the_inventory_is_compact() {
    let inventory = prelude(CRM).inventory(None).expect("something is for prompts");
    let expected = ";; === prelude capabilities ===
;; These APIs are there already; call them as (ns/name ...).

;; crm — CRM helpers.
  crm/get-user (get-user id) — Return a CRM user by id.
  crm/get-user! (get-user! id) — Return a CRM user, or abort the program.
  crm/page-size

;; More: (ns-publics 'ns), (doc 'ns/name), (apropos \"words\").";
    assert_eq!(inventory, expected);
    let many: String = (0..9).map(|at| format!("(defn f{at} \"Line\n   one.\" [a & b] a)")).collect();
    let inventory = prelude(&format!("(ns a) {many}")).inventory(None).expect("something is for prompts");
    assert!(inventory.contains("\n  a/f0 (f0 a & b) — Line one.\n"), "{inventory}");
    assert!(inventory.contains("\n  ;; +4 more — discover via (ns-publics 'a)"), "{inventory}");
    assert_eq!(prelude("(ns a {:visibility :discoverable}) (defn f [] 1)").inventory(None), None);
}

#[test]
fn the_inventory_is_a_page_of_bounded_size() {
    let shown = |source: &str, program: &str| value(source, program).expect("it runs");
    let line = "crm/get-user (get-user id) — Return a CRM user by id.";
    assert_eq!(shown(CRM, &format!("(str/includes? (doc 'ptc/prelude) {line:?})")), "true");
    let hidden = "(ns a {:visibility :discoverable}) (defn f [] 1)";
    assert!(shown(hidden, "(doc 'ptc/prelude)").contains("(all-ns)"));
    let long = "x".repeat(150);
    let wide: String = (0..60)
        .map(|at| format!("(defn f{at} \"{long}\" [a] a) (ns n{at}) (defn g \"{long}\" [a] a)\n"))
        .collect();
    let cut = shown(
        &format!("(ns n) {wide}"),
        "(let [page (doc 'ptc/prelude)] [(count page) (last (str/split-lines page))])",
    );
    let bytes: usize =
        cut.trim_start_matches('[').split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    assert!((6_000..8_000).contains(&bytes) && cut.contains("more lines; (apropos"), "{cut}");
}

#[test]
fn r10_9_traces_carry_the_summary_and_no_source() {
    let source = "(ns crm \"Doc.\") (def token \"s3cret-value\") (defn- hide [x] (str \"s3cret-body\" x))
                  (defn f \"Says.\" {:effect :read} [x & more] (hide x) (tool/log {:x x}))";
    let prelude = prelude(source);
    let summary = prelude.trace_summary();
    let text = summary.to_string();
    assert!(!text.contains("s3cret") && !text.contains("hide") && !text.contains("defn"), "{text}");
    assert_eq!(summary["source_hash"], prelude.source_hash());
    assert_eq!(summary["artifact_hash"], prelude.artifact_hash());
    assert_eq!(summary["protected_namespaces"], serde_json::json!(["crm"]));
    let exports = serde_json::json!([
        {"ref": "crm/token", "namespace": "crm", "symbol": "token", "kind": "constant", "params": [], "arity": 0,
         "visibility": "prompt", "effect": "unknown", "provider": null, "requires": []},
        {"ref": "crm/f", "namespace": "crm", "symbol": "f", "kind": "function", "params": ["[x & more]"],
         "min_arity": 1, "variadic": true, "visibility": "prompt", "effect": "read", "provider": null,
         "requires": ["tool:log"]},
    ]);
    assert_eq!(summary["exports"], exports);
    assert_eq!(summary["host_policy_hash"], serde_json::Value::Null);
}
