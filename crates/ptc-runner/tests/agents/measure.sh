#!/bin/sh
# Prints the length of the text in {"text": "…"} as JSON.
sed 's/^{"text":"\(.*\)"}$/\1/' | awk '{ printf "{\"length\": %d}", length($0) }'
