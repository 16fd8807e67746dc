//! `ptc prelude`: checks preludes, shows what prompts say about them, and runs the examples in their docstrings.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use ptc_lisp::Limits;
use ptc_lisp::prelude::{Grants, Prelude, Problem, Upstreams, Verdict};

use super::eval::ignore_closed_pipe;
use super::prelude_store;
use crate::attached;
use crate::exit::Outcome;
use crate::terminal::{self, errln};

/// Check preludes, run their examples, and keep versions of them in a store.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub struct PreludeArgs {
    #[command(subcommand)]
    action: PreludeAction,
}

#[derive(Debug, clap::Subcommand)]
enum PreludeAction {
    /// Compile preludes and say what they export and require.
    ///
    /// With upstreams it says what operations behind exports do, and what is not there.
    Check {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        upstreams: attached::UpstreamArgs,
        /// Print the summary that traces carry, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Print what prompts say about preludes.
    Inventory {
        #[command(flatten)]
        files: Files,
        #[command(flatten)]
        upstreams: attached::UpstreamArgs,
    },
    /// Run the examples in docstrings: an expression, `;=>`, and its value.
    Test(Files),
    /// Keep versions of preludes.
    Store(prelude_store::PreludeStoreArgs),
}

#[derive(Debug, clap::Args)]
struct Files {
    /// Preludes; later ones may use the namespaces of earlier ones
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Why files could not be compiled.
pub enum Refused {
    /// A file cannot be read.
    Unreadable(String),
    /// A source is wrong; with the name of its file and its text.
    Wrong(Box<Problem>, String, String),
}

impl Refused {
    /// On one line.
    pub fn line(&self) -> String {
        match self {
            Refused::Unreadable(message) => message.clone(),
            Refused::Wrong(problem, file, _) => format!("--prelude {file}: {problem}"),
        }
    }

