//! Runs that are kept on disk: a folder with a store of runs, and a lock for each run that goes on.
//!
//! A lock goes with its process, however that ends. So a run that is open in the store and not locked was
//! interrupted.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use ptc_runner::{Answer, Journal, LostCall, Reason, Step, Waiting, waiting};
use ptc_server::effects::{Announcing, StoreJournal};
use ptc_store::Store;
use ptc_store::effects::Gap;
use ptc_store::runs::{Ending, KeptRun, ListedRun, NewAnswer, Run, RunError, Runs, Status};
use serde_json::Value as Json;

use super::findings::{self, Findings, Waits};
use super::lent;
use super::mission::Mission;
use super::show;
use crate::commands::undamaged;
use crate::terminal;

/// The store in the folder.
pub const STORE: &str = "runs.db";

/// Where runs are kept.
#[derive(Clone, Debug, clap::Args)]
pub struct RunsPlace {
    /// The folder of checkpoints; by default the one for runs that were stopped
    #[arg(long, value_name = "DIR")]
    checkpoint: Option<PathBuf>,
}

impl RunsPlace {
    /// Whether the usual folder is meant and has no runs.
    pub fn is_empty(&self) -> anyhow::Result<bool> {
        Ok(self.checkpoint.is_none() && !usual()?.join(STORE).is_file())
    }
}

/// A folder of runs.
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    /// Whether it is the folder that is meant if none is named.
    usual: bool,
    runs: Runs,
    journal: StoreJournal,
}

impl Checkpoints {
    /// Opens a folder, and makes it if it is not there.
    pub fn open(folder: Option<&Path>) -> anyhow::Result<Self> {
        let path = match folder {
            Some(folder) => folder.to_owned(),
            None => usual()?,
        };
        is_folder_name(&path)?;
        let store = path.join(STORE);
        if path.exists() && !path.is_dir() {
            bail!("--checkpoint: {} is no folder; name one", path.display());
        }
        // Before it is opened, so that a run never goes on from an older state than it had.
        undamaged(&store.to_string_lossy()).context("--checkpoint")?;
        let store =
            Store::open(&store.to_string_lossy()).map_err(|error| anyhow!("--checkpoint: {error}"))?;
        // Absolute, so that the command that goes on works elsewhere.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let store = Arc::new(store);
        let journal = StoreJournal::new(store.clone());
        Ok(Checkpoints { folder: path, usual: folder.is_none(), runs: Runs::new(store), journal })
    }

    /// Opens a folder that is there.
    pub fn existing(place: &RunsPlace) -> anyhow::Result<Self> {
        let folder = match &place.checkpoint {
            Some(folder) => folder.clone(),
            None => usual()?,
        };
        if !has_runs(&folder)? {
            bail!(
                "there are no checkpoints in {}; name the folder of `ptc run --checkpoint DIR` with --checkpoint",
                folder.display()
            );
        }
        Self::open(place.checkpoint.as_deref())
    }

    /// All runs with what they are doing and the calls that wait for a person, the latest first.
    pub fn list(&self) -> anyhow::Result<Vec<(ListedRun, &'static str, Vec<Json>)>> {
        let runs = self.runs.list()?;
        let looked = runs.into_iter().map(|run| {
            let (state, pending) = self.state(&run);
            (run, state, pending)
        });
        Ok(looked.collect())
    }

    fn state(&self, run: &ListedRun) -> (&'static str, Vec<Json>) {
        match run.status {
            _ if run.status != Status::Finished && self.is_held(&run.id) => ("running", Vec::new()),
            Status::Open | Status::Interrupted => match self.pending(&run.id) {
                Some(pending) if !pending.is_empty() => ("waiting", pending),
                _ => (Status::Interrupted.name(), Vec::new()),
            },
            status => (status.name(), Vec::new()),
        }
    }

    /// The calls that a run waits for people to decide about, if it waits for nothing else. It may have said so when it
    /// was left, or its process was killed while it asked.
    fn pending(&self, id: &str) -> Option<Vec<Json>> {
        let kept = self.runs.read(id).ok()?;
        unanswered(&kept).iter().map(Waiting::pending).collect()
    }

    /// Writes down calls of tools of a run that may have changed something and have no answer, so that `ptc effects`
    /// lists them.
    fn tell_gaps(&self, id: &str, kept: &KeptRun) -> anyhow::Result<()> {
        match kept.status {
            Status::Finished => Ok(()),
            _ => waits(id, kept, &unanswered(kept)).tell(self.journal.effects()),
        }
    }

