"""Calls as code: a function whose parameters are names of fixtures."""

import inspect


def called(call, request):
    """The result of a function, given the fixtures that its parameters name."""
    names = inspect.signature(call).parameters
    return call(**{name: request.getfixturevalue(name) for name in names})
