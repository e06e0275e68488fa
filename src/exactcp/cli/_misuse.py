"""The error of a command that was typed wrong."""

from __future__ import annotations

from pathlib import Path


class MisuseError(ValueError):
    """An option that cannot be meant; its sentence is printed, and the exit code is 2."""


def check_confidence(confidence: float) -> None:
    """Refuse a level that is not a probability."""
    if not 0 < confidence < 1:
        msg = f"--confidence {confidence} is not a probability: use a number between 0 and 1."
        raise MisuseError(msg)


def check_separator(separator: str) -> None:
    """Refuse a separator that CSV cannot have."""
    if len(separator) != 1:
        msg = f"--separator {separator!r} is not one character: use for example ';'."
        raise MisuseError(msg)


def check_can_write(path: Path) -> None:
    """Refuse a file in a directory that does not exist, before work is spent on it."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        reason = "is a directory" if path.is_dir() else "is in a directory that does not exist"
        msg = f"{path} {reason}: give the name of a file that can be written."
        raise MisuseError(msg)
