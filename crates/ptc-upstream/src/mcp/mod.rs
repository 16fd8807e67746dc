//! Clients of MCP servers. No type of the protocol library leaves this module.
