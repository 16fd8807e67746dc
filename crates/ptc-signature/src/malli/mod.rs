//! Malli schemas, the data form of a signature.
//!
//! `[:=> [:cat :string] [:map [:status [:enum "pending" "active"]]]]` says the same as
//! `(arg0 :string) -> {status :enum[pending active]}`. Both are read into the same [`Type`]s. Parameters come
//! from `:catn` with their names, from a single `:map` with its keys, and from `:cat` as `arg0`, `arg1`, ….

mod edn;
mod write;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use edn::{Form, Node};

use crate::intersect::{Room, TooLarge, intersect};
use crate::keys;
use crate::parse::error::ParseError;
use crate::parse::refine::is_key_type;
use crate::parse::twice;
use crate::shape::Shape;
use crate::signature::Signature;
use crate::types::{Bound, Field, Literal, MAX_DEPTH, Number, Range, Record, Type};

/// Whether the text is a Malli function schema rather than shorthand.
pub(crate) fn is_function(text: &str) -> bool {
    let inner = text.trim_start().strip_prefix('[').unwrap_or_default();
    [":=>", ":->"].iter().any(|arrow| inner.trim_start().starts_with(arrow))
}

/// Reads a function schema from its text.
pub(crate) fn parse_signature(text: &str) -> Result<Signature, ParseError> {
    let reader = Reader::new(text);
    reader.signature(&edn::read(text)?)
}

impl Signature {
    /// Reads a Malli function schema that is already data, such as a vector built by a program.
    /// In JSON, strings beginning with a colon stand for keywords: `[":=>", [":cat"], ":int"]`.
    pub fn from_malli<V: Shape>(schema: &V) -> Result<Signature, ParseError> {
        let mut text = String::new();
        edn::write(schema, &mut text, 0);
        parse_signature(&text)
    }
}

impl Type {
    /// Reads a Malli schema from its text: `[:map [:id :int]]`.
    pub fn parse_malli(text: &str) -> Result<Type, ParseError> {
        let reader = Reader::new(text);
        reader.ty(&edn::read(text)?)
    }

    /// Reads a Malli schema that is already data; see [`Signature::from_malli`].
    pub fn from_malli<V: Shape>(schema: &V) -> Result<Type, ParseError> {
        let mut text = String::new();
        edn::write(schema, &mut text, 0);
        Type::parse_malli(&text)
    }
}

/// Schemas that are one word, with or without the `?` of Clojure predicates.
fn simple(name: &str) -> Option<Type> {
    let above_zero = Bound { value: Number::Int(0), exclusive: true };
    Some(match name.strip_suffix('?').unwrap_or(name) {
        "string" | "str" => Type::STRING,
        "int" | "integer" => Type::INT,
        "pos-int" => Type::Int(Range::UNBOUNDED.with_min(above_zero)),
        "neg-int" => Type::Int(Range::UNBOUNDED.with_max(above_zero)),
        "nat-int" => Type::Int(Range::UNBOUNDED.at_least(Number::Int(0))),
        "float" | "double" | "number" => Type::FLOAT,
        "bool" | "boolean" => Type::Bool,
        "keyword" | "simple-keyword" | "qualified-keyword" => Type::Keyword,
        "any" | "some" => Type::Any,
        "map" => Type::Map,
        "nil" => Type::Nil,
        "datetime" | "inst" | "time/instant" => Type::DateTime,
        "vector" | "sequential" | "set" | "coll" => Type::list(Type::Any),
        _ => return None,
    })
}

struct Reader<'s> {
    source: &'s str,
    /// How many types are open around the one being read.
    depth: Cell<usize>,
    /// For types that parts of `:and` make together.
    room: RefCell<Room>,
}

impl<'s> Reader<'s> {
    fn new(source: &'s str) -> Reader<'s> {
        Reader { source, depth: Cell::new(0), room: RefCell::default() }
    }
}

impl Reader<'_> {
    fn error(&self, form: &Form, message: impl Into<String>) -> ParseError {
        ParseError::new(self.source, form.start, form.end, message)
    }

    fn signature(&self, form: &Form) -> Result<Signature, ParseError> {
        let usage = "write [:=> [:cat arguments…] result]";
        let Node::Vector(parts) = &form.node else {
            return Err(self.error(form, "expected a function schema").hint(usage));
        };
        match parts.as_slice() {
            [head, input, output] if head.keyword() == Some("=>") => {
                Ok(Signature { input: self.input(input)?, output: self.ty(output)? })
            }
            [head, inputs @ .., output] if head.keyword() == Some("->") => {
                Ok(Signature { input: self.positional(inputs)?, output: self.ty(output)? })
            }
            _ => Err(self.error(form, "a function schema has arguments and a result").hint(usage)),
        }
    }

