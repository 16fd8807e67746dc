//! Lists: special forms, macros, and everything else as a call.

use super::build::INTERNAL;
use super::node::{Node, NodeKind};
use super::{Analyzer, Result, malformed, wrong_count};
use crate::builtins::exceptions;
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};

/// Every head that is not a function.
pub const SPECIALS: &[&str] = &[
    "def",
    "defonce",
    "defn",
    "defn-",
    "declare",
    "fn",
    "fn*",
    "let",
    "let*",
    "letfn",
    "loop",
    "recur",
    "if",
    "if-not",
    "if-let",
    "if-some",
    "when",
    "when-not",
    "when-let",
    "when-some",
    "when-first",
    "cond",
    "condp",
    "case",
    "do",
    "and",
    "or",
    "->",
    "->>",
    "as->",
    "cond->",
    "cond->>",
    "some->",
    "some->>",
    "doto",
    "..",
    "for",
    "doseq",
    "dotimes",
    "while",
    "try",
    "catch",
    "finally",
    "throw",
    "quote",
    "comment",
    "defmulti",
    "defmethod",
    "defrecord",
    "deftype",
    "defprotocol",
    "extend-type",
    "extend-protocol",
    "reify",
    "new",
    ".",
    "lazy-seq",
    "lazy-cat",
    "delay",
    "future",
    "binding",
    "with-redefs",
    "with-bindings",
    "bound-fn",
    "with-out-str",
    "with-meta*",
    "assert",
    "time",
    "var",
    "ns",
    "require",
    "use",
    "import",
    "in-ns",
    "refer",
    "return",
    "fail",
    "task",
    "step-done",
    "task-reset",
    "call",
    "doc",
    "source",
    "dir",
    "ns-publics",
    "pvalues",
    "with-local-vars",
    "locking",
    "io!",
    "dosync",
    "with-precision",
    "memfn",
    "areduce",
    "amap",
];

/// Whether `name` is the head of a special form or macro.
pub fn is_special(name: &str) -> bool {
    SPECIALS.contains(&name)
}

/// How many parts of a form end up one inside the other when it is rewritten. A flat text can so
/// become a deep tree, and deep trees are bounded before they are built.
fn nested_parts(name: &str, items: &[Form]) -> usize {
    match name {
        "->" | "->>" | "some->" | "some->>" | ".." | "condp" => items.len(),
        "for" | "doseq" => match items.get(1).map(|form| &form.kind) {
            Some(FormKind::Vector(bindings)) => bindings.len(),
            _ => 0,
        },
        _ => 0,
    }
}

/// Heads that keep their meaning even where a local has the same name.
const FIXED: &[&str] =
    &["if", "def", "defonce", "do", "recur", "return", "fail", "task", "step-done", "task-reset"];

