//! What calls of upstreams cost: `cargo build --release -p ptc-upstream --examples`, then run `calls`. It starts
//! the fault server beside it and prints the figures of one run; it fails if they are not as promised.
//!
//! - 100 calls of 10 ms under `pmap`, 50 at once, beside one such call by the same program.
//! - A call over pipes beside a bare exchange of lines with the same server: the difference is ours.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_host::{Pool, Program};
use ptc_upstream::effects::Policy;
use ptc_upstream::model::Allowance;
use ptc_upstream::{Caps, Config, Runtime, RuntimeOptions, Secrets, client};
use serde_json::json;

/// What is promised.
const MOST_CALLS_OF_ONE: f64 = 3.0;
const MOST_MICROS: f64 = 150.0;

const MANY: &str =
    "(def answers (pmap (fn [_] (tool/call {:server \"x\" :tool \"slow\" :args {:ms 10}})) (range 100)))
(count (filter :ok answers))";
const ONE: &str = "(count (filter :ok [(tool/call {:server \"x\" :tool \"slow\" :args {:ms 10}})]))";

fn main() -> ExitCode {
    let server = std::env::current_exe().expect("it runs").with_file_name("fault_server");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let (one, many) = runtime.block_on(side_by_side(&server));
    let ratio = many.as_secs_f64() / one.as_secs_f64();
    println!("one call of 10 ms by a program       {:8.2} ms", one.as_secs_f64() * 1e3);
    println!("100 such calls under pmap, 50 at once {:7.2} ms, {ratio:.2} of one", many.as_secs_f64() * 1e3);
    let bare = bare_exchange(&server);
    let call = runtime.block_on(plain_calls(&server));
    let ours = call - bare;
    println!("bare exchange of lines               {bare:8.1} µs");
    println!("call over pipes                      {call:8.1} µs, {ours:.1} µs of it ours");
    let kept = ratio < MOST_CALLS_OF_ONE && ours < MOST_MICROS;
    if !kept {
        println!("not as promised: below {MOST_CALLS_OF_ONE} of one call, and below {MOST_MICROS} µs");
    }
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn config(server: &Path) -> Config {
    let config = json!({"upstreams": {"x": {"transport": "mcp_stdio", "command": server}}});
    Config::from_value(config, Path::new("")).expect("a configuration")
}

/// How long programs take that make one call and a hundred, the median of several.
async fn side_by_side(server: &Path) -> (Duration, Duration) {
    let runtime = Runtime::start(&config(server), Secrets::default(), RuntimeOptions::default()).await;
    let runtime = runtime.expect("the fault server starts");
    let (mut one, mut many) = (Vec::new(), Vec::new());
    for _ in 0..15 {
        one.push(timed(&runtime, ONE, "1").await);
        many.push(timed(&runtime, MANY, "100").await);
    }
    runtime.close().await;
    (median(one), median(many))
}

async fn timed(runtime: &Arc<Runtime>, source: &str, expected: &str) -> Duration {
    let context = runtime.context(Caps { calls: 100, ..Caps::default() }, Policy::open());
    let program = context.attach(Program::new(source).timeout(Duration::from_secs(60)));
    let began = Instant::now();
    let outcome = Pool::global().run(program).await;
    let took = began.elapsed();
    assert!(outcome.value == expected, "{:?}", outcome.result);
    took
}

fn median<T: PartialOrd + Copy>(mut values: Vec<T>) -> T {
    values.sort_by(|left, right| left.partial_cmp(right).expect("numbers"));
    values[values.len() / 2]
}

const CALLS: usize = 2_000;

/// Microseconds of one exchange with the server without a client: one line there, one line back.
fn bare_exchange(server: &Path) -> f64 {
    let mut child = Command::new(server)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the fault server starts");
    let mut input = child.stdin.take().expect("a pipe");
    let mut output = std::io::BufReader::new(child.stdout.take().expect("a pipe"));
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": "hi"}}});
    let call = format!("{call}\n");
    let mut line = String::new();
    let took = (0..CALLS).map(|_| {
        let began = Instant::now();
        input.write_all(call.as_bytes()).expect("it reads");
        line.clear();
        output.read_line(&mut line).expect("it writes");
        began.elapsed().as_secs_f64() * 1e6
    });
    let took = median(took.collect());
    drop(input);
    let _ = child.wait();
    took
}

/// Microseconds of one call by the client.
async fn plain_calls(server: &Path) -> f64 {
    let config = config(server);
    let client = client::connect(&config.upstreams[0], &Secrets::default()).expect("an MCP upstream");
    let allowance =
        Allowance { timeout: Duration::from_secs(10), max_bytes: 1 << 20, max_values: 1 << 16, once: false };
    let args = json!({"text": "hi"}).as_object().cloned().expect("an object");
    let mut took = Vec::new();
    for _ in 0..CALLS {
        let began = Instant::now();
        client.call("echo", args.clone(), allowance).await.expect("an answer");
        took.push(began.elapsed().as_secs_f64() * 1e6);
    }
    client.close().await;
    median(took)
}
