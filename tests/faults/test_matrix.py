"""Promise 31: under every kind of fault, exactly the right records or an error to resume from."""

import json
from dataclasses import replace

import boardlot as bl
import pytest

from ..support.operations import Operation
from .exchanges import json_response
from .kinds import KINDS, Kind
from .matrix import MODES, Case, World, run_case, run_cases


@pytest.fixture(scope="module")
def world():
    made = World()
    yield made
    made.sandbox.close()


def test_security_31_every_kind_of_fault_in_every_operation(world):
    # Each kind meets each operation once; `make faults` runs both modes and 30 seeds.
    cases = [
        Case(kind, operation, MODES[(row + column) % 2], 1)
        for row, kind in enumerate(KINDS)
        for column, operation in enumerate(world.operations)
    ]
    outcome = run_cases(cases, world)
    assert outcome.failures == []
    # And the faults did happen, and could not be overlooked.
    met = {kind.name: outcome.faults[kind.name] for kind in KINDS if not kind.unresolved}
    assert {name: count for name, count in met.items() if count <= 10} == {}
    seen = {kind.name: outcome.errors[kind.name] for kind in KINDS if kind.name != "empty page"}
    assert {name: count for name, count in seen.items() if count <= 5} == {}


def test_security_31_every_method_of_a_client_is_an_operation(world):
    names = {name for name in vars(bl.Client) if not name.startswith("_")}
    assert names - {"close", "explain"} == {each.name for each in world.operations}


async def another_price(exchange):
    response = await exchange.real()
    body = response.body.replace(b'"qty":"1', b'"qty":"2')
    return await exchange.send(json_response(200, body))


async def one_row_less(exchange):
    response = await exchange.real()
    envelope = json.loads(response.body)
    envelope["d"]["order_fills"].pop()
    return await exchange.send(json_response(200, json.dumps(envelope).encode()))


def test_an_error_of_a_broader_class_than_its_fault_requires_is_found_by_these_tests(world):
    # What comes is a `ClockSkewError`, which is an `AuthenticationError` too.
    (skew,) = [kind for kind in KINDS if kind.name == "-12006"]
    (dividends,) = [each for each in world.operations if each.name == "dividends"]
    broader = replace(skew, errors=(bl.AuthenticationError,))
    runs = [run_case(Case(kind, dividends, "sync", 1), world) for kind in (skew, broader)]
    assert runs[0][0] is None and "ClockSkewError" in runs[1][0]


@pytest.mark.parametrize("lie", [another_price, one_row_less])
def test_a_wrong_or_a_lost_record_is_found_by_these_tests(world, lie):
    (fills,) = [each for each in world.operations if each.name == "fills_history"]
    assert isinstance(fills, Operation)
    wrong, case_run = run_case(Case(Kind("a lie", lie, ()), fills, "sync", 1), world)
    assert case_run.faults > 0 and "rows for" in wrong
