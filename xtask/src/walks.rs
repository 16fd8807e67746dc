//! Values are walked in one place (`crates/ptc-lisp/src/value/walk.rs`), which knows how deep they nest, that they
//! share their parts and that they may hold themselves. A function over values that calls itself, alone or through
//! others of its file, is such a walk written anew, and is refused unless it stands in [`KNOWN`].
//!
//! Calls are found by name: a method of `self` in the same type, other methods and functions in the same file, a
//! function that is imported or stands behind a module's name in the other files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::visit::Visit;

/// What is checked.
const SOURCES: &str = "crates/ptc-lisp/src";

/// Types by which a function is one over values.
const VALUES: &[&str] = &[
    "Value",
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

/// Functions that may call themselves: their file, their names, and why they are none of these walks.
const KNOWN: &[(&str, &[&str], &str)] = &[
    ("builtins/access.rs", &["count_of"], "a transient holds no transient"),
    ("builtins/access.rs", &["rest_of"], "a realised sequence is not lazy"),
    ("builtins/arrays.rs", &["nested"], "a level for each argument"),
    ("builtins/lookup.rs", &["find"], "a transient holds no transient"),
    ("builtins/maps.rs", &["contains"], "a transient holds no transient"),
    (
        "builtins/pprint.rs",
        &["items", "map", "value"],
        "values that are realised nest to MAX_DEPTH; fuel and memory",
    ),
    ("builtins/shapes.rs", &["open_children"], "an explicit stack of its own, counted"),
    ("dump/read.rs", &["all", "each_body"], "constants of code, no deeper than source text"),
    (
        "dump/write_values.rs",
        &[
            "closure",
            "cons",
            "exception",
            "items",
            "key",
            "lazy",
            "other",
            "seq",
            "set",
            "sorted",
            "value",
            "vector",
            "written",
        ],
        "goes no deeper than DEEPEST, writes shared bodies once, and puts lazy sequences and cells in a queue",
    ),
    (
        "machine/schedule.rs",
        &["child_failed", "raise_in_parent"],
        "from a branch to the one that waits for it; looks into no value",
    ),
    ("edn.rs", &["with_meta"], "forms, which the reader bounds"),
    ("heap.rs", &["seq"], "a realised sequence is not lazy"),
    ("machine/history.rs", &["cut", "entries"], "goes into one part of each level, to DEEPEST"),
    (
        "machine/signals.rs",
        &["force", "late_call", "run_thunk", "start_realise"],
        "calls of the machine, which wait on its own stack",
    ),
    ("prelude/constants.rs", &["each", "frozen"], "what was measured with `extent` nests to DEEPEST"),
    (
        "value/equal.rs",
        &["find", "has", "same", "same_items", "same_parts", "same_sorted", "same_sorted_map"],
        "two values at once; the Meter counts steps and levels",
    ),
    (
        "value/hash.rs",
        &["container", "entries", "feed", "items", "members", "of", "parts"],
        "counts steps and levels, and hashes shared parts once",
    ),
    ("value/items.rs", &["next", "next_in_chain"], "a chain ends in something that is none"),
    (
        "value/mod.rs",
        &["as_str", "clone", "meta", "shape", "shared", "type_name"],
        "asks the body, not its parts",
    ),
    ("value/order.rs", &["compare_numbers"], "swaps its arguments once"),
    (
        "value/order.rs",
        &["compare_vectors", "compare_within"],
        "two values at once; the Meter counts steps and levels",
    ),
    ("value/seq.rs", &["shape"], "a realised sequence is not lazy"),
    (
        "view.rs",
        &["entry", "map", "part", "value"],
        "goes no deeper than its bounds say, over a number of values",
    ),
];

/// Refuses walks over values that are not known.
pub fn check(root: &Path) -> Result<()> {
    let sources = root.join(SOURCES);
    let mut files = BTreeMap::new();
    read(&sources, &sources, &mut files)?;
    let found = recursive(&files)?;
    let known = KNOWN.iter().flat_map(|(file, names, _)| names.iter().map(move |name| (*file, *name)));
    let known: BTreeSet<(&str, &str)> = known.collect();
    let mut faults = Vec::new();
    for (file, name) in &found {
        if !known.contains(&(file.as_str(), name.as_str())) {
            faults.push(format!(
                "{SOURCES}/{file}: `{name}` walks values by calling itself: use value/walk.rs"
            ));
        }
    }
    for (file, name) in known {
        if !found.contains(&(file.to_owned(), name.to_owned())) {
            faults.push(format!(
                "xtask/src/walks.rs: `{name}` of {file} does not call itself any more: forget it"
            ));
        }
    }
    if !faults.is_empty() {
        bail!("walks over values:\n{}", faults.join("\n"));
    }
    Ok(())
}

/// Reads all Rust files below a folder, by path from `root`.
fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read(root, &path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
            files.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    Ok(())
}

/// A function of the crate.
struct Function {
    file: String,
    /// The type whose method it is; empty for a free function.
    owner: String,
    name: String,
    over_values: bool,
    calls: BTreeSet<Call>,
    /// Names that the file imports.
    imports: BTreeSet<String>,
}

/// A call, as far as its text says what is called.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
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

/// The functions over values that call themselves, by file and name.
fn recursive(files: &BTreeMap<String, String>) -> Result<BTreeSet<(String, String)>> {
    let mut trees = BTreeMap::new();
    for (file, text) in files {
        let tree = syn::parse_file(text).with_context(|| format!("{file} cannot be read"))?;
        trees.insert(file.clone(), tree);
    }
    let tests: BTreeSet<String> = trees.iter().flat_map(|(file, tree)| test_files(file, tree)).collect();
    let mut functions = Vec::new();
    for (file, tree) in trees.iter().filter(|(file, _)| !tests.contains(*file)) {
        let mut imports = Imports::default();
        imports.visit_file(tree);
        let mut collect =
            Collect { file, owner: String::new(), imports: &imports.0, functions: &mut functions };
        collect.visit_file(tree);
    }
    let edges: Vec<Vec<usize>> = functions.iter().map(|function| called(function, &functions)).collect();
    let mut found = BTreeSet::new();
    for (at, function) in functions.iter().enumerate() {
        if reaches(at, at, &edges, &functions) {
            found.insert((function.file.clone(), function.name.clone()));
        }
    }
    Ok(found)
}

/// Files that a module declares for tests only.
fn test_files(file: &str, tree: &syn::File) -> Vec<String> {
    let folder = match file.strip_suffix("/mod.rs") {
        Some(folder) => PathBuf::from(folder),
        None if file == "lib.rs" => PathBuf::new(),
        None => PathBuf::from(file.trim_end_matches(".rs")),
    };
    let modules = tree.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => Some(module),
        _ => None,
    });
    modules.map(|module| folder.join(format!("{}.rs", module.ident)).to_string_lossy().into_owned()).collect()
}

