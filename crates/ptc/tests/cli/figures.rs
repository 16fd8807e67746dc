//! The figures of the README. Each row of its table is computed here, or by the test that the row's comment in
//! [`ELSEWHERE`] names, and no other number may stand on the page.
//!
//! `PTC_WRITE_GOLDEN=1 cargo test -p ptc --test cli figures` writes the table anew.

use std::fs;

use ptc_lisp::Limits;
use ptc_lisp::machine::{Machine, Step};

use super::agents::ptc_in;
use super::examples::{readme, root};
use super::journal;
use super::tokens;

/// Rows that need programs which may be missing, by how they begin, with the test that computes them.
const ELSEWHERE: &[(&str, &str)] =
    &[("| Tool definitions and `instructions` of ", "crates/ptc/tests/mcp/sixteen.rs")];

/// Numbers of the text, with the file that has them too.
const NUMBERS: &[(&str, &str, &str)] = &[
    ("1.95", "Cargo.toml", "rust-version = \"1.95\""),
    ("0.1", "Cargo.toml", "version = \"0.1.0\""),
    ("2.0", "Cargo.toml", "license = \"MIT OR Apache-2.0\""),
];

/// A row: what was measured, what came of it, and the command that measures it.
struct Figure {
    what: String,
    value: String,
    by: &'static str,
}

impl Figure {
    fn row(&self) -> String {
        format!("| {} | {} | `{}` |", self.what, self.value, self.by)
    }
}

/// A number with its thousands apart.
fn apart(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What the mission of the picture cost, from the last line that it prints.
fn mission() -> [Figure; 2] {
    const BY: &str = "ptc run examples/orders/agent.toml --data orders=@examples/orders/orders.json";
    let (_, command, _) = readme("orders");
    assert_eq!(command, BY);
    let ran = ptc_in(&root(), &command.split(' ').skip(1).collect::<Vec<_>>());
    let cost = ran.err.trim_end().lines().last().expect("the cost").to_owned();
    let of = |unit: &str| {
        let part =
            cost.split(", ").find(|part| part.contains(unit)).unwrap_or_else(|| panic!("{unit}: {cost}"));
        part.split(' ').next().unwrap_or_default().to_owned()
    };
    let orders = text("examples/orders/orders.json");
    let rows = serde_json::from_str::<Vec<serde_json::Value>>(&orders).expect("orders").len();
    let in_context = usize::try_from(tokens::of(&orders)).expect("a count");
    [
        Figure {
            what: format!(
                "Tokens that the model reads and writes in the picture. The {rows} orders alone would be {}",
                apart(in_context)
            ),
            value: of(" tokens"),
            by: BY,
        },
        Figure { what: "Bytes that stay out of its context there".to_owned(), value: of(" bytes"), by: BY },
    ]
}

/// Instructions of a workload, as they are recorded; `cargo xtask counts` fails if they are others.
fn instructions() -> Figure {
    let counts = text("bench/counts.txt");
    let count = counts.lines().find_map(|line| line.strip_prefix("w1 1 ")).expect("the workload");
    Figure {
        what: format!(
            "Processor instructions for a new sandbox that runs `{}`, from text to answer",
            text("bench/programs/w1.clj").trim()
        ),
        value: apart(count.parse().expect("a number")),
        by: "cargo xtask counts",
    }
}

/// The size of a program that waits for a tool.
fn waiting() -> Figure {
    const PROGRAM: &str = "(inc (tool/stock {:sku \"a\"}))";
    let mut machine = Machine::new(Limits::default());
    machine.set_tools(["stock".to_owned()]);
    machine.load(PROGRAM).expect("a program");
    assert!(matches!(machine.run(100_000), Step::Calls(_)));
    Figure {
        what: format!("Bytes of `{PROGRAM}` while it waits for its tool, ready to go on in another process"),
        value: apart(machine.dump().expect("it waits").len()),
        by: "cargo nextest run -p ptc --test cli figures",
    }
}

/// Attacks on the sandbox that tests run: those that are written down, and those that were generated once.
fn attacks() -> Figure {
    let folder = root().join("conformance/adversarial");
    let files = fs::read_dir(folder).expect("the folder").map(|file| file.expect("a file").path());
    let count = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).expect("text");
        match path.extension().and_then(|end| end.to_str()) {
            Some("clj") => text.lines().filter(|line| line.starts_with(";; == ")).count(),
            Some("jsonl") => text.lines().count(),
            _ => 0,
        }
    };
    Figure {
        what: "Hostile programs that tests run, and that limits, memory and the process outlive".to_owned(),
        value: apart(files.map(count).sum()),
        by: "cargo nextest run -p ptc --test adversarial",
    }
}

