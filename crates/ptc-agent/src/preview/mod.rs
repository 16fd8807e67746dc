//! What a model sees of a result that is kept for programs.
