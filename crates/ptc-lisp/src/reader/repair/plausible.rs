//! What calls usually look like: a repair that makes an unusual one is not certain.
//!
//! Indentation tells the line of a missing delimiter, not the place in the line. But where closing a call
//! earlier or later would leave it with an unusual number of parts, only one place remains.

const MANY: usize = usize::MAX;

type Counts = (&'static [&'static str], usize, usize);

/// How many parts some calls usually have, the function counted: at least and at most.
const CALLS: [Counts; 13] = [
    (&["count", "distinct", "empty?", "ffirst", "first", "flatten", "frequencies", "keys", "last"], 2, 2),
    (&["keyword", "name", "next", "rest", "reverse", "second", "seq", "set", "vals", "vec"], 2, 2),
    (
        &["abs", "dec", "double", "even?", "float", "inc", "int", "long", "neg?", "odd?", "pos?", "zero?"],
        2,
        2,
    ),
    (&["nil?", "not", "parse-double", "parse-long", "some?", "str/blank?", "str/trim"], 2, 2),
    (&["str/capitalize", "str/lower-case", "str/upper-case", "Math/abs", "Math/round", "Math/sqrt"], 2, 2),
    (
        &["contains?", "drop", "drop-while", "every?", "filter", "filterv", "group-by", "interpose", "keep"],
        3,
        3,
    ),
    (&["map-indexed", "mod", "quot", "re-find", "re-matches", "re-seq", "rem", "remove", "repeat"], 3, 3),
    (&["select-keys", "some", "split-at", "split-with", "take", "take-last", "take-while", "zipmap"], 3, 3),
    (&["str/ends-with?", "str/includes?", "str/starts-with?"], 3, 3),
    (&["get", "get-in", "into", "nth", "partition", "reduce", "sort-by", "str/split", "subs"], 3, 4),
    (
        &["*", "+", "<", "<=", "=", ">", ">=", "and", "apply", "concat", "conj", "map", "mapcat", "mapv"],
        3,
        MANY,
    ),
    (&["merge-with", "not=", "or", "partial"], 3, MANY),
    (&["assoc", "assoc-in", "reduce-kv", "str/replace", "swap!", "update", "update-in"], 4, MANY),
];

/// The same for forms with a body. What follows them may be their body, so they must have one.
const FORMS: [Counts; 5] = [
    (&["do", "try"], 2, MANY),
    (&["def", "if", "if-let", "if-not", "if-some"], 3, 4),
    (&["doseq", "dotimes", "fn", "for", "let", "loop", "while"], 3, MANY),
    (&["when", "when-first", "when-let", "when-not", "when-some"], 3, MANY),
    (&["defn", "defn-"], 4, MANY),
];

/// Forms whose vector holds names and values in pairs.
const BINDERS: [&str; 9] =
    ["binding", "doseq", "for", "if-let", "if-some", "let", "loop", "when-let", "when-some"];

/// A delimiter that is open, and what stands in it so far.
#[derive(Debug)]
pub(super) struct OpenDelimiter<'a> {
    pub(super) closer: char,
    pub(super) column: u32,
    /// The number of its line within the chunk.
    pub(super) line: u32,
    /// The first word in it.
    head: Option<&'a str>,
    parts: usize,
    /// Whether it is the binding vector of a `let` or its like.
    binds: bool,
}

impl<'a> OpenDelimiter<'a> {
    pub(super) fn new(closer: char, column: u32, line: u32, parent: Option<&OpenDelimiter<'_>>) -> Self {
        let is_binder = |parent: &OpenDelimiter<'_>| {
            parent.parts == 2 && parent.head.is_some_and(|head| BINDERS.contains(&head))
        };
        let binds = closer == ']' && parent.is_some_and(is_binder);
        OpenDelimiter { closer, column, line, head: None, parts: 0, binds }
    }

    /// Counts one more part; `word` is its text if it is no collection.
    pub(super) fn add(&mut self, word: Option<&'a str>) {
        if self.parts == 0 {
            self.head = word;
        }
        self.parts += 1;
    }

    fn usual(&self) -> (usize, usize) {
        let Some(head) = self.head else { return (2, MANY) };
        if head.starts_with(':') {
            return (2, 2);
        }
        let known = CALLS.iter().chain(&FORMS).find(|(names, _, _)| names.contains(&head));
        known.map_or((2, MANY), |(_, least, most)| (*least, *most))
    }

    fn is_form(&self) -> bool {
        self.head.is_some_and(|head| FORMS.iter().any(|(names, _, _)| names.contains(&head)))
    }

    /// Whether it could end here. A threaded call (`->>`) may have one part less than usual.
    pub(super) fn is_plausible(&self) -> bool {
        if self.closer != ')' {
            return !self.binds || self.parts.is_multiple_of(2);
        }
        let (least, most) = self.usual();
        let least = if self.is_form() { least } else { least - 1 };
        (least..=most).contains(&self.parts)
    }

    /// Whether it could as well have ended before its last part.
    pub(super) fn could_be_shorter(&self) -> bool {
        let least = match (self.closer, self.head) {
            (')', _) => self.usual().0,
            // Names and values come in pairs, and a body seldom looks like one.
            (']', _) if self.binds => MANY,
            // Keys rarely stand after an empty map.
            ('}', Some(head)) if head.starts_with([':', '"']) => 2,
            _ => 0,
        };
        self.parts > least
    }
}
