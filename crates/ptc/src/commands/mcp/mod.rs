//! `ptc mcp`: the MCP server.

mod clients;

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Arg, ArgAction, ArgMatches};
use ptc_runner::model::Llm;
use ptc_server::effects::StoreJournal;
use ptc_server::engine::{Engine, Parts};
use ptc_server::options::{ApprovalPage, Form, Found, Loaded, Options, SETTINGS, Setting};
use ptc_server::wire::{Http, Log, Page, Tokens, serve_stdio};
use ptc_store::Store;
use ptc_store::log_check::Damage;
use ptc_store::preludes::{Bounds, Preludes};
use ptc_system::owned::{self, Reach};
use ptc_upstream::config::PinPolicy;
use ptc_upstream::runtime::{Runtime, RuntimeOptions, SnapshotMode, StartError, catalogs_folder};
use ptc_upstream::{Config, Redactor, Secrets};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use self::clients::KnownClient;
use super::acknowledged;
use super::approvals::{self, Posted};
use super::eval::ignore_closed_pipe;
use crate::agents::{Models, several};
use crate::exit::Outcome;
use crate::terminal::{self, errln};

/// What was asked for.
#[derive(Debug)]
pub struct McpArgs {
    flags: Vec<(String, String)>,
    print_config: bool,
    help_all: bool,
    client: Option<KnownClient>,
}

/// The settings that `--help` shows: those that people change before they know the server well.
const COMMON: &[&str] = &[
    "upstreams-config",
    "require-upstreams",
    "aggregator-read-only",
    "program-timeout-ms",
    "program-memory-limit-bytes",
    "max-result-bytes",
    "log-level",
    "trace-dir",
    "record-dir",
    "prelude",
    "store",
    "approval-by",
    "approval-page",
    "agentic",
    "agentic-model",
    "agentic-allow-writes",
    "sessions",
    "http",
    "http-auth-token",
    "http-role-tokens",
    "http-metrics",
];

/// What stands below the help that has only some settings.
const MORE: &str =
    "These are the settings that are changed most; `ptc mcp --help-all` shows all of them.\n\n";

const AFTER_HELP: &str = "\
Every flag has a variable: --max-sessions is PTC_RUNNER_MCP_MAX_SESSIONS, and so on. `ptc docs mcp-options` lists them.

Examples:
  ptc mcp
  ptc mcp --upstreams-config upstreams.json --sessions
  PTC_RUNNER_MCP_HTTP_AUTH_TOKEN=… ptc mcp --http 127.0.0.1:7332
  ptc mcp --upstreams-config upstreams.json --client claude-code";

/// A setting as an argument.
fn argument(setting: &'static Setting) -> Arg {
    let help = format!("{} [{}]", setting.help.trim_end_matches('.'), setting.default);
    let arg = Arg::new(setting.flag).long(setting.flag).help(help).help_heading(setting.group);
    let arg = arg.action(ArgAction::Append).value_name(setting.value());
    match setting.form {
        Form::Switch => arg.num_args(0..=1).require_equals(true).default_missing_value("true"),
        Form::Optional => arg.num_args(0..=1).default_missing_value("true"),
        Form::Value | Form::Many => arg.num_args(1).allow_hyphen_values(true),
    }
}

/// The command with all its arguments, and those settings in its help that `shown` names.
fn declared(command: clap::Command, shown: impl Fn(&Setting) -> bool) -> clap::Command {
    // Completions and the manual have those that are hidden here.
    let settings = SETTINGS.iter().map(|setting| {
        let hidden = !shown(setting);
        argument(setting).hide_short_help(hidden).hide_long_help(hidden)
    });
    command
        .about("Serve PTC-Lisp to MCP clients, over stdio or HTTP")
        .after_help(format!("{MORE}{AFTER_HELP}"))
        .arg(
            Arg::new("print-config")
                .long("print-config")
                .help("Print the configuration that would hold, without secrets, and end")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("client")
                .long("client")
                .value_name("NAME")
                .help("Print what to put into the configuration of a client, and end")
                .value_parser(clap::builder::PossibleValuesParser::new(
                    KnownClient::NAMES.iter().map(|(name, _)| *name),
                )),
        )
        .arg(
            Arg::new("help-all")
                .long("help-all")
                .help("Print help with all settings")
                .action(ArgAction::SetTrue),
        )
        .args(settings)
}

