//! Names of the kinds of values, as models know them.

use ptc_lisp::view::View;

use super::FIREWALLED;

/// The label of a value in an inventory (3.15): `list[3]`, `map[2]`, `string`, `#fn[x]`.
pub(crate) fn label(view: &View) -> String {
    match view {
        View::Vector(part) | View::List(part) if part.open => format!("list[{}+]", part.total),
        View::Vector(part) | View::List(part) => format!("list[{}]", part.total),
        View::Set(part) => format!("set[{}]", part.total),
        View::Map { total, .. } => format!("map[{total}]"),
        View::Int(_) | View::Big(_) => "integer".to_owned(),
        View::Bool(_) => "boolean".to_owned(),
        View::Time { class, .. } => time_label(class).to_owned(),
        View::Opaque(text) if text.starts_with("#fn[") => text.clone(),
        View::Opaque(text) if text == "#<builtin>" => "fn".to_owned(),
        View::Opaque(_) | View::Symbol(_) => "unknown".to_owned(),
        other => type_name(other).to_owned(),
    }
}

fn time_label(class: &str) -> &'static str {
    match class {
        "LocalDate" => "date",
        "LocalTime" => "time",
        "LocalDateTime" | "Instant" | "ZonedDateTime" | "OffsetDateTime" | "Date" => "datetime",
        _ => "unknown",
    }
}

/// The type of a value as signatures name it, without the colon; a decimal is a number of its own to a program.
pub(crate) fn type_name(view: &View) -> &'static str {
    match view {
        View::Nil => "nil",
        View::Bool(_) => "bool",
        View::Int(_) | View::Big(_) => "int",
        View::Float(_) => "float",
        View::Decimal(_) => "decimal",
        View::Str { .. } => "string",
        View::Keyword(_) => "keyword",
        View::Symbol(_) => "symbol",
        View::Time { class, .. } => match time_label(class) {
            "unknown" => "any",
            label => label,
        },
        View::Vector(_) | View::List(_) => "list",
        View::Set(_) => "set",
        View::Map { .. } => "map",
        View::Opaque(text) if text.starts_with("#fn[") || text == "#<builtin>" => "fn",
        View::Opaque(_) => "any",
        View::Hidden => FIREWALLED,
    }
}

#[cfg(test)]
mod tests {
    use ptc_lisp::view::Bounds;
    use serde_json::json;

    use super::*;

    #[test]
    fn r3_15_runtime_labels() {
        let time = |class| View::Time { text: String::new(), class };
        let opaque = |text: &str| View::Opaque(text.to_owned());
        let of = |json| View::of_json(&json, &Bounds::default());
        let cases = [
            (of(json!([1, 2])), "list[2]"),
            (of(json!({"a": 1})), "map[1]"),
            (of(json!("a")), "string"),
            (of(json!(1)), "integer"),
            (of(json!(1.5)), "float"),
            (of(json!(true)), "boolean"),
            (of(json!(null)), "nil"),
            (View::Keyword("k".to_owned()), "keyword"),
            (View::Set(Default::default()), "set[0]"),
            (time("Instant"), "datetime"),
            (time("LocalDate"), "date"),
            (time("LocalTime"), "time"),
            (opaque("#fn[x y]"), "#fn[x y]"),
            (opaque("#<builtin>"), "fn"),
            (opaque("#<atom 1>"), "unknown"),
        ];
        for (view, expected) in cases {
            assert_eq!(label(&view), expected);
        }
    }
}
