//! Reading the body of a request that was admitted.

use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::{BodyExt, LengthLimitError, Limited};

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyError {
    /// It has more bytes than allowed.
    TooLarge,
    /// It did not arrive in time.
    TooSlow,
    /// The client broke off.
    Broken,
}

/// Reads a body of at most so many bytes, in at most that time.
pub async fn body(body: Body, most: usize, time: Duration) -> Result<Bytes, BodyError> {
    match tokio::time::timeout(time, Limited::new(body, most).collect()).await {
        Err(_) => Err(BodyError::TooSlow),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.downcast_ref::<LengthLimitError>().is_some() => Err(BodyError::TooLarge),
        Ok(Err(_)) => Err(BodyError::Broken),
    }
}
