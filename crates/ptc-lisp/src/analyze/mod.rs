//! From forms to the core tree: every name resolved, all sugar gone, mistakes reported before
//! anything runs, and the tools a program may call collected into its [`Manifest`].

mod bindings;
mod build;
mod calls;
mod conditionals;
mod constants;
mod definitions;
mod exports;
mod functions;
mod loops;
mod manifest;
mod meant;
mod mistakes;
mod namespaces;
pub mod node;
mod outside;
mod resolve;
mod scope;
mod shown;
mod special;
mod suggest;
mod threading;
mod types;
mod unlisted;
mod upstream;
mod vars;
mod written;

use crate::error::{Error, ErrorKind};
use crate::span::Span;
use crate::syntax::{Form, FormKind};
pub(crate) use calls::operator_first;
pub use exports::Exports;
pub use manifest::{ArgumentSource, Manifest, ToolUse};
pub(crate) use meant::member;
pub(crate) use mistakes::mistakes;
pub use namespaces::{Namespaces, is_language_namespace, namespace_name};
use node::{Node, NodeKind};
pub use outside::all as left_out;
pub(crate) use resolve::upstream_call;
use scope::Scopes;
pub(crate) use shown::discovery;
pub use special::SPECIALS;
pub(crate) use special::is_special;
pub use suggest::closest;
pub(crate) use upstream::taken_name;
pub use upstream::{Servers, ToolEffects, ToolNames, tool_in_line};
pub(crate) use written::written;

/// What a program may refer to besides its own definitions and the core library.
pub trait World {
    /// Whether an earlier program of the session defined `name`.
    fn has_global(&self, name: &str) -> bool;
    /// Names of earlier definitions, for suggestions.
    fn globals(&self) -> Vec<String>;
    /// The tools that were granted, or `None` if that is not known.
    fn tools(&self) -> Option<&[String]>;
    /// The upstream servers whose tools are functions, if programs may call any.
    fn servers(&self) -> Option<&Servers> {
        None
    }
    /// Whether servers are known only where the source is used: a namespace that is nothing else may be one, and what is
    /// called of it is held against those that there are before anything runs.
    fn servers_come_later(&self) -> bool {
        false
    }
    /// Names of inputs, for suggestions.
    fn inputs(&self) -> Vec<String> {
        Vec::new()
    }
    /// Whether only the prelude may call a tool that was granted.
    fn is_private(&self, _tool: &str) -> bool {
        false
    }
    /// How much work the analysis may be: names that have to be looked at.
    fn fuel(&self) -> u64 {
        u64::MAX
    }
    /// How many forms may be analysed, those of expanded macros too: there must be memory for what they become.
    fn most_forms(&self) -> usize {
        MOST_FORMS
    }
    /// Asks the host whether to go on.
    fn ask(&self) -> std::result::Result<(), Error> {
        Ok(())
    }
    /// Whether the source is the core library itself, which may use its primitives.
    fn is_core(&self) -> bool {
        false
    }
    /// The prelude whose names can be used.
    fn exports(&self) -> Option<Exports<'_>> {
        None
    }
    /// Names that earlier programs gave to namespaces.
    fn required(&self) -> Option<&Namespaces> {
        None
    }
}

/// The result of analysis.
#[derive(Debug)]
pub struct Analysis {
    /// The program as one expression.
    pub body: Node,
    /// The tools it may call.
    pub manifest: Manifest,
    /// The work it was.
    pub steps: u64,
    /// The definitions of the prelude that it mentions, by number.
    pub used: Vec<u32>,
}

/// About the bytes that a form takes between its analysis and its code.
pub(crate) const FORM_BYTES: usize = 128;

/// Forms of a source that no limit of memory bounds.
const MOST_FORMS: usize = 500_000;
/// Forms that are analysed between two questions to the host.
const STRETCH: usize = 256;

/// Forms nest at most this deep after rewriting; more is refused.
pub(crate) const MAX_NESTING: usize = 700;

pub(crate) type Result<T = Node> = std::result::Result<T, Error>;

/// Analyses a program.
pub fn analyze(forms: &[Form], world: &dyn World) -> std::result::Result<Analysis, Error> {
    let mut analyzer = Analyzer::new(world);
    analyzer.recall_required();
    analyzer.collect_definitions(forms);
    let body = analyzer.body(forms, Span::default(), true)?;
    analyzer.finish(body)
}

