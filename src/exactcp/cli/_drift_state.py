"""The state of `exactcp drift`: a file from which a later run goes on as if there had been one run."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from exactcp._optional import require
from exactcp.cli._drift_columns import Wishes
from exactcp.cli._drift_rows import Example
from exactcp.cli._misuse import MisuseError, check_can_write
from exactcp.exchangeability._watched import Column, WatchedStream

EVERY = 60.0  # seconds between two savings
BEGINNING = 5  # rows by which a stream that is given again is known
USED = ("number", "category", "label", "target")


class SeenError(ValueError):
    """The rows of a stream are not those that a state goes on with; the state stays as it was."""


def load_state(path: Path, read: Mapping[str, Path]) -> WatchedStream | None:
    """Return what a file holds, None if there is none yet; refuse one that is something else, or cannot be written."""
    require("skops.io", "io", "--state")
    check_can_write(path, (path.suffix,), read)
    if not path.exists():
        return None
    from exactcp import load

    loaded = load(path)
    if not isinstance(loaded, WatchedStream):
        msg = (
            f"{path} holds a {type(loaded).__name__}: expected the state of a stream, which exactcp drift has written; "
            "give the name of another file."
        )
        raise ValueError(msg)  # noqa: TRY004  (about a file)
    return loaded


class Keeper:
    """Saves the state of a stream, now and then and in the end.

    Parameters
    ----------
    path : Path or None
        None keeps nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._last = time.monotonic()
        self._n_rows = 0
        self._latest: Example | None = None

    def expect(self, example: Example) -> None:
        """Remember the row that the test takes next."""
        self._latest = example

    def take(self, watched: WatchedStream) -> None:
        """Take note of the row that the test has taken; save, if that was long ago."""
        if self._latest is not None:
            n_rows, digest = watched.n_rows + 1, self._latest.digest(watched.digest)
            beginning = digest if n_rows == BEGINNING else watched.beginning
            watched.__dict__.update(n_rows=n_rows, digest=digest, beginning=beginning)
            self._latest, self._n_rows = None, self._n_rows + 1
        if self._n_rows > BEGINNING and time.monotonic() - self._last > EVERY:
            self.save(watched)

    def save(self, watched: WatchedStream | None) -> None:
        """Write the file, wholly or not at all."""
        if watched is not None and watched.test.p_values_.size > watched.n_rows:
            self.take(watched)  # an interruption came between the two
        if self._path is None or watched is None or self._n_rows == 0:
            return
        from exactcp import save

        save(watched, self._path)
        self._last = time.monotonic()


@contextmanager
def ending_in_order(*, wanted: bool) -> Iterator[None]:
    """Let a request to end (SIGTERM, as from a service manager) run what is to be done in the end."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def new_examples(examples: Iterator[Example], watched: WatchedStream, seen: str | None, stream: str) -> Any:
    """Return the examples that a state has not seen: all, unless the stream begins with the old ones.

    Parameters
    ----------
    examples : iterator of Example
    watched : WatchedStream
    seen : {"skip", "new"} or None
        Whether the old ones come first and are to be skipped, or all are new; None refuses rows that begin as the old
        ones did.
    stream : str

    Returns
    -------
    iterator of Example
    """
    if seen == "skip":
        return _after_the_old(examples, watched)
    if seen == "new" or not watched.beginning:
        return examples
    if stream == "-":
        return _refusing_late(examples, watched)
    first = list(islice(examples, BEGINNING))
    list(_refusing_late(iter(first), watched))
    return chain(first, examples)


def _after_the_old(examples: Iterator[Example], watched: WatchedStream) -> Iterator[Example]:
    digest, n = "", 0
    for example in islice(examples, watched.n_rows):
        digest, n = example.digest(digest), n + 1
    if n < watched.n_rows or digest != watched.digest:
        few = f"has {n:,} rows" if n < watched.n_rows else f"begins with {n:,} rows that are not those"
        msg = f"the stream {few}, and the state has seen {watched.n_rows:,}: give the file that has grown."
        raise SeenError(msg)
    yield from examples


def _refusing_late(examples: Iterator[Example], watched: WatchedStream) -> Iterator[Example]:
    """Yield the rows of a stream, which is known after a few; who reads them may have answered those by then."""
    digest = ""
    for n, example in enumerate(examples, start=1):
        digest = example.digest(digest) if n <= BEGINNING else digest
        if n == BEGINNING and digest == watched.beginning:
            msg = (
                f"the stream begins with the {n} rows that the state began with: use --seen skip if it is the file "
                "that has grown, and --seen new if these are others that look alike."
            )
            raise SeenError(msg)
        yield example


def check_same_test(watched: WatchedStream, path: Path, given: Mapping[str, tuple[str, Any]]) -> None:
    """Refuse options that say something else than the state: parameter to the option as typed, and its value."""
    parameters = watched.test.get_params(deep=False)
    for name, (typed, value) in given.items():
        stored = [parameters[name]]
        if name == "measure":
            stored.append(vars(watched.test).get("measure_"))
        if repr(value) not in map(repr, stored):
            kept = "the default" if stored[0] is None else f"{stored[0]}"
            msg = f"{typed} was given, and {path} was begun with {kept}: leave it out, or begin another state file."
            raise MisuseError(msg)


def columns_of_state(watched: WatchedStream, path: Path, wishes: Wishes, names: list[str]) -> list[Column]:
    """Return the columns of a state, if the stream has them, no others, and nothing else was said about them."""
    known = {column.name: column for column in watched.columns}
    lacking = [column.name for column in watched.columns if column.kind in USED and column.name not in names]
    new = [name for name in names if name not in known and name not in wishes.ignore]
    if lacking:
        msg = f"the stream lacks {', '.join(lacking[:8])}, which that of {path} had: begin another state file."
        raise ValueError(msg)
    if new:
        msg = f"the stream has {', '.join(new[:8])}, which that of {path} lacked: leave it out with --ignore {new[0]}."
        raise ValueError(msg)
    target = next((column.name for column in watched.columns if column.kind in ("label", "target")), None)
    if wishes.target not in (None, target):
        msg = f"--target {wishes.target} was given, and that of {path} is {target or 'none'}: leave it out."
        raise MisuseError(msg)
    said = {name: ("--ignore", ("left out",)) for name in wishes.ignore if name in known}
    said |= dict.fromkeys(wishes.categorical, ("--categorical", ("category",)))
    if wishes.task is not None and target is not None:
        said[target] = (f"--task {wishes.task} for", ("label" if wishes.task == "classification" else "target",))
    for name, (option, kinds) in said.items():
        if known[name].kind not in kinds:
            msg = f"{option} {name} was given, and it is {known[name].kind} in {path}: begin another state file."
            raise MisuseError(msg)
    for name, constants in wishes.constants.items():
        if (known[name].centre, known[name].scale) != constants:
            old = f"{known[name].centre:g},{known[name].scale:g}"
            msg = f"--constants {name} was given, and {path} has {name}={old}: leave it out, or begin another state."
            raise MisuseError(msg)
    return watched.columns
