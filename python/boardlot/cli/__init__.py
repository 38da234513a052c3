"""The `boardlot` command.

`boardlot.cli.application` lists the commands, and loads only the module of the command that is
called.
"""

import sys

__all__ = ["main"]


def main(arguments: "list[str] | None" = None) -> int:
    """Run the command line.

    Args:
        arguments: The command line after the program's name; `None` takes it from `sys.argv`.

    Returns:
        The exit status: 0; 1 for an error after which the same command may succeed later; 2 for
        wrong usage; 3 for any other error. `boardlot.cli.statuses` has all of them.
    """
    try:
        import click  # noqa: F401
    except ModuleNotFoundError:
        print(
            "boardlot: the command line needs click: pip install 'boardlot[cli]'", file=sys.stderr
        )
        return 3
    try:
        from boardlot.cli.application import run

        return run(arguments)
    except KeyboardInterrupt:
        # The interrupt came before `run` could handle it.
        print("boardlot: interrupted", file=sys.stderr)
        return 130
