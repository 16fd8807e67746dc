//! Measures the pool: memory of programs that wait, how soon they resume while others compute, and
//! programs per second. `cargo run --release -p ptc-host --example crowd [-- --json] [NAME…]`
//! runs all measurements or the named ones: memory, latency, throughput, callers, slices.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ptc_host::{Limits, Pool, PoolConfig, Program, Running, Tool, Tools, run_blocking};
use ptc_lisp::machine::{Machine, Step};
use serde_json::{Map, Value, json};

#[global_allocator]
static ALLOCATOR: ptc_alloc::Allocator = ptc_alloc::Allocator;

const WORKERS: usize = 2;

type Measure = fn() -> Value;

const MEASURES: &[(&str, Measure)] = &[
    ("memory", memory),
    ("latency", latency),
    ("throughput", throughput),
    ("callers", callers),
    ("slices", slices),
];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let named =
        |name: &str| args.iter().all(|arg| arg.starts_with("--")) || args.iter().any(|arg| arg == name);
    let figures: Map<String, Value> = MEASURES
        .iter()
        .filter(|(name, _)| named(name))
        .map(|(name, measure)| ((*name).to_owned(), measure()))
        .collect();
    if args.iter().any(|arg| arg == "--json") {
        println!("{:#}", Value::Object(figures));
        return;
    }
    for (name, figures) in figures {
        println!("{name}");
        for (what, figure) in figures.as_object().into_iter().flatten() {
            println!("  {what:<52} {figure:>14}");
        }
    }
}

fn pool() -> Pool {
    Pool::new(PoolConfig { workers: WORKERS, ..PoolConfig::default() })
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts")
}

/// Bytes of memory that the process really uses, where the system tells.
fn resident() -> f64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0) * 4096.0
}

