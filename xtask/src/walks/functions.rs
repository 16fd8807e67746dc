//! The functions of a crate as their text shows them: whether they are over values, whether they keep a stack, and what
//! they call.

use std::collections::BTreeSet;

use syn::visit::Visit;

/// Types by which a function is one over values.
const VALUES: &[&str] = &[
    "Value",
    "Map",
    "Items",
    "VecObj",
    "SeqObj",
    "ConsObj",
    "LazyObj",
    "SetObj",
    "SortedObj",
    "CellObj",
    "ExObj",
    "Closure",
];

/// Kinds of values that hold others: who takes one apart by a pattern is over values.
const HOLDERS: &[&str] =
    &["Vec", "Seq", "Cons", "Lazy", "Map", "Set", "Sorted", "Fn", "Cell", "Ex", "Reduced", "Iter"];

/// Methods that take from a stack or a queue, and those that put onto it.
const TAKES: &[&str] = &["pop", "pop_front", "pop_back", "pop_first", "pop_last", "last_mut"];
const PUTS: &[&str] = &["push", "push_front", "push_back", "extend", "extend_from_slice", "append", "insert"];

/// A function of the crate.
pub(super) struct Function {
    pub(super) file: String,
    /// The type or the trait whose method it is; empty for a free function.
    pub(super) owner: String,
    /// The trait that has it.
    pub(super) of_trait: Option<String>,
    pub(super) name: String,
    pub(super) over_values: bool,
    /// Whether it puts onto a stack of its own what it takes from there in a loop.
    pub(super) keeps_stack: bool,
    pub(super) calls: BTreeSet<Call>,
    /// Names that the file imports.
    pub(super) imports: BTreeSet<String>,
}

/// A call, as far as its text says what is called.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    /// `self.name(…)`, `Self::name(…)`
    Own(String),
    /// `x.name(…)`
    Method(String),
    /// `Type::name(…)`
    Of(String, String),
    /// `name(…)`, or `name` given to another function.
    Free(String),
    /// `module::name(…)`
    In(String, String),
}

pub(super) fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("test")
            || (attr.path().is_ident("cfg")
                && attr.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")))
    })
}

/// What a function stands in.
#[derive(Clone, Default)]
struct Around {
    owner: String,
    of_trait: Option<String>,
    /// Whether all of its functions are over values.
    over_values: bool,
}

/// Collects the functions of a file.
pub(super) struct Collect<'a> {
    file: &'a str,
    around: Around,
    imports: &'a BTreeSet<String>,
    functions: &'a mut Vec<Function>,
}

impl<'a> Collect<'a> {
    pub(super) fn new(file: &'a str, imports: &'a Imports, functions: &'a mut Vec<Function>) -> Collect<'a> {
        Collect { file, around: Around::default(), imports: &imports.0, functions }
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let mut types = Names::default();
        types.visit_generics(&signature.generics);
        signature.inputs.iter().for_each(|input| types.visit_fn_arg(input));
        let mut bound = Bound::default();
        signature.inputs.iter().for_each(|input| bound.visit_fn_arg(input));
        bound.visit_block(block);
        let (mut apart, mut stacks) = (TakesApart::default(), Stacks::default());
        apart.visit_block(block);
        stacks.visit_block(block);
        let mut calls = Calls { found: BTreeSet::new(), bound: bound.0 };
        calls.visit_block(block);
        self.functions.push(Function {
            file: self.file.to_owned(),
            owner: self.around.owner.clone(),
            of_trait: self.around.of_trait.clone(),
            name: signature.ident.to_string(),
            over_values: self.around.over_values || types.is_of_values() || apart.0,
            keeps_stack: stacks.kept,
            calls: calls.found,
            imports: self.imports.clone(),
        });
    }

    /// Visits what stands in an `impl` or a trait.
    fn within(&mut self, around: Around, visit: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.around, around);
        visit(self);
        self.around = before;
    }
}

impl<'ast> Visit<'ast> for Collect<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        let mut names = Names::default();
        names.visit_type(&block.self_ty);
        let owner = names.1.clone();
        names.visit_generics(&block.generics);
        let of_trait = block.trait_.as_ref().map(|(path, _)| {
            names.visit_path(path);
            path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
        });
        let around = Around { owner, of_trait, over_values: names.owns_values() };
        self.within(around, |own| syn::visit::visit_item_impl(own, block));
    }

    fn visit_item_trait(&mut self, block: &'ast syn::ItemTrait) {
        let mut names = Names::default();
        names.visit_generics(&block.generics);
        let name = block.ident.to_string();
        let around = Around { owner: name.clone(), of_trait: Some(name), over_values: names.owns_values() };
        self.within(around, |own| syn::visit::visit_item_trait(own, block));
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            self.function(&function.sig, &function.block);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = function.default.as_ref().filter(|_| !is_test(&function.attrs)) {
            self.function(&function.sig, block);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            self.within(Around::default(), |own| {
                own.function(&function.sig, &function.block);
                syn::visit::visit_item_fn(own, function);
            });
        }
    }
}

