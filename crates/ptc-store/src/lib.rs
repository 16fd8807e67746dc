//! What outlives a process: preludes, runs, sessions and journals.
