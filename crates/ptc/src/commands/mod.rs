//! One file per command. A command parses its arguments, runs and says how it went.

mod apply;
mod approvals;
mod batch;
mod check;
mod docs;
mod effects;
mod eval;
mod init;
mod late;
mod mcp;
mod models;
mod plan;
pub mod prelude;
mod prelude_store;
mod repl;
mod replay;
mod resume;
mod run;
mod runs;
mod setup;
mod shell;
mod signature;
mod store;
mod tickets;
mod upstreams;
mod validate;
mod viewer;
mod worker;

use crate::exit::Outcome;
pub use eval::ignore_closed_pipe;
use late::Late;
pub use store::{acknowledged, asked_store, open_existing, undamaged};

/// What `ptc` can do.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Run an agent: a file, or a mission in words.
    Run(Late<run::RunArgs>),
    /// Go on with a run that was interrupted.
    Resume(Late<resume::ResumeArgs>),
    /// List the runs that were kept, and what became of them.
    Runs(Late<runs::RunsArgs>),
    /// Make a project with an agent that runs at once, without a key.
    Init(Late<init::InitArgs>),
    /// Look at the file of an agent without asking a model.
    Validate(Late<validate::ValidateArgs>),
    /// Show which models there are and where their names lead.
    Models(Late<models::ModelsArgs>),
    /// Run a program, or many with --batch.
    Eval(Late<eval::EvalArgs>),
    /// Say what a program may call, before it runs.
    Check(Late<check::CheckArgs>),
    /// Say what a program would change, and change nothing.
    Plan(Late<plan::PlanArgs>),
    /// Make the calls of a plan, each at most once.
    Apply(Late<apply::ApplyArgs>),
    /// List calls whose outcome is not known, and note what became of them.
    Effects(effects::EffectsArgs),
    /// List the programs of a store that wait for a person.
    Tickets(tickets::TicketsArgs),
    /// Copy a store while servers use it, put a copy in place, look for damage, and save what is left.
    Store(store::StoreArgs),
    /// Type programs and see their values.
    Repl(Late<repl::ReplArgs>),
    /// Play a recorded run back, offline, and prove that it does the same.
    Replay(Late<replay::ReplayArgs>),
    /// Show traces as a page in a browser.
    Viewer(Late<viewer::ViewerArgs>),
    /// Serve PTC-Lisp to MCP clients, over stdio or HTTP.
    Mcp(Late<mcp::McpArgs>),
    /// Move the servers of an MCP client behind `ptc mcp`, and back.
    Setup(Late<setup::SetupArgs>),
    /// Show where calls of MCP servers on stdio wait for approval.
    Approvals(Late<approvals::ApprovalsArgs>),
    /// Serve agents as durable workflows to a Restate server.
    Worker(Late<worker::WorkerArgs>),
    /// Check preludes, run their examples, and keep versions of them in a store.
    Prelude(prelude::PreludeArgs),
    /// Check signatures and translate them to and from JSON Schema.
    Signature(signature::SignatureArgs),
    /// Look at the servers whose tools programs may call, and pin their tools.
    Upstreams(upstreams::UpstreamsArgs),
    /// Print a page of the documentation; `ptc docs agent` is for coding agents.
    Docs(Late<docs::DocsArgs>),
    /// Print completions for a shell.
    Completions(Late<shell::Completions>),
    /// Print or write pages of the manual.
    Man(Late<shell::Manual>),
}

/// Commands by what they are for, as `ptc --help` lists them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Agents", &["init", "run", "resume", "runs", "validate", "models", "worker"]),
    ("Programs", &["eval", "repl", "check", "plan", "apply", "effects", "prelude", "signature"]),
    ("MCP servers", &["mcp", "setup", "upstreams", "approvals", "tickets", "store"]),
    ("What happened", &["viewer", "replay"]),
    ("Help", &["docs", "completions", "man", "help"]),
];

/// Where commands stand that are in no group.
const OTHERS: &str = "Others";

/// What the command says of itself that `clap` adds.
const HELP: &str = "Describe a command in full";

