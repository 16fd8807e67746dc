//! OpenAPI documents: JSON or YAML text, references, and schemas of version 3.0 in the words of JSON Schema.
//! Documents come from outside, so every walk through one has a bound.

use serde_json::{Map, Value as Json, json};

use crate::client::About;

/// How many references may lead from one to the next.
const HOPS: usize = 32;
/// How deep a schema is followed; below it everything fits.
const DEPTH: usize = 24;
/// How many parts the schema of one operation may have; what is left out then fits everything.
const PARTS: usize = 4_000;
/// How many bytes of what a document may have there are for each of its values. Real ones take more than twice as many.
const VALUE_BYTES: usize = 8;

/// A document that has been read.
#[derive(Debug)]
pub struct Document(pub Json);

impl Document {
    /// Reads JSON or YAML of at most so many bytes.
    pub fn read(text: &[u8], most: usize) -> Result<Document, String> {
        if text.len() > most {
            return Err(format!("schema exceeds byte cap: it has more than {most} bytes"));
        }
        let text = std::str::from_utf8(text).map_err(|_| "schema is not UTF-8 text".to_owned())?;
        let text = text.trim_start_matches('\u{feff}');
        let root: Json = match text.trim_start().starts_with('{') {
            true => {
                fits(text, most / VALUE_BYTES)?;
                serde_json::from_str(text).map_err(|error| format!("schema is not JSON: {error}"))?
            }
            false => read_yaml(text)?,
        };
        match root.get("openapi").and_then(Json::as_str) {
            Some(version) if version.starts_with("3.") => Ok(Document(root)),
            Some(version) => {
                Err(format!("schema has OpenAPI version {version}; use a document of version 3.0 or 3.1"))
            }
            None if root.get("openapi").is_some_and(Json::is_number) => Err(format!(
                "schema has the number {} as \"openapi\"; write the version as a text, in quotes",
                root["openapi"]
            )),
            None => {
                Err("schema has no key \"openapi\"; use an OpenAPI document of version 3.0 or 3.1".to_owned())
            }
        }
    }

    /// What it says about the service as a whole.
    pub fn about(&self) -> About {
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let info = |key: &str| self.0.get("info").and_then(|info| info.get(key)).and_then(text);
        let version = self.0.get("openapi").and_then(Json::as_str).unwrap_or_default();
        About {
            name: info("title").unwrap_or_default(),
            title: info("title"),
            version: info("version").unwrap_or_default(),
            protocol: format!("OpenAPI {version}"),
            description: info("summary"),
            instructions: info("description"),
        }
    }

    /// What a value means after its references, which must stay in this document.
    pub fn resolve<'d>(&'d self, value: &'d Json) -> Result<&'d Json, String> {
        let mut value = value;
        for _ in 0..HOPS {
            let Some(target) = value.get("$ref") else { return Ok(value) };
            value = self.find(target.as_str().unwrap_or_default())?;
        }
        Err(format!("$ref {} leads in a circle", value["$ref"]))
    }

    fn find(&self, pointer: &str) -> Result<&Json, String> {
        let path = pointer
            .strip_prefix('#')
            .ok_or_else(|| format!("$ref {pointer:?} points outside the document; inline it"))?;
        self.0.pointer(path).ok_or_else(|| format!("$ref {pointer:?} points at nothing"))
    }

    /// A schema with its references filled in. One that contains itself ends where it would begin again.
    pub fn schema(&self, schema: &Json) -> Json {
        let mut walk = DocumentWalk { document: self, open: Vec::new(), parts: PARTS };
        walk.schema(schema, 0)
    }
}

/// Sees that a document does not take many times the bytes of its text when it is built.
fn fits(text: &str, most: usize) -> Result<(), String> {
    match ptc_host::parts::extent(text.as_bytes()).values {
        values if values > most => Err(format!(
            "schema has {values} values, and at most {most} are read, one for each {VALUE_BYTES} bytes of schema_max_bytes"
        )),
        _ => Ok(()),
    }
}

/// YAML as of version 1.2, of which its reader builds no more than 250,000 values, as OpenAPI wants it: `on` and `yes` are texts.
fn read_yaml(text: &str) -> Result<Json, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let root: Json = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| format!("schema is not YAML: {error}"))?;
    match old_boolean(&root) {
        None => Ok(root),
        Some((key, word)) => Err(format!(
            "schema has the text {word:?} as {key:?}, which is true or false: YAML 1.2 knows no other words for them; write \
             one of these"
        )),
    }
}

