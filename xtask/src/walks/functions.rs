//! The functions of a crate as their text shows them: whether they are over values, whether they keep a stack, and what
//! they call.

use std::collections::BTreeSet;

use syn::visit::Visit;

use super::macros::{expressions, formats};
use super::names::{Imports, Names, Types};

/// Types by which a function is one over values.
pub(super) const VALUES: &[&str] = &[
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
const TAKES: &[&str] = &[
    "pop",
    "pop_front",
    "pop_back",
    "pop_first",
    "pop_last",
    "last_mut",
    "remove",
    "swap_remove",
    "drain",
    "split_off",
];
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

impl Function {
    /// Whether the library calls it for values of its type, without its name in the text.
    pub(super) fn is_called_for(&self, what: Implied) -> bool {
        let of_trait = self.of_trait.as_deref().unwrap_or_default();
        match what {
            Implied::Shown => self.name == "fmt" && !of_trait.is_empty(),
            Implied::Serialized => self.name == "serialize",
            Implied::Converted => matches!(of_trait, "From" | "TryFrom"),
        }
    }
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
    /// What the library calls for the values of some type.
    Implied(Implied),
}

/// What is done with a value whose type says how.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Implied {
    /// `format!("{x}")`, `x.to_string()`
    Shown,
    /// `serializer.serialize_element(&x)`
    Serialized,
    /// `x.into()`
    Converted,
}

/// Methods that call others for the values of some type.
const IMPLIED: &[(&str, Implied)] = &[
    ("to_string", Implied::Shown),
    ("entries", Implied::Shown),
    ("entry", Implied::Shown),
    ("field", Implied::Shown),
    ("into", Implied::Converted),
    ("try_into", Implied::Converted),
    ("collect_seq", Implied::Serialized),
    ("collect_map", Implied::Serialized),
];

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
    imports: &'a Imports,
    types: &'a Types,
    functions: &'a mut Vec<Function>,
}

