//! What names in a file stand for: imports, renamed or not, and which types hold values.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;

use super::functions::VALUES;

/// Where names come from that have nothing to do with values, although some are spelt alike.
const FOREIGN: &[&str] =
    &["std", "core", "alloc", "serde_json", "serde", "hashbrown", "jiff", "toml", "rmcp"];

/// The language's types, where they stand in another crate.
const LANGUAGE: &str = "ptc_lisp::";

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Types of the language that hold values to run programs, to read or to write them, and whose methods are looked at only
/// where they say that they are over values. Any other type that holds one is a value here.
const APART: &[&str] = &[
    "Batch",
    "BinaryOperation",
    "BodySlot",
    "CellState",
    "Census",
    "Change",
    "CollectAll",
    "Cont",
    "Copy",
    "Copying",
    "Expr",
    "Facts",
    "Fiber",
    "FieldLookup",
    "FieldShape",
    "Filling",
    "Follower",
    "Frozen",
    "Globals",
    "Goal",
    "Groups",
    "Heap",
    "ItemWalk",
    "JsonReader",
    "Key",
    "Known",
    "Lasting",
    "Layout",
    "LazyState",
    "Linked",
    "Machine",
    "MatcherState",
    "Meta",
    "NativeFn",
    "NextPart",
    "Op",
    "OpenCons",
    "OpenContainer",
    "Ordering",
    "Original",
    "PartSource",
    "Parts",
    "Pending",
    "PendingSeq",
    "PipelineCall",
    "Plain",
    "Reader",
    "RollbackState",
    "Run",
    "Settings",
    "Signal",
    "Spine",
    "State",
    "Stop",
    "Summary",
    "Told",
    "ToolRequest",
    "Undo",
    "UpdateFn",
    "Whole",
    "Window",
    "WithoutJson",
    "Writer",
];

/// What `use` brings into a file.
#[derive(Default)]
pub(super) struct Imports {
    /// Whether the file is one of `ptc-lisp`, where values need no import to be meant.
    of_language: bool,
    names: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

impl Imports {
    pub(super) fn of(tree: &syn::File, of_language: bool) -> Imports {
        let mut imports = Imports { of_language, ..Imports::default() };
        imports.visit_file(tree);
        imports
    }

    /// The names that are imported, as they are called where they are defined.
    pub(super) fn originals(&self) -> BTreeSet<String> {
        self.names.values().filter_map(|path| path.last().cloned()).collect()
    }

    fn add(&mut self, tree: &syn::UseTree, path: &mut Vec<String>) {
        match tree {
            syn::UseTree::Path(inside) => {
                path.push(inside.ident.to_string());
                self.add(&inside.tree, path);
                path.pop();
            }
            syn::UseTree::Name(name) => self.name(name.ident.to_string(), path, &name.ident),
            syn::UseTree::Rename(name) => self.name(name.rename.to_string(), path, &name.ident),
            syn::UseTree::Glob(_) => self.globs.push(path.clone()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(tree, path)),
        }
    }

    fn name(&mut self, local: String, path: &[String], original: &syn::Ident) {
        // `use x::{self}`
        let last = (original != "self").then(|| original.to_string());
        let whole: Vec<String> = path.iter().cloned().chain(last).collect();
        let local = if local == "self" { whole.last().cloned().unwrap_or_default() } else { local };
        self.names.insert(local, whole);
    }

    /// The segments of a path, the first as it is called where it is defined.
    pub(super) fn spelt(&self, path: &syn::Path) -> Vec<String> {
        let mut names = segments(path);
        if let Some(original) =
            names.first().and_then(|first| self.names.get(first)).and_then(|path| path.last())
        {
            names[0].clone_from(original);
        }
        names
    }

    /// The name of a type: with [`LANGUAGE`] before it if it is the language's and this is another crate, none if it is foreign.
    fn type_name(&self, mut names: Vec<String>) -> Option<String> {
        let imported = names.first().and_then(|first| self.names.get(first));
        if let Some(whole) = imported {
            names.splice(0..1, whole.iter().cloned());
        }
        let (root, last) = (names.first()?, names.last()?);
        if FOREIGN.contains(&root.as_str()) {
            return None;
        }
        let is_value = VALUES.contains(&last.as_str());
        let from_language = |root: &str| root.starts_with("ptc_");
        let in_glob = || {
            names.len() == 1
                && self.globs.iter().any(|path| path.first().is_some_and(|root| from_language(root)))
        };
        if !self.of_language && is_value && (from_language(root) || in_glob()) {
            return Some(format!("{LANGUAGE}{last}"));
        }
        Some(last.clone())
    }

