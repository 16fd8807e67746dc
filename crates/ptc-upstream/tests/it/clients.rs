//! Files of MCP clients as they are.

use std::path::Path;
use std::time::Duration;

use ptc_upstream::client::connect;
use ptc_upstream::config::{ConfigError, Scheme, TransportConfig, UpstreamConfig};
use ptc_upstream::model::Allowance;
use ptc_upstream::{Config, Secrets};
use serde_json::{Value as Json, json};

fn read(value: Json) -> Result<Config, ConfigError> {
    Config::from_value(value, Path::new("/home/ada/shop/.vscode"))
}

fn lookup(name: &str) -> Option<String> {
    let value = match name {
        "HOME" => "/home/ada",
        "GITHUB_TOKEN" => "ghp_0123456789abcdef",
        "API_KEY" => "key-0123456789abcdef",
        "EMPTY" => "",
        _ => return None,
    };
    Some(value.to_owned())
}

fn notes(config: &Config) -> Vec<String> {
    config.notes.iter().map(ToString::to_string).collect()
}

/// What a child is started with.
fn command(config: &Config, name: &str) -> Vec<String> {
    let upstream = config.upstream(name).unwrap_or_else(|| panic!("there is no {name}"));
    let TransportConfig::Stdio(stdio) = &upstream.transport else { panic!("{name} is no child") };
    let words = std::iter::once(&stdio.command).chain(&stdio.args);
    words.map(|word| word.fill(&lookup).expect("all variables are set")).collect()
}

fn headers(config: &Config, upstream: &UpstreamConfig) -> Vec<(String, String)> {
    let secrets = Secrets::resolve_with(config, &lookup, None).expect("all credentials are there");
    let endpoint = upstream.transport.endpoint().expect("it is reached over HTTP");
    let headers = secrets.headers(endpoint).expect("headers");
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().expect("visible text").to_owned()))
        .collect()
}

/// Seven servers as people have them.
fn seven() -> Json {
    json!({"mcpServers": {
        "filesystem": {
            "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "${HOME}/work", "${PLACE:-/tmp}"]
        },
        "github": {
            "type": "http", "url": "https://api.githubcopilot.com/mcp/",
            "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}", "X-MCP-Readonly": "true", "Accept": "application/json"}
        },
        "events": {"type": "sse", "url": "http://localhost:3001/sse", "headers": {"X-Api-Key": "${env:API_KEY}"}},
        "My Notes": {
            "type": "stdio", "command": "node", "args": ["server.js", 8080, true], "cwd": "../notes",
            "env": {"NOTION_TOKEN": "${GITHUB_TOKEN}", "PORT": 3}, "autoApprove": ["search"], "timeout": 60
        },
        "old": {"command": "old-server", "disabled": true},
        "vault": {"url": "https://vault.example.com/mcp", "headers": {"Authorization": "Basic YWRhOmxvdmVsYWNl"}},
        "picky": {"command": ["uvx", "picky"], "disabledTools": ["drop_*"], "mystery": 1}
    }})
}

#[test]
fn a_file_with_seven_servers_works_unchanged() {
    let config = read(seven()).unwrap_or_else(|error| panic!("{error}"));
    let names: Vec<&str> = config.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    assert_eq!(names, ["filesystem", "github", "events", "My-Notes", "vault", "picky"]);
    assert_eq!(
        command(&config, "filesystem"),
        ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/ada/work", "/tmp"]
    );
    assert_eq!(command(&config, "My-Notes"), ["node", "server.js", "8080", "true"]);
    assert_eq!(command(&config, "picky"), ["uvx", "picky"]);

    let by_name = |name: &str| config.upstream(name).expect("it is there");
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        headers(&config, by_name("github")),
        [header("x-mcp-readonly", "true"), header("authorization", "Bearer ghp_0123456789abcdef")]
    );
    assert_eq!(headers(&config, by_name("events")), [header("x-api-key", "key-0123456789abcdef")]);
    assert_eq!(headers(&config, by_name("vault")), [header("authorization", "Basic YWRhOmxvdmVsYWNl")]);
    let TransportConfig::Http(events) = &by_name("events").transport else { panic!("events is HTTP") };
    assert!(events.legacy_sse);
    let TransportConfig::Stdio(own) = &by_name("My-Notes").transport else { panic!("it is a child") };
    assert_eq!(own.directory.as_deref(), Some(Path::new("/home/ada/shop/.vscode/../notes")));
    assert_eq!(own.env["PORT"].to_string(), "3");
    let tools = &by_name("picky").tools;
    assert!(tools.admits("list_tables") && !tools.admits("drop_table"));
    assert_eq!(
        notes(&config),
        [
            "server 'github', key 'headers': the header \"Accept\" is set by ptc itself",
            "server 'My Notes': is called 'My-Notes' in programs",
            "server 'My-Notes', key 'autoApprove': is a setting of the client and has no meaning here",
            "server 'My-Notes', key 'timeout': is a setting of the client; \"call_timeout_ms\" says here how long a call may take",
            "server 'old': is switched off (\"disabled\": true) and was left out",
            "server 'picky', key 'mystery': is not known here and was left out",
        ]
    );
}

