//! `lisp_session_start`.

use std::sync::Arc;
use std::time::Duration;

use ptc_lisp::prelude::Prelude;
use ptc_store::preludes::{Access, Ref};
use ptc_upstream::Grants;
use serde_json::{Map, Value as Json, json};

use super::super::api::{Args, Caller, Signals};
use super::super::reason::Reason;
use super::super::receipt::Receipt;
use super::super::resources::random_id;
use super::super::roles::Role;
use super::super::settings;
use super::super::text::{cut, json_bytes, moment};
use super::super::{Answered, Engine, envelope};
use super::error::SessionError;
use super::keep::StartReceipt;
use super::preludes::{self, Frozen, Granting, apart};
use super::{Mode, NewSession, Sessions, args};

/// Keys and bytes of tags.
const TAGS: (usize, usize) = (32, 4096);

impl Engine {
    pub(in super::super) async fn session_start(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        given: Args,
        signals: &Signals,
    ) -> Answered {
        self.started(sessions, caller, given, signals).await.unwrap_or_else(|error| error.answered())
    }

    async fn started(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        mut given: Args,
        signals: &Signals,
    ) -> Result<Answered, SessionError> {
        const KEYS: &[&str] = &["title", "ttl_ms", "mode", "role", "scoped_base_surface", "preludes", "tags"];
        args::only(&mut given, KEYS)?;
        let settings = sessions.settings();
        let mode = mode(&given)?;
        let granted = self.granted(sessions, caller, &given, mode)?;
        let (role, granted) = match granted {
            Some((name, role)) => (Some((name, role.fingerprint())), Some(role)),
            None => (None, None),
        };
        let scoped = match given.get("scoped_base_surface") {
            None | Some(Json::Null) => false,
            Some(Json::Bool(scoped)) => *scoped,
            Some(_) => return Err(SessionError::args("scoped_base_surface must be a boolean when supplied")),
        };
        let wanted = preludes::references(given.get("preludes"))?;
        let grants = granted.as_ref().map_or_else(Grants::all, Role::grants);
        let owner = sessions.owner(caller);
        let frozen = self.frozen(settings, owner, mode, granted.as_ref(), wanted, scoped).await?;
        let warnings = self.hidden_servers(&frozen, &grants);
        let new = NewSession {
            id: format!("ptcs_{}", random_id::<18>()),
            title: args::text(&given, "title", 256)?.map(|title| self.redactor.redact_string(title)),
            mode,
            ttl: ttl(&given, settings.ttl)?,
            tags: tags(given.get("tags"), &settings.boot_tags)?,
            role,
            grants,
            frozen,
        };
        let told = told(&new, settings, scoped, warnings);
        let receipt = Receipt::of(signals).filter(|_| sessions.keeper().is_some());
        let receipt = receipt.and_then(|receipt| {
            let told = told.clone();
            StartReceipt::new(receipt, move |times| begins(&told, times.expires_ms))
        });
        let kept = receipt.is_some();
        let session = sessions.open(caller, new, &self.pool, receipt).await?;
        Ok(Answered { kept, ..begins(&told, session.until().expires_ms) })
    }

    /// Servers that programs of the session may call, but not by their names, because its preludes use these.
    fn hidden_servers(&self, frozen: &Frozen, grants: &Grants) -> Vec<Json> {
        let (Some(upstreams), Some(prelude)) = (&self.upstreams, &frozen.prelude) else { return Vec::new() };
        let told = upstreams.offers(grants.clone()).catalog().hidden_by(prelude);
        told.into_iter().map(|note| json!({"reason": "hidden_server", "message": note})).collect()
    }

    /// The role by name, and what it grants; nothing if there are no roles.
    fn granted(
        &self,
        sessions: &Sessions,
        caller: &Caller,
        given: &Args,
        mode: Mode,
    ) -> Result<Option<(String, Role)>, SessionError> {
        let wanted = args::text(given, "role", 64)?;
        let Some(policy) = &sessions.settings().roles else {
            return match (wanted, &caller.roles) {
                (None, None) => Ok(None),
                _ => Err(SessionError::args(
                    "role requires --session-roles, which this server was started without",
                )),
            };
        };
        let (name, role) =
            policy.choose(wanted.as_deref(), caller.roles.as_deref()).map_err(SessionError::args)?;
        if !role.modes.contains(&mode) {
            let message = format!("mode {} is not granted for role {name}", mode.name());
            return Err(SessionError::args(message));
        }
        Ok(Some((name.to_owned(), role.clone())))
    }

