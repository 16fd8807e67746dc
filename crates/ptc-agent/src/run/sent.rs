//! What of a request events have not told yet: the first event of a run tells all of it, later ones what is other than in
//! the request before. Whoever reads a trace puts requests together again.

use std::hash::{DefaultHasher, Hasher as _};

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::model::{Message, Request};

/// What the last event told, as hashes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sent {
    system: u64,
    tools: u64,
    messages: Vec<u64>,
}

impl Sent {
    /// Adds to the facts of a request what is new in it: `system`, `tools`, and `sent`, the messages behind the first
    /// `kept`. `cover` hides what events must not show.
    pub fn tell(&mut self, request: &Request, facts: &mut Json, cover: impl Fn(&str) -> String) {
        let now = Sent {
            system: hash(&request.system),
            tools: hash(&request.tools),
            messages: request.messages.iter().map(hash).collect(),
        };
        let kept = now.messages.iter().zip(&self.messages).take_while(|(new, old)| new == old).count();
        if now.system != self.system {
            facts["system"] = json!(cover(&request.system));
        }
        if now.tools != self.tools && !request.tools.is_empty() {
            facts["tools"] = json!(request.tools);
        }
        facts["kept"] = json!(kept);
        facts["sent"] = request.messages[kept..].iter().map(|message| told(message, &cover)).collect();
        *self = now;
    }
}

fn told(message: &Message, cover: &impl Fn(&str) -> String) -> Json {
    let mut told = json!({"role": message.role, "content": cover(&message.content)});
    if !message.tool_calls.is_empty() {
        let call = |name: &str, args: &Json| json!({"name": name, "args": cover(&args.to_string())});
        told["tool_calls"] = message.tool_calls.iter().map(|one| call(&one.name, &one.args)).collect();
    }
    told
}

fn hash(part: &impl Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&serde_json::to_vec(part).unwrap_or_default());
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_told_again() {
        let message = |text: &str| Message::user(text);
        let mut request = Request { system: "rules".to_owned(), ..Request::default() };
        let mut sent = Sent::default();
        let mut tell = |request: &Request| {
            let mut facts = json!({});
            sent.tell(request, &mut facts, |text| text.replace("secret", "…"));
            facts
        };
        request.messages = vec![message("one"), message("a secret")];
        let first = json!({"system": "rules", "kept": 0, "sent": [
            {"role": "user", "content": "one"}, {"role": "user", "content": "a …"}]});
        assert_eq!(tell(&request), first);
        request.messages.push(message("three"));
        assert_eq!(tell(&request), json!({"kept": 2, "sent": [{"role": "user", "content": "three"}]}));
        // What was shortened is told from there on.
        request.messages = vec![message("one"), message("short")];
        assert_eq!(tell(&request), json!({"kept": 1, "sent": [{"role": "user", "content": "short"}]}));
        assert_eq!(tell(&request), json!({"kept": 2, "sent": []}));
    }
}
