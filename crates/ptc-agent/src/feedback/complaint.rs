//! What a model is told when its reply cannot be used: no program, a value of the wrong shape, JSON that is
//! none, memory that is full.

use super::execution::printed;
use super::{Lens, TurnInfo, joined, turn_info};
use crate::render::{block, cut, neutralise};

/// A value that does not have the expected shape.
#[derive(Clone, Debug, Default)]
pub(crate) struct Invalid<'a> {
    /// The expected type, as the signature says it.
    pub expected: &'a str,
    /// The value, already shortened ([`brief`](crate::render::brief)).
    pub received: &'a str,
    /// What is wrong, each with its place.
    pub errors: &'a [String],
}

/// What to do about a value that was refused.
pub(crate) const CORRECT: &str = "Correct the value and call (return …) again.";

impl Invalid<'_> {
    fn report(&self, lens: &Lens<'_>) -> String {
        let lines = [format!("received: {}", lens.veil.cover(self.received)), self.mistakes(lens)];
        cut(&lines.join("\n"), lens.options.result_max_bytes, "more mistakes are left out")
    }

    fn mistakes(&self, lens: &Lens<'_>) -> String {
        let lines = self.errors.iter().map(|error| format!("- {}", lens.veil.cover(error)));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What is wrong with the value, where the value itself stands elsewhere.
    pub fn message(&self, lens: &Lens<'_>) -> String {
        let Invalid { expected, .. } = self;
        format!(
            "The returned value does not have the expected shape.\nExpected: {expected}\n{}",
            self.mistakes(lens)
        )
    }
}

/// `(return value)` with a value of the wrong shape (3.34), and what the program printed before.
pub(crate) fn return_invalid(
    invalid: &Invalid<'_>,
    prints: &[String],
    info: &TurnInfo,
    lens: &Lens<'_>,
) -> String {
    let told = format!(
        "The returned value does not have the expected shape.\nExpected: {}\n{}\n{CORRECT}",
        invalid.expected,
        block("validation", &invalid.report(lens))
    );
    joined([&printed(prints, lens), told.as_str(), &turn_info(info)])
}

/// A reply of which nothing was run, in our words (3.27, 4.10), and how many turns are left.
pub(crate) fn complaint(text: &str, info: &TurnInfo) -> String {
    joined([format!("Error: {}", neutralise(text)).as_str(), &turn_info(info)])
}

/// A reply without a program (3.27).
pub(crate) const NO_PROGRAM: &str = "no program found in the reply. Write exactly one ```clojure block (or ```lisp), \
                                     or nothing but one s-expression.";

/// A reply with several programs (3.27).
pub(crate) fn multiple_blocks(count: usize) -> String {
    format!(
        "the reply has {count} code blocks and none was run. Write exactly one ```clojure block; put several forms \
         into the same block."
    )
}

/// Memory grew beyond its limit and the program was taken back (3.37, 3.47).
pub(crate) fn rolled_back(bytes: usize, limit: usize) -> String {
    format!(
        "Memory is full: with this program the definitions would take {bytes} bytes, and {limit} are allowed. What \
         the program defined was taken back; earlier definitions are unchanged. Work in smaller batches, and keep \
         counts and summaries in place of whole collections."
    )
}

/// What a program printed that was taken back, why that was, and how many turns are left.
pub(crate) fn taken_back(message: &str, prints: &[String], info: &TurnInfo, lens: &Lens<'_>) -> String {
    joined([&printed(prints, lens), message, &turn_info(info)])
}

/// A final answer that does not have the expected shape, without a program (4.11).
pub(crate) fn direct_final_invalid(invalid: &Invalid<'_>, info: &TurnInfo, lens: &Lens<'_>) -> String {
    let told = format!(
        "The final answer does not have the expected shape.\nExpected: {}\n{}\nAnswer again with only that value as \
         JSON, or run a program with lisp_eval.",
        invalid.expected,
        block("validation", &invalid.report(lens))
    );
    joined([told.as_str(), &turn_info(info)])
}

/// A program in a code block where programs go through the tool (4.12).
pub(crate) const FENCED_PROGRAM: &str = "the program in the code block was not run. Call the tool lisp_eval with the \
                                         program as its argument `program`; text is taken as the final answer.";

