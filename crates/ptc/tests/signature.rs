//! `ptc signature`, run in process.

#[path = "../src/commands/signature.rs"]
mod signature;

use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    args: signature::SignatureArgs,
}

/// What the command prints, or its error.
fn ptc(words: &[&str]) -> Result<String, String> {
    let cli =
        Cli::try_parse_from(std::iter::once(&"signature").chain(words)).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    signature::execute(cli.args, &mut out).map_err(|error| format!("{error:#}"))?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

#[test]
fn check_prints_the_canonical_form() {
    assert_eq!(
        ptc(&["check", "{:id :int :name :string?}"]).as_deref(),
        Ok("() -> {id :int, name :string?}\n")
    );
    assert_eq!(
        ptc(&["check", "(user_id :int) -> {total :int, _ids [:int]}"]).as_deref(),
        Ok("(user_id :int) -> {total :int, _ids [:int]}\nmodels see: (user-id :int) -> {total :int}\n")
    );
    assert_eq!(ptc(&["check", "-> :int"]).as_deref(), Ok("() -> :int\n"));
}

#[test]
fn check_explains_what_is_wrong() {
    assert_eq!(
        ptc(&["check", "(items :list) -> :bool"]),
        Err("unknown type `:list` at line 1, column 8\n  (items :list) -> :bool\n         ^^^^^\n\
             hint: lists are written [:type], for example [:any] or [:string]"
            .to_owned())
    );
}

#[test]
fn check_tries_values() {
    let signature = "(limit :int?) -> {count :int}";
    assert_eq!(
        ptc(&["check", signature, "--args", r#"{"limit": "10"}"#, "--result", r#"{"count": 1}"#]).as_deref(),
        Ok(
            "(limit :int?) -> {count :int}\narguments: {\"limit\":10}\nnote: limit: coerced string \"10\" to int\nthe result fits\n"
        )
    );
    assert_eq!(
        ptc(&["check", signature, "--result", r#"{"count": 1, "x": 2}"#, "--mode", "strict"]),
        Err("Result errors:\n- x: unexpected field".to_owned())
    );
    assert!(
        ptc(&["check", signature, "--args", "{"]).is_err_and(|error| error.starts_with("--args is not JSON"))
    );
    assert!(
        ptc(&["check", signature, "--mode", "lax"])
            .is_err_and(|error| error.contains("enabled, warn_only, disabled, strict"))
    );
}

#[test]
fn schema_prints_json() {
    let both = ptc(&["schema", "(q :string) -> [:int]"]).expect("two schemas");
    let both: serde_json::Value = serde_json::from_str(&both).expect("JSON");
    assert_eq!(both["input"]["required"], serde_json::json!(["q"]));
    assert_eq!(both["output"]["properties"]["items"]["type"], "array");
    let input = ptc(&["schema", "(q :string) -> [:int]", "--input"]).expect("a schema");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&input).expect("JSON"), both["input"]);
}

#[test]
fn from_schema_prints_the_shorthand() {
    let schema =
        r#"{"type": "object", "properties": {"q": {"type": "string", "pattern": "a"}}, "required": ["q"]}"#;
    assert_eq!(
        ptc(&["from-schema", schema, "--output", r#"{"type": "integer"}"#]).as_deref(),
        Ok("(q :string) -> :int\nnote: properties.q: keyword `pattern` is not supported and left out\n")
    );
    assert!(ptc(&["from-schema", schema, "--strict"]).is_err_and(|error| error.contains("`pattern`")));
}
