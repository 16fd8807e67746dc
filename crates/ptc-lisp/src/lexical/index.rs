//! The index: which words are said of which entries, how rare each is, and the entries that answer a question, best first.
//!
//! The score is BM25F: a word counts more the rarer it is, and more in a name than in a description; fields that are longer
//! than usual count less. A word of the question stands for all words of the index that may be meant by it, each with a grade.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::Query;
use super::meaning::{READING, is_common, synonyms};
use super::words::{distance, stem, words};

/// How much text is looked at in all, and of one entry at least and at most.
const ALL_BYTES: usize = 2 * 1024 * 1024;
const LEAST_BYTES: usize = 64;
const MOST_BYTES: usize = 4_096;
/// How many different words are kept; a question is compared with each of them.
const DIFFERENT: usize = 100_000;
/// How often a word counts in one field.
const MOST_TIMES: usize = 3;

/// What a word of the index is worth that a word of the question stands for.
const EXACT: f32 = 1.0;
const SAME_STEM: f32 = 0.9;
const JOINED: f32 = 0.9;
const SLIP: f32 = 0.8;
const TYPO: f32 = 0.7;
const SECOND_TYPO: f32 = 0.15;
const SYNONYM: f32 = 0.55;
const SYNONYM_OF_TYPO: f32 = 0.44;
/// How much rarer than a word those may be that it stands for.
const RARER: f32 = 1.6;
const BEGINNING: f32 = 0.5;
const INSIDE: f32 = 0.25;

/// How fast saying a word again counts less.
const SATURATION: f32 = 1.2;
/// What an entry that only reads has ahead where the question only wants to know.
const READS: f32 = 0.7;
/// What an entry has ahead whose owner is named in the question.
const OWNED: f32 = 1.2;
/// The least that the best must score, as a part of what the rarest word counts. Below it a common word fits by accident.
const FLOOR: f32 = 0.2;
/// How much of one word that says what a question is about must be said of something, on a scale on which 1 is the word itself,
/// often and in a name. Below it nothing has to do with the question, however well its other words fit: `fetch my calendar`.
const ABOUT: f32 = 0.35;

/// Where something is said of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexField {
    /// Its name.
    Name,
    /// The name of what it belongs to.
    Owner,
    /// A name for people.
    Title,
    /// The first sentence of its description; what is given as [`Field::Text`] is parted by the index.
    Summary,
    /// Its description.
    Text,
    /// The name of an argument.
    Argument,
    /// A value that an argument may have.
    Value,
    /// The description of an argument.
    ArgumentText,
    /// The description of what it belongs to.
    About,
}

/// How much a word counts in each field, and how much less in one that is longer than usual.
const FIELDS: [(f32, f32); 9] = [
    (4.0, 0.4),
    (1.5, 0.0),
    (1.5, 0.3),
    (1.5, 0.3),
    (0.7, 0.5),
    (0.6, 0.5),
    (0.3, 0.5),
    (0.15, 0.5),
    (0.2, 0.0),
];

/// What is said of one thing, the most important first.
pub type IndexEntry<'t> = Vec<(IndexField, &'t str)>;

#[derive(Debug)]
struct Word {
    /// What it counts: the rarer its stem, the more.
    rarity: f32,
    /// The entries of which it is said, with its weight in each.
    places: Vec<(usize, f32)>,
}

/// An index over entries, which have numbers in the order in which they were given.
#[derive(Debug, Default)]
pub struct Index {
    numbers: BTreeMap<String, usize>,
    words: Vec<Word>,
    stems: BTreeMap<String, Vec<usize>>,
    /// The words of owners, and the owner of each entry.
    owners: Vec<Vec<String>>,
    owned: Vec<Option<usize>>,
}

/// An entry that has been read: its words with the fields in which they stand, and how long fields are.
struct IndexedEntry {
    said: Vec<(usize, IndexField)>,
    lengths: [usize; FIELDS.len()],
}

