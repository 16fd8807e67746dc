//! `ptc repl`, as a script, over a pipe, and at a real terminal.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::json;

use super::shell_server::{listing, listing_only, shell_server};
use super::*;

fn session(text: &str) -> String {
    let ran = with_input(&["repl"], text);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    ran.out
}

#[test]
fn definitions_and_values_stay() {
    assert_eq!(
        session("(def x 20)\n(+ x\n   1)\n(* *1 2)\n(println x) :done\n[*1 *2 *3]\n"),
        "#'x\n21\n42\n20\n:done\n[:done 42 21]\n"
    );
}

#[test]
fn an_error_takes_back_what_its_program_defined() {
    let out = session("(def a 1)\n(do (def a 2) (def b 3) (/ 1 0))\n[a]\nb\n");
    assert!(out.contains("[1]\nunbound_var: undefined name: b\n --> repl:1:1\n  |\n1 | b\n  | ^"), "{out}");
}

#[test]
fn a_session_whose_prelude_cannot_be_attached_fails() {
    let prelude = file("repl-gone.clj", "(ns crm) (defn lead [id] (gone/get {:id id}))");
    let upstreams =
        json!({"upstreams": {"gone": {"transport": "mcp_stdio", "command": "no-such-program-anywhere"}}});
    let upstreams = file("repl-gone.json", &upstreams.to_string());
    let args = ["repl", "--prelude", &prelude, "--upstreams-config", &upstreams];
    let ran = with_input(&args, "(+ 1 2)\n:defs\n");
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.starts_with("prelude_attach_failed: "), "{}", ran.out);
    assert_eq!(with_input(&args, ":help\n").code, 0, "nothing was refused");
    // A mistake of a program is part of the talk.
    assert_eq!(with_input(&["repl"], "(nope)\n").code, 0);
}

#[test]
fn commands_begin_with_a_colon() {
    let out =
        session("(def price 1)\n:defs\n:stats\n:reset\n:defs\nprice\n:doc count\n:name\n:hlep\n:quit\n1");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["#'price", "price"]);
    assert!(lines[2].starts_with("fuel "), "{out}");
    assert!(lines[3].starts_with("unbound_var: "), "{out}");
    assert!(out.contains("clojure.core/count\n  [coll]\n"), "{out}");
    assert!(out.ends_with(":name\n:hlep\n; did you mean the command :help?\n"), "{out}");
}

#[test]
fn help_lists_every_command() {
    let help = session(":help");
    for name in [
        ":doc NAME",
        ":find TEXT",
        ":defs",
        ":data",
        ":tools",
        ":load FILE",
        ":save FILE",
        ":time PROGRAM",
        ":turns",
        ":stats [on|off]",
        ":full",
        ":reset",
        ":quit",
    ] {
        assert!(help.lines().any(|line| line.starts_with(name)), "{name}\n{help}");
    }
}

