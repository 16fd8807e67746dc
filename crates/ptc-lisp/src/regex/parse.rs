//! Java's pattern syntax to a tree.
//!
//! Flags are applied while parsing, so the tree knows nothing of them. Errors say what is wrong, where,
//! and how to write it.

use std::sync::Arc;

use super::class::{self, CharSet, of_ranges};
use super::escape::Escape;
use super::node::{Assert, Case, Mode, PatternNode};
use crate::error::{Error, ErrorKind, excerpt};

/// What a pattern's text gives.
pub(super) struct ParsedPattern {
    pub(super) node: PatternNode,
    pub(super) names: Vec<(String, usize)>,
    pub(super) groups: usize,
}

/// Groups nest this deep at most: engines walk the tree on the native stack.
pub(super) const MAX_NESTING: usize = 100;

/// Parses a pattern.
pub(super) fn parse(source: &str) -> Result<ParsedPattern, Error> {
    let mut parser =
        Parser { source, at: 0, flags: Flags::default(), groups: 0, names: Vec::new(), depth: 0 };
    let node = parser.alternatives()?;
    if parser.peek() == Some(')') {
        return Err(parser.fault("`)` has no opening `(`", "write \\) for the character itself"));
    }
    Ok(ParsedPattern { node, names: parser.names, groups: parser.groups })
}

/// The embedded flags `(?idmsuxU)`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flags {
    ignore_case: bool,
    pub(super) unix_lines: bool,
    multiline: bool,
    dot_all: bool,
    unicode_case: bool,
    comments: bool,
    pub(super) unicode_classes: bool,
}

impl Flags {
    /// The flag with this letter.
    fn flag(&mut self, letter: char) -> Option<&mut bool> {
        Some(match letter {
            'i' => &mut self.ignore_case,
            'd' => &mut self.unix_lines,
            'm' => &mut self.multiline,
            's' => &mut self.dot_all,
            'u' => &mut self.unicode_case,
            'x' => &mut self.comments,
            'U' => &mut self.unicode_classes,
            _ => return None,
        })
    }

    /// Which letters count as the same.
    pub(super) fn case(self) -> Case {
        match (self.ignore_case, self.unicode_case || self.unicode_classes) {
            (false, _) => Case::Exact,
            (true, false) => Case::Ascii,
            (true, true) => Case::Unicode,
        }
    }
}

/// A pattern being read.
pub(super) struct Parser<'s> {
    source: &'s str,
    pub(super) at: usize,
    pub(super) flags: Flags,
    /// Groups opened so far.
    pub(super) groups: usize,
    pub(super) names: Vec<(String, usize)>,
    pub(super) depth: usize,
}

