//! What an agent must give back.

use std::collections::BTreeMap;

use ptc_signature::{Style, Type, keys};

use super::{example, one_line};

/// The section about the expected output. A run without a signature has none.
pub(crate) fn expected_output(ty: &Type, descriptions: &BTreeMap<String, String>) -> String {
    let mut lines = vec![
        "# Expected Output".to_owned(),
        format!("The answer has the type `{}`.", ty.render(Style::Prompt)),
    ];
    lines.extend(described(ty, descriptions).into_iter().map(|(name, text)| format!("- `{name}`: {text}")));
    lines.push(format!("Example: `(return {})`", example::lisp(ty)));
    lines.join("\n")
}

/// Fields that somebody described: the host, or the type itself. Declared fields come in their order.
pub(super) fn described(ty: &Type, descriptions: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest: Vec<_> = descriptions.iter().collect();
    for field in fields(ty) {
        let at = rest.iter().position(|(name, _)| keys::same(name, &field.name));
        let given = at.map(|at| rest.remove(at).1);
        if let Some(text) = given.or(field.description.as_ref()) {
            found.push((keys::kebab(&field.name), one_line(text)));
        }
    }
    found.extend(rest.into_iter().map(|(name, text)| (keys::kebab(name), one_line(text))));
    found
}

/// The fields of a map, or of the maps in a list.
pub(super) fn fields(ty: &Type) -> &[ptc_signature::Field] {
    match ty.required() {
        Type::Record(record) => &record.fields,
        Type::List(item) => match item.required() {
            Type::Record(record) => &record.fields,
            _ => &[],
        },
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_19_type_descriptions_and_an_example() {
        let ty = Type::parse("{order_count :int, note :string?}").unwrap();
        let about = BTreeMap::from([("order_count".to_owned(), "how\nmany".to_owned())]);
        assert_eq!(
            expected_output(&ty, &about),
            "# Expected Output\n\
             The answer has the type `{order-count :int, note :string?}`.\n\
             - `order-count`: how many\n\
             Example: `(return {:order-count 42 :note \"result\"})`"
        );
        let scalar = expected_output(&Type::INT, &BTreeMap::new());
        assert!(scalar.ends_with("type `:int`.\nExample: `(return 42)`"), "{scalar}");
    }

    #[test]
    fn r7_37_an_agent_sees_the_hidden_fields_that_it_has_to_fill_itself() {
        let ty = Type::parse("{count :int, _ids [:int]}").unwrap();
        let text = expected_output(&ty, &BTreeMap::new());
        assert!(text.contains("_ids [:int]") && text.contains(":_ids [42]"), "{text}");
    }
}
