//! PostgreSQL, for stores that several machines share.
//!
//! Connections are not encrypted; `place.rs` refuses those that would leave the machine unless they are asked
//! for with `sslmode=disable`.
//!
//! Every commit is synchronous, notes included: the processes that write run on other machines than the log, so one of
//! them can fail while the others go on.

use std::collections::BTreeMap;
use std::time::Duration;

use postgres::types::{ToSql, Type};
use postgres::{Client, Config, NoTls, SimpleQueryMessage, Statement};
use sha2::{Digest, Sha256};

use crate::cell::{Cell, Row};
use crate::place::{said, shown};
use crate::rescue::Table;
use crate::tx::{Connection, Fault, FaultKind, Mode};
use crate::{StoreError, migrate};

/// How long connecting may take where the place does not say.
const CONNECT: Duration = Duration::from_secs(10);
/// When a connection on which nothing comes is asked whether the other end is there, how often, and how many times: one
/// whose server is gone without a word is given up after ten seconds or so. The driver's own defaults are hours.
const ASKED_AFTER: Duration = Duration::from_secs(5);
const ASKED_EVERY: Duration = Duration::from_secs(2);
const ASKED_TIMES: u32 = 3;
/// How long what was sent may stay unacknowledged.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);

/// What every connection sets: whoever waits for a lock gives up in the end, a client that hangs inside a
/// transaction holds others up for less than a lease of ten seconds, and commits are on disk even if the server's default
/// is to be faster than that, now or after it is changed.
const SETTINGS: &str = "SET lock_timeout = '5s';
    SET idle_in_transaction_session_timeout = '8s';
    SET client_min_messages = warning;
    SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
        ELSE current_setting('synchronous_commit') END, false);";

/// A connection to a server.
pub(crate) struct PgConnection {
    /// Always there; `Drop` takes it out.
    client: Option<Client>,
    statements: BTreeMap<&'static str, Statement>,
    /// The server's time when the transaction began, in milliseconds since 1970.
    now_ms: i64,
    broken: bool,
}

/// The server's time.
const NOW: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";

/// Connects to the server.
pub(crate) fn connect(config: &Config, place: &str) -> Result<PgConnection, StoreError> {
    let mut config = config.clone();
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    let untouched = Config::new();
    if config.get_keepalives_idle() == untouched.get_keepalives_idle() {
        config.keepalives_idle(ASKED_AFTER);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(ASKED_EVERY);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(ASKED_TIMES);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED);
    }
    if config.get_application_name().is_none() {
        config.application_name("ptc");
    }
    let unreachable = |error: postgres::Error| StoreError::Unreachable {
        place: place.to_owned(),
        cause: said(&error),
        fix: "look whether the server runs, the database exists and this user may use it".to_owned(),
    };
    let mut client = config.connect(NoTls).map_err(unreachable)?;
    client.batch_execute(SETTINGS).map_err(unreachable)?;
    Ok(PgConnection { client: Some(client), statements: BTreeMap::new(), now_ms: 0, broken: false })
}

/// The statement with PostgreSQL's parameters: `?1` becomes `$1`. No statement has a `?` elsewhere.
fn translated(sql: &str) -> String {
    sql.replace('?', "$")
}

/// The tables of a migration with PostgreSQL's types.
fn translated_types(sql: &str) -> String {
    sql.replace("INTEGER", "BIGINT").replace("BLOB", "BYTEA")
}

/// The number under which transactions of a subject wait for each other.
fn lock_of(subject: &str) -> i64 {
    let digest = Sha256::digest(format!("ptc-store {subject}"));
    i64::from_be_bytes(digest[..8].try_into().expect("a digest has eight bytes and more"))
}