/// The command with its commands in groups, which `clap` does not know.
pub fn grouped(command: clap::Command) -> clap::Command {
    let (header, literal) = (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let all = command.get_subcommands().map(clap::Command::get_name);
    let others: Vec<&str> = all.filter(|name| !listed.contains(name)).collect();
    let mut text = String::new();
    for (group, names) in GROUPS.iter().map(|(group, names)| (*group, *names)).chain([(OTHERS, &others[..])])
    {
        if names.is_empty() {
            continue;
        }
        text.push_str(&format!("{header}{group}:{header:#}\n"));
        for name in names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map_or_else(|| HELP.to_owned(), ToString::to_string);
            text.push_str(&format!("  {literal}{name:<13}{literal:#}{about}\n"));
        }
        text.push('\n');
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

impl Command {
    /// Runs the command. An error is one of usage: arguments or files that make no sense.
    pub fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Command::Run(Late(args)) => run::run(args),
            Command::Resume(Late(args)) => resume::run(args),
            Command::Runs(Late(args)) => runs::run(args),
            Command::Init(Late(args)) => init::run(args),
            Command::Validate(Late(args)) => validate::run(args),
            Command::Models(Late(args)) => models::run(args),
            Command::Eval(Late(args)) => eval::run(args),
            Command::Check(Late(args)) => check::run(args),
            Command::Plan(Late(args)) => plan::run(args),
            Command::Apply(Late(args)) => apply::run(args),
            Command::Effects(args) => effects::run(args),
            Command::Tickets(args) => tickets::run(args),
            Command::Store(args) => store::run(args),
            Command::Repl(Late(args)) => repl::run(args),
            Command::Replay(Late(args)) => replay::run(args),
            Command::Viewer(Late(args)) => viewer::run(args),
            Command::Mcp(Late(args)) => mcp::run(args),
            Command::Setup(Late(args)) => setup::run(args),
            Command::Approvals(Late(args)) => approvals::run(args),
            Command::Worker(Late(args)) => worker::run(args),
            Command::Prelude(args) => prelude::run(args),
            Command::Signature(args) => match signature::execute(args, &mut crate::terminal::stdout()) {
                Ok(()) => Ok(Outcome::Done),
                Err(error) => {
                    crate::terminal::complain(&format!("{error:#}"));
                    Ok(Outcome::Failed)
                }
            },
            Command::Upstreams(args) => upstreams::run(args),
            Command::Docs(Late(args)) => docs::run(args),
            Command::Completions(Late(args)) => shell::completions(&args),
            Command::Man(Late(args)) => shell::manual(&args),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    /// Below this docs/cli.md lists all commands, up to its next heading.
    const LISTED: &str = "## All commands\n\n";

    /// A command and its own commands, as rows of a table.
    fn rows(command: &clap::Command, name: &str) -> String {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let own = command.get_subcommands().filter(|own| own.get_name() != "help");
        let own = own.map(|own| rows(own, &format!("{name} {}", own.get_name()))).collect::<String>();
        format!("| `{name}` | {} |\n{own}", about.replace('|', "\\|"))
    }

    /// `PTC_WRITE_GOLDEN=1` writes the list anew.
    #[test]
    fn the_page_of_the_command_lists_every_command_with_its_own_commands() {
        let command = crate::Cli::command();
        let mut table = "| command | what it does |\n|---|---|\n".to_owned();
        for name in GROUPS.iter().flat_map(|(_, names)| *names).filter(|name| **name != "help") {
            let found = command.find_subcommand(name).unwrap_or_else(|| panic!("there is no command {name}"));
            table.push_str(&rows(found, &format!("ptc {name}")));
        }
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
        let page = std::fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once(LISTED).expect("the list");
        let (there, after) = rest.split_once("\n## ").expect("what comes behind it");
        if std::env::var_os("PTC_WRITE_GOLDEN").is_some() {
            std::fs::write(&path, format!("{before}{LISTED}{table}\n## {after}")).expect("it is written");
            return;
        }
        assert_eq!(there, table, "run this with PTC_WRITE_GOLDEN=1");
    }

    #[test]
    fn help_lists_every_command_once_in_its_group() {
        let command = crate::Cli::command();
        let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        for name in GROUPS.iter().flat_map(|(_, names)| *names).filter(|name| **name != "help") {
            assert!(known.contains(name), "there is no command {name}");
        }
        let help = grouped(crate::Cli::command()).render_help().to_string();
        for name in known {
            let lines = help.lines().filter(|line| line.split_whitespace().next() == Some(name));
            assert_eq!(lines.filter(|line| line.starts_with("  ")).count(), 1, "{name}\n{help}");
        }
        for heading in ["Agents:\n", "Programs:\n", "MCP servers:\n", "Options:\n", "Examples:\n"] {
            assert!(help.contains(heading), "{heading}\n{help}");
        }
        assert!(!help.contains(OTHERS), "a command is in no group\n{help}");
    }
}
