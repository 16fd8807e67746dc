//! How many turns are left (3.45, 3.46).

/// How a model ends its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With `(return value)` in a program.
    #[default]
    Return,
    /// With a program whose value is the answer: there is one turn, and retries correct it.
    Value,
    /// With a reply that has no calls.
    Reply,
}

impl Ending {
    /// What to do about a value that was refused.
    pub fn correct(self) -> &'static str {
        match self {
            Ending::Value => {
                "Correct the value and send the whole program again; the value of its last form is the answer."
            }
            Ending::Return | Ending::Reply => "Correct the value and call (return …) again.",
        }
    }

    /// How the answer is given in a retry.
    fn retried(self) -> &'static str {
        match self {
            Ending::Value => "Send the whole program again; the value of its last form is the answer.",
            Ending::Return | Ending::Reply => "End with (return value).",
        }
    }
}

/// Where a run stands when a turn is over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TurnInfo {
    /// The turn that comes now, from 1.
    pub turn: u32,
    /// Work turns in all.
    pub max_turns: u32,
    /// Work turns left, the one that comes now among them.
    pub work_left: u32,
    /// Retry turns left, the one that comes now among them.
    pub retry_left: u32,
    /// Retry turns in all.
    pub retry_total: u32,
    /// Whether only few turns left are worth a word.
    pub minimal: bool,
    /// How the model ends its work.
    pub ending: Ending,
}

#[cfg(test)]
impl TurnInfo {
    /// The second turn of five.
    pub const SECOND: TurnInfo = TurnInfo {
        turn: 2,
        max_turns: 5,
        work_left: 4,
        retry_left: 0,
        retry_total: 0,
        minimal: false,
        ending: Ending::Return,
    };
}

/// What the model hears in the turn before the last.
const BEFORE_LAST: &str = "⚠️ The turn after this one is the last: get what you still need now.";

/// How many turns are left, in a line or two; empty where there is nothing to say.
pub(crate) fn turn_info(info: &TurnInfo) -> String {
    let TurnInfo { turn, max_turns, work_left, retry_left, retry_total, minimal, ending } = *info;
    // Before everything else: who has one turn hears of it before that, or never.
    if ending == Ending::Reply {
        return reply_info(info);
    }
    if max_turns.saturating_add(retry_total) <= 1 {
        return String::new();
    }
    if minimal {
        return minimal_info(info);
    }
    match (work_left, retry_left) {
        (0, 0) => String::new(),
        (0, 1) if ending == Ending::Value => {
            format!("⚠️ Turn {turn}: last retry, no turn comes after it. {}", ending.retried())
        }
        (0, 1) => format!(
            "⚠️ Turn {turn}: last retry. There is no turn after it: end with (return value) in the expected \
             shape, or (fail {{:reason … :message …}})."
        ),
        (0, left) => {
            let attempt = retry_total.saturating_sub(left) + 1;
            format!("Turn {turn}: retry {attempt}/{retry_total}, {left} left. {}", ending.retried())
        }
        (1, retries) => {
            let corrections = match retries {
                0 => String::new(),
                1 => " One more attempt follows only to correct a rejected value.".to_owned(),
                n => format!(" {n} more attempts follow only to correct a rejected value."),
            };
            format!(
                "⚠️ Turn {turn}: last work turn. No turn comes after it to look at what tools give; end it with \
                 (return value) or (fail {{:reason … :message …}}).{corrections}"
            )
        }
        (work, retries) if retries > 0 => {
            format!("Turn {turn} ({work} work turns + {} remaining)", counted(retries, "retry turn"))
        }
        (2, _) => format!("Turn {turn} of {max_turns} (2 remaining)\n{BEFORE_LAST}"),
        (work, _) => format!("Turn {turn} of {max_turns} ({work} remaining)"),
    }
}

/// The same where the answer is a reply without calls.
fn reply_info(info: &TurnInfo) -> String {
    let TurnInfo { turn, max_turns, work_left, retry_left, minimal, .. } = *info;
    match work_left + retry_left {
        0 => String::new(),
        1 => format!(
            "⚠️ Turn {turn} is the last: give the answer in it. What a call would give, nobody reads."
        ),
        2 => format!("Turn {turn} of {max_turns} (2 remaining)\n{BEFORE_LAST}"),
        _ if minimal => String::new(),
        left => format!("Turn {turn} of {max_turns} ({left} remaining)"),
    }
}

/// A word in the last two turns, where nothing is said in others.
pub(crate) fn last_turns(info: &TurnInfo) -> Option<String> {
    let last = matches!(info.work_left.saturating_add(info.retry_left), 1 | 2);
    last.then(|| turn_info(info))
}

