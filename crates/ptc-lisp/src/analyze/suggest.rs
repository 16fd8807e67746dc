//! Did you mean …?

use super::{Undefined, meant};
use crate::builtins::registry;

/// The candidate closest to `name`, if it is close enough to be what was meant. No candidate is better than a wrong
/// one: names agree word by word, and short words may only have their letters swapped or doubled.
pub fn closest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let words = words(name);
    candidates
        .filter(|candidate| *candidate != name)
        .filter_map(|candidate| Some((difference(name, &words, candidate)?, candidate)))
        .min_by_key(|(edits, candidate)| (*edits, candidate.len().abs_diff(name.len())))
        .map(|(_, candidate)| candidate)
}

/// How many edits turn a name into a candidate that it may stand for.
fn difference(name: &str, words_of_name: &[String], candidate: &str) -> Option<usize> {
    if candidate.len().abs_diff(name.len()) > MOST_EDITS + words_of_name.len() {
        return None;
    }
    let words = words(candidate);
    if words_of_name.concat() == words.concat() {
        return Some(0);
    }
    if mark(name) != mark(candidate) || words_of_name.len() != words.len() {
        return None;
    }
    let edits =
        words_of_name.iter().zip(&words).map(|(a, b)| slip(a, b, words.len() > 1)).sum::<Option<usize>>()?;
    (edits <= MOST_EDITS).then_some(edits)
}

/// How many edits a whole name may be away.
const MOST_EDITS: usize = 3;

/// What a name ends with that says how it is used.
fn mark(name: &str) -> Option<char> {
    name.chars().next_back().filter(|c| matches!(c, '?' | '!'))
}

