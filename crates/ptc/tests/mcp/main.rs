//! The MCP server as clients meet it: the real command over pipes and sockets. Numbers of rules are those of the
//! specification of the server's behaviour.

#![allow(clippy::unwrap_used)]

mod clients;
mod command;
mod http;
mod nginx;
mod security;
mod stdio;
mod support;
mod upstreams;
