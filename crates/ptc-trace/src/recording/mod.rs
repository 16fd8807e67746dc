//! Recordings: the tape of a run as a file, with what it was begun from and what came of it. A recording is played
//! back offline and proves that the run would do the same again; two of them are compared call by call.
//!
//! A file is JSON lines: a head, the entries of the tape, an end. Every answer carries its hash, so that one that
//! was changed afterwards is told from a run that does something else. Each line is written as it comes, so that the
//! recording of a process that was killed has everything up to there, and is played to its last line.
//!
//! Runs of agents and programs without one are recorded in the same form: `program.rs` says what a program is begun
//! from, `play.rs` plays it.

mod against;
mod diff;
mod entries;
mod measured;
mod play;
mod program;
mod shelf;
mod verify;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_agent::tape::{Entry, Given, Taper, play};
use ptc_agent::{Agent, Event, RunOptions, Step};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

pub use against::{Against, against};
pub use diff::{Difference, Place, first_difference};
pub use entries::{Call, Entries};
pub use play::{Allowance, against_program, verify_program};
pub use program::{Begun, BegunError, Lent, Part, Taped, effects, ended, named};
pub use shelf::Shelf;
pub use verify::{Parting, Proof, Verdict, verify};

use crate::payload::{hex, sha256};

/// The version of the format.
const VERSION: u32 = 1;
/// The longest line that is read.
const LINE_BYTES: usize = 256 << 20;
/// The longest file that is read.
const FILE_BYTES: u64 = 2 << 30;

/// What no recording has. Hosts add what theirs lack.
const NOT_CAPTURED: [&str; 4] = [
    "what tools and models did outside the run; only their answers are here",
    "pieces of replies that were streamed, and when they came",
    "how long a tool or a model took within a call; only when its answer came",
    "functions of the host: budget checks, guards, previews and progress of its own",
];

/// What no recording of a program without an agent has.
const PROGRAM_NOT_CAPTURED: [&str; 2] = [
    "what tools did outside the program; only their answers are here",
    "how long a tool took; only what it answered",
];

/// What a run was begun from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The version of the format.
    pub ptc_recording: u32,
    /// The version of the program that wrote it.
    pub version: String,
    /// Whatever the host begins the run from again.
    pub subject: Json,
    /// What is not in this file.
    pub not_captured: Vec<String>,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The step.
    pub step: Json,
    /// How many events it told.
    pub events: u64,
    /// Their hash.
    pub events_sha256: String,
    /// How many lines had secrets that were covered.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub covered: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Covers secrets in what is written.
pub type Cover = Arc<dyn Fn(&mut Json) + Send + Sync>;

/// What holds for a recording beside its run.
#[derive(Clone, Default)]
pub struct Keeping {
    /// Covers secrets.
    pub cover: Option<Cover>,
    /// Bytes of the file; a longer recording is cut off.
    pub most_bytes: Option<u64>,
}

/// A line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Head(Head),
    Tape(Entry),
    Answer {
        entry: Entry,
        sha256: String,
    },
    /// Nothing more was written, for this reason.
    Cut(String),
    End(End),
}

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    /// A line makes no sense.
    #[error("line {line} is no line of a recording: {message}")]
    BadLine {
        /// Which, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// It does not begin like one.
    #[error("this is no recording; `ptc run --record FILE` writes one")]
    NoHead,
    /// Its process ended before the first line was written.
    #[error("nothing can be played: its process ended before the first line of the recording was whole")]
    Torn,
    /// It is of another version.
    #[error("this recording has version {0} and this program reads version {VERSION}")]
    Version(u32),
}

/// The hash of an answer.
fn hash(given: &Given) -> String {
    sha256(&serde_json::to_string(given).unwrap_or_default())
}

/// The hash over events, one after the other.
#[derive(Clone, Default)]
struct Events {
    count: u64,
    hash: Sha256,
}

impl Events {
    /// Counts an event as whoever plays the recording will see it: made of covered values.
    fn add(&mut self, event: &Event, cover: Option<&Cover>) {
        self.count += 1;
        let text = match cover {
            None => serde_json::to_string(event).unwrap_or_default(),
            Some(cover) => {
                let mut covered = serde_json::to_value(event).unwrap_or_default();
                cover(&mut covered);
                covered.to_string()
            }
        };
        self.hash.update(text.as_bytes());
        self.hash.update(b"\n");
    }

    fn sum(&self) -> String {
        hex(&self.hash.clone().finalize())
    }
}

/// Writes a recording while its run goes on.
pub struct Recorder {
    /// Not buffered: what is not in the file is lost with the process.
    file: File,
    keeping: Keeping,
    written: u64,
    covered: u64,
    /// Whether nothing more is written: the file has all that it may have, or could not be written.
    full: bool,
    /// Turns of the clock that say the same are one line.
    pending: Option<(u64, u64)>,
    events: Events,
    failed: Option<io::Error>,
}

impl Recorder {
    /// Begins a file, which only its owner may read: it holds everything that the run saw, secrets too.
    pub fn create(path: &Path, subject: Json, missing: &[String]) -> io::Result<Self> {
        Self::keeping(path, subject, missing, Keeping::default())
    }

