//! What models cost, in dollars per million tokens. Prices change: a file of the user's own goes before the
//! table, and what is in neither has no price, which budgets in dollars then say.

use std::collections::BTreeMap;

use ptc_agent::Price;
use ptc_agent::model::Tokens;
use serde::Deserialize;

/// Known prices: the beginning of a model's id, input, output.
const TABLE: &[(&str, f64, f64)] = &[
    ("claude-opus", 5.0, 25.0),
    ("claude-sonnet", 3.0, 15.0),
    ("claude-haiku", 1.0, 5.0),
    ("gpt-5-nano", 0.05, 0.4),
    ("gpt-5-mini", 0.25, 2.0),
    ("gpt-5", 1.25, 10.0),
    ("gemini-2.5-flash-lite", 0.1, 0.4),
    ("gemini-2.5-flash", 0.3, 2.5),
    ("gemini-2.5-pro", 1.25, 10.0),
];

/// Prices by the beginning of a model's id; the longest that fits counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, Price>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    input: f64,
    output: f64,
}

/// Why a table of prices cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PriceError {
    /// It is not TOML of the right shape.
    #[error("prices: {0}; write [\"model-id\"] with input = … and output = … in dollars per million tokens")]
    Malformed(String),
    /// A price is no price.
    #[error("prices: `{0}` has a price that is negative or not a number")]
    Impossible(String),
}

impl Prices {
    /// Prices of the user's own, as TOML: a table per model with `input` and `output`.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        let own: BTreeMap<String, Own> =
            toml::from_str(text).map_err(|error| PriceError::Malformed(error.message().to_owned()))?;
        let mut prices = Prices::default();
        for (model, price) in own {
            let fine = |amount: f64| amount >= 0.0 && amount.is_finite();
            if !fine(price.input) || !fine(price.output) {
                return Err(PriceError::Impossible(model));
            }
            prices.own.insert(model, Price { input: price.input, output: price.output });
        }
        Ok(prices)
    }

    /// The price of a model; a provider before the id (`anthropic/…`) does not matter.
    pub fn of(&self, model: &str) -> Option<Price> {
        let id = model.rsplit('/').next().unwrap_or(model);
        let own = self.own.iter().filter(|(known, _)| model.starts_with(*known) || id.starts_with(*known));
        if let Some((_, price)) = own.max_by_key(|(known, _)| known.len()) {
            return Some(*price);
        }
        let known = TABLE.iter().filter(|(known, ..)| id.starts_with(known));
        known.max_by_key(|(known, ..)| known.len()).map(|&(_, input, output)| Price { input, output })
    }
}

/// What a reply cost.
pub fn cost(price: Price, tokens: &Tokens) -> f64 {
    (tokens.input as f64 * price.input + tokens.output as f64 * price.output) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_name_that_fits_counts_and_own_prices_go_first() {
        let prices = Prices::default();
        assert_eq!(prices.of("gpt-5-mini-2025-08-07").map(|price| price.output), Some(2.0));
        assert_eq!(prices.of("anthropic/claude-haiku-4.5").map(|price| price.input), Some(1.0));
        assert_eq!(prices.of("somebody/else"), None);
        let own = Prices::parse("[gpt-5-mini]\ninput = 7.0\noutput = 8\n").unwrap();
        assert_eq!(own.of("gpt-5-mini"), Some(Price { input: 7.0, output: 8.0 }));
    }

    #[test]
    fn wrong_prices_are_named() {
        assert!(matches!(Prices::parse("[m]\ninput = 1\n"), Err(PriceError::Malformed(_))));
        assert_eq!(Prices::parse("[m]\ninput = -1\noutput = 1\n"), Err(PriceError::Impossible("m".into())));
    }

    #[test]
    fn cost_is_tokens_times_price() {
        let tokens = Tokens { input: 1_000_000, output: 100_000, ..Tokens::default() };
        assert_eq!(cost(Price { input: 3.0, output: 15.0 }, &tokens), 4.5);
    }
}
