//! What a chat keeps between its runs: definitions, history, journal and cached results, with the conversation.

use std::fmt;

use super::node::Node;
use crate::cache::ToolCache;
use crate::model::Message;
use crate::render::Veil;

/// What a run leaves behind for the next one of the same chat. It can be kept, not looked into.
#[derive(Clone, Default)]
pub struct Carried {
    /// The conversation without system prompts.
    pub(crate) messages: Vec<Message>,
    /// The machine with its definitions and history, as bytes.
    pub(crate) machine: Option<Vec<u8>>,
    pub(crate) cache: ToolCache,
    pub(crate) veil: Veil,
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Definitions may hold what nobody should see in a log.
        f.debug_struct("Carried").field("messages", &self.messages.len()).finish_non_exhaustive()
    }
}

/// What a node that is over leaves behind.
pub(super) fn carried(node: &mut Node) -> Carried {
    let machine = node.sandbox.machine.as_deref().and_then(|machine| machine.dump().ok());
    Carried {
        messages: std::mem::take(&mut node.messages),
        machine,
        cache: std::mem::take(&mut node.cache),
        veil: std::mem::take(&mut node.veil),
    }
}
