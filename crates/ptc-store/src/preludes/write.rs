//! Writing a version and choosing the default.

use serde_json::Value as Json;

use super::check::Part;
use super::error::{PreludeError, Reason, refuse};
use super::forms::Forms;
use super::model::{Candidate, Metadata, Pin, Ref, Selected, check_id, checksum};
use super::needs::{Bundle, exactly, for_writing};
use super::rows::{self, Heads, New};
use super::{Preludes, RESERVED, SUBJECT};
use crate::tx::Tx;

/// How often a write begins anew because what it needs was written meanwhile.
const ATTEMPTS: usize = 8;

/// What metadata say about the version that was read before this one was written.
#[derive(Debug, Default)]
struct Base {
    version: Option<i64>,
    checksum: Option<String>,
}

/// A write that passed all checks which need no look at the store.
struct Request<'a> {
    id: &'a str,
    source: &'a str,
    checksum: String,
    metadata: Metadata,
    base: Base,
    needs: Vec<Ref>,
}

impl Preludes {
    /// Checks a source and stores it as the next version, which becomes the default.
    ///
    /// `parent_version` or `parent_checksum` in the metadata say what the writer has read; if the default is
    /// another one by now, the write is refused. `requires_preludes` names what the source needs. Older versions that
    /// are superseded go where there would be too many or too much.
    pub fn write(&self, id: &str, source: &str, metadata: &Metadata) -> Result<Candidate, PreludeError> {
        let request = self.request(id, source, metadata)?;
        for _ in 0..ATTEMPTS {
            // Compiling may take long, so it happens between two looks at the store and not inside a
            // transaction that keeps other writers waiting.
            let bundle = self.checked(&request)?;
            if let Some(stored) = self.store.write(SUBJECT, |tx| self.stored(tx, &request, &bundle))? {
                return Ok(stored);
            }
        }
        Err(refuse(
            Reason::StaleBase,
            format!("the preludes that `{id}` needs were written again and again meanwhile; try later"),
        ))
    }

    /// Makes a retained version the default; newer ones stay.
    pub fn set_default(&self, wanted: &Ref, metadata: &Metadata) -> Result<Selected, PreludeError> {
        let version = wanted.version.ok_or_else(|| {
            refuse(Reason::InvalidRef, format!("name the version, as in `{}@1`", wanted.id))
        })?;
        self.check_metadata(metadata)?;
        self.store.write(SUBJECT, |tx| {
            let pin = rows::resolve(tx, wanted)?;
            let heads = rows::heads(tx, &wanted.id)?.ok_or_else(|| rows::unknown(&wanted.id))?;
            let now = tx.now_ms()?;
            rows::select(tx, &pin, now, metadata)?;
            rows::set_heads(tx, &wanted.id, Heads { current: version, ..heads })?;
            Ok(Selected { version: pin, previous_version: heads.current, latest_version: heads.latest })
        })
    }

    fn request<'a>(
        &self,
        id: &'a str,
        source: &'a str,
        metadata: &Metadata,
    ) -> Result<Request<'a>, PreludeError> {
        check_id(id)?;
        if RESERVED.contains(&id) {
            let message = format!("`{id}` is a namespace of the host; choose another id");
            return Err(refuse(Reason::NamespaceViolation, message));
        }
        let most = self.bounds.max_source_bytes;
        if source.len() > most {
            let message = format!("the source has {} bytes, more than {most}; split it", source.len());
            return Err(refuse(Reason::SourceTooLarge, message));
        }
        self.check_metadata(metadata)?;
        check_namespace(id, source)?;
        let mut metadata = metadata.clone();
        // Only the store says what was pinned.
        metadata.remove("prelude_deps");
        Ok(Request {
            id,
            source,
            checksum: checksum(source),
            base: base(&metadata)?,
            needs: needs(&metadata)?,
            metadata,
        })
    }

    fn check_metadata(&self, metadata: &Metadata) -> Result<(), PreludeError> {
        let most = self.bounds.max_metadata_bytes;
        let bytes = serde_json::to_string(metadata).map_or(usize::MAX, |text| text.len());
        match bytes > most {
            true => Err(refuse(
                Reason::MetadataTooLarge,
                format!("the metadata have {bytes} bytes, more than {most}"),
            )),
            false => Ok(()),
        }
    }

    /// Compiles the source together with what it needs.
    fn checked(&self, request: &Request<'_>) -> Result<Bundle, PreludeError> {
        let (bundle, needed) = self.store.read(|tx| {
            let bundle = for_writing(tx, request.id, &request.needs)?;
            let needed = bundle.order.iter().map(|(pin, _)| rows::read(tx, &exactly(pin)));
            let needed = needed.collect::<Result<Vec<_>, _>>()?;
            Ok::<_, PreludeError>((bundle, needed))
        })?;
        let ids = |pins: &[Pin]| pins.iter().map(|pin| pin.id.clone()).collect::<Vec<_>>();
        let needs: Vec<Vec<String>> = bundle.order.iter().map(|(_, needs)| ids(needs)).collect();
        let own = ids(&bundle.direct);
        let mut parts: Vec<Part<'_>> = needed
            .iter()
            .zip(&needs)
            .map(|(candidate, needs)| Part { id: &candidate.version.id, source: &candidate.source, needs })
            .collect();
        parts.push(Part { id: request.id, source: request.source, needs: &own });
        self.check.check(&parts).map_err(|fault| {
            let reason = match fault.reason.as_str() {
                "compile_timeout" => Reason::CompileTimeout,
                "compile_memory_exceeded" => Reason::CompileMemoryExceeded,
                _ => Reason::CompileError,
            };
            PreludeError::Refused { reason, message: fault.message, compile_reason: Some(fault.reason) }
        })?;
        Ok(bundle)
    }

    /// Stores the version; `None` if what it needs is not what it was compiled with.
    fn stored(
        &self,
        tx: &mut Tx<'_>,
        request: &Request<'_>,
        bundle: &Bundle,
    ) -> Result<Option<Candidate>, PreludeError> {
        let id = request.id;
        let heads = rows::heads(tx, id)?;
        check_base(tx, id, heads, &request.base)?;
        if for_writing(tx, id, &request.needs)? != *bundle {
            return Ok(None);
        }
        if heads.is_none() && rows::count(tx)? >= as_i64(self.bounds.max_ids) {
            let message = format!("the store has {} preludes, which is the most", self.bounds.max_ids);
            return Err(refuse(Reason::IdLimitExceeded, message));
        }
        let version = heads.map_or(0, |heads| heads.latest) + 1;
        let created_at = tx.now_ms()?;
        rows::insert(
            tx,
            &New {
                id,
                version,
                checksum: &request.checksum,
                source: request.source,
                metadata: &request.metadata,
                created_at,
                selected: None,
                pins: &bundle.direct,
            },
        )?;
        rows::set_heads(tx, id, Heads { current: version, latest: version })?;
        rows::prune(tx, id, version - as_i64(self.bounds.max_versions), version)?;
        self.make_room(tx)?;
        rows::read(tx, &Ref { id: id.to_owned(), version: Some(version), checksum: None }).map(Some)
    }
}

