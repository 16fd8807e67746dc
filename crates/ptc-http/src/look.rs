//! What the pages of all servers look like: colours and fonts, once.

/// The style sheet with the colours and fonts of pages.
pub const PALETTE: &str = include_str!("../assets/palette.css");
