"""Files are written beside their place and take it at once: a reader, or a full disk, finds the old one or the new."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a file to write; when it is whole and on the disk, it takes the place of `path`.

    If writing fails, `path` stays what it was, and the error names it. Links are followed, the permissions of an old
    file are kept, and a device or a pipe, which has no place to take, is written itself.

    Parameters
    ----------
    path : str or Path

    Yields
    ------
    Path
        An empty file with the same endings, in the same folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.txt")
    ...     with replacing(path) as unfinished:
    ...         _ = unfinished.write_text("1, 2, 3")
    ...         is_there = path.exists()
    ...     is_there, path.read_text(), len(list(Path(folder).iterdir()))
    (False, '1, 2, 3', 1)
    """
    place = Path(os.path.realpath(path))
    try:
        if place.exists() and not place.is_file():
            yield Path(path)
            return
        unfinished = place.with_name(f".exactcp-{secrets.token_hex(4)}{''.join(place.suffixes[-2:])}")
        try:
            _make(unfinished, place)
            yield unfinished
            _to_the_disk(unfinished)
            os.replace(unfinished, place)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
        with suppress(OSError):  # not every system can flush a folder
            _to_the_disk(place.parent)
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise OSError(error.errno or 0, reason, str(path)) from error


def _make(unfinished: Path, place: Path) -> None:
    """Make an empty file with the permissions that the file in its place has, or would have."""
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    if place.exists():
        unfinished.chmod(place.stat().st_mode & 0o777)


def _to_the_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
