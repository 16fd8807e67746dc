//! HTTP APIs that an OpenAPI document describes, as upstreams.

mod client;
mod compile;
mod document;
mod pages;
mod path;
mod request;
mod response;
mod select;

pub(crate) use self::client::client;
pub use self::compile::{
    Choice, Compiled, Operation, Param, PathForm, PathStyle, Place, Style, compile, compile_all, tool_name,
};
pub use self::document::Document;
pub use self::request::{Request, request};
pub use self::response::payload;

#[cfg(test)]
mod tests;
