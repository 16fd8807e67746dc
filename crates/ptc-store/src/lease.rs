//! Leases: who holds a row, and until when.
//!
//! Whoever takes a row gets the next number of that row, and every write of a holder names its number. A holder that
//! was away for too long may find that another has taken the row since; its number is then not the row's any more, and
//! whatever it writes is refused. So two holders can never both write, whatever their clocks say: time only decides when
//! somebody else *may* take the row.
//!
//! Numbers grow by random steps. So whoever took a row, and lost the connection before the store said so, can give it back
//! by the number, and takes nothing from somebody else who has it.
//!
//! No lease is given for longer than [`Lease::LONGEST_MS`], so one that ends further ahead was given by a clock that was set back
//! since. Nobody could tell when its holder died, so it counts as over. A holder that lives keeps its lease through a step that
//! is smaller than what is left until then, and through any other if it renews the lease before somebody comes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::tx::Tx;
use crate::{Store, StoreError};

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

/// The number of a lease that is given after this one. Nobody else gives the same.
pub(crate) fn next(number: i64) -> i64 {
    let mut random = [0_u8; 4];
    // Without randomness they still grow; only who loses a connection may take another's lease for its own.
    let _ = getrandom::fill(&mut random);
    number.saturating_add(1).saturating_add(i64::from(u32::from_le_bytes(random)))
}

/// Why something is not taken.
enum NotTaken<E> {
    /// The store says so, before or after the statements.
    Store(StoreError),
    /// A statement failed.
    Failed(E),
    /// Those who looked found that it cannot be taken.
    Refused(E),
}

impl<E: From<StoreError>> NotTaken<E> {
    fn told(self) -> E {
        match self {
            NotTaken::Store(error) => error.into(),
            NotTaken::Failed(error) | NotTaken::Refused(error) => error,
        }
    }
}

impl<E> From<StoreError> for NotTaken<E> {
    fn from(error: StoreError) -> Self {
        NotTaken::Store(error)
    }
}

/// Something that is held by a lease.
pub(crate) trait HasLease: Clone {
    /// The lease.
    fn lease(&self) -> &Lease;
}

impl HasLease for Lease {
    fn lease(&self) -> &Lease {
        self
    }
}

/// What this process may hold without using it: the store failed when it was taken, changed or given back. Whoever takes it next in
/// this process gives it back first, in the same transaction, and is not told that somebody holds it.
#[derive(Clone, Debug)]
pub(crate) struct Owed<T>(Arc<Mutex<Vec<(Instant, T)>>>);

impl<T> Default for Owed<T> {
    fn default() -> Self {
        Owed(Arc::default())
    }
}

impl<T: HasLease> Owed<T> {
    /// Takes something by a note: `work` says what it did, and what is held from then on. What is owed of it is given back first.
    ///
    /// If the connection breaks before the store says that it is taken, that is given back and `work` is called once more. If
    /// that fails too, the error is [`StoreError::Unacknowledged`], and what may be held is owed.
    pub fn take<R, E: From<StoreError>>(
        &self,
        store: &Store,
        (subject, id): (&str, &str),
        give_back: impl Fn(&mut Tx<'_>, &T) -> Result<(), E>,
        mut work: impl FnMut(&mut Tx<'_>) -> Result<(R, Option<T>), E>,
    ) -> Result<R, E> {
        // All that it may have taken: of two that were not acknowledged the first may be the one that was made.
        let (mut owed, mut own) = (Vec::new(), Vec::new());
        let mut step = |tx: &mut Tx<'_>| {
            owed = self.of(id);
            for held in owed.iter().chain(&own) {
                give_back(tx, held)?;
            }
            let (done, held) = work(tx)?;
            own.extend(held);
            Ok(done)
        };
        let mut take = || {
            store.note(subject, |tx| {
                step(tx).map_err(|error| match tx.failed() || tx.collided() {
                    true => NotTaken::Failed(error),
                    false => NotTaken::Refused(error),
                })
            })
        };
        let taken = match take() {
            Err(NotTaken::Store(unheard @ StoreError::Unacknowledged { .. })) => {
                let taken = take();
                // What was taken back with the rest of a transaction is not given back either.
                own.iter().filter(|_| taken.is_err()).for_each(|own| self.note(own, true));
                match taken {
                    Err(NotTaken::Store(_) | NotTaken::Failed(_)) => return Err(unheard.into()),
                    told => told,
                }
            }
            told => told,
        };
        owed.iter().filter(|_| taken.is_ok()).for_each(|held| self.note(held, false));
        taken.map_err(NotTaken::told)
    }

    /// What is owed of this id.
    pub fn of(&self, id: &str) -> Vec<T> {
        let owed = self.lock();
        owed.iter().filter(|(_, held)| held.lease().id == id).map(|(_, held)| held.clone()).collect()
    }

    /// Notes that something is owed, or not any more. Leases that are over by themselves are forgotten.
    pub fn note(&self, held: &T, is_owed: bool) {
        let mut all = self.lock();
        let longest = Duration::from_millis(Lease::LONGEST_MS.unsigned_abs());
        all.retain(|(since, other)| other.lease() != held.lease() && since.elapsed() < longest);
        if is_owed {
            all.push((Instant::now(), held.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Instant, T)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

/// JSON as it was stored, in a list: what cannot be read keeps nobody from the rest, and says so where it stands.
pub(crate) fn shown_json(bytes: &[u8]) -> serde_json::Value {
    json(bytes).unwrap_or_else(|why| serde_json::json!({ DAMAGED: why }))
}

/// Where a value of a list says that it cannot be read.
pub(crate) const DAMAGED: &str = "damaged";

/// JSON as it was stored.
pub(crate) fn json(bytes: &[u8]) -> Result<serde_json::Value, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("a stored value is no JSON: {error}"))
}
