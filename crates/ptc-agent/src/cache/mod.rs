//! Results of tools, kept for the length of a run (or of a chat) and found again by canonical key.
//!
//! Results stay within limits in bytes, per tool and in all. What was used longest ago goes first, and
//! everything that goes is listed, so that the run can tell the model.
//!
//! | file | what it knows |
//! |---|---|
//! | `key` | when two calls are the same |
//! | `store` | what is kept, and what has to go |

mod key;
mod store;

pub(crate) use key::CacheKey;
pub(crate) use store::{CacheLimits, ToolCache, evictions_note, json_bytes};
