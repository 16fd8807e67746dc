//! The picture of the README: what a terminal shows of its first command, as SVG.
//!
//! `PTC_WRITE_GOLDEN=1 cargo test -p ptc --test cli picture` draws it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::examples::root;

/// The command as the README has it, and where its answer goes, so that the picture stays short.
const COMMAND: &str = "ptc run examples/orders/agent.toml --data orders=@examples/orders/orders.json";
const TARGET: &str = "> report.json";
const PICTURE: &str = "docs/images/run.svg";

/// Columns of the terminal.
const COLUMNS: usize = 106;
/// Sizes in the picture: width of a character, height of a line, what is left around the text and above it.
const CHAR: f64 = 7.8;
const LINE: f64 = 19.0;
const EDGE: f64 = 18.0;
const TOP: f64 = 54.0;

/// Styles of the terminal, by the numbers with which it is told of them.
const STYLES: &[(&str, &str)] = &[
    ("1", "fill:#f2f0eb;font-weight:700"),
    ("2", "fill:#9aa0a8"),
    ("32", "fill:#9ccaa6"),
    ("33", "fill:#e0ad76"),
    ("36", "fill:#8fc7d4"),
    ("1;31", "fill:#e8938a;font-weight:700"),
    ("1;34", "fill:#8fb7de;font-weight:700"),
];

/// A character with the numbers of its style.
type Cell = (char, String);

/// What stands on a terminal after all this was written to it. It knows the few sequences that the command uses.
fn screen(written: &str) -> Vec<Vec<Cell>> {
    let mut lines: Vec<Vec<Cell>> = vec![Vec::new()];
    let (mut row, mut column, mut style) = (0, 0, String::new());
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => column = 0,
            '\n' => (row, column) = (row + 1, 0),
            '\x1b' => {
                let (numbers, kind) = sequence(&mut rest);
                match kind {
                    'm' => style = if numbers == "0" { String::new() } else { numbers },
                    'K' => lines[row].truncate(if numbers == "2" { 0 } else { column }),
                    'A' => row -= numbers.parse::<usize>().unwrap_or(1).min(row),
                    _ => {}
                }
            }
            c => {
                if column == COLUMNS {
                    (row, column) = (row + 1, 0);
                }
                grow(&mut lines, row);
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), (' ', String::new()));
                line[column] = (c, style.clone());
                column += 1;
            }
        }
        grow(&mut lines, row);
    }
    lines
}

fn grow(lines: &mut Vec<Vec<Cell>>, row: usize) {
    lines.resize(lines.len().max(row + 1), Vec::new());
}

/// The rest of an escape sequence: `[`, its numbers, and the letter that says what it is.
fn sequence(rest: &mut std::str::Chars<'_>) -> (String, char) {
    let mut numbers = String::new();
    for c in rest {
        match c {
            '[' => {}
            c if c.is_ascii_alphabetic() => return (numbers, c),
            c => numbers.push(c),
        }
    }
    (numbers, ' ')
}

/// How long things took is another time every time, so it is left out.
fn timeless(line: Vec<Cell>) -> Vec<Cell> {
    let text: String = line.iter().map(|(c, _)| *c).collect();
    let time = |begin: &str, end: &str| {
        let from = text.rfind(begin)?;
        let digits = text[from + begin.len()..].trim_end_matches(')').strip_suffix(end)?;
        let is_number = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
        is_number.then(|| text[..from].chars().count())
    };
    match (time(" (", " ms"), time(", ", " s")) {
        (Some(from), _) => line[..from].to_vec(),
        (None, Some(from)) => {
            let closes = line.last().filter(|(c, _)| *c == ')').cloned();
            line[..from].iter().cloned().chain(closes).collect()
        }
        (None, None) => line,
    }
}

/// What the terminal shows of the command.
fn shown() -> Vec<Vec<Cell>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let command = COMMAND.replacen("ptc", &format!("exec {}", env!("CARGO_BIN_EXE_ptc")), 1);
    let output = Command::new("python3")
        .arg(here.join("tests/cli/terminal.py"))
        .args(["[]", "/bin/sh", "-c", &format!("{command} > /dev/null")])
        .current_dir(root())
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .output()
        .expect("python3 starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let written = String::from_utf8(output.stdout).expect("UTF-8");
    let mut lines: Vec<Vec<Cell>> = screen(written.trim_end()).into_iter().map(timeless).collect();
    lines.retain(|line| line.iter().any(|(c, _)| !c.is_whitespace()));
    lines
}

fn typed() -> Vec<Cell> {
    let prompt = [('$', "2".to_owned()), (' ', String::new())];
    let words = format!("{COMMAND} {TARGET}");
    prompt.into_iter().chain(words.chars().map(|c| (c, "1".to_owned()))).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A line as text of SVG: pieces of one style each.
fn drawn(line: &[Cell], y: f64) -> String {
    let mut out = format!("<text x=\"{EDGE}\" y=\"{y}\" xml:space=\"preserve\">");
    for piece in line.chunk_by(|(_, a), (_, b)| a == b) {
        let text = escaped(&piece.iter().map(|(c, _)| *c).collect::<String>());
        let at = STYLES.iter().position(|(numbers, _)| *numbers == piece[0].1);
        let _ = match at {
            Some(at) => write!(out, "<tspan class=\"s{at}\">{text}</tspan>"),
            None => write!(out, "{text}"),
        };
    }
    out + "</text>\n"
}

fn picture(lines: &[Vec<Cell>]) -> String {
    let width = COLUMNS as f64 * CHAR + 2.0 * EDGE;
    let height = TOP + lines.len() as f64 * LINE + 4.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
         <style>\ntext{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;fill:#d8d6d0}}\n"
    );
    for (at, (_, style)) in STYLES.iter().enumerate() {
        let _ = writeln!(out, ".s{at}{{{style}}}");
    }
    let _ =
        writeln!(out, "</style>\n<rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#16181b\"/>");
    for (at, colour) in ["#e0695f", "#d9a441", "#6aa667"].iter().enumerate() {
        let _ = writeln!(out, "<circle cx=\"{}\" cy=\"20\" r=\"6\" fill=\"{colour}\"/>", 22 + 20 * at);
    }
    for (at, line) in lines.iter().enumerate() {
        out.push_str(&drawn(line, TOP + at as f64 * LINE));
    }
    out + "</svg>\n"
}

#[test]
fn the_picture_of_the_readme_is_what_its_first_command_shows() {
    let lines: Vec<Vec<Cell>> = std::iter::once(typed()).chain(shown()).collect();
    let (path, made) = (root().join(PICTURE), picture(&lines));
    if std::env::var_os("PTC_WRITE_GOLDEN").is_some() {
        fs::write(&path, &made).expect("it is written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(kept, made, "{PICTURE}: run this with PTC_WRITE_GOLDEN=1");
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    assert!(readme.contains(PICTURE) && readme.contains(COMMAND));
}
