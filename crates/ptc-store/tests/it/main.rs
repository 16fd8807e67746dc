//! The store from outside: its rules in every kind of place, and what it keeps when processes race and die.

mod effects;
mod postgres;
mod processes;
mod rules;
mod runs;
mod sessions;
mod shelf;
mod skip;
mod support;
mod tickets;
