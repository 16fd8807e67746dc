//! The password of an address that has none, from where other clients of PostgreSQL take it: `PGPASSWORD`, else the file of
//! `PGPASSFILE`, else `~/.pgpass`. So no password needs to stand where every process of a machine can read it.

use std::path::PathBuf;

use postgres::config::{Config, Host};
use ptc_system::owned::{self, Reach};

/// Where a connection leads, as lines of the file name it.
struct Target<'a> {
    host: String,
    port: String,
    database: &'a str,
    user: &'a str,
}

/// The password that is kept elsewhere, if there is one; why it is not taken, if others can read the file.
pub(crate) fn password(config: &Config) -> Result<Option<String>, String> {
    if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()) {
        return Ok(Some(password));
    }
    let Some(file) = file() else { return Ok(None) };
    // A file that is not there, or that is not for this user, is none.
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
    let system_user = std::env::var("USER").unwrap_or_default();
    let user = config.get_user().unwrap_or(&system_user);
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        // As other clients do: a socket is known as the machine itself.
        #[cfg(unix)]
        Some(Host::Unix(_)) => "localhost".to_owned(),
        None => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5_432).to_string();
    let target = Target { host, port, database: config.get_dbname().unwrap_or(user), user };
    let found = text.lines().find_map(|line| target.password(line));
    match found {
        Some(_) => owned::check(&file, Reach::Nobody).map(|()| found),
        None => Ok(None),
    }
}

fn file() -> Option<PathBuf> {
    let named = std::env::var_os("PGPASSFILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pgpass")))
}

impl Target<'_> {
    /// The password of a line, `host:port:database:user:password`, if it is about this connection.
    fn password(&self, line: &str) -> Option<String> {
        if line.starts_with('#') {
            return None;
        }
        let mut rest = line.chars();
        for wanted in [&*self.host, &*self.port, self.database, self.user] {
            let (field, is_whole) = field(&mut rest);
            if !is_whole || (field != "*" && field != wanted) {
                return None;
            }
        }
        // Colons of the password need no escape.
        let mut password = String::new();
        while let Some(sign) = rest.next() {
            password.push(if sign == '\\' { rest.next()? } else { sign });
        }
        Some(password).filter(|password| !password.is_empty())
    }
}

/// The text up to the next colon, and whether there is one. A backslash takes the next sign as it is.
fn field(rest: &mut std::str::Chars<'_>) -> (String, bool) {
    let mut field = String::new();
    while let Some(sign) = rest.next() {
        match sign {
            ':' => return (field, true),
            '\\' => field.extend(rest.next()),
            sign => field.push(sign),
        }
    }
    (field, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_pgpass_counts_if_it_names_the_connection_or_leaves_it_open() {
        let target = Target { host: "::1".to_owned(), port: "5433".to_owned(), database: "ptc", user: "a:b" };
        for (line, password) in [
            (r"\:\:1:5433:ptc:a\:b:secret", Some("secret")),
            (r"*:*:*:*:with:colons\\and\:more", Some(r"with:colons\and:more")),
            (r"*:5432:*:*:another port", None),
            (r"localhost:*:*:*:another host", None),
            (r"# *:*:*:*:a comment", None),
            (r"*:*:*:*:", None),
            (r"*:*", None),
            ("", None),
        ] {
            assert_eq!(target.password(line).as_deref(), password, "{line}");
        }
    }
}
