"""Holds files against a schema: validate_json.py SCHEMA FILE... Files in .pickle are Python's
pickles, the others JSON. Prints a line for each: its name, and "valid" or what is wrong first."""
import json
import pathlib
import pickle
import sys

import jsonschema

schema = json.loads(pathlib.Path(sys.argv[1]).read_text())
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
for name in sys.argv[2:]:
    data = pathlib.Path(name).read_bytes()
    document = pickle.loads(data) if name.endswith(".pickle") else json.loads(data)
    error = jsonschema.exceptions.best_match(validator.iter_errors(document))
    print(name, "valid" if error is None else f"{error.json_path}: {error.message[:200]}")
