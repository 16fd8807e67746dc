//! What results of tools looked like so far. Many servers declare no output schema; the types that were seen
//! help the next program. Only types and names of fields are kept, never values, within fixed bounds.
//!
//! Names of fields may be data all the same: of people, of tables, of whatever a program asked for. So shapes belong to
//! the [`Owner`] whose calls showed them, and no other owner is told of them ([`ByOwner`]). Only those of a host that
//! names nobody, as a command for one person is, are kept in a file between runs.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ptc_lisp::machine::Owner;
use ptc_system::private;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::catalog::types_key as key;

/// How deep a shape goes; below it everything is `any`.
const DEPTH: usize = 6;
/// How many fields an object may have before it counts as a map of things.
const FIELDS: usize = 40;
/// How many items of a list are looked at.
const ITEMS: usize = 50;
/// How many parts the shape of one tool may have.
const PARTS: usize = 400;
/// How many tools are remembered.
const TOOLS: usize = 1_000;
/// How many owners are told what their results looked like.
const OWNERS: usize = 1_000;
/// How long the name of a field may be; longer ones are data.
const NAME: usize = 64;
/// The most bytes of a file.
const FILE: u64 = 4 << 20;
/// The most characters of a shape in words.
const WORDS: usize = 1_500;
const VERSION: u32 = 1;

/// The types that a value had.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Shape {
    /// Types without parts, as bits: null 1, boolean 2, integer 4, number 8, string 16, anything 32.
    #[serde(rename = "k", skip_serializing_if = "is_zero")]
    kinds: u8,
    /// Of a list: its items.
    #[serde(rename = "a", skip_serializing_if = "Option::is_none")]
    items: Option<Box<Shape>>,
    /// Of an object: its fields.
    #[serde(rename = "f", skip_serializing_if = "Option::is_none")]
    fields: Option<BTreeMap<String, Field>>,
    /// Of an object whose names are data: what they lead to.
    #[serde(rename = "m", skip_serializing_if = "Option::is_none")]
    values: Option<Box<Shape>>,
}

/// A field of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Field {
    /// Whether an object was without it.
    #[serde(rename = "o", skip_serializing_if = "std::ops::Not::not")]
    optional: bool,
    #[serde(rename = "s")]
    shape: Shape,
}

fn is_zero(kinds: &u8) -> bool {
    *kinds == 0
}

const NULL: u8 = 1;
const ANY: u8 = 32;
const KINDS: [(u8, &str); 5] = [(2, "boolean"), (4, "integer"), (8, "number"), (16, "string"), (ANY, "any")];

impl Shape {
    /// The shape of one value.
    pub fn of(value: &Json) -> Shape {
        let mut parts = PARTS;
        Shape::seen(value, 0, &mut parts)
    }

    fn kind(kinds: u8) -> Shape {
        Shape { kinds, ..Shape::default() }
    }

    fn seen(value: &Json, depth: usize, parts: &mut usize) -> Shape {
        if *parts == 0 {
            return Shape::kind(ANY);
        }
        *parts -= 1;
        match value {
            Json::Null => Shape::kind(NULL),
            Json::Bool(_) => Shape::kind(2),
            Json::Number(number) if number.is_f64() => Shape::kind(8),
            Json::Number(_) => Shape::kind(4),
            Json::String(_) => Shape::kind(16),
            Json::Array(_) | Json::Object(_) if depth == DEPTH => Shape::kind(ANY),
            Json::Array(items) => {
                let mut all = Shape::default();
                for item in items.iter().take(ITEMS) {
                    // A list of equal things is looked at again and again at the price of one.
                    let mut left = *parts;
                    all.fold(Shape::seen(item, depth + 1, &mut left));
                }
                *parts = parts.saturating_sub(all.parts());
                Shape { items: Some(Box::new(all)), ..Shape::default() }
            }
            Json::Object(fields) if fields.len() > FIELDS || !fields.keys().all(|name| is_name(name)) => {
                let mut all = Shape::default();
                for value in fields.values().take(ITEMS) {
                    let mut left = *parts;
                    all.fold(Shape::seen(value, depth + 1, &mut left));
                }
                *parts = parts.saturating_sub(all.parts());
                Shape { values: Some(Box::new(all)), ..Shape::default() }
            }
            Json::Object(fields) => {
                let field = |(name, value): (&String, &Json)| {
                    (name.clone(), Field { optional: false, shape: Shape::seen(value, depth + 1, parts) })
                };
                Shape { fields: Some(fields.iter().map(field).collect()), ..Shape::default() }
            }
        }
    }

