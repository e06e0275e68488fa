"""Warnings point to the user's line, however many of the package's own calls lie between."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

PACKAGE_FOLDER = str(Path(__file__).parent)
_unsaid: ContextVar[tuple[str, ...]] = ContextVar("_unsaid", default=())


class ValidityWarning(UserWarning):
    """What may cost the guarantee: coverage, or a rate of false alarms, may be worse than asked for.

    Each is given once, and names what was seen and what to do instead.

    Examples
    --------
    Errors instead, in a test or in production:

    >>> import warnings
    >>> from exactcp import ValidityWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", ValidityWarning)
    """


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn of something that happened in a call from outside the package."""
    if _unsaid.get() and str(message).startswith(_unsaid.get()):
        return
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def quiet(beginning: str) -> Iterator[None]:
    """Leave the package's own warnings that begin so unsaid, in this thread alone.

    The filters of `warnings.catch_warnings` are those of all threads.
    """
    token = _unsaid.set((*_unsaid.get(), beginning))
    try:
        yield
    finally:
        _unsaid.reset(token)
