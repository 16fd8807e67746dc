//! Servers whose names stand in the text of a program, for programs that cannot be read, or not yet.

use std::sync::Arc;

use super::{Catalog, Server};

impl Catalog {
    /// The servers that a program seems to call: their names stand before a `/`, or are a text.
    pub fn addressed(&self, source: &str) -> Vec<Arc<Server>> {
        let is_call = |around: &(Option<char>, Option<char>)| match around {
            (_, Some('/')) => true,
            around => *around == (Some('"'), Some('"')),
        };
        let servers = self.servers().iter();
        servers.filter(|server| mentions(source, &server.name).iter().any(is_call)).cloned().collect()
    }
}

/// What stands before and behind the name of a server in a program, wherever it is written. One that stands in a text costs a
/// look at it.
pub fn mentions(source: &str, name: &str) -> Vec<(Option<char>, Option<char>)> {
    let is_part = |c: &char| c.is_alphanumeric() || "-_.*+!?".contains(*c);
    // Programs may write hyphens for underscores.
    let (source, name) = (source.replace('_', "-"), name.replace('_', "-"));
    let around = source
        .match_indices(&name)
        .map(|(at, _)| (source[..at].chars().next_back(), source[at + name.len()..].chars().next()));
    around.filter(|(before, after)| !before.iter().chain(after).any(is_part)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::server;
    use super::*;

    #[test]
    fn a_program_calls_the_servers_whose_names_stand_before_a_slash_or_are_texts() {
        let catalog = Catalog::new(["git", "my_server", "time"].map(|name| server(name, "", &[], &[])));
        for (source, expected) in [
            ("(git/log", &["git"][..]),
            ("(time (tool/call {:server \"my_server\" :tool \"x\"}))", &["my_server"]),
            ("(my-server/x) 'time/now", &["my_server", "time"]),
            ("(time (gitt/log)) ; git", &[]),
        ] {
            let found = catalog.addressed(source);
            let names: Vec<&str> = found.iter().map(|server| server.name.as_str()).collect();
            assert_eq!(names, expected, "{source}");
        }
    }
}
