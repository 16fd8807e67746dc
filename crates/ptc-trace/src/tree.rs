//! A trace as a tree of spans, with the sums that lists show. Built in one pass, so it works on a file that is
//! still being written; a span can only lie inside one that came before it, so no file makes a cycle.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::reader::Trace;
use crate::record::{Phase, Record};

/// A span: something that began and maybe ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Node {
    /// Its id.
    pub id: String,
    /// The number of the span around it.
    pub parent: Option<usize>,
    /// The spans directly inside it.
    pub children: Vec<usize>,
    /// What it is: `run`, `turn`, `llm`, `lisp.execute`, `pmap`, `tool`, `upstream.call`, …
    pub subject: String,
    /// How deep it lies.
    pub depth: usize,
    /// When it began, in milliseconds since 1970.
    pub start: u64,
    /// When it ended; not at all if it goes on, or the trace stopped before.
    pub end: Option<u64>,
    /// `ok` or `error`, where it ended.
    pub status: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<u64>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Everything else that was said of it.
    pub data: Map<String, Json>,
}

/// What a list of traces shows of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The trace.
    pub trace_id: String,
    /// What it is of: `agent_run`, `mcp_call`, …
    pub kind: String,
    /// What to call it: the agent, or the label that it was given.
    pub label: String,
    /// The mission or program, as much as the policy kept.
    pub mission: Json,
    /// `ok`, `error`, or `running` where it has no end.
    pub status: String,
    /// Why it failed.
    pub reason: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How much of payloads was kept.
    pub policy: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started: u64,
    /// How long it took, up to its last event.
    pub duration_ms: u64,
    /// Turns of all agents.
    pub turns: usize,
    /// Agents, the outermost included.
    pub agents: usize,
    /// Questions to models.
    pub llm_calls: usize,
    /// Calls of tools that were made: neither refused nor answered from the cache.
    pub tool_calls: usize,
    /// Spans that failed.
    pub errors: usize,
    /// Tokens of requests.
    pub input_tokens: u64,
    /// Tokens of replies.
    pub output_tokens: u64,
    /// What models cost, in dollars, where their prices are known.
    pub cost_usd: Option<f64>,
    /// Work of programs.
    pub fuel: u64,
    /// Bytes of results that programs saw.
    pub bytes: u64,
    /// Events that were dropped or left out.
    pub lost: u64,
}

/// A trace, understood.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Tree {
    /// Its sums.
    pub summary: Summary,
    /// Its spans, in the order in which they began.
    pub nodes: Vec<Node>,
    /// The outermost spans.
    pub roots: Vec<usize>,
    /// Events that belong to no span.
    pub loose: Vec<Record>,
}

/// Levels of spans that are told apart; deeper ones hang beside each other.
const MAX_DEPTH: usize = 200;

impl Tree {
    /// Understands a trace.
    pub fn of(trace: &Trace) -> Self {
        let mut tree = Tree::default();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for record in &trace.records {
            if record.event.starts_with("trace.") {
                tree.header(record);
                continue;
            }
            let known = record.span_id.as_deref().and_then(|id| places.get(id).copied());
            let at = match (known, record.span_id.as_deref(), record.phase()) {
                // A span that begins again is another one, in a trace of two runs with one id.
                (Some(at), _, phase) if phase != Phase::Start => at,
                (_, Some(id), phase) if phase != Phase::Point => {
                    let at = tree.grow(record, id, &places);
                    places.insert(id, at);
                    at
                }
                _ => {
                    tree.loose.push(record.clone());
                    continue;
                }
            };
            tree.nodes[at].take(record);
        }
        tree.sum(trace);
        tree
    }

    fn header(&mut self, record: &Record) {
        let text = |name: &str| record.data.get(name).and_then(Json::as_str).map(str::to_owned);
        let summary = &mut self.summary;
        match record.event.as_str() {
            "trace.start" => {
                summary.kind = text("trace_kind").unwrap_or_default();
                summary.label = text("trace_label").unwrap_or_default();
                summary.policy = text("payload_policy");
            }
            "trace.stop" => {
                summary.status = record.status.clone().unwrap_or_default();
                let count = |name: &str| record.data.get(name).and_then(Json::as_u64).unwrap_or(0);
                summary.lost = summary.lost.saturating_add(count("omitted")).saturating_add(count("shed"));
            }
            _ => summary.lost = summary.lost.saturating_add(1),
        }
    }

