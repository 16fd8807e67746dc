//! What a call of `lisp_eval` costs beside a server on the same stack that only echoes.
//!
//! `cargo build --release -p ptc && cargo run --release -p ptc-server --example bench -- target/release/ptc`
//!
//! Both servers take turns within each pass; what is printed is medians and ratios of one run. Called with `echo stdio`
//! or `echo http`, this program is the server that echoes.

#![allow(clippy::print_stdout)]

#[path = "shared/client.rs"]
mod client;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::{Http, Pipe, Result, call, initialize, listen};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, InitializeResult,
    ServerCapabilities, ServerConfig, ToolsCapability,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::json;

/// Answers with the text it was called with.
#[derive(Clone)]
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::default();
        capabilities.tools = Some(ToolsCapability::default());
        InitializeResult::new(capabilities)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        let text =
            request.arguments.and_then(|arguments| arguments.get("program").cloned()).unwrap_or_default();
        let text = text.as_str().unwrap_or_default().to_owned();
        Ok(CallToolResponse::Complete(CallToolResult::success(vec![ContentBlock::text(text)])))
    }
}

async fn echo(transport: &str) -> Result<()> {
    if transport == "stdio" {
        Echo.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let config =
        StreamableHttpServerConfig::default().with_legacy_session_mode(false).with_json_response(true);
    let service = StreamableHttpService::new(|| Ok(Echo), Arc::new(NeverSessionManager::default()), config);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    eprintln!("{}", json!({"fields": {"address": listener.local_addr()?.to_string()}}));
    Ok(axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [mode, transport] if mode == "echo" => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(echo(transport))
        }
        [server] => measure(Path::new(server)),
        _ => Err("usage: bench PATH_OF_PTC".into()),
    }
}

/// A server and how it is started.
struct Contender {
    program: PathBuf,
    stdio: Vec<&'static str>,
    http: Vec<&'static str>,
}

impl Contender {
    fn command(&self, args: &[&'static str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args).env("HOME", "/nonexistent");
        command
    }
}

const CLIENTS: usize = 64;

fn measure(server: &Path) -> Result<()> {
    let echo = Contender {
        program: std::env::current_exe()?,
        stdio: vec!["echo", "stdio"],
        http: vec!["echo", "http"],
    };
    let http = vec![
        "mcp",
        "--http",
        "127.0.0.1:0",
        "--max-concurrent-calls",
        "64",
        "--http-max-sessions-per-owner",
        "128",
    ];
    let ptc = Contender { program: server.to_owned(), stdio: vec!["mcp"], http };
    println!("| what | echo | ptc | ratio or limit | |\n|---|---|---|---|---|");

    let (left, right) = passes(latency_stdio, &echo, &ptc)?;
    ratio("stdio: time of a call, µs", left, right, right / left);
    let (left, right) = passes(latency_http, &echo, &ptc)?;
    ratio("HTTP: time of a call, µs", left, right, right / left);
    let (left, right) = passes(throughput, &echo, &ptc)?;
    ratio("HTTP: calls per second of 64 clients", left, right, left / right);

    let mut starts = Vec::new();
    for _ in 0..15 {
        starts.push(start(&ptc)?);
    }
    let began = median(&mut starts);
    bound("start to first reply, ms", began * 1e3, 20.0);
    let mut pipe = Pipe::start(ptc.command(&ptc.stdio))?;
    pipe.ask(&initialize())?;
    pipe.ask(&evaluation(1))?;
    std::thread::sleep(Duration::from_secs(1));
    bound("idle memory, MiB", pipe.server.rss()? as f64 / 1024.0, 15.0);
    if let Some(size) = stripped(server) {
        bound("stripped binary, MiB", size as f64 / (1 << 20) as f64, 25.0);
    }
    Ok(())
}

fn ratio(what: &str, echo: f64, ptc: f64, ratio: f64) {
    println!("| {what} | {echo:.0} | {ptc:.0} | {ratio:.2} of at most 1.50 | {} |", verdict(ratio <= 1.5));
}

fn bound(what: &str, found: f64, most: f64) {
    println!("| {what} | | {found:.1} | below {most:.0} | {} |", verdict(found < most));
}

fn verdict(good: bool) -> &'static str {
    if good { "yes" } else { "no" }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Medians over passes in which both take turns.
fn passes(
    measure: impl Fn(&Contender) -> Result<f64>,
    left: &Contender,
    right: &Contender,
) -> Result<(f64, f64)> {
    let (mut lefts, mut rights) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        lefts.push(measure(left)?);
        rights.push(measure(right)?);
    }
    Ok((median(&mut lefts), median(&mut rights)))
}

fn evaluation(id: u64) -> String {
    call(id, "lisp_eval", json!({"program": "(+ 1 2)"}))
}

fn timed(calls: u64, mut one: impl FnMut(u64) -> Result<()>) -> Result<f64> {
    for id in 1..=calls / 4 {
        one(id)?;
    }
    let mut times = Vec::new();
    for id in calls..calls * 2 {
        let began = Instant::now();
        one(id)?;
        times.push(began.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&mut times))
}

fn latency_stdio(contender: &Contender) -> Result<f64> {
    let mut pipe = Pipe::start(contender.command(&contender.stdio))?;
    pipe.ask(&initialize())?;
    pipe.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
    timed(1000, |id| good(pipe.ask(&evaluation(id))?))
}

fn latency_http(contender: &Contender) -> Result<f64> {
    let (_server, address) = listen(contender.command(&contender.http))?;
    let mut http = Http::connect(address)?.open()?;
    timed(1000, |id| good(&http.ask(&evaluation(id))?.body))
}

fn good(reply: &str) -> Result<()> {
    match reply.contains("user=> 3") || reply.contains("(+ 1 2)") {
        true => Ok(()),
        false => Err(format!("not what was expected: {reply}").into()),
    }
}

/// Calls per second of many clients at once.
fn throughput(contender: &Contender) -> Result<f64> {
    const CALLS: u64 = 400;
    let (_server, address) = listen(contender.command(&contender.http))?;
    let clients = (0..CLIENTS).map(|_| Http::connect(address)?.open()).collect::<Result<Vec<_>>>()?;
    let began = Instant::now();
    let done = std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .into_iter()
            .map(|mut http| {
                scope.spawn(move || (1..=CALLS).try_for_each(|id| good(&http.ask(&evaluation(id))?.body)))
            })
            .collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a client broke".into())))
    });
    done?;
    Ok((CLIENTS as u64 * CALLS) as f64 / began.elapsed().as_secs_f64())
}

/// Seconds from the start of the process to its first reply.
fn start(contender: &Contender) -> Result<f64> {
    let began = Instant::now();
    let mut pipe = Pipe::start(contender.command(&contender.stdio))?;
    pipe.ask(&initialize())?;
    Ok(began.elapsed().as_secs_f64())
}

fn stripped(program: &Path) -> Option<u64> {
    let copy = std::env::temp_dir().join(format!("ptc-stripped-{}", std::process::id()));
    std::fs::copy(program, &copy).ok()?;
    let done = Command::new("strip").arg(&copy).status().is_ok_and(|status| status.success());
    let size = std::fs::metadata(&copy).map(|meta| meta.len()).ok();
    // The copy is in the way of nobody if it stays.
    let _ = std::fs::remove_file(&copy);
    size.filter(|_| done)
}
