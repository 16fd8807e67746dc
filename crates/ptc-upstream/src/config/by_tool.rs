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

/// Whether a rule that holds a tool back means this one: by its own name, or by the one that clients show their models, in
/// which rules of clients are written.
pub fn restrains(pattern: &str, tool: &str) -> bool {
    fits(pattern, tool) || fits(pattern, &client_tool_name(tool))
}

/// The name of a tool as clients show it to their models, behind that of the server: Claude Code and opencode write `_` for
/// every unit of UTF-16 that the APIs of models do not take in names.
pub fn client_tool_name(tool: &str) -> String {
    let mut name = String::new();
    for c in tool.chars() {
        match c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            true => name.push(c),
            false => name.extend(std::iter::repeat_n('_', c.len_utf16())),
        }
    }
    name
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
    fn rules_hold_tools_back_under_the_names_that_clients_give_them() {
        for (pattern, tool, expected) in [
            ("get_user", "get.user", true),
            ("get_*", "get.user", true),
            ("gr__e", "grö.e", true),
            ("a__", "a🦀", true),
            ("get.user", "get.user", true),
            ("get_user", "get.users", false),
        ] {
            assert_eq!(restrains(pattern, tool), expected, "{pattern} {tool}");
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
