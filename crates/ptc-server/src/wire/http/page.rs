//! The approval page of a server that speaks stdio: the page and its handlers as over HTTP, on a loopback port that the
//! system chooses, behind a token that is made anew for each process.
//!
//! Whoever has the token decides, so it stands in nothing that a model sees: answers name the page without it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::refusal::Refusal;
use super::{Http, HttpError, Tokens, approvals};
use crate::engine::Engine;
use crate::options::{ApprovalPage, Options};
use crate::wire::identity::random;
use crate::wire::log::Log;

/// What the answers of a server with such a page say about it.
const HOW: &str = "; `ptc approvals`, typed by the user in a terminal, shows the whole address";

/// A page that is served until this is dropped.
#[derive(Debug)]
pub struct Page {
    address: String,
    token: SecretString,
    _stop: DropGuard,
}

impl Page {
    /// Serves the page, if people are to decide and nobody said where else.
    pub async fn open(engine: &Arc<Engine>, options: &Options, log: &Log) -> Result<Option<Page>, HttpError> {
        if !engine.approves() || options.approval_page != ApprovalPage::Own {
            return Ok(None);
        }
        let host = Ipv4Addr::LOCALHOST;
        let wrong = |fault| HttpError { address: host.to_string(), fault };
        let listener = TcpListener::bind((host, 0)).await.map_err(wrong)?;
        let address = format!("http://{}/approvals", listener.local_addr().map_err(wrong)?);
        let token = SecretString::from(random::<24>());
        let options =
            Options { http_host: host.to_string(), http_allowed_origin: Vec::new(), ..options.clone() };
        let http = Http::new(engine.clone(), &options, log.clone(), Tokens::local(&token), None);
        let stop = CancellationToken::new();
        tokio::spawn(http.clone().accept(listener, http.clone().page(), stop.clone()));
        tokio::spawn(stop.clone().run_until_cancelled_owned(http.sweep()));
        engine.decided_at(address.clone(), HOW);
        log.lifecycle("approval_page", json!({"address": address}));
        Ok(Some(Page { address, token, _stop: stop.drop_guard() }))
    }

    /// The address for the person who decides. The token is in the fragment, which browsers do not send: it does not
    /// come into logs of proxies or into `Referer`.
    pub fn whole(&self) -> SecretString {
        format!("{}#{}", self.address, self.token.expose_secret()).into()
    }
}

impl Http {
    /// The approval page and nothing else.
    fn page(self: Arc<Self>) -> Router {
        approvals::routes().fallback(|| async { Refusal::NOT_FOUND }).with_state(self)
    }
}
