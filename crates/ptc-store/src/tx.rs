//! Transactions, and what a database must be able to do for them. Statements are written once, with `?1`
//! for parameters; a connection to PostgreSQL turns them into its own form.

use crate::StoreError;
use crate::cell::{Cell, Row};

/// What a transaction is for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mode<'a> {
    /// Looking at one unchanging picture of the store.
    Read,
    /// Changing what belongs to a subject. Transactions of one subject come one after the other; those of
    /// other subjects may run beside it where the database can.
    Write(&'a str),
}

/// One connection to a database.
pub(crate) trait Connection: Send {
    /// Begins a transaction; there is at most one at a time.
    fn begin(&mut self, mode: Mode<'_>) -> Result<(), Fault>;
    /// Makes what was done final and durable.
    fn commit(&mut self) -> Result<(), Fault>;
    /// Takes back what was done. A connection that cannot is broken from then on.
    fn rollback(&mut self);
    /// Runs a statement and says how many rows it changed.
    fn run(&mut self, sql: &'static str, cells: &[Cell]) -> Result<u64, Fault>;
    /// Runs a query.
    fn rows(&mut self, sql: &'static str, cells: &[Cell]) -> Result<Vec<Row>, Fault>;
    /// Runs the statements of a migration.
    fn batch(&mut self, sql: &str) -> Result<(), Fault>;
    /// Milliseconds since 1970 by the one clock that all users of the place share, in a transaction.
    fn now_ms(&mut self) -> Result<i64, Fault>;
    /// Where its tables were made, in a transaction and if the database tells: one that was loaded from a dump of another
    /// says something else.
    fn born(&mut self) -> Result<String, Fault> {
        Ok(String::new())
    }
    /// What a thorough look at the database finds wrong.
    fn check(&mut self) -> Result<Vec<String>, Fault>;
    /// Whether the connection is of no more use.
    fn is_broken(&self) -> bool;
}

/// What a database said when it did not do as told.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub kind: FaultKind,
    pub cause: String,
}

/// What the fault means for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Locked by others for too long.
    Busy,
    /// This transaction collided with another; the same work may succeed at once.
    Conflict,
    /// What is stored cannot be read.
    Damaged,
    /// The connection is gone.
    Lost,
    /// Everything else.
    Other,
}

impl Fault {
    /// The error for callers.
    pub fn at(self, place: &str, statement: &str) -> StoreError {
        let (place, cause) = (place.to_owned(), self.cause);
        match self.kind {
            FaultKind::Busy | FaultKind::Conflict => StoreError::Busy { place, cause },
            FaultKind::Damaged => StoreError::Damaged { place, detail: cause },
            FaultKind::Lost => StoreError::Unreachable {
                place,
                cause,
                fix: "look whether the server runs and try again".to_owned(),
            },
            FaultKind::Other => {
                let statement = statement.split_whitespace().take(6).collect::<Vec<_>>().join(" ");
                StoreError::Failed { place, statement, cause }
            }
        }
    }
}

/// A transaction that is under way. Dropped without [`Tx::commit`], it is taken back.
pub(crate) struct Tx<'a> {
    connection: &'a mut dyn Connection,
    place: &'a str,
    /// The first fault: from then on the transaction can only be taken back.
    fault: Option<Fault>,
    open: bool,
}

impl<'a> Tx<'a> {
    /// Begins a transaction.
    pub fn begin(connection: &'a mut dyn Connection, place: &'a str, mode: Mode<'_>) -> Result<Self, Fault> {
        connection.begin(mode)?;
        Ok(Tx { connection, place, fault: None, open: true })
    }

    /// Runs a statement that changes rows and says how many.
    pub fn run(&mut self, sql: &'static str, cells: &[Cell]) -> Result<u64, StoreError> {
        let done = self.connection.run(sql, cells);
        self.noted(sql, done)
    }

    /// All rows of a query.
    pub fn rows(&mut self, sql: &'static str, cells: &[Cell]) -> Result<Vec<Row>, StoreError> {
        let done = self.connection.rows(sql, cells);
        self.noted(sql, done)
    }

    /// All rows of a query, each read by `read`.
    pub fn list<T>(
        &mut self,
        sql: &'static str,
        cells: &[Cell],
        read: impl Fn(&Row) -> Result<T, String>,
    ) -> Result<Vec<T>, StoreError> {
        let rows = self.rows(sql, cells)?;
        rows.iter().map(|row| read(row).map_err(|detail| self.damaged(detail))).collect()
    }

    /// The first row of a query, if there is one, read by `read`.
    pub fn first<T>(
        &mut self,
        sql: &'static str,
        cells: &[Cell],
        read: impl Fn(&Row) -> Result<T, String>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.list(sql, cells, read)?.into_iter().next())
    }

    /// The number in the first column of the first row, zero without rows.
    pub fn number(&mut self, sql: &'static str, cells: &[Cell]) -> Result<i64, StoreError> {
        Ok(self.first(sql, cells, |row| row.int(0))?.unwrap_or(0))
    }

    /// Runs the statements of a migration.
    pub fn batch(&mut self, sql: &str) -> Result<(), StoreError> {
        let done = self.connection.batch(sql);
        self.noted(sql, done)
    }

    /// Milliseconds since 1970 by the clock of the place: the server's where there is one.
    pub fn now_ms(&mut self) -> Result<i64, StoreError> {
        let now = self.connection.now_ms();
        self.noted("now", now)
    }

    /// Where the tables of the store were made, if the database tells.
    pub fn born(&mut self) -> Result<String, StoreError> {
        let born = self.connection.born();
        self.noted("born", born)
    }

    /// The error for stored data that contradicts itself.
    pub fn damaged(&self, detail: impl Into<String>) -> StoreError {
        StoreError::Damaged { place: self.place.to_owned(), detail: detail.into() }
    }

    /// Whether the transaction failed because of another one.
    pub fn collided(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::Conflict)
    }

    /// Whether the transaction failed because of the place, and not of another transaction or of what is stored.
    pub fn failed(&self) -> bool {
        let kind = self.fault.as_ref().map(|fault| fault.kind);
        kind.is_some_and(|kind| !matches!(kind, FaultKind::Conflict | FaultKind::Damaged))
    }

    /// Whether the transaction failed because its connection is gone.
    pub fn lost(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::Lost)
    }

    /// Makes the changes final. `Err` with [`FaultKind::Lost`] leaves open whether they are.
    pub fn commit(mut self) -> Result<(), Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        self.connection.commit()?;
        self.open = false;
        Ok(())
    }

    fn noted<T>(&mut self, sql: &str, done: Result<T, Fault>) -> Result<T, StoreError> {
        done.map_err(|fault| {
            self.fault.get_or_insert(fault.clone());
            fault.at(self.place, sql)
        })
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if self.open {
            self.connection.rollback();
        }
    }
}
