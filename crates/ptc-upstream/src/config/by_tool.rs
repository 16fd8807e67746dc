//! Settings by tool: names, which may differ in hyphens and underscores, and patterns with `*` for any text.

use std::collections::BTreeMap;

use crate::catalog::same_name;

/// What is said about a tool: under its name, or else under the longest pattern that fits.
pub fn find<'m, T>(said: &'m BTreeMap<String, T>, tool: &str) -> Option<&'m T> {
    let alike = || said.iter().find(|(name, _)| same_name(name, tool)).map(|(_, found)| found);
    let fitting = || {
        let patterns = said.iter().filter(|(pattern, _)| fits(pattern, tool));
        patterns.max_by_key(|(pattern, _)| pattern.len()).map(|(_, found)| found)
    };
    said.get(tool).or_else(alike).or_else(fitting)
}

/// Whether a name or pattern means this tool.
pub fn fits(pattern: &str, tool: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return same_name(pattern, tool) };
    let Some(mut left) = strip(tool, first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    // Each part where it comes first leaves most for those behind it.
    for part in parts {
        let starts = left.char_indices().map(|(at, _)| at).chain([left.len()]);
        let Some(behind) = starts.filter_map(|at| strip(&left[at..], part)).next() else { return false };
        left = behind;
    }
    let from = left.len().checked_sub(last.len());
    from.is_some_and(|from| left.is_char_boundary(from) && same_name(&left[from..], last))
}

/// What is behind a beginning that may differ in hyphens and underscores.
fn strip<'t>(text: &'t str, beginning: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(beginning.len())?;
    same_name(start, beginning).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_any_text_where_their_star_is() {
        let cases = [
            ("get_user", "get-user", true),
            ("get_user", "get_users", false),
            ("*", "", true),
            ("*", "größe", true),
            ("get_*", "get-user", true),
            ("get_*", "forget_user", false),
            ("*_user", "get-user", true),
            ("*_user", "get_users", false),
            ("get_*_by_*", "get_user_by_id", true),
            ("get_*_by_*", "get_by_id", false),
            ("a*a", "a", false),
            ("a*b*a", "abba", true),
            ("*é", "café", true),
            ("*ab", "aab", true),
        ];
        for (pattern, tool, expected) in cases {
            assert_eq!(fits(pattern, tool), expected, "{pattern} {tool}");
        }
    }

    #[test]
    fn names_come_before_patterns_and_long_ones_before_short_ones() {
        let said: BTreeMap<String, u8> =
            [("*", 1), ("get_*", 2), ("get-user", 3)].map(|(name, value)| (name.to_owned(), value)).into();
        for (tool, expected) in [("put", 1), ("get_order", 2), ("get_user", 3)] {
            assert_eq!(find(&said, tool), Some(&expected), "{tool}");
        }
        assert_eq!(find(&BTreeMap::<String, u8>::new(), "put"), None);
    }
}