#[test]
fn documentation_comes_on_demand_and_leaves_no_trace() {
    let prelude =
        file("repl-doc.clj", "(ns crm \"Customers.\") (defn lead \"The lead with an id.\" [id] {:id id})");
    let tools = file("repl-doc.json", r#"{"search": {"default": []}}"#);
    let args = ["repl", "--prelude", &prelude, "--tools", &tools, "--data", "orders=[{\"id\": 1}]"];
    let text = "(defn twice \"Doubles.\" [n] (* 2 n))\n(twice 21)\n:doc twice\n:doc crm/lead\n:doc str/join\n:doc data/orders\n\
                :doc tool/search\n:doc let\n:doc twcie\n:doc qqqqqq\n:find newline\n:data\n:tools\n:doc\n*1\n:turns\n";
    let ran = with_input(&args, text);
    for part in [
        "twice\n  [n]\n  Doubles.\n",
        "crm/lead",
        "The lead with an id.",
        "clojure.string/join\n  [coll] [separator coll]\n",
        "data/orders\n  {:type \"vector\", :count 1",
        "tool/search\n  A canned tool: (tool/search {…})\n",
        "let is a special form; `ptc docs language` shows how it is used\n",
        "nothing is called twcie; did you mean twice?\n",
        "nothing is called qqqqqq; :find TEXT looks for names\n",
        "trim-newline - ",
        "\ndata/orders  {:type \"vector\", :count 1",
        "\ntool/search\nwrite :doc NAME, for instance :doc map\n42\n",
        "   1  ok ",
        "  (twice 21)\n",
        "   3  ok ",
    ] {
        assert!(ran.out.contains(part), "{part}\n---\n{}", ran.out);
    }
    assert!(!ran.out.contains("   4  "), "commands are no turns: {}", ran.out);
}

#[test]
fn words_that_everybody_tries_leave_and_help() {
    for word in ["exit", "quit", "(exit)", "(quit)", ":exit", ":q"] {
        assert_eq!(session(&format!("1\n{word}\n2\n")), "1\n", "{word}");
    }
    for word in ["help", "(help)", "?"] {
        assert!(session(word).starts_with(":help "), "{word}");
    }
    let own = "(defn help [] 5)\n(help)\n(def quit 6)\nquit\n";
    assert_eq!(session(own), "#'help\n5\n#'quit\n6\n", "definitions go first");
    assert_eq!(session(":docs map\n"), "there is no such command; did you mean :doc?\n");
}

#[test]
fn documentation_is_text() {
    let asked = session("(doc count)\n");
    assert_eq!(asked, session(":doc count\n"));
    assert!(asked.starts_with("clojure.core/count\n  [coll]\n"), "{asked}");
    assert!(session("(str \"a\\nb\")\n").starts_with("\"a\\nb\""), "other texts are values");
    let found = session(":find trim-newline\n");
    assert!(found.starts_with("trim-newline - ") || found.contains("\ntrim-newline - "), "{found}");
    assert!(!found.contains("local: "), "{found}");
}

#[test]
fn what_was_required_stays() {
    let text = "(require '[clojure.string :as s])\n(s/upper-case \"a\")\n(pprint {:a 1})\n:reset\n(s/upper-case \"a\")\n";
    let out = session(text);
    assert!(out.starts_with("nil\n\"A\"\n{:a 1}\nnil\ninvalid_form: unknown namespace s/"), "{out}");
    let failed = session("(require '[clojure.set :as t]) (/ 1 0)\n(t/union #{1} #{2})\n");
    assert!(failed.contains("unknown namespace t/"), "a program that fails leaves nothing: {failed}");
}

#[test]
fn the_time_of_a_program_is_told_on_request() {
    let out = session(":time (+ 1\n2)\n:time\n");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!((lines[0], lines.len()), ("3", 3), "{out}");
    assert!(lines[1].starts_with("fuel ") && lines[1].contains(", time "), "{out}");
    assert!(lines[2].starts_with("write :time PROGRAM"), "{out}");
}

#[test]
fn definitions_are_saved_for_later_sessions() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("repl-saved.clj");
    let _ = fs::remove_file(&path);
    let path = path.to_str().expect("UTF-8");
    let text = format!(
        ":save {path}\n(require '[clojure.string :as s])\n(println :once) (defn loud [t]\n  (s/upper-case t))\n\
         (do (def gone 1) (/ 1 0))\n(loud \"x\")\n:save {path}\n:save {path}\n:save\n"
    );
    let out = session(&text);
    assert!(out.starts_with("there are no definitions yet\n"), "{out}");
    assert!(out.contains(&format!("your definitions are in {path}; `ptc repl -l {path}` begins")), "{out}");
    assert!(
        out.ends_with(&format!("{path} is there already; name another file\nwrite :save FILE\n")),
        "{out}"
    );
    let saved = fs::read_to_string(path).expect("the file");
    assert_eq!(saved, "(require '[clojure.string :as s])\n\n(defn loud [t]\n  (s/upper-case t))\n");
    let ran = ptc(&["repl", "-l", path, "-e", "(loud \"y\")"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "\"Y\"\n"), "{}", ran.err);
}

#[test]
fn a_form_that_never_closes_is_reported() {
    assert!(session("(+ 1\n").starts_with("parse_error: the text ends"));
}

