//! Cards: prompt texts in files, one per subject.
//!
//! A file begins with notes for maintainers, among them `budget:`, the most bytes that its text may have.
//! Only what stands between the two markers is sent. The card about the language is a page that programs read, too.

use ptc_lisp::pages;

macro_rules! cards {
    ($($(#[doc = $doc:literal])* $variant:ident $key:literal)*) => {
        /// A prompt text.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Card {
            /// The language, for a reader who knows Clojure.
            Reference,
            $($(#[doc = $doc])* $variant,)*
        }

        impl Card {
            /// Every card.
            pub const ALL: &'static [Card] = &[Card::Reference, $(Card::$variant,)*];

            /// Its name.
            pub fn key(self) -> &'static str {
                match self {
                    Card::Reference => "reference",
                    $(Card::$variant => $key,)*
                }
            }

            /// The whole file, notes included.
            pub(crate) fn source(self) -> &'static str {
                match self {
                    Card::Reference => pages::LANGUAGE,
                    $(Card::$variant => include_str!(concat!("../../prompts/", $key, ".md")),)*
                }
            }
        }
    };
}

cards! {
    /// How an agent with one turn answers.
    SingleShot "single-shot"
    /// How turns go.
    MultiTurn "multi-turn"
    /// How an agent with several turns ends.
    ExplicitReturn "explicit-return"
    /// Tasks that are kept.
    Journal "journal"
    /// A program in a code block.
    OutputContent "output-content"
    /// A program in a code block, after some thinking.
    OutputContentThinking "output-content-thinking"
    /// A program by native tool call.
    OutputToolCall "output-tool-call"
    /// A program by native tool call, beside some thinking.
    OutputToolCallThinking "output-tool-call-thinking"
    /// The language in brief, beside native tools.
    Combined "combined"
    /// Answers in JSON.
    JsonSystem "json-system"
    /// Native tools.
    TextToolsSystem "text-tools-system"
    /// Nothing but text.
    PlainSystem "plain-system"
    /// The builtin tool `llm-query`.
    LlmQuery "llm-query"
    /// `lisp_eval` for PTC-Lisp agents.
    LispEvalWithAppTools "lisp-eval-with-app-tools"
    /// `lisp_eval` for combined agents.
    LispEvalTextMode "lisp-eval-text-mode"
    /// `lisp_eval` without tools of an application.
    LispEvalNoTools "lisp-eval-no-tools"
    /// The parameter of `lisp_eval`.
    LispEvalProgram "lisp-eval-program"
}

impl Card {
    /// The text that is sent.
    pub fn text(self) -> &'static str {
        pages::text(self.source())
    }

    /// The text with numbers in place of their names.
    pub(super) fn filled(self, numbers: &[(&str, usize)]) -> String {
        let text = self.text().to_owned();
        numbers.iter().fold(text, |text, (name, number)| text.replace(name, &number.to_string()))
    }

    /// The card of this name.
    pub fn named(key: &str) -> Option<Card> {
        Card::ALL.iter().copied().find(|card| card.key() == key)
    }
}
