"""One object of every public class, shared by eight threads: no crash, error or wrong value.

On a CPython without the interpreter lock this finds races, on one with it what depends on order.
`BOARDLOT_TEST_PYTHON` names the interpreter; `make free-threaded-test` sets it.
"""

import inspect

import boardlot as bl
import pytest
from boardlot import _core

from ..support.processes import run_child
from .sharing import SHARED

# Types that cannot be made or shared by themselves: bases, and what needs a keychain.
NOT_SHARED = {
    *("ClientBase", "PagerBase", "OAuthAppBase", "KeyringStore"),
    *("AsyncPageIterator", "AsyncRowIterator"),
    # For the Python files of the package.
    "_FileLock",
}
# Public under another name here.
KNOWN_AS = {
    "Ready": "Awaitable",
    "RecordedRequest": "Sandbox",
    "Registration": "OAuthApp",
    "AuthorizationRequest": "OAuthApp",
}
KNOWN_AS |= dict.fromkeys(["RequestEvent", "ResponseEvent"], "Events")


# To start a child takes longer than to share an object.
CLASSES_OF_A_CHILD = 6


def groups():
    """The classes of each child; what is made on first use needs one of its own."""
    names = [name for name in SHARED if name != "FirstUse"]
    count = -(-len(names) // CLASSES_OF_A_CHILD)
    return [["FirstUse"], *(names[first::count] for first in range(count))]


@pytest.mark.parametrize("seconds", [0.2, pytest.param(30.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shared", groups(), ids=",".join)
def test_security_39_threads_share_an_object_of_every_class(shared, seconds):
    found = run_child("threads.sharing", shared=",".join(shared), seconds=seconds * len(shared))
    assert list(found) == shared
    for name, result in found.items():
        print(name, result["calls"], result["rounds"])
        assert result["errors"] == [], "\n".join([name, *result["errors"]])
        assert result["calls"] > 8


def test_security_39_every_public_class_is_shared():
    public = {name for module in (bl, _core) for name in module.__all__}
    classes = {
        name
        for name in public
        for kind in [getattr(bl, name, None) or getattr(_core, name, None)]
        if inspect.isclass(kind) and kind.__module__ in ("boardlot._core", "boardlot._api")
    }
    missing = {KNOWN_AS.get(name, name) for name in classes} - set(SHARED) - NOT_SHARED
    assert missing == set()
