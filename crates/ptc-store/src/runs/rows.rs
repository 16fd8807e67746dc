//! The statements of runs.

use serde_json::Value as Json;

use super::model::{Answer, KeptRun, ListedRun, NewAnswer, Status};
use crate::StoreError;
use crate::cell::cells;
use crate::tx::Tx;

/// Adds a run, unless there is one of this id.
pub(super) fn insert(tx: &mut Tx<'_>, id: &str, title: &str, origin: &Json) -> Result<bool, StoreError> {
    if tx.number("SELECT COUNT(*) FROM ptc_runs WHERE id = ?1", cells![id])? > 0 {
        return Ok(false);
    }
    let now = tx.now_ms()?;
    tx.run(
        "INSERT INTO ptc_runs (id, title, status, holder, answers, began_at, changed_at)
         VALUES (?1, ?2, ?3, 1, 0, ?4, ?4)",
        cells![id, title, Status::Open.name(), now],
    )?;
    tx.run(
        "INSERT INTO ptc_run_origins (run, origin) VALUES (?1, ?2)",
        cells![id, origin.to_string().into_bytes()],
    )?;
    Ok(true)
}

/// Takes a run from whoever holds it, and gives the number of the new holder.
pub(super) fn take(tx: &mut Tx<'_>, id: &str) -> Result<i64, StoreError> {
    let now = tx.now_ms()?;
    tx.run(
        "UPDATE ptc_runs SET holder = holder + 1, changed_at = ?2, status = ?3 WHERE id = ?1",
        cells![id, now, Status::Open.name()],
    )?;
    tx.number("SELECT holder FROM ptc_runs WHERE id = ?1", cells![id])
}

/// Notes a change, if the run is held by this holder.
pub(super) fn touch(tx: &mut Tx<'_>, id: &str, holder: i64) -> Result<bool, StoreError> {
    let now = tx.now_ms()?;
    let held = tx.run(
        "UPDATE ptc_runs SET changed_at = ?3, status = ?4 WHERE id = ?1 AND holder = ?2",
        cells![id, holder, now, Status::Open.name()],
    )?;
    Ok(held > 0)
}

/// Keeps a state in place of the one before.
pub(super) fn set_state(tx: &mut Tx<'_>, id: &str, bytes: &[u8]) -> Result<(), StoreError> {
    tx.run(
        "INSERT INTO ptc_run_states (run, answers, state)
         VALUES (?1, (SELECT answers FROM ptc_runs WHERE id = ?1), ?2)
         ON CONFLICT (run) DO UPDATE SET answers = excluded.answers, state = excluded.state",
        cells![id, bytes],
    )?;
    Ok(())
}

/// Keeps answers.
pub(super) fn add_answers(tx: &mut Tx<'_>, id: &str, answers: &[NewAnswer<'_>]) -> Result<(), StoreError> {
    let now = tx.now_ms()?;
    for answer in answers {
        tx.run("UPDATE ptc_runs SET answers = answers + 1 WHERE id = ?1", cells![id])?;
        tx.run(
            "INSERT INTO ptc_run_answers (run, number, ask, kind, name, answer, came_at)
             VALUES (?1, (SELECT answers FROM ptc_runs WHERE id = ?1), ?2, ?3, ?4, ?5, ?6)",
            cells![
                id,
                i64::try_from(answer.ask).unwrap_or(i64::MAX),
                answer.kind,
                answer.name,
                answer.bytes,
                now
            ],
        )?;
    }
    Ok(())
}

/// Says how a run ended.
pub(super) fn end(tx: &mut Tx<'_>, id: &str, status: Status, step: &Json) -> Result<(), StoreError> {
    tx.run("UPDATE ptc_runs SET status = ?2 WHERE id = ?1", cells![id, status.name()])?;
    tx.run(
        "INSERT INTO ptc_run_endings (run, step) VALUES (?1, ?2)
         ON CONFLICT (run) DO UPDATE SET step = excluded.step",
        cells![id, step.to_string().into_bytes()],
    )?;
    if status == Status::Finished && json(step.to_string().as_bytes()).is_ok() {
        tx.run("DELETE FROM ptc_run_states WHERE run = ?1", cells![id])?;
    }
    Ok(())
}

/// All that is kept of a run.
pub(super) fn kept(tx: &mut Tx<'_>, id: &str) -> Result<Option<KeptRun>, StoreError> {
    let found = tx.first(
        "SELECT r.status, o.origin, r.changed_at FROM ptc_runs r JOIN ptc_run_origins o ON o.run = r.id
         WHERE r.id = ?1",
        cells![id],
        |row| Ok((Status::named(&row.text(0)?)?, json(&row.bytes(1)?)?, row.int(2)?)),
    )?;
    let Some((status, origin, changed_at)) = found else { return Ok(None) };
    let state = tx.first("SELECT answers, state FROM ptc_run_states WHERE run = ?1", cells![id], |row| {
        Ok((row.int(0)?, row.bytes(1)?))
    })?;
    let answers = tx.list(
        "SELECT number, ask, kind, name, answer FROM ptc_run_answers WHERE run = ?1 ORDER BY number",
        cells![id],
        |row| {
            Ok(Answer {
                number: row.int(0)?,
                ask: u64::try_from(row.int(1)?).unwrap_or_default(),
                kind: row.text(2)?,
                name: row.text(3)?,
                bytes: row.bytes(4)?,
            })
        },
    )?;
    // An answer that nests too deeply for JSON readers is had again from the state.
    let step = tx.first("SELECT step FROM ptc_run_endings WHERE run = ?1", cells![id], |row| {
        Ok(json(&row.bytes(0)?).ok())
    })?;
    let (state_answers, state) = state.map_or((0, None), |(answers, state)| (answers, Some(state)));
    Ok(Some(KeptRun { origin, status, changed_at, state, state_answers, answers, step: step.flatten() }))
}

/// All runs, the latest first.
pub(super) fn list(tx: &mut Tx<'_>) -> Result<Vec<ListedRun>, StoreError> {
    let sql = "SELECT id, title, status, answers, began_at, changed_at FROM ptc_runs
               ORDER BY began_at DESC, id";
    tx.list(sql, &[], |row| {
        Ok(ListedRun {
            id: row.text(0)?,
            title: row.text(1)?,
            status: Status::named(&row.text(2)?)?,
            answers: row.int(3)?,
            began_at: row.int(4)?,
            changed_at: row.int(5)?,
        })
    })
}

/// Forgets a run; false if there is none.
pub(super) fn remove(tx: &mut Tx<'_>, id: &str) -> Result<bool, StoreError> {
    for sql in [
        "DELETE FROM ptc_run_origins WHERE run = ?1",
        "DELETE FROM ptc_run_states WHERE run = ?1",
        "DELETE FROM ptc_run_answers WHERE run = ?1",
        "DELETE FROM ptc_run_endings WHERE run = ?1",
    ] {
        tx.run(sql, cells![id])?;
    }
    Ok(tx.run("DELETE FROM ptc_runs WHERE id = ?1", cells![id])? > 0)
}

fn json(bytes: &[u8]) -> Result<Json, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("a part of a run is no JSON: {error}"))
}
