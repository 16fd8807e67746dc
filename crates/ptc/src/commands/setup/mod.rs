//! `ptc setup`: moves the servers of a client behind `ptc mcp`, and back.

mod client;
mod file;

use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use ptc_system::private;
use ptc_upstream::inspect::{ServerReport, inspect};
use ptc_upstream::model::Allowance;
use ptc_upstream::{Config, Secrets};
use serde_json::{Map, Value as Json, json};

use self::client::{CLIENTS, Client};
use super::eval::ignore_closed_pipe;
use crate::exit::Outcome;
use crate::terminal;

/// Move the servers of an MCP client behind `ptc mcp`, and back with --undo.
///
/// The client's own file is read and shown as it will be; a copy of it is kept. Its servers go, as they are, into a file of
/// ours that only you can read, and one server stands in their place: `ptc mcp` with that file.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The client
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(CLIENTS.iter().map(|client| client.name)))]
    client: String,

    /// The client's file, if it is not where it usually is
    #[arg(long, value_name = "FILE", conflicts_with = "project")]
    config: Option<PathBuf>,

    /// The client's file in this folder, not the one of the user
    #[arg(long)]
    project: bool,

    /// Put the client's file back as it was
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
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let client = Client::named(&args.client).context("there is no such client")?;
    let place = Place::of(client, &args)?;
    match args.undo {
        true => undo(&place, &args),
        false => setup(client, &place, &args),
    }
}

/// The files that a setup is about.
struct Place {
    /// The client's own.
    file: PathBuf,
    /// The servers that are moved.
    servers: PathBuf,
    /// What the client's file was before.
    copy: PathBuf,
    /// What the client's file was after, to tell whether somebody changed it since.
    after: PathBuf,
}

impl Place {
    fn of(client: &Client, args: &Args) -> anyhow::Result<Place> {
        let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE")).map(PathBuf::from);
        let home =
            home.context("HOME is not set, so the client's file cannot be found; name it with --config")?;
        let file = match (&args.config, args.project) {
            (Some(file), _) => file.clone(),
            (None, true) => client
                .project_file(Path::new("."))
                .with_context(|| format!("{} has no file in projects; leave out --project", client.name))?,
            (None, false) => client.file(&home),
        };
        let file = std::path::absolute(&file)?;
        let folder = match std::env::var_os("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute())
        {
            Some(folder) => folder,
            None => home.join(".config"),
        };
        // One for each file: a client may have one for the user and one for each project.
        let plain = |c: char| if c.is_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
        let name: String = file.display().to_string().trim_start_matches('/').chars().map(plain).collect();
        let folder = folder.join("ptc_runner_mcp/setup");
        let with = |ending: &str| folder.join(format!("{}-{name}.{ending}", client.name));
        Ok(Place { file, servers: with("servers.json"), copy: with("before"), after: with("after") })
    }
}

fn read(file: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))
}

fn setup(client: &Client, place: &Place, args: &Args) -> anyhow::Result<Outcome> {
    let file = place.file.display();
    if !place.file.exists() {
        bail!(
            "{file} is not there: {} has no servers yet, or keeps them elsewhere (--config FILE)",
            client.name
        );
    }
    let before = read(&place.file)?;
    let servers = file::servers(client, &before).with_context(|| format!("{file} cannot be used"))?;
    if servers.contains_key(file::NAME) && servers.len() == 1 && place.copy.exists() {
        bail!("{file} is set up already; `ptc setup {} --undo` puts it back", client.name);
    }
    if servers.is_empty() {
        bail!(
            "{file} has no servers to move; `ptc mcp --client {}` shows how to add ptc by itself",
            client.name
        );
    }
    if servers.contains_key(file::NAME) {
        bail!("{file} has a server '{}' beside others; rename or remove it first", file::NAME);
    }
    let moved = json!({"mcpServers": servers});
    let config = Config::from_value(moved.clone(), place.file.parent().unwrap_or(Path::new("")))
        .map_err(|error| anyhow!("the servers of {file} cannot be used: {error}"))?;
    let program = std::env::current_exe()?.display().to_string();
    let words = ["mcp".to_owned(), format!("--upstreams-config={}", place.servers.display())];
    let after = file::replaced(client, &before, &(client.entry)(&program, &words))?;
    let mut told = plan(&servers, &config, place);
    if !args.no_check {
        look(&config, &mut told)?;
    }
    show(&told)?;
    if args.dry_run {
        return Ok(Outcome::Done);
    }
    if !args.yes && !agreed()? {
        show("nothing was changed\n")?;
        return Ok(Outcome::Failed);
    }
    private::folder_of(&place.servers)?;
    private::replace(&place.servers, format!("{moved:#}\n").as_bytes())?;
    private::replace(&place.copy, before.as_bytes())?;
    private::replace(&place.after, after.as_bytes())?;
    write(&place.file, &after)?;
    show(&format!(
        "{file} is changed; `ptc setup {} --undo` puts it back. Start the client again.\n",
        client.name
    ))?;
    if !args.no_check {
        show(&tokens(&config, &program, &words)?)?;
    }
    Ok(Outcome::Done)
}

