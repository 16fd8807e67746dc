//! What preludes need of each other: pins, bundles, and what cannot go together.

use std::collections::{BTreeMap, VecDeque};

use super::error::{PreludeError, Reason, refuse};
use super::model::{Pin, Ref, Resolved};
use super::{Preludes, rows};
use crate::tx::Tx;

/// Most preludes in one bundle.
const MAX_BUNDLE: usize = 256;

/// Exact versions that belong together, needed ones before those that need them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bundle {
    /// What was asked for, resolved, in the order it was asked for.
    pub direct: Vec<Pin>,
    /// Everything, in order, each with what it needs.
    pub order: Vec<(Pin, Vec<Pin>)>,
}

impl Preludes {
    /// Resolves references to one bundle: exact versions with their sources, needed ones first. This is what
    /// a session does when it begins, and then keeps.
    pub fn resolve(&self, wanted: &[Ref]) -> Result<Vec<Resolved>, PreludeError> {
        self.store.read(|tx| {
            let direct =
                wanted.iter().map(|wanted| rows::resolve(tx, wanted)).collect::<Result<Vec<_>, _>>()?;
            let bundle = bundle(tx, direct)?;
            let candidates = bundle.order.iter().map(|(pin, _)| {
                let candidate = rows::read(tx, &exactly(pin))?;
                let needing = bundle.order.iter().filter(|(_, needs)| needs.contains(pin));
                Ok(Resolved {
                    candidate,
                    selected: bundle.direct.contains(pin),
                    required_by: needing.map(|(needing, _)| needing.id.clone()).collect(),
                })
            });
            candidates.collect()
        })
    }
}

/// The reference that means a pin and nothing else.
pub(crate) fn exactly(pin: &Pin) -> Ref {
    Ref { id: pin.id.clone(), version: Some(pin.version), checksum: Some(pin.checksum.clone()) }
}

/// The bundle for a prelude that is about to be written: each need is resolved to the default version.
pub(crate) fn for_writing(tx: &mut Tx<'_>, id: &str, needs: &[Ref]) -> Result<Bundle, PreludeError> {
    let direct = needs.iter().map(|need| direct_need(tx, id, need)).collect::<Result<Vec<_>, _>>()?;
    let bundle = bundle(tx, direct)?;
    match bundle.order.iter().find(|(pin, _)| pin.id == id) {
        None => Ok(bundle),
        Some(_) => Err(cycle(id)),
    }
}

fn direct_need(tx: &mut Tx<'_>, id: &str, need: &Ref) -> Result<Pin, PreludeError> {
    if need.id == id {
        return Err(cycle(id));
    }
    let pin = rows::resolve(tx, need).map_err(|error| match error {
        PreludeError::Refused { reason: Reason::NotFound, message, .. } => {
            refuse(Reason::UnknownDependency, format!("`{id}` needs `{need}`, but {message}"))
        }
        other => other,
    })?;
    let current = rows::heads(tx, &need.id)?.map(|heads| heads.current);
    match current == Some(pin.version) {
        true => Ok(pin),
        false => Err(refuse(
            Reason::NonCurrentDependencyPin,
            format!(
                "`{id}` needs `{need}`, which is not the default version; name `{}` without a version",
                need.id
            ),
        )),
    }
}

fn cycle(id: &str) -> PreludeError {
    refuse(
        Reason::DependencyCycle,
        format!("`{id}` would need itself; move what both need into another prelude"),
    )
}

/// Everything that is needed, once each. Two versions of one prelude do not fit into one bundle.
fn bundle(tx: &mut Tx<'_>, direct: Vec<Pin>) -> Result<Bundle, PreludeError> {
    let mut found: BTreeMap<String, (Pin, Vec<Pin>)> = BTreeMap::new();
    let mut waiting: VecDeque<Pin> = direct.iter().cloned().collect();
    let mut discovered: Vec<String> = Vec::new();
    while let Some(pin) = waiting.pop_front() {
        if let Some((known, _)) = found.get(&pin.id) {
            if *known == pin {
                continue;
            }
            let message = format!(
                "both `{0}@{1}` and `{0}@{2}` are needed; write the preludes that need `{0}` again, so that they \
                 agree on one version",
                pin.id, known.version, pin.version
            );
            return Err(refuse(Reason::DependencyConflict, message));
        }
        if found.len() == MAX_BUNDLE {
            let message = format!("more than {MAX_BUNDLE} preludes are needed at once");
            return Err(refuse(Reason::DependencyConflict, message));
        }
        let needs = rows::pins(tx, &pin.id, pin.version)?;
        waiting.extend(needs.iter().cloned());
        discovered.push(pin.id.clone());
        found.insert(pin.id.clone(), (pin, needs));
    }
    Ok(Bundle { direct, order: ordered(found, &discovered)? })
}

/// Needed ones first, otherwise in the order in which they were found.
fn ordered(
    mut found: BTreeMap<String, (Pin, Vec<Pin>)>,
    discovered: &[String],
) -> Result<Vec<(Pin, Vec<Pin>)>, PreludeError> {
    let mut order = Vec::new();
    while !found.is_empty() {
        let ready = discovered.iter().find(|id| {
            found.get(*id).is_some_and(|(_, needs)| !needs.iter().any(|need| found.contains_key(&need.id)))
        });
        match ready.and_then(|id| found.remove(id)) {
            Some(next) => order.push(next),
            // Pins point to versions that were there before, so only a damaged or forged store gets here.
            None => return Err(cycle(found.keys().next().map_or("", String::as_str))),
        }
    }
    Ok(order)
}
