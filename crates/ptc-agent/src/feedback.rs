//! What a model is told after a turn.
