//! A type has a name of its own: within a crate no two structs, enums, traits, unions or aliases share one, so that a name
//! in a message, in the documentation or in a search leads to one place. Tests, bodies of functions and aliases of
//! `Result` are not looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::{Attribute, Item};

/// Names that mean the same wherever they stand.
const COMMON: &[&str] = &["Result"];

/// Where each type name of a crate stands.
type Places = BTreeMap<String, Vec<String>>;

/// Checks every crate of the workspace.
pub fn check(root: &Path) -> Result<()> {
    let mut faults = Vec::new();
    let mut crates = std::fs::read_dir(root.join("crates"))?.collect::<std::io::Result<Vec<_>>>()?;
    crates.sort_by_key(std::fs::DirEntry::path);
    for one in crates {
        let mut places = Places::new();
        for file in sources(&one.path().join("src"))? {
            let text = std::fs::read_to_string(&file)?;
            let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            collect(&parsed.items, &shown, &mut places);
        }
        faults.extend(doubled(&places));
    }
    if !faults.is_empty() {
        bail!("types that share a name:\n{}", faults.join("\n"));
    }
    Ok(())
}

/// The Rust files of a folder that are no tests, in order.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "tests" {
                folders.push(path);
            } else if name.ends_with(".rs") && !name.ends_with("tests.rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn collect(items: &[Item], file: &str, places: &mut Places) {
    for item in items {
        let (name, attributes) = match item {
            Item::Struct(item) => (&item.ident, &item.attrs),
            Item::Enum(item) => (&item.ident, &item.attrs),
            Item::Union(item) => (&item.ident, &item.attrs),
            Item::Trait(item) => (&item.ident, &item.attrs),
            Item::Type(item) => (&item.ident, &item.attrs),
            Item::Mod(module) => {
                if let (false, Some((_, items))) = (is_test(&module.attrs), &module.content) {
                    collect(items, file, places);
                }
                continue;
            }
            _ => continue,
        };
        let name = name.to_string();
        if !is_test(attributes) && !COMMON.contains(&name.as_str()) {
            places.entry(name).or_default().push(file.to_owned());
        }
    }
}

/// Whether something is there for tests, or for one kind of build of two.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
}

fn doubled(places: &Places) -> Vec<String> {
    let told = |(name, files): (&String, &Vec<String>)| format!("`{name}`: {}", files.join(", "));
    places.iter().filter(|(_, files)| files.len() > 1).map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_files_declare_is_told_with_both() {
        let mut places = Places::new();
        for (file, text) in [
            ("a.rs", "pub struct Kept; type Result = (); mod inner { enum Deep {} }"),
            ("b.rs", "enum Kept { A } type Result = (); #[cfg(test)] mod tests { struct Deep; }"),
        ] {
            collect(&syn::parse_file(text).expect("it is Rust").items, file, &mut places);
        }
        assert_eq!(doubled(&places), ["`Kept`: a.rs, b.rs"]);
    }
}
