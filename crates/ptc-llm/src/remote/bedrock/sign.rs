//! Requests signed with the keys of an AWS account (Signature Version 4), for those who have no token.

use std::fmt;

use jiff::Timestamp;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest, Sha256};

use crate::remote::fault::{Class, Fault};

/// Keys of an account.
#[derive(Clone)]
pub(crate) struct Credentials {
    id: String,
    secret: String,
    /// Keys that last for a while only come with a token.
    pub(crate) token: Option<String>,
    region: String,
    service: &'static str,
}

impl Credentials {
    /// The keys of the environment, if they are there.
    pub(crate) fn find(look: impl Fn(&str) -> Option<String>, region: &str) -> Option<Self> {
        Some(Credentials {
            id: look("AWS_ACCESS_KEY_ID")?,
            secret: look("AWS_SECRET_ACCESS_KEY")?,
            token: look("AWS_SESSION_TOKEN"),
            region: region.to_owned(),
            service: "bedrock",
        })
    }

    /// The headers that prove who sends this body there.
    pub(crate) fn headers(&self, url: &str, body: &[u8], now: Timestamp) -> Result<HeaderMap, Fault> {
        let wrong =
            || Fault::new(Class::BadRequest, "the request cannot be signed: check the URL and the keys");
        let url = Url::parse(url).map_err(|_| wrong())?;
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => return Err(wrong()),
        };
        let time = now.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut signed = vec![("host", host), ("x-amz-date", time.clone())];
        signed.extend(self.token.clone().map(|token| ("x-amz-security-token", token)));
        let proof = self.proof(&encoded(url.path(), "/"), &signed, body, &time);
        let mut headers = HeaderMap::new();
        for (name, text) in signed.into_iter().skip(1) {
            headers.insert(HeaderName::from_static(name), sensitive(&text).ok_or_else(wrong)?);
        }
        headers.insert(AUTHORIZATION, sensitive(&proof).ok_or_else(wrong)?);
        Ok(headers)
    }

    fn proof(&self, path: &str, signed: &[(&str, String)], body: &[u8], time: &str) -> String {
        let lines: String = signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let names = signed.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let request = format!("POST\n{path}\n\n{lines}\n{names}\n{}", hex(&Sha256::digest(body)));
        let day = time.get(..8).unwrap_or(time);
        let scope = format!("{day}/{}/{}/aws4_request", self.region, self.service);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request)));
        let mut key = format!("AWS4{}", self.secret).into_bytes();
        for part in [day, &self.region, self.service, "aws4_request", &text] {
            key = hmac(&key, part.as_bytes());
        }
        let id = &self.id;
        format!("AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, Signature={}", hex(&key))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Text as a part of a path: what is neither a letter, a digit, one of `-._~` nor in `kept` is escaped.
pub(super) fn encoded(text: &str, kept: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.as_bytes().contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A hash with a key (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 64;
    let mut block = [0u8; BLOCK];
    match key.len() > BLOCK {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let padded = |with: u8| block.map(|byte| byte ^ with);
    let inner = Sha256::new().chain_update(padded(0x36)).chain_update(text).finalize();
    Sha256::new().chain_update(padded(0x5c)).chain_update(inner).finalize().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        Credentials {
            id: "AKIDEXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
            token: None,
            region: "us-east-1".into(),
            service: "service",
        }
    }

    /// The case `post-vanilla` of the suite that AWS publishes.
    #[test]
    fn a_request_of_the_published_suite_gets_the_published_signature() {
        let now: Timestamp = "2015-08-30T12:36:00Z".parse().unwrap();
        let headers = credentials().headers("https://example.amazonaws.com/", b"", now).unwrap();
        assert_eq!(headers["x-amz-date"], "20150830T123600Z");
        assert_eq!(
            headers["authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
             SignedHeaders=host;x-amz-date, \
             Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"
        );
        assert!(!format!("{headers:?} {:?}", credentials()).contains("AKID"));
    }

    #[test]
    fn keys_of_any_length_are_hashed_as_the_standard_says() {
        // The seventh case of RFC 4231.
        let text = b"This is a test using a larger than block-size key and a larger than block-size data. \
            The key needs to be hashed before being used by the HMAC algorithm.";
        let known = "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2";
        assert_eq!(hex(&hmac(&[0xaa; 131], text)), known);
        let known = "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8";
        assert_eq!(hex(&hmac(b"key", b"The quick brown fox jumps over the lazy dog")), known);
    }

    #[test]
    fn paths_are_escaped() {
        assert_eq!(encoded("amazon.nova-lite-v1:0", ""), "amazon.nova-lite-v1%3A0");
        assert_eq!(encoded("/model/a%3A0/converse", "/"), "/model/a%253A0/converse");
    }
}
