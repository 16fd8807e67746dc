//! What values of options look like, told once: files are checked against it, and the JSON Schema that editors
//! use is made from it.

use serde_json::{Value as Json, json};

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A whole number from 1.
    Positive,
    /// A whole number from 0.
    Natural,
    /// A number above 0.
    Amount,
    /// Nothing, which lifts a limit. TOML cannot say it.
    Null,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A list of anything.
    List,
    /// A list of texts.
    Words,
    /// A map of anything.
    Map,
    /// A map of texts.
    Texts,
    /// One of these.
    Either(&'static [Kind]),
}

impl Kind {
    /// Whether a value is of this kind.
    pub fn holds(self, value: &Json) -> bool {
        match self {
            Kind::Text => value.is_string(),
            Kind::Flag => value.is_boolean(),
            Kind::Positive => value.as_u64().is_some_and(|number| number > 0),
            Kind::Natural => value.is_u64(),
            Kind::Amount => value.as_f64().is_some_and(|number| number > 0.0),
            Kind::Null => value.is_null(),
            Kind::Choice(names) => value.as_str().is_some_and(|name| names.contains(&name)),
            Kind::List => value.is_array(),
            Kind::Words => value.as_array().is_some_and(|items| items.iter().all(Json::is_string)),
            Kind::Map => value.is_object(),
            Kind::Texts => value.as_object().is_some_and(|fields| fields.values().all(Json::is_string)),
            Kind::Either(kinds) => kinds.iter().any(|kind| kind.holds(value)),
        }
    }

    /// In words, as in "must be …".
    pub fn words(self) -> String {
        match self {
            Kind::Text => "a text in quotes".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Positive => "a whole number from 1".to_owned(),
            Kind::Natural => "a whole number from 0".to_owned(),
            Kind::Amount => "a number above 0".to_owned(),
            Kind::Null => "null".to_owned(),
            Kind::Choice(names) => format!("one of {}", names.join(", ")),
            Kind::List => "a list".to_owned(),
            Kind::Words => "a list of texts".to_owned(),
            Kind::Map => "a table".to_owned(),
            Kind::Texts => "a table of texts".to_owned(),
            Kind::Either(kinds) => kinds.iter().map(|kind| kind.words()).collect::<Vec<_>>().join(" or "),
        }
    }

    /// As JSON Schema.
    pub fn schema(self) -> Json {
        match self {
            Kind::Text => json!({"type": "string"}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Positive => json!({"type": "integer", "minimum": 1}),
            Kind::Natural => json!({"type": "integer", "minimum": 0}),
            Kind::Amount => json!({"type": "number", "exclusiveMinimum": 0}),
            Kind::Null => json!({"type": "null"}),
            Kind::Choice(names) => json!({"type": "string", "enum": names}),
            Kind::List => json!({"type": "array"}),
            Kind::Words => json!({"type": "array", "items": {"type": "string"}}),
            Kind::Map => json!({"type": "object"}),
            Kind::Texts => json!({"type": "object", "additionalProperties": {"type": "string"}}),
            Kind::Either(kinds) => {
                json!({"anyOf": kinds.iter().map(|kind| kind.schema()).collect::<Vec<_>>()})
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Agent, OPTIONS};

    /// Values of every kind, so that a table that promises too much or too little is found.
    #[test]
    fn options_take_nothing_that_their_kind_does_not_allow() {
        let probes = [
            json!(null),
            json!(true),
            json!(0),
            json!(1),
            json!(-1),
            json!(0.5),
            json!("x"),
            json!([]),
            json!(["x"]),
            json!([1]),
            json!({}),
            json!({"x": "y"}),
            json!({"x": 1}),
        ];
        for option in OPTIONS {
            for probe in &probes {
                let set = Agent::builder("x").set(option.name, probe).check().is_err();
                assert!(option.kind.holds(probe) || set, "{} took {probe}", option.name);
            }
            if let Kind::Choice(names) = option.kind {
                for name in names {
                    let set = Agent::builder("x").set(option.name, &json!(name)).check();
                    assert_eq!(set, Ok(()), "{}", option.name);
                }
            }
        }
    }
}
