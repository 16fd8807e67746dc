//! OpenAPI upstreams against a real HTTP server: what is sent, what comes back, and everything that may not.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::Response;
use ptc_upstream::effects::Policy;
use ptc_upstream::{Caps, Config, Runtime, RuntimeOptions, Secrets};
use serde_json::{Value as Json, json};

use crate::effects::Book;
use crate::fixture::{open, value};

const TOKEN: &str = "obs-7h3t0k3n";

/// What the server has seen: method, address, headers and body.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<Json>>>);

impl Seen {
    fn last(&self) -> Json {
        self.0.lock().expect("no panics").last().cloned().unwrap_or_default()
    }

    fn count(&self) -> usize {
        self.0.lock().expect("no panics").len()
    }
}

async fn answer(
    State(seen): State<Seen>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let request = json!({
        "method": method.as_str(),
        "uri": uri.to_string(),
        "auth": header("authorization"),
        "tenant": header("x-tenant"),
        "reason": header("x-reason"),
        "key": header("idempotency-key"),
        "accept": header("accept"),
        "agent": header("user-agent").is_some_and(|agent| agent.starts_with("ptc-runner/")),
        "type": header("content-type"),
        "body": serde_json::from_slice::<Json>(&body).unwrap_or_default(),
    });
    seen.0.lock().expect("no panics").push(request);
    let json = |status: u16, body: Json| reply(status, &body.to_string());
    match uri.path() {
        "/schema.json" => reply(200, &schema().to_string()),
        "/moved.json" => {
            let moved = Response::builder().status(302).header("location", "/schema.json");
            moved.body(Body::empty()).expect("a response")
        }
        "/api/traces" if method == Method::GET => {
            json(200, json!({"items": [{"id": "a"}, {"id": "b"}], "next_cursor": "n2"}))
        }
        "/api/traces" => json(201, json!({"id": "new"})),
        "/api/traces/gone" => json(404, json!({"error": "no such trace"})),
        "/api/traces/secret" => reply(403, &format!("token {TOKEN} may not\nsee this")),
        "/api/traces/door" => reply(401, "who?"),
        "/api/traces/busy" => reply(429, ""),
        "/api/traces/broken" => reply(503, "stack trace"),
        "/api/traces/moved" => reply(302, ""),
        "/api/traces/odd" => reply(200, "<html>"),
        "/api/traces/empty" => reply(204, ""),
        "/api/traces/echo" => json(200, json!({"note": format!("you sent Bearer {TOKEN}")})),
        "/api/traces/huge" => json(200, json!({"id": "x".repeat(50_000)})),
        "/api/traces/endless" => {
            let chunk = Bytes::from(vec![b' '; 4096]);
            let chunks = futures_util::stream::iter(std::iter::repeat_with(move || {
                Ok::<_, std::io::Error>(chunk.clone())
            }));
            Response::new(Body::from_stream(chunks))
        }
        "/api/traces/huge-error" => reply(422, &"no ".repeat(100_000)),
        "/api/traces/slow" => std::future::pending().await,
        _ if method == Method::DELETE => reply(204, ""),
        path => json(200, json!({"id": path.rsplit('/').next(), "query": uri.query()})),
    }
}

fn reply(status: u16, body: &str) -> Response {
    let builder = Response::builder().status(StatusCode::from_u16(status).expect("a status"));
    builder.header("content-type", "application/json").body(Body::from(body.to_owned())).expect("a response")
}

