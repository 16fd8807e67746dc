//! What a program hands to `tool/call`, checked the same way wherever calls are answered. Faults of the
//! program come back as texts that name the bad call, so that it can be mended.

use ptc_host::parts::Extent;
use ptc_lisp::analyze::tool_in_line;
use ptc_lisp::machine::{Answer, ValueKind};
use ptc_lisp::{Error, ErrorKind};
use serde::de::IgnoredAny;
use serde_json::{Map, Value as Json};

use crate::model::{Block, Fault, Payload, Reason};

/// A call of the right shape.
#[derive(Clone, Debug, PartialEq)]
pub struct CallRequest {
    /// The upstream.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Json>,
}

impl CallRequest {
    /// Reads `{server, tool, args}`; `servers` are the configured names, for the message.
    pub fn parse(call: Json, servers: &dyn Fn() -> String) -> Result<CallRequest, String> {
        let Json::Object(mut fields) = call else {
            return Err(format!("tool/call requires a map, got {}", shown(&call)));
        };
        let server = match text(fields.remove("server")) {
            Ok(server) => server,
            Err(got) => {
                return Err(format!(
                    "tool/call requires :server (string), got {}. Configured upstreams: {}",
                    shown(&got),
                    servers()
                ));
            }
        };
        let tool = text(fields.remove("tool")).map_err(|got| {
            format!(
                "tool/call on upstream '{}' requires :tool (string), got {}",
                bounded(&server),
                shown(&got)
            )
        })?;
        let args = match fields.remove("args") {
            None | Some(Json::Null) => Map::new(),
            Some(Json::Object(args)) => args,
            Some(other) => {
                let (server, tool, got) = (bounded(&server), bounded(&tool), shown(&other));
                return Err(format!("tool '{server}.{tool}' rejected args: :args must be a map, got {got}"));
            }
        };
        match fields.keys().next() {
            Some(key) => Err(format!("tool/call got unknown key :{}", bounded(key))),
            None => Ok(CallRequest { server, tool, args }),
        }
    }

    /// There is no such upstream.
    pub fn unknown_server(&self, servers: &str) -> String {
        no_upstream(&self.server, servers)
    }

    /// There is no such tool.
    pub fn unknown_tool(&self, tools: &str) -> String {
        no_tool(&self.server, &self.tool, tools)
    }

    /// Arguments that must be there are not.
    pub fn missing_args(&self, names: &[&str]) -> String {
        self.rejected(&format!("missing required args {}", names.join(", ")))
    }

    /// The tool cannot take these arguments.
    pub fn rejected(&self, why: &str) -> String {
        format!("tool '{}.{}' rejected args: {why}", bounded(&self.server), bounded(&self.tool))
    }
}

/// There is no upstream of this name.
pub fn no_upstream(server: &str, servers: &str) -> String {
    format!("no upstream '{}' configured. Configured upstreams: {servers}", bounded(server))
}

/// The upstream has no tool of this name.
pub fn no_tool(server: &str, tool: &str, tools: &str) -> String {
    format!("no tool '{}' in upstream '{}'. Known tools: {tools}", bounded(tool), bounded(server))
}

/// The upstream has a tool of this name, which cannot be called.
pub fn unusable_tool(server: &str, tool: &str, why: &str) -> String {
    format!("tool '{}' of upstream '{}' cannot be used: {why}", tool_in_line(tool), bounded(server))
}

/// A text that is there and not empty, or what is there instead.
fn text(value: Option<Json>) -> Result<String, Json> {
    match value {
        Some(Json::String(text)) if !text.is_empty() => Ok(text),
        other => Err(other.unwrap_or_default()),
    }
}

/// A wrong argument in a message: as the program would write the simple ones, never at length.
pub fn shown(value: &Json) -> String {
    match value {
        Json::Null => "nil".to_owned(),
        Json::Object(_) => "a map".to_owned(),
        Json::Array(_) => "a vector".to_owned(),
        other => bounded(&other.to_string()).to_owned(),
    }
}

/// The beginning of a name that a program made up.
pub(crate) fn bounded(text: &str) -> &str {
    crate::ledger::cut(text, 80)
}

/// An error at the place of the call.
pub fn raise(message: impl Into<String>) -> Answer {
    Answer::Raise(Error::new(ErrorKind::Runtime, message.into()))
}

