//! Shortens conversations.
