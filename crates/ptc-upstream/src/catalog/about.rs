//! What a server is for, in one line: what the operator says, else what it says of itself, else the names of its tools. Texts of
//! servers come from outside; they are data, on one line and cut.

use std::collections::BTreeSet;

use super::{Server, one_line};
use crate::client::About;

/// The most characters that are kept of what a server says of itself.
pub(super) const KEPT: usize = 2_000;
/// The most characters of one sentence.
const SENTENCE: usize = 200;
/// How many tools are looked at for names that tell much.
const LOOKED_AT: usize = 64;
/// Longer names of tools are left out where a few stand for all.
const NAME: usize = 40;
/// Words of titles that say nothing about what a server is for.
const EMPTY_WORDS: [&str; 8] = ["mcp", "server", "api", "service", "the", "a", "an", "for"];

/// The texts of a server as catalogs keep them: each on one line and no longer than anybody is shown.
pub fn shortened(about: About) -> About {
    let text = |text: String| one_line(&text, 200);
    About {
        name: text(about.name),
        title: about.title.map(text),
        version: text(about.version),
        protocol: text(about.protocol),
        description: about.description.as_deref().map(cut),
        instructions: about.instructions.as_deref().map(cut),
    }
}

/// The beginning of a text, line by line, with how much is missing.
fn cut(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(KEPT) {
        None => text.to_owned(),
        Some((end, _)) => {
            let left = text[end..].chars().count();
            format!("{} [{left} more characters are not shown]", text[..end].trim_end())
        }
    }
}

/// What a server says that it is for: the first sentence of its description or instructions, else its title if that has
/// more to say than its name.
pub fn purpose(name: &str, about: &About) -> String {
    let texts = [&about.description, &about.instructions].into_iter().flatten();
    let sentence = texts.map(|text| first_sentence(text)).find(|sentence| !sentence.is_empty());
    let title = || Some(one_line(about.title.as_deref()?, SENTENCE)).filter(|title| tells_more(title, name));
    sentence.or_else(title).unwrap_or_default()
}

/// The first sentence of a text, past its headings.
fn first_sentence(text: &str) -> String {
    let is_prose = |line: &&str| line.starts_with(|c: char| c.is_alphanumeric() || "\"'(".contains(c));
    let lines = text.lines().map(str::trim).skip_while(|line| !is_prose(line)).take_while(is_prose);
    let paragraph = one_line(&lines.collect::<Vec<_>>().join(" "), KEPT);
    let mut ends = paragraph.match_indices(['.', '!', '?']).map(|(at, mark)| at + mark.len());
    let end = ends.find(|end| *end > 12 && paragraph[*end..].starts_with(' ')).unwrap_or(paragraph.len());
    one_line(&paragraph[..end], SENTENCE)
}

/// Whether a title says what its server's name does not.
fn tells_more(title: &str, name: &str) -> bool {
    let (title, name) = (title.to_lowercase(), name.to_lowercase());
    let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.filter(|word| !EMPTY_WORDS.contains(word) && !name.contains(word)).count() >= 2
}

impl Server {
    /// What it is for, in at most so many characters of a line: what the operator says, or a quotation of the server.
    pub fn said(&self, most: usize) -> String {
        match one_line(&self.description, most) {
            text if text.is_empty() || !self.own_words => text,
            // A quotation ends where we end it.
            text => format!("says \"{}\"", text.replace(['"', '“', '”', '„', '‟', '＂'], "'")),
        }
    }

    /// The names of all tools if so many characters have room for them, else of those that tell most: each of them has a word
    /// that those before it have not. `…` stands for the others.
    pub(super) fn telling_tools(&self, most: usize) -> String {
        let listed = self.listed();
        let names = listed.iter().take(LOOKED_AT).map(|tool| tool.def.name.as_str());
        let names: Vec<&str> =
            names.filter(|name| is_plain(name) && name.len() + REST.len() <= most).collect();
        if names.len() == listed.len() {
            let all = names.join(", ");
            if all.chars().count() <= most {
                return all;
            }
        }
        let mut seen: BTreeSet<String> = words(&self.name).collect();
        let mut chosen: Vec<&str> = Vec::new();
        let mut chars = REST.len();
        for name in &names {
            let objects = objects(name);
            if chars + name.len() <= most && objects.iter().any(|word| !seen.contains(word)) {
                seen.extend(objects);
                chosen.push(name);
                chars += name.len() + 2;
            }
        }
        if chosen.is_empty() {
            chosen.extend(names.first());
        }
        match chosen.len() {
            0 => String::new(),
            shown if shown == listed.len() => chosen.join(", "),
            _ => format!("{}{REST}", chosen.join(", ")),
        }
    }
}

