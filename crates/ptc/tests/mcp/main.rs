//! The MCP server as clients meet it: the real command over pipes and sockets. Numbers of rules are those of the
//! specification of the server's behaviour.

#![allow(clippy::unwrap_used)]

mod agents;
mod approval;
mod asking;
mod backups;
mod clients;
mod coding;
mod command;
mod damaged;
mod decided;
mod doors;
mod durable;
mod effects;
#[path = "../../../ptc-store/tests/it/eventually.rs"]
mod eventually;
mod fairness;
mod fleet;
#[path = "../shared/flood.rs"]
mod flood;
mod grants;
mod guarded;
mod http;
mod keys;
mod killed;
mod kills;
mod late;
mod moved;
mod natural;
mod nginx;
mod page;
#[path = "../shared/port.rs"]
mod port;
#[path = "../../../ptc-store/tests/it/postgres.rs"]
mod postgres;
mod recordings;
mod remembered;
mod replicas;
mod retrying;
mod security;
#[path = "../shared/servers.rs"]
mod servers;
// Tests of the other commands use the rest of it.
#[allow(dead_code)]
#[path = "../shared/shell_server.rs"]
mod shell_server;
mod sixteen;
#[path = "../../../ptc-store/tests/it/skip.rs"]
mod skip;
mod stale;
mod stdio;
mod support;
mod tasks;
mod upkeep;
mod upstreams;
// Tests of the command use the rest of it.
#[allow(dead_code)]
#[path = "../cli/world.rs"]
mod world;