/// The flags are those of the server's table of settings, and three of the command's own.
impl clap::Args for McpArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        declared(command, |setting| COMMON.contains(&setting.flag))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for McpArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<McpArgs, clap::Error> {
        let mut flags = Vec::new();
        for setting in SETTINGS {
            let values = matches.get_many::<String>(setting.flag).unwrap_or_default();
            flags.extend(values.map(|value| (setting.flag.to_owned(), value.clone())));
        }
        let client = matches.get_one::<String>("client").and_then(|name| KnownClient::named(name));
        let (print_config, help_all) = (matches.get_flag("print-config"), matches.get_flag("help-all"));
        Ok(McpArgs { flags, print_config, help_all, client })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Runs the command.
pub fn run(args: McpArgs) -> anyhow::Result<Outcome> {
    if args.help_all {
        let command = declared(clap::Command::default().name("ptc mcp"), |_| true);
        let help = command.after_help(AFTER_HELP).render_long_help().to_string();
        ignore_closed_pipe(terminal::page(&help))?;
        return Ok(Outcome::Done);
    }
    let text = |value: OsString| value.into_string().ok();
    let environment = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let loaded = Loaded::read(args.flags.clone(), environment)?;
    // A client starts the server where nobody sees what it says.
    if let (Some(_), Found::File(path)) = (args.client, &loaded.options.upstreams_config)
        && !path.is_file()
    {
        anyhow::bail!("--upstreams-config: there is no file {}", path.display());
    }
    let printed = match args.client {
        Some(client) => Some(clients::snippet(client, &args.flags, &loaded.options)?),
        None => args.print_config.then(|| loaded.shown()),
    };
    if let Some(text) = printed {
        if let Some(client) = args.client {
            errln!("ptc: {}", client.place());
        }
        ignore_closed_pipe(terminal::stdout().write_all(text.as_bytes()))?;
        return Ok(Outcome::Done);
    }
    // Before there is a runtime: a database has one of its own.
    let stores = Stores::open(&loaded.options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(std::thread::available_parallelism().map_or(1, usize::from).min(8))
        .enable_all()
        .build()
        .context("cannot start the server's threads")?;
    let served = runtime.block_on(serve(&loaded, stores));
    runtime.shutdown_background();
    served.map(|()| Outcome::Done)
}

/// What outlives the server, or at least its connections.
struct Stores {
    /// The store that the options name.
    named: Option<Arc<Store>>,
    /// Preludes: those in it, or in memory if there is only something to begin with.
    preludes: Option<Preludes>,
    /// What a loss of power has left of the log of the store.
    torn: Option<Damage>,
}

impl Stores {
    fn open(options: &Options) -> anyhow::Result<Stores> {
        let open = |place: &str| Store::open(place).map(Arc::new);
        // Before it is opened. A server that lost its power must come up by itself; one that would repeat calls must not.
        let place = options.store.0.as_ref();
        let torn = place.map(|place| acknowledged(place.expose_secret())).transpose()?.flatten();
        let named = options.store.0.as_ref().map(|place| open(place.expose_secret())).transpose()?;
        let store = match (&named, &options.prelude_store_seed) {
            (Some(store), _) => Some(store.clone()),
            (None, Some(_)) => Some(open(":memory:")?),
            (None, None) => None,
        };
        let bounds = Bounds {
            max_versions: usize::try_from(options.prelude_store_max_versions).unwrap_or(usize::MAX),
            max_total_bytes: usize::try_from(options.prelude_store_max_bytes).unwrap_or(usize::MAX),
            ..Bounds::default()
        };
        let preludes = store.map(|store| Preludes::new(store).with_bounds(bounds)).transpose()?;
        if let (Some(preludes), Some(seed)) = (&preludes, &options.prelude_store_seed) {
            preludes.seed(seed).with_context(|| format!("the seed {} cannot be used", seed.display()))?;
        }
        Ok(Stores { named, preludes, torn })
    }
}

/// How long the client on stdio has to ask for tools before upstreams are started all the same.
const HEAD_START: Duration = Duration::from_millis(100);

/// The upstreams that the options name. They start while clients are served already, unless something must know all of
/// them first: roles that name them, pins that must hold, the card of `lisp_task`. Preludes that rely on their tools, and
/// what may not write, are held against them before a program runs.
async fn start_upstreams(
    options: &Options,
    own: &[SecretString],
) -> anyhow::Result<Option<(Arc<Runtime>, Vec<String>)>> {
    let config = match &options.upstreams_config {
        Found::File(path) => {
            // Whoever can write it says which commands are run.
            owned::check(path, Reach::AllRead).map_err(|problem| anyhow!("--upstreams-config: {problem}"))?;
            Config::from_file(path)?
        }
        Found::Inline(text) => Config::from_json(text, Path::new(""))?,
        Found::Nowhere => return Ok(None),
    };
    let secrets = Secrets::resolve(&config)?.covering(own);
    let known_first = options.session_roles.is_some() || options.agentic || config.pins.is_some();
    let frozen = RuntimeOptions {
        snapshot: SnapshotMode::Frozen,
        keep_failing: !options.require_upstreams,
        in_background: !options.require_upstreams && !known_first,
        keeps_up: true,
        // Sixteen servers that start at once keep every core busy when the one client asks what there is.
        head_start: if options.http.on { Duration::ZERO } else { HEAD_START },
        catalogs: options.remember_catalogs.then(catalogs_folder).flatten(),
        ..RuntimeOptions::default()
    };
    let told_later = frozen.in_background;
    let runtime = Runtime::start(&config, secrets, frozen).await?;
    let mut notes: Vec<String> = match told_later {
        true => config.notes.iter().map(ToString::to_string).collect(),
        false => config.other_notes().map(ToString::to_string).collect(),
    };
    for state in runtime.states().into_iter().filter(|_| !told_later) {
        let again = if config.unusable.contains_key(&state.name) { "" } else { "; it is tried again" };
        notes.extend(
            state.fault.map(|fault| format!("upstream '{}' cannot be used: {fault}{again}", state.name)),
        );
    }
    // Nobody hears the log before the server serves.
    notes.extend(runtime.pin_warnings());
    if config.pins.is_some_and(|pins| pins.policy == PinPolicy::Refuse) {
        let changed: Vec<_> = runtime.states().into_iter().flat_map(|state| state.differences).collect();
        if !changed.is_empty() {
            runtime.close().await;
            return Err(StartError::Pins(changed).into());
        }
    }
    Ok(Some((runtime, notes)))
}

async fn serve(loaded: &Loaded, stores: Stores) -> anyhow::Result<()> {
    let options = &loaded.options;
    let mut tokens = match options.http.on {
        true => Some(Tokens::load(options, &|name| std::env::var(name).ok())?),
        false => None,
    };
    // Before anything is started: a task without a model can only fail.
    let planner = options.agentic.then(|| planner(&options.agentic_model)).transpose()?;
    // Clients' own tokens and keys of models must not come back either, from upstreams or from programs.
    let mut own = tokens.as_mut().map(Tokens::take_secrets).unwrap_or_default();
    if options.agentic {
        own.extend(Models::load().map(|models| models.keys()).unwrap_or_default());
    }
    let started = start_upstreams(options, &own).await?;
    let (upstreams, notes) = started.map_or((None, Vec::new()), |(runtime, notes)| (Some(runtime), notes));
    let redactor =
        upstreams.as_ref().map_or_else(|| Redactor::new(&own), |runtime| runtime.redactor().clone());
    let covers = redactor.clone();
    let log = Log::new(options.log_level, move |line| covers.redact_str(line).into_owned());
    log.listen();
    outlive_limits();
    log.lifecycle("application_start", json!({"http": options.http.on, "upstreams": upstreams.is_some()}));
    for warning in &loaded.warnings {
        log.warn("configuration", warning);
    }
    for note in &notes {
        log.warn("configuration", note);
    }
    if redactor.without_codes() > 0 {
        let some = redactor.without_codes();
        log.warn("configuration", &format!("{some} of the tokens and credentials are covered as they are, in base64, in either case and reversed, but not in other codes: there are too many"));
    }
    let Stores { named: store, preludes, torn } = stores;
    if let Some(torn) = torn {
        log.warn("store_log_torn", &format!("the store: {torn}"));
    }
    let (runtime, kept) = (upstreams.clone(), preludes.clone());
    let retention = retention(options);
    let effects = store.clone().map(|store| StoreJournal::new(store).retaining(retention));
    let _announcing = effects.as_ref().map(StoreJournal::announce);
    if let Some(journal) = effects.clone() {
        tell_gaps(journal, &log).await;
    }
    let redactor = Some(redactor);
    let parts = Parts { runtime, preludes: kept, store, planner, effects, redactor, ..Parts::default() };
    let engine = Engine::start(options, parts).await?;
    engine.warnings().iter().for_each(|warning| log.warn("configuration", warning));
    tell_unbacked(&engine, &log);
    if options.approval_page == ApprovalPage::Off && engine.only_forms_decide() {
        log.warn("approval_page", ONLY_FORMS);
    }
    match tokens {
        Some(tokens) => Http::new(engine, options, log, tokens, preludes).serve().await?,
        None => {
            if std::io::IsTerminal::is_terminal(&std::io::stdin()) {
                errln!("{ON_A_TERMINAL}");
            }
            let _page = approval_page(&engine, options, &log).await;
            serve_stdio(engine, options, log).await;
        }
    }
    if let Some(runtime) = upstreams {
        runtime.close().await;
    }
    Ok(())
}

/// Says what the prelude lacks once its servers have been asked, while clients are served already.
fn tell_unbacked(engine: &Arc<Engine>, log: &Log) {
    let (engine, log) = (Arc::downgrade(engine), log.clone());
    tokio::spawn(async move {
        let Some(engine) = engine.upgrade() else { return };
        if let Err(missing) = engine.backed().await {
            log.warn("configuration", &missing);
        }
    });
}

/// Opens the page on which people approve calls, and tells them where it is. The whole address goes to a private file,
/// which `ptc approvals` reads, and to standard error only where there can be none: clients may keep that for anybody.
async fn approval_page(engine: &Arc<Engine>, options: &Options, log: &Log) -> Option<(Page, Option<Posted>)> {
    let page = match Page::open(engine, options, log).await {
        Ok(page) => page?,
        Err(error) => {
            log.warn("approval_page", &format!("people cannot approve calls on a page: {error}"));
            return None;
        }
    };
    let whole = page.whole();
    let posted = approvals::post(&whole).inspect_err(|error| {
        log.warn("approval_page", &format!("`ptc approvals` cannot show the page: {error:#}"));
        errln!("ptc: people approve calls at {}", whole.expose_secret());
    });
    Some((page, posted.ok()))
}

/// What operators are told whose settings leave people only one way to decide.
const ONLY_FORMS: &str = "the configuration asks people about calls, and they can only decide in forms, which not every client \
                          shows: with --approval-page off and without --store there is no page; leave --approval-page out, or \
                          give a --store that another server shows";

/// For people who start the server by hand.
const ON_A_TERMINAL: &str = "\
ptc: this is an MCP server on standard input and output, which a client starts; Ctrl-D ends it.
ptc: `ptc mcp --client NAME` prints the configuration of your client, `ptc mcp --http` serves HTTP.";

/// How long answers and replies are kept. Tests make it shorter than may be said, with `PTC_RETENTION_MS`; builds for users do
/// not.
fn retention(options: &Options) -> Duration {
    #[cfg(debug_assertions)]
    if let Some(shorter) = std::env::var("PTC_RETENTION_MS").ok().and_then(|text| text.parse().ok()) {
        return Duration::from_millis(shorter);
    }
    Duration::from_millis(options.journal_retention_ms)
}

/// Has a file that may not grow any more (`ulimit -f`) told as a full disk is: nobody ends with the signal that the system
/// sends then, and the write fails.
fn outlive_limits() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Who listens once does so for as long as the process lives. One that cannot is ended as before.
        let _ = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32));
    }
}

