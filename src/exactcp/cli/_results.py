"""Results go to standard output, which an error that has no file's name is about."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import typer

NAME = "standard output"


@contextmanager
def naming_standard_output() -> Iterator[None]:
    """Let an error of the system, such as a full disk, name standard output."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno or 0, error.strerror or str(error), NAME) from error


def print_result(text: str) -> None:
    """Print a line, which a reader at the other end of a pipe sees at once."""
    with naming_standard_output():
        typer.echo(text)
        if sys.stdout is not None:
            sys.stdout.flush()


def give_up_standard_output() -> None:
    """Let what is still to be written go nowhere, so that Python does not complain at the end either."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
