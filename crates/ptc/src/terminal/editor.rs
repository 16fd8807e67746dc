//! The line editor. `rustyline` writes to the terminal itself, past the filter of this module's streams, so whatever
//! it shows passes the filter here: names that hold what a terminal obeys are not offered, and the rest is covered.

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::Context as _;
use rustyline::completion::{Completer, FilenameCompleter};
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, ColorMode, CompletionType, ConditionalEventHandler, Config, Context, Event, EventContext,
    EventHandler, Helper, KeyCode, KeyEvent, Modifiers, RepeatCount,
};

use super::{ansi, obeyed, plain};

/// More names than these are not offered at once.
const MAX_OFFERED: usize = 10_000;

/// What can be offered for the text before the cursor.
pub enum Offer {
    /// These names, in place of what stands there from this byte on.
    Names(usize, Vec<String>),
    /// Names of files.
    Files,
}

/// What knows about the text that is typed.
pub trait Assistant {
    /// What can stand at the cursor.
    fn offer(&self, line: &str, pos: usize) -> Offer;
    /// What comes next, to be shown behind the cursor.
    fn hint(&self, line: &str, pos: usize) -> Option<String>;
    /// The text in colours.
    fn coloured(&self, line: &str, pos: usize) -> String;
    /// A hint in colours.
    fn coloured_hint(&self, hint: &str) -> String;
    /// Whether the text can be taken as it is; else there is another line.
    fn is_whole(&self, text: &str) -> bool;
    /// What the key for the end of a line adds to a text that is not whole: the end of its line, and the beginning of
    /// the next. Nothing adds the end of the line alone.
    fn continued(text: &str) -> Option<String>;
}

/// Reads lines from a terminal.
pub struct Editor<A: Assistant> {
    lines: rustyline::Editor<Filter<A>, FileHistory>,
    history: Option<PathBuf>,
}

impl<A: Assistant> Editor<A> {
    /// An editor with the lines that a file has kept.
    pub fn open(assistant: A, history: Option<PathBuf>) -> anyhow::Result<Self> {
        let config = Config::builder()
            .history_ignore_space(true)
            .completion_type(CompletionType::List)
            .auto_add_history(true)
            // Without colours the editor would not ask how to show anything; whether there are any, the assistant knows.
            .color_mode(ColorMode::Forced)
            .build();
        let mut lines = rustyline::Editor::with_config(config)?;
        lines.set_helper(Some(Filter { assistant, files: FilenameCompleter::new() }));
        // Terminals send the first, and the second stands in what was typed before the editor asked.
        for key in [KeyEvent(KeyCode::Enter, Modifiers::NONE), KeyEvent::ctrl('J')] {
            lines.bind_sequence(key, EventHandler::Conditional(Box::new(NextLine(A::continued))));
        }
        if let Some(path) = &history {
            // No history yet is how every history begins; without a folder for it there will be none.
            let _ = ptc_system::private::folder_of(path);
            let _ = lines.load_history(path);
        }
        Ok(Editor { lines, history })
    }

    /// What helps, to be told something.
    pub fn assistant(&mut self) -> Option<&mut A> {
        self.lines.helper_mut().map(|filter| &mut filter.assistant)
    }

    /// The next whole text; nothing at the end of input.
    pub fn read(&mut self, prompt: &str) -> anyhow::Result<Option<String>> {
        loop {
            match self.lines.readline(prompt) {
                Ok(text) => {
                    // At once, so that nothing is lost whatever the text does.
                    let _ = self.history.as_ref().map(|path| self.lines.append_history(path));
                    return Ok(Some(text));
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(error).context("cannot read the terminal"),
            }
        }
    }
}

/// Begins another line where the text at the cursor is not whole.
struct NextLine(fn(&str) -> Option<String>);

impl ConditionalEventHandler for NextLine {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        let text = context.line();
        let at_the_end = context.pos() >= text.trim_end().len();
        (self.0)(text).filter(|_| at_the_end).map(|more| Cmd::Insert(1, more))
    }
}

/// Stands between an assistant and what draws.
struct Filter<A> {
    assistant: A,
    files: FilenameCompleter,
}

impl<A: Assistant> Completer for Filter<A> {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let (start, mut names) = match self.assistant.offer(line, pos) {
            Offer::Names(start, names) => (start, names),
            Offer::Files => {
                let (start, files) = self.files.complete(line, pos, context)?;
                (start, files.into_iter().map(|file| file.replacement).collect())
            }
        };
        names.retain(|name| !obeyed(name));
        names.truncate(MAX_OFFERED);
        Ok((start, names))
    }
}

impl<A: Assistant> Highlighter for Filter<A> {
    fn highlight<'l>(&self, line: &'l str, pos: usize) -> Cow<'l, str> {
        Cow::Owned(ansi(&self.assistant.coloured(line, pos)).into_owned())
    }

    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        ansi(prompt)
    }

    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(ansi(&self.assistant.coloured_hint(hint)).into_owned())
    }

    fn highlight_candidate<'c>(&self, candidate: &'c str, _: CompletionType) -> Cow<'c, str> {
        ansi(candidate)
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl<A: Assistant> Hinter for Filter<A> {
    type Hint = String;

    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<String> {
        self.assistant.hint(line, pos).map(|hint| plain(&hint))
    }
}

impl<A: Assistant> Validator for Filter<A> {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(match self.assistant.is_whole(context.input()) {
            true => ValidationResult::Valid(None),
            false => ValidationResult::Incomplete,
        })
    }
}

impl<A: Assistant> Helper for Filter<A> {}

#[cfg(test)]
mod tests {
    use super::*;
    use rustyline::history::DefaultHistory;

    /// Says what is typed, and names that begin with it.
    struct Echo;

    impl Assistant for Echo {
        fn offer(&self, line: &str, _: usize) -> Offer {
            let ends = ["", "ter", "\n", "\x1b]0;title\x07", "\u{202e}"];
            Offer::Names(0, ends.map(|end| format!("{line}{end}")).to_vec())
        }

        fn hint(&self, line: &str, _: usize) -> Option<String> {
            Some(line.to_owned())
        }

        fn coloured(&self, line: &str, _: usize) -> String {
            crate::terminal::styled("1", line)
        }

        fn coloured_hint(&self, hint: &str) -> String {
            hint.to_owned()
        }

        fn is_whole(&self, _: &str) -> bool {
            true
        }

        fn continued(_: &str) -> Option<String> {
            None
        }
    }

    #[test]
    fn whatever_the_editor_draws_is_filtered() {
        let filter = Filter { assistant: Echo, files: FilenameCompleter::new() };
        let history = DefaultHistory::new();
        let context = Context::new(&history);
        let (_, offered) = filter.complete("put", 3, &context).expect("names");
        assert_eq!(offered, ["put", "putter"]);
        let escape = "a\x1b[2J";
        assert_eq!(filter.highlight(escape, 0), "\x1b[1ma\\u{1b}[2J\x1b[0m");
        assert_eq!(filter.highlight_prompt(escape, true), "a\\u{1b}[2J");
        assert_eq!(filter.highlight_hint(escape), "a\\u{1b}[2J");
        assert_eq!(filter.highlight_candidate(escape, CompletionType::List), "a\\u{1b}[2J");
        assert_eq!(filter.hint(escape, 0, &context).as_deref(), Some("a\\u001b[2J"));
    }
}
