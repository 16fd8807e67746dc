//! A tool call as Lisp text that a model can paste into a program.

use ptc_signature::{FIREWALLED, MAX_DEPTH, is_firewalled};
use serde_json::Value as Json;

use crate::render::quoted;

/// `(tool/find {:limit 5 :query "x"})`: keys as keywords, in order of name. With the firewall on, values
/// under hidden names are left out.
pub(crate) fn call_text(tool: &str, args: &Json, firewall: bool) -> String {
    let mut text = format!("(tool/{tool}");
    if args.as_object().is_none_or(|fields| !fields.is_empty()) && !args.is_null() {
        text.push(' ');
        write(&mut text, args, firewall, 0);
    }
    text.push(')');
    text
}

fn write(out: &mut String, value: &Json, firewall: bool, depth: usize) {
    match value {
        Json::Array(_) | Json::Object(_) if depth > MAX_DEPTH => out.push_str("nil"),
        Json::Null => out.push_str("nil"),
        Json::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Json::Number(number) => out.push_str(&number.to_string()),
        Json::String(text) => out.push_str(&quoted(text)),
        Json::Array(items) => {
            out.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    out.push(' ');
                }
                write(out, item, firewall, depth + 1);
            }
            out.push(']');
        }
        Json::Object(fields) => {
            let mut fields: Vec<(&String, &Json)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            out.push('{');
            for (place, (name, value)) in fields.into_iter().enumerate() {
                if place > 0 {
                    out.push(' ');
                }
                write_key(out, name);
                out.push(' ');
                match firewall && is_firewalled(name) {
                    true => out.push_str(&quoted(FIREWALLED)),
                    false => write(out, value, firewall, depth + 1),
                }
            }
            out.push('}');
        }
    }
}

/// A keyword, or a string where the name cannot be one: a tool gets underscores for the hyphens of a keyword.
fn write_key(out: &mut String, name: &str) {
    let plain = |c: char| c.is_alphanumeric() || "_+*!?<>=.".contains(c);
    let is_keyword = name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(plain);
    if is_keyword {
        out.push(':');
        out.push_str(name);
    } else {
        out.push_str(&quoted(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_lisp::reader::{ReadLimits, read_all};
    use serde_json::json;

    #[test]
    fn r6_22_calls_can_be_pasted() {
        for (args, text) in [
            (json!({"query": "x"}), r#"(tool/find {:query "x"})"#),
            (json!({"z": 1, "a": [1.5, null, true]}), "(tool/find {:a [1.5 nil true] :z 1})"),
            (json!({"q": "say \"hi\"\n\\"}), r#"(tool/find {:q "say \"hi\"\n\\"})"#),
            (json!({"was_improved": {"b-c": []}}), "(tool/find {:was_improved {\"b-c\" []}})"),
            (json!({"two words": 1, "9": 2}), r#"(tool/find {"9" 2 "two words" 1})"#),
            (json!({}), "(tool/find)"),
            (json!(null), "(tool/find)"),
            (json!({"bell": "\u{7}"}), r#"(tool/find {:bell "\u0007"})"#),
            (
                json!({"big": 18_000_000_000_000_000_000_u64, "e": 1e300}),
                "(tool/find {:big 18000000000000000000 :e 1e+300})",
            ),
        ] {
            assert_eq!(call_text("find", &args, true), text, "{args}");
            assert_eq!(read_all(text, &ReadLimits::default()).map(|forms| forms.len()), Ok(1), "{text}");
        }
    }

    #[test]
    fn hidden_arguments_are_not_shown() {
        let args = json!({"_token": "s3cret", "user": {"_id": 7, "name": "Ada"}});
        let masked = r#"(tool/find {:_token "<Firewalled>" :user {:_id "<Firewalled>" :name "Ada"}})"#;
        assert_eq!(call_text("find", &args, true), masked);
        assert!(call_text("find", &args, false).contains("s3cret"));
    }
}