impl<'a> Collect<'a> {
    pub(super) fn new(
        file: &'a str,
        imports: &'a Imports,
        types: &'a Types,
        functions: &'a mut Vec<Function>,
    ) -> Collect<'a> {
        Collect { file, around: Around::default(), imports, types, functions }
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let mut types = Names::of(self.imports);
        types.visit_generics(&signature.generics);
        signature.inputs.iter().for_each(|input| types.visit_fn_arg(input));
        let mut bound = Bound::default();
        signature.inputs.iter().for_each(|input| bound.visit_fn_arg(input));
        bound.visit_block(block);
        let mut apart = TakesApart { imports: self.imports, found: false };
        let mut stacks = Stacks::default();
        apart.visit_block(block);
        stacks.visit_block(block);
        let mut calls = Calls { found: BTreeSet::new(), bound: bound.0, imports: self.imports };
        calls.visit_block(block);
        self.functions.push(Function {
            file: self.file.to_owned(),
            owner: self.around.owner.clone(),
            of_trait: self.around.of_trait.clone(),
            name: signature.ident.to_string(),
            over_values: self.around.over_values || self.types.any(&types) || apart.found,
            keeps_stack: stacks.kept,
            calls: calls.found,
            imports: self.imports.originals(),
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
        let mut names = Names::of(self.imports);
        names.visit_type(&block.self_ty);
        let owner = names.first.clone();
        names.visit_generics(&block.generics);
        let of_trait = block.trait_.as_ref().map(|(path, _)| {
            names.visit_path(path);
            path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default()
        });
        let around = Around { owner, of_trait, over_values: self.types.any_owner(&names) };
        self.within(around, |own| syn::visit::visit_item_impl(own, block));
    }

    fn visit_item_trait(&mut self, block: &'ast syn::ItemTrait) {
        let mut names = Names::of(self.imports);
        names.visit_generics(&block.generics);
        let name = block.ident.to_string();
        let over_values = self.types.any_owner(&names);
        let around = Around { owner: name.clone(), of_trait: Some(name), over_values };
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
struct TakesApart<'a> {
    imports: &'a Imports,
    found: bool,
}

impl<'ast> Visit<'ast> for TakesApart<'_> {
    fn visit_pat_tuple_struct(&mut self, pattern: &'ast syn::PatTupleStruct) {
        self.found |= self.imports.is_holder(&pattern.path, HOLDERS);
        syn::visit::visit_pat_tuple_struct(self, pattern);
    }

    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        expressions(found).iter().for_each(|expression| self.visit_expr(expression));
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
    /// What was assigned, and from what.
    assigned: Vec<(String, String)>,
    kept: bool,
}

impl Stacks {
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        self.loops += 1;
        visit(self);
        self.loops -= 1;
        if self.loops == 0 {
            self.kept |= !self.taken.is_disjoint(&self.put);
            self.kept |= self.assigned.iter().any(|(level, next)| level != next && self.put.contains(next));
            *self = Stacks { kept: self.kept, ..Stacks::default() };
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

    fn visit_expr_for_loop(&mut self, expression: &'ast syn::ExprForLoop) {
        self.within(|own| syn::visit::visit_expr_for_loop(own, expression));
    }

    /// A list that is looked at by index while it grows.
    fn visit_expr_index(&mut self, index: &'ast syn::ExprIndex) {
        if self.loops > 0 {
            self.taken.extend(place(&index.expr));
        }
        syn::visit::visit_expr_index(self, index);
    }

    /// The next level in the place of the one before: `level = next`, or made of it.
    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        if let Some(level) = place(&assign.left).filter(|_| self.loops > 0) {
            match place(&assign.right) {
                Some(next) => self.assigned.push((level, next)),
                None => {
                    let mut made = MadeOf { level: &level, mentioned: false, many: false };
                    made.visit_expr(&assign.right);
                    self.kept |= made.mentioned && made.many;
                }
            }
        }
        syn::visit::visit_expr_assign(self, assign);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let swaps = |path: &syn::Path| {
            path.segments
                .last()
                .is_some_and(|name| ["swap", "take", "replace"].iter().any(|swap| name.ident == swap))
        };
        if self.loops > 0 && matches!(&*call.func, syn::Expr::Path(path) if swaps(&path.path)) {
            for argument in &call.args {
                if let syn::Expr::Reference(lent) = argument {
                    self.taken.extend(place(&lent.expr));
                    self.visit_expr(&lent.expr);
                } else {
                    self.visit_expr(argument);
                }
            }
            return;
        }
        syn::visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        expressions(found).iter().for_each(|expression| self.visit_expr(expression));
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

/// Whether a level is made of the one before: it is mentioned, and things of things are collected.
struct MadeOf<'a> {
    level: &'a str,
    mentioned: bool,
    many: bool,
}

impl<'ast> Visit<'ast> for MadeOf<'_> {
    fn visit_expr(&mut self, expression: &'ast syn::Expr) {
        self.mentioned |= place(expression).is_some_and(|place| place == self.level);
        syn::visit::visit_expr(self, expression);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.many |= ["flat_map", "flatten", "concat", "collect"].iter().any(|many| call.method == many);
        syn::visit::visit_expr_method_call(self, call);
    }
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
struct Calls<'a> {
    found: BTreeSet<Call>,
    bound: BTreeSet<String>,
    imports: &'a Imports,
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        let own = matches!(&*call.receiver, syn::Expr::Path(path) if path.path.is_ident("self"));
        let implied = IMPLIED.iter().find(|(method, _)| *method == name).map(|(_, implied)| *implied);
        let implied = implied.or(name.starts_with("serialize_").then_some(Implied::Serialized));
        self.found.extend(implied.map(Call::Implied));
        self.found.insert(if own { Call::Own(name) } else { Call::Method(name) });
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, found: &'ast syn::Macro) {
        self.found.extend(formats(found).then_some(Call::Implied(Implied::Shown)));
        expressions(found).iter().for_each(|expression| self.visit_expr(expression));
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let names = self.imports.spelt(&path.path);
        let is_type = |name: &str| name.starts_with(char::is_uppercase);
        match names.as_slice() {
            [.., owner, name]
                if owner == "Into" || owner == "From" || owner == "TryFrom" || owner == "TryInto" =>
            {
                self.found.insert(Call::Implied(Implied::Converted))
                    | self.found.insert(Call::Of(owner.clone(), name.clone()))
            }
            [.., owner, name] if owner == "ToString" => {
                self.found.insert(Call::Implied(Implied::Shown))
                    | self.found.insert(Call::Of(owner.clone(), name.clone()))
            }
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