fn fault(error: &postgres::Error) -> Fault {
    let kind = match error.code().map(|code| code.code()) {
        Some("40001" | "40P01") => FaultKind::Conflict,
        Some("55P03") => FaultKind::Busy,
        Some("XX001" | "XX002") => FaultKind::Damaged,
        Some(code) if code.starts_with("08") || code.starts_with("57P") || code == "25P03" => FaultKind::Lost,
        Some(_) => FaultKind::Other,
        None if error.is_closed()
            || std::error::Error::source(error).is_some_and(|cause| cause.is::<std::io::Error>()) =>
        {
            FaultKind::Lost
        }
        None => FaultKind::Other,
    };
    Fault { kind, cause: said(error) }
}

impl PgConnection {
    fn client(&mut self) -> &mut Client {
        self.client.as_mut().expect("a connection has its client until it is dropped")
    }

    fn simply(&mut self, sql: &str) -> Result<(), Fault> {
        self.client().batch_execute(sql).map_err(|error| fault(&error))
    }

    /// Why there is no store, if there is none. Nothing is made.
    pub fn absent(&mut self, place: &str) -> Result<Option<&'static str>, StoreError> {
        let asked = self.number("SELECT COUNT(to_regclass('ptc_migrations'))");
        let tables = asked.map_err(|fault| fault.at(&shown(place), "look for a store"))?;
        Ok((tables == 0).then_some("there is no store in this database"))
    }

    /// The tables that a store has by the steps that it has taken, with their rows. One that is missing is not whole.
    pub fn tables(&mut self, shown: &str) -> Result<Vec<Table>, StoreError> {
        let failed = |fault: Fault| fault.at(shown, "count its rows");
        let found = self.number("SELECT COALESCE(MAX(number), 0) FROM ptc_migrations").map_err(failed)?;
        if found > migrate::known() {
            return Err(StoreError::Newer { place: shown.to_owned(), found, known: migrate::known() });
        }
        let mut tables = Vec::new();
        for name in migrate::tables(found) {
            let is_there = self.number(&format!("SELECT COUNT(to_regclass('{name}'))")).map_err(failed)? > 0;
            let rows = match is_there {
                true => self.number(&format!("SELECT COUNT(*) FROM {name}")).map_err(failed)?,
                false => 0,
            };
            let rows = u64::try_from(rows).unwrap_or_default();
            tables.push(Table { name: name.to_owned(), rows, is_whole: is_there });
        }
        Ok(tables)
    }

    /// The number that a query gives.
    fn number(&mut self, sql: &str) -> Result<i64, Fault> {
        let row = self.client().query_one(sql, &[]).map_err(|error| fault(&error))?;
        row.try_get(0).map_err(|error| fault(&error))
    }

    fn prepared(&mut self, sql: &'static str) -> Result<Statement, Fault> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client().prepare(&translated(sql)).map_err(|error| fault(&error))?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

impl Connection for PgConnection {
    /// Begins, waits for its turn and asks what time it is, all in one message.
    fn begin(&mut self, mode: Mode<'_>) -> Result<(), Fault> {
        let sql = match mode {
            Mode::Read => format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {NOW}"),
            // The lock comes first: each statement after it sees what earlier holders have committed.
            Mode::Write(subject) => format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock({}); {NOW}",
                lock_of(subject)
            ),
        };
        let begun = self.client().simple_query(&sql).map_err(|error| fault(&error));
        let answers = begun.inspect_err(|_| self.rollback())?;
        let row = answers.iter().rev().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        let now = row.and_then(|text| text.parse().ok());
        self.now_ms = now.ok_or_else(|| {
            self.rollback();
            Fault { kind: FaultKind::Other, cause: "the server does not say what time it is".to_owned() }
        })?;
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Fault> {
        self.simply("COMMIT")
    }

    fn rollback(&mut self) {
        self.broken |= self.simply("ROLLBACK").is_err();
    }

    fn run(&mut self, sql: &'static str, cells: &[Cell]) -> Result<u64, Fault> {
        let statement = self.prepared(sql)?;
        self.client().execute(&statement, &parameters(cells)).map_err(|error| fault(&error))
    }

    fn rows(&mut self, sql: &'static str, cells: &[Cell]) -> Result<Vec<Row>, Fault> {
        let statement = self.prepared(sql)?;
        let rows = self.client().query(&statement, &parameters(cells)).map_err(|error| fault(&error))?;
        rows.iter().map(row).collect()
    }

    fn batch(&mut self, sql: &str) -> Result<(), Fault> {
        self.simply(&translated_types(sql))
    }

    fn now_ms(&mut self) -> Result<i64, Fault> {
        Ok(self.now_ms)
    }

    /// The cluster, the database and the table: a dump that is loaded makes another table, also in the same database. Not
    /// everybody may ask for the cluster.
    fn born(&mut self) -> Result<String, Fault> {
        const MAY: &str =
            "SELECT COUNT(*) WHERE has_function_privilege('pg_catalog.pg_control_system()', 'execute')";
        const CLUSTER: &str = "SELECT system_identifier FROM pg_catalog.pg_control_system()";
        const TABLE: &str =
            "SELECT CAST(oid AS TEXT) || '/' || CAST(CAST(to_regclass('ptc_identity') AS OID) AS TEXT)
            FROM pg_catalog.pg_database WHERE datname = current_database()";
        let cluster = match self.number(MAY)? {
            0 => String::new(),
            _ => self.number(CLUSTER)?.to_string(),
        };
        let row = self.client().query_one(TABLE, &[]).map_err(|error| fault(&error))?;
        let table: String = row.try_get(0).map_err(|error| fault(&error))?;
        Ok(format!("{cluster}/{table}"))
    }

    /// The server looks after its own files; what is asked here is only whether it answers.
    fn check(&mut self) -> Result<Vec<String>, Fault> {
        self.simply("SELECT 1").map(|()| Vec::new())
    }

    fn is_broken(&self) -> bool {
        self.broken || self.client.as_ref().is_none_or(Client::is_closed)
    }
}

fn parameters(cells: &[Cell]) -> Vec<&(dyn ToSql + Sync)> {
    cells.iter().map(|cell| cell as &(dyn ToSql + Sync)).collect()
}

fn row(row: &postgres::Row) -> Result<Row, Fault> {
    let cells = row.columns().iter().enumerate().map(|(column, kind)| {
        let cell = match *kind.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(column).map(Cell::from),
            Type::INT4 => row.try_get::<_, Option<i32>>(column).map(|value| Cell::from(value.map(i64::from))),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(column).map(Cell::from),
            _ => row.try_get::<_, Option<String>>(column).map(Cell::from),
        };
        cell.map_err(|error| fault(&error))
    });
    cells.collect::<Result<Vec<_>, _>>().map(Row)
}

