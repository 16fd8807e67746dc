//! Which block of a reply is the program, and what the history keeps of the reply.

use ptc_lisp::reader::{ReadLimits, read_all};
use ptc_lisp::syntax::FormKind;

use super::blocks::{Block, begins_with_paren, elements, fenced, in_one_line, only_element, with_lines};
use super::chars::trim;
use super::repair::{Fix, repair, repair_fenced};
use super::thoughts::without_thoughts;
use super::unwrap;

/// What to do about a reply with several programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Multiple {
    /// Ask for one.
    #[default]
    Reject,
    /// Run them in order, as one program.
    Sequence,
}

/// What a reply holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// A program.
    Program(Program),
    /// No program at all.
    None,
    /// So many programs, where one is wanted.
    Multiple(usize),
}

/// A program as it is run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Program {
    /// The text to run, repaired where that was certain.
    pub(crate) code: String,
    /// The blocks it is made of.
    pub(crate) blocks: usize,
    /// What the conversation keeps of the reply. The prose around a single tagged block is left out, and
    /// the block is the code that was run, so that places in errors fit it.
    pub(crate) history_text: String,
    /// What was repaired.
    pub(crate) fixes: Vec<Fix>,
    /// Whether another block without a tag looks like a program: it is not run.
    pub(crate) leaves_out: bool,
}

/// Finds the program of a reply and repairs it where that is certain. With `thinking` a reply may begin with a part of
/// that name, and the program is the last block.
pub(crate) fn read_program(reply: &str, multiple: Multiple, thinking: bool) -> Found {
    let reply = with_lines(reply);
    let reply = without_thoughts(&reply).into_owned();
    let (mut candidates, tagged) = candidates(&reply);
    if thinking && begins_with_thinking(&reply) {
        candidates.drain(..candidates.len().saturating_sub(1));
    }
    if multiple == Multiple::Reject {
        // The same program said again is one.
        candidates.dedup();
    }
    match candidates.len() {
        0 => return Found::None,
        count if count > 1 && multiple == Multiple::Reject => return Found::Multiple(count),
        _ => {}
    }
    let mut fixes = Vec::new();
    let repaired: Vec<String> = candidates
        .iter()
        .map(|candidate| {
            let fixed = if tagged { repair_fenced(candidate) } else { repair(candidate) };
            fixes.extend(fixed.fixes);
            fixed.code
        })
        .collect();
    let code = repaired.join("\n\n");
    let history_text =
        if tagged && repaired.len() == 1 { format!("```clojure\n{code}\n```") } else { reply.clone() };
    let leaves_out = tagged && !programs(untagged(&reply).iter().map(String::as_str)).is_empty();
    Found::Program(Program { code, blocks: repaired.len(), history_text, fixes, leaves_out })
}

/// Whether the first line says that thoughts follow, as the card for replies with thoughts has it.
fn begins_with_thinking(reply: &str) -> bool {
    let first = trim(reply).lines().next().unwrap_or_default();
    let first = first.trim_matches(['*', '#', '_', ' ']);
    first.get(..THINKING.len()).is_some_and(|head| head.eq_ignore_ascii_case(THINKING))
}

/// What the thinking part begins with.
const THINKING: &str = "thinking:";

/// Whether a text answer holds a program, which a model should have sent as a call instead.
pub(crate) fn holds_code(reply: &str) -> bool {
    let reply = with_lines(reply);
    let reply = without_thoughts(&reply);
    if is_fence(trim(&reply)) && in_one_line(&reply).is_some() {
        return true;
    }
    let blocks = fenced(&reply);
    blocks.iter().any(|block| block.is_tagged() || (block.tag.is_empty() && begins_with_paren(&block.text)))
}

/// The program of a reply that is nothing but one: in a fence, in an element, or bare.
pub(crate) fn only_program(reply: &str) -> Option<String> {
    let reply = with_lines(reply);
    let reply = without_thoughts(&reply);
    let text = trim(&reply);
    let element = || only_element(text).filter(|text| begins_with_paren(text)).map(str::to_owned);
    let bare = || consists_of_calls(text).then(|| text.to_owned());
    let line = || in_one_line(text).filter(|program| consists_of_calls(program)).map(str::to_owned);
    only_block(text).or_else(line).or_else(element).or_else(bare).filter(|program| !trim(program).is_empty())
}

/// The program in a fence around all of a text.
fn only_block(text: &str) -> Option<String> {
    let [block] = <[Block; 1]>::try_from(fenced(text)).ok().filter(|_| is_fence(text))?;
    let is_program = block.is_tagged() || (block.tag.is_empty() && begins_with_paren(&block.text));
    let closed = text.lines().skip(1).position(is_fence);
    let is_all = closed.is_none_or(|at| at + 2 == text.lines().count());
    (is_program && is_all).then_some(block.text)
}

