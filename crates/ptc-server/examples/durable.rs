//! What a session costs, in memory and in a store.
//!
//! `cargo run --release --example durable -- [SESSIONS] [POSTGRESQL_URL]`
//!
//! Each line is a process of its own: it starts sessions with some state, runs programs in them one after the other, and
//! then, on a new server over the same store, one more in each. Bytes are what is stored of a session; of a file its
//! size by session.

#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_server::engine::settings::SessionSettings;
use ptc_server::engine::{Args, Caller, Engine, Parts, Profile, Settings, Signals, Transport};
use ptc_store::Store;
use ptc_store::sessions::Sessions as Rows;
use serde_json::{Value as Json, json};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Sessions of the default run.
const SESSIONS: usize = 200;
/// Sessions that there may be: a server may have some already.
const MOST: usize = 1 << 30;
/// Programs that each of them runs.
const PROGRAMS: usize = 5;

/// What a session has: a few functions, a table of rows and an atom.
const STATE: &str = r#"
    (defn total [rows] (reduce + 0 (map :amount rows)))
    (defn by-customer [rows] (group-by :customer rows))
    (def rows (vec (map (fn [n] {:id n :customer (str "customer " (mod n 7)) :amount (* n 3)}) (range 100))))
    (def seen (atom 0))
    (count rows)"#;
const CHANGE: &str = "(swap! seen inc) (def rows (assoc-in rows [0 :amount] @seen)) (total rows)";

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [mode, place, live, sessions] = args.as_slice()
        && mode == "one"
    {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let store = (place != "none").then(|| Store::open(place)).transpose()?.map(Arc::new);
        return runtime.block_on(one(place, store, live.parse()?, sessions.parse()?));
    }
    let sessions = args.first().map_or(Ok(SESSIONS), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("ptc-durable-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    println!(
        "{:<10} {:>5} {:>8} {:>9} {:>9} {:>9} {:>12} {:>11} {:>10} {:>11}",
        "store",
        "live",
        "sessions",
        "start ms",
        "eval ms",
        "p99 ms",
        "reloaded ms",
        "bytes each",
        "file each",
        "memory each"
    );
    let file = |name: &str| folder.join(name).display().to_string();
    let mut lines = vec![("none".to_owned(), sessions), (file("all.db"), sessions), (file("few.db"), 16)];
    lines.extend(args.get(1).map(|place| (place.clone(), 16)));
    let measured = lines.iter().try_for_each(|(place, live)| {
        let (live, sessions) = (live.to_string(), sessions.to_string());
        let arguments = ["one", place, live.as_str(), sessions.as_str()];
        let status = Command::new(std::env::current_exe()?).args(arguments).status()?;
        status.success().then_some(()).ok_or_else(|| "a measurement failed".into())
    });
    std::fs::remove_dir_all(&folder)?;
    measured
}

async fn server(store: &Option<Arc<Store>>, live: usize) -> Result<Arc<Engine>> {
    let settings = Settings {
        profile: Profile::Structured,
        program_timeout: Duration::from_secs(60),
        sessions: Some(SessionSettings { most: MOST, per_owner: MOST, live, ..SessionSettings::default() }),
        ..Settings::default()
    };
    Ok(Engine::with(settings, Parts { store: store.clone(), ..Parts::default() }).await?)
}

async fn ask(engine: &Engine, tool: &str, arguments: Json) -> Result<Json> {
    let Json::Object(arguments) = arguments else { return Err("arguments are an object".into()) };
    let caller = Caller::new("local", Transport::Stdio);
    let reply = engine.call(&caller, tool, arguments as Args, Signals::default()).await?;
    let told = reply.structured.unwrap_or_default();
    match told["status"] == "ok" {
        true => Ok(told),
        false => Err(told.to_string().into()),
    }
}

/// How long a program takes in each of the sessions.
async fn timed(engine: &Engine, ids: &[String], program: &str) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for id in ids {
        let begun = Instant::now();
        ask(engine, "lisp_session_eval", json!({"session_id": id, "program": program})).await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

async fn one(place: &str, store: Option<Arc<Store>>, live: usize, sessions: usize) -> Result<()> {
    let engine = server(&store, live).await?;
    // What the first program of a process makes is no cost of sessions.
    ask(&engine, "lisp_eval", json!({"program": STATE})).await?;
    let before = resident()?;
    let (mut ids, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..sessions {
        let begun = Instant::now();
        let told = ask(&engine, "lisp_session_start", json!({})).await?;
        starts.push(begun.elapsed());
        ids.push(told["session_id"].as_str().ok_or("no id")?.to_owned());
    }
    starts.sort_unstable();
    timed(&engine, &ids, STATE).await?;
    let mut evals = Vec::new();
    for _ in 0..PROGRAMS {
        evals.extend(timed(&engine, &ids, CHANGE).await?);
    }
    evals.sort_unstable();
    let memory = resident()?.saturating_sub(before) / sessions;
    engine.shutdown().await;
    let again = match &store {
        Some(_) => {
            let engine = server(&store, live).await?;
            let times = timed(&engine, &ids, CHANGE).await?;
            engine.shutdown().await;
            shown(percentile(&times, 50))
        }
        None => "-".to_owned(),
    };
    let each = match &store {
        Some(store) => tokio::task::block_in_place(|| stored(store, &ids))?.to_string(),
        None => "-".to_owned(),
    };
    // The last who leaves a file writes its log into it.
    drop((engine, store));
    let file = file_size(place).map(|bytes| bytes / sessions);
    let name = match (place, file) {
        ("none", _) => "none",
        (_, Some(_)) => "SQLite",
        (_, None) => "PostgreSQL",
    };
    println!(
        "{name:<10} {live:>5} {sessions:>8} {:>9} {:>9} {:>9} {again:>12} {each:>11} {:>10} {:>8} KiB",
        shown(percentile(&starts, 50)),
        shown(percentile(&evals, 50)),
        shown(percentile(&evals, 99)),
        file.map_or("-".to_owned(), |bytes| bytes.to_string()),
        memory / 1024,
    );
    Ok(())
}

/// Bytes of what the store has of a session, on average.
fn stored(store: &Arc<Store>, ids: &[String]) -> Result<usize> {
    let rows = Rows::new(store.clone());
    let mut bytes = 0;
    for id in ids {
        let kept = rows.read(id, "local", None)?.kept.ok_or("nothing is kept")?;
        let texts = kept.meta.to_string().len() + kept.origin.to_string().len();
        bytes += texts + kept.state.map_or(0, |state| state.len());
    }
    Ok(bytes / ids.len().max(1))
}

fn file_size(place: &str) -> Option<usize> {
    let size = |path: &Path| std::fs::metadata(path).ok().and_then(|file| usize::try_from(file.len()).ok());
    let log = format!("{place}-wal");
    Some(size(Path::new(place))? + size(Path::new(&log)).unwrap_or(0))
}

fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

fn shown(time: Duration) -> String {
    format!("{:.2}", time.as_secs_f64() * 1_000.0)
}

/// Memory that is resident, in bytes.
fn resident() -> Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<usize>()? * 1024)
}