    /// The same with secrets covered and a bound.
    pub fn keeping(path: &Path, subject: Json, missing: &[String], keeping: Keeping) -> io::Result<Self> {
        Self::begin(path, subject, &NOT_CAPTURED, missing, keeping)
    }

    fn begin(
        path: &Path,
        subject: Json,
        never: &[&str],
        missing: &[String],
        keeping: Keeping,
    ) -> io::Result<Self> {
        let mut recorder = Recorder {
            file: ptc_system::private::create(path)?,
            keeping,
            written: 0,
            covered: 0,
            full: false,
            pending: None,
            events: Events::default(),
            failed: None,
        };
        let not_captured = never.iter().map(|text| (*text).to_owned()).chain(missing.to_vec());
        recorder.line(&Line::Head(Head {
            ptc_recording: VERSION,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            subject,
            not_captured: not_captured.collect(),
        }));
        recorder.failed.take().map_or(Ok(recorder), Err)
    }

    /// Takes an entry of the tape.
    pub fn entry(&mut self, entry: Entry) {
        if let Entry::Next { now, times } = entry {
            match &mut self.pending {
                Some((at, count)) if *at == now => *count += times,
                _ => {
                    self.flush_clock();
                    self.pending = Some((now, times));
                }
            }
            return;
        }
        self.flush_clock();
        let line = match entry {
            Entry::Answer { id, now, given } => {
                let given = self.covered_given(given);
                Line::Answer { sha256: hash(&given), entry: Entry::Answer { id, now, given } }
            }
            entry => Line::Tape(entry),
        };
        self.line(&line);
    }

    /// Takes an event of the run.
    pub fn event(&mut self, event: &Event) {
        self.events.add(event, self.keeping.cover.as_ref());
    }

    /// Ends the file of a run of an agent.
    pub fn finish(self, step: &Step) -> io::Result<()> {
        self.end(serde_json::to_value(step).unwrap_or_default())
    }

    /// Ends the file of a run of an agent. Where secrets were covered, what came of it is what comes of the covered values, as
    /// far as they lead to an end; `again` begins the run of a recording again, from what that was begun from.
    pub fn finish_as_covered(
        mut self,
        step: &Step,
        again: impl FnOnce(&Json) -> Option<(Arc<Agent>, RunOptions)>,
    ) -> io::Result<()> {
        self.flush_clock();
        if self.covered == 0 {
            return self.finish(step);
        }
        let played = self.read_back()?.and_then(|recording| {
            let (agent, options) = again(&recording.head.subject)?;
            play(agent, options, recording.tape.iter(), |_, _| {}, || true).ok()
        });
        let Some(played) = played else { return self.finish(step) };
        self.events = Events::default();
        played.events.iter().for_each(|event| self.events.add(event, None));
        self.end(serde_json::to_value(&played.step).unwrap_or_default())
    }

    /// Ends the file of a program. Where secrets were covered, the outcome is that of the covered values, as far as
    /// they lead to one: what a recording says is what it can show.
    pub(crate) fn finish_program(mut self, step: Json) -> io::Result<()> {
        if self.covered == 0 {
            return self.end(step);
        }
        let played = self.read_back()?.and_then(|recording| play::replayed(&recording));
        self.end(played.unwrap_or(step))
    }

    /// What stands in the file so far.
    fn read_back(&mut self) -> io::Result<Option<Recording>> {
        io::Seek::rewind(&mut self.file)?;
        let recording = Recording::read_from(&self.file).ok();
        io::Seek::seek(&mut self.file, io::SeekFrom::End(0))?;
        Ok(recording)
    }

    fn end(mut self, step: Json) -> io::Result<()> {
        self.flush_clock();
        let (events, covered) = (self.events.count, self.covered);
        self.line(&Line::End(End { step, events, events_sha256: self.events.sum(), covered }));
        self.failed.take().map_or(Ok(()), Err)
    }

    fn flush_clock(&mut self) {
        if let Some((now, times)) = self.pending.take() {
            self.line(&Line::Tape(Entry::Next { now, times }));
        }
    }

    /// An answer as it is kept: its hash is that of what stands in the file.
    fn covered_given(&mut self, given: Given) -> Given {
        let Some(cover) = &self.keeping.cover else { return given };
        let whole = serde_json::to_value(&given).unwrap_or_default();
        let mut covered = whole.clone();
        cover(&mut covered);
        if covered == whole {
            return given;
        }
        self.covered += 1;
        serde_json::from_value(covered).unwrap_or_else(|_| Given::Error("a secret was covered here".into()))
    }

