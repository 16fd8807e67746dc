//! The inventory of tools: one line each, as programs call them.

use ptc_signature::{Signature, Style, keys};

use super::{blocks, one_line};

/// A tool as prompts show it. Private tools are left out by the caller.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolLine {
    /// The name programs call it by.
    pub name: String,
    /// What it takes and gives, if known.
    pub signature: Option<Signature>,
    /// What it does, if known.
    pub description: Option<String>,
}

impl ToolLine {
    /// The signature as a model may see it.
    pub(crate) fn shown(&self, firewall: bool) -> Signature {
        match &self.signature {
            None => Signature::default(),
            Some(signature) if firewall => signature.public(),
            Some(signature) => signature.clone(),
        }
    }

    /// The description on one line, if there is any.
    pub(crate) fn about(&self) -> Option<String> {
        self.description.as_deref().map(one_line).filter(|text| !text.is_empty())
    }

    fn line(&self, firewall: bool) -> String {
        let mut line = format!("tool/{}{}", self.name, self.shown(firewall).render(Style::Compact));
        if let Some(about) = self.about() {
            line.push_str("  ; ");
            line.push_str(&about);
        }
        line
    }

    /// A call with a gap for every argument it needs, or for all if it needs none.
    fn example(&self) -> Option<String> {
        let fields = &self.signature.as_ref()?.input.fields;
        let needed = || fields.iter().filter(|field| !field.ty.is_optional());
        let shown: Vec<_> =
            if needed().next().is_some() { needed().collect() } else { fields.iter().collect() };
        let gaps: Vec<_> = shown.iter().map(|field| format!(":{} ...", keys::kebab(&field.name))).collect();
        (!gaps.is_empty()).then(|| format!("(tool/{} {{{}}})", self.name, gaps.join(" ")))
    }
}

/// The tools sorted by name, as lists show them.
pub(crate) fn sorted(tools: &[ToolLine]) -> Vec<&ToolLine> {
    let mut sorted: Vec<_> = tools.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    sorted
}

/// Tools that programs may call.
pub(crate) fn tools_section(tools: &[ToolLine], firewall: bool) -> String {
    if tools.is_empty() {
        return ";; No tools available".to_owned();
    }
    let sorted = sorted(tools);
    let mut lines = vec![";; === tools ===".to_owned()];
    lines.extend(sorted.iter().map(|tool| tool.line(firewall)));
    lines.push(match sorted.iter().find_map(|tool| tool.example()) {
        Some(call) => format!(";; Example: {call}"),
        None => ";; Arguments are named, in one map: (tool/name {:key value})".to_owned(),
    });
    lines.join("\n")
}

/// Tools that a plan may count on but a program cannot call; nothing if there are none.
pub(crate) fn catalog_section(catalog: &[ToolLine], firewall: bool) -> String {
    if catalog.is_empty() {
        return String::new();
    }
    let mut lines = vec![";; === tool catalog (for planning only, not callable) ===".to_owned()];
    // Written as comments and without `tool/`, so that nobody takes them for something to call.
    lines.extend(sorted(catalog).iter().map(|tool| format!(";; {}", &tool.line(firewall)["tool/".len()..])));
    lines.join("\n")
}

/// Both lists.
pub(crate) fn all_tools(tools: &[ToolLine], catalog: &[ToolLine], firewall: bool) -> String {
    blocks([tools_section(tools, firewall), catalog_section(catalog, firewall)])
}

#[cfg(test)]
pub(super) fn tool(name: &str, signature: &str, description: &str) -> ToolLine {
    ToolLine {
        name: name.into(),
        signature: (!signature.is_empty()).then(|| Signature::parse(signature).unwrap()),
        description: (!description.is_empty()).then(|| description.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r3_13_tools_are_sorted_in_kebab_case_without_colons() {
        let tools = [
            tool("zeta", "-> :int", ""),
            tool(
                "find-orders",
                "(customer_id :int, max_rows :int?) -> [{id :int, unit_price :float}]",
                "Orders\n of one customer",
            ),
            tool("plain", "", ""),
        ];
        assert_eq!(
            tools_section(&tools, true),
            ";; === tools ===\n\
             tool/find-orders(customer-id int, max-rows int?) -> [{id int, unit-price float}]  ; Orders of one customer\n\
             tool/plain() -> any\n\
             tool/zeta() -> int\n\
             ;; Example: (tool/find-orders {:customer-id ...})"
        );
    }

    #[test]
    fn r3_13_the_example_names_every_argument_that_is_needed() {
        let cases = [
            (vec![tool("x", "(p :int, q :string) -> :any", "")], ";; Example: (tool/x {:p ... :q ...})"),
            (vec![tool("x", "(p :int?) -> :any", "")], ";; Example: (tool/x {:p ...})"),
            (vec![tool("a", "", ""), tool("b", "(k :int) -> :any", "")], ";; Example: (tool/b {:k ...})"),
            (vec![tool("a", "", "")], ";; Arguments are named, in one map: (tool/name {:key value})"),
        ];
        for (tools, expected) in cases {
            assert!(tools_section(&tools, true).ends_with(expected), "{expected}");
        }
    }

    #[test]
    fn r3_13_no_tools_are_said_to_be_none() {
        assert_eq!(tools_section(&[], true), ";; No tools available");
    }

    #[test]
    fn r18_5_the_catalog_is_shown_apart_and_not_as_something_to_call() {
        assert_eq!(catalog_section(&[], true), "");
        let text = all_tools(&[], &[tool("pay", "(sum :float) -> :bool", "Pays")], true);
        assert!(text.starts_with(";; No tools available\n\n;; === tool catalog"), "{text}");
        assert!(text.ends_with("\n;; pay(sum float) -> bool  ; Pays"), "{text}");
        assert!(!text.contains("tool/"));
    }

    #[test]
    fn r7_37_firewalled_results_of_tools_are_hidden_unless_the_firewall_is_off() {
        let tools = [tool(
            "mail",
            "(_token :string) -> {count :int, _ids [:int], rows [{_raw :string, n :int}]}",
            "",
        )];
        let text = tools_section(&tools, true);
        assert!(text.contains("-> {count int, rows [{n int}]}"), "{text}");
        assert!(text.contains("mail(_token string)"), "a caller has to know what to pass: {text}");
        assert!(tools_section(&tools, false).contains("_ids [int]"));
    }
}
