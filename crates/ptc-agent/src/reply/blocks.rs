//! Where code stands in a reply: fenced blocks, found line by line, and elements such as `<clojure>`.

use std::borrow::Cow;

use ptc_lisp::reader::is_incomplete;

use super::chars::trim;

/// The languages whose name on a fence says that the block is the program.
const TAGS: [&str; 4] = ["clojure", "clj", "lisp", "ptc-lisp"];

/// A block of code in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The word after the fence, in lower case; empty if there is none.
    pub(super) tag: String,
    /// The lines between the fences, trimmed.
    pub(super) text: String,
}

impl Block {
    /// Whether the fence says that this is a program.
    pub(super) fn is_tagged(&self) -> bool {
        TAGS.contains(&self.tag.as_str())
    }

    /// Whether this can only be a program, and all of it.
    fn is_whole_program(&self) -> bool {
        (self.is_tagged() || self.tag.is_empty())
            && begins_with_paren(&self.text)
            && !is_incomplete(&self.text)
    }
}

/// The text with `\n` at the end of every line, whatever it was before.
pub(super) fn unify_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// A reply that has lines, in which programs keep what stands in their strings. Carriage returns end lines only where nothing
/// else does.
pub(super) fn with_lines(reply: &str) -> Cow<'_, str> {
    match reply.contains('\r') && !reply.contains('\n') {
        true => unify_line_ends(reply).into(),
        false => reply.into(),
    }
}

/// All fenced blocks, in order. Fences within a line count only where they end it and name our language. A block without an end is one if it holds a program
/// that is complete; of anything else nobody can tell whether the reply was cut.
pub(super) fn fenced(reply: &str) -> Vec<Block> {
    divided(reply).0
}

/// All fenced blocks, and the lines that stand in none of them.
pub(super) fn divided(reply: &str) -> (Vec<Block>, String) {
    let (mut blocks, mut prose) = (Vec::new(), String::new());
    let mut open: Option<(Fence, Vec<&str>)> = None;
    // The end of a line may be part of a text within a program, so that all of it is kept.
    for line in reply.split('\n') {
        open = match open.take() {
            None => {
                let behind = || Fence::opened_behind_words(line);
                let (words, fence) =
                    Fence::opened_by(line).map(|fence| (None, fence)).or_else(behind).unzip();
                let words = words.flatten();
                if let Some(words) = words {
                    prose.push_str(words);
                    prose.push('\n');
                }
                if fence.is_none() {
                    prose.push_str(line);
                    prose.push('\n');
                }
                fence.map(|fence| (fence, Vec::new()))
            }
            Some((fence, lines)) if fence.is_closed_by(line) => {
                blocks.push(fence.around(&lines));
                None
            }
            Some((fence, mut lines)) => {
                lines.push(line);
                Some((fence, lines))
            }
        };
    }
    if let Some(block) = open.map(|(fence, lines)| fence.around(&lines)) {
        match block.is_whole_program() {
            true => blocks.push(block),
            false => prose.push_str(&block.text),
        }
    }
    (blocks, prose)
}

/// The program in a fence that opens and closes on one line, or in a code span, where that is all of the text.
pub(super) fn in_one_line(text: &str) -> Option<&str> {
    let text = trim(text);
    let sign = text.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
    let inner = text.trim_start_matches(sign);
    let count = text.len() - inner.len();
    let marks = &text[..count];
    let inner = inner.strip_suffix(marks).filter(|inner| !inner.contains(sign) && !inner.contains('\n'))?;
    let tag = inner.split(char::is_whitespace).next().unwrap_or_default();
    let is_tagged = count >= 3 && TAGS.iter().any(|known| tag.eq_ignore_ascii_case(known));
    let program = trim(if is_tagged { &inner[tag.len()..] } else { inner });
    let fits = (sign == '`' || count >= 3) && begins_with_paren(program) && !is_incomplete(program);
    fits.then_some(program)
}

/// The line that opened a block.
pub(super) struct Fence {
    tag: String,
    /// What it is made of, and how often.
    sign: char,
    count: usize,
}

impl Fence {
    /// At least three backticks or tildes, then one word or nothing; behind the name of our language anything, as
    /// some write attributes there.
    pub(super) fn opened_by(line: &str) -> Option<Fence> {
        let line = trim(line);
        let sign = line.chars().next().filter(|sign| ['`', '~'].contains(sign))?;
        let info = line.trim_start_matches(sign);
        let count = line.len() - info.len();
        let info = info.trim_start();
        let tag = info.split(char::is_whitespace).next().unwrap_or_default().to_lowercase();
        let fits = !info.contains('`') && (info.len() == tag.len() || TAGS.contains(&tag.as_str()));
        (count >= 3 && fits).then_some(Fence { tag, sign, count })
    }

    /// A fence with the name of our language that ends a line of prose, and the words before it.
    fn opened_behind_words(line: &str) -> Option<(Option<&str>, Fence)> {
        let (words, fence) = line.split_at_checked(line.find("```")?)?;
        let fence = Fence::opened_by(fence)?;
        let ends = trim(line).to_lowercase().ends_with(&format!("`{}", fence.tag));
        (ends && TAGS.contains(&fence.tag.as_str())).then_some((Some(words), fence))
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let line = trim(line);
        let closes = line.len() >= self.count && line.chars().all(|sign| sign == self.sign);
        closes || TAGS.iter().any(|tag| is_closing_tag(line, tag))
    }

    /// The block of these lines.
    fn around(self, lines: &[&str]) -> Block {
        Block { tag: self.tag, text: lines.join("\n").trim().to_owned() }
    }
}

fn is_closing_tag(line: &str, tag: &str) -> bool {
    let name = line.strip_prefix("</").and_then(|rest| rest.strip_suffix('>'));
    name.is_some_and(|name| name.eq_ignore_ascii_case(tag))
}

