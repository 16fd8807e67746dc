"""Holds arguments to schemas with the jsonschema package: a line {"name", "schema", "args"} each in, what is wrong out."""

import json
import sys

import jsonschema

for line in sys.stdin:
    case = json.loads(line)
    schema = case["schema"]
    validator = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
    checker = validator(schema, format_checker=validator.FORMAT_CHECKER)
    for error in checker.iter_errors(case["args"]):
        print(f"{case['name']}: {error.json_path}: {error.message[:200]}")
