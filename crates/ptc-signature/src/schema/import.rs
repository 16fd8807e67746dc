//! JSON Schema read into types.
//!
//! The guiding rule: whatever is valid under the schema stays valid under the type. So what types cannot say
//! is left out, with a note, and only widens the type. Strict reading refuses such schemas instead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use super::{keywords, numbers};
use crate::intersect::{Room, TooLarge, intersect};
use crate::issue::{Issue, Step, Trail};
use crate::keys;
use crate::signature::Signature;
use crate::types::{Field, Literal, Number, Record, Type};

/// How deep schemas are followed; each level can add two to the type.
const DEPTH: usize = 60;
/// How many schemas are read in one go, so that references to references cannot explode.
const BUDGET: usize = 50_000;

/// What was read, and what had to be left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported<T> {
    /// The type or signature.
    pub value: T,
    /// What the schema says beyond that, each with its place in the schema.
    pub notes: Vec<Issue>,
}

/// A schema that cannot be read exactly: everything that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    /// Each with its place in the schema.
    pub problems: Vec<Issue>,
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the JSON Schema has no exact signature:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

impl std::error::Error for SchemaError {}

/// Reads JSON Schema (and the dialect of OpenAPI) into types.
///
/// ```
/// use ptc_signature::SchemaReader;
/// use serde_json::json;
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"q": {"type": "string"}, "limit": {"type": ["integer", "null"], "minimum": 1}},
///     "required": ["q"],
/// });
/// let read = SchemaReader::lenient(&schema).signature(&schema, None)?;
/// assert_eq!(read.value.to_string(), "(q :string, limit :int[>=1]?) -> :any");
/// # Ok::<(), ptc_signature::SchemaError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SchemaReader<'d> {
    document: &'d Value,
    strict: bool,
}