    /// Takes in another shape of the same tool.
    pub fn fold(&mut self, other: Shape) {
        self.kinds |= other.kinds;
        match (&mut self.items, other.items) {
            (Some(items), Some(others)) => items.fold(*others),
            (items, others) => *items = items.take().or(others),
        }
        match (&mut self.values, other.values) {
            (Some(values), Some(others)) => values.fold(*others),
            (values, others) => *values = values.take().or(others),
        }
        match (&mut self.fields, other.fields) {
            (Some(fields), Some(others)) => fold_fields(fields, others),
            (fields, others) => *fields = fields.take().or(others),
        }
        let many = self.fields.as_ref().is_some_and(|fields| fields.len() > FIELDS);
        if many || (self.values.is_some() && self.fields.is_some()) {
            let mut all = self.values.take().map_or_else(Shape::default, |values| *values);
            for field in self.fields.take().into_iter().flatten() {
                all.fold(field.1.shape);
            }
            self.values = Some(Box::new(all));
        }
    }

    /// How many parts it has.
    fn parts(&self) -> usize {
        let fields = self.fields.iter().flatten().map(|(_, field)| field.shape.parts());
        let others = [&self.items, &self.values].into_iter().flatten().map(|shape| shape.parts());
        1 + fields.sum::<usize>() + others.sum::<usize>()
    }

    /// Whether it keeps its bounds, which a file need not.
    fn is_bounded(&self, depth: usize) -> bool {
        let fields = self.fields.iter().flatten();
        depth <= DEPTH
            && self.fields.as_ref().is_none_or(|fields| fields.len() <= FIELDS)
            && fields.clone().all(|(name, field)| is_name(name) && field.shape.is_bounded(depth + 1))
            && [&self.items, &self.values].into_iter().flatten().all(|shape| shape.is_bounded(depth + 1))
    }

    /// The shape the way Clojure writes data.
    pub fn words(&self) -> String {
        crate::ledger::shortened(&self.shown(), WORDS)
    }

    fn shown(&self) -> String {
        let mut parts: Vec<String> = KINDS
            .iter()
            .filter(|(kind, _)| self.kinds & kind != 0)
            .map(|(_, name)| (*name).to_owned())
            .collect();
        if let Some(items) = &self.items {
            parts.push(format!("[{}]", items.shown()));
        }
        if let Some(values) = &self.values {
            parts.push(format!("{{string {}}}", values.shown()));
        }
        if let Some(fields) = &self.fields {
            let field = |(name, field): (&String, &Field)| {
                let missing = field.optional || (field.shape.kinds & NULL != 0 && field.shape.kinds != NULL);
                format!("{} {}{}", key(name), field.shape.shown(), if missing { "?" } else { "" })
            };
            parts.push(format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(" ")));
        }
        match (parts.is_empty(), self.kinds & NULL != 0) {
            (true, true) => "null".to_owned(),
            (true, false) => "any".to_owned(),
            _ => parts.join("|"),
        }
    }
}

fn fold_fields(fields: &mut BTreeMap<String, Field>, others: BTreeMap<String, Field>) {
    for (name, field) in fields.iter_mut() {
        field.optional |= !others.contains_key(name);
    }
    for (name, other) in others {
        match fields.get_mut(&name) {
            Some(field) => {
                field.optional |= other.optional;
                field.shape.fold(other.shape);
            }
            None => {
                fields.insert(name, Field { optional: true, ..other });
            }
        }
    }
}

/// Whether the name of a field is a word that somebody chose. Others, such as identifiers and addresses, are
/// data and are not kept.
fn is_name(name: &str) -> bool {
    let digits = name.bytes().filter(u8::is_ascii_digit).count();
    !name.is_empty()
        && name.len() <= NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '@'))
        && name.chars().skip(1).all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
        && digits <= 4
}

/// What is known of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observed {
    /// How many results there were.
    pub results: u64,
    /// What they looked like.
    pub shape: Shape,
}

/// The shapes of all tools, by `server/tool`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shapes {
    tools: BTreeMap<String, Observed>,
    /// Whether something was learned since the file was written.
    changed: bool,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    tools: BTreeMap<String, Observed>,
}