/// Whether a text can be read as calls and nothing else: an answer may begin with a remark in parentheses.
fn consists_of_calls(text: &str) -> bool {
    let is_call = |kind: &FormKind| match kind {
        FormKind::List(forms) => !forms.is_empty(),
        _ => false,
    };
    begins_with_paren(text)
        && read_all(text, &ReadLimits::default())
            .is_ok_and(|forms| forms.iter().all(|form| is_call(&form.kind)))
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// The texts that may be the program, by the first rule that gives any, and whether fences said so.
fn candidates(reply: &str) -> (Vec<String>, bool) {
    let blocks: Vec<Block> =
        fenced(reply).into_iter().filter(|block| !trim(&block.text).is_empty()).collect();
    let tagged: Vec<String> = blocks.iter().filter(|b| b.is_tagged()).map(|b| b.text.clone()).collect();
    if !tagged.is_empty() {
        return (tagged, true);
    }
    let rules: [&dyn Fn() -> Vec<String>; 4] = [
        &|| programs(blocks.iter().map(|block| block.text.as_str())),
        &|| programs(reply.lines().filter(|line| is_fence(trim(line))).filter_map(in_one_line)),
        &|| programs(elements(reply)),
        &|| programs([reply.trim()]),
    ];
    (rules.iter().map(|rule| rule()).find(|found| !found.is_empty()).unwrap_or_default(), false)
}

/// The blocks without a tag.
fn untagged(reply: &str) -> Vec<String> {
    fenced(reply).into_iter().filter(|block| block.tag.is_empty()).map(|block| block.text).collect()
}

fn programs<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let is_program = |text: &&str| begins_with_paren(text) || unwrap::is_wrapped(trim(text));
    texts.into_iter().filter(is_program).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::FixKind;

    fn code(reply: &str) -> String {
        match read_program(reply, Multiple::Reject, false) {
            Found::Program(program) => program.code,
            other => panic!("{reply:?} gave {other:?}"),
        }
    }

    fn sequence(reply: &str) -> Program {
        match read_program(reply, Multiple::Sequence, false) {
            Found::Program(program) => program,
            other => panic!("{reply:?} gave {other:?}"),
        }
    }

    #[test]
    fn a_reply_that_is_only_a_fenced_program_is_told_from_others() {
        for (reply, program) in [
            ("```clojure\n(+ 1 2)\n```", Some("(+ 1 2)")),
            ("<think>hm</think>\n```\n(+ 1 2)\n```\n", Some("(+ 1 2)")),
            ("~~~lisp\n(+ 1 2)\n~~~", Some("(+ 1 2)")),
            ("```clojure\n(+ 1 2)", Some("(+ 1 2)")),
            ("```clj\n(+ 1 2)\n```", Some("(+ 1 2)")),
            ("(+ 1 2)", Some("(+ 1 2)")),
            ("; first\n(def a 1)\n(inc a)", Some("; first\n(def a 1)\n(inc a)")),
            ("<clojure>(+ 1 2)</clojure>", Some("(+ 1 2)")),
            ("<lisp>\n(+ 1 2)\n</lisp>", Some("(+ 1 2)")),
            ("```clojure (+ 1 2) ```", Some("(+ 1 2)")),
            ("<think>hm</think>\n`(+ 1 2)`", Some("(+ 1 2)")),
            ("`(as above) 42 rows`", None),
            ("It is ```clojure (+ 1 2)```", None),
            ("<clojure>(+ 1 2)</clojure> as asked", None),
            ("So <clojure>(+ 1 2)</clojure>", None),
            ("(as above) 42 rows", None),
            ("(+ 1", None),
            ("()", None),
            ("Here it is:\n```clojure\n(+ 1 2)\n```", None),
            ("```clojure\n(+ 1 2)\n```\nThat is it.", None),
            ("```clojure\n1\n```\n```clojure\n2\n```", None),
            ("```json\n{\"n\": 1}\n```", None),
            ("```\nplain\n```", None),
            ("42", None),
        ] {
            assert_eq!(only_program(reply).as_deref().map(str::trim), program, "{reply}");
        }
    }

    #[test]
    fn r3_22_where_the_program_is() {
        for (reply, expected) in [
            ("I will add.\n```clojure\n(+ 1 2)\n```\nThen see.", "(+ 1 2)"),
            ("```clojure\r\n(def a 1)\r\n(inc a)\r\n```", "(def a 1)\n(inc a)"),
            // A tagged block is the program whatever it begins with.
            ("```clojure\n; count\ndata/x\n```", "; count\ndata/x"),
            // A tagged block beats others.
            ("```\n(g)\n```\n```clojure\n(f)\n```", "(f)"),
            ("```clojure\n\n```\n```clojure\n(f)\n```", "(f)"),
            ("```\n(g)\n```", "(g)"),
            ("```text\nsome output\n```\n```clj\n(g)\n```", "(g)"),
            ("Here: <clojure>(h)</clojure>", "(h)"),
            ("  (+ 1 2)  ", "(+ 1 2)"),
            ("(+ 1 2)\n(+ 3 4)", "(+ 1 2)\n(+ 3 4)"),
            (";; add\n(+ 1 2)", ";; add\n(+ 1 2)"),
            ("```clojure\n(+ 1 2)", "(+ 1 2)"),
            ("~~~clojure\n(+ 1 2)\n~~~", "(+ 1 2)"),
            ("<think>\n```clojure\n(wrong)\n```\n</think>\n```clojure\n(+ 1 2)\n```", "(+ 1 2)"),
            ("<think>First (f).</think>\n\n(+ 1 2)", "(+ 1 2)"),
            ("```clojure (+ 1 2) ```", "(+ 1 2)"),
            ("I add:\n```clj (+ 1 2)```\n", "(+ 1 2)"),
            ("<think>a<think>b</think>\n```clojure\n(f)\n```\n</think>\n```clojure\n(+ 1 2)\n```", "(+ 1 2)"),
        ] {
            assert_eq!(code(reply), expected, "{reply:?}");
        }
    }

    #[test]
    fn r3_22_no_program() {
        for reply in [
            "<think>\n```clojure\n(f)\n```\n</think>\nDone.",
            "",
            "The answer is 3.",
            "```json\n{\"a\": 1}\n```",
            "```\nplain\n```",
            "Let me think (briefly).",
        ] {
            assert_eq!(read_program(reply, Multiple::Reject, false), Found::None, "{reply:?}");
        }
    }

    #[test]
    fn r3_22_several_programs_are_counted() {
        for (reply, count) in [
            ("```clojure\n(f)\n```\n```clojure\n(g)\n```", 2),
            ("```\n(f)\n```\n```\n(g)\n```\n```\n(h)\n```", 3),
            ("<clojure>(f)</clojure><lisp>(g)</lisp>", 2),
        ] {
            assert_eq!(read_program(reply, Multiple::Reject, false), Found::Multiple(count), "{reply:?}");
        }
    }

    #[test]
    fn r3_23_several_blocks_run_in_order_as_one_program_where_allowed() {
        let program = sequence("First\n```clojure\n(def a 1)\n```\nthen\n```clojure\n(inc a)\n```");
        assert_eq!(program.code, "(def a 1)\n\n(inc a)");
        assert_eq!(program.blocks, 2);
        assert_eq!(sequence("```clojure\n(f)\n```").blocks, 1);
    }

    #[test]
    fn r3_23_each_block_is_repaired_by_itself() {
        let program = sequence("```clojure\n(def a 1))\n```\n```clojure\n(inc a)\n```");
        assert_eq!(program.code, "(def a 1)\n\n(inc a)");
        assert_eq!(program.fixes[0].kind, FixKind::Delimiter);
    }

    #[test]
    fn code_in_the_thinking_part_is_not_run() {
        let reply = "thinking:\nmaybe\n```clojure\n(return 9)\n```\n\n```clojure\n(return 1)\n```";
        for multiple in [Multiple::Reject, Multiple::Sequence] {
            match read_program(reply, multiple, true) {
                Found::Program(program) => {
                    assert_eq!((program.code.as_str(), program.blocks), ("(return 1)", 1))
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(read_program(reply, Multiple::Reject, false), Found::Multiple(2));
        let plain = reply.replace("thinking:", "Well.");
        assert_eq!(read_program(&plain, Multiple::Reject, true), Found::Multiple(2));
    }

    #[test]
    fn r3_24_r3_26_history_keeps_the_tagged_block_without_prose() {
        let history = |reply: &str| sequence(reply).history_text;
        assert_eq!(history("Prose\n```lisp\n(f)\n```\nmore"), "```clojure\n(f)\n```");
        assert_eq!(history("```\n(f)\n```\nmore"), "```\n(f)\n```\nmore");
        assert_eq!(history("(f)"), "(f)");
        // What was run is what the model sees again.
        assert_eq!(history("```clojure\n(f 1))\n```"), "```clojure\n(f 1)\n```");
    }

    #[test]
    fn r4_12_code_in_a_text_answer_is_noticed() {
        for reply in ["```clojure\n(f)\n```", "```lisp\nx\n```", "say\n```\n(f)\n```", "```clojure (f)```"] {
            assert!(holds_code(reply), "{reply:?}");
        }
        for reply in ["42", "```json\n{}\n```", "```\nplain\n```", "(f)", "`(f)`"] {
            assert!(!holds_code(reply), "{reply:?}");
        }
    }

    #[test]
    fn wrapped_programs_in_replies_are_found() {
        for reply in [
            r#"{"program": "(+ 1 2)"}"#,
            "```json\n{\"program\": \"(+ 1 2)\"}\n```",
            "clojure\n(+ 1 2)",
            "\u{feff}(+ 1 2)\u{200b}",
            "\u{feff}{\"program\": \"(+ 1 2)\"}",
            "`(+ 1 2)`",
            r#""(+ 1 2)""#,
        ] {
            assert_eq!(code(reply), "(+ 1 2)", "{reply:?}");
        }
    }
}
