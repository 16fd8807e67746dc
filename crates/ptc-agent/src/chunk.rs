//! Splits long texts into chunks that a model can take one by one.

use unicode_segmentation::UnicodeSegmentation;

/// The text that tells how many characters a token of a counter has.
const PANGRAM: &str = "The quick brown fox jumps over the lazy dog.";
/// Characters per token, where no counter is given.
const SIMPLE: f64 = 4.0;

/// Splits texts by lines, characters or tokens.
///
/// ```
/// use ptc_agent::Chunker;
///
/// let chunks = Chunker::by_lines(2).overlap(1).texts("a\nb\nc")?;
/// assert_eq!(chunks, ["a\nb", "b\nc"]);
/// # Ok::<(), ptc_agent::ChunkError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Chunker<'a> {
    by: By<'a>,
    size: usize,
    overlap: usize,
}

#[derive(Clone, Copy)]
enum By<'a> {
    Lines,
    Chars,
    Tokens(Option<&'a dyn Fn(&str) -> usize>),
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Chunk {
    /// The piece.
    pub text: String,
    /// Its place among the pieces, from 0.
    pub index: usize,
    /// Its lines.
    pub lines: usize,
    /// Its characters as people count them.
    pub chars: usize,
    /// Its tokens: counted, or four characters each.
    pub tokens: usize,
}

/// A size or an overlap that cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// Chunks of nothing.
    #[error("the size of a chunk must be at least 1")]
    Size,
    /// An overlap as long as a chunk: there would be no end.
    #[error("the overlap ({overlap}) must be smaller than the size of a chunk ({size})")]
    Overlap {
        /// The overlap.
        overlap: usize,
        /// The size.
        size: usize,
    },
}

impl<'a> Chunker<'a> {
    /// Chunks of so many lines.
    pub fn by_lines(size: usize) -> Self {
        Chunker { by: By::Lines, size, overlap: 0 }
    }

    /// Chunks of so many characters as people count them.
    pub fn by_chars(size: usize) -> Self {
        Chunker { by: By::Chars, size, overlap: 0 }
    }

    /// Chunks of about so many tokens, taken as four characters each.
    pub fn by_tokens(size: usize) -> Self {
        Chunker { by: By::Tokens(None), size, overlap: 0 }
    }

    /// Chunks of about so many tokens; how many characters a token has is taken from the counter.
    pub fn by_counted_tokens(size: usize, counter: &'a dyn Fn(&str) -> usize) -> Self {
        Chunker { by: By::Tokens(Some(counter)), size, overlap: 0 }
    }

    /// The same with so much of each chunk repeated at the beginning of the next.
    #[must_use]
    pub fn overlap(self, overlap: usize) -> Self {
        Chunker { overlap, ..self }
    }

    /// The chunks as texts.
    pub fn texts(&self, text: &str) -> Result<Vec<String>, ChunkError> {
        if self.size == 0 {
            return Err(ChunkError::Size);
        }
        if self.overlap >= self.size {
            return Err(ChunkError::Overlap { overlap: self.overlap, size: self.size });
        }
        if text.is_empty() {
            return Ok(Vec::new());
        }
        Ok(match self.by {
            By::Lines => {
                let lines: Vec<&str> =
                    text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
                windows(&lines, self.size, self.overlap).map(|lines| lines.join("\n")).collect()
            }
            By::Chars => by_chars(text, self.size, self.overlap),
            By::Tokens(counter) => {
                let per_token = counter.map_or(SIMPLE, chars_per_token);
                let chars = |tokens: usize| (tokens as f64 * per_token) as usize;
                let size = chars(self.size).max(1);
                by_chars(text, size, chars(self.overlap).min(size - 1))
            }
        })
    }

    /// The chunks with their sizes.
    pub fn split(&self, text: &str) -> Result<Vec<Chunk>, ChunkError> {
        let texts = self.texts(text)?;
        Ok(texts.into_iter().enumerate().map(|(index, text)| self.measure(index, text)).collect())
    }

    fn measure(&self, index: usize, text: String) -> Chunk {
        let chars = text.graphemes(true).count();
        let tokens = match self.by {
            By::Tokens(Some(counter)) => counter(&text),
            _ => chars.div_ceil(SIMPLE as usize),
        };
        Chunk { index, lines: text.split('\n').count(), chars, tokens, text }
    }
}