#[test]
fn secrets_of_clients_are_covered_as_ours_are() {
    let config = read(seven()).expect("it is right");
    let redactor = Secrets::resolve_with(&config, &lookup, None).expect("all is set").redactor();
    for secret in ["ghp_0123456789abcdef", "key-0123456789abcdef", "lovelace"] {
        assert_eq!(redactor.redact_str(secret), "[REDACTED]", "{secret}");
    }
    let shown = format!("{config:?}");
    assert!(!shown.contains("lovelace") && !shown.contains("YWRhOmxvdmVsYWNl"), "{shown}");
}

#[test]
fn every_client_keeps_its_servers_somewhere_else() {
    let entry = json!({"command": "srv"});
    for file in [
        json!({"mcpServers": {"x": entry}, "theme": "dark", "projects": {}}),
        json!({"servers": {"x": entry}, "inputs": []}),
        json!({"mcp": {"servers": {"x": entry}}}),
        json!({"context_servers": {"x": entry}}),
        json!({"context_servers": {"x": {"source": "custom", "command": {"path": "srv", "env": {"A": "b"}}}}}),
        json!({"mcp": {"x": {"type": "local", "command": ["srv"], "enabled": true, "environment": {"A": "b"}}}}),
    ] {
        let config = read(file.clone()).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(command(&config, "x"), ["srv"], "{file}");
    }
    let own = read(json!({"upstreams": {}, "mcpServers": {}})).expect_err("both");
    assert!(own.to_string().contains("key 'mcpServers': is not known"), "{own}");
}

#[test]
fn variables_are_those_of_the_clients() {
    let filled = |text: &str| {
        let config = read(json!({"mcpServers": {"x": {"command": text}}})).expect("it is right");
        command(&config, "x").remove(0)
    };
    for (text, expected) in [
        ("${HOME}/a", "/home/ada/a"),
        ("${env:HOME}/a", "/home/ada/a"),
        ("${NOT_SET:-b c}", "b c"),
        ("${EMPTY:-b}", "b"),
        ("${HOME:-b}", "/home/ada"),
        ("${workspaceFolder}/a", "/home/ada/shop/a"),
        ("${workspaceFolderBasename}", "shop"),
        ("${userHome}${/}a", "/home/ada/a"),
        ("$HOME ${", "$HOME ${"),
        ("${NOT_SET:-${HOME}}/a", "/home/ada/a"),
        ("${NOT_SET:-${EMPTY:-x${HOME}y}}z", "x/home/adayz"),
        ("${HOME:-${NOT_SET}}", "/home/ada"),
        ("${NOT_SET:-${workspaceFolder}/b}", "/home/ada/shop/b"),
        ("${NOT_SET:-a}}", "a}"),
        ("${NOT_SET:-$5}", "$5"),
    ] {
        assert_eq!(filled(text), expected, "{text}");
    }
    let config =
        read(json!({"mcpServers": {"x": {"command": "a", "args": ["${NOT_SET}"]}}})).expect("it is right");
    let error = Secrets::resolve_with(&config, &lookup, None).expect_err("it is not set").to_string();
    assert!(error.contains("upstream 'x', key 'args'") && error.contains("export NOT_SET"), "{error}");
}

