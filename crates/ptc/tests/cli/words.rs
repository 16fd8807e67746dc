//! What the command says to people who try it for the first time: mistakes that everybody makes are told with what
//! was meant, and none of them costs money.

use super::agents::{folder, ptc_in, write};
use super::*;

/// A model that would answer anything, so that a run which begins is seen.
const SCRIPT: [&str; 2] = ["--model", "script:replies.jsonl"];

const REPLY: &str = r#"{"program": "(return 1)"}"#;

#[test]
fn what_can_only_be_a_path_is_never_sent_to_a_model() {
    let folder = folder("paths");
    fs::create_dir_all(folder.join("mission")).expect("a folder");
    fs::create_dir_all(folder.join("empty")).expect("a folder");
    write(&folder, &[("replies.jsonl", REPLY), ("mission/agent.toml", "prompt = \"x\"\n")]);
    for (agent, message) in [
        ("./mision", "there is no agent ./mision; did you mean ./mission?"),
        ("mision", "there is no agent mision; did you mean mission?"),
        ("./nothing", "there is no file or folder ./nothing; `ptc init DIR` makes an agent"),
        ("below/nothing", "there is no file or folder below/nothing"),
        ("~/nothing", "there is no file or folder ~/nothing"),
        ("empty", "there is no agent.toml in the folder empty; `ptc init` makes one"),
        ("nothing.toml", "nothing.toml"),
        ("", "no agent is named: give its file or its folder, or say in words what to do"),
    ] {
        for command in ["run", "validate"] {
            let args: Vec<&str> = [command, agent].into_iter().chain(SCRIPT).collect();
            let ran = ptc_in(&folder, &args);
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}: {}", ran.err);
            assert!(ran.err.contains(message), "{args:?}: {}", ran.err);
            assert!(!ran.err.contains("turn 1"), "no model is asked: {}", ran.err);
        }
    }
    let words: Vec<&str> = ["run", "Give me and/or one", "-q"].into_iter().chain(SCRIPT).collect();
    assert_eq!(ptc_in(&folder, &words).out, "1\n");
}

#[test]
fn a_program_without_its_flag_is_pointed_at_the_flag() {
    for program in ["(+ 1 2)", "[1 2]", "{:a 1}", "42", "\"text\"", "#{1}"] {
        for command in ["eval", "check", "repl"] {
            let ran = ptc(&[command, program]);
            assert_eq!(ran.code, 2, "{command} {program}: {}", ran.err);
            let meant = format!("there is no file {program}; a program is given with -e: -e '{program}'");
            assert!(ran.err.contains(&meant), "{command}: {}", ran.err);
        }
    }
    assert!(ptc(&["eval", "report.clj"]).err.contains("cannot read report.clj: No such file"));
}

#[test]
fn json_may_begin_with_a_byte_order_mark() {
    let marked = |text: &str| format!("\u{feff}{text}");
    let data = format!("x=@{}", file("marked.json", &marked("[1, 2]")));
    assert_eq!(ptc(&["eval", "-e", "(count data/x)", "--data", &data]).out, "2\n");
    let tools = file("marked-tools.json", &marked(r#"{"f": {"default": 5}}"#));
    assert_eq!(ptc(&["eval", "-e", "(tool/f {})", "--tools", &tools]).out, "5\n");
    let servers = file("marked-servers.json", &marked(r#"{"mcpServers": {}}"#));
    assert_eq!(ptc(&["eval", "-e", "(+ 1 2)", "--upstreams-config", &servers]).out, "3\n");
    let folder = folder("marked");
    let sum = r#"{"program": "(return (reduce + data/xs))"}"#;
    write(&folder, &[("replies.jsonl", sum), ("in.json", &marked(r#"{"xs": [3, 4]}"#))]);
    let args: Vec<&str> =
        ["run", "Add the numbers", "--input", "in.json", "-q"].into_iter().chain(SCRIPT).collect();
    assert_eq!(ptc_in(&folder, &args).out, "7\n");
}

#[test]
fn an_id_without_its_provider_is_pointed_at_the_provider() {
    let folder = folder("providers");
    let ran = ptc_in(&folder, &["run", "Say hello", "--model", "gpt-4o"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("there is no model `gpt-4o`; did you mean `openai:gpt-4o`?"), "{}", ran.err);
}

#[test]
fn validate_has_exit_codes_of_its_own() {
    let help = ptc(&["validate", "--help"]).out;
    assert!(help.contains("  0  the file is valid"), "{help}");
    assert!(!help.contains("the agent answered"), "{help}");
}

#[test]
fn a_run_that_is_not_there_is_told_with_the_command_that_lists_those_that_are() {
    let folder = folder("no_such_run");
    write(&folder, &[("replies.jsonl", REPLY)]);
    let args: Vec<&str> =
        ["run", "Give me one", "--checkpoint", "kept", "-q"].into_iter().chain(SCRIPT).collect();
    assert_eq!(ptc_in(&folder, &args).code, 0);
    let ran = ptc_in(&folder, &["resume", "zzz", "--checkpoint", "kept"]);
    assert_eq!(ran.code, 2);
    let kept = folder.canonicalize().expect("the folder").join("kept");
    assert!(
        ran.err.contains(&format!("`ptc runs --checkpoint {}` lists them", kept.display())),
        "{}",
        ran.err
    );
}

#[test]
fn a_reply_without_a_program_is_shown() {
    let folder = folder("no_program");
    let refusal = "I am sorry, but I cannot do that.";
    write(&folder, &[("replies.jsonl", &format!("{}\n{REPLY}", json!({"text": refusal})))]);
    let args: Vec<&str> = ["run", "Give me one"].into_iter().chain(SCRIPT).collect();
    let ran = ptc_in(&folder, &args);
    assert_eq!((ran.code, ran.out.as_str()), (0, "1\n"), "{}", ran.err);
    assert!(ran.err.contains(&format!("  the model said:\n  {refusal}\n")), "{}", ran.err);
}

#[test]
fn a_store_that_is_not_there_is_never_told_as_one_in_which_all_is_well() {
    let folder = folder("typo");
    for args in [
        &["effects", "--store", "typo.db"][..],
        &["effects", "settle", "id", "it did not", "--store", "new/typo.db"],
        &["tickets", "--store", "typo.db"],
        &["store", "check", "typo.db"],
    ] {
        let ran = ptc_in(&folder, args);
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains("there is no such file"), "{args:?}: {}", ran.err);
    }
    assert!(!folder.join("typo.db").exists() && !folder.join("new").exists());
}
