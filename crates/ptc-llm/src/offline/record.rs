//! A model that writes down what another answers.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use ptc_agent::model::{Llm, Model, ModelError, ModelErrorKind, Pending, Reply, Request, TextSink};

use super::recording::Entry;

/// Asks another model and keeps what it answers, a line each, as it comes. An answer that cannot be written is
/// an error, so that a recording is never missing something in its middle.
pub struct Recorder {
    inner: Llm,
    name: String,
    file: Arc<Mutex<File>>,
}

impl Recorder {
    /// Records to a file, behind what is in it. Nobody else may read it: prompts hold what users gave.
    pub fn new(inner: Llm, path: &Path) -> std::io::Result<Self> {
        let file = ptc_system::private::append(path)?;
        let name = inner.label().to_owned();
        Ok(Recorder { inner, name, file: Arc::new(Mutex::new(file)) })
    }
}

impl Model for Recorder {
    fn reply(&self, request: Arc<Request>, chunk: Option<TextSink>) -> Pending<Result<Reply, ModelError>> {
        let asked: Pending<Result<Reply, ModelError>> = match &self.inner {
            Llm::Model(model) => model.reply(request.clone(), chunk),
            Llm::Function(function) => Box::pin(std::future::ready(function(&request))),
            Llm::Named(name) => {
                let message = format!("`{name}` is only a name; record a model");
                Box::pin(std::future::ready(Err(ModelError::new(ModelErrorKind::ConfigError, message))))
            }
        };
        let (file, name) = (self.file.clone(), self.name.clone());
        Box::pin(async move {
            let outcome = asked.await;
            write(&file, &Entry::new(&name, &request, &outcome))?;
            outcome
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

fn write(file: &Mutex<File>, entry: &Entry) -> Result<(), ModelError> {
    let wrong = |error: &dyn std::fmt::Display| {
        ModelError::new(ModelErrorKind::ConfigError, format!("the recording cannot be written: {error}"))
    };
    let mut line = serde_json::to_string(entry).map_err(|error| wrong(&error))?;
    line.push('\n');
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    file.write_all(line.as_bytes()).and_then(|()| file.flush()).map_err(|error| wrong(&error))
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Recorder({})", self.name)
    }
}
