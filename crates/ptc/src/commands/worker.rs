//! `ptc worker`: serves agents as durable workflows to a Restate server.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use ptc_restate::{Note, Served, Worker, register};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::agents::{Mission, Shown, asked_to_stop, document, runtime};
use crate::exit::Outcome;
use crate::terminal::errln;

/// How long a Restate server is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serve agents as durable workflows to a Restate server.
///
/// Every agent is a workflow of its name with the handler `run`. Its inputs are the body of the request, its outcome
/// is the document that `ptc run --json` prints. A mission whose worker ends goes on in the next one that listens at
/// the same address: nothing that was answered is asked again, and calls that may have changed something are never
/// made twice.
#[derive(Debug, clap::Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct WorkerArgs {
    /// The admin API of the Restate server, where the worker registers itself
    #[arg(long, value_name = "URL")]
    restate: String,

    /// Where the worker listens; an address that other machines reach takes --identity-key
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:9080")]
    listen: SocketAddr,

    /// Where Restate reaches the worker, if that is another address
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,

    /// The public key of the Restate server: requests that it did not sign are refused
    #[arg(long, value_name = "KEY", env = "RESTATE_IDENTITY_KEY")]
    identity_key: Option<String>,

    /// The token of the admin API
    #[arg(long, value_name = "TOKEN", env = "RESTATE_AUTH_TOKEN", hide_env_values = true)]
    token: Option<String>,

    /// The model, in place of those that the agents name
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Files of agents (agent.toml, agent.json)
    #[arg(value_name = "AGENT", required = true)]
    agents: Vec<String>,
}

const AFTER_HELP: &str = "\
Examples:
  ptc worker --restate http://127.0.0.1:9070 report/agent.toml triage.toml
  ptc worker --restate http://restate:9070 --listen 0.0.0.0:9080 --advertise http://worker-1:9080 \\
    --identity-key publickeyv1_… report/agent.toml
  curl http://127.0.0.1:8080/report/2026-11-15/run --json '{\"rows\": []}'

docs/restate.md says what is kept and how to run missions.";

/// Runs the command.
pub fn run(args: WorkerArgs) -> anyhow::Result<Outcome> {
    if !args.listen.ip().is_loopback() && args.identity_key.is_none() {
        bail!(
            "--listen {} can be reached from other machines, and without --identity-key anybody there could run the \
             agents; give the public key of the Restate server (docs/restate.md), or listen at 127.0.0.1",
            args.listen
        );
    }
    let runtime = runtime()?;
    let note: Note = Arc::new(|line| errln!("{line}"));
    let mut agents = Vec::new();
    for agent in &args.agents {
        agents.push(served(agent, args.model.as_deref(), &runtime)?.notes(note.clone()));
    }
    let names: Vec<String> = agents.iter().map(|served| served.name.clone()).collect();
    let worker = Worker::new(agents, args.identity_key.as_deref())?;
    runtime.block_on(async {
        let listener = TcpListener::bind(args.listen).await;
        let listener = listener.with_context(|| format!("--listen: cannot listen at {}", args.listen))?;
        let address = listener.local_addr().context("--listen")?;
        let uri = match args.advertise {
            Some(uri) => uri,
            None if address.ip().is_unspecified() => {
                bail!(
                    "--listen {address} says nothing of where Restate finds the worker; give --advertise URL"
                )
            }
            None => format!("http://{address}"),
        };
        let serving = tokio::spawn(worker.serve(listener, asked_to_stop()));
        register(&args.restate, &uri, args.token.as_deref(), PATIENCE).await?;
        errln!("serving {} at {uri}", names.join(", "));
        serving.await.map_err(|error| anyhow!("the worker ended badly: {error}"))?;
        Ok(Outcome::Done)
    })
}

/// The agent of a file with its models.
fn served(file: &str, model: Option<&str>, runtime: &Runtime) -> anyhow::Result<Served> {
    let mission = Mission::new(file, model, Default::default(), Default::default())?;
    let Some(path) = mission.path() else { bail!("`{file}` is no file of an agent") };
    let ready = mission.ready_for_any(runtime).with_context(|| format!("agent {file}"))?;
    let notes = ready.upstreams.as_ref().map(|upstreams| upstreams.notes(&ready.agent));
    notes.iter().flatten().for_each(|note| errln!("{note}"));
    let name = ready.agent.options().name.clone().unwrap_or_else(|| named_by(&path));
    let (agent, model, ready) = (ready.agent.clone(), ready.model.clone(), Arc::new(ready));
    let served =
        Served::new(name, agent, move |inputs| ready.begin(inputs).map_err(|error| format!("{error:#}")));
    let shown =
        move |step: &_| document(step, &Shown { model: &model, run: None, resume: None, printed: false });
    Ok(served.document(shown))
}

/// The name of an agent that has none: that of its file, or of the folder of `agent.toml`.
fn named_by(path: &Path) -> String {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let folder = std::path::absolute(path).ok().and_then(|path| Some(path.parent()?.to_owned()));
    match text(path.file_stem()) {
        stem if stem == "agent" => text(folder.as_deref().and_then(Path::file_name)),
        stem => stem,
    }
}
