//! Events of a run, and the numbers of asks and spans.

use serde_json::{Map, Value as Json, json};

use super::node::Node;
use super::{Asked, Shared};
use crate::event::Event;
use crate::render::{self, Limits};

impl Shared {
    /// Puts something on the list of what is needed.
    pub fn ask(&mut self, asked: Asked) -> u64 {
        let id = self.next_ask;
        self.next_ask = self.next_ask.wrapping_add(1);
        self.asks.insert(id, asked);
        self.fresh.push(id);
        id
    }

    /// A new span: eight hexadecimal digits, the same in every run.
    pub fn span(&mut self) -> String {
        self.next_span = self.next_span.wrapping_add(1);
        let seed = format!("{}/{}", self.trace_id, self.next_span);
        format!("{:08x}", crate::hash::fnv(seed.as_bytes()) as u32)
    }

    /// Notes that something happened.
    pub fn event(&mut self, node: &Node, name: &str, measurements: Json, metadata: Json) {
        self.events.push(Event {
            event: name.to_owned(),
            timestamp: self.now,
            span_id: node.span.clone(),
            parent_span_id: node.parent_span.clone(),
            agent_name: node.agent.options().name.clone(),
            agent_id: node.agent.id().to_owned(),
            measurements: fields(measurements),
            metadata: fields(metadata),
        });
    }

    /// Notes the end of the turn that was closed last.
    pub fn turn_stop(&mut self, node: &Node) {
        let Some(turn) = node.book.turns.last() else { return };
        let limits = Limits { items: 50, chars: 4_096 };
        let preview = render::brief_json(&turn.result, limits, node.agent.options().firewall);
        let mut facts = json!({
            "turn": turn.number,
            "type": turn.kind,
            "program": turn.program.as_deref().map(|program| node.veil.cover(program).into_owned()),
            "result_preview": &*node.veil.cover(&preview),
            "prints": turn.prints,
            "success": turn.success,
        });
        if turn.program.is_none() {
            facts["raw_response"] = json!(&*node.veil.cover(&turn.raw_response));
        }
        let measured = json!({"duration": self.now.saturating_sub(node.book.turn_began), "fuel": turn.fuel});
        self.event(node, "turn.stop", measured, facts);
    }
}

fn fields(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(fields) => fields,
        _ => Map::new(),
    }
}
