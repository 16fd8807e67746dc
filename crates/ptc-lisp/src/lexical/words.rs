//! The words of a text, what is left of a word without its endings, and how far two words are apart.

/// No word is longer; what comes behind is left out.
const LONGEST: usize = 40;

/// The words of a text, in small letters: `readTextFile`, `read_text_file` and `read-text-file` have the same.
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if matches!(c, '\'' | '’') {
            continue;
        }
        let mut ahead = chars.clone();
        let next_is_small = match ahead.next() {
            // `PRs` and `getURLs` have a plural.
            Some('s') => ahead.next().is_some_and(char::is_alphanumeric),
            next => next.is_some_and(char::is_lowercase),
        };
        let begins = c.is_uppercase() && (!before.is_uppercase() || next_is_small);
        if begins || !c.is_alphanumeric() {
            words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
        }
        if c.is_alphanumeric() && word.len() < LONGEST {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

/// An English word without the endings of plurals and verbs. The same for all forms of a word, and no word by itself.
pub fn stem(word: &str) -> String {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let mut stem = without_ending(singular(word));
    let last_two = stem.as_bytes().last_chunk::<2>();
    match last_two {
        Some([_, b'e']) if stem.len() > 4 => drop(stem.pop()),
        Some([before, b'y']) if stem.len() > 3 && !is_vowel(*before) => {
            stem.pop();
            stem.push('i');
        }
        _ => {}
    }
    stem
}

fn singular(word: &str) -> String {
    let ends = |endings: &[&str]| endings.iter().any(|ending| word.ends_with(ending));
    match () {
        () if word.len() > 4 && ends(&["ies"]) => format!("{}y", &word[..word.len() - 3]),
        () if ends(&["sses", "xes", "ches", "shes", "zes"]) => word[..word.len() - 2].to_owned(),
        () if ends(&["s"]) && !ends(&["ss", "us", "is"]) => word[..word.len() - 1].to_owned(),
        () => word.to_owned(),
    }
}

fn without_ending(mut word: String) -> String {
    for ending in ["ing", "ed"] {
        let Some(rest) = word.strip_suffix(ending).filter(|rest| rest.len() >= 3) else { continue };
        if !rest.bytes().any(is_vowel) {
            continue;
        }
        let mut rest = rest.to_owned();
        match *rest.as_bytes() {
            // `running` is a form of `run`.
            [_, .., before, last] if rest.len() > 3 && before == last && !b"lsz".contains(&last) => {
                rest.pop();
            }
            // `saved` is a form of `save`.
            [first, middle, last]
                if !is_vowel(first) && is_vowel(middle) && !is_vowel(last) && !b"wx".contains(&last) =>
            {
                rest.push('e');
            }
            _ => {}
        }
        return rest;
    }
    // `creation` belongs to `create`, and `station` to nothing.
    if word.len() >= 8 && (word.ends_with("tion") || word.ends_with("sion")) {
        word.truncate(word.len() - 3);
    }
    word
}

/// How many letters must be changed, left out, put in or exchanged with their neighbour to make one word of the other;
/// nothing if more than `most`.
pub fn distance(left: &[char], right: &[char], most: usize) -> Option<usize> {
    if left.len().abs_diff(right.len()) > most {
        return None;
    }
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, b) in right.iter().enumerate() {
            let changed = last[j] + usize::from(a != b);
            let mut least = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        if row.iter().all(|so_far| *so_far > most) {
            return None;
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|distance| *distance <= most)
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
        assert_eq!(words("HTTPServer's utf8"), ["http", "servers", "utf8"]);
        assert_eq!(words("open PRs, getURLs(IDs)"), ["open", "prs", "get", "urls", "ids"]);
        assert_eq!(words("+ -> ?"), [""; 0]);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            &["file", "files", "filed"][..],
            &["create", "creates", "created", "creating", "creation"],
            &["query", "queries"],
            &["directory", "directories"],
            &["run", "runs", "running"],
            &["save", "saves", "saved", "saving"],
            &["branch", "branches"],
            &["fix", "fixes", "fixed", "fixing"],
            &["list", "lists", "listed", "listing"],
            &["close", "closed", "closing"],
        ] {
            let stems: Vec<String> = forms.iter().map(|form| stem(form)).collect();
            assert!(stems.iter().all(|other| *other == stems[0]), "{forms:?} {stems:?}");
        }
        for (left, right) in [("station", "state"), ("note", "not"), ("status", "stat"), ("class", "clas")] {
            assert_ne!(stem(left), stem(right), "{left} {right}");
        }
    }

    #[test]
    fn mistakes_in_typing_are_counted() {
        let apart = |left: &str, right: &str, most| {
            distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>(), most)
        };
        assert_eq!(apart("file", "file", 1), Some(0));
        assert_eq!(apart("databse", "database", 1), Some(1), "left out");
        assert_eq!(apart("chnanel", "channel", 1), Some(1), "exchanged");
        assert_eq!(apart("diffrense", "difference", 2), Some(2));
        assert_eq!(apart("diffrense", "difference", 1), None);
        assert_eq!(apart("a", "abcdef", 2), None);
    }
}
