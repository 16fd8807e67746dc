//! Errors as text: one renderer for people, one for models. Nothing else words an error.
//!
//! People get the lines of the program with the place marked, notes, advice and what a repair would
//! change. Models get one or two short lines, because every word costs. Both are pure functions of the
//! error and the source, and both bound what hostile programs can make them say. Pieces carry a role,
//! so that a terminal can colour them without this crate knowing about colours.

use crate::error::Error;
use crate::span::{Position, Span};
use crate::visible::is_format;

/// What a piece of text is, for whoever wants to colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The kind of error.
    Kind,
    /// What happened.
    Message,
    /// Line numbers, rulers and arrows.
    Frame,
    /// Text of the program.
    Source,
    /// The mark under the place of the error.
    Mark,
    /// The mark and text of a note.
    Note,
    /// Advice.
    Hint,
    /// A line that the repair takes away.
    Removed,
    /// A line that the repair puts in.
    Added,
}

/// An error with its lines of source, as text for people. `name` says which program it is.
pub fn for_people(error: &Error, source: &str, name: &str) -> String {
    pieces(error, source, name).into_iter().map(|(_, text)| text).collect()
}

/// The same as pieces with roles. Together they are whole lines, without a newline at the end.
pub fn pieces(error: &Error, source: &str, name: &str) -> Vec<(Role, String)> {
    let mut page = Page { pieces: Vec::new(), gutter: 1 };
    page.push(Role::Kind, error.kind.reason());
    page.push(Role::Message, &format!(": {}", clean(&cut(&error.text(), MESSAGE_MAX))));
    let marks = marks(error, source);
    let diff = error.repaired.as_deref().map(|repaired| Diff::between(source, repaired));
    let last = marks.iter().map(|mark| mark.line).chain(diff.iter().map(Diff::last_line)).max();
    page.gutter = last.unwrap_or(0).to_string().len();
    if let Some(span) = error.span {
        let at = Position::of(source, span.start);
        page.frame(&format!("{}--> ", page.indent()));
        page.push(Role::Source, &format!("{name}:{}:{}", at.line, at.column));
    }
    page.snippet(&marks, source);
    if let Some(hint) = &error.hint {
        page.frame(&format!("{} = ", page.indent()));
        page.push(Role::Hint, &format!("{}: {}", labels(error)[0], clean(&cut(hint, HINT_MAX))));
    }
    if let Some(diff) = diff {
        page.diff(&diff);
    }
    page.pieces
}

/// What stands before a hint, for people and for models. There is no advice for what the program threw itself: its hint
/// says what data it has.
fn labels(error: &Error) -> [&'static str; 2] {
    if error.tells_data() { ["note", "Note"] } else { ["help", "Fix"] }
}

/// An error in one line for a model, in two if the repaired text is known:
/// `kind at line:column: message. Fix: advice`.
pub fn for_models(error: &Error, source: &str) -> String {
    let mut text = error.kind.reason().to_owned();
    if let Some(span) = error.span {
        let at = Position::of(source, span.start);
        text.push_str(&format!(" at {}:{}", at.line, at.column));
    }
    let message = one_line(&cut(&error.text(), MESSAGE_MAX));
    text.push_str(&format!(": {}", sentence(&message)));
    if let Some(hint) = &error.hint {
        text.push_str(&format!(" {}: {}", labels(error)[1], one_line(&cut(hint, HINT_MAX))));
    }
    let diff = error.repaired.as_deref().map(|repaired| Diff::between(source, repaired));
    if let Some(Diff { first, added, .. }) = diff
        && let [line] = added.as_slice()
    {
        text.push_str(&format!("\nLine {first} would read: {}", one_line(&cut(line, MODEL_LINE_MAX))));
    }
    text
}