impl<'d> SchemaReader<'d> {
    /// A reader that leaves out what types cannot say, with notes. References are looked up in `document`.
    pub fn lenient(document: &'d Value) -> SchemaReader<'d> {
        SchemaReader { document, strict: false }
    }

    /// A reader that fails on whatever types cannot say. References are looked up in `document`.
    pub fn strict(document: &'d Value) -> SchemaReader<'d> {
        SchemaReader { document, strict: true }
    }

    /// Reads one schema as a type.
    pub fn ty(&self, schema: &'d Value) -> Result<Imported<Type>, SchemaError> {
        let mut import = Import::new(self.document);
        let value = import.schema(schema);
        self.finish(value, import.notes)
    }

    /// Reads the schemas of a tool that stand in one document; without an output schema the result is `:any`.
    /// For schemas that are documents of their own see [`Signature::from_json_schema`].
    pub fn signature(
        &self,
        input: &'d Value,
        output: Option<&'d Value>,
    ) -> Result<Imported<Signature>, SchemaError> {
        let mut import = Import::new(self.document);
        let input = import.parameters(input);
        let output = output.map_or(Type::Any, |schema| import.schema(schema));
        self.finish(Signature { input, output }, import.notes)
    }

    fn finish<T>(&self, value: T, notes: Vec<Issue>) -> Result<Imported<T>, SchemaError> {
        if self.strict && !notes.is_empty() {
            return Err(SchemaError { problems: notes });
        }
        Ok(Imported { value, notes })
    }
}

impl Type {
    /// Reads a self-contained JSON Schema leniently.
    pub fn from_json_schema(schema: &Value) -> Imported<Type> {
        let mut import = Import::new(schema);
        let value = import.schema(schema);
        Imported { value, notes: import.notes }
    }
}

impl Signature {
    /// Reads the schemas of a tool leniently, each a document of its own, as MCP servers publish them.
    pub fn from_json_schema(input: &Value, output: Option<&Value>) -> Imported<Signature> {
        let mut import = Import::new(input);
        let input = import.parameters(input);
        let output = output.map(Type::from_json_schema);
        let (output, notes) = output.map_or((Type::Any, Vec::new()), |read| (read.value, read.notes));
        import.notes.extend(notes);
        Imported { value: Signature { input, output }, notes: import.notes }
    }
}

struct Import<'d> {
    document: &'d Value,
    trail: Trail<'d>,
    /// References being followed, to see cycles.
    open: Vec<&'d str>,
    depth: usize,
    budget: usize,
    /// For types that several parts of a schema make together.
    room: Room,
    notes: Vec<Issue>,
}

impl<'d> Import<'d> {
    fn new(document: &'d Value) -> Import<'d> {
        Import {
            document,
            trail: Trail::default(),
            open: Vec::new(),
            depth: 0,
            budget: BUDGET,
            room: Room::default(),
            notes: Vec::new(),
        }
    }

    fn note(&mut self, message: impl Into<String>) {
        let message = message.into();
        self.notes.push(self.trail.issue(|_| message));
    }

    fn within(&mut self, step: &'d str, schema: &'d Value) -> Type {
        self.trail.push(Step::field(step));
        let ty = self.schema(schema);
        self.trail.pop();
        ty
    }

    fn each(&mut self, keyword: &'d str, schemas: &'d [Value]) -> Vec<Type> {
        self.trail.push(Step::field(keyword));
        let mut types = Vec::with_capacity(schemas.len());
        for (index, schema) in schemas.iter().enumerate() {
            self.trail.push(Step::Index(index));
            types.push(self.schema(schema));
            self.trail.pop();
        }
        self.trail.pop();
        types
    }

    fn schema(&mut self, schema: &'d Value) -> Type {
        if self.depth >= DEPTH || self.budget == 0 {
            self.note("too large or too deep, read as :any");
            return Type::Any;
        }
        self.depth += 1;
        self.budget -= 1;
        let ty = match schema {
            Value::Bool(true) => Type::Any,
            Value::Object(map) => self.object_schema(map),
            Value::Bool(false) => self.anything("nothing is valid here, read as :any"),
            _ => self.anything("not a schema, read as :any"),
        };
        self.depth -= 1;
        ty
    }

    fn anything(&mut self, note: &str) -> Type {
        self.note(note);
        Type::Any
    }

    fn object_schema(&mut self, map: &'d Map<String, Value>) -> Type {
        for keyword in map.keys().filter(|keyword| keywords::is_unsupported(keyword)) {
            self.note(format!("keyword `{keyword}` is not supported and left out"));
        }
        let mut ty = self.declared(map);
        if let Some(values) = literals(map) {
            ty = self.enumerated(ty, values);
        }
        if let Some(pointer) = map.get("$ref") {
            let target = self.reference(pointer);
            ty = self.both(ty, target);
        }
        if let Some(Value::Array(parts)) = map.get("allOf") {
            for part in self.each("allOf", parts) {
                ty = self.both(ty, part);
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(members)) = map.get(keyword) {
                let union = Type::union(self.each(keyword, members));
                ty = self.both(ty, union);
            }
        }
        if map.get("nullable") == Some(&Value::Bool(true)) { ty.optional() } else { ty }
    }

    fn both(&mut self, a: Type, b: Type) -> Type {
        let (a, b) = match (a, b) {
            (Type::Any, only) | (only, Type::Any) => return only,
            both => both,
        };
        match intersect(&a, &b, &mut self.room) {
            Ok(Some(ty)) => return ty,
            Ok(None) => self.note("the parts exclude each other, only the first is kept"),
            Err(TooLarge) => {
                self.note("the parts are too large together, only the first is kept");
            }
        }
        a
    }

    /// What `type` and the keywords that go with it say.
    fn declared(&mut self, map: &'d Map<String, Value>) -> Type {
        match map.get("type") {
            Some(Value::String(name)) => self.typed(name, map),
            Some(Value::Array(names)) => {
                let types: Vec<Type> =
                    names.iter().filter_map(Value::as_str).map(|n| self.typed(n, map)).collect();
                Type::union(types)
            }
            _ if map.contains_key("properties") || map.contains_key("additionalProperties") => {
                self.implied("object", map)
            }
            _ if map.contains_key("items") || map.contains_key("prefixItems") => self.implied("array", map),
            _ => {
                let narrow = ["required", "minimum", "maximum", "minLength", "maxLength"];
                for keyword in narrow.iter().filter(|k| map.contains_key(**k)) {
                    self.note(format!("keyword `{keyword}` without `type` is left out"));
                }
                Type::Any
            }
        }
    }

    /// A schema without `type` whose keywords only make sense for one. Strictly it accepts all other kinds of
    /// values too, but nobody means that.
    fn implied(&mut self, name: &str, map: &'d Map<String, Value>) -> Type {
        self.note(format!("no `type` is given, read as {name}"));
        self.typed(name, map)
    }

    fn typed(&mut self, name: &str, map: &'d Map<String, Value>) -> Type {
        let limited = match name {
            "string" => Type::String(numbers::read_lengths(map)),
            "integer" => Type::Int(numbers::read_whole_limits(map)),
            "number" => Type::Float(numbers::read_limits(map)),
            "boolean" => Type::Bool,
            "null" => Type::Nil,
            "array" => return self.array(map),
            "object" => return self.object(map),
            other => return self.anything(&format!("unknown type `{other}`, read as :any")),
        };
        match limited {
            Type::String(range) | Type::Int(range) | Type::Float(range) if range.is_empty() => {
                self.note("no value lies within the limits, which are left out");
                match name {
                    "string" => Type::STRING,
                    "integer" => Type::INT,
                    _ => Type::FLOAT,
                }
            }
            ty => ty,
        }
    }

    fn array(&mut self, map: &'d Map<String, Value>) -> Type {
        let (positions, rest): (&'d [Value], Option<&'d Value>) =
            match (map.get("prefixItems"), map.get("items")) {
                (Some(Value::Array(positions)), rest) => (positions, rest),
                (_, Some(Value::Array(positions))) => (positions, map.get("additionalItems")),
                (_, rest) => (&[], rest),
            };
        if positions.is_empty() {
            return Type::list(rest.map_or(Type::Any, |items| self.within("items", items)));
        }
        self.note("the positions of a tuple are not kept");
        let mut members = self.each("prefixItems", positions);
        match rest {
            Some(Value::Bool(false)) => {}
            Some(schema) => members.push(self.within("items", schema)),
            None => members.push(Type::Any),
        }
        Type::list(Type::union(members))
    }

    fn object(&mut self, map: &'d Map<String, Value>) -> Type {
        let patterns = map.contains_key("patternProperties");
        let fields = self.fields(map);
        match map.get("additionalProperties") {
            Some(Value::Bool(false)) if !patterns => Type::Record(Record::closed(fields)),
            Some(schema @ Value::Object(_)) if fields.is_empty() && !patterns => {
                let value = self.within("additionalProperties", schema);
                Type::map_of(Type::STRING, value)
            }
            Some(Value::Object(schema)) if !schema.is_empty() => {
                self.note("the type of additional properties is not kept");
                Type::record(fields)
            }
            _ if fields.is_empty() => Type::Map,
            _ => Type::record(fields),
        }
    }

    fn fields(&mut self, map: &'d Map<String, Value>) -> Vec<Field> {
        let required: BTreeSet<&str> = match map.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => BTreeSet::new(),
        };
        let mut fields: Vec<Field> = Vec::new();
        let declared = map.get("properties").and_then(Value::as_object);
        self.trail.push(Step::field("properties"));
        let mut names = BTreeMap::new();
        for (name, schema) in declared.into_iter().flatten() {
            if let Some(first) = names.insert(keys::snake(name), name) {
                self.note(format!("property `{name}` is one name with `{first}`, and is left out"));
                continue;
            }
            if schema == &Value::Bool(false) {
                self.note(format!("property `{name}` is forbidden, which is left out"));
                continue;
            }
            let ty = self.within(name, schema);
            let ty = if required.contains(name.as_str()) { ty } else { ty.optional() };
            let description = schema.get("description").and_then(Value::as_str).map(str::to_owned);
            fields.push(Field { name: name.clone(), ty, description });
        }
        self.trail.pop();
        for name in required {
            if !declared.is_some_and(|properties| properties.contains_key(name)) {
                self.note(format!("required property `{name}` is not declared, read as :any"));
                fields.push(Field::new(name, Type::Any));
            }
        }
        fields
    }

