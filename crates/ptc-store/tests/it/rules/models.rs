//! What models see of preludes and do with them.

use ptc_store::preludes::{Access, PreludeTools, Preludes, checksum, ledger_arguments, public_view, wrapper};
use serde_json::{Value as Json, json};

use super::edits::{EDITED, preludes_in_memory};
use super::{Rule, write};
use crate::support::{at, notes, source};

pub const RULES: &[Rule] = &[
    ("10.11.10 models see bounded sources and documented metadata", public_views),
    ("10.13.1 the functions of prelude/", model_functions),
    ("10.13.2 model functions answer errors and never fail", model_errors),
    ("10.13.3 set-default takes a checksum", model_set_default),
    ("10.13.4 ledgers summarise sources and filter metadata", ledgers),
    ("10.13.5 reading is a part of writing", model_access),
];

fn public_views(preludes: &Preludes) {
    let long = format!("(ns a)\n(def text \"{}\")\n", "é".repeat(40_000));
    let metadata = notes(json!({
        "reason": "r".repeat(5000), "created_by": "ann", "source_session_id": ["not", "a", "text"],
        "secret": "token", "nested": {"reason": "x"}, "prelude_deps": [{"id": "forged"}],
    }));
    let written = preludes.write("a", &long, &metadata).expect("writes");
    assert_eq!(written.source, long, "hosts get everything");
    assert_eq!(written.version.metadata["secret"], "token");
    let view = public_view(&written);
    let shown = view["source"].as_str().expect("a source");
    assert!(shown.len() <= 64 * 1024 && long.starts_with(shown) && view["source_truncated"] == true);
    let keys: Vec<&String> = view["metadata"].as_object().expect("metadata").keys().collect();
    assert_eq!(keys, ["reason", "created_by"]);
    assert!(view["metadata"]["reason"].as_str().expect("a text").len() <= 1024);
    write(preludes, "base", "1");
    let user = preludes
        .write(
            "users",
            &source("users", "1"),
            &notes(json!({"requires_preludes": ["base"], "parent_version": null})),
        )
        .expect("writes");
    let view = public_view(&user);
    assert_eq!(view["source_truncated"], false);
    assert_eq!(view["metadata"]["requires_preludes"], json!(["base"]));
    assert_eq!(view["metadata"]["prelude_deps"][0]["id"], "base");
}

fn tools(preludes: &Preludes, access: Access) -> PreludeTools {
    PreludeTools::new(preludes.clone(), access).stamped(Some("ptcs_1"), None)
}

fn model_functions(preludes: &Preludes) {
    let tools = tools(preludes, Access::Write);
    let wrapped = wrapper(Access::Write);
    for name in [
        "list",
        "history",
        "read",
        "source",
        "write",
        "set-default",
        "forms",
        "form",
        "form-deps",
        "deps",
        "edit",
    ] {
        let tool = format!("prelude_store_{}", name.replace('-', "_"));
        assert!(tools.names().contains(&tool), "{name}");
        assert!(
            wrapped.contains(&format!("(defn {name}\n")) && wrapped.contains(&format!("(tool/{tool} ")),
            "{name}"
        );
    }
    let call = |tool: &str, args: Json| {
        let answer = tools.call(&format!("prelude_store_{tool}"), &args);
        assert_eq!(answer["status"], "ok", "{tool}: {answer}");
        answer
    };
    let request = json!({"id": "shop", "source": EDITED, "metadata": {"reason": "new", "created_by": "forged", "x": 1}});
    let written = call("write", json!({"request": request}));
    assert_eq!((&written["version"], &written["current"]), (&json!(1), &json!(true)));
    assert_eq!(written["metadata"], json!({"reason": "new", "source_session_id": "ptcs_1"}), "{written}");
    assert_eq!(call("list", json!({}))["preludes"][0]["current_version"], 1);
    assert_eq!(call("read", json!({"ref": "shop@1"}))["source"], EDITED);
    assert_eq!(call("source", json!({"ref": {"id": "shop"}}))["source"], EDITED);
    let forms = call("forms", json!({"ref": "shop"}));
    assert_eq!(
        forms["forms"][2],
        json!({"name": "total", "kind": "defn", "bytes": 53, "doc": "Sum."}),
        "{forms}"
    );
    assert_eq!(
        call("form", json!({"ref": "shop", "name": "last-one"}))["source"],
        "(defn last-one [] page-size)"
    );
    let deps = call("form-deps".replace('-', "_").as_str(), json!({"ref": "shop", "name": "helper"}));
    assert_eq!((&deps["uses"], &deps["used_by"]), (&json!([]), &json!(["total"])));
    let edits = json!([{"op": "remove_form", "name": "last-one"}]);
    let edited = call("edit", json!({"request": {"id": "shop", "version": 1, "edits": edits}}));
    assert_eq!(edited["base_version"], 1);
    assert_eq!(
        edited["forms"],
        json!({"replaced": [], "added": [], "removed": ["last-one"], "ns_doc_set": false})
    );
    assert_eq!(edited["public_surface"], json!({"added": [], "removed": ["last-one"], "changed": []}));
    assert_eq!(call("history", json!({"id": "shop"}))["versions"][0]["version"], 2, "newest first");
    let request =
        json!({"id": "users", "source": source("users", "1"), "metadata": {"requires_preludes": ["shop"]}});
    call("write", json!({"request": request}));
    let deps = call("deps", json!({"ref": "users"}));
    assert_eq!(
        (&deps["prelude_deps"][0]["id"], &deps["prelude_deps"][0]["version"]),
        (&json!("shop"), &json!(2))
    );
}

