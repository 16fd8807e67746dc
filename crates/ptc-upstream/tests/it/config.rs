//! Configurations: what is accepted, and that every mistake is answered with its place and a fix.

use std::path::Path;

use ptc_upstream::config::{
    Config, EffectClass, Found, PinPolicy, SchemaSource, Scheme, TransportConfig, locate,
};
use ptc_upstream::credentials::Secrets;
use serde_json::{Value as Json, json};

fn parse(value: Json) -> Result<Config, String> {
    Config::from_value(value, Path::new("/etc/ptc")).map_err(|error| error.to_string())
}

/// An upstream `x` of these fields, with the credential `pat`.
fn one(fields: Json) -> Json {
    json!({"credentials": {"pat": {"source": "env", "var": "PAT"}}, "upstreams": {"x": fields}})
}

fn stdio(fields: Json) -> Json {
    merged(json!({"transport": "mcp_stdio", "command": "npx"}), fields)
}

fn http(fields: Json) -> Json {
    merged(json!({"transport": "mcp_http", "url": "https://example.com/mcp"}), fields)
}

fn openapi(fields: Json) -> Json {
    let base = json!({
        "transport": "openapi", "base_url": "https://api.example.com", "schema_file": "api.json",
        "include_operations": ["list_traces"],
    });
    merged(base, fields)
}

fn merged(mut base: Json, fields: Json) -> Json {
    for (key, value) in fields.as_object().cloned().unwrap_or_default() {
        base[key] = value;
    }
    base
}

#[test]
fn the_three_transports_can_be_mixed() {
    let config = parse(json!({
        "credentials": {
            "github-pat": {"source": "env", "var": "GITHUB_PAT"},
            "observatory-token": {"source": "file", "path": "token", "scheme_hint": "bearer"},
        },
        "upstreams": {
            "fs": {"transport": "mcp_stdio", "command": "npx", "args": ["-y", "server"], "env": {"T": "${HOME}/x"},
                   "cd": "work", "handshake_timeout_ms": 2000, "effects": {"read_file": "read"}},
            "github": {"transport": "mcp_http", "url": "https://api.example.com/mcp/",
                       "auth": [{"scheme": "bearer", "binding": "github-pat"}],
                       "static_headers": {"X-MCP-Readonly": "true"}, "description": "Code."},
            "observatory": {"transport": "openapi", "base_url": "https://observatory.example",
                            "schema_file": "observatory.json",
                            "auth": [{"scheme": "custom_header", "header": "X-Api-Key", "binding": "observatory-token"}],
                            "include_operations": ["list_trace_steps"], "allow_writes": true,
                            "operation_overrides": {"list_trace_steps": {
                                "name": "steps", "default_args": {"summary": true}, "effect": "write"}}},
        },
        "pins": {"file": "pins.json", "policy": "warn"},
    }))
    .unwrap();
    let names: Vec<&str> = config.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    assert_eq!(names, ["fs", "github", "observatory"]);
    let pins = config.pins.as_ref().unwrap();
    assert_eq!((pins.file.as_path(), pins.policy), (Path::new("/etc/ptc/pins.json"), PinPolicy::Warn));

    let fs = config.upstream("fs").unwrap();
    assert_eq!(fs.effects.get("read_file"), Some(&EffectClass::Read));
    let TransportConfig::Stdio(stdio) = &fs.transport else { panic!("fs is stdio") };
    assert_eq!(stdio.directory.as_deref(), Some(Path::new("/etc/ptc/work")));
    assert_eq!(stdio.handshake_timeout.as_millis(), 2000);

    let github = config.upstream("github").unwrap();
    assert_eq!(github.description.as_deref(), Some("Code."));
    let endpoint = github.transport.endpoint().unwrap();
    assert_eq!(endpoint.auth[0].scheme, Scheme::Bearer);
    assert_eq!(endpoint.static_headers, [("x-mcp-readonly".to_owned(), "true".to_owned())]);

    let TransportConfig::OpenApi(api) = &config.upstream("observatory").unwrap().transport else {
        panic!("observatory is openapi")
    };
    assert_eq!(api.schema, SchemaSource::File("/etc/ptc/observatory.json".into()));
    assert!(api.allow_writes);
    let changed = &api.overrides["list_trace_steps"];
    assert_eq!(changed.name.as_deref(), Some("steps"));
    assert_eq!(changed.effect, Some(EffectClass::Write));
    assert_eq!(Json::from(changed.default_args.clone().unwrap()), json!({"summary": true}));
}

