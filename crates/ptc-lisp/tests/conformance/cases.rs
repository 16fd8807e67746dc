//! The case files of `conformance/cases`, as `conformance/README.md` describes them.

use serde_json::Value as Json;

/// One program with its expectation.
pub struct Case {
    /// `file:line`, or `file:name` when the case has a name.
    pub name: String,
    /// The program.
    pub src: String,
    /// What the program reads as `data/…`.
    pub data: serde_json::Map<String, Json>,
    /// What must come out.
    pub expected: Expected,
    /// The row of `DIVERGENCES.md` that it shows.
    pub divergence: Option<String>,
    /// Whether the case is known to fail for now.
    pub pending: bool,
}

/// The answer a case asks for.
pub enum Expected {
    /// A printed value.
    Value(String),
    /// An error: its kind, part of its message or hint, or nothing in particular.
    Error(String),
}

/// The cases of one file, in order.
pub fn parse(stem: &str, text: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let mut shared = serde_json::Map::new();
    let mut open = Draft::default();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if let Some(entry) = line.strip_prefix(";;data ") {
            let (name, value) = data_line(entry)?;
            shared.insert(name, value);
        } else if let Some((code, mark, answer)) = expectation(line) {
            open.body.push(code);
            let mut answer = answer.to_owned();
            while let Some((_, more)) = lines.next_if(|(_, l)| mark == ";=>" && l.starts_with(";   ")) {
                answer = format!("{answer}\n{}", &more[4..]);
            }
            cases.push(std::mem::take(&mut open).finish(stem, at + 1, &shared, mark, answer)?);
        } else if !open.directive(line)? {
            open.body.push(if line.starts_with(";;;") { "" } else { line });
        }
    }
    match open.body.iter().all(|line| line.is_empty()) {
        true => Ok(cases),
        false => Err(format!("{stem}: the last program has no expectation")),
    }
}

/// Splits `code ;=> answer` and `code ;=! error`.
fn expectation(line: &str) -> Option<(&str, &str, &str)> {
    let at = [line.find(";=>"), line.find(";=!")].into_iter().flatten().min()?;
    let (code, rest) = line.split_at(at);
    let (mark, answer) = rest.split_at(3);
    Some((code.trim_end(), mark, answer.trim()))
}

fn data_line(entry: &str) -> Result<(String, Json), String> {
    let (name, json) = entry.split_once(' ').ok_or("a data line needs a name and JSON")?;
    let value = serde_json::from_str(json).map_err(|e| format!("data {name}: {e}"))?;
    Ok((name.to_owned(), value))
}

/// A case whose expectation has not been reached yet.
#[derive(Default)]
struct Draft<'a> {
    name: Option<&'a str>,
    divergence: Option<&'a str>,
    pending: bool,
    body: Vec<&'a str>,
    data: serde_json::Map<String, Json>,
}

impl<'a> Draft<'a> {
    /// Takes a marker line; says whether it was one.
    fn directive(&mut self, line: &'a str) -> Result<bool, String> {
        if let Some(name) = line.strip_prefix("; name: ") {
            self.name = Some(name);
        } else if let Some(entry) = line.strip_prefix(";data ") {
            let (name, value) = data_line(entry)?;
            self.data.insert(name, value);
        } else if line.starts_with("; pending: ") {
            self.pending = true;
        } else if let Some(row) = line.strip_prefix("; divergence: ") {
            self.divergence = Some(row.trim());
        } else if line != "; ptc-only" {
            return Ok(false);
        }
        Ok(true)
    }

    fn finish(
        self,
        stem: &str,
        line: usize,
        shared: &serde_json::Map<String, Json>,
        mark: &str,
        answer: String,
    ) -> Result<Case, String> {
        let src = self.body.join("\n").trim().to_owned();
        if src.is_empty() {
            return Err(format!("{stem}:{line}: an expectation without a program"));
        }
        let name = self.name.map_or(format!("{stem}:{line}"), |name| format!("{stem}:{name}"));
        let mut data = shared.clone();
        data.extend(self.data);
        let expected = if mark == ";=>" { Expected::Value(answer) } else { Expected::Error(answer) };
        let divergence = self.divergence.map(str::to_owned);
        Ok(Case { name, src, data, expected, divergence, pending: self.pending })
    }
}
