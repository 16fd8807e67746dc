//! Headers that decide who may ask for what. RFC 9112 wants one `Host`; if there were two of such a header, a proxy and
//! this server could each believe another one.

use axum::http::HeaderMap;

/// At most one of each.
const SINGLE: [&str; 7] =
    ["host", "origin", "authorization", "content-type", "sec-fetch-site", "mcp-session-id", "x-ptc-token"];

/// The first of these headers that a request has more than once.
pub fn repeated(headers: &HeaderMap) -> Option<&'static str> {
    SINGLE.into_iter().find(|name| headers.get_all(*name).iter().nth(1).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_a_header_that_decides_are_found() {
        for name in SINGLE {
            let mut headers = HeaderMap::new();
            headers.append(name, "a".parse().expect("a value"));
            headers.append("accept", "a".parse().expect("a value"));
            headers.append("accept", "b".parse().expect("a value"));
            assert_eq!(repeated(&headers), None, "{name}");
            headers.append(name, "a".parse().expect("a value"));
            assert_eq!(repeated(&headers), Some(name), "also if both say the same");
        }
    }
}
