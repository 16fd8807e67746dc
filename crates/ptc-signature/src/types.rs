//! The one internal representation of a contract: [`Type`] and its parts.
//!
//! Shorthand, Malli data, JSON Schema and Rust types are all read into these values; validation, coercion,
//! rendering and schema export only ever look at them. The constructors keep types in one normal form
//! (unions are flat and hold no optional member, optional is never doubled), so that equal contracts compare
//! equal and every type can be written in the shorthand.

use std::cmp::Ordering;

use crate::keys;

/// How deep types may nest, and how deep values are followed.
///
/// As deep as JSON text is read; far beyond what a person or a model writes, so that only hostile input meets
/// it: with a clean error, never the end of the native stack.
pub const MAX_DEPTH: usize = 128;

/// The type of a value at the boundary between agents, tools and programs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Type {
    /// `:any`: every value, nil included.
    Any,
    /// `:nil`: only nil.
    Nil,
    /// `:bool`.
    Bool,
    /// `:keyword`: a keyword, or a string that could name one.
    Keyword,
    /// `:datetime`: a point in time (as text: ISO 8601 with an offset).
    DateTime,
    /// `:map`: any map.
    Map,
    /// `:string`, with an optional range on the length in characters.
    String(Range),
    /// `:int`, with an optional range.
    Int(Range),
    /// `:float`, with an optional range; whole numbers are accepted.
    Float(Range),
    /// `:enum[a b c]`: one of the listed values.
    Enum(Vec<Literal>),
    /// `[t]`: a list whose items are all of one type.
    List(Box<Type>),
    /// `{name t, …}`: a map with named fields.
    Record(Record),
    /// `:map[k v]`: a map with arbitrary keys and values of one type.
    MapOf(Box<MapOf>),
    /// `a|b`: any of two or more types.
    Union(Vec<Type>),
    /// `t?`: the type, nil, or (as a field) absent.
    Optional(Box<Type>),
}

impl Type {
    /// `:string` without a length range.
    pub const STRING: Type = Type::String(Range::UNBOUNDED);
    /// `:int` without a range.
    pub const INT: Type = Type::Int(Range::UNBOUNDED);
    /// `:float` without a range.
    pub const FLOAT: Type = Type::Float(Range::UNBOUNDED);

    /// A list of `item`.
    pub fn list(item: Type) -> Type {
        Type::List(Box::new(item))
    }

    /// An open map with these fields.
    pub fn record(fields: impl IntoIterator<Item = Field>) -> Type {
        Type::Record(Record::open(fields))
    }

    /// A map from `key` to `value`; with unrestricted keys and values this is [`Type::Map`].
    pub fn map_of(key: Type, value: Type) -> Type {
        match (key, value) {
            (Type::Any, Type::Any) => Type::Map,
            (key, value) => Type::MapOf(Box::new(MapOf { key, value })),
        }
    }

    /// The type, or nil, or absent. Applying it twice changes nothing.
    pub fn optional(self) -> Type {
        match self {
            Type::Optional(_) => self,
            other => Type::Optional(Box::new(other)),
        }
    }

    /// Any of `members`, in normal form: flat, without duplicates, enums merged, `:any` swallowing the rest,
    /// optionality moved outside. No members at all give `:any`.
    pub fn union(members: impl IntoIterator<Item = Type>) -> Type {
        let mut flat = Vec::new();
        let mut nullable = false;
        for member in members {
            flatten(member, &mut flat, &mut nullable);
        }
        let base = match flat.len() {
            0 if nullable => return Type::Nil,
            0 => Type::Any,
            _ if flat.contains(&Type::Any) => Type::Any,
            1 => flat.remove(0),
            _ => Type::Union(flat),
        };
        if nullable { base.optional() } else { base }
    }

    /// Whether a field of this type may be left out.
    pub fn is_optional(&self) -> bool {
        matches!(self, Type::Optional(_))
    }

    /// The type without its `?`.
    pub fn required(&self) -> &Type {
        match self {
            Type::Optional(inner) => inner,
            other => other,
        }
    }

    /// Whether values of this type print as one piece of text (what a template variable needs).
    pub fn is_scalar(&self) -> bool {
        match self.required() {
            Type::List(_) | Type::Record(_) | Type::Map | Type::MapOf(_) => false,
            Type::Union(members) => members.iter().any(Type::is_scalar),
            _ => true,
        }
    }

    /// Whether the type can be a list (what a template section repeats over).
    pub fn is_iterable(&self) -> bool {
        match self.required() {
            Type::List(_) | Type::Any => true,
            Type::Union(members) => members.iter().any(Type::is_iterable),
            _ => false,
        }
    }

    /// The same type with every firewalled field left out, at any depth.
    pub fn public(&self) -> Type {
        match self {
            Type::List(item) => Type::list(item.public()),
            Type::Record(record) => Type::Record(record.public()),
            Type::MapOf(map) => Type::map_of(map.key.clone(), map.value.public()),
            Type::Union(members) => Type::union(members.iter().map(Type::public)),
            Type::Optional(inner) => inner.public().optional(),
            other => other.clone(),
        }
    }

    /// How many levels the type nests.
    pub fn depth(&self) -> usize {
        let inner = match self {
            Type::List(inner) | Type::Optional(inner) => inner.depth(),
            Type::Record(record) => record.fields.iter().map(|f| f.ty.depth()).max().unwrap_or(0),
            Type::MapOf(map) => map.key.depth().max(map.value.depth()),
            Type::Union(members) => members.iter().map(Type::depth).max().unwrap_or(0),
            _ => return 1,
        };
        inner + 1
    }
}