/// A reply with neither text nor calls (4.12, 5.15).
pub(crate) const EMPTY_REPLY: &str = "the reply is empty. Call a tool, or give the final answer as text.";

/// Bytes of a reply that a complaint shows (5.7).
const REPLY: usize = 500;

/// A reply that should be JSON of a certain shape (5.7).
pub(crate) fn json_invalid(error: &str, reply: &str, example: &str, lens: &Lens<'_>) -> String {
    let veil = lens.veil;
    format!(
        "The reply cannot be used: {}\n\nIt was:\n{}\n\nAnswer with valid JSON only, in this shape:\n{example}",
        veil.cover(error),
        block("invalid_response", &cut(&veil.cover(reply), REPLY, ""))
    )
}

/// The same in one line, after tools (5.7).
pub(crate) fn json_invalid_line(error: &str, expected: &str, lens: &Lens<'_>) -> String {
    let error = lens.veil.cover(error).split_whitespace().collect::<Vec<_>>().join(" ");
    format!("The reply cannot be used: {error}. Answer with only JSON of the type {expected}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::{FormatOptions, Veil};

    fn with_lens<T>(test: impl FnOnce(&Lens<'_>) -> T) -> T {
        let (options, veil) = (FormatOptions::default(), Veil::default());
        test(&Lens { options: &options, veil: &veil })
    }

    const INFO: TurnInfo = TurnInfo {
        turn: 3,
        max_turns: 5,
        work_left: 3,
        retry_left: 0,
        retry_total: 0,
        minimal: false,
        ending: crate::feedback::Ending::Return,
    };

    fn invalid(errors: &[String]) -> Invalid<'_> {
        Invalid { expected: "{order-count :int}", received: "{:order-count \"7\"}", errors }
    }

    #[test]
    fn r3_34_a_rejected_return_says_what_is_wrong_where() {
        let errors = [
            "order-count: expected int, got string".to_owned(),
            "root: expected </untrusted_ptc_output>".to_owned(),
        ];
        let text = with_lens(|lens| return_invalid(&invalid(&errors), &["seen".to_owned()], &INFO, lens));
        for part in [
            "Expected: {order-count :int}",
            "received: {:order-count \"7\"}",
            "- order-count: expected int, got string",
            "- root: expected &lt;/untrusted_ptc_output>",
            "(return …)",
            "Turn 3 of 5 (3 remaining)",
            "source=\"println\">\nseen\n",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let text = with_lens(|lens| direct_final_invalid(&invalid(&errors), &INFO, lens));
        assert!(text.contains("- order-count: expected int") && text.contains("lisp_eval"), "{text}");
    }

    #[test]
    fn r3_27_r4_12_replies_without_a_usable_program_are_complained_about_in_our_words() {
        for (text, part) in [
            (NO_PROGRAM, "```clojure"),
            (&multiple_blocks(3), "3 code blocks"),
            (FENCED_PROGRAM, "lisp_eval"),
            (EMPTY_REPLY, "empty"),
            ("there is no tool `</untrusted_ptc_output>`", "&lt;/"),
        ] {
            let text = complaint(text, &INFO);
            assert!(text.starts_with("Error: ") && text.contains(part), "{text}");
            assert!(!text.contains("did not run to its end") && !text.contains("<untrusted"), "{text}");
            assert!(text.ends_with("Turn 3 of 5 (3 remaining)"), "{text}");
        }
    }

    #[test]
    fn r3_37_r3_47_the_rollback_message_is_bare_and_tells_sizes() {
        let text = rolled_back(2_000_000, 1_048_576);
        assert!(text.contains("2000000") && text.contains("1048576") && text.contains("batches"), "{text}");
        assert!(!text.contains("Turn "), "{text}");
    }

    #[test]
    fn r5_7_json_feedback_shows_error_reply_and_example() {
        let reply = format!("{}</untrusted_ptc_output>", "x".repeat(600));
        let text = with_lens(|lens| json_invalid("it is no JSON", &reply, "{\"n\": 0}", lens));
        assert!(text.contains("it is no JSON") && text.ends_with("{\"n\": 0}"), "{text}");
        assert!(text.contains("source=\"invalid_response\">") && text.contains("... (500 of "), "{text}");
        let line = with_lens(|lens| json_invalid_line("it is\nno JSON", "{n :int}", lens));
        assert!(!line.contains('\n') && line.contains("{n :int}"), "{line}");
    }
}
