//! Who is answered, and what browsers are told about answers.
//!
//! A page of another site can make a browser send requests here. It cannot read answers, but names that it
//! points at the loopback address would make this page its own, and a request can do harm without being read.
//! So requests must carry a name of this address, must not come from another origin, and whoever wants
//! something done must know the token that only the page has.

use std::io;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::Site;

/// Where requests carry the token.
const TOKEN: HeaderName = HeaderName::from_static("x-ptc-token");
/// Where browsers say from where a request comes.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What every answer says. The page needs nothing from elsewhere and runs nothing but its own files.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A token that nobody can guess.
pub fn new_token() -> io::Result<String> {
    let mut bytes = [0_u8; 24];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Answers a request if it may be answered.
pub async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let mut response = match refusal(&site, &request) {
        Some((status, message)) => (status, message).into_response(),
        None => next.run(request).await,
    };
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn refusal(site: &Site, request: &Request) -> Option<(StatusCode, String)> {
    let headers = request.headers();
    let ours = site.names();
    let host = text(headers, &header::HOST);
    if !host.is_some_and(|host| ours.iter().any(|name| name == host)) {
        let message = format!("this page answers only at http://{}/", ours[0]);
        return Some((StatusCode::MISDIRECTED_REQUEST, message));
    }
    let foreign = |message: &str| Some((StatusCode::FORBIDDEN, message.to_owned()));
    if let Some(origin) = text(headers, &header::ORIGIN)
        && !ours.iter().any(|name| origin.strip_prefix("http://") == Some(name.as_str()))
    {
        return foreign("requests of other pages are not answered");
    }
    let navigates = request.uri().path() == "/";
    if !navigates && text(headers, &FETCH_SITE).is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        return foreign("requests of other pages are not answered");
    }
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    let token = text(headers, &TOKEN).unwrap_or_default();
    if !same(token.as_bytes(), site.token.as_bytes()) {
        return foreign("the token of the page is missing or old; load the page again");
    }
    let kind = text(headers, &header::CONTENT_TYPE).unwrap_or_default();
    if kind.split(';').next().map(str::trim) != Some("application/json") {
        return Some((StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON".to_owned()));
    }
    None
}

impl Site {
    /// The names that the page may be asked for under.
    fn names(&self) -> [String; 2] {
        [self.address.to_string(), format!("localhost:{}", self.address.port())]
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Compares without telling by its time where the difference is.
fn same(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}
