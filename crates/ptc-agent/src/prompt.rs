//! Prompts, from cards in files.