impl Shapes {
    /// Takes in a result.
    pub fn learn(&mut self, server: &str, tool: &str, value: &Json) {
        let name = format!("{server}/{tool}");
        if self.tools.len() >= TOOLS && !self.tools.contains_key(&name) {
            return;
        }
        let observed = self.tools.entry(name).or_default();
        let before = observed.shape.clone();
        match observed.results {
            0 => observed.shape = Shape::of(value),
            _ => observed.shape.fold(Shape::of(value)),
        }
        if observed.shape.parts() > PARTS {
            observed.shape = before;
        }
        observed.results += 1;
        self.changed = true;
    }

    /// What is known of a tool.
    pub fn observed(&self, server: &str, tool: &str) -> Option<&Observed> {
        self.tools.get(&format!("{server}/{tool}"))
    }

    /// Whether something was learned since it was last saved.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Reads a file; one that is not there is how every file begins.
    pub fn load(path: &Path) -> io::Result<Shapes> {
        let bad = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        match std::fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Shapes::default()),
            Ok(meta) if meta.len() > FILE => return Err(bad(format!("has more than {FILE} bytes"))),
            _ => {}
        }
        let stored: Stored = serde_json::from_slice(&std::fs::read(path)?)?;
        if stored.version != VERSION {
            return Err(bad(format!("has version {}, known is {VERSION}", stored.version)));
        }
        let fits = |(_, observed): &(String, Observed)| {
            observed.shape.is_bounded(0) && observed.shape.parts() <= PARTS
        };
        Ok(Shapes { tools: stored.tools.into_iter().filter(fits).take(TOOLS).collect(), changed: false })
    }

    /// Writes a file, together with what others wrote meanwhile. Readers find either the old or the new one.
    pub fn save(&mut self, path: &Path) -> io::Result<()> {
        for (name, other) in Shapes::load(path).unwrap_or_default().tools {
            let Some(own) = self.tools.get_mut(&name) else {
                if self.tools.len() < TOOLS {
                    self.tools.insert(name, other);
                }
                continue;
            };
            let before = own.shape.clone();
            own.shape.fold(other.shape);
            own.results = own.results.max(other.results);
            if own.shape.parts() > PARTS {
                own.shape = before;
            }
        }
        private::folder_of(path)?;
        let text = serde_json::to_vec(&Stored { version: VERSION, tools: self.tools.clone() })?;
        private::replace(path, &text)?;
        self.changed = false;
        Ok(())
    }
}

/// The shapes that the calls of each owner showed. What one of them learns changes nothing for another.
#[derive(Clone, Debug, Default)]
pub struct ByOwner {
    /// Those of a host that names nobody: the only ones that come from a file and go to one.
    unnamed: Shapes,
    named: BTreeMap<Arc<str>, Shapes>,
    /// What an owner who has seen nothing knows.
    nothing: Shapes,
}

impl ByOwner {
    /// Nothing beyond what a host that names nobody knows.
    pub fn new(unnamed: Shapes) -> ByOwner {
        ByOwner { unnamed, ..ByOwner::default() }
    }

    /// Takes in a result of an owner's call.
    pub fn learn(&mut self, owner: &Owner, server: &str, tool: &str, value: &Json) {
        let own = match owner {
            None => &mut self.unnamed,
            Some(owner) if self.named.len() >= OWNERS && !self.named.contains_key(owner) => return,
            Some(owner) => self.named.entry(owner.clone()).or_default(),
        };
        own.learn(server, tool, value);
    }

    /// What an owner's own calls showed.
    pub fn of(&self, owner: &Owner) -> &Shapes {
        match owner {
            None => &self.unnamed,
            Some(owner) => self.named.get(owner).unwrap_or(&self.nothing),
        }
    }

    /// What may be kept in a file.
    pub fn unnamed(&mut self) -> &mut Shapes {
        &mut self.unnamed
    }
}

