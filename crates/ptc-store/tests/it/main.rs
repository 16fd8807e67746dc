//! The store from outside: its rules in every kind of place, and what it keeps when processes race and die.

mod copies;
mod damaged;
mod effects;
mod eventually;
mod identity;
mod looked;
mod postgres;
mod processes;
mod requests;
mod rules;
mod runs;
mod sessions;
mod shelf;
mod skip;
mod stuck;
mod support;
mod tickets;