#[test]
fn every_mistake_names_upstream_key_and_fix() {
    let auth = |rule: Json| one(http(json!({"auth": [rule]})));
    let header = |name: &str| one(http(json!({"static_headers": {name: "v"}})));
    let cases: Vec<(Json, &str)> = vec![
        (json!([]), "must be a JSON object, not a list; write {\"upstreams\": {…}}"),
        (json!({}), "key 'upstreams': is missing; add \"upstreams\": {\"<name>\": {…}}"),
        (json!({"upstreams": []}), "key 'upstreams': must be an object, not a list"),
        (
            json!({"upstreams": {}, "credential": {}}),
            "key 'credential': is not known; did you mean 'credentials'?",
        ),
        (one(json!({"command": "npx"})), "upstream 'x', key 'transport': is missing; say which one it is"),
        (
            one(json!({"transport": "stdio"})),
            "upstream 'x', key 'transport': does not know \"stdio\"; use \"mcp_stdio\"",
        ),
        (one(json!({"transport": "mcp_htp"})), "does not know \"mcp_htp\"; did you mean \"mcp_http\"?"),
        (one(json!({"transport": "fake"})), "use one of mcp_stdio, mcp_http, openapi"),
        (json!({"upstreams": {"a/b": stdio(json!({}))}}), "upstream 'a/b': has a '/' in its name"),
        (
            one(json!({"transport": "mcp_stdio"})),
            "upstream 'x', key 'command': is missing; add \"command\": \"npx\"",
        ),
        (one(stdio(json!({"arg": []}))), "upstream 'x', key 'arg': is not known; did you mean 'args'?"),
        (
            one(stdio(json!({"args": "-y"}))),
            "upstream 'x', key 'args': must be a list of strings, not a string",
        ),
        (
            one(stdio(json!({"env": {"A": 1}}))),
            "upstream 'x', key 'env': has a number under \"A\"; values must be strings",
        ),
        (one(stdio(json!({"env": {"A": "${B"}}))), "upstream 'x', key 'env': \"A\" has '${' without '}'"),
        (one(stdio(json!({"url": "https://x.y"}))), "upstream 'x', key 'url': is for transports over HTTP"),
        (
            one(stdio(json!({"handshake_timeout_ms": 0}))),
            "must be a whole number from 1 to 600000; leave it out for 60000",
        ),
        (
            one(stdio(json!({"effects": {"t": "reads"}}))),
            "does not know \"reads\" for the tool \"t\"; use one of read, write, unknown",
        ),
        (one(http(json!({"url": "example.com"}))), "upstream 'x', key 'url': is no address"),
        (one(http(json!({"url": "https://${HOST}/"}))), "${VAR} is filled in only inside \"env\""),
        (one(http(json!({"url": "ftp://a/b"}))), "has a scheme other than https; use an https:// address"),
        (
            one(http(json!({"url": "http://a/b"}))),
            "is plain HTTP; use https://, or set \"allow_insecure_http\": true",
        ),
        (
            one(http(json!({"url": "https://u:p@a/b"}))),
            "has a user or password in it; move it to \"credentials\"",
        ),
        (
            one(http(
                json!({"url": "http://a", "allow_insecure_http": true, "auth": [{"scheme": "bearer", "binding": "pat"}]}),
            )),
            "upstream 'x', key 'auth': would send credentials over plain HTTP; use an https:// address, or set \"allow_insecure_auth\": true",
        ),
        (auth(json!({"binding": "pat"})), "upstream 'x', key 'auth'[0], key 'scheme': is missing"),
        (auth(json!({"scheme": "bearr", "binding": "pat"})), "did you mean \"bearer\"?"),
        (
            auth(json!({"scheme": "bearer", "binding": "patt"})),
            "references unknown credential binding 'patt'; did you mean 'pat'?",
        ),
        (auth(json!({"scheme": "custom_header", "binding": "pat"})), "key 'header': is missing"),
        (
            auth(json!({"scheme": "custom_header", "header": "Authorization", "binding": "pat"})),
            "use the scheme \"bearer\" or \"basic\"",
        ),
        (
            auth(json!({"scheme": "custom_header", "header": "mcp-Session-id", "binding": "pat"})),
            "is set by the client itself",
        ),
        (
            auth(json!({"scheme": "custom_header", "header": "a b", "binding": "pat"})),
            "\"a b\" is no header name",
        ),
        (
            header("Authorization"),
            "upstream 'x', key 'static_headers': header \"Authorization\" carries secrets; move it to \"auth\"",
        ),
        (header("Proxy-Authorization"), "carries secrets"),
        (header("cookie"), "carries secrets"),
        (header("Set-Cookie"), "carries secrets"),
        (header("X-API-KEY"), "carries secrets"),
        (header("MCP-Protocol-Version"), "is set by the client itself"),
        (header("Mcp-Session-Id"), "is set by the client itself"),
        (header("User-Agent"), "is set by the client itself"),
        (one(http(json!({"static_headers": {"X-A": "1", "x-a": "2"}}))), "header \"x-a\" stands there twice"),
        (
            one(http(
                json!({"static_headers": {"X-K": "1"}, "auth": [{"scheme": "custom_header", "header": "x-k", "binding": "pat"}]}),
            )),
            "header 'x-k' also stands in static_headers",
        ),
        (
            one(openapi(json!({"include_operations": []}))),
            "upstream 'x', key 'include_operations': names no operation",
        ),
        (
            one(openapi(json!({"schema_url": "https://a/b"}))),
            "stands beside schema_file; keep one of the two",
        ),
        (
            one(openapi(json!({"operation_overrides": {"list_trace": {}}}))),
            "changes 'list_trace', which is not included; did you mean 'list_traces'?",
        ),
        (
            one(openapi(json!({"operation_overrides": {"list_traces": {"defaults": {}}}}))),
            "upstream 'x', key 'operation_overrides' 'list_traces', key 'defaults': is not known",
        ),
        (
            json!({"upstreams": {}, "credentials": {"a": {"source": "exec"}}}),
            "credential 'a', key 'source': does not know \"exec\"; use one of env, file, literal",
        ),
        (
            json!({"upstreams": {}, "credentials": {"a": {"source": "env"}}}),
            "credential 'a', key 'var': is missing",
        ),
        (
            json!({"upstreams": {}, "credentials": {"a": {"source": "env", "var": "A", "val": "x"}}}),
            "credential 'a', key 'val': is not known; did you mean 'var'?",
        ),
        (
            json!({"upstreams": {}, "credentials": {"1": {"source": "env", "var": "A"}}}),
            "credential '1', key 'credentials': has a name that cannot be used",
        ),
        (
            json!({"upstreams": {}, "pins": {"file": "p", "policy": "ask"}}),
            "key 'pins', key 'policy': does not know \"ask\"; use one of refuse, warn",
        ),
    ];
    for (value, expected) in cases {
        let message = parse(value.clone()).expect_err(&value.to_string());
        assert!(message.contains(expected), "{value}\n  says: {message}\n  not:  {expected}");
    }
}

