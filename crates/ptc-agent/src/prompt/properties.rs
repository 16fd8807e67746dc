//! Whatever the inputs are, prompts show nothing hidden and keep their frames.

use proptest::prelude::*;
use ptc_lisp::view::View;
use ptc_signature::OnMissing;
use serde_json::{Value as Json, json};

use super::*;
use crate::journal::mission_log;
use crate::render::properties::{SECRET, any_json};
use crate::render::{Sketch, ViewLimits, sample};

/// How often a text opens or closes one of the frames, whatever the spelling.
fn frames(text: &str) -> usize {
    let plain: String =
        text.chars().filter(|c| c.is_alphanumeric() || *c == '<').collect::<String>().to_lowercase();
    let names = ["<mission", "<contextdata", "<outputformat", "<task", "<untrustedptcoutput"];
    names.iter().map(|name| plain.matches(name).count()).sum()
}

fn shown(json: &Json, limits: ViewLimits) -> String {
    sample(&View::of_json(json, &limits.sample_bounds(true)), limits)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn prompts_show_nothing_hidden_and_keep_their_frames(value in any_json(), name in "[a-z_]{1,8}") {
        let sketch = Sketch::of(crate::written::Datum::Built(&value), true, 4_096);
        let user = [UserLine::Value { name: name.clone(), sketch: sketch.on_a_line() }];
        let sample = Some(shown(&value, ViewLimits::SAMPLE));
        let data = [DataLine { name: name.clone(), sketch, sample, ..DataLine::default() }];
        let context = ContextBlock { data: &data, user: &user, firewall: true, ..ContextBlock::default() }.render();
        prop_assert!(frames(&context) <= 2, "one block at most: {}", context);
        let line = ContextLine { name: name.clone(), value: shown(&value, ViewLimits::CONTEXT), ..ContextLine::default() };
        let message = text_tools_message(&[line], None, "M", true);
        prop_assert_eq!(frames(&message), 6, "{}", message);
        let log = mission_log(&[(name.clone(), shown(&value, ViewLimits::LOGGED))], true).unwrap_or_default();
        prop_assert_eq!(frames(&log), 2, "{}", log);
        let mut texts = vec![context, message, log];
        let values = json!({ "x": value });
        for source in ["{{x}}", "{{x}} {{gone}}", "{{#x}}{{.}}{{/x}}"] {
            for expansion in [Expansion::References, Expansion::Short, Expansion::Values] {
                let text = expand(source, &values, expansion, OnMissing::Keep, true).expect("it expands").text;
                let text = mission::mission(&text);
                prop_assert_eq!(text.matches("</mission>").count(), 1, "{}", text);
                texts.push(text);
            }
        }
        for text in texts {
            prop_assert!(!text.contains(SECRET), "{}", text);
        }
    }
}
