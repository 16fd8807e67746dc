//! Edits of single definitions against an expected base: everything that is not touched stays byte for byte.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde_json::Value as Json;

use super::Preludes;
use super::error::{PreludeError, Reason, quoted, refuse};
use super::forms::{FormKind, Forms, TopForm};
use super::model::{Candidate, Metadata, Ref};

/// Most edits in one batch.
const MAX_EDITS: usize = 200;

/// Where a new definition goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// After everything else.
    End,
    /// Before the definition of that name.
    Before(String),
    /// After the definition of that name.
    After(String),
}

/// One edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// Puts another text in the place of a definition.
    Replace {
        /// The definition.
        name: String,
        /// Its new text.
        source: String,
    },
    /// Adds a definition.
    Add {
        /// Its text.
        source: String,
        /// Where it goes.
        placement: Placement,
    },
    /// Removes a definition, with the comment lines directly above it.
    Remove {
        /// The definition.
        name: String,
    },
    /// Sets the documentation of the namespace; an empty one removes it.
    SetNsDoc {
        /// The documentation.
        doc: String,
    },
}

/// What an edit did.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// The new version.
    pub candidate: Candidate,
    /// The version that was edited.
    pub base_version: i64,
    /// Its checksum.
    pub parent_checksum: String,
    /// What the batch touched.
    pub touched: Touched,
    /// What changed for callers.
    pub surface: Surface,
}

/// What a batch of edits touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Definitions that were replaced.
    pub replaced: Vec<String>,
    /// Definitions that were added.
    pub added: Vec<String>,
    /// Definitions that were removed.
    pub removed: Vec<String>,
    /// Whether the documentation of the namespace was set.
    pub ns_doc_set: bool,
}

/// How the public definitions of two versions differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surface {
    /// Only in the newer one.
    pub added: Vec<String>,
    /// Only in the older one.
    pub removed: Vec<String>,
    /// In both, with other parameters, documentation, metadata or value.
    pub changed: Vec<String>,
}

impl Surface {
    /// The difference between two sources.
    pub fn between(old: &Forms, new: &Forms) -> Surface {
        let public = |forms: &Forms| -> BTreeMap<String, String> {
            let visible = forms.definitions().filter(|form| form.kind != FormKind::Helper);
            visible.map(|form| (form.name.clone(), form.head.clone())).collect()
        };
        let (old, new) = (public(old), public(new));
        let only = |a: &BTreeMap<String, String>, b: &BTreeMap<String, String>| -> Vec<String> {
            a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
        };
        let changed = old.iter().filter(|(name, head)| new.get(*name).is_some_and(|now| now != *head));
        Surface {
            added: only(&new, &old),
            removed: only(&old, &new),
            changed: changed.map(|(name, _)| name.clone()).collect(),
        }
    }
}

impl Preludes {
    /// Applies a batch of edits to a base and stores the outcome as the next version. All names are those of the
    /// base. The base must be the default; whatever `base` says of version and checksum must be so.
    pub fn edit(&self, base: &Ref, edits: &[Edit], metadata: &Metadata) -> Result<Edited, PreludeError> {
        let candidate = self.read(base)?;
        let version = candidate.version;
        let forms = Forms::scan(&candidate.source)?;
        let (source, touched) = apply(&forms, edits)?;
        let mut metadata = metadata.clone();
        metadata.insert("parent_version".to_owned(), version.version.into());
        metadata.insert("parent_checksum".to_owned(), version.checksum.clone().into());
        if !metadata.contains_key("requires_preludes") {
            // What the base needed, the outcome still needs, in the versions of today.
            let needs: Vec<Json> = version.pins.iter().map(|pin| pin.id.clone().into()).collect();
            if !needs.is_empty() {
                metadata.insert("requires_preludes".to_owned(), needs.into());
            }
        }
        let written = self.write(&version.id, &source, &metadata)?;
        Ok(Edited {
            surface: Surface::between(&forms, &Forms::scan(&source)?),
            candidate: written,
            base_version: version.version,
            parent_checksum: version.checksum,
            touched,
        })
    }
}

