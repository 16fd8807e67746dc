//! The server over standard streams: a thread for every message, so that a slow call holds up nothing.

use std::io::BufRead as _;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::faults::{Out, Server, subscription, written};
use crate::print;

pub fn run(server: Server) {
    if server.has("--chatty") {
        print("Welcome to the fault server!");
    }
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Ok(message) = serde_json::from_str::<Json>(&line) else { continue };
        let server = server.clone();
        std::thread::spawn(move || server.hear(&message).into_iter().for_each(|out| act(&server, out)));
    }
    while server.has("--stubborn") {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn act(server: &Server, out: Out) {
    match out {
        Out::Aside(mut message) => {
            if server.has("--modern") {
                // The only subscription is the first request after the handshake.
                message["params"]["_meta"] = subscription(&json!(1));
            }
            print(&written(message));
        }
        Out::Message(message) | Out::Later(message) => print(&written(message)),
        Out::Raw(text) => print(&text),
        Out::Wait(time) => std::thread::sleep(time),
        Out::Crash => {
            eprintln!("thread 'main' had enough");
            std::process::exit(7);
        }
        Out::Status(_) | Out::Type(_) | Out::Cut => {}
    }
}
