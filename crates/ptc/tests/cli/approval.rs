//! Calls that wait for a person, with the real command: without a terminal, on one, and killed at every moment.

use std::path::Path;

use super::agents::{command_in, folder, ptc_in, write};
use super::resume::{Server, kill, killed_at_point, only_run, runs, start};
use super::shell_server::{listing, shell_server};
use super::*;

/// An agent that pays three bills at once, with a tool that writes down what it paid.
pub fn bills(name: &str) -> PathBuf {
    let folder = folder(name);
    let agent = "prompt = \"Pay the bills\"\nname = \"clerk\"\nmodel = \"script:replies.jsonl\"\n\
                 [tools.pay]\nsignature = \"(sum :int) -> :int\"\ndescription = \"Pays a bill\"\napproval = \"ask\"\n\
                 command = [\"./pay.sh\"]\n";
    let program = "(defn pay [n] (try (tool/pay {:sum n}) (catch Exception e (re-find #\\\"because.*|unknown\\\" (ex-message e))))) \
                   (return {:paid (pmap pay [1 2 3])})";
    let reply = format!("{{\"program\": \"{program}\"}}");
    let tool = "#!/bin/sh\nread -r line\necho \"$line\" >> paid.log\necho \"$line\" | tr -dc 0-9\n";
    write(&folder, &[("agent.toml", agent), ("replies.jsonl", &reply), ("pay.sh", tool)]);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("pay.sh"), executable).expect("a script");
    folder
}

/// What was paid, in order of the sums.
pub fn paid(folder: &Path) -> Vec<String> {
    let log = fs::read_to_string(folder.join("paid.log")).unwrap_or_default();
    let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The numbers of the calls that the only run waits for.
fn waiting(folder: &Path) -> Vec<String> {
    let runs = runs(folder);
    let pending = runs[0]["pending"].as_array().expect("a list");
    pending.iter().map(|call| call["call"].to_string()).collect()
}

#[test]
fn without_a_terminal_a_run_waits_and_goes_on_as_it_is_told() {
    let folder = bills("approval");
    let ran = ptc_in(&folder, &["run", "agent.toml", "--checkpoint", "kept"]);
    assert_eq!((ran.code, ran.out.as_str()), (4, ""), "{}", ran.err);
    let (id, state, _) = only_run(&folder);
    assert_eq!(state, "waiting");
    let calls = waiting(&folder);
    for part in [
        "ptc: 3 calls wait for a person's approval",
        &format!(
            "call {}: tool/pay, asked by clerk, effect: unknown\n  │ {{\n  │   \"sum\": 1\n  │ }}",
            calls[0]
        ),
        &format!("= go on with: ptc resume {id} --checkpoint "),
    ] {
        assert!(ran.err.contains(part), "{part}\n---\n{}", ran.err);
    }
    let listed = ptc_in(&folder, &["runs", "--checkpoint", "kept"]);
    assert!(
        listed.out.contains("  waiting  ") && listed.out.contains("tool/pay, asked by clerk"),
        "{}",
        listed.out
    );
    let resume = |more: &[&str]| {
        ptc_in(&folder, &[&["resume", &id, "--checkpoint", "kept", "--json"][..], more].concat())
    };
    // What makes no sense changes nothing.
    for (more, message) in [
        (&["--approve", "99"][..], "no call 99 waits for a decision; there are"),
        (&["--edit", &calls[0], "{"], "are not JSON"),
        (&["--edit", &calls[0], "{\"sum\": \"x\"}"], "Tool validation"),
        (&["--approve", &calls[0], "--reject", &calls[0], "no"], "decided twice"),
    ] {
        let ran = resume(more);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains(message), "{message}: {}", ran.err);
        assert_eq!(only_run(&folder).1, "waiting");
    }
    // Without a decision it waits on; with one it waits for the others.
    assert_eq!(resume(&[]).code, 4);
    let ran = resume(&["--approve", &calls[0]]);
    let document: Value = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!((ran.code, document["pending"].as_array().map(Vec::len)), (4, Some(2)), "{}", ran.err);
    assert_eq!(paid(&folder), ["{\"sum\":1}"]);
    assert_eq!(waiting(&folder), calls[1..]);
    let ran = resume(&["--edit", &calls[1], "{\"sum\": 20}", "--reject", &calls[2], "because I say so"]);
    let document: Value = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!(document["answer"], json!({"paid": [1, 20, "because I say so"]}), "{}", ran.err);
    assert_eq!(paid(&folder), ["{\"sum\":1}", "{\"sum\":20}"]);
    let decided = document["trace"][0]["calls"].as_array().expect("calls");
    let decided: Vec<&Value> = decided.iter().map(|call| &call["approval"]).collect();
    assert_eq!(decided, ["approved", "edited", "rejected"]);
    let again = resume(&["--approve", "all"]);
    assert_eq!(again.code, 0, "a run that is over gives its answer again: {}", again.err);
    assert_eq!(paid(&folder).len(), 2);
}

