//! Answers to requests that are not served.

use std::borrow::Cow;

use axum::body::Body;
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value as Json, json};

use crate::wire::incoming::error;

/// A status with a body and perhaps a header.
#[derive(Debug)]
pub struct Refusal {
    status: StatusCode,
    header: Option<(HeaderName, Cow<'static, str>)>,
    body: Cow<'static, str>,
}

impl Refusal {
    const fn fixed(status: StatusCode, body: &'static str) -> Refusal {
        Refusal { status, header: None, body: Cow::Borrowed(body) }
    }

    pub const FORBIDDEN: Refusal = Self::fixed(StatusCode::FORBIDDEN, r#"{"error":"forbidden"}"#);
    pub const NOT_FOUND: Refusal = Self::fixed(StatusCode::NOT_FOUND, r#"{"error":"not found"}"#);
    pub const NO_SESSION: Refusal =
        Self::fixed(StatusCode::NOT_FOUND, r#"{"error":"unknown MCP-Session-Id"}"#);
    pub const MISSING_SESSION: Refusal =
        Self::fixed(StatusCode::BAD_REQUEST, r#"{"error":"missing MCP-Session-Id"}"#);
    pub const UNWANTED_SESSION: Refusal =
        Self::fixed(StatusCode::BAD_REQUEST, r#"{"error":"initialize takes no MCP-Session-Id"}"#);
    pub const NEEDS_ID: Refusal =
        Self::fixed(StatusCode::BAD_REQUEST, r#"{"error":"initialize needs an id"}"#);
    pub const BAD_VERSION: Refusal =
        Self::fixed(StatusCode::BAD_REQUEST, r#"{"error":"bad MCP-Protocol-Version"}"#);
    pub const EMPTY: Refusal = Self::fixed(StatusCode::BAD_REQUEST, r#"{"error":"empty body"}"#);
    pub const TOO_LARGE: Refusal =
        Self::fixed(StatusCode::PAYLOAD_TOO_LARGE, r#"{"error":"body too large"}"#);
    pub const TOO_SLOW: Refusal =
        Self::fixed(StatusCode::REQUEST_TIMEOUT, r#"{"error":"the body did not arrive"}"#);
    pub const FULL: Refusal = Refusal {
        status: StatusCode::SERVICE_UNAVAILABLE,
        header: Some((RETRY_AFTER, Cow::Borrowed("1"))),
        body: Cow::Borrowed(r#"{"error":"too many large requests and answers at once"}"#),
    };
    pub const CROWDED: Refusal = Refusal {
        status: StatusCode::SERVICE_UNAVAILABLE,
        header: Some((RETRY_AFTER, Cow::Borrowed("1"))),
        body: Cow::Borrowed(r#"{"error":"too many requests of this owner at once"}"#),
    };
    pub const NOT_JSON: Refusal = Self::fixed(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        r#"{"error":"the content type must be application/json"}"#,
    );
    pub const METHOD: Refusal = Refusal {
        status: StatusCode::METHOD_NOT_ALLOWED,
        header: Some((ALLOW, Cow::Borrowed("POST, DELETE"))),
        body: Cow::Borrowed(r#"{"error":"method not allowed"}"#),
    };
    pub const NO_TOKEN: Refusal = Refusal {
        status: StatusCode::UNAUTHORIZED,
        header: Some((WWW_AUTHENTICATE, Cow::Borrowed("Bearer"))),
        body: Cow::Borrowed(r#"{"error":"unauthorized"}"#),
    };
    pub const WRONG_TOKEN: Refusal = Refusal {
        status: StatusCode::UNAUTHORIZED,
        header: Some((WWW_AUTHENTICATE, Cow::Borrowed("Bearer error=\"invalid_token\""))),
        body: Cow::Borrowed(r#"{"error":"unauthorized"}"#),
    };

    /// Too many wrong tokens came from there; it may try again in so many seconds.
    pub fn blocked(seconds: u64) -> Refusal {
        Refusal {
            status: StatusCode::TOO_MANY_REQUESTS,
            header: Some((RETRY_AFTER, seconds.to_string().into())),
            body: Cow::Borrowed(r#"{"error":"too many failed attempts"}"#),
        }
    }

    /// A JSON-RPC error with a status.
    pub fn rpc(status: StatusCode, id: Json, code: i64, message: &str) -> Refusal {
        Refusal { status, header: None, body: error(id, code, message).to_string().into() }
    }

    /// What the admin endpoints say when they cannot answer.
    pub fn admin(status: StatusCode, reason: &str) -> Refusal {
        Refusal {
            status,
            header: None,
            body: json!({"status": "error", "reason": reason}).to_string().into(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.body.into_owned()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, axum::http::HeaderValue::from_static("application/json"));
        if let Some((name, value)) = self.header
            && let Ok(value) = value.parse()
        {
            headers.insert(name, value);
        }
        response
    }
}