/// A file may be named from anywhere: `mcp.json`, `./mcp.json`, `../mcp.json`, `.vscode/mcp.json`.
#[test]
fn the_folder_that_is_worked_in_is_absolute_however_the_file_is_named() {
    let here = std::env::current_dir().expect("a folder");
    let above = here.parent().expect("one above").canonicalize().expect("it is there");
    for (base, folder) in [
        ("", &here),
        (".", &here),
        (".vscode", &here),
        ("./.cursor", &here),
        ("..", &above),
        ("src/../..", &above),
    ] {
        let file = json!({"mcpServers": {"x": {"command": "a", "args": ["${workspaceFolder}", "${workspaceFolder}/", "${workspaceFolderBasename}"]}}});
        let config = Config::from_value(file, Path::new(base)).expect("it is right");
        let folder = folder.to_str().expect("UTF-8");
        let name = folder.rsplit('/').next().expect("a name");
        assert_eq!(command(&config, "x")[1..], [folder, &format!("{folder}/"), name], "{base:?}");
    }
}

#[test]
fn all_mistakes_of_a_server_are_told_at_once() {
    let servers = json!({"mcpServers": {
        "a": {"command": "", "args": "b", "env": {"A": []}, "cwd": 1},
        "b": {"type": "ws", "url": "mcp", "headers": {"a b": "c"}, "call_timeout_ms": "9"},
    }});
    let error = read(servers).expect_err("nothing is right").to_string();
    for told in [
        "server 'a', key 'command': is empty",
        "server 'a', key 'args': must be a list of strings",
        "server 'a', key 'env': must be an object of strings",
        "server 'a', key 'cwd': must be a string",
        "server 'b', key 'type': does not know \"ws\"",
        "server 'b', key 'url': is no address",
        "server 'b', key 'headers': \"a b\" is no header name",
        "server 'b', key 'call_timeout_ms': must be a whole number from 1 to 600000",
    ] {
        assert!(error.contains(told), "{told}: {error}");
    }
    let own = json!({"upstreams": {"x": {"command": "", "env": {"A": 1}, "call_timeout_ms": 0}}});
    let error = read(own).expect_err("nothing is right").to_string();
    for told in [
        "key 'transport': is missing",
        "key 'command': is empty",
        "key 'env': has a number under",
        "key 'call_timeout_ms'",
    ] {
        assert!(error.contains(told), "{told}: {error}");
    }
}

#[test]
fn settings_of_ours_may_stand_beside_those_of_a_client() {
    let config = read(json!({"mcpServers": {
        "a": {"command": "a", "inherit_env": true, "call_timeout_ms": 90_000, "handshake_timeout_ms": 9_000, "approval": {"put": "ask"}},
        "b": {"url": "https://a.b/mcp", "call_timeout_ms": 90_000},
    }}))
    .expect("it is right");
    let [a, b] = &config.upstreams[..] else { panic!("two of them") };
    assert_eq!(
        (a.call_timeout, b.call_timeout),
        (Some(Duration::from_secs(90)), Some(Duration::from_secs(90)))
    );
    let TransportConfig::Stdio(stdio) = &a.transport else { panic!("a child") };
    assert_eq!((stdio.inherit_env, stdio.handshake_timeout), (true, Duration::from_secs(9)));
    assert!(a.approval.any() && config.notes.is_empty(), "{:?}", config.notes);
    let request = b.transport.endpoint().expect("it is far").request_timeout;
    assert_eq!(request, Duration::from_secs(90), "a request has as long as its call");
}