    /// Whether a pattern of this name takes a value apart, into one of these kinds.
    pub(super) fn is_holder(&self, path: &syn::Path, kinds: &[&str]) -> bool {
        let mut before = segments(path);
        let Some(kind) = before.pop().filter(|kind| kinds.contains(&kind.as_str())) else { return false };
        let is_value = |name: &str| {
            name.trim_start_matches(LANGUAGE) == "Value" && (self.of_language || name.starts_with(LANGUAGE))
        };
        if before.is_empty() {
            let opened = |path: &Vec<String>| path.last().is_some_and(|last| last == "Value");
            let listed = self
                .names
                .get(&kind)
                .is_some_and(|path| path.iter().rev().nth(1).is_some_and(|of| of == "Value"));
            return listed || self.globs.iter().any(opened);
        }
        self.type_name(before).is_some_and(|name| is_value(&name))
    }
}

impl<'ast> Visit<'ast> for Imports {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add(&item.tree, &mut Vec::new());
    }
}

/// The names in a type, and the first of them.
pub(super) struct Names<'a> {
    imports: &'a Imports,
    pub(super) all: BTreeSet<String>,
    pub(super) first: String,
}

impl Names<'_> {
    pub(super) fn of(imports: &Imports) -> Names<'_> {
        Names { imports, all: BTreeSet::new(), first: String::new() }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        if self.first.is_empty() {
            self.first = self.imports.spelt(path).pop().unwrap_or_default();
        }
        self.all.extend(self.imports.type_name(segments(path)));
        syn::visit::visit_path(self, path);
    }
}

/// The types of a crate that are values, other names of them, and types that hold them.
pub(super) struct Types(BTreeSet<String>);

impl Types {
    /// Those of all files of a crate, with what they import.
    pub(super) fn of(files: &[(&syn::File, &Imports)], of_language: bool) -> Types {
        let prefix = if of_language { "" } else { LANGUAGE };
        let mut types = Types(VALUES.iter().map(|name| format!("{prefix}{name}")).collect());
        let mut declared = Declared::default();
        for (tree, imports) in files {
            declared.imports = Some(imports);
            declared.visit_file(tree);
        }
        // A wrapper of a wrapper, too: until there is no other.
        loop {
            let known = types.0.len();
            let is_apart = |name: &str| of_language && APART.contains(&name);
            let held = declared.types.iter().filter(|(name, holds)| !is_apart(name) && types.any_of(holds));
            let held: Vec<String> = held.map(|(name, _)| name.clone()).collect();
            types.0.extend(held);
            if types.0.len() == known {
                break;
            }
        }
        types
    }

    fn any_of(&self, names: &BTreeSet<String>) -> bool {
        !self.0.is_disjoint(names)
    }

    pub(super) fn any(&self, names: &Names<'_>) -> bool {
        self.any_of(&names.all)
    }

    /// The same of what methods belong to: those of a map look for keys, and at values only if they say so.
    pub(super) fn any_owner(&self, names: &Names<'_>) -> bool {
        names.all.iter().any(|name| name != "Map" && self.0.contains(name))
    }
}

/// Types that a crate declares, with the names of what they hold.
#[derive(Default)]
struct Declared<'a> {
    imports: Option<&'a Imports>,
    types: Vec<(String, BTreeSet<String>)>,
}

impl Declared<'_> {
    fn add(&mut self, name: &syn::Ident, visit: impl FnOnce(&mut Names<'_>)) {
        let Some(imports) = self.imports else { return };
        let mut names = Names::of(imports);
        visit(&mut names);
        self.types.push((name.to_string(), names.all));
    }
}

impl<'ast> Visit<'ast> for Declared<'_> {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.add(&item.ident, |names| names.visit_fields(&item.fields));
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.add(&item.ident, |names| {
            item.variants.iter().for_each(|variant| names.visit_fields(&variant.fields))
        });
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.add(&item.ident, |names| names.visit_type(&item.ty));
    }
}
