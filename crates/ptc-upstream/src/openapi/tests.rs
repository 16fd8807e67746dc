//! Operations that become tools, those that are refused, and the requests that calls make.

use std::collections::BTreeMap;

use reqwest::Url;
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::config::OperationOverride;

/// A document with one path, whose operations stand beside `item`.
fn document(path: &str, item: Json) -> Document {
    Document(json!({
        "openapi": "3.0.3",
        "paths": {path: item},
        "components": {
            "parameters": {"Page": {"name": "page", "in": "query", "schema": {"type": "integer"}}},
            "schemas": {"Trace": {"type": "object", "properties": {"id": {"type": "string"},
                        "parent": {"$ref": "#/components/schemas/Trace"}}}},
        },
    }))
}

fn changes(changes: &[(&str, OperationOverride)]) -> BTreeMap<String, OperationOverride> {
    changes.iter().map(|(id, change)| ((*id).to_owned(), change.clone())).collect()
}

fn compiled(
    document: &Document,
    include: &[&str],
    overrides: &BTreeMap<String, OperationOverride>,
) -> Result<Vec<Operation>, String> {
    let include: Vec<String> = include.iter().map(|id| (*id).to_owned()).collect();
    let base = Url::parse("https://observatory.example/api/").expect("a URL");
    compile(document, &Choice { include: &include, overrides, allow_writes: false, base: &base })
}

/// An operation that is good, with changes.
fn get(changes: Json) -> Json {
    let mut operation =
        json!({"operationId": "op", "responses": {"200": {"content": {"application/json": {}}}}});
    for (key, value) in changes.as_object().into_iter().flatten() {
        operation[key] = value.clone();
    }
    json!({"get": operation})
}

fn param(name: &str, place: &str) -> Json {
    json!({"name": name, "in": place})
}

#[test]
fn every_operation_that_cannot_be_used_is_refused_with_a_reason() {
    let moved = |method: &str| json!({method: get(json!({}))["get"]});
    let answers = |responses: Json| get(json!({"responses": responses}));
    let cases: Vec<(&str, &str, Json, &str)> = vec![
        (
            "not listed",
            "/a",
            get(json!({"operationId": "other"})),
            "OpenAPI include_operations not found: op",
        ),
        ("POST", "/a", moved("post"), "(POST /a) is not a GET; set \"allow_writes\": true"),
        ("PUT", "/a", moved("put"), "(PUT /a) is not a GET"),
        ("PATCH", "/a", moved("patch"), "(PATCH /a) is not a GET"),
        ("DELETE", "/a", moved("delete"), "(DELETE /a) is not a GET"),
        ("HEAD", "/a", moved("head"), "has a method that no tool can use"),
        ("OPTIONS", "/a", moved("options"), "has a method that no tool can use"),
        ("body", "/a", get(json!({"requestBody": {}})), "takes a request body"),
        (
            "header",
            "/a",
            get(json!({"parameters": [{"name": "X-Tenant", "in": "header", "required": true}]})),
            "has the header parameter 'X-Tenant', which it needs; set \"allow_writes\"",
        ),
        (
            "cookie",
            "/a",
            get(json!({"parameters": [param("sid", "cookie")]})),
            "has the cookie parameter 'sid'",
        ),
        ("path that leaves base_url", "/../../x", get(json!({})), "leaves the path of base_url"),
        ("encoded path that leaves base_url", "/%2e%2e/x", get(json!({})), "leaves the path of base_url"),
        ("twice encoded path", "/a/%252e%252e/%252e%252e/x", get(json!({})), "leaves the path of base_url"),
        ("deprecated", "/a", get(json!({"deprecated": true})), "is deprecated"),
        (
            "other origin",
            "/a",
            get(json!({"servers": [{"url": "https://evil.example"}]})),
            "at another origin, \"https://evil.example\"",
        ),
        (
            "other scheme",
            "/a",
            get(json!({"servers": [{"url": "http://observatory.example"}]})),
            "at another origin",
        ),
        ("undeclared", "/a/{id}", get(json!({})), "does not declare its path parameter 'id'"),
        (
            "not in the path",
            "/a",
            get(json!({"parameters": [param("id", "path")]})),
            "path parameter 'id', which is not in its path",
        ),
        ("no responses", "/a", answers(json!({})), "declares no 2xx response"),
        ("no success", "/a", answers(json!({"404": {}, "default": {}})), "declares no 2xx response"),
        (
            "not JSON",
            "/a",
            answers(json!({"200": {"content": {"text/csv": {}}}})),
            "answers 200 with text/csv",
        ),
        (
            "one not JSON",
            "/a",
            answers(
                json!({"200": {"content": {"application/json": {}}}, "206": {"content": {"image/png": {}}}}),
            ),
            "answers 206 with image/png",
        ),
        ("no name", "/a", get(json!({"x-ptc-name": "--"})), "has no letter in its name"),
        (
            "two places",
            "/a/{id}",
            get(json!({"parameters": [param("id", "path"), param("id", "query")]})),
            "two parameters 'id'",
        ),
        ("unknown default", "/a", get(json!({"x-ptc-default-args": {"zz": 1}})), "has default_args for 'zz'"),
    ];
    for (case, path, item, expected) in cases {
        let error = compiled(&document(path, item), &["op"], &BTreeMap::new()).expect_err(case);
        assert!(error.contains(expected), "{case}: {error}");
    }
}

