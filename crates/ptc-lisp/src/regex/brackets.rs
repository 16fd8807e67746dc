//! Character classes: `[a-z&&[^aeiou]]`.

use regex_syntax::hir::ClassUnicode;

use super::class::{self, of_ranges};
use super::escape::Escape;
use super::parse::{MAX_NESTING, Parser};
use crate::error::Error;

impl Parser<'_> {
    /// What follows `[`, up to its `]`.
    pub(super) fn class(&mut self, open: usize) -> Result<ClassUnicode, Error> {
        if self.depth >= MAX_NESTING {
            return Err(self.fault("classes are nested too deeply", ""));
        }
        self.depth += 1;
        let negate = self.eat("^");
        // What stands between `&&`s; a part without members says nothing.
        let mut parts: Vec<ClassUnicode> = Vec::new();
        let mut part: Option<ClassUnicode> = None;
        // A `]` that comes first is a member.
        let mut first = true;
        loop {
            self.skip_comments();
            match self.peek() {
                None => {
                    self.at = open;
                    return Err(self.fault("`[` is never closed", "write \\[ for the character itself"));
                }
                Some(']') if !first => break,
                Some('&') if self.eat("&&") => parts.extend(part.take()),
                Some('[') => {
                    let inner = self.at;
                    self.at += 1;
                    let set = self.class(inner)?;
                    part.get_or_insert_with(ClassUnicode::empty).union(&set);
                }
                _ => self.class_item(part.get_or_insert_with(ClassUnicode::empty))?,
            }
            first = false;
        }
        self.at += 1;
        self.depth -= 1;
        parts.extend(part);
        let shared = parts.into_iter().reduce(|mut set, part| {
            set.intersect(&part);
            set
        });
        let set = shared.unwrap_or_else(ClassUnicode::empty);
        Ok(if negate { class::negated(set) } else { set })
    }

    /// A member, range, escape or quotation.
    fn class_item(&mut self, set: &mut ClassUnicode) -> Result<(), Error> {
        let case = self.flags.case();
        if self.eat("\\Q") {
            let quoted = self.rest().split("\\E").next().unwrap_or_default().to_owned();
            self.at += quoted.len();
            self.eat("\\E");
            quoted.chars().for_each(|c| set.union(&class::folded(of_ranges(&[(c, c)]), case)));
            return Ok(());
        }
        let from = match self.class_member()? {
            Escape::Char(c) => c,
            Escape::Set(members) => {
                set.union(&members);
                return Ok(());
            }
            Escape::Node(_) => return Ok(()),
        };
        let mut to = from;
        let after = self.rest().strip_prefix('-').and_then(|rest| rest.chars().next());
        if after.is_some_and(|c| c != ']' && c != '[') {
            self.at += 1;
            let start = self.at;
            match self.class_member()? {
                Escape::Char(c) => to = c,
                _ => {
                    self.at = start;
                    return Err(
                        self.fault("a range needs a character at both ends", "write \\- for a hyphen")
                    );
                }
            }
        }
        if to < from {
            return Err(self.fault(&format!("the range {from}-{to} is backwards"), "write \\- for a hyphen"));
        }
        set.union(&class::folded(of_ranges(&[(from, to)]), case));
        Ok(())
    }

    fn class_member(&mut self) -> Result<Escape, Error> {
        match self.bump() {
            Some('\\') => self.class_escape(),
            Some(c) => Ok(Escape::Char(c)),
            None => Err(self.fault("`[` is never closed", "write \\[ for the character itself")),
        }
    }
}
