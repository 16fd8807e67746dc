//! Which keys of maps are names of fields, and which are data that happens to be a key: addresses, days, numbers, texts.

use super::SHORT;

/// Whether most of some keys look like data: none of them is told then.
pub(super) fn are_data(keys: impl Iterator<Item = impl AsRef<str>>) -> bool {
    let (mut all, mut data) = (0, 0);
    for key in keys {
        all += 1;
        data += usize::from(looks_like_data(key.as_ref()));
    }
    data * 2 > all
}

/// Whether a key looks like a value: an address, a day, an id, a number, a sentence. Names of fields have few digits.
pub(in crate::render) fn looks_like_data(key: &str) -> bool {
    /// As many digits in a row as a year has.
    const YEAR: usize = 4;
    let digits = |text: &str| text.bytes().filter(u8::is_ascii_digit).count();
    let run = key.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    let ends_in_number =
        |text: &str| text.rsplit_once('-').is_some_and(|(_, end)| end.len() > 2 && digits(end) == end.len());
    key.len() >= SHORT
        || is_numbered(key)
        || key.find('@').is_some_and(|at| at > 0)
        || run >= YEAR
        || (key.len() >= SHORT / 2 && digits(key) > SHORT / 8)
        || ends_in_number(key)
}

/// Whether a key begins with a digit and goes on as no name does: `42`, `12.5`, `12A`, `3f2b8c1`; but not `24h_volume`.
fn is_numbered(key: &str) -> bool {
    let rest = key.trim_start_matches(|c: char| c.is_ascii_digit());
    let word = rest.starts_with(|c: char| c.is_ascii_lowercase())
        && !rest.contains(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase());
    rest.len() < key.len() && !word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_fields_and_keys_that_are_data() {
        for name in [
            "id",
            "order_count",
            "unit price",
            "Unit price (EUR)",
            "@id",
            "$ref",
            "address2",
            "column_499",
            "größe",
            "k0",
            "x-y",
            "a/b",
            "sha256",
            "",
            "content-type",
            "24h_volume",
            "1st quarter",
        ] {
            assert!(!looks_like_data(name), "{name}");
        }
        for data in [
            "ann@example.com",
            "2026-11-16",
            "2025-08",
            "42",
            "SKU-001",
            "order_48213",
            "12A",
            "3f2b8c1",
            "3f2b8c1e-77aa-4d0e-9b1f",
            "a0b1c2d3e4f5a6b7",
            "a key of the data that is long enough",
        ] {
            assert!(looks_like_data(data), "{data}");
        }
    }

    #[test]
    fn most_keys_decide() {
        assert!(are_data(["2025-01", "2025-02", "total"].into_iter()));
        assert!(!are_data(["id", "name", "2025-01"].into_iter()));
        assert!(!are_data([""; 0].into_iter()));
    }
}
