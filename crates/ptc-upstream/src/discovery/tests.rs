//! Discovery over catalogs made by hand.

use super::*;
use crate::catalog::tests::{server, tool};
use serde_json::json;

const MOST: usize = 256 * 1024;

fn ask(catalog: &Catalog, asked: Json) -> Reply {
    ask_within(catalog, asked, MOST)
}

fn ask_within(catalog: &Catalog, asked: Json, most: usize) -> Reply {
    match Question::parse(&asked) {
        Ok(question) => answer(&question, catalog, &Shapes::default(), most),
        Err(message) => Reply::Wrong(message),
    }
}

fn cold(name: &str, description: &str) -> Arc<Server> {
    Arc::new(Server { name: name.to_owned(), description: description.to_owned(), ..Server::default() })
}

fn example() -> Catalog {
    Catalog::new([
        server(
            "fs",
            "Files",
            &[],
            &[("readTextFile", "Loads a document"), ("list_directory", "Lists entries; reading order")],
        ),
        server("github", "", &[], &[("get-pr", "Get a pull request"), ("search_threads", "Find talk")]),
        cold("reader", "Reads feeds"),
        cold("mail", "Letters"),
    ])
}

#[test]
fn ranking_table() {
    let read = [
        "fs/readTextFile - Loads a document",               // exact in a name: 12
        "fs/list_directory - Lists entries; reading order", // beginning elsewhere: 5
        "github/search_threads - Find talk",                // inside a name: 4
        "reader - Reads feeds (tools not loaded; (dir 'reader) lists them)",
    ];
    for (query, load, expected) in [
        ("read", false, &read[..]),
        ("read", true, &read[..3]),
        ("get pull", false, &["github/get-pr - Get a pull request"]),
        ("text_file", true, &read[..1]), // queries part as names do
        ("zebra", false, &[]),
        ("github", false, &["github/get-pr - Get a pull request", "github/search_threads - Find talk"]), // ties by name
    ] {
        let asked = json!({"op": "apropos", "query": query, "limit": 50, "load": load});
        let Reply::Found(Json::Array(found)) = ask(&example(), asked) else { panic!("{query}") };
        assert_eq!(found, expected, "{query}");
    }
    let first = ask(&example(), json!({"op": "apropos", "query": "read", "limit": 1}));
    assert_eq!(first, Reply::Found(json!([read[0]])));
}

#[test]
fn arguments_and_hints_are_found_but_count_less() {
    let mut by_arg = tool("fetch", "", json!({"properties": {"query": {}}}));
    by_arg.def.annotations =
        json!({"title": "Web lookup", "readOnlyHint": true}).as_object().cloned().unwrap_or_default();
    let by_name = tool("query", "", json!({}));
    let tools = [by_arg, by_name].map(|tool| (tool.def.name.clone(), Arc::new(tool)));
    let server =
        Server { name: "s".to_owned(), tools: Some(tools.into_iter().collect()), ..Server::default() };
    let catalog = Catalog::new([Arc::new(server)]);
    for (query, expected) in [
        ("query", json!(["s/query", "s/fetch"])),
        ("lookup", json!(["s/fetch"])),
        ("hint", json!(["s/fetch"])),
    ] {
        let found = ask(&catalog, json!({"op": "apropos", "query": query, "limit": 8}));
        assert_eq!(found, Reply::Found(expected), "{query}");
    }
}

#[test]
fn servers_and_their_tools_are_listed_in_order() {
    assert_eq!(
        ask(&example(), json!({"op": "servers"})),
        Reply::Found(json!([
            {"name": "fs", "description": "Files", "tool_count": 2, "catalog_loaded": true},
            {"name": "github", "description": "get-pr, search_threads", "tool_count": 2, "catalog_loaded": true},
            {"name": "mail", "description": "Letters", "tool_count": 0, "catalog_loaded": false},
            {"name": "reader", "description": "Reads feeds", "tool_count": 0, "catalog_loaded": false},
        ]))
    );
    let dir = |limit: usize, offset: usize| {
        ask(&example(), json!({"op": "dir", "ref": "github", "limit": limit, "offset": offset}))
    };
    assert_eq!(
        dir(50, 0),
        Reply::Found(json!(["get-pr - Get a pull request", "search_threads - Find talk"]))
    );
    assert_eq!(dir(1, 1), Reply::Found(json!(["search_threads - Find talk"])));
    assert_eq!(dir(5, 9), Reply::Found(json!([])));
}