/// Analyses one function definition of the core library; the result is a function node.
pub(crate) fn analyze_core(form: &Form, ns: &str, world: &dyn World) -> Result<Node> {
    let mut analyzer = Analyzer::new(world);
    analyzer.namespaces.current = ns.to_owned();
    let node = analyzer.form(form, false)?;
    Ok(analyzer.finish(node)?.body)
}

/// Analyses an expression of a prelude, in its namespace; `clauses` are those of its `(ns …)`.
pub(crate) fn analyze_prelude(
    form: &Form,
    ns: &str,
    clauses: &[Form],
    world: &dyn World,
) -> Result<Analysis> {
    let mut analyzer = Analyzer::new(world);
    ns.clone_into(&mut analyzer.namespaces.current);
    analyzer.clauses(clauses)?;
    let node = analyzer.form(form, false)?;
    analyzer.finish(node)
}

/// Parameter counts of a function, each with whether more may follow.
type Arities = Vec<(usize, bool)>;

pub(crate) struct Analyzer<'a> {
    world: &'a dyn World,
    scopes: Scopes,
    /// Names that some `def` of this program defines.
    defined: Vec<String>,
    /// Arities of functions that the program defines exactly once: parameters and whether more may
    /// follow.
    arities: Vec<(String, Option<Arities>)>,
    /// Fields of the records that the program defines: `(.field record)` reads them.
    fields: Vec<String>,
    undefined: Vec<Undefined>,
    /// Whether there are more than are kept.
    more_undefined: bool,
    manifest: Manifest,
    /// Definitions of the prelude that are mentioned.
    used: Vec<u32>,
    namespaces: namespaces::Namespaces,
    depth: usize,
    /// Forms that may be analysed before the host is asked whether to go on.
    until_asked: usize,
    /// Forms that may be analysed after that.
    left: usize,
    /// How many `try` bodies are around: there a wrong arity is left to run time, so it can be caught.
    trying: usize,
    /// The same with those around functions: what they catch may come from a function that is written in them.
    guarded: usize,
    gensyms: u32,
    /// Mistakes so far, where analysis goes on behind them; otherwise the first one ends it.
    mistakes: Option<Vec<Error>>,
}

/// A name that nothing defines.
struct Undefined {
    name: String,
    span: Span,
    /// A local of that place that looks like it.
    near: Option<String>,
}

impl<'a> Analyzer<'a> {
    fn new(world: &'a dyn World) -> Self {
        let most_forms = world.most_forms();
        Analyzer {
            world,
            scopes: Scopes::new(),
            defined: Vec::new(),
            arities: Vec::new(),
            fields: Vec::new(),
            undefined: Vec::new(),
            more_undefined: false,
            manifest: Manifest::default(),
            used: Vec::new(),
            namespaces: namespaces::Namespaces::default(),
            depth: 0,
            until_asked: most_forms.min(STRETCH),
            left: most_forms.saturating_sub(STRETCH),
            trying: 0,
            guarded: 0,
            gensyms: 0,
            mistakes: None,
        }
    }

    /// Begins with the names that earlier programs gave to namespaces.
    fn recall_required(&mut self) {
        if let Some(required) = self.world.required() {
            self.namespaces.clone_from(required);
        }
    }

    fn finish(mut self, body: Node) -> Result<Analysis> {
        if self.undefined.is_empty() {
            self.manifest.settle();
            let (steps, used) = (self.scopes.steps(), self.used);
            return Ok(Analysis { body, manifest: self.manifest, steps, used });
        }
        Err(self.undefined_error())
    }

