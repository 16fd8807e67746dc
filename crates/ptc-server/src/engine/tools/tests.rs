//! Descriptions in every combination of settings: they reach the model whole, servers first.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_upstream::catalog::{CatalogMode, CatalogText, CatalogTool, Server};
use ptc_upstream::config::EffectClass;
use ptc_upstream::model::ToolDef;

use super::*;

/// So many servers with names of this length and ten tools each.
fn catalog(count: usize, name: usize) -> Catalog {
    let tool = |place: usize| {
        let def = ToolDef {
            name: format!("tool_number_{place}"),
            description: "Does a thing that takes a whole line to tell, and then some more.".repeat(3),
            ..ToolDef::default()
        };
        (def.name.clone(), Arc::new(CatalogTool { def, effect: EffectClass::Unknown, place }))
    };
    Catalog::new((0..count).map(|at| {
        Arc::new(Server {
            name: format!("s{at:03}{}", "n".repeat(name.saturating_sub(4))),
            description: "Keeps é and 𝄞 of all kinds, and says so at such length that it has to be cut."
                .to_owned(),
            tags: vec!["letters".to_owned(), "signs".to_owned()],
            tools: Some((0..10).map(tool).collect::<BTreeMap<_, _>>()),
            ..Server::default()
        })
    }))
}

/// How many servers a text names, and how many it says that there are besides.
fn named_and_counted(text: &str, catalog: &Catalog) -> usize {
    let named = catalog.servers().iter().filter(|server| text.contains(&server.name)).count();
    let counted =
        text.split_once(" more; (tool/servers) lists all").and_then(|(before, _)| before.rsplit(' ').next());
    named + counted.map_or(0, |count| count.parse().expect("a number"))
}

#[test]
fn descriptions_reach_the_model_whole_in_every_combination() {
    let large = ";; prelude\n".repeat(500);
    let fleets = [(0, 0), (1, 8), (1, 64), (16, 8), (16, 64), (200, 8), (200, 64)];
    for (count, name) in fleets {
        let servers = catalog(count, name);
        for profile in [Profile::Slim, Profile::Structured, Profile::Debug] {
            for (_, mode) in CatalogMode::NAMES {
                for read_only in [false, true] {
                    let settings = Settings {
                        profile,
                        read_only,
                        catalog: CatalogText { mode: *mode, ..CatalogText::default() },
                        ..Settings::default()
                    };
                    for inventory in [None, Some(";; tax\n  tax/vat (vat n) — With VAT."), Some(&*large)] {
                        for approves in [None, Some(ApprovalBy::Person), Some(ApprovalBy::Model)] {
                            let surface = Surface {
                                settings: &settings,
                                capabilities: "",
                                inventory,
                                approves,
                                catalog: (count > 0).then_some(&servers),
                            };
                            holds(&surface, &servers);
                        }
                    }
                    let Some(told) = instructions(&settings, &servers) else {
                        assert_eq!(count, 0);
                        continue;
                    };
                    assert!(units(&told) <= MOST_UNITS, "{} units: {told}", units(&told));
                    assert!(told.starts_with(cards::INSTRUCTIONS), "{told}");
                    assert_eq!(named_and_counted(&told, &servers), count, "{told}");
                }
            }
        }
    }
}

/// What every description has to keep.
fn holds(surface: &Surface<'_>, servers: &Catalog) {
    for tool in [Tool::Eval, Tool::SessionEval] {
        let text = surface.spec(tool).description;
        let length = units(&text);
        assert!(length <= MOST_UNITS, "{length} units of {surface:?}: {text}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part} is missing: {text}"));
        at("Results are shown whole up to 8192 bytes.");
        if surface.catalog.is_some() {
            assert_eq!(named_and_counted(&text, servers), servers.servers().len(), "{text}");
            assert!(text.starts_with("Configured upstream MCP servers:"), "{text}");
            assert!(at("Find their tools with") < at("Runs a PTC-Lisp program"), "{text}");
            at("(doc 'ptc/tools)");
            assert_eq!(text.contains(READ_ONLY), surface.settings.read_only, "{text}");
        }
        match surface.inventory {
            Some(inventory) => assert!(text.contains(inventory) || text.contains(PRELUDE), "{text}"),
            None => assert!(!text.contains(PRELUDE), "{text}"),
        }
        // The whole card, or in brief where the rest is.
        assert!(
            text.contains(cards::reference()) || text.ends_with("`(doc 'ptc/language)`, `(doc name)`."),
            "{text}"
        );
        assert_eq!(text.contains("approval_required"), surface.approves.is_some(), "{text}");
    }
}

#[test]
fn texts_that_grew_are_cut_at_what_reaches_a_model() {
    for text in ["short".to_owned(), "x".repeat(MOST_UNITS), "é".repeat(MOST_UNITS)] {
        assert_eq!(fitted(text.clone()), text);
    }
    for text in ["x".repeat(MOST_UNITS + 1), "𝄞".repeat(MOST_UNITS)] {
        let cut = fitted(text);
        assert!(
            cut.ends_with('…') && (MOST_UNITS - 1..=MOST_UNITS).contains(&units(&cut)),
            "{}",
            units(&cut)
        );
    }
}
