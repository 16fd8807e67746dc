//! Requests that a client may send again. A client that names a request by a key of its own gets, for the same key,
//! the reply that was kept, or a run in which no call that may change something is made a second time.
//!
//! In the journal a request is an entry without a server, in the same scope as the calls of its program.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ptc_store::effects::{Begun, Finding, Kept, NewEffect};
use ptc_upstream::EffectJournal;
use ptc_upstream::pins::digest;
use serde_json::{Value as Json, json};

use super::api::{Args, Caller, Content, Reply, ResourceLink, Signals};
use super::reason::Reason;
use super::tools::Tool;
use super::{Answered, Engine, Handled, fixed, resources};
use crate::effects::StoreJournal;

/// How long replies and answers are kept for requests that come again.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How often what is older is looked for.
pub const SWEEP: Duration = Duration::from_secs(10 * 60);
/// Plans are kept for good: they must not be applied twice, whenever that is tried.
const LASTING: &str = "plan:";
/// Bytes of a key.
const KEY_BYTES: usize = 256;
/// The entry of a request in its scope.
pub const REQUEST: &str = "request";

/// What is known of requests that may come again.
#[derive(Debug)]
pub struct Once {
    journal: Arc<StoreJournal>,
    under_way: Mutex<BTreeSet<String>>,
}

/// A request under way, until it is dropped.
struct UnderWay<'o>(&'o Once, String);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

impl Once {
    pub fn new(journal: StoreJournal) -> Once {
        Once { journal: Arc::new(journal), under_way: Mutex::default() }
    }

    /// Where calls are written down.
    pub fn journal(&self) -> Arc<dyn EffectJournal> {
        self.journal.clone()
    }

    /// Calls whose outcome is not known.
    pub async fn gaps(&self) -> Result<Json, String> {
        let gaps = self.apart(|journal| journal.gaps()).await?;
        let entry = |gap: ptc_store::effects::Gap| {
            json!({"identity": gap.identity, "server": gap.server, "tool": gap.tool, "args": gap.args,
                   "begun": super::text::moment(gap.begun_ms)})
        };
        Ok(gaps.into_iter().map(entry).collect())
    }

    /// Forgets what nobody asks for any more. Calls without an answer stay until somebody has looked at them.
    pub async fn sweep(&self) {
        let swept = self.apart(|journal| {
            let (effects, kept) = (journal.effects(), KEPT.as_millis() as i64);
            for gap in effects.gaps(None).map_err(|error| error.to_string())? {
                // A request that never ended and never came again.
                if gap.server.is_empty() && gap.begun_ms < ptc_host::now_ms() - kept {
                    effects
                        .settle(&gap.scope, &gap.identity, &Finding::Dismissed, "")
                        .map_err(|error| error.to_string())?;
                }
            }
            effects.sweep(kept, LASTING).map_err(|error| error.to_string())
        });
        if let Err(why) = swept.await {
            tracing::warn!("the journal cannot be swept: {why}");
        }
    }

    fn enter(&self, scope: &str) -> Option<UnderWay<'_>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.insert(scope.to_owned()).then(|| UnderWay(self, scope.to_owned()))
    }

    /// What is known of a request; an error if the key belongs to another one.
    async fn begin(&self, scope: &str, tool: Tool, hash: &str) -> Result<Known, Refused> {
        let (scope, hash) = (scope.to_owned(), hash.to_owned());
        let known = self.apart(move |journal| {
            let args = json!({"sha256": hash});
            let entry = NewEffect { identity: REQUEST, server: "", tool: tool.name(), args: &args };
            let effects = journal.effects();
            match effects.begin(&scope, &entry).map_err(|error| error.to_string())? {
                Begun::Fresh => Ok(Ok(Known::Fresh)),
                Begun::Done(kept) if kept["sha256"] == hash.as_str() => Ok(Ok(Known::Ended(kept))),
                Begun::Done(_) => Ok(Err(Refused::Another)),
                Begun::Unknown => {
                    let gaps = effects.gaps(Some(&scope)).map_err(|error| error.to_string())?;
                    let other = |gap: &ptc_store::effects::Gap| gap.identity == REQUEST && gap.args != args;
                    Ok(if gaps.iter().any(other) { Err(Refused::Another) } else { Ok(Known::Begun) })
                }
            }
        });
        known.await.map_err(Refused::Store)?
    }

    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StoreJournal) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let journal = self.journal.clone();
        tokio::task::spawn_blocking(move || work(&journal)).await.map_err(|error| error.to_string())?
    }
}

/// What is known of a request with a key.
enum Known {
    /// It comes for the first time.
    Fresh,
    /// It was begun and did not end.
    Begun,
    /// It ended with this reply.
    Ended(Json),
}

