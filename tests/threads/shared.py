"""What the shared objects have in common."""


class Shared:
    """An object that threads share: its operations, and what holds when they have ended."""

    def __init__(self, sandbox):
        self.sandbox = sandbox
        self.make()

    def make(self):
        """Makes the object."""

    def operations(self):
        """Functions without arguments, each of which raises where a value is wrong."""
        raise NotImplementedError

    def is_used_up(self):
        """Whether the object has nothing left to give."""
        return False

    def finish(self):
        """What holds when all threads have ended."""


def same(*calls):
    """Operations that give the same value each time, whoever else is at work."""
    return [again(call, call()) for call in calls]


def again(call, expected):
    def operation():
        found = call()
        assert found == expected, f"{found!r} in place of {expected!r}"

    return operation


def refused(kind, call):
    """An operation that is refused each time in the same way."""

    def operation():
        try:
            value = call()
        except kind:
            return
        raise AssertionError(f"{value!r} in place of {kind.__name__}")

    return operation
