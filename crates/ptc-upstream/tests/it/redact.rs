//! Secrets never show, in whichever form a server echoes them.

use ptc_upstream::redact::{COVER, Redactor};
use secrecy::SecretString;
use serde_json::json;

fn redactor(secrets: &[&str]) -> Redactor {
    let secrets: Vec<SecretString> = secrets.iter().map(|text| (*text).into()).collect();
    Redactor::new(&secrets)
}

#[test]
fn every_form_is_covered() {
    let redactor = redactor(&["s3cr3t/+ü\"x"]);
    for (form, text) in [
        ("raw", "s3cr3t/+ü\"x"),
        ("base64", "czNjcjN0LyvDvCJ4"),
        ("percent", "s3cr3t%2F%2B%C3%BC%22x"),
        ("percent, lower case", "s3cr3t%2f%2b%c3%bc%22x"),
        ("JSON", "s3cr3t/+ü\\\"x"),
    ] {
        assert_eq!(redactor.redact_str(&format!("<{text}>")), format!("<{COVER}>"), "{form}");
    }
}

#[test]
fn base64_is_covered_with_both_alphabets_and_without_padding() {
    let redactor = redactor(&["??>>key"]);
    for text in ["Pz8+PmtleQ==", "Pz8+PmtleQ", "Pz8-PmtleQ==", "Pz8-PmtleQ"] {
        assert_eq!(redactor.redact_str(text), COVER, "{text}");
    }
}

#[test]
fn base64_is_covered_within_a_longer_text() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let secret = "??>>keys-and-more";
    let redactor = redactor(&[secret]);
    for before in ["", "x", "xy", "user:", "Authorization: Bearer "] {
        for after in ["", "!", "!!", "\r\nHost: example.com"] {
            for engine in [STANDARD, URL_SAFE] {
                let text = engine.encode(format!("{before}{secret}{after}"));
                let covered = redactor.redact_str(&text).into_owned();
                assert!(covered.contains(COVER), "{before}…{after}: {covered}");
                let left = engine.decode(covered.replace(COVER, "")).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&left).contains("key"), "{before}…{after}: {covered}");
            }
        }
    }
    assert_eq!(redactor.redact_str("bm90aGluZyB0byBzZWUgaGVyZQ=="), "bm90aGluZyB0byBzZWUgaGVyZQ==");
}

#[test]
fn the_longest_secret_counts() {
    let redactor = redactor(&["token", "token-long"]);
    assert_eq!(redactor.redact_str("token-long token"), format!("{COVER} {COVER}"));
}

#[test]
fn json_is_covered_in_keys_values_and_numbers() {
    let redactor = redactor(&["hunter22", "12345678"]);
    let mut value = json!({
        "hunter22": 1,
        "[REDACTED]": 2,
        "list": ["x hunter22", 12345678, 1234567],
        "deep": {"a": {"hunter22!": null}},
    });
    redactor.redact_json(&mut value);
    assert_eq!(
        value,
        json!({
            COVER: 1,
            "[REDACTED]-2": 2,
            "list": ["x [REDACTED]", COVER, 1234567],
            "deep": {"a": {"[REDACTED]!": null}},
        })
    );
}

#[test]
fn nothing_to_cover_costs_no_copy() {
    assert!(matches!(Redactor::none().redact_str("text"), std::borrow::Cow::Borrowed("text")));
    assert!(matches!(redactor(&["secret"]).redact_str("text"), std::borrow::Cow::Borrowed("text")));
    assert!(redactor(&["abc"]).is_none(), "too short to be told from other text");
}

#[test]
fn debug_shows_no_secret() {
    assert!(!format!("{:?}", redactor(&["hunter22"])).contains("hunter22"));
}