#[test]
fn a_run_that_nobody_keeps_is_kept_when_it_waits() {
    let folder = bills("approval-unkept");
    let ran = ptc_in(&folder, &["run", "agent.toml", "--quiet"]);
    assert_eq!(ran.code, 4);
    let (_, command) = ran.err.split_once("go on with: ptc ").expect("how to go on");
    let command: Vec<&str> = command.lines().next().unwrap_or_default().split(' ').collect();
    let listed = ptc_in(&folder, &["runs"]);
    assert!(listed.out.contains("  waiting  "), "{}", listed.out);
    let ran = ptc_in(&folder, &[&command[..], &["--quiet"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(paid(&folder).len(), 3);
}

/// Waits for words on a terminal and types after them: pairs of words and what is typed, then the command. What waits
/// for no words is typed at once, at first before the command can ask anything. Names of signals are sent as such, `WAIT`
/// waits for a file.
const TYPIST: &str = r#"
import os, pty, sys, signal, time
count = int(sys.argv[1])
pairs = [sys.argv[2 + i].split("=>") for i in range(count)]
ready, go = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.read(ready, 1)
    os.execvp(sys.argv[2 + count], sys.argv[2 + count:])
while pairs and not pairs[0][0]:
    os.write(terminal, pairs.pop(0)[1].encode() + b"\n")
os.write(go, b"!")
seen, at = b"", 0
while True:
    try:
        data = os.read(terminal, 4096)
    except OSError:
        break
    if not data:
        break
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
    seen += data
    while pairs and pairs[0][0].encode() in seen[at:]:
        words, typed = pairs.pop(0)
        at = seen.index(words.encode(), at) + len(words)
        if typed in ("SIGKILL", "SIGTERM", "SIGINT"):
            os.kill(pid, getattr(signal, typed))
        elif typed.startswith("WAIT "):
            for _ in range(6000):
                if os.path.exists(typed[5:]):
                    break
                time.sleep(0.01)  # Nobody tells of a file that comes.
            else:
                os.kill(pid, signal.SIGKILL)
        else:
            os.write(terminal, typed.encode() + b"\n")
_, status = os.waitpid(pid, 0)
sys.exit(137 if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
"#;

/// Runs the command on a terminal where somebody types.
fn typed(folder: &Path, pairs: &[&str], editor: &str, args: &[&str]) -> (i32, String) {
    let plain = command_in(folder, args);
    let mut command = Command::new("python3");
    command.args(["-c", TYPIST, &pairs.len().to_string()]).args(pairs).arg(plain.get_program());
    command.args(plain.get_args()).current_dir(folder).stdin(Stdio::null());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("TERM", "xterm").env("NO_COLOR", "1").env_remove("VISUAL").env("EDITOR", editor);
    let output = command.output().expect("python3 starts");
    (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn on_a_terminal_a_person_is_asked() {
    let folder = bills("approval-terminal");
    let pairs = ["later (l)?=>a", "later (l)?=>r", "why?=>because it is late", "later (l)?=>e"];
    let pairs =
        [&pairs[..], &["one line of JSON:=>{\"sum\": \"x\"}", "later (l)?=>e", "of JSON:=>{\"sum\": 30}"]]
            .concat();
    let (code, shown) = typed(&folder, &pairs, "", &["run", "agent.toml"]);
    assert_eq!(code, 0, "{shown}");
    for part in ["tool/pay, asked by clerk", "\"sum\": 1", "Tool validation", "because it is late"] {
        assert!(shown.contains(part), "{part}\n---\n{shown}");
    }
    assert_eq!(paid(&folder).len(), 2, "{shown}");
    assert!(paid(&folder).contains(&"{\"sum\":30}".to_owned()), "{:?}", paid(&folder));
}

/// The rows of a terminal of 80 columns.
pub fn rows(shown: &str) -> Vec<String> {
    let lines = shown.split('\n').map(|line| line.trim_end_matches('\r').chars().collect::<Vec<_>>());
    let broken = lines.flat_map(|line| match line.is_empty() {
        true => vec![String::new()],
        false => line.chunks(80).map(|row| row.iter().collect()).collect(),
    });
    broken.collect()
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let folder = bills("approval-ahead");
    let reject = ["later (l)?=>r", "why?=>because nobody looked"];
    let (code, shown) =
        typed(&folder, &[&["=>a\na\na"], &reject[..], &reject, &reject].concat(), "", &["run", "agent.toml"]);
    assert_eq!((code, paid(&folder).len()), (0, 0), "{shown}");
    assert_eq!(shown.matches("tool/pay was rejected: because nobody looked").count(), 3, "{shown}");
    // An answer that is given twice decides about one call.
    let folder = bills("approval-twice");
    let later = ["later (l)?=>a\na\na", "later (l)?=>l", "later (l)?=>l"];
    let (code, shown) = typed(&folder, &later, "", &["run", "agent.toml", "--checkpoint", "kept"]);
    assert_eq!((code, paid(&folder).len()), (4, 1), "{shown}");
    assert_eq!(waiting(&folder).len(), 2, "{shown}");
}

#[test]
fn what_was_typed_before_does_not_start_an_agent_that_others_could_have_written() {
    let folder = bills("approval-vouched");
    assert_eq!(ptc_in(&folder, &["run", "agent.toml", "--checkpoint", "kept", "--quiet"]).code, 4);
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    fs::set_permissions(folder.join("agent.toml"), open).expect("an agent that anybody may write");
    let resume = ["resume", &only_run(&folder).0, "--checkpoint", "kept"];
    let (code, shown) = typed(
        &folder,
        &["=>y", "start it (y/n)? =>n", "later (l)?=>l", "later (l)?=>l", "later (l)?=>l"],
        "",
        &resume,
    );
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("its tool pay runs: ") && shown.contains("nothing was started"), "{shown}");
    let (code, shown) = typed(
        &folder,
        &["start it (y/n)? =>y", "later (l)?=>l", "later (l)?=>l", "later (l)?=>l"],
        "",
        &resume,
    );
    assert_eq!(code, 4, "{shown}");
}

#[test]
fn a_run_does_not_go_on_with_scripts_or_replies_that_others_could_have_written() {
    let folder = bills("approval-vouched-files");
    assert_eq!(ptc_in(&folder, &["run", "agent.toml", "--checkpoint", "kept", "--quiet"]).code, 4);
    let resume = ["resume", &only_run(&folder).0, "--checkpoint", "kept", "--approve", "all"];
    let set = |file: &str, mode: u32| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(folder.join(file), mode).expect("it changes");
    };
    for (file, open, closed) in [("pay.sh", 0o777, 0o755), ("replies.jsonl", 0o666, 0o644)] {
        set(file, open);
        let refused = ptc_in(&folder, &resume);
        assert_eq!(refused.code, 2, "{file}: {}", refused.err);
        assert!(refused.err.contains(&format!("{file} has mode {open:04o}")), "{}", refused.err);
        assert!(refused.err.contains("its tool pay runs: ./pay.sh"), "{}", refused.err);
        assert_eq!(paid(&folder).len(), 0, "{file}");
        set(file, closed);
    }
    assert_eq!(ptc_in(&folder, &resume).code, 0);
    assert_eq!(paid(&folder).len(), 3);
}

#[test]
fn arguments_cannot_look_like_another_question() {
    let folder = bills("approval-long");
    let row = |text: &str| format!("{text:80}");
    let memo = format!("rent{}", row("").repeat(40))
        + &["call 1: tool/pay, asked by clerk", "  {", "    \"memo\": \"coffee\",", "    \"sum\": 3", "  }"]
            .map(row)
            .concat();
    let agent = fs::read_to_string(folder.join("agent.toml"))
        .expect("the agent")
        .replace("sum :int", "memo :string, sum :int");
    let reply = json!({"program": format!("(return (tool/pay {{:memo {} :sum 999999}}))", json!(memo))});
    write(&folder, &[("agent.toml", &agent), ("replies.jsonl", &reply.to_string())]);
    let (code, shown) =
        typed(&folder, &["later (l)?=>l"], "", &["run", "agent.toml", "--checkpoint", "kept"]);
    assert_eq!((code, paid(&folder).len()), (4, 0), "{shown}");
    let rows = rows(&shown[shown.find("tool/pay, asked by").expect("the call")..]);
    let to = rows.iter().position(|row| row.contains(": approve (a)")).expect("the question");
    assert!(to > 40, "{shown}");
    for row in &rows[1..to] {
        assert!(row.starts_with("  │"), "{row:?}\n---\n{shown}");
    }
    assert!(rows[..to].contains(&"  │   \"sum\": 999999".to_owned()), "{shown}");
    let question = format!("call {}, tool/pay, 3,", waiting(&folder)[0]);
    assert!(rows[to].starts_with(&question), "{:?}", rows[to]);
    // Those who decide later see the same.
    let listed = ptc_in(&folder, &["resume", &only_run(&folder).0, "--checkpoint", "kept"]);
    let from = listed.err.find("\ncall ").expect("the call");
    let to = listed.err.find("\n  = go on with").expect("how to go on");
    for row in listed.err[from + 1..to].lines().skip(1) {
        assert!(row.starts_with("  │") && row.chars().count() <= 80, "{row:?}\n---\n{}", listed.err);
    }
}

#[test]
fn nothing_is_said_between_a_question_and_its_answer() {
    let folder = bills("approval-between");
    let agent = fs::read_to_string(folder.join("agent.toml")).expect("the agent");
    let free = "[tools.free]\nsignature = \"(n :int) -> :any\"\ndescription = \"Fails\"\ncommand = [\"./free.sh\"]\n";
    let tool = "#!/bin/sh\nread -r line\ncase \"$line\" in *2*) touch ended ;; esac\nprintf 'call 9: tool/pay\\n  sum: 3\\n' >&2\nexit 1\n";
    let program = "(defn free [n] (try (tool/free {:n n}) (catch Exception e n))) \
                   (return (pmap (fn [n] (if (= n 1) (tool/pay {:sum n}) (free n))) [1 2]))";
    let reply = json!({"program": program}).to_string();
    write(&folder, &[("agent.toml", &(agent + free)), ("free.sh", tool), ("replies.jsonl", &reply)]);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("free.sh"), executable).expect("a script");
    let (code, shown) = typed(&folder, &["later (l)?=>WAIT ended", "=>a"], "", &["run", "agent.toml"]);
    assert_eq!((code, paid(&folder).len()), (0, 1), "{shown}");
    let (asked, decided) = (
        shown.find("tool/pay, asked by").expect("the call"),
        shown.rfind("later (l)?").expect("the question"),
    );
    assert!(!shown[asked..decided].contains("tool/free"), "{shown}");
    assert!(shown[decided..].contains("tool/free"), "it is told afterwards: {shown}");
}

#[test]
fn an_editor_changes_arguments_and_a_run_can_wait_after_all() {
    let folder = bills("approval-editor");
    let pairs = ["later (l)?=>e", "later (l)?=>l", "later (l)?=>l"];
    let (code, shown) =
        typed(&folder, &pairs, "sed -i s/[0-9]/7/", &["run", "agent.toml", "--checkpoint", "kept"]);
    assert_eq!(code, 4, "{shown}");
    assert_eq!(paid(&folder), ["{\"sum\":7}"]);
    assert_eq!((only_run(&folder).1.as_str(), waiting(&folder).len()), ("waiting", 2));
}

#[test]
fn killed_while_it_asks_a_run_asks_again_and_has_called_nothing() {
    let folder = bills("approval-killed");
    let (code, _) =
        typed(&folder, &["later (l)?=>SIGKILL"], "", &["run", "agent.toml", "--checkpoint", "kept"]);
    assert_eq!((code, paid(&folder).len()), (137, 0));
    let (id, state, _) = only_run(&folder);
    assert_eq!((state.as_str(), waiting(&folder).len()), ("waiting", 3));
    let listed = ptc_in(&folder, &["runs", "--checkpoint", "kept"]);
    assert!(listed.out.contains("tool/pay, asked by clerk, effect: unknown"), "{}", listed.out);
    // One is decided, then it is killed at the next question: the first is not asked about again.
    let resume = ["resume", &id, "--checkpoint", "kept"];
    let (code, _) = typed(&folder, &["later (l)?=>a", "later (l)?=>SIGKILL"], "", &resume);
    assert_eq!(code, 137);
    let (code, shown) = typed(&folder, &["later (l)?=>a", "later (l)?=>a", "later (l)?=>a"], "", &resume);
    assert_eq!(code, 0, "{shown}");
    // A decision that was not on disk yet when the process was killed is none.
    let asked = shown.matches("tool/pay, asked by clerk").count();
    assert!((2..=3).contains(&asked), "{shown}");
    let mut distinct = paid(&folder);
    distinct.dedup();
    assert_eq!(distinct, paid(&folder), "nothing is paid twice");
}

#[test]
fn asked_to_end_while_it_asks_a_run_ends_and_is_kept() {
    for (signal, more) in
        [("SIGTERM", &["--checkpoint", "kept"][..]), ("SIGINT", &["--checkpoint", "kept"]), ("SIGTERM", &[])]
    {
        let folder = bills("approval-asked-to-end");
        let pair = format!("later (l)?=>{signal}");
        let (code, shown) = typed(&folder, &[&pair], "", &[&["run", "agent.toml"][..], more].concat());
        assert_eq!((code, paid(&folder).len()), (130, 0), "{signal}: {shown}");
        let (_, command) = shown.split_once("ptc: stopped\r\n  = go on with: ptc ").expect("how to go on");
        let command: Vec<&str> = command.lines().next().unwrap_or_default().trim().split(' ').collect();
        let ran = ptc_in(&folder, &[&command[..], &["--quiet"]].concat());
        assert_eq!(ran.code, 4, "{signal}: {}", ran.err);
        let ran = ptc_in(&folder, &[&command[..], &["--quiet", "--approve", "all"]].concat());
        assert_eq!((ran.code, paid(&folder).len()), (0, 3), "{signal}: {}", ran.err);
    }
}

/// An agent whose one call is counted by a server, at the point where it waits for a person.
fn counted(name: &str) -> (PathBuf, Server, String) {
    let folder = folder(name);
    let server = Server::start(&folder);
    let agent = "prompt = \"Step\"\nmodel = \"script:replies.jsonl\"\ntimeout = 100000\n\
                 [tools.step]\nsignature = \"(n :int) -> {total :int}\"\napproval = \"ask\"\neffect = \"write\"\n\
                 command = [\"./tool.sh\"]\n";
    let reply = r#"{"program": "(return (try (:total (tool/step {:n 1})) (catch Exception e (re-find #\"outcome unknown\" (ex-message e)))))"}"#;
    write(&folder, &[("agent.toml", agent), ("replies.jsonl", reply)]);
    assert_eq!(ptc_in(&folder, &["run", "agent.toml", "--checkpoint", "kept", "--quiet"]).code, 4);
    let id = only_run(&folder).0;
    (folder, server, id)
}

#[test]
fn killed_during_an_approved_call_it_is_not_made_again() {
    let (folder, server, id) = counted("approval-killed-call");
    server.hold(&["tool 1"]);
    let approve = ["resume", &id, "--checkpoint", "kept", "--quiet", "--approve", "all"];
    let process = start(&folder, &approve);
    server.wait_for("tool 1", 1);
    kill(process);
    server.hold(&[]);
    // It is told of at once, and is no more after somebody has looked.
    let gaps = gaps(&folder);
    let [gap] = gaps.as_slice() else { panic!("one gap: {gaps:?}") };
    assert_eq!(
        (&gap["server"], &gap["tool"], &gap["args"]),
        (&json!("tool"), &json!("step"), &json!({"n": 1}))
    );
    assert_eq!(runs(&folder)[0]["outcome_unknown"], 1);
    // Approving again is refused: nothing waits for it any more.
    let again = ptc_in(&folder, &approve);
    assert_eq!(again.code, 2, "{}", again.err);
    let ran = ptc_in(&folder, &approve[..5]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "outcome unknown\n"), "{}", ran.err);
    assert_eq!(server.count("tool 1"), 1);
    assert_eq!(self::gaps(&folder), gaps, "the run is over, and still nobody knows");
    let identity = gap["identity"].as_str().expect("an identity");
    let settle = ["effects", "settle", identity, "it did not", "--did-not-happen", "--checkpoint", "kept"];
    let settled = ptc_in(&folder, &settle);
    assert_eq!(
        (settled.code, settled.out),
        (0, format!("settled {identity} tool/step\n")),
        "{}",
        settled.err
    );
    assert!(self::gaps(&folder).is_empty());
}

#[test]
fn a_call_that_takes_too_long_in_a_run_that_goes_on_is_listed_unless_it_only_reads() {
    for (effect, listed) in [("write", 1), ("read", 0)] {
        let folder = folder(&format!("call-too-long-{effect}"));
        let agent = format!(
            "prompt = \"Wait\"\nmodel = \"script:replies.jsonl\"\ntimeout = 100000\n\
             [tools.wait]\nsignature = \"(n :int) -> :any\"\neffect = \"{effect}\"\ntimeout = 20\n\
             command = [\"tail\", \"-f\", \"/dev/null\"]\n"
        );
        let reply = r#"{"program": "(return (try (tool/wait {:n 7}) (catch Exception e (ex-message e))))"}"#;
        write(&folder, &[("agent.toml", &agent), ("replies.jsonl", reply)]);
        let ran = ptc_in(&folder, &["run", "agent.toml", "--checkpoint", "kept", "--quiet"]);
        assert!(
            ran.code == 0 && ran.out.contains("took longer than 20 ms"),
            "{effect}: {} {}",
            ran.out,
            ran.err
        );
        let gaps = gaps(&folder);
        assert_eq!(
            (gaps.len(), &runs(&folder)[0]["outcome_unknown"]),
            (listed, &json!(listed)),
            "{effect}: {gaps:?}"
        );
        let Some(gap) = gaps.first() else { continue };
        let field = |name: &str| gap[name].as_str().expect("text");
        assert_eq!((field("server"), field("tool"), &gap["args"]), ("tool", "wait", &json!({"n": 7})));
        assert_eq!(gap["under_way"], false);
        let called = format!("outcome unknown: tool/wait, called at {}, took longer", field("begun"));
        assert!(ran.out.contains(&called), "{}", ran.out);
        assert!(
            ran.out.trim_end().ends_with(&format!("its identity is {}", field("identity"))),
            "{}",
            ran.out
        );
        let settle = ["effects", "settle", field("identity"), "it did not", "--checkpoint", "kept"];
        assert_eq!(ptc_in(&folder, &settle).code, 0);
        assert!(self::gaps(&folder).is_empty());
    }
}

/// The calls without an answer.
fn gaps(folder: &Path) -> Vec<Value> {
    let ran = ptc_in(folder, &["effects", "--json", "--checkpoint", "kept"]);
    assert_eq!(ran.err, "");
    ran.out.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}

#[test]
fn calls_that_are_made_again_are_no_gap_and_neither_are_those_that_only_read() {
    let (folder, server, id) = counted("approval-repeated");
    server.hold(&["tool 1"]);
    let process = start(&folder, &["resume", &id, "--checkpoint", "kept", "--quiet", "--approve", "all"]);
    server.wait_for("tool 1", 1);
    let under_way = gaps(&folder);
    let [call] = under_way.as_slice() else { panic!("one call is under way: {under_way:?}") };
    assert_eq!((&call["tool"], &call["under_way"]), (&json!("step"), &json!(true)));
    let identity = call["identity"].as_str().expect("an identity");
    let settled = ptc_in(&folder, &["effects", "settle", identity, "looked", "--checkpoint", "kept"]);
    assert!(settled.code == 2 && settled.err.contains("tool/step is under way"), "{}", settled.err);
    kill(process);
    server.hold(&[]);
    // The same call, by the store of the runs too, and as old as it is.
    let by_store = ptc_in(&folder, &["effects", "--json", "--store", "kept/runs.db"]);
    let by_store: Value = serde_json::from_str(&by_store.out).expect("one JSON line");
    let killed = gaps(&folder);
    assert_eq!(killed, [by_store]);
    assert_eq!(killed[0]["under_way"], false);
    assert_eq!((&killed[0]["identity"], &killed[0]["begun"]), (&call["identity"], &call["begun"]));
    let again = ptc_in(&folder, &["resume", &id, "--checkpoint", "kept", "--quiet", "--repeat"]);
    assert_eq!((again.code, again.out.as_str()), (0, "1\n"), "{}", again.err);
    assert_eq!((server.count("tool 1"), gaps(&folder).len()), (2, 0));
    let (folder, server) = super::resume::ten_steps("reads-are-no-gap", "effect = \"read\"");
    server.hold(&["tool 2"]);
    let process = start(&folder, &["run", "agent.toml", "--checkpoint", "kept", "--quiet"]);
    server.wait_for("tool 2", 1);
    kill(process);
    assert!(gaps(&folder).is_empty());
    assert_eq!(only_run(&folder).1, "interrupted");
}

#[test]
fn killed_around_any_change_of_an_approval_the_call_is_made_at_most_once() {
    for moment in 0..12 {
        let (folder, server, id) = counted(&format!("approval-moment-{moment}"));
        let approve = ["resume", &id, "--checkpoint", "kept", "--quiet", "--approve", "all"];
        killed_at_point(&folder, &approve, moment);
        let mut ran = ptc_in(&folder, &["resume", &id, "--checkpoint", "kept", "--quiet"]);
        if ran.code == 4 {
            assert_eq!(server.count("tool 1"), 0, "moment {moment}: it still waits");
            ran = ptc_in(&folder, &["resume", &id, "--checkpoint", "kept", "--quiet", "--approve", "all"]);
        }
        let answer = ran.out.trim();
        assert!(
            ran.code == 0 && ["1", "outcome unknown"].contains(&answer),
            "moment {moment}: {answer} {}",
            ran.err
        );
        let made = server.count("tool 1");
        assert!(made <= 1 && (answer != "1" || made == 1), "moment {moment}: {answer}, made {made} times");
    }
}

/// An MCP server with a tool that puts, and writes down what.
fn putting() -> String {
    let tools = r#"[{"name":"put","description":"Puts.","inputSchema":{"type":"object"}}]"#;
    let calling = r#"echo put >> paid.log; answer '{"content":[],"structuredContent":{"did":"put"}}'"#;
    shell_server(&listing(tools), calling)
}

#[test]
fn calls_of_servers_wait_as_their_configuration_says_and_are_played_back() {
    let folder = folder("approval-upstreams");
    let server = json!({
        "transport": "mcp_stdio", "command": "sh", "args": ["-c", putting()], "approval": "writes",
        "cd": folder.display().to_string(),
    });
    let config = json!({"upstreams": {"things": server}}).to_string();
    let agent = "prompt = \"Put it\"\nmodel = \"script:replies.jsonl\"\nupstreams = \"upstreams.json\"\n";
    let program = json!({"program": "(return (:did (:value (tool/call {:server \"things\" :tool \"put\" :args {:n 1}}))))"});
    write(
        &folder,
        &[("agent.toml", agent), ("upstreams.json", &config), ("replies.jsonl", &program.to_string())],
    );
    let ran = ptc_in(&folder, &["run", "agent.toml", "--checkpoint", "kept", "--quiet"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("effect: unknown, approval: writes"), "{}", ran.err);
    assert!(paid(&folder).is_empty());
    let id = only_run(&folder).0;
    let ran = ptc_in(&folder, &["resume", &id, "--checkpoint", "kept", "--json", "--approve", "all"]);
    let document: Value = serde_json::from_str(&ran.out).expect("one document");
    assert_eq!((document["answer"].as_str(), paid(&folder).len()), (Some("put"), 1), "{}", ran.err);
    assert_eq!(document["upstream_calls"][0]["approval"], "approved");
    let (code, shown) =
        typed(&folder, &["later (l)?=>a"], "", &["run", "agent.toml", "--record", "run.recording"]);
    assert_eq!((code, paid(&folder).len()), (0, 2), "{shown}");
    let played = ptc_in(&folder, &["replay", "run.recording", "--times", "3"]);
    assert_eq!(played.code, 0, "{}{}", played.out, played.err);
    assert!(played.out.starts_with("equal, 3 times"), "{}", played.out);
    assert_eq!(paid(&folder).len(), 2, "nobody is called");
}