impl Analyzer<'_> {
    /// A list: `()`, a special form, or a call.
    pub(super) fn list(&mut self, form: &Form, items: &[Form], tail: bool) -> Result {
        let Some(head) = items.first() else {
            return Ok(Node::new(NodeKind::Const(Const::List(Vec::new())), form.span));
        };
        let Some(name) = head.as_symbol() else { return self.call(form, items) };
        if let Some(internal) = name.strip_prefix(INTERNAL) {
            let internal = internal.to_owned();
            return match self.special(&internal, form, items, tail) {
                Some(node) => node,
                None => self.call(form, items),
            };
        }
        let shadowed = !FIXED.contains(&name)
            && (self.scopes.is_local(name) || self.is_global(name) || self.is_sibling(name));
        if shadowed {
            return self.call(form, items);
        }
        if let Some(node) = self.special(name, form, items, tail) {
            return node;
        }
        if let Some(error) = super::outside::refusal(name) {
            return Err(error.at(head.span));
        }
        self.call(form, items)
    }

    fn special(&mut self, name: &str, form: &Form, items: &[Form], tail: bool) -> Option<Result> {
        let span = form.span;
        let args = &items[1..];
        if nested_parts(name, items) > super::MAX_NESTING {
            return Some(Err(super::too_deep(span)));
        }
        Some(match name {
            "def" => self.def(items, span),
            "defonce" => self.defonce(items, span),
            "defn" | "defn-" => self.defn(items, span),
            "declare" => self.declare(items, span),
            "fn" | "fn*" => self.fn_form(items, span),
            "let" | "let*" => self.let_form(items, span, tail),
            "letfn" => self.letfn(items, span, tail),
            "loop" | "loop*" => self.loop_form(items, span),
            "recur" => self.recur(items, span, tail),
            "if" => self.if_form(items, span, tail),
            "do" => self.body(args, span, tail),
            "and" => self.and_or(args, span, tail, true),
            "or" => self.and_or(args, span, tail, false),
            "quote" => match args {
                [one] => self.quoted(one).map(|value| Node::new(NodeKind::Const(value), span)),
                _ => Err(wrong_count("(quote form)", span)),
            },
            "comment" => Ok(Node::nil(span)),
            "try" => self.try_form(items, span),
            "throw" => match args {
                [_] => self.rewrite_call("prim/throw", args, span),
                _ => Err(wrong_count("(throw exception)", span)),
            },
            "catch" | "finally" => Err(malformed(&format!("({name} …) directly inside (try …)"), span)),
            "var" => match args {
                [one] => self.var(one),
                _ => Err(wrong_count("(var name)", span)),
            },
            "ns" | "in-ns" => self.ns(items, span),
            "require" | "use" => self.require(items, span),
            "import" | "refer" => Ok(Node::nil(span)),
            "return" => self.one_argument("prim/return", name, args, span),
            "fail" => self.one_argument("prim/fail", name, args, span),
            "call" => self.call_tool_by_name(items, span),
            "missing" => Ok(self.missing(span)),
            "reduce*" if self.is_internal(form) => self.reduce_form(items, span),
            "take-slot!" if self.is_internal(form) => self.take_slot(items, span),
            _ => {
                return self
                    .conditional(name, items, span, tail)
                    .or_else(|| self.thread(name, items, span, tail))
                    .or_else(|| self.iteration(name, items, span, tail))
                    .or_else(|| self.definition(name, items, span))
                    .or_else(|| self.sugar(name, items, span, tail));
            }
        })
    }

    /// Forms of the core library's own source and of expansions.
    fn is_internal(&self, form: &Form) -> bool {
        let head = form.as_list().and_then(|items| items.first()).and_then(Form::as_symbol);
        self.world.is_core() || head.is_some_and(|head| head.starts_with(INTERNAL))
    }

    fn one_argument(&mut self, builtin: &str, name: &str, args: &[Form], span: Span) -> Result {
        match args {
            [_] => self.rewrite_call(builtin, args, span),
            _ => Err(wrong_count(&format!("({name} value) with exactly one value"), span)),
        }
    }

    /// A call of a builtin that has a form of its own.
    pub(super) fn rewrite_call(&mut self, builtin: &str, args: &[Form], span: Span) -> Result {
        let function = self.builtin(builtin, span);
        let args = self.forms(args)?;
        Ok(Node::new(NodeKind::Call(Box::new(function), args), span))
    }

    /// `(recur values…)`
    fn recur(&mut self, items: &[Form], span: Span, tail: bool) -> Result {
        let args = &items[1..];
        let expected = self.scopes.current().recur;
        match expected {
            None => {
                return Err(Error::new(ErrorKind::InvalidForm, "recur outside of loop and function")
                    .hint("recur jumps back to the innermost loop or fn around it")
                    .at(span));
            }
            Some(_) if !tail => {
                return Err(Error::new(ErrorKind::InvalidForm, "recur must be in tail position")
                    .hint("nothing may happen after recur: make it the last expression of its branch")
                    .at(span));
            }
            Some(count) if count != args.len() => {
                let message = format!("recur needs {count} values here, got {}", args.len());
                return Err(Error::new(ErrorKind::Arity, message)
                    .hint("give one value for each binding of the loop or parameter of the function")
                    .at(span));
            }
            Some(_) => {}
        }
        Ok(Node::new(NodeKind::Recur(self.forms(args)?), span))
    }

    /// `(try body… (catch Class e …)… (finally …))`
    fn try_form(&mut self, items: &[Form], span: Span) -> Result {
        let head = |form: &Form| form.as_list().and_then(|list| list.first()?.as_symbol().map(str::to_owned));
        let is_clause = |form: &&Form| matches!(head(form).as_deref(), Some("catch" | "finally"));
        let args = &items[1..];
        let split = args.iter().position(|form| is_clause(&form)).unwrap_or(args.len());
        let (body, clauses) = args.split_at(split);
        let recur = self.scopes.current().recur.take();
        self.trying += 1;
        self.guarded += 1;
        let body = self.body(body, span, false);
        self.trying -= 1;
        self.guarded -= 1;
        let body = body?;
        let mut catches = Vec::new();
        let mut finally = None;
        for clause in clauses {
            let list = clause.as_list().unwrap_or_default();
            match (head(clause).as_deref(), list) {
                (Some("catch"), [_, class, name, body @ ..]) => {
                    let Some(name) = name.as_symbol() else {
                        return Err(malformed(
                            "a name for the exception in (catch Exception e …)",
                            name.span,
                        ));
                    };
                    let class = caught_class(class, clause.span)?;
                    let mark = self.scopes.current().open();
                    let local = self.scopes.current().declare(name);
                    let body = self.body(body, clause.span, false)?;
                    self.scopes.current().close(mark);
                    catches.push((class, local, body));
                }
                (Some("finally"), [_, body @ ..]) if finally.is_none() => {
                    finally = Some(self.body(body, clause.span, false)?);
                }
                _ => {
                    return Err(malformed(
                        "(try body… (catch Exception e …) (finally …)) with the clauses at the end",
                        clause.span,
                    ));
                }
            }
        }
        self.scopes.current().recur = recur;
        let node = super::node::TryNode { body, catches, finally };
        Ok(Node::new(NodeKind::Try(Box::new(node)), span))
    }
}

/// The class that a `catch` names.
fn caught_class(form: &Form, span: Span) -> std::result::Result<String, Error> {
    let class = match &form.kind {
        FormKind::Symbol(class) => super::namespaces::simple_class(class).to_owned(),
        FormKind::Keyword(class) => format!(":{class}"),
        _ => return Err(malformed("(catch Exception e …)", span)),
    };
    if exceptions::can_be_caught(&class) {
        return Ok(class);
    }
    let meant = super::suggest::closest(&class, exceptions::CLASSES.iter().copied()).unwrap_or("Exception");
    let error = Error::new(ErrorKind::UnboundVar, format!("{class} is no class of exceptions")).at(form.span);
    Err(error.hint(format!("write (catch {meant} e …); Exception takes every error that can be caught")))
}
