//! Threading macros: `->`, `->>`, `as->`, `cond->`, `some->`, `doto`, `..` and their relatives.

use super::build::At;
use super::{Analyzer, Result, malformed, wrong_count};
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Where the threaded value goes in a step.
#[derive(Clone, Copy, PartialEq)]
enum ThreadPosition {
    First,
    Last,
}

impl Analyzer<'_> {
    pub(super) fn thread(&mut self, name: &str, items: &[Form], span: Span, tail: bool) -> Option<Result> {
        let first =
            |name: &str| if name.ends_with(">>") { ThreadPosition::Last } else { ThreadPosition::First };
        Some(match name {
            "->" | "->>" => match items {
                [_, value, steps @ ..] => {
                    let form =
                        steps.iter().fold(value.clone(), |value, step| insert(value, step, first(name)));
                    self.form(&form, tail)
                }
                _ => Err(empty(name, span)),
            },
            "some->" | "some->>" => self.some_thread(name, items, first(name), span, tail),
            "cond->" | "cond->>" => self.cond_thread(name, items, first(name), span),
            "as->" => self.as_thread(items, span, tail),
            "doto" => self.doto(items, span),
            ".." => match items {
                [_, value, steps @ ..] => {
                    let at = At(span);
                    let form = steps.iter().fold(value.clone(), |value, step| {
                        let mut call = vec![at.sym("."), value];
                        match step.as_list() {
                            Some(list) => call.extend(list.iter().cloned()),
                            None => call.push(step.clone()),
                        }
                        at.list(call)
                    });
                    self.form(&form, tail)
                }
                _ => Err(empty(name, span)),
            },
            _ => return None,
        })
    }

    fn some_thread(
        &mut self,
        name: &str,
        items: &[Form],
        place: ThreadPosition,
        span: Span,
        tail: bool,
    ) -> Result {
        let [_, value, steps @ ..] = items else { return Err(empty(name, span)) };
        let at = At(span);
        let names: Vec<String> = steps.iter().map(|_| self.gensym("some")).collect();
        // Built from the inside out: each step runs only if the value before it is not nil.
        let mut body = None;
        for (at_step, step) in steps.iter().enumerate().rev() {
            let here = &names[at_step];
            let next = insert(at.sym(here), step, place);
            let inner = match body.take() {
                None => next,
                Some(rest) => at.bind(vec![at.sym(&names[at_step + 1]), next], [rest]),
            };
            body = Some(at.call("%if-nil", [at.sym(here), at.nil(), inner]));
        }
        match body {
            None => self.form(value, tail),
            Some(body) => self.form(&at.bind(vec![at.sym(&names[0]), value.clone()], [body]), tail),
        }
    }

    fn cond_thread(&mut self, name: &str, items: &[Form], place: ThreadPosition, span: Span) -> Result {
        let [_, value, clauses @ ..] = items else { return Err(empty(name, span)) };
        if clauses.len() % 2 == 1 {
            return Err(Error::new(ErrorKind::InvalidForm, format!("{name} needs pairs of test and step"))
                .hint("the last test has no step")
                .at(clauses.last().map_or(span, |form| form.span)));
        }
        let at = At(span);
        let temp = self.gensym("cond");
        let mut bindings = vec![at.sym(&temp), value.clone()];
        for pair in clauses.chunks_exact(2) {
            let step = insert(at.sym(&temp), &pair[1], place);
            bindings.extend([at.sym(&temp), at.if_(pair[0].clone(), step, at.sym(&temp))]);
        }
        self.form(&at.bind(bindings, [at.sym(&temp)]), false)
    }

    fn as_thread(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let [_, value, name, steps @ ..] = items else {
            return Err(wrong_count("(as-> value name step…)", span));
        };
        if !matches!(name.kind, FormKind::Symbol(_) | FormKind::Vector(_) | FormKind::Map(_)) {
            return Err(malformed("a name as the second part of as->", name.span));
        }
        let at = At(span);
        let Some((last, steps)) = steps.split_last() else { return self.form(value, tail) };
        let mut bindings = vec![name.clone(), value.clone()];
        for step in steps {
            bindings.extend([name.clone(), step.clone()]);
        }
        self.form(&at.bind(bindings, [last.clone()]), tail)
    }

    fn doto(&mut self, items: &[Form], span: Span) -> Result {
        let [_, value, steps @ ..] = items else { return Err(empty("doto", span)) };
        let at = At(span);
        let temp = self.gensym("doto");
        let calls = steps.iter().map(|step| insert(at.sym(&temp), step, ThreadPosition::First));
        let body: Vec<Form> = calls.chain([at.sym(&temp)]).collect();
        self.form(&at.bind(vec![at.sym(&temp), value.clone()], body), false)
    }
}

/// Puts `value` into a step: as first or last argument of a list, as the only one of anything else.
fn insert(value: Form, step: &Form, place: ThreadPosition) -> Form {
    let span = step.span;
    let items = match &step.kind {
        FormKind::List(items) if !items.is_empty() => {
            let mut items = items.to_vec();
            match place {
                ThreadPosition::First => items.insert(1, value),
                ThreadPosition::Last => items.push(value),
            }
            items
        }
        _ => vec![step.clone(), value],
    };
    Form::new(FormKind::List(items.into()), span)
}

fn empty(name: &str, span: Span) -> Error {
    wrong_count(&format!("({name} value step…)"), span)
}
