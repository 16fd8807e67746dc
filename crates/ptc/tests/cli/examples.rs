//! The examples, as their READMEs say they are run: without a network, with the answer that the table has.

use std::path::Path;

use super::agents::ptc_in;
use super::*;

#[path = "../../../../examples/chat/main.rs"]
#[expect(dead_code, reason = "its `main` is not called here")]
mod chat;

#[path = "../../../../examples/compile-once/main.rs"]
#[expect(dead_code, reason = "its `main` is not called here")]
mod compile_once;

/// A program that shows an example in Rust.
pub type Show = fn(&Path, &mut dyn Write) -> Result<(), Box<dyn std::error::Error>>;

/// Examples in Rust.
pub fn in_rust() -> [(&'static str, Show); 2] {
    [("chat", chat::show), ("compile-once", compile_once::show)]
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The README of an example, the command that it shows, and what that prints if it says so.
pub fn readme(folder: &str) -> (String, String, String) {
    let text = fs::read_to_string(root().join("examples").join(folder).join("README.md")).expect("a README");
    let block =
        text.split("```console\n$ ").nth(1).and_then(|rest| rest.split("```").next()).expect("a command");
    let (command, printed) = block.split_once('\n').expect("a line");
    let (command, printed) = (command.to_owned(), printed.to_owned());
    (text, command, printed)
}

/// Examples of the command: folder, exit code, the answer, and the end of what is said where there is none.
fn examples() -> Vec<(&'static str, i32, Value, &'static str)> {
    let region = |region: &str, revenue: f64, late: f64| json!({"region": region, "revenue_eur": revenue, "late_percent": late});
    let ticket = |id: u32, customer: &str, plan: &str, urgency: u32, area: &str| {
        json!([id, customer, plan, urgency, area])
    };
    let account = |account: &str, owner: &str, owes: f64, oldest: u32| json!({"account": account, "owner": owner, "owes_eur": owes, "incidents": 2, "oldest_days": oldest});
    let view =
        |stance: &str, reason: &str, who: &str| json!({"who": who, "stance": stance, "reason": reason});
    vec![
        (
            "orders",
            0,
            json!({"orders": 415, "regions": [
                region("south", 31310.86, 22.61), region("north", 29140.47, 26.36),
                region("east", 21601.04, 22.86), region("west", 21025.1, 27.06),
            ]}),
            "",
        ),
        ("log-triage", 0, json!("inventory failed first, at 02:15:53 UTC"), ""),
        (
            "support-triage",
            0,
            json!({"seen": 76, "waiting": 6, "queue": [
                ticket(4271, "Estuary Health", "enterprise", 5, "privacy"),
                ticket(4270, "Ivybridge Bank", "enterprise", 5, "sign-in"),
                ticket(4274, "Seaforth Cargo", "business", 4, "api"),
                ticket(4275, "Varley Optics", "business", 3, "search"),
                ticket(4273, "Larkfield", "free", 3, "billing"),
                ticket(4272, "Harrow Print", "team", 1, "boards"),
            ]}),
            "",
        ),
        (
            "cross-source-join",
            0,
            json!({"enterprise": 32, "at_risk": [
                account("Granite Robotics", "Chloe", 34070.82, 106), account("Delta Robotics", "Bjarne", 25428.51, 196),
                account("Alba Textiles", "Amara", 18438.56, 70), account("Raven Robotics", "Dmitri", 9439.67, 159),
                account("Prairie Energy", "Dmitri", 9151.02, 192), account("Delta Paper", "Chloe", 8360.28, 116),
                account("Kite Robotics", "Amara", 7868.96, 151),
            ]}),
            "",
        ),
        (
            "long-text",
            0,
            json!({"for": 5, "against": 7, "views": [
                view("against", "cost", "Mr Sato"), view("against", "cost", "Mr Whitcombe"),
                view("against", "cost", "Ms Lindholm"), view("against", "noise", "Mr Rasmussen"),
                view("against", "noise", "Mrs Penrose"), view("against", "trees", "Mr Petrov"),
                view("against", "trees", "Mrs Tanaka"), view("for", "air", "Mr Okonkwo"),
                view("for", "air", "Ms Quigley"), view("for", "shops", "Mr Achterberg"),
                view("for", "shops", "Mrs Osei"), view("for", "work", "Ms Delgado"),
            ]}),
            "",
        ),
        (
            "readable-failure",
            1,
            Value::Null,
            "178 of 900 articles have no on_hand: all that warehouse W2 counted since 2026-03-12. \
             Repeat the export of W2, then run this again. (stock-incomplete)",
        ),
    ]
}

/// An answer with what the table leaves out left out: reasons in words, and all but the first words of a text.
fn brief(mut answer: Value, wanted: &Value) -> Value {
    if let (Value::String(text), Value::String(begin)) = (&answer, wanted) {
        return Value::from(text.get(..begin.len()).unwrap_or(text));
    }
    for ticket in answer.get_mut("queue").and_then(Value::as_array_mut).into_iter().flatten() {
        assert!(ticket["why"].as_str().is_some_and(|why| why.len() > 20), "{ticket}");
        *ticket =
            ["id", "customer", "plan", "urgency", "area"].iter().map(|name| ticket[name].clone()).collect();
    }
    answer
}

#[test]
fn every_example_answers_offline_and_its_readme_says_what_stayed_out() {
    for (folder, code, wanted, failure) in examples() {
        let (readme, command, _) = readme(folder);
        let args: Vec<&str> = command.split(' ').skip(1).collect();
        let ran = ptc_in(&root(), &[&args[..], &["--json"]].concat());
        assert_eq!(ran.code, code, "{folder}: {}", ran.err);
        let document: Value = serde_json::from_str(&ran.out).expect("one JSON document");
        assert_eq!(brief(document["answer"].clone(), &wanted), wanted, "{folder}");
        assert!(ran.err.contains(failure), "{folder}: {}", ran.err);
        let kept = ran.err.trim_end().rsplit(", ").find(|part| part.ends_with("kept out of the context"));
        let kept = kept.expect("the cost is the last line");
        // The line may be broken anywhere.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&readme).contains(kept), "{folder}: its README does not say `{kept}`");
    }
}

#[test]
fn examples_in_rust_print_what_their_readmes_say() {
    for (folder, show) in in_rust() {
        let mut out = Vec::new();
        show(&root().join("examples").join(folder), &mut out)
            .unwrap_or_else(|error| panic!("{folder}: {error}"));
        let (_, command, printed) = readme(folder);
        assert_eq!(command, format!("cargo run -p ptc-runner --example {folder}"));
        assert_eq!(String::from_utf8(out).expect("text"), printed, "{folder}");
    }
}

#[test]
fn files_of_examples_are_right_and_of_modest_size() {
    let mut agents = 0;
    for folder in fs::read_dir(root().join("examples")).expect("the folder") {
        let folder = folder.expect("an entry").path();
        assert!(folder.join("README.md").is_file(), "{} has no README", folder.display());
        for file in fs::read_dir(&folder).expect("a folder") {
            let file = file.expect("an entry").path();
            let size = fs::metadata(&file).expect("a file").len();
            assert!(size < 300_000, "{} has {size} bytes", file.display());
            if file.extension().is_some_and(|extension| extension == "toml") {
                agents += 1;
                validated(&folder, &file);
            }
        }
    }
    assert!(agents >= 9, "only {agents} agents");
}

fn validated(folder: &Path, file: &Path) {
    let ran = ptc_in(folder, &["validate", file.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, 0, "{}: {}", file.display(), ran.err);
    assert!(!ran.out.contains("note  "), "{}: {}", file.display(), ran.out);
}
