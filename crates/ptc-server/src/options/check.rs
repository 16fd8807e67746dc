//! What settings say about each other: defaults that follow from other settings, and combinations that are refused.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ptc_upstream::config::{Found, locate};
use secrecy::ExposeSecret;

use super::{Options, ResponseProfile, SettingOrigin};

/// The shortest time for which answers and replies are kept: longer than anybody waits who is told that a request is busy.
const LEAST_RETENTION_MS: u64 = 600_000;

/// Completes the options, adds problems, and gives warnings.
pub(super) fn check(
    options: &mut Options,
    origins: &BTreeMap<&'static str, SettingOrigin>,
    environment: &BTreeMap<String, String>,
    problems: &mut Vec<String>,
) -> Vec<String> {
    let given = |flag: &str| origins.contains_key(flag);
    if !given("upstreams-config") {
        options.upstreams_config = locate(None, &|name| environment.get(name).cloned());
    }
    let aggregator = options.upstreams_config != Found::Nowhere;
    if aggregator && !given("program-timeout-ms") {
        options.program_timeout_ms = 10_000;
    }
    if options.debug_tool && !given("response-profile") {
        options.response_profile = ResponseProfile::Debug;
    }
    if !given("http-max-body-bytes") {
        options.http_max_body_bytes = options.max_frame_bytes;
    }
    if options.evidence_bundle.is_some() && !options.sessions {
        problems
            .push("--evidence-bundle needs --sessions: only programs of sessions read evidence".to_owned());
    }
    if options.journal_retention_ms < LEAST_RETENTION_MS {
        problems.push(format!(
            "--journal-retention-ms must be at least {LEAST_RETENTION_MS} (ten minutes), got: {}. A request that comes again \
             later than that is a new one and makes its calls again",
            options.journal_retention_ms
        ));
    }
    agentic(options, aggregator, problems);
    listening(options, given("http-host") || given("http-port"), problems);
    match options.http.on {
        true => http(options, problems),
        false => Vec::new(),
    }
}

fn agentic(options: &Options, aggregator: bool, problems: &mut Vec<String>) {
    if options.agentic_allow_writes && !options.agentic {
        problems.push("--agentic-allow-writes needs --agentic".to_owned());
    }
    if options.agentic && !aggregator {
        problems.push("--agentic needs upstreams: name their file with --upstreams-config".to_owned());
    }
    if options.agentic && !options.aggregator_read_only && !options.agentic_allow_writes {
        problems.push(
            "--agentic needs a decision about writes: --aggregator-read-only refuses them, \
             --agentic-allow-writes allows them"
                .to_owned(),
        );
    }
}

/// `--http ADDRESS` is short for `--http --http-host … --http-port …`.
fn listening(options: &mut Options, also_apart: bool, problems: &mut Vec<String>) {
    let Some((host, port)) = options.http.address.clone() else { return };
    if also_apart {
        problems.push("--http with an address cannot stand beside --http-host and --http-port".to_owned());
    }
    (options.http_host, options.http_port) = (host, port);
}

fn http(options: &Options, problems: &mut Vec<String>) -> Vec<String> {
    let named = options.http_host != "localhost" && options.http_host.parse::<IpAddr>().is_err();
    // How far a name reaches is not known, and it is refused in any case.
    let loopback = named || is_loopback(&options.http_host);
    let tokens = options.http_auth_token.is_some() || options.http_role_tokens.is_some();
    let mut refuse = |wrong: bool, problem: &str| {
        if wrong {
            problems.push(problem.to_owned());
        }
    };
    refuse(named, "--http-host must be an IP address or localhost");
    refuse(
        options.http_auth_token.is_some() && options.http_role_tokens.is_some(),
        "--http-role-tokens and --http-auth-token exclude each other",
    );
    refuse(tokens && options.http_disable_auth, "--http-disable-auth stands against the tokens that are set");
    refuse(!loopback && !tokens, "listening beyond loopback needs --http-auth-token or --http-role-tokens");
    refuse(
        !loopback && !options.http_allow_unsafe_network,
        "listening beyond loopback sends tokens and programs unencrypted: put a TLS proxy in front of a loopback \
         address, or say --http-allow-unsafe-network",
    );
    refuse(
        options.http_allow_unsafe_network && options.http_disable_auth,
        "--http-allow-unsafe-network and --http-disable-auth exclude each other",
    );
    refuse(options.http_role_tokens.is_some() && !options.sessions, "--http-role-tokens needs --sessions");
    refuse(
        options.http_role_tokens.is_some() && options.session_roles.is_none(),
        "--http-role-tokens needs --session-roles with outer_policy.mcp_tools",
    );
    let same =
        |left: &Option<secrecy::SecretString>, right: &Option<secrecy::SecretString>| match (left, right) {
            (Some(left), Some(right)) => left.expose_secret() == right.expose_secret(),
            _ => false,
        };
    refuse(
        same(&options.http_admin_token, &options.http_auth_token),
        "--http-admin-token must differ from --http-auth-token",
    );
    paths(options, problems);
    warnings(options)
}

/// Paths that the server has in any case, and all below them.
pub const FIXED_PATHS: [&str; 4] = ["/health", "/ready", "/admin", "/approvals"];

fn paths(options: &Options, problems: &mut Vec<String>) {
    let own = [("--http-path", &options.http_path), ("--http-metrics-path", &options.http_metrics_path)];
    for (flag, path) in own {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
        if !path.starts_with('/') || path.len() < 2 || path.ends_with('/') || !path.bytes().all(plain) {
            problems.push(format!("{flag} must be a path such as /mcp, got: {path}"));
        }
        let rest = FIXED_PATHS.iter().find_map(|fixed| path.strip_prefix(fixed));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            problems.push(format!("{flag} must differ from the paths of the server: {path}"));
        }
    }
    if own[0].1 == own[1].1 {
        problems.push("--http-path and --http-metrics-path must differ".to_owned());
    }
}

fn warnings(options: &Options) -> Vec<String> {
    let mut warnings = Vec::new();
    if options.http_role_tokens.is_none() && options.http_max_sessions_per_owner < options.http_max_sessions {
        warnings.push(format!(
            "all clients share one owner, so only {} of {} MCP sessions can be open \
             (--http-max-sessions-per-owner, --http-max-sessions)",
            options.http_max_sessions_per_owner, options.http_max_sessions
        ));
    }
    if options.http_auth_token.is_none() && options.http_role_tokens.is_none() && !options.http_disable_auth {
        warnings.push("every process of this machine may use the server: no token is set".to_owned());
    }
    warnings
}

/// Whether only this machine reaches the host.
pub fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
