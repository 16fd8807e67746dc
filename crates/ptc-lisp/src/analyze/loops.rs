//! Loops over collections and arrays: `for`, `doseq`, `dotimes`, `while`, `areduce`, `amap`; and forms that wrap a body in a
//! function: `lazy-seq`, `delay`, `task`.

use super::build::At;
use super::{Analyzer, Result, malformed, wrong_count};
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// One level or modifier of `for`.
enum ForStep<'f> {
    Each(&'f Form, &'f Form),
    When(&'f Form),
    While(&'f Form),
    Let(&'f Form),
}

impl Analyzer<'_> {
    pub(super) fn iteration(&mut self, name: &str, items: &[Form], span: Span, tail: bool) -> Option<Result> {
        let at = At(span);
        Some(match name {
            "for" => self.for_form(items, span),
            "doseq" => self.doseq(items, span),
            "dotimes" => self.dotimes(items, span),
            "while" => match items {
                [_, test, body @ ..] => {
                    let again = body.iter().cloned().chain([at.call("%recur", [])]);
                    let body = at.if_(test.clone(), at.do_(again), at.nil());
                    self.form(&at.call("%loop", [at.vector(Vec::new()), body]), tail)
                }
                _ => Err(wrong_count("(while test body…)", span)),
            },
            "lazy-seq" => {
                let thunk = at.fn_(Vec::new(), items[1..].iter().cloned());
                self.form(&at.call("%prim/lazy", [thunk]), false)
            }
            "lazy-cat" => {
                let parts = items[1..].iter().map(|part| at.call("%lazy-seq", [part.clone()]));
                self.form(&at.call("%clojure.core/concat", parts.collect::<Vec<_>>()), false)
            }
            "delay" => {
                let thunk = at.fn_(Vec::new(), items[1..].iter().cloned());
                self.form(&at.call("%prim/delay", [thunk]), false)
            }
            "future" => {
                let thunk = at.fn_(Vec::new(), items[1..].iter().cloned());
                self.form(&at.call("%clojure.core/future-call", [thunk]), false)
            }
            "pvalues" => {
                let thunks = items[1..].iter().map(|value| at.fn_(Vec::new(), [value.clone()]));
                self.form(&at.call("%clojure.core/pcalls", thunks.collect::<Vec<_>>()), false)
            }
            "areduce" => match &items[1..] {
                [array, index, result, init, value] => {
                    let (source, step) = self.array_walk(at, index);
                    let names = vec![index.clone(), at.int(0), result.clone(), init.clone()];
                    let again = at.call("%recur", [step, value.clone()]);
                    let body = at.if_(before_end(at, index, &source), again, result.clone());
                    let walk = at.call("%loop", [at.vector(names), body]);
                    self.form(&at.bind(vec![source, array.clone()], [walk]), false)
                }
                _ => Err(wrong_count("(areduce array index result init expression)", span)),
            },
            "amap" => match &items[1..] {
                [array, index, result, value] => {
                    let (source, step) = self.array_walk(at, index);
                    let set = at.call("%clojure.core/aset", [result.clone(), index.clone(), value.clone()]);
                    let again = at.do_([set, at.call("%recur", [step])]);
                    let body = at.if_(before_end(at, index, &source), again, result.clone());
                    let walk = at.call("%loop", [at.vector(vec![index.clone(), at.int(0)]), body]);
                    let copy = at.call("%clojure.core/aclone", [source.clone()]);
                    self.form(&at.bind(vec![source, array.clone(), result.clone(), copy], [walk]), false)
                }
                _ => Err(wrong_count("(amap array index result expression)", span)),
            },
            _ => return None,
        })
    }

    /// A name for the array that a loop walks, and the next index.
    fn array_walk(&mut self, at: At, index: &Form) -> (Form, Form) {
        (at.sym(&self.gensym("array")), at.call("%clojure.core/inc", [index.clone()]))
    }

    /// `(for [x xs y ys :when t :let [z …] :while t] body…)`: nested walks that push onto one vector.
    /// Over a lazy first collection the result is lazy.
    fn for_form(&mut self, items: &[Form], span: Span) -> Result {
        let steps = self.steps("for", items, span)?;
        if items.len() < 3 {
            return Err(wrong_count("(for [x coll …] body)", span));
        }
        let at = At(span);
        let out = self.gensym("out");
        let value = at.do_(items[2..].iter().cloned());
        let push = at.call("%prim/push", [at.sym(&out), value]);
        let [ForStep::Each(pattern, coll), rest @ ..] = steps.as_slice() else { return Err(leading(span)) };
        let inner = self.nest(rest, at, &out, push)?;
        let step = at.fn_(vec![at.sym(&out), (*pattern).clone()], [inner]);
        self.form(&at.call("%ptc.impl/for", [step, (*coll).clone()]), false)
    }

    /// `(doseq [x xs …] body…)`
    fn doseq(&mut self, items: &[Form], span: Span) -> Result {
        let steps = self.steps("doseq", items, span)?;
        let at = At(span);
        let out = self.gensym("out");
        let body = at.do_(items[2..].iter().cloned().chain([at.nil()]));
        let loops = self.nest(&steps, at, &out, body)?;
        self.form(&at.bind(vec![at.sym(&out), at.nil()], [loops]), false)
    }

    /// The walks of `steps` around `body`; `out` is threaded through all of them.
    fn nest(&mut self, steps: &[ForStep], at: At, out: &str, body: Form) -> Result<Form> {
        let mut form = body;
        for step in steps.iter().rev() {
            form = match step {
                ForStep::When(test) => at.if_((*test).clone(), form, at.sym(out)),
                ForStep::While(test) => {
                    let stop = at.call("%clojure.core/reduced", [at.sym(out)]);
                    at.if_((*test).clone(), form, stop)
                }
                ForStep::Let(bindings) => at.call("%let", [(*bindings).clone(), form]),
                ForStep::Each(pattern, coll) => {
                    let (item, body) = match pattern.as_symbol() {
                        Some(_) => ((*pattern).clone(), form),
                        None => {
                            let item = at.sym(&self.gensym("item"));
                            (item.clone(), at.bind(vec![(*pattern).clone(), item], [form]))
                        }
                    };
                    let head = at.vector(vec![at.sym(out), at.sym(out), item, (*coll).clone()]);
                    at.call("%reduce*", [head, body])
                }
            };
        }
        Ok(form)
    }

    fn steps<'f>(&self, name: &str, items: &'f [Form], span: Span) -> Result<Vec<ForStep<'f>>> {
        let Some(forms) = items.get(1).and_then(Form::as_vector) else {
            return Err(malformed(&format!("({name} [x coll …] body…)"), span));
        };
        if forms.is_empty() {
            return Err(malformed(&format!("at least one pair: ({name} [x coll] body…)"), span));
        }
        if let Some([modifier, _, ..]) = items.get(2..)
            && let Some(keyword @ ("when" | "while" | "let")) = modifier.as_keyword()
        {
            let message = format!(":{keyword} stands behind the bindings of {name}");
            let hint = format!("write it inside of the brackets: ({name} [x coll :{keyword} …] body)");
            return Err(Error::new(ErrorKind::InvalidForm, message).hint(hint).at(modifier.span));
        }
        if forms.len() % 2 == 1 {
            let last = forms.last().map_or(span, |form| form.span);
            let error = malformed(&format!("pairs in the bindings of {name}"), last);
            return Err(match super::bindings::filler(forms) {
                Some(hint) => error.hint(hint),
                None => error,
            });
        }
        let mut steps = Vec::new();
        for pair in forms.chunks_exact(2) {
            steps.push(match pair[0].as_keyword() {
                Some("when") => ForStep::When(&pair[1]),
                Some("while") => ForStep::While(&pair[1]),
                Some("let") => ForStep::Let(&pair[1]),
                Some(other) => {
                    return Err(Error::new(
                        ErrorKind::InvalidForm,
                        format!("unknown modifier :{other} in {name}"),
                    )
                    .hint("modifiers are :when, :let and :while")
                    .at(pair[0].span));
                }
                None => {
                    self.check_collection(name, &pair[0], &pair[1])?;
                    ForStep::Each(&pair[0], &pair[1])
                }
            });
        }
        match steps.first() {
            Some(ForStep::Each(..)) => Ok(steps),
            _ => Err(leading(span)),
        }
    }

    fn check_collection(&self, name: &str, pattern: &Form, coll: &Form) -> Result<()> {
        let kind = match coll.kind {
            FormKind::Int(_) | FormKind::Float(_) | FormKind::BigInt(_) | FormKind::Decimal(_) => "a number",
            FormKind::Keyword(_) => "a keyword",
            FormKind::Bool(_) => "a boolean",
            _ => return Ok(()),
        };
        let what = pattern.as_symbol().unwrap_or("the pattern");
        Err(Error::new(
            ErrorKind::InvalidForm,
            format!("{name} walks a collection, but {what} is given {kind}"),
        )
        .hint("write (range n) to count")
        .at(coll.span))
    }

    /// `(dotimes [i n] body…)`
    fn dotimes(&mut self, items: &[Form], span: Span) -> Result {
        let Some([name, count]) = items.get(1).and_then(Form::as_vector) else {
            return Err(malformed("(dotimes [i n] body…)", span));
        };
        let at = At(span);
        let limit = self.gensym("limit");
        let next = at.call("%recur", [at.call("%clojure.core/inc", [name.clone()])]);
        let test = at.call("%clojure.core/<", [name.clone(), at.sym(&limit)]);
        let body = at.if_(test, at.do_(items[2..].iter().cloned().chain([next])), at.nil());
        let walk = at.call("%loop", [at.vector(vec![name.clone(), at.int(0)]), body]);
        let whole = at.call("%clojure.core/long", [count.clone()]);
        self.form(&at.bind(vec![at.sym(&limit), whole], [walk]), false)
    }
}

fn leading(span: Span) -> Error {
    Error::new(ErrorKind::InvalidForm, "the bindings must begin with a name and a collection")
        .hint(":when, :let and :while follow a pair")
        .at(span)
}

/// `(< index (alength array))`
fn before_end(at: At, index: &Form, array: &Form) -> Form {
    at.call("%clojure.core/<", [index.clone(), at.call("%clojure.core/alength", [array.clone()])])
}
