//! How forms nest: a loop over tokens and a stack of forms that are not finished yet.
//!
//! A frame on the stack is either an open collection or a prefix (`'`, `#_`, `^`, a tag, …) that waits
//! for the next form. When a form is complete it goes to the frame on top; a prefix so filled becomes a
//! complete form itself.

use super::ReadLimits;
use super::fault::{self, Failure, Opener};
use super::lex::{Lexer, OpeningKind, Prefix, Token};
use super::name;
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// What was read.
pub(super) struct ReadForms {
    /// The top-level forms.
    pub(super) forms: Vec<Form>,
    /// The byte offset where reading stopped.
    pub(super) after: usize,
    /// What `#_` left out, where the text is data.
    pub(super) discarded: Vec<Form>,
}

/// Reads up to `wanted` top-level forms.
pub(super) fn read(source: &str, limits: &ReadLimits, wanted: usize) -> Result<ReadForms, Failure> {
    if source.len() > limits.max_bytes {
        return Err(fault::too_many_bytes(source.len(), limits));
    }
    let mut lexer = Lexer::new(source, limits);
    let mut builder = FormBuilder {
        source,
        limits,
        stack: Vec::new(),
        parts: Vec::new(),
        done: Vec::new(),
        discarded: Vec::new(),
        forms: 0,
        short_fn: None,
    };
    while builder.done.len() < wanted {
        let Some((token, span)) = lexer.next()? else {
            builder.check_end()?;
            break;
        };
        builder.take(token, span)?;
    }
    Ok(ReadForms { forms: builder.done, after: lexer.at(), discarded: builder.discarded })
}

/// What an unfinished form waits for.
#[derive(Debug)]
enum Awaited {
    /// More forms or the closing delimiter.
    Collection(OpeningKind),
    /// The form that a prefix belongs to.
    Prefix(Prefix),
    /// The form that the metadata in `items` belongs to.
    MetaTarget,
}

/// A form that is not finished.
#[derive(Debug)]
struct OpenForm {
    role: Awaited,
    /// The opening delimiter or the prefix.
    opening: Span,
    /// Where its parts begin among those of all open forms.
    first: usize,
}

impl OpenForm {
    /// The closing delimiter; prefixes have none.
    fn closer(&self) -> Option<char> {
        match &self.role {
            Awaited::Collection(shape) => Some(shape.closer()),
            Awaited::Prefix(_) | Awaited::MetaTarget => None,
        }
    }
}

struct FormBuilder<'a> {
    source: &'a str,
    limits: &'a ReadLimits,
    stack: Vec<OpenForm>,
    /// The finished parts of all open forms, the outermost form's first.
    parts: Vec<Form>,
    /// Finished top-level forms.
    done: Vec<Form>,
    /// See [`Read::discarded`].
    discarded: Vec<Form>,
    /// How many forms were finished, at any depth.
    forms: usize,
    /// Where the `#()` we are in begins.
    short_fn: Option<Span>,
}

