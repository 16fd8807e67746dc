//! Template text into nodes.

use super::{Name, TemplateNode};
use crate::parse::error::ParseError;

/// How deep sections may nest.
const SECTIONS: usize = 20;

/// A tag as found in the text.
struct Tag<'s> {
    start: usize,
    end: usize,
    kind: char,
    /// What is between the braces, after the mark.
    body: &'s str,
}

/// A section whose closing tag has not come yet.
struct OpenSection {
    path: Name,
    inverted: bool,
    start: usize,
    end: usize,
    /// The nodes before the section, picked up again when it closes.
    outer: Vec<TemplateNode>,
}

/// Parses the whole text.
pub(super) fn nodes(source: &str) -> Result<Vec<TemplateNode>, ParseError> {
    let mut nodes = Vec::new();
    let mut open: Vec<OpenSection> = Vec::new();
    let mut at = 0;
    while let Some(tag) = next_tag(source, at)? {
        let (before, after) = around(source, &tag, at);
        text(&mut nodes, &source[at..before]);
        at = after;
        match tag.kind {
            '!' => {}
            '#' | '^' => {
                if open.len() >= SECTIONS {
                    return Err(error(
                        source,
                        &tag,
                        format!("sections are nested deeper than {SECTIONS} levels"),
                    ));
                }
                let path = name(source, &tag, "section")?;
                let inverted = tag.kind == '^';
                let outer = std::mem::take(&mut nodes);
                open.push(OpenSection { path, inverted, start: tag.start, end: tag.end, outer });
            }
            '/' => {
                let section = close(source, &tag, &mut open)?;
                let body = std::mem::replace(&mut nodes, section.outer);
                nodes.push(TemplateNode::Section { path: section.path, inverted: section.inverted, body });
            }
            _ => {
                let raw = source[tag.start..tag.end].to_owned();
                nodes.push(TemplateNode::Variable { path: name(source, &tag, "placeholder")?, raw });
            }
        }
    }
    text(&mut nodes, &source[at..]);
    match open.pop() {
        None => Ok(nodes),
        Some(section) => {
            let message = format!("section `{}` is not closed", section.path);
            let error = ParseError::new(source, section.start, section.end, message);
            Err(error.hint(format!("add {{{{/{}}}}}", section.path)))
        }
    }
}

fn text(nodes: &mut Vec<TemplateNode>, piece: &str) {
    if !piece.is_empty() {
        nodes.push(TemplateNode::Text(piece.to_owned()));
    }
}

fn error(source: &str, tag: &Tag<'_>, message: impl Into<String>) -> ParseError {
    ParseError::new(source, tag.start, tag.end, message)
}

fn next_tag(source: &str, from: usize) -> Result<Option<Tag<'_>>, ParseError> {
    let Some(start) = source[from..].find("{{").map(|i| from + i) else {
        return Ok(None);
    };
    let inside = start + 2;
    let Some(end) = source[inside..].find("}}").map(|i| inside + i) else {
        let message = "tag is not closed";
        return Err(ParseError::new(source, start, inside, message).hint("add the closing `}}`"));
    };
    let content = source[inside..end].trim_start();
    let kind = content.chars().next().unwrap_or(' ');
    let tag = Tag { start, end: end + 2, kind, body: "" };
    match kind {
        '#' | '^' | '/' | '!' => Ok(Some(Tag { body: &content[1..], ..tag })),
        '{' | '&' => {
            Err(error(source, &tag, "nothing is escaped here").hint("write {{name}} with two braces"))
        }
        '>' => Err(error(source, &tag, "partials are not supported")),
        '=' => Err(error(source, &tag, "other delimiters are not supported")),
        _ => Ok(Some(Tag { body: content, ..tag })),
    }
}

/// A dotted name: segments that begin with a letter or `_`, or `.` alone.
fn name(source: &str, tag: &Tag<'_>, what: &str) -> Result<Name, ParseError> {
    let text = tag.body.trim();
    if text.is_empty() {
        return Err(error(source, tag, format!("{what} has no name")).hint("write a name between the braces"));
    }
    if text == "." {
        return Ok(Name(Vec::new()));
    }
    let segments: Vec<String> = text.split('.').map(str::to_owned).collect();
    if segments.iter().all(|segment| is_segment(segment)) {
        return Ok(Name(segments));
    }
    let message = format!("`{text}` cannot be the name of a {what}");
    Err(error(source, tag, message).hint("names begin with a letter and hold letters, digits, `_` and `-`"))
}

fn is_segment(segment: &str) -> bool {
    segment.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && segment.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

fn close(source: &str, tag: &Tag<'_>, open: &mut Vec<OpenSection>) -> Result<OpenSection, ParseError> {
    let path = name(source, tag, "section")?;
    match open.pop() {
        None => Err(error(source, tag, format!("section `{path}` is closed but was not opened"))),
        Some(section) if section.path == path => Ok(section),
        Some(section) => {
            let message = format!("section `{}` is open, but `{path}` is closed", section.path);
            Err(error(source, tag, message).hint(format!("write {{{{/{}}}}} first", section.path)))
        }
    }
}

/// Where the text before the tag ends and the text after it begins. A section or comment tag that is alone
/// on its line takes the line with it.
fn around(source: &str, tag: &Tag<'_>, from: usize) -> (usize, usize) {
    if !matches!(tag.kind, '#' | '^' | '/' | '!') {
        return (tag.start, tag.end);
    }
    let line_start = source[..tag.start].rfind('\n').map_or(0, |i| i + 1);
    let line_end = source[tag.end..].find('\n').map_or(source.len(), |i| tag.end + i + 1);
    let blank = |range: &str| range.chars().all(char::is_whitespace);
    let alone = blank(&source[line_start..tag.start]) && blank(&source[tag.end..line_end]);
    if alone { (line_start.max(from), line_end) } else { (tag.start, tag.end) }
}
