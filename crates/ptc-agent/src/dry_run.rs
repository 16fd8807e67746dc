//! Looks at a run before it begins: placeholders without values, inputs that break the signature, names that
//! clash.

use std::borrow::Cow;

use ptc_signature::{
    Issue, Mode, OnMissing, Record, Rejection, Segment, TemplateError, Type, UnknownPath, keys,
};
use serde_json::{Map, Value as Json};

use crate::agent::Agent;
use crate::reason::Reason;
use crate::run::Context;
use crate::step::Fail;
use crate::written::{self, Datum};

impl Agent {
    /// What would go wrong with these inputs, without asking any model.
    pub fn validate(&self, context: &Json) -> Vec<Fail> {
        let mut whole = Cow::Borrowed(context);
        if self.lacks_optional(context) {
            self.complete(whole.to_mut());
        }
        let rejected = self.takes(&whole).err();
        self.found(&whole, rejected)
    }

    /// The same for inputs that may be texts. What a step gives is known when it is there.
    pub fn validate_context(&self, context: &Context) -> Vec<Fail> {
        let written = match context {
            Context::Data(data) => return self.validate(data),
            Context::Step(_) => return Vec::new(),
            Context::Written(written) => written,
        };
        let mut brief = Json::clone(written.brief());
        self.complete(&mut brief);
        let rejected = {
            let inputs = brief.as_object().into_iter().flatten();
            self.takes_parts(inputs.map(|(name, value)| (name, written.datum(name, value)))).err()
        };
        for place in self.template().placeholders() {
            if written.stands_for_less(&brief, &place) {
                written.build(&mut brief, &place);
            }
        }
        self.found(&brief, rejected)
    }

    fn found(&self, context: &Json, rejected: Option<Rejection>) -> Vec<Fail> {
        let mut found = Vec::new();
        found.extend(self.clash(context));
        let errors = rejected.map(|rejection| rejection.errors).unwrap_or_default();
        if self.wants_placeholders()
            && let Err(TemplateError::Missing(mut missing)) =
                self.template().render(&*self.for_prompt(context), OnMissing::Error)
        {
            // What the signature demands is told once, with its type.
            missing.retain(|placeholder| !errors.iter().any(|issue| is_about(issue, placeholder)));
            let error = (!missing.is_empty()).then_some(TemplateError::Missing(missing));
            found.extend(error.map(|error| Fail::new(Reason::TEMPLATE_ERROR, error.to_string())));
        }
        found.extend(errors.iter().map(|issue| Fail::new(Reason::VALIDATION_ERROR, issue.to_string())));
        found
    }

    /// Whether placeholders without a value are a mistake: else they stay, unless a signature that is held to its word
    /// demands the value.
    fn wants_placeholders(&self) -> bool {
        let held = matches!(self.options().signature_validation, Mode::Enabled | Mode::Strict);
        self.options().on_missing == OnMissing::Error || (held && self.signature().is_some())
    }

    /// Inputs that the agent does not know, where it says which there are: most likely names with a slip of the pen.
    pub fn unknown_inputs(&self, context: &Json) -> Vec<String> {
        let own = self.signature().map(|signature| &signature.input);
        let declared: Vec<&Record> = own.into_iter().chain(self.context_record()).collect();
        let strictness = self.options().signature_validation;
        if declared.iter().all(|record| record.fields.is_empty()) || strictness == Mode::Disabled {
            return Vec::new();
        }
        let fields = declared.iter().flat_map(|record| &record.fields).map(|field| field.name.clone());
        let described = self.options().context_descriptions.keys().cloned();
        let known: Vec<String> = fields.chain(described).collect();
        let given = context.as_object().into_iter().flat_map(|inputs| inputs.keys());
        given
            .filter(|name| !known.iter().any(|other| keys::same(name, other)))
            .map(|name| format!("input {}", UnknownPath { name: name.clone(), known: known.clone() }))
            .collect()
    }

    /// The inputs that the signature of the context gives types to.
    fn context_record(&self) -> Option<&Record> {
        match self.context_types() {
            Some(Type::Record(record)) => Some(record),
            _ => None,
        }
    }

    /// Holds inputs to the signature, as strictly as the agent says; `Ok` carries what is only warned of.
    pub(crate) fn takes(&self, context: &Json) -> Result<Vec<Issue>, Rejection> {
        let Some(signature) = self.signature() else { return Ok(Vec::new()) };
        signature.validate_input(context, self.options().signature_validation)
    }