/// What of Clojure there is, from the page that is made from the declarations.
fn coverage() -> Figure {
    let page = text("docs/coverage.md");
    let row = page.lines().find(|line| line.starts_with("| clojure.core |")).expect("the row");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    Figure {
        what: "Vars of `clojure.core` that are here; the others are left out with a reason".to_owned(),
        value: format!("{} of {}", cells[3], cells[2]),
        by: "cargo xtask check",
    }
}

const BEGIN: &str = "<!-- figures -->\n";
const END: &str = "<!-- /figures -->";
const HEAD: &str = "| what | measured | by |\n|---|---|---|\n";

#[test]
fn figures_of_the_readme_are_those_of_runs() {
    let page = text("README.md");
    let (before, rest) = page.split_once(BEGIN).expect("the table");
    let (table, after) = rest.split_once(END).expect("its end");
    let elsewhere = table
        .lines()
        .filter(|row| ELSEWHERE.iter().any(|(begin, _)| row.starts_with(begin)))
        .map(str::to_owned);
    let rows: Vec<String> = mission()
        .into_iter()
        .map(|figure| figure.row())
        .chain(elsewhere)
        .chain([waiting(), instructions(), attacks(), coverage()].iter().map(Figure::row))
        .collect();
    let made = format!("{HEAD}{}\n", rows.join("\n"));
    if std::env::var_os("PTC_WRITE_GOLDEN").is_some() {
        fs::write(root().join("README.md"), format!("{before}{BEGIN}{made}{END}{after}"))
            .expect("it is written");
        return;
    }
    assert_eq!(table, made, "run this with PTC_WRITE_GOLDEN=1");
    for (begin, test) in ELSEWHERE {
        assert!(text(test).contains(begin), "{test} does not compute `{begin}…`");
    }
}

/// The numbers of a text; digits inside of names are none.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_alphanumeric() || c == '.' || c == ',';
    let words = text.split(move |c: char| !part(c)).map(|word| word.trim_matches(['.', ',']));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

#[test]
fn no_number_of_the_readme_is_without_a_source() {
    let page = text("README.md");
    let (before, rest) = page.split_once(BEGIN).expect("the table");
    let (_, after) = rest.split_once(END).expect("its end");
    for half in [before, after] {
        for prose in half.split("```").step_by(2) {
            for number in numbers(prose) {
                let known = NUMBERS.iter().find(|(known, ..)| *known == number);
                let Some((_, file, words)) = known else { panic!("where does {number} come from?") };
                assert!(text(file).contains(words), "{file} does not say {words}");
            }
        }
    }
}

