//! The tools `grep` and `grep-n`.
