//! A chat that keeps its state: the second question works on what the first one defined, the third on both.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use ptc_llm::{Registry, Settings};
use ptc_runner::{AgentFile, Chat, RunOptions, Surroundings};
use serde_json::{Value, json};

const QUESTIONS: [&str; 3] = [
    "What did each department spend? Count only what was approved.",
    "And on trains and flights alone?",
    "Who travels most in the department that comes first there?",
];

fn main() -> Result<(), Box<dyn Error>> {
    show(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chat"), &mut std::io::stdout())
}

/// Asks the questions and writes down what comes of them.
pub fn show(folder: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(converse(folder, out))
}

async fn converse(folder: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let expenses: Value = serde_json::from_str(&std::fs::read_to_string(folder.join("expenses.json"))?)?;
    let file = AgentFile::read(&folder.join("agent.toml"))?;
    let name = file.model.clone().ok_or("the file names a model")?;
    let llm = Registry::default().connected(Settings::default()).find(&name)?;
    let mut chat = Chat::new(file.build()?);
    for question in QUESTIONS {
        let options = RunOptions {
            registry: [(name.clone(), llm.clone())].into(),
            ..RunOptions::default().context(json!({"expenses": expenses}))
        };
        let step = chat.step(question, options, Surroundings::default()).await?;
        if let Some(fail) = &step.fail {
            return Err(fail.message.clone().into());
        }
        writeln!(out, "> {question}\n{}", step.value)?;
        writeln!(out, "  ({} bytes kept out of the context)", step.usage.bytes_kept)?;
    }
    Ok(())
}
