//! What belongs to the user at the terminal: what is shown there, colours, and a folder for what is kept between
//! commands.
//!
//! **Whatever `ptc` prints goes through [`stdout`], [`stderr`] or [`errln!`]**, which show the commands of a terminal
//! (and what cannot be seen or turns the direction of writing) by their numbers where the stream is a terminal. Nothing
//! that a model, a program or a server says can move the cursor, set a title or fill a clipboard. Pipes and files get
//! the text as it is. Crates that write to the terminal themselves are used from here only, where what they are told
//! passes the same filter: the line editor ([`Editor`]), the line that changes ([`Bar`]), the pager ([`page`]), and what
//! is wrong with the command line ([`parse`]). `cargo xtask ci` refuses them, and the macros and streams of `std`, elsewhere in this crate.

mod arguments;
mod bar;
mod editor;
mod margin;
mod pager;
mod question;
mod screen;

use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;

use ptc_lisp::Error;
use ptc_lisp::render::{self, Role};

/// Whether text for this stream is coloured: it is a terminal, and `NO_COLOR` does not object.
pub fn colours<W: IsTerminal>(stream: &Screen<W>) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

pub use arguments::parse;
pub use bar::Bar;
pub use editor::{Assistant, Editor, Offer};
pub use margin::{columns, framed, quoting};
pub use pager::page;
pub use question::{answer, look};
pub use screen::{Screen, ansi, obeyed, plain, stderr, stdout, styled};

/// Prints a line on standard error.
macro_rules! errln {
    ($($arg:tt)*) => { $crate::terminal::print_error(format_args!($($arg)*)) };
}
pub(crate) use errln;

/// Prints a line on standard error; nobody is left to tell if it is gone.
pub fn print_error(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(stderr(), "{line}");
}

/// Says what is wrong, as all of `ptc` does: behind the name of the command, which stands out.
pub fn complain(message: &str) {
    let coloured = colours(&stderr());
    match coloured {
        true => errln!("{} {message}", styled("1;31", "ptc:")),
        false => errln!("ptc: {message}"),
    }
}

/// Has panics told as everything else is: what they quote may come from a program or a server.
pub fn tell_panics() {
    std::panic::set_hook(Box::new(|info| {
        let thread = std::thread::current();
        let trace = std::backtrace::Backtrace::capture();
        let shown = match trace.status() {
            std::backtrace::BacktraceStatus::Captured => format!("\n{trace}"),
            _ => String::new(),
        };
        errln!("thread '{}' {info}{shown}", thread.name().unwrap_or("<unnamed>"));
    }));
}

/// The folder of what is kept between commands, if the environment says where such things belong.
pub fn state_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| folder("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("ptc"))
}

/// An error for people, coloured if asked for.
pub fn error_text(error: &Error, source: &str, name: &str, coloured: bool) -> String {
    if !coloured {
        return render::for_people(error, source, name);
    }
    let paint = |(role, text): (Role, String)| match colour(role) {
        Some(code) => styled(code, &text),
        None => text,
    };
    render::pieces(error, source, name).into_iter().map(paint).collect()
}

/// An error of a line that stands just above: what is wrong with so many columns of it from this one on.
pub fn error_below(error: &Error, (column, width): (usize, usize), coloured: bool) -> String {
    let paint = |role: Role, text: &str| match colour(role).filter(|_| coloured) {
        Some(code) => styled(code, text),
        None => text.to_owned(),
    };
    let margin = " ".repeat(column);
    let mark = paint(Role::Mark, &"^".repeat(width));
    let (kind, message) =
        (paint(Role::Kind, error.kind.reason()), paint(Role::Message, &format!(": {}", error.text())));
    let hint = error.hint.as_ref().map(|hint| {
        let hint = paint(Role::Hint, &format!("= help: {hint}"));
        format!("\n{margin}{hint}")
    });
    format!("{margin}{mark}\n{margin}{kind}{message}{}", hint.unwrap_or_default())
}

fn colour(role: Role) -> Option<&'static str> {
    match role {
        Role::Kind | Role::Mark => Some("1;31"),
        Role::Message => Some("1"),
        Role::Frame => Some("34"),
        Role::Note => Some("36"),
        Role::Hint | Role::Added => Some("32"),
        Role::Removed => Some("31"),
        Role::Source => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptc_lisp::{ErrorKind, Span};

    #[test]
    fn colours_change_nothing_but_colours() {
        let error = Error::new(ErrorKind::Type, "no").at(Span::new(1, 2)).hint("yes");
        let coloured = ansi(&error_text(&error, "(a)", "-e", true)).into_owned();
        assert!(coloured.starts_with("\x1b[1;31mtype_error\x1b[0m"), "{coloured:?}");
        let mut plain = String::new();
        for part in coloured.split("\x1b[") {
            plain.push_str(
                part.split_once('m')
                    .filter(|(code, _)| code.chars().all(|c| c.is_ascii_digit() || c == ';'))
                    .map_or(part, |(_, text)| text),
            );
        }
        assert_eq!(plain, error_text(&error, "(a)", "-e", false));
    }

    #[test]
    fn an_error_below_its_line_marks_the_place() {
        let error = Error::new(ErrorKind::Type, "no").hint("yes");
        assert_eq!(error_below(&error, (2, 3), false), "  ^^^\n  type_error: no\n  = help: yes");
        assert!(error_below(&error, (0, 1), true).contains("type_error"));
    }

    /// Panics with an escape sequence where it is told to, and otherwise looks at that on a terminal.
    #[test]
    fn panics_do_nothing_to_a_terminal() {
        const TOLD: &str = "PTC_TEST_PANICS";
        if std::env::var_os(TOLD).is_some() {
            tell_panics();
            panic!("quoted: \x1b]0;title\x07");
        }
        let shown = std::process::Command::new("python3")
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/terminal.py"))
            .arg("[]")
            .arg(std::env::current_exe().expect("this test"))
            .args(["--exact", "terminal::tests::panics_do_nothing_to_a_terminal", "--nocapture"])
            .env(TOLD, "1")
            .output()
            .expect("python3 runs");
        let shown = String::from_utf8_lossy(&shown.stdout);
        assert!(shown.contains("quoted: \\u{1b}]0;title\\u{7}"), "{shown:?}");
        assert!(!shown.contains("\x1b]0;"), "{shown:?}");
    }
}
