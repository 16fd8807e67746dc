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

/// Of a secret of 8 bytes and more, whatever stands around it, with both alphabets, with and without padding.
#[test]
fn base64_of_base64_is_covered_whatever_the_length_and_the_place() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    let engines = [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD];
    let whole = "k7?>Zq~/w0+Rt>?9xÿ_eP4-mVb??>>2Lc8Jd!Hs~>6Yg";
    for length in (8..=40).filter(|length| whole.is_char_boundary(*length)) {
        let secret = &whole[..length];
        let redactor = redactor(&[secret]);
        for (inner, outer) in engines.iter().flat_map(|inner| engines.iter().map(move |outer| (inner, outer)))
        {
            for around in 0..81 {
                let [before, after, left, right] = [1, 3, 9, 27].map(|digit| &"::"[..around / digit % 3]);
                let once = inner.encode(format!("{before}{secret}{after}"));
                let text = outer.encode(format!("{left}{once}{right}"));
                let covered = redactor.redact_str(&text);
                assert!(covered.contains(COVER), "{length} bytes in {left}({before}…{after}){right}: {text}");
                // What is left are its neighbours, and the characters that it shares with them.
                let left = covered.replace(COVER, "").chars().filter(|c| c.is_alphanumeric()).count();
                assert!(left <= 19, "{length} bytes: {covered}");
            }
        }
    }
}

