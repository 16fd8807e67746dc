//! Texts of tool descriptions: files of one subject each, with notes and a byte budget above the start marker.

use ptc_agent::Card;

macro_rules! cards {
    ($($constant:ident $file:literal)*) => {
        $(#[doc = concat!("The card `", $file, "`.")]
        pub const $constant: &str = text(include_str!(concat!("../../cards/", $file, ".md")));)*

        /// Every card with its whole file.
        #[cfg(test)]
        const ALL: &[(&str, &str)] = &[$(($constant, include_str!(concat!("../../cards/", $file, ".md"))),)*];
    };
}

cards! {
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
    SLIM_UPSTREAM "profile-slim-upstream"
    STRUCTURED "profile-structured"
    INSTRUCTIONS "instructions"
}

/// The language, for a reader who knows Clojure.
pub fn reference() -> &'static str {
    Card::Reference.text()
}

/// What stands between the markers.
const fn text(file: &'static str) -> &'static str {
    let start = after(file, "<!-- card start -->\n", 0);
    let end = after(file, "\n<!-- card end -->", start) - "\n<!-- card end -->".len();
    let (_, rest) = file.split_at(start);
    let (text, _) = rest.split_at(end - start);
    text
}

/// Where the marker ends; a card without it does not build.
const fn after(file: &str, marker: &str, from: usize) -> usize {
    let (file, marker) = (file.as_bytes(), marker.as_bytes());
    let mut at = from;
    while at + marker.len() <= file.len() {
        let mut same = 0;
        while same < marker.len() && file[at + same] == marker[same] {
            same += 1;
        }
        if same == marker.len() {
            return at + same;
        }
        at += 1;
    }
    panic!("a card has its markers")
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
