//! Functions of the host: ones that answer when they return, and async ones.

use std::fmt::{self, Display};
use std::sync::Arc;

use serde_json::Value as Json;

use super::Later;
use crate::typed::Call;

/// What a tool gave: a value, or what went wrong in words for the model.
pub type ToolResult = Result<Json, String>;

/// What functions of tools may return: JSON, or a `Result` of it.
pub trait IntoToolResult {
    /// The result.
    fn into_tool_result(self) -> ToolResult;
}

impl IntoToolResult for Json {
    fn into_tool_result(self) -> ToolResult {
        Ok(self)
    }
}

impl<E: Display> IntoToolResult for Result<Json, E> {
    fn into_tool_result(self) -> ToolResult {
        self.map_err(|error| error.to_string())
    }
}

/// A function of the host.
#[derive(Clone)]
pub enum Function {
    /// Answers when it returns; it may block.
    Sync(Arc<dyn Fn(Json) -> ToolResult + Send + Sync>),
    /// Answers later.
    Later(Arc<dyn Fn(Json) -> Later + Send + Sync>),
    /// A typed function, which does one or the other.
    Typed(fn(Json) -> Call),
}

impl Function {
    pub(super) fn sync<R: IntoToolResult>(function: impl Fn(Json) -> R + Send + Sync + 'static) -> Self {
        Function::Sync(Arc::new(move |args| function(args).into_tool_result()))
    }

    pub(super) fn later<R: IntoToolResult, F: Future<Output = R> + Send + 'static>(
        function: impl Fn(Json) -> F + Send + Sync + 'static,
    ) -> Self {
        Function::Later(Arc::new(move |args| {
            let future = function(args);
            Box::pin(async move { future.await.into_tool_result() })
        }))
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Function::Sync(_) => "sync",
            Function::Later(_) => "async",
            Function::Typed(_) => "typed",
        })
    }
}
