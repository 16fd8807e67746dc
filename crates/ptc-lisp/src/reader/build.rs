//! How forms nest: a loop over tokens and a stack of forms that are not finished yet.
//!
//! A frame on the stack is either an open collection or a prefix (`'`, `#_`, `^`, a tag, …) that waits
//! for the next form. When a form is complete it goes to the frame on top; a prefix so filled becomes a
//! complete form itself.

use super::ReadLimits;
use super::cursor::Cursor;
use super::fault::{self, Failure, NameFault, Opener};
use super::{name, number, text};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Reads up to `wanted` top-level forms; also returns the byte offset where reading stopped.
pub(super) fn read(source: &str, limits: &ReadLimits, wanted: usize) -> Result<(Vec<Form>, usize), Failure> {
    if source.len() > limits.max_bytes {
        return Err(fault::too_many_bytes(source.len(), limits));
    }
    let mut builder = Builder {
        cursor: Cursor::new(source),
        limits,
        stack: Vec::new(),
        done: Vec::new(),
        forms_left: limits.max_forms,
        short_fn: None,
    };
    while builder.done.len() < wanted && builder.step()? {}
    Ok((builder.done, builder.cursor.at()))
}

/// What an unfinished form will be.
#[derive(Debug)]
enum Role {
    List,
    Vector,
    Map,
    /// `#:ns{`
    NamespacedMap(String),
    Set,
    ShortFn,
    /// `#?(` and `#?@(`
    Conditional {
        splice: bool,
    },
    Quote,
    Deref,
    Var,
    Discard,
    /// `^`, its metadata not yet read.
    Meta,
    /// `^` with its metadata in `items`, waiting for the form it belongs to.
    MetaTarget,
    Tag(String),
}

impl Role {
    /// The closing delimiter; prefixes have none.
    fn closer(&self) -> Option<char> {
        match self {
            Role::List | Role::ShortFn | Role::Conditional { .. } => Some(')'),
            Role::Vector => Some(']'),
            Role::Map | Role::NamespacedMap(_) | Role::Set => Some('}'),
            Role::Quote | Role::Deref | Role::Var | Role::Discard => None,
            Role::Meta | Role::MetaTarget | Role::Tag(_) => None,
        }
    }
}

/// A form that is not finished.
#[derive(Debug)]
struct Frame {
    role: Role,
    /// The opening delimiter or the prefix.
    opening: Span,
    items: Vec<Form>,
}

struct Builder<'a> {
    cursor: Cursor<'a>,
    limits: &'a ReadLimits,
    stack: Vec<Frame>,
    /// Finished top-level forms.
    done: Vec<Form>,
    forms_left: usize,
    /// Where the `#()` we are in begins.
    short_fn: Option<Span>,
}

