//! What a model thought before it answered: sections such as `<think>…</think>`, which some models put into their
//! replies. Whatever stands in them is no answer, programs least of all.

use std::borrow::Cow;

use super::blocks::Fence;

/// How thoughts begin and end, in lower case.
struct ThoughtMarks {
    open: &'static str,
    close: &'static str,
    /// Whether models write them unasked. Others may be what the mission asks for where the answer is text.
    unasked: bool,
}

const fn unasked(open: &'static str, close: &'static str) -> ThoughtMarks {
    ThoughtMarks { open, close, unasked: true }
}

const fn asked(open: &'static str, close: &'static str) -> ThoughtMarks {
    ThoughtMarks { open, close, unasked: false }
}

const MARKS: [ThoughtMarks; 15] = [
    unasked("<think>", "</think>"),
    unasked("<thinking>", "</thinking>"),
    unasked("<antthinking>", "</antthinking>"),
    unasked("<seed:think>", "</seed:think>"),
    unasked("[think]", "[/think]"),
    unasked("◁think▷", "◁/think▷"),
    unasked("<|begin_of_thought|>", "<|end_of_thought|>"),
    unasked("<|start_thinking|>", "<|end_thinking|>"),
    unasked("<|channel|>analysis<|message|>", "<|end|>"),
    asked("<thought>", "</thought>"),
    asked("<thoughts>", "</thoughts>"),
    asked("<reasoning>", "</reasoning>"),
    asked("<reflection>", "</reflection>"),
    asked("<analysis>", "</analysis>"),
    asked("<scratchpad>", "</scratchpad>"),
];

/// What marks begin with.
const SIGNS: [char; 3] = ['<', '[', '◁'];

/// A reply without its thoughts. A section begins with its mark outside of code and ends with the other one wherever that
/// stands; sections nest. One that begins a line and is never closed goes on to the end. Where only the closing mark is there, the opening
/// one was part of what the model was asked with, and the reply began as a thought.
pub(super) fn without_thoughts(reply: &str) -> Cow<'_, str> {
    without(reply, &|_| true, true)
}

/// An answer in text without what models think unasked.
pub(crate) fn spoken(reply: &str) -> Cow<'_, str> {
    match without(reply, &|marks| marks.unasked, false) {
        Cow::Owned(kept) => Cow::Owned(kept.trim_start().to_owned()),
        whole => whole,
    }
}

/// A reply without the thoughts that count; `all` says that closing marks without an opening one end thoughts wherever they
/// stand.
fn without<'r>(reply: &'r str, counts: &dyn Fn(&ThoughtMarks) -> bool, all: bool) -> Cow<'r, str> {
    if !reply.contains(SIGNS) {
        return Cow::Borrowed(reply);
    }
    let lower = reply.to_ascii_lowercase();
    let (mut kept, mut at, mut found) = (String::new(), 0, false);
    while let Some(mark) = next_mark(&lower[at..], counts) {
        let end = at + mark.end;
        match mark.closed_by {
            Some(close) => {
                kept.push_str(&reply[at..at + mark.start]);
                let open = &lower[at + mark.start..end];
                at = end_of_thought(&lower[end..], open.trim_start(), close)
                    .map_or(reply.len(), |to| end + to);
                // A fence begins a line.
                let fence = reply[at..].lines().next().and_then(Fence::opened_by);
                if fence.is_some() && !kept.is_empty() && !kept.ends_with('\n') {
                    kept.push('\n');
                }
            }
            // Everything before it was thought, sections and what stood between them. An answer in text may speak of a mark.
            None if all || !found => {
                kept.clear();
                at = end;
            }
            None => {
                kept.push_str(&reply[at..end]);
                at = end;
            }
        }
        found = true;
    }
    if !found {
        return Cow::Borrowed(reply);
    }
    kept.push_str(&reply[at..]);
    Cow::Owned(kept)
}

/// Where a section ends whose opening mark stands before the text. Where marks within it are missing, the last one ends it.
fn end_of_thought(text: &str, open: &str, close: &str) -> Option<usize> {
    let (mut at, mut depth, mut last) = (0, 1_usize, None);
    while let Some(from) = text[at..].find(close) {
        depth += text[at..at + from].matches(open).count();
        at += from + close.len();
        depth -= 1;
        if depth == 0 {
            return Some(at);
        }
        last = Some(at);
    }
    last
}

/// A mark outside of code: where it stands, and what closes the section if it opens one.
struct Mark {
    start: usize,
    end: usize,
    closed_by: Option<&'static str>,
}

/// The first mark of a text that is in lower case.
fn next_mark(text: &str, counts: &dyn Fn(&ThoughtMarks) -> bool) -> Option<Mark> {
    let (mut at, mut open): (usize, Option<Fence>) = (0, None);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        match &open {
            Some(fence) if fence.is_closed_by(trimmed) => open = None,
            Some(_) => {}
            None => {
                if let Some(mark) = mark_of_line(text, at, line, counts) {
                    return Some(mark);
                }
                open = Fence::opened_by(trimmed);
            }
        }
        at += line.len();
    }
    None
}