fn model_errors(preludes: &Preludes) {
    let tools = tools(preludes, Access::Write);
    let long = "x".repeat(100_000);
    let cases = [
        ("read", json!({"ref": "none"}), "not_found"),
        ("read", json!({"ref": 5}), "invalid_ref"),
        ("read", json!({}), "invalid_ref"),
        ("read", json!(null), "invalid_ref"),
        ("read", json!({"ref": long}), "invalid_ref"),
        ("history", json!({"id": [1]}), "invalid_argument"),
        ("source", json!({"ref": "none"}), "not_found"),
        ("forms", json!({"ref": "none"}), "not_found"),
        ("form", json!({"ref": "none", "name": 1}), "not_found"),
        ("form_deps", json!({"ref": "none", "name": "x"}), "not_found"),
        ("deps", json!({"ref": "none"}), "not_found"),
        ("write", json!({"request": long}), "invalid_argument"),
        ("write", json!({"request": {"id": "a"}}), "invalid_argument"),
        ("write", json!({"request": {"id": "a", "source": 1}}), "invalid_argument"),
        ("write", json!({"request": {"id": "a", "source": "(ns a)", "metadata": 1}}), "invalid_metadata"),
        (
            "write",
            json!({"request": {"id": "a", "source": format!("(ns a) ({long}")}}),
            "prelude_compile_error",
        ),
        ("write", json!({"request": {"id": "a", "source": "(ns a)", "extra": 1}}), "invalid_argument"),
        ("edit", json!({"request": {"id": "a", "edits": 1}}), "invalid_argument"),
        ("edit", json!({"request": {"id": "a", "edits": [1]}}), "invalid_argument"),
        (
            "edit",
            json!({"request": {"id": "a", "edits": [{"op": "remove_form", "name": long}]}}),
            "not_found",
        ),
        ("set_default", json!({"request": {"id": "a"}}), "invalid_ref"),
        ("set_default", json!({"request": {"id": "a", "version": 1}}), "not_found"),
        ("nothing", json!({}), "invalid_argument"),
    ];
    for (tool, args, expected) in cases {
        let answer = tools.call(&format!("prelude_store_{tool}"), &args);
        assert_eq!(
            (&answer["status"], &answer["reason"]),
            (&json!("error"), &json!(expected)),
            "{tool}: {answer}"
        );
        for (key, value) in answer.as_object().expect("a map") {
            assert!(value.as_str().is_some_and(|text| text.len() <= 1024), "{tool} {key}");
        }
    }
    let answer = tools.call("prelude_store_write", &json!({"request": {"id": "a", "source": "(ns a) (1)"}}));
    assert_eq!(answer["compile_reason"], "compile_error");
}

#[test]
fn the_wrapper_compiles_for_every_access() {
    for access in [Access::Read, Access::Write] {
        let prelude = ptc_lisp::prelude::Prelude::compile_text(&wrapper(access));
        let prelude = prelude.unwrap_or_else(|problem| panic!("{problem}"));
        let names: Vec<String> = prelude.exports().iter().flat_map(|export| export.tools.clone()).collect();
        let granted = PreludeTools::new(preludes_in_memory(), access).names();
        assert_eq!(names, granted, "each function has its tool");
    }
}

fn model_set_default(preludes: &Preludes) {
    let tools = tools(preludes, Access::Write);
    write(preludes, "a", "1");
    write(preludes, "a", "2");
    let right = checksum(&source("a", "1"));
    let set = |checksum: &str| {
        let request =
            json!({"id": "a", "version": 1, "checksum": checksum, "metadata": {"reason": "verified"}});
        tools.call("prelude_store_set_default", &json!({"request": request}))
    };
    assert_eq!(set("sha256:0")["reason"], "checksum_mismatch");
    assert_eq!(preludes.read(&at("a")).expect("reads").version.version, 2);
    let answer = set(&right);
    assert_eq!(
        answer,
        json!({"id": "a", "current_version": 1, "checksum": right, "previous_version": 2, "latest_version": 2, "status": "ok"})
    );
}

fn ledgers(_: &Preludes) {
    let arguments = json!({"request": {
        "id": "a",
        "source": "(ns a)",
        "metadata": {"reason": "why", "secret": "token"},
        "edits": [{"op": "add_form", "source": "(def x 1)"}],
        "deep": [[[[[[[[["secret"]]]]]]]]],
    }});
    let kept = ledger_arguments(&arguments);
    assert_eq!(kept["request"]["source"]["bytes"], 6);
    assert_eq!(kept["request"]["source"]["sha256"], checksum("(ns a)").trim_start_matches("sha256:"));
    assert_eq!(kept["request"]["metadata"], json!({"reason": "why"}));
    assert_eq!(kept["request"]["edits"][0]["source"]["bytes"], 9);
    let text = kept.to_string();
    assert!(!text.contains("(ns a)") && !text.contains("token") && !text.contains("secret"), "{text}");
}

fn model_access(preludes: &Preludes) {
    write(preludes, "a", "1");
    let reading = tools(preludes, Access::Read);
    let names = reading.names();
    assert!(names.contains(&"prelude_store_read".to_owned()) && names.len() == 8);
    for tool in ["write", "edit", "set_default"] {
        let tool = format!("prelude_store_{tool}");
        assert!(!names.contains(&tool) && !wrapper(Access::Read).contains(&tool));
        assert_eq!(reading.call(&tool, &json!({"request": {"id": "a", "version": 1}}))["status"], "error");
    }
    assert_eq!(reading.call("prelude_store_list", &json!({}))["status"], "ok");
}
