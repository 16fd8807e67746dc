//! `ptc apply`: makes the calls of a plan.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use ptc_lisp::Limits;
use serde_json::json;

use super::eval::ignore_closed_pipe;
use super::{asked_store, effects};
use crate::agents::quoted;
use crate::attached::UpstreamArgs;
use crate::exit::Outcome;
use crate::plans::apply::{self, Became};
use crate::plans::applying::Applying;
use crate::plans::store::{Bound, Opened};
use crate::plans::{Hashed, Plan};
use crate::terminal;
use crate::values;

/// Make the calls of a plan, exactly these and each at most once.
///
/// What the plan read is read again first; if an answer or the definition of a tool is not as it was, nothing is made.
/// A plan that was changed, or that was applied already, or that another process applies, is refused, and so is one that
/// belongs to another store: what was done of it is not known here. A call that fails, or of which nobody knows what came of
/// it, ends it. After a crash the plan can be applied again: what was done stays done, and what was begun and not answered is
/// reported and not made again. What comes after such a call is made once somebody has noted what became of it, with `ptc
/// effects settle` and --happened or --did-not-happen.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ApplyArgs {
    /// The plan, as `ptc plan -o PLAN` wrote it
    plan: PathBuf,

    /// The configuration of the upstreams; the one that the plan was made with, unless told
    #[arg(long, alias = "upstreams", value_name = "FILE")]
    upstreams_config: Option<PathBuf>,

    /// How long one upstream call may take: 500ms, 10s
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    upstream_call_timeout: Option<Duration>,

    /// Where calls are written down: an SQLite file or a PostgreSQL URL; the store that the plan is bound to, else what
    /// PTC_RUNNER_MCP_STORE names, else a file of this user, unless told
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,

    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Exit codes:
  0  all calls were made and none failed
  1  what was read or a tool drifted, a call failed, an outcome is not known, or the plan was applied already
  2  the command line or a file makes no sense, or the plan or its configuration was changed

Examples:
  ptc apply plan.json
  ptc effects";

/// Runs the command.
pub fn run(args: ApplyArgs) -> anyhow::Result<Outcome> {
    let plan = Plan::read(&args.plan)?;
    // Held until the end: of two that apply a plan at once, one goes first. Copies of the plan are told apart from that below.
    let file = File::open(&args.plan)?;
    if file.try_lock().is_err() {
        bail!("{} is being applied by another process", args.plan.display());
    }
    let config = args.upstreams_config.clone().unwrap_or_else(|| plan.upstreams.name.clone());
    let text =
        std::fs::read_to_string(&config).with_context(|| format!("cannot read {}", config.display()))?;
    if Hashed::new(&config, &text).sha256 != plan.upstreams.sha256 {
        bail!(
            "{} is not the configuration that the plan was made with, of which the plan has a hash alone; name that with \
             --upstreams-config, or make a new plan",
            config.display()
        );
    }
    let asked = match args.store {
        None if plan.store.as_ref().is_some_and(Bound::is_reached_by_place) => None,
        ref asked => asked_store(asked.as_deref()),
    };
    let store = Opened::of(&plan, asked.as_deref(), effects::usual().as_deref())?;
    let _announcing = store.journal.announce();
    let applying = Arc::new(Applying::begin(&store.journal, &plan)?);
    let begun = store.journal.effects().has(&apply::scope(&plan))?;
    let upstreams =
        UpstreamArgs::of(config, args.upstream_call_timeout).start(None, Limits::default().memory)?;
    let upstreams = upstreams.ok_or_else(|| anyhow!("there are no upstreams"))?;
    let mut said = Said { json: args.json, redactor: upstreams.redactor().clone() };
    if plan.writes.is_empty() {
        said.line("the plan has no calls; nothing is to be done")?;
        return said.end(json!({"plan": plan.id, "ok": true, "writes": []}), Outcome::Done);
    }
    if !begun {
        let drifted = apply::drift(&plan, &upstreams);
        if !drifted.is_empty() {
            said.line("the plan is not applied, because things are not as they were when it was made:")?;
            for what in &drifted {
                said.line(&format!("  {what}"))?;
            }
            said.line("nothing was changed; make a new plan")?;
            return said.end(json!({"plan": plan.id, "ok": false, "drifted": drifted}), Outcome::Failed);
        }
    }
    store.bind(&plan)?;
    let mut failed = Ok(());
    let became = apply::apply(&plan, &upstreams, &applying, |at, became| {
        let line = format!("{:>3}  {}  {}", at + 1, plan.writes[at].call, shown(became));
        if failed.is_ok() {
            failed = said.line(&line);
        }
    });
    failed?;
    if became.iter().all(|became| *became == Became::DoneBefore) {
        said.line("the plan was applied already; nothing was done")?;
        let answer = json!({"plan": plan.id, "ok": false, "error": "applied_already"});
        return said.end(answer, Outcome::Failed);
    }
    if let Some(at) = became.iter().position(|became| matches!(became, Became::Unknown(_))) {
        let place = store.named().map(|place| format!(" --store {}", quoted(place))).unwrap_or_default();
        said.line(&format!(
            "nobody knows what became of call {}, so nothing after it is made. Look, and note what you found: `ptc effects settle \
             IDENTITY 'what you found' --happened{place}`, or --did-not-happen; then apply the plan again, and it goes on",
            at + 1
        ))?;
    }
    let outcome = if apply::all_done(&became) { Outcome::Done } else { Outcome::Failed };
    said.end(apply::report(&plan, &became), outcome)
}

fn shown(became: &Became) -> String {
    match became {
        Became::Done(_) => "done".to_owned(),
        Became::DoneBefore => "was done before".to_owned(),
        Became::Unknown(message) => message.clone(),
        Became::Failed(message) => format!("failed: {message}"),
        Became::Left => "not made".to_owned(),
    }
}

/// What is printed: lines as things happen, or one object at the end.
struct Said {
    json: bool,
    redactor: ptc_upstream::Redactor,
}

impl Said {
    fn line(&mut self, text: &str) -> anyhow::Result<()> {
        if self.json {
            return Ok(());
        }
        let mut out = terminal::stdout();
        ignore_closed_pipe(writeln!(out, "{}", self.redactor.redact_str(text)).and_then(|()| out.flush()))
    }

    fn end(self, mut answer: serde_json::Value, outcome: Outcome) -> anyhow::Result<Outcome> {
        if self.json {
            self.redactor.redact_json(&mut answer);
            ignore_closed_pipe(writeln!(terminal::stdout(), "{answer}"))?;
        }
        Ok(outcome)
    }
}
