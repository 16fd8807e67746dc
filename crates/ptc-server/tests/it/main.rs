//! The server's tests: the engine without a transport, and the server with real clients.

mod engine;
mod options;
mod wiring;