/// Characters of a message, a hint, a line of source and a line of source for models that are shown.
const MESSAGE_MAX: usize = 600;
const HINT_MAX: usize = 400;
const LINE_MAX: usize = 100;
const MODEL_LINE_MAX: usize = 160;
/// Notes and changed lines that are shown.
const NOTES_MAX: usize = 6;
const DIFF_MAX: usize = 6;

/// A place to point at: a line, the bytes of it, and what to say there.
struct Pointer<'e> {
    line: usize,
    start: usize,
    end: usize,
    /// Nothing for the error itself.
    note: Option<&'e str>,
}

/// The places of an error in order of lines; the error itself comes before notes on its line.
fn marks<'e>(error: &'e Error, source: &str) -> Vec<Pointer<'e>> {
    let mark = |span: Span, note: Option<&'e str>| {
        let start = boundary(source, span.start as usize);
        let end = boundary(source, span.end as usize).max(start);
        let line_start = source[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = source[start..].find('\n').map_or(source.len(), |newline| start + newline);
        let line = source[..start].matches('\n').count() + 1;
        Pointer { line, start: start - line_start, end: end.min(line_end) - line_start, note }
    };
    let own = error.span.map(|span| mark(span, None));
    let notes = error.notes.iter().take(NOTES_MAX).map(|(span, note)| mark(*span, Some(note)));
    let mut marks: Vec<Pointer<'e>> = own.into_iter().chain(notes).collect();
    marks.sort_by_key(|mark| mark.line);
    marks
}

fn boundary(source: &str, offset: usize) -> usize {
    source.floor_char_boundary(offset)
}

/// Text for people under construction.
struct Page {
    pieces: Vec<(Role, String)>,
    /// Digits of the largest line number.
    gutter: usize,
}

impl Page {
    fn push(&mut self, role: Role, text: &str) {
        self.pieces.push((role, text.to_owned()));
    }

    /// Begins a new line.
    fn frame(&mut self, text: &str) {
        self.push(Role::Frame, &format!("\n{text}"));
    }

    fn indent(&self) -> String {
        " ".repeat(self.gutter)
    }

    /// The marked lines, each once, with a row below it per mark.
    fn snippet(&mut self, marks: &[Pointer<'_>], source: &str) {
        let lines: Vec<&str> = source.split('\n').collect();
        let mut before = None;
        for mark in marks {
            let text = lines.get(mark.line - 1).copied().unwrap_or_default();
            let window = LineWindow::around(text, marks.iter().filter(|other| other.line == mark.line));
            if before != Some(mark.line) {
                match before {
                    None => self.frame(&format!("{} |", self.indent())),
                    Some(line) if line + 1 < mark.line => self.frame("..."),
                    Some(_) => {}
                }
                self.frame(&format!("{:>width$} | ", mark.line, width = self.gutter));
                self.push(Role::Source, &window.text);
                before = Some(mark.line);
            }
            self.mark(mark, text, &window);
        }
    }

    fn mark(&mut self, mark: &Pointer<'_>, text: &str, window: &LineWindow) {
        let (blank, long) = window.columns(text, mark.start, mark.end);
        self.frame(&format!("{} | {}", self.indent(), " ".repeat(blank)));
        match mark.note {
            None => self.push(Role::Mark, &"^".repeat(long)),
            Some(note) => {
                let note = clean(&cut(note, HINT_MAX));
                self.push(Role::Note, &format!("{} {note}", "-".repeat(long)));
            }
        }
    }

    fn diff(&mut self, diff: &Diff<'_>) {
        self.frame(&format!("{} = ", self.indent()));
        self.push(Role::Hint, "it would then read:");
        for (sign, role, lines) in [('-', Role::Removed, &diff.removed), ('+', Role::Added, &diff.added)] {
            for (at, line) in lines.iter().enumerate().take(DIFF_MAX) {
                self.frame(&format!("{:>width$} ", diff.first + at, width = self.gutter));
                self.push(role, format!("{sign} {}", clean(&cut(line, LINE_MAX))).trim_end());
            }
            if lines.len() > DIFF_MAX {
                let more = lines.len() - DIFF_MAX;
                self.frame(&format!("{} {sign} … {more} more lines", self.indent()));
            }
        }
    }
}

/// The part of a long line that is shown.
struct LineWindow {
    text: String,
    /// First byte shown.
    from: usize,
    /// One past the last byte shown.
    to: usize,
    /// Columns that the sign for left-out text takes.
    lead: usize,
}

impl LineWindow {
    /// The window that shows the first mark's beginning with some text before it.
    fn around<'m>(text: &str, marks: impl Iterator<Item = &'m Pointer<'m>>) -> LineWindow {
        let text = text.trim_end_matches('\r');
        let total = text.chars().count();
        let first = marks.map(|mark| mark.start).min().unwrap_or(0).min(text.len());
        let before = text[..first].chars().count();
        let skip =
            if total <= LINE_MAX { 0 } else { before.saturating_sub(LINE_MAX / 3).min(total - LINE_MAX) };
        let byte = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
        let (from, to) = (byte(skip), byte(skip + LINE_MAX));
        let lead = usize::from(from > 0);
        let shown = clean(&text[from..to]);
        let text = [if lead > 0 { "…" } else { "" }, &shown, if to < text.len() { "…" } else { "" }].concat();
        LineWindow { text, from, to, lead }
    }