impl Drop for PgConnection {
    /// Closing blocks, which threads of an async runtime refuse; so another thread does it.
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            let closing = std::thread::spawn(move || drop(client));
            let _ = closing.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who waits gives up twice before a lease of ten seconds is over, and who hangs is gone by then.
    #[test]
    fn whoever_hangs_holds_others_up_for_less_than_a_lease() {
        let seconds = |name: &str| {
            let (_, rest) = SETTINGS.split_once(&format!("SET {name} = '")).expect("a setting");
            rest.split('s').next().and_then(|seconds| seconds.parse::<u64>().ok()).expect("seconds")
        };
        let (gives_up, is_gone) = (seconds("lock_timeout"), seconds("idle_in_transaction_session_timeout"));
        assert!(gives_up < is_gone && is_gone < 10 && 2 * gives_up <= 10, "{gives_up} {is_gone}");
    }

    #[test]
    fn statements_and_tables_are_translated_by_rule() {
        assert_eq!(
            translated("SELECT a FROM t WHERE b = ?1 AND c = ?2"),
            "SELECT a FROM t WHERE b = $1 AND c = $2"
        );
        assert_eq!(
            translated_types("CREATE TABLE t (a INTEGER, b BLOB)"),
            "CREATE TABLE t (a BIGINT, b BYTEA)"
        );
    }
}