impl Edit {
    /// Reads an edit: a map with `op` and what that operation needs.
    pub fn from_json(json: &Json) -> Result<Edit, PreludeError> {
        let wrong = |message: String| refuse(Reason::InvalidArgument, message);
        let map = json.as_object().ok_or_else(|| wrong("an edit is a map with `op`".to_owned()))?;
        let text = |key: &str| match map.get(key) {
            Some(Json::String(text)) => Ok(text.clone()),
            _ => Err(wrong(format!("an edit needs `{key}`, a text"))),
        };
        match text("op")?.as_str() {
            "replace_form" => Ok(Edit::Replace { name: text("name")?, source: text("source")? }),
            "remove_form" => Ok(Edit::Remove { name: text("name")? }),
            "set_ns_doc" => Ok(Edit::SetNsDoc { doc: text("doc")? }),
            "add_form" => {
                let placement = match map.get("placement").and_then(Json::as_str).unwrap_or("end") {
                    "end" => Placement::End,
                    "before" => Placement::Before(text("anchor")?),
                    "after" => Placement::After(text("anchor")?),
                    other => {
                        let message =
                            format!("`placement` is `end`, `before` or `after`, not {}", quoted(other));
                        return Err(wrong(message));
                    }
                };
                Ok(Edit::Add { source: text("source")?, placement })
            }
            other => Err(wrong(format!(
                "`op` is `replace_form`, `add_form`, `remove_form` or `set_ns_doc`, not {}",
                quoted(other)
            ))),
        }
    }
}

/// A piece of the base and what goes in its place.
struct Splice {
    start: usize,
    end: usize,
    text: String,
}

/// The source after all edits. What they did not touch is compared with the base in the end.
pub(crate) fn apply(base: &Forms, edits: &[Edit]) -> Result<(String, Touched), PreludeError> {
    if edits.is_empty() || edits.len() > MAX_EDITS {
        let message = format!("a batch has between 1 and {MAX_EDITS} edits, not {}", edits.len());
        return Err(refuse(Reason::InvalidArgument, message));
    }
    let mut touched = Touched::default();
    let mut splices = Vec::new();
    for edit in edits {
        splices.push(splice(base, edit, &mut touched)?);
    }
    check_batch(edits, &touched)?;
    if let Some(name) = touched.added.iter().find(|name| base.definition(name).is_some()) {
        let message = format!("the base defines {} already; replace it", quoted(name));
        return Err(refuse(Reason::FormAlreadyExists, message));
    }
    // Stable: what is added at one place comes in the order of the batch.
    splices.sort_by_key(|splice| (splice.start, splice.end));
    let mut source = String::with_capacity(base.source.len());
    let mut copied = 0;
    for splice in &splices {
        let Some(between) = base.source.get(copied..splice.start) else { return Err(overlapping()) };
        source.push_str(between);
        source.push_str(&splice.text);
        copied = splice.end;
    }
    source.push_str(base.source.get(copied..).unwrap_or_default());
    check_untouched(base, &source, &touched)?;
    Ok((source, touched))
}

fn overlapping() -> PreludeError {
    refuse(
        Reason::ConflictingEditBatch,
        "edits of the batch touch the same piece of the source; apply them one by one",
    )
}

fn splice(base: &Forms, edit: &Edit, touched: &mut Touched) -> Result<Splice, PreludeError> {
    match edit {
        Edit::Replace { name, source } => {
            let form = find(base, name)?;
            let (new_name, text) = definition(source)?;
            if new_name != *name {
                let message =
                    format!("the new text defines `{new_name}`, not `{name}`; remove one and add the other");
                return Err(refuse(Reason::FormNameMismatch, message));
            }
            touched.replaced.push(new_name);
            Ok(Splice { start: form.start, end: form.end, text })
        }
        Edit::Add { source, placement } => {
            let (name, text) = definition(source)?;
            let splice = match placement {
                Placement::End => {
                    let gap = if base.source.ends_with('\n') { "\n" } else { "\n\n" };
                    let end = base.source.len();
                    Splice { start: end, end, text: format!("{gap}{text}\n") }
                }
                Placement::Before(anchor) => {
                    let start = with_comments(base, find(base, anchor)?).0;
                    Splice { start, end: start, text: format!("{text}\n\n") }
                }
                Placement::After(anchor) => {
                    let end = with_comments(base, find(base, anchor)?).1;
                    Splice { start: end, end, text: format!("\n\n{text}") }
                }
            };
            touched.added.push(name);
            Ok(splice)
        }
        Edit::Remove { name } => {
            let (start, mut end) = with_comments(base, find(base, name)?);
            touched.removed.push(name.clone());
            // The line goes too, and one of two blank lines that would meet.
            let blank_before = base.source[..start].is_empty() || base.source[..start].ends_with("\n\n");
            if base.source[..start].is_empty() || base.source[..start].ends_with('\n') {
                let rest = &base.source[end..];
                end += usize::from(rest.starts_with('\n'));
                end += usize::from(blank_before && rest.starts_with("\n\n"));
            }
            Ok(Splice { start, end, text: String::new() })
        }
        Edit::SetNsDoc { doc } => {
            let ns = base.forms.iter().find(|form| form.kind == FormKind::Namespace);
            let ns = ns.ok_or_else(|| {
                refuse(Reason::NsFormNotFound, "the base has no namespace form; write the source as a whole")
            })?;
            if std::mem::replace(&mut touched.ns_doc_set, true) {
                return Err(conflict("the documentation of the namespace"));
            }
            let Range { start, end } = ns.doc_place;
            let text = match (doc.is_empty(), start == end) {
                (true, _) => String::new(),
                (false, false) => literal(doc),
                (false, true) => format!(" {}", literal(doc)),
            };
            Ok(Splice { start, end, text })
        }
    }
}

