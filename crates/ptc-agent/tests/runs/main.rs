//! Runs of agents on scripted models: what is asked, what is answered, what comes of it.

mod approval;
mod budget;
mod chain;
mod clock;
mod combined;
mod content;
mod contracts;
mod definition;
mod ends;
mod firewall;
mod guards;
mod isolation;
mod kept;
mod keys;
mod missions;
mod once;
mod pairing;
mod preludes;
mod prompts;
mod reasons;
mod retries;
mod save;
mod seeds;
mod steps;
mod support;
mod text;
mod thoughts;
mod tokens;
mod tool_call;
mod tools;
mod transcript;
mod typed;
mod written;

use ptc_agent::model;
