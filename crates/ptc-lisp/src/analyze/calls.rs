//! Calls: arguments checked where they can be, methods and constructors found, tools noted in the
//! manifest; and small forms that are calls in disguise.

use super::build::At;
use super::node::{Node, NodeKind};
use super::resolve::UPSTREAM;
use super::{Analyzer, Result, malformed, meant, suggest, wrong_count};
use crate::builtins::{Run, registry};
use crate::code::Const;
use crate::error::{Error, ErrorKind};
use crate::names::split_name;
use crate::span::Span;
use crate::syntax::{Form, FormKind};

impl Analyzer<'_> {
    /// `(f args…)`
    pub(super) fn call(&mut self, form: &Form, items: &[Form]) -> Result {
        let span = form.span;
        let head = &items[0];
        if let Some(name) = head.as_symbol()
            && !self.scopes.is_local(name)
        {
            if let (Some(ns), local) = split_name(name) {
                match ns {
                    "tool" => return self.tool_call(local, &items[1..], span),
                    "memory" => return self.memory(local, items, span),
                    "data" | "ctx" if !self.namespaces.is_alias(ns) && items.len() == 1 => {
                        return Err(self.called_data(name, local).at(head.span));
                    }
                    _ => {}
                }
                if let Some(target) = self.upstream_tool(ns, local, head.span) {
                    return self.upstream_call(&target?, &items[1..], span);
                }
            }
            let internal = name.starts_with(super::build::INTERNAL);
            if name.len() > 1 && name.starts_with('.') && !self.is_global(name) {
                return self.method(name, &items[1..], span);
            }
            if name.len() > 1 && name.ends_with('.') && !internal && !self.is_global(name) {
                return self.constructor(&name[..name.len() - 1], &items[1..], span);
            }
        }
        if let Some(error) = infix(items) {
            return Err(error.at(span));
        }
        if let Some(digit) = self.digit(items, span) {
            return self.form(&digit, false);
        }
        let function = self.form(head, false)?;
        if let Some(constant) = self.constant_call(&function, items.len() - 1, span)? {
            return Ok(constant);
        }
        let args = self.forms(&items[1..])?;
        self.check_arity(&function, args.len(), head, span)?;
        Ok(Node::new(NodeKind::Call(Box::new(function), args), span))
    }

    /// The error for an input in the place of a function.
    fn called_data(&self, name: &str, input: &str) -> Error {
        let error = Error::new(ErrorKind::InvalidForm, format!("{name} is data, not a function"));
        let dotted = name.split_once('.').filter(|_| !self.world.inputs().iter().any(|known| known == input));
        let member = dotted.and_then(|(owner, part)| meant::member(owner, part));
        // A server may have this name, too.
        let server = name.split_once('/').and_then(|(ns, local)| self.hidden_server(ns, local));
        error.hint(member.or(server).unwrap_or_else(|| format!("write {name} without parentheses")))
    }

    /// `(- (int c) (int \0))` and `(- (int c) 48)`: the value of a digit, as programs compute it from its code. Elsewhere
    /// `int` refuses digits.
    fn digit(&self, items: &[Form], span: Span) -> Option<Form> {
        let [minus, code, zero] = items else { return None };
        let is_core = |form: &Form, name: &str| {
            form.as_symbol() == Some(name) && !self.scopes.is_local(name) && !self.is_global(name)
        };
        let [int, character] = code.as_list()? else { return None };
        let is_zero = match &zero.kind {
            FormKind::Int(code) => *code == i64::from(b'0'),
            FormKind::List(parts) => {
                matches!(&parts[..], [int, Form { kind: FormKind::Str(zero), .. }] if is_core(int, "int") && zero == "0")
            }
            _ => false,
        };
        (is_zero && is_core(minus, "-") && is_core(int, "int")).then(|| {
            let at = At(span);
            at.call("%clojure.core/-", [at.call("%prim/code", [character.clone()]), at.int(i64::from(b'0'))])
        })
    }

    /// A call of a builtin or of a function of this program with the wrong number of arguments.
    fn check_arity(&self, function: &Node, count: usize, head: &Form, span: Span) -> Result<()> {
        if self.trying > 0 {
            return Ok(());
        }
        match &function.kind {
            NodeKind::Builtin(id) => {
                let entry = registry().get(*id);
                if matches!(entry.run, Run::Const(_)) || entry.arity().accepts(count) {
                    return Ok(());
                }
                let name = entry.call_name();
                let error = Error::wrong_arity(&name, &entry.arity().describe(), count);
                let hint = meant::arity(entry.local, count).unwrap_or_else(|| usage(&name, entry.params()));
                Err(error.hint(hint).at(span))
            }
            NodeKind::Global(name) => {
                let Some(arities) = self.known_arities(name) else { return Ok(()) };
                check_counts(head.as_symbol().unwrap_or(name), arities, count).map_err(|error| error.at(span))
            }
            NodeKind::Export(number) => {
                let Some((name, arities, params)) = self.export_arities(*number) else { return Ok(()) };
                check_counts(&name, &arities, count)
                    .map_err(|error| error.hint(usage(&name, &params)).at(span))
            }
            _ => Ok(()),
        }
    }

    /// `(tool/name)`, `(tool/name {…})`, `(tool/name :k v …)`
    pub(super) fn tool_call(&mut self, name: &str, args: &[Form], span: Span) -> Result {
        if self.asks_for_servers(name) {
            return match args {
                [] => self.rewrite_call("prim/servers", args, span),
                _ => Err(wrong_count("(tool/servers)", span)),
            };
        }
        let name = self.granted(name, span)?;
        let nodes = self.forms(args)?;
        let positional = match args {
            [] => false,
            [one] => !may_be_map(one),
            [first, ..] => {
                let quoted = name == "call" && matches!(first.kind, FormKind::Quote(_));
                !quoted && (args.len() % 2 == 1 || !args.iter().step_by(2).all(may_be_keyword))
            }
        };
        if positional {
            return Err(Error::positional_arguments(&name).at(span));
        }
        self.manifest.add_call(&name, &nodes, span);
        if name == UPSTREAM {
            self.note_nowhere(span);
        }
        let function = Node::new(NodeKind::Const(Const::Tool(name)), span);
        Ok(Node::new(NodeKind::Call(Box::new(function), nodes), span))
    }

    /// `(call "name" {…})`: the draft's spelling of a tool call, `return` and `fail`.
    pub(super) fn call_tool_by_name(&mut self, items: &[Form], span: Span) -> Result {
        let Some(FormKind::Str(name)) = items.get(1).map(|form| &form.kind) else {
            return Err(Error::new(
                ErrorKind::InvalidForm,
                "call needs the name of a tool as a literal string",
            )
            .hint("write (call \"name\" {:key value}) or (tool/name {:key value})")
            .at(span));
        };
        let args = &items[2..];
        match (name.as_str(), args) {
            ("return" | "fail", [] | [_]) => {
                let nil = [At(span).nil()];
                let args = if args.is_empty() { &nil } else { args };
                self.rewrite_call(&format!("prim/{name}"), args, span)
            }
            (_, [] | [_]) => self.tool_call(name, args, span),
            _ => {
                Err(Error::new(ErrorKind::InvalidToolArgs, format!("{name} takes its arguments as one map"))
                    .hint(format!("write (call \"{name}\" {{:name value}})"))
                    .at(span))
            }
        }
    }

    /// `(.method object args…)`
    fn method(&mut self, name: &str, args: &[Form], span: Span) -> Result {
        if args.is_empty() {
            return Err(wrong_count(&format!("({name} object …)"), span));
        }
        if let Some(field) = name.strip_prefix(".-") {
            let get = At(span).call("%clojure.core/get", [args[0].clone(), At(span).kw(field)]);
            return self.form(&get, false);
        }
        let Some(id) = registry().qualified(name) else { return self.unknown_method(name, args, span) };
        let function = Node::new(NodeKind::Builtin(id), span);
        let args = self.forms(args)?;
        self.check_arity(&function, args.len(), &At(span).sym(name), span)?;
        Ok(Node::new(NodeKind::Call(Box::new(function), args), span))
    }

    fn unknown_method(&mut self, name: &str, args: &[Form], span: Span) -> Result {
        // A method of a protocol, or a field of a record, called Java's way.
        if self.is_global(&name[1..]) {
            let mut items = vec![At(span).sym(&name[1..])];
            items.extend(args.iter().cloned());
            return self.form(&At(span).list(items), false);
        }
        if let [record] = args
            && self.fields.iter().any(|field| *field == name[1..])
        {
            let at = At(span);
            return self.form(&at.call("%clojure.core/get", [record.clone(), at.kw(&name[1..])]), false);
        }
        let methods = registry().iter().map(|(_, entry)| entry.local).filter(|local| local.starts_with('.'));
        let error = Error::new(ErrorKind::Unsupported, format!("unknown method {name}")).at(span);
        Err(match (meant::method(name), suggest::closest(name, methods)) {
            (Some(hint), _) => error.hint(hint),
            (None, Some(best)) => error.hint(format!("did you mean {best}?")),
            (None, None) => {
                error.hint("use a function instead; (apropos \"…\") finds one by a part of its name or doc")
            }
        })
    }

    /// `(Class. args…)`, `(new Class args…)`
    fn constructor(&mut self, class: &str, args: &[Form], span: Span) -> Result {
        let simple = super::namespaces::simple_class(class);
        if self.is_global(&format!("->{simple}")) {
            let mut items = vec![At(span).sym(&format!("->{simple}"))];
            items.extend(args.iter().cloned());
            return self.form(&At(span).list(items), false);
        }
        let Some(id) = registry().qualified(&format!("{simple}.")) else {
            return Err(Error::new(ErrorKind::Unsupported, format!("{class} cannot be constructed here"))
                .hint(instead_of_new(simple))
                .at(span));
        };
        let function = Node::new(NodeKind::Builtin(id), span);
        let args = self.forms(args)?;
        self.check_arity(&function, args.len(), &At(span).sym(class), span)?;
        Ok(Node::new(NodeKind::Call(Box::new(function), args), span))
    }

    /// Small forms that come down to calls.
    pub(super) fn sugar(&mut self, name: &str, items: &[Form], span: Span, tail: bool) -> Option<Result> {
        let at = At(span);
        let args = &items[1..];
        Some(match name {
            "if-nil" => self.if_nil(args, span, tail),
            "new" => match args {
                [class, args @ ..] => match class.as_symbol() {
                    Some(class) => self.constructor(class, args, span),
                    None => Err(malformed("(new Class …)", span)),
                },
                [] => Err(wrong_count("(new Class …)", span)),
            },
            "." => self.dot(args, span),
            "assert" => self.assert(args, span),
            "time" | "locking" | "io!" | "dosync" => {
                self.body(args.get(usize::from(name == "locking")..).unwrap_or_default(), span, tail)
            }
            "with-out-str" => {
                let body = at.call(
                    "%try",
                    args.iter().cloned().chain([at.list(vec![
                        at.sym("catch"),
                        at.sym("Throwable"),
                        at.sym("e"),
                        at.call("%prim/capture-end", []),
                        at.call("%throw", [at.sym("e")]),
                    ])]),
                );
                self.form(
                    &at.do_([at.call("%prim/capture-begin", []), body, at.call("%prim/capture-end", [])]),
                    false,
                )
            }
            "with-precision" => self.with_precision(args, span),
            "task" => match args {
                [id, body] => {
                    let thunk = at.fn_(Vec::new(), [body.clone()]);
                    self.form(&at.call("%ptc.impl/task", [id.clone(), thunk]), false)
                }
                _ => Err(wrong_count("(task id expression)", span)),
            },
            "step-done" => match args {
                [_, _] => self.rewrite_call("prim/step-done", args, span),
                _ => Err(wrong_count("(step-done id summary)", span)),
            },
            "task-reset" => self.one("prim/task-reset", "(task-reset id)", args, span),
            "doc" | "source" | "dir" | "ns-publics" | "ns-name" => self.discovery(name, args, span),
            "meta" if args.first().is_some_and(|arg| self.is_reference(arg)) => {
                self.discovery(name, args, span)
            }
            "memfn" => match args {
                [name, params @ ..] => {
                    let method = format!(".{}", name.as_symbol().unwrap_or_default());
                    let this = at.sym(&self.gensym("this"));
                    let call = at.list([vec![at.sym(&method), this.clone()], params.to_vec()].concat());
                    self.form(&at.fn_([vec![this], params.to_vec()].concat(), [call]), false)
                }
                [] => Err(wrong_count("(memfn name)", span)),
            },
            _ => return None,
        })
    }

    fn one(&mut self, builtin: &str, usage: &str, args: &[Form], span: Span) -> Result {
        match args {
            [_] => self.rewrite_call(builtin, args, span),
            _ => Err(wrong_count(usage, span)),
        }
    }

    fn if_nil(&mut self, args: &[Form], span: Span, tail: bool) -> Result {
        let [test, then, other] = args else { return Err(wrong_count("(if-nil test then else)", span)) };
        let test = self.form(test, false)?;
        let then = self.form(then, tail)?;
        let other = self.form(other, tail)?;
        Ok(Node::new(NodeKind::IfNil(Box::new(test), Box::new(then), Box::new(other)), span))
    }

    /// `(. object method args…)`, `(. object (method args…))`, `(. Class member args…)`
    fn dot(&mut self, args: &[Form], span: Span) -> Result {
        let at = At(span);
        let (object, member, rest) = match args {
            [object, member] => match member.as_list() {
                Some([name, rest @ ..]) => (object, name, rest.to_vec()),
                _ => (object, member, Vec::new()),
            },
            [object, member, rest @ ..] => (object, member, rest.to_vec()),
            _ => return Err(wrong_count("(. object method args…)", span)),
        };
        let Some(name) = member.as_symbol() else {
            return Err(malformed("the name of a method", member.span));
        };
        let class = object.as_symbol().filter(|name| super::types::known_class(name).is_some());
        let head = match class {
            Some(class) => vec![at.sym(&format!("{class}/{name}"))],
            None => vec![at.sym(&format!(".{name}")), object.clone()],
        };
        self.form(&at.list([head, rest].concat()), false)
    }

    /// `(with-precision digits :rounding MODE body…)`: the precision of decimals for the time of the body.
    fn with_precision(&mut self, args: &[Form], span: Span) -> Result {
        const FORM: &str = "(with-precision digits :rounding HALF_UP body…)";
        let at = At(span);
        let (digits, mode, body) = match args {
            [digits, key, mode, body @ ..] if key.as_keyword() == Some("rounding") => {
                let mode = mode.as_symbol().ok_or_else(|| wrong_count(FORM, mode.span))?;
                (digits, mode.rsplit_once("RoundingMode/").map_or(mode, |(_, name)| name), body)
            }
            [digits, body @ ..] => (digits, "HALF_UP", body),
            [] => return Err(wrong_count(FORM, span)),
        };
        let rounding = at.sym(&format!("java.math.RoundingMode/{mode}"));
        let push = at.call("%prim/push-precision", [digits.clone(), rounding]);
        let finally = at.list(vec![at.sym("finally"), at.call("%prim/pop-precision", [])]);
        let body = at.call("%try", body.iter().cloned().chain([finally]));
        self.form(&at.do_([push, body]), false)
    }

    /// `(assert test message?)`
    fn assert(&mut self, args: &[Form], span: Span) -> Result {
        let at = At(span);
        let (test, message) = match args {
            [test] => (test, vec![]),
            [test, message] => (test, vec![message.clone(), at.str("\n")]),
            _ => return Err(wrong_count("(assert test message?)", span)),
        };
        let shown = at.call("%clojure.core/pr-str", [at.quote(test.clone())]);
        let parts = [vec![at.str("Assert failed: ")], message, vec![shown]].concat();
        let text = at.call("%clojure.core/str", parts);
        let throw = at.call("%throw", [at.call("%AssertionError.", [text])]);
        self.form(&at.if_(test.clone(), at.nil(), throw), false)
    }

    /// `(doc name)`, `(dir ns)`, …: names need no quote.
    fn discovery(&mut self, name: &str, args: &[Form], span: Span) -> Result {
        let at = At(span);
        let mut args = args.to_vec();
        if let Some(first) = args.first_mut()
            && let Some(text) = first.as_symbol()
            && !self.scopes.is_local(text)
        {
            *first = at.str(text);
        }
        if args.is_empty() {
            return Err(wrong_count(&format!("({name} name)"), span));
        }
        let home = if matches!(name, "ns-name" | "meta") { "clojure.core" } else { "ptc" };
        self.rewrite_call(&format!("{home}/{name}"), &args, span)
    }

    /// Whether a name stands for nothing the program could have the value of, `server/tool` for instance.
    fn is_reference(&self, form: &Form) -> bool {
        let Some(name) = form.as_symbol().filter(|name| !self.scopes.is_local(name)) else { return false };
        let (Some(ns), _) = split_name(name) else { return false };
        let has_values = matches!(ns, "data" | "ctx" | "memory" | "tool" | "user")
            || self.namespaces.is_alias(ns)
            || super::types::known_class(ns).is_some();
        let known = |full: &String| registry().iter().any(|(_, entry)| entry.ns == full);
        !has_values && !self.namespaces.expand(ns).iter().any(known)
    }
}

