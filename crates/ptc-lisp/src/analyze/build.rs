//! Making forms: the rewriting macros say what they expand to with these.
//!
//! Expansions refer to special forms by names that a program cannot shadow (`%let` for `let`) and to
//! functions by qualified names.

use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Marks names that only expansions can write.
pub const INTERNAL: char = '\u{1}';

/// Makes forms that all stand at one place.
#[derive(Clone, Copy)]
pub struct At(pub Span);

impl At {
    /// A symbol. A leading `%` becomes [`INTERNAL`]: a special form or builtin that no program can
    /// shadow or name.
    pub fn sym(self, text: &str) -> Form {
        let text = match text.strip_prefix('%') {
            Some(rest) => format!("{INTERNAL}{rest}"),
            None => text.to_owned(),
        };
        Form::new(FormKind::Symbol(text), self.0)
    }

    /// A keyword.
    pub fn kw(self, text: &str) -> Form {
        Form::new(FormKind::Keyword(text.to_owned()), self.0)
    }

    /// A string.
    pub fn str(self, text: &str) -> Form {
        Form::new(FormKind::Str(text.to_owned()), self.0)
    }

    /// An integer.
    pub fn int(self, int: i64) -> Form {
        Form::new(FormKind::Int(int), self.0)
    }

    /// `nil`
    pub fn nil(self) -> Form {
        Form::new(FormKind::Nil, self.0)
    }

    /// `(items…)`
    pub fn list(self, items: Vec<Form>) -> Form {
        Form::new(FormKind::List(items.into()), self.0)
    }

    /// `[items…]`
    pub fn vector(self, items: Vec<Form>) -> Form {
        Form::new(FormKind::Vector(items.into()), self.0)
    }

    /// `{items…}`
    pub fn map(self, items: Vec<Form>) -> Form {
        Form::new(FormKind::Map(items.into()), self.0)
    }

    /// `'form`
    pub fn quote(self, form: Form) -> Form {
        Form::new(FormKind::Quote(form.into()), self.0)
    }

    /// `#'name`
    pub fn var(self, name: Form) -> Form {
        Form::new(FormKind::Var(name.into()), self.0)
    }

    /// `(head items…)`
    pub fn call(self, head: &str, items: impl IntoIterator<Item = Form>) -> Form {
        let mut list = vec![self.sym(head)];
        list.extend(items);
        self.list(list)
    }

    /// `(%let [name value …] body…)`
    pub fn bind(self, bindings: Vec<Form>, body: impl IntoIterator<Item = Form>) -> Form {
        let mut list = vec![self.sym("%let"), self.vector(bindings)];
        list.extend(body);
        self.list(list)
    }

    /// `(%if test then else)`
    pub fn if_(self, test: Form, then: Form, other: Form) -> Form {
        self.call("%if", [test, then, other])
    }

    /// `(%do body…)`
    pub fn do_(self, body: impl IntoIterator<Item = Form>) -> Form {
        self.call("%do", body)
    }

    /// `(%fn [params…] body…)`
    pub fn fn_(self, params: Vec<Form>, body: impl IntoIterator<Item = Form>) -> Form {
        let mut list = vec![self.sym("%fn"), self.vector(params)];
        list.extend(body);
        self.list(list)
    }
}