/// Processor time that the process has used, in seconds, where the system tells.
fn processor() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Ten thousand suspended machines, and programs of a pool that wait for an async tool which never
/// answers, with all that belongs to them: code, log, future and the runtime's task.
fn memory() -> Value {
    const COUNT: usize = 10_000;
    let small = "(tool/wait {:n 1})";
    let usual = "(defn total [rows] (reduce + (map :amount rows)))
        (let [orders (tool/wait {:status \"open\" :limit 50})
              by-region (group-by :region orders)]
          (->> by-region
               (map (fn [[region rows]] {:region region :total (total rows) :count (count rows)}))
               (sort-by :total >)
               (take 5)))";
    let mut figures = Map::new();
    for (name, source) in [("one call", small), ("eight lines", usual)] {
        let measures: [(&str, &dyn Fn() -> u64); 3] = [
            ("suspended machine", &|| machine_bytes(&|_| source.to_owned(), COUNT)),
            ("waiting program", &|| waiting_bytes(source, COUNT, None)),
            ("parked program", &|| waiting_bytes(source, COUNT, Some(Duration::ZERO))),
        ];
        for (what, measure) in measures {
            let figure = format!("bytes of a {what}, {name}");
            if let Some(bytes) = in_new_process(&figure, measure) {
                figures.insert(figure, json!(bytes));
            }
        }
    }
    // Machines in the same program share its code; here each has a program of its own.
    let figure = "bytes of a suspended machine, eight lines of its own";
    let own = |number: usize| format!("{usual} ; {number}");
    figures.extend(
        in_new_process(figure, &|| machine_bytes(&own, COUNT)).map(|bytes| (figure.to_owned(), json!(bytes))),
    );
    Value::Object(figures)
}

/// Measures in a process that has used no memory before. That process comes here too, and ends here if
/// it was started for this figure.
fn in_new_process(figure: &str, measure: &dyn Fn() -> u64) -> Option<u64> {
    const FIGURE: &str = "SOAK_FIGURE";
    if let Ok(wanted) = std::env::var(FIGURE) {
        if wanted == figure {
            println!("{}", measure());
            std::process::exit(0);
        }
        return None;
    }
    let program = std::env::current_exe().expect("this program has a file");
    let child = std::process::Command::new(program).arg("memory").env(FIGURE, figure).output();
    String::from_utf8(child.expect("it starts").stdout).ok()?.trim().parse().ok()
}

fn machine_bytes(source: &dyn Fn(usize) -> String, count: usize) -> u64 {
    let machine = |number: usize| {
        let mut machine = Machine::new(Limits::default());
        machine.set_tools(["wait".to_owned()]);
        machine.load(&source(number)).expect("it loads");
        while let Step::Yield = machine.run(u64::MAX) {}
        machine
    };
    let warm: Vec<Machine> = (count..count + 200).map(machine).collect();
    let before = resident();
    let waiting: Vec<Machine> = (0..count).map(machine).collect();
    let bytes = (resident() - before) / count as f64;
    drop((warm, waiting));
    bytes as u64
}

fn waiting_bytes(source: &str, count: usize, park_after: Option<Duration>) -> u64 {
    runtime().block_on(async {
        let pool = Pool::new(PoolConfig { workers: WORKERS, park_after, ..PoolConfig::default() });
        let begun = Arc::new(Mutex::new(0));
        let count_up = begun.clone();
        let wait = Tool::future(move |_| {
            *count_up.lock().expect("nobody panics") += 1;
            std::future::pending::<Value>()
        });
        let program = Program::new(source).tools(Tools::new().with("wait", wait));
        let all_wait = async |expected: usize| {
            let parked = || park_after.is_none() || pool.stats().parked as usize >= expected;
            while *begun.lock().expect("nobody panics") < expected || !parked() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // What is made once is there before the count begins.
        let warm: Vec<Running> = (0..200).map(|_| pool.run(program.clone())).collect();
        all_wait(200).await;
        let before = resident();
        let waiting: Vec<Running> = (0..count).map(|_| pool.run(program.clone())).collect();
        all_wait(200 + count).await;
        let bytes = (resident() - before) / count as f64;
        drop((warm, waiting));
        bytes as u64
    })
}

/// Seconds that threads of the process could run but got no processor, where the system tells: other
/// processes show up in delays too.
fn kept_waiting() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let waits = threads.filter_map(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split(' ').nth(1)?.parse::<f64>().ok()
    });
    waits.sum::<f64>() / 1e9
}

/// A thousand busy programs and a thousand that wait ten times each: from the moment an answer is there
/// to the moment the program goes on.
fn latency() -> Value {
    const COUNT: u64 = 1_000;
    const ROUNDS: u64 = 10;
    let delays = Arc::new(Mutex::new(Vec::new()));
    let (record, origin) = (delays.clone(), Instant::now());
    let nanos = move || u64::try_from(origin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let wait = Tool::future(move |args: Value| async move {
        // Spread over time, and in the last round all at once.
        let (n, round) = (args["n"].as_u64().unwrap_or(0), args["round"].as_u64().unwrap_or(0));
        let ms = if round + 1 == ROUNDS { 300 } else { 20 + n * 7_919 % 200 };
        tokio::time::sleep(Duration::from_millis(ms)).await;
        json!(nanos())
    });
    let seen = Tool::quick(move |args| {
        let delay = nanos().saturating_sub(args["at"].as_u64().unwrap_or(0));
        record.lock().expect("nobody panics").push(delay);
        Value::Null
    });
    let tools = Tools::new().with("wait", wait).with("seen", seen);
    let source = format!("(dotimes [i {ROUNDS}] (tool/seen {{:at (tool/wait {{:n data/n :round i}})}}))");
    let busy = Program::new("(loop [i 0 m {}] (recur (inc i) (assoc m (mod i 100) (str i))))")
        .limits(Limits { fuel: u64::MAX, ..Limits::default() });
    let pool = pool();
    let mut figures = Map::new();
    for (name, count) in [("alone", 0), ("with 1,000 busy", COUNT)] {
        delays.lock().expect("nobody panics").clear();
        let (started, kept) = (Instant::now(), kept_waiting());
        runtime().block_on(async {
            let busy: Vec<Running> = (0..count).map(|_| pool.run(busy.clone())).collect();
            let program = |n| Program::new(source.as_str()).data(json!({"n": n})).tools(tools.clone());
            let waiting: Vec<Running> = (0..COUNT).map(|n| pool.run(program(n))).collect();
            for running in waiting {
                running.await.result.expect("the program ends well");
            }
            drop(busy);
        });
        let share = (kept_waiting() - kept) / started.elapsed().as_secs_f64() * 100.0;
        figures.insert(format!("% of time a thread lacked a processor, {name}"), json!(share.round()));
        let mut delays = delays.lock().expect("nobody panics").clone();
        delays.sort_unstable();
        for (what, share) in [("median", 0.5), ("p99", 0.99), ("max", 1.0)] {
            let at = ((delays.len() - 1) as f64 * share) as usize;
            figures.insert(format!("{what} ms from answer to resumption, {name}"), ms(delays[at]));
        }
    }
    Value::Object(figures)
}

fn ms(nanos: u64) -> Value {
    json!((nanos as f64 / 1e4).round() / 100.0)
}

const SMALL: &str = "(reduce + (range 1000))";

/// Fresh programs from source, one after the other and on the pool from one thread. The processor time
/// of each tells what an idle computer would do.
fn throughput() -> Value {
    let mut figures = Map::new();
    for (source, value) in [(SMALL, "499500"), ("(+ 1 2)", "3")] {
        let program = Program::new(source);
        let pool = pool();
        let alone = || {
            assert_eq!(run_blocking(&program).value, value);
            1
        };
        let mut flying = VecDeque::new();
        let pooled = || {
            while flying.len() < 1_000 {
                flying.push_back(pool.run(program.clone()));
            }
            flying.drain(..500).map(|running| assert_eq!(running.wait().value, value)).count()
        };
        let (alone, pooled) = (per_second(alone), per_second(pooled));
        for (how, (rate, cost)) in [("one thread, no pool", alone), ("pool of 2", pooled)] {
            figures.insert(format!("{source} a second, {how}"), json!(rate.round()));
            figures.insert(format!("{source} processor µs, {how}"), json!((cost * 1e8).round() / 100.0));
        }
    }
    Value::Object(figures)
}

/// How many times a second something can be done, and the processor time of each.
fn per_second(mut work: impl FnMut() -> usize) -> (f64, f64) {
    work();
    let (started, used, mut done) = (Instant::now(), processor(), 0);
    while started.elapsed() < Duration::from_secs(2) {
        done += work();
    }
    (done as f64 / started.elapsed().as_secs_f64(), (processor() - used) / done as f64)
}

/// A thousand concurrent async callers, each running one program after the other, with limits that one
/// program alone just keeps.
fn callers() -> Value {
    let alone = run_blocking(&Program::new(SMALL));
    let limits = Limits { fuel: alone.fuel, memory: 1 << 16, ..Limits::default() };
    let program = Program::new(SMALL).limits(limits).timeout(Duration::from_millis(500));
    let pool = Arc::new(pool());
    let (done, failed) = runtime().block_on(async {
        let until = Instant::now() + Duration::from_secs(3);
        let caller = |pool: Arc<Pool>, program: Program| async move {
            let (mut done, mut failed) = (0u64, 0u64);
            while Instant::now() < until {
                let outcome = pool.run(program.clone()).await;
                done += 1;
                failed += u64::from(outcome.result.is_err());
            }
            (done, failed)
        };
        let tasks: Vec<_> = (0..1_000).map(|_| tokio::spawn(caller(pool.clone(), program.clone()))).collect();
        let mut sum = (0, 0);
        for task in tasks {
            let (done, failed) = task.await.expect("no caller panics");
            sum = (sum.0 + done, sum.1 + failed);
        }
        sum
    });
    json!({"programs a second, 1,000 async callers": (done as f64 / 3.0).round(), "of them over a limit": failed})
}

/// What looking at the cancellation token every 1,000 units costs.
fn slices() -> Value {
    let source = "(loop [i 0 s 0] (if (< i 3000000) (recur (inc i) (+ s i)) s))";
    let time = |slice: u64| {
        let mut machine = Machine::new(Limits::default());
        machine.load(source).expect("it loads");
        let started = Instant::now();
        while let Step::Yield = machine.run(slice) {}
        started.elapsed().as_secs_f64()
    };
    let (mut whole, mut sliced) = (f64::MAX, f64::MAX);
    for _ in 0..15 {
        (whole, sliced) = (whole.min(time(u64::MAX)), sliced.min(time(1_000)));
    }
    json!({
        "ms in one piece": (whole * 1e5).round() / 100.0,
        "ms in slices of 1,000": (sliced * 1e5).round() / 100.0,
        "percent more": ((sliced / whole - 1.0) * 1e4).round() / 100.0,
    })
}
