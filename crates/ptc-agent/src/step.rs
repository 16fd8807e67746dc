//! What comes of a run.