impl FormBuilder<'_> {
    fn take(&mut self, token: Token, span: Span) -> Result<(), Failure> {
        match token {
            Token::Open(shape) => self.open(Awaited::Collection(shape), span),
            Token::Prefix(prefix) => self.open(Awaited::Prefix(prefix), span),
            Token::Close(closer) => self.close(closer, span),
            Token::Atom(kind) => self.complete(Form::new(kind, span)),
        }
    }

    fn open(&mut self, role: Awaited, opening: Span) -> Result<(), Failure> {
        if self.stack.len() >= self.limits.max_depth {
            return Err(fault::too_deep(opening, self.limits));
        }
        if let Awaited::Collection(OpeningKind::ShortFn) = role
            && let Some(outer) = self.short_fn.replace(opening)
        {
            return Err(fault::nested_short_fn(opening, outer));
        }
        self.stack.push(OpenForm { role, opening, first: self.parts.len() });
        Ok(())
    }

    fn close(&mut self, found: char, span: Span) -> Result<(), Failure> {
        let Some(frame) = self.stack.pop() else {
            return Err(fault::surplus(found, span));
        };
        match frame.role {
            Awaited::Collection(shape) if shape.closer() == found => {
                self.collection(shape, frame.first, frame.opening, span)
            }
            Awaited::Collection(shape) => {
                let opener = Opener { span: frame.opening, closer: shape.closer() };
                Err(fault::mismatched(self.source, found, span, &opener))
            }
            Awaited::Prefix(_) | Awaited::MetaTarget => Err(self.dangling(frame.opening, false)),
        }
    }

    /// Makes the form of a closed collection, whose parts are those from `first` on.
    fn collection(
        &mut self,
        shape: OpeningKind,
        first: usize,
        opening: Span,
        closing: Span,
    ) -> Result<(), Failure> {
        let span = opening.to(closing);
        let kind = match shape {
            OpeningKind::List => FormKind::List(self.parts.drain(first..).collect()),
            OpeningKind::Vector => FormKind::Vector(self.parts.drain(first..).collect()),
            OpeningKind::Set => FormKind::Set(self.parts.drain(first..).collect()),
            OpeningKind::ShortFn => {
                self.short_fn = None;
                FormKind::ShortFn(self.parts.drain(first..).collect())
            }
            OpeningKind::Map => {
                self.check_pairs(first, opening)?;
                FormKind::Map(self.parts.drain(first..).collect())
            }
            OpeningKind::NamespacedMap(namespace) => {
                self.check_pairs(first, opening)?;
                for key in self.parts[first..].iter_mut().step_by(2) {
                    name::qualify_key(key, &namespace);
                }
                FormKind::Map(self.parts.drain(first..).collect())
            }
            OpeningKind::Conditional { splice } => return self.choose(first, splice, span),
        };
        self.complete(Form::new(kind, span))
    }

    fn check_pairs(&self, first: usize, opening: Span) -> Result<(), Failure> {
        let items = &self.parts[first..];
        if items.len().is_multiple_of(2) {
            return Ok(());
        }
        let (index, is_key) = lonely(items);
        Err(fault::odd_map(self.source, opening, items.len(), items[index].span, is_key))
    }

    /// Picks the branch of a reader conditional: the first that is for `:clj` or for everyone.
    fn choose(&mut self, first: usize, splice: bool, span: Span) -> Result<(), Failure> {
        let mut chosen = None;
        let mut rest = self.parts.drain(first..);
        while let Some(feature) = rest.next() {
            let (Some(keyword), Some(form)) = (feature.as_keyword(), rest.next()) else {
                return Err(fault::bad_conditional(feature.span));
            };
            if chosen.is_none() && matches!(keyword, "clj" | "default") {
                chosen = Some(form);
            }
        }
        drop(rest);
        if splice && self.stack.iter().all(|frame| frame.closer().is_none()) {
            return Err(fault::bad_splice(span));
        }
        let Some(form) = chosen else { return Ok(()) };
        if !splice {
            return self.complete(form);
        }
        match form.kind {
            FormKind::List(items) | FormKind::Vector(items) => {
                items.iter().try_for_each(|item| self.complete(item.clone()))
            }
            _ => Err(fault::bad_splice(form.span)),
        }
    }

    /// Hands a finished form to the frame on top of the stack, or to the result.
    fn complete(&mut self, mut form: Form) -> Result<(), Failure> {
        self.count(form.span)?;
        while let Some(frame) = self.stack.pop_if(|frame| frame.closer().is_none()) {
            let Some(filled) = self.fill(frame, form)? else { return Ok(()) };
            self.count(filled.span)?;
            form = filled;
        }
        match self.stack.last() {
            Some(_) => self.parts.push(form),
            None => self.done.push(form),
        }
        Ok(())
    }

    fn count(&mut self, span: Span) -> Result<(), Failure> {
        self.forms += 1;
        if self.forms > self.limits.max_forms {
            return Err(fault::too_many_forms(span, self.limits));
        }
        Ok(())
    }

    /// Gives a prefix the form it waited for; `None` if there is nothing to hand on.
    fn fill(&mut self, frame: OpenForm, mut form: Form) -> Result<Option<Form>, Failure> {
        let span = frame.opening.to(form.span);
        let Awaited::Prefix(prefix) = frame.role else {
            let own = std::mem::take(&mut form.meta);
            form.meta = self.parts.drain(frame.first..).chain(own).collect();
            return Ok(Some(form));
        };
        let kind = match prefix {
            Prefix::Discard => {
                if self.limits.data {
                    self.discarded.push(form);
                }
                return Ok(None);
            }
            Prefix::Meta => {
                use FormKind::{Keyword, Map, Str, Symbol};
                if !matches!(form.kind, Keyword(_) | Symbol(_) | Str(_) | Map(_)) {
                    return Err(fault::bad_meta(form.span));
                }
                self.stack.push(OpenForm {
                    role: Awaited::MetaTarget,
                    opening: frame.opening,
                    first: self.parts.len(),
                });
                self.parts.push(form);
                return Ok(None);
            }
            Prefix::Var if form.as_symbol().is_none() => return Err(fault::var_needs_symbol(span)),
            Prefix::Var => FormKind::Var(form.into()),
            Prefix::Deref => FormKind::Deref(form.into()),
            Prefix::Quote => FormKind::Quote(form.into()),
            Prefix::Tag(tag) => FormKind::Tagged(tag, form.into()),
        };
        Ok(Some(Form::new(kind, span)))
    }

    /// Checks at the end of the text that nothing is unfinished.
    fn check_end(&self) -> Result<(), Failure> {
        let Some(last) = self.stack.last() else { return Ok(()) };
        if last.closer().is_none() {
            return Err(self.dangling(last.opening, true));
        }
        let open: Vec<Opener> = self
            .stack
            .iter()
            .filter_map(|frame| Some(Opener { span: frame.opening, closer: frame.closer()? }))
            .collect();
        Err(fault::unclosed(self.source, &open))
    }

    fn dangling(&self, opening: Span, at_end: bool) -> Failure {
        let written = &self.source[opening.start as usize..opening.end as usize];
        fault::dangling_prefix(written, opening, at_end)
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
