//! Ports for servers that are told theirs instead of choosing one, or that come back to the one they had.

use std::fs::{self, File};
use std::net::TcpListener;

/// Below the ports that the system gives to connections and to who asks for any: nobody gets one of these by chance.
const OWN: std::ops::Range<u16> = 15_000..32_000;

/// A port that is this process's until it ends, also while nothing listens there.
pub fn own_port() -> u16 {
    let taken = std::env::temp_dir().join("ptc-test-ports");
    fs::create_dir_all(&taken).expect("a folder");
    let begin = std::process::id() as usize * 16 % OWN.len();
    for port in OWN.cycle().skip(begin).take(OWN.len()) {
        let lock = File::create(taken.join(port.to_string())).expect("a file");
        if lock.try_lock().is_ok() && TcpListener::bind(("127.0.0.1", port)).is_ok() {
            // Held until the process ends, however it does.
            std::mem::forget(lock);
            return port;
        }
    }
    panic!("no port is left");
}
