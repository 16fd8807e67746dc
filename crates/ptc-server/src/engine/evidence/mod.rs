//! `evidence/`: a bundle of texts and figures that an operator lays out for programs of sessions. What is read is told in
//! the log of turns, with checksums.

mod manifest;

use std::sync::Arc;

use serde_json::{Value as Json, json};

use self::manifest::EvidenceKind;
use super::host::{Host, HostNamespace, OwnTool, Witness, page, refused};
use super::roles::{Policy, Role};
use super::text::{cut, json_bytes};

/// Entries of a page.
const LIMITS: (usize, usize) = (50, 100);

/// The names of the tools.
pub const NAMES: [&str; 3] = ["evidence_bundle", "evidence_read", "evidence_page"];

/// A bundle, as far as models may see it.
#[derive(Debug)]
pub struct Bundle {
    id: String,
    max_item_bytes: usize,
    items: Vec<Item>,
}

/// One item, read when the server started.
#[derive(Debug)]
struct Item {
    id: String,
    kind: EvidenceKind,
    title: Option<String>,
    source_ref: String,
    checksum: String,
    bytes: usize,
    content: EvidenceContent,
}

#[derive(Debug)]
enum EvidenceContent {
    Text(String),
    Data(Json),
}

impl Item {
    fn about(&self) -> Json {
        json!({
            "id": self.id,
            "kind": self.kind.name(),
            "title": self.title,
            "source_ref": self.source_ref,
            "checksum": self.checksum,
            "bytes": self.bytes,
        })
    }
}

impl Bundle {
    fn list(&self) -> Json {
        let items: Vec<Json> = self.items.iter().map(Item::about).collect();
        json!({"status": "ok", "schema_version": 1, "bundle_id": self.id, "items": items})
    }

    fn find(&self, args: &Json) -> Result<&Item, Json> {
        let id = args["id"].as_str().ok_or_else(|| refused("invalid_argument", "id must be a string"))?;
        let missing = || refused("not_found", "there is no such item; (evidence/bundle) lists all");
        self.items.iter().find(|item| item.id == id).ok_or_else(missing)
    }

    /// Notes a read for the log of turns.
    fn note(&self, item: &Item, bytes: usize, truncated: bool, witness: &Witness) {
        witness.read(json!({
            "bundle_id": self.id,
            "item_id": item.id,
            "source_ref": item.source_ref,
            "checksum": item.checksum,
            "bytes": bytes,
            "truncated": truncated,
        }));
    }

    fn read(&self, args: &Json, witness: &Witness) -> Result<Json, Json> {
        let item = self.find(args)?;
        let mut answer = item.about();
        let (key, value, bytes, truncated) = match &item.content {
            EvidenceContent::Text(text) => {
                let shown = cut(text, self.max_item_bytes);
                ("content", Json::from(shown), shown.len(), shown.len() < text.len())
            }
            EvidenceContent::Data(data) => match json_bytes(data) {
                bytes if bytes <= self.max_item_bytes => ("value", data.clone(), bytes, false),
                _ => {
                    let text = data.to_string();
                    let shown = cut(&text, self.max_item_bytes);
                    ("content", Json::from(shown), shown.len(), true)
                }
            },
        };
        answer["status"] = "ok".into();
        answer[key] = value;
        answer["truncated"] = truncated.into();
        self.note(item, bytes, truncated, witness);
        Ok(answer)
    }

    fn page(&self, args: &Json, witness: &Witness) -> Result<Json, Json> {
        let item = self.find(args)?;
        let entries: Vec<Json> = match &item.content {
            EvidenceContent::Text(text) => {
                text.lines().map(|line| cut(line, self.max_item_bytes).into()).collect()
            }
            EvidenceContent::Data(Json::Array(entries)) => entries.clone(),
            EvidenceContent::Data(Json::Object(fields)) => {
                fields.iter().map(|(key, value)| json!({"key": key, "value": value})).collect()
            }
            EvidenceContent::Data(other) => vec![other.clone()],
        };
        let mut answer = page(args, &entries, LIMITS.0, LIMITS.1)?;
        // Fewer entries where they are large: a page is no way around the bound of a read.
        let first = args["cursor"].as_str().and_then(|at| at.parse::<usize>().ok()).unwrap_or(0);
        while json_bytes(&answer["items"]) > self.max_item_bytes {
            let Some(items) = answer["items"].as_array_mut().filter(|items| items.len() > 1) else {
                return Err(refused("too_large", "an entry of this item is larger than a read may be"));
            };
            items.pop();
            let next = first + items.len();
            answer["next_cursor"] = next.to_string().into();
            answer["has_more"] = true.into();
        }
        let bytes = json_bytes(&answer["items"]);
        answer["status"] = "ok".into();
        answer["id"] = item.id.as_str().into();
        answer["checksum"] = item.checksum.as_str().into();
        self.note(item, bytes, answer["has_more"] == true, witness);
        Ok(answer)
    }
}

/// The namespace over a bundle.
pub fn part(bundle: Bundle) -> HostNamespace {
    let bundle = Arc::new(bundle);
    let tool = |name: &'static str, run: fn(&Bundle, &Json, &Witness) -> Result<Json, Json>| {
        let bundle = bundle.clone();
        let run =
            move |args: &Json, witness: &Witness| run(&bundle, args, witness).unwrap_or_else(|error| error);
        OwnTool { name, run: Arc::new(run) }
    };
    let tools = vec![
        tool(NAMES[0], |bundle, _, _| Ok(bundle.list())),
        tool(NAMES[1], Bundle::read),
        tool(NAMES[2], Bundle::page),
    ];
    HostNamespace { id: "evidence", source: include_str!("../evidence.clj"), tools }
}

/// Roles that leave nothing of the evidence, which is hardly meant.
pub fn unreachable(host: &Host, policy: &Policy) -> Vec<String> {
    if !host.names().any(|name| NAMES.contains(&name)) {
        return Vec::new();
    }
    let blind = |role: &Role| !NAMES.iter().any(|name| role.allows_tool(name));
    let blind = policy.roles.iter().filter(|(_, role)| blind(role));
    blind
        .map(|(name, _)| {
            format!("role_evidence_tools_unreachable: role {name} grants no tool of the evidence")
        })
        .collect()
}