    /// Columns before a mark and columns of it: at least one, so that a place between is visible.
    fn columns(&self, text: &str, start: usize, end: usize) -> (usize, usize) {
        let start = start.clamp(self.from, self.to);
        let end = end.clamp(start, self.to);
        let columns = |text: &str| text.chars().map(width).sum::<usize>();
        (self.lead + columns(&text[self.from..start]), columns(&text[start..end]).max(1))
    }
}

/// The lines in which two texts differ, between what they have in common at both ends.
struct Diff<'t> {
    /// The first line that differs.
    first: usize,
    removed: Vec<&'t str>,
    added: Vec<&'t str>,
}

impl<'t> Diff<'t> {
    fn between(old: &'t str, new: &'t str) -> Diff<'t> {
        let (old, new): (Vec<&str>, Vec<&str>) = (old.split('\n').collect(), new.split('\n').collect());
        let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
        let rest = old.len().min(new.len()) - head;
        let tail =
            old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
        Diff {
            first: head + 1,
            removed: old[head..old.len() - tail].to_vec(),
            added: new[head..new.len() - tail].to_vec(),
        }
    }

    fn last_line(&self) -> usize {
        self.first + self.removed.len().max(self.added.len())
    }
}

/// At most `max` characters of a text.
fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Text that cannot move the cursor or change colours: tabs are blanks; other control characters, those that reorder text
/// and those that cannot be seen are shown as a replacement.
fn clean(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            '\n' => '\n',
            c if c.is_control() || is_format(c) => '\u{FFFD}',
            c => c,
        })
        .collect()
}

/// A text in one line, in which every character can be seen.
pub fn one_line(text: &str) -> String {
    clean(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A text with a full stop at its end.
fn sentence(text: &str) -> String {
    match text.ends_with(['.', '!', '?', '…']) {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}

/// Columns a character takes in a terminal: good enough to put a mark below the right place.
fn width(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036F | 0x200B..=0x200D | 0x20D0..=0x20FF | 0xFE00..=0xFE0F => 0,
        0x1100..=0x115F
        | 0x2E80..=0x303E
        | 0x3041..=0xA4CF
        | 0xAC00..=0xD7A3
        | 0xF900..=0xFAFF
        | 0xFE30..=0xFE6F
        | 0xFF01..=0xFF60
        | 0xFFE0..=0xFFE6
        | 0x1F300..=0x1F64F
        | 0x1F680..=0x1F6FF
        | 0x1F900..=0x1FAFF
        | 0x20000..=0x3FFFD => 2,
        _ => 1,
    }
}