#[test]
fn faults_of_the_program_and_of_the_world() {
    for (asked, expected) in [
        (
            json!({"op": "dir", "ref": "gone"}),
            Reply::Wrong(
                "no upstream 'gone' configured. Configured upstreams: fs, github, mail, reader".to_owned(),
            ),
        ),
        (
            json!({"op": "doc", "ref": "gone/x"}),
            Reply::Wrong(
                "no upstream 'gone' configured. Configured upstreams: fs, github, mail, reader".to_owned(),
            ),
        ),
        (
            json!({"op": "meta", "ref": "github/x"}),
            Reply::Wrong("no tool 'x' in upstream 'github'. Known tools: get-pr, search_threads".to_owned()),
        ),
        (
            json!({"op": "doc", "ref": "plain"}),
            Reply::Wrong(
                "doc found nothing under 'plain'; name a server (fs, github, mail, reader) or a tool as server/tool"
                    .to_owned(),
            ),
        ),
        (
            json!({"op": "doc", "ref": "fs/"}),
            Reply::Wrong("doc found nothing under 'fs/'; name a tool as server/tool".to_owned()),
        ),
        (json!({"op": "doc", "ref": "mail/x"}), Reply::Nothing("upstream_unavailable")),
        (json!({"op": "dir", "ref": "mail"}), Reply::Nothing("upstream_unavailable")),
    ] {
        assert_eq!(ask(&example(), asked.clone()), expected, "{asked}");
    }
}

#[test]
fn a_server_has_a_page_also_while_its_tools_are_not_known() {
    for (server, expected) in [
        ("github", "github\nTools: 2 (2 unknown)\n  get-pr - Get a pull request\n"),
        ("mail", "mail\nLetters\nIts tools are not known: it could not be reached."),
    ] {
        let Reply::Found(Json::String(page)) = ask(&example(), json!({"op": "doc", "ref": server})) else {
            panic!("{server} has a page")
        };
        assert!(page.starts_with(expected), "{page}");
    }
}

#[test]
fn large_lists_are_cut_and_large_texts_are_nothing() {
    let many: Vec<String> = (0..200).map(|n| format!("tool_{n:03}")).collect();
    let tools: Vec<(&str, &str)> =
        many.iter().map(|name| (name.as_str(), "does a thing that is worth a line")).collect();
    let catalog = Catalog::new([server("s", "", &[], &tools)]);
    let Reply::Found(list) = ask_within(&catalog, json!({"op": "dir", "ref": "s", "limit": 200}), 1_024)
    else {
        panic!("lists stay lists")
    };
    let shown = list.as_array().map_or(0, Vec::len);
    assert!(json_bytes(&list) <= 1_024 && shown > 10 && shown < 200, "{shown}");
    for op in ["doc", "meta"] {
        let asked = json!({"op": op, "ref": "s/tool_001"});
        assert_eq!(ask_within(&catalog, asked, 64), Reply::Nothing("catalog_result_too_large"), "{op}");
    }
}

#[test]
fn meta_keeps_where_a_tool_comes_from() {
    let mut listed = tool("list-traces", "Lists", json!({"type": "object"}));
    listed.def.provenance =
        json!({"transport": "openapi", "operationId": "listTraces"}).as_object().cloned().unwrap_or_default();
    let server = Server {
        name: "o".to_owned(),
        tools: Some([("list-traces".to_owned(), Arc::new(listed))].into()),
        ..Server::default()
    };
    let mut shapes = Shapes::default();
    shapes.learn("o", "list-traces", &json!([{"id": 1}]));
    let question = Question::parse(&json!({"op": "meta", "ref": "o/list_traces"})).expect("it is a question");
    let Reply::Found(meta) = answer(&question, &Catalog::new([Arc::new(server)]), &shapes, MOST) else {
        panic!("it is there")
    };
    assert_eq!(
        meta,
        json!({"server": "o", "name": "list-traces", "description": "Lists", "input_schema": {"type": "object"},
               "output_schema": null, "annotations": {},
               "_ptc": {"transport": "openapi", "operationId": "listTraces", "effect": "unknown", "observed": "[{:id integer}]"}})
    );
}
