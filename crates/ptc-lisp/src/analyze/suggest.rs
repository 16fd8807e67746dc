//! Did you mean …?

use super::Undefined;
use crate::builtins::registry;

/// The candidate closest to `name`, if it is close enough to be what was meant.
pub fn closest<'c>(name: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let limit = match name.chars().count() {
        0..=4 => 1,
        5..=7 => 2,
        _ => 3,
    };
    candidates
        .filter(|candidate| candidate.len().abs_diff(name.len()) <= limit && *candidate != name)
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= limit && *distance < candidate.chars().count())
        .min_by_key(|(distance, candidate)| (*distance, candidate.len().abs_diff(name.len())))
        .map(|(_, candidate)| candidate)
}

/// A hint for an undefined name.
pub(super) fn for_undefined(undefined: &Undefined, globals: &[String]) -> Option<String> {
    let name = undefined.name.as_str();
    if super::special::is_special(name) {
        return Some(format!("{name} is a form: write it in parentheses, as in ({name} …)"));
    }
    if let Some(hint) = known_absence(name) {
        return Some(hint.to_owned());
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

fn known_absence(name: &str) -> Option<&'static str> {
    Some(match name {
        "slurp" | "spit" | "line-seq" | "file-seq" => "there are no files; inputs are in data/",
        "pluck" => "write (map :key coll)",
        "where" => "write (filter #(…) coll)",
        "any-of" | "some-of" => "write (some-fn …) or (some pred coll)",
        "all-of" => "write (every-pred …) or (every? pred coll)",
        "none-of" => "write (not-any? pred coll)",
        "length" | "len" | "size" => "write (count coll)",
        "append" => "write (conj coll x)",
        "contains" => "write (contains? m k) or (some #{x} coll)",
        "foreach" | "each" => "write (doseq [x coll] …)",
        "print-line" | "console.log" => "write (println …)",
        "lambda" => "write (fn [x] …)",
        "setq" | "set!" | "var" => "values do not change: use let, loop/recur or an atom",
        "null" | "None" | "undefined" => "write nil",
        "True" => "write true",
        "False" => "write false",
        "elif" | "else" => "write (cond test value … :else value)",
        _ => return None,
    })
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
}
