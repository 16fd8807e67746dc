//! Finding things by what is said about them: an index over names and descriptions, and questions in the words of people.
//! Everything that can be found with `apropos` is ranked by this.
//!
//! `words.rs` takes texts apart, `meaning.rs` knows synonyms, `index.rs` has what is said and ranks it. Texts come from
//! outside, so all of them have bounds.

mod index;
mod meaning;
mod words;

pub use index::{Index, IndexEntry, IndexField};
pub use words::words;

/// How many words of a question count, and how many bytes of it are looked at.
const MOST_WORDS: usize = 16;
const MOST_BYTES: usize = 1_000;

/// A question.
#[derive(Clone, Debug)]
pub struct Query {
    /// The words that say what is wanted.
    words: Vec<String>,
    /// All words.
    all: Vec<String>,
    /// What may be a name: neighbours written as one word, and what is written with punctuation.
    names: Vec<String>,
    /// Whether it only wants to know something.
    asks: bool,
}

impl Query {
    /// The question of a text.
    pub fn new(text: &str) -> Self {
        let text = &text[..text.floor_char_boundary(MOST_BYTES)];
        let mut all = words::words(text);
        all.truncate(2 * MOST_WORDS);
        let mut words: Vec<String> = Vec::new();
        for word in all.iter().filter(|word| !meaning::is_empty(word)).chain(&all) {
            // Words that say nothing count where there are no others.
            let counts = !meaning::is_empty(word) || words.iter().all(|word| meaning::is_empty(word));
            if counts && !words.contains(word) && words.len() < MOST_WORDS {
                words.push(word.clone());
            }
        }
        let mut names: Vec<String> = all.windows(2).map(|pair| pair.concat()).collect();
        let written = text.split_whitespace().map(str::to_lowercase);
        names.extend(written.filter(|name| !all.contains(name)).take(MOST_WORDS));
        names.sort_unstable();
        names.dedup();
        let asks = all.first().is_some_and(|first| meaning::asks(first));
        Query { words, all, names, asks }
    }
}