/// Whether a form can be the arguments of a tool as one map: a literal one, or whatever is computed.
pub(super) fn may_be_map(form: &Form) -> bool {
    use FormKind::{Deref, List, Map, Nil, Quote, Symbol};
    matches!(form.kind, Map(_) | Symbol(_) | List(_) | Deref(_) | Nil | Quote(_))
}

/// The error for `(5 + 3)`.
fn infix(items: &[Form]) -> Option<Error> {
    let [Form { kind: FormKind::Int(_) | FormKind::Float(_), .. }, operator, _, ..] = items else {
        return None;
    };
    let hint = operator_first(operator.as_symbol()?)?;
    Some(Error::new(ErrorKind::NotCallable, "a number is not a function").hint(hint))
}

/// Refuses `data/rows[0]`, which reads as an input and a vector behind it: a program would go on with the whole input.
pub(super) fn not_indexed(forms: &[Form]) -> Result<()> {
    for pair in forms.windows(2) {
        let [owner, index] = pair else { continue };
        let (Some([at]), Some(name)) = (index.as_vector(), owner.as_symbol()) else { continue };
        if owner.span.end != index.span.start || !(name.starts_with("data/") || name.starts_with("ctx/")) {
            continue;
        }
        let hint = match &at.kind {
            FormKind::Int(place) => format!("write (nth {name} {place})"),
            FormKind::Keyword(key) => format!("write (:{key} {name})"),
            FormKind::Str(key) => format!("write (get {name} {key:?})"),
            _ => format!("write (get {name} key)"),
        };
        let error = Error::new(ErrorKind::InvalidForm, format!("{name} has no index in brackets"));
        return Err(error.hint(hint).at(Span { start: owner.span.start, end: index.span.end }));
    }
    Ok(())
}

