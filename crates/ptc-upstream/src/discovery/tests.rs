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
        Ok(question) => answer(&question, catalog, &Shapes::default(), &|_| None, most),
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

/// The lines of `apropos`.
fn lines(catalog: &Catalog, query: &str, limit: usize, load: bool) -> Vec<String> {
    let asked = json!({"op": "apropos", "query": query, "limit": limit, "load": load});
    let Reply::Found(answer) = ask(catalog, asked) else { panic!("{query}") };
    assert_eq!(answer["most"], MOST, "the machine is told how much may be said");
    let lines = answer["found"].as_array().expect("lines");
    lines.iter().map(|line| line.as_str().expect("a text").to_owned()).collect()
}

#[test]
fn what_fits_and_has_no_line_is_counted() {
    for (load, limit, expected) in [(true, 1, 3), (true, 3, 1), (true, 4, 0), (false, 2, 2), (false, 8, 0)] {
        let asked = json!({"op": "apropos", "query": "read", "limit": limit, "load": load});
        let Reply::Found(answer) = ask(&example(), asked) else { panic!("it is found") };
        assert_eq!(answer["more"], expected, "{load} {limit}: {answer}");
    }
}

#[test]
fn ranking_table() {
    let read = [
        "fs/readTextFile - Loads a document",               // its name
        "github/get-pr - Get a pull request",               // a synonym, in its name
        "fs/list_directory - Lists entries; reading order", // another form, in its description
        "github/search_threads - Find talk",                // inside its name
        "reader - Reads feeds (tools not loaded; (dir 'reader) lists them)",
    ];
    for (query, load, expected) in [
        ("read", false, &read[..]),
        ("read", true, &read[..4]),
        ("text_file", true, &[read[0], read[2]]), // questions part as names do; the server is about files
        ("readtextfile", true, &read[..1]),
        ("zebra", true, &[]),
        (
            "zebra",
            false,
            &["no tool fits \"zebra\"; servers: fs, github, mail, reader; (dir 'fs) lists the tools of one"],
        ),
        ("github", false, &["github/get-pr - Get a pull request", "github/search_threads - Find talk"]), // ties by name
    ] {
        assert_eq!(lines(&example(), query, 50, load), expected, "{query}");
    }
    assert_eq!(lines(&example(), "read", 1, false), read[..1]);
    assert_eq!(lines(&example(), "get pull", 1, true), read[1..2]);
}

#[test]
fn servers_of_which_nothing_is_known_are_always_named() {
    let catalog = Catalog::new([cold("dark", ""), cold("mail", "Letters"), cold("notes", "")]);
    let line = |name: &str| format!("{name} (tools not loaded; (dir '{name}) lists them)");
    let both = "tools not loaded: dark, notes; (dir 'dark) lists those of one";
    assert_eq!(lines(&catalog, "convert time", 8, false), [both]);
    assert_eq!(
        lines(&catalog, "notes", 8, false),
        [line("notes"), line("dark")],
        "those that fit come first"
    );
    assert_eq!(lines(&catalog, "convert time", 8, true), [""; 0], "tools alone");
}

#[test]
fn what_fits_comes_before_servers_that_are_still_starting() {
    let tools =
        [("take_screenshot", "Takes one of the page"), ("click", "Clicks"), ("navigate", "Goes to a page")];
    let names: Vec<String> = (0..27).map(|n| format!("s{n:02}")).collect();
    let cold_ones = names.iter().map(|name| cold(name, ""));
    let browser = server("browser", "", &[], &tools);
    let catalog = Catalog::new(cold_ones.chain([cold("screenshots", ""), browser]));
    let shown = lines(&catalog, "take a screenshot", 8, false);
    assert!(shown[0].starts_with("browser/take_screenshot"), "{shown:#?}");
    assert!(shown[shown.len() - 2].starts_with("screenshots (tools not loaded;"), "{shown:#?}");
    let all = format!("tools not loaded: {}; (dir 's00) lists those of one", names.join(", "));
    assert_eq!(shown.last(), Some(&all), "all of them in one line");
    assert_eq!(
        lines(&catalog, "take a screenshot", 2, false),
        [shown[0].clone(), all],
        "that line has its place"
    );
    let few = Catalog::new(names.iter().map(|name| cold(name, "")).chain([cold("screenshots", "")]));
    let shown = lines(&few, "take a screenshot", 8, false);
    assert_eq!(shown.len(), 2, "{shown:#?}");
    assert!(shown[0].starts_with("screenshots (tools not loaded;"), "{shown:#?}");
}

