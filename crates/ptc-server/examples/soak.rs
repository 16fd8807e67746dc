//! Mixed load with faults for as long as one likes: memory must stay flat, permits must come back, and what was
//! acknowledged must still be there.
//!
//! `cargo build --release -p ptc && cargo run --release -p ptc-server --example soak -- target/release/ptc 600`
//!
//! The faults: an upstream that crashes every few calls, clients that leave in the middle of a call, frames and bodies
//! that are too large or broken, calls that are cancelled. Called with `upstream`, this program is the upstream.

#![allow(clippy::print_stdout)]

#[path = "shared/client.rs"]
mod client;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use client::{Http, Pipe, Result, Server, call, initialize, listen};
use serde_json::{Value as Json, json};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [mode] if mode == "upstream" => upstream(),
        [server, seconds] => soak(Path::new(server), Duration::from_secs(seconds.parse()?)),
        _ => Err("usage: soak PATH_OF_PTC SECONDS".into()),
    }
}

/// An MCP server with one tool that echoes, and that dies in every fortieth call.
fn upstream() -> Result<()> {
    let mut calls = 0;
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Json = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "shaky", "version": "1"},
            }),
            Some("tools/list") => json!({"tools": [{
                "name": "echo", "description": "Gives back what it gets.",
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
                "annotations": {"readOnlyHint": true},
            }]}),
            Some("tools/call") => {
                calls += 1;
                if calls % 40 == 0 {
                    std::process::exit(1);
                }
                json!({"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]})
            }
            _ => json!({}),
        };
        if let Some(id) = message.get("id") {
            writeln!(stdout, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
            stdout.flush()?;
        }
    }
    Ok(())
}

/// What the load has seen.
#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    lost: AtomicU64,
}

impl Seen {
    fn note(&self, what: &'static str) {
        if let Ok(mut counts) = self.counts.lock() {
            *counts.entry(what).or_default() += 1;
        }
    }