/// Where the shapes of the upstreams of a configuration are kept, if the environment says where such things
/// belong. Configurations have files of their own, since they may call different servers by one name.
pub fn default_file(config: &Path) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))?;
    let path = std::path::absolute(config).ok()?;
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    let name: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Some(state.join("ptc").join("shapes").join(format!("{name}.json")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn shape(values: &[Json]) -> String {
        let mut shapes = Shapes::default();
        values.iter().for_each(|value| shapes.learn("s", "t", value));
        shapes.observed("s", "t").expect("something was learned").shape.words()
    }

    #[test]
    fn results_fold_into_one_shape() {
        for (values, expected) in [
            (
                vec![json!([{"n": 1, "files": ["a"]}, {"n": 2, "files": [], "body": "x"}])],
                "[{:body string? :files [string] :n integer}]",
            ),
            (vec![json!({"a": 1}), json!({"a": 1.5}), json!({"a": null})], "{:a integer|number?}"),
            (vec![json!("x"), json!([1])], "string|[integer]"),
            (vec![json!({"a": 1}), json!({"b": 2})], "{:a integer? :b integer?}"),
            (vec![json!(null)], "null"),
            (vec![json!([])], "[any]"),
            // Names that are data are not kept.
            (vec![json!({"ann@example.com": {"n": 1}})], "{string {:n integer}}"),
            (vec![json!({"550e8400e29b": 1}), json!({"a": 2})], "{string integer}"),
        ] {
            assert_eq!(shape(&values), expected, "{values:?}");
        }
    }

    #[test]
    fn shapes_are_bounded() {
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert_eq!(shape(&[deep]), "[[[[[[any]]]]]]");
        let field = |n: u32, value: Json| {
            let name: String = n.to_string().bytes().map(|digit| char::from(b'a' + digit - b'0')).collect();
            (format!("f{name}"), value)
        };
        let wide =
            |count: u32, value: &Json| Json::Object((0..count).map(|n| field(n, value.clone())).collect());
        assert_eq!(shape(&[wide(41, &json!(true))]), "{string boolean}");
        let mut shapes = Shapes::default();
        for n in 0..200 {
            let value = Json::Object([field(n, wide(39, &wide(39, &json!(1))))].into_iter().collect());
            shapes.learn("s", "t", &value);
        }
        assert!(shapes.tools["s/t"].shape.parts() <= PARTS);
    }

    #[test]
    fn owners_see_what_their_own_calls_showed() {
        let (anna, ben): (Owner, Owner) = (Some("anna".into()), Some("ben".into()));
        let mut shapes = ByOwner::default();
        let seen = |shapes: &ByOwner, owner: &Owner| {
            shapes.of(owner).observed("s", "t").map(|seen| (seen.results, seen.shape.words()))
        };
        for (owner, field, hers, his, nobodys) in [
            (&anna, "a", Some((1, "{:a integer}")), None, None),
            (&ben, "b", Some((1, "{:a integer}")), Some((1, "{:b integer}")), None),
            (&None, "c", Some((1, "{:a integer}")), Some((1, "{:b integer}")), Some((1, "{:c integer}"))),
        ] {
            shapes.learn(owner, "s", "t", &json!({field: 1}));
            for (owner, expected) in [(&anna, hers), (&ben, his), (&None, nobodys)] {
                let expected = expected.map(|(results, words)| (results, words.to_owned()));
                assert_eq!(seen(&shapes, owner), expected, "{owner:?}");
            }
        }
        for n in 0..2 * OWNERS {
            shapes.learn(&Some(format!("{n}").into()), "s", "t", &json!(1));
        }
        assert_eq!(shapes.named.len(), OWNERS);
        assert!(seen(&shapes, &ben).is_some());
    }

    #[test]
    fn files_keep_types_and_no_values() {
        let folder = std::env::temp_dir().join(format!("ptc-shapes-{}", std::process::id()));
        let path = folder.join("deep").join("shapes.json");
        let mut shapes = Shapes::load(&path).expect("no file yet");
        shapes.learn("s", "t", &json!({"token": "hunter2", "n": 41}));
        assert!(shapes.is_changed());
        shapes.save(&path).expect("it writes");
        let mut other = Shapes::default();
        other.learn("s", "u", &json!([true]));
        other.save(&path).expect("it writes beside the first");
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(!text.contains("hunter2") && !text.contains("41"), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        let again = Shapes::load(&path).expect("it reads back");
        assert_eq!(
            again.observed("s", "t").map(|seen| seen.shape.words()),
            Some("{:n integer :token string}".to_owned())
        );
        assert!(again.observed("s", "u").is_some() && !again.is_changed());
        std::fs::write(
            &path,
            "{\"version\":1,\"tools\":{\"a/b\":{\"results\":1,\"shape\":{\"f\":{\"ann@x.y\":{\"s\":{}}}}}}}",
        )
        .expect("it writes");
        assert!(Shapes::load(&path).expect("it reads").tools.is_empty());
        std::fs::write(&path, "no").expect("it writes");
        assert!(Shapes::load(&path).is_err());
        std::fs::remove_dir_all(&folder).expect("it is removed");
    }
}