    /// Analyses one form; `tail` says whether `recur` may stand here.
    pub(crate) fn form(&mut self, form: &Form, tail: bool) -> Result {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(too_deep(form.span));
        }
        if self.scopes.steps() > self.world.fuel() {
            return Err(out_of_fuel(form.span));
        }
        self.spend(1, form.span)?;
        let depth = self.depth;
        let node = match self.mistakes {
            None => self.form_inner(form, tail).map_err(|error| error.at(form.span)),
            Some(_) => self.form_or_nil(form, tail),
        };
        self.depth = depth - 1;
        node
    }

    /// Counts forms, or what takes as much memory, and asks the host now and then whether to go on.
    #[inline]
    fn spend(&mut self, forms: usize, span: Span) -> Result<()> {
        match self.until_asked.checked_sub(forms) {
            Some(left) => {
                self.until_asked = left;
                Ok(())
            }
            None => self.ask_for_more(forms, span),
        }
    }

    /// Accounts for the forms since the last time, and asks.
    #[cold]
    fn ask_for_more(&mut self, forms: usize, span: Span) -> Result<()> {
        let left = (self.left + self.until_asked).checked_sub(forms).ok_or_else(|| too_many_forms(span))?;
        self.until_asked = left.min(STRETCH);
        self.left = left - self.until_asked;
        self.world.ask()
    }

    fn form_inner(&mut self, form: &Form, tail: bool) -> Result {
        let span = form.span;
        match &form.kind {
            FormKind::Symbol(name) => self.symbol(name, span),
            FormKind::List(items) => self.list(form, items, tail),
            FormKind::Vector(_) | FormKind::Map(_) | FormKind::Set(_) => self.collection(form),
            FormKind::ShortFn(items) => self.short_fn(items, span),
            FormKind::Quote(inner) => Ok(Node::new(NodeKind::Const(self.quoted(inner)?), span)),
            FormKind::Deref(inner) => {
                let call = build::At(span).call("clojure.core/deref", [(**inner).clone()]);
                self.form(&call, false)
            }
            FormKind::Var(inner) => self.var(inner),
            _ => Ok(Node::new(NodeKind::Const(self.constant(form)?), span)),
        }
    }

    /// Several forms, the last of which is the value.
    fn body(&mut self, forms: &[Form], span: Span, tail: bool) -> Result {
        match forms {
            [] => Ok(Node::nil(span)),
            [only] => self.form(only, tail),
            [rest @ .., last] => {
                calls::not_indexed(forms)?;
                let mut nodes = Vec::with_capacity(forms.len());
                for form in rest {
                    nodes.push(self.form(form, false)?);
                }
                nodes.push(self.form(last, tail)?);
                Ok(Node::new(NodeKind::Do(nodes), span))
            }
        }
    }

    fn forms(&mut self, forms: &[Form]) -> Result<Vec<Node>> {
        calls::not_indexed(forms)?;
        forms.iter().map(|form| self.form(form, false)).collect()
    }

    /// A name that no program can write.
    fn gensym(&mut self, stem: &str) -> String {
        self.gensyms += 1;
        format!("{stem}\u{1}{}", self.gensyms)
    }

    /// A builtin that expansions refer to.
    fn builtin(&self, name: &str, span: Span) -> Node {
        let id = crate::builtins::registry().qualified(name);
        Node::new(NodeKind::Builtin(id.unwrap_or_else(|| panic!("builtin {name} is declared"))), span)
    }
}

/// The error for a program with more names than its fuel pays for.
fn out_of_fuel(span: Span) -> Error {
    Error::new(ErrorKind::FuelExceeded, "looking up the names of the program used up its fuel")
        .hint("write fewer names in one program, or pass data as data/…")
        .at(span)
}

/// The error for a program with more forms than there is memory for once its macros are expanded.
fn too_many_forms(span: Span) -> Error {
    Error::new(ErrorKind::ProgramTooLarge, "the program is too large for its memory once macros are expanded")
        .hint("split it, name what is repeated with let or defn, or pass large data as input")
        .at(span)
}

/// The error for a program that nests too deeply.
fn too_deep(span: Span) -> Error {
    Error::new(ErrorKind::NestingTooDeep, "the program is nested too deeply")
        .hint("split it into functions with defn")
        .at(span)
}

/// The error for a form with the wrong parts.
pub(crate) fn malformed(usage: &str, span: Span) -> Error {
    Error::new(ErrorKind::InvalidForm, format!("expected {usage}")).at(span)
}

/// The error for a form with too many or too few parts.
pub(crate) fn wrong_count(usage: &str, span: Span) -> Error {
    Error::new(ErrorKind::InvalidArity, format!("expected {usage}")).at(span)
}
