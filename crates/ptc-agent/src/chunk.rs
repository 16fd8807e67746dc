//! Splits long texts.