    /// What programs of the session find besides the language.
    async fn frozen(
        &self,
        settings: &settings::SessionSettings,
        owner: Arc<str>,
        mode: Mode,
        role: Option<&Role>,
        wanted: Vec<Ref>,
        scoped: bool,
    ) -> Result<Frozen, SessionError> {
        let level = role.map_or(Some(Access::Write), |role| role.prelude_store);
        let role = role.cloned();
        let (upstreams, host) = (self.upstreams.clone(), self.host.clone());
        // Preludes are compiled on a thread of their own, and only then it is known what they require.
        let runtime = tokio::runtime::Handle::current();
        let granting = move |freeze: &dyn Fn(&Granting<'_>) -> Result<Frozen, SessionError>| {
            let grants = role.as_ref().map_or_else(Grants::all, Role::grants);
            let offers = upstreams.as_ref().map(|upstreams| upstreams.offers(grants));
            let offers = offers.as_ref().map(|offers| offers as &dyn ptc_lisp::prelude::Upstreams);
            let settle = |prelude: &Prelude| {
                upstreams.iter().for_each(|upstreams| runtime.block_on(upstreams.settle(prelude)));
            };
            freeze(&Granting { role: role.as_ref(), offers, settle: &settle, scoped, host: &host })
        };
        if mode == Mode::ReadOnly && wanted.is_empty() {
            let Some(prelude) = self.session_prelude.clone() else { return Ok(Frozen::default()) };
            return apart(move || granting(&|granting| preludes::of_server(prelude.clone(), granting))).await;
        }
        let refuse = |message: &str| Err(SessionError::args(message));
        let Some(store) = self.preludes.clone() else {
            return refuse(
                "preludes and write_capable need a prelude store, which this server does not have",
            );
        };
        if self.prelude.is_some() {
            return refuse("preludes and write_capable cannot be used on a server with --prelude");
        }
        if mode == Mode::WriteCapable {
            if !settings.allow_prelude_write {
                return refuse("write_capable needs a server with --sessions-allow-prelude-write");
            }
            if level != Some(Access::Write) {
                return refuse("write_capable is not granted for this role");
            }
            if !wanted.is_empty() {
                return refuse("a write_capable session cannot have preludes");
            }
            return apart(move || granting(&|granting| preludes::writing(&store, &owner, granting))).await;
        }
        if level.is_none() {
            return refuse("preludes are not granted for this role");
        }
        apart(move || granting(&|granting| preludes::freeze(&store, &wanted, granting))).await
    }
}

/// What the mode of a session is about.
const MODE_NOTE: &str =
    "mode is about the prelude store alone; upstream tools that write can be called in either";

/// What is said of a session that begins, but for the moment when it ends.
fn told(
    new: &NewSession,
    settings: &settings::SessionSettings,
    scoped: bool,
    warnings: Vec<Json>,
) -> Map<String, Json> {
    let mut told = Map::new();
    let mut say = |name: &str, value: Json| drop(told.insert(name.to_owned(), value));
    say("status", "ok".into());
    say("session_id", new.id.as_str().into());
    say("expires_at", Json::Null);
    say("mode", new.mode.name().into());
    say("mode_note", MODE_NOTE.into());
    say("limits", settings.to_json());
    if !settings.boot_tags.is_empty() {
        say("tags", new.tags.clone().into());
    }
    if let Some((role, fingerprint)) = &new.role {
        say("role", role.as_str().into());
        say("grant_fingerprint", fingerprint.as_str().into());
    }
    if scoped {
        say("scoped_base_surface", true.into());
        let presentation = json!({
            "scoped_base_surface": true,
            "masked_namespaces": new.frozen.masked,
            "fallback_warnings": fallback_warnings(&new.frozen),
        });
        say("prelude_presentation", presentation);
    }
    if new.frozen.prelude.is_some() {
        say("prelude_refs", new.frozen.refs.clone().into());
        say("preludes", new.frozen.namespaces().into());
    }
    if let Some(projection) = &new.frozen.projection {
        say("prelude_projection", projection.clone());
    }
    if !warnings.is_empty() {
        say("warnings", warnings.into());
    }
    told
}

/// The answer about a session that ends then.
fn begins(told: &Map<String, Json>, expires_ms: i64) -> Answered {
    let mut object = told.clone();
    object.insert("expires_at".to_owned(), moment(expires_ms).into());
    Answered::new(envelope::plain(object.into(), false), None)
}

/// Why lists show more than somebody may expect who asked for a scoped surface.
fn fallback_warnings(frozen: &Frozen) -> Vec<&'static str> {
    match frozen.masked.is_empty() {
        true => vec!["no namespace is there only because another needs it, so nothing is masked"],
        false => Vec::new(),
    }
}

fn mode(given: &Args) -> Result<Mode, SessionError> {
    let wrong = |got: &str| {
        let message = format!("mode must be \"read_only\" or \"write_capable\", got: {}", cut(got, 40));
        Err(SessionError::args(message))
    };
    match given.get("mode") {
        None | Some(Json::Null) => Ok(Mode::default()),
        Some(Json::String(name)) => Mode::named(name).map_or_else(|| wrong(name), Ok),
        Some(other) => wrong(&other.to_string()),
    }
}

fn ttl(given: &Args, most: Duration) -> Result<Duration, SessionError> {
    match given.get("ttl_ms") {
        None | Some(Json::Null) => Ok(most),
        Some(ms) => match ms.as_u64().filter(|ms| *ms > 0) {
            Some(ms) => Ok(Duration::from_millis(ms).min(most)),
            None => Err(SessionError::args("ttl_ms must be a positive integer")),
        },
    }
}

/// The tags of a session: those of the server, and those of the caller where they do not say otherwise.
fn tags(given: Option<&Json>, boot: &Map<String, Json>) -> Result<Map<String, Json>, SessionError> {
    let mut all = match given {
        None | Some(Json::Null) => Map::new(),
        Some(Json::Object(tags)) => tags.clone(),
        Some(_) => return Err(SessionError::args("tags must be an object")),
    };
    if all.len() > TAGS.0 || all.contains_key("") {
        return Err(SessionError::args(format!("tags has at most {} keys, none of them empty", TAGS.0)));
    }
    if all.values().any(|value| value.is_array() || value.is_object()) {
        return Err(SessionError::args("tags has strings, numbers, booleans and null as values"));
    }
    if json_bytes(&Json::Object(all.clone())) > TAGS.1 {
        return Err(SessionError::args(format!("tags has at most {} bytes", TAGS.1)));
    }
    for (key, value) in boot {
        match all.insert(key.clone(), value.clone()) {
            Some(other) if other != *value => {
                return Err(SessionError::new(Reason::SESSION_ARGS, "tags contradict tags of the server"));
            }
            _ => {}
        }
    }
    Ok(all)
}
