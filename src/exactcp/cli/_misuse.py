"""The error of a command that was typed wrong."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

PAGES = (".html", ".htm")


class MisuseError(ValueError):
    """An option that cannot be meant; its sentence is printed, and the exit code is 2."""


def check_confidence(confidence: float) -> None:
    """Refuse a level that is not a probability."""
    if not 0 < confidence < 1:
        msg = f"--confidence {confidence} is not a probability: use a number between 0 and 1."
        raise MisuseError(msg)


def check_confidences(levels: Sequence[float]) -> tuple[float, ...]:
    """Return several levels; refuse what is not a probability, and a level that comes twice."""
    for level in levels:
        check_confidence(level)
        if levels.count(level) > 1:
            msg = f"--confidence {level} is given {levels.count(level)} times: give each level once."
            raise MisuseError(msg)
    return tuple(levels)


def check_marks(separator: str | None, decimal: str) -> None:
    """Refuse a separator and a decimal mark that CSV cannot have."""
    if separator is not None and len(separator) != 1:
        msg = f"--separator {separator!r} is not one character: use for example ';'."
        raise MisuseError(msg)
    if decimal not in (".", ","):
        msg = f"--decimal {decimal!r} is not a decimal mark: use '.' or ','."
        raise MisuseError(msg)


def check_can_write(path: Path, endings: Iterable[str], read: Mapping[str, Path] | None = None) -> None:
    """Refuse a file that cannot be written, is not what its name says, or is read; before work is spent on it.

    Parameters
    ----------
    path : Path
    endings : iterable of str
        Of the kinds that can be written; a name without any is fine.
    read : mapping, default=None
        Name to file: those that must stay what they are.
    """
    if path.is_dir() or not path.absolute().parent.is_dir():
        reason = "is a directory" if path.is_dir() else "is in a directory that does not exist"
        msg = f"{path} {reason}: give the name of a file that can be written."
        raise MisuseError(msg)
    if path.suffix and not path.name.lower().endswith(tuple(endings)):
        msg = f"{path} ends in {path.suffix}, which is not written here: use {', '.join(endings)}."
        raise MisuseError(msg)
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        return  # a device or a pipe
    for name, other in (read or {}).items():
        if _is_same(path, other):
            msg = f"{path} is {name}, which would be lost: give the name of another file."
            raise MisuseError(msg)
    # a new file takes the place of an old one, so that both the file and its directory count
    if not all(os.access(one, os.W_OK) for one in (place, place.parent) if one.exists()):
        msg = f"{path} may not be written, or its directory may not: give the name of a file that can be written."
        raise MisuseError(msg)


def check_results_are_taken(read: Mapping[str, Path]) -> None:
    """Refuse to print results where nobody gets them, or into a file that is being read."""
    if sys.stdout is None:
        raise ValueError("standard output is closed, and results go there: open it, or name a file with --output.")
    try:
        taken = os.fstat(sys.stdout.fileno())
    except (OSError, ValueError):  # no file, such as a stream in memory
        return
    for name, path in read.items():
        if path.is_file() and os.path.samestat(taken, path.stat()):
            msg = f"standard output is {name} ({path}), which would be lost: redirect it to another file."
            raise MisuseError(msg)


def _is_same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


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