/// Whether a pattern takes a value apart that holds others.
#[derive(Default)]
struct TakesApart(bool);

impl<'ast> Visit<'ast> for TakesApart {
    fn visit_pat_tuple_struct(&mut self, pattern: &'ast syn::PatTupleStruct) {
        let names: Vec<String> =
            pattern.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [.., kind, holder] = names.as_slice() {
            self.0 |= kind == "Value" && HOLDERS.contains(&holder.as_str());
        }
        syn::visit::visit_pat_tuple_struct(self, pattern);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// Looks for loops that put onto a stack what they take from it.
#[derive(Default)]
struct Stacks {
    /// How many loops there are around.
    loops: usize,
    taken: BTreeSet<String>,
    put: BTreeSet<String>,
    kept: bool,
}

impl Stacks {
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        self.loops += 1;
        visit(self);
        self.loops -= 1;
        if self.loops == 0 {
            self.kept |= !self.taken.is_disjoint(&self.put);
            (self.taken, self.put) = (BTreeSet::new(), BTreeSet::new());
        }
    }
}

impl<'ast> Visit<'ast> for Stacks {
    fn visit_expr_while(&mut self, expression: &'ast syn::ExprWhile) {
        self.within(|own| syn::visit::visit_expr_while(own, expression));
    }

    fn visit_expr_loop(&mut self, expression: &'ast syn::ExprLoop) {
        self.within(|own| syn::visit::visit_expr_loop(own, expression));
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if let Some(receiver) = place(&call.receiver).filter(|_| self.loops > 0) {
            if TAKES.contains(&name.as_str()) {
                self.taken.insert(receiver);
            } else if PUTS.contains(&name.as_str()) {
                self.put.insert(receiver);
            }
        }
        syn::visit::visit_expr_method_call(self, call);
    }

    /// Whoever is lent a stack may put onto it.
    fn visit_expr_reference(&mut self, reference: &'ast syn::ExprReference) {
        if reference.mutability.is_some() && self.loops > 0 {
            self.put.extend(place(&reference.expr));
        }
        syn::visit::visit_expr_reference(self, reference);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// A variable or a field of one, as text.
fn place(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Path(path) => Some(path.path.get_ident()?.to_string()),
        syn::Expr::Field(field) => match &field.member {
            syn::Member::Named(name) => Some(format!("{}.{name}", place(&field.base)?)),
            syn::Member::Unnamed(index) => Some(format!("{}.{}", place(&field.base)?, index.index)),
        },
        _ => None,
    }
}

/// The names in a type, and the first of them.
#[derive(Default)]
struct Names(BTreeSet<String>, String);

impl Names {
    fn is_of_values(&self) -> bool {
        VALUES.iter().any(|value| self.0.contains(*value))
    }

    /// The same of what methods belong to: those of a map look for keys, and at values only if they say so.
    fn owns_values(&self) -> bool {
        VALUES.iter().any(|value| *value != "Map" && self.0.contains(*value))
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        let name = segment.ident.to_string();
        if self.1.is_empty() {
            self.1.clone_from(&name);
        }
        self.0.insert(name);
        syn::visit::visit_path_segment(self, segment);
    }
}

/// Names that `use` brings into a file.
#[derive(Default)]
pub(super) struct Imports(BTreeSet<String>);

impl<'ast> Visit<'ast> for Imports {
    fn visit_use_name(&mut self, name: &'ast syn::UseName) {
        self.0.insert(name.ident.to_string());
    }
}

/// Names of parameters and variables.
#[derive(Default)]
struct Bound(BTreeSet<String>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
        self.0.insert(name.ident.to_string());
        syn::visit::visit_pat_ident(self, name);
    }
}

/// The calls in a body, closures included, functions inside it not.
struct Calls {
    found: BTreeSet<Call>,
    bound: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Calls {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        let own = matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self"));
        self.found.insert(if own { Call::Own(name) } else { Call::Method(name) });
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let names: Vec<String> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let is_type = |name: &str| name.starts_with(char::is_uppercase);
        match names.as_slice() {
            [.., owner, name] if owner == "Self" => self.found.insert(Call::Own(name.clone())),
            [.., owner, name] if is_type(owner) => self.found.insert(Call::Of(owner.clone(), name.clone())),
            [.., module, name] => self.found.insert(Call::In(module.clone(), name.clone())),
            [name] if !is_type(name) && !self.bound.contains(name) => {
                self.found.insert(Call::Free(name.clone()))
            }
            _ => false,
        };
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
