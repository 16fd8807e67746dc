//! What happened, for traces.
