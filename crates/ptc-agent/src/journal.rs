//! Journal, plan and progress.