/// A server on a port of its own.
async fn serve() -> (SocketAddr, Seen) {
    let seen = Seen::default();
    let router = Router::new().fallback(answer).with_state(seen.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (address, seen)
}

fn schema() -> Json {
    let answers = |schema: Json| json!({"200": {"content": {"application/json": {"schema": schema}}}});
    let id = json!({"name": "id", "in": "path", "required": true, "schema": {"type": "string"}});
    json!({
        "openapi": "3.0.3",
        "paths": {
            "/traces": {
                "get": {
                    "operationId": "listTraces", "summary": "Traces, newest first",
                    "parameters": [
                        {"name": "cursor", "in": "query", "schema": {"type": "string"}},
                        {"name": "page-size", "in": "query", "schema": {"type": "integer"}},
                        {"name": "summary", "in": "query", "schema": {"type": "boolean"}},
                    ],
                    "responses": answers(json!({"type": "object", "properties": {
                        "items": {"type": "array", "items": {"$ref": "#/components/schemas/Trace"}},
                        "next_cursor": {"type": "string"}}})),
                },
                "post": {
                    "operationId": "createTrace",
                    "parameters": [
                        {"$ref": "#/components/parameters/Reason"},
                        {"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}},
                    ],
                    "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Trace"}}}},
                    "responses": {"201": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Trace"}}}}},
                },
            },
            "/traces/{id}": {
                "parameters": [id],
                "get": {"operationId": "getTrace", "responses": answers(json!({"$ref": "#/components/schemas/Trace"}))},
                "delete": {"operationId": "deleteTrace", "responses": {"204": {}}},
                "put": {"operationId": "replaceTrace", "requestBody": {"content": {"application/json": {}}}, "responses": answers(json!({}))},
                "patch": {"operationId": "patchTrace", "requestBody": {"content": {"application/json": {}}}, "responses": answers(json!({}))},
            },
        },
        "components": {
            "parameters": {"Reason": {"name": "X-Reason", "in": "header", "schema": {"type": "string"}}},
            "schemas": {"Trace": {"type": "object", "properties": {"id": {"type": "string"}}}},
        },
    })
}

fn yaml() -> &'static str {
    "openapi: 3.1.0
paths:
  /traces/{id}:
    get:
      operationId: getTrace
      description: |
        One trace
        in full
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
      responses: {'200': {content: {application/json: {schema: {type: [object, 'null']}}}}}
"
}

/// A folder that is gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ptc-openapi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).expect("it writes");
        name.to_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The configuration of one upstream `obs`, with fields on top of what it needs.
fn config(address: SocketAddr, folder: &Path, fields: Json) -> Config {
    let mut upstream = json!({
        "transport": "openapi",
        "base_url": format!("http://{address}/api"),
        "allow_insecure_http": true,
        "allow_insecure_auth": true,
        "auth": [{"scheme": "bearer", "binding": "token"}],
        "static_headers": {"X-Tenant": "acme"},
        "include_operations": ["listTraces", "getTrace"],
    });
    for (key, value) in fields.as_object().expect("fields") {
        upstream[key] = value.clone();
    }
    let value = json!({
        "credentials": {"token": {"source": "literal", "value": TOKEN}},
        "upstreams": {"obs": upstream},
    });
    Config::from_value(value, folder).expect("a configuration")
}

async fn start(config: &Config) -> Arc<Runtime> {
    let secrets = Secrets::resolve_with(config, &|_| None, None).expect("its secrets");
    Runtime::start(config, secrets, RuntimeOptions::default()).await.expect("it starts")
}