fn by_chars(text: &str, size: usize, overlap: usize) -> Vec<String> {
    let chars: Vec<&str> = text.graphemes(true).collect();
    windows(&chars, size, overlap).map(<[&str]>::concat).collect()
}

fn chars_per_token(counter: &dyn Fn(&str) -> usize) -> f64 {
    PANGRAM.len() as f64 / counter(PANGRAM).max(1) as f64
}

/// Pieces of `size`, each beginning with the last `overlap` of the one before. What is left at the end and
/// no longer than the overlap says nothing new.
fn windows<T>(items: &[T], size: usize, overlap: usize) -> impl Iterator<Item = &[T]> {
    let starts = (0..items.len()).step_by(size - overlap);
    starts
        .map(move |start| &items[start..items.len().min(start.saturating_add(size))])
        .enumerate()
        .filter(move |(index, piece)| *index == 0 || piece.len() > overlap)
        .map(|(_, piece)| piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_71_by_lines() {
        for (size, overlap, text, chunks) in [
            (2, 0, "a\nb\nc", vec!["a\nb", "c"]),
            (2, 0, "a\r\nb\r\nc\r\n", vec!["a\nb", "c\n"]),
            (2, 1, "a\nb\nc\nd", vec!["a\nb", "b\nc", "c\nd"]),
            (5, 2, "a\nb", vec!["a\nb"]),
            (3, 2, "a\nb", vec!["a\nb"]),
            (1, 0, "", vec![]),
        ] {
            let found = Chunker::by_lines(size).overlap(overlap).texts(text).unwrap();
            assert_eq!(found, chunks, "{size} {overlap} {text:?}");
        }
    }

    #[test]
    fn r2_71_by_chars_as_people_count_them() {
        assert_eq!(Chunker::by_chars(2).texts("abcde").unwrap(), ["ab", "cd", "e"]);
        assert_eq!(Chunker::by_chars(3).overlap(1).texts("abcde").unwrap(), ["abc", "cde"]);
        assert_eq!(Chunker::by_chars(1).texts("e\u{301}👩‍💻").unwrap(), ["e\u{301}", "👩‍💻"]);
    }

    #[test]
    fn r2_71_by_tokens_of_four_characters_or_as_counted() {
        assert_eq!(Chunker::by_tokens(1).texts("abcdefgh").unwrap(), ["abcd", "efgh"]);
        assert_eq!(Chunker::by_tokens(2).overlap(1).texts("abcdefghijkl").unwrap(), ["abcdefgh", "efghijkl"]);
        // 44 characters, 22 tokens: two characters each.
        let counter = |text: &str| text.len() / 2;
        let chunker = Chunker::by_counted_tokens(2, &counter);
        assert_eq!(chunker.texts("abcdef").unwrap(), ["abcd", "ef"]);
        assert_eq!(chunker.split("abcdef").unwrap()[0].tokens, 2);
        assert_eq!(Chunker::by_counted_tokens(2, &|_| 0).texts("abc").unwrap(), ["abc"]);
    }

    #[test]
    fn r2_71_sizes_are_measured() {
        let chunks = Chunker::by_lines(2).split("one\ntwo\nthree").unwrap();
        let first = Chunk { text: "one\ntwo".to_owned(), index: 0, lines: 2, chars: 7, tokens: 2 };
        assert_eq!(
            chunks,
            [first, Chunk { text: "three".to_owned(), index: 1, lines: 1, chars: 5, tokens: 2 }]
        );
    }

    #[test]
    fn r2_71_sizes_that_cannot_work_are_errors() {
        assert_eq!(Chunker::by_lines(0).texts("a"), Err(ChunkError::Size));
        for chunker in [Chunker::by_chars(2).overlap(2), Chunker::by_tokens(2).overlap(3)] {
            assert!(matches!(chunker.split(""), Err(ChunkError::Overlap { size: 2, .. })));
        }
    }

    #[test]
    fn every_character_is_in_some_chunk() {
        let text: String = ('a'..='z').collect();
        for size in 1..10 {
            for overlap in 0..size {
                let chunks = Chunker::by_chars(size).overlap(overlap).texts(&text).unwrap();
                let rest = chunks.iter().skip(1).map(|chunk| &chunk[overlap..]);
                let joined: String = std::iter::once(chunks[0].as_str()).chain(rest).collect();
                assert_eq!(joined, text, "{size} {overlap}");
            }
        }
    }
}