    /// The same for inputs of which some are texts.
    pub(crate) fn takes_parts<'d>(
        &self,
        inputs: impl Iterator<Item = (&'d String, Datum<'d>)>,
    ) -> Result<Vec<Issue>, Rejection> {
        let Some(signature) = self.signature() else { return Ok(Vec::new()) };
        let mode = self.options().signature_validation;
        let inputs = inputs.map(|(name, value)| (Cow::Borrowed(name.as_str()), value));
        let errors = match mode {
            Mode::Disabled => Vec::new(),
            _ => written::issues(&signature.input, inputs, mode),
        };
        match mode {
            Mode::WarnOnly => Ok(errors),
            _ if errors.is_empty() => Ok(errors),
            _ => Err(Rejection { errors, warnings: Vec::new() }),
        }
    }

    /// Whether an input that may be left out was.
    pub(crate) fn lacks_optional(&self, context: &Json) -> bool {
        self.left_out(context).next().is_some()
    }

    /// Gives inputs that were left out, and may be, as nil: programs and prompts can name them all the same.
    pub(crate) fn complete(&self, context: &mut Json) {
        let names: Vec<String> = self.left_out(context).map(str::to_owned).collect();
        if context.is_null() {
            *context = Json::Object(Map::new());
        }
        if let Json::Object(inputs) = context {
            inputs.extend(names.into_iter().map(|name| (name, Json::Null)));
        }
    }

    /// The inputs as prompts take them: fields within them that were left out, and may be, are nil.
    pub(crate) fn for_prompt<'c>(&self, context: &'c Json) -> Cow<'c, Json> {
        let mut whole = Cow::Borrowed(context);
        if let Some(signature) = self.signature() {
            let input = Type::Record(signature.input.clone());
            if lacks(&input, context) {
                fill(&input, whole.to_mut());
            }
        }
        whole
    }

    fn left_out(&self, context: &Json) -> impl Iterator<Item = &str> {
        let fields = self.signature().map(|signature| signature.input.fields.as_slice()).unwrap_or_default();
        let absent = |name: &str| keys::lookup(context, name).is_none();
        fields
            .iter()
            .filter(move |field| field.ty.is_optional() && absent(&field.name))
            .map(|field| field.name.as_str())
    }

    /// An input that has the name of a tool.
    pub(crate) fn clash(&self, context: &Json) -> Option<Fail> {
        let name = context.as_object()?.keys().find(|key| self.tools().contains_key(*key))?;
        let message = format!("the input `{name}` has the name of a tool; rename one of them");
        Some(Fail::new(Reason::CONTEXT_CLASH, message))
    }
}

/// Whether a field that may be left out was, somewhere in a value. Values of this depth have passed the limits of JSON.
fn lacks(ty: &Type, value: &Json) -> bool {
    match (ty.required(), value) {
        (Type::Record(record), Json::Object(_)) => record.fields.iter().any(|field| {
            keys::lookup(value, &field.name).map_or(field.ty.is_optional(), |inner| lacks(&field.ty, inner))
        }),
        (Type::List(item), Json::Array(items)) => items.iter().any(|inner| lacks(item, inner)),
        _ => false,
    }
}

/// Puts nil there.
fn fill(ty: &Type, value: &mut Json) {
    match (ty.required(), value) {
        (Type::Record(record), value @ Json::Object(_)) => {
            let absent: Vec<String> = record
                .fields
                .iter()
                .filter(|field| field.ty.is_optional() && keys::lookup(value, &field.name).is_none())
                .map(|field| field.name.clone())
                .collect();
            let Json::Object(fields) = value else { return };
            for (key, inner) in fields.iter_mut() {
                if let Some(field) = record.field(key) {
                    fill(&field.ty, inner);
                }
            }
            fields.extend(absent.into_iter().map(|name| (name, Json::Null)));
        }
        (Type::List(item), Json::Array(items)) => items.iter_mut().for_each(|inner| fill(item, inner)),
        _ => {}
    }
}

/// Whether an issue of the inputs is about the one that a placeholder begins with.
fn is_about(issue: &Issue, placeholder: &str) -> bool {
    let input = placeholder.split('.').next().unwrap_or_default();
    matches!(issue.path.0.first(), Some(Segment::Field(name)) if keys::kebab(name) == keys::kebab(input))
}
