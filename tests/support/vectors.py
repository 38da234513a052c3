"""The vectors: requests and answers written by hand from the service document."""

import json
from pathlib import Path

from .service import response

VECTORS = Path(__file__).parent.parent / "vectors"


def endpoint_vectors():
    """(endpoint, case) for every case of every file."""
    pairs = []
    for path in sorted((VECTORS / "endpoints").glob("*.json")):
        vector = json.loads(path.read_text("utf-8"))
        pairs += [(vector["endpoint"], case) for case in vector["cases"]]
    return pairs


def vector_case(endpoint, name):
    """One case by its name, so that other tests can use its answers."""
    (case,) = [c for e, c in endpoint_vectors() if e == endpoint and c["name"] == name]
    return case


def scripted_answers(case):
    """The answers of a case, as the scripted server plays them."""
    told = [exchange["answer"] for exchange in case["exchanges"]]
    return [response(one["body"], one["status"], one.get("headers")) for one in told]