/// The first key of OpenAPI that is true or false and has a word of YAML 1.1 for it, and the word.
fn old_boolean(root: &Json) -> Option<(&str, &str)> {
    const BOOLEAN: [&str; 11] = [
        "additionalProperties",
        "allowEmptyValue",
        "allowReserved",
        "deprecated",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "explode",
        "nullable",
        "readOnly",
        "required",
        "uniqueItems",
    ];
    const WORDS: [&str; 6] = ["yes", "no", "on", "off", "y", "n"];
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Json::Array(items) => open.extend(items),
            Json::Object(fields) => {
                for (key, value) in fields {
                    let word = value.as_str().filter(|word| WORDS.contains(&word.to_lowercase().as_str()));
                    if let (Some(word), true) = (word, BOOLEAN.contains(&key.as_str())) {
                        return Some((key, word));
                    }
                    // What stands there is data.
                    let is_data =
                        matches!(key.as_str(), "example" | "examples" | "default" | "enum" | "const");
                    if !is_data && !key.starts_with("x-") {
                        open.push(value);
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Keys that describe a document rather than data.
const DROPPED: [&str; 6] = ["nullable", "example", "xml", "externalDocs", "discriminator", "$ref"];
/// Keys whose values are data and are kept as they are.
const DATA: [&str; 5] = ["const", "enum", "default", "required", "examples"];

struct DocumentWalk<'d> {
    document: &'d Document,
    /// The references that are being followed.
    open: Vec<&'d str>,
    parts: usize,
}

impl<'d> DocumentWalk<'d> {
    fn schema(&mut self, schema: &'d Json, depth: usize) -> Json {
        if self.parts == 0 || depth > DEPTH {
            return json!({});
        }
        self.parts -= 1;
        let Json::Object(fields) = schema else { return schema.clone() };
        let Some(target) = fields.get("$ref").and_then(Json::as_str) else {
            return self.fields(fields, depth);
        };
        let found = self.document.find(target);
        let (Ok(found), false) = (found, self.open.contains(&target)) else { return json!({}) };
        self.open.push(target);
        let mut filled = self.schema(found, depth + 1);
        self.open.pop();
        // What stands beside a reference counts too, in 3.1.
        if let (Json::Object(filled), true) = (&mut filled, fields.len() > 1)
            && let Json::Object(beside) = self.fields(fields, depth)
        {
            filled.extend(beside);
        }
        filled
    }

    fn fields(&mut self, fields: &'d Map<String, Json>, depth: usize) -> Json {
        let mut out = Map::new();
        for (key, value) in fields.iter().filter(|(key, _)| !DROPPED.contains(&key.as_str())) {
            let value = match (key.as_str(), value) {
                (name, value) if DATA.contains(&name) => value.clone(),
                ("properties" | "patternProperties" | "$defs", Json::Object(named)) => named
                    .iter()
                    .map(|(name, schema)| (name.clone(), self.schema(schema, depth + 1)))
                    .collect::<Map<_, _>>()
                    .into(),
                (_, Json::Array(items)) => items.iter().map(|item| self.schema(item, depth + 1)).collect(),
                (_, value) => self.schema(value, depth + 1),
            };
            out.insert(key.clone(), value);
        }
        modern(fields, &mut out);
        Json::Object(out)
    }
}

/// Says in the words of JSON Schema what 3.0 said in its own.
fn modern(old: &Map<String, Json>, out: &mut Map<String, Json>) {
    if old.get("nullable") == Some(&Json::Bool(true)) {
        if let Some(kind @ Json::String(_)) = old.get("type") {
            out.insert("type".to_owned(), json!([kind, "null"]));
        }
        if let Some(Json::Array(values)) = out.get_mut("enum")
            && !values.contains(&Json::Null)
        {
            values.push(Json::Null);
        }
    }
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        match old.get(exclusive) {
            Some(Json::Bool(true)) => {
                out.remove(exclusive);
                let limit = out.remove(bound);
                out.extend(limit.map(|limit| (exclusive.to_owned(), limit)));
            }
            Some(Json::Bool(false)) => drop(out.remove(exclusive)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_yaml_are_the_same_document() {
        let yaml = "openapi: 3.0.3\npaths:\n  /a:\n    get: {operationId: a, deprecated: false}\n";
        let json =
            r#"{"openapi": "3.0.3", "paths": {"/a": {"get": {"operationId": "a", "deprecated": false}}}}"#;
        let read = |text: &str| Document::read(text.as_bytes(), 1_000).expect("it reads").0;
        assert_eq!(read(yaml), read(json));
    }

    #[test]
    fn a_document_says_what_its_service_is() {
        let document = Document(json!({"openapi": "3.0.3", "info": {
            "title": "Shop API", "version": "1.2", "description": "Orders of a shop."}}));
        let about = document.about();
        assert_eq!((about.name.as_str(), about.version.as_str()), ("Shop API", "1.2"));
        assert_eq!(about.protocol, "OpenAPI 3.0.3");
        assert_eq!(about.instructions.as_deref(), Some("Orders of a shop."));
        assert_eq!(Document(json!({"openapi": "3.1.0", "info": 7})).about().title, None);
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for (text, expected) in [
            ("{\"openapi\": \"3.1.0\"", "schema is not JSON"),
            ("{\"swagger\": \"2.0\"}", "schema has no key \"openapi\""),
            ("openapi: 2.9.0", "schema has OpenAPI version 2.9.0"),
            ("openapi: 3.1", "schema has the number 3.1 as \"openapi\"; write the version as a text"),
            ("a: [", "schema is not YAML"),
            (
                "openapi: 3.1.0\nin: [{required: yes}]",
                "schema has the text \"yes\" as \"required\", which is true or false",
            ),
            (&"x".repeat(101), "schema exceeds byte cap"),
        ] {
            let error = Document::read(text.as_bytes(), 100).expect_err("it is refused");
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn words_of_yaml_1_1_are_texts() {
        let text =
            "openapi: 3.1.0\na: {enum: [on, off, yes, NO, y, true]}\nexample: {required: yes}\nb: False\n";
        let document = Document::read(text.as_bytes(), 1_000).expect("it is read");
        assert_eq!(document.0["a"]["enum"], json!(["on", "off", "yes", "NO", "y", true]));
        assert_eq!((&document.0["example"]["required"], &document.0["b"]), (&json!("yes"), &json!(false)));
    }

    #[test]
    fn schemas_are_filled_in_and_end() {
        let document = Document(json!({"components": {"schemas": {
            "Name": {"type": "string", "nullable": true, "example": "x"},
            "Tree": {"type": "object", "properties": {"name": {"$ref": "#/components/schemas/Name"},
                     "kids": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}}},
            "Loop": {"$ref": "#/components/schemas/Loop"},
        }}}));
        for (schema, expected) in [
            (
                json!({"$ref": "#/components/schemas/Tree"}),
                json!({"type": "object", "properties": {"name": {"type": ["string", "null"]},
                       "kids": {"type": "array", "items": {}}}}),
            ),
            (json!({"$ref": "#/components/schemas/Loop"}), json!({})),
            (json!({"$ref": "other.yaml#/X"}), json!({})),
            (
                json!({"type": "string", "enum": ["a"], "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
                json!({"type": "integer", "exclusiveMinimum": 1}),
            ),
            (
                json!({"properties": {"example": {"type": "string"}, "nullable": {}}}),
                json!({"properties": {"example": {"type": "string"}, "nullable": {}}}),
            ),
        ] {
            assert_eq!(document.schema(&schema), expected, "{schema}");
        }
        assert!(
            document
                .resolve(&json!({"$ref": "#/components/schemas/Loop"}))
                .is_err_and(|error| error.contains("circle"))
        );
        assert!(
            document
                .resolve(&json!({"$ref": "#/no"}))
                .is_err_and(|error| error.contains("points at nothing"))
        );
    }

    #[test]
    fn a_document_has_as_many_values_as_its_bytes_may_be_in_eights() {
        let document =
            |values: usize| format!(r#"{{"openapi": "3.1.0", "x": [{}0]}}"#, "0,".repeat(values - 3));
        assert!(Document::read(document(1_000).as_bytes(), 8_000).is_ok());
        assert_eq!(
            Document::read(document(1_001).as_bytes(), 8_000).expect_err("it has too many"),
            "schema has 1001 values, and at most 1000 are read, one for each 8 bytes of schema_max_bytes"
        );
        let yaml = format!("openapi: 3.1.0\nx: [{}0]\n", "0,".repeat(250_000));
        let told = Document::read(yaml.as_bytes(), 1 << 21).expect_err("it has too many");
        assert!(told.contains("schema is not YAML"), "{told}");
    }

    #[test]
    fn schemas_that_multiply_are_bounded() {
        let mut schemas = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/components/schemas/L{}", level + 1)});
            schemas.insert(format!("L{level}"), json!({"properties": {"a": next, "b": next, "c": next}}));
        }
        let document = Document(json!({"components": {"schemas": schemas}}));
        let filled = document.schema(&json!({"$ref": "#/components/schemas/L0"}));
        assert!(crate::ledger::json_bytes(&filled) < 1 << 20);
    }
}
