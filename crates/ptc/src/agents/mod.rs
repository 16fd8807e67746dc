//! What commands about agents have in common: missions, models, checkpoints, progress and how answers are shown.

mod checkpoint;
mod conduct;
mod consent;
mod findings;
pub mod highlight;
mod lent;
mod mission;
mod models;
mod progress;
mod recording;
mod remembered;
mod show;

pub use checkpoint::{Checkpoints, RunsPlace, STORE, has_runs, quoted, usual};
pub use conduct::{Conduct, From, Output, asked_to_stop, conduct, finish, runtime};
pub use consent::{Decisions, shown as shown_call};
pub use findings::is_made_again;
pub use lent::{config as upstreams_config, lend as lend_upstreams};
pub use mission::{Inputs, Mission, ReadyMission};
pub use models::{Models, available};
pub use recording::{missing, restore, restore_as, restore_with, subject};
pub use show::{Shown, document, grouped, may_go_on, several};
