//! The MCP server: PTC-Lisp programs for any client.