fn is_test(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|attr| {
        attr.path().is_ident("test")
            || (attr.path().is_ident("cfg")
                && attr.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test")))
    })
}

/// The functions that a call may mean.
fn called(function: &Function, functions: &[Function]) -> Vec<usize> {
    let matching = |wanted: &dyn Fn(&Function) -> bool| -> Vec<usize> {
        (0..functions.len()).filter(|at| wanted(&functions[*at])).collect()
    };
    let here = |other: &Function| other.file == function.file;
    let mut found = Vec::new();
    for call in &function.calls {
        found.extend(match call {
            Call::Own(name) => {
                matching(&|other| here(other) && other.name == *name && other.owner == function.owner)
            }
            Call::Method(name) => {
                let of_value = |other: &Function| VALUES.contains(&other.owner.as_str());
                matching(&|other| here(other) && other.name == *name && of_value(other))
            }
            Call::Of(owner, name) => {
                matching(&|other| here(other) && other.name == *name && other.owner == *owner)
            }
            Call::Free(name) => {
                let free = |other: &Function| other.name == *name && other.owner.is_empty();
                match matching(&|other| here(other) && free(other)) {
                    none if none.is_empty() && function.imports.contains(name) => matching(&free),
                    near => near,
                }
            }
            Call::In(module, name) => {
                let [file, folder] = [format!("{module}.rs"), format!("{module}/mod.rs")];
                let inside = |other: &Function| other.file.ends_with(&file) || other.file.ends_with(&folder);
                matching(&|other| {
                    !here(other) && other.owner.is_empty() && other.name == *name && inside(other)
                })
            }
        });
    }
    found
}