/// Sizes and times that pages of the book name: page, figure, and where the code says it too.
#[rustfmt::skip]
const BOOK: &[(&str, &str, &str, &str)] = &[
    ("agents.md", "32 bytes", "crates/ptc-agent/src/render/sketch/mod.rs", "const SHORT: usize = 32"),
    ("agents.md", "2 KiB", "crates/ptc-agent/src/prompt/mission.rs", "const SHORT_BYTES: usize = 2_048"),
    ("agents.md", "8,192 bytes", "crates/ptc-agent/src/render/options.rs", "const RESULT_BYTES: usize = 8_192"),
    ("agents.md", "16,384 bytes", "crates/ptc-agent/src/render/page.rs", "const DISCOVERY_BYTES: usize = 16 * 1024"),
    ("agents.md", "60 s", "crates/ptc-agent/src/agent/options.rs", "mission_timeout_ms: Some(60_000)"),
    ("approval.md", "4 KiB", "crates/ptc-server/src/engine/tickets/parked.rs", "const TOLD_BYTES: usize = 4 << 10"),
    ("coding-agents.md", "64 MB", "crates/ptc-lisp/src/limits.rs", "memory: 64 << 20"),
    ("coding-agents.md", "10 s", "crates/ptc/src/commands/eval.rs", "default_value = \"10s\""),
    ("mcp-server.md", "127 levels", "crates/ptc-server/src/engine/depth.rs", "the decoder here stops at 128"),
    ("mcp-tools.md", "48 KiB", "crates/ptc-server/src/engine/envelope.rs", "Profile::Slim => (16_usize << 10)"),
    ("mcp-tools.md", "96 KiB", "crates/ptc-server/src/engine/envelope.rs", "Profile::Structured => (32_usize << 10)"),
    ("mcp-tools.md", "512 KiB", "crates/ptc-server/src/engine/envelope.rs", "Profile::Debug => (448_usize << 10)"),
    ("mcp-tools.md", "8,192 bytes", "crates/ptc-server/src/options/table.rs", "max_result_bytes: u64 = 8_192"),
    ("mcp-tools.md", "16,384 bytes", "crates/ptc-agent/src/render/page.rs", "const DISCOVERY_BYTES: usize = 16 * 1024"),
    ("mcp-tools.md", "32 MiB", "crates/ptc-server/src/engine/settings.rs", "resource_bytes: 32 << 20"),
    ("mcp-tools.md", "64 KiB", "crates/ptc-server/src/engine/evidence/manifest.rs", "const ITEM_BYTES: usize = 64 << 10"),
    ("mcp-tools.md", "100 levels", "crates/ptc-server/src/engine/depth.rs", "const STRUCTURED_LEVELS: usize = 100"),
    ("mcp-tools.md", "8 MiB", "crates/ptc-server/src/engine/turnlog.rs", "const LIVE_BYTES: usize = 8 << 20"),
    ("models.md", "16 MB", "crates/ptc-llm/src/remote/settings.rs", "max_reply_bytes: 16 << 20"),
    ("plan-and-effects.md", "256 bytes", "crates/ptc-server/src/engine/once.rs", "const KEY_BYTES: usize = 256"),
    ("plan-and-effects.md", "24 hours", "crates/ptc-server/src/options/table.rs", "journal_retention_ms: u64 = 86_400_000"),
    ("plan-and-effects.md", "16 MiB", "crates/ptc-server/src/effects.rs", "const SEEN_BYTES: usize = 16 << 20"),
    ("preludes.md", "10 MiB", "crates/ptc-server/src/options/table.rs", "prelude_store_max_bytes: u64 = 10 << 20"),
    ("replay.md", "16 MiB", "crates/ptc-server/src/options/table.rs", "record_max_bytes: u64 = 16 << 20"),
    ("restate.md", "30 seconds", "crates/ptc-restate/src/door.rs", "head_time: Duration::from_secs(30)"),
    ("restate.md", "60 seconds", "crates/ptc-restate/src/door.rs", "const OPENING_TIME: Duration = Duration::from_secs(60)"),
    ("restate.md", "256 MiB", "crates/ptc-restate/src/door.rs", "const OPENING_BYTES: usize = 256 << 20"),
    ("mcp-server.md", "32 bytes", "crates/ptc-server/src/options/kinds.rs", "const MIN_TOKEN_BYTES: usize = 32"),
    ("security.md", "31 bytes", "crates/ptc-lisp/src/error.rs", "const QUOTED: usize = 31"),
    ("security.md", "32 bytes", "crates/ptc-agent/tests/runs/kept.rs", "32"),
    ("tool-call.md", "256 KiB", "crates/ptc-upstream/src/runtime/context.rs", "max_catalog_bytes: 256 * 1024"),
    ("traces.md", "64 MB", "crates/ptc-trace/src/files.rs", "max_bytes: 64 << 20"),
    ("running.md", "32 MB", "crates/ptc-runner/src/command.rs", "const MAX_OUTPUT: u64 = 32 << 20"),
    ("running.md", "128 bytes", "crates/ptc-host/src/parts.rs", "const VALUE_BYTES: usize = 128"),
    ("traces.md", "64 kB", "crates/ptc-trace/src/bound.rs", "text_bytes: 65_536"),
    ("traces.md", "1 MB", "crates/ptc-trace/src/bound.rs", "event_bytes: 1 << 20"),
    ("upstreams.md", "127 levels", "crates/ptc-upstream/src/call.rs", "const DEEPEST: usize = 127"),
    ("upstreams.md", "30 seconds", "crates/ptc-upstream/src/mcp/lifecycle.rs", "Duration::from_secs(30)"),
    ("upstreams.md", "10 s", "crates/ptc-server/src/options/table.rs", "\"1000; 10000 with upstreams\""),
    ("tool-call.md", "128 bytes", "crates/ptc-host/src/parts.rs", "const VALUE_BYTES: usize = 128"),
    ("upstreams.md", "128 bytes", "crates/ptc-host/src/parts.rs", "const VALUE_BYTES: usize = 128"),
    ("upstreams.md", "8 bytes", "crates/ptc-upstream/src/credentials.rs", "const SHORTEST_INHERITED: usize = 8"),
    ("upstreams.md", "8 bytes", "crates/ptc-upstream/src/redact/forms.rs", "const SHORTEST_INSIDE: usize = 8"),
    ("upstreams.md", "40 bytes", "crates/ptc-upstream/src/credentials.rs", "about 700 of 40 bytes are not too many"),
    ("upstreams.md", "1 KiB", "crates/ptc-upstream/src/redact.rs", "const LARGEST_CODED: usize = 1024"),
    ("sizing.md", "24 hours", "crates/ptc-server/src/options/table.rs", "journal_retention_ms: u64 = 86_400_000"),
    ("sizing.md", "200 bytes", "crates/ptc/tests/cli/figures.rs", "const JOURNAL: (u32, usize) = (1_000, 200)"),
    ("viewer.md", "64 MB", "crates/ptc-viewer/src/playground.rs", "memory: 64 << 20"),
    ("viewer.md", "5 seconds", "crates/ptc-viewer/src/playground.rs", "const TIMEOUT: Duration = Duration::from_secs(5)"),
];

