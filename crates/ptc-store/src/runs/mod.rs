//! Runs of agents, kept while they go on: a journal from which another process goes on where one ended.
//!
//! A run has what it was begun from, its last state, and one row per answer of a model or a tool. A state says
//! how many answers it knows, so those behind it are the ones to bring it. What the bytes of states and answers
//! mean is for the caller.
//!
//! Whoever holds a run may write it. Going on with a run takes it from whoever held it before: their next write
//! is refused ([`RunError::TakenOver`]), so that no two processes write one run.

mod model;
mod rows;

use std::sync::Arc;

use serde_json::Value as Json;

use crate::{Store, StoreError};
pub use model::{Answer, Ending, KeptRun, ListedRun, NewAnswer, RunError, Status};

/// Characters of run ids: no letter can be taken for a digit.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
/// How many of them an id has.
const ID_LENGTH: usize = 10;

/// The runs of a store.
///
/// ```
/// use std::sync::Arc;
/// use ptc_store::Store;
/// use ptc_store::runs::{Ending, NewAnswer, Runs, Status};
/// use serde_json::json;
///
/// let runs = Runs::new(Arc::new(Store::open(":memory:")?));
/// let run = runs.begin("orders", &json!({"agent": "agent.toml"}))?;
/// run.state(b"waits for a reply")?;
/// run.answers(&[NewAnswer { ask: 1, kind: "model", name: "haiku", bytes: b"a program" }])?;
/// // The process ends here. Another one goes on:
/// let (again, kept) = runs.go_on(run.id())?;
/// assert_eq!(kept.answers_after_state().count(), 1);
/// assert!(run.state(b"too late").is_err());
/// again.end(Ending::Finished, &json!({"answer": 42}))?;
/// assert_eq!(runs.list()?[0].status, Status::Finished);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Runs {
    store: Arc<Store>,
}

impl Runs {
    /// The runs of a store.
    pub fn new(store: Arc<Store>) -> Self {
        Runs { store }
    }

    /// Where the runs are, without a password.
    pub fn place(&self) -> &str {
        self.store.place()
    }

    /// Begins a run. `title` says what it is about, `origin` is all that is needed to begin it again.
    pub fn begin(&self, title: &str, origin: &Json) -> Result<Run, RunError> {
        loop {
            let id = new_id()?;
            let fresh = self.store.write(&subject(&id), |tx| rows::insert(tx, &id, title, origin))?;
            if fresh {
                return Ok(Run { store: self.store.clone(), id, holder: 1 });
            }
        }
    }

    /// Goes on with a run, which is taken from whoever held it.
    pub fn go_on(&self, id: &str) -> Result<(Run, KeptRun), RunError> {
        let missing = || self.missing(id);
        let (holder, kept) = self.store.write(&subject(id), |tx| {
            let kept = rows::kept(tx, id)?.ok_or_else(missing)?;
            Ok::<_, RunError>((rows::take(tx, id)?, kept))
        })?;
        Ok((Run { store: self.store.clone(), id: id.to_owned(), holder }, kept))
    }

    /// Looks at a run and takes it from nobody.
    pub fn read(&self, id: &str) -> Result<KeptRun, RunError> {
        self.store.read(|tx| rows::kept(tx, id)?.ok_or_else(|| self.missing(id)))
    }

    /// All runs, the latest first.
    pub fn list(&self) -> Result<Vec<ListedRun>, RunError> {
        self.store.read(|tx| rows::list(tx).map_err(RunError::from))
    }

    /// The run whose id begins like this, if there is exactly one.
    pub fn find(&self, beginning: &str) -> Result<ListedRun, RunError> {
        let mut found: Vec<ListedRun> =
            self.list()?.into_iter().filter(|run| run.id.starts_with(beginning)).collect();
        if let Some(exact) = found.iter().position(|run| run.id == beginning) {
            return Ok(found.swap_remove(exact));
        }
        match (found.pop(), found.is_empty()) {
            (Some(run), true) if !beginning.is_empty() => Ok(run),
            (Some(run), _) => {
                found.push(run);
                let ids = found.iter().map(|run| run.id.as_str()).collect::<Vec<_>>().join(", ");
                Err(RunError::Ambiguous { beginning: beginning.to_owned(), ids })
            }
            (None, _) => Err(self.missing(beginning)),
        }
    }

    /// Forgets a run.
    pub fn remove(&self, id: &str) -> Result<(), RunError> {
        match self.store.write(&subject(id), |tx| rows::remove(tx, id))? {
            true => Ok(()),
            false => Err(self.missing(id)),
        }
    }

    fn missing(&self, id: &str) -> RunError {
        RunError::Missing { id: id.to_owned(), place: self.place().to_owned() }
    }
}

/// A run in the hands of this process.
#[derive(Clone, Debug)]
pub struct Run {
    store: Arc<Store>,
    id: String,
    holder: i64,
}

impl Run {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Keeps its state, in place of the one before. It knows all answers that were kept so far.
    pub fn state(&self, bytes: &[u8]) -> Result<(), RunError> {
        self.write(|tx| rows::set_state(tx, &self.id, bytes))
    }

    /// Keeps answers, in this order.
    pub fn answers(&self, answers: &[NewAnswer<'_>]) -> Result<(), RunError> {
        self.write(|tx| rows::add_answers(tx, &self.id, answers))
    }

    /// Says how it ended. A run that ended otherwise than finished may be gone on with; of a finished one, the
    /// state is dropped.
    pub fn end(&self, ending: Ending, step: &Json) -> Result<(), RunError> {
        self.write(|tx| rows::end(tx, &self.id, ending.into(), step))
    }

    /// Changes the run, if it is still held here.
    fn write(
        &self,
        mut work: impl FnMut(&mut crate::tx::Tx<'_>) -> Result<(), StoreError>,
    ) -> Result<(), RunError> {
        self.store.write(&subject(&self.id), |tx| {
            if !rows::touch(tx, &self.id, self.holder)? {
                return Err(RunError::TakenOver { id: self.id.clone() });
            }
            Ok(work(tx)?)
        })
    }
}

fn subject(id: &str) -> String {
    format!("run {id}")
}

fn new_id() -> Result<String, RunError> {
    let mut random = [0_u8; ID_LENGTH];
    getrandom::fill(&mut random).map_err(|error| RunError::NoId(error.to_string()))?;
    Ok(random.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect())
}

/// The tables of runs. What is large stands apart from what changes often.
pub(crate) const TABLES: &str = "
CREATE TABLE ptc_runs (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    status TEXT NOT NULL,
    holder INTEGER NOT NULL,
    answers INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
);
CREATE TABLE ptc_run_origins (
    run TEXT PRIMARY KEY,
    origin BLOB NOT NULL
);
CREATE TABLE ptc_run_states (
    run TEXT PRIMARY KEY,
    answers INTEGER NOT NULL,
    state BLOB NOT NULL
);
CREATE TABLE ptc_run_answers (
    run TEXT NOT NULL,
    number INTEGER NOT NULL,
    ask INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    answer BLOB NOT NULL,
    came_at INTEGER NOT NULL,
    PRIMARY KEY (run, number)
);
CREATE TABLE ptc_run_endings (
    run TEXT PRIMARY KEY,
    step BLOB NOT NULL
);
";
