//! Leases: who holds a row, and until when.
//!
//! Whoever takes a row gets the next number of that row, and every write of a holder names its number. A holder that
//! was away for too long may find that another has taken the row since; its number is then not the row's any more, and
//! whatever it writes is refused. So two holders can never both write, whatever their clocks say: time only decides when
//! somebody else *may* take the row.
//!
//! No lease is given for longer than [`Lease::LONGEST_MS`], so one that ends further ahead was given by a clock that was set back
//! since. Nobody could tell when its holder died, so it counts as over. A holder that lives keeps its lease through a step that
//! is smaller than what is left until then, and through any other if it renews the lease before somebody comes.

/// The right to change one row, until somebody else takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(crate) id: String,
    pub(crate) number: i64,
}

impl Lease {
    /// The longest time that a lease is given for, whatever is asked for: three times what servers ask for, so that a clock
    /// that is set back a little takes nothing from a holder that lives.
    pub const LONGEST_MS: i64 = 30_000;

    /// What is held.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// When a lease ends that is given now.
pub(crate) fn until(now: i64, lease_ms: i64) -> i64 {
    now.saturating_add(lease_ms.min(Lease::LONGEST_MS))
}

/// When the last lease ends that can have been given by now.
pub(crate) fn last(now: i64) -> i64 {
    now.saturating_add(Lease::LONGEST_MS)
}

/// Whether a lease that ends then still holds. Statements say `lease_until > now AND lease_until <= last`.
pub(crate) fn holds(until: i64, now: i64) -> bool {
    until > now && until <= last(now)
}

/// Whether a text can be the key of a row. PostgreSQL has no texts with a zero byte, so nothing is kept under one.
pub(crate) fn is_key(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

/// JSON as it was stored.
pub(crate) fn json(bytes: &[u8]) -> Result<serde_json::Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("a stored value is no JSON: {error}"))
}
