//! Connections that threads share: each call has one for itself, and a few are kept open.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::tx::Connection;

/// Connections, open and idle ones.
pub(crate) struct Pool {
    state: Mutex<PoolState>,
    returned: Condvar,
    most: usize,
}

struct PoolState {
    idle: Vec<Box<dyn Connection>>,
    open: usize,
}

/// A connection in use. It goes back when dropped, unless it was found broken.
pub(crate) struct Lent<'a> {
    pool: &'a Pool,
    connection: Option<Box<dyn Connection>>,
}

impl Pool {
    /// A pool that opens so many connections at most, when they are needed.
    pub fn new(most: usize) -> Self {
        Pool { state: Mutex::new(PoolState { idle: Vec::new(), open: 0 }), returned: Condvar::new(), most }
    }

    /// An idle connection, a new one, or the next that comes back.
    pub fn take<E>(&self, open: impl FnOnce() -> Result<Box<dyn Connection>, E>) -> Result<Lent<'_>, E> {
        let mut state = self.lock();
        loop {
            if let Some(connection) = state.idle.pop() {
                return Ok(Lent { pool: self, connection: Some(connection) });
            }
            if state.open < self.most {
                state.open += 1;
                drop(state);
                // Counted first, opened without the lock: opening may take long.
                let mut lent = Lent { pool: self, connection: None };
                lent.connection = Some(open()?);
                return Ok(lent);
            }
            state = self.returned.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lent<'_> {
    /// The connection.
    pub fn get(&mut self) -> &mut dyn Connection {
        self.connection.as_mut().expect("a lent connection is there until it is dropped").as_mut()
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let connection = self.connection.take().filter(|connection| !connection.is_broken());
        let mut state = self.pool.lock();
        match connection {
            Some(connection) => state.idle.push(connection),
            None => state.open -= 1,
        }
        self.pool.returned.notify_one();
    }
}
