//! Measures what the journal of calls takes: bytes of a call on the disk and in the log, and the time to write one down.
//!
//! `cargo run --release -p ptc-store --example journal [CALLS] [BYTES] [PLACE]`: so many calls with arguments and answers
//! of so many bytes each, into a store that is not there yet or on a server.

#![allow(clippy::print_stdout)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ptc_store::Store;
use ptc_store::effects::{Effects, NewEffect};
use serde_json::json;

fn main() -> ExitCode {
    match measured() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn measured() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let calls: u32 = args.next().map_or(Ok(10_000), |text| text.parse())?;
    let bytes: usize = args.next().map_or(Ok(200), |text| text.parse())?;
    let own = std::env::temp_dir().join(format!("ptc-journal-{}", std::process::id()));
    let place = args.next().unwrap_or_else(|| own.join("store.db").to_string_lossy().into_owned());
    let effects = Effects::new(Arc::new(Store::open(&place)?));
    let text = json!("x".repeat(bytes));
    let (mut begun, mut done) = (Vec::new(), Vec::new());
    for number in 0..calls {
        let (scope, identity) = (format!("request {number}"), format!("{number:032x}"));
        let call = NewEffect { identity: &identity, server: "crm", tool: "put", args: &text };
        let began = Instant::now();
        effects.begin(&scope, &call)?;
        begun.push(began.elapsed());
        let began = Instant::now();
        effects.done(&scope, &identity, &text)?;
        done.push(began.elapsed());
    }
    println!("{calls} calls with {bytes} bytes of arguments and {bytes} bytes of answer each, in {place}");
    told("written down before it is sent (on the disk)", &mut begun);
    told("its answer written down (a note)", &mut done);
    let size = |ending: &str| std::fs::metadata(format!("{place}{ending}")).map_or(0, |meta| meta.len());
    let log = size("-wal");
    // The last one that closes the file copies the log into it.
    drop(effects);
    let file = size("");
    if file > 0 {
        println!(
            "{log} bytes of log at the end, {} bytes of file for each call",
            file / u64::from(calls.max(1))
        );
        println!(
            "a day of one call a second would take {} bytes until it is forgotten",
            per_day(file, calls)
        );
    }
    // There is none where somebody named a place.
    let _ = std::fs::remove_dir_all(own);
    Ok(())
}

fn per_day(file: u64, calls: u32) -> u64 {
    file / u64::from(calls.max(1)) * 86_400
}

fn told(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("{what}: median {:?}, 99th percentile {:?}", at(50), at(99));
}
