//! Searching a catalog: what is said of its tools, in an index that is made once, and the lines that `apropos` gives.

use std::sync::{Arc, OnceLock};

use ptc_lisp::lexical::{Index, IndexEntry, IndexField, Query};
use serde_json::{Map, Value as Json};

use super::{Absence, Away, STARTING};
use crate::catalog::{Catalog, CatalogTool, Server, one_line, quoted};

/// How deep arguments are looked through, and how much is said of those of one tool.
const DEPTH: usize = 3;
const PARTS: usize = 200;
/// How many servers are named where nothing fits, and how much of a question is repeated.
const NAMED: usize = 40;
const REPEATED: usize = 80;
/// How many servers that are down have a line each, and how much of why is said where several stand in one.
const DOWN: usize = 8;
const SHORTLY: usize = 120;

/// The index of a catalog, made when something is looked for. Copies of the catalog make their own.
#[derive(Debug, Default)]
pub struct Searchable(OnceLock<Index>);

impl Clone for Searchable {
    fn clone(&self) -> Self {
        Searchable::default()
    }
}

/// Catalogs are equal if their servers are.
impl PartialEq for Searchable {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Searchable {
    pub(crate) fn index(&self, servers: &[Arc<Server>]) -> &Index {
        self.0.get_or_init(|| {
            let entries: Vec<IndexEntry> = tools(servers).map(|(server, tool)| entry(server, tool)).collect();
            Index::new(entries.into_iter())
        })
    }
}

/// All tools that are known, in the order of the index.
fn tools(servers: &[Arc<Server>]) -> impl Iterator<Item = (&Server, &CatalogTool)> {
    servers.iter().flat_map(|server| {
        let tools = server.tools.iter().flat_map(|tools| tools.values());
        tools.map(move |tool| (&**server, &**tool))
    })
}

/// What is said of a tool.
fn entry<'c>(server: &'c Server, tool: &'c CatalogTool) -> IndexEntry<'c> {
    let def = &tool.def;
    let mut said: IndexEntry = vec![
        (IndexField::Name, &def.name),
        (IndexField::Owner, &server.name),
        (IndexField::Text, &def.description),
    ];
    for (key, value) in &def.annotations {
        match value {
            Json::String(text) => said.push((IndexField::Title, text)),
            // Half of all tools have it, and it makes none one for reading.
            Json::Bool(true) if key != "readOnlyHint" => said.push((IndexField::ArgumentText, key)),
            _ => {}
        }
    }
    arguments(&def.input_schema, DEPTH, &mut said);
    // What describes arguments comes behind their names, in case there is not room for all.
    said[3..].sort_by_key(|(field, _)| *field);
    said.push((IndexField::About, &server.description));
    said.extend(server.tags.iter().map(|tag| (IndexField::About, tag.as_str())));
    said
}

fn arguments<'c>(schema: &'c Map<String, Json>, depth: usize, said: &mut IndexEntry<'c>) {
    let properties = schema.get("properties").and_then(Json::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if said.len() >= PARTS {
            return;
        }
        said.push((IndexField::Argument, name));
        said.extend(
            schema.get("description").and_then(Json::as_str).map(|text| (IndexField::ArgumentText, text)),
        );
        let values = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
        said.extend(values.filter_map(Json::as_str).take(PARTS).map(|value| (IndexField::Value, value)));
        for inner in [Some(schema), schema.get("items")].into_iter().flatten() {
            if let (Json::Object(inner), true) = (inner, depth > 1) {
                arguments(inner, depth - 1, said);
            }
        }
    }
}

/// The first lines for a question: tools that fit, best first, then servers whose tools are not known yet. Where nothing fits,
/// one line that says so and names the servers; one that is down or being started is no reason to leave that line out, and
/// comes behind it. With `only_tools` tools alone, and which servers were not there to be asked. The number is that of tools
/// that fit, too, and have no line.
pub fn apropos(
    catalog: &Catalog,
    question: &str,
    limit: usize,
    only_tools: bool,
    away: Absence<'_>,
) -> (Vec<String>, usize) {
    let query = Query::new(question);
    let known: Vec<(&Server, &CatalogTool)> = tools(catalog.servers()).collect();
    let found = catalog.index().find(&query);
    let fitting = found.len();
    let line = |(number, _): (usize, u32)| {
        let (server, tool) = known[number];
        format!("{}/{}", server.name, tool.entry())
    };
    // Those that are only remembered.
    let stands_in = |server: &&Server| server.tools.is_some() && away(&server.name) == Some(Away::Starting);
    let all = || catalog.servers().iter().map(|server| &**server);
    if only_tools {
        let absent = all().filter(|server| server.tools.is_none() || stands_in(server));
        let notes = Parted::of(absent.collect(), away).notes(false);
        let room = limit.saturating_sub(notes.len()).max(1);
        let mut lines: Vec<String> = found.into_iter().take(room).map(line).chain(notes).collect();
        lines.truncate(limit);
        return (lines, fitting.saturating_sub(room));
    }
    let Unlisted { fitting: servers, mut dark } = unlisted(catalog, &query);
    dark.extend(all().filter(stands_in));
    let (dark, servers) = (Parted::of(dark, away), Parted::of(servers, away));
    let notes = dark.notes(true);
    // There is room for them, if for anything else as well.
    let room = limit.saturating_sub(notes.len()).max(1);
    let mut lines: Vec<String> = found.into_iter().take(room).map(line).collect();
    let left = room - lines.len();
    let may_fit = servers.unasked.iter().chain(&servers.starting);
    lines.extend(may_fit.take(left).map(|(server, away)| hint(server, away.as_ref())));
    if lines.is_empty() && dark.unasked.is_empty() && !catalog.servers().is_empty() {
        lines.push(nothing(catalog, question));
    }
    let left = limit.saturating_sub(lines.len() + notes.len()).min(DOWN);
    lines.extend(servers.down.iter().take(left).map(|(server, away)| hint(server, away.as_ref())));
    lines.extend(notes);
    lines.truncate(limit);
    (lines, fitting.saturating_sub(room))
}