    fn enumerated(&mut self, declared: Type, values: Vec<&Value>) -> Type {
        let mut members = Vec::new();
        for value in values {
            match literal(value) {
                Some(ty) => members.push(ty),
                None => {
                    self.note("lists and maps among the fixed values, which are left out");
                    return declared;
                }
            }
        }
        if members.is_empty() {
            return self.anything("no fixed values are listed, read as :any");
        }
        let fixed = Type::union(members);
        match intersect(&declared, &fixed, &mut self.room) {
            Ok(Some(ty)) => ty,
            // The fixed values say more than the type that was declared for them.
            Ok(None) | Err(TooLarge) => fixed,
        }
    }

    fn reference(&mut self, pointer: &'d Value) -> Type {
        let pointer = pointer.as_str().unwrap_or_default();
        let target = pointer.strip_prefix('#').and_then(|path| self.document.pointer(&unescape(path)));
        let Some(target) = target else {
            return self.anything(&format!("reference `{pointer}` is not in the document, read as :any"));
        };
        if self.open.contains(&pointer) {
            self.note(format!("reference `{pointer}` contains itself, which is left out"));
            let object = target.get("type").and_then(Value::as_str) == Some("object");
            return if object { Type::Map } else { Type::Any };
        }
        self.open.push(pointer);
        let ty = self.schema(target);
        self.open.pop();
        ty
    }

