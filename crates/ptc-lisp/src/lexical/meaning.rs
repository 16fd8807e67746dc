//! What words mean beside themselves: synonyms, and words that mean nothing in a question.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use super::words::stem;

/// Words that say nothing about what is wanted.
const EMPTY: &str = "a an the this that these those it its is are was were be been being am do does did done has have had \
    having can could should would will shall may might must i me my mine we us our ours you your yours he she they them \
    their his her of in on at to for from with by as and or but not no if then than so into onto out off up over under \
    about between during before after what whats which whose how why here there please want wants need needs like likes \
    some any all every each just also very more most now let lets give someone somebody something everything anything \
    anyone everyone everybody one two several via using use";

/// Words for what nearly every tool does: without another word that fits they say nothing about what is wanted.
const COMMON: &str = "get fetch read obtain retrieve show view see display list find search look lookup create make new add \
    put update change edit modify set delete remove send give tell open check";

/// Words with which a question begins that changes nothing.
const ASKING: &str = "what whats which who how where when did does is are";

/// Stems of words by which tools say that they change nothing.
pub const READING: [&str; 10] =
    ["get", "read", "list", "search", "find", "describ", "show", "info", "status", "diff"];

/// Whether a word of a question says nothing.
pub fn is_empty(word: &str) -> bool {
    EMPTY.split_whitespace().any(|empty| empty == word)
}

/// Whether a word of a question says what nearly every tool does.
pub fn is_common(word: &str) -> bool {
    static STEMS: OnceLock<BTreeSet<String>> = OnceLock::new();
    STEMS.get_or_init(|| COMMON.split_whitespace().map(stem).collect()).contains(&stem(word))
}

/// Whether a question that begins with this word only wants to know something.
pub fn asks(word: &str) -> bool {
    ASKING.split_whitespace().any(|asking| asking == word)
}

/// What words may mean, by stem.
pub fn synonyms() -> &'static BTreeMap<String, Vec<String>> {
    static SYNONYMS: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    SYNONYMS.get_or_init(|| read(include_str!("synonyms.txt")))
}

fn read(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let stems = |words: &str| -> Vec<String> { words.split_whitespace().map(stem).collect() };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (group, meant) = match line.split_once('>') {
            Some((words, meant)) => (stems(words), stems(meant)),
            None => (stems(line), stems(line)),
        };
        for word in group {
            let known = all.entry(word.clone()).or_default();
            for other in &meant {
                if *other != word && !known.contains(other) {
                    known.push(other.clone());
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_mean_each_other_and_arrows_point_one_way() {
        let all = read("# a comment\nparcel package\nfar > distance\n\nparcels box");
        assert_eq!(all["parcel"], ["package", "box"].map(stem));
        assert_eq!(all[&stem("package")], ["parcel"]);
        assert_eq!(all["far"], [stem("distance")]);
        assert!(!all.contains_key(&stem("distance")));
    }

    #[test]
    fn words_of_reading_are_stems() {
        for word in READING {
            assert_eq!(stem(word), word);
        }
    }
}
