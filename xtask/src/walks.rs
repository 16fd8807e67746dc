//! Values are walked in one place (`crates/ptc-lisp/src/value/walk.rs`), which knows how deep they nest, that they
//! share their parts and that they may hold themselves. A function over values that calls itself, alone or through
//! others, or that keeps a stack of its own in a loop, is such a walk written anew, and is refused unless it stands in
//! [`KNOWN`].
//!
//! A function is one over values if its parameters, its type variables or those of its `impl` name a type that is or holds
//! values, by whichever name, or if it takes a value apart by a pattern. Looked at are the sources of the language and of every
//! crate that depends on it, the arguments of macros as far as they can be read as expressions.
//!
//! Calls are found by name: a method of `self` in the same type or trait, other methods and functions in the same file,
//! functions of a type in all files of the crate, a function that is imported or stands behind a module's name in the other
//! files, methods there of types that are imported; and what the library calls for a type in the same file or imported: `fmt`
//! where a text is made, `serialize` where a part is given to a serializer, `from` where something is converted.
//!
//! A loop keeps a stack if it puts things onto a list from which it takes, which it reads by index, or whose place another
//! list takes that it fills (`level = next`).
//!
//! That is what can be seen in the text of one function. Not seen are a call through a function pointer, a closure in a
//! variable or a `dyn` trait, a method of a type that the file does not name, a definition of `macro_rules!`, and a stack whose
//! pushes and pops stand in two functions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::visit::Visit;

use functions::{Call, Collect, Function, is_test};
use names::{Imports, Types};

mod functions;
mod macros;
mod names;

/// Where the language is.
const LANGUAGE: &str = "crates/ptc-lisp/src";

