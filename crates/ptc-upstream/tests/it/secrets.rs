//! A secret on its way through everything that leaves: values of programs, faults, the account of a run,
//! discovery, and the look at servers. What leaves is printed too, so that the scan over the output of all tests
//! sees it.

use std::path::Path;
use std::time::Duration;

use ptc_host::{Pool, Program};
use ptc_upstream::effects::Policy;
use ptc_upstream::{Caps, Config, Runtime, RuntimeOptions, Secrets, inspect};
use serde_json::json;

use crate::support::*;

/// Programs that get hold of the secret and hand it on.
const PROGRAMS: &[&str] = &[
    "(:value (tool/call {:server \"pipes\" :tool \"secret_text\"}))",
    "(:value (tool/call {:server \"http\" :tool \"secret_text\"}))",
    "(tool/call {:server \"pipes\" :tool \"secret\"})",
    "(tool/call {:server \"http\" :tool \"secret\"})",
    "(tool/call {:server \"http\" :tool \"secret_fails\"})",
    "(fail (:message (tool/call {:server \"pipes\" :tool \"secret_fails\"})))",
    "(do (println (tool/call {:server \"pipes\" :tool \"secret_text\"})) (dir 'pipes))",
    "[(doc 'pipes/echo) (meta 'http/echo) (apropos \"text\") (tool/servers) (doc 'pipes) (doc 'http)]",
    "(throw (ex-info \"lost\" (tool/call {:server \"http\" :tool \"secret_text\"})))",
    "(mapv str (:value (tool/call {:server \"pipes\" :tool \"secret_list\"})))",
    "(mapv str (pipes/secret_blocks))",
    "(:value (tool/call {:server \"http\" :tool \"secret_blocks\"}))",
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_leaves_has_the_secret_in_any_form() {
    let server = HttpServer::start(&["--tells", "--auth"]);
    let value = json!({
        "credentials": {"token": {"source": "env", "var": "FAULT_TOKEN"}},
        "upstreams": {"pipes": faulty(&["--tells"]), "http": server.upstream()},
    });
    let config = Config::from_value(value, Path::new("")).unwrap();
    let lookup =
        |name: &str| (name == "FAULT_TOKEN").then(|| SECRET.to_owned()).or_else(|| std::env::var(name).ok());
    let secrets = Secrets::resolve_with(&config, &lookup, None).unwrap();
    let mut left = format!("{config:?} {secrets:?}");
    for report in inspect::inspect(&config, &secrets, None, &[]).await {
        assert!(report.tools.is_ok());
        left += &format!("{:?} {:?} {:?}", report.name, report.about, report.tools);
    }
    let runtime = Runtime::start(&config, secrets, RuntimeOptions::default()).await.unwrap();
    for source in PROGRAMS {
        let context = runtime.context(Caps::default(), Policy::open());
        let program = context.attach(Program::new(*source).timeout(Duration::from_secs(60)));
        let outcome = Pool::global().run(program).await;
        let account = context.finish();
        left += &format!("\n{source}\n  {} {:?} {:?}\n", outcome.value, outcome.result, outcome.prints);
        left += &format!("  {} {}\n", account.upstream_calls(), account.upstream_results());
    }
    left += &format!("{:?} {:?}", runtime.catalog(), runtime.redactor());
    runtime.close().await;
    eprintln!("{left}");
    assert!(left.matches("[REDACTED]").count() >= PROGRAMS.len(), "the secret was met and covered: {left}");
    for form in forms(SECRET) {
        assert!(!left.contains(&form), "the form {form} got out");
    }
}

/// The forms that servers echo, written down here anew so that a mistake in the redactor shows.
fn forms(secret: &str) -> Vec<String> {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let percent: String = secret.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let plain = secret.replace('?', "%3F").replace('>', "%3E");
    vec![secret.to_owned(), STANDARD.encode(secret), URL_SAFE_NO_PAD.encode(secret), plain, percent]
}