impl Parser<'_> {
    pub(super) fn fault(&self, message: &str, hint: &str) -> Error {
        let shown = excerpt(self.source);
        let position = self.source.get(..self.at).unwrap_or(self.source).chars().count();
        let text = format!("bad pattern: {message} (at position {position} of #\"{shown}\")");
        let error = Error::new(ErrorKind::IllegalArgument, text);
        if hint.is_empty() { error } else { error.hint(hint) }
    }

    pub(super) fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn bump(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let there = self.rest().starts_with(text);
        if there {
            self.at += text.len();
        }
        there
    }

    /// With `(?x)`, goes past white space and comments.
    pub(super) fn skip_comments(&mut self) {
        while self.flags.comments {
            match self.peek() {
                Some(c) if c.is_ascii_whitespace() || c == '\u{b}' => self.at += 1,
                Some('#') => self.at += self.rest().find(['\n', '\r']).unwrap_or(self.rest().len()),
                _ => return,
            }
        }
    }

    /// Alternatives up to the end or a closing parenthesis. Flags set inside end with it.
    fn alternatives(&mut self) -> Result<PatternNode, Error> {
        let flags = self.flags;
        let mut nodes = vec![self.sequence()?];
        while self.eat("|") {
            nodes.push(self.sequence()?);
        }
        self.flags = flags;
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { PatternNode::Alt(nodes) })
    }

    fn sequence(&mut self) -> Result<PatternNode, Error> {
        let mut nodes = Vec::new();
        loop {
            self.skip_comments();
            match self.peek() {
                None | Some('|' | ')') => break,
                _ => self.item(&mut nodes)?,
            }
        }
        Ok(match nodes.len() {
            0 => PatternNode::Empty,
            1 => nodes.remove(0),
            _ => PatternNode::Concat(nodes),
        })
    }

    /// One atom with its quantifier; a quotation gives several.
    fn item(&mut self, nodes: &mut Vec<PatternNode>) -> Result<(), Error> {
        if self.eat("\\Q") {
            let quoted = match self.rest().find("\\E") {
                Some(end) => self.rest()[..end].to_owned(),
                None => self.rest().to_owned(),
            };
            self.at += quoted.len();
            self.eat("\\E");
            nodes.extend(quoted.chars().map(|c| self.literal(c)));
            if quoted.is_empty() {
                return Ok(());
            }
        } else if let Some(node) = self.atom()? {
            nodes.push(node);
        } else {
            return Ok(());
        }
        self.skip_comments();
        if let Some(node) = nodes.pop() {
            let node = self.quantified(node)?;
            nodes.push(node);
        }
        Ok(())
    }

    /// An atom; nothing for a group that only sets flags.
    fn atom(&mut self) -> Result<Option<PatternNode>, Error> {
        let start = self.at;
        let Some(c) = self.bump() else { return Ok(None) };
        Ok(Some(match c {
            '(' => return self.group(),
            '[' => {
                let set = self.class(start)?;
                PatternNode::Set(Arc::new(CharSet::new(set)))
            }
            '.' => PatternNode::Set(Arc::new(CharSet::new(class::dot(
                self.flags.dot_all,
                self.flags.unix_lines,
            )))),
            '^' if self.flags.multiline => {
                PatternNode::Assert(Assert::LineStart { unix: self.flags.unix_lines })
            }
            '^' => PatternNode::Assert(Assert::TextStart),
            '$' if self.flags.multiline => {
                PatternNode::Assert(Assert::LineEnd { unix: self.flags.unix_lines })
            }
            '$' => PatternNode::Assert(Assert::LastLineEnd { unix: self.flags.unix_lines }),
            '\\' => match self.escape()? {
                Escape::Char(c) => self.literal(c),
                Escape::Set(set) => PatternNode::Set(Arc::new(CharSet::new(set))),
                Escape::Node(node) => node,
            },
            '*' | '+' | '?' | '{' => {
                self.at = start;
                let message = format!("`{c}` has nothing before it to repeat");
                return Err(self.fault(&message, &format!("write \\{c} for the character itself")));
            }
            _ => self.literal(c),
        }))
    }

    /// A character as it is meant under the flags.
    fn literal(&self, c: char) -> PatternNode {
        let case = self.flags.case();
        if case == Case::Exact || (case == Case::Ascii && !c.is_ascii_alphabetic()) {
            return PatternNode::Char(c);
        }
        let set = class::folded(of_ranges(&[(c, c)]), case);
        if set.ranges().len() == 1 && set.ranges()[0].len() == 1 {
            return PatternNode::Char(c);
        }
        PatternNode::Set(Arc::new(CharSet::new(set)))
    }

    fn quantified(&mut self, node: PatternNode) -> Result<PatternNode, Error> {
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                let counts = self.counts()?;
                return Ok(self.repeat(node, counts));
            }
            _ => return Ok(node),
        };
        self.at += 1;
        Ok(self.repeat(node, (min, max)))
    }

    fn repeat(&mut self, node: PatternNode, (min, max): (u32, Option<u32>)) -> PatternNode {
        let mode = match self.peek() {
            Some('?') => Mode::Lazy,
            Some('+') => Mode::Possessive,
            _ => Mode::Greedy,
        };
        self.at += usize::from(mode != Mode::Greedy);
        PatternNode::Repeat { node: Box::new(node), min, max, mode }
    }

    /// `{n}`, `{n,}` or `{n,m}`.
    fn counts(&mut self) -> Result<(u32, Option<u32>), Error> {
        let hint = "write {n}, {n,} or {n,m}, or \\{ for the character itself";
        let illegal = |parser: &Self| parser.fault("`{` does not begin a count", hint);
        let Some((inside, _)) = self.rest().strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
            return Err(illegal(self));
        };
        let number =
            |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let number = |text: &str| number(text).and_then(|count: i32| u32::try_from(count).ok());
        let (min, max) = match inside.split_once(',') {
            None => (number(inside), number(inside).map(Some)),
            Some((min, "")) => (number(min), Some(None)),
            Some((min, max)) => (number(min), number(max).map(Some)),
        };
        let (Some(min), Some(max)) = (min, max) else { return Err(illegal(self)) };
        if max.is_some_and(|max| max < min) {
            return Err(self.fault("the counts in `{…}` are in the wrong order", "write {least,most}"));
        }
        self.at += inside.len() + 2;
        Ok((min, max))
    }

    /// What follows an opening parenthesis.
    fn group(&mut self) -> Result<Option<PatternNode>, Error> {
        let open = self.at - 1;
        if self.depth >= MAX_NESTING {
            return Err(self.fault("groups are nested too deeply", ""));
        }
        self.depth += 1;
        let node = self.group_body(open)?;
        self.depth -= 1;
        Ok(node)
    }

    fn group_body(&mut self, open: usize) -> Result<Option<PatternNode>, Error> {
        if !self.eat("?") {
            return self.capture(open, None).map(Some);
        }
        for (prefix, behind, negate) in
            [("=", false, false), ("!", false, true), ("<=", true, false), ("<!", true, true)]
        {
            if self.eat(prefix) {
                let node = Box::new(self.inside(open)?);
                return Ok(Some(PatternNode::Look { behind, negate, node }));
            }
        }
        if self.eat(":") {
            return self.inside(open).map(Some);
        }
        if self.eat(">") {
            return Ok(Some(PatternNode::Atomic(Box::new(self.inside(open)?))));
        }
        if self.eat("<") {
            let name = self.name('>')?;
            if self.names.iter().any(|(other, _)| *other == name) {
                return Err(self.fault(&format!("two groups are named {}", excerpt(&name)), ""));
            }
            return self.capture(open, Some(name)).map(Some);
        }
        self.flag_group(open)
    }

    fn capture(&mut self, open: usize, name: Option<String>) -> Result<PatternNode, Error> {
        self.groups += 1;
        let index = self.groups;
        self.names.extend(name.map(|name| (name, index)));
        Ok(PatternNode::Group { index, node: Box::new(self.inside(open)?) })
    }

    fn inside(&mut self, open: usize) -> Result<PatternNode, Error> {
        let node = self.alternatives()?;
        if self.eat(")") {
            return Ok(node);
        }
        self.at = open;
        Err(self.fault("`(` is never closed", "write \\( for the character itself"))
    }

    /// `(?i)`, `(?i-s)`, `(?i:…)`.
    fn flag_group(&mut self, open: usize) -> Result<Option<PatternNode>, Error> {
        let outer = self.flags;
        let mut on = true;
        loop {
            let Some(c) = self.bump() else {
                self.at = open;
                return Err(self.fault("`(` is never closed", "write \\( for the character itself"));
            };
            match c {
                '-' => on = false,
                ')' => return Ok(None),
                ':' => {
                    let node = self.inside(open)?;
                    self.flags = outer;
                    return Ok(Some(node));
                }
                _ => match self.flags.flag(c) {
                    Some(flag) => *flag = on,
                    None => {
                        let hint = if c == 'P' { "write (?<name>…) for a named group" } else { "" };
                        return Err(self.fault(&format!("`(?{c}` is not a kind of group"), hint));
                    }
                },
            }
        }
    }

    /// A group name up to `close`.
    pub(super) fn name(&mut self, close: char) -> Result<String, Error> {
        let hint = "a group name is letters and digits, beginning with a letter";
        let Some((name, _)) = self.rest().split_once(close) else {
            return Err(self.fault(&format!("a group name ends with `{close}`"), hint));
        };
        let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !letters || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(self.fault("this is not a group name", hint));
        }
        let name = name.to_owned();
        self.at += name.len() + 1;
        Ok(name)
    }
}
