//! `ptc setup`: moves the servers of a client behind `ptc mcp`, and back.
//!
//! `client.rs` has the clients, `place.rs` finds and writes files, `file.rs` reads and changes their text (`json.rs`,
//! `toml.rs`), `entry.rs` says what becomes of one server and `variables.rs` of variables in it, `rules.rs` of what the client keeps from its model, `plan.rs` of all,
//! `look.rs` looks at them, `elsewhere.rs` at what else the client reads, and `undo.rs` puts them back.

mod client;
mod elsewhere;
mod entry;
mod file;
mod json;
mod look;
mod place;
mod plan;
mod rules;
mod toml;
mod undo;
mod variables;

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context, bail};
use ptc_upstream::Config;

use self::client::{CLIENTS, Client};
use self::elsewhere::Other;
use self::file::Scope;
use self::place::{SetupFiles, Text};
use self::plan::{File, Step};
pub use self::variables::needed_variables;
use super::eval::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal;

/// Move the servers of an MCP client behind `ptc mcp`, and back with --undo.
///
/// The client's own file is read and shown as it will be; a copy of it is kept. Its servers go into a file of ours that only
/// you can read, and one server stands in their place: `ptc mcp` with that file. What only the client can start stays there.
/// Servers that are added to the client later are moved by running it again.
#[derive(Debug, clap::Args)]
pub struct SetupArgs {
    /// The client
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: String,

    /// The client's file, if it is not where it usually is
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    config: Option<PathBuf>,

    /// The client's file in this folder, not the one of the user
    #[arg(long)]
    project: bool,

    /// Put the servers back into the client's file; what else was changed in it since stays
    #[arg(long, conflicts_with = "dry_run")]
    undo: bool,

    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Do not ask
    #[arg(long, short)]
    yes: bool,

    /// Do not start the servers to look at them
    #[arg(long)]
    no_check: bool,
}

/// Runs the command.
pub fn run(args: SetupArgs) -> anyhow::Result<Outcome> {
    let client = Client::named(&args.client).context("there is no such client")?;
    let place = SetupFiles::of(client, &args)?;
    match args.undo {
        true => undo::undo(client, &place, &args),
        false => setup(client, &place, &args),
    }
}

fn setup(client: &Client, place: &SetupFiles, args: &SetupArgs) -> anyhow::Result<Outcome> {
    let file = place.file.display();
    if !place.file.exists() {
        bail!(
            "{file} is not there: {} has no servers yet, or keeps them elsewhere (--config FILE)",
            client.name
        );
    }
    let now = Text::read(&place.file)?;
    let state = place.state()?;
    let known = File { client, place, now: &now, state: state.as_ref() };
    let unusable = || format!("{file} cannot be used");
    if known.own_entry_changed().with_context(unusable)? {
        bail!("our server in {file} was changed since; `{}` first", undo_command(client, args));
    }
    let base = now.with(known.whole().with_context(unusable)?);
    let mut steps = known.steps(&base.text)?;
    let others = elsewhere::others(client, place)?;
    others.iter().for_each(|other| steps.iter_mut().for_each(|step| other.leave(step)));
    let has_own = known.has_own()?;
    let is_done = |steps: &[Step]| has_own && steps.iter().all(|step| step.fresh.is_empty());
    let done = format!("{file} is set up already; `{}` puts it back\n", undo_command(client, args));
    if is_done(&steps) {
        show(&done)?;
        return Ok(Outcome::Done);
    }
    let looked_at = shown(client, &mut steps, place, args)?;
    if is_done(&steps) {
        show(&done)?;
        return Ok(Outcome::Done);
    }
    plan::some_move(&steps, place)?;
    tell_rest(&known, &base.text, &steps, &others)?;
    let program = std::env::current_exe()?.display().to_string();
    plan::with_own(client, &base.text, &steps, &program).with_context(unusable)?;
    if args.dry_run {
        for (step, config) in steps.iter().zip(looked_at) {
            if let Some(config) = config {
                show(&look::tokens_before(step, &config, &program)?.unwrap_or_default())?;
            }
        }
        return Ok(Outcome::Done);
    }
    if !args.yes && !agreed()? {
        show("nothing was changed\n")?;
        return Ok(Outcome::Failed);
    }
    // Looking at servers and asking takes time, in which the client may have written into its file.
    let base = known.still(&Text::read(&place.file)?, base)?;
    let after = plan::with_own(client, &base.text, &steps, &program).with_context(unusable)?;
    let moving = steps.iter().filter(|step| !step.moved.is_empty());
    let servers: Vec<(PathBuf, String)> = moving.map(|step| (step.servers.clone(), step.kept())).collect();
    place.keep(&base, &base.with(after), &servers)?;
    let undo = undo_command(client, args);
    let asks = match &place.scope {
        Scope::Project(_) => client.asks_about_projects(),
        Scope::User | Scope::Named(_) => "",
    };
    show(&format!("{file} is changed; `{undo}` puts it back. Start the client again.{asks}\n"))?;
    for (step, config) in steps.iter().zip(looked_at) {
        if let Some(config) = config {
            show(&look::tokens(step, &config, &program)?.unwrap_or_default())?;
        }
    }
    Ok(Outcome::Done)
}