fn flatten(member: Type, flat: &mut Vec<Type>, nullable: &mut bool) {
    match member {
        Type::Union(inner) => inner.into_iter().for_each(|m| flatten(m, flat, nullable)),
        Type::Optional(inner) => {
            *nullable = true;
            flatten(*inner, flat, nullable);
        }
        Type::Nil => *nullable = true,
        Type::Enum(literals) => {
            let known = flat.iter_mut().find_map(|t| if let Type::Enum(l) = t { Some(l) } else { None });
            match known {
                Some(known) => literals.into_iter().for_each(|l| {
                    if !known.contains(&l) {
                        known.push(l);
                    }
                }),
                None => flat.push(Type::Enum(literals)),
            }
        }
        other if flat.contains(&other) => {}
        other => flat.push(other),
    }
}

/// A map type with named fields. Closed maps reject every other field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// The declared fields, in order.
    pub fields: Vec<Field>,
    /// Whether undeclared fields are an error in every mode (`{…}!`).
    pub closed: bool,
}

impl Record {
    /// A record that tolerates undeclared fields.
    pub fn open(fields: impl IntoIterator<Item = Field>) -> Record {
        Record { fields: fields.into_iter().collect(), closed: false }
    }

    /// A record that rejects undeclared fields.
    pub fn closed(fields: impl IntoIterator<Item = Field>) -> Record {
        Record { fields: fields.into_iter().collect(), closed: true }
    }

    /// The field called `name`, where hyphens and underscores are the same.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let exact = self.fields.iter().find(|f| f.name == name);
        exact.or_else(|| self.fields.iter().find(|f| keys::same(&f.name, name)))
    }

    /// The same record with every firewalled field left out, at any depth.
    pub fn public(&self) -> Record {
        let visible = self.fields.iter().filter(|f| !f.is_firewalled());
        let fields = visible.map(|f| Field { ty: f.ty.public(), ..f.clone() }).collect();
        Record { fields, closed: self.closed }
    }
}

/// One field of a [`Record`], or one parameter of a signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name as declared.
    pub name: String,
    /// The type of the value; [`Type::Optional`] means the field may be left out.
    pub ty: Type,
    /// What the field means, for JSON Schema; the shorthand has no place for it.
    pub description: Option<String>,
}

impl Field {
    /// A field without a description.
    pub fn new(name: impl Into<String>, ty: Type) -> Field {
        Field { name: name.into(), ty, description: None }
    }

    /// Whether the value is kept from everything a model reads: the name begins with `_`.
    pub fn is_firewalled(&self) -> bool {
        crate::firewall::is_firewalled(&self.name)
    }
}

/// A map with arbitrary keys: `:map[:string :int]`.
#[derive(Clone, Debug, PartialEq)]
pub struct MapOf {
    /// What the keys must look like: strings, keywords, ints written as text, or an enum.
    pub key: Type,
    /// The type of every value.
    pub value: Type,
}

/// A value listed in an enum. Strings also match keywords of that name.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A string or a keyword name.
    String(String),
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
}

/// A number as far as comparing needs it. Integers beyond 128 bits may be given as the nearest float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Int(i128),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// The number as a float, rounded where it must be.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(i) => i as f64,
            Number::Float(f) => f,
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(b)),
            (a, b) => a.as_f64().partial_cmp(&b.as_f64()),
        }
    }
}

/// One end of a [`Range`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The limit itself.
    pub value: Number,
    /// Whether the limit itself is outside the range.
    pub exclusive: bool,
}

/// The refinement of a number (its value) or a string (its length): `[1..100]`, `[>0]`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    /// The lower end, if any.
    pub min: Option<Bound>,
    /// The upper end, if any.
    pub max: Option<Bound>,
}

impl Range {
    /// No limits.
    pub const UNBOUNDED: Range = Range { min: None, max: None };

    /// Both ends included.
    pub fn between(min: Number, max: Number) -> Range {
        Range::default().at_least(min).at_most(max)
    }

    /// The range with its lower end (included) raised to `value`.
    pub fn at_least(self, value: Number) -> Range {
        self.with_min(Bound { value, exclusive: false })
    }

    /// The range with its upper end (included) lowered to `value`.
    pub fn at_most(self, value: Number) -> Range {
        self.with_max(Bound { value, exclusive: false })
    }

    /// The range narrowed from below; the stricter of the two bounds stays.
    pub fn with_min(self, bound: Bound) -> Range {
        let keep = |old: &Bound| {
            old.value > bound.value || (old.value == bound.value && (old.exclusive || !bound.exclusive))
        };
        Range { min: Some(self.min.filter(keep).unwrap_or(bound)), ..self }
    }

    /// The range narrowed from above; the stricter of the two bounds stays.
    pub fn with_max(self, bound: Bound) -> Range {
        let keep = |old: &Bound| {
            old.value < bound.value || (old.value == bound.value && (old.exclusive || !bound.exclusive))
        };
        Range { max: Some(self.max.filter(keep).unwrap_or(bound)), ..self }
    }

    /// Both ranges at once.
    pub fn intersect(self, other: Range) -> Range {
        let lower = other.min.map_or(self, |bound| self.with_min(bound));
        other.max.map_or(lower, |bound| lower.with_max(bound))
    }

    /// Whether there is no limit at either end.
    pub fn is_unbounded(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    /// Whether no number can lie in the range.
    pub fn is_empty(&self) -> bool {
        match (self.min, self.max) {
            (Some(min), Some(max)) => {
                min.value > max.value || (min.value == max.value && (min.exclusive || max.exclusive))
            }
            _ => false,
        }
    }

    /// Whether `value` lies in the range.
    pub fn contains(&self, value: Number) -> bool {
        let above = self.min.is_none_or(|b| if b.exclusive { value > b.value } else { value >= b.value });
        let below = self.max.is_none_or(|b| if b.exclusive { value < b.value } else { value <= b.value });
        above && below
    }
}