    /// The same for all runs that nobody goes on with.
    pub fn tell_all_gaps(&self) -> anyhow::Result<()> {
        for run in self.runs.list()? {
            if !self.is_held(&run.id) {
                self.tell_gaps(&run.id, &self.runs.read(&run.id)?)?;
            }
        }
        Ok(())
    }

    /// Calls of own tools that processes are making right now and that may change something, for a list. Nothing is written
    /// down: the run itself keeps their answers.
    pub fn calls_under_way(&self) -> anyhow::Result<Vec<Gap>> {
        let mut all = Vec::new();
        for run in self.runs.list()? {
            if self.is_held(&run.id) {
                let kept = self.runs.read(&run.id)?;
                all.extend(waits(&run.id, &kept, &unanswered(&kept)).open(self.journal.effects())?);
            }
        }
        Ok(all)
    }

    /// Whether a process goes on with a run right now.
    pub fn is_held(&self, id: &str) -> bool {
        let Ok(file) = File::open(self.lock_path(id)) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }

    /// Begins to keep a run whose calls of upstreams are written down beside it.
    pub fn begin(&self, title: &str, mission: &Mission) -> anyhow::Result<Keeper> {
        let mut origin = serde_json::to_value(mission).context("the mission cannot be written")?;
        origin[JOURNALLED] = true.into();
        let run = self.runs.begin(title, &origin)?;
        self.keeper(run)
    }

    /// The id of a run, from its beginning, and what was kept of it.
    pub fn find(&self, beginning: &str) -> anyhow::Result<(String, KeptRun)> {
        let found = self.runs.find(beginning).map_err(|error| match error {
            RunError::Missing { id, place } => {
                anyhow!("there is no run `{id}` in {place}; `{}` lists them", self.listing())
            }
            other => anyhow!(other),
        });
        let id = found?.id;
        let kept = self.runs.read(&id)?;
        Ok((id, kept))
    }

    /// Goes on with a run that nobody else goes on with, with what it is told of calls that it has no answer to. Those
    /// whose outcome is unknown are made again if told so.
    pub fn go_on(&self, id: &str, repeat: bool) -> anyhow::Result<(Keeper, KeptRun, Findings)> {
        let lock = self.lock(id)?;
        let (run, kept) = self.runs.go_on(id)?;
        let found = match kept.status {
            Status::Finished => Findings::default(),
            _ => findings::of(self.journal.effects(), waits(id, &kept, &unanswered(&kept)), repeat)?,
        };
        Ok((self.keeper_with(run, lock), kept, found))
    }

    /// How many calls of a run may have changed something and have no answer.
    pub fn unknown(&self, id: &str) -> anyhow::Result<usize> {
        if !self.is_held(id) {
            self.tell_gaps(id, &self.runs.read(id)?)?;
        }
        Ok(self.journal.effects().gaps(Some(&lent::scope(id)))?.len())
    }

    /// Forgets a run that nobody goes on with.
    pub fn forget(&self, id: &str) -> anyhow::Result<()> {
        let _lock = self.lock(id)?;
        Ok(self.runs.remove(id)?)
    }

    fn keeper(&self, run: Run) -> anyhow::Result<Keeper> {
        let lock = self.lock(run.id())?;
        Ok(self.keeper_with(run, lock))
    }

    fn keeper_with(&self, run: Run, lock: Lock) -> Keeper {
        let (resume, journal) = (self.command(run.id()), self.journal.clone());
        Keeper { run, resume, _announcing: journal.announce(), journal, _lock: lock }
    }

    /// Where the runs are kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The command that goes on with a run.
    pub fn command(&self, id: &str) -> String {
        match self.usual {
            true => format!("ptc resume {id}"),
            false => format!("ptc resume {id} --checkpoint {}", quoted(&self.folder.to_string_lossy())),
        }
    }

    /// The command that lists the runs.
    fn listing(&self) -> String {
        match self.usual {
            true => "ptc runs".to_owned(),
            false => format!("ptc runs --checkpoint {}", quoted(&self.folder.to_string_lossy())),
        }
    }

    fn lock_path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.lock"))
    }

    fn lock(&self, id: &str) -> anyhow::Result<Lock> {
        let path = self.lock_path(id);
        let file =
            ptc_system::private::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
        // Whoever lists runs holds the lock for a moment.
        for _ in 0..10 {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file, path }),
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(20)),
                Err(TryLockError::Error(error)) => bail!("cannot lock {}: {error}", path.display()),
            }
        }
        bail!("run {id} goes on in another process; stop that one first")
    }
}

