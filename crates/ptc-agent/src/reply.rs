//! Reads what a model answered.
