//! Providers of models, each a row: its prefixes, its wire format, where it is, and the variable with its key.

/// Who runs a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Provider {
    /// OpenRouter, which reaches most others.
    OpenRouter,
    /// Anthropic.
    Anthropic,
    /// OpenAI.
    OpenAi,
    /// Google's Gemini.
    Google,
    /// Amazon Bedrock.
    Bedrock,
    /// Groq.
    Groq,
    /// A local Ollama.
    Ollama,
    /// Any URL that speaks OpenAI's wire format.
    OpenAiCompat,
}

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's chat completions, which most servers speak.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's own.
    Gemini,
    /// Bedrock's Converse.
    Bedrock,
}

/// What is known about a provider.
#[derive(Clone, Copy, Debug)]
pub struct ProviderInfo {
    /// The provider.
    pub provider: Provider,
    /// Its prefixes in names of models; the first is the usual one.
    pub prefixes: &'static [&'static str],
    /// How it is spoken to.
    pub wire: Wire,
    /// Where it is, unless a file of models says otherwise.
    pub url: Option<&'static str>,
    /// The variable that holds its key, if it wants one.
    pub key: Option<&'static str>,
    /// Variables that may hold a key where that one does not.
    pub other_keys: &'static [&'static str],
}

/// Every provider.
pub static PROVIDERS: &[ProviderInfo] = &[
    ProviderInfo {
        provider: Provider::OpenRouter,
        prefixes: &["openrouter"],
        wire: Wire::OpenAi,
        url: Some("https://openrouter.ai/api/v1"),
        key: Some("OPENROUTER_API_KEY"),
        other_keys: &[],
    },
    ProviderInfo {
        provider: Provider::Anthropic,
        prefixes: &["anthropic"],
        wire: Wire::Anthropic,
        url: Some("https://api.anthropic.com/v1"),
        key: Some("ANTHROPIC_API_KEY"),
        other_keys: &[],
    },
    ProviderInfo {
        provider: Provider::OpenAi,
        prefixes: &["openai"],
        wire: Wire::OpenAi,
        url: Some("https://api.openai.com/v1"),
        key: Some("OPENAI_API_KEY"),
        other_keys: &[],
    },
    ProviderInfo {
        provider: Provider::Google,
        prefixes: &["google", "gemini"],
        wire: Wire::Gemini,
        url: Some("https://generativelanguage.googleapis.com/v1beta"),
        key: Some("GEMINI_API_KEY"),
        other_keys: &["GOOGLE_API_KEY"],
    },
    // The place of Bedrock depends on the region; keys of an account come in pairs, see `remote/bedrock/sign.rs`.
    ProviderInfo {
        provider: Provider::Bedrock,
        prefixes: &["bedrock", "amazon_bedrock"],
        wire: Wire::Bedrock,
        url: None,
        key: Some("AWS_BEARER_TOKEN_BEDROCK"),
        other_keys: &["AWS_ACCESS_KEY_ID"],
    },
    ProviderInfo {
        provider: Provider::Groq,
        prefixes: &["groq"],
        wire: Wire::OpenAi,
        url: Some("https://api.groq.com/openai/v1"),
        key: Some("GROQ_API_KEY"),
        other_keys: &[],
    },
    ProviderInfo {
        provider: Provider::Ollama,
        prefixes: &["ollama"],
        wire: Wire::OpenAi,
        url: Some("http://localhost:11434/v1"),
        key: None,
        other_keys: &["OLLAMA_API_KEY"],
    },
    ProviderInfo {
        provider: Provider::OpenAiCompat,
        prefixes: &["openai-compat", "openai-compatible"],
        wire: Wire::OpenAi,
        url: None,
        key: None,
        other_keys: &["OPENAI_COMPAT_API_KEY"],
    },
];

impl Provider {
    /// The provider of this prefix.
    pub fn named(prefix: &str) -> Option<Provider> {
        PROVIDERS.iter().find(|row| row.prefixes.contains(&prefix)).map(|row| row.provider)
    }

    /// Its usual prefix.
    pub fn prefix(self) -> &'static str {
        self.info().prefixes[0]
    }

    /// The variable that holds its key, if it wants one.
    pub fn key_variable(self) -> Option<&'static str> {
        self.info().key
    }

    /// Its key, by whoever looks variables up.
    pub fn find_key(self, look: impl Fn(&str) -> Option<String>) -> Option<String> {
        self.info().key.iter().chain(self.info().other_keys).find_map(|variable| look(variable))
    }

    /// Whether it can be asked: it has its key, or wants none.
    pub fn is_reachable(self, look: impl Fn(&str) -> Option<String>) -> bool {
        self.info().key.is_none() || self.find_key(look).is_some()
    }

    /// Its row.
    pub fn info(self) -> &'static ProviderInfo {
        PROVIDERS.iter().find(|row| row.provider == self).unwrap_or(&PROVIDERS[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_one_row_and_its_prefixes_lead_to_it() {
        for row in PROVIDERS {
            assert_eq!(row.provider.info().prefixes, row.prefixes);
            for prefix in row.prefixes {
                assert_eq!(Provider::named(prefix), Some(row.provider), "{prefix}");
            }
        }
    }

    #[test]
    fn keys_are_found_under_their_usual_name_first_and_some_providers_want_none() {
        let usual = |name: &str| matches!(name, "GEMINI_API_KEY" | "GOOGLE_API_KEY").then(|| name.to_owned());
        assert_eq!(Provider::Google.find_key(usual).as_deref(), Some("GEMINI_API_KEY"));
        let other = |name: &str| (name == "GOOGLE_API_KEY").then(|| name.to_owned());
        assert_eq!(Provider::Google.find_key(other).as_deref(), Some("GOOGLE_API_KEY"));
        for row in PROVIDERS {
            assert_eq!(row.provider.is_reachable(|_| None), row.key.is_none(), "{:?}", row.provider);
        }
    }
}