/// The words of a name in small letters: `sort-by`, `sort_by` and `sortBy` have the same two.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small = false;
    for c in name.chars().take(64) {
        let divides = matches!(c, '-' | '_' | '.' | '/' | '>' | '?' | '!');
        if (divides || small && c.is_uppercase()) && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if !divides && let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The edits between two words, if one is likely to be the other with a slip of the fingers. Words beside them that
/// agree make it likelier.
fn slip(a: &str, b: &str, has_others: bool) -> Option<usize> {
    if a == b {
        return Some(0);
    }
    let edits = distance(a, b);
    let letters = a.chars().count().max(b.chars().count());
    let most = if letters >= 9 { 2 } else { 1 };
    if edits > most {
        return None;
    }
    let same_length = a.chars().count() == b.chars().count();
    let swapped = same_length && sorted(a) == sorted(b);
    let doubled = dedup(a) == dedup(b);
    let begins_alike = a.chars().next() == b.chars().next();
    let likely = match letters {
        4 if has_others => swapped || doubled || begins_alike && !same_length,
        0..=4 => swapped || doubled,
        5 => swapped || doubled || begins_alike && !same_length,
        _ => swapped || begins_alike,
    };
    likely.then_some(edits)
}

fn sorted(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.sort_unstable();
    letters
}

fn dedup(word: &str) -> Vec<char> {
    let mut letters: Vec<char> = word.chars().collect();
    letters.dedup();
    letters
}

/// What a program may have meant besides what the language has.
pub(super) struct Near {
    pub(super) globals: Vec<String>,
    pub(super) tools: Vec<String>,
    pub(super) inputs: Vec<String>,
}

/// A hint for an undefined name.
pub(super) fn for_undefined(undefined: &Undefined, near: &Near) -> Option<String> {
    let Near { globals, tools, inputs } = near;
    let name = undefined.name.as_str();
    if super::special::is_special(name) {
        return Some(format!("{name} is a form: write it in parentheses, as in ({name} …)"));
    }
    if let Some(tool) = crate::prelude::granted_as(tools, name) {
        return Some(format!("{tool} is a tool: write (tool/{tool} {{:name value}})"));
    }
    if let Some(input) = inputs.iter().find(|input| input.replace('_', "-") == name.replace('_', "-")) {
        return Some(format!("{input} is an input: write data/{input}"));
    }
    if let ("data" | "inputs" | "context", [_, ..]) = (name, inputs.as_slice()) {
        let shown: Vec<String> = inputs.iter().take(8).map(|input| format!("data/{input}")).collect();
        return Some(format!("every input has a name of its own: write {}", shown.join(", ")));
    }
    if let Some(hint) = meant::name(name).or_else(|| dotted(undefined, near)) {
        return Some(hint);
    }
    if let Some(tool) = tools.iter().find(|tool| words(tool) == words(name)) {
        return Some(format!("{tool} is a tool: write (tool/{tool} {{:name value}})"));
    }
    let hyphened = name.replace('_', "-");
    let exists = |name: &str| registry().unqualified(name).is_some() || globals.iter().any(|g| g == name);
    if hyphened != name && exists(&hyphened) {
        return Some(format!("names have hyphens: {hyphened}"));
    }
    let builtins = registry().iter().map(|(_, entry)| entry.local).filter(|local| exists(local));
    let specials = super::special::SPECIALS.iter().copied();
    let globals = globals.iter().map(String::as_str);
    let candidates = undefined.near.as_deref().into_iter().chain(globals).chain(builtins).chain(specials);
    closest(name, candidates).map(|best| format!("did you mean {best} in place of {name}?"))
}

/// A hint for `rows.length` and `tool.name`, as other languages write them.
fn dotted(undefined: &Undefined, near: &Near) -> Option<String> {
    let (owner, part) = undefined.name.split_once('.')?;
    if owner == "tool" {
        return crate::prelude::granted_as(&near.tools, part)
            .map(|tool| format!("write (tool/{tool} {{:name value}})"));
    }
    if registry().qualified(&format!("{owner}/{part}")).is_some() {
        return Some(format!("write ({owner}/{part} …)"));
    }
    let is_owner = |name: &String| name == owner;
    if near.inputs.iter().any(is_owner) {
        return meant::member(&format!("data/{owner}"), part);
    }
    let known = near.globals.iter().chain(&undefined.near).any(is_owner);
    known.then(|| meant::member(owner, part))?
}

/// Edits (with swaps of neighbours) that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut best = (row[j] + usize::from(x != y)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y {
                best = best.min(before[j - 1] + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits_and_swaps() {
        for (a, b, edits) in
            [("map", "map", 0), ("mapp", "map", 1), ("amp", "map", 1), ("fliter", "filter", 1)]
        {
            assert_eq!(distance(a, b), edits, "{a} {b}");
        }
        assert_eq!(closest("fliter", ["filter", "flatten"].into_iter()), Some("filter"));
        assert_eq!(closest("zzz", ["filter"].into_iter()), None);
    }

    #[test]
    fn names_agree_word_by_word() {
        let close = [
            ("sortBy", "sort-by"),
            ("groupby", "group-by"),
            ("mapp", "map"),
            ("amp", "map"),
            ("conut", "count"),
            ("cout", "count"),
            ("filtr", "filter"),
            ("frequences", "frequencies"),
            ("updte-in", "update-in"),
            ("partiton-by", "partition-by"),
            ("every", "every?"),
            (".toUppercase", ".toUpperCase"),
            ("get_usr", "get_user"),
            ("ordrs", "orders"),
        ];
        for (name, candidate) in close {
            assert_eq!(closest(name, [candidate].into_iter()), Some(candidate), "{name}");
        }
        let different = [
            ("map-vals", "swap-vals!"),
            ("parse-float", "parse-long"),
            ("index-by", "index-of"),
            ("now", "pow"),
            ("foo", "for"),
            ("resolve", "remove"),
            ("null?", "coll?"),
            ("in?", "int"),
            ("raise", "range"),
            ("transpose", "transduce"),
            ("function", "eduction"),
            ("enumerate", "numerator"),
            ("has-key?", "max-key"),
            (".push", ".plus"),
            (".join", ".min"),
        ];
        for (name, candidate) in different {
            assert_eq!(closest(name, [candidate].into_iter()), None, "{name}");
        }
    }
}