/// Whether calls lead from one function to another through functions, one of which is over values.
fn reaches(from: usize, to: usize, edges: &[Vec<usize>], functions: &[Function]) -> bool {
    if !functions[from].over_values {
        return false;
    }
    let (mut open, mut seen) = (edges[from].clone(), BTreeSet::new());
    while let Some(next) = open.pop() {
        if next == to {
            return true;
        }
        if seen.insert(next) {
            open.extend(&edges[next]);
        }
    }
    false
}

/// Collects the functions of a file.
struct Collect<'a> {
    file: &'a str,
    owner: String,
    imports: &'a BTreeSet<String>,
    functions: &'a mut Vec<Function>,
}

impl Collect<'_> {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let mut types = Names::default();
        signature.inputs.iter().for_each(|input| types.visit_fn_arg(input));
        let mut bound = Bound::default();
        signature.inputs.iter().for_each(|input| bound.visit_fn_arg(input));
        bound.visit_block(block);
        let mut calls = Calls { found: BTreeSet::new(), bound: bound.0 };
        calls.visit_block(block);
        self.functions.push(Function {
            file: self.file.to_owned(),
            owner: self.owner.clone(),
            name: signature.ident.to_string(),
            over_values: VALUES.iter().any(|value| types.0.contains(*value) || self.owner == *value),
            calls: calls.found,
            imports: self.imports.clone(),
        });
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
        self.owner = names.1;
        syn::visit::visit_item_impl(self, block);
        self.owner.clear();
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_test(&function.attrs) {
            self.function(&function.sig, &function.block);
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_test(&function.attrs) {
            let owner = std::mem::take(&mut self.owner);
            self.function(&function.sig, &function.block);
            syn::visit::visit_item_fn(self, function);
            self.owner = owner;
        }
    }
}

/// The names in a type, and the first of them.
#[derive(Default)]
struct Names(BTreeSet<String>, String);

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
struct Imports(BTreeSet<String>);

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

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let files = BTreeMap::from([("some.rs".to_owned(), text.to_owned())]);
        recursive(&files).expect("it is Rust").into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_function_over_values_that_calls_itself_is_found() {
        let alone = "fn count(value: &Value) -> usize { match value { Value::Vec(b) => b.iter().map(count).sum(), _ => 1 } }";
        assert_eq!(found(alone), ["count"]);
        let through = "impl Count { fn value(&mut self, value: &Value) { self.all(value) } \
                       fn all(&mut self, value: &Value) { for item in items(value) { self.value(&item) } } }";
        assert_eq!(found(through), ["all", "value"]);
        let closure = "fn walk(items: &mut Items) { items.each(|item| walk(item)) }";
        assert_eq!(found(closure), ["walk"]);
    }

    #[test]
    fn other_functions_are_not() {
        let other = "fn depth(form: &Form) -> usize { form.parts().map(depth).max() }";
        let flat = "fn first(value: &Value) { second(value) } fn second(value: &Value) { value.clone(); }";
        let same_name = "impl A { fn of(value: &Value) { B::of(value) } } impl B { fn of(value: &Value) {} }";
        let tests = "#[cfg(test)] mod tests { fn count(value: &Value) { count(value) } }";
        for text in [other, flat, same_name, tests] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn the_sources_have_only_the_known_walks() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
        check(root).expect("no other walk");
    }
}
