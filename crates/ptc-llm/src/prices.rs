//! What models cost, in dollars per million tokens. Prices change: a file of the user's own goes before the
//! table, and what is in neither has no price and counts for no budget in dollars.

use std::collections::BTreeMap;

use ptc_agent::Price;
use ptc_agent::model::Tokens;
use serde::Deserialize;

/// Known prices: the beginning of a model's id, input, output, reading the cache, writing it.
const TABLE: &[(&str, f64, f64, f64, f64)] = &[
    ("claude-opus", 5.0, 25.0, 0.5, 6.25),
    ("claude-sonnet", 3.0, 15.0, 0.3, 3.75),
    ("claude-haiku", 1.0, 5.0, 0.1, 1.25),
    ("gpt-5-nano", 0.05, 0.4, 0.005, 0.05),
    ("gpt-5-mini", 0.25, 2.0, 0.025, 0.25),
    ("gpt-5", 1.25, 10.0, 0.125, 1.25),
    ("gemini-2.5-flash-lite", 0.1, 0.4, 0.01, 0.1),
    ("gemini-2.5-flash", 0.3, 2.5, 0.03, 0.3),
    ("gemini-2.5-pro", 1.25, 10.0, 0.125, 1.25),
];

/// What tokens cost, in dollars per million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Tokens of the request that no cache has to do with.
    pub input: f64,
    /// Tokens of the reply.
    pub output: f64,
    /// Tokens read from the provider's cache.
    pub cache_read: f64,
    /// Tokens written to it.
    pub cache_write: f64,
}

/// Prices by the beginning of a model's id; the longest that fits counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    own: BTreeMap<String, Rates>,
}

/// A price as files have it; tokens in the cache cost what others cost unless it says otherwise.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceEntry {
    input: f64,
    output: f64,
    #[serde(default)]
    cache_read: Option<f64>,
    #[serde(default)]
    cache_write: Option<f64>,
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
        let own = toml::from_str(text).map_err(|error| PriceError::Malformed(error.message().to_owned()))?;
        Self::new(own)
    }

    /// Prices of the user's own.
    pub fn new(entries: BTreeMap<String, PriceEntry>) -> Result<Self, PriceError> {
        let mut prices = Prices::default();
        for (model, entry) in entries {
            let PriceEntry { input, output, cache_read, cache_write } = entry;
            let rates = Rates {
                input,
                output,
                cache_read: cache_read.unwrap_or(input),
                cache_write: cache_write.unwrap_or(input),
            };
            let all = [rates.input, rates.output, rates.cache_read, rates.cache_write];
            if !all.iter().all(|amount| *amount >= 0.0 && amount.is_finite()) {
                return Err(PriceError::Impossible(model));
            }
            prices.own.insert(model, rates);
        }
        Ok(prices)
    }

    /// The price of a model; a provider before the id (`anthropic/…`) does not matter.
    pub fn of(&self, model: &str) -> Option<Price> {
        self.rates(model).map(|rates| Price { input: rates.input, output: rates.output })
    }

    /// The same with what the cache costs.
    pub fn rates(&self, model: &str) -> Option<Rates> {
        let id = model.rsplit('/').next().unwrap_or(model);
        let own = self.own.iter().filter(|(known, _)| model.starts_with(*known) || id.starts_with(*known));
        if let Some((_, rates)) = own.max_by_key(|(known, _)| known.len()) {
            return Some(*rates);
        }
        let known = TABLE.iter().filter(|(known, ..)| id.starts_with(known));
        known.max_by_key(|(known, ..)| known.len()).map(|&(_, input, output, cache_read, cache_write)| {
            Rates { input, output, cache_read, cache_write }
        })
    }
}

/// What a reply cost.
pub fn cost(rates: Rates, tokens: &Tokens) -> f64 {
    let fresh = tokens.input.saturating_sub(tokens.cache_read.saturating_add(tokens.cache_creation));
    let parts = [
        (fresh, rates.input),
        (tokens.output, rates.output),
        (tokens.cache_read, rates.cache_read),
        (tokens.cache_creation, rates.cache_write),
    ];
    parts.iter().map(|(count, rate)| *count as f64 * rate).sum::<f64>() / 1e6
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
    fn cost_is_tokens_times_price_and_the_cache_has_its_own() {
        let rates = Prices::default().rates("claude-sonnet-4-5").unwrap();
        let tokens = Tokens { input: 1_000_000, output: 100_000, ..Tokens::default() };
        assert_eq!(cost(rates, &tokens), 4.5);
        let cached = Tokens { cache_read: 900_000, cache_creation: 100_000, ..tokens };
        assert_eq!(cost(rates, &cached), 0.27 + 0.375 + 1.5);
        let own = Prices::parse("[m]\ninput = 1\noutput = 2\n").unwrap().rates("m").unwrap();
        assert_eq!((own.cache_read, own.cache_write), (1.0, 1.0));
    }
}
