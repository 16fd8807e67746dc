//! Models that need no network.

mod digest;
mod nearest;
mod record;
mod recording;
mod replay;
mod script;

pub use digest::Digest;
pub use record::Recorder;
pub use recording::{Entry, Recording, RecordingError};
pub use replay::Replay;
pub use script::{Script, ScriptError};
