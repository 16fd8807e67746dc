//! The one renderer: everything a model sees of values passes it.
