//! What can go wrong: one error type with a kind, a place, a message and a hint.
//!
//! The message says what happened, the hint what to write instead. Renderers for people and for
//! models are in `render`; nothing else turns an error into text.

use std::borrow::Cow;

use crate::span::Span;

/// Bytes of a value that an error quotes at most. Errors are shown to models, and a piece of data that is longer could be
/// recognised.
pub(crate) const QUOTED: usize = 31;

/// As much of a text as an error quotes.
pub(crate) fn excerpt(text: &str) -> Cow<'_, str> {
    const MORE: &str = "…";
    match text.len() <= QUOTED {
        true => text.into(),
        false => format!("{}{MORE}", &text[..text.floor_char_boundary(QUOTED - MORE.len())]).into(),
    }
}

/// As much of a written value as an error quotes: a text that is cut ends with its quote all the same, so that nobody takes
/// what follows for a part of it.
pub(crate) fn excerpt_of_value(written: &str) -> String {
    let shown = excerpt(written);
    if shown != written && in_text(&shown) { format!("{shown}\"") } else { shown.into_owned() }
}

/// Whether the end of a written value is inside of a text.
fn in_text(written: &str) -> bool {
    let (mut inside, mut escaped) = (false, false);
    for c in written.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => inside = !inside,
            _ => {}
        }
    }
    inside
}

/// Whether a hint has a piece of what a message quotes: of what stands behind a quote, a colon or a bracket.
fn repeats(hint: &str, message: &str) -> bool {
    /// Bytes of a piece: fewer say nothing.
    const PIECE: usize = 5;
    let behind = |(at, c): (usize, char)| "\"`':[({".contains(c).then_some(at + 1);
    let mut quoted = message.char_indices().filter_map(behind).filter_map(|from| {
        let piece = message.get(from..message.ceil_char_boundary(from + PIECE))?;
        (piece.len() >= PIECE && !piece.starts_with(' ')).then_some(piece)
    });
    quoted.any(|piece| hint.contains(piece))
}

/// The kinds of error. The text of a kind is stable: hosts and models match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The reader could not make sense of the text.
    Parse,
    /// A form is written wrongly.
    InvalidForm,
    /// A form has too many or too few parts.
    InvalidArity,
    /// A literal map or set names the same key twice.
    DuplicateKey,
    /// A name is not defined.
    UnboundVar,
    /// A Clojure feature that PTC-Lisp leaves out.
    Unsupported,
    /// An argument has the wrong type.
    Type,
    /// An argument has the right type but a value that cannot work.
    IllegalArgument,
    /// Division by zero and its like.
    Arithmetic,
    /// A function was called with the wrong number of arguments.
    Arity,
    /// A value that is not a function was called.
    NotCallable,
    /// An index outside its collection.
    IndexOutOfBounds,
    /// Text that does not parse as what was asked for.
    Format,
    /// A binding form met a value it cannot take apart.
    Destructure,
    /// An exception the program threw.
    Exception,
    /// Any other failure of the program.
    Runtime,
    /// A tool that was not granted.
    UnknownTool,
    /// Arguments a tool cannot take.
    InvalidToolArgs,
    /// The prelude of the run could not be attached.
    PreludeAttach,
    /// A tool failed.
    Tool,
    /// A person did not allow a call of a tool.
    Rejected,
    /// A `pmap` worker failed.
    Pmap,
    /// A `pcalls` worker failed.
    Pcalls,
    /// The program used up its fuel.
    FuelExceeded,
    /// The program used more memory than it was given.
    MemoryExceeded,
    /// The program ran out of time.
    Timeout,
    /// The program was cancelled from outside.
    Cancelled,
    /// More tool calls than allowed.
    ToolCallLimit,
    /// The source text is too large.
    ProgramTooLarge,
    /// A value or form is nested too deeply.
    NestingTooDeep,
    /// More printed or returned text than allowed.
    OutputExceeded,
    /// A call waits for somebody's approval; the host holds the program.
    ApprovalRequired,
    /// A bug of the machine itself; the host has stopped the program.
    Internal,
}