fn undo(place: &Place, args: &Args) -> anyhow::Result<Outcome> {
    let file = place.file.display();
    if !place.copy.exists() {
        bail!("{file} was not set up, or was put back already");
    }
    let before = read(&place.copy)?;
    let now = read(&place.file).unwrap_or_default();
    if now != read(&place.after).unwrap_or_default() && !args.yes {
        bail!(
            "{file} was changed since, and putting it back would lose that; look at {}, and use --yes to put it back all \
             the same",
            place.copy.display()
        );
    }
    write(&place.file, &before)?;
    for left in [&place.copy, &place.after, &place.servers] {
        std::fs::remove_file(left).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        })?;
    }
    show(&format!("{file} is as it was before. Start the client again.\n"))?;
    Ok(Outcome::Done)
}

/// Writes the client's file, which keeps the rights that it has.
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    let rights = std::fs::metadata(file).map(|meta| meta.permissions());
    private::replace(file, text.as_bytes())
        .with_context(|| format!("{} cannot be written", file.display()))?;
    if let Ok(rights) = rights {
        std::fs::set_permissions(file, rights)?;
    }
    Ok(())
}

fn plan(servers: &Map<String, Json>, config: &Config, place: &Place) -> String {
    let mut told = String::new();
    let names: Vec<&str> = servers.keys().map(String::as_str).collect();
    let _ = writeln!(told, "{}", place.file.display());
    for name in names {
        let _ = writeln!(told, "  - {name}");
    }
    let _ = writeln!(told, "  + {}: ptc mcp with {}", file::NAME, place.servers.display());
    for note in &config.notes {
        let _ = writeln!(told, "  ! {note}");
    }
    told
}

/// Reaches the servers and tells how they are.
fn look(config: &Config, told: &mut String) -> anyhow::Result<()> {
    let secrets = Secrets::resolve(config).map_err(|error| anyhow!("{error}"))?;
    let reports: Vec<ServerReport> = runtime()?.block_on(inspect(config, &secrets, None, &[]));
    for report in &reports {
        let _ = match &report.tools {
            Ok(tools) => writeln!(told, "  {} is ready: {} tools", report.name, tools.len()),
            Err(fault) => writeln!(told, "  ! {} cannot be reached: {fault}", report.name),
        };
    }
    Ok(())
}

/// What the tools cost a model before and after. A token is about four bytes.
fn tokens(config: &Config, program: &str, words: &[String]) -> anyhow::Result<String> {
    let allowance =
        Allowance { timeout: std::time::Duration::from_secs(120), max_bytes: 64 << 20, once: false };
    let own = Config::from_value(
        json!({"mcpServers": {file::NAME: {"command": program, "args": words}}}),
        Path::new(""),
    );
    let own = own.map_err(|error| anyhow!("{error}"))?;
    // It is this program itself, which is not its own upstream here.
    let lookup = |name: &str| std::env::var(name).ok();
    let bytes = |config: &Config| -> anyhow::Result<usize> {
        let secrets = Secrets::resolve_with(config, &lookup, None).map_err(|error| anyhow!("{error}"))?;
        let mut bytes = 0;
        for upstream in &config.upstreams {
            let Some(client) = ptc_upstream::client::connect(upstream, &secrets) else { continue };
            let listed = runtime()?.block_on(async {
                let listed = client.list(allowance).await;
                client.close().await;
                listed
            });
            for tool in listed.unwrap_or_default() {
                bytes += json!({"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema})
                    .to_string()
                    .len();
            }
        }
        Ok(bytes)
    };
    let (before, after) = (bytes(config)?, bytes(&own)?);
    Ok(format!("tools in the model's context: about {} tokens before, about {} now\n", before / 4, after / 4))
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start a runtime for connections")
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
