//! The file of a client: its servers, and the file with one server in their place. All else in it stays as it is,
//! comments and white space too.

use anyhow::{Context, bail};
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value as Json, json};
use toml_edit::{DocumentMut, Item, Table};

use super::client::{Client, Format};

/// How our server is called in clients.
pub const NAME: &str = "ptc";

/// The servers in the text of a file, as JSON.
pub fn servers(client: &Client, text: &str) -> anyhow::Result<Map<String, Json>> {
    match client.format {
        Format::Json => {
            let Some(place) = object(&root(text)?, client.place) else { return Ok(Map::new()) };
            match place.to_serde_value() {
                Some(Json::Object(servers)) => Ok(servers),
                _ => bail!("its servers cannot be read"),
            }
        }
        Format::Toml => {
            let document = text.parse::<toml::Table>().context("it is not TOML")?;
            let mut at =
                Json::Object(serde_json::to_value(document)?.as_object().cloned().unwrap_or_default());
            for key in client.place {
                at = at.get_mut(key).map(Json::take).unwrap_or_default();
            }
            let servers = at.as_object().cloned().unwrap_or_default();
            Ok(servers.into_iter().map(|(name, entry)| (name, codex(entry))).collect())
        }
    }
}

/// The text of the file with our server in the place of all others.
pub fn replaced(client: &Client, text: &str, entry: &Json) -> anyhow::Result<String> {
    match client.format {
        Format::Json => {
            let root = root(text)?;
            let Some(place) = object(&root, client.place) else { bail!("it has no servers") };
            for server in place.properties() {
                server.remove();
            }
            place.append(NAME, input(entry));
            place.ensure_multiline();
            Ok(root.to_string())
        }
        Format::Toml => {
            let mut document: DocumentMut = text.parse().context("it is not TOML")?;
            let mut table: &mut Table = document.as_table_mut();
            for key in client.place {
                table = table
                    .get_mut(key)
                    .and_then(Item::as_table_mut)
                    .with_context(|| format!("it has no table [{key}]"))?;
            }
            let names: Vec<String> = table.iter().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                table.remove(&name);
            }
            let mut own = Table::new();
            own.insert("command", toml_edit::value(entry["command"].as_str().unwrap_or_default()));
            let args = entry["args"].as_array().into_iter().flatten().filter_map(Json::as_str);
            own.insert("args", toml_edit::value(args.collect::<toml_edit::Array>()));
            table.insert(NAME, Item::Table(own));
            Ok(document.to_string())
        }
    }
}

fn root(text: &str) -> anyhow::Result<CstRootNode> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| anyhow::anyhow!("it is not JSON: {error}"))
}

fn object(root: &CstRootNode, place: &[&str]) -> Option<CstObject> {
    place.iter().try_fold(root.object_value()?, |at, key| at.object_value(key))
}

fn input(value: &Json) -> CstInputValue {
    match value {
        Json::Null => CstInputValue::Null,
        Json::Bool(flag) => CstInputValue::Bool(*flag),
        Json::Number(number) => CstInputValue::Number(number.to_string()),
        Json::String(text) => CstInputValue::String(text.clone()),
        Json::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Json::Object(fields) => {
            CstInputValue::Object(fields.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

/// A server of Codex as other clients write it: tokens and headers come from variables that it names.
fn codex(mut entry: Json) -> Json {
    let Some(fields) = entry.as_object_mut() else { return entry };
    let mut headers = match fields.remove("http_headers") {
        Some(Json::Object(headers)) => headers,
        _ => Map::new(),
    };
    if let Some(Json::String(variable)) = fields.remove("bearer_token_env_var") {
        headers.insert("Authorization".to_owned(), json!(format!("Bearer ${{{variable}}}")));
    }
    if let Some(Json::Object(named)) = fields.remove("env_http_headers") {
        let filled = named
            .into_iter()
            .filter_map(|(name, variable)| Some((name, json!(format!("${{{}}}", variable.as_str()?)))));
        headers.extend(filled);
    }
    if let Some(Json::Array(names)) = fields.remove("env_vars") {
        let env = fields.entry("env").or_insert_with(|| json!({}));
        for name in names.iter().filter_map(Json::as_str) {
            env[name] = json!(format!("${{{name}}}"));
        }
    }
    if !headers.is_empty() {
        fields.insert("headers".to_owned(), Json::Object(headers));
    }
    entry
}
