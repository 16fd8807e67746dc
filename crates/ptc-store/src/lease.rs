//! Leases: who holds a row, and until when.
//!
//! Whoever takes a row gets the next number of that row, and every write of a holder names its number. A holder that
//! was away for too long may find that another has taken the row since; its number is then not the row's any more, and
//! whatever it writes is refused. So two holders can never both write, whatever their clocks say: time only decides when
//! somebody else *may* take the row.

/// The right to change one row, until somebody else takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    pub(crate) id: String,
    pub(crate) number: i64,
}

impl Lease {
    /// What is held.
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Whether a text can be the key of a row. PostgreSQL has no texts with a zero byte, so nothing is kept under one.
pub(crate) fn is_key(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}

/// JSON as it was stored.
pub(crate) fn json(bytes: &[u8]) -> Result<serde_json::Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("a stored value is no JSON: {error}"))
}