/// The secret in a form, after its name.
fn echoes(secret: &str) -> Vec<(&'static str, String)> {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let bytes = |code: &dyn Fn(u8) -> String| secret.bytes().map(code).collect::<Vec<_>>();
    let chars = |code: &dyn Fn(char) -> String| secret.chars().map(code).collect::<Vec<_>>();
    vec![
        ("hexadecimal", bytes(&|b| format!("{b:02x}")).concat()),
        ("hexadecimal, upper case", bytes(&|b| format!("{b:02X}")).concat()),
        ("hexadecimal with colons", bytes(&|b| format!("{b:02X}")).join(":")),
        ("bytes in hexadecimal", bytes(&|b| format!("0x{b:02x}")).join(", ")),
        ("bytes", bytes(&|b| b.to_string()).join(" ")),
        ("octal", bytes(&|b| format!("\\{b:03o}")).concat()),
        ("octal, short", bytes(&|b| format!("\\{b:o}")).concat()),
        ("octal with a zero", bytes(&|b| format!("0{b:o}")).join(" ")),
        ("octal numbers", bytes(&|b| format!("0o{b:o}")).join(", ")),
        ("line breaks between", chars(&|c| c.to_string()).join("\r\n")),
        ("escaped line breaks between", chars(&|c| c.to_string()).join("\\r\\n")),
        ("a line break, escaped twice", format!("{}\\\\n{}", &secret[..8], &secret[8..])),
        ("an escaped tab", format!("{}\\t{}", &secret[..8], &secret[8..])),
        ("hexadecimal in escaped lines", bytes(&|b| format!("{b:02x}")).join("\\n")),
        ("upper case", secret.to_uppercase()),
        ("lower case", secret.to_lowercase()),
        ("reversed", secret.chars().rev().collect()),
        ("base64 of base64", STANDARD.encode(STANDARD.encode(secret))),
        (
            "base64 of base64 of more",
            STANDARD.encode(format!("x{}", STANDARD.encode(format!("ab{secret}cd")))),
        ),
        (
            "base64 in lines",
            STANDARD
                .encode(secret)
                .as_bytes()
                .chunks(6)
                .map(|l| String::from_utf8_lossy(l))
                .collect::<Vec<_>>()
                .join("\r\n"),
        ),
        ("percent, everything", bytes(&|b| format!("%{b:02X}")).concat()),
        ("percent, lower case", bytes(&|b| format!("%{b:02x}")).concat()),
        ("JSON escapes", chars(&|c| format!("\\u{:04x}", u32::from(c))).concat()),
        ("JSON escapes, upper case", chars(&|c| format!("\\u{:04X}", u32::from(c))).concat()),
        ("braced escapes", chars(&|c| format!("\\u{{{:x}}}", u32::from(c))).concat()),
        ("byte escapes", chars(&|c| format!("\\x{:02x}", u32::from(c))).concat()),
        ("decimal entities", chars(&|c| format!("&#{};", u32::from(c))).concat()),
        ("hexadecimal entities", chars(&|c| format!("&#x{:X};", u32::from(c))).concat()),
        ("named entities", secret.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")),
        ("zero-width characters between", chars(&|c| format!("{c}\u{200b}")).concat()),
        ("spaces between", chars(&|c| c.to_string()).join(" ")),
        ("quoted apart", chars(&|c| format!("{c:?}")).join(", ")),
        ("in two halves", format!("{}\" \"{}", &secret[..8], &secret[8..])),
        ("base32", "gm4eq2lefvncmpb4ejzwkysmf4zdcobrgiztinjugezq".to_owned()),
    ]
}

#[test]
fn every_echo_of_a_secret_is_covered() {
    let secret = "38Hid-Z&<\"sebL/2181234541 3";
    let redactor = redactor(&[secret]);
    for (form, text) in echoes(secret).into_iter().filter(|(form, _)| *form != "base32") {
        let covered = redactor.redact_str(&format!("before {text} after")).into_owned();
        assert!(covered.contains(COVER), "{form}: {covered}");
        let left = covered.replace("before ", "").replace(" after", "").replace(COVER, "");
        // Within a longer text, characters that a secret shares with its neighbours are left at both ends.
        let most = if form == "base64 of base64 of more" { 16 } else { 4 };
        assert!(left.chars().filter(|c| c.is_alphanumeric()).count() <= most, "{form}: {covered}");
    }
}

#[test]
fn base32_is_covered_alone_and_within_a_longer_text() {
    // "hunter2024!" and "user:hunter2024!" in base32.
    let redactor = redactor(&["hunter2024!"]);
    for text in ["NB2W45DFOIZDAMRUEE======", "nb2w45dfoizdamruee", "OVZWK4R2NB2W45DFOIZDAMRUEE======"] {
        assert!(redactor.redact_str(text).contains(COVER), "{text}");
    }
}

#[test]
fn no_half_of_an_escape_is_left() {
    let redactor = redactor(&["hunter2024"]);
    for (text, covered) in [
        ("a &#104;&#117;&#110;&#116;&#101;&#114;&#50;&#48;&#50;&#52; b", "a [REDACTED] b"),
        ("%68%75%6e%74%65%72%32%30%32%34&x=1", "[REDACTED]&x=1"),
        ("\\hunter2024", "\\[REDACTED]"),
        ("Hunter2024, HUNTER 2024", "[REDACTED], [REDACTED]"),
    ] {
        assert_eq!(redactor.redact_str(text), covered);
    }
}

#[test]
fn what_only_resembles_a_secret_is_left_alone() {
    let redactor = redactor(&["hunter2024", "a-b-c-d", "key!"]);
    for text in ["hunter 2023", "the hunter of 2024", "abcd", "A B C D", "key", "the keys", "2024 hunter"] {
        assert_eq!(redactor.redact_str(text), text);
    }
}

/// Only codes have a bound.
#[test]
fn a_long_secret_is_covered_as_it_is_in_base64_and_folded() {
    let lines: Vec<String> = (0..26).map(|line| format!("{:064}", (line as u128 + 7).pow(17))).collect();
    let secret =
        format!("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", lines.join("\n"));
    assert!(secret.len() > ptc_upstream::redact::LARGEST_CODED);
    let redactor = redactor(&[&secret]);
    for (form, text) in [
        ("as it is", secret.clone()),
        ("CRLF", secret.replace('\n', "\r\n")),
        ("escaped line breaks", secret.replace('\n', "\\n")),
        ("escaped twice", secret.replace('\n', "\\\\n")),
        ("spaces for line breaks", secret.replace('\n', " ")),
        ("without line breaks", secret.replace('\n', "")),
        ("indented", secret.replace('\n', "\n    ")),
        ("lower case", secret.to_lowercase()),
        ("reversed", secret.chars().rev().collect()),
    ] {
        let covered = redactor.redact_str(&text).into_owned();
        assert!(covered.contains(COVER) && !covered.contains("00"), "{form}: {covered}");
        assert!(redactor.finds(&text), "{form}");
    }
    let coded: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(redactor.redact_str(&coded), coded, "documented limit");
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

#[test]
fn a_secret_over_several_lines_is_covered_and_no_line_is_lost() {
    let redactor = redactor(&["sk-live-Qm9vaGFoYTEyMzQ1Njc4"]);
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    for (printed, covered) in [
        (lines(&["a", "sk-live-Q", "m9vaGFoYTEyMzQ1Njc4", "b"]), lines(&["a", "[REDACTED]", "", "b"])),
        (
            lines(&["is sk-live-Q", "m9vaGFo", "YTEyMzQ1Njc4 it", "sk-live-Qm9vaGFoYTEyMzQ1Njc4!"]),
            lines(&["is [REDACTED]", "", " it", "[REDACTED]!"]),
        ),
        (lines(&["sk-live-Q", "", "m9vaGFoYTEyMzQ1Njc4"]), lines(&["[REDACTED]", "", ""])),
        (lines(&["sk-live-Q", "and more"]), lines(&["sk-live-Q", "and more"])),
        (lines(&[]), lines(&[])),
    ] {
        assert_eq!(redactor.redact_lines(printed), covered);
    }
}