#[tokio::test]
async fn r7_the_read_only_subset_over_http() {
    let (address, seen) = serve().await;
    let folder = Folder::new("subset");
    let file = folder.write("obs.json", &schema().to_string());
    let overrides = json!({"listTraces": {"default_args": {"summary": true}}});
    let fields = json!({"schema_file": file, "operation_overrides": overrides});
    let runtime = start(&config(address, &folder.0, fields)).await;
    assert_eq!(seen.count(), 0, "a schema in a file asks nobody");
    assert_eq!(
        value(&open(&runtime), "(dir 'obs)").await,
        "[\"get-trace\" \"list-traces - Traces, newest first\"]"
    );
    let source =
        "(let [r (tool/call {:server \"obs\" :tool \"list-traces\" :args {:page-size 2 :cursor \"a&b\"}})]
                    [(:value_kind r) (map :id (:items (:value r)))])";
    assert_eq!(value(&open(&runtime), source).await, "[:json (\"a\" \"b\")]");
    assert_eq!(
        seen.last(),
        json!({"method": "GET", "uri": "/api/traces?cursor=a%26b&page-size=2&summary=true", "auth": format!("Bearer {TOKEN}"),
               "tenant": "acme", "reason": null, "key": null, "accept": "application/json", "agent": true, "type": null, "body": null})
    );
    let nasty = "(:value (tool/call 'obs/get_trace {:id \"admin?x=1#y/ä\"}))";
    value(&open(&runtime), nasty).await;
    assert_eq!(seen.last()["uri"], json!("/api/traces/admin%3Fx%3D1%23y%2F%C3%A4"));
    for (source, expected) in [
        ("(get-in (meta 'obs/list-traces) [\"_ptc\" \"operationId\"])", "\"listTraces\""),
        ("(get-in (meta 'obs/list-traces) [\"_ptc\" \"effect\"])", "\"read\""),
        ("(get-in (meta 'obs/list-traces) [\"_ptc\" \"pagination\" \"next\"])", "\"next_cursor\""),
        ("(get-in (meta 'obs/list-traces) [\"_ptc\" \"defaultArgs\" \"summary\"])", "true"),
        ("(tool/call 'obs/get-trace {:id \"empty\"})", "{:ok true, :value nil, :value_kind :none}"),
    ] {
        assert_eq!(value(&open(&runtime), source).await, expected, "{source}");
    }
    let doc = value(&open(&runtime), "(doc 'obs/list-traces)").await;
    for line in [
        "Args: :cursor string?, :page-size integer?, :summary boolean?",
        "Result<{:items [{:id string}]",
        "Pages: pass :cursor from :next_cursor",
        "Effect: read",
    ] {
        assert!(doc.contains(line), "{line}: {doc}");
    }
}

#[tokio::test]
async fn r7_10_arguments_that_cannot_be_sent_are_faults_of_the_program() {
    let (address, seen) = serve().await;
    let folder = Folder::new("args");
    let file = folder.write("obs.json", &schema().to_string());
    let runtime = start(&config(address, &folder.0, json!({"schema_file": file}))).await;
    for (source, expected) in [
        (
            "(tool/call 'obs/list-traces {:cursor [1]})",
            "rejected args: unsupported query arg 'cursor': it takes one value",
        ),
        ("(tool/call 'obs/get-trace {})", "rejected args: missing required args id"),
        ("(tool/call 'obs/get-trace {:id \"..\"})", "rejected args: unsupported path arg 'id'"),
        (
            "(tool/call 'obs/list-traces {:colour 1})",
            "rejected args: unknown arg 'colour'; it takes cursor, page-size, summary",
        ),
        ("(tool/call 'obs/create-trace {:body {}})", "no tool 'create-trace' in upstream 'obs'"),
    ] {
        let error = value(&open(&runtime), source).await;
        assert!(error.contains(expected), "{source}: {error}");
    }
    assert_eq!(seen.count(), 0, "nothing was sent");
}

#[tokio::test]
async fn r7_11_answers_become_reasons() {
    let (address, _) = serve().await;
    let folder = Folder::new("reasons");
    let file = folder.write("obs.json", &schema().to_string());
    let fields = json!({"schema_file": file, "max_response_bytes": 20_000});
    let runtime = start(&config(address, &folder.0, fields)).await;
    for (id, reason, message) in [
        ("gone", "tool_error", "http 404: {\"error\":\"no such trace\"}"),
        ("secret", "tool_error", "http 403: token [REDACTED] may not see this"),
        ("door", "auth_failed", "http 401"),
        ("busy", "rate_limited", "http 429"),
        ("broken", "upstream_unavailable", "http 503"),
        ("moved", "upstream_error", "http 302: redirects are not followed"),
        ("odd", "upstream_error", "malformed JSON response"),
        ("huge", "response_too_large", "more than the 20000 allowed"),
        ("endless", "response_too_large", "more than the 20000 allowed"),
        ("huge-error", "tool_error", "http 422: no no no"),
        ("slow", "timeout", "no answer within 700 ms"),
    ] {
        let caps = Caps {
            call_timeout: Duration::from_millis(if id == "slow" { 700 } else { 30_000 }),
            ..Caps::default()
        };
        let context = runtime.context(caps, Policy::open());
        let outcome =
            crate::fixture::run(&context, &format!("(tool/call 'obs/get-trace {{:id \"{id}\"}})")).await;
        assert_eq!(outcome.json["reason"], json!(reason), "{id}: {:?}", outcome.json);
        let said = outcome.json["message"].as_str().expect("a message");
        assert!(said.contains(message) && said.len() < 700, "{id}: {said}");
        let call = context.finish().calls.remove(0);
        assert_eq!(call.oversize, reason == "response_too_large", "{id}");
    }
    let echoed = value(&open(&runtime), "(:note (:value (tool/call 'obs/get-trace {:id \"echo\"})))").await;
    assert_eq!(echoed, "\"you sent Bearer [REDACTED]\"", "a program never sees a secret");
}