impl Builder<'_> {
    /// Reads one token; false at the end of the text.
    fn step(&mut self) -> Result<bool, Failure> {
        self.cursor.skip_blank();
        let start = self.cursor.at();
        let Some(first) = self.cursor.bump() else {
            return self.end().map(|()| false);
        };
        match first {
            '(' => self.open(Role::List, start)?,
            '[' => self.open(Role::Vector, start)?,
            '{' => self.open(Role::Map, start)?,
            ')' | ']' | '}' => self.close(first, start)?,
            '"' => {
                let text = text::string(&mut self.cursor, start)?;
                self.atom(FormKind::Str(text), start)?;
            }
            '\\' => {
                let text = text::character(&mut self.cursor, start)?;
                self.atom(FormKind::Str(text), start)?;
            }
            '\'' => self.open(Role::Quote, start)?,
            '@' => self.open(Role::Deref, start)?,
            '^' => self.open(Role::Meta, start)?,
            '`' | '~' => return Err(self.refuse_syntax_quote(first, start)),
            '#' => self.dispatch(start)?,
            ':' => {
                let token = self.cursor.token();
                let keyword = name::keyword(token).map_err(|fault| self.bad_name(fault, start))?;
                self.atom(keyword, start)?;
            }
            _ => self.word(start)?,
        }
        Ok(true)
    }

    /// A number, a symbol, or `nil`, `true`, `false`; its first character is already read.
    fn word(&mut self, start: usize) -> Result<(), Failure> {
        self.cursor.token();
        let token = &self.cursor.source()[start..self.cursor.at()];
        let kind = if number::looks_numeric(token) {
            number::parse(token, self.limits.max_digits)
                .map_err(|fault| fault::bad_number(&fault, token, self.since(start), self.limits))?
        } else if number::lacks_zero(token) {
            return Err(fault::missing_zero(token, self.since(start)));
        } else if token.starts_with(['“', '”', '„', '‘', '’']) {
            return Err(self.bad_name(NameFault::TypographicQuote, start));
        } else {
            name::symbol(token).map_err(|fault| self.bad_name(fault, start))?
        };
        self.atom(kind, start)
    }

    /// What `#` begins; the `#` is already read.
    fn dispatch(&mut self, start: usize) -> Result<(), Failure> {
        let next = self.cursor.peek();
        let role = match next {
            Some('{') => Role::Set,
            Some('_') => Role::Discard,
            Some('\'') => Role::Var,
            Some('^') => Role::Meta,
            Some('(') => Role::ShortFn,
            Some(c) if c.is_alphabetic() => Role::Tag(self.cursor.token().to_owned()),
            Some('"') => {
                self.cursor.bump();
                let text = text::regex(&mut self.cursor, start)?;
                return self.atom(FormKind::Regex(text), start);
            }
            Some('!') => {
                self.cursor.skip_line();
                return Ok(());
            }
            Some('#') => return self.symbolic(start),
            Some('?') => return self.conditional(start),
            Some(':') => return self.namespaced_map(start),
            Some('=') => return Err(fault::read_eval(Span::new(start, start + 2))),
            _ => {
                let width = 1 + next.map_or(0, char::len_utf8);
                return Err(fault::unknown_dispatch(next, Span::new(start, start + width)));
            }
        };
        if !matches!(role, Role::Tag(_)) {
            self.cursor.bump();
        }
        if let (Role::ShortFn, Some(outer)) = (&role, self.short_fn) {
            return Err(fault::nested_short_fn(self.since(start), outer));
        }
        self.open(role, start)
    }

    /// `##Inf` and its like; the first `#` is already read.
    fn symbolic(&mut self, start: usize) -> Result<(), Failure> {
        let value = match self.cursor.token() {
            "#Inf" => f64::INFINITY,
            "#-Inf" => f64::NEG_INFINITY,
            "#NaN" => f64::NAN,
            token => {
                let at_end = token == "#" && self.cursor.peek().is_none();
                return Err(fault::unknown_symbolic(self.since(start), at_end));
            }
        };
        self.atom(FormKind::Float(value), start)
    }

    /// `#?(` and `#?@(`; the `#` is already read.
    fn conditional(&mut self, start: usize) -> Result<(), Failure> {
        self.cursor.bump();
        let splice = self.cursor.eat('@');
        self.cursor.skip_blank();
        if !self.cursor.eat('(') {
            let incomplete = self.cursor.peek().is_none();
            let error = fault::conditional_without_list(self.since(start)).error;
            return Err(Failure { error, incomplete });
        }
        self.open(Role::Conditional { splice }, start)
    }

    /// `#:ns{` and `#::{`; the `#` is already read.
    fn namespaced_map(&mut self, start: usize) -> Result<(), Failure> {
        self.cursor.bump();
        let namespace =
            name::map_namespace(self.cursor.token()).map_err(|fault| self.bad_name(fault, start))?;
        let prefix = self.since(start);
        self.cursor.skip_blank();
        if !self.cursor.eat('{') {
            let written = &self.cursor.source()[start..prefix.end as usize];
            return Err(fault::dangling_prefix(written, prefix, self.cursor.peek().is_none()));
        }
        self.open(Role::NamespacedMap(namespace), start)
    }

    fn refuse_syntax_quote(&mut self, first: char, start: usize) -> Failure {
        if first == '`' && self.cursor.rest().starts_with("``") {
            return fault::markdown_fence(Span::new(start, start + 3));
        }
        if first == '~' {
            self.cursor.eat('@');
        }
        fault::syntax_quote(&self.cursor.source()[start..self.cursor.at()], self.since(start))
    }

    fn bad_name(&self, fault: NameFault, start: usize) -> Failure {
        fault::bad_name(fault, &self.cursor.source()[start..self.cursor.at()], self.since(start))
    }

    fn since(&self, start: usize) -> Span {
        Span::new(start, self.cursor.at())
    }

    fn open(&mut self, role: Role, start: usize) -> Result<(), Failure> {
        let opening = self.since(start);
        if self.stack.len() >= self.limits.max_depth {
            return Err(fault::too_deep(opening, self.limits));
        }
        if matches!(role, Role::ShortFn) {
            self.short_fn = Some(opening);
        }
        self.stack.push(Frame { role, opening, items: Vec::new() });
        Ok(())
    }

    fn close(&mut self, found: char, start: usize) -> Result<(), Failure> {
        let span = self.since(start);
        let Some(frame) = self.stack.pop() else {
            return Err(fault::surplus(found, span));
        };
        match frame.role.closer() {
            None => Err(self.dangling(&frame, false)),
            Some(closer) if closer != found => {
                let opener = Opener { span: frame.opening, closer };
                Err(fault::mismatched(self.cursor.source(), found, span, &opener))
            }
            Some(_) => self.collection(frame, span),
        }
    }

    /// Makes the form of a closed collection.
    fn collection(&mut self, frame: Frame, closing: Span) -> Result<(), Failure> {
        let Frame { role, opening, mut items } = frame;
        let span = opening.to(closing);
        let kind = match role {
            Role::Vector => FormKind::Vector(items),
            Role::Set => FormKind::Set(items),
            Role::ShortFn => {
                self.short_fn = None;
                FormKind::ShortFn(items)
            }
            Role::Map => {
                self.check_pairs(&items, opening)?;
                FormKind::Map(items)
            }
            Role::NamespacedMap(namespace) => {
                self.check_pairs(&items, opening)?;
                for key in items.iter_mut().step_by(2) {
                    name::qualify_key(key, &namespace);
                }
                FormKind::Map(items)
            }
            Role::Conditional { splice } => return self.choose(items, splice, span),
            _ => FormKind::List(items),
        };
        self.complete(Form::new(kind, span))
    }

    fn check_pairs(&self, items: &[Form], opening: Span) -> Result<(), Failure> {
        if items.len().is_multiple_of(2) {
            return Ok(());
        }
        let (index, is_key) = lonely(items);
        Err(fault::odd_map(self.cursor.source(), opening, items.len(), items[index].span, is_key))
    }

    /// Picks the branch of a reader conditional: the first that is for `:clj` or for everyone.
    fn choose(&mut self, items: Vec<Form>, splice: bool, span: Span) -> Result<(), Failure> {
        let mut chosen = None;
        let mut rest = items.into_iter();
        while let Some(feature) = rest.next() {
            let (Some(keyword), Some(form)) = (feature.as_keyword(), rest.next()) else {
                return Err(fault::bad_conditional(feature.span));
            };
            if chosen.is_none() && matches!(keyword, "clj" | "default") {
                chosen = Some(form);
            }
        }
        if splice && self.stack.iter().all(|frame| frame.role.closer().is_none()) {
            return Err(fault::bad_splice(span));
        }
        let Some(form) = chosen else { return Ok(()) };
        if !splice {
            return self.complete(form);
        }
        match form.kind {
            FormKind::List(items) | FormKind::Vector(items) => {
                items.into_iter().try_for_each(|item| self.complete(item))
            }
            _ => Err(fault::bad_splice(form.span)),
        }
    }

    fn atom(&mut self, kind: FormKind, start: usize) -> Result<(), Failure> {
        let form = Form::new(kind, self.since(start));
        self.complete(form)
    }

    /// Hands a finished form to the frame on top of the stack, or to the result.
    fn complete(&mut self, mut form: Form) -> Result<(), Failure> {
        loop {
            self.forms_left = self
                .forms_left
                .checked_sub(1)
                .ok_or_else(|| fault::too_many_forms(form.span, self.limits))?;
            let Some(frame) = self.stack.last_mut() else {
                self.done.push(form);
                return Ok(());
            };
            if frame.role.closer().is_some() {
                frame.items.push(form);
                return Ok(());
            }
            let Some(frame) = self.stack.pop() else { return Ok(()) };
            match self.fill(frame, form)? {
                Some(filled) => form = filled,
                None => return Ok(()),
            }
        }
    }

    /// Gives a prefix the form it waited for; `None` if there is nothing to hand on.
    fn fill(&mut self, mut frame: Frame, mut form: Form) -> Result<Option<Form>, Failure> {
        let span = frame.opening.to(form.span);
        let kind = match frame.role {
            Role::Discard => return Ok(None),
            Role::Meta => {
                use FormKind::{Keyword, Map, Str, Symbol};
                if !matches!(form.kind, Keyword(_) | Symbol(_) | Str(_) | Map(_)) {
                    return Err(fault::bad_meta(form.span));
                }
                self.stack.push(Frame { role: Role::MetaTarget, opening: frame.opening, items: vec![form] });
                return Ok(None);
            }
            Role::MetaTarget => {
                frame.items.append(&mut form.meta);
                form.meta = frame.items;
                return Ok(Some(form));
            }
            Role::Var if form.as_symbol().is_none() => return Err(fault::var_needs_symbol(span)),
            Role::Var => FormKind::Var(Box::new(form)),
            Role::Deref => FormKind::Deref(Box::new(form)),
            Role::Tag(tag) => FormKind::Tagged(tag, Box::new(form)),
            _ => FormKind::Quote(Box::new(form)),
        };
        Ok(Some(Form::new(kind, span)))
    }

    /// Checks at the end of the text that nothing is unfinished.
    fn end(&mut self) -> Result<(), Failure> {
        let Some(last) = self.stack.last() else { return Ok(()) };
        if last.role.closer().is_none() {
            return Err(self.dangling(last, true));
        }
        let open: Vec<Opener> = self
            .stack
            .iter()
            .filter_map(|frame| Some(Opener { span: frame.opening, closer: frame.role.closer()? }))
            .collect();
        Err(fault::unclosed(self.cursor.source(), &open))
    }

    fn dangling(&self, frame: &Frame, at_end: bool) -> Failure {
        let Span { start, end } = frame.opening;
        fault::dangling_prefix(&self.cursor.source()[start as usize..end as usize], frame.opening, at_end)
    }
}

/// The form of an odd map that seems to be alone, and whether it is a key that lacks its value (or else
/// a value that lacks its key). Where keys are keywords, the first other form in a key's place tells.
fn lonely(items: &[Form]) -> (usize, bool) {
    let is_keyword = |index: usize| items[index].as_keyword().is_some();
    let last = items.len() - 1;
    if last == 0 || !is_keyword(0) {
        return (last, true);
    }
    match (2..=last).step_by(2).find(|index| !is_keyword(*index)) {
        None => (last, true),
        Some(index) if is_keyword(index - 1) => (index - 2, true),
        Some(index) => (index, false),
    }
}