/// A fault of the world as a program sees it.
pub fn fault(fault: &Fault) -> Answer {
    Answer::Fault { reason: fault.reason.name().to_owned(), message: fault.message.clone() }
}

/// Sees that no integer of an answer was rounded when it was read: a wrong id is worse than none.
pub fn exact(json: &str) -> Result<(), Fault> {
    let Some(number) = ptc_host::rounded_integer(json) else { return Ok(()) };
    let message = format!(
        "the answer has the integer {}, which does not fit 64 bits and would be rounded; ask for it as a text",
        bounded(number)
    );
    Err(Fault { bytes: Some(json.len()), ..Fault::new(Reason::UpstreamError, message) })
}

/// How deep the lists and objects of an answer may nest; the decoder goes no deeper.
pub const DEEPEST: usize = 127;

/// Sees that an answer does not have more than `most` values, which would take many times the bytes of their text, and that it
/// does not nest deeper than can be decoded.
pub fn fits(json: &[u8], most: usize) -> Result<(), Fault> {
    fits_beside(json, 0, most).map(drop)
}

/// The same beside other parts of the answer that have so many; gives how many they have together.
fn fits_beside(json: &[u8], others: usize, most: usize) -> Result<usize, Fault> {
    let Extent { values, depth } = ptc_host::parts::extent(json);
    let values = values + others;
    let (reason, message) = if values > most {
        let message = format!(
            "the answer has {values} values, more than the {most} that the memory of the program allows; \
             ask for less, with a filter, a page or fewer fields"
        );
        (Reason::ResponseTooLarge, message)
    } else if depth > DEEPEST {
        let message = format!(
            "the answer nests {depth} levels deep, and at most {DEEPEST} are decoded; ask for a part of it, or for fewer levels"
        );
        (Reason::UpstreamError, message)
    } else {
        return Ok(values);
    };
    Err(Fault { bytes: Some(json.len()), ..Fault::new(reason, message) })
}

/// The value that a server put under `result` because structured results must be objects.
pub fn unwrapped(structured: Json) -> Json {
    match structured {
        Json::Object(mut fields) if fields.len() == 1 && fields.contains_key("result") => {
            fields.shift_remove("result").unwrap_or_default()
        }
        other => other,
    }
}

/// What a program gets of an answer: structured content, else its content. One block is that block, a text as JSON if it is
/// JSON; several are a vector of them, so that nothing a server says is lost. Servers without structured content send a list
/// as one text per item, so texts there are read as JSON if each of them is JSON. A server that says that the tool failed is
/// believed, whatever else it sends. Texts that have more than `most` values together are not read.
pub fn select(payload: Payload, most: usize) -> Result<(Json, ValueKind), Fault> {
    if payload.is_error {
        let said = payload.content.iter().map(said).collect::<Vec<_>>().join("\n");
        let message = match (said.trim(), payload.structured) {
            ("", Some(structured)) => structured.to_string(),
            ("", None) => "the tool failed and did not say why".to_owned(),
            (said, _) => said.to_owned(),
        };
        return Err(Fault { bytes: Some(payload.bytes), ..Fault::new(Reason::ToolError, message) });
    }
    if let Some(structured) = payload.structured {
        return Ok((structured, ValueKind::Json));
    }
    let mut values = 0;
    let read = payload
        .texts()
        .into_iter()
        .map(|text| parsed(text, &mut values, most))
        .collect::<Result<Option<Vec<Json>>, Fault>>()?;
    let is_json = read.is_some();
    let mut read = read.into_iter().flatten();
    let values = payload.content.into_iter().map(|block| match block {
        Block::Text(text) => (read.next().unwrap_or(Json::String(text)), is_json),
        Block::Data(value) => (value, true),
    });
    let mut values: Vec<(Json, bool)> = values.collect();
    Ok(match values.len() {
        0 => (Json::Null, ValueKind::None),
        1 => match values.swap_remove(0) {
            (value, true) => (value, ValueKind::Json),
            (text, false) => (text, ValueKind::Text),
        },
        _ => (values.into_iter().map(|(value, _)| value).collect(), ValueKind::Json),
    })
}

