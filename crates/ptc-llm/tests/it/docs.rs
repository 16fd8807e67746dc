//! The file of models in the guide is one, and the guide names every provider with its keys.

use ptc_llm::{PROVIDERS, Registry, Source};

const GUIDE: &str = include_str!("../../../../docs/models.md");

#[test]
fn the_file_of_the_guide_is_read_and_its_names_lead_somewhere() {
    let text = GUIDE.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a file");
    let registry = Registry::parse(text).expect("it is right");
    assert_eq!(registry.default_model(), "local");
    for name in ["local", "careful", "proxied", "kept"] {
        registry.resolve(name, |_| true).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let Ok(Source::Remote(target)) = registry.resolve("proxied", |_| true) else {
        panic!("a model of a provider")
    };
    assert_eq!(target.key_env.as_deref(), Some("COMPANY_LLM_KEY"));
    assert_eq!(registry.price("local").map(|price| price.output), Some(0.0));
}

#[test]
fn the_guide_has_every_provider() {
    for row in PROVIDERS {
        let prefixes: Vec<String> = row.prefixes.iter().map(|prefix| format!("`{prefix}`")).collect();
        let begin = format!("| {} |", prefixes.join(", "));
        let begin = if row.prefixes[0] == "openai-compat" { "| `openai-compat` |".to_owned() } else { begin };
        let line = GUIDE.lines().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("{begin}"));
        for key in row.key.iter().chain(row.other_keys) {
            assert!(line.contains(&format!("`{key}`")), "{key}: {line}");
        }
    }
}

#[test]
fn the_script_of_the_guide_is_read() {
    let text = GUIDE.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a script");
    ptc_llm::Script::parse("guide", text).expect("it is right");
}