/// Tells what the client reads besides. Where it would take ours for another one of the same name, nothing is changed.
fn tell_rest(known: &File, whole: &str, steps: &[Step], others: &[Other]) -> anyhow::Result<()> {
    let client = known.client;
    let moved: Vec<&String> = steps.iter().flat_map(|step| step.moved.keys()).collect();
    let mut told = elsewhere::switched_off(client, whole, &moved) + &elsewhere::in_variable(client);
    let twice: BTreeSet<&String> =
        moved.iter().filter(|name| moved.iter().filter(|other| other == name).count() > 1).copied().collect();
    for name in twice {
        told.push_str(&format!(
            "  ! {name} stands there more than once: the client took the innermost, and its model gets all of them then\n"
        ));
    }
    for other in others {
        let names = steps.iter().map(|step| step.spot.name);
        if let Some(name) = names.into_iter().find(|name| other.collides(name)) {
            bail!(
                "{} has a server '{name}', too, and {} takes one of two servers of the same name; put all servers into one \
                 of the files first",
                other.file().display(),
                client.name
            );
        }
        told.push_str(&other.told(client, &moved));
    }
    show(&told)
}

/// Looks at the servers of each step and shows what would happen. A server that only the client is let into stays there.
/// Gives the servers of steps that can be measured, because all of them could be reached.
fn shown(
    client: &Client,
    steps: &mut [Step],
    place: &SetupFiles,
    args: &SetupArgs,
) -> anyhow::Result<Vec<Option<Config>>> {
    let mut measurable = Vec::new();
    for step in steps {
        let mut told = String::new();
        let mut reached = false;
        if !args.no_check
            && let Ok(config) = step.config()
        {
            let looked = look::look(&config, &mut told)?;
            let signed_in = looked.signed_in.iter().filter_map(|name| step.name_of(name));
            let signed_in: Vec<String> = signed_in.collect();
            signed_in.iter().for_each(|name| step.leave(name, look::SIGN_IN));
            for report in &looked.reports {
                let tools: Vec<&str> = report.tool_names().collect();
                step.know_tools(client, &report.name, &tools);
            }
            reached = looked.others;
        }
        let config = step.config();
        let notes = match &config {
            _ if step.moved.is_empty() => Vec::new(),
            Ok(config) => config.notes.iter().map(ToString::to_string).collect(),
            // It moves all the same: what it needs may be set where the client is started.
            Err(error) => vec![error.clone()],
        };
        let notes: String = notes.iter().map(|note| format!("  ! {note}\n")).collect();
        show(&format!("{}{notes}{told}", step.told(place)))?;
        measurable.push(config.ok().filter(|_| reached && !step.moved.is_empty()));
    }
    Ok(measurable)
}

/// How a setup is undone.
fn undo_command(client: &Client, args: &SetupArgs) -> String {
    let which = match (&args.config, args.project) {
        (Some(file), _) => format!(" --config {}", file.display()),
        (None, true) => " --project".to_owned(),
        (None, false) => String::new(),
    };
    format!("ptc setup {}{which} --undo", client.name)
}

fn agreed() -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("nobody can be asked: use --yes, or --dry-run to look only");
    }
    let answer = terminal::answer("Change it? [y/N] ")?.unwrap_or_default();
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn show(text: &str) -> anyhow::Result<()> {
    ignore_closed_pipe(terminal::stdout().write_all(text.as_bytes()))
}
