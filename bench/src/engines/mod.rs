//! Engines behind one trait, and how each workload is timed on them.
//!
//! An engine in this process gives sandboxes ([`Sandbox`]) and is timed here. An engine in a process of
//! its own ([`process`]) times itself with the same steps, so that pipes are not measured.

mod ours;
pub mod process;

#[cfg(any(feature = "lua", feature = "luajit"))]
mod lua;
#[cfg(feature = "quickjs")]
mod quickjs;
#[cfg(feature = "rhai")]
mod rhai;
#[cfg(feature = "starlark")]
mod starlark;

use std::hint::black_box;
use std::time::Instant;

use anyhow::Result;
use serde_json::{Value as Json, json};

use crate::alloc::live_after;
use crate::data::{Input, Inputs};
use crate::workloads::Mode;

/// How many idle sandboxes are made to measure one.
const IDLE: usize = 200;

/// One timed piece of work.
pub struct Job<'a> {
    /// What is timed.
    pub mode: Mode,
    /// The program.
    pub source: &'a str,
    /// The input that is read while the clock runs, if one is.
    pub load: Option<(&'a str, &'a str)>,
    /// How many times it is done.
    pub repeats: u32,
}

/// What a job gave.
pub struct Timed {
    /// Nanoseconds of one repetition.
    pub ns: f64,
    /// The answer of the last one.
    pub answer: Json,
}

/// An engine that workloads run on.
pub trait Peer {
    /// Its name in the report.
    fn name(&self) -> &str;

    /// How files with its programs end, the best first.
    fn languages(&self) -> &'static [&'static str];

    /// Whether it compiles to machine code while it runs.
    fn jit(&self) -> bool {
        false
    }

    /// Whether it can do this sort of work.
    fn can(&self, _mode: Mode) -> bool {
        true
    }

    /// Throws the old sandbox away and makes one with these inputs.
    fn open(&mut self, inputs: &Inputs) -> Result<()>;

    /// Does a job in the open sandbox.
    fn measure(&mut self, job: &Job) -> Result<Timed>;

    /// Bytes of one idle sandbox with a small definition.
    fn idle_bytes(&mut self) -> Result<Option<f64>> {
        Ok(None)
    }

    /// Bytes that an input takes in a sandbox.
    fn data_bytes(&mut self, _name: &str, _text: &str) -> Result<Option<f64>> {
        Ok(None)
    }

    /// What it costs to write a program that waits for a tool, and to go on with it: nanoseconds, bytes.
    fn suspension(&mut self, _repeats: usize) -> Result<Option<Suspension>> {
        Ok(None)
    }
}

/// What dump, load and resume cost.
pub struct Suspension {
    /// Nanoseconds to write.
    pub dump_ns: f64,
    /// Nanoseconds to read and go on to the end.
    pub resume_ns: f64,
    /// Bytes written.
    pub bytes: usize,
}

/// An engine of this process.
pub trait Engine {
    /// What a program runs in.
    type Sandbox: Sandbox;
    /// Its name in the report.
    const NAME: &'static str;
    /// How files with its programs end, the best first.
    const LANGUAGES: &'static [&'static str];
    /// A program that leaves a small definition behind.
    const DEFINITION: &'static str;
    /// Whether it compiles to machine code while it runs.
    const JIT: bool = false;

    /// A new sandbox with the tools of the workloads.
    fn sandbox() -> Result<Self::Sandbox>;

    /// What dump, load and resume cost, if it can.
    fn suspension(_repeats: usize) -> Result<Option<Suspension>> {
        Ok(None)
    }
}

/// What a program runs in.
pub trait Sandbox {
    /// Gives it an input.
    fn set(&mut self, name: &str, input: &Input) -> Result<()>;

    /// Runs a program from its text.
    fn eval(&mut self, source: &str) -> Result<Json>;

    /// Collects garbage, before memory is counted.
    fn settle(&mut self) {}

    /// Bytes it has, if it does not allocate with the allocator of this process.
    fn own_bytes(&self) -> Option<usize> {
        None
    }
}

/// An engine of this process with its open sandbox.
struct InProcess<E: Engine> {
    open: Option<E::Sandbox>,
}

impl<E: Engine> InProcess<E> {
    fn boxed() -> Box<dyn Peer>
    where
        E: 'static,
    {
        Box::new(InProcess::<E> { open: None })
    }

