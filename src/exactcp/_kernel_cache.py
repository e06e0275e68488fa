"""Compiled code on disk: a file for each kernel and the types of its arguments, a folder for each state of the sources.

Machine code holds what the kernel calls and the constants it reads, from whatever file. So the folder is named after a
digest of all sources that can be in there, and of the versions of what compiled them: after an upgrade, or an edit,
nothing old is found. The folders lie in $NUMBA_CACHE_DIR, or else in the user's cache. They may be read-only, as in an
image that was warmed up when it was built; where nothing can be read nor written, every process compiles for itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import re
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from exactcp._compiling import AT_IMPORT, STOPWATCH, stamps
from exactcp._linking import rebuilt, reduced

PACKAGE = __name__.rpartition(".")[0]
# the package's version, and how code is compiled and kept
ALWAYS = {
    "/__init__.py", "/_dispatchers.py", "/_jit.py", "/_kernel_cache.py", "/_linking.py", "/_numpy_first.py",
}  # fmt: skip
USES_JIT = f"{PACKAGE}._jit import".encode()
# settings of numba that change the code it makes
SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX", "USING_SVML")
KEPT_FOLDERS = 8  # folders
UNUSED = 7 * 24 * 3600.0  # seconds after which a folder goes

logger = logging.getLogger(PACKAGE)


def compiled_sources(folder: Any, place: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield the place and the content of every module in the folders that hold compiled code, and of ALWAYS."""
    entries = sorted(folder.iterdir(), key=lambda entry: str(entry.name))
    modules = {f"{place}/{entry.name}": entry.read_bytes() for entry in entries if entry.name.endswith(".py")}
    compiles = any(USES_JIT in source for source in modules.values())
    yield from ((name, source) for name, source in modules.items() if compiles or name in ALWAYS)
    for entry in entries:
        if entry.is_dir() and entry.name != "__pycache__":
            yield from compiled_sources(entry, f"{place}/{entry.name}")


def digest() -> str:
    """Return a digest of all that is compiled and of what compiles it."""
    python = (sys.implementation.cache_tag, getattr(sys, "abiflags", ""))
    versions = (numba.__version__, llvmlite.__version__, np.__version__, python)
    sources = dict(compiled_sources(files(PACKAGE)))
    if not sources.keys() >= ALWAYS:
        raise FileNotFoundError("the package's sources are not there")
    return hashlib.sha256(repr((versions, sorted(sources.items()))).encode()).hexdigest()[:32]


def find_folder() -> tuple[Path | None, str]:
    """Return where compiled code is kept, or None and why there is no such place."""
    chosen = os.environ.get("NUMBA_CACHE_DIR") or getattr(config, "CACHE_DIR", "")
    base = (
        os.path.abspath(os.path.join(chosen, PACKAGE)) if chosen else AppDirs(PACKAGE, appauthor=False).user_cache_dir
    )
    if not os.path.isabs(base):
        return None, "the user has no home"
    if stamps() != AT_IMPORT:
        return None, "the package's sources have changed since they were imported"
    try:
        folder = Path(base, "compiled", digest())
    except Exception as error:  # noqa: BLE001  (whatever loads a package may raise; it is then compiled without a cache)
        return None, str(error)
    with contextlib.suppress(OSError):
        os.utime(folder)  # used now
    return folder, ""


FOLDER, REASON = find_folder()


