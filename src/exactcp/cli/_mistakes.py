"""The error for a mistake of the user, and the checks and words that sentences about mistakes share."""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

PAGES = (".html", ".htm")


class MisuseError(ValueError):
    """A mistake of the user in the command itself: its sentence is printed, and the exit code is 2."""


def check_confidence(level: float) -> None:
    """Refuse a level that is not a probability."""
    if not 0 < level < 1:
        hint = f", such as {level / 100:g}" if 1 < level < 100 else ""
        msg = f"--confidence {level:g} is not a probability: use a number between 0 and 1{hint}."
        raise MisuseError(msg)


def check_columns(option: str, wanted: Iterable[str], names: Iterable[str], where: str) -> None:
    """Refuse a name that is not that of a column, and propose the nearest."""
    known = list(dict.fromkeys(names))
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known)
            if len(known) == 1 and any(mark in known[0] for mark in ";\t|"):
                hint = " Use --separator if the cells are not separated by commas."
            msg = f"{option} {name} is not a column of {where}, which has {some(known)}.{hint}"
            raise MisuseError(msg)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question that names the nearest of the names, if one is near.

    Examples
    --------
    >>> did_you_mean("origin", ["Origin", "Weight"])
    ' Did you mean Origin?'
    >>> did_you_mean("price", ["Origin", "Weight"])
    ''
    """
    folded = {other.strip().casefold(): other for other in names}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=1, cutoff=0.6)
    return f" Did you mean {folded[near[0]]}?" if near else ""


def some(names: Iterable[Any], most: int = 8) -> str:
    """Return the first of some names, and the number of the others."""
    shown = [str(name) for name in names]
    more = f" and {len(shown) - most} more" if len(shown) > most else ""
    return ", ".join(shown[:most]) + more


def pasted(option: str, value: str | Path) -> str:
    """Return an option with its value, as a shell takes it.

    Examples
    --------
    >>> pasted("--ignore", "a column")
    "--ignore 'a column'"
    """
    return f"{option} {shlex.quote(str(value))}"


def is_standard(path: Path | str | None) -> bool:
    """Return whether a file is standard input or output, which is called -."""
    return str(path) == "-"


def check_readable(files: Mapping[str, Path]) -> None:
    """Refuse files that are not there, before anything is imported."""
    if sum(is_standard(path) for path in files.values()) > 1:
        msg = f"{' and '.join(files)} are both -, and standard input can be read once: name a file for one of them."
        raise MisuseError(msg)
    for path in files.values():
        if is_standard(path):
            continue
        if any(sign in path.name for sign in "*?[") and not path.exists():
            msg = f"{path} is a pattern of several files: name one file; in Python, exactcp.dask reads many."
            raise MisuseError(msg)
        if path.is_dir():
            msg = f"{path} is a directory: expected a file, such as a CSV file."
            raise MisuseError(msg)
        with path.open("rb"):
            pass


def check_writable(path: Path, endings: Iterable[str], others: Mapping[str, Path | None]) -> None:
    """Refuse a file that cannot be written, is not what its name says, or is used otherwise; before any work.

    Parameters
    ----------
    path : Path
    endings : iterable of str
        Of the kinds that can be written; a name without any is fine, and none means that any is.
    others : mapping
        Name to file: those that must stay what they are.
    """
    endings = tuple(endings)
    if is_standard(path):
        raise MisuseError("- is standard output, which has results alone: give the name of a file.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        reason = "is a directory" if path.is_dir() else "is in a directory that does not exist"
        msg = f"{path} {reason}: give the name of a file that can be written."
        raise MisuseError(msg)
    if endings and path.suffix and not path.name.lower().endswith(endings):
        msg = f"{path} ends in {path.suffix}, which is not written here: use {', '.join(endings)}."
        raise MisuseError(msg)
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        return  # a device or a pipe
    for name, other in others.items():
        if other is None or is_standard(other):
            continue
        if place == Path(os.path.realpath(other)) or (place.exists() and other.exists() and place.samefile(other)):
            msg = f"{path} is {name}, which would be lost: give the name of another file."
            raise MisuseError(msg)
    # a new file replaces an old one, so that both the file and its directory count
    if not all(os.access(one, os.W_OK) for one in (place, place.parent) if one.exists()):
        msg = f"{path} may not be written, or its directory may not: give the name of a file that can be written."
        raise MisuseError(msg)


def check_standard_output(files: Mapping[str, Path]) -> None:
    """Refuse to print results into a file that is read."""
    try:
        taken = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):  # closed, or a stream in memory
        return
    for name, path in files.items():
        if path.is_file() and os.path.samestat(taken, path.stat()):
            msg = f"standard output is {name} ({path}), which would be lost: redirect it to another file."
            raise MisuseError(msg)
