//! Which requests are looked at at all: Host and Origin, against web pages that reach for servers on the machine of
//! whoever visits them.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;

use super::refusal::Refusal;
use crate::options::Options;

/// What is allowed.
#[derive(Debug)]
pub struct Guard {
    loopback: bool,
    origins: Vec<String>,
}

impl Guard {
    /// Guards a server that is to listen there.
    pub fn new(options: &Options) -> Guard {
        Guard {
            loopback: crate::options::is_loopback(&options.http_host),
            origins: options.http_allowed_origin.iter().filter_map(|origin| normal(origin)).collect(),
        }
    }

    /// Looks at the headers of a request.
    pub fn check(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let text = |name| headers.get(name).map(|value: &axum::http::HeaderValue| value.to_str());
        if self.loopback {
            match text(HOST) {
                Some(Ok(host)) if is_loopback_authority(host) => {}
                _ => return Err(Refusal::FORBIDDEN),
            }
        }
        match text(ORIGIN) {
            None => Ok(()),
            Some(Ok(origin)) if self.allows(origin) => Ok(()),
            Some(_) => Err(Refusal::FORBIDDEN),
        }
    }

    fn allows(&self, origin: &str) -> bool {
        let Some(origin) = normal(origin) else { return false };
        if !self.origins.is_empty() {
            return self.origins.contains(&origin);
        }
        let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
        self.loopback && is_loopback_authority(authority)
    }
}

fn is_loopback_authority(text: &str) -> bool {
    let Ok(authority) = text.parse::<Authority>() else { return false };
    if text.contains('@') {
        return false;
    }
    let host = authority.host();
    crate::options::is_loopback(&host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase())
}

/// Lower case, with the port that the scheme implies left out; `None` for `null` and what is no origin.
fn normal(origin: &str) -> Option<String> {
    let origin = origin.trim().to_ascii_lowercase();
    let (scheme, authority) = origin.split_once("://")?;
    let default = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    let authority = authority.trim_end_matches('/');
    authority.parse::<Authority>().ok()?;
    let bare = authority.strip_suffix(default).filter(|_| !default.is_empty()).unwrap_or(authority);
    Some(format!("{scheme}://{bare}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(host: &str, origins: &[&str]) -> Guard {
        let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
        Guard::new(&Options {
            http_host: host.to_owned(),
            http_allowed_origin: origins,
            ..Options::default()
        })
    }

    fn check(guard: &Guard, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        guard.check(&headers).is_ok()
    }

    #[test]
    fn r1_6_4_hosts() {
        let guard = guard("127.0.0.1", &[]);
        for (host, allowed) in [
            ("localhost", true),
            ("LOCALHOST:7332", true),
            ("127.0.0.1:7332", true),
            ("127.8.9.1", true),
            ("[::1]:1", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example", false),
            ("evil@localhost", false),
            ("", false),
        ] {
            assert_eq!(check(&guard, host, None), allowed, "{host}");
        }
        assert!(check(&self::guard("0.0.0.0", &[]), "any.example", None), "not restricted beyond loopback");
    }

    #[test]
    fn r1_6_5_origins() {
        let local = guard("127.0.0.1", &[]);
        let listed = guard("127.0.0.1", &["https://App.example", "http://b.example:8080"]);
        let wide = guard("0.0.0.0", &[]);
        for (guard, origin, allowed) in [
            (&local, "http://localhost:3000", true),
            (&local, "http://127.0.0.1", true),
            (&local, "http://evil.example", false),
            (&local, "null", false),
            (&local, "", false),
            (&listed, "https://app.example", true),
            (&listed, "https://app.example:443", true),
            (&listed, "https://app.example:8443", false),
            (&listed, "http://b.example:8080", true),
            (&listed, "http://localhost:3000", false),
            (&listed, "null", false),
            (&wide, "http://localhost", false),
        ] {
            assert_eq!(check(guard, "localhost", Some(origin)), allowed, "{origin}");
        }
    }
}
