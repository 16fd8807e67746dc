//! The servers of a run that is played back, as they were: which tools they had, and what those do to the world. Preludes
//! are admitted and runs are stopped after writes by it, as they were when the run was recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use ptc_upstream::catalog::{Catalog, CatalogTool, Server};
use ptc_upstream::config::EffectClass;
use ptc_upstream::model::ToolDef;
use serde::{Deserialize, Serialize};

/// Servers by name with their tools and what each does; none where tools could not be listed.
#[derive(Debug, Serialize, Deserialize)]
pub struct Remembered(BTreeMap<String, Option<BTreeMap<String, String>>>);

impl Remembered {
    /// What is kept of a catalog.
    pub fn of(catalog: &Catalog) -> Self {
        let tool = |(name, tool): (&String, &Arc<CatalogTool>)| (name.clone(), tool.effect.name().to_owned());
        let tools = |server: &Server| server.tools.as_ref().map(|tools| tools.iter().map(tool).collect());
        Remembered(catalog.servers().iter().map(|server| (server.name.clone(), tools(server))).collect())
    }

    /// The servers again.
    pub fn catalog(self) -> Catalog {
        let server = |(name, tools): (String, Option<BTreeMap<String, String>>)| {
            let tools = tools.map(|tools| {
                tools.into_iter().map(|(name, class)| (name.clone(), tool(name, &class))).collect()
            });
            Arc::new(Server { name, tools, ..Server::default() })
        };
        Catalog::new(self.0.into_iter().map(server))
    }
}

fn tool(name: String, class: &str) -> Arc<CatalogTool> {
    let classes = [EffectClass::Read, EffectClass::Write, EffectClass::Unknown];
    let effect = classes.into_iter().find(|known| known.name() == class).unwrap_or(EffectClass::Unknown);
    Arc::new(CatalogTool { def: ToolDef { name, ..ToolDef::default() }, effect, place: 0 })
}