/// Why a request with a key is not run.
enum Refused {
    /// The key belongs to another request.
    Another,
    /// The store failed.
    Store(String),
}

impl Engine {
    /// Handles a call so that it can be sent again.
    pub(super) async fn handle_once(
        &self,
        caller: &Caller,
        tool: Tool,
        args: Args,
        signals: &Signals,
    ) -> Handled {
        let wrong = |message: &str| Ok(fixed(Reason::ARGS, message, "Mend the request and send it again."));
        let runs = matches!(tool, Tool::Eval | Tool::SessionEval | Tool::Task);
        let scoped = |scope: &str, digest: Option<&str>| {
            let (scope, digest) = (Some(scope.into()), digest.map(Arc::from));
            Signals { scope, digest, ..signals.clone() }
        };
        let (once, key) = match (&self.once, &signals.request_key) {
            (_, _) if !runs => return self.handle(caller, tool, args, signals).await,
            (None, None) => return self.handle(caller, tool, args, signals).await,
            (None, Some(_)) => {
                return wrong(
                    "a request key needs a server with a store; start it with --store, or leave it out",
                );
            }
            (Some(_), None) => {
                let scope = format!("call:{}", resources::random_id::<16>());
                return self.handle(caller, tool, args, &scoped(&scope, None)).await;
            }
            (Some(once), Some(key)) => (once, key),
        };
        if key.is_empty() || key.len() > KEY_BYTES || key.contains('\0') {
            return wrong(&format!("the request key must be a text of 1 to {KEY_BYTES} bytes"));
        }
        let scope = format!("request:{}:{key}", caller.principal);
        let Some(_under_way) = once.enter(&scope) else {
            return Ok(fixed(
                Reason::BUSY,
                "the request with this key is under way",
                "Wait a moment, then send it again.",
            ));
        };
        let hash = digest(&json!([tool.name(), args]));
        match once.begin(&scope, tool, &hash).await {
            Ok(Known::Fresh | Known::Begun) => {}
            Ok(Known::Ended(kept)) => return recalled(kept),
            Err(Refused::Another) => {
                return wrong("this request key belongs to another request; take a new key for each request");
            }
            Err(Refused::Store(why)) => {
                tracing::error!("a request cannot be written down: {why}");
                return Ok(fixed(
                    Reason::STORE,
                    "the request cannot be written down at the moment; nothing was done",
                    "Send it again in a moment.",
                ));
            }
        }
        let answered = self.handle(caller, tool, args, &scoped(&scope, Some(&hash))).await?;
        if answered.kept {
            return Ok(answered);
        }
        let ran = answered.facts.program.is_some();
        let reply = written(&hash, &answered);
        let written = once.apart(move |journal| {
            let effects = journal.effects();
            match ran {
                true => effects.keep(&Kept { scope: &scope, identity: REQUEST, answer: &reply }),
                // If nothing was ever made, the key is free again.
                false => effects.abandon(&scope, REQUEST),
            }
            .map_err(|error| error.to_string())
        });
        if let Err(why) = written.await {
            tracing::error!("a reply cannot be kept, so its request would run again: {why}");
        }
        Ok(answered)
    }
}

/// What is kept of an answer for a request that comes again.
pub fn written(digest: &str, answered: &Answered) -> Json {
    json!({"sha256": digest, "reason": answered.reason, "reply": kept(&answered.reply)})
}

/// A reply as it is kept.
fn kept(reply: &Reply) -> Json {
    let content = reply.content.iter().map(|content| match content {
        Content::Text(text) => json!({"text": text}),
        Content::ResourceLink(link) => {
            json!({"uri": link.uri, "name": link.name, "description": link.description, "size": link.size})
        }
    });
    json!({"content": content.collect::<Vec<_>>(), "structured": reply.structured, "is_error": reply.is_error})
}

/// A reply that was kept, marked as such.
fn recalled(mut kept: Json) -> Handled {
    let reply = &mut kept["reply"];
    let content = reply["content"].as_array().into_iter().flatten().map(|content| {
        let text = |name: &str| content[name].as_str().unwrap_or_default().to_owned();
        match content.get("text") {
            Some(_) => Content::Text(text("text")),
            None => Content::ResourceLink(ResourceLink {
                uri: text("uri"),
                name: text("name"),
                description: text("description"),
                mime_type: resources::MIME,
                size: content["size"].as_u64().unwrap_or_default(),
            }),
        }
    });
    let (content, is_error) = (content.collect(), reply["is_error"] == true);
    let mut structured = Some(reply["structured"].take()).filter(|structured| !structured.is_null());
    if let Some(Json::Object(fields)) = &mut structured {
        fields.insert("recalled".to_owned(), true.into());
    }
    let reply = Reply { content, structured, is_error, approval: None, recalled: true };
    Ok(Answered::new(reply, kept["reason"].as_str()))
}
