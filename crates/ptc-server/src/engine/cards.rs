//! Texts of tool descriptions: files of one subject each, with notes and a byte budget above the start marker.

use ptc_agent::Card;
use ptc_lisp::pages;

macro_rules! cards {
    ($($constant:ident $file:literal)*) => {
        $(#[doc = concat!("The card `", $file, "`.")]
        pub const $constant: &str = pages::text(include_str!(concat!("../../cards/", $file, ".md")));)*

        /// Every card with its whole file.
        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$(($constant, include_str!(concat!("../../cards/", $file, ".md"))),)*];
    };
}

cards! {
    UPSTREAM_CALLS "upstream-calls"
    EVAL "eval"
    EVAL_UPSTREAM "eval-upstream"
    CHECK "check"
    SESSION_EVAL "session-eval"
    SESSION_EVAL_UPSTREAM "session-eval-upstream"
    TASK "task"
    TASK_PREAMBLE "task-preamble"
    TASK_CALLS "task-calls"
    TASK_READ_ONLY "task-read-only"
    TASK_RECAP "task-recap"
    SLIM "profile-slim"
    STRUCTURED "profile-structured"
    LANGUAGE "language"
    INSTRUCTIONS "instructions"
}

/// The language, for a reader who knows Clojure.
pub fn reference() -> &'static str {
    Card::Reference.text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_8_2_cards_keep_their_budgets() {
        for (text, file) in ALL {
            let budget = file.lines().find_map(|line| line.strip_prefix("budget: "));
            let budget: usize = budget.and_then(|bytes| bytes.parse().ok()).expect("a card has a budget");
            assert!(text.len() <= budget && budget <= 2_000, "{} bytes of {budget}: {text}", text.len());
        }
        assert!(reference().len() <= 2_000);
    }
}
