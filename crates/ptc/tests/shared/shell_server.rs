//! A small MCP server over pipes, as a shell script: for tests that need a process of their own and little of it.

/// The script of a server. `listing` and `calling` are what it does for `tools/list` and `tools/call`, in shell: `answer
/// JSON` answers, `field NAME` is a word of the request, and `$line` is all of it.
pub fn shell_server(listing: &str, calling: &str) -> String {
    format!(
        r#"
answer() {{ printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$1"; }}
field() {{ printf '%s' "$line" | sed -n "s/.*\"$1\":\"\([a-z]*\)\".*/\1/p"; }}
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"initialize"'*) answer '{{"protocolVersion":"2025-11-25","serverInfo":{{"name":"script","version":"7"}},"capabilities":{{"tools":{{"listChanged":true}}}}}}' ;;
    *'"tools/list"'*) {listing} ;;
    *'"tools/call"'*) {calling} ;;
  esac
done
"#
    )
}

/// What a server does that lists these tools, a JSON text without `'`.
pub fn listing(tools: &str) -> String {
    format!("answer '{{\"tools\":{tools}}}'")
}

/// What a server does that lists one tool without more than its name.
pub fn listing_only(tool: &str) -> String {
    listing(&format!(r#"[{{"name":"{tool}","inputSchema":{{"type":"object"}}}}]"#))
}
