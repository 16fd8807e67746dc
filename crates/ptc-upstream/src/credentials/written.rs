//! Secrets that people write where no credential is: in the arguments of a command and in the query of an address. Nobody said
//! that they are secrets, but the words in front of them do.

use ptc_system::environment::is_secret_name;
use reqwest::Url;
use secrecy::SecretString;

/// Shorter ones are words: `--auth none`.
const SHORTEST: usize = 8;

/// Names after which even a short value is a secret.
const CERTAIN: &[&str] = &["PASS", "SECRET"];

/// Secrets among the arguments of a command: `--api-key VALUE`, `--token=VALUE`, `-e KEY=VALUE`, `Authorization: Bearer VALUE`
/// and those in addresses.
pub fn in_words(words: &[&str]) -> Vec<SecretString> {
    let mut found = Vec::new();
    for (place, word) in words.iter().enumerate() {
        let before = place.checked_sub(1).map(|before| words[before]);
        if let Some(flag) = before.and_then(|before| before.strip_prefix('-'))
            && !flag.contains('=')
            && !word.starts_with('-')
        {
            found.extend(named(flag, word));
        }
        if let Some((name, value)) = word.split_once('=') {
            found.extend(named(name, value));
        }
        if let Some((header, value)) = word.split_once(':') {
            let value = value.trim();
            let token = value.split_once(' ').map_or(value, |(_, token)| token.trim());
            let header = if header.eq_ignore_ascii_case("authorization") { "auth" } else { header };
            found.extend(named(header, token));
        }
        if let Some(url) = address(word) {
            found.extend(in_address(&url));
            found.extend(in_authority(&url));
        }
    }
    found
}

/// The address in a word: `URL`, `--url=URL`.
fn address(word: &str) -> Option<Url> {
    let end = word.find("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let begin = word[..end].trim_end_matches(is_scheme).len();
    Url::parse(&word[begin..]).ok()
}

/// The password of `postgresql://USER:PASSWORD@HOST`, as it is and as it is written there; without one the user of an address
/// on the web, where a token stands.
fn in_authority(url: &Url) -> Vec<SecretString> {
    let web = matches!(url.scheme(), "http" | "https") && url.username().len() >= SHORTEST;
    let raw = url.password().or_else(|| web.then(|| url.username()));
    let Some(raw) = raw.filter(|raw| !raw.is_empty()) else { return Vec::new() };
    vec![decoded(raw).into(), raw.to_owned().into()]
}

/// Without its percent-encoding.
fn decoded(raw: &str) -> String {
    // In a query a plus is a blank.
    let asked = Url::parse(&format!("http://localhost/?_={}", raw.replace('+', "%2B")));
    let value = asked.ok().and_then(|url| url.query_pairs().next().map(|(_, value)| value.into_owned()));
    value.unwrap_or_else(|| raw.to_owned())
}

/// Secrets in the query of an address, as they are and as they are written there.
pub fn in_address(url: &Url) -> Vec<SecretString> {
    let filled = url.query_pairs().filter_map(|(name, value)| named(&name, &value));
    let raw = url.query().unwrap_or_default().split('&');
    let raw = raw.filter_map(|pair| pair.split_once('=')).filter_map(|(name, value)| named(name, value));
    filled.chain(raw).collect()
}

/// A value whose name ends in a word for a secret: `--token-limit 50000` is none.
fn named(name: &str, value: &str) -> Option<SecretString> {
    let name = name.trim_matches('-');
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let last = name.rsplit(['-', '_', '.']).next().unwrap_or_default();
    let certain = CERTAIN.iter().any(|part| last.to_ascii_uppercase().contains(part));
    let is_secret = is_plain && is_secret_name(last) && (certain || value.len() >= SHORTEST);
    (is_secret && !value.is_empty()).then(|| value.to_owned().into())
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn found(words: &[&str]) -> Vec<String> {
        in_words(words).iter().map(|secret| secret.expose_secret().to_owned()).collect()
    }

    #[test]
    fn the_words_before_a_value_say_that_it_is_a_secret() {
        for (words, expected) in [
            (&["--api-key", "sk-0123456789"][..], &["sk-0123456789"][..]),
            (&["--token=tok-0123456789"], &["tok-0123456789"]),
            (&["--apiKey", "sk-0123456789", "--verbose"], &["sk-0123456789"]),
            (&["--password", "hunter2"], &["hunter2"]),
            (&["-e", "GH_TOKEN=ghp_0123456789"], &["ghp_0123456789"]),
            (&["--header", "Authorization: Bearer tok-0123456789"], &["tok-0123456789"]),
            (&["--header", "X-Api-Key:key-0123456789"], &["key-0123456789"]),
            (&["https://a.example/mcp?api_key=key-0123456789&q=1"], &["key-0123456789", "key-0123456789"]),
            (&["postgresql://app:pa%2Fss@db.example/x"], &["pa/ss", "pa%2Fss"]),
            (&["--db=mysql://app:hunter2@db.example"], &["hunter2", "hunter2"]),
            (&["https://ghp_0123456789@a.example/x.git"], &["ghp_0123456789", "ghp_0123456789"]),
            (&["ssh://git@a.example/x.git", "postgresql://app@db.example/x"], &[]),
            (&["--auth", "none"], &[]),
            (&["--token-limit", "5000000000"], &[]),
            (&["--token", "--verbose-output"], &[]),
            (&["/srv/keys:/keys:readonly", "C:\\keys"], &[]),
        ] {
            assert_eq!(found(words), expected, "{words:?}");
        }
    }

    #[test]
    fn secrets_of_addresses_are_known_in_both_spellings() {
        let url = Url::parse("https://a.example/?token=ab%2Fcd+efgh&page=12345678").expect("an address");
        let found = in_address(&url);
        let found: Vec<&str> = found.iter().map(|secret| secret.expose_secret()).collect();
        assert_eq!(found, ["ab/cd efgh", "ab%2Fcd+efgh"]);
    }
}
