"""Vectors: requests and responses written by hand from the service document, and cases of other
tests."""

import json
from pathlib import Path

from .service import response

VECTORS = Path(__file__).parent.parent / "vectors"


def table(name):
    """The cases of a file: calls, command lines and values, each with its expected result."""
    return json.loads((VECTORS / f"{name}.json").read_text("utf-8"))


def endpoint_vectors():
    """(endpoint, case) for every case of every file."""
    pairs = []
    for path in sorted((VECTORS / "endpoints").glob("*.json")):
        vector = json.loads(path.read_text("utf-8"))
        rows = vector.get("rows")
        pairs += [(vector["endpoint"], with_result(case, rows)) for case in vector["cases"]]
    return pairs


def with_result(case, rows):
    """A case with its result: if the case has neither a result nor an error, the `rows` of all its
    responses."""
    if "result" in case or "error" in case:
        return case
    result = []
    for exchange in case["exchanges"]:
        value = json.loads(exchange["response"]["body"])
        for name in rows.split("."):
            value = value[name]
        result += value
    return {**case, "result": result}


def vector_case(endpoint, name):
    """One case by its name, so that other tests can use its responses."""
    (case,) = [c for e, c in endpoint_vectors() if e == endpoint and c["name"] == name]
    return case


def scripted_responses(case):
    """The responses of a case, as the scripted server plays them."""
    responses = [exchange["response"] for exchange in case["exchanges"]]
    return [response(one["body"], one["status"], one.get("headers")) for one in responses]
