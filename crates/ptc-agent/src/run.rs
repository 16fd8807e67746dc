//! The run of an agent as a state machine.
