"""The app: its commands, its own options, and what happens to errors and warnings."""

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

from exactcp._starting import hearing_lost_ones, raise_interruptions
from exactcp.cli._compare import compare_command
from exactcp.cli._demo import demo
from exactcp.cli._drift import drift
from exactcp.cli._fit import fit
from exactcp.cli._inspect import inspect
from exactcp.cli._misuse import MisuseError
from exactcp.cli._predict import predict
from exactcp.cli._reproduce import reproduce
from exactcp.cli._results import NAME, give_up_standard_output, naming_standard_output
from exactcp.cli._warm_up import warm_up

# click's own exceptions, wherever this version of typer keeps them
_USAGE_ERRORS: tuple[type[BaseException], ...] = (
    typer.Exit,
    typer.Abort,
    *(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException"),
)


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

    def invoke(self, ctx: Any) -> Any:
        """Run the command, and turn what it raises into a sentence and an exit code."""
        try:
            raise_interruptions()
            with hearing_lost_ones(), _warnings_as_sentences():
                result = super().invoke(ctx)
            with naming_standard_output():
                if sys.stdout is not None:
                    sys.stdout.flush()
        except _USAGE_ERRORS:
            raise
        except KeyboardInterrupt:
            typer.echo("exactcp: interrupted.", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # who reads the pipe has seen enough
            give_up_standard_output()
            raise typer.Exit(0) from None
        except Exception as error:  # noqa: BLE001  (a user gets a sentence, whatever went wrong)
            if ctx.params.get("debug"):
                traceback.print_exc()
            typer.echo(f"exactcp: {_sentence(error)}", err=True)
            if isinstance(error, OSError) and error.filename == NAME:
                give_up_standard_output()
            raise typer.Exit(2 if isinstance(error, MisuseError) else 1) from None
        return result


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}."
    if isinstance(error, ValueError | TypeError | RuntimeError | ImportError | OSError) and text:
        return text
    if isinstance(error, MemoryError):
        return f"not enough memory ({text or 'no size told'}): use fewer rows or columns."
    return f"{type(error).__name__}: {text} (unexpected: run again with --debug to see where)."


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        show = warnings.showwarning

        def show_sentence(message: Any, category: Any, *rest: Any, **options: Any) -> None:
            if issubclass(category, UserWarning):
                typer.echo(f"exactcp: warning: {message}", err=True)
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
    """Full conformal prediction, exact and fast.

    A table with a column to predict is all that is needed:

    exactcp compare DATA.csv --target COLUMN             which predictor suits it
    exactcp predict DATA.csv --target COLUMN --folds 5   how good it is
    exactcp fit DATA.csv --target COLUMN --save MODEL    learn, and keep it
    exactcp predict --model MODEL NEW.csv                predict new rows
    """


app.command("compare", cls=PlainCommand)(compare_command)
app.command(cls=PlainCommand)(predict)
app.command(cls=PlainCommand)(fit)
app.command(cls=PlainCommand)(inspect)
app.command(cls=PlainCommand)(drift)
app.command(cls=PlainCommand)(demo)
app.command(cls=PlainCommand)(reproduce)
app.command("warm-up", cls=PlainCommand)(warm_up)


def main() -> None:
    """Run the command line."""
    _open_what_is_closed()
    app(prog_name="exactcp")


def _open_what_is_closed() -> None:
    """Let words go nowhere if the standard error stream is closed; and no file that is opened may get its number."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (until the process ends)
