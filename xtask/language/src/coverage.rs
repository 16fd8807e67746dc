//! The coverage report: which vars of Clojure's namespaces are here, and why the others are not.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use ptc_lisp::analyze::{SPECIALS, left_out};
use ptc_lisp::builtins::registry;

/// Reasons for leaving out, with the names or name patterns (`*` at the end or front) they cover.
const REASONS: &[(&str, &[&str])] = &[
    (
        "no macros, no code made at run time",
        &[
            "defmacro",
            "macroexpand*",
            "eval",
            "load*",
            "compile",
            "definline",
            "destructure",
            "unquote*",
            "gen-class",
            "read",
            "read+string",
            "*read-eval*",
            "test",
        ],
    ),
    (
        "no threads, agents or transactions",
        &[
            "agent*",
            "await*",
            "send*",
            "future*",
            "ref",
            "ref-*",
            "alter",
            "commute",
            "ensure",
            "dosync",
            "sync",
            "restart-agent",
            "release-pending-sends",
            "error-*",
            "set-agent*",
            "set-error*",
            "shutdown-agents",
            "clear-agent-errors",
            "seque",
            "*agent*",
            "bound-fn*",
            "tap>",
            "add-tap",
            "remove-tap",
            "get-thread-bindings",
            "push-thread-bindings",
            "pop-thread-bindings",
            "thread-bound?",
            "with-bindings*",
        ],
    ),
    (
        "no files, streams or other input and output",
        &[
            "slurp",
            "spit",
            "file-seq",
            "line-seq",
            "read-line",
            "with-open",
            "with-in-str",
            "*in*",
            "*out*",
            "*err*",
            "flush",
            "*flush-on-newline*",
            "PrintWriter-on",
            "resultset-seq",
            "xml-seq",
        ],
    ),
    (
        "no Java classes, arrays or reflection",
        &[
            "aset*",
            "aget",
            "amap",
            "areduce",
            "make-array",
            "to-array*",
            "into-array",
            "booleans",
            "bytes",
            "chars",
            "doubles",
            "floats",
            "ints",
            "longs",
            "shorts",
            "proxy*",
            "construct-proxy",
            "init-proxy",
            "update-proxy",
            "get-proxy-class",
            "gen-interface",
            "definterface",
            "bean",
            "bases",
            "supers",
            "cast",
            "enumeration-seq",
            "iterator-seq",
            "import*",
            "primitives-classnames",
            "StackTraceElement->vec",
            "add-classpath",
            "vector-of",
            "->Vec*",
            "->ArrayChunk",
            "->Eduction",
            "EMPTY-NODE",
            "unchecked-char",
            "accessor",
            "create-struct",
            "struct",
            "struct-map",
            "defstruct",
            "uri?",
        ],
    ),
    (
        "one flat namespace for definitions",
        &[
            "alias",
            "create-ns",
            "find-ns",
            "find-var",
            "intern",
            "ns-*",
            "remove-ns",
            "resolve",
            "requiring-resolve",
            "the-ns",
            "refer-clojure",
            "loaded-libs",
            "var-set",
            "var-get",
            "alter-var-root",
            "alter-meta!",
            "bound?",
            "with-redefs-fn",
            "in-ns",
            "namespace-munge",
            "munge",
            "*ns*",
            "*file*",
            "*source-path*",
        ],
    ),
    (
        "inner workings of the JVM implementation",
        &[
            "chunk*",
            "-cache-protocol-fn",
            "-reset-methods",
            "find-protocol-*",
            "hash-combine",
            "mix-collection-hash",
            "method-sig",
            "print-ctor",
            "print-dup",
            "print-method",
            "print-simple",
            "seq-to-map-for-destructuring",
            "with-loading-context",
            "inst-ms*",
            "Inst",
            "*compile*",
            "*compiler*",
            "*fn-loader*",
            "*warn*",
            "*verbose*",
            "*use-context*",
            "*allow*",
            "*assert*",
            "*clojure-version*",
            "clojure-version",
            "*command*",
            "*data-readers*",
            "*default-data*",
            "default-data-readers",
            "*e",
            "*math-context*",
            "*print*",
            "*reader*",
            "*suppress*",
            "*unchecked*",
            "tagged-literal*",
            "reader-conditional*",
            "case*",
            "deftype*",
            "letfn*",
            "loop*",
            "reify*",
            "monitor-*",
            "&",
            "Diff",
            "EqualityPartition",
            "diff-similar",
            "equality-partition",
            "with-precision",
            "postwalk-demo",
            "prewalk-demo",
            "macroexpand-all",
            "char-escape-string",
            "char-name-string",
            "with-local-vars",
            "replicate",
        ],
    ),
];

/// The report as Markdown.
pub fn report(vars: &Path) -> Result<String> {
    let text = std::fs::read_to_string(vars).with_context(|| format!("cannot read {}", vars.display()))?;
    let mut out = String::from(
        "# Coverage of Clojure\n\nGenerated by `cargo xtask generate` from the declarations; do not edit. \
         The vars are those of Clojure 1.11.\n\n| namespace | vars | here | left out with a reason | not yet |\n\
         |---|---|---|---|---|\n",
    );
    let mut details = String::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(ns) = words.next() else { continue };
        section(ns, &words.collect::<Vec<_>>(), &mut out, &mut details);
    }
    out.push_str(&details);
    Ok(out)
}

fn section(ns: &str, names: &[&str], out: &mut String, details: &mut String) {
    let is_here = |name: &str| {
        registry().qualified(&format!("{ns}/{name}")).is_some()
            || SPECIALS.contains(&name)
            || registry().qualified(&format!("ptc/{name}")).is_some()
            || matches!(name, "*1" | "*2" | "*3")
    };
    let (here, missing): (Vec<&str>, Vec<&str>) = names.iter().copied().partition(|name| is_here(name));
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        missing.iter().copied().partition(|name| reason(name).is_some());
    let _ =
        writeln!(out, "| {ns} | {} | {} | {} | {} |", names.len(), here.len(), known.len(), unknown.len());
    let _ = write!(details, "\n## {ns}\n\nHere: {}\n", code(&here));
    for reason_text in REASONS.iter().map(|(text, _)| *text).chain(["refused with advice"]) {
        let names: Vec<&str> =
            known.iter().copied().filter(|name| reason(name) == Some(reason_text)).collect();
        if !names.is_empty() {
            let _ = write!(details, "\nLeft out ({reason_text}): {}\n", code(&names));
        }
    }
    if !unknown.is_empty() {
        let _ = write!(details, "\nNot yet: {}\n", code(&unknown));
    }
}

fn code(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ")
}

fn reason(name: &str) -> Option<&'static str> {
    let matches = |pattern: &&str| match (pattern.len() > 1, pattern.strip_suffix('*')) {
        (true, Some(stem)) => name.starts_with(stem) || name == *pattern,
        _ => name == *pattern,
    };
    let listed = REASONS.iter().find(|(_, patterns)| patterns.iter().any(matches));
    listed
        .map(|(text, _)| *text)
        .or_else(|| left_out().any(|(refused, _)| refused == name).then_some("refused with advice"))
}
