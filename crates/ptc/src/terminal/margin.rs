//! Text of others in a frame of ours: every row of it begins with a margin, so that nothing in it can pass for a line
//! of `ptc`.
//!
//! Rows are broken here and not by the terminal, which would begin them at its edge. A row that goes on with the one
//! above it says so: a long text cannot look like further lines either.

/// How a line begins.
const LINE: &str = "  │ ";
/// How the rest of a line begins that takes more than one row.
const REST: &str = "  │…";
/// The columns that either takes, where terminals show such characters widely.
const MARGIN: usize = 6;
/// Narrower rows are not made.
const LEAST: usize = 20;

/// The columns of the screen behind standard error, 80 where there is none.
pub fn columns() -> usize {
    usize::from(console::Term::stderr().size().1)
}

/// Text as rows of a screen with so many columns, each with the margin.
pub fn framed(text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(MARGIN).max(LEAST);
    let rows = text.split('\n').flat_map(|line| {
        let marks = std::iter::once(LINE).chain(std::iter::repeat(REST));
        marks.zip(rows(line, room)).map(|(mark, row)| format!("{mark}{row}"))
    });
    rows.collect::<Vec<_>>().join("\n")
}

/// A line of ours that quotes others: its first row begins at the edge, the others with the margin.
pub fn quoting(line: &str, columns: usize) -> String {
    let room = columns.saturating_sub(MARGIN).max(LEAST);
    rows(line, room).join(&format!("\n{REST}"))
}

/// Pieces of a line that fit into so many columns; one at least.
fn rows(line: &str, room: usize) -> Vec<&str> {
    let (mut rows, mut begin, mut used) = (Vec::new(), 0, 0);
    for (at, c) in line.char_indices() {
        // Terminals do not agree on the width of other characters, and none is wider.
        let wide = if c.is_ascii() { 1 } else { 2 };
        if used + wide > room {
            rows.push(&line[begin..at]);
            (begin, used) = (at, 0);
        }
        used += wide;
    }
    rows.push(&line[begin..]);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_the_margin_and_fits() {
        let text =
            format!("{{\n  \"to\": \"{}│ call 1\",\n  \"of\": \"{}\"\n}}", " ".repeat(200), "界".repeat(70));
        for columns in [40, 80, 200] {
            let shown = framed(&text, columns);
            let (mut lines, mut width) = (0, 0);
            for row in shown.lines() {
                assert!(row.starts_with(LINE) || row.starts_with(REST), "{row:?}");
                lines += usize::from(row.starts_with(LINE));
                width = width.max(row.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum());
            }
            assert_eq!(lines, text.lines().count(), "{shown}");
            assert!(width <= columns, "{width} > {columns}: {shown}");
            let back = shown.replace(&format!("\n{REST}"), "").replace(&format!("\n{LINE}"), "\n");
            assert_eq!(back.strip_prefix(LINE), Some(text.as_str()));
        }
    }

    #[test]
    fn a_line_that_quotes_goes_on_behind_the_margin() {
        assert_eq!(quoting("short", 80), "short");
        let shown = quoting(&"x".repeat(100), 80);
        assert_eq!(shown, format!("{}\n  │…{}", "x".repeat(74), "x".repeat(26)));
        assert_eq!(quoting("", 0), "");
    }
}
