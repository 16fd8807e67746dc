//! A secret never shows. Tests of upstreams give servers one well-known secret, which those echo wherever they
//! can. Here the output of all tests, of those that passed too, and the files that tests leave behind are looked
//! through for it, in every form in which it could be written. The forms are made here, not by the code that
//! covers secrets.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The secret that tests give to servers. Its characters make all its forms differ.
const SENTINEL: &str = "ptc-sentinel-7f3a?9d>e1";

/// What stands where a secret was.
const COVER: &str = "[REDACTED]";

/// Test sources that must use the secret, or the scan would prove nothing.
const USERS: &[&str] = &["crates/ptc-upstream/tests/it/support.rs", "crates/ptc/tests/cli/upstreams.rs"];

/// The folder that tests have their temporary files in.
pub fn files(root: &Path) -> PathBuf {
    root.join("target/test-files")
}

/// Looks through what all tests printed and left behind, whether or not they passed.
pub fn check(root: &Path, output: &str) -> Result<()> {
    for user in USERS {
        let source = std::fs::read_to_string(root.join(user)).with_context(|| user.to_string())?;
        if !source.contains(SENTINEL) {
            bail!("{user} does not use the secret that the output of tests is looked through for");
        }
    }
    let covered = uncovered(root, output)?;
    if covered == 0 {
        bail!("no test printed a covered secret, so this scan proves nothing");
    }
    eprintln!(
        "secrets: {} bytes of output have it covered {covered} times and uncovered never",
        output.len()
    );
    Ok(())
}

/// Fails if the secret stands anywhere; says how often it is covered.
pub fn uncovered(root: &Path, output: &str) -> Result<usize> {
    let mut found = look_through("the output of tests", output);
    for folder in [files(root), root.join("target/tmp")] {
        visit(&folder, &mut found)?;
    }
    match found.is_empty() {
        true => Ok(output.matches(COVER).count()),
        false => bail!("a secret got out:\n{}", found.join("\n")),
    }
}

fn visit(path: &Path, found: &mut Vec<String>) -> Result<()> {
    let Ok(meta) = std::fs::symlink_metadata(path) else { return Ok(()) };
    if meta.is_dir() {
        let entries = std::fs::read_dir(path)?.collect::<std::io::Result<Vec<_>>>()?;
        let mut paths: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).collect();
        paths.sort();
        return paths.iter().try_for_each(|path| visit(path, found));
    }
    if meta.is_file() {
        let bytes = std::fs::read(path)?;
        found.extend(look_through(&path.display().to_string(), &String::from_utf8_lossy(&bytes)));
    }
    Ok(())
}

/// Where the secret stands in a text, each place with its form and the line up to it.
fn look_through(place: &str, text: &str) -> Vec<String> {
    let found = forms(SENTINEL).into_iter().filter_map(|(form, written)| {
        let at = text.find(&written)?;
        let before = &text[..at];
        let line = before.lines().count().max(1);
        Some(format!("{place}, line {line}: {form}"))
    });
    found.collect()
}

/// The ways in which a secret can be written.
fn forms(secret: &str) -> Vec<(&'static str, String)> {
    let percent = |upper: bool| -> String {
        let encode = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        secret.bytes().map(encode).collect()
    };
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![
        ("as it is", secret.to_owned()),
        ("percent-encoded", percent(true)),
        ("percent-encoded", percent(false)),
        ("in hexadecimal digits", hex.to_uppercase()),
        ("in hexadecimal digits", hex),
        ("backwards", secret.chars().rev().collect()),
        ("escaped for HTML", secret.replace('>', "&gt;")),
        ("escaped for JSON", secret.replace('>', "\\u003e")),
    ];
    // Alone or inside a longer text: base64 looks different by where the secret begins, but for a part of it.
    for before in 0..3 {
        let text = format!("{}{secret}", "x".repeat(before));
        let whole = STANDARD.encode(&text);
        let first = [0, 2, 3][before];
        let last = whole.trim_end_matches('=').len() - usize::from(text.len() % 3 != 0);
        let part = &whole[first..last];
        forms.push(("in base64", part.to_owned()));
        forms.push(("in base64 for addresses", part.replace('+', "-").replace('/', "_")));
    }
    forms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_found() {
        let basic = STANDARD.encode(format!("user:{SENTINEL}"));
        let bearer = STANDARD.encode(format!("Authorization: Bearer {SENTINEL}\r\nnext"));
        for text in [
            format!("token {SENTINEL}!"),
            crate::tests::unescaped("token ptc-sentinel-7f3a?9d&gt;e1"),
            "?key=ptc-sentinel-7f3a%3F9d%3Ee1".to_owned(),
            basic.replace('/', "_").replace('+', "-"),
            basic,
            bearer,
            STANDARD.encode(SENTINEL),
        ] {
            assert!(!look_through("here", &text).is_empty(), "{text}");
        }
        assert_eq!(look_through("here", "ptc-sentinel and [REDACTED]"), Vec::<String>::new());
    }
}
