//! `ptc prelude`, and preludes of `ptc eval` and `ptc repl`.

use std::path::PathBuf;

use serde_json::Value;

use super::{file, ptc, with_input};

const CRM: &str = r#"(ns crm "CRM helpers.")
(def page-size 50)
(defn- tag [id] (str "norm:" id))
(defn tagged "Tags an id. (comment (tagged 1) ;=> \"norm:1\")" [id] (tag id))
(defn get-user "Return a user." [id]
  (tool/call {:server "crm" :tool "get_user" :args {:id (tag id)}}))
"#;

#[test]
fn programs_use_preludes_of_files() {
    let crm = file("prelude-crm.clj", CRM);
    let more = file("prelude-more.clj", "(ns more) (defn twice [id] [(crm/tagged id) (crm/tagged id)])");
    let ran = ptc(&["eval", "--prelude", &crm, "-e", "[crm/page-size (crm/tagged 1)]"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "[50 \"norm:1\"]\n"), "{}", ran.err);
    let ran = ptc(&["eval", "-p", &crm, "-p", &more, "-e", "(more/twice 2)"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "[\"norm:2\" \"norm:2\"]\n"), "{}", ran.err);
    let tools = file("prelude-tools.json", r#"{"crm/get_user": {"default": {"name": "Ann"}}}"#);
    let ran = ptc(&["eval", "-p", &crm, "--tools", &tools, "-e", "(:name (:value (crm/get-user 1)))"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "\"Ann\"\n"), "{}", ran.err);
    let ran = with_input(&["repl", "-p", &crm], "(crm/tagged 3)\n(def crm/x 1)\n");
    assert!(ran.out.starts_with("\"norm:3\"\n"), "{}", ran.out);
    assert!(ran.out.contains("crm is a protected namespace"), "{}", ran.out);
    let ran = with_input(&["eval", "--batch", "-p", &crm], "{\"src\": \"(crm/tagged 4)\"}\n");
    assert!(ran.out.contains("norm:4"), "{}", ran.out);
}

#[test]
fn the_inventory_is_what_prompts_say() {
    let crm = file("prelude-inventory.clj", CRM);
    let shown = ptc(&["prelude", "inventory", &crm]);
    assert_eq!(shown.code, 0);
    assert!(shown.out.contains("  crm/get-user (get-user id) — Return a user.\n"), "{}", shown.out);
    for command in ["repl", "eval"] {
        let ran = ptc(&[command, "--prelude", &crm, "--show-prompt-inventory"]);
        assert_eq!((ran.code, &ran.out), (0, &shown.out), "{command}");
    }
}

#[test]
fn wrong_preludes_are_shown_with_their_place() {
    let wrong = file("prelude-wrong.clj", "(ns crm)\n(defn f [x] (inc y))\n");
    let ran = ptc(&["prelude", "check", &wrong]);
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("compile_error") && ran.err.contains("undefined name: y"), "{}", ran.err);
    assert!(ran.err.contains("prelude-wrong.clj:2:18"), "{}", ran.err);
    let ran = ptc(&["eval", "-p", &wrong, "-e", "1"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("line 2, column 18: undefined name: y"), "{}", ran.err);
    let tool = file("prelude-tool.clj", "(ns log) (defn all [] (tool/log_all))");
    let ran = ptc(&["eval", "-p", &tool, "-e", "(println 1)"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "nothing runs");
    assert!(ran.err.contains("requires granted tool `log_all`"), "{}", ran.err);
    assert_eq!(ptc(&["prelude", "check", "/no/such/file.clj"]).code, 2);
}

#[test]
fn check_says_what_a_prelude_exports() {
    let crm = file("prelude-check.clj", CRM);
    let ran = ptc(&["prelude", "check", &crm]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.starts_with("ok, 3 exports in crm\n"), "{}", ran.out);
    assert!(
        ran.out.contains("crm/get-user [id] prompt, unknown, requires upstream:crm/get_user"),
        "{}",
        ran.out
    );
    let json: Value = serde_json::from_str(&ptc(&["prelude", "check", "--json", &crm]).out).expect("JSON");
    assert_eq!(json["protected_namespaces"][0], "crm");
    assert_eq!(json["components"][0]["id"], "prelude-check");
}

#[test]
fn examples_in_docstrings_are_tests() {
    let good = file("prelude-good.clj", CRM);
    let ran = ptc(&["prelude", "test", &good]);
    assert_eq!(ran.code, 0, "{}", ran.out);
    assert!(ran.out.ends_with("1 passed, 0 failed\n"), "{}", ran.out);
    let bad = file("prelude-bad.clj", "(ns a) (defn f \"(f 1) ;=> 3\" [x] (inc x))");
    let ran = ptc(&["prelude", "test", &bad]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("expected 3, got 2"), "{}", ran.out);
}

#[test]
fn the_store_keeps_versions() {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("preludes-of-cli.db");
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", place.display()));
    }
    let place = place.to_str().expect("UTF-8");
    let store = |words: &[&str]| {
        let words: Vec<&str> =
            ["prelude", "store"].iter().chain(words).copied().chain(["--store", place]).collect();
        ptc(&words)
    };
    let one = file("store-one.clj", "(ns paged) (defn size [] 10)\n");
    let two = file("store-two.clj", "(ns paged) (defn size [] 20)\n");
    let nowhere = store(&["list"]);
    assert_eq!(nowhere.code, 2, "{}", nowhere.out);
    assert!(nowhere.err.contains("there is no such file"), "{}", nowhere.err);
    for words in [
        &["read", "paged"][..],
        &["history", "paged"],
        &["prune", "--keep", "1"],
        &["set-default", "paged@1"],
    ] {
        assert_eq!(store(words).code, 2, "{words:?}");
    }
    assert!(!PathBuf::from(place).exists(), "looking makes nothing");
    let written = store(&["write", "paged", &one, "--reason", "first"]);
    assert_eq!(written.code, 0, "{}", written.err);
    assert!(
        written.out.starts_with("paged@1 ") && written.out.ends_with("default  (first)\n"),
        "{}",
        written.out
    );
    assert_eq!(store(&["write", "paged", &two, "--base", "1"]).code, 0);
    let stale = store(&["write", "paged", &one, "--base", "1"]);
    assert_eq!(stale.code, 1);
    assert!(stale.err.starts_with("stale_base: "), "{}", stale.err);
    assert_eq!(store(&["read", "paged"]).out, "(ns paged) (defn size [] 20)\n");
    let back = store(&["set-default", "paged@1", "--reason", "rollback"]);
    assert_eq!(back.out, "paged@1 is the default, it was 2; the latest is 2\n", "{}", back.err);
    assert_eq!(store(&["read", "paged"]).out, "(ns paged) (defn size [] 10)\n");
    assert!(store(&["diff", "paged@1", "paged@2"]).out.contains("+(ns paged) (defn size [] 20)"));
    let history: Value = serde_json::from_str(&store(&["history", "paged", "--json"]).out).expect("JSON");
    assert_eq!(
        (history[0]["is_current"].as_bool(), history[1]["is_latest"].as_bool()),
        (Some(true), Some(true))
    );
    let full = store(&["write", "paged", &two, "--max-bytes", "20"]);
    assert!(full.code == 1 && full.err.starts_with("store_bytes_exceeded: "), "{}", full.err);
    for _ in 0..3 {
        assert_eq!(store(&["write", "paged", &two]).code, 0);
    }
    let pruned = store(&["prune", "paged", "--keep", "1"]).out;
    // As many as `history` tells of each.
    let bytes = "(ns paged) (defn size [] 20)\n".len();
    let lines = [2, 3, 4].map(|version| format!("paged@{version}  {bytes} bytes\n")).concat();
    assert_eq!(pruned, format!("{lines}3 versions removed, {} bytes\n", 3 * bytes));
    let last = store(&["write", "paged", &two, "--max-versions", "1", "--json"]);
    assert_eq!(last.code, 0, "{}", last.err);
    let history: Value = serde_json::from_str(&store(&["history", "paged", "--json"]).out).expect("JSON");
    let numbers: Vec<i64> =
        history.as_array().expect("a list").iter().filter_map(|one| one["version"].as_i64()).collect();
    assert_eq!(numbers, [1, 6], "one was made the default by hand");
    let wrong = file("store-wrong.clj", "(ns paged) (defn size [] (nowhere))\n");
    let refused = store(&["write", "paged", &wrong]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("undefined name: nowhere"), "{}", refused.err);
    assert_eq!(store(&["read", "none"]).code, 1);
    assert_eq!(ptc(&["prelude", "store", "list"]).code, 2, "a place is needed");
}
