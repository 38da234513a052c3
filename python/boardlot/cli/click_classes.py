"""Click commands and arguments whose help has examples and a text for each argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from boardlot._support.clients import not_documented
from boardlot._support.messages.nearest import did_you_mean
from boardlot.cli.options import global_options
from boardlot.cli.output.terminal import logged_requests
from boardlot.cli.settings import OUTPUT_OPTIONS, Settings

# The kinds of output of a command: which options about it have an effect. "text" are lines for
# a person, or rows with --format or --out.
OUTPUTS: dict[str, Sequence[str]] = {
    "rows": OUTPUT_OPTIONS,
    "text": OUTPUT_OPTIONS,
    "bytes": ["--out", "--force"],
    "format": ["--format"],
    "force": ["--force"],
    "nothing": [],
}


class Argument(click.Argument):
    """An argument with a help text, which click itself supports only since 8.4."""

    def __init__(self, name: str, text: str, **more: Any) -> None:
        super().__init__([name], **more)
        self.text = text


class _Accepting(click.Command):
    """A command that accepts the global options, and whose help has examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.examples = examples
        # A command accepts all global options, except those of which it has one of the same name.
        taken = {name for own in self.params for name in (own.name, *own.opts)}
        options = global_options(hidden=True)
        self.shared: list[click.Option] = [
            x for x in options if taken.isdisjoint((x.name, *x.opts))
        ]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *self.shared]


class Command(_Accepting):
    """A command whose help has examples, and a text for each argument."""

    def __init__(self, *args: Any, output: str = "rows", **more: Any) -> None:
        super().__init__(*args, **more)
        self.output = output

    def invoke(self, ctx: click.Context) -> Any:
        settings = ctx.find_object(Settings)
        if settings is not None:
            self._check_output(ctx, settings)
            if settings.verbose:
                ctx.with_resource(logged_requests(settings))
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            # The error of an argument too many has no class of its own.
            is_extra = "extra argument" in error.message
            if isinstance(error, click.NoSuchOption):
                options = [option for one in self.get_params(ctx) for option in one.opts]
                text = f"No such option {error.option_name!r}"
                text += did_you_mean(error.option_name, options)
                raise click.UsageError(text, error.ctx) from None
            if type(error) is not click.MissingParameter and not is_extra:
                raise
            text = error.format_message().removesuffix(".") + "."
            # Arguments have no names on the command line.
            takes_some = any(isinstance(one, click.Argument) for one in self.params)
            if not self.examples or not takes_some:
                raise error from None
            raise click.UsageError(
                f"{text} Write it as in `{self.examples[0]}`.", error.ctx
            ) from None

    def _check_output(self, ctx: click.Context, settings: Settings) -> None:
        """Reject options about the output that would have no effect."""
        given = settings.output_options
        unused = [name for name in given if name not in OUTPUTS[self.output]]
        if unused:
            are, them = ("has", "it") if len(unused) == 1 else ("have", "them")
            raise click.UsageError(
                f"{', '.join(unused)} {are} no effect on `{ctx.command_path}`: leave {them} out"
            )
        if self.output == "text" and given and not {"--format", "--out"} & set(given):
            raise click.UsageError(
                f"{', '.join(given)}: `{ctx.command_path}` prints text, and rows only with "
                "--format or --out: add one of them"
            )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = click.Command.get_params(self, ctx)
        arguments = [
            (parameter.metavar or parameter.human_readable_name, parameter.text)
            for parameter in own
            if isinstance(parameter, Argument)
        ]
        _section(formatter, "Arguments", arguments)
        _section(formatter, "Options", _records(ctx, own))
        write_examples(formatter, self.examples)
        _section(formatter, "Global options", _records(ctx, self.shared))


class DataCommand(Command):
    """A command that sends requests: its help shows the global options too."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        unused = set(OUTPUTS["rows"]) - set(OUTPUTS[self.output])
        for option in self.shared:
            option.hidden = option.opts[0] in unused


class CommandGroup(_Accepting, click.Group):
    """A command with commands of its own, all of which accept the global options.

    A name may be typed in any case, and for one that does not exist the nearest one is suggested.
    """

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known:
            lower = args[0].lower()
            if lower in known:
                args = [lower, *args[1:]]
            elif not args[0].startswith("-"):
                nearest = not_documented(lower) or did_you_mean(args[0], known)
                ctx.fail(f"{args[0]!r} is not a command of {ctx.command_path}{nearest}")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        shared = {option.name for option in global_options()}
        own: list[click.Parameter] = []
        globally: list[click.Parameter] = []
        for parameter in self.get_params(ctx):
            (globally if parameter.name in shared else own).append(parameter)
        _section(formatter, "Global options", _records(ctx, globally))
        _section(formatter, "Options", _records(ctx, own))
        write_examples(formatter, self.examples)


def write_examples(formatter: click.HelpFormatter, examples: Sequence[str]) -> None:
    """Command lines, never wrapped."""
    if examples:
        with formatter.section("Examples"):
            for line in examples:
                formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def _section(formatter: click.HelpFormatter, title: str, lines: Sequence[tuple[str, str]]) -> None:
    if lines:
        with formatter.section(title):
            formatter.write_dl(lines)


def _records(ctx: click.Context, parameters: Sequence[click.Parameter]) -> list[tuple[str, str]]:
    options = [x for x in parameters if isinstance(x, click.Option)]
    return [record for x in options if (record := x.get_help_record(ctx)) is not None]
