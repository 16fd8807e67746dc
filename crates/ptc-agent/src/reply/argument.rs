//! The program in a call of `lisp_eval`.

use serde_json::Value as Json;

use super::blocks::begins_with_paren;

/// The most characters of a wrong argument that the message repeats.
const ECHO: usize = 80;

/// Why a call of `lisp_eval` holds no program.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(crate) enum ArgumentError {
    /// The provider could not read the arguments.
    #[error(
        "the arguments of `lisp_eval` could not be read: {0}. Send a JSON object with the field `program`."
    )]
    Unreadable(String),
    /// There is no such argument.
    #[error("`lisp_eval` needs the argument `program`, a string with PTC-Lisp code{0}.")]
    Missing(String),
    /// It is not text.
    #[error("the argument `program` of `lisp_eval` must be a string with PTC-Lisp code, got {0}.")]
    NotText(String),
    /// It is empty.
    #[error("the argument `program` of `lisp_eval` is blank; write the PTC-Lisp code to run.")]
    Blank,
}

/// The text of the program. `args_error` is what the provider reports about arguments that it cannot read.
pub(crate) fn program_argument<'a>(
    args: &'a Json,
    args_error: Option<&str>,
) -> Result<&'a str, ArgumentError> {
    if let Some(error) = args_error {
        return Err(ArgumentError::Unreadable(error.to_owned()));
    }
    let program = match args {
        // Some models give the program in place of the arguments.
        Json::String(text) if begins_with_paren(text) => args,
        Json::Object(fields) => fields.get("program").ok_or_else(|| ArgumentError::Missing(given(args)))?,
        _ => return Err(ArgumentError::Missing(given(args))),
    };
    match program {
        Json::String(text) if text.trim().is_empty() => Err(ArgumentError::Blank),
        Json::String(text) => Ok(text),
        other => Err(ArgumentError::NotText(echo(other))),
    }
}

/// What was given instead, in words.
fn given(args: &Json) -> String {
    match args {
        Json::Null => String::new(),
        Json::Object(fields) if fields.is_empty() => String::new(),
        Json::Object(fields) => {
            let names: Vec<String> = fields.keys().map(|name| format!("`{name}`")).collect();
            format!("; got {}", cut(&names.join(", ")))
        }
        other => format!("; got {}", echo(other)),
    }
}

fn echo(value: &Json) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(ECHO) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(args: Json, error: Option<&str>) -> String {
        program_argument(&args, error).unwrap_err().to_string()
    }

    #[test]
    fn r4_3_the_program_is_a_string_that_is_not_blank() {
        assert_eq!(program_argument(&json!({"program": "(+ 1 2)"}), None), Ok("(+ 1 2)"));
        assert_eq!(program_argument(&json!("(+ 1 2)"), None), Ok("(+ 1 2)"));
    }

    #[test]
    fn r4_3_each_mistake_has_its_message() {
        let missing = "`lisp_eval` needs the argument `program`, a string with PTC-Lisp code";
        for (args, text) in [
            (json!({}), format!("{missing}.")),
            (json!(null), format!("{missing}.")),
            (json!({"source": "(f)"}), format!("{missing}; got `source`.")),
            (json!([1]), format!("{missing}; got [1].")),
            (
                json!({"program": 42}),
                "the argument `program` of `lisp_eval` must be a string with PTC-Lisp code, got 42.".into(),
            ),
            (
                json!({"program": "  \n"}),
                "the argument `program` of `lisp_eval` is blank; write the PTC-Lisp code to run.".into(),
            ),
        ] {
            assert_eq!(message(args.clone(), None), text, "{args}");
        }
    }

    #[test]
    fn r4_3_what_the_provider_reports_comes_first() {
        let text = message(json!({"program": "(f)"}), Some("unexpected end of input"));
        assert!(text.contains("unexpected end of input"), "{text}");
    }

    #[test]
    fn r4_3_a_long_value_is_repeated_only_in_part() {
        let text = message(json!({"program": vec![1; 1000]}), None);
        assert!(text.chars().count() < 200 && text.contains('…'), "{text}");
    }
}
