//! Where a store is: the three kinds of places and how they are written.

use std::path::PathBuf;

use postgres::config::{Host, SslMode};

use crate::{StoreError, pgpass, sqlite};

/// A place that was understood.
pub(crate) enum Place {
    /// Gone when the store is closed.
    Memory,
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL database.
    Postgres(Box<postgres::Config>),
}

/// Reads a place: `:memory:`, `postgres://…` (or `postgresql://…`), or a path, of which links are followed.
pub(crate) fn parse(text: &str) -> Result<Place, StoreError> {
    let wrong = |problem: &str, fix: &str| StoreError::Place {
        place: shown(text),
        problem: problem.to_owned(),
        fix: fix.to_owned(),
    };
    if text.is_empty() {
        return Err(wrong("the place is empty", "name a file, `:memory:` or `postgres://…`"));
    }
    if text == ":memory:" {
        return Ok(Place::Memory);
    }
    match text.split_once("://") {
        _ if is_path(text) => followed(PathBuf::from(text))
            .map(Place::File)
            .map_err(|problem| StoreError::Untrusted { place: shown(text), problem }),
        Some(("postgres" | "postgresql", _)) => {
            let mut config: postgres::Config = text.parse().map_err(|error: postgres::Error| {
                wrong(&said(&error), "write `postgres://user@host:port/database`")
            })?;
            check_transport(&config).map_err(|(problem, fix)| wrong(problem, fix))?;
            if config.get_password().is_none() {
                let kept = pgpass::password(&config);
                let kept = kept.map_err(|problem| StoreError::Untrusted { place: shown(text), problem })?;
                if let Some(password) = kept {
                    config.password(password);
                }
            }
            Ok(Place::Postgres(Box::new(config)))
        }
        Some(_) => Err(wrong("unknown scheme", "stores are files, `:memory:` or `postgres://…`")),
        None => Err(wrong(
            "this is no path but says how to reach a database",
            "write `postgres://user@host:port/database`",
        )),
    }
}

/// Whether a text is the path of a file or a folder, and no address and nothing that says how to reach a database: as a path, that
/// would be shown with its password, and made.
pub fn is_path(text: &str) -> bool {
    match text.split_once("://") {
        Some((scheme, _)) => !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        None => text != ":memory:" && options(text).is_empty(),
    }
}

/// The file itself where a path is a link to one: its log and what else belongs to it lie beside the file. A link that
/// others could have laid is not followed.
fn followed(path: PathBuf) -> Result<PathBuf, String> {
    #[cfg(unix)]
    if path.is_symlink() && path.exists() {
        use std::os::unix::fs::MetadataExt as _;
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let link = std::fs::symlink_metadata(&path).map_err(failed)?.uid();
        let file = std::fs::metadata(&path).map_err(failed)?.uid();
        if link != file && link != 0 {
            return Err(format!("{} is a link of another user; name the file itself", path.display()));
        }
        ptc_system::owned::trusted(&path)?;
        return std::fs::canonicalize(&path).map_err(failed);
    }
    Ok(path)
}

/// A file that belongs to a store, such as its keys: it lies beside the file of the store, however that is reached. Stores in
/// databases and in memory have none.
pub fn beside(place: &str, ending: &str) -> Result<Option<PathBuf>, StoreError> {
    Ok(match parse(place)? {
        Place::File(path) => Some(sqlite::beside(&path, ending)),
        Place::Memory | Place::Postgres(_) => None,
    })
}

/// The names of the options, if a text has options of a connection as other clients of PostgreSQL take them.
fn options(text: &str) -> Vec<&str> {
    const NAMES: [&str; 10] = [
        "host", "hostaddr", "port", "user", "dbname", "password", "passfile", "sslmode", "service", "options",
    ];
    if text.starts_with("postgres:") || text.starts_with("postgresql:") {
        return vec!["postgres"];
    }
    let before = text.split('=').take(text.matches('=').count());
    let names = before.filter_map(|before| before.split_whitespace().next_back());
    names.filter(|name| NAMES.contains(&name.to_ascii_lowercase().as_str())).collect()
}

/// Connections are not encrypted, so they may not leave the machine unless that is asked for by name.
fn check_transport(config: &postgres::Config) -> Result<(), (&'static str, &'static str)> {
    const TUNNEL: &str = "use a unix socket, a loopback address or a tunnel to one, \
                          or add `?sslmode=disable` if the network is trusted";
    match config.get_ssl_mode() {
        SslMode::Disable => return Ok(()),
        SslMode::Prefer => {}
        _ => return Err(("connections to PostgreSQL are not encrypted by this version", TUNNEL)),
    }
    let local = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .trim_matches(['[', ']'])
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    };
    match config.get_hosts().iter().all(local) {
        true => Ok(()),
        false => Err(("connections to other machines would not be encrypted", TUNNEL)),
    }
}

/// The error for a place in which no store is.
pub(crate) fn nothing(place: &str, problem: &str) -> StoreError {
    StoreError::Place {
        place: shown(place),
        problem: problem.to_owned(),
        fix: "look for a slip in the path or the address".to_owned(),
    }
}