/// Calls and requests with which the journal is measured, and the bytes of their arguments, answers and replies.
const JOURNAL: (u32, usize) = (1_000, 200);

/// The sizes of the page are those of the command that it names. Their share of tables and free pages depends on the version
/// of SQLite a little.
#[test]
fn what_the_page_says_of_the_journal_comes_of_a_run() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("journal-figures");
    let _ = fs::remove_dir_all(&folder);
    let place = folder.join("store.db").to_string_lossy().into_owned();
    let found = journal::measured(&place, JOURNAL.0, JOURNAL.1).expect("it is measured");
    eprintln!("{} bytes for a call, {} for a request", found.call_bytes, found.request_bytes);
    let page = text("docs/sizing.md");
    let command = format!("--example journal {} {} ", JOURNAL.0, JOURNAL.1);
    assert!(page.contains(&command), "the page names another command than {command}");
    for (what, bytes) in [("a call", found.call_bytes), ("a request", found.request_bytes)] {
        let begins = format!("| {what}");
        let row = page.lines().find(|line| line.starts_with(&begins)).unwrap_or_else(|| panic!("{begins}"));
        let said = row.split('|').nth(2).map(|cell| cell.replace([',', ' '], "")).unwrap_or_default();
        let said: u64 = said.trim_end_matches("bytes").parse().unwrap_or_else(|_| panic!("{row}"));
        assert!(said.abs_diff(bytes) * 20 <= bytes, "{what} takes {bytes} bytes, and the page says {said}");
    }
}

/// Figures of things that are not ours.
const FOREIGN: &[(&str, &str)] = &[
    ("restate.md", "32 MiB"),  // the server's own default
    ("running.md", "8 bytes"), // a word of the machine
    ("upstreams.md", "13 MB"), // GitHub's description of its API
];

/// Pages that are made from declarations; those whose figures name the programs that measured them on one machine; and the
/// one about other projects, with its sources.
const APART: &[&str] = &[
    "README.md",
    "limits.md",
    "mcp-options.md",
    "agent-options.md",
    "functions.md",
    "coverage.md",
    "trace-events.md",
    "sizing.md",
    "operations.md",
    "comparison.md",
];

const UNITS: &[&str] = &[
    "ms", "µs", "s", "seconds", "minutes", "hours", "bytes", "KB", "kB", "KiB", "MB", "MiB", "GB", "GiB",
    "tokens", "levels", "%",
];

/// The figures of a page, outside of its blocks: a number with a unit behind it.
fn figures(page: &str) -> Vec<String> {
    let prose: String = page.split("```").step_by(2).collect();
    let bare = |word: &str| word.trim_matches(|c: char| "`*(),.;:|!?[]".contains(c)).to_owned();
    let words: Vec<String> = prose.split_whitespace().map(bare).collect();
    let is_number = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_digit())
            && word.chars().all(|c| c.is_ascii_digit() || ".,".contains(c))
    };
    words
        .windows(2)
        .filter(|pair| is_number(&pair[0]) && UNITS.contains(&pair[1].as_str()))
        .map(|pair| pair.join(" "))
        .collect()
}

#[test]
fn no_figure_of_the_book_is_without_a_source() {
    let mut faults = Vec::new();
    for file in fs::read_dir(root().join("docs")).expect("the folder") {
        let name = file.expect("a file").file_name().into_string().expect("UTF-8");
        if !name.ends_with(".md") || APART.contains(&name.as_str()) {
            continue;
        }
        for figure in figures(&text(&format!("docs/{name}"))) {
            let ours = BOOK.iter().any(|(page, known, ..)| *page == name && *known == figure);
            if !ours && !FOREIGN.contains(&(name.as_str(), figure.as_str())) {
                faults.push(format!("{name}: where does {figure} come from?"));
            }
        }
    }
    for (page, figure, file, words) in BOOK {
        if !figures(&text(&format!("docs/{page}"))).iter().any(|known| known == figure) {
            faults.push(format!("{page} does not say {figure} any more"));
        }
        if !text(file).contains(words) {
            faults.push(format!("{page} says {figure}, but {file} does not say `{words}`"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