/// The first mark of the line that begins at `at`. What stands in quotes or between backticks is none.
fn mark_of_line(text: &str, at: usize, line: &str, counts: &dyn Fn(&ThoughtMarks) -> bool) -> Option<Mark> {
    let (mut quoted, mut ticked) = (false, false);
    for (from, c) in line.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '`' => ticked = !ticked,
            c if SIGNS.contains(&c) && !quoted && !ticked => {
                let begins = line[..from].trim().is_empty();
                let start = at + from;
                if let Some(mark) = mark_at(text, start, begins, counts) {
                    let whole = begins && mark.closed_by.is_some();
                    return Some(Mark { start: if whole { at } else { start }, ..mark });
                }
            }
            _ => {}
        }
    }
    None
}

/// The mark that begins here. In the middle of a line somebody may speak of one: there an opening mark needs the other.
fn mark_at(
    text: &str,
    start: usize,
    begins_line: bool,
    counts: &dyn Fn(&ThoughtMarks) -> bool,
) -> Option<Mark> {
    let rest = &text[start..];
    MARKS.iter().filter(|marks| counts(marks)).find_map(|marks| {
        if rest.starts_with(marks.close) {
            return Some(Mark { start, end: start + marks.close.len(), closed_by: None });
        }
        let inner = rest.strip_prefix(marks.open)?;
        (begins_line || inner.contains(marks.close)).then_some(Mark {
            start,
            end: start + marks.open.len(),
            closed_by: Some(marks.close),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_left_out_and_code_is_left_alone() {
        for (reply, kept) in [
            ("<think>I add.</think>\n(+ 1 2)", "\n(+ 1 2)"),
            ("<think>\n```clojure\n(f)\n```\n</think>\n```clojure\n(g)\n```", "\n```clojure\n(g)\n```"),
            ("Well.\n  <thinking>a</thinking> b", "Well.\n b"),
            ("<reasoning>a</reasoning><think>b</think>c", "c"),
            ("<think>never closed\n```clojure\n(f)\n```", ""),
            ("so\n```clojure\n(f)\n```\n</think>\n(g)", "\n(g)"),
            ("</think>(g)", "(g)"),
            ("(str \"<think>\" 1)", "(str \"<think>\" 1)"),
            ("```clojure\n(str \"\n<think>\n\")\n```", "```clojure\n(str \"\n<think>\n\")\n```"),
            ("1 < 2", "1 < 2"),
            // Sections nest, also where the first mark was part of what the model was asked with.
            ("<think>a<think>b</think>\n```clojure\n(f)\n```\n</think>\n(g)", "\n(g)"),
            ("<think>a<think>b</think>c<think>d</think>e</think>(g)", "(g)"),
            ("a <think>b</think>\n```clojure\n(f)\n```\n</think>\n(g)", "\n(g)"),
            ("<think>of <think> sections</think>(g)", "(g)"),
        ] {
            assert_eq!(without_thoughts(reply), kept, "{reply:?}");
        }
    }

    #[test]
    fn thoughts_end_wherever_their_closing_mark_stands_and_begin_anywhere_outside_of_code() {
        for (reply, kept) in [
            ("I think\n```clojure\n(return 9)\n```\nhm.</think>\nDone.", "\nDone."),
            ("Maybe {\"a\": 1}? no.</think>\n{\"a\": 2}", "\n{\"a\": 2}"),
            ("Sure. <think>\n```clojure\n(f)\n```\nmm</think>\n(g)", "Sure. \n(g)"),
            ("Sure. <think>hm</think>```clojure\n(g)\n```", "Sure. \n```clojure\n(g)\n```"),
            ("<Think>a</THINK>b", "b"),
            ("[THINK]a[/THINK]b", "b"),
            ("◁think▷a◁/think▷b", "b"),
            ("<|begin_of_thought|>a<|end_of_thought|>b", "b"),
            ("<|channel|>analysis<|message|>a<|end|>b", "b"),
            ("<analysis>a</analysis>b", "b"),
            ("<scratchpad>\na\n</scratchpad>\nb", "\nb"),
            ("`</think>` ends it", "`</think>` ends it"),
            ("The tag <think> begins it", "The tag <think> begins it"),
            ("```clojure\n(str \"</think>\")\n```", "```clojure\n(str \"</think>\")\n```"),
        ] {
            assert_eq!(without_thoughts(reply), kept, "{reply:?}");
        }
    }

    #[test]
    fn text_answers_have_no_thoughts_that_nobody_asked_for() {
        for (reply, answer) in [
            ("<think>hm</think>\n\nYes.", "Yes."),
            ("hm, so\n</think>\nYes.\n", "Yes.\n"),
            ("Yes.", "Yes."),
            ("<analysis>as asked</analysis>\nYes.", "<analysis>as asked</analysis>\nYes."),
            (" two\n spaces", " two\n spaces"),
        ] {
            assert_eq!(spoken(reply), answer, "{reply:?}");
        }
    }
}