#[test]
fn a_server_that_is_down_says_why_wherever_it_is_asked_for() {
    let catalog = Catalog::new([cold("broken", ""), cold("gone", ""), cold("starting", "")]);
    let down = |name: &str| match name {
        "broken" => Some("command not found: no-such-thing".to_owned()),
        "gone" => Some("no key was given".to_owned()),
        _ => None,
    };
    let ask = |asked: Json| {
        let question = Question::parse(&asked).expect("a question");
        answer(&question, &catalog, &Shapes::default(), &|name| down(name).map(Away::Down), MOST)
    };
    let Reply::Found(servers) = ask(json!({"op": "servers"})) else { panic!("there are servers") };
    let said: Vec<&Json> =
        servers.as_array().expect("a list").iter().map(|one| &one["description"]).collect();
    assert_eq!(said, ["down: command not found: no-such-thing", "down: no key was given", ""]);
    assert_eq!(
        ask(json!({"op": "dir", "ref": "broken"})),
        Reply::Found(json!(["broken (down: command not found: no-such-thing)"]))
    );
    assert_eq!(ask(json!({"op": "dir", "ref": "starting"})), Reply::Nothing("upstream_unavailable"));
    let Reply::Found(found) = ask(json!({"op": "apropos", "query": "zebra"})) else { panic!("lines") };
    assert_eq!(
        found["found"],
        json!([
            "starting (tools not loaded; (dir 'starting) lists them)",
            "down: broken (command not found: no-such-thing), gone (no key was given); (dir 'broken) tries again"
        ])
    );
}

#[test]
fn what_is_said_of_arguments_and_hints_is_found_but_counts_less() {
    let schema = json!({"properties": {"query": {"description": "Words of a person"}, "how": {"type": "object",
        "properties": {"travelMode": {"enum": ["walking", "bicycling"]}}}}});
    let mut by_arg = tool("fetch", "", schema);
    by_arg.def.annotations =
        json!({"title": "Web lookup", "openWorldHint": true}).as_object().cloned().unwrap_or_default();
    let by_name = tool("query", "", json!({}));
    let tools = [by_arg, by_name].map(|tool| (tool.def.name.clone(), Arc::new(tool)));
    let server =
        Server { name: "s".to_owned(), tools: Some(tools.into_iter().collect()), ..Server::default() };
    let catalog = Catalog::new([Arc::new(server)]);
    for (query, expected) in [
        ("query", &["s/query", "s/fetch"][..]),
        ("lookup", &["s/fetch", "s/query"]), // to look up is to query
        ("hint", &["s/fetch"]),
        ("person", &["s/fetch"]),
        ("bicycle", &["s/fetch"]),
        ("travelmode", &["s/fetch"]),
    ] {
        assert_eq!(lines(&catalog, query, 8, true), expected, "{query}");
    }
}

#[test]
fn of_hostile_catalogs_only_the_beginnings_are_read_and_only_once() {
    // Many tools, some of which never end to say what they do.
    let about = "never-ending words about nothing ".repeat(2_000);
    let long = format!("aardvark {about}zebra");
    let names: Vec<String> = (0..10_000).map(|n| format!("tool_{n}")).collect();
    let text =
        |n: usize| if n % 100 == 11 { long.as_str() } else { "Words about nothing, and no end of them." };
    let tools: Vec<(&str, &str)> =
        names.iter().enumerate().map(|(n, name)| (name.as_str(), text(n))).collect();
    let catalog = Catalog::new([server("big", &about, &[], &tools)]);
    assert!(lines(&catalog, "tool 4711", 1, true)[0].starts_with("big/tool_4711 - "));
    let index = std::ptr::from_ref(catalog.index());
    assert!(lines(&catalog, "tool 4712", 1, true)[0].starts_with("big/tool_4712 - "));
    assert!(std::ptr::eq(catalog.index(), index), "the index is made once");
    let first = lines(&catalog, "aardvark", 1, true).concat();
    assert!(first.contains("11 - aardvark"), "it is said at the beginning: {first}");
    assert_eq!(lines(&catalog, "zebra", 1, true), [""; 0], "it is said behind what is read");
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
    let Reply::Found(meta) = answer(&question, &Catalog::new([Arc::new(server)]), &shapes, &|_| None, MOST)
    else {
        panic!("it is there")
    };
    assert_eq!(
        meta,
        json!({"server": "o", "name": "list-traces", "description": "Lists", "input_schema": {"type": "object"},
               "output_schema": null, "annotations": {},
               "_ptc": {"transport": "openapi", "operationId": "listTraces", "effect": "unknown", "observed": "[{:id integer}]"}})
    );
}