#[test]
fn mistakes_name_server_key_and_fix() {
    let one = |entry: Json| json!({"mcpServers": {"x": entry}});
    let http = |headers: Json| one(json!({"url": "https://a.b/mcp", "headers": headers}));
    for (file, expected) in [
        (
            one(json!(1)),
            "server 'x': must be an object, not a number; write {\"command\": \"…\"} or {\"url\": \"…\"}",
        ),
        (one(json!({})), "server 'x': has neither \"command\" nor \"url\"; add \"command\" for a program"),
        (
            one(json!({"type": "ws", "url": "wss://a.b"})),
            "server 'x', key 'type': does not know \"ws\"; use \"stdio\"",
        ),
        (
            one(json!({"command": "${input:token}"})),
            "${input:token} is asked for by the client, and nobody is asked here",
        ),
        (
            one(json!({"command": "${A:-${input:token}}"})),
            "${input:token} is asked for by the client, and nobody is asked here",
        ),
        (one(json!({"command": "${A:-${B}"})), "has a default with '${' and no '}': ${B"),
        (one(json!({"command": "${A:-".repeat(9) + "x" + &"}".repeat(9)})), "nests variables deeper than 8"),
        (
            one(json!({"command": "${command:pick}"})),
            "${command:pick} is no variable that is known here; write ${NAME}",
        ),
        (one(json!({"command": 1})), "server 'x', key 'command': must be a string, not a number"),
        (one(json!({"command": "a", "args": "b"})), "server 'x', key 'args': must be a list of strings"),
        (
            one(json!({"command": "a", "env": {"A": []}})),
            "server 'x', key 'env': must be an object of strings",
        ),
        (
            one(json!({"command": "a", "disabled": "yes"})),
            "server 'x', key 'disabled': must be true or false",
        ),
        (one(json!({"url": "mcp"})), "server 'x', key 'url': is no address"),
        (
            one(json!({"url": "https://ada:pw@a.b/mcp"})),
            "server 'x', key 'url': has a user or password in it",
        ),
        (one(json!({"url": "https://a.b/${PTC_NOT_SET}"})), "needs the environment variable PTC_NOT_SET"),
        (http(json!({"A b": "c"})), "server 'x', key 'headers': \"A b\" is no header name"),
        (http(json!({"X-A": "b", "x-a": "c"})), "the header \"x-a\" stands there twice"),
        (
            one(json!({"url": "http://a.b/mcp", "headers": {"Authorization": "Bearer t"}})),
            "server 'x', key 'url': would send credentials over plain HTTP; use an https:// address",
        ),
        (
            json!({"mcpServers": {"a b": {"command": "x"}, "a-b": {"command": "y"}}}),
            "server 'a-b': would be called 'a-b' like another one; rename it",
        ),
    ] {
        let error = read(file.clone()).expect_err(expected).to_string();
        assert!(error.contains(expected), "{file}: {error}");
    }
}

#[test]
fn a_bearer_token_is_a_credential_by_itself() {
    let file = json!({"mcpServers": {"x": {"url": "https://a.b/mcp", "headers": {"authorization": "bearer  abc-0123456789"}}}});
    let config = read(file).expect("it is right");
    let endpoint = config.upstreams[0].transport.endpoint().expect("HTTP");
    assert_eq!(endpoint.auth[0].scheme, Scheme::Bearer);
    assert_eq!(
        headers(&config, &config.upstreams[0]),
        [("authorization".to_owned(), "Bearer abc-0123456789".to_owned())]
    );
}

#[tokio::test]
async fn a_server_whose_variable_is_not_set_is_broken_by_itself() {
    let file = json!({"mcpServers": {
        "good": {"command": "good"},
        "args": {"command": "x", "args": ["${NOT_SET}"]},
        "far": {"url": "https://a.b/mcp", "headers": {"Authorization": "Bearer ${NOT_SET}"}},
        "fine": {"url": "https://a.b/mcp", "headers": {"X-Api-Key": "${NOT_SET:-none}"}},
        "left out": {"url": "https://a.b/${PTC_NOT_SET}"}
    }});
    let config = read(file).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        notes(&config),
        [
            "server 'left out': is called 'left-out' in programs",
            "server 'left-out', key 'url': needs the environment variable PTC_NOT_SET, which is not set; export PTC_NOT_SET \
             before starting; the server is left out until then"
        ]
    );
    let secrets = Secrets::resolve_with(&config, &lookup, None).unwrap_or_else(|error| panic!("{error}"));
    let allowance =
        Allowance { timeout: Duration::from_secs(5), max_bytes: 1024, max_values: 1024, once: false };
    for (name, expected) in [
        (
            "args",
            "key 'args': \"${NOT_SET}\" needs the environment variable NOT_SET, which is not set; export NOT_SET",
        ),
        ("far", "key 'headers': env NOT_SET is not set; export NOT_SET before starting"),
    ] {
        let upstream = config.upstream(name).expect("it is there");
        let client = connect(upstream, &secrets).expect("it has a client");
        let fault = client.list(allowance).await.expect_err("it cannot be started");
        assert!(client.is_broken() && fault.message.contains(expected), "{name}: {fault}");
    }
    for name in ["good", "fine"] {
        let client = connect(config.upstream(name).expect("it is there"), &secrets).expect("it has a client");
        assert!(!client.is_broken(), "{name}");
    }
}

