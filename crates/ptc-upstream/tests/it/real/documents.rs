//! Documents as their owners publish them: GitHub's, Figma's and Notion's. Every GET becomes a tool, or is refused for what
//! the document says.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use ptc_upstream::catalog::{CatalogTool, doc};
use ptc_upstream::config::EffectClass;
use ptc_upstream::openapi::{Choice, Document, Operation, compile};
use serde_json::Value as Json;

use super::{case, problems};

/// A document, and how many of its GETs become tools and how many do not.
struct Published {
    /// Where `cargo xtask packages` puts it.
    file: &'static str,
    /// Whether more than plain GETs are allowed: all operations of Notion have a header.
    allow_writes: bool,
    tools: usize,
    refused: usize,
}

const PUBLISHED: &[Published] = &[
    Published {
        file: "documents/@octokit/openapi/generated/api.github.com.json",
        allow_writes: false,
        tools: 611,
        refused: 28,
    },
    Published {
        file: "npm/node_modules/@figma/rest-api-spec/openapi/openapi.yaml",
        allow_writes: false,
        tools: 38,
        refused: 4,
    },
    Published {
        file: "npm/node_modules/@notionhq/notion-mcp-server/scripts/notion-openapi.json",
        allow_writes: true,
        tools: 12,
        refused: 0,
    },
];

const MOST: usize = 32 * 1024 * 1024;

fn document(file: &str) -> Option<Document> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools");
    if !tools.join("npm").exists() {
        crate::skip::skip(&format!("the package of npm with {file}"));
        return None;
    }
    let text = std::fs::read(tools.join(file))
        .unwrap_or_else(|_| panic!("{file} is not installed: run `cargo xtask packages`"));
    Some(Document::read(&text, MOST).expect("it reads"))
}

impl Published {
    /// The operations that an entry means.
    fn operations(&self, document: &Document, include: &str) -> Result<Vec<Operation>, String> {
        let base = "https://api.example.com".parse().expect("a URL");
        let include = [include.to_owned()];
        let overrides = BTreeMap::new();
        let allow_writes = self.allow_writes;
        compile(document, &Choice { include: &include, overrides: &overrides, allow_writes, base: &base })
    }
}

#[test]
fn every_get_of_published_documents_compiles_or_is_refused_for_what_it_says() {
    let mut counts = Vec::new();
    for published in PUBLISHED {
        let Some(document) = document(published.file) else { return };
        let began = Instant::now();
        let made = published.operations(&document, "GET /*").expect("most of them compile");
        let is_made = |place: &str| made.iter().any(|made| format!("GET {}", made.path) == place);
        let paths = document.0["paths"].as_object().expect("paths");
        let gets: Vec<(String, &Json, &Json)> = paths
            .iter()
            .filter_map(|(path, item)| Some((format!("GET {path}"), item.get("get")?, item)))
            .collect();
        let left: Vec<_> = gets.iter().filter(|(place, ..)| !is_made(place)).collect();
        // Asked for by name, each says why it is refused.
        for (place, operation, item) in &left {
            let error = published.operations(&document, place).expect_err("it is refused");
            assert!(is_right(&document, operation, item, &error), "{place}: {error}");
        }
        eprintln!(
            "{}: {} GETs, {} tools, {} refused, {} ms",
            published.file,
            gets.len(),
            made.len(),
            left.len(),
            began.elapsed().as_millis()
        );
        counts.push((made.len(), left.len()));
    }
    let expected: Vec<_> = PUBLISHED.iter().map(|published| (published.tools, published.refused)).collect();
    assert_eq!(counts, expected);
}

/// Whether the document itself says what a refusal says.
fn is_right(document: &Document, operation: &Json, item: &Json, error: &str) -> bool {
    let resolved = |value: &'_ Json| document.resolve(value).expect("it leads somewhere").clone();
    let list = |value: &Json, key: &str| value.get(key).and_then(Json::as_array).cloned().unwrap_or_default();
    let params: Vec<Json> = [list(item, "parameters"), list(operation, "parameters")].concat();
    let places: Vec<String> =
        params.iter().map(|param| resolved(param)["in"].as_str().unwrap_or_default().to_owned()).collect();
    let responses = operation["responses"].as_object().cloned().unwrap_or_default();
    let good: Vec<Json> = responses
        .iter()
        .filter(|(status, _)| status.starts_with('2'))
        .map(|(_, response)| resolved(response))
        .collect();
    let is_json = |kind: &String| kind.contains("json");
    let has_no_json = |response: &Json| {
        let content = response.get("content").and_then(Json::as_object);
        content.is_some_and(|content| !content.is_empty() && !content.keys().any(is_json))
    };
    match () {
        () if error.contains("is deprecated") => operation["deprecated"] == true,
        () if error.contains("declares no 2xx response") => good.is_empty(),
        () if error.contains("only JSON and empty answers") => good.iter().any(has_no_json),
        () if error.contains("header parameter") => places.iter().any(|place| place == "header"),
        () if error.contains("cookie parameter") => places.iter().any(|place| place == "cookie"),
        () if error.contains("takes a request body") => operation.get("requestBody").is_some(),
        () if error.contains("server of its own") => {
            operation.get("servers").is_some() || item.get("servers").is_some()
        }
        () => false,
    }
}

#[test]
fn example_calls_of_published_documents_fit_their_schemas() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/python/bin/python");
    if !python.exists() {
        return crate::skip::skip("Python, which validates schemas,");
    }
    let mut cases = String::new();
    for published in PUBLISHED {
        let Some(document) = document(published.file) else { return };
        for operation in published.operations(&document, "GET /*").expect("most of them compile") {
            let tool = CatalogTool { def: operation.tool, effect: EffectClass::Read, place: 0 };
            cases.push_str(&case("x", &tool, &doc("x", &tool, None)));
        }
    }
    assert_eq!(problems(&cases), "", "all examples fit");
}
