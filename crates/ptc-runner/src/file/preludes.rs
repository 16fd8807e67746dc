//! Preludes of files: compiled together, so that later ones may use those before.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ptc_lisp::prelude::{Options, Prelude, Problem, Reason, Source};

use super::{AgentFile, FileError, Texts};

/// Compiles the texts of preludes together, in order. What is wrong is told with the number of its file.
pub fn compile_preludes(files: &[PathBuf], texts: &[String]) -> Result<Prelude, (usize, Box<Problem>)> {
    let ids: Vec<String> = files
        .iter()
        .map(|file| file.file_stem().unwrap_or_default().to_string_lossy().into_owned())
        .collect();
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let sources: Vec<Source<'_>> = ids
        .iter()
        .zip(texts)
        .zip(&names)
        .enumerate()
        .map(|(at, ((id, text), origin))| Source { id, text, needs: &ids[..at], origin })
        .collect();
    Prelude::compile(&sources, &Options::default()).map_err(|mut problem| {
        if problem.reason == Reason::UnknownDependency {
            // Files need those before them, and nothing else says what they need.
            problem.error.hint = Some("name the file that it belongs to before this one".to_owned());
        }
        let at = ids.iter().position(|id| Some(id) == problem.part.as_ref()).unwrap_or_default();
        (at, Box::new(problem))
    })
}

impl AgentFile {
    /// With the prelude that its files make together, read from disk or from texts that were kept. Their texts are
    /// then among those of the file.
    pub fn with_preludes(self, kept: Option<&BTreeMap<PathBuf, String>>) -> Result<Self, FileError> {
        self.attached(kept.map_or(Texts::Disk, Texts::Kept))
    }

    pub(super) fn attached(mut self, from: Texts<'_>) -> Result<Self, FileError> {
        if self.preludes.is_empty() {
            return Ok(self);
        }
        let read = |path: &PathBuf| {
            let unreadable =
                |error: io::Error| self.wrong("preludes", format!("cannot read {}: {error}", path.display()));
            from.read(path).map_err(unreadable)
        };
        let texts: Vec<String> = self.preludes.iter().map(read).collect::<Result<_, _>>()?;
        let prelude = compile_preludes(&self.preludes, &texts).map_err(|(at, problem)| {
            let path = self.preludes.get(at).map(|path| path.display().to_string()).unwrap_or_default();
            self.wrong("preludes", format!("{path}: {problem}"))
        })?;
        self.texts.extend(self.preludes.iter().cloned().zip(texts));
        Ok(self.prelude(Arc::new(prelude)))
    }
}