#[test]
fn names_that_become_the_same_are_refused() {
    let both = Document(json!({"openapi": "3.1.0", "paths": {
        "/a": get(json!({"operationId": "listTraces"})), "/b": get(json!({"operationId": "list_traces"})),
    }}));
    let error = compiled(&both, &["listTraces", "list_traces"], &BTreeMap::new()).expect_err("they collide");
    assert!(error.contains("'listTraces' and 'list_traces' both become the tool 'list-traces'"), "{error}");
    let renamed = changes(&[(
        "list_traces",
        OperationOverride { name: Some("older".to_owned()), ..OperationOverride::default() },
    )]);
    let tools = compiled(&both, &["listTraces", "list_traces"], &renamed).expect("they differ");
    assert_eq!(
        tools.iter().map(|tool| tool.tool.name.as_str()).collect::<Vec<_>>(),
        ["list-traces", "older"]
    );
    let twice = Document(json!({"openapi": "3.1.0", "paths": {"/a": get(json!({})), "/b": get(json!({}))}}));
    assert!(
        compiled(&twice, &["op"], &BTreeMap::new())
            .is_err_and(|error| error.contains("stands at /a and at /b"))
    );
}

#[test]
fn names_are_made_the_same_way() {
    for (id, expected) in [
        ("listTraces", "list-traces"),
        ("list_traces", "list-traces"),
        (" getHTTPStatus ", "get-http-status"),
        ("repos/list-for.org", "repos-list-for-org"),
        ("v2Get", "v2-get"),
        ("__", ""),
    ] {
        assert_eq!(tool_name(id), expected, "{id}");
    }
}

#[test]
fn an_operation_becomes_a_tool() {
    let item = json!({
        "parameters": [{"name": "limit", "in": "query", "schema": {"type": "string"}}, param("traceId", "path")],
        "get": {
            "operationId": "list_trace_steps",
            "summary": "Steps",
            "parameters": [
                {"name": "limit", "in": "query", "required": true, "schema": {"type": "integer", "nullable": true}},
                {"name": "summary", "in": "query", "required": true, "schema": {"type": "boolean"}, "description": "Short"},
                {"name": "cursor", "in": "query"},
            ],
            "responses": {"200": {"content": {"application/json; charset=utf-8": {"schema": {"type": "object", "properties": {
                "steps": {"type": "array", "items": {"$ref": "#/components/schemas/Trace"}}, "next_cursor": {"type": "string"},
            }}}}}, "204": {}},
        },
    });
    let summary = json!({"summary": true}).as_object().cloned();
    let override_ = OperationOverride { default_args: summary, ..OperationOverride::default() };
    let tools = compiled(
        &document("/traces/{traceId}/steps", item),
        &["list_trace_steps"],
        &changes(&[("list_trace_steps", override_)]),
    )
    .expect("it is good");
    let tool = &tools[0].tool;
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("list-trace-steps", "Steps"));
    assert_eq!(
        Json::Object(tool.input_schema.clone()),
        json!({"type": "object", "additionalProperties": false, "required": ["traceId", "limit"], "properties": {
            "traceId": {"type": "string"}, "limit": {"type": ["integer", "null"]},
            "summary": {"type": "boolean", "description": "Short"}, "cursor": {"type": "string"}}})
    );
    assert_eq!(
        tool.provenance,
        *json!({"transport": "openapi", "operationId": "list_trace_steps", "method": "GET",
                "path": "/traces/{traceId}/steps", "defaultArgs": {"summary": true},
                "pagination": {"style": "cursor", "arg": "cursor", "next": "next_cursor", "size": "limit"}})
        .as_object()
        .expect("an object")
    );
    assert_eq!(tool.annotations["readOnlyHint"], json!(true));
    let output = Json::Object(tool.output_schema.clone().expect("it declares one"));
    assert_eq!(output["properties"]["steps"]["items"]["properties"]["parent"], json!({}));
}

