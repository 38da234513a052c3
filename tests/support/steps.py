"""Counts calls of functions, and runs something before a chosen one."""


class Steps:
    """Calls of functions while `counting`; `at` runs before the call of number `number`."""

    def __init__(self, monkeypatch, functions, at):
        self.counting, self.count, self.number, self._at = False, 0, 0, at
        for owner, name in functions:
            monkeypatch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, function):
        def counted(*arguments, **named):
            if self.counting:
                self.count += 1
                if self.count == self.number:
                    self.counting = False
                    self._at()
            return function(*arguments, **named)

        return counted

    def start(self, number):
        self.counting, self.count, self.number = True, 0, number

    def end(self):
        """True if there was a call of that number."""
        self.counting = False
        return self.count >= self.number
