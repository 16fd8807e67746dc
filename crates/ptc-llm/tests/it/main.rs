//! Models, driven as agents drive them: offline ones, and those of providers against a server of our own.

mod anthropic;
mod bedrock;
mod docs;
mod failures;
mod genai;
mod offline;
mod openai;
mod server;