#[test]
fn empty_answers_are_null() {
    let tools = compiled(
        &document("/a", get(json!({"responses": {"204": {"description": "gone"}}}))),
        &["op"],
        &BTreeMap::new(),
    );
    assert_eq!(
        tools.expect("it is good")[0].tool.output_schema.as_ref().map(|schema| schema["type"].clone()),
        Some(json!("null"))
    );
}

#[test]
fn extensions_name_and_fill_in() {
    let item = get(
        json!({"x-ptc-name": "myTool", "x-ptc-default-args": {"n": 3}, "description": "long", "summary": "short",
                          "parameters": [{"name": "n", "in": "query", "required": true}]}),
    );
    let tools = compiled(&document("/a", item), &["op"], &BTreeMap::new()).expect("it is good");
    assert_eq!((tools[0].tool.name.as_str(), tools[0].tool.description.as_str()), ("my-tool", "long"));
    assert_eq!(tools[0].tool.input_schema["required"], json!([]));
}

fn writer(item: Json, path: &str) -> Result<Operation, String> {
    let allowed = OperationOverride { allow_writes: true, ..OperationOverride::default() };
    compiled(&document(path, item), &["op"], &changes(&[("op", allowed)])).map(|mut tools| tools.remove(0))
}

#[test]
fn writes_work_where_they_are_allowed() {
    let item = json!({"patch": {
        "operationId": "op",
        "parameters": [param("id", "path"), {"$ref": "#/components/parameters/Page"}, param("X-Tenant", "header"), param("Authorization", "header")],
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Trace"}}}},
        "responses": {"200": {"content": {"application/json": {}}}},
    }});
    let operation = writer(item, "/traces/{id}").expect("it is allowed");
    assert_eq!((operation.method.as_str(), operation.has_body), ("PATCH", true));
    assert_eq!(operation.tool.annotations["readOnlyHint"], json!(false));
    let args = json!({"id": "a/b", "page": 2, "X-Tenant": "blue", "body": {"id": "x"}});
    let made = request(&operation, &base(), object(args)).expect("it fits");
    assert_eq!(made.url.as_str(), "https://observatory.example/api/traces/a%2Fb?page=2");
    assert_eq!(
        (made.headers, made.body),
        (vec![("X-Tenant".to_owned(), "blue".to_owned())], Some(json!({"id": "x"})))
    );
    for (header, expected) in
        [("Cookie", "which no caller may set"), ("X-Api-Key", "which no caller may set")]
    {
        let item = get(json!({"parameters": [param(header, "header")]}));
        assert!(writer(item, "/a").is_err_and(|error| error.contains(expected)), "{header}");
    }
    assert!(
        writer(get(json!({"requestBody": {}})), "/a")
            .is_err_and(|error| error.contains("takes a request body"))
    );
    let form = json!({"post": {"operationId": "op", "requestBody": {"content": {"multipart/form-data": {}}}, "responses": {"204": {}}}});
    assert!(writer(form, "/a").is_err_and(|error| error.contains("request body that is not JSON")));
    let circle = json!({"get": {"operationId": "op", "parameters": [{"$ref": "#/paths/~1a/get/parameters/0"}], "responses": {"204": {}}}});
    assert!(writer(circle, "/a").is_err_and(|error| error.contains("leads in a circle")));
}

fn base() -> Url {
    Url::parse("https://observatory.example/api/").expect("a URL")
}

fn object(json: Json) -> Map<String, Json> {
    json.as_object().cloned().unwrap_or_default()
}

