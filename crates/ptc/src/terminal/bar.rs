//! The line that changes while something goes on. `indicatif` draws it past the filter of this module's streams, so
//! what it is told passes [`plain`] here.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::plain;

/// How often the line changes.
const TICK: Duration = Duration::from_millis(100);

/// A line on standard error that changes.
#[derive(Clone)]
pub struct Bar(ProgressBar);

impl Bar {
    /// Begins the line.
    pub fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}");
        let bar =
            ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(TICK);
        Bar(bar)
    }

    /// Says what goes on.
    pub fn say(&self, text: &str) {
        self.0.set_message(plain(text));
    }

    /// Has something printed where the line stands, which then comes below it.
    pub fn above(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }

    /// Takes the line away until it is shown again.
    pub fn hide(&self) {
        self.0.disable_steady_tick();
        self.0.set_draw_target(ProgressDrawTarget::hidden());
    }

    /// Brings the line back.
    pub fn show(&self) {
        self.0.set_draw_target(ProgressDrawTarget::stderr());
        self.0.enable_steady_tick(TICK);
    }

    /// Clears the line for good.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}
