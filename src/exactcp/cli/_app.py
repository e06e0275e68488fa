"""The app: its commands, and what happens to errors and warnings.

Standard output has results alone; everything else goes to standard error. An error is one sentence: exit code 2 for a
mistake in the command, 1 for anything else, 130 for an interruption.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from exactcp import _compiling
from exactcp.cli._compare import compare
from exactcp.cli._demo import demo
from exactcp.cli._drift import drift
from exactcp.cli._mistakes import MisuseError
from exactcp.cli._models import fit, inspect
from exactcp.cli._predict import predict
from exactcp.cli._reproduce import reproduce
from exactcp.cli._tables import say
from exactcp.cli._warming import warm_up

# click's own exception, wherever this version of typer keeps it
UsageMistake: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")


class _PlainFlags:
    """Options without a value are shown without the type of one in the help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class PlainCommand(_PlainFlags, TyperCommand):
    """A command."""


class OneSentenceGroup(_PlainFlags, TyperGroup):
    """Commands whose errors are one sentence each."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take `--debug` wherever it stands: it is mostly added at the end of a line that has failed."""
        own = args[: args.index("--")] if "--" in args else args
        if "--debug" in own:
            args = ["--debug", *(a for a in own if a != "--debug"), *args[len(own) :]]
        return super().parse_args(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command, and turn a mistake in the typed line into a sentence."""
        try:
            code = super().main(*args, standalone_mode=False, **extra)  # type: ignore[misc]
        except UsageMistake as error:
            text = error.format_message()
            typer.echo(text if type(error).__name__ == "NoArgsIsHelpError" else f"exactcp: {_line(text)}", err=True)
            code = error.exit_code
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and turn what it raises into a sentence and an exit code."""
        try:
            with _warnings_as_sentences(), _compiling.shown(say):
                result = super().invoke(ctx)
                sys.stdout.flush()
        except (UsageMistake, typer.Exit, typer.Abort):
            raise
        except KeyboardInterrupt:
            say("interrupted.")
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of the pipe has seen enough
            _close_standard_output()
            raise typer.Exit(0) from None
        except Exception as error:  # noqa: BLE001  (a user gets a sentence, whatever went wrong)
            if ctx.params.get("debug"):
                traceback.print_exc()
            say(_sentence(error))
            if isinstance(error, OSError) and error.filename is None:
                _close_standard_output()
            raise typer.Exit(2 if isinstance(error, MisuseError) else 1) from None
        return result


def _line(text: str) -> str:
    text = " ".join(text.split()).removeprefix("Value error, ").replace(": Value error, ", ": ")
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'standard output'}: {error.strerror}."
    if isinstance(error, ValueError | TypeError | RuntimeError | ImportError | OSError) and text:
        return text
    if isinstance(error, MemoryError):
        return f"not enough memory ({text or 'size unknown'}): use fewer rows or columns."
    return f"{type(error).__name__}: {text} (unexpected: run again with --debug to see where)."


def _close_standard_output() -> None:
    """Discard what is still to be written, so that Python does not complain at the end either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        show = warnings.showwarning

        def show_sentence(message: Any, category: Any, *rest: Any, **options: Any) -> None:
            if issubclass(category, UserWarning):
                say(f"warning: {message}")
            else:
                show(message, category, *rest, **options)

        warnings.showwarning = show_sentence
        yield


app = typer.Typer(
    cls=OneSentenceGroup,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _print_version(value: bool) -> None:
    if value:
        from exactcp import __version__

        typer.echo(f"exactcp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Full conformal prediction, exact and fast. Give a table and the column to predict.

    exactcp compare DATA.csv --target COLUMN             which predictor suits it
    exactcp predict DATA.csv --target COLUMN --folds 5   how good it is
    exactcp fit DATA.csv --target COLUMN --save MODEL    train with all rows
    exactcp predict MODEL NEW.csv                        predict new rows
    """


for command in (compare, predict, fit, inspect, drift, demo, reproduce):
    app.command(cls=PlainCommand)(command)
app.command("warm-up", cls=PlainCommand, hidden=True)(warm_up)


def main() -> None:
    """Run the command line."""
    app(prog_name="exactcp")
