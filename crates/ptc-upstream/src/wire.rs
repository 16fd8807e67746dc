//! What all upstreams over HTTP share: how a client is built, how much of a body is read, and what a status
//! means. Redirects are never followed: they would carry credentials elsewhere.

use std::sync::Once;

use reqwest::header::WWW_AUTHENTICATE;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode};

use crate::config::Endpoint;
use crate::model::{Fault, Reason};

/// A client for one endpoint.
pub fn client(endpoint: &Endpoint) -> Result<Client, Fault> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another part of the program may have chosen one already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Client::builder()
        .redirect(Policy::none())
        .connect_timeout(endpoint.connect_timeout)
        .user_agent(concat!("ptc-runner/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| {
            Fault::new(Reason::UpstreamUnavailable, format!("no HTTP client: {}", error.without_url()))
        })
}

/// The whole body, if it is not larger than `cap`; reading stops where it gets larger.
pub async fn body(mut response: Response, cap: usize) -> Result<Vec<u8>, Fault> {
    let announced = response.content_length().unwrap_or(0);
    if announced > cap as u64 {
        return Err(too_large(usize::try_from(announced).unwrap_or(usize::MAX), cap));
    }
    let mut body = Vec::with_capacity(announced as usize);
    while let Some(chunk) = response.chunk().await.map_err(failed)? {
        if body.len() + chunk.len() > cap {
            return Err(too_large(body.len() + chunk.len(), cap));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// An answer of at least `bytes` bytes where `cap` were allowed.
pub fn too_large(bytes: usize, cap: usize) -> Fault {
    let message = format!("answer of at least {bytes} bytes, more than the {cap} allowed");
    Fault { bytes: Some(bytes), ..Fault::new(Reason::ResponseTooLarge, message) }
}

/// What it means that a request could not be sent or its answer not be read.
pub fn failed(error: reqwest::Error) -> Fault {
    let error = error.without_url();
    if error.is_timeout() {
        return Fault::new(Reason::Timeout, "no answer in time");
    }
    // The cause says more than the error itself, which only names the phase.
    let mut cause: &dyn std::error::Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    match error.is_connect() {
        true => Fault::new(Reason::UpstreamUnavailable, format!("cannot connect: {cause}")).before_sending(),
        false => Fault::new(Reason::UpstreamUnavailable, format!("connection failed: {cause}")),
    }
}

/// What a refusal for want of credentials says at first; [`advised`] knows more.
const REFUSED: &str = ": the credentials were not accepted";
/// The same where the server wants people to sign in.
const SIGN_IN: &str = ": the server wants a sign-in with OAuth";

/// The files of clients have no credentials.
const IN_CLIENT: &str = "; in the file of a client, write it into \"headers\"";

/// What the status of an answer says, unless it is a success. Servers that sign people in say so in a header.
pub fn refusal(response: &Response) -> Option<Fault> {
    let fault = status(response.status())?;
    let challenges =
        response.headers().get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
    let signs_in = challenges
        .map(str::to_ascii_lowercase)
        .any(|challenge| challenge.contains("resource_metadata") || challenge.contains("authorization_uri"));
    Some(match fault.reason == Reason::AuthFailed && signs_in {
        true => Fault { message: format!("http 401{SIGN_IN}"), ..fault },
        false => fault,
    })
}

/// A refusal for want of credentials with what to do about it: which upstream it is, which credential it was sent, and
/// where that is set. Other faults stay as they are.
pub fn advised(fault: Fault, upstream: &str, endpoint: &Endpoint) -> Fault {
    if fault.reason != Reason::AuthFailed {
        return fault;
    }
    let signs_in = fault.message.contains(SIGN_IN);
    let bindings: Vec<String> = endpoint.auth.iter().map(|rule| format!("'{}'", rule.binding)).collect();
    let what = match (bindings.as_slice(), signs_in) {
        ([], true) => format!(
            "{SIGN_IN}, which is not done here; get a token from its provider, name it in \"credentials\" and add \
             \"auth\": [{{\"scheme\": \"bearer\", \"binding\": \"…\"}}] to upstream '{upstream}'{IN_CLIENT}"
        ),
        ([], false) => format!(
            ": the server wants credentials, and upstream '{upstream}' has no \"auth\"; name a credential in \
             \"credentials\" and add \"auth\": [{{\"scheme\": \"bearer\", \"binding\": \"…\"}}] to it{IN_CLIENT}"
        ),
        (all, _) => format!(
            "{REFUSED}; upstream '{upstream}' sends {}: see that its value in \"credentials\" (\"headers\" in a \
             client's file) is right and has not expired{}",
            all.join(", "),
            if signs_in {
                ", and get a new token from the provider, since signing in is not done here"
            } else {
                ""
            }
        ),
    };
    let said = if signs_in { SIGN_IN } else { REFUSED };
    Fault { message: fault.message.replacen(said, &what, 1), ..fault }
}

/// What a status says, unless it is a success.
pub fn status(status: StatusCode) -> Option<Fault> {
    let reason = match status.as_u16() {
        200..=299 => return None,
        401 => Reason::AuthFailed,
        429 => Reason::RateLimited,
        500.. => Reason::UpstreamUnavailable,
        _ => Reason::UpstreamError,
    };
    let advice = match status.as_u16() {
        300..=399 => ": redirects are not followed",
        401 => REFUSED,
        429 => ": too many requests",
        _ => "",
    };
    Some(Fault::new(reason, format!("http {}{advice}", status.as_u16())))
}