/// The trimmed texts of `<clojure>…</clojure>` and `<lisp>…</lisp>`, in order.
pub(super) fn elements(reply: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = reply;
    while let Some((text, after)) = next_element(rest) {
        found.push(text.trim());
        rest = after;
    }
    found
}

/// The text of an element that is all of a reply.
pub(super) fn only_element(reply: &str) -> Option<&str> {
    let (text, after) = next_element(reply)?;
    let opened =
        reply.starts_with('<') && reply.find('>').is_some_and(|end| reply[end + 1..].starts_with(text));
    (opened && after.is_empty()).then(|| text.trim())
}

/// The text of the first element and what follows it.
fn next_element(reply: &str) -> Option<(&str, &str)> {
    let opened = |at: usize, tag: &str| reply[at + 1..].strip_prefix(tag)?.strip_prefix('>');
    let mut openings = reply.match_indices('<').map(|(at, _)| at);
    let (inner, tag) =
        openings.find_map(|at| TAGS.iter().find_map(|tag| opened(at, tag).map(|inner| (inner, tag))))?;
    inner.split_once(&format!("</{tag}>"))
}

/// Whether the text begins like a program: with `(`, comments before it left aside.
pub(super) fn begins_with_paren(text: &str) -> bool {
    let first = text.lines().map(trim).find(|line| !line.is_empty() && !line.starts_with(';'));
    first.is_some_and(|line| line.starts_with('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(reply: &str) -> Vec<(String, String)> {
        fenced(reply).into_iter().map(|block| (block.tag, block.text)).collect()
    }

    #[test]
    fn r3_21_fences_are_recognised_line_by_line() {
        for (reply, tag, text) in [
            ("```clojure\n(+ 1 2)\n```", "clojure", "(+ 1 2)"),
            ("Let me see.\n\n  ```lisp  \n(f)\n  ```\nDone.", "lisp", "(f)"),
            ("```\n(f)\n```", "", "(f)"),
            ("```Clojure\n(f)\n```", "clojure", "(f)"),
            ("``` clojure\n(f)\n```", "clojure", "(f)"),
            ("```json\n{}\n```", "json", "{}"),
            ("```clojure\n(f)\n</clojure>", "clojure", "(f)"),
            ("```lisp\n(f)\n</lisp>", "lisp", "(f)"),
            ("\u{feff}```clojure\n(f)\n```\u{200b}", "clojure", "(f)"),
            ("~~~clojure\n(f)\n~~~", "clojure", "(f)"),
            ("```clojure {title=\"x\"}\n(f)\n```", "clojure", "(f)"),
            ("Here it is: ```clojure\n(f)\n```\n", "clojure", "(f)"),
            ("````clojure\n(str \"\n```\n\")\n````", "clojure", "(str \"\n```\n\")"),
        ] {
            assert_eq!(texts(reply), [(tag.to_owned(), text.to_owned())], "{reply:?}");
        }
    }

    #[test]
    fn r3_21_backticks_within_a_line_never_count() {
        for reply in
            ["Use ```clojure (f) ``` here", "a ``` b", "```clojure (+ 1 2)```", "```two words\n(f)\n```"]
        {
            assert_eq!(texts(reply), [], "{reply:?}");
        }
        let within = "```clojure\n(str \"```\" 1)\n```";
        assert_eq!(texts(within), [("clojure".to_owned(), "(str \"```\" 1)".to_owned())]);
    }

    #[test]
    fn a_line_that_is_a_fence_or_a_code_span_holds_a_program() {
        for text in [
            "```clojure (+ 1 2) ```",
            "```clojure (+ 1 2)```",
            "```(+ 1 2)```",
            "~~~lisp (+ 1 2) ~~~",
            " `(+ 1 2)` ",
            "``(+ 1 2)``",
        ] {
            assert_eq!(in_one_line(text), Some("(+ 1 2)"), "{text:?}");
        }
        for text in [
            "```json {\"a\": 1}```",
            "`x`",
            "`(+ 1`",
            "~(f)~",
            "`(f)` and `(g)`",
            "```clojure\n(f)\n```",
            "```",
            "",
        ] {
            assert_eq!(in_one_line(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_block_without_an_end_counts_if_it_is_a_whole_program() {
        for reply in ["```clojure\n(+ 1 2)", "```clj\n(+ 1 2)", "~~~lisp\n(+ 1 2)\n", "text\n```\n(+ 1 2)"] {
            let found: Vec<String> = texts(reply).into_iter().map(|(_, text)| text).collect();
            assert_eq!(found, ["(+ 1 2)"], "{reply:?}");
        }
        for reply in ["```clojure\n(+ 1", "```clojure\n(str \"a", "```json\n{}", "```clojure\n", "```\nplain"]
        {
            assert_eq!(texts(reply), [], "{reply:?}");
        }
        assert_eq!(texts("```clojure\n(f)\n```\n```clojure\n(g"), [("clojure".to_owned(), "(f)".to_owned())]);
    }

    #[test]
    fn r3_21_line_ends_are_unified() {
        assert_eq!(unify_line_ends("a\r\nb\rc\n"), "a\nb\nc\n");
    }

    #[test]
    fn r3_22_elements_hold_programs_too() {
        assert_eq!(elements("x <clojure>(f)</clojure> y <lisp>\n(g)\n</lisp>"), ["(f)", "(g)"]);
        assert_eq!(elements("<clojure>(f)"), Vec::<&str>::new());
    }

    #[test]
    fn comments_may_stand_before_the_first_paren() {
        assert!(begins_with_paren("; first\n\n  (f)"));
        assert!(!begins_with_paren("; only a comment"));
        assert!(!begins_with_paren("text (f)"));
    }
}
