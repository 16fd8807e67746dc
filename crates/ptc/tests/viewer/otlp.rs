//! Spans on their way to a collector: a process of its own receives them over HTTP and reads the protobuf.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use prost::Message;
use serde_json::{Map, Value as Json, json};

use crate::browser::agent;
use crate::port::own_port;
use crate::support::{command, err, folder};

const MARK: &str = "PTC_TEST_COLLECTOR";

/// The collector: takes requests and prints every span as a line of JSON. It is this test in a process of its own.
#[test]
fn collector_process() {
    if std::env::var_os(MARK).is_none() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut out = std::io::stdout();
    writeln!(out, "\ncollector {}", listener.local_addr().expect("an address")).expect("written");
    for stream in listener.incoming() {
        let mut stream = stream.expect("a connection");
        let mut reader = BufReader::new(stream.try_clone().expect("a reader"));
        while let Some((head, body)) = request(&mut reader) {
            assert!(head.starts_with("POST /v1/traces "), "{head}");
            let sent = ExportTraceServiceRequest::decode(body.as_slice()).expect("protobuf of OTLP");
            for span in spans(&sent) {
                writeln!(out, "{span}").expect("written");
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("answered");
        }
    }
}

fn request(reader: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:"))?.trim().parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((head, body))
}

fn spans(sent: &ExportTraceServiceRequest) -> Vec<Json> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut all = Vec::new();
    for resource in &sent.resource_spans {
        let service = attributes(resource.resource.as_ref().map_or(&[], |of| &of.attributes));
        for span in resource.scope_spans.iter().flat_map(|scope| &scope.spans) {
            all.push(json!({
                "name": span.name, "kind": span.kind, "trace": hex(&span.trace_id), "id": hex(&span.span_id),
                "parent": hex(&span.parent_span_id), "service": service["service.name"],
                "error": span.status.as_ref().is_some_and(|status| status.code == 2),
                "took": span.end_time_unix_nano - span.start_time_unix_nano,
                "attributes": attributes(&span.attributes),
            }));
        }
    }
    all
}

fn attributes(list: &[KeyValue]) -> Json {
    let value = |pair: &KeyValue| match pair.value.as_ref().and_then(|value| value.value.as_ref()) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::DoubleValue(number)) => json!(number),
        Some(Any::BoolValue(truth)) => json!(truth),
        _ => Json::Null,
    };
    Json::Object(list.iter().map(|pair| (pair.key.clone(), value(pair))).collect::<Map<_, _>>())
}

