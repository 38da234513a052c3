"""`boardlot completion`: the script that makes a shell complete commands, options and values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from boardlot.cli.click_classes import Argument, Command


@click.command(
    "completion",
    cls=Command,
    output="nothing",
    params=[
        Argument(
            "shell",
            "Your shell.",
            metavar="bash|zsh|fish",
            type=click.Choice(["bash", "zsh", "fish"], case_sensitive=False),
        )
    ],
    examples=[
        "boardlot completion bash > ~/.local/share/bash-completion/completions/boardlot",
        """echo 'eval "$(boardlot completion zsh)"' >> ~/.zshrc""",
        "boardlot completion fish > ~/.config/fish/completions/boardlot.fish",
    ],
)
def completion(shell: str) -> None:
    """Print the script that makes a shell complete commands, options, profiles and columns.

    bash must be 4.4 or newer. The script asks `boardlot` itself for completions, so it needs no
    update when boardlot is updated.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    app = click.get_current_context().find_root().command
    text = kind(app, {}, "boardlot", "_BOARDLOT_COMPLETE").source()
    # click's script for fish splits at every comma; a list of columns has some itself.
    click.echo(text.replace('string split ","', 'string split -m 1 ","'))