#[tokio::test]
async fn operations_that_write_are_allowed_one_by_one() {
    let (address, seen) = serve().await;
    let folder = Folder::new("writes");
    let file = folder.write("obs.json", &schema().to_string());
    let all = ["createTrace", "deleteTrace", "replaceTrace", "patchTrace", "getTrace"];
    let allowed = |ids: &[&str]| -> Json {
        ids.iter()
            .map(|id| ((*id).to_owned(), json!({"allow_writes": true})))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let fields =
        json!({"schema_file": file, "include_operations": all, "operation_overrides": allowed(&all[..4])});
    let runtime = start(&config(address, &folder.0, fields)).await;
    for (source, method, uri, body) in [
        (
            "(tool/call 'obs/create-trace {:X-Reason \"test\" :body {:id \"n\" :deep-key [1 {:a true}]}})",
            "POST",
            "/api/traces",
            json!({"id": "n", "deep_key": [1, {"a": true}]}),
        ),
        ("(tool/call 'obs/replace-trace {:id \"7\" :body [1 2]})", "PUT", "/api/traces/7", json!([1, 2])),
        (
            "(tool/call 'obs/patch-trace {:id \"7\" :body {:a nil}})",
            "PATCH",
            "/api/traces/7",
            json!({"a": null}),
        ),
        ("(tool/call 'obs/delete-trace {:id \"7\"})", "DELETE", "/api/traces/7", json!(null)),
    ] {
        let outcome = crate::fixture::run(&open(&runtime), source).await;
        assert_eq!(outcome.json["ok"], json!(true), "{source}: {:?} {}", outcome.result, outcome.json);
        let last = seen.last();
        assert_eq!(
            (&last["method"], &last["uri"], &last["body"]),
            (&json!(method), &json!(uri), &body),
            "{source}"
        );
        assert_eq!(last["reason"], if method == "POST" { json!("test") } else { json!(null) });
        assert_eq!(last["type"], if body.is_null() { json!(null) } else { json!("application/json") });
    }
    // Where calls are written down, an operation that takes a key gets one; sent again, nothing is sent.
    let create = "(:ok (tool/call 'obs/create-trace {:body {:id \"n\"}}))";
    let (book, count) = (Arc::new(Book::default()), seen.count());
    for _ in 0..2 {
        let context = runtime.context(Caps::default(), Policy::open()).journalled("a", book.clone());
        assert_eq!(value(&context, create).await, "true");
        assert_eq!((seen.count(), seen.last()["key"].as_str().map(str::len)), (count + 1, Some(32)));
    }
    assert_eq!(value(&open(&runtime), create).await, "true");
    assert_eq!(seen.last()["key"], json!(null), "without a journal there is none");
    let before = seen.count();
    let context = runtime.context(Caps::default(), Policy::read_only());
    let refused =
        value(&context, "[(tool/call 'obs/get-trace {:id \"7\"}) (tool/call 'obs/delete-trace {:id \"7\"})]")
            .await;
    assert!(refused.contains("may call obs/delete-trace (write); nothing was run"), "{refused}");
    assert_eq!(seen.count(), before);

    // Without being allowed they stay out, and with them the upstream.
    let fields =
        json!({"schema_file": file, "include_operations": all, "operation_overrides": allowed(&all[..3])});
    let runtime = start(&config(address, &folder.0, fields)).await;
    let fault = runtime.states().remove(0).fault.expect("it cannot be used");
    assert!(
        fault.message.contains("'patchTrace' (PATCH /traces/{id}) is not a GET; set \"allow_writes\": true"),
        "{fault}"
    );
}

#[tokio::test]
async fn r4_4_schemas_come_from_files_and_addresses_in_json_and_yaml() {
    let (address, seen) = serve().await;
    let folder = Folder::new("schemas");
    let at = |path: &str| format!("http://{address}{path}");
    let doc = "(second (clojure.string/split-lines (doc 'obs/get-trace)))";
    let only_get = |mut fields: Json| {
        fields["include_operations"] = json!(["getTrace"]);
        config(address, &folder.0, fields)
    };
    let yaml = folder.write("obs.yaml", yaml());
    let runtime = start(&only_get(json!({"schema_file": yaml}))).await;
    assert_eq!(value(&open(&runtime), doc).await, "\"One trace in full\"");
    let runtime = start(&only_get(json!({"schema_url": at("/schema.json")}))).await;
    let fetched = seen.last();
    assert_eq!((&fetched["auth"], &fetched["tenant"]), (&json!(format!("Bearer {TOKEN}")), &json!("acme")));
    assert_eq!(value(&open(&runtime), "(:ok (tool/call 'obs/get-trace {:id \"1\"}))").await, "true");

    let bad = folder.write("bad.yaml", "openapi: [");
    for (fields, expected) in [
        (json!({"schema_url": at("/moved.json")}), "schema_url: http 302: redirects are not followed"),
        (json!({"schema_url": at("/api/traces/broken")}), "schema_url: http 503"),
        (
            json!({"schema_url": at("/schema.json"), "schema_max_bytes": 100}),
            "schema exceeds byte cap: it has more than 100 bytes",
        ),
        (
            json!({"schema_file": yaml, "schema_max_bytes": 100}),
            "schema exceeds byte cap: it has more than 100 bytes",
        ),
        (json!({"schema_file": "no.json"}), "no.json cannot be read: No such file"),
        (json!({"schema_file": bad}), "schema is not YAML"),
    ] {
        let runtime = start(&only_get(fields.clone())).await;
        let fault = runtime.states().remove(0).fault.expect("it cannot be used");
        assert!(fault.message.contains(expected), "{fields}: {fault}");
        let call = value(&open(&runtime), "(:reason (tool/call 'obs/get-trace {:id \"1\"}))").await;
        assert_eq!(call, ":upstream_unavailable", "{fields}");
    }
}

#[tokio::test]
async fn credentials_go_to_the_origin_of_base_url_and_elsewhere_only_where_the_entry_says_so() {
    let (address, _) = serve().await;
    let (elsewhere, seen) = serve().await;
    let folder = Folder::new("origins");
    let fields = |more: Json| {
        let mut fields = json!({"schema_url": format!("http://{elsewhere}/schema.json")});
        fields.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        config(address, &folder.0, fields)
    };
    let runtime = start(&fields(json!({}))).await;
    let fetched = seen.last();
    assert_eq!(fetched["uri"], "/schema.json");
    assert_eq!(
        (&fetched["auth"], &fetched["tenant"]),
        (&Json::Null, &Json::Null),
        "neither secret nor literal headers"
    );
    assert_eq!(value(&open(&runtime), "(:ok (tool/call 'obs/get-trace {:id \"1\"}))").await, "true");
    assert_eq!(seen.count(), 1, "calls go to base_url");

    start(&fields(json!({"allow_schema_auth": true}))).await;
    assert_eq!(seen.last()["auth"], json!(format!("Bearer {TOKEN}")));
}

#[tokio::test]
async fn a_path_argument_with_steps_is_refused_before_anything_is_sent() {
    let (address, seen) = serve().await;
    let folder = Folder::new("steps");
    let file = folder.write("obs.json", &schema().to_string());
    let runtime = start(&config(address, &folder.0, json!({"schema_file": file}))).await;
    for id in ["../../internal/keys", "..%2f..%2finternal", "%252e%252e/x", "a\\\\..\\\\b"] {
        let call = format!("(tool/call 'obs/get-trace {{:id \"{id}\"}})");
        let refused = value(&open(&runtime), &call).await;
        assert!(refused.contains("could lead to another path"), "{id}: {refused}");
    }
    assert_eq!(seen.count(), 0);
}