/// What is down in a file with one good server beside these, and why.
fn down(servers: Json) -> Vec<(String, String)> {
    let mut servers = servers;
    servers["good"] = json!({"command": "good"});
    let config = read(json!({"mcpServers": servers})).unwrap_or_else(|error| panic!("{error}"));
    let secrets = Secrets::resolve_with(&config, &lookup, None).unwrap_or_else(|error| panic!("{error}"));
    let broken = |name: &str| {
        let client = connect(config.upstream(name)?, &secrets)?;
        client.down().filter(|_| client.is_broken()).map(|fault| (name.to_owned(), fault.message))
    };
    let names = config.upstreams.iter().map(|upstream| upstream.name.as_str());
    let told = names.clone().filter_map(broken).collect();
    assert!(names.clone().any(|name| name == "good") && broken("good").is_none(), "the others are used");
    told
}

#[test]
fn one_bad_server_takes_no_other_away() {
    for (entry, why) in [
        (json!(5), "must be an object, not a number"),
        (json!(null), "must be an object, not null"),
        (json!({}), "has neither \"command\" nor \"url\""),
        (json!({"command": 7}), "key 'command': must be a string"),
        (json!({"command": "a", "args": "x"}), "key 'args': must be a list of strings"),
        (json!({"command": "a", "args": ["${input:key}"]}), "${input:key} is asked for by the client"),
        (json!({"command": "a", "args": ["${command:x}"]}), "${command:x} is no variable"),
        (json!({"type": "websocket", "url": "ws://x"}), "key 'type': does not know \"websocket\""),
        (json!({"url": "ws://x"}), "is no address of HTTP"),
        (json!({"url": "not a url"}), "key 'url': is no address"),
        (
            json!({"url": "http://a.b/mcp", "headers": {"Authorization": "Bearer abcdefgh"}}),
            "would send credentials over plain HTTP",
        ),
        (json!({"command": "a", "envFile": "/no/such/file"}), "key 'envFile': /no/such/file: cannot be read"),
    ] {
        let told = down(json!({"bad one": entry}));
        let [(name, message)] = told.as_slice() else { panic!("{entry}: {told:?}") };
        assert!(name == "bad-one" && message.contains(why), "{entry}: {message}");
    }
    assert_eq!(down(json!({"": {"command": "a"}})), [], "programs cannot name it, so it is not there");
    let clash = down(json!({"a b": {"command": "a"}, "a-b": {"command": "b"}}));
    assert_eq!(clash.len(), 1, "{clash:?}");
    assert_eq!(clash[0].1.matches("would be called 'a-b' like another one").count(), 2, "{clash:?}");
}

