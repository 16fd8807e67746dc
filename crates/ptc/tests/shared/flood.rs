//! Unfinished requests at the doors of a server, which must go on to say that it lives.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::Value as Json;

/// Connections that are left at each path.
const COUNT: u64 = 4_200;

/// The most memory that the server may have taken, in KiB.
const MOST_KIB: u64 = 200 << 10;

/// Leaves requests of HTTP/1.1 at the paths of a server; all questions for its health are answered, and its memory stays small.
pub fn withstands(server: SocketAddr, pid: u32, health: &str, paths: &[&str]) {
    withstands_over("http1", server, pid, health, paths);
}

/// The same in a protocol that the script knows.
pub fn withstands_over(protocol: &str, server: SocketAddr, pid: u32, health: &str, paths: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/shared/flood.py");
    let (host, port) = (server.ip().to_string(), server.port().to_string());
    let output = Command::new("python3")
        .arg(script)
        .args([protocol, host.as_str(), &port, health, &COUNT.to_string()])
        .args(paths)
        .output()
        .expect("python3 runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<Json> =
        said.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(lines.len(), paths.len(), "{said}");
    for line in &lines {
        assert_eq!(line["opened"], COUNT, "{line}");
        assert_eq!(line["answered"], line["asked"], "{line}");
    }
    let peak = peak_kib(pid);
    eprintln!("{said}peak memory: {} MiB", peak >> 10);
    assert!(peak < MOST_KIB, "{peak} KiB");
}

/// The most memory that a process has taken.
pub fn peak_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}
