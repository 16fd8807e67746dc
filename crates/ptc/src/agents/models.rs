//! Models of the command: names of the registry, keys of the environment, prices.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{anyhow, bail};
use ptc_llm::{Provider, Registry, Script, Settings, Source};
use ptc_runner::Price;
use ptc_runner::model::{Llm, Reply};
use ptc_upstream::Redactor;
use secrecy::SecretString;
use serde_json::Value as Json;

/// The variable that names a file of models.
const VARIABLE: &str = "PTC_MODELS";

/// No provider gives out shorter keys.
const SHORTEST_KEY: usize = 12;

/// Finds models.
#[derive(Debug)]
pub struct Models {
    registry: Registry,
}

impl Models {
    /// The registry, with names of the user's own if there is a file of them.
    pub fn load() -> anyhow::Result<Self> {
        let registry = match file() {
            None => Registry::default(),
            Some(path) => {
                let name = path.display();
                let text = std::fs::read_to_string(&path)
                    .map_err(|error| anyhow!("{name}: cannot be read: {error}; {VARIABLE} names it"))?;
                Registry::parse(&text).map_err(|error| anyhow!("{name}: {error}"))?
            }
        };
        let models = Models { registry };
        let redactor = Redactor::new(&models.keys());
        let registry = models.registry.connected(Settings::default());
        let cover = Arc::new(move |value: &mut Json| redactor.redact_json(value));
        Ok(Models { registry: registry.covering(cover) })
    }

    /// The model that is meant when none is named.
    pub fn default_model(&self) -> String {
        self.registry.default_model().to_owned()
    }

    /// What a name stands for.
    pub fn resolve(&self, name: &str) -> Result<Source, String> {
        self.registry.resolve(name, available).map_err(|error| error.to_string())
    }

    /// The model of a name. A script goes on behind the replies that it gave before.
    pub fn open(&self, name: &str, before: &[Reply]) -> Result<Llm, String> {
        if let (false, Ok(Source::Script(path))) = (before.is_empty(), self.resolve(name)) {
            let script = Script::read(&path).map_err(|error| error.to_string())?;
            before.iter().for_each(|reply| script.spend(reply));
            return Ok(Llm::Model(Arc::new(script)));
        }
        self.registry.find(name).map_err(|error| error.to_string())
    }

    /// The keys that are in the environment.
    pub fn keys(&self) -> Vec<SecretString> {
        let found = self.registry.key_variables().filter_map(|variable| std::env::var(variable).ok());
        // Servers of one's own are given words like "none", which must not vanish from answers.
        found.filter(|key| key.len() >= SHORTEST_KEY).map(SecretString::from).collect()
    }

    /// All names that a model can be asked for by.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.registry.names()
    }

    /// Whether a budget in dollars can be kept with a model.
    pub fn check_cost(&self, name: &str) -> anyhow::Result<()> {
        let id = || self.resolve(name).ok().and_then(|source| Some(source.target()?.model.clone()));
        if !self.registry.cost_is_known(name) {
            let id = id().unwrap_or_else(|| name.to_owned());
            bail!(
                "max_cost_usd is set, but nobody knows what `{name}` costs; put [prices.\"{id}\"] with input and \
                 output, in dollars per million tokens, into a file of models (docs/models.md)"
            );
        }
        Ok(())
    }

    /// What a model costs, where that is known.
    pub fn price(&self, name: &str) -> Option<Price> {
        self.registry.price(name)
    }
}

/// Whether there is a key for a provider.
pub fn available(provider: Provider) -> bool {
    provider.is_reachable(|variable| std::env::var(variable).ok().filter(|key| !key.trim().is_empty()))
}

/// The file of the user's own names, if there is one.
fn file() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).or_else(home)?;
    Some(config.join("ptc/models.toml")).filter(|path| path.is_file())
}