#[test]
fn servers_that_are_down_do_not_hide_that_nothing_fits_and_say_why() {
    let catalog = Catalog::new([
        server("fs", "Files", &[], &[("read", "Reads")]),
        cold("gone", ""),
        cold("late", ""),
        cold("mail", "Letters"),
    ]);
    let why = "process exited with status 3; its last words: no key";
    let found = |query: &str, down: &[&str]| -> Vec<String> {
        let asked = json!({"op": "apropos", "query": query, "limit": 8});
        let question = Question::parse(&asked).expect("a question");
        let down = |name: &str| down.contains(&name).then(|| Away::Down(why.to_owned()));
        let Reply::Found(answer) = answer(&question, &catalog, &Shapes::default(), &down, MOST) else {
            panic!("{query}")
        };
        serde_json::from_value(answer["found"].clone()).expect("lines")
    };
    let line = |name: &str| format!("{name} (down: {why}; (dir '{name}) tries again)");
    let nothing = "no tool fits \"zebra\"; servers: fs, gone, late, mail; (dir 'fs) lists the tools of one";
    let both = format!("down: gone ({why}), late ({why}); (dir 'gone) tries again");
    assert_eq!(found("zebra", &["gone", "late"]), [nothing.to_owned(), both]);
    // One that nobody has looked at may have what is wanted.
    assert_eq!(
        found("zebra", &["gone"]),
        ["late (tools not loaded; (dir 'late) lists them)".to_owned(), line("gone")]
    );
    assert_eq!(found("read", &["gone", "late"])[0], "fs/read - Reads");
    let letters = format!("mail - Letters (down: {why}; (dir 'mail) tries again)");
    assert!(found("letters", &["gone", "late", "mail"]).contains(&letters));
}

#[test]
fn servers_that_are_starting_are_named_beside_what_was_found() {
    let remembered = server("notes", "", &[], &[("take_note", "Writes a note down")]);
    let catalog = Catalog::new([
        server("fs", "Files", &[], &[("read", "Reads a file")]),
        cold("git", ""),
        cold("mail", "Letters"),
        cold("time", ""),
        remembered,
    ]);
    let away = |name: &str| (name != "fs").then_some(Away::Starting);
    let ask = |asked: Json| {
        answer(&Question::parse(&asked).expect("a question"), &catalog, &Shapes::default(), &away, MOST)
    };
    let found = |query: &str, load: bool| -> Vec<String> {
        let Reply::Found(answer) = ask(json!({"op": "apropos", "query": query, "load": load})) else {
            panic!("{query}")
        };
        serde_json::from_value(answer["found"].clone()).expect("lines")
    };
    let starting = "still starting: try again in a moment";
    let all = format!("{starting}: git, time, notes");
    let nothing =
        "no tool fits \"zebra\"; servers: fs, git, mail, notes, time; (dir 'fs) lists the tools of one";
    assert_eq!(found("read a file", false), ["fs/read - Reads a file", &all]);
    assert_eq!(found("zebra", false), [nothing, &all], "others that start are no reason not to say it");
    assert_eq!(found("letters", false), [format!("mail - Letters ({starting})"), all.clone()]);
    assert_eq!(
        found("take a note", false)[0],
        "notes/take_note - Writes a note down",
        "what it had when it was last there"
    );
    assert_eq!(found("zebra", true), [format!("{starting}: git, mail, notes, time")], "with the tools alone");
    let Reply::Found(servers) = ask(json!({"op": "servers"})) else { panic!("there are servers") };
    let said: Vec<&str> = servers
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["description"].as_str().unwrap_or_default())
        .collect();
    assert_eq!(said, ["Files", starting, &format!("Letters ({starting})"), "take_note", starting]);
    for (asked, told) in [
        (
            json!({"op": "doc", "ref": "git/git_lgo"}),
            format!("The tools of git are not known now ({starting})."),
        ),
        (
            json!({"op": "doc", "ref": "git"}),
            "git\nIts tools are not known: it is still starting. (dir 'git) tries again.".to_owned(),
        ),
    ] {
        assert_eq!(ask(asked), Reply::Found(told.into()));
    }
    assert_eq!(ask(json!({"op": "dir", "ref": "git"})), Reply::Found(json!([format!("git ({starting})")])));
}

#[test]
fn a_list_of_tools_that_is_not_whole_says_how_it_goes_on() {
    let names: Vec<String> = (0..120).map(|at| format!("t{at:03}")).collect();
    let tools: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "One of many")).collect();
    let catalog = Catalog::new([server("huge", "", &[], &tools)]);
    let ask = |asked: Json| {
        let question = Question::parse(&asked).expect("a question");
        let Reply::Found(Json::Array(lines)) =
            answer(&question, &catalog, &Shapes::default(), &|_| None, MOST)
        else {
            panic!("there are tools")
        };
        (lines.len(), lines.last().cloned().unwrap_or_default())
    };
    let dir = |limit: u64, offset: u64| json!({"op": "dir", "ref": "huge", "limit": limit, "offset": offset});
    assert_eq!(ask(json!({"op": "dir", "ref": "huge"})), (51, json!("… 70 more: (dir 'huge {:offset 50})")));
    assert_eq!(ask(dir(30, 60)), (31, json!("… 30 more: (dir 'huge {:offset 90 :limit 30})")));
    assert_eq!(ask(dir(50, 100)), (20, json!("t119 - One of many")));
    assert_eq!(ask(dir(50, 200)).0, 0);
}
