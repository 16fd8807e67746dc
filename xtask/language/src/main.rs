//! Chores that need the language itself: the files that are generated from the declarations in the code, and attacks that
//! are generated from all documented functions. `cargo xtask` builds and runs this; it is a program of its own so that
//! all other chores begin before the language is built.

mod agents;
mod attack;
mod coverage;
mod limits;
mod reference;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(2).collect();
    match std::env::args().nth(1).unwrap_or_default().as_str() {
        "generate" => generate(),
        "check" => check(),
        "attack" => attack::run(&root(), &args),
        other => bail!("there is no chore {other:?} here; see `cargo xtask`"),
    }
}

/// The root of the workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf).unwrap_or_default()
}

fn generated() -> Result<Vec<(PathBuf, String)>> {
    let docs = root().join("docs");
    std::fs::create_dir_all(&docs)?;
    Ok(vec![
        (docs.join("functions.md"), reference::functions()),
        (docs.join("limits.md"), limits::page()),
        (docs.join("agent-options.md"), agents::page()),
        (docs.join("agent.schema.json"), agents::schema()),
        (docs.join("trace-events.md"), ptc_trace::events::page()),
        (docs.join("coverage.md"), coverage::report(&root().join("conformance/clojure-vars.txt"))?),
    ])
}

fn generate() -> Result<()> {
    for (path, text) in generated()? {
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn check() -> Result<()> {
    for (path, text) in generated()? {
        let found = std::fs::read_to_string(&path).unwrap_or_default();
        if found != text {
            bail!("{} is out of date: run `cargo xtask generate` and commit it", path.display());
        }
    }
    Ok(())
}