impl Index {
    /// The index over these entries.
    pub fn new<'t>(entries: impl ExactSizeIterator<Item = IndexEntry<'t>>) -> Index {
        let share = (ALL_BYTES / entries.len().max(1)).clamp(LEAST_BYTES, MOST_BYTES);
        let mut index = Index::default();
        let mut owners: BTreeMap<String, usize> = BTreeMap::new();
        let readings: Vec<IndexedEntry> =
            entries.map(|entry| index.read(&entry, share, &mut owners)).collect();
        index.weigh(readings);
        index.rate();
        index
    }

    /// How much work a question is.
    pub fn work(&self, query: &Query) -> usize {
        (self.words.len() + self.owned.len()).saturating_mul(1 + query.words.len())
    }

    fn read(
        &mut self,
        entry: &IndexEntry,
        share: usize,
        owners: &mut BTreeMap<String, usize>,
    ) -> IndexedEntry {
        let mut reading = IndexedEntry { said: Vec::new(), lengths: [0; FIELDS.len()] };
        let mut left = share;
        let mut owner = None;
        for &(field, text) in entry {
            // A description leaves something for what comes behind it.
            let most = if field == IndexField::Text { share / 2 } else { left };
            let text = &text[..text.floor_char_boundary(most.min(left))];
            left -= text.len();
            match field {
                IndexField::Text => {
                    let (summary, rest) = text.split_at(end_of_sentence(text));
                    self.say(&mut reading, IndexField::Summary, summary);
                    self.say(&mut reading, IndexField::Text, rest);
                }
                IndexField::Owner => {
                    let new = owners.len();
                    let number = *owners.entry(text.to_owned()).or_insert(new);
                    if number == new {
                        self.owners.push(words(text));
                    }
                    owner = Some(number);
                    self.say(&mut reading, field, text);
                }
                _ => self.say(&mut reading, field, text),
            }
        }
        self.owned.push(owner);
        reading
    }

    fn say(&mut self, reading: &mut IndexedEntry, field: IndexField, text: &str) {
        let words = words(text);
        reading.lengths[field as usize] += words.len();
        if matches!(field, IndexField::Name | IndexField::Argument) {
            let whole = words.concat();
            let written = text.to_lowercase();
            let pairs = words.windows(2).map(|pair| pair.concat());
            let mut names: Vec<String> = pairs.chain([whole, written]).collect();
            names.sort();
            names.dedup();
            for name in names.into_iter().filter(|name| !name.is_empty() && !words.contains(name)) {
                reading.said.extend(self.number(name).map(|number| (number, field)));
            }
        }
        for word in words {
            reading.said.extend(self.number(word).map(|number| (number, field)));
        }
    }

    /// The number of a word; nothing if there are too many words already.
    fn number(&mut self, word: String) -> Option<usize> {
        if let Some(number) = self.numbers.get(&word) {
            return Some(*number);
        }
        let new = self.words.len();
        if new == DIFFERENT {
            return None;
        }
        self.numbers.insert(word, new);
        self.words.push(Word { rarity: 0.0, places: Vec::new() });
        Some(new)
    }

    /// Gives words their weights in entries.
    fn weigh(&mut self, readings: Vec<IndexedEntry>) {
        let count = readings.len().max(1) as f32;
        let usual: Vec<f32> = (0..FIELDS.len())
            .map(|field| readings.iter().map(|reading| reading.lengths[field]).sum::<usize>() as f32 / count)
            .collect();
        for (entry, mut reading) in readings.into_iter().enumerate() {
            reading.said.sort_unstable();
            for run in reading.said.chunk_by(|left, right| left == right) {
                let (word, field) = run[0];
                let (weight, by_length) = FIELDS[field as usize];
                let length = reading.lengths[field as usize] as f32 / usual[field as usize].max(1.0);
                let times = run.len().min(MOST_TIMES) as f32;
                let weight = weight * times / (1.0 - by_length + by_length * length);
                match self.words[word].places.last_mut() {
                    Some((last, so_far)) if *last == entry => *so_far += weight,
                    _ => self.words[word].places.push((entry, weight)),
                }
            }
        }
    }

    /// Finds out how rare words are. All forms of a word are equally rare.
    fn rate(&mut self) {
        for (word, number) in &self.numbers {
            self.stems.entry(stem(word)).or_default().push(*number);
        }
        for numbers in self.stems.values() {
            let places = numbers.iter().flat_map(|number| &self.words[*number].places);
            let mut entries: Vec<usize> = places.map(|(entry, _)| *entry).collect();
            entries.sort_unstable();
            entries.dedup();
            let rarity = rarity(self.owned.len(), entries.len());
            numbers.iter().for_each(|number| self.words[*number].rarity = rarity);
        }
    }
}

/// Where the first sentence ends.
fn end_of_sentence(text: &str) -> usize {
    let bytes = text.as_bytes();
    let ends = |pair: &[u8]| matches!(pair, [b'.' | b'\n', after] if after.is_ascii_whitespace());
    bytes.windows(2).position(ends).map_or(text.len(), |at| at + 1)
}

/// What a word counts that is said of so many of all entries.
fn rarity(all: usize, of: usize) -> f32 {
    let (all, of) = (all as f32, of as f32);
    (1.0 + (all - of + 0.5).max(0.0) / (of + 0.5)).ln()
}

