"""Promise 31: under every kind of fault, exactly the right records or an error to resume from."""

import boardlot as bl
import pytest

from .fault_kinds import KINDS
from .fault_matrix import MODES, Case, run_cases, serve


@pytest.fixture(scope="module")
def world():
    with serve() as world:
        yield world


def test_security_31_every_kind_of_fault_in_every_operation(world):
    # Each kind meets every second operation; the long form has all, in both modes.
    cases = [
        Case(kind, operation, MODES[(row + column) // 2 % 2], 1)
        for row, kind in enumerate(KINDS)
        for column, operation in enumerate(world.operations)
        if (row + column) % 2 == 0
    ]
    outcome = run_cases(cases, world)
    assert outcome.failures == []
    # And the faults did happen, and could not be overlooked.
    met = {kind.name: outcome.faults[kind.name] for kind in KINDS if not kind.unresolved}
    assert {name: count for name, count in met.items() if count <= 10} == {}
    seen = {kind.name: outcome.errors[kind.name] for kind in KINDS if kind.name != "empty page"}
    assert {name: count for name, count in seen.items() if count <= 2} == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_security_31_every_kind_of_fault_in_every_operation_and_mode(world, seed):
    assert run_cases(world.cases(seed), world).failures == []


def test_security_31_every_method_of_a_client_is_an_operation(world):
    names = {name for name in vars(bl.Client) if not name.startswith("_")}
    assert names - {"close", "explain"} == {each.name for each in world.operations}