struct Collector {
    url: String,
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Collector {
    fn start() -> Self {
        let own = std::env::current_exe().expect("a path");
        let mut child = Command::new(own)
            .args(["--exact", "otlp::collector_process", "--nocapture", "--test-threads=2"])
            .env(MARK, "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the collector starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        while !line.starts_with("collector ") {
            line.clear();
            assert_ne!(out.read_line(&mut line).expect("a line"), 0, "the collector ended");
        }
        let url = format!("http://{}", line.trim_start_matches("collector ").trim());
        Collector { url, child, out }
    }

    /// Spans until the outermost one, which is sent last.
    fn until_root(&mut self) -> Vec<Json> {
        let mut all = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(self.out.read_line(&mut line).expect("a line"), 0, "the collector ended: {all:?}");
            let span: Json = serde_json::from_str(&line).expect("a span");
            let root = span["parent"] == "";
            all.push(span);
            if root {
                return all;
            }
        }
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_collector_receives_every_span_by_the_conventions_and_in_its_place() {
    let mut collector = Collector::start();
    let folder = folder("otlp");
    let agent = agent(&folder, "newsroom").display().to_string();
    let ran = command(&folder, &["run", &agent, "-q", "--otlp", &collector.url]).output().expect("a run");
    assert!(ran.status.success(), "{}", err(&ran));
    let spans = collector.until_root();
    let by_id: BTreeMap<&str, &Json> =
        spans.iter().filter_map(|span| Some((span["id"].as_str()?, span))).collect();
    assert_eq!(by_id.len(), spans.len(), "ids differ");
    let path = |span: &Json| {
        let mut names = vec![span["name"].as_str().unwrap_or_default().to_owned()];
        let mut at = span;
        while let Some(around) = at["parent"].as_str().and_then(|id| by_id.get(id)) {
            names.push(around["name"].as_str().unwrap_or_default().to_owned());
            at = around;
        }
        names.reverse();
        names.join(" > ")
    };
    let paths: Vec<String> = spans.iter().map(path).collect();
    let program = "invoke_agent newsroom > turn 1 > execute_program";
    let inner = format!("{program} > pmap > execute_tool researcher > invoke_agent researcher > turn 1");
    for wanted in [
        "invoke_agent newsroom".to_owned(),
        "invoke_agent newsroom > turn 2 > chat script".to_owned(),
        format!("{program} > pmap > execute_tool researcher"),
        format!("{inner} > execute_program > execute_tool search"),
    ] {
        assert!(paths.contains(&wanted), "{wanted}: {paths:#?}");
    }
    let of = |name: &str| spans.iter().find(|span| span["name"] == name).expect(name);
    let chat = &of("chat script")["attributes"];
    assert_eq!(chat["gen_ai.operation.name"], "chat");
    assert_eq!(
        (&chat["gen_ai.usage.input_tokens"], &chat["gen_ai.usage.output_tokens"]),
        (&json!(1210), &json!(71))
    );
    assert_eq!((&of("chat script")["kind"], &of("chat script")["service"]), (&json!(3), &json!("ptc")));
    let tool = &of("execute_tool search")["attributes"];
    assert_eq!(
        (&tool["gen_ai.tool.name"], &tool["gen_ai.tool.type"]),
        (&json!("search"), &json!("function"))
    );
    let root = &of("invoke_agent newsroom")["attributes"];
    assert_eq!(
        (&root["gen_ai.agent.name"], &root["gen_ai.operation.name"]),
        (&json!("newsroom"), &json!("invoke_agent"))
    );
    assert!(spans.iter().all(|span| span["trace"] == spans[0]["trace"]));
}

#[test]
fn calls_of_upstreams_and_failures_have_the_names_of_mcp_and_their_reason() {
    let mut collector = Collector::start();
    let folder = folder("otlp-eval");
    let tools = r#"{"crm/find": {"default": {"$fail": {"reason": "timeout", "message": "no answer"}}}}"#;
    std::fs::write(folder.join("tools.json"), tools).expect("a file");
    let program = r#"(tool/call {:server "crm" :tool "find" :args {:id 7}}) (/ 1 0)"#;
    let ran = command(&folder, &["eval", "-e", program, "--tools", "tools.json"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url)
        .output()
        .expect("a run");
    assert_eq!(ran.status.code(), Some(1), "{}", err(&ran));
    let spans = collector.until_root();
    let [call, program] = spans.as_slice() else { panic!("{spans:#?}") };
    assert_eq!(
        (&call["name"], &call["parent"], &call["kind"]),
        (&json!("tools/call find"), &program["id"], &json!(3))
    );
    let about = &call["attributes"];
    assert_eq!((&about["mcp.method.name"], &about["ptc.server"]), (&json!("tools/call"), &json!("crm")));
    assert_eq!((&call["error"], &about["error.type"]), (&json!(true), &json!("timeout")));
    assert_eq!(program["attributes"]["error.type"], "arithmetic_error");
}

#[test]
fn a_collector_that_is_not_there_costs_a_complaint_and_not_the_run() {
    let folder = folder("otlp-gone");
    let port = own_port();
    let url = format!("http://127.0.0.1:{port}");
    let ran = command(&folder, &["eval", "-e", "(+ 1 2)", "--otlp", &url]).output().expect("a run");
    assert_eq!((ran.status.code(), ran.stdout.as_slice()), (Some(0), b"3\n".as_slice()));
    assert!(err(&ran).contains("ptc: --otlp: cannot send spans to"), "{}", err(&ran));
    let ran = command(&folder, &["eval", "-e", "1", "--otlp", "nonsense"]).output().expect("a run");
    assert_eq!(ran.status.code(), Some(2));
    assert!(err(&ran).contains("no address of a collector; write one like http://"), "{}", err(&ran));
}
