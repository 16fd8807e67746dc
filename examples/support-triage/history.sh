# Prints the closed tickets of one customer as a JSON array.
customer=$(sed -n 's/.*"customer": *"\([^"]*\)".*/\1/p')
printf '['
grep -F "{\"customer\": \"$customer\"" history.jsonl | paste -sd, -
printf ']'