/// A place as messages show it and as it is noted: an address without its password and its options, which may have more
/// secrets, and of options of a connection only the names.
pub fn shown(place: &str) -> String {
    let Some((scheme, rest)) = place.split_once("://") else {
        let options = options(place);
        return match options.is_empty() {
            true => place.to_owned(),
            false => options.iter().map(|name| format!("{name}=…")).collect::<Vec<_>>().join(" "),
        };
    };
    let address = rest.split('?').next().unwrap_or_default();
    let user = |credentials: &str| credentials.split(':').next().unwrap_or_default().to_owned();
    match address.rsplit_once('@') {
        Some((credentials, host)) => format!("{scheme}://{}@{host}", user(credentials)),
        None if is_host(address) && (address.contains('/') || !rest.contains('@')) => {
            format!("{scheme}://{address}")
        }
        // A password with a question mark.
        None => format!("{scheme}://{}@…", user(address)),
    }
}

/// Whether what stands before the options of an address begins with hosts and ports, and not with a user and a password.
fn is_host(address: &str) -> bool {
    let hosts = address.split('/').next().unwrap_or_default();
    let is_one = |host: &str| {
        let port = host.rsplit_once(':').map_or("", |(_, port)| port);
        host.starts_with('[') || port.bytes().all(|byte| byte.is_ascii_digit())
    };
    hosts.split(',').all(is_one)
}

/// An error of the PostgreSQL client with its causes; the outermost text alone says little.
pub(crate) fn said(error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => error.message().to_owned(),
        None => {
            let mut text = error.to_string();
            let mut cause = std::error::Error::source(error);
            while let Some(inner) = cause {
                let inner_text = inner.to_string();
                if !text.contains(&inner_text) {
                    text = format!("{text}: {inner_text}");
                }
                cause = inner.source();
            }
            text
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_passwords_nor_options_are_shown() {
        for (place, expected) in [
            ("store.db", "store.db"),
            (":memory:", ":memory:"),
            ("host=db password=secret", "host=… password=…"),
            ("password = 'se cret' host=db", "password=… host=…"),
            ("postgres:ann:secret@localhost", "postgres=…"),
            ("./host=db", "./host=db"),
            ("postgres://ann:secret@localhost/ptc", "postgres://ann@localhost/ptc"),
            ("postgres://ann:s@cret@localhost/ptc", "postgres://ann@localhost/ptc"),
            ("postgres://ann@localhost/ptc?password=secret&user=bob", "postgres://ann@localhost/ptc"),
            ("postgres://ann@/ptc?host=/run/postgresql&passfile=/home/ann/pass", "postgres://ann@/ptc"),
            ("postgres://ann:sec?ret@localhost/ptc", "postgres://ann@…"),
            ("postgres://ann:sec/r?et@localhost/ptc", "postgres://ann@…"),
            ("postgres://ann:12?34@localhost/ptc", "postgres://ann@…"),
            ("postgres://[::1]:5432/ptc?sslmode=disable", "postgres://[::1]:5432/ptc"),
            ("postgres://one:5432,two:5433/ptc?application_name=a@b", "postgres://one:5432,two:5433/ptc"),
        ] {
            assert_eq!(shown(place), expected);
        }
    }

    #[test]
    fn an_address_is_no_path() {
        for path in ["store.db", "./a://b", "/srv/host=1/store.db", "postgres"] {
            assert!(is_path(path), "{path}");
        }
        for place in [
            ":memory:",
            "postgres://ann:secret@localhost/ptc",
            "mysql://x",
            "host=db password=secret",
            "postgres:x",
        ] {
            assert!(!is_path(place), "{place}");
        }
    }

    #[test]
    fn only_connections_that_stay_on_the_machine_go_without_being_asked_for() {
        for place in [
            "postgres://localhost/ptc",
            "postgresql://ann:secret@127.0.0.1:5433/ptc",
            "postgres://ann@[::1]/ptc",
            "postgres://ann@/ptc?host=/run/postgresql",
            "postgres://db.example.com/ptc?sslmode=disable",
        ] {
            assert!(matches!(parse(place), Ok(Place::Postgres(_))), "{place}");
        }
        for place in ["postgres://db.example.com/ptc", "postgres://localhost/ptc?sslmode=require"] {
            let message = parse(place).err().expect("refused").to_string();
            assert!(message.contains("encrypted") && message.contains("tunnel"), "{message}");
        }
    }

    #[test]
    fn places_that_make_no_sense_are_refused_with_a_fix() {
        for (place, expected) in [
            ("", "name a file"),
            ("mysql://localhost/ptc", "stores are files"),
            ("host=db password=secret", "says how to reach a database; write `postgres://"),
            ("postgres://localhost:port/ptc", "write `postgres://"),
        ] {
            let message = parse(place).err().expect("refused").to_string();
            assert!(message.contains(expected), "{message}");
        }
    }
}