    /// For people: with the line it is about.
    fn shown(&self) -> String {
        match self {
            Refused::Unreadable(message) => message.clone(),
            Refused::Wrong(problem, file, text) => {
                let coloured = terminal::colours(&terminal::stderr());
                let shown = terminal::error_text(&problem.error, text, file, coloured);
                format!("{}\n{shown}", problem.reason.name())
            }
        }
    }
}

/// Compiles files together, in order.
pub fn compile(files: &[PathBuf]) -> Result<Prelude, Refused> {
    let unreadable =
        |file: &PathBuf, error| Refused::Unreadable(format!("cannot read {}: {error}", file.display()));
    let text = |file: &PathBuf| fs::read_to_string(file).map_err(|error| unreadable(file, error));
    let texts: Vec<String> = files.iter().map(text).collect::<Result<_, _>>()?;
    compile_texts(files, &texts)
}

/// Compiles the texts of files together, in order.
pub fn compile_texts(files: &[PathBuf], texts: &[String]) -> Result<Prelude, Refused> {
    ptc_runner::compile_preludes(files, texts)
        .map_err(|(at, problem)| Refused::Wrong(problem, files[at].display().to_string(), texts[at].clone()))
}

/// Runs the command.
pub fn run(args: PreludeArgs) -> anyhow::Result<Outcome> {
    match args.action {
        PreludeAction::Store(args) => prelude_store::run(args),
        PreludeAction::Check { files, upstreams, json } => {
            with(&files, |prelude| check(prelude, &upstreams, json))
        }
        PreludeAction::Inventory { files, upstreams } => {
            with(&files, |prelude| show_inventory(prelude, &upstreams))
        }
        PreludeAction::Test(files) => with(&files, test),
    }
}

fn with(
    files: &Files,
    act: impl FnOnce(&Arc<Prelude>) -> anyhow::Result<Outcome>,
) -> anyhow::Result<Outcome> {
    match compile(&files.files) {
        Ok(prelude) => act(&Arc::new(prelude)),
        Err(refused) => {
            errln!("{}", refused.shown());
            Ok(match refused {
                Refused::Unreadable(_) => Outcome::Usage,
                Refused::Wrong(..) => Outcome::Failed,
            })
        }
    }
}

/// Prints what prompts say about a prelude.
pub fn show_inventory(prelude: &Arc<Prelude>, upstreams: &attached::UpstreamArgs) -> anyhow::Result<Outcome> {
    let upstreams = upstreams.start(Some(prelude), Limits::default().memory)?;
    let run = upstreams.as_ref().map(|upstreams| upstreams.begin());
    let offers = run.as_ref().map(|run| run.offers(prelude));
    let text = prelude.inventory(offers).unwrap_or_else(|| ";; no export is for prompts".to_owned());
    ignore_closed_pipe(writeln!(terminal::stdout(), "{text}"))?;
    Ok(Outcome::Done)
}

fn check(prelude: &Prelude, upstreams: &attached::UpstreamArgs, json: bool) -> anyhow::Result<Outcome> {
    let upstreams = upstreams.start(Some(prelude), Limits::default().memory)?;
    let run = upstreams.as_ref().map(|upstreams| upstreams.begin());
    let offers = run.as_ref().map(|run| run.offers(prelude));
    let text = match json {
        true => prelude.trace_summary().to_string(),
        false => summary(prelude, offers),
    };
    ignore_closed_pipe(writeln!(terminal::stdout(), "{text}"))?;
    // Which tools a run will grant, nobody has said.
    let mut missing = prelude.missing(&Grants { tools: &[], upstreams: offers });
    missing.retain(|one| one.offer.is_some());
    missing.iter().for_each(|one| errln!("{one}"));
    Ok(if missing.is_empty() { Outcome::Done } else { Outcome::Failed })
}

fn summary(prelude: &Prelude, upstreams: Option<&dyn Upstreams>) -> String {
    let namespaces: Vec<&str> = prelude.namespaces().iter().map(|ns| ns.name.as_str()).collect();
    let count = prelude.exports().len();
    let plural = if count == 1 { "" } else { "s" };
    let mut lines = vec![format!("ok, {count} export{plural} in {}", namespaces.join(", "))];
    for export in prelude.exports() {
        let mut line = format!("  {} {}", export.name, export.arglists());
        let effect = export.effect_with(upstreams);
        line.push_str(&format!(" {}, {}", export.visibility.name(), effect.name()));
        if !export.requires.is_empty() {
            line.push_str(&format!(", requires {}", export.requires.join(" ")));
        }
        if export.dynamic {
            line.push_str(", calls upstreams that are only known when it runs");
        }
        lines.push(line);
    }
    lines.push(format!("source   {}", prelude.source_hash()));
    lines.push(format!("artifact {}", prelude.artifact_hash()));
    lines.join("\n")
}

fn test(prelude: &Arc<Prelude>) -> anyhow::Result<Outcome> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut out = terminal::stdout();
    for test in prelude.doctests() {
        let verdict = prelude.run_doctest(&test, &Limits::default());
        let source = test.source.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = match verdict {
            Verdict::Passed => {
                passed += 1;
                format!("ok      {}: {source}", test.of)
            }
            Verdict::Failed(got) => {
                failed += 1;
                format!("FAILED  {}: {source}\n        expected {}, got {got}", test.of, test.expected)
            }
            Verdict::Broken(error) => {
                failed += 1;
                format!("FAILED  {}: {source}\n        {error}", test.of)
            }
            Verdict::Skipped(why) => {
                skipped += 1;
                format!("skipped {}: {source}\n        {why}", test.of)
            }
        };
        ignore_closed_pipe(writeln!(out, "{line}"))?;
    }
    let skipped = if skipped == 0 { String::new() } else { format!(", {skipped} skipped") };
    ignore_closed_pipe(writeln!(out, "{passed} passed, {failed} failed{skipped}"))?;
    Ok(if failed == 0 { Outcome::Done } else { Outcome::Failed })
}
