//! Files of variables, as `envFile` of VS Code names them: lines `NAME=value`, where a value may be quoted, `export` may stand
//! before the name, and `#` begins a comment. Nothing is filled in within values.

use std::collections::BTreeMap;
use std::path::Path;

use ptc_system::environment::{self, Template};

/// No file of variables is larger.
const MOST_BYTES: u64 = 256 * 1024;

/// The variables of a file, or why it cannot be used.
pub fn read(file: &Path) -> Result<BTreeMap<String, Template>, String> {
    let size = std::fs::metadata(file).map_err(|error| format!("cannot be read: {error}"))?.len();
    if size > MOST_BYTES {
        return Err(format!("has more than {MOST_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot be read: {error}"))?;
    variables(&text)
}

fn variables(text: &str) -> Result<BTreeMap<String, Template>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut variables = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // What stands there may be a secret, so only its place is told.
        let wrong = || format!("line {} is not NAME=value", at + 1);
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(wrong)?;
        let name = name.trim();
        if !environment::is_name(name) {
            return Err(wrong());
        }
        variables.insert(name.to_owned(), Template::from(unquoted(value.trim())));
    }
    Ok(variables)
}

/// A value without its quotes, or without the comment behind it.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.rsplit_once(quote)) {
            return inside;
        }
    }
    value.split_once(" #").map_or(value, |(value, _)| value.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values() {
        let text =
            "\u{feff}# keys\nA=1\n\nexport B = two words # said\nC=\"a # b\" # c\nD='x=y'\nE=\nF=$A\r\nA=2";
        let read = variables(text).expect("it is right");
        let read: Vec<(&str, String)> =
            read.iter().map(|(name, value)| (name.as_str(), value.to_string())).collect();
        let expected = [("A", "2"), ("B", "two words"), ("C", "a # b"), ("D", "x=y"), ("E", ""), ("F", "$A")];
        assert_eq!(read, expected.map(|(name, value)| (name, value.to_owned())));
        for (text, told) in [("A=1\nsecret", "line 2 is not NAME=value"), ("=1", "line 1 is not NAME=value")]
        {
            assert_eq!(variables(text).expect_err(text), told);
        }
    }
}