class KernelCache(_Cache):
    """The compiled code of one function, for numba's dispatcher."""

    has_failed = False  # to write, in this process

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self._code = function.__code__
        closure = [cell.cell_contents for cell in function.__closure__ or ()]
        self._identity = (options, self._code.co_code, dumps(closure) if closure else b"")
        self._module = function.__module__
        self._is_inner = options.get("no_cpython_wrapper", False)
        self._name = re.sub(
            r"[^\w.-]", "", f"{function.__module__}.{function.__qualname__}-{self._code.co_firstlineno}"
        )
        self.enable()

    @property
    def cache_path(self) -> str | None:
        """The folder."""
        return None if FOLDER is None else str(FOLDER)

    def enable(self) -> None:
        """Use files from now on."""
        self._enabled = FOLDER is not None

    def disable(self) -> None:
        """Use no files from now on."""
        self._enabled = False

    def flush(self) -> None:
        """Forget the files of this function."""
        if FOLDER is not None:
            for path in FOLDER.glob(f"{self._name}.*"):
                path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function for these types, or None if it must be compiled."""
        target_context.refresh()
        found = self._load(sig, target_context) if self._enabled else None
        if found is None:
            STOPWATCH.begin(self._module, FOLDER.parent if FOLDER and not KernelCache.has_failed else None)
        return found

    def _load(self, sig: Any, target_context: Any) -> Any:
        key, path = self._place(sig, target_context.codegen())
        try:
            stored, payload = pickle.loads(path.read_bytes())
            if stored != key:
                return None
            rebuild = rebuilt if self._is_inner else CompileResult._rebuild  # noqa: SLF001
            return rebuild(target_context, *payload)
        except Exception:  # noqa: BLE001  (a damaged file may raise anything, and is written anew)
            return None

    def save_overload(self, sig: Any, cres: Any) -> None:
        """Keep the compiled function for these types, if that is possible."""
        STOPWATCH.end()
        if cres.library.has_dynamic_globals or any(not lifted.can_cache for lifted in cres.lifted):
            return
        if not self._enabled:
            give_up(REASON)
        elif not KernelCache.has_failed:
            key, path = self._place(sig, cres.codegen)
            try:
                write(path, dumps((key, reduced(cres) if self._is_inner else cres._reduce())))  # noqa: SLF001
            except OSError as error:
                if not path.exists():  # Windows does not replace a file that another process reads: that one will do
                    give_up(str(error))

    def _place(self, sig: Any, codegen: Any) -> tuple[Any, Path]:
        """Return the whole key, and the file that it is looked for in."""
        machine = (codegen.magic_tuple(), [getattr(config, name, None) for name in SETTINGS])
        name = hashlib.sha256(repr((sig, machine)).encode()).hexdigest()[:32]
        return (self._identity, sig, machine), Path(self.cache_path or "", f"{self._name}.{name}")


def write(path: Path, data: bytes) -> None:
    """Write a file that appears whole or not at all; in a new folder, the first one clears out old folders."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_old(path.parent)
    beside = path.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        beside.write_bytes(data)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def check_can_keep() -> Path:
    """Return the folder in which compiled code is kept; raise a sentence if it cannot be."""
    reason = REASON
    if FOLDER is not None:
        trial = FOLDER / f"{uuid.uuid4().hex}.tmp"
        try:
            write(trial, b"")
            trial.unlink()
        except OSError as error:
            reason = str(error)
        else:
            return FOLDER
    msg = f"compiled code cannot be kept ({reason}): set NUMBA_CACHE_DIR to a folder that can be written."
    raise RuntimeError(msg)


def remove_old(folder: Path) -> None:
    """Remove the folders beside this one that have long been unused, and the oldest of many.

    A process that still uses one of them compiles what it finds missing.
    """
    beside = [other for other in folder.parent.iterdir() if re.fullmatch("[0-9a-f]{32}", other.name)]
    used = {other: other.stat().st_mtime for other in beside if other != folder and not other.is_symlink()}
    newest = sorted(used, key=used.__getitem__, reverse=True)
    for position, other in enumerate(newest, start=1):
        if position >= KEPT_FOLDERS or used[other] < time.time() - UNUSED:
            shutil.rmtree(other, ignore_errors=True)


def give_up(reason: str) -> None:
    """Say once that compiled code is not kept."""
    if not KernelCache.has_failed:
        KernelCache.has_failed = True
        logger.warning(
            "Compiled code cannot be kept (%s), so that every process compiles anew what it uses, for minutes: "
            "set NUMBA_CACHE_DIR to a folder that can be written.",
            reason,
        )
