//! Why a run, a turn or a definition failed: one table of reasons. The text of a reason is stable; hosts
//! and models match on it. Names that the first draft of the specification used are aliases.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A reason that the library gives. Programs add their own with `(fail {:reason :custom …})`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Reason(std::borrow::Cow<'static, str>);

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct ReasonInfo {
    /// The name.
    pub name: &'static str,
    /// The name in the first draft, where it differs.
    pub draft: Option<&'static str>,
    /// When it happens.
    pub when: &'static str,
}

macro_rules! reasons {
    ($($constant:ident $name:literal $(/ $draft:literal)? $when:literal)*) => {
        #[allow(missing_docs)]
        impl Reason {
            $(pub const $constant: Reason = Reason(std::borrow::Cow::Borrowed($name));)*
        }

        /// All reasons that the library gives.
        pub static REASONS: &[ReasonInfo] = &[
            $(ReasonInfo { name: $name, draft: reasons!(@draft $($draft)?), when: $when },)*
        ];
    };
    (@draft) => { None };
    (@draft $draft:literal) => { Some($draft) };
}

reasons! {
    FAILED "failed" "the program called `(fail …)` without a reason of its own"
    MAX_TURNS_EXCEEDED "max_turns_exceeded" "no answer within `max_turns`"
    BUDGET_EXHAUSTED "budget_exhausted" "no answer within `max_turns` and `retry_turns`"
    TURN_BUDGET_EXHAUSTED "turn_budget_exhausted" "the turns that all agents of the run share are used up"
    MAX_DEPTH_EXCEEDED "max_depth_exceeded" "agents nest deeper than `max_depth`"
    MISSION_TIMEOUT "mission_timeout" "the run took longer than `mission_timeout`"
    BUDGET_CALLBACK_EXCEEDED "budget_callback_exceeded" "the token budget is used up, or the host said stop"
    FUEL_EXHAUSTED "fuel_budget_exhausted" "the work that all agents of the run share is used up"
    COST_EXCEEDED "cost_exceeded" "the run would cost more than `max_cost_usd`"
    CONSECUTIVE_FAILURES "max_consecutive_failures" "too many turns in a row failed"
    LLM_ERROR "llm_error" "the model could not be reached, after all retries"
    LLM_REQUIRED "llm_required" "the run has no model"
    MODEL_NOT_FOUND "model_not_found" "nobody knows a model of this name"
    INVALID_LLM_REGISTRY "invalid_llm_registry" "the registry holds something that is no model"
    CHAINED_FAILURE "chained_failure" "the context is a step that failed"
    CHAIN_ERROR "chain_error" "the step before does not give what the next agent takes"
    TEMPLATE_ERROR "template_error" "a placeholder of the prompt has no value"
    RESERVED_TOOL_NAME "reserved_tool_name" "a tool has a name of the system"
    VALIDATION_ERROR "validation_error" "the answer breaks the signature and no turn is left"
    RETURN_VALIDATION_FAILED "return_validation_failed" "a returned value breaks the signature (a turn)"
    JSON_PARSE_ERROR "json_parse_error" "the answer is not the JSON that was asked for"
    EMPTY_RESPONSE "empty_response" "the model answered with nothing"
    NO_CODE_FOUND "no_code_found" "the reply has no program"
    REPLY_CUT "reply_cut" "the reply was cut at its limit of tokens before its program was whole"
    MULTIPLE_CODE_BLOCKS "multiple_code_blocks" "the reply has several programs"
    MUST_RETURN_MISSING "must_return_missing" "the last turn ended without `(return …)`"
    DIRECT_FINAL_INVALID "direct_final_invalid" "a direct final answer breaks the signature (a turn)"
    UNKNOWN_TOOL "unknown_tool" / "tool_not_found" "a tool that was not granted"
    MULTIPLE_TOOL_CALLS "multiple_tool_calls" "several tool calls where one is allowed (a turn)"
    MIXED_WITH_LISP_EVAL "mixed_with_lisp_eval" "`lisp_eval` beside other calls (a turn)"
    ARGS_ERROR "args_error" "arguments of a tool call cannot be read"
    TOOL_ERROR "tool_error" "a tool failed"
    APPROVAL_REJECTED "approval_rejected" "a person did not allow a call"
    APPROVAL_REQUIRED "approval_required" "the run waits until a person has decided about calls"
    TOOL_CALL_LIMIT_EXCEEDED "tool_call_limit_exceeded" "more tool calls than `max_tool_calls`"
    INVALID_TOOL_ARGS "invalid_tool_args" / "validation_error" "arguments break the tool's signature"
    PRIVATE_TOOL_UNAUTHORIZED "private_tool_unauthorized" "a private tool was called from a program"
    PARSE_ERROR "parse_error" "the program cannot be read"
    INVALID_FORM "invalid_form" / "analysis_error" "a form of the program is written wrongly (a turn)"
    INVALID_ARITY "invalid_arity" "a form has too many or too few parts (a turn)"
    DUPLICATE_KEY "duplicate_key" "a literal map or set names a key twice (a turn)"
    UNBOUND_VAR "unbound_var" "a name is not defined (a turn)"
    UNSUPPORTED_FORM "unsupported_form" "the language leaves out what the program uses (a turn)"
    TYPE_ERROR "type_error" "an argument has the wrong type (a turn)"
    ILLEGAL_ARGUMENT "illegal_argument" "an argument has a value that cannot work (a turn)"
    ARITHMETIC_ERROR "arithmetic_error" "division by zero, a result that does not fit, a decimal without an end (a turn)"
    ARITY_ERROR "arity_error" "a function was called with the wrong number of arguments (a turn)"
    NOT_CALLABLE "not_callable" "what is no function was called (a turn)"
    INDEX_OUT_OF_BOUNDS "index_out_of_bounds" "an index is outside of its collection (a turn)"
    FORMAT_ERROR "format_error" "a text is not what was to be read from it (a turn)"
    DESTRUCTURE_ERROR "destructure_error" "a binding form met a value it cannot take apart (a turn)"
    EXCEPTION "exception" "the program threw an exception (a turn)"
    PMAP_ERROR "pmap_error" "a branch of `pmap` failed (a turn)"
    PCALLS_ERROR "pcalls_error" "a branch of `pcalls` failed (a turn)"
    RUNTIME_ERROR "runtime_error" / "eval_error" "the program failed in another way while it ran"
    FUEL_EXCEEDED "fuel_exceeded" "the program did more work than `fuel` allows (a turn)"
    PROGRAM_TOO_LARGE "program_too_large" "the text of the program is too large (a turn)"
    NESTING_TOO_DEEP "nesting_too_deep" "a value or a form nests too deeply (a turn)"
    OUTPUT_EXCEEDED "output_exceeded" "the program prints or returns too much (a turn)"
    INTERNAL_ERROR "internal_error" "a mistake of the library itself"
    CONTEXT_CLASH "context_clash" "an input has the name of a tool"
    TIMEOUT "timeout" "the program took longer than `timeout`"
    MEMORY_EXCEEDED "memory_exceeded" "the program needs more memory than it has"
    MEMORY_LIMIT_EXCEEDED "memory_limit_exceeded" / "memory_exceeded" "definitions are larger than `memory_limit`"
    PRELUDE_ATTACH_FAILED "prelude_attach_failed" "a prelude needs what the run does not have"
    PARTIAL_SIDE_EFFECTS "partial_side_effects" "the host stopped a run that had changed something"
    CANCELLED "cancelled" "the host cancelled the run"
}

