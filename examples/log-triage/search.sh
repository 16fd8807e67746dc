# Prints lines of the log as one JSON array: those of a level, and of a service if one is asked for.
asked=$(cat)
field() { printf '%s' "$asked" | sed -n "s/.*\"$1\": *\"\([a-z]*\)\".*/\1/p"; }
printf '['
grep "\"level\": \"$(field level)\", \"service\": \"$(field service)" logs.jsonl | paste -sd, -
printf ']'
