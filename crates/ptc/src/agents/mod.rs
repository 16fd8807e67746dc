//! What commands about agents have in common: missions, models, progress and how answers are shown.

mod highlight;
mod mission;
mod models;
mod progress;
mod show;

pub use mission::{Inputs, Mission, Ready};
pub use models::{Models, available};
pub use progress::Progress;
pub use show::{Shown, answer, cost, document, failure, grouped, outcome};