fn minimal_info(info: &TurnInfo) -> String {
    match (info.work_left, info.retry_left) {
        (0, 0) => String::new(),
        (0, left) if info.ending == Ending::Value => format!(";; {} remaining", counted(left, "retry turn")),
        (0, left) => format!(";; {} remaining, call (return value)", counted(left, "retry turn")),
        (left @ 1..=2, _) => format!(";; {} remaining, call (return value) in time", counted(left, "turn")),
        _ => String::new(),
    }
}

fn counted(count: u32, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(turn: u32, max_turns: u32, work_left: u32, retry_left: u32, retry_total: u32) -> TurnInfo {
        TurnInfo {
            turn,
            max_turns,
            work_left,
            retry_left,
            retry_total,
            minimal: false,
            ending: Ending::Return,
        }
    }

    #[test]
    fn r3_45_turn_info() {
        assert_eq!(turn_info(&info(1, 1, 1, 0, 0)), "");
        assert_eq!(turn_info(&info(2, 5, 4, 0, 0)), "Turn 2 of 5 (4 remaining)");
        assert_eq!(turn_info(&info(2, 5, 4, 2, 2)), "Turn 2 (4 work turns + 2 retry turns remaining)");
        assert_eq!(turn_info(&info(2, 5, 4, 1, 1)), "Turn 2 (4 work turns + 1 retry turn remaining)");
        // Cases with a warning, and what they say.
        let cases: [(TurnInfo, &[&str]); 5] = [
            (info(4, 5, 2, 0, 0), &["Turn 4 of 5 (2 remaining)", "⚠️"]),
            (info(5, 5, 1, 0, 0), &["⚠️ Turn 5", "last work turn", "return", "fail"]),
            (info(5, 5, 1, 2, 2), &["last work turn", "2 more attempts"]),
            (info(6, 5, 0, 2, 3), &["Turn 6: retry 2/3, 2 left"]),
            (info(7, 5, 0, 1, 3), &["⚠️ Turn 7: last retry", "return"]),
        ];
        for (info, parts) in cases {
            let text = turn_info(&info);
            parts.iter().for_each(|part| assert!(text.contains(part), "{part} is not in {text}"));
        }
        assert!(!turn_info(&info(5, 5, 1, 0, 0)).contains("attempt"));
    }

    #[test]
    fn retries_of_one_turn_are_told_without_return() {
        let info = |turn, retry_left| TurnInfo { ending: Ending::Value, ..info(turn, 1, 0, retry_left, 2) };
        for (info, part) in
            [(info(2, 2), "Turn 2: retry 1/2, 2 left."), (info(3, 1), "⚠️ Turn 3: last retry")]
        {
            let text = turn_info(&info);
            assert!(
                text.starts_with(part) && text.contains("last form") && !text.contains("return"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_last_turns_are_announced_where_the_answer_is_a_reply() {
        let info = |turn, work_left, retry_left| TurnInfo {
            ending: Ending::Reply,
            ..info(turn, 5, work_left, retry_left, 1)
        };
        assert_eq!(turn_info(&info(2, 4, 0)), "Turn 2 of 5 (4 remaining)");
        assert_eq!(last_turns(&info(2, 4, 0)), None);
        for before in [info(4, 2, 0), info(5, 1, 1)] {
            assert!(last_turns(&before).is_some_and(|text| text.contains("turn after this one is the last")));
        }
        for last in [info(5, 1, 0), info(6, 0, 1)] {
            assert!(
                last_turns(&last)
                    .is_some_and(|text| text.contains("is the last") && !text.contains("return"))
            );
        }
        assert_eq!(last_turns(&TurnInfo::default()), None);
        let only =
            TurnInfo { turn: 1, max_turns: 1, work_left: 1, ending: Ending::Reply, ..TurnInfo::default() };
        assert!(last_turns(&only).is_some_and(|text| text.starts_with("⚠️ Turn 1 is the last")));
    }

    #[test]
    fn r3_46_minimal_turn_info_speaks_only_near_the_end() {
        let cases = [
            (info(2, 5, 4, 0, 0), ""),
            (info(4, 5, 2, 0, 0), ";; 2 turns remaining, call (return value) in time"),
            (info(5, 5, 1, 2, 2), ";; 1 turn remaining, call (return value) in time"),
            (info(6, 5, 0, 2, 2), ";; 2 retry turns remaining, call (return value)"),
        ];
        for (info, expected) in cases {
            assert_eq!(turn_info(&TurnInfo { minimal: true, ..info }), expected);
        }
    }
}
