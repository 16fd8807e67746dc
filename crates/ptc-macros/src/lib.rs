//! `#[tool]`: a plain Rust function as a tool. Parameters become the signature, the doc comment the
//! description. `ptc_agent::typed` documents what it is for and has examples.
//!
//! | file | what it knows |
//! |---|---|
//! | `options` | what may stand in the brackets of the attribute |
//! | `function` | what is wanted of the function, and errors that point at what is not |
//! | `expand` | the code that is written |

mod expand;
mod function;
mod options;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Makes a function a tool: a type of the same name then implements `ptc_agent::typed::TypedFunction`.
///
/// The function stays as it is, synchronous or `async`. Its parameters are owned values that `serde`
/// reads and `schemars` describes; `Option` parameters may be left out, and a doc comment on a parameter
/// describes it. A single parameter called `args`, or written as a struct pattern, takes the whole
/// argument map. The result is a value, or a `Result` whose error is text for the model.
///
/// Options: `name = "…"` for another name, `description = "…"` in place of the doc comment, and
/// `crate = path` where `ptc_agent` is reached by another path.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    expand::tool(options.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}
