"""Calls methods of a `KeyringStore`, which are lines of stdin such as `["save", KEY, VALUE]`."""

import json
import sys

import boardlot as bl

for line in sys.stdin:
    name, key, *value = json.loads(line)
    try:
        found = getattr(bl.KeyringStore(), name)(key, *(text.encode() for text in value))
        print(json.dumps(found and found.decode()), flush=True)
    except bl.StoreError as error:
        print(json.dumps(["StoreError", bool(error.hint)]), flush=True)
