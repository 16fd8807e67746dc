//! Answers of HTTP APIs as payloads and faults.

use ptc_host::parts;
use serde_json::Value as Json;

use crate::call;
use crate::ledger::shortened;
use crate::model::{Fault, Payload, Reason};

/// The most characters of an error body in a message.
const SHOWN: usize = 500;

/// What an answer means. One with more than so many values is not read.
pub fn payload(status: u16, body: &[u8], max_values: usize) -> Result<Payload, Fault> {
    let bytes = body.len();
    let fault = |reason, message: String| Err(Fault { bytes: Some(bytes), ..Fault::new(reason, message) });
    match status {
        200..=299 if status == 204 || body.iter().all(u8::is_ascii_whitespace) => {
            Ok(Payload { bytes, ..Payload::default() })
        }
        200..=299 => {
            call::fits(body, max_values)?;
            let text = std::str::from_utf8(body).unwrap_or_default();
            let Ok(value) = serde_json::from_str::<Json>(&parts::paired(text)) else {
                return Err(Fault { bytes: Some(bytes), ..Fault::unreadable("malformed JSON response") });
            };
            call::exact(text)?;
            Ok(Payload { structured: Some(value), bytes, ..Payload::default() })
        }
        400 | 403 | 404 | 422 => fault(Reason::ToolError, format!("http {status}{}", said(body))),
        401 => fault(Reason::AuthFailed, "http 401: the credentials were not accepted".to_owned()),
        429 => fault(Reason::RateLimited, "http 429: too many requests".to_owned()),
        500.. => fault(Reason::UpstreamUnavailable, format!("http {status}")),
        300..=399 => fault(Reason::UpstreamError, format!("http {status}: redirects are not followed")),
        _ => fault(Reason::UpstreamError, format!("http {status}{}", said(body))),
    }
}

fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    match text.trim() {
        "" => String::new(),
        text => format!(": {}", shortened(text, SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn good_answers_are_json_or_empty() {
        assert_eq!(payload(200, b"{\"a\":1}", 9).expect("it is JSON").structured, Some(json!({"a": 1})));
        assert_eq!(payload(201, b"null", 9).expect("it is JSON").structured, Some(json!(null)));
        let half = payload(200, b"\"a\\ud83d\"", 9).expect("half of a character is none");
        assert_eq!(half.structured, Some(json!("a\u{fffd}")));
        for (status, body) in [(204, "ignored"), (200, ""), (202, " \n")] {
            assert_eq!(payload(status, body.as_bytes(), 9).expect("it is empty").structured, None);
        }
    }

    #[test]
    fn bad_answers_by_status() {
        for (status, body, reason, message) in [
            (200, "<html>", Reason::UpstreamError, "malformed JSON response"),
            (
                200,
                "{\"wei\": 18446744073709551617}",
                Reason::UpstreamError,
                "the answer has the integer 18446744073709551617, which does not fit 64 bits and would be rounded; ask for it as a text",
            ),
            (400, "no such field", Reason::ToolError, "http 400: no such field"),
            (403, "", Reason::ToolError, "http 403"),
            (404, "gone", Reason::ToolError, "http 404: gone"),
            (422, "bad", Reason::ToolError, "http 422: bad"),
            (401, "who", Reason::AuthFailed, "http 401: the credentials were not accepted"),
            (429, "", Reason::RateLimited, "http 429: too many requests"),
            (500, "trace", Reason::UpstreamUnavailable, "http 500"),
            (503, "", Reason::UpstreamUnavailable, "http 503"),
            (302, "", Reason::UpstreamError, "http 302: redirects are not followed"),
            (409, "conflict", Reason::UpstreamError, "http 409: conflict"),
        ] {
            let fault = payload(status, body.as_bytes(), 9).expect_err("it is bad");
            assert_eq!((fault.reason, fault.message.as_str()), (reason, message), "{status}");
        }
        let long = payload(404, "x".repeat(9_000).as_bytes(), 9).expect_err("it is bad");
        assert!(long.message.len() < 600);
    }
}