#[test]
fn requests_put_arguments_in_their_places() {
    let item = get(json!({
        "parameters": [param("id", "path"), param("q", "query"), param("n", "query")], "x-ptc-default-args": {"n": 5},
    }));
    let operation =
        compiled(&document("/t/{id}/x", item), &["op"], &BTreeMap::new()).expect("it is good").remove(0);
    let address = |args: Json| {
        request(&operation, &base(), object(args)).map(|request| request.url.as_str().to_owned())
    };
    let place = "https://observatory.example/api/t";
    for (args, expected) in [
        (json!({"id": 7}), Ok(format!("{place}/7/x?n=5"))),
        (
            json!({"id": "a b?#%&é", "n": 1.5, "q": true}),
            Ok(format!("{place}/a%20b%3F%23%25%26%C3%A9/x?q=true&n=1.5")),
        ),
        (
            json!({"id": "etc/x", "q": "a&n=9/../x"}),
            Ok(format!("{place}/etc%2Fx/x?q=a%26n%3D9%2F..%2Fx&n=5")),
        ),
        (json!({"id": 7, "q": null, "n": null}), Ok(format!("{place}/7/x?n=5"))),
        (
            json!({"id": ".."}),
            Err("unsupported path arg 'id': \"..\" has a step '.' or '..', which could lead to another path"),
        ),
        (
            json!({"id": "../../etc"}),
            Err(
                "unsupported path arg 'id': \"../../etc\" has a step '.' or '..', which could lead to another path",
            ),
        ),
        (
            json!({"id": "%2e%2e%2fx"}),
            Err(
                "unsupported path arg 'id': \"%2e%2e%2fx\" has a step '.' or '..', which could lead to another path",
            ),
        ),
        (json!({"id": ""}), Err("unsupported path arg 'id': \"\" is no name")),
        (json!({"id": [1]}), Err("unsupported path arg 'id': it must be a scalar")),
        (json!({}), Err("missing path arg 'id'")),
        (json!({"id": 1, "q": [1]}), Err("unsupported query arg 'q': it takes one value")),
        (json!({"id": 1, "z": 1}), Err("unknown arg 'z'; it takes id, q, n")),
    ] {
        assert_eq!(address(args.clone()), expected.map_err(str::to_owned), "{args}");
    }
}

#[test]
fn values_that_are_a_step_only_together_are_refused() {
    let item = get(json!({"parameters": [param("a", "path"), param("b", "path")]}));
    let operation =
        compiled(&document("/t/.{a}{b}/x", item), &["op"], &BTreeMap::new()).expect("it is good").remove(0);
    let refused =
        request(&operation, &base(), object(json!({"a": ";", "b": "x"}))).expect_err("it is refused");
    assert_eq!(refused, "unsupported path args: together they lead to another path");
}

#[test]
fn w7_lists_and_objects_go_into_the_query_by_their_style() {
    let list = |more: Json| {
        let mut param =
            json!({"name": "q", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}});
        object(more).into_iter().for_each(|(key, value)| param[key] = value);
        param
    };
    let map = |more: Json| {
        let mut param = list(more);
        param["schema"] = json!({"type": "object"});
        param
    };
    let (items, fields) = (json!(["a b", 2, true]), json!({"from": 1, "to": "x&y"}));
    for (param, value, expected) in [
        (list(json!({})), &items, Ok("q=a%20b&q=2&q=true")),
        (list(json!({"explode": false})), &items, Ok("q=a%20b,2,true")),
        (list(json!({"style": "spaceDelimited"})), &items, Ok("q=a%20b%202%20true")),
        (list(json!({"style": "pipeDelimited"})), &items, Ok("q=a%20b%7C2%7Ctrue")),
        (list(json!({"style": "pipeDelimited", "explode": true})), &items, Ok("q=a%20b&q=2&q=true")),
        (list(json!({})), &json!("one"), Ok("q=one")),
        (list(json!({})), &json!([]), Ok("")),
        (list(json!({"explode": false})), &json!([]), Ok("")),
        (list(json!({})), &json!([[1]]), Err("there is no way to write what is nested in it")),
        (map(json!({})), &fields, Ok("from=1&to=x%26y")),
        (map(json!({"explode": false})), &fields, Ok("q=from,1,to,x%26y")),
        (map(json!({"style": "deepObject"})), &fields, Ok("q%5Bfrom%5D=1&q%5Bto%5D=x%26y")),
        (map(json!({"style": "deepObject"})), &json!({"a": {"b": 1}}), Err("there is no way to write")),
        (
            json!({"name": "q", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}}),
            &json!({"a": [1]}),
            Ok("q=%7B%22a%22%3A%5B1%5D%7D"),
        ),
    ] {
        let spec = document("/a", get(json!({"parameters": [param]})));
        let operation = compiled(&spec, &["op"], &BTreeMap::new()).expect("it is good").remove(0);
        let made = request(&operation, &base(), object(json!({"q": value})));
        let query = made.map(|request| request.url.query().unwrap_or_default().to_owned());
        match expected {
            Ok(expected) => assert_eq!(query.as_deref(), Ok(expected), "{param}"),
            Err(expected) => assert!(query.expect_err("it is refused").contains(expected), "{param}"),
        }
    }
}

