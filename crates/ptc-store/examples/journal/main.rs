//! Measures what the journal takes: bytes of a call and of a request on the disk, and the time to write a call down.
//!
//! `cargo run --release -p ptc-store --example journal [CALLS] [BYTES] [PLACE]`: so many calls with arguments and answers
//! of so many bytes each, and as many requests with replies of so many, into a store that is not there yet or on a server.

#![allow(clippy::print_stdout)]

mod measured;

use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    match told() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn told() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let calls: u32 = args.next().map_or(Ok(10_000), |text| text.parse())?;
    let bytes: usize = args.next().map_or(Ok(200), |text| text.parse())?;
    let own = std::env::temp_dir().join(format!("ptc-journal-{}", std::process::id()));
    let place = args.next().unwrap_or_else(|| own.join("store.db").to_string_lossy().into_owned());
    let mut found = measured::measured(&place, calls, bytes)?;
    println!(
        "{calls} calls with {bytes} bytes of arguments and {bytes} bytes of answer each, in {}",
        ptc_store::shown(&place)
    );
    times("written down before it is sent (on the disk)", &mut found.begun);
    times("its answer written down (a note)", &mut found.done);
    println!("{} bytes on disk for each call", found.call_bytes);
    println!(
        "{} bytes on disk for each request with a key and a reply of {bytes} bytes, without its calls",
        found.request_bytes
    );
    if found.log_bytes > 0 {
        println!("{} bytes of log at the end", found.log_bytes);
    }
    let both = (found.call_bytes + found.request_bytes) * 86_400;
    println!(
        "a day of one such request a second with one such call would take {both} bytes until it is forgotten"
    );
    // There is none where somebody named a place.
    let _ = std::fs::remove_dir_all(own);
    Ok(())
}

fn times(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("{what}: median {:?}, 99th percentile {:?}", at(50), at(99));
}