/// Functions that may call themselves or keep a stack: their file, their names, and why they are none of these walks.
const KNOWN: &[(&str, &[&str], &str)] = &[
    ("builtins/access.rs", &["count_of"], "a transient holds no transient"),
    ("builtins/access.rs", &["rest_of"], "a realised sequence is not lazy"),
    ("builtins/arrays.rs", &["nested"], "a level for each argument"),
    ("builtins/lookup.rs", &["find"], "a transient holds no transient"),
    ("builtins/maps.rs", &["contains"], "a transient holds no transient"),
    (
        "builtins/paths.rs",
        &["assoc_in"],
        "the stack is one path, and each value on it is taken out of the one above",
    ),
    (
        "builtins/pprint.rs",
        &["items", "map", "value"],
        "values that are realised nest to MAX_DEPTH; fuel and memory",
    ),
    (
        "builtins/seqs.rs",
        &["flatten"],
        "a stack of its own over sequences, which were realised and nest to MAX_DEPTH; fuel for each item",
    ),
    ("builtins/shapes.rs", &["add", "map"], "`add` of the histogram, `map` of iterators"),
    (
        "builtins/shapes.rs",
        &["open_children", "paths"],
        "a stack of its own, to MAX_PATH_VALUES values and as deep as it is asked for",
    ),
    ("dump/read.rs", &["all", "each_body"], "constants of code, no deeper than source text"),
    ("dump/read_values.rs", &["array", "items", "realised"], "counts levels to DEEPEST"),
    (
        "dump/write_values.rs",
        &[
            "closure",
            "cons",
            "entries",
            "exception",
            "items",
            "key",
            "lazy",
            "map",
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
    ("heap.rs", &["display", "printed"], "the printer's, which walk with value/walk.rs"),
    ("heap.rs", &["seq"], "a realised sequence is not lazy"),
    ("machine/call.rs", &["has_argument"], "looks at LOOKED_AT values at most"),
    ("machine/call.rs", &["invoke"], "once, for what a var names, which is none"),
    ("machine/history.rs", &["cut", "entries"], "goes into one part of each level, to DEEPEST"),
    ("machine/run.rs", &["run_frames"], "the loop over instructions, whose stack is that of calls"),
    (
        "machine/signals.rs",
        &["force", "late_call", "run_thunk", "start_realise"],
        "calls of the machine, which wait on its own stack",
    ),
    ("prelude/constants.rs", &["each", "frozen"], "what was measured with `extent` nests to DEEPEST"),
    (
        "value/equal.rs",
        &["find", "has", "same", "same_items", "same_maps", "same_parts", "same_sorted", "same_sorted_map"],
        "two values at once; the Meter counts steps and levels",
    ),
    (
        "value/hash.rs",
        &["container", "entries", "feed", "items", "members", "of", "parts"],
        "counts steps and levels, and hashes shared parts once",
    ),
    ("value/items.rs", &["next", "next_in_chain"], "a chain ends in something that is none"),
    ("value/layout.rs", &["position", "position_by", "push"], "looks for a key in a table"),
    ("value/map.rs", &["include"], "asks the body, not its parts"),
    ("value/map/reading.rs", &["get", "position"], "looks for a key in a table"),
    (
        "value/mod.rs",
        &["as_str", "clone", "include", "meta", "shape", "shared", "type_name"],
        "asks the body, not its parts",
    ),
    ("value/order.rs", &["compare_numbers"], "swaps its arguments once"),
    (
        "value/order.rs",
        &["compare_vectors", "compare_within"],
        "two values at once; the Meter counts steps and levels",
    ),
    (
        "value/print.rs",
        &["cell", "enter", "is_simple", "opaque"],
        "visits of value/walk.rs; for what a cell holds there is another walk, which goes into no cell",
    ),
    ("value/seq.rs", &["shape"], "a realised sequence is not lazy"),
    ("value/table.rs", &["get", "get_mut", "position"], "looks for a key in a layout"),
    ("value/walk.rs", &["walk"], "it is the walk"),
    ("view.rs", &["key_text", "opaque", "text"], "the printer's, which walks with value/walk.rs"),
    (
        "view.rs",
        &["entry", "map", "part", "value"],
        "goes no deeper than its bounds say, over a number of values",
    ),
];

/// Refuses walks over values that are not known.
pub fn check(root: &Path) -> Result<()> {
    let mut found = BTreeSet::new();
    for (folder, of_language) in crates(root)? {
        let sources = root.join(&folder);
        let mut files = BTreeMap::new();
        read(&sources, &sources, &mut files)?;
        let own = walks(&files, of_language).with_context(|| folder.clone())?;
        let prefix = if of_language { String::new() } else { format!("{folder}/") };
        found.extend(own.into_iter().map(|(file, name)| (format!("{prefix}{file}"), name)));
    }
    let known = KNOWN.iter().flat_map(|(file, names, _)| names.iter().map(move |name| (*file, *name)));
    let known: BTreeSet<(&str, &str)> = known.collect();
    let mut faults = Vec::new();
    for (file, name) in &found {
        if !known.contains(&(file.as_str(), name.as_str())) {
            let prefix = if file.starts_with("crates/") { String::new() } else { format!("{LANGUAGE}/") };
            faults.push(format!(
                "{prefix}{file}: `{name}` walks values by calling itself or with a stack of its own: use value/walk.rs"
            ));
        }
    }
    for (file, name) in known {
        if !found.contains(&(file.to_owned(), name.to_owned())) {
            faults.push(format!("xtask/src/walks.rs: `{name}` of {file} is no walk any more: forget it"));
        }
    }
    if !faults.is_empty() {
        bail!("walks over values:\n{}", faults.join("\n"));
    }
    Ok(())
}

/// The sources that are checked: those of the language, and of every crate that depends on it.
fn crates(root: &Path) -> Result<Vec<(String, bool)>> {
    let mut all = vec![(LANGUAGE.to_owned(), true)];
    for entry in std::fs::read_dir(root.join("crates"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let manifest =
            std::fs::read_to_string(root.join("crates").join(&name).join("Cargo.toml")).unwrap_or_default();
        if manifest.lines().any(|line| line.starts_with("ptc-lisp")) {
            all.push((format!("crates/{name}/src"), false));
        }
    }
    all.sort();
    Ok(all)
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

/// The functions over values that call themselves or keep a stack, by file and name.
fn walks(files: &BTreeMap<String, String>, of_language: bool) -> Result<BTreeSet<(String, String)>> {
    let mut trees = BTreeMap::new();
    for (file, text) in files {
        let tree = syn::parse_file(text).with_context(|| format!("{file} cannot be read"))?;
        trees.insert(file.clone(), tree);
    }
    let tests: BTreeSet<String> = trees.iter().flat_map(|(file, tree)| test_files(file, tree)).collect();
    let product = trees.iter().filter(|(file, _)| !tests.contains(*file));
    let product: Vec<_> =
        product.map(|(file, tree)| (file.as_str(), tree, Imports::of(tree, of_language))).collect();
    let all: Vec<_> = product.iter().map(|(_, tree, imports)| (*tree, imports)).collect();
    let types = Types::of(&all, of_language);
    let mut functions = Vec::new();
    for (file, tree, imports) in &product {
        Collect::new(file, imports, &types, &mut functions).visit_file(tree);
    }
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, function) in functions.iter().enumerate() {
        named.entry(&function.name).or_default().push(at);
    }
    // Most crates have none.
    if !functions.iter().any(|function| function.over_values) {
        return Ok(BTreeSet::new());
    }
    let edges = functions.iter().map(|function| called(function, &functions, &named));
    let edges: Vec<Vec<usize>> = edges.collect();
    let mut found = BTreeSet::new();
    for (at, function) in functions.iter().enumerate() {
        if function.over_values && function.keeps_stack || reaches(at, at, &edges, &functions) {
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

/// The functions that a call may mean. `named` are those of each name.
fn called(function: &Function, functions: &[Function], named: &BTreeMap<&str, Vec<usize>>) -> Vec<usize> {
    let matching = |name: &str, wanted: &dyn Fn(&Function) -> bool| -> Vec<usize> {
        let all = named.get(name).into_iter().flatten();
        all.copied().filter(|at| wanted(&functions[*at])).collect()
    };
    let here = |other: &Function| other.file == function.file;
    let mut found = Vec::new();
    for call in &function.calls {
        found.extend(match call {
            Call::Own(name) => {
                let same = |other: &Function| {
                    other.owner == function.owner
                        || other.of_trait.is_some() && other.of_trait == function.of_trait
                };
                matching(name, &|other| here(other) && same(other))
            }
            Call::Method(name) => {
                let is_method = |other: &Function| !other.owner.is_empty() && other.over_values;
                let known = |other: &Function| here(other) || function.imports.contains(&other.owner);
                matching(name, &|other| is_method(other) && known(other))
            }
            Call::Of(owner, name) => match matching(name, &|other| here(other) && other.owner == *owner) {
                none if none.is_empty() => matching(name, &|other| other.owner == *owner),
                near => near,
            },
            Call::Implied(what) => {
                let known = |other: &Function| here(other) || function.imports.contains(&other.owner);
                let all = functions
                    .iter()
                    .enumerate()
                    .filter(|(_, other)| known(other) && other.is_called_for(*what));
                all.filter(|(_, other)| other.over_values).map(|(at, _)| at).collect()
            }
            Call::Free(name) => {
                let free = |other: &Function| other.owner.is_empty();
                match matching(name, &|other| here(other) && free(other)) {
                    none if none.is_empty() && function.imports.contains(name) => matching(name, &free),
                    near => near,
                }
            }
            Call::In(module, name) => {
                let [file, folder] = [format!("{module}.rs"), format!("{module}/mod.rs")];
                let inside = |other: &Function| other.file.ends_with(&file) || other.file.ends_with(&folder);
                matching(name, &|other| !here(other) && other.owner.is_empty() && inside(other))
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

#[cfg(test)]
mod tests;
