//! Runs of agents on scripted models: what is asked, what is answered, what comes of it.

mod content;
mod support;
