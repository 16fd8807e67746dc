//! Models of providers by name, for applications that want no more of them than that. Names, keys and prices are on the page
//! about models; `ptc_llm` has what goes beyond a name.
//!
//! ```no_run
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use ptc_runner::{Agent, RunOptions, models};
//!
//! let agent = Agent::builder("What is the 50th prime?").signature("() -> :int").build()?;
//! let step = ptc_runner::run(agent, RunOptions::new(models::find("haiku")?)).await;
//! println!("{}", step.result()?);
//! # Ok(())
//! # }
//! ```

use ptc_agent::model::Llm;
pub use ptc_llm::{Registry, RegistryError, Settings};

/// The model with this name. Its key comes from the environment; no provider is asked.
pub fn find(name: &str) -> Result<Llm, RegistryError> {
    Registry::default().connected(Settings::default()).find(name)
}
