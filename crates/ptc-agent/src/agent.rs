//! The definition of an agent.
