//! Tokens of the examples: what their scripts say that a request and a reply take is what the tokenizer counts for what
//! was really sent.
//!
//! `PTC_WRITE_GOLDEN=1 cargo test -p ptc --test cli counted` writes the counts into the scripts anew.

use std::collections::BTreeSet;
use std::path::Path;

use ptc_llm::{Entry, Recording};

use super::agents::{folder, ptc_in};
use super::examples::{in_rust, readme, root};
use super::*;

/// A copy of an example whose models write down what they are asked, each beside its script.
fn recording(example: &str) -> PathBuf {
    let copy = folder(&format!("counted-{example}"));
    for file in fs::read_dir(root().join("examples").join(example)).expect("the folder") {
        let path = file.expect("an entry").path();
        let to = copy.join(path.file_name().expect("a name"));
        if path.extension().is_some_and(|extension| extension == "toml") {
            let text = fs::read_to_string(&path).expect("text");
            let (before, rest) = text.split_once("\"script:").expect("a script");
            let (script, after) = rest.split_once('"').expect("the end of the name");
            fs::write(to, format!("{before}\"record:{script}.calls,script:{script}\"{after}"))
                .expect("a file");
        } else {
            fs::copy(&path, to).expect("a file");
        }
    }
    copy
}

/// Runs an example as its README says, in its copy.
fn run(example: &str, copy: &Path) {
    if let Some((_, show)) = in_rust().into_iter().find(|(name, _)| *name == example) {
        return show(copy, &mut Vec::new()).unwrap_or_else(|error| panic!("{example}: {error}"));
    }
    let (_, command, _) = readme(example);
    let command = command.replace(&format!("examples/{example}/"), "");
    let ran = ptc_in(copy, &command.split(' ').skip(1).collect::<Vec<_>>());
    assert!(ran.code < 2, "{example}: {}", ran.err);
}

/// The counts of a reply as they stand in a line of a script.
fn counts(input: u64, output: u64) -> String {
    format!("\"tokens\": {{\"input\": {input}, \"output\": {output}}}")
}

/// The lines of a script with the counts of what was sent and answered. A line that is said to several requests has one
/// count, so they must have the same.
fn counted(script: &str, calls: &[Entry]) -> Vec<String> {
    let line = |line: &str| {
        let said: Value = serde_json::from_str(line).expect("JSON");
        let answers = |call: &&Entry| {
            let reply = call.reply.as_ref().expect("a reply");
            let heard =
                |wanted: &str| call.request.messages.iter().any(|message| message.content.contains(wanted));
            said["reply"]["content"].as_str() == reply.content.as_deref()
                && said["when"].as_str().is_none_or(heard)
        };
        let counted = calls.iter().filter(answers).map(|call| {
            counts(tokens::of_request(&call.request), call.reply.as_ref().map_or(0, tokens::of_reply))
        });
        let counted: BTreeSet<String> = counted.collect();
        assert_eq!(counted.len(), 1, "requests that differ need lines of their own: {line}");
        let (before, old) = line.split_once("\"tokens\": {").expect("counts");
        let (_, after) = old.split_once('}').expect("the end of the counts");
        counted.into_iter().map(|new| format!("{before}{new}{after}")).collect()
    };
    script.lines().map(line).collect()
}

#[test]
fn tokens_of_examples_are_counted_from_what_was_sent() {
    for example in fs::read_dir(root().join("examples")).expect("the folder") {
        let example = example.expect("an entry").file_name().into_string().expect("UTF-8");
        let copy = recording(&example);
        run(&example, &copy);
        let names = fs::read_dir(&copy).expect("the folder").map(|file| file.expect("an entry").file_name());
        let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
        let recorded: Vec<&str> = names.iter().filter_map(|name| name.strip_suffix(".calls")).collect();
        assert!(!recorded.is_empty(), "{example}: no model was asked");
        for name in recorded {
            let path = root().join("examples").join(&example).join(name);
            let script = fs::read_to_string(&path).expect("the script");
            let calls = Recording::read(&copy.join(format!("{name}.calls"))).expect("a recording");
            let lines = counted(&script, calls.entries()).join("\n") + "\n";
            if std::env::var_os("PTC_WRITE_GOLDEN").is_some() {
                fs::write(&path, &lines).expect("it is written");
            } else {
                assert_eq!(script, lines, "{example}/{name}: run this with PTC_WRITE_GOLDEN=1");
            }
        }
    }
}