fn find<'a>(base: &'a Forms, name: &str) -> Result<&'a TopForm, PreludeError> {
    base.definition(name).ok_or_else(|| {
        refuse(Reason::FormNotFound, format!("the base does not define {}; see its forms", quoted(name)))
    })
}

/// The name and the text of a new definition, ready to be followed by anything.
fn definition(source: &str) -> Result<(String, String), PreludeError> {
    let invalid = |message: &str| refuse(Reason::InvalidFormSource, message);
    let scanned = Forms::scan(source).map_err(|error| invalid(&error.to_string()))?;
    match scanned.forms.as_slice() {
        [form] if form.kind != FormKind::Namespace => {
            let mut text = source.trim().to_owned();
            if !source[form.end..].trim().is_empty() {
                // A comment after the form must not swallow what follows.
                text.push('\n');
            }
            Ok((form.name.clone(), text))
        }
        _ => Err(invalid("the text of an edit is exactly one `def`, `defn` or `defn-`")),
    }
}

/// A form with the comment lines directly above it and the comment behind it on its last line.
fn with_comments(base: &Forms, form: &TopForm) -> (usize, usize) {
    let earlier = base.forms.iter().filter(|other| other.end <= form.start).map(|other| other.end);
    let floor = earlier.max().unwrap_or(0);
    let gap = &base.source[floor..form.start];
    let line = gap.rfind('\n').map_or(0, |newline| newline + 1);
    let mut start = form.start;
    if gap[line..].trim().is_empty() && (line > 0 || floor == 0) {
        start = floor + line;
        while let Some(above) = gap[..start - floor].strip_suffix('\n') {
            let begin = above.rfind('\n').map_or(0, |newline| newline + 1);
            // The rest of the line on which the form before ends is not a line of its own.
            if !above[begin..].trim_start().starts_with(';') || (begin == 0 && floor > 0) {
                break;
            }
            start = floor + begin;
        }
    }
    let rest = base.source[form.end..].split('\n').next().unwrap_or_default();
    let comment = rest.trim_start().starts_with(';') || rest.trim().is_empty();
    (start, if comment { form.end + rest.trim_end().len() } else { form.end })
}

/// A text as a string literal.
fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn conflict(what: &str) -> PreludeError {
    refuse(Reason::ConflictingEditBatch, format!("{what} is touched twice; a batch may touch it once"))
}

/// No definition is touched twice, none is added that is there, and no anchor goes away.
fn check_batch(edits: &[Edit], touched: &Touched) -> Result<(), PreludeError> {
    let mut seen = BTreeSet::new();
    for name in touched.replaced.iter().chain(&touched.added).chain(&touched.removed) {
        if !seen.insert(name) {
            return Err(conflict(&quoted(name)));
        }
    }
    for edit in edits {
        if let Edit::Add { placement: Placement::Before(anchor) | Placement::After(anchor), .. } = edit
            && touched.removed.contains(anchor)
        {
            let message = format!("{} is removed by the batch and cannot be an anchor in it", quoted(anchor));
            return Err(refuse(Reason::ConflictingEditBatch, message));
        }
    }
    Ok(())
}

/// Every form that was not touched is in the new source exactly as in the base, and in the same order.
fn check_untouched(base: &Forms, source: &str, touched: &Touched) -> Result<(), PreludeError> {
    let new = Forms::scan(source)?;
    let kept = |forms: &Forms, skip: &[&Vec<String>]| -> Vec<String> {
        let forms_kept = forms.forms.iter().filter(|form| {
            let ns_edited = form.kind == FormKind::Namespace && touched.ns_doc_set;
            !ns_edited && !skip.iter().any(|names| names.contains(&form.name))
        });
        forms_kept.map(|form| forms.text(form).to_owned()).collect()
    };
    let before = kept(base, &[&touched.replaced, &touched.removed]);
    let after = kept(&new, &[&touched.replaced, &touched.added]);
    match before == after {
        true => Ok(()),
        false => Err(refuse(
            Reason::BaseScanFailed,
            "the edits would change definitions they do not name; write the source as a whole",
        )),
    }
}