#[test]
fn values_go_into_the_path_by_their_style() {
    let (items, fields) = (json!(["a b", 2]), json!({"R": 100, "G": "x/y"}));
    for (style, explode, value, expected) in [
        ("simple", false, &items, "a%20b,2"),
        ("simple", true, &items, "a%20b,2"),
        ("simple", false, &fields, "R,100,G,x%2Fy"),
        ("simple", true, &fields, "R=100,G=x%2Fy"),
        ("simple", false, &json!(5), "5"),
        ("label", false, &json!(5), ".5"),
        ("label", false, &items, ".a%20b,2"),
        ("label", true, &items, ".a%20b.2"),
        ("label", true, &fields, ".R=100.G=x%2Fy"),
        ("matrix", false, &json!(5), ";id=5"),
        ("matrix", false, &items, ";id=a%20b,2"),
        ("matrix", true, &items, ";id=a%20b;id=2"),
        ("matrix", true, &fields, ";R=100;G=x%2Fy"),
        ("matrix", false, &fields, ";id=R,100,G,x%2Fy"),
    ] {
        let kind = if value.is_array() { "array" } else { "object" };
        let kind = if value.is_number() { "integer" } else { kind };
        let param = json!({"name": "id", "in": "path", "required": true, "style": style, "explode": explode, "schema": {"type": kind}});
        let spec = document("/a/{id}/x", get(json!({"parameters": [param]})));
        let operation = compiled(&spec, &["op"], &BTreeMap::new()).expect("it is good").remove(0);
        let made = request(&operation, &base(), object(json!({"id": value}))).expect("it can be written");
        assert_eq!(made.url.path(), format!("/api/a/{expected}/x"), "{style} {explode} {value}");
        for wrong in [json!([]), json!([".."]), json!([[1]]), json!("")] {
            request(&operation, &base(), object(json!({"id": wrong}))).expect_err("it is refused");
        }
    }
}

#[test]
fn a_get_does_without_headers_that_it_does_not_need() {
    let item = get(json!({"parameters": [param("X-Trace", "header"), param("q", "query")]}));
    let operation = compiled(&document("/a", item), &["op"], &BTreeMap::new()).expect("it is good").remove(0);
    let names: Vec<&str> = operation.params.iter().map(|param| param.name.as_str()).collect();
    assert_eq!(names, ["q"]);
}

#[test]
fn w5_parameters_that_are_references_are_no_writes() {
    let mut spec =
        document("/a/{owner}", get(json!({"parameters": [{"$ref": "#/components/parameters/owner"}]})));
    spec.0["components"]["parameters"]["owner"] = param("owner", "path");
    let operation = compiled(&spec, &["op"], &BTreeMap::new()).expect("it is good").remove(0);
    assert_eq!(operation.params[0].name, "owner");
}

/// Operations of a small shop.
fn shop() -> Document {
    let get = |id: &str, tag: &str| json!({"operationId": id, "tags": [tag], "responses": {"200": {"content": {"application/json": {}}}}});
    let mut write = get("orders/create", "orders");
    write["requestBody"] = json!({"content": {"application/json": {}}});
    let mut nameless = get("", "stock");
    nameless.as_object_mut().expect("an object").remove("operationId");
    Document(json!({"openapi": "3.1.0", "paths": {
        "/orders": {"get": get("orders/list", "orders"), "post": write},
        "/orders/{id}": {
            "parameters": [param("id", "path")], "get": get("orders/get", "orders"),
            "delete": get("orders/remove", "orders"),
        },
        "/stock": {"get": nameless},
        "/users": {"get": get("users/list", "users")},
    }}))
}