#[test]
fn a_file_of_variables_is_read() {
    let folder = std::env::temp_dir().join(format!("ptc-env-file-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(".env");
    std::fs::write(&file, "A=1\nB=\"two\"\n").expect("a file");
    let entry = json!({"command": "a", "envFile": file, "env": {"B": "three"}});
    let config = read(json!({"mcpServers": {"x": entry}})).unwrap_or_else(|error| panic!("{error}"));
    let TransportConfig::Stdio(stdio) = &config.upstreams[0].transport else { panic!("a child") };
    let env: Vec<_> = stdio.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!((env, config.notes.len()), (vec!["A=1".to_owned(), "B=three".to_owned()], 0));
    std::fs::remove_dir_all(folder).expect("it was written");
}

#[test]
fn a_dollar_can_mean_itself() {
    let config = read(json!({"mcpServers": {"x": {"command": "${$}{HOME}"}}})).expect("it is right");
    assert_eq!(command(&config, "x"), ["${HOME}"]);
}

#[test]
fn what_keeps_each_server_from_being_used_is_told_by_name() {
    let servers = json!({
        "good": {"command": "x", "env": {"A": "${NOT_SET}"}},
        "far": {"url": "https://a.b/${PTC_NOT_SET}"},
        "asks": {"command": "x", "env": {"A": "${input:a}"}},
        "ext": {"source": "extension"},
    });
    let problems = Config::client_problems(servers.as_object().expect("servers").clone(), Path::new(""));
    assert_eq!(problems.keys().collect::<Vec<_>>(), ["asks", "ext"]);
    assert!(problems["ext"][0].to_string().starts_with("server 'ext': has neither \"command\" nor \"url\""));
}

#[test]
fn variables_without_a_value_are_what_clients_make_of_them() {
    let entry = json!({"command": "srv", "args": ["${NO_SUCH}", "${HOME}"], "env": {"K": "a-${env:NO_SUCH}"}, "unset_variables": "keep"});
    let config = read(json!({"mcpServers": {"x": entry}})).expect("it is right");
    assert_eq!(command(&config, "x"), ["srv", "${NO_SUCH}", "/home/ada"]);
    let TransportConfig::Stdio(stdio) = &config.upstreams[0].transport else { panic!("it is a child") };
    assert_eq!(stdio.env["K"].fill(&lookup), Ok("a-${env:NO_SUCH}".to_owned()));
    let passed = "is not set and is passed on as it stands, as by the client";
    assert_eq!(
        notes(&config),
        [
            format!("server 'x', key 'args': ${{NO_SUCH}} {passed}"),
            format!("server 'x', key 'env': ${{env:NO_SUCH}} {passed}")
        ]
    );
    // Codex passes variables on by name.
    let named = json!({"command": "srv", "env_vars": ["PATH", "NO_SUCH"]});
    let far =
        json!({"url": "https://a.example/mcp", "env_http_headers": {"X-Path": "PATH", "X-None": "NO_SUCH"}});
    let config = read(json!({"mcpServers": {"x": named, "y": far}})).expect("it is right");
    let TransportConfig::Stdio(stdio) = &config.upstreams[0].transport else { panic!("it is a child") };
    assert_eq!(stdio.env.keys().collect::<Vec<_>>(), ["PATH"]);
    let endpoint = config.upstreams[1].transport.endpoint().expect("HTTP");
    assert_eq!(endpoint.auth.iter().map(|rule| rule.scheme.header()).collect::<Vec<_>>(), ["x-path"]);
    assert_eq!(
        notes(&config),
        [
            "server 'x', key 'env_vars': NO_SUCH is not set and is left out, as by the client",
            "server 'y', key 'env_http_headers': NO_SUCH is not set, and the header \"X-None\" is left out, as by the client",
        ]
    );
    // A header for which a client sends nothing has no value.
    let empty = json!({"url": "https://a.example/mcp", "headers": {"X-Api-Key": "${NO_SUCH:-}"}});
    let config = read(json!({"mcpServers": {"z": empty}})).expect("it is right");
    let header = ("x-api-key".to_owned(), String::new());
    assert_eq!(headers(&config, &config.upstreams[0]), [header]);
}

#[test]
fn secrets_in_arguments_and_addresses_are_covered() {
    let config = read(json!({"mcpServers": {
        "x": {"command": "srv", "args": ["--api-key", "sk-0123456789", "--token=tok-0123456789"]},
        "y": {"url": "https://a.example/mcp?api_key=key-0123456789&page=12345678"}
    }}));
    let config = config.expect("it is right");
    let redactor = Secrets::resolve_with(&config, &lookup, None).expect("all is set").redactor();
    for secret in ["sk-0123456789", "tok-0123456789", "key-0123456789"] {
        assert_eq!(redactor.redact_str(secret), "[REDACTED]", "{secret}");
    }
    assert_eq!(redactor.redact_str("page 12345678 of srv"), "page 12345678 of srv");
}

#[test]
fn what_is_not_read_of_a_file_is_told() {
    let entry = json!({"command": "srv"});
    let both = read(json!({"mcpServers": {"x": entry}, "servers": {"y": entry}})).expect("it is right");
    assert_eq!(
        notes(&both),
        ["key 'servers': is left out: the servers of 'mcpServers' are used; move its servers there"]
    );
    let nested = read(json!({"mcp": {"servers": {"x": entry}}})).expect("it is right");
    assert!(nested.notes.is_empty(), "{:?}", nested.notes);
    let error = read(json!({"mcpServers": null})).expect_err("it is wrong");
    assert_eq!(
        error.to_string(),
        "upstreams config: key 'mcpServers': must be an object of servers, not null; write \"mcpServers\": {\"<name>\": \
         {\"command\": \"…\"}}"
    );
}

#[test]
fn a_credential_with_a_mistake_is_told_once_and_all_keys_are_known() {
    let error = read(json!({
        "credentials": {"a": {"source": "exec"}},
        "upstreams": {"x": {"transport": "mcp_http", "url": "https://a.example/mcp", "auth": [{"scheme": "bearer", "binding": "a"}], "zzzzzzzz": 1}}
    }));
    let error = error.expect_err("it is wrong").to_string();
    assert!(!error.contains("unknown credential binding"), "{error}");
    assert!(error.contains("include_tools") && error.contains("call_timeout_ms"), "{error}");
}
