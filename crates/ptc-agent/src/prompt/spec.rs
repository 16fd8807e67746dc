//! Which cards teach the language: by default what the agent's turns call for, or what the host says.

use std::fmt;
use std::sync::Arc;

use super::blocks;
use super::card::Card;
use crate::model::Message;

/// How an agent ends its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// One program; its value is the answer.
    SingleShot,
    /// Several turns; `return` gives the answer.
    ExplicitReturn,
}

/// A choice of cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecOptions {
    /// How the agent ends its work.
    pub behavior: Behavior,
    /// Whether the language reference is sent.
    pub reference: bool,
    /// Whether the journal card is sent.
    pub journal: bool,
}

/// What a function that writes the language part is told.
#[derive(Clone, Copy, Debug)]
pub struct SpecInput<'a> {
    /// The turn, from 1.
    pub turn: u32,
    /// The model's name.
    pub model: &'a str,
    /// Names of the definitions so far.
    pub memory: &'a [String],
    /// The conversation so far.
    pub messages: &'a [Message],
    /// Bytes of a result that the model is shown.
    pub result_bytes: usize,
    /// Bytes of prints that the model is shown.
    pub print_bytes: usize,
}

#[cfg(test)]
impl SpecInput<'static> {
    /// The first turn of an agent with the usual limits.
    pub(crate) const FIRST: SpecInput<'static> = SpecInput {
        turn: 1,
        model: "m",
        memory: &[],
        messages: &[],
        result_bytes: crate::RESULT_BYTES,
        print_bytes: crate::PRINT_BYTES,
    };
}

impl SpecInput<'_> {
    /// A card with the numbers of this agent.
    pub(super) fn filled(&self, card: Card) -> String {
        card.filled(&[("{result_bytes}", self.result_bytes), ("{print_bytes}", self.print_bytes)])
    }
}

/// Writes the language part for a turn.
pub type SpecFn = Arc<dyn Fn(&SpecInput<'_>) -> String + Send + Sync>;

/// The language part of a system prompt.
#[derive(Clone)]
pub enum LanguageSpec {
    /// This text.
    Text(String),
    /// These cards.
    Cards(SpecOptions),
    /// One card.
    Card(Card),
    /// What a function writes.
    Function(SpecFn),
}

/// Why a language part cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// No card or profile has the name.
    #[error("language_spec: there is no `{0}`; known are {known}", known = LanguageSpec::keys().join(", "))]
    Unknown(String),
    /// The journal needs turns.
    #[error(
        "language_spec: the journal card needs `behavior: explicit_return`; a single shot keeps no journal"
    )]
    JournalSingleShot,
    /// An option that does not exist, or a value it cannot have.
    #[error(
        "language_spec: {0}; options are behavior (single_shot, explicit_return), reference (full, none) and journal (true, false)"
    )]
    Option(String),
}

/// The profiles by name.
const PROFILES: [(&str, SpecOptions); 3] = [
    ("single_shot", SpecOptions { behavior: Behavior::SingleShot, reference: true, journal: false }),
    ("explicit_return", SpecOptions { behavior: Behavior::ExplicitReturn, reference: true, journal: false }),
    ("explicit_journal", SpecOptions { behavior: Behavior::ExplicitReturn, reference: true, journal: true }),
];

impl LanguageSpec {
    /// What an agent gets if its host says nothing.
    pub fn default_for(behavior: Behavior, journaling: bool) -> LanguageSpec {
        let index = match (behavior, journaling) {
            (Behavior::SingleShot, _) => 0,
            (Behavior::ExplicitReturn, false) => 1,
            (Behavior::ExplicitReturn, true) => 2,
        };
        LanguageSpec::Cards(PROFILES[index].1)
    }

    /// The profile or card of this name; hyphens and underscores are the same.
    pub fn named(key: &str) -> Result<LanguageSpec, SpecError> {
        let profile = PROFILES.iter().find(|(name, _)| ptc_signature::keys::same(name, key));
        match (profile, Card::named(&key.replace('_', "-"))) {
            (Some((_, options)), _) => Ok(LanguageSpec::Cards(*options)),
            (None, Some(card)) => Ok(LanguageSpec::Card(card)),
            (None, None) => Err(SpecError::Unknown(key.to_owned())),
        }
    }

    /// Cards by options; a journal is refused where there is only one turn.
    pub fn cards(options: SpecOptions) -> Result<LanguageSpec, SpecError> {
        match options {
            SpecOptions { behavior: Behavior::SingleShot, journal: true, .. } => {
                Err(SpecError::JournalSingleShot)
            }
            options => Ok(LanguageSpec::Cards(options)),
        }
    }