#[test]
fn operations_are_chosen_by_id_path_pattern_and_tag() {
    for (include, expected) in [
        (vec!["orders/get"], vec!["orders-get"]),
        (vec!["orders/*"], vec!["orders-list", "orders-get"]),
        (vec!["tag:orders", "orders/list"], vec!["orders-list", "orders-get"]),
        (vec!["/orders*"], vec!["orders-list", "orders-get"]),
        (vec!["GET /orders/{id}", "get /stock"], vec!["orders-get", "get-stock"]),
        (vec!["/users"], vec!["users-list"]),
        (vec!["*"], vec!["orders-list", "orders-get", "get-stock", "users-list"]),
    ] {
        let operations =
            compiled(&shop(), &include, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = operations.iter().map(|operation| operation.tool.name.as_str()).collect();
        assert_eq!(names, expected, "{include:?}");
    }
}

#[test]
fn all_mistakes_of_operations_are_told_at_once() {
    let include = ["orders/create", "orders/remove", "nope", "tag:none", "POST /orders*"];
    let error = compiled(&shop(), &include, &BTreeMap::new()).expect_err("all are wrong");
    for expected in [
        "OpenAPI include_operations not found: nope, tag:none",
        "OpenAPI operation 'orders/create' (POST /orders) is not a GET",
        "OpenAPI operation 'orders/remove' (DELETE /orders/{id}) is not a GET",
    ] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let error = compiled(&shop(), &["POST /orders*"], &BTreeMap::new()).expect_err("it cannot be a tool");
    assert!(error.contains("none of the 1 operations that 'POST /orders*' means can be a tool"), "{error}");
}

#[test]
fn entries_with_a_mark_take_operations_away_wherever_they_stand() {
    for (include, expected) in [
        (vec!["GET /*", "!tag:orders"], vec!["get-stock", "users-list"]),
        (vec!["!tag:orders", "GET /*"], vec!["get-stock", "users-list"]),
        (vec!["users/*", "orders/*", "! orders/get"], vec!["users-list", "orders-list"]),
        (vec!["*", "!/orders*", "!GET /stock"], vec!["users-list"]),
        (vec!["users/list", "orders/*", "!orders/*"], vec!["users-list"]),
    ] {
        let operations =
            compiled(&shop(), &include, &BTreeMap::new()).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<&str> = operations.iter().map(|operation| operation.tool.name.as_str()).collect();
        assert_eq!(names, expected, "{include:?}");
    }
    for (include, expected) in [
        (vec!["!orders/*"], "include_operations only takes away"),
        (vec!["*", "!order/*"], "include_operations not found: !order/*"),
        (vec!["orders/get", "!orders/*"], "'orders/get' is included by name and taken away by '!orders/*'"),
    ] {
        let error = compiled(&shop(), &include, &BTreeMap::new()).expect_err("it is wrong");
        assert!(error.contains(expected), "{include:?}: {error}");
    }
}

#[test]
fn operations_that_a_pattern_means_and_that_cannot_be_tools_are_listed_with_why() {
    let include = ["*".to_owned()];
    let base = base();
    let overrides = BTreeMap::new();
    let choice = Choice { include: &include, overrides: &overrides, allow_writes: false, base: &base };
    let made = super::compile_all(&shop(), &choice).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(made.operations.len(), 4);
    let advice = "is not a GET; set \"allow_writes\": true for it in operation_overrides to allow it";
    assert_eq!(
        made.left_out,
        [
            format!("OpenAPI operation 'orders/create' (POST /orders) {advice}"),
            format!("OpenAPI operation 'orders/remove' (DELETE /orders/{{id}}) {advice}"),
        ]
    );
}

#[test]
fn all_mistakes_of_one_operation_are_told_at_once() {
    let item = get(json!({"deprecated": true, "parameters": [param("sid", "cookie")],
                          "responses": {"200": {"content": {"text/csv": {}}}}}));
    let error = compiled(&document("/a", item), &["op"], &BTreeMap::new()).expect_err("it is wrong");
    for expected in ["is deprecated", "has the cookie parameter 'sid'", "answers 200 with text/csv"] {
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