#[test]
fn functions_defined_earlier_may_call_their_tools() {
    let tools = file("repl-later.json", r#"{"get_user": {"default": 5}}"#);
    let ran = with_input(
        &["repl", "--tools", &tools],
        "(defn f [] (tool/get-user {}))\n(inc (f))\ntool/get_user\n(*1 {})\n",
    );
    assert!(ran.out.starts_with("#'f\n6\n") && ran.out.ends_with("\n5\n"), "{}", ran.out);
}

#[test]
fn tools_inputs_and_limits_work_as_in_eval() {
    let tools = file("repl-tools.json", r#"{"f": {"default": 5}}"#);
    let args = ["repl", "--tools", &tools, "--data", "x=[1]", "--fuel", "100k"];
    let ran = with_input(&args, "(tool/f {})\ndata/x\n(loop [] (recur))\n(inc 1)\n");
    assert!(ran.out.starts_with("5\n[1]\nfuel_exceeded: ") && ran.out.ends_with("\n2\n"), "{}", ran.out);
}

#[test]
fn expressions_share_definitions_and_the_first_failure_ends() {
    let ran = ptc(&["repl", "-e", "(def x 1)", "-e", "(println :a) (* x 2)", "-e", "-1"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "#'x\n:a\n2\n-1\n", ""));
    let ran = ptc(&["repl", "-e", "(println :b) (/ 1 0)", "-e", "3"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ":b\n"));
    assert!(ran.err.starts_with("arithmetic_error: Divide by zero\n --> -e:1:14\n"), "{}", ran.err);
    let ran = ptc(&["repl", "--fuel", "1k", "-e", "(loop [] (recur))"]);
    assert_eq!(ran.code, 3, "{}", ran.err);
}

#[test]
fn files_are_loaded_before_anything_else_and_scripts_are_one_program() {
    let helpers = file("repl-helpers.clj", "(println \"loading\")\n(defn twice [n] (* 2 n))");
    let more = file("repl-more.clj", "(defn thrice [n] (+ n (twice n)))");
    let script = file("repl-script.clj", "(def a 20)\n(twice (inc a))");
    let ran = ptc(&["repl", "-l", &helpers, "-l", &more, "-e", "(thrice 2)"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "loading\n6\n", ""));
    let ran = ptc(&["repl", "--load", &helpers, &script]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "loading\n42\n"), "{}", ran.err);
    let ran = with_input(&["repl", "-l", &helpers, "-"], "(def b 1)\n(twice b)\n");
    assert_eq!((ran.code, ran.out.as_str()), (0, "loading\n2\n"), "{}", ran.err);
    let ran = with_input(&["repl"], format!(":load {helpers}\n(twice 4)\n:load nowhere.clj\n:load\n"));
    let expected =
        "loading\n8\ncannot read nowhere.clj: No such file or directory (os error 2)\nwrite :load FILE\n";
    assert_eq!((ran.code, ran.out.as_str()), (0, expected));
    let broken = file("repl-broken.clj", "(defn f [x]\n  (nope x))");
    let ran = ptc(&["repl", "-l", &broken, "-e", "1"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(ran.err.contains("repl-broken.clj:2:4"), "{}", ran.err);
    let ran = ptc(&["repl", "-l", "nowhere.clj"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
}

#[test]
fn what_programs_use_is_shown_on_request() {
    let ran = ptc(&["repl", "--stats", "-e", "1", "-e", "2"]);
    let fuel = |text: &str| text.lines().filter(|line| line.starts_with("fuel ")).count();
    assert_eq!((ran.out.as_str(), fuel(&ran.err)), ("1\n2\n", 2));
    let ran = with_input(&["repl"], "1\n:stats on\n2\n3\n:stats off\n4\n:stats maybe\n");
    assert_eq!(fuel(&ran.err), 2, "{}", ran.err);
    assert!(ran.err.contains("time ") && ran.err.contains("tool calls 0"), "{}", ran.err);
    assert!(ran.out.ends_with("4\nwrite :stats, :stats on or :stats off\n"), "{}", ran.out);
}

/// Talks to the command at a terminal: each pair is what is waited for and what is typed then.
fn terminal(home: &str, args: &[&str], talk: &[(&str, &str)]) -> (i32, String) {
    terminal_with(home, args, talk, &[])
}

/// The same with variables of the environment.
fn terminal_with(
    home: &str,
    args: &[&str],
    talk: &[(&str, &str)],
    variables: &[(&str, &str)],
) -> (i32, String) {
    let state = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("repl-state").join(home);
    let script = json!(talk.iter().map(|(wait, send)| [*wait, *send]).collect::<Vec<_>>());
    let output = Command::new("python3")
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/cli/terminal.py"))
        .arg(script.to_string())
        .arg(env!("CARGO_BIN_EXE_ptc"))
        .arg("repl")
        .args(args)
        .env("TERM", "xterm")
        .env("XDG_STATE_HOME", &state)
        .env_remove("NO_COLOR")
        .envs(variables.iter().copied())
        .output()
        .expect("python3 starts");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.stderr.is_empty(), "{}\n{shown}", String::from_utf8_lossy(&output.stderr));
    (output.status.code().unwrap_or(-1), shown)
}

#[test]
fn a_terminal_has_colours_hints_brackets_and_several_lines() {
    let talk = [
        ("ptc> ", "(reduce + [1\n"),
        ("[1\n", "2])\n"),
        ("3\nptc> ", "(nope)\n"),
        ("\n      ^^^^\n      unbound_var: undefined name: nope\n", ""),
        ("ptc> ", "(+ 1\n"),
        ("..", "nope)\n"),
        (" --> repl:2:3\n", ""),
        ("ptc> ", ":quit\n"),
    ];
    let (code, shown) = terminal("colours", &[], &talk);
    assert_eq!(code, 0);
    for (what, part) in [
        ("the head of a form has a colour", "\x1b[1;34mreduce\x1b[0m"),
        ("brackets that belong together stand out", "\x1b[1;4;35m(\x1b[0m"),
        ("parameters are hinted at", "\x1b[2m  [f coll]"),
        ("errors have colours", "\x1b[1;31munbound_var\x1b[0m"),
    ] {
        assert!(shown.contains(part), "{what}: {shown:?}");
    }
}

/// What comes in one piece, as from a paste that the terminal does not mark, or from keys that were quicker than a program.
#[test]
fn nothing_that_is_typed_ahead_is_lost() {
    let all = "(def a 1)\n(def b 2)\n(+ a b)\n(* a\n10)\n(str a b)\n";
    let (code, shown) = terminal("ahead", &[], &[("ptc> ", all), ("\"12\"\nptc> ", "\x04")]);
    assert_eq!(code, 0, "{shown}");
    let plain = shown.replace('\r', "");
    for value in ["\n#'a\n", "\n#'b\n", "3\x1b[0m\n", "10\x1b[0m\n"] {
        assert!(plain.contains(value), "{value:?} {shown:?}");
    }
}

#[test]
fn lines_behind_the_first_have_a_prompt_and_are_indented() {
    let talk = [
        ("ptc> ", "(defn f [x]\r"),
        ("\n  ..   ", "(map inc\r"),
        ("\n  ..     ", "x))\r"),
        ("#'f\nptc> ", "(source f)\r"),
        ("(defn f [x]\n  (map inc\n    x))", ""),
        ("ptc> ", "(str \"a\r"),
        ("\"a\n", "b\")\r"),
        ("\"a\\nb\"\nptc> ", "\x04"),
    ];
    let (code, shown) = terminal("lines", &[], &talk);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("\x1b[2m  .. \x1b[0m"), "{shown:?}");
}

#[test]
fn values_at_a_terminal_are_broken_over_lines_and_coloured() {
    let program = "(zipmap (map #(keyword (str \"key\" %)) (range 12)) (range 12))\r";
    let talk = [("ptc> ", program), ("{:key0 0,\n :key1 1,\n", ""), (":key11 11}\nptc> ", "\x04")];
    let (code, shown) = terminal("broken", &[], &talk);
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("\x1b[36m:key1\x1b[0m \x1b[33m1\x1b[0m"), "{shown:?}");
}

#[test]
fn tab_completes_builtins_preludes_inputs_tools_and_commands() {
    let prelude = file("repl-tab.clj", "(ns crm) (defn lead-by-id [id] id)");
    let tools = file("repl-tab.json", r#"{"search_all": {"default": 7}}"#);
    let args = ["--prelude", &prelude, "--tools", &tools, "--data", "orders=[5]"];
    let talk = [
        ("ptc> ", "(zipm\t [:a] [1])\n"),
        ("{:a 1}\nptc> ", "(crm/le\t 6)\n"),
        ("6\nptc> ", "(first data/or\t)\n"),
        ("5\nptc> ", "(tool/se\t {})\n"),
        ("7\nptc> ", "(str/includ\t \"ab\" \"b\")\n"),
        ("true\nptc> ", "(def my-own-name 9)\n"),
        ("#'my-own-name\nptc> ", "my-ow\t\n"),
        ("9\nptc> ", "(require '[clojure.string :as own])\n"),
        ("nil\nptc> ", "(own/includ\t \"ab\" \"c\")\n"),
        ("false\nptc> ", ":qui\t\n"),
    ];
    assert_eq!(terminal("tab", &args, &talk).0, 0);
}

/// A server whose tools have names that a terminal would obey, and others.
fn hostile() -> String {
    let names = [
        "putter",
        "puller",
        r"pu\u001b]0;PWNED\u0007x",
        r"pu\u001b[2J\u001b[31mRED",
        r"pu\nnl",
        r"pu\u202etxt",
        "last",
    ];
    let tools = names.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#));
    let calling = r#"answer '{"content":[],"structuredContent":{"did":"it"}}'"#;
    shell_server(&listing(&format!("[{}]", tools.join(","))), calling)
}

#[test]
fn what_tab_shows_does_nothing_to_the_terminal() {
    let server = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", hostile()]});
    let config = file("repl-hostile.json", &json!({"upstreams": {"crm": server}}).to_string());
    let files = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("repl-hostile");
    fs::create_dir_all(&files).expect("a folder");
    for name in ["alpha.clj", "alps.clj", "al\x1b]0;PWNED\x07.clj"] {
        fs::write(files.join(name), "1").expect("a file");
    }
    let load = format!(":load {}/al\t\t", files.display());
    // The line is shown once more below a list, and behind Ctrl-C there is a new one.
    let talk = [
        ("ptc> ", "\x1b[A"),
        ("(str 1)", "\x03"),
        ("\nptc> ", "(tool/call {:server \"crm\" :tool \"putter\" :args {}})\n"),
        ("\"it\"", ""),
        ("\nptc> ", "\"pu\t\t"),
        ("putter", ""),
        ("\nptc> \"pu", "\x03"),
        ("\nptc> ", "crm/pu\t\t"),
        ("crm/putter", ""),
        ("\nptc> crm/pu", "\x03"),
        ("\nptc> ", &load),
        ("alps.clj", ""),
        ("\nptc> :load ", "\x03"),
        ("\nptc> ", "\x04"),
    ];
    for (home, variables) in [("hostile", &[][..]), ("hostile-plain", &[("NO_COLOR", "1")])] {
        let state = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("repl-state").join(home).join("ptc");
        fs::create_dir_all(&state).expect("a folder");
        fs::write(state.join("history"), "\"\x1b]0;PWNED\x07\"(str 1)\n").expect("a history");
        let (code, shown) = terminal_with(home, &["--upstreams-config", &config], &talk, variables);
        assert_eq!(code, 0, "{shown:?}");
        for obeyed in ["\x1b]0;", "\x1b[31mRED", "\u{202e}", "pu\r\nnl", "pu\nnl"] {
            assert!(!shown.contains(obeyed), "{obeyed:?}: {shown:?}");
        }
    }
}

#[test]
fn complaints_about_the_command_line_do_nothing_to_the_terminal() {
    for wrong in ["--\x1b]0;PWNED\x07", "--data=\x1b]0;PWNED\x07", "--fuel=\x1b]0;PWNED\x07"] {
        let (code, shown) = terminal("wrong", &[wrong], &[]);
        assert_eq!(code, 2, "{shown:?}");
        assert!(shown.contains("\x1b[1;31mptc:\x1b[0m ") && !shown.contains("\x1b]0;"), "{shown:?}");
    }
}

/// A server whose tool makes the file of its first argument.
fn teller() -> String {
    shell_server(&listing_only("tell"), r#": > "$1"; answer '{"content":[]}'"#)
}

/// A program that never ends.
const ENDLESS: &str = "(do (tool/call {:server \"s\" :tool \"tell\" :args {}}) (loop [] (recur)))";

/// A configuration for [`ENDLESS`], and what `terminal` waits for until it runs.
fn telling(name: &str) -> (String, String) {
    let told = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("repl-{name}-runs"));
    let _ = fs::remove_file(&told);
    let server = json!({"transport": "mcp_stdio", "command": "sh", "args": ["-c", teller(), "sh", told]});
    let config = json!({"upstreams": {"s": server}}).to_string();
    (file(&format!("repl-{name}.json"), &config), format!("file:{}", told.display()))
}

#[test]
fn ctrl_c_stops_the_program_and_not_the_session() {
    let (config, runs) = telling("interrupt");
    let args = ["--fuel", "1000g", "--timeout", "50s", "--upstreams-config", &config];
    let endless = format!("{ENDLESS}\n");
    let talk = [
        ("ptc> ", "(def kept 41)\n"),
        ("#'kept\nptc> ", endless.as_str()),
        (runs.as_str(), "\x03"),
        ("cancelled", ""),
        ("ptc> ", "half a line\x03"),
        ("\nptc> ", "(inc kept)\n"),
        ("42\nptc> ", "\x04"),
    ];
    let (code, shown) = terminal("interrupt", &args, &talk);
    assert_eq!(code, 0, "{shown}");
}

#[test]
fn ctrl_c_ends_a_script() {
    let (config, runs) = telling("script");
    let bounds = ["--fuel", "1000g", "--timeout", "50s", "--upstreams-config", &config];
    let args = [&bounds[..], &["-e", "(println :first)", "-e", ENDLESS, "-e", "2"]].concat();
    let (code, shown) = terminal("script", &args, &[(":first\nnil\n", ""), (&runs, "\x03")]);
    assert_eq!(code, 130, "{shown}");
    assert!(shown.contains("cancelled") && !shown.contains("\n2\r"), "{shown}");
}

#[test]
fn history_comes_back_in_later_sessions() {
    let state = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("repl-state/history");
    let _ = fs::remove_dir_all(&state);
    terminal("history", &[], &[("ptc> ", "(* 6\n7)\n"), ("42\nptc> ", "\x04")]);
    let talk = [("ptc> ", "\x1b[A\n"), ("42\nptc> ", " :secret\n"), (":secret\nptc> ", "\x04")];
    terminal("history", &[], &talk);
    let kept = fs::read_to_string(state.join("ptc/history")).expect("history is kept");
    assert!(kept.contains("(* 6") && !kept.contains(":secret"), "{kept}");
}

#[test]
fn long_values_are_cut_at_a_terminal_only() {
    let program = "(vec (range 4000))";
    let whole = with_input(&["repl"], program).out;
    assert!(whole.ends_with("3999]\n"), "{}", &whole[whole.len() - 40..]);
    let talk = [
        ("ptc> ", "(vec (range 4000))\n"),
        ("more characters; :full shows all\nptc> ", ":full\n"),
        ("3999]\nptc> ", "\x04"),
    ];
    assert_eq!(terminal("long", &[], &talk).0, 0);
}

#[test]
fn probe_24_r13_1_help_and_programs_on_the_command_line() {
    let help = ptc(&["repl", "--help", "--prelude", "/nonexistent/missing.clj"]);
    assert_eq!((help.code, help.err.as_str()), (0, ""), "help has no side effects");
    assert!(help.out.contains("--log-prelude"), "{}", help.out);
    let ran = ptc(&["repl", "-e", "(def x 1)", "-e", "(* x 2)"]);
    assert_eq!((ran.code, ran.out.lines().last()), (0, Some("2")), "{}", ran.err);
}

#[test]
fn r13_1_4_and_r12_3_programs_look_at_the_turns_of_the_session_or_of_files() {
    let programs =
        ["(def x 1)", "(count (:items (log/turns)))", "(mapv :program (log/programs-all {:limit 1}))"];
    let mut args = vec!["repl", "--log-prelude"];
    programs.iter().for_each(|program| args.extend(["-e", program]));
    let ran = ptc(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines[1..], ["1", r#"["(def x 1)" "(count (:items (log/turns)))"]"#], "{}", ran.out);
    let turn = |n: u64, ok: bool| {
        format!(
            r#"{{"event": "turn", "session_id": "a", "turn": {n}, "status": "{}", "committed": {ok}, "data": {{"tool_calls": []}}}}"#,
            if ok { "ok" } else { "error" }
        )
    };
    let source = file("repl-turns.jsonl", &format!("{}\nno JSON\n{}\n", turn(1, true), turn(2, false)));
    let program = "[(:failed (log/counters)) (count (log/sessions-all))]";
    let ran = ptc(&["repl", "--log-prelude", "--log-source", &source, "-e", program]);
    assert_eq!((ran.code, ran.out.trim()), (0, "[1 1]"), "{}", ran.err);
    let direct = ptc(&["repl", "--log-prelude", "-e", "(tool/log_turns {})"]);
    assert_ne!(direct.code, 0, "only the exports may call it");
    let prelude = file("repl-log.clj", "(ns crm) (defn one [] 1)");
    for (args, message) in [
        (vec!["repl", "--log-source", &source, "-e", "1"], "--log-source requires --log-prelude"),
        (
            vec!["repl", "--log-prelude", "--prelude", &prelude, "-e", "1"],
            "--log-prelude is mutually exclusive with --prelude",
        ),
        (
            vec!["repl", "--log-prelude", "--log-source", "/nonexistent/turns", "-e", "1"],
            "/nonexistent/turns",
        ),
    ] {
        let refused = ptc(&args);
        assert_ne!(refused.code, 0);
        assert!(refused.err.contains(message), "{}", refused.err);
    }
}
