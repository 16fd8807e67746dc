//! What a recording is of: a mission, a program, or a task of a server. Each is begun again from what its recording says.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use ptc_server::engine::PlayedTask;
use ptc_trace::recording::{
    Against, Allowance, Begun, Part, Proof, Recording, against, against_program, verify, verify_program,
};

use crate::agents::{restore, restore_as, restore_with};

/// Plays a recording and compares.
pub fn prove(recording: &Recording, most: &Allowance) -> anyhow::Result<Proof> {
    let subject = &recording.head.subject;
    if Begun::read(subject).is_some() {
        return Ok(verify_program(recording, most)?);
    }
    if let Some(task) = PlayedTask::read(subject) {
        let mut task = task.map_err(|error| anyhow!("what it was begun from makes no sense: {error}"))?;
        let (agent, options) = (task.agent.clone(), task.options.clone());
        return within(verify(recording, agent, options, most, |entry, events| task.watch(entry, events)));
    }
    let (agent, options) = restore(subject)?;
    within(verify(recording, agent, options, most, |_, _| {}))
}

/// What was proved, unless the run was held to less than it needs: then nothing was.
fn within(proof: Proof) -> anyhow::Result<Proof> {
    match proof.limit {
        Some(error) => {
            bail!("it needs more than may be used to play it: {error}; --fuel and --memory allow more")
        }
        None => Ok(proof),
    }
}

/// Why a file replaces nothing of a recording.
pub fn irreplaceable(recording: &Recording, file: &Path) -> String {
    let subject = &recording.head.subject;
    if PlayedTask::read(subject).is_some() {
        return "is a task of a server, which has neither a file nor a prelude".to_owned();
    }
    match is_code(file) || Begun::read(subject).is_none() {
        true => "has no prelude".to_owned(),
        false => format!("is a program, and {} is none", file.display()),
    }
}

fn is_code(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "clj")
}

/// What would come of a recording with this file; nothing if it has nothing that the file could replace.
pub fn hold_against(recording: &Recording, file: &Path, most: &Allowance) -> anyhow::Result<Option<Against>> {
    let subject = &recording.head.subject;
    let code = is_code(file);
    if let Some(begun) = Begun::read(subject) {
        return match code {
            true => program(recording, begun?, file, most),
            false => Ok(None),
        };
    }
    if PlayedTask::read(subject).is_some() {
        return Ok(None);
    }
    let changed = match code {
        true => restore_with(subject, file)?,
        false => Some(restore_as(subject, file)?),
    };
    Ok(changed.map(|(agent, options)| against(recording, agent, options, most)))
}

/// A program with another text of itself or of a prelude: of the one with that name, else of the only prelude.
fn program(
    recording: &Recording,
    mut begun: Begun,
    file: &Path,
    most: &Allowance,
) -> anyhow::Result<Option<Against>> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("--against: cannot read {}", file.display()))?;
    let named = |path: &str| PathBuf::from(path).file_name() == file.file_name();
    if named(&begun.name) {
        begun.source = text;
        return Ok(Some(against_program(recording, &begun, most)?));
    }
    let parts = begun.prelude.iter_mut().flat_map(|lent| &mut lent.parts);
    let mut parts: Vec<&mut Part> = parts.filter(|part| part.origin != "host").collect();
    let at = parts.iter().position(|part| named(&part.origin) || named(&format!("{}.clj", part.id)));
    match (at, parts.len()) {
        (Some(at), _) => parts[at].text = text,
        (None, 0) => return Ok(None),
        (None, 1) => parts[0].text = text,
        (None, _) => {
            let names: Vec<&str> = parts.iter().map(|part| part.origin.as_str()).collect();
            bail!(
                "--against: give {} the name of the prelude that it replaces: {}",
                file.display(),
                names.join(", ")
            );
        }
    }
    Ok(Some(against_program(recording, &begun, most)?))
}