impl Index {
    /// The numbers of entries that answer a question with their scores, best first.
    pub fn find(&self, query: &Query) -> Vec<(usize, u32)> {
        let (mut scores, mut about) = (vec![0.0_f32; self.owned.len()], vec![0.0_f32; self.owned.len()]);
        for word in &query.words {
            let meant = self.meant(word);
            self.add(&self.by_rarity(word, &meant), &mut scores);
            if !is_common(word) {
                self.add(&meant, &mut about);
            }
        }
        for name in &query.names {
            if let Some(number) = self.numbers.get(name) {
                self.add(&[(*number, JOINED * self.words[*number].rarity)], &mut scores);
                self.add(&[(*number, JOINED)], &mut about);
            }
        }
        if query.asks {
            self.prefer_reading(&mut scores);
        }
        let is_named: Vec<bool> =
            self.owners.iter().map(|owner| owner.iter().all(|word| query.all.contains(word))).collect();
        let scored = scores.iter().zip(&self.owned).enumerate().map(|(entry, (score, owner))| {
            let named = owner.is_some_and(|owner| is_named[owner]);
            (entry, if named { score * OWNED } else { *score })
        });
        // Rounded, so that no order depends on how a processor computes logarithms.
        let mut found: Vec<(usize, u32)> = scored
            .filter(|(_, score)| *score > 0.0)
            .map(|(entry, score)| (entry, (score * 1_000.0).round().max(1.0) as u32))
            .collect();
        found.sort_by_key(|(entry, score)| (Reverse(*score), *entry));
        let least = (FLOOR * rarity(self.owned.len(), 1) * 1_000.0) as u32;
        let best = found.first().map_or(0, |(_, score)| *score);
        let is_about =
            query.words.iter().all(|word| is_common(word)) || about.iter().any(|part| *part >= ABOUT);
        if query.words.len() > 1 && (best < least || !is_about) {
            found.clear();
        }
        found
    }

    /// Adds to each entry what the best of these words counts in it.
    fn add(&self, meant: &[(usize, f32)], scores: &mut [f32]) {
        let mut best: BTreeMap<usize, f32> = BTreeMap::new();
        for (word, worth) in meant {
            for (entry, weight) in &self.words[*word].places {
                let score = worth * weight / (SATURATION + weight);
                let so_far = best.entry(*entry).or_insert(0.0);
                *so_far = so_far.max(score);
            }
        }
        best.into_iter().for_each(|(entry, score)| scores[entry] += score);
    }

    fn prefer_reading(&self, scores: &mut [f32]) {
        let reading = READING.iter().filter_map(|stem| self.stems.get(*stem)).flatten();
        let meant: Vec<(usize, f32)> = reading.map(|word| (*word, READS)).collect();
        let mut ahead = vec![0.0; scores.len()];
        self.add(&meant, &mut ahead);
        for (score, ahead) in scores.iter_mut().zip(ahead).filter(|(score, _)| **score > 0.0) {
            *score += ahead;
        }
    }

    /// What words of the index are worth that a word of a question stands for, by how rare they are.
    fn by_rarity(&self, word: &str, meant: &[(usize, f32)]) -> Vec<(usize, f32)> {
        let same = self.stems.get(&stem(word)).and_then(|same| same.first());
        // However rare another word is, the word itself counts more.
        let most = same.map_or(f32::INFINITY, |first| RARER * self.words[*first].rarity);
        meant.iter().map(|(number, grade)| (*number, grade * self.words[*number].rarity.min(most))).collect()
    }

    /// The words of the index that a word of a question stands for, with the grade of each.
    fn meant(&self, word: &str) -> Vec<(usize, f32)> {
        let own = stem(word);
        let same = self.stems.get(&own).map_or(&[][..], Vec::as_slice);
        let mut meant: Vec<(usize, f32)> = same.iter().map(|number| (*number, SAME_STEM)).collect();
        meant.extend(self.numbers.get(word).map(|number| (*number, EXACT)));
        let is_known = !meant.is_empty() || synonyms().contains_key(&own);
        meant.extend(self.synonyms(&own).map(|number| (number, SYNONYM)));
        meant.extend(self.beginning(word).map(|(number, part)| (number, BEGINNING * part.sqrt())));
        if word.len() >= 4 {
            let inside = self.numbers.iter().filter(|(other, _)| other.contains(word));
            meant.extend(inside.map(|(_, number)| (*number, INSIDE)));
            let mistyped = match is_known {
                false => self.mistyped(word),
                // What is left of it without endings is a word, and may be another one: `fille` is no form of `fill`.
                true if !self.numbers.contains_key(word) => self.slips(word),
                true => Vec::new(),
            };
            meant.extend(mistyped);
        }
        meant
    }