    fn input(&self, form: &Form) -> Result<Record, ParseError> {
        let (head, arguments): (&Form, &[Form]) = match &form.node {
            Node::Vector(parts) if !parts.is_empty() => (&parts[0], &parts[1..]),
            _ => (form, &[]),
        };
        match head.keyword() {
            Some("cat") => self.positional(arguments),
            Some("catn") => self.record(arguments, false),
            _ => Err(self.error(form, "expected [:cat …] or [:catn [:name schema] …]")),
        }
    }

    fn positional(&self, arguments: &[Form]) -> Result<Record, ParseError> {
        let types = arguments.iter().map(|argument| self.ty(argument)).collect::<Result<Vec<_>, _>>()?;
        match types.as_slice() {
            [Type::Record(record)] => Ok(record.clone()),
            _ => {
                let named = types.into_iter().enumerate().map(|(i, ty)| Field::new(format!("arg{i}"), ty));
                Ok(Record::open(named))
            }
        }
    }

    fn ty(&self, form: &Form) -> Result<Type, ParseError> {
        let depth = self.depth.get();
        if depth >= MAX_DEPTH {
            return Err(self.error(form, format!("schema is nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth.set(depth + 1);
        let ty = self.schema(form);
        self.depth.set(depth);
        ty
    }

    fn schema(&self, form: &Form) -> Result<Type, ParseError> {
        match &form.node {
            Node::Keyword(name) => self.word(form, name),
            Node::Nil => Ok(Type::Nil),
            Node::Vector(parts) => self.vector(form, parts),
            _ => Err(self
                .error(form, "expected a schema")
                .hint("schemas are keywords or vectors: :int, [:vector :int]")),
        }
    }

    fn word(&self, form: &Form, name: &str) -> Result<Type, ParseError> {
        simple(name).ok_or_else(|| {
            let error = self.error(form, format!("unknown schema `:{name}`"));
            error.hint("use :string :int :double :boolean :keyword :any :map :nil, or a vector such as [:vector :int]")
        })
    }

    fn vector(&self, form: &Form, parts: &[Form]) -> Result<Type, ParseError> {
        let Some((head, rest)) = parts.split_first() else {
            return Err(self.error(form, "empty schema"));
        };
        let Some(name) = head.keyword() else {
            return Err(self.error(head, "a schema vector begins with a keyword"));
        };
        let (properties, rest) = match rest {
            [Form { node: Node::Map(pairs), .. }, rest @ ..] => (pairs.as_slice(), rest),
            rest => (&[][..], rest),
        };
        match name {
            "map" => Ok(Type::Record(self.record(rest, flag(properties, "closed"))?)),
            "enum" | "=" => self.enumeration(form, rest),
            "or" => self.all(rest).map(Type::union),
            "orn" => self.record(rest, false).map(|r| Type::union(r.fields.into_iter().map(|f| f.ty))),
            "and" => self.and(form, rest),
            "maybe" | "?" => self.only(form, rest).map(Type::optional),
            "vector" | "sequential" | "set" | "seqable" | "list" | "*" => {
                self.only(form, rest).map(Type::list)
            }
            "map-of" => self.map_of(form, rest),
            ">" | ">=" | "<" | "<=" => self.comparison(form, name, rest),
            "tuple" => {
                let hint = "there are no tuples: use [:map [:x …] [:y …]] with named fields";
                Err(self.error(form, "`:tuple` is not supported").hint(hint))
            }
            name => self.with_limits(form, self.word(head, name)?, properties, rest),
        }
    }

    fn all(&self, forms: &[Form]) -> Result<Vec<Type>, ParseError> {
        forms.iter().map(|form| self.ty(form)).collect()
    }

    fn only(&self, form: &Form, parts: &[Form]) -> Result<Type, ParseError> {
        match parts {
            [inner] => self.ty(inner),
            _ => Err(self.error(form, "expected exactly one schema inside")),
        }
    }

    /// `[:name schema]` or `[:name {:optional true} schema]` entries.
    fn record(&self, entries: &[Form], closed: bool) -> Result<Record, ParseError> {
        let mut record = Record { fields: Vec::new(), closed };
        let mut names = BTreeMap::new();
        for entry in entries {
            let field = self.entry(entry)?;
            if let Some(first) = names.insert(keys::snake(&field.name), field.name.clone()) {
                return Err(self.error(entry, twice("field", &field.name, &first)));
            }
            record.fields.push(field);
        }
        Ok(record)
    }

    fn entry(&self, entry: &Form) -> Result<Field, ParseError> {
        let usage = "entries are [:name schema] or [:name {:optional true} schema]";
        let parts = match &entry.node {
            Node::Vector(parts) => parts.as_slice(),
            _ => &[],
        };
        let (name, properties, schema) = match parts {
            [name, schema] => (name, &[][..], schema),
            [name, Form { node: Node::Map(pairs), .. }, schema] => (name, pairs.as_slice(), schema),
            _ => return Err(self.error(entry, "expected an entry").hint(usage)),
        };
        let (Node::Keyword(name) | Node::String(name)) = &name.node else {
            return Err(self.error(name, "expected a field name").hint(usage));
        };
        let ty = self.ty(schema)?;
        let ty = if flag(properties, "optional") { ty.optional() } else { ty };
        Ok(Field { description: text(properties, "description"), ..Field::new(name, ty) })
    }

    fn enumeration(&self, form: &Form, values: &[Form]) -> Result<Type, ParseError> {
        let mut members = Vec::new();
        for value in values {
            members.push(match &value.node {
                Node::Keyword(text) | Node::String(text) => Type::Enum(vec![Literal::String(text.clone())]),
                Node::Number(Number::Int(i)) => Type::Enum(vec![Literal::Int(*i)]),
                Node::Number(Number::Float(f)) => Type::Enum(vec![Literal::Float(*f)]),
                Node::Bool(b) => Type::Enum(vec![Literal::Bool(*b)]),
                Node::Nil => Type::Nil,
                _ => {
                    return Err(
                        self.error(value, "enum values are strings, keywords, numbers, booleans or nil")
                    );
                }
            });
        }
        if members.is_empty() {
            return Err(self.error(form, "enum has no values").hint("write [:enum \"pending\" \"active\"]"));
        }
        Ok(Type::union(members))
    }

    fn and(&self, form: &Form, parts: &[Form]) -> Result<Type, ParseError> {
        let mut common = Type::Any;
        for part in parts {
            let hint = "`:and` combines a type with limits, as in [:and :int [:> 0]]";
            let part = self.ty(part)?;
            common = match intersect(&common, &part, &mut self.room.borrow_mut()) {
                Ok(Some(narrower)) => narrower,
                Ok(None) => return Err(self.error(form, "nothing satisfies all parts of `:and`").hint(hint)),
                Err(TooLarge) => {
                    let message = "the parts of `:and` are too large together";
                    return Err(self.error(form, message).hint(hint));
                }
            };
        }
        Ok(common)
    }

    fn comparison(&self, form: &Form, operator: &str, parts: &[Form]) -> Result<Type, ParseError> {
        let [Form { node: Node::Number(value), .. }] = parts else {
            return Err(self.error(form, "a comparison needs one number").hint("write [:> 0]"));
        };
        let bound = Bound { value: *value, exclusive: matches!(operator, ">" | "<") };
        let range = Range::UNBOUNDED;
        Ok(Type::Float(if operator.starts_with('>') { range.with_min(bound) } else { range.with_max(bound) }))
    }

    fn map_of(&self, form: &Form, parts: &[Form]) -> Result<Type, ParseError> {
        let [key, value] = parts else {
            return Err(self.error(form, "`:map-of` needs a key and a value schema"));
        };
        let key_type = self.ty(key)?;
        if !is_key_type(&key_type) {
            return Err(self
                .error(key, "this schema cannot be a map key")
                .hint("keys are :string, :keyword or :int"));
        }
        Ok(Type::map_of(key_type, self.ty(value)?))
    }

    /// `[:int {:min 1 :max 10}]` and the like.
    fn with_limits(
        &self,
        form: &Form,
        ty: Type,
        properties: &[(Form, Form)],
        rest: &[Form],
    ) -> Result<Type, ParseError> {
        if !rest.is_empty() {
            return Err(self.error(form, "this schema takes nothing inside"));
        }
        let mut range = Range::UNBOUNDED;
        for (key, value) in properties {
            match (key.keyword(), &value.node) {
                (Some("min"), Node::Number(n)) => range = range.at_least(*n),
                (Some("max"), Node::Number(n)) => range = range.at_most(*n),
                _ => {}
            }
        }
        let limits = match ty {
            Type::String(_) => Type::String(range),
            Type::Int(_) | Type::Float(_) => Type::Float(range),
            _ => return Ok(ty),
        };
        let narrower = intersect(&ty, &limits, &mut self.room.borrow_mut()).unwrap_or(Some(ty));
        narrower.ok_or_else(|| self.error(form, "no value lies within these limits"))
    }
}

fn flag(properties: &[(Form, Form)], name: &str) -> bool {
    properties
        .iter()
        .any(|(key, value)| key.keyword() == Some(name) && matches!(value.node, Node::Bool(true)))
}

fn text(properties: &[(Form, Form)], name: &str) -> Option<String> {
    properties.iter().find_map(|(key, value)| match &value.node {
        Node::String(text) if key.keyword() == Some(name) => Some(text.clone()),
        _ => None,
    })
}