#[test]
fn all_mistakes_are_found_in_one_go() {
    let config =
        json!({"upstreams": {"a": stdio(json!({"arg": []})), "b": http(json!({"url": "http://x"}))}});
    let message = parse(config).unwrap_err();
    assert!(message.starts_with("upstreams config has 2 problems:\n  upstream 'a', key 'arg'"), "{message}");
    assert!(message.contains("\n  upstream 'b', key 'url'"), "{message}");
}

#[test]
fn text_is_read_strictly() {
    for (text, expected) in [
        ("{", "JSON decode failed: EOF"),
        ("{\"upstreams\": {}, \"upstreams\": {}}", "the key \"upstreams\" stands twice in one object"),
        ("{\"upstreams\": {}} x", "trailing characters"),
    ] {
        let message = Config::from_json(text, Path::new("")).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
    let message = Config::from_file(Path::new("/nowhere/upstreams.json")).unwrap_err().to_string();
    assert!(message.starts_with("upstreams config /nowhere/upstreams.json: cannot be read"), "{message}");
}

#[test]
fn comments_and_commas_at_the_end_are_read_as_clients_write_them() {
    let text = "{\n  // Servers of the editor.\n  \"mcpServers\": {\n    \"fs\": {\"command\": \"npx\", /* quiet */ \"args\": [\"-y\",]},\n  },\n}\n";
    let config = Config::from_json(text, Path::new("")).expect("it is read");
    assert_eq!(config.upstreams.len(), 1);
    let broken = text.replace("[\"-y\",]", "[-y,]");
    let message = Config::from_json(&broken, Path::new("")).unwrap_err().to_string();
    assert!(message.contains("JSON decode failed") && message.contains("line 4 column"), "{message}");
}

#[test]
fn plain_http_needs_one_opt_in_and_credentials_a_second() {
    let plain = json!({"url": "http://127.0.0.1:1/mcp", "allow_insecure_http": true});
    assert!(parse(one(http(plain.clone()))).is_ok());
    let auth = json!({"allow_insecure_auth": true, "auth": [{"scheme": "bearer", "binding": "pat"}]});
    assert!(parse(one(http(merged(plain, auth)))).is_ok());
}

#[test]
fn a_file_is_found_by_flag_then_environment_then_home() {
    let home = std::env::temp_dir().join(format!("ptc-locate-{}", std::process::id()));
    std::fs::create_dir_all(home.join(".config/ptc_runner_mcp")).unwrap();
    std::fs::write(home.join(".config/ptc_runner_mcp/upstreams.json"), "{}").unwrap();
    let home_text = home.display().to_string();
    let lookup = |set: &[(&str, &str)]| {
        let set: Vec<(String, String)> =
            set.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        move |name: &str| set.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
    };
    let all = [("PTC_RUNNER_MCP_UPSTREAMS", "/env.json"), ("HOME", home_text.as_str())];
    assert_eq!(locate(Some(Path::new("/flag.json")), &lookup(&all)), Found::File("/flag.json".into()));
    assert_eq!(locate(None, &lookup(&all)), Found::File("/env.json".into()));
    assert_eq!(
        locate(None, &lookup(&[("PTC_RUNNER_MCP_UPSTREAMS", "{\"upstreams\":{}}")])),
        Found::Inline("{\"upstreams\":{}}".to_owned())
    );
    let default = home.join(".config/ptc_runner_mcp/upstreams.json");
    assert_eq!(locate(None, &lookup(&all[1..])), Found::File(default.clone()));
    let xdg = home.join(".config").display().to_string();
    assert_eq!(locate(None, &lookup(&[("XDG_CONFIG_HOME", &xdg)])), Found::File(default));
    assert_eq!(locate(None, &lookup(&[("HOME", "/nowhere")])), Found::Nowhere);
    std::fs::remove_dir_all(home).unwrap();
}

/// Resolves with an environment of `PAT=ghp_secret` and this program as its own.
fn resolve(value: Json) -> Result<Secrets, String> {
    let lookup = |name: &str| match name {
        "PAT" => Some("ghp_secret".to_owned()),
        "USERPASS" => Some("somebody:open sesame".to_owned()),
        "BOTH" => Some("{\"user\":\"somebody\",\"pass\":\"a:b:c\"}".to_owned()),
        "BROKEN" => Some("line\nbreak".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    };
    let own = std::env::current_exe().expect("a test has a program");
    Secrets::resolve_with(&parse(value).expect("parses"), &lookup, Some(&own))
        .map_err(|error| error.to_string())
}

#[test]
fn starting_checks_what_only_a_start_can_check() {
    let own = std::env::current_exe().unwrap().display().to_string();
    let credential = |source: Json| json!({"upstreams": {}, "credentials": {"c": source}});
    let basic = |var: &str| {
        json!({"credentials": {"c": {"source": "env", "var": var}},
               "upstreams": {"x": http(json!({"auth": [{"scheme": "basic", "binding": "c"}]}))}})
    };
    for (value, expected) in [
        (
            credential(json!({"source": "env", "var": "NOPE"})),
            "credential 'c': env NOPE is not set; export NOPE",
        ),
        (credential(json!({"source": "env", "var": "EMPTY"})), "credential 'c': env EMPTY is not set"),
        (
            credential(json!({"source": "file", "path": "/nowhere/t"})),
            "credential 'c': file /nowhere/t cannot be read",
        ),
        (credential(json!({"source": "literal", "value": "x".repeat(20_000)})), "has more than 16384 bytes"),
        (
            one(stdio(json!({"env": {"A": "${NOPE}"}}))),
            "upstream 'x', key 'env': \"A\" needs the environment variable NOPE, which is not set",
        ),
        (one(stdio(json!({"command": own}))), "upstream 'x', key 'command': "),
        (one(stdio(json!({"command": own}))), "is this program itself"),
        (basic("PAT"), "upstream 'x', key 'auth': credential 'c' is neither user:pass nor"),
        (basic("BROKEN"), "credential 'c' is neither"),
        (
            json!({"credentials": {"c": {"source": "env", "var": "BROKEN"}},
                   "upstreams": {"x": http(json!({"auth": [{"scheme": "bearer", "binding": "c"}]}))}}),
            "credential 'c' has characters that a header cannot carry",
        ),
    ] {
        let message = resolve(value.clone()).expect_err(&value.to_string());
        assert!(message.contains(expected), "{value}\n  says: {message}\n  not:  {expected}");
        assert!(!message.contains("line\nbreak") && !message.contains("ghp_secret"), "{message}");
    }
}

#[test]
fn credentials_become_headers_that_nothing_shows() {
    let headers = |var: &str, rule: Json| {
        let value = json!({"credentials": {"c": {"source": "env", "var": var}},
                           "upstreams": {"x": http(json!({"auth": [rule], "static_headers": {"X-T": "1"}}))}});
        let config = parse(value.clone()).unwrap();
        let secrets = resolve(value).unwrap();
        let shown = format!("{config:?} {secrets:?}");
        assert!(!shown.contains("ghp_secret") && !shown.contains("sesame"), "{shown}");
        let headers = secrets.headers(config.upstreams[0].transport.endpoint().unwrap()).unwrap();
        assert!(!format!("{headers:?}").contains("ghp_secret"));
        assert_eq!(headers["x-t"], "1");
        headers
    };
    let bearer = headers("PAT", json!({"scheme": "bearer", "binding": "c"}));
    assert_eq!(bearer["authorization"], "Bearer ghp_secret");
    let custom = headers("PAT", json!({"scheme": "custom_header", "header": "X-Api-Key", "binding": "c"}));
    assert_eq!(custom["x-api-key"], "ghp_secret");
    let basic = headers("USERPASS", json!({"scheme": "basic", "binding": "c"}));
    assert_eq!(basic["authorization"], "Basic c29tZWJvZHk6b3BlbiBzZXNhbWU=");
    let both = headers("BOTH", json!({"scheme": "basic", "binding": "c"}));
    assert_eq!(both["authorization"], "Basic c29tZWJvZHk6YTpiOmM=");
}

#[test]
fn what_is_secret_is_covered_and_nothing_else() {
    let value = json!({
        "credentials": {
            "basic": {"source": "env", "var": "USERPASS"},
            "lit": {"source": "literal", "value": "literal-value"},
        },
        "upstreams": {
            "x": http(json!({"auth": [{"scheme": "basic", "binding": "basic"}]})),
            "y": stdio(json!({"env": {"MY_TOKEN": "fixed-token", "ROOT": "/srv/data", "G": "t=${PAT}"}})),
        },
    });
    let config = parse(value.clone()).unwrap();
    assert!(!format!("{config:?}").contains("literal-value"));
    let redactor = resolve(value).unwrap().redactor();
    for secret in [
        "somebody",
        "open sesame",
        "c29tZWJvZHk6b3BlbiBzZXNhbWU",
        "literal-value",
        "fixed-token",
        "ghp_secret",
    ] {
        assert_eq!(redactor.redact_str(secret), "[REDACTED]", "{secret}");
    }
    assert_eq!(redactor.redact_str("/srv/data"), "/srv/data");
}

#[test]
fn files_lose_white_space_at_their_end() {
    let path = std::env::temp_dir().join(format!("ptc-credential-{}", std::process::id()));
    std::fs::write(&path, "from-a-file \n\n").unwrap();
    let value = json!({"credentials": {"c": {"source": "file", "path": path}},
                       "upstreams": {"x": http(json!({"auth": [{"scheme": "bearer", "binding": "c"}]}))}});
    let config = parse(value.clone()).unwrap();
    let headers = resolve(value).unwrap().headers(config.upstreams[0].transport.endpoint().unwrap()).unwrap();
    assert_eq!(headers["authorization"], "Bearer from-a-file");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn what_only_a_start_can_find_is_told_with_the_rest() {
    let text = json!({
        "credentials": {"gone": {"source": "file", "path": "/no/such/file"}, "wrong": {"source": "exec"}},
        "upstreams": {
            "far": {"transport": "mcp_http", "url": "https://a.example/mcp", "auth": [{"scheme": "bearer", "binding": "wrong"}], "mystery": 1},
            "near": {"transport": "mcp_stdio", "command": "x", "env": {"A": "${PTC_TEST_NO_SUCH_VARIABLE}"}}
        }
    });
    let error = Config::from_json(&text.to_string(), Path::new("")).expect_err("it is wrong");
    let told: Vec<String> = error.problems.iter().map(ToString::to_string).collect();
    let begins = [
        "credential 'wrong', key 'source': does not know",
        "upstream 'far', key 'mystery': is not known",
        "credential 'gone': file /no/such/file cannot be read",
        "upstream 'near', key 'env': \"A\" needs the environment variable PTC_TEST_NO_SUCH_VARIABLE",
    ];
    assert_eq!(told.len(), begins.len(), "{told:#?}");
    for (told, begin) in told.iter().zip(begins) {
        assert!(told.starts_with(begin), "{told}");
    }
}