impl ErrorKind {
    /// The stable name of the kind.
    pub fn reason(self) -> &'static str {
        use ErrorKind::*;
        match self {
            Parse => "parse_error",
            InvalidForm => "invalid_form",
            InvalidArity => "invalid_arity",
            DuplicateKey => "duplicate_key",
            UnboundVar => "unbound_var",
            Unsupported => "unsupported_form",
            Type => "type_error",
            IllegalArgument => "illegal_argument",
            Arithmetic => "arithmetic_error",
            Arity => "arity_error",
            NotCallable => "not_callable",
            IndexOutOfBounds => "index_out_of_bounds",
            Format => "format_error",
            Destructure => "destructure_error",
            Exception => "exception",
            Runtime => "runtime_error",
            UnknownTool => "unknown_tool",
            InvalidToolArgs => "invalid_tool_args",
            PreludeAttach => "prelude_attach_failed",
            Tool => "tool_error",
            Rejected => "approval_rejected",
            Pmap => "pmap_error",
            Pcalls => "pcalls_error",
            FuelExceeded => "fuel_exceeded",
            MemoryExceeded => "memory_exceeded",
            Timeout => "timeout",
            Cancelled => "cancelled",
            ToolCallLimit => "tool_call_limit_exceeded",
            ProgramTooLarge => "program_too_large",
            NestingTooDeep => "nesting_too_deep",
            OutputExceeded => "output_exceeded",
            ApprovalRequired => "approval_required",
            Internal => "internal_error",
        }
    }

    /// Whether `try` may catch it. Limits hold against the program, so it cannot catch them.
    pub fn is_catchable(self) -> bool {
        use ErrorKind::*;
        !matches!(
            self,
            FuelExceeded
                | MemoryExceeded
                | Timeout
                | Cancelled
                | ToolCallLimit
                | OutputExceeded
                | NestingTooDeep
                | ApprovalRequired
                | Internal
        )
    }
}

/// An error: kind, message, hint and place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}: {}", kind.reason(), self.text())]
pub struct Error {
    /// What sort of error it is.
    pub kind: ErrorKind,
    /// What happened, one sentence without the kind.
    pub message: String,
    /// The function that found fault, if one did; messages begin with it.
    pub function: Option<String>,
    /// How to fix it, if that is known.
    pub hint: Option<String>,
    /// Where it happened, if that is known.
    pub span: Option<Span>,
    /// Other places that matter, each with a note ("the bracket was opened here").
    pub notes: Vec<(Span, String)>,
    /// The repaired source text, when the repair is certain.
    pub repaired: Option<String>,
}

impl Error {
    /// An error without place or hint.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            function: None,
            hint: None,
            span: None,
            notes: Vec::new(),
            repaired: None,
        }
    }

    /// Whether the hint is no advice but the data of what a program or a tool threw, which may be anybody's words. What a
    /// tool raised keeps its kind where a program throws it again.
    pub fn tells_data(&self) -> bool {
        self.kind == ErrorKind::Exception
            || self.hint.as_deref().is_some_and(|hint| hint.starts_with("its data is {"))
    }

    /// Whether the hint is advice in our words alone. One that repeats what the message quotes may hold anybody's words.
    pub fn advises(&self) -> bool {
        let hint = self.hint.as_deref().unwrap_or_default();
        !self.tells_data() && !repeats(hint, &self.message)
    }

    /// The error for a call with the wrong number of arguments: `f takes 2 arguments, got 1`. What is
    /// expected is in words: `2`, `1 or 2`, `at least 1`.
    pub fn wrong_arity(name: &str, expected: &str, count: usize) -> Self {
        let plural = if expected == "1" || expected.ends_with(" 1") { "" } else { "s" };
        Error::new(ErrorKind::Arity, format!("{name} takes {expected} argument{plural}, got {count}"))
    }

    /// A call of a tool with arguments that have no names. Hosts that know the parameters say them in the hint.
    pub fn positional_arguments(tool: &str) -> Self {
        let message = format!("tool/{tool} takes named arguments, not positional ones");
        let form = match tool {
            "call" => "{:server \"…\" :tool \"…\" :args {…}}",
            _ => "{:name value}",
        };
        Error::new(ErrorKind::InvalidToolArgs, message).hint(format!("write (tool/{tool} {form})"))
    }

    /// The message with the function that found fault before it. `Divide by zero` says which it was.
    pub fn text(&self) -> String {
        let named = |function: &str| {
            let says_so = self.message.strip_prefix(function).is_some_and(|rest| rest.starts_with(' '));
            !says_so && (self.kind != ErrorKind::Arithmetic || function != "/")
        };
        match &self.function {
            Some(function) if named(function) => format!("{function}: {}", self.message),
            _ => self.message.clone(),
        }
    }

    /// Adds the place, unless a more precise one is already there.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds another place that matters.
    #[must_use]
    pub fn note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.notes.push((span, text.into()));
        self
    }
}
