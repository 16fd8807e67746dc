//! A program that is written once and run every month. The model sees the types of the columns; the months it never
//! sees.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use ptc_llm::{Registry, Settings};
use ptc_runner::{AgentFile, RunOptions, compile, execute};
use serde_json::{Map, Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    show(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/compile-once"), &mut std::io::stdout())
}

/// Has the program written, runs it for every month and writes down what comes of it.
pub fn show(folder: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(report(folder, out))
}

async fn report(folder: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let file = AgentFile::read(&folder.join("agent.toml"))?;
    let name = file.model.clone().ok_or("the file names a model")?;
    let llm = Registry::default().connected(Settings::default()).find(&name)?;
    let options = RunOptions { registry: [(name, llm)].into(), ..RunOptions::default() };
    let compiled = compile(file.build()?, &json!({}), options)
        .await?
        .map_err(|step| step.fail.map_or_else(String::new, |fail| fail.message))?;
    writeln!(out, "{}\n", compiled.source())?;
    writeln!(out, "written once with {} tokens\n", compiled.tokens_used)?;

    let text = std::fs::read_to_string(folder.join("shipments.json"))?;
    let months: Map<String, Value> = serde_json::from_str(&text)?;
    let (mut tokens, mut kept) = (0, 0);
    for (month, shipments) in months {
        let options = RunOptions::default().context(json!({"shipments": shipments}));
        let step = execute(&compiled, options).await;
        let carriers: Vec<String> = step.value.as_array().into_iter().flatten().map(line).collect();
        writeln!(out, "{month}  {}", carriers.join("   "))?;
        tokens += step.usage.total_tokens;
        kept += step.usage.bytes_kept;
    }
    writeln!(out, "\n12 months, {tokens} tokens, {kept} bytes kept out of the context")?;
    Ok(())
}

fn line(row: &Value) -> String {
    format!(
        "{} {}% {}/kg",
        row["carrier"].as_str().unwrap_or_default(),
        row["in_time_percent"],
        row["cost_per_kg"]
    )
}