/// The value of a text that is JSON, beside others with so many values. A text of digits that would be rounded is a text; a
/// document with such a number is refused.
fn parsed(text: &str, values: &mut usize, most: usize) -> Result<Option<Json>, Fault> {
    *values = match fits_beside(text.as_bytes(), *values, most) {
        Ok(values) => values,
        // A text that begins like a list and is none stays a text, however many commas are in it. So does one that is nested
        // too deep, which the program can read itself. One that stays a text leaves the others unread.
        Err(fault) => {
            let is_large =
                fault.reason == Reason::ResponseTooLarge && serde_json::from_str::<IgnoredAny>(text).is_ok();
            return if is_large { Err(fault) } else { Ok(None) };
        }
    };
    match serde_json::from_str(text) {
        Ok(Json::Number(_)) if exact(text).is_err() => Ok(None),
        Ok(value) => exact(text).map(|()| Some(value)),
        Err(_) => Ok(None),
    }
}

/// What a block says of a failure.
fn said(block: &Block) -> String {
    match block {
        Block::Text(text) => text.clone(),
        Block::Data(value) => match value.get("text").and_then(Json::as_str) {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn faults_of_the_program_have_the_texts_of_the_contract() {
        for (call, expected) in [
            (json!(5), "tool/call requires a map, got 5"),
            (
                json!({"tool": "t"}),
                "tool/call requires :server (string), got nil. Configured upstreams: fs, github",
            ),
            (
                json!({"server": "", "tool": "t"}),
                "tool/call requires :server (string), got \"\". Configured upstreams: fs, github",
            ),
            (
                json!({"server": 7}),
                "tool/call requires :server (string), got 7. Configured upstreams: fs, github",
            ),
            (json!({"server": "fs"}), "tool/call on upstream 'fs' requires :tool (string), got nil"),
            (
                json!({"server": "fs", "tool": ["x"]}),
                "tool/call on upstream 'fs' requires :tool (string), got a vector",
            ),
            (
                json!({"server": "fs", "tool": "t", "args": [1]}),
                "tool 'fs.t' rejected args: :args must be a map, got a vector",
            ),
            (
                json!({"server": "fs", "tool": "t", "args": "x"}),
                "tool 'fs.t' rejected args: :args must be a map, got \"x\"",
            ),
            (json!({"server": "fs", "tool": "t", "arg": {}}), "tool/call got unknown key :arg"),
        ] {
            let error =
                CallRequest::parse(call.clone(), &|| "fs, github".to_owned()).expect_err("it is wrong");
            assert_eq!(error, expected, "{call}");
        }
    }

    #[test]
    fn texts_of_digits_stay_texts_and_rounded_ids_are_refused() {
        let select = |text: &str| {
            select(Payload { content: vec![Block::Text(text.to_owned())], ..Payload::default() }, 1_000)
        };
        let digits = "18446744073709551617";
        assert_eq!(select(digits).ok(), Some((json!(digits), ValueKind::Text)));
        assert_eq!(select("[1, 2]").ok(), Some((json!([1, 2]), ValueKind::Json)));
        let refused = select("{\"id\": 18446744073709551617}").expect_err("it would be rounded");
        assert!(refused.message.contains("would be rounded"), "{}", refused.message);
    }

    #[test]
    fn texts_with_too_many_values_are_refused_before_they_are_read() {
        let select = |text: &str| {
            select(Payload { content: vec![Block::Text(text.to_owned())], ..Payload::default() }, 3)
        };
        assert_eq!(select("[{}, {}, {}]").ok(), Some((json!([{}, {}, {}]), ValueKind::Json)));
        let refused = select("[{}, {}, {}, {}]").expect_err("too many");
        assert_eq!(refused.reason, Reason::ResponseTooLarge);
        assert!(
            refused.message.starts_with("the answer has 4 values, more than the 3 "),
            "{}",
            refused.message
        );
        let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
        let deeper =
            super::select(Payload { content: vec![Block::Text(deep.clone())], ..Payload::default() }, 1_000);
        assert_eq!(
            deeper.ok(),
            Some((json!(deep), ValueKind::Text)),
            "a text that is nested too deep stays a text"
        );
        let two = |last: &str| {
            let texts = ["[1, 2]", last].map(|text| Block::Text(text.to_owned()));
            super::select(Payload { content: texts.to_vec(), ..Payload::default() }, 3)
        };
        assert_eq!(two("[3]").ok(), Some((json!([[1, 2], [3]]), ValueKind::Json)));
        assert_eq!(two("[3, 4]").expect_err("too many together").reason, Reason::ResponseTooLarge);
        let prose = "[1] a, b, c, d, e";
        assert_eq!(select(prose).ok(), Some((json!(prose), ValueKind::Text)));
    }

    #[test]
    fn arguments_are_optional() {
        for call in [json!({"server": "s", "tool": "t"}), json!({"server": "s", "tool": "t", "args": null})] {
            let parsed = CallRequest::parse(call, &String::new).expect("it is right");
            assert_eq!((parsed.server.as_str(), parsed.tool.as_str(), parsed.args.len()), ("s", "t", 0));
        }
    }

    #[test]
    fn messages_never_show_arguments_at_length() {
        let long = "x".repeat(5_000);
        for call in [json!({"server": 1, "tool": long}), json!({"server": "s", "tool": long, "args": long})] {
            let error = CallRequest::parse(call, &String::new).expect_err("it is wrong");
            assert!(error.len() < 300, "{}", error.len());
        }
    }

    #[test]
    fn payloads_are_told_by_where_they_stood() {
        let text = |text: &str| Payload { content: vec![Block::Text(text.to_owned())], ..Payload::default() };
        let structured = |value: Json| Payload { structured: Some(value), ..text("ignored") };
        for (payload, value, kind) in [
            (structured(json!({"a": 1})), json!({"a": 1}), ValueKind::Json),
            (structured(json!("plain")), json!("plain"), ValueKind::Json),
            (structured(json!(null)), json!(null), ValueKind::Json),
            (text("{\"a\": 1}"), json!({"a": 1}), ValueKind::Json),
            (text("17"), json!(17), ValueKind::Json),
            (text("null"), json!(null), ValueKind::Json),
            (text("hello"), json!("hello"), ValueKind::Text),
            (text(""), json!(""), ValueKind::Text),
            (Payload::default(), json!(null), ValueKind::None),
        ] {
            assert_eq!(select(payload.clone(), 1_000), Ok((value, kind)), "{payload:?}");
        }
    }

    #[test]
    fn nothing_of_several_blocks_is_lost() {
        let (text, data) = (|text: &str| Block::Text(text.to_owned()), Block::Data);
        let link = json!({"uri": "file:///a"});
        for (content, value) in [
            (vec![text("{\"id\": 0}"), text("{\"id\": 1}")], json!([{"id": 0}, {"id": 1}])),
            (vec![text("1"), text("two")], json!(["1", "two"])),
            (vec![text("18446744073709551617"), text("2")], json!(["18446744073709551617", "2"])),
            (vec![text("# A"), data(link.clone()), text("end")], json!(["# A", link, "end"])),
            (vec![text("[1]"), data(link.clone())], json!([[1], link])),
            (vec![data(link.clone())], link.clone()),
        ] {
            let payload = Payload { content, ..Payload::default() };
            assert_eq!(select(payload.clone(), 1_000), Ok((value, ValueKind::Json)), "{payload:?}");
        }
        let failed = Payload {
            content: vec![text("no"), data(json!({"uri": "u", "text": "why"})), data(link)],
            is_error: true,
            ..Payload::default()
        };
        assert_eq!(select(failed, 1_000).expect_err("it failed").message, "no\nwhy\n{\"uri\":\"file:///a\"}");
    }

    #[test]
    fn only_what_stands_alone_under_result_is_unwrapped() {
        for (structured, value) in [
            (json!({"result": 7}), json!(7)),
            (json!({"result": {"result": 7}}), json!({"result": 7})),
            (json!({"result": null}), json!(null)),
            (json!({"result": 7, "more": 8}), json!({"result": 7, "more": 8})),
            (json!({"other": 7}), json!({"other": 7})),
            (json!([7]), json!([7])),
        ] {
            assert_eq!(unwrapped(structured.clone()), value, "{structured}");
        }
    }

    #[test]
    fn a_failed_tool_failed_whatever_it_sends() {
        let failed = |texts: &[&str], structured: Option<Json>| Payload {
            content: texts.iter().map(|text| Block::Text((*text).to_owned())).collect(),
            structured,
            is_error: true,
            bytes: 9,
        };
        for (payload, message) in [
            (failed(&["not found"], Some(json!({"ok": true}))), "not found"),
            (failed(&[], Some(json!({"code": 4}))), "{\"code\":4}"),
            (failed(&[], None), "the tool failed and did not say why"),
        ] {
            let fault = select(payload, 1_000).expect_err("it failed");
            assert_eq!(
                (fault.reason, fault.message.as_str(), fault.bytes),
                (Reason::ToolError, message, Some(9))
            );
        }
    }
}