    fn synonyms(&self, stem: &str) -> impl Iterator<Item = usize> {
        let others = synonyms().get(stem).into_iter().flatten();
        others.filter_map(move |other| self.stems.get(other)).flatten().copied()
    }

    /// Longer words that begin like this one, with the part of them that it is.
    fn beginning(&self, word: &str) -> impl Iterator<Item = (usize, f32)> {
        let alike =
            self.numbers.range(word.to_owned()..).take_while(move |(other, _)| other.starts_with(word));
        let longer = alike.filter(move |(other, _)| other.len() > word.len());
        // Few letters are the beginning of many words.
        let enough = longer.filter(move |(other, _)| word.len() > 3 || 2 * word.len() >= other.len());
        enough.map(move |(other, number)| (*number, word.len() as f32 / other.len() as f32))
    }

    /// Words that were meant if a letter of this one is doubled or changed places with its neighbour, the likeliest slips of
    /// the fingers. The first letter is right.
    fn slips(&self, word: &str) -> Vec<(usize, f32)> {
        let begin = word.chars().next().map(String::from).unwrap_or_default();
        let alike = self.numbers.range(begin.clone()..).take_while(|(other, _)| other.starts_with(&begin));
        alike.filter(|(other, _)| is_slip(word, other)).map(|(_, number)| (*number, SLIP)).collect()
    }

    /// Words that were meant if this one is mistyped. The first letter is right.
    fn mistyped(&self, word: &str) -> Vec<(usize, f32)> {
        let letters = |word: &str| -> Vec<char> { word.chars().collect() };
        let wrong = letters(word);
        let apart = |other: &str, most: usize| {
            let near = other.len().abs_diff(word.len()) <= 4 * most && other.len() >= 4;
            let alike = near && other.chars().next() == wrong.first().copied();
            alike.then(|| distance(&wrong, &letters(other), most)).flatten()
        };
        let most = if wrong.len() < 8 { 1 } else { 2 };
        // The likeliest slip leaves no room for others.
        let mut meant = self.slips(word);
        let likely = !meant.is_empty();
        if !likely {
            for (other, number) in &self.numbers {
                if let Some(wrong) = apart(other, most) {
                    meant.push((*number, TYPO - SECOND_TYPO * wrong.saturating_sub(1) as f32));
                }
            }
        }
        if wrong.len() > 4 {
            let stemmed = stem(word);
            let alike = synonyms().keys().filter(|other| {
                other.chars().next() == wrong.first().copied()
                    && distance(&letters(&stemmed), &letters(other), 1).is_some()
                    && (!likely || is_slip(&stemmed, other) || stemmed == **other)
            });
            for other in alike {
                meant.extend(self.synonyms(other).map(|number| (number, SYNONYM_OF_TYPO)));
            }
        }
        meant
    }
}

