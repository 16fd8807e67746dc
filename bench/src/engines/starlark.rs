//! Starlark through `starlark`: inputs are frozen modules, each run has a module of its own.

use anyhow::{Result, anyhow};
use serde_json::Value as Json;
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, Module};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::syntax::{AstModule, Dialect};
use starlark::values::Value;

use super::{Engine, Sandbox};
use crate::data::Input;

/// The engine.
pub struct Starlark;

/// Globals, inputs and what a definition left.
pub struct Open {
    globals: Globals,
    inputs: Vec<(String, FrozenModule)>,
}

#[starlark_module]
fn tools(builder: &mut GlobalsBuilder) {
    fn succ(n: i32) -> anyhow::Result<i32> {
        Ok(n + 1)
    }

    fn lookup(id: i32) -> anyhow::Result<Json> {
        Ok(crate::engines::lookup(i64::from(id)))
    }
}

thread_local! {
    /// Made once: sandboxes share what they cannot change.
    static GLOBALS: Globals = GlobalsBuilder::standard().with(tools).build();
}

impl Engine for Starlark {
    type Sandbox = Open;
    const NAME: &'static str = "Starlark";
    const LANGUAGES: &'static [&'static str] = &["star", "py"];
    const DEFINITION: &'static str = "answer = 42";

    fn sandbox() -> Result<Open> {
        Ok(Open { globals: GLOBALS.with(Globals::clone), inputs: Vec::new() })
    }
}

impl Sandbox for Open {
    fn set(&mut self, name: &str, input: &Input) -> Result<()> {
        let frozen = Module::with_temp_heap(|module| -> Result<FrozenModule> {
            let heap = module.heap();
            let value: Value = match input {
                Input::Int(int) => heap.alloc(*int),
                Input::Text(text) => heap.alloc(text.as_str()),
                Input::Json(text) => heap.alloc(serde_json::from_str::<Json>(text)?),
            };
            module.set(name, value);
            module.freeze().map_err(|error| anyhow!("{error:?}"))
        })?;
        self.inputs.retain(|(old, _)| old != name);
        self.inputs.push((name.to_owned(), frozen));
        Ok(())
    }

    fn eval(&mut self, source: &str) -> Result<Json> {
        let ast = AstModule::parse("program.star", source.to_owned(), &Dialect::Extended)
            .map_err(|error| anyhow!("{error}"))?;
        let keep = source == Starlark::DEFINITION;
        let (answer, module) = Module::with_temp_heap(|module| -> Result<_> {
            for (_, input) in &self.inputs {
                module.import_public_symbols(input);
            }
            let answer = {
                let mut evaluator = Evaluator::new(&module);
                let value = evaluator.eval_module(ast, &self.globals).map_err(|error| anyhow!("{error}"))?;
                value.to_json_value()?
            };
            let module = if keep { module.freeze().ok() } else { None };
            Ok((answer, module))
        })?;
        self.inputs.extend(module.map(|module| ("definition".to_owned(), module)));
        Ok(answer)
    }
}