    /// Reads what a host wrote as data: a name, or an object of options.
    pub fn from_json(json: &serde_json::Value) -> Result<LanguageSpec, SpecError> {
        if let Some(key) = json.as_str() {
            return LanguageSpec::named(key);
        }
        let Some(object) = json.as_object() else {
            return Err(SpecError::Option("expected a name or an object".to_owned()));
        };
        let mut options = PROFILES[1].1;
        for (key, value) in object {
            let wrong = || SpecError::Option(format!("`{key}` cannot be {value}"));
            match (key.as_str(), value.as_str(), value.as_bool()) {
                ("behavior", Some("single_shot"), _) => options.behavior = Behavior::SingleShot,
                ("behavior", Some("explicit_return"), _) => options.behavior = Behavior::ExplicitReturn,
                ("reference", Some("full"), _) => options.reference = true,
                ("reference", Some("none"), _) => options.reference = false,
                ("journal", _, Some(on)) => options.journal = on,
                ("behavior" | "reference" | "journal", ..) => return Err(wrong()),
                _ => return Err(SpecError::Option(format!("`{key}` is no option"))),
            }
        }
        LanguageSpec::cards(options)
    }

    /// Every name that [`LanguageSpec::named`] knows.
    pub fn keys() -> Vec<&'static str> {
        PROFILES.iter().map(|(name, _)| *name).chain(Card::ALL.iter().map(|card| card.key())).collect()
    }

    /// The text for a turn.
    pub(crate) fn text(&self, input: &SpecInput<'_>) -> String {
        match self {
            LanguageSpec::Text(text) => text.clone(),
            LanguageSpec::Card(card) => input.filled(*card),
            LanguageSpec::Function(function) => function(input),
            LanguageSpec::Cards(options) => blocks(options.list().map(|card| input.filled(card))),
        }
    }
}

impl SpecOptions {
    fn list(&self) -> impl Iterator<Item = Card> {
        let reference = self.reference.then_some(Card::Reference);
        let behavior = match self.behavior {
            Behavior::SingleShot => [Some(Card::SingleShot), None],
            Behavior::ExplicitReturn => [Some(Card::MultiTurn), Some(Card::ExplicitReturn)],
        };
        let journal = self.journal.then_some(Card::Journal);
        reference.into_iter().chain(behavior.into_iter().flatten()).chain(journal)
    }
}

impl fmt::Debug for LanguageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LanguageSpec::Text(text) => f.debug_tuple("Text").field(text).finish(),
            LanguageSpec::Cards(options) => f.debug_tuple("Cards").field(options).finish(),
            LanguageSpec::Card(card) => f.debug_tuple("Card").field(card).finish(),
            LanguageSpec::Function(_) => f.write_str("Function(…)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list(spec: &LanguageSpec) -> Vec<Card> {
        match spec {
            LanguageSpec::Cards(options) => options.list().collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn r3_4_profiles_are_cards_in_order() {
        use Card::{ExplicitReturn, Journal, MultiTurn, Reference, SingleShot};
        let cases = [
            (Behavior::SingleShot, false, vec![Reference, SingleShot]),
            (Behavior::SingleShot, true, vec![Reference, SingleShot]),
            (Behavior::ExplicitReturn, false, vec![Reference, MultiTurn, ExplicitReturn]),
            (Behavior::ExplicitReturn, true, vec![Reference, MultiTurn, ExplicitReturn, Journal]),
        ];
        for (behavior, journaling, expected) in cases {
            let spec = LanguageSpec::default_for(behavior, journaling);
            assert_eq!(list(&spec), expected);
            let texts: Vec<String> = expected.iter().map(|card| SpecInput::FIRST.filled(*card)).collect();
            assert_eq!(spec.text(&SpecInput::FIRST), texts.join("\n\n"));
        }
    }

    #[test]
    fn r3_5_a_language_spec_is_text_a_name_options_or_a_function() {
        assert_eq!(LanguageSpec::Text("mine".into()).text(&SpecInput::FIRST), "mine");
        let card = LanguageSpec::from_json(&json!("multi_turn")).unwrap();
        let text = card.text(&SpecInput { result_bytes: 77, ..SpecInput::FIRST });
        assert!(text.contains("You see 77 bytes of a result and 8192 of prints"), "{text}");
        assert_eq!(list(&LanguageSpec::from_json(&json!("explicit_journal")).unwrap()).len(), 4);
        let without = json!({"behavior": "explicit_return", "reference": "none", "journal": true});
        let without = LanguageSpec::from_json(&without).unwrap();
        assert_eq!(list(&without), [Card::MultiTurn, Card::ExplicitReturn, Card::Journal]);
        let function =
            LanguageSpec::Function(Arc::new(|input| format!("turn {} of {}", input.turn, input.model)));
        assert_eq!(function.text(&SpecInput { turn: 3, ..SpecInput::FIRST }), "turn 3 of m");
    }

    #[test]
    fn r3_5_what_is_not_known_is_refused_with_what_is() {
        let unknown = LanguageSpec::from_json(&json!("nope")).unwrap_err();
        let text = unknown.to_string();
        assert!(
            text.contains("`nope`") && text.contains("explicit_return") && text.contains("reference"),
            "{text}"
        );
        let cases = [
            (json!({"behavior": "single_shot", "journal": true}), "journal"),
            (json!({"behaviour": "single_shot"}), "`behaviour` is no option"),
            (json!({"reference": "half"}), "`reference` cannot be \"half\""),
            (json!({"journal": "yes"}), "`journal` cannot be \"yes\""),
            (json!(7), "expected a name"),
        ];
        for (spec, expected) in cases {
            let text = LanguageSpec::from_json(&spec).unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        }
    }
}
