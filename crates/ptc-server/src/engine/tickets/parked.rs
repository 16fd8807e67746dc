//! What is kept of a program that waits for approval, and what its owner is shown.

use std::collections::BTreeMap;

use ptc_host::{Decision, Held, PendingCall, is_read_alike, visible, visible_json};
use ptc_upstream::Redactor;
use ptc_upstream::redact::COVER;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::super::payload::Upstream;
use super::super::text::cut;
use super::super::upstreams::Used;

/// A program that waits, with all that going on needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Parked {
    /// What is known of it.
    pub head: Head,
    /// The program itself.
    pub held: Held,
}

/// What is known of a program that waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Its text.
    pub source: String,
    /// What its result must be.
    pub schema: Option<Json>,
    /// A digest of what it was granted.
    pub grants: String,
    /// The id of its first ticket, which all later ones share.
    pub scope: String,
    /// Whose connection began it: sessions and kept results are theirs, whichever connection of their account decides.
    #[serde(default)]
    pub owner: String,
    /// A digest of all that people are shown of it; tickets of earlier versions hold none.
    #[serde(default)]
    pub about: String,
    /// What was shown of the tools of the calls that wait, by `server/tool`, as digests of their definitions and the
    /// configuration of their servers.
    #[serde(default)]
    pub shown: BTreeMap<String, String>,
    /// What else it may call, by server, as that was when it stopped.
    #[serde(default)]
    pub used: BTreeMap<String, Used>,
    /// The session it runs in, and how often that had changed when the program began.
    pub session: Option<(String, u64)>,
    /// What earlier parts of it asked of upstreams.
    pub before: Before,
}

/// The account of the parts of a program that are over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Before {
    calls: Vec<Json>,
    /// Whether each of them may have changed something; tickets of earlier versions do not say so.
    #[serde(default)]
    changing: Vec<bool>,
    results: Vec<Json>,
}

impl Before {
    /// The account with one more part.
    pub fn and(mut self, upstream: Option<&Upstream>) -> Before {
        if let Some(upstream) = upstream {
            self.calls.extend(upstream.calls.iter().cloned());
            self.changing.extend(&upstream.changing);
            self.results.extend(upstream.results.iter().cloned());
        }
        self
    }

    /// The calls of these parts.
    pub fn calls(&self) -> &[Json] {
        &self.calls
    }

    /// Whether each of them may have changed something, if that is known of all.
    pub fn changing(&self) -> Option<&[bool]> {
        (self.changing.len() == self.calls.len()).then_some(&self.changing)
    }

    /// Puts the account of earlier parts before that of the last.
    pub fn complete(&self, upstream: Option<&mut Upstream>) {
        if let Some(upstream) = upstream {
            upstream.calls.splice(0..0, self.calls.iter().cloned());
            upstream.results.splice(0..0, self.results.iter().cloned());
        }
    }
}

impl Parked {
    /// As bytes: the length of the head, the head, the program.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Texts and JSON can always be written.
        let head = serde_json::to_vec(&self.head).unwrap_or_default();
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend_from_slice(&head);
        bytes.extend_from_slice(&self.held.to_bytes());
        bytes
    }

    /// From bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Parked, String> {
        let short = || "what is kept of the program is too short".to_owned();
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(short)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| short())?;
        let (head, held) = rest.split_at_checked(length).ok_or_else(short)?;
        let head = serde_json::from_slice(head).map_err(|error| error.to_string())?;
        Ok(Parked { head, held: Held::from_bytes(held).map_err(|error| error.to_string())? })
    }
}

/// The calls that wait, as their owner sees them: whole, with secrets covered.
pub fn shown(pending: &[PendingCall], redactor: &Redactor) -> Vec<Json> {
    let call = |call: &PendingCall| {
        let about = |key: &str| call.about.get(key).cloned();
        let mut shown = json!({
            "call": call.id,
            "server": about("server"),
            "tool": about("tool").unwrap_or_else(|| call.tool.as_str().into()),
            "args": about("args").unwrap_or_else(|| call.args.clone()),
            "effect": about("effect"),
            "description": about("description"),
        });
        redactor.redact_json(&mut shown);
        shown
    };
    pending.iter().map(call).collect()
}

/// A call as people see it who decide: with its arguments as the text that will be sent, and nothing in any text that
/// hides or turns around.
pub fn for_people(call: &Json) -> Json {
    let mut shown = call.clone();
    shown["args_text"] = visible_json(&call["args"]).into();
    for field in ["server", "tool", "effect", "description"] {
        if let Some(text) = call[field].as_str() {
            shown[field] = visible(text).into();
        }
    }
    shown
}

/// Bytes of the arguments of a call that a model is told.
const TOLD_BYTES: usize = 4 << 10;

/// A call as a model sees it, which is to tell its user what waits. Arguments that are long, or that would not arrive as
/// they are sent, stand in it as text, as people see them.
pub fn for_model(call: &Json) -> Json {
    let compact = call["args"].to_string();
    if compact.len() <= TOLD_BYTES && is_read_alike(&compact) {
        return call.clone();
    }
    let mut told = for_people(call);
    let text = told["args_text"].take();
    let text = text.as_str().unwrap_or_default();
    if let Json::Object(fields) = &mut told {
        fields.shift_remove("args");
    }
    told["args_text"] = match cut(text, TOLD_BYTES) {
        whole if whole.len() == text.len() => text.into(),
        head => format!("{head}\n… {} of {} bytes; people see the rest", head.len(), text.len()).into(),
    };
    told
}

/// The tool of a call of an upstream that waits: its server, and its name.
pub fn target(call: &PendingCall) -> Option<(&str, &str)> {
    Some((call.about.get("server")?.as_str()?, call.about.get("tool")?.as_str()?))
}

/// The whole call that an edit of its arguments makes, or that it is made as it stands if they are the same. What covers a
/// secret is no argument.
pub fn edited(call: &PendingCall, args: Json) -> Result<Decision, String> {
    let own = if call.tool.as_str() == "call" { &call.args["args"] } else { &call.args };
    if *own == args {
        return Ok(Decision::Approve);
    }
    if args.to_string().contains(COVER) {
        return Err(format!(
            "the new arguments hold {COVER}, which stands for a secret that is not shown; write the value itself, or \
             approve or reject the call as it is"
        ));
    }
    Ok(Decision::Edit(match (&call.args, call.tool.as_str()) {
        (Json::Object(whole), "call") => {
            let mut whole = whole.clone();
            whole.insert("args".to_owned(), args);
            Json::Object(whole)
        }
        _ => args,
    }))
}