/// What a run waited for when it was left or its process ended.
fn unanswered(kept: &KeptRun) -> Vec<Waiting> {
    let waits = kept.state.as_deref().and_then(|state| waiting(state).ok()).unwrap_or_default();
    let answered = |id: u64| kept.answers_after_state().any(|answer| answer.ask == id);
    waits.into_iter().filter(|waits| !answered(waits.id)).collect()
}

/// The same with when it was.
fn waits<'w>(run: &'w str, kept: &KeptRun, calls: &'w [Waiting]) -> Waits<'w> {
    // Runs of earlier versions do not say so.
    let journalled = kept.origin[JOURNALLED] == true;
    Waits { run, calls, since: kept.changed_at, journalled }
}

/// What is noted beside the mission of a run whose calls of upstreams have rows: from the first one on, or, if it was kept when
/// it was stopped, those without an answer.
const JOURNALLED: &str = "calls_journalled";

/// The folder that is meant if none is named.
pub fn usual() -> anyhow::Result<PathBuf> {
    let folder = terminal::state_folder().map(|folder| folder.join("runs"));
    folder.ok_or_else(|| anyhow!("there is no HOME to keep runs in; name a folder with --checkpoint"))
}

/// Refuses what names no folder, before one is made that is named like an address, with its password.
fn is_folder_name(folder: &Path) -> anyhow::Result<()> {
    let text = folder.to_string_lossy();
    match ptc_store::is_path(&text) {
        true => Ok(()),
        false => {
            bail!("--checkpoint: {} is no folder, and runs are kept in one; name it", ptc_store::shown(&text))
        }
    }
}

/// Whether runs are kept in a folder.
pub fn has_runs(folder: &Path) -> anyhow::Result<bool> {
    is_folder_name(folder)?;
    Ok(folder.join(STORE).is_file())
}

/// A word for the shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Held while a run goes on.
#[derive(Debug)]
struct Lock {
    _file: File,
    path: PathBuf,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The lock itself is what counts; a file that stays behind is locked by nobody.
        let _ = fs::remove_file(&self.path);
    }
}

/// Keeps a run while it goes on.
#[derive(Debug)]
pub struct Keeper {
    run: Run,
    /// The command that goes on with it.
    pub resume: String,
    /// Where its calls are written down.
    pub journal: StoreJournal,
    /// Says which of them are under way.
    _announcing: Announcing,
    _lock: Lock,
}

impl Keeper {
    /// The id of the run.
    pub fn id(&self) -> &str {
        self.run.id()
    }

    /// Writes down what came of it.
    pub fn end(&self, step: &Step) -> anyhow::Result<()> {
        let ending = match &step.fail {
            None => Ending::Finished,
            Some(fail) if [Reason::CANCELLED, Reason::APPROVAL_REQUIRED].contains(&fail.reason) => {
                Ending::Interrupted
            }
            // What is kept is as it was.
            Some(fail) if [show::CHECKPOINT_ERROR, show::RESUME_ERROR].contains(&fail.reason.as_str()) => {
                return Ok(());
            }
            Some(_) => Ending::Failed,
        };
        let step = serde_json::to_value(step).context("the answer cannot be written")?;
        Ok(self.run.end(ending, &step)?)
    }
}

impl Journal for Keeper {
    fn state(&self, bytes: &[u8]) -> Result<(), String> {
        self.run.state(bytes).map_err(|error| error.to_string())
    }

    fn answers(&self, answers: &[Answer]) -> Result<(), String> {
        let rows: Vec<NewAnswer<'_>> = answers
            .iter()
            .map(|answer| NewAnswer {
                ask: answer.ask,
                kind: answer.by.name(),
                name: &answer.name,
                bytes: &answer.bytes,
            })
            .collect();
        self.run.answers(&rows).map_err(|error| error.to_string())
    }

    fn lost(&self, call: &LostCall) -> Result<Option<String>, String> {
        let identity = findings::lost(self.journal.effects(), self.id(), call);
        identity.map(Some).map_err(|error| format!("{error:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn folders_are_words_of_the_shell() {
        for (word, expected) in
            [("/a/b-c.d", "/a/b-c.d"), ("a b", "'a b'"), ("it's", r"'it'\''s'"), ("", "''")]
        {
            assert_eq!(quoted(word), expected);
        }
    }
}
