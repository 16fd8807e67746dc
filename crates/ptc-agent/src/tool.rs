//! Tools of an agent.
