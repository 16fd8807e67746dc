//! `ptc viewer`: a page that shows traces and has a playground for programs.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, anyhow, bail};
use tokio::net::TcpListener;

use crate::agents::runtime;
use crate::exit::Outcome;
use crate::terminal::{self, errln};

/// Show traces as a page in a browser.
///
/// Lists the runs of a directory, shows turns, programs, calls and nested agents, follows runs that go on, and
/// evaluates programs in a playground. The page is served at the loopback address until Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ViewerArgs {
    /// The directory that --trace wrote into; `traces` by default
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,

    /// The port; 0 takes any that is free
    #[arg(long, default_value_t = 4123)]
    port: u16,

    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

const AFTER_HELP: &str = "\
Examples:
  ptc run agent.toml --input data.json --trace traces
  ptc viewer traces --open

Whoever can reach the loopback address of this machine can read the traces while the page is served.";

/// Runs the command.
pub fn run(args: ViewerArgs) -> anyhow::Result<Outcome> {
    if let Some(dir) = args.dir.as_ref().filter(|dir| !dir.is_dir()) {
        match dir.parent().filter(|_| dir.is_file()) {
            Some(parent) => {
                let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
                let (file, parent) = (dir.display(), parent.display());
                bail!("{file} is a file, and a directory is shown: ptc viewer {parent}")
            }
            None => {
                bail!("there is no directory {}; runs with --trace {} make it", dir.display(), dir.display())
            }
        }
    }
    let dir = args.dir.clone().unwrap_or_else(|| "traces".into());
    if !dir.is_dir() {
        errln!(
            "ptc: there is no directory {} yet; runs with --trace {} make it",
            dir.display(),
            dir.display()
        );
    }
    let dir = std::path::absolute(&dir).unwrap_or(dir);
    let dir = dir.canonicalize().unwrap_or(dir);
    runtime()?.block_on(async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
        let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => {
                anyhow!("port {} is taken; give another with --port, or 0 for any", args.port)
            }
            _ => anyhow!("cannot serve at {address}: {error}"),
        })?;
        let url = format!("http://{}/", listener.local_addr()?);
        let mut out = terminal::stdout();
        writeln!(out, "Traces of {} are shown at {url} until Ctrl-C", dir.display())?;
        out.flush()?;
        drop(out);
        if args.open {
            open(&url)?;
        }
        ptc_viewer::serve(listener, dir).await.context("the page cannot be served any more")
    })?;
    Ok(Outcome::Done)
}

/// Opens an address in the browser of the system.
fn open(url: &str) -> anyhow::Result<()> {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).with_context(|| format!("--open: there is no `{program}`; open {url} yourself"))
}
