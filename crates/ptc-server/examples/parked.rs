//! What programs that wait for approval cost: memory with ten thousand of them in an SQLite file, and how long it takes
//! from a decision to the answer.
//!
//! ```sh
//! cargo run --release -p ptc-server --example parked -- [programs] [decisions]
//! ```

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

#[path = "shared/upstream.rs"]
mod upstream;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_server::effects::StoreJournal;
use ptc_server::engine::{Args, Caller, Engine, Parts, Profile, Reply, Settings, Signals, Transport};
use ptc_store::Store;
use serde_json::{Value as Json, json};

#[global_allocator]
static ALLOCATOR: ptc_alloc::Allocator = ptc_alloc::Allocator;

/// Resident memory of this process in bytes.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

async fn call(engine: &Engine, tool: &str, args: Json) -> Reply {
    let Json::Object(args): Json = args else { panic!("arguments are an object") };
    let args: Args = args;
    let caller = Caller::new("anna", Transport::Stdio);
    engine.call(&caller, tool, args, Signals::default()).await.expect("it is answered")
}

async fn measure(folder: &Path, programs: usize, decisions: usize) {
    let runtime = upstream::crm("put", || Box::pin(async {}), json!({"approval": "ask"})).await;
    let place = folder.join("parked.db").display().to_string();
    // A database has a runtime of its own and is opened outside of this one.
    let store = tokio::task::spawn_blocking(move || Arc::new(Store::open(&place).expect("a store")));
    let store = store.await.expect("it opens");
    let parts = Parts {
        runtime: Some(runtime),
        effects: Some(StoreJournal::new(store.clone())),
        store: Some(store),
        ..Parts::default()
    };
    let settings = Settings {
        profile: Profile::Structured,
        program_timeout: Duration::from_secs(10),
        tickets_per_owner: programs as u64,
        approval_by: ptc_server::options::ApprovalBy::Model,
        ..Settings::default()
    };
    let engine = Engine::with(settings, parts).await.expect("it starts");
    let before = resident();
    let began = Instant::now();
    let mut tickets = Vec::with_capacity(decisions);
    for n in 0..programs {
        let program = format!(
            "(let [rows (mapv (fn [i] {{:id i :name (str \"customer \" i)}}) (range 20))
                   r (tool/call {{:server \"crm\" :tool \"put\" :args {{:n {n} :rows (count rows)}}}})]
               [(:n (:value r)) (:name (nth rows 3))])"
        );
        let reply = call(&engine, "lisp_eval", json!({"program": program})).await;
        let approval = reply.approval.unwrap_or_else(|| panic!("it waits: {:?}", reply.structured));
        if tickets.len() < decisions {
            tickets.push((n, approval.ticket));
        }
    }
    let parked = began.elapsed();
    println!(
        "{} programs parked in {:.1} s; resident memory {:.1} MB, before {:.1} MB",
        programs,
        parked.as_secs_f64(),
        megabytes(resident()),
        megabytes(before)
    );
    let mut times = Vec::with_capacity(tickets.len());
    for (n, ticket) in tickets {
        let began = Instant::now();
        let reply = call(&engine, "lisp_approve", json!({"ticket": ticket})).await;
        times.push(began.elapsed());
        let expected = format!("user=> [{n} \"customer 3\"]");
        assert_eq!(reply.structured.as_ref().map(|shown| &shown["result"]), Some(&json!(expected)));
    }
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{} decided: from the decision to the answer {:.2} ms median, {:.2} ms at 99 %, {:.2} ms at most",
        times.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
}

#[tokio::main]
async fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let (programs, decisions) = (numbers.next().unwrap_or(10_000), numbers.next().unwrap_or(2_000));
    let folder = std::env::temp_dir().join(format!("ptc-parked-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    measure(&folder, programs, decisions.min(programs)).await;
    std::fs::remove_dir_all(&folder).expect("it goes");
}
