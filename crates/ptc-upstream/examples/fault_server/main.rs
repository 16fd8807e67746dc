//! An MCP server that misbehaves on demand: its tools are the faults, its flags are the faults that happen
//! before any call. It speaks over its standard streams, or over HTTP with `--http`. The tests of clients run
//! it; by hand, speak JSON-RPC to it.
//!
//! `fault_server hold CONFIG` is the other side: it starts the upstreams of a configuration and waits, so that
//! a test can kill it and see what is left.

mod faults;
mod http;
mod stdio;

use std::io::Write as _;
use std::time::Duration;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.as_slice() {
        [command, config] if command == "hold" => hold(config),
        flags => {
            let server = faults::Server::new(flags);
            eprintln!("fault server of process {}", std::process::id());
            if server.has("--exit") {
                eprintln!("cannot open the database");
                std::process::exit(3);
            }
            match server.has("--http") {
                true => http::run(server),
                false => stdio::run(server),
            }
        }
    }
}

/// Prints a line at once.
fn print(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Starts all upstreams of a configuration, calls their tool `pid`, prints the answers and waits to be killed.
fn hold(config: &str) {
    use ptc_upstream::model::Allowance;
    use ptc_upstream::{Config, Secrets, client};
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let config = Config::from_file(config.as_ref()).expect("a configuration");
        let secrets =
            Secrets::resolve_with(&config, &|name| std::env::var(name).ok(), None).expect("its secrets");
        let allowance = Allowance {
            timeout: Duration::from_secs(10),
            max_bytes: 1 << 20,
            max_values: 1 << 16,
            once: false,
        };
        let clients: Vec<_> =
            config.upstreams.iter().filter_map(|upstream| client::connect(upstream, &secrets)).collect();
        for client in &clients {
            for tool in ["pid", "grandchild"] {
                let payload = client.call(tool, Default::default(), allowance).await.expect("an answer");
                print(payload.texts()[0]);
            }
        }
        std::future::pending::<()>().await;
    });
}
