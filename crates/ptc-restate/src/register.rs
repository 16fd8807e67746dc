//! Registering a worker: Restate is told where it is, and asks it what it serves.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long an attempt may take.
const ATTEMPT: Duration = Duration::from_secs(30);

/// How long to wait between two.
const PAUSE: Duration = Duration::from_millis(250);

/// Characters of a refusal that are repeated.
const SHOWN: usize = 600;

/// Why a worker could not be registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// There is no server at the URL.
    #[error(
        "there is no Restate server at {url}: {message}; give the URL of its admin API, as http://127.0.0.1:9070"
    )]
    Unreachable {
        /// The URL.
        url: String,
        /// What went wrong.
        message: String,
    },
    /// It does not want the worker.
    #[error("Restate at {url} refuses the worker at {uri} (status {status}): {message}")]
    Refused {
        /// The URL of the server.
        url: String,
        /// The address of the worker.
        uri: String,
        /// The status of its answer.
        status: u16,
        /// What it says.
        message: String,
    },
}

/// Registers the worker that listens at `uri` with the admin API at `url`, which may need a token. A server that is
/// not there yet is waited for.
pub async fn register(
    url: &str,
    uri: &str,
    token: Option<&str>,
    patience: Duration,
) -> Result<(), RegisterError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let unreachable = |error: reqwest::Error| RegisterError::Unreachable {
        url: url.to_owned(),
        message: innermost(&error),
    };
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(ATTEMPT)
        .build()
        .map_err(unreachable)?;
    let began = Instant::now();
    loop {
        // The same worker comes again after every restart, with agents that may have changed.
        let body = json!({"uri": uri, "force": true});
        let mut request = client.post(format!("{}/deployments", url.trim_end_matches('/'))).json(&body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        match request.send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => {
                let status = answer.status().as_u16();
                let message = refusal(&answer.text().await.unwrap_or_default());
                return Err(RegisterError::Refused {
                    url: url.to_owned(),
                    uri: uri.to_owned(),
                    status,
                    message,
                });
            }
            Err(error) if began.elapsed() >= patience || error.is_builder() => {
                return Err(unreachable(error));
            }
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// What a refusal says.
fn refusal(text: &str) -> String {
    let json: Option<Value> = serde_json::from_str(text).ok();
    let message = json.as_ref().and_then(|json| json["message"].as_str()).unwrap_or(text).trim();
    message.chars().take(SHOWN).collect()
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
