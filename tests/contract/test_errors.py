"""The exceptions: their tree, their attributes, and that they survive pickle and copy."""

import builtins
import copy
import pickle
import sys
import traceback
from functools import partial

import pytest
from boardlot import errors
from boardlot._hints import HINTS

from ..support.vectors import table

CASES = table("errors")
TREE = CASES["tree"]


def built(name: str) -> tuple[errors.BoardlotError, dict[str, object]]:
    kind = getattr(errors, name)
    attributes: dict[str, object] = dict(CASES["attributes"])
    if issubclass(kind, errors.ApiError):
        attributes |= CASES["attributes of an API"]
    if kind is errors.RateLimited:
        attributes["retry_after"] = 2.0
    if issubclass(kind, errors.OAuthError):
        attributes |= {"error": "invalid_grant", "description": "used"}
    return kind("what happened", **attributes), attributes


def test_the_tree_is_whole() -> None:
    # Those of the core, and that of an archive's update, whose hint is that of its base class.
    assert set(errors.__all__) == {*TREE, "ArchiveUpdateError"}


@pytest.mark.parametrize("name", TREE)
def test_bases_and_defaults(name: str) -> None:
    bases = tuple(getattr(errors, base, None) or getattr(builtins, base) for base in TREE[name])
    assert getattr(errors, name).__bases__ == bases
    error = getattr(errors, name)("what happened")
    assert str(error) == "what happened"
    assert error.args == ("what happened",)
    assert (error.endpoint, error.retryable, error.checkpoint) == (None, False, None)


@pytest.mark.parametrize("name", TREE)
def test_every_error_says_what_to_do(name: str) -> None:
    kind = getattr(errors, name)
    hint = kind("what happened").hint
    if name in ("BoardlotError", "ConfigError"):
        # The class alone tells nothing to do.
        assert hint == "" and not getattr(kind("what happened"), "__notes__", None)
        return
    assert hint[0].isupper() and hint.endswith(".")
    # Each class has a sentence of its own.
    assert hint == HINTS[name] and list(HINTS.values()).count(hint) == 1
    assert kind("what happened", hint="Do this.").hint == "Do this."
    if sys.version_info >= (3, 11):
        assert kind("what happened").__notes__ == [f"hint: {hint}"]


def test_a_custom_error_class_has_the_hint_of_its_base() -> None:
    class Refused(errors.PermissionDenied):
        pass

    assert Refused("no").hint == HINTS["PermissionDenied"]


def pickled(error: errors.BoardlotError, protocol: int) -> errors.BoardlotError:
    return pickle.loads(pickle.dumps(error, protocol))


@pytest.mark.parametrize("name", ["ConfigError", "RateLimited", "LoginRequired"])
@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, *(partial(pickled, protocol=p) for p in (0, 5))],
)
def test_copies_and_pickles_with_every_attribute(name: str, again) -> None:  # type: ignore[no-untyped-def]
    error, attributes = built(name)
    twin = again(error)
    assert type(twin) is type(error) and twin is not error
    assert str(twin) == "what happened" and twin.args == error.args
    assert {key: getattr(twin, key) for key in attributes} == attributes
    assert getattr(twin, "__notes__", []) == getattr(error, "__notes__", [])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes are new in Python 3.11")
def test_the_hint_is_in_a_traceback_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # Importing `distributed` makes all exceptions copy in a way of its own.
    monkeypatch.setattr(copy, "dispatch_table", {})
    error, _ = built("RateLimited")
    shown = "".join(traceback.format_exception(pickle.loads(pickle.dumps(error))))
    assert shown.count("hint: Call again later.") == 1
    twin = copy.copy(error)
    twin.add_note("more")
    assert error.__notes__ == ["hint: Call again later."]


def test_a_subclass_with_its_own_init_pickles() -> None:
    error = Own(7)
    twin = pickle.loads(pickle.dumps(error))
    assert (twin.number, str(twin)) == (7, "number 7")


class Own(errors.ApiError):
    def __init__(self, number: int) -> None:
        super().__init__(f"number {number}")
        self.number = number