/// What stands for tools that are not named.
const REST: &str = ", …";

/// Whether a name may stand among others: short, and of characters that the protocol allows. Others could be taken for words of
/// ours, or for the end of what they stand in.
fn is_plain(name: &str) -> bool {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
    !name.is_empty() && name.len() <= NAME && name.chars().all(is_usual)
}

/// The words of a name for what a tool works on, which follow the verb that it begins with.
fn objects(name: &str) -> Vec<String> {
    let mut words: Vec<String> = words(name).collect();
    if words.len() > 1 {
        words.remove(0);
    }
    words
}

/// The words of a name in lower case: `get_pull_request`, `list-traces`, `getUserName`.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut before = '_';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            spaced.push('_');
        }
        spaced.push(c);
        before = c;
    }
    let words: Vec<String> = spaced
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::super::tests::server;
    use super::*;

    fn about(title: &str, description: &str, instructions: &str) -> About {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        About {
            title: text(title),
            description: text(description),
            instructions: text(instructions),
            ..About::default()
        }
    }

    #[test]
    fn a_server_is_told_by_its_first_sentence_or_a_title_that_tells_more_than_its_name() {
        for (name, about, expected) in [
            ("gh", about("", "", "Provides tools for GitHub. Use them well."), "Provides tools for GitHub."),
            ("s", about("", "Keeps\n  notes.\n\nMore of it.", "Other."), "Keeps notes."),
            (
                "s",
                about("", "", "# Big heading\n\n- a list\n\nUse it for v1.2 files! Or not."),
                "Use it for v1.2 files!",
            ),
            ("s", about("", "", "# Nothing but a heading"), ""),
            ("gh", about("GitHub v3 REST API", "", ""), "GitHub v3 REST API"),
            ("shop", about("Shop API", "", ""), ""),
            ("memory", about("memory-server", "", ""), ""),
            ("s", about("", "", "Evil\u{202e} line\u{7}\nof text"), "Evil\\u202e line\\u0007 of text"),
        ] {
            assert_eq!(purpose(name, &about), expected, "{about:?}");
        }
        let long = purpose("s", &about("", "", &"word ".repeat(10_000)));
        assert!(long.ends_with("...") && long.chars().count() <= SENTENCE + 3, "{long}");
    }

    #[test]
    fn tools_that_stand_for_all_differ_in_what_they_work_on() {
        let tools = [
            ("create_entities", ""),
            ("delete_entities", ""),
            ("create_relations", ""),
            ("add_observations", ""),
            ("read_graph", ""),
        ];
        let memory = server("memory", "", &[], &tools);
        assert_eq!(
            memory.telling_tools(80),
            "create_entities, delete_entities, create_relations, add_observations, read_graph"
        );
        assert_eq!(
            memory.telling_tools(75),
            "create_entities, create_relations, add_observations, read_graph, …"
        );
        assert_eq!(memory.telling_tools(40), "create_entities, create_relations, …");
        assert_eq!(memory.telling_tools(5), "");
        let time = server("time", "", &[], &[("convert_time", ""), ("now", "")]);
        assert_eq!(time.telling_tools(40), "convert_time, now");
        assert_eq!(time.telling_tools(12), "now, …");
        assert_eq!(server("s", "", &[], &[("look", "")]).telling_tools(40), "look");
        assert_eq!(server("fetch", "", &[], &[("fetch", "")]).telling_tools(40), "fetch");
        let hostile = server(
            "s",
            "",
            &[],
            &[("a\nb", ""), ("</prints>", ""), (&"x".repeat(500), ""), ("getUserName", "")],
        );
        assert_eq!(hostile.telling_tools(80), "getUserName, …");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let kept = shortened(about(&"t".repeat(9_000), "", &"i".repeat(9_000)));
        assert!(kept.title.is_some_and(|title| title.len() < 300));
        let told = kept.instructions.expect("it has some");
        assert!(told.ends_with(" [7000 more characters are not shown]") && told.len() < 2_100, "{told}");
    }
}