/// A server with why it is not there.
type Told<'c> = (&'c Server, Option<Away>);

/// Servers whose tools are not known, by why that is so.
#[derive(Default)]
struct Parted<'c> {
    unasked: Vec<Told<'c>>,
    starting: Vec<Told<'c>>,
    down: Vec<Told<'c>>,
}

impl<'c> Parted<'c> {
    fn of(servers: Vec<&'c Server>, away: Absence<'_>) -> Parted<'c> {
        let mut parted = Parted::default();
        for server in servers {
            let away = away(&server.name);
            let part = match &away {
                None => &mut parted.unasked,
                Some(Away::Starting) => &mut parted.starting,
                Some(Away::Down(_)) => &mut parted.down,
            };
            part.push((server, away));
        }
        parted
    }

    /// One line for all of each kind; also for those that nobody has asked, if wanted.
    fn notes(&self, unasked: bool) -> Vec<String> {
        let unasked = if unasked { note(&self.unasked) } else { None };
        [unasked, note(&self.starting), note(&self.down)].into_iter().flatten().collect()
    }
}

/// One line for servers that are not there for a reason of one kind.
fn note(servers: &[Told<'_>]) -> Option<String> {
    let (first, away) = servers.first()?;
    if servers.len() == 1 {
        return Some(hint(first, away.as_ref()));
    }
    let named = servers.iter().map(|(server, away)| match away {
        Some(Away::Down(why)) => format!("{} ({})", server.name, one_line(why, SHORTLY)),
        _ => server.name.clone(),
    });
    let (named, first) = (named.collect::<Vec<_>>().join(", "), quoted(&first.name));
    Some(match away {
        Some(Away::Down(_)) => format!("down: {named}; (dir {first}) tries again"),
        Some(Away::Starting) => format!("{STARTING}: {named}"),
        None => format!("tools not loaded: {named}; (dir {first}) lists those of one"),
    })
}

/// Servers whose tools are not known yet.
struct Unlisted<'c> {
    /// Those that fit, best first.
    fitting: Vec<&'c Server>,
    /// The others of which nothing is known at all.
    dark: Vec<&'c Server>,
}

fn unlisted<'c>(catalog: &'c Catalog, query: &Query) -> Unlisted<'c> {
    let cold: Vec<&Server> =
        catalog.servers().iter().map(|server| &**server).filter(|server| server.tools.is_none()).collect();
    let index = Index::new(cold.iter().map(|server| {
        let mut said: IndexEntry =
            vec![(IndexField::Name, &server.name), (IndexField::Text, &server.description)];
        said.extend(server.tags.iter().map(|tag| (IndexField::Title, tag.as_str())));
        said
    }));
    let fitting: Vec<usize> = index.find(query).into_iter().map(|(number, _)| number).collect();
    let is_dark = |number: &usize| cold[*number].description.is_empty() && cold[*number].tags.is_empty();
    let dark = (0..cold.len()).filter(|number| is_dark(number) && !fitting.contains(number));
    Unlisted {
        dark: dark.map(|number| cold[number]).collect(),
        fitting: fitting.iter().map(|number| cold[*number]).collect(),
    }
}

/// A server whose tools are not known yet, and why.
fn hint(server: &Server, away: Option<&Away>) -> String {
    let (description, quoted) = (server.said(80), quoted(&server.name));
    let what = if description.is_empty() { String::new() } else { format!(" - {description}") };
    let why = match away {
        Some(Away::Down(why)) => format!("down: {why}; (dir {quoted}) tries again"),
        Some(Away::Starting) => STARTING.to_owned(),
        None => format!("tools not loaded; (dir {quoted}) lists them"),
    };
    format!("{}{what} ({why})", server.name)
}

/// That nothing fits, and where to look instead.
fn nothing(catalog: &Catalog, question: &str) -> String {
    let question = Json::from(one_line(question, REPEATED));
    let mut names: Vec<&str> =
        catalog.servers().iter().take(NAMED).map(|server| server.name.as_str()).collect();
    let first = names.first().copied().unwrap_or_default();
    let lists = format!("(dir {}) lists the tools of one", quoted(first));
    if catalog.servers().len() > NAMED {
        names.push("…");
    }
    format!("no tool fits {question}; servers: {}; {lists}", names.join(", "))
}