    /// A full disk costs the rest of the recording, not the run; the end says so. Nothing is written behind half a
    /// line, so that what is there can be played.
    fn line(&mut self, line: &Line) {
        if self.full {
            return;
        }
        let mut text = match &self.keeping.cover {
            None => serde_json::to_string(line).unwrap_or_default(),
            Some(cover) => {
                let whole = serde_json::to_value(line).unwrap_or_default();
                let mut covered = whole.clone();
                cover(&mut covered);
                self.covered += u64::from(covered != whole);
                covered.to_string()
            }
        };
        self.written += text.len() as u64 + 1;
        if let Some(most) = self.keeping.most_bytes.filter(|most| self.written > *most) {
            self.full = true;
            let cut = Line::Cut(format!("a recording may have {most} bytes"));
            text = serde_json::to_string(&cut).unwrap_or_default();
        }
        text.push('\n');
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            self.full = true;
            self.failed.get_or_insert(error);
        }
    }
}

/// The recording of a run that goes on, shared by those who see it.
#[derive(Clone)]
pub struct Running(Arc<Mutex<Option<Recorder>>>);

impl Running {
    /// Of a run that begins.
    pub fn new(recorder: Recorder) -> Running {
        Running(Arc::new(Mutex::new(Some(recorder))))
    }

    /// What takes everything that comes into the run.
    pub fn tape(&self) -> Taper {
        let own = self.clone();
        Arc::new(move |entry| own.with(|recorder| recorder.entry(entry)))
    }

    /// Takes an event of the run.
    pub fn event(&self, event: &Event) {
        self.with(|recorder| recorder.event(event));
    }

    /// Ends the file. Later calls find nothing to end.
    pub fn finish(&self, step: &Step) -> io::Result<()> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map_or(Ok(()), |recorder| recorder.finish(step))
    }

    /// The same, as [`Recorder::finish_as_covered`].
    pub fn finish_as_covered(
        &self,
        step: &Step,
        again: impl FnOnce(&Json) -> Option<(Arc<Agent>, RunOptions)>,
    ) -> io::Result<()> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.map_or(Ok(()), |recorder| recorder.finish_as_covered(step, again))
    }

    fn with(&self, work: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            work(recorder);
        }
    }
}

/// A recording, read.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What it was begun from.
    pub head: Head,
    /// The tape.
    pub tape: Entries,
    /// What came of it; nothing if the run was stopped from outside.
    pub end: Option<End>,
    /// Why the rest was not written, if it was not.
    pub cut: Option<String>,
}

impl Recording {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, RecordingError> {
        Self::read_from(File::open(path)?)
    }

    /// Reads a recording from any source. A last line that is torn is left out: the process was killed there.
    pub fn read_from(source: impl Read) -> Result<Self, RecordingError> {
        let mut source = BufReader::new(source.take(FILE_BYTES));
        let (mut head, mut tape, mut end, mut cut) = (None, Entries::default(), None, None);
        let (mut text, mut number) = (Vec::new(), 0);
        loop {
            text.clear();
            let length = (&mut source).take(LINE_BYTES as u64).read_until(b'\n', &mut text)?;
            if length == 0 || (!text.ends_with(b"\n") && head.is_some()) {
                break;
            }
            number += 1;
            let line = match serde_json::from_slice(&text) {
                Ok(line) => line,
                Err(_) if head.is_none() && !text.ends_with(b"\n") && text.starts_with(b"{\"head\":") => {
                    return Err(RecordingError::Torn);
                }
                Err(_) if head.is_none() => return Err(RecordingError::NoHead),
                Err(error) => {
                    return Err(RecordingError::BadLine { line: number, message: error.to_string() });
                }
            };
            match line {
                Line::Head(Head { ptc_recording, .. }) if ptc_recording != VERSION => {
                    return Err(RecordingError::Version(ptc_recording));
                }
                Line::Head(found) => head = Some(found),
                Line::Tape(entry) => tape.push(&text, &entry, None),
                Line::Answer { entry, sha256 } => tape.push(&text, &entry, Some(&sha256)),
                Line::Cut(why) => cut = Some(why),
                Line::End(found) => end = Some(found),
            }
        }
        let head = match head {
            None if number == 0 => return Err(RecordingError::Torn),
            head => head.ok_or(RecordingError::NoHead)?,
        };
        Ok(Recording { head, tape, end, cut })
    }

    /// What is not in it: what it was begun without, and what was left out on the way.
    pub fn not_captured(&self) -> Vec<String> {
        let mut all = self.head.not_captured.clone();
        let covered = self.end.as_ref().map_or(0, |end| end.covered);
        if covered > 0 {
            all.push(format!(
                "secrets: they were covered in {covered} lines; whatever looked into them may do something else here"
            ));
        }
        if matches!(self.tape.get(0), Some(Entry::Load { .. })) {
            all.push(
                "what came into the run before it was resumed; the run as it was kept then is here".into(),
            );
        }
        all.extend(self.cut.iter().map(|why| format!("the rest: {why}")));
        all
    }

    /// The calls, in the order of asking.
    pub fn calls(&self) -> impl Iterator<Item = Call> + '_ {
        (1..=self.tape.asked()).filter_map(|number| self.tape.call(number))
    }

    /// Whether its process ended before the run did.
    pub fn is_cut_off(&self) -> bool {
        self.end.is_none()
    }

    /// The first call whose answer is not the one that was recorded.
    pub fn changed(&self) -> Option<Call> {
        self.tape.changed()
    }
}