/// Says how many calls were begun before, have no answer and are not being made by another server, in one line.
async fn tell_gaps(journal: StoreJournal, log: &Log) {
    let open = tokio::task::spawn_blocking(move || journal.left_open()).await;
    match open.map_err(|error| error.to_string()).and_then(|open| open) {
        Ok(open) => {
            let Some(oldest) = open.iter().map(|open| open.oldest_ms).min() else { return };
            let oldest = ptc_host::called_at(oldest);
            let all: u64 = open.iter().map(|open| open.calls).sum();
            let few =
                open.iter().take(NAMED).map(|open| format!("{}/{} {}", open.server, open.tool, open.calls));
            let mut named = few.collect::<Vec<_>>().join(", ");
            if open.len() > NAMED {
                named.push_str(", …");
            }
            let what = format!(
                "outcome unknown: {} begun and never answered ({named}), the oldest at {oldest}; `ptc effects` lists \
                 them and `ptc effects settle` settles them",
                several(all, "call")
            );
            log.warn("effect_outcome_unknown", &what);
        }
        Err(why) => log.warn("effects", &why),
    }
}

/// Tools that one line names.
const NAMED: usize = 5;

/// The model that plans for `lisp_task`.
fn planner(name: &str) -> anyhow::Result<Llm> {
    let opened = Models::load()?.open(name, &[]);
    opened.map_err(|error| anyhow!("--agentic needs a model: {error}; --agentic-model names another"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_help_shows_exist() {
        for flag in COMMON {
            assert!(SETTINGS.iter().any(|setting| setting.flag == *flag), "{flag}");
        }
    }
}
