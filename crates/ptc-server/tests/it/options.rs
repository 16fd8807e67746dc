//! Flags, variables, defaults and what is refused.

use ptc_server::options::{Found, Loaded, Options, ResponseProfile, SETTINGS, page};

type Pairs = &'static [(&'static str, &'static str)];

fn pairs<'t>(items: &[(&'t str, &'t str)]) -> Vec<(String, String)> {
    items.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn read(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Result<Loaded, String> {
    Loaded::read(pairs(flags), pairs(environment)).map_err(|error| error.to_string())
}

fn options(flags: &[(&str, &str)], environment: &[(&str, &str)]) -> Options {
    read(flags, environment).expect("good options").options
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "ffffffffffffffffffffffffffffffff";

#[test]
fn r3_a_flag_beats_its_variable_which_beats_the_default() {
    let variable = [("PTC_RUNNER_MCP_MAX_FRAME_BYTES", "1000")];
    assert_eq!(options(&[], &[]).max_frame_bytes, 8 << 20);
    assert_eq!(options(&[], &variable).max_frame_bytes, 1000);
    assert_eq!(options(&[("max-frame-bytes", "2000")], &variable).max_frame_bytes, 2000);
    assert_eq!(
        options(&[], &[("PTC_RUNNER_MCP_MAX_FRAME_BYTES", "")]).max_frame_bytes,
        8 << 20,
        "empty is unset"
    );
}

#[test]
fn r3_names_of_variables_follow_from_flags() {
    for setting in SETTINGS {
        let expected = match setting.flag {
            "upstreams-config" => "PTC_RUNNER_MCP_UPSTREAMS".to_owned(),
            flag => format!("PTC_RUNNER_MCP_{}", flag.to_uppercase().replace('-', "_")),
        };
        assert_eq!(setting.variable(), expected);
    }
}

#[test]
fn r3_booleans_in_all_their_spellings() {
    for (text, expected) in [
        ("1", true),
        ("true", true),
        ("yes", true),
        ("on", true),
        ("ON", true),
        ("0", false),
        ("false", false),
        ("no", false),
        ("off", false),
    ] {
        assert_eq!(options(&[], &[("PTC_RUNNER_MCP_SESSIONS", text)]).sessions, expected, "{text}");
    }
}

#[test]
fn r3_defaults_that_follow_from_other_settings() {
    let plain = options(&[], &[]);
    assert_eq!((plain.program_timeout_ms, plain.program_memory_limit_bytes), (1_000, 64 << 20));
    let aggregator = options(&[("upstreams-config", "u.json")], &[]);
    assert_eq!((aggregator.program_timeout_ms, aggregator.program_memory_limit_bytes), (10_000, 64 << 20));
    assert_eq!(
        options(&[("upstreams-config", "u.json"), ("program-timeout-ms", "7")], &[]).program_timeout_ms,
        7
    );
    assert_eq!(options(&[("debug-tool", "true")], &[]).response_profile, ResponseProfile::Debug);
    assert_eq!(options(&[("max-frame-bytes", "77")], &[]).http_max_body_bytes, 77);
    assert!(plain.max_concurrent_calls <= 8);
}

#[test]
fn r3_upstreams_are_looked_for_in_order() {
    let home = std::env::temp_dir().join(format!("ptc-options-{}", std::process::id()));
    let file = home.join(".config/ptc_runner_mcp/upstreams.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "{}").unwrap();
    let home_text = home.display().to_string();
    let found = |flags: &[(&str, &str)], variable: &str| {
        options(flags, &[("HOME", &home_text), ("PTC_RUNNER_MCP_UPSTREAMS", variable)]).upstreams_config
    };
    assert_eq!(found(&[("upstreams-config", "a.json")], "b.json"), Found::File("a.json".into()));
    assert_eq!(found(&[], "b.json"), Found::File("b.json".into()));
    assert_eq!(found(&[], "{\"upstreams\":{}}"), Found::Inline("{\"upstreams\":{}}".into()));
    assert_eq!(found(&[], ""), Found::File(file));
    assert_eq!(options(&[], &[]).upstreams_config, Found::Nowhere);
    std::fs::remove_dir_all(home).unwrap();
}

#[test]
fn r3_debug_sizes_are_moved_into_their_range() {
    let sizes = |ring: &str, bytes: &str| {
        let options = options(&[("debug-ring-size", ring), ("max-debug-response-bytes", bytes)], &[]);
        (options.debug_ring_size.get(), options.max_debug_response_bytes.get())
    };
    assert_eq!(sizes("-3", "0"), (10, 4_096));
    assert_eq!(sizes("9999999999999999999999", "5000"), (5_000, 5_000));
}

#[test]
fn r3_1_what_is_unknown_or_wrong_is_refused() {
    let cases: &[(Pairs, Pairs, &str)] = &[
        (&[("max-frame-byte", "1")], &[], "unknown flag --max-frame-byte; did you mean --max-frame-bytes?"),
        (
            &[],
            &[("PTC_RUNNER_MCP_SESSION", "1")],
            "unknown variable PTC_RUNNER_MCP_SESSION; did you mean PTC_RUNNER_MCP_SESSIONS?",
        ),
        (
            &[("max-sessions", "0")],
            &[],
            "--max-sessions / PTC_RUNNER_MCP_MAX_SESSIONS must be a positive integer, got: 0",
        ),
        (&[("max-sessions", "-1")], &[], "must be a positive integer, got: -1"),
        (&[], &[("PTC_RUNNER_MCP_MAX_SESSIONS", "many")], "must be a positive integer, got: many"),
        (&[("sessions", "perhaps")], &[], "must be true or false, got: perhaps"),
        (&[("catalog-mode", "all")], &[], "must be inline, auto or lazy, got: all"),
        (&[("trace-payloads", "x")], &[], "must be none, summary or full, got: x"),
        (&[("response-profile", "fat")], &[], "must be slim, structured or debug, got: fat"),
        (&[("log-level", "loud")], &[], "must be debug, info, warn or error, got: loud"),
        (&[("turn-log-tags", "[1]")], &[], "must be a JSON object of text"),
        (&[("turn-log-tags", "{\"a\":\"\"}")], &[], "must not have empty names or values"),
        (&[("http-port", "70000")], &[], "must be a port from 0 to 65535, got: 70000"),
        (&[("debug-ring-size", "x")], &[], "must be an integer, got: x"),
        (&[("store", "a"), ("store", "b")], &[], "--store is given twice"),
        (&[("agentic-allow-writes", "true")], &[], "--agentic-allow-writes needs --agentic"),
        (&[("agentic", "true"), ("upstreams-config", "u")], &[], "--agentic needs a decision about writes"),
        (&[("agentic", "true"), ("aggregator-read-only", "true")], &[], "--agentic needs upstreams"),
    ];
    for (flags, environment, message) in cases {
        let error = read(flags, environment).unwrap_err();
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
    let far = read(&[], &[("PTC_RUNNER_MCP_NOPE", "1")]).unwrap_err();
    assert_eq!(far, "unknown variable PTC_RUNNER_MCP_NOPE", "nothing is near");
    let named = read(&[("http", "true"), ("http-host", "example.org")], &[]).unwrap_err();
    assert_eq!(named, "--http-host must be an IP address or localhost", "and nothing that follows from it");
}

#[test]
fn all_problems_are_told_at_once() {
    let error =
        read(&[("max-sessions", "0"), ("nonsense", "1")], &[("PTC_RUNNER_MCP_XYZ", "1")]).unwrap_err();
    assert_eq!(error.lines().count(), 3, "{error}");
}

#[test]
fn r1_7_modes_of_authentication() {
    let wide: Pairs = &[("http", "0.0.0.0:1"), ("http-allow-unsafe-network", "true")];
    let with = |more: &[(&'static str, &'static str)], base: &[(&'static str, &'static str)]| {
        read(&[base, more].concat(), &[]).map(|loaded| loaded.options)
    };
    let refused: &[(Pairs, Pairs, &str)] = &[
        (&[("http-auth-token", "short")], &[("http", "true")], "at least 32 bytes"),
        (&[("http-admin-token", "short")], &[("http", "true")], "at least 32 bytes"),
        (&[], wide, "needs --http-auth-token or --http-role-tokens"),
        (&[("http-auth-token", TOKEN)], &[("http", "0.0.0.0:1")], "--http-allow-unsafe-network"),
        (
            &[("http-disable-auth", "true"), ("http-auth-token", TOKEN)],
            &[("http", "true")],
            "stands against the tokens",
        ),
        (&[("http-disable-auth", "true")], wide, "exclude each other"),
        (&[("http-role-tokens", "f"), ("http-auth-token", TOKEN)], &[("http", "true")], "exclude each other"),
        (&[("http-role-tokens", "f")], &[("http", "true")], "needs --sessions"),
        (&[("http-admin-token", TOKEN), ("http-auth-token", TOKEN)], &[("http", "true")], "must differ"),
        (&[("http-host", "example.org")], &[("http", "true")], "must be an IP address or localhost"),
        (&[("http-port", "1")], &[("http", "127.0.0.1:2")], "cannot stand beside"),
        (&[("http-path", "/health")], &[("http", "true")], "must differ from the paths of the server"),
        (&[("http-path", "/approvals")], &[("http", "true")], "must differ from the paths of the server"),
        (
            &[("http-metrics-path", "/admin/x")],
            &[("http", "true")],
            "must differ from the paths of the server",
        ),
        (&[("http-metrics-path", "/mcp")], &[("http", "true")], "must differ"),
        (&[("http-path", "mcp")], &[("http", "true")], "must be a path"),
    ];
    for (more, base, message) in refused {
        let error = with(more, base).unwrap_err();
        assert!(error.contains(message), "{error}\nexpected: {message}");
    }
    with(&[("http-auth-token", TOKEN), ("http-admin-token", OTHER)], wide).unwrap();
    with(&[("http-disable-auth", "true")], &[("http", "[::1]:0")]).unwrap();
    let loopback = with(&[], &[("http", "127.0.0.1:99")]).unwrap();
    assert_eq!((loopback.http_host.as_str(), loopback.http_port), ("127.0.0.1", 99));
}

#[test]
fn shared_owners_are_warned_about() {
    let loaded = read(&[("http", "true"), ("http-disable-auth", "true")], &[]).unwrap();
    assert!(loaded.warnings[0].contains("only 32 of 256"), "{:?}", loaded.warnings);
}

#[test]
fn origins_may_repeat_or_stand_in_one() {
    let origins = [
        ("http-allowed-origin", "https://a.example, https://b.example"),
        ("http-allowed-origin", "https://c.example"),
    ];
    assert_eq!(
        options(&origins, &[]).http_allowed_origin,
        ["https://a.example", "https://b.example", "https://c.example"]
    );
}

#[test]
fn the_configuration_is_shown_without_secrets() {
    let flags =
        [("http-auth-token", TOKEN), ("store", "postgres://me:hunter2@127.0.0.1/db"), ("max-sessions", "3")];
    let variables = [(
        "PTC_RUNNER_MCP_UPSTREAMS",
        "{\"credentials\":{\"k\":{\"source\":\"literal\",\"value\":\"sesame\"}}}",
    )];
    let loaded = read(&flags, &variables).unwrap();
    let shown = loaded.shown();
    for secret in [TOKEN, "hunter2", "sesame"] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!format!("{loaded:?}").contains(TOKEN));
    }
    let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(json.as_object().unwrap().len(), SETTINGS.len());
    assert_eq!(json["max-sessions"], serde_json::json!({"value": 3, "from": "--max-sessions"}));
    assert_eq!(json["upstreams-config"]["from"], "PTC_RUNNER_MCP_UPSTREAMS");
    assert_eq!(json["http-port"], serde_json::json!({"value": 7332, "from": "default"}));
    for (place, shown) in [
        ("postgres://me:hunter2@127.0.0.1/db", "postgres://me@127.0.0.1/db"),
        ("postgres://127.0.0.1/db?user=me&password=hunter2&passfile=hunter3", "postgres://127.0.0.1/db"),
        ("host=127.0.0.1 password=hunter2", "host=… password=…"),
        ("calls.db", "calls.db"),
    ] {
        let loaded = read(&[("store", place)], &[]).unwrap();
        let json: serde_json::Value = serde_json::from_str(&loaded.shown()).unwrap();
        assert_eq!(json["store"]["value"], shown);
    }
}

#[test]
fn described_defaults_are_the_real_ones() {
    let shown: serde_json::Value = serde_json::from_str(&read(&[], &[]).unwrap().shown()).unwrap();
    for setting in SETTINGS {
        let value = &shown[setting.flag]["value"];
        if let Ok(number) = setting.default.parse::<u64>() {
            assert_eq!(value, number, "{}", setting.flag);
        }
        if let Ok(switch) = setting.default.parse::<bool>() {
            assert_eq!(value, switch, "{}", setting.flag);
        }
    }
}

#[test]
fn the_page_of_settings_is_what_the_table_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp-options.md");
    if std::env::var_os("PTC_WRITE_PAGES").is_some() {
        std::fs::write(path, page()).expect("the page is written");
    }
    let found = std::fs::read_to_string(path).expect("the page is there");
    assert!(found == page(), "docs/mcp-options.md is out of date: run `cargo xtask generate` and commit it");
}
