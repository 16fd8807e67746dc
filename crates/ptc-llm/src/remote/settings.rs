//! What the way to a provider is bounded by, and what it takes from the world: variables, sleep and chance.

use std::sync::Arc;
use std::time::Duration;

use ptc_agent::model::Pending;

use super::retry::Attempts;
use crate::prices::Prices;

/// Looks up a variable of the environment.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Waits.
pub type Sleeper = Arc<dyn Fn(Duration) -> Pending<()> + Send + Sync>;

/// A number between 0 and 1.
pub type Chance = Arc<dyn Fn() -> f64 + Send + Sync>;

/// How providers are reached.
#[derive(Clone)]
pub struct Settings {
    /// Until there is a connection.
    pub connect_timeout: Duration,
    /// Between two pieces of a reply.
    pub idle_timeout: Duration,
    /// For a whole attempt.
    pub total_timeout: Duration,
    /// Bytes of a reply.
    pub max_reply_bytes: usize,
    /// How attempts follow each other.
    pub attempts: Attempts,
    /// What replies cost.
    pub prices: Prices,
    /// Where keys come from.
    pub environment: Environment,
    /// How delays are waited for.
    pub sleeper: Sleeper,
    /// What spreads delays.
    pub chance: Chance,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(120),
            total_timeout: Duration::from_secs(600),
            max_reply_bytes: 16 << 20,
            attempts: Attempts::default(),
            prices: Prices::default(),
            environment: Arc::new(|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty())),
            sleeper: Arc::new(|delay| Box::pin(tokio::time::sleep(delay))),
            chance: Arc::new(chance),
        }
    }
}

/// Good enough to spread attempts: the seed that hash maps take from the system.
fn chance() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    (RandomState::new().hash_one(0u8) >> 11) as f64 / (1u64 << 53) as f64
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings")
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("total_timeout", &self.total_timeout)
            .field("max_reply_bytes", &self.max_reply_bytes)
            .field("attempts", &self.attempts)
            .finish_non_exhaustive()
    }
}