    fn going(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}

fn soak(program: &Path, time: Duration) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("ptc-soak-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let config = folder.join("upstreams.json");
    let upstream =
        json!({"transport": "mcp_stdio", "command": std::env::current_exe()?, "args": ["upstream"]});
    std::fs::write(&config, json!({"upstreams": {"shaky": upstream}}).to_string())?;
    let command = |more: &[&str]| {
        let mut command = Command::new(program);
        command.arg("mcp").args(more).arg("--upstreams-config").arg(&config).env("HOME", "/nonexistent");
        command
    };
    let (server, address) = listen(command(&[
        "--http",
        "127.0.0.1:0",
        "--http-metrics",
        "--sessions",
        "--max-concurrent-calls",
        "8",
        "--http-max-body-bytes",
        "100000",
        "--program-timeout-ms",
        "2000",
        // Clients that leave without a word leave their sessions behind.
        "--http-max-sessions",
        "8192",
        "--http-max-sessions-per-owner",
        "8192",
        "--http-session-idle-timeout-ms",
        "5000",
        "--max-sessions",
        "8192",
        "--log-level",
        "info",
    ]))?;
    let seen = Seen::default();
    let began = Instant::now();
    let samples = std::thread::scope(|scope| -> Result<Vec<u64>> {
        for worker in 0..4 {
            let seen = &seen;
            scope.spawn(move || again(seen, "counting", || counting(seen, address, worker)));
        }
        scope.spawn(|| again(&seen, "upstreams", || upstreams(&seen, address)));
        scope.spawn(|| again(&seen, "faults", || faults(&seen, address)));
        scope.spawn(|| again(&seen, "stdio", || stdio(&seen, command(&["--max-frame-bytes", "100000"]))));
        let mut samples = Vec::new();
        while began.elapsed() < time {
            std::thread::sleep(Duration::from_secs(1));
            samples.push(server.rss()?);
        }
        seen.stop.store(true, Ordering::Relaxed);
        Ok(samples)
    })?;
    // The folder is in the way of nobody if it stays.
    let _ = std::fs::remove_dir_all(&folder);
    report(&server, address, &seen, &samples)
}

fn report(server: &Server, address: SocketAddr, seen: &Seen, samples: &[u64]) -> Result<()> {
    let middle = |part: &[u64]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part.get(part.len() / 2).copied().unwrap_or_default()
    };
    let quarter = samples.len() / 4;
    let (early, late) = (middle(&samples[quarter..quarter * 2]), middle(&samples[quarter * 3..]));
    let (mut in_flight, mut page) = (u64::MAX, String::new());
    for _ in 0..100 {
        page = Http::connect(address)?.get("/metrics")?.body;
        in_flight = page
            .lines()
            .find(|line| line.starts_with("ptc_calls_in_flight"))
            .and_then(|line| line.rsplit(' ').next()?.parse().ok())
            .unwrap_or(u64::MAX);
        if in_flight == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("{page}");
    for (what, count) in seen.counts.lock().map_err(|_| "a client broke")?.iter() {
        println!("{what}: {count}");
    }
    let lost = seen.lost.load(Ordering::Relaxed);
    println!(
        "memory in the second quarter {early} KiB, in the last {late} KiB, at the end {} KiB",
        server.rss()?
    );
    println!("permits taken at the end: {in_flight}; acknowledged states lost: {lost}");
    match late <= early + early / 10 + 2048 && in_flight == 0 && lost == 0 {
        true => Ok(()),
        false => Err("the server leaks, or lost something".into()),
    }
}

/// Does something until the end; what breaks is counted and begun anew.
fn again(seen: &Seen, what: &'static str, work: impl Fn() -> Result<()>) {
    while seen.going() {
        if let Err(error) = work() {
            eprintln!("{what}: {error}");
            seen.note(what);
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

fn structured(body: &str) -> Result<Json> {
    let reply: Json = serde_json::from_str(body)?;
    let result = &reply["result"];
    match result["structuredContent"].is_object() {
        true => Ok(result["structuredContent"].clone()),
        false => Ok(json!({"text": result["content"][0]["text"], "error": result["isError"]})),
    }
}

/// A session that counts: every number that was acknowledged must be there in the next program.
fn counting(seen: &Seen, address: SocketAddr, worker: u64) -> Result<()> {
    let mut http = Http::connect(address)?.open()?;
    let started = structured(&http.ask(&call(1, "lisp_session_start", json!({})))?.body)?;
    let session = started["session_id"].as_str().ok_or_else(|| format!("no session: {started}"))?.to_owned();
    let eval = |http: &mut Http, id: u64, program: &str| -> Result<Json> {
        structured(
            &http
                .ask(&call(id, "lisp_session_eval", json!({"session_id": session, "program": program})))?
                .body,
        )
    };
    eval(&mut http, 2, "(def n 0)")?;
    let mut known: u64 = 0;
    for id in 3..400 {
        if !seen.going() {
            break;
        }
        if id % 7 == worker {
            // Fails after the definition: must be taken back.
            eval(&mut http, id, "(do (def n 1000000) (fail :no))")?;
            seen.note("rolled back");
            continue;
        }
        let answer = eval(&mut http, id, "(do (def n (inc n)) (str \"n=\" n))")?;
        let text = answer["text"].as_str().or(answer["result"].as_str()).unwrap_or_default();
        if text.contains("busy") {
            seen.note("busy");
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        known += 1;
        seen.note("counted");
        if !text.contains(&format!("n={known}\"")) {
            seen.lost.fetch_add(1, Ordering::Relaxed);
            return Err(format!("expected {known}: {answer}").into());
        }
    }
    http.ask(&call(900, "lisp_session_close", json!({"session_id": session})))?;
    http.end()
}

/// Calls of an upstream that dies now and then: an answer or a tagged fault, never a broken program.
fn upstreams(seen: &Seen, address: SocketAddr) -> Result<()> {
    let mut http = Http::connect(address)?.open()?;
    let started = structured(&http.ask(&call(1, "lisp_session_start", json!({})))?.body)?;
    let session = started["session_id"].as_str().ok_or_else(|| format!("no session: {started}"))?.to_owned();
    let program = "(let [r (tool/call {:server \"shaky\" :tool \"echo\" :args {:text \"hi\"}})] \
                   (if (:ok r) (str \"got-\" (:value r)) (str \"fault-\" (:reason r))))";
    for id in 2..200 {
        if !seen.going() {
            break;
        }
        let arguments = json!({"session_id": session, "program": program});
        let answer = structured(&http.ask(&call(id, "lisp_session_eval", arguments))?.body)?.to_string();
        seen.note(match answer {
            _ if answer.contains("got-hi") => "upstream answered",
            _ if answer.contains("fault-") => "upstream fault",
            _ if answer.contains("busy") => "busy",
            _ => return Err(format!("neither answer nor fault: {answer}").into()),
        });
    }
    http.ask(&call(900, "lisp_session_close", json!({"session_id": session})))?;
    http.end()
}

/// Clients that behave badly.
fn faults(seen: &Seen, address: SocketAddr) -> Result<()> {
    let slow = json!({"program": "(loop [i 0] (recur (inc i)))"});
    let begin = |http: &mut Http| -> Result<Json> {
        let started = structured(&http.ask(&call(1, "lisp_session_start", json!({})))?.body)?;
        let mut arguments = slow.clone();
        arguments["session_id"] = started["session_id"].clone();
        Ok(arguments)
    };
    // One that leaves in the middle of a call.
    let mut leaving = Http::connect(address)?.open()?;
    let arguments = begin(&mut leaving)?;
    leaving.send(&call(2, "lisp_session_eval", arguments))?;
    std::thread::sleep(Duration::from_millis(20));
    drop(leaving);
    seen.note("left");
    // One that cancels.
    let opened = Http::connect(address)?.ask(&initialize())?;
    let session = opened.session.ok_or("no session")?;
    let mut first = Http::connect(address)?.with("mcp-session-id", &session);
    let mut second = Http::connect(address)?.with("mcp-session-id", &session);
    let arguments = begin(&mut first)?;
    first.send(&call(2, "lisp_session_eval", arguments))?;
    std::thread::sleep(Duration::from_millis(20));
    second.ask(
        &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}})
            .to_string(),
    )?;
    drop(first);
    second.end()?;
    seen.note("cancelled");
    // Bodies that are too large, broken, or for somebody else.
    let mut large = Http::connect(address)?.with("mcp-session-id", &session);
    let refused = large.ask(&format!("\"{}\"", "x".repeat(200_000)));
    if refused.is_ok_and(|answer| answer.status != 413) {
        return Err("a body that is too large was taken".into());
    }
    let broken = Http::connect(address)?.with("mcp-session-id", &session).ask("{\"jsonrpc\":")?;
    let foreign = Http::connect(address)?.with("origin", "http://evil.example").ask(&initialize())?;
    match (broken.body.contains("-32700"), foreign.status) {
        (true, 403) => seen.note("refused"),
        _ => return Err("a broken message was taken".into()),
    }
    Ok(())
}

/// Processes that come and go over stdio.
fn stdio(seen: &Seen, command: Command) -> Result<()> {
    let mut pipe = Pipe::start(command)?;
    pipe.ask(&initialize())?;
    for id in 1..40 {
        if !seen.going() {
            return Ok(());
        }
        let mut line = "x".repeat(150_000);
        line.push('\n');
        pipe.send(line.as_bytes())?;
        let refused = pipe.receive()?.contains("-32700");
        let answered = pipe.ask(&call(id, "lisp_eval", json!({"program": "(+ 1 2)"})))?.contains("user=> 3");
        if !refused || !answered {
            return Err("an oversize frame was not survived".into());
        }
        seen.note("stdio");
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