pub(super) fn as_i64(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A source declares exactly one namespace, and that is its id.
fn check_namespace(id: &str, source: &str) -> Result<(), PreludeError> {
    let forms = Forms::scan(source).map_err(|error| match error {
        // A source that cannot be read is a mistake of its writer, not of a base.
        PreludeError::Refused { message, compile_reason, .. } => PreludeError::Refused {
            reason: Reason::CompileError,
            message,
            compile_reason: compile_reason.or(Some("compile_error".to_owned())),
        },
        other => other,
    })?;
    let names: Vec<&str> = forms.namespaces().collect();
    match names.as_slice() {
        [name] if *name == id => Ok(()),
        [] => Err(refuse(
            Reason::NamespaceViolation,
            format!("the source declares no namespace; begin it with `(ns {id} \"what it is for\")`"),
        )),
        _ => Err(refuse(
            Reason::NamespaceViolation,
            format!("the source must declare the namespace `{id}` and no other"),
        )),
    }
}

fn base(metadata: &Metadata) -> Result<Base, PreludeError> {
    let wrong = |message: &str| Err(refuse(Reason::InvalidMetadata, message));
    let version = match metadata.get("parent_version") {
        None | Some(Json::Null) => None,
        Some(version) => match version.as_i64().filter(|version| *version > 0) {
            Some(version) => Some(version),
            None => return wrong("`parent_version` must be a positive integer"),
        },
    };
    let checksum = match metadata.get("parent_checksum") {
        None | Some(Json::Null) => None,
        Some(Json::String(checksum)) => Some(checksum.clone()),
        Some(_) => return wrong("`parent_checksum` must be a text"),
    };
    Ok(Base { version, checksum })
}

fn needs(metadata: &Metadata) -> Result<Vec<Ref>, PreludeError> {
    let wrong = || {
        refuse(Reason::InvalidMetadata, "`requires_preludes` must be a list of references such as `paged`")
    };
    let listed = match metadata.get("requires_preludes") {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(listed)) => listed,
        Some(_) => return Err(wrong()),
    };
    let needs = listed.iter().map(|need| Ref::from_json(need).map_err(|_| wrong()));
    let needs = needs.collect::<Result<Vec<_>, _>>()?;
    for (at, need) in needs.iter().enumerate() {
        if needs[..at].iter().any(|earlier| earlier.id == need.id) {
            let message = format!("`requires_preludes` names `{}` twice", need.id);
            return Err(refuse(Reason::InvalidMetadata, message));
        }
    }
    Ok(needs)
}

/// What was read before must be what a reader would get now.
fn check_base(tx: &mut Tx<'_>, id: &str, heads: Option<Heads>, base: &Base) -> Result<(), PreludeError> {
    if base.version.is_none() && base.checksum.is_none() {
        return Ok(());
    }
    let stale = |message: String| Err(refuse(Reason::StaleBase, message));
    let Some(heads) = heads else {
        return stale(format!("`{id}` has no version to be based on; leave out the parent"));
    };
    if let Some(version) = base.version.filter(|version| *version != heads.current) {
        return stale(format!(
            "based on `{id}@{version}`, but the default is version {} now; read it and apply the change to that",
            heads.current
        ));
    }
    let Some(wanted) = &base.checksum else { return Ok(()) };
    let current =
        rows::resolve(tx, &Ref { id: id.to_owned(), version: Some(heads.current), checksum: None })?;
    if *wanted != current.checksum {
        return stale(format!(
            "`parent_checksum` is not that of the default, `{id}@{}`; read it and apply the change to that",
            heads.current
        ));
    }
    if base.version.is_none() && rows::having(tx, id, wanted)? > 1 {
        return stale(format!("several versions of `{id}` have this checksum; give `parent_version` too"));
    }
    Ok(())
}
