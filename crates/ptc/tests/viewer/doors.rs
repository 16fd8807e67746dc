//! Whoever reaches the socket of the viewer, which is everybody on the machine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::browser::Viewer;
use crate::flood::withstands;
use crate::support::folder;

fn address(viewer: &Viewer) -> SocketAddr {
    let address = viewer.url.trim_start_matches("http://").trim_end_matches('/');
    address.parse().expect("an address")
}

#[test]
fn unfinished_requests_keep_nobody_out_and_take_no_memory() {
    let viewer = Viewer::start(&folder("flood"));
    withstands(address(&viewer), viewer.pid(), "/", &["/api/eval", "/api/runs", "/"]);
}

#[test]
fn streams_that_nobody_closes_keep_nobody_out() {
    let viewer = Viewer::start(&folder("streams"));
    let address = address(&viewer);
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(address).expect("a connection");
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("sent");
        stream
    };
    let streams: Vec<TcpStream> = (0..300).map(|_| ask("/api/live")).collect();
    let mut page = String::new();
    ask("/").read_to_string(&mut page).expect("the page");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    drop(streams);
}

#[test]
fn two_hosts_are_refused() {
    let viewer = Viewer::start(&folder("hosts"));
    let address = address(&viewer);
    let mut stream = TcpStream::connect(address).expect("a connection");
    let head = format!("GET /api/runs HTTP/1.1\r\nHost: {address}\r\nHost: evil.example\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}