    /// The parameters of a tool: its input schema must come down to one map with named fields.
    fn parameters(&mut self, schema: &'d Value) -> Record {
        match self.schema(schema) {
            Type::Record(record) => record,
            Type::Map | Type::Any => Record::default(),
            Type::Union(members) if members.iter().all(|m| matches!(m, Type::Record(_))) => {
                self.note("alternative sets of parameters are read as one");
                members.into_iter().fold(None, alternatives).unwrap_or_default()
            }
            other => {
                self.note(format!("{other} does not name parameters"));
                Record::default()
            }
        }
    }
}

/// One record that accepts whatever either accepts.
fn alternatives(known: Option<Record>, member: Type) -> Option<Record> {
    let Type::Record(other) = member else { return known };
    let Some(mut record) = known else { return Some(other) };
    for field in &mut record.fields {
        field.ty = match other.fields.iter().find(|f| f.name == field.name) {
            Some(same) => Type::union([field.ty.clone(), same.ty.clone()]),
            None => field.ty.clone().optional(),
        };
    }
    for field in other.fields {
        if !record.fields.iter().any(|known| known.name == field.name) {
            record.fields.push(Field { ty: field.ty.optional(), ..field });
        }
    }
    record.closed &= other.closed;
    Some(record)
}

fn literals(map: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (map.get("enum"), map.get("const")) {
        (Some(Value::Array(values)), _) => Some(values.iter().collect()),
        (_, Some(value)) => Some(vec![value]),
        _ => None,
    }
}

fn literal(value: &Value) -> Option<Type> {
    use crate::shape::Shape;
    let literal = match value {
        Value::Null => return Some(Type::Nil),
        Value::Bool(b) => Literal::Bool(*b),
        Value::String(text) => Literal::String(text.clone()),
        Value::Number(_) => match value.number()? {
            Number::Int(i) => Literal::Int(i),
            Number::Float(f) => Literal::Float(f),
        },
        _ => return None,
    };
    Some(Type::Enum(vec![literal]))
}

/// The percent escapes of a reference undone; broken ones stay as they are.
fn unescape(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = path.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
