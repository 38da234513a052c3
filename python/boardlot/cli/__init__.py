"""The `boardlot` command.

Each command is one module with a click command named `command`; `boardlot.cli.app` lists them and
loads only the one that is called.
"""

import sys

__all__ = ["main"]


def main(arguments: "list[str] | None" = None) -> int:
    """Run the command line.

    Args:
        arguments: What follows the program's name; `None` takes it from the process.

    Returns:
        The exit status: 0, 1 where the service or the network said no, 2 for wrong usage.
    """
    try:
        import click  # noqa: F401
    except ModuleNotFoundError:
        print(
            "boardlot: the command line needs click: pip install 'boardlot[cli]'", file=sys.stderr
        )
        return 1
    try:
        from boardlot.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        # Before `run` was there to handle it.
        print("boardlot: interrupted", file=sys.stderr)
        return 130
