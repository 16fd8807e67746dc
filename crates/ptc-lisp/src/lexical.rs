//! How well a text answers a search: the words of the query against the words of names and descriptions.
//! Everything that can be found with `apropos` is ranked by this, so that the results can be mixed.

/// What a word of the query that is a whole word of the text counts.
const EXACT: u32 = 10;
/// What one counts that a word of the text begins with.
const PREFIX: u32 = 5;
/// What one counts that stands inside of a word.
const INSIDE: u32 = 2;
/// What a match counts more in a name.
const IN_NAME: u32 = 2;

/// The words of a text, in small letters: `readTextFile`, `read_text_file` and `read-text-file` have the same.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let ends = matches!(c, '_' | '-' | '.' | '/' | '(' | ')' | ':' | ',') || c.is_whitespace();
        if ends || (c.is_uppercase() && before.is_lowercase()) {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        if !ends {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// A query.
#[derive(Clone, Debug)]
pub struct Query {
    words: Vec<String>,
}

impl Query {
    /// The query of a text; one of punctuation alone is looked for as it is.
    pub fn new(text: &str) -> Self {
        let mut found = words(text);
        if found.is_empty() {
            found.push(text.trim().to_lowercase());
        }
        Query { words: found }
    }

    /// How well names and other texts answer it; 0 if not at all. For each word of the query the best match
    /// counts.
    pub fn score(&self, names: &[&str], texts: &[&str]) -> u32 {
        let split = |texts: &[&str]| -> Vec<String> { texts.iter().flat_map(|text| words(text)).collect() };
        let (mut names, texts) = (split(names), split(texts));
        if names.is_empty() {
            names.push(String::new());
        }
        let best = |wanted: &String| {
            let named = names.iter().map(|word| grade(word, wanted)).map(|grade| grade.map(|g| g + IN_NAME));
            let told = texts.iter().map(|word| grade(word, wanted));
            named.chain(told).flatten().max().unwrap_or(0)
        };
        self.words.iter().map(best).sum()
    }
}

fn grade(word: &str, wanted: &str) -> Option<u32> {
    match () {
        () if word == wanted => Some(EXACT),
        () if word.starts_with(wanted) => Some(PREFIX),
        () if word.contains(wanted) => Some(INSIDE),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_write_a_name_have_the_same_words() {
        for name in
            ["readTextFile", "read_text_file", "read-text-file", "read.text/file", "Read Text (file):"]
        {
            assert_eq!(words(name), ["read", "text", "file"], "{name}");
        }
    }

    #[test]
    fn the_best_match_of_each_word_counts() {
        let score = |query: &str, name: &str, doc: &str| Query::new(query).score(&[name], &[doc]);
        assert_eq!(score("read", "read_file", ""), 12, "exact in a name");
        assert_eq!(score("read", "reader", ""), 7, "prefix in a name");
        assert_eq!(score("read", "thread", ""), 4, "inside a name");
        assert_eq!(score("read", "x", "Read a file"), 10, "exact in a text");
        assert_eq!(score("read file", "read_file", "file"), 24, "words add up");
        assert_eq!(score("zzz", "read_file", "Reads"), 0);
        assert_eq!(score("+", "+", "Adds"), 12, "punctuation is a word of its own");
    }
}
