//! Plans: what a program would change, written down to be looked at and then done exactly so.
//!
//! `make.rs` runs a program with its writes held back, `apply.rs` makes the calls of a plan, for the one process that applies it
//! (`applying.rs`). The document is JSON with
//! a version and a checksum. It has no secrets: arguments that hold one are refused.

pub mod apply;
pub mod applying;
pub mod make;
pub mod store;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use ptc_upstream::pins::digest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use store::Bound;

/// The version of the document.
const VERSION: u32 = 1;
/// Characters of an id.
const ID: usize = 20;

/// What a program would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The version of the document.
    ptc_plan: u32,
    /// What tells it from every other plan; calls are journalled under it.
    pub id: String,
    /// When it was made.
    made: String,
    /// The program.
    program: Hashed,
    /// The artifact of its preludes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prelude: Option<String>,
    /// Hashes of its inputs by name.
    inputs: BTreeMap<String, String>,
    /// The configuration of the upstreams.
    pub upstreams: Hashed,
    /// The store that it belongs to, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Bound>,
    /// Hashes of the definitions of all tools that it calls, by `server/tool`.
    pub tools: BTreeMap<String, String>,
    /// What it read, in order.
    pub reads: Vec<Read>,
    /// What it would change, in order.
    pub writes: Vec<Write>,
    /// Whether the list is all that the program does.
    pub complete: bool,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// What whoever looks at it should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The hash of everything else.
    #[serde(default)]
    checksum: String,
}

/// A file that was used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hashed {
    /// Its name, or where it is.
    pub name: PathBuf,
    /// The hash of its text.
    pub sha256: String,
}

impl Hashed {
    pub fn new(name: impl Into<PathBuf>, text: &str) -> Hashed {
        Hashed { name: name.into(), sha256: digest(&json!(text)) }
    }
}

/// Something that was read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// The call or the question.
    #[serde(flatten)]
    pub asked: Asked,
    /// The hash of the answer.
    pub answer: String,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asked {
    /// A tool.
    Call(Call),
    /// What there is.
    Question(Json),
}

impl std::fmt::Display for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Asked::Call(call) => write!(f, "{call}"),
            Asked::Question(question) => write!(f, "the question {question}"),
        }
    }
}

/// A call of an upstream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The upstream.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// All arguments.
    pub args: Map<String, Json>,
}

impl Call {
    /// The call as programs make it.
    pub fn to_json(&self) -> Json {
        json!({"server": self.server, "tool": self.tool, "args": self.args})
    }

    /// `server/tool`.
    pub fn target(&self) -> String {
        format!("{}/{}", self.server, self.tool)
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.target(), Json::Object(self.args.clone()))
    }
}

/// A call that was held back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// The call.
    pub call: Call,
    /// `write` or `unknown`.
    pub effect: String,
    /// Where it stands in the program: `line:column`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// What a plan is made from.
#[derive(Debug)]
pub struct PlanOrigin {
    pub program: Hashed,
    pub prelude: Option<String>,
    pub inputs: BTreeMap<String, String>,
    pub upstreams: Hashed,
    pub store: Option<Bound>,
}

impl Plan {
    /// The document of what a program would change.
    pub fn new(origin: PlanOrigin, made: make::Made) -> Plan {
        let now = jiff::Timestamp::now();
        let mut plan = Plan {
            ptc_plan: VERSION,
            id: String::new(),
            made: now.to_string(),
            program: origin.program,
            prelude: origin.prelude,
            inputs: origin.inputs,
            upstreams: origin.upstreams,
            store: origin.store,
            tools: made.tools,
            reads: made.reads,
            writes: made.writes,
            complete: made.stopped.is_none(),
            stopped: made.stopped,
            notes: made.notes,
            checksum: String::new(),
        };
        let unique = json!([plan.writes, now.as_nanosecond().to_string(), std::process::id()]);
        plan.id = digest(&unique).chars().take(ID).collect();
        plan.checksum = sum(json!(plan));
        plan
    }

    /// The document as text.
    pub fn text(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Reads a plan that nobody has changed.
    pub fn read(path: &Path) -> anyhow::Result<Plan> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        let json: Json =
            serde_json::from_str(&text).map_err(|error| anyhow!("{shown} is no plan: {error}"))?;
        match json["ptc_plan"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => bail!("{shown} has version {version} of plans, known is {VERSION}"),
            None => bail!("{shown} is no plan; `ptc plan PROGRAM -o PLAN` makes one"),
        }
        if json["checksum"] != sum(json.clone()).as_str() {
            bail!("{shown} was changed after it was made, so it is not applied; make a new plan");
        }
        if json["store"].is_string() {
            bail!("{shown} names its store by the place alone, as earlier versions did; make a new plan");
        }
        serde_json::from_value(json).map_err(|error| anyhow!("{shown} is no plan: {error}"))
    }
}

/// The hash of everything but the checksum.
fn sum(mut document: Json) -> String {
    if let Some(fields) = document.as_object_mut() {
        fields.remove("checksum");
    }
    digest(&document)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let origin = PlanOrigin {
            program: Hashed::new("p.clj", "(+ 1 2)"),
            prelude: None,
            inputs: BTreeMap::new(),
            upstreams: Hashed::new("u.json", "{}"),
            store: None,
        };
        Plan::new(origin, make::Made::default())
    }

    #[test]
    fn every_plan_is_another_one_and_keeps_its_sum() {
        let (one, two) = (plan(), plan());
        assert_ne!(one.id, two.id);
        let again: Json = serde_json::from_str(&one.text().expect("text")).expect("JSON");
        assert_eq!(sum(again.clone()), one.checksum);
        assert_eq!(serde_json::from_value::<Plan>(again.clone()).expect("a plan"), one);
        let mut changed = again;
        changed["complete"] = json!(false);
        assert_ne!(sum(changed), one.checksum);
    }
}