impl Reason {
    /// The reason of this name. Names of the draft give the reason they stand for.
    pub fn named(name: &str) -> Reason {
        let known = REASONS.iter().find(|info| info.name == name);
        let known = known.or_else(|| REASONS.iter().find(|info| info.draft == Some(name)));
        match known {
            Some(info) => Reason(info.name.into()),
            None => Reason(name.to_owned().into()),
        }
    }

    /// A reason of a program's or host's own, whatever its name.
    pub fn custom(name: impl Into<String>) -> Reason {
        Reason(name.into().into())
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The row of the table, for reasons that the library gives.
    pub fn info(&self) -> Option<&'static ReasonInfo> {
        REASONS.iter().find(|info| info.name == self.0)
    }

    /// Whether the reason goes by this name, today's or the draft's.
    pub fn is(&self, name: &str) -> bool {
        self.0 == name || self.info().is_some_and(|info| info.draft == Some(name))
    }
}

impl From<String> for Reason {
    fn from(name: String) -> Self {
        Reason(name.into())
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.0.into_owned()
    }
}

impl PartialEq<str> for Reason {
    fn eq(&self, name: &str) -> bool {
        self.0 == name
    }
}

impl PartialEq<&str> for Reason {
    fn eq(&self, name: &&str) -> bool {
        self.0 == *name
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