/// Whether a word is another one with a letter doubled, or not doubled, or with two neighbours exchanged.
fn is_slip(word: &str, other: &str) -> bool {
    let letters = |word: &str| -> Vec<char> { word.chars().collect() };
    let (wrong, right) = (letters(word), letters(other));
    if right.len() < 4 || distance(&wrong, &right, 1) != Some(1) {
        return false;
    }
    let undoubled = |letters: &[char]| {
        let mut letters = letters.to_vec();
        letters.dedup();
        letters
    };
    let sorted = |letters: &[char]| {
        let mut letters = letters.to_vec();
        letters.sort_unstable();
        letters
    };
    match wrong.len() == right.len() {
        true => sorted(&wrong) == sorted(&right),
        false => undoubled(&wrong) == undoubled(&right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_doubled_letters_and_neighbours_that_changed_places() {
        for (word, other, expected) in [
            ("fiels", "files", true),
            ("fille", "file", true),
            ("mesage", "message", true),
            ("fiels", "fields", false),
            ("filed", "files", false),
            ("list", "list", false),
            ("seltif", "filest", false),
        ] {
            assert_eq!(is_slip(word, other), expected, "{word} {other}");
        }
    }

    #[test]
    fn the_likeliest_slip_counts_before_rarer_words() {
        let things = &[
            ("list_files", "Lists files."),
            ("read_file", "Reads a file."),
            ("fill_form", "Fills fields of a form."),
            ("add", "Adds numbers."),
        ];
        assert_eq!(found(things, "fiels")[0], "list_files");
        assert_eq!(found(things, "read the fille")[0], "read_file");
    }

    /// Names of things by how well they answer.
    fn found<'t>(things: &[(&'t str, &str)], question: &str) -> Vec<&'t str> {
        let entries =
            things.iter().map(|(name, text)| vec![(IndexField::Name, *name), (IndexField::Text, *text)]);
        let found = Index::new(entries).find(&Query::new(question));
        found.into_iter().map(|(entry, _)| things[entry].0).collect()
    }

    const THINGS: &[(&str, &str)] = &[
        ("getUserName", "Get what somebody is called."),
        ("list_users", "List the accounts."),
        ("delete-file", "Remove a file from the disk. It is gone then."),
        ("read_text_file", "Read a file."),
        ("search_threads", "Find conversations."),
        ("+", "Adds numbers."),
        ("convert", "Convert between units of measurement."),
    ];

    #[test]
    fn questions_find_what_is_meant() {
        for (question, first) in [
            ("getusername", "getUserName"),
            ("username", "getUserName"),
            ("user name", "getUserName"),
            ("listing of users", "list_users"),
            ("erase a file", "delete-file"),
            ("please could you read it", "read_text_file"),
            ("mesurement", "convert"),
            ("measurment units", "convert"),
            ("thread", "search_threads"),
            ("hrea", "search_threads"),
            ("conv", "convert"),
            ("+", "+"),
            ("what accounts are there", "list_users"),
        ] {
            assert_eq!(found(THINGS, question).first(), Some(&first), "{question}");
        }
    }

    #[test]
    fn what_fits_nothing_finds_nothing() {
        for question in ["zebra", "zebra crossing", "", "???", "xx yy"] {
            assert_eq!(found(THINGS, question), [""; 0], "{question}");
        }
        // A common word in a question about something else fits by accident.
        let many: Vec<(String, &str)> = (0..60).map(|n| (format!("get_thing_{n}"), "")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), *text)).collect();
        assert_eq!(found(&many, "get a pizza"), [""; 0]);
        // So does a word for what nearly every tool does, also in a name, and one that a description has beside its subject.
        let things = [
            ("fetch", "Fetches a page of the web. The answer has an event for each redirect."),
            ("get_reference", "Gives a resource that clients can use."),
            ("list_tables", "Lists the tables of a database."),
        ];
        for question in ["fetch my calendar", "customer refund", "list invoices", "list the open invoices"] {
            assert_eq!(found(&things, question), [""; 0], "{question}");
        }
        for question in ["fetch a page", "list all", "list", "database"] {
            assert!(!found(&things, question).is_empty(), "{question}");
        }
        assert_eq!(found(&many, "get").len(), 60);
    }

    #[test]
    fn rare_words_count_more_than_common_ones_and_names_more_than_texts() {
        let things = [
            ("get_order", "Get an order."),
            ("get_customer", "Get a customer."),
            ("get_refund", "Get a thing."),
            ("other", "Something about a refund."),
        ];
        assert_eq!(found(&things, "get refund")[..2], ["get_refund", "other"]);
        assert_eq!(found(&things, "refund"), ["get_refund", "other"]);
        let equal = [("b", "The same words."), ("a", "The same words.")];
        assert_eq!(found(&equal, "words"), ["b", "a"], "among equals the order stays");
    }

    #[test]
    fn hostile_texts_are_bounded() {
        let long: String = (0..8_000).map(|n| format!("w{n:07} ")).collect();
        let names: Vec<String> = (0..10_000).map(|n| format!("tool_{n}")).collect();
        let entries = names
            .iter()
            .map(|name| vec![(IndexField::Name, name.as_str()), (IndexField::Text, long.as_str())]);
        let index = Index::new(entries);
        assert!(index.words.len() < 60_000, "{}", index.words.len());
        let places: usize = index.words.iter().map(|word| word.places.len()).sum();
        assert!(places < 1_000_000, "{places}");
        let question = "wrng ".repeat(10_000) + &"x".repeat(100_000);
        assert!(index.find(&Query::new(&question)).len() <= 10_000);
        assert_eq!(index.find(&Query::new("tool 77"))[0].0, 77);

        // Words of which none is said twice.
        let texts: Vec<String> =
            (0..600).map(|n| (0..800).map(|m| format!("{:05} ", n * 800 + m)).collect()).collect();
        let index = Index::new(texts.iter().map(|text| vec![(IndexField::Title, text.as_str())]));
        assert_eq!(index.words.len(), DIFFERENT);
        assert_eq!(index.find(&Query::new("00007")).first().map(|found| found.0), Some(0));
    }
}
