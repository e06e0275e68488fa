"""States of shards in files, so that what dies with a worker, or with a cluster, is read and not made again.

A file has a line that says what it is, the pickled state, and a digest of both at its end. It gets its name when it is
whole; its name depends on the data and the parameters, so that another fit finds what it may use.
"""

from __future__ import annotations

import pickle
from hashlib import blake2b
from typing import Any
from uuid import uuid4

from exactcp._version import STATE_FORMAT
from exactcp.dask._aside import Aside
from exactcp.dask._modules import dask_module

HEAD = f"exactcp shard, format {STATE_FORMAT}\n".encode()
DIGEST_SIZE = 32
BLOCK = 2**22  # bytes that are read at a time


class Checkpoint:
    """A directory, on this machine or wherever fsspec finds it, that all workers see.

    Parameters
    ----------
    url : str or path
    """

    def __init__(self, url: Any) -> None:
        try:
            self._files, self._path = _place_of(str(url))
            self._files.makedirs(self._path, exist_ok=True)
        except (OSError, ValueError) as error:
            msg = (
                f"checkpoint={str(url)!r} cannot be written ({error}): expected a directory, or a URL that fsspec "
                "knows, that all workers see and may write to."
            )
            raise ValueError(msg) from error
        self.prefix = str(url).rstrip("/")

    def url(self, key: str) -> str:
        """Return where the state of this name is."""
        return f"{self.prefix}/{key}.shard"

    def has(self, key: str) -> bool:
        """Tell whether the state of this name is there."""
        return bool(self._files.exists(f"{self._path}/{key}.shard"))


def _place_of(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path there."""
    files, path = dask_module("fsspec.core").url_to_fs(url)
    return files, path


class _Digesting:
    """A file that is digested while it is written."""

    def __init__(self, file: Any) -> None:
        self._file, self.digest = file, blake2b(digest_size=DIGEST_SIZE)

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")  # large arrays come as they are, without a length
        self.digest.update(view)
        self._file.write(view)
        return view.nbytes


class Filed(Aside):
    """A state in a file of a checkpoint."""

    def __init__(self, url: str) -> None:
        self._url = url

    def read(self) -> Any:
        """Return the state."""
        return read_state(self._url)

    def __reduce__(self) -> Any:
        return Filed, (self._url,)


def write_state(state: Any, url: str) -> str:
    """Write a state, unless it is there; return where."""
    files, path = _place_of(url)
    if files.exists(path):
        return url
    part = f"{path}.{uuid4().hex}.part"
    with files.open(part, "wb") as file:
        digesting = _Digesting(file)
        digesting.write(HEAD)
        pickle.dump(state, digesting, protocol=5)
        file.write(digesting.digest.digest())
    files.mv(part, path)
    return url


def read_state(url: str) -> Any:
    """Return a state, if its file is as it was written."""
    files, path = _place_of(url)
    with files.open(path, "rb") as file:
        head = file.readline(len(HEAD))
        if head != HEAD:
            msg = (
                f"{url} begins with {head[:40]!r}: expected {HEAD!r}. It was written by another version of exactcp, or "
                "is none of its files: give another directory as checkpoint=."
            )
            raise ValueError(msg)
        file.seek(0)
        if not _has_its_digest(file, files.size(path)):
            msg = f"{url} is damaged, its digest is another: delete the file, and call fit again."
            raise ValueError(msg)
        file.seek(len(HEAD))
        return pickle.load(file)


def _has_its_digest(file: Any, size: int) -> bool:
    """Tell whether the end of a file is the digest of what is before it."""
    digest, left = blake2b(digest_size=DIGEST_SIZE), size - DIGEST_SIZE
    while left > 0:
        block = file.read(min(BLOCK, left))
        if not block:
            return False
        digest.update(block)
        left -= len(block)
    return bool(file.read() == digest.digest())
