//! What to say about a request that was never recorded: the nearest that was, and the first difference.

use ptc_agent::model::Request;
use similar::{ChangeTag, TextDiff};

use super::recording::{Entry, Recording};

/// Lines of the difference that a message shows.
const SHOWN: usize = 12;

/// Characters of a request that are compared; what differs far behind differs in front too, as a rule.
const COMPARED: usize = 20_000;

/// A message about a request that is not in the recording.
pub(super) fn miss(recording: &Recording, request: &Request, digest: &str) -> String {
    let text = readable(request);
    let nearest = recording
        .entries()
        .iter()
        .map(|entry| (similarity(&text, &readable(&entry.request)), entry))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let Some((likeness, entry)) = nearest else {
        return format!("the recording is empty, so it has no reply to request {digest}");
    };
    let percent = (likeness * 100.0).round();
    format!(
        "the recording has no reply to request {digest}; the nearest is {} (entry {}, {percent}% alike). \
         It differs here (- recorded, + asked now):\n{}",
        entry.digest.short(),
        position(recording, entry),
        difference(&readable(&entry.request), &text)
    )
}

fn position(recording: &Recording, entry: &Entry) -> usize {
    recording.entries().iter().position(|other| std::ptr::eq(other, entry)).map_or(0, |at| at + 1)
}

/// A request as text, a line per line of what a model reads.
fn readable(request: &Request) -> String {
    let mut text = format!("system:\n{}\n", request.system);
    for message in &request.messages {
        text.push_str(&format!("{:?}:\n{}\n", message.role, message.content));
        for call in &message.tool_calls {
            text.push_str(&format!("call {} {}\n", call.name, call.args));
        }
    }
    for tool in &request.tools {
        text.push_str(&format!("tool {} {}\n", tool.name, tool.parameters));
    }
    if let Some(schema) = &request.schema {
        text.push_str(&format!("schema {schema}\n"));
    }
    let end = text.char_indices().nth(COMPARED).map_or(text.len(), |(at, _)| at);
    text.truncate(end);
    text
}

fn similarity(one: &str, other: &str) -> f32 {
    TextDiff::from_lines(one, other).ratio()
}

fn difference(recorded: &str, asked: &str) -> String {
    let diff = TextDiff::from_lines(recorded, asked);
    let changed = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let mut lines: Vec<String> = changed
        .take(SHOWN + 1)
        .map(|change| {
            let sign = if change.tag() == ChangeTag::Delete { '-' } else { '+' };
            format!("{sign} {}", change.value().trim_end_matches('\n'))
        })
        .collect();
    if lines.len() > SHOWN {
        lines.truncate(SHOWN);
        lines.push("…".to_owned());
    }
    lines.join("\n")
}
