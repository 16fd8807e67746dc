//! Copies of the prelude store, for those who have the admin token.

use std::path::Path;
use std::sync::Arc;

use axum::extract::{Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use ptc_http::Peer;
use ptc_store::preludes::{PreludeError, Preludes, Reason, Ref};
use serde_json::{Map, Value as Json, json};

use super::Http;
use super::limiter::Door;
use super::refusal::Refusal;
use crate::engine::pulse::in_time;
use crate::wire::identity::{BUILD, random};

/// Everything that the store holds.
pub async fn snapshot(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    http.administer(&peer, &headers, |preludes| Ok(vec![("snapshot", preludes.snapshot()?)])).await
}

/// The default versions and what they need, as the files that a store is seeded with.
pub async fn export(
    State(http): State<Arc<Http>>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    http.administer(&peer, &headers, exported).await
}

type FormFields = Vec<(&'static str, Json)>;

enum Failed {
    Prelude(PreludeError),
    Files,
}

impl std::convert::From<PreludeError> for Failed {
    fn from(error: PreludeError) -> Failed {
        Failed::Prelude(error)
    }
}

impl Http {
    async fn administer(
        &self,
        peer: &Peer,
        headers: &HeaderMap,
        work: impl FnOnce(&Preludes) -> Result<FormFields, Failed> + Send + 'static,
    ) -> Result<Response, Refusal> {
        if !self.tokens.has_admin() {
            return Err(Refusal::NOT_FOUND);
        }
        self.guard.check(headers)?;
        self.token(Door::Admin, peer, headers, |token| self.tokens.is_admin(token).then_some(()))?;
        let _hold = peer.hold();
        let unavailable = || Refusal::admin(StatusCode::SERVICE_UNAVAILABLE, "prelude_store_unavailable");
        let preludes = self.preludes.clone().ok_or_else(unavailable)?;
        let asked = preludes.clone();
        let done = tokio::task::spawn_blocking(move || {
            let fingerprint = asked.fingerprint()?;
            work(&asked).map(|fields| (fingerprint, fields))
        });
        let (fingerprint, fields) = match in_time(preludes.store(), done).await {
            Some(Ok(done)) => done,
            Some(Err(Failed::Prelude(PreludeError::Store(_)))) | None => return Err(unavailable()),
            Some(Err(Failed::Prelude(error))) => {
                return Err(Refusal::admin(StatusCode::CONFLICT, error.reason()));
            }
            Some(Err(Failed::Files)) => {
                return Err(Refusal::admin(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "admin_response_encode_failed",
                ));
            }
        };
        let mut answer = json!({
            "status": "ok",
            "schema_version": 1,
            "boot_id": self.log.boot_id(),
            "commit": BUILD.commit,
            "git_dirty": BUILD.dirty,
            "created_at": jiff::Timestamp::now().to_string(),
            "store_fingerprint": fingerprint,
        });
        for (name, value) in fields {
            answer[name] = value;
        }
        Ok(ptc_http::Json(answer).into_response())
    }
}

fn exported(preludes: &Preludes) -> Result<FormFields, Failed> {
    let listed = preludes.list()?;
    let wanted = listed.iter().map(|one| Ref::current(&one.id)).collect::<Result<Vec<_>, _>>()?;
    let folder = std::env::temp_dir().join(format!("ptc-export-{}", random::<12>()));
    let result = written(preludes, &wanted, &folder);
    // The folder may not exist if nothing was written.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

fn written(preludes: &Preludes, wanted: &[Ref], folder: &Path) -> Result<FormFields, Failed> {
    ptc_system::private::folder(folder).map_err(|_| Failed::Files)?;
    let written = preludes.export_bundle(wanted, folder).map_err(|error| match error {
        // All defaults are wanted, so two versions of one prelude are its default and a pin to another.
        PreludeError::Refused { reason: Reason::DependencyConflict, message, compile_reason } => {
            PreludeError::Refused { reason: Reason::NonCurrentDependencyPin, message, compile_reason }
        }
        other => other,
    })?;
    let manifest: Vec<Json> = written
        .iter()
        .map(|file| json!({"id": file.version.id, "version": file.version.version, "checksum": file.version.checksum}))
        .collect();
    let mut files = Map::new();
    let entries = std::fs::read_dir(folder).map_err(|_| Failed::Files)?;
    for entry in entries.filter_map(Result::ok) {
        let text = std::fs::read_to_string(entry.path()).map_err(|_| Failed::Files)?;
        files.insert(entry.file_name().to_string_lossy().into_owned(), text.into());
    }
    files.sort_keys();
    Ok(vec![("manifest", manifest.into()), ("files", Json::Object(files))])
}