    fn once(&mut self, job: &Job) -> Result<Json> {
        if job.mode == Mode::Fresh {
            return E::sandbox()?.eval(job.source);
        }
        let sandbox = self.open.as_mut().expect("a sandbox is open");
        if let Some((name, text)) = job.load {
            sandbox.set(name, &Input::Json(text.to_owned()))?;
        }
        if job.mode == Mode::Load { Ok(Json::Null) } else { sandbox.eval(job.source) }
    }
}

impl<E: Engine> Peer for InProcess<E> {
    fn name(&self) -> &str {
        E::NAME
    }

    fn languages(&self) -> &'static [&'static str] {
        E::LANGUAGES
    }

    fn jit(&self) -> bool {
        E::JIT
    }

    fn open(&mut self, inputs: &Inputs) -> Result<()> {
        self.open = None;
        let mut sandbox = E::sandbox()?;
        for (name, input) in inputs {
            sandbox.set(name, input)?;
        }
        self.open = Some(sandbox);
        Ok(())
    }

    fn measure(&mut self, job: &Job) -> Result<Timed> {
        let started = Instant::now();
        for _ in 1..job.repeats {
            black_box(self.once(job)?);
        }
        let answer = black_box(self.once(job)?);
        let ns = started.elapsed().as_nanos() as f64 / f64::from(job.repeats);
        Ok(Timed { ns, answer })
    }

    fn idle_bytes(&mut self) -> Result<Option<f64>> {
        let make = || -> Result<E::Sandbox> {
            let mut sandbox = E::sandbox()?;
            sandbox.eval(E::DEFINITION)?;
            sandbox.settle();
            Ok(sandbox)
        };
        // What is made once for all sandboxes is there before the count begins.
        let first = make()?;
        let mut made = Vec::with_capacity(IDLE);
        let (bytes, done) = live_after(|| {
            (0..IDLE).try_for_each(|_| {
                made.push(make()?);
                Ok::<(), anyhow::Error>(())
            })
        });
        done?;
        // The sandboxes themselves stand in room that was there before.
        let bytes = bytes as f64 / IDLE as f64 + size_of::<E::Sandbox>() as f64;
        drop(made);
        let own = first.own_bytes().unwrap_or(0);
        Ok(Some(bytes + own as f64))
    }

    fn data_bytes(&mut self, name: &str, text: &str) -> Result<Option<f64>> {
        let input = Input::Json(text.to_owned());
        let mut sandbox = E::sandbox()?;
        let before = sandbox.own_bytes().unwrap_or(0);
        let (bytes, set) = live_after(|| {
            let set = sandbox.set(name, &input);
            sandbox.settle();
            set
        });
        set?;
        Ok(Some(bytes as f64 + sandbox.own_bytes().unwrap_or(0) as f64 - before as f64))
    }

    fn suspension(&mut self, repeats: usize) -> Result<Option<Suspension>> {
        E::suspension(repeats)
    }
}

/// Our own engine.
pub fn ours() -> Box<dyn Peer> {
    InProcess::<ours::Ours>::boxed()
}

/// The engines of this build and this computer that are wanted, ours first in any case.
pub fn all(wanted: impl Fn(&str) -> bool) -> Vec<Box<dyn Peer>> {
    let mut all = vec![ours()];
    #[cfg(any(feature = "lua", feature = "luajit"))]
    all.push(InProcess::<lua::Lua>::boxed());
    #[cfg(feature = "starlark")]
    all.push(InProcess::<starlark::Starlark>::boxed());
    #[cfg(feature = "rhai")]
    all.push(InProcess::<rhai::Rhai>::boxed());
    #[cfg(feature = "quickjs")]
    all.push(InProcess::<quickjs::QuickJs>::boxed());
    let mut first = true;
    all.retain(|engine| std::mem::take(&mut first) || wanted(engine.name()));
    all.extend(process::installed(wanted));
    all
}

/// The tool `lookup`, which every engine has: a small record.
pub fn lookup(id: i64) -> Json {
    json!({
        "id": id,
        "name": format!("Item {id}"),
        "price": id as f64 * 1.25 + 0.5,
        "tags": [format!("t{}", id % 3), "sale"],
    })
}
