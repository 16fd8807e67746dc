//! Texts about more than one function, which programs read with `doc`: `(doc 'ptc/language)` is the language as a whole,
//! `(doc 'ptc/tools)` how tools of upstream servers are called and found. Prompts and descriptions of tools are made of the
//! same texts, and point at these pages for what they leave out.
//!
//! A page is a card: a file with notes for maintainers, of which only what stands between two markers is shown.

/// The line above the text of a card.
const START: &str = "<!-- card start -->\n";
/// The line below it.
const END: &str = "\n<!-- card end -->";

/// The card about the language, for a reader who knows Clojure.
pub const LANGUAGE: &str = include_str!("../pages/language.md");

/// The card about tools of upstream servers.
pub const TOOLS: &str = include_str!("../pages/tools.md");

/// Every page by the name that `doc` takes, with what it is about.
const PAGES: &[(&str, &str, &str)] = &[
    ("ptc/language", "the language", text(LANGUAGE)),
    ("ptc/tools", "calling and finding tools of upstream servers", text(TOOLS)),
];

/// The page that lists what the attached prelude offers, which depends on the machine.
pub const PRELUDE: &str = "ptc/prelude";

/// The page of this name.
pub fn page(name: &str) -> Option<&'static str> {
    PAGES.iter().find(|(page, ..)| *page == name).map(|(.., text)| *text)
}

/// The names of all pages, each with what it is about.
pub fn names() -> impl Iterator<Item = (&'static str, &'static str)> {
    let prelude = (PRELUDE, "what the attached prelude offers");
    PAGES.iter().map(|(name, about, _)| (*name, *about)).chain([prelude])
}

/// What stands between the markers of a card. As a constant, a card without its markers does not build.
pub const fn text(card: &'static str) -> &'static str {
    let start = after(card, START, 0);
    let end = after(card, END, start) - END.len();
    let (_, rest) = card.split_at(start);
    let (text, _) = rest.split_at(end - start);
    text
}

/// Where the marker ends.
const fn after(card: &str, marker: &str, from: usize) -> usize {
    let (card, marker) = (card.as_bytes(), marker.as_bytes());
    let mut at = from;
    while at + marker.len() <= card.len() {
        let mut same = 0;
        while same < marker.len() && card[at + same] == marker[same] {
            same += 1;
        }
        if same == marker.len() {
            return at + same;
        }
        at += 1;
    }
    panic!("a card has its markers")
}
