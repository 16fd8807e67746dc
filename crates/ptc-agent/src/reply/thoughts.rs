//! What a model thought before it answered: `<think>` sections, which some models put into their replies. Whatever
//! stands in them is no answer, programs least of all.

use std::borrow::Cow;

use super::blocks::Fence;

/// The names of the elements.
const TAGS: [&str; 4] = ["think", "thinking", "thought", "reasoning"];

/// A reply without its thoughts. A section begins where its tag begins a line outside of code, and ends with its closing
/// tag wherever that stands; one that is never closed goes on to the end. Where only the closing tag is there, the
/// opening one was part of what the model was asked with, and the reply began as a thought.
pub(super) fn without_thoughts(reply: &str) -> Cow<'_, str> {
    if !reply.contains("</") && !reply.contains('<') {
        return Cow::Borrowed(reply);
    }
    let (mut kept, mut rest) = (String::new(), reply);
    let mut found = false;
    while let Some(section) = next_section(rest) {
        match section {
            Section::Opened { from, tag } => {
                kept.push_str(&rest[..from]);
                let closing = format!("</{tag}>");
                rest = rest[from..].split_once(&closing).map_or("", |(_, after)| after);
            }
            Section::Closed { to } if !found => {
                kept.clear();
                rest = &rest[to..];
            }
            // A second closing tag closes nothing.
            Section::Closed { to } => {
                kept.push_str(&rest[..to]);
                rest = &rest[to..];
            }
        }
        found = true;
    }
    if !found {
        return Cow::Borrowed(reply);
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// A tag outside of code.
enum Section {
    /// Where the line with the opening tag begins.
    Opened { from: usize, tag: &'static str },
    /// Where a closing tag without an opening one ends.
    Closed { to: usize },
}

fn next_section(text: &str) -> Option<Section> {
    let (mut at, mut open): (usize, Option<Fence>) = (0, None);
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        match &open {
            Some(fence) if fence.is_closed_by(trimmed) => open = None,
            Some(_) => {}
            None => {
                let opening = TAGS.into_iter().find(|tag| after_tag(trimmed, "<", tag).is_some());
                if let Some(tag) = opening {
                    return Some(Section::Opened { from: at, tag });
                }
                let closing = TAGS.into_iter().find_map(|tag| after_tag(trimmed, "</", tag));
                if let Some(after) = closing {
                    let behind = line.trim_end().len() - after.len();
                    return Some(Section::Closed { to: at + behind });
                }
                open = Fence::opened_by(trimmed);
            }
        }
        at += line.len();
    }
    None
}

/// What follows a tag that begins a line.
fn after_tag<'l>(line: &'l str, opens: &str, tag: &str) -> Option<&'l str> {
    line.strip_prefix(opens)?.strip_prefix(tag)?.strip_prefix('>')
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
        ] {
            assert_eq!(without_thoughts(reply), kept, "{reply:?}");
        }
    }
}
