//! What upstreams can do, in few words for clients and in more for the planner.

use std::collections::BTreeMap;

use ptc_upstream::catalog::{Catalog, doc, quoted, result_type};

/// `- server: tool->type, …` in at most so many bytes. Each server has a share of the room, and what one leaves the next
/// has; what does not fit is counted.
pub fn capabilities(catalog: &Catalog, most: usize) -> String {
    let mut text = String::new();
    for (at, server) in catalog.servers().iter().enumerate() {
        let left = catalog.servers().len() - at;
        // Room for saying that there is more.
        let room = most.saturating_sub(text.len() + 32);
        let shortest = format!("- {}: see (dir {})", server.name, quoted(&server.name));
        let line = match &server.tools {
            None => shortest,
            Some(_) => {
                let listed = server.listed();
                let named = listed.iter().map(|tool| {
                    format!("{}->{}", tool.def.name, short(&result_type(tool.def.output_schema.as_ref())))
                });
                let line = fitting(&server.name, &named.collect::<Vec<_>>(), room / left);
                if line.len() <= room / left { line } else { shortest }
            }
        };
        if line.len() > room {
            text.push_str(&format!("(+{left} more upstreams)\n"));
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text.trim_end().to_owned()
}

fn short(kind: &str) -> &str {
    match kind.chars().next() {
        Some('{') => ":map",
        Some('[') => ":list",
        _ if kind.is_empty() => ":any",
        _ => kind,
    }
}

fn fitting(server: &str, tools: &[String], room: usize) -> String {
    let mut shown = tools.len();
    loop {
        let more = tools.len() - shown;
        let rest = if more > 0 { format!(" (+{more} more)") } else { String::new() };
        let line = format!("- {server}: {}{rest}", tools[..shown].join(", "));
        if line.len() <= room || shown == 0 {
            return line;
        }
        shown -= 1;
    }
}

/// Every tool in full, as far as there is room; the rest by name.
pub fn documented(catalog: &Catalog, most: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut bytes = 0;
    let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for server in catalog.servers() {
        for tool in server.listed() {
            let text = doc(&server.name, tool, None);
            match bytes + text.len() <= most {
                true => {
                    bytes += text.len();
                    parts.push(text);
                }
                false => named.entry(&server.name).or_default().push(&tool.def.name),
            }
        }
    }
    for (server, tools) in named {
        let line = format!("Also on {server}: {}", tools.join(", "));
        parts.push(super::super::text::cut(&line, 1_000).to_owned());
    }
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ptc_upstream::catalog::{CatalogTool, Server};
    use ptc_upstream::config::EffectClass;
    use ptc_upstream::model::ToolDef;

    use super::*;

    fn server(name: &str, tools: usize) -> Arc<Server> {
        let tools = (0..tools).map(|place| {
            let def = ToolDef { name: format!("tool_number_{place}"), ..ToolDef::default() };
            (def.name.clone(), Arc::new(CatalogTool { def, effect: EffectClass::Read, place }))
        });
        Arc::new(Server { name: name.to_owned(), tools: Some(tools.collect()), ..Server::default() })
    }

    #[test]
    fn every_server_is_named_however_many_tools_the_first_has() {
        let names: Vec<String> = (0..16).map(|at| format!("server{at:02}")).collect();
        let catalog = Catalog::new(names.iter().map(|name| server(name, 40)));
        for most in [700, 1_300, 4_000] {
            let text = capabilities(&catalog, most);
            assert!(text.len() <= most, "{text}");
            assert!(names.iter().all(|name| text.contains(&format!("- {name}: "))), "{most}: {text}");
        }
        assert!(capabilities(&catalog, 200).ends_with("more upstreams)"), "what is left out is counted");
    }
}