/// The hint for an operator between its operands, as other languages write it.
pub(crate) fn operator_first(name: &str) -> Option<String> {
    const OPERATORS: &[&str] = &["+", "-", "*", "/", "<", ">", "<=", ">=", "=", "=="];
    OPERATORS.contains(&name).then(|| format!("the function comes first: write ({name} a b)"))
}

/// What to write in place of a constructor that is not there.
fn instead_of_new(class: &str) -> String {
    let made = ["of", "parse", "now"]
        .iter()
        .filter(|made| registry().qualified(&format!("{class}/{made}")).is_some());
    let made: Vec<String> = made.map(|made| format!("({class}/{made} …)")).collect();
    match meant::class(class) {
        Some(hint) => hint.to_owned(),
        None if !made.is_empty() => format!("write {}", made.join(" or ")),
        None => "programs work on maps, vectors and sets; define a record with defrecord if you need a type"
            .to_owned(),
    }
}

/// Whether a form can stand where the name of an argument is expected: a keyword, or what may give one.
fn may_be_keyword(form: &Form) -> bool {
    matches!(form.kind, FormKind::Keyword(_) | FormKind::Symbol(_) | FormKind::List(_) | FormKind::Deref(_))
}

/// Refuses a number of arguments that none of the arities takes.
fn check_counts(name: &str, arities: &[(usize, bool)], count: usize) -> Result<()> {
    let fits = |&(params, variadic): &(usize, bool)| count == params || (variadic && count >= params);
    if arities.iter().any(fits) {
        return Ok(());
    }
    let word = |&(params, variadic): &(usize, bool)| match variadic {
        true => format!("at least {params}"),
        false => params.to_string(),
    };
    let words: Vec<String> = arities.iter().map(word).collect();
    Err(Error::wrong_arity(name, &words.join(" or "), count))
}

/// How to call a function. Of many arities the fewest and the most arguments are enough.
fn usage(name: &str, params: &str) -> String {
    let mut calls: Vec<String> = params
        .split('[')
        .skip(1)
        .map(|vector| {
            let names = vector.trim().trim_end_matches(']').trim();
            if names.is_empty() { format!("({name})") } else { format!("({name} {names})") }
        })
        .collect();
    if calls.len() > 3 {
        calls.drain(1..calls.len() - 1);
    }
    format!("write {}", calls.join(" or "))
}