    fn grow(&mut self, record: &Record, id: &str, places: &BTreeMap<&str, usize>) -> usize {
        let at = self.nodes.len();
        let around = record.parent_span_id.as_deref().and_then(|id| places.get(id).copied());
        let parent = around.map(|parent| match self.nodes[parent].depth >= MAX_DEPTH {
            true => self.nodes[parent].parent.unwrap_or(parent),
            false => parent,
        });
        let depth = parent.map_or(0, |parent| self.nodes[parent].depth + 1);
        match parent {
            Some(parent) => self.nodes[parent].children.push(at),
            None => self.roots.push(at),
        }
        let subject = record.subject().to_owned();
        let start = record.timestamp;
        self.nodes.push(Node { id: id.to_owned(), parent, depth, subject, start, ..Node::default() });
        at
    }

    fn sum(&mut self, trace: &Trace) {
        let summary = &mut self.summary;
        let first = trace.records.first();
        summary.trace_id = first.map(|record| record.trace_id.clone()).unwrap_or_default();
        summary.started = trace.records.iter().map(|record| record.timestamp).min().unwrap_or(0);
        let last = trace.records.iter().map(|record| record.timestamp).max().unwrap_or(0);
        summary.duration_ms = last.saturating_sub(summary.started);
        let count = |node: &Node, name: &str| node.data.get(name).and_then(Json::as_u64).unwrap_or(0);
        let is = |node: &Node, name: &str| node.data.get(name) == Some(&Json::Bool(true));
        for node in &self.nodes {
            summary.errors += usize::from(node.status.as_deref() == Some("error"));
            match node.subject.as_str() {
                "run" => summary.agents += 1,
                "turn" => summary.turns += 1,
                "lisp.execute" => summary.fuel = summary.fuel.saturating_add(count(node, "fuel")),
                "llm" => {
                    summary.llm_calls += 1;
                    summary.input_tokens =
                        summary.input_tokens.saturating_add(node.input_tokens.unwrap_or(0));
                    summary.output_tokens =
                        summary.output_tokens.saturating_add(node.output_tokens.unwrap_or(0));
                    summary.model = summary.model.take().or_else(|| node.model.clone());
                }
                "tool" | "upstream.call" => {
                    summary.tool_calls += usize::from(!is(node, "cached") && !is(node, "refused"));
                    summary.bytes = summary.bytes.saturating_add(count(node, "result_bytes"));
                }
                _ => {}
            }
        }
        let Some(root) = self.roots.first().map(|root| &self.nodes[*root]) else {
            summary.status = "running".to_owned();
            return;
        };
        if summary.label.is_empty() {
            summary.label = root.agent.clone().unwrap_or_else(|| match root.subject.as_str() {
                "run" => "agent".to_owned(),
                other => other.to_owned(),
            });
        }
        if summary.status.is_empty() {
            summary.status = root.status.clone().unwrap_or_else(|| "running".to_owned());
        }
        let found = ["mission", "program", "query"].iter().find_map(|name| root.data.get(*name));
        summary.mission = found.cloned().unwrap_or_default();
        summary.cost_usd = root.data.get("cost_usd").and_then(Json::as_f64);
        summary.reason = root.data.get("reason").and_then(Json::as_str).map(str::to_owned);
    }

    /// The spans in the order of a depth-first walk.
    pub fn walk(&self) -> Vec<usize> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut open: Vec<usize> = self.roots.iter().rev().copied().collect();
        while let Some(at) = open.pop() {
            order.push(at);
            open.extend(self.nodes[at].children.iter().rev());
        }
        order
    }
}

impl Node {
    fn take(&mut self, record: &Record) {
        fn fill<T: Clone>(own: &mut Option<T>, new: &Option<T>) {
            if new.is_some() {
                own.clone_from(new);
            }
        }
        fill(&mut self.agent, &record.agent_name);
        fill(&mut self.turn, &record.turn);
        fill(&mut self.tool, &record.tool_name);
        fill(&mut self.model, &record.model);
        fill(&mut self.input_tokens, &record.input_tokens);
        fill(&mut self.output_tokens, &record.output_tokens);
        if matches!(record.phase(), Phase::Stop | Phase::Exception) {
            self.end = Some(record.timestamp.max(self.start));
            fill(&mut self.status, &record.status);
        }
        for (name, value) in &record.data {
            self.data.insert(name.clone(), value.clone());
        }
    }
}
