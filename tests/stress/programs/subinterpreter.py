"""Imports the package in a subinterpreter."""

import sys

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
source = f"import sys; sys.path[:] = {sys.path!r}\nimport boardlot"
try:
    print(interpreters.run_string(interpreters.create(), source))
except Exception as error:
    print(error)
