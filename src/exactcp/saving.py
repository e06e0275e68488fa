"""Saved models: files that hold a fitted predictor and run no code when they are read.

A file is a skops file (a zip archive: `schema.json` tells what there is, arrays lie beside it as `.npy`) with one more
member, `exactcp.json`, which tells the version that wrote it, the format, and the notes that were saved with it. It is
read in this order: the members and their sizes, the format, the types (`TRUSTED_ROOMS` says which of ours; skops knows
those of NumPy, SciPy and scikit-learn; the user names others), and only then is anything built.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import twin
from exactcp._estimator import Estimator, promised_format
from exactcp._optional import INSTALL, require
from exactcp._replacing import replacing
from exactcp._version import STATE_FORMAT, __version__
from exactcp._warning import warn

__all__ = ["describe", "load", "save"]

HEADER = "exactcp.json"
SCHEMA = "schema.json"
OLDEST_SKOPS = (0, 15)
LARGEST_EXPANSION = 20  # of a file's bytes to those of its members, beyond a few: arrays are not compressed
ALWAYS_ALLOWED = 2**28  # bytes of members
# whose classes a file may name: they keep arrays and parameters, and none opens a file, starts a process or calls a
# function that is not itself trusted
TRUSTED_ROOMS = (
    "_growing",
    "_stored_frames",
    "anomaly",
    "classification",
    "clustering",
    "counting",
    "exchangeability",
    "geometry",
    "measures",
    "online",
    "pipeline",
    "predicting",
    "regression",
    "sequences",
    "taxonomies",
    "venn",
)
# what scikit-learn's transformers keep beside what skops trusts: a list, a dict and a dtype with other names
TRUSTED_OTHERS = (
    "numpy.dtype",
    "sklearn.compose._column_transformer._RemainderColsList",
    "sklearn.utils._bunch.Bunch",
)
_MEMBER = re.compile(r"[\w-]+\.(npy|npz|bin)", re.ASCII)
_OUR_NAME = re.compile(r"exactcp\.(\w+)(\.\w+)*\.\w+", re.ASCII)


def save(predictor: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
    """Save a fitted predictor or measure; `load` reads it without running any code that the file brings.

    The file takes its place when it is whole and on the disk: if saving fails, what was there stays.

    Parameters
    ----------
    predictor : estimator
        A fitted predictor or measure of exactcp, or a scikit-learn estimator, such as a pipeline, that holds one.
    path : str or path-like
        Where to; ".skops" is a usual ending.
    notes : mapping, default=None
        What else is to be known about it, as JSON takes it: names of columns, units, where the examples come from.
        `describe` reads them.

    See Also
    --------
    exactcp.load, exactcp.saving.describe

    Notes
    -----
    Needs skops: `python -m pip install "exactcp[io]"`. Functions and classes of one's own are saved by their name, as
    in pickles, and must be named again when they are loaded; so must trees of scikit-learn and models of other
    packages. A UserWarning says so, with the call of `exactcp.load` that reads the file. Arrays are not compressed: the
    file is as large as they are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> import exactcp
    >>> X, y = load_iris(return_X_y=True)
    >>> predictor = exactcp.FullConformalClassifier().fit(X[:-1], y[:-1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exactcp.save(predictor, Path(folder, "iris.skops"))
    ...     again = exactcp.load(Path(folder, "iris.skops"))
    >>> bool((again.predict_p(X[-1:]) == predictor.predict_p(X[-1:])).all())
    True
    """
    skops = _skops("exactcp.save")
    place = _as_path(path)
    _check_predictor(predictor)
    header = _written_header(predictor, notes)
    one_state = twin(predictor) if isinstance(predictor, Estimator) else predictor  # which nobody changes meanwhile
    with replacing(place) as unfinished:
        if unfinished.is_file():
            with unfinished.open("w+b") as stream:
                unknown = _write_model(skops, one_state, header, stream)
        else:  # a device or a pipe, which cannot be read again
            buffer = BytesIO()
            unknown = _write_model(skops, one_state, header, buffer)
            unfinished.write_bytes(buffer.getbuffer())
    if unknown:
        call = f"exactcp.load({str(place)!r}, trusted={unknown!r})"
        warn(f"{place} holds what exactcp does not trust in files: load it with {call}.")


def load(path: str | os.PathLike[str], *, trusted: Iterable[Any] = ()) -> Any:
    """Load what `save` has saved.

    Parameters
    ----------
    path : str or path-like
    trusted : list of str, type or function, default=()
        Classes and functions beside those of exactcp, NumPy, SciPy and scikit-learn that the file may name, such as a
        metric of one's own. What is listed here may run: list what you know. The error of a file that names others
        tells which.

    Returns
    -------
    estimator
        It answers, learns and unlearns as the one that was saved.

    See Also
    --------
    exactcp.save

    Notes
    -----
    Types are checked, numbers are not: a file by an enemy runs no code of theirs, but may hold a model that answers
    wrongly, or whose positions point nowhere, and ends the process. Trees of scikit-learn are not trusted for this
    reason by recent versions of skops, and must be listed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactcp
    >>> test = exactcp.ExchangeabilityTest(random_state=0)
    >>> before = test.update_many([[0.1], [0.2], [0.3]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exactcp.save(test, Path(folder, "stream.skops"))
    ...     again = exactcp.load(Path(folder, "stream.skops"))
    >>> bool((again.update_many([[0.9]]) == test.update_many([[0.9]])).all())
    True
    """
    skops = _skops("exactcp.load")
    place, allowed = _as_path(path), _names_of(trusted)
    with _opened(place) as stream, _refusing(place):
        _, schema = _checked_members(stream)
        trusted_names = [*allowed, *TRUSTED_OTHERS, *_named_by(_nodes(schema), _is_ours)]
        try:
            with promised_format():
                loaded = skops.load(stream, trusted=trusted_names)
        except Exception:
            unknown = _unknown_names(skops, stream, allowed)
            if unknown:
                raise _RefusedError(_untrusted(unknown)) from None
            raise
    if not _can_be_saved(loaded):
        msg = f"{place} holds a {type(loaded).__name__}: expected a predictor or measure that exactcp.save has saved."
        raise TypeError(msg)
    return loaded


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a saved model says of itself, without loading it.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict
        The format; the versions of exactcp, NumPy, scikit-learn and skops that saved it; the class of the predictor;
        and the notes that were saved with it, None if there are none.

    See Also
    --------
    exactcp.save, exactcp.load

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactcp
    >>> from exactcp.saving import describe
    >>> predictor = exactcp.FullConformalClassifier().fit([[1.0], [2.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     exactcp.save(predictor, Path(folder, "ab.skops"), notes={"unit": "cm"})
    ...     told = describe(Path(folder, "ab.skops"))
    >>> told["predictor"], told["notes"]
    ('exactcp.classification._full.FullConformalClassifier', {'unit': 'cm'})
    """
    place = _as_path(path)
    with _opened(place) as stream, _refusing(place):
        header, _ = _checked_members(stream)
    return {"notes": None, **header}


class _RefusedError(Exception):
    """A file is not read; the sentence lacks its name at the beginning."""


@contextmanager
def _refusing(place: Path) -> Iterator[None]:
    """Say which file is not read, and why."""
    try:
        yield
    except _RefusedError as error:
        msg = f"{place} {error}"
        raise ValueError(msg) from None
    except Exception as error:
        msg = f"{place} is damaged, or no file of exactcp.save {_told(error)}: expected a saved model. Save it anew."
        raise ValueError(msg) from error


def _told(error: Exception) -> str:
    """Return what another package says of an error, in one short line."""
    return f"({type(error).__name__}: {' '.join(str(error).split())[:300]})"


def _skops(purpose: str) -> Any:
    """Return the package that reads and writes; refuse versions with holes that are known."""
    package = require("skops.io", "io", purpose)
    version = str(require("skops", "io", purpose).__version__)
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_SKOPS:
        oldest = ".".join(map(str, OLDEST_SKOPS))
        msg = f"{purpose} needs skops {oldest}, and {version} is installed: run {INSTALL.format(extra='io')} --upgrade."
        raise ImportError(msg)
    return package


def _as_path(path: Any) -> Path:
    if not isinstance(path, str | os.PathLike):
        msg = f"path={path!r} is of type {type(path).__name__}: expected the name of a file, such as 'model.skops'."
        raise TypeError(msg)
    return Path(path)


def _opened(place: Path) -> BinaryIO:
    try:
        return place.open("rb")
    except OSError as error:
        raise type(error)(error.errno, f"a saved model cannot be read: {error.strerror}", str(place)) from None


def _written_header(predictor: Any, notes: Mapping[str, Any] | None) -> str:
    """Return what a file says of itself."""
    versions = {package.__name__: package.__version__ for package in (np, sklearn, sys.modules["skops"])}
    header = {"format": STATE_FORMAT, "exactcp": __version__, "predictor": _name_of(type(predictor)), **versions}
    if notes is None:
        return json.dumps(header, indent=2)
    try:
        return json.dumps({**header, "notes": dict(notes)}, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        msg = f"notes hold something that JSON does not ({error}): expected texts, finite numbers, lists and dicts."
        raise type(error)(msg) from None


def _check_predictor(predictor: Any) -> None:
    """Refuse what is no estimator, or has learned nothing."""
    if not _can_be_saved(predictor):
        kind = f"the class {predictor.__name__}" if isinstance(predictor, type) else f"a {type(predictor).__name__}"
        msg = f"exactcp.save got {kind}: expected a fitted predictor or measure of exactcp."
        raise TypeError(msg)
    if hasattr(predictor, "fit"):  # a stream needs none
        try:
            check_is_fitted(predictor)
        except NotFittedError:
            msg = f"this {type(predictor).__name__} is not fitted, so that there is nothing to save: call fit first."
            raise NotFittedError(msg) from None


def _can_be_saved(predictor: Any) -> bool:
    """Tell whether something is an estimator, or an adapter of ours around one."""
    cls = type(predictor)
    return isinstance(predictor, BaseEstimator) or (hasattr(predictor, "predictor") and _is_ours(_name_of(cls)))


def _name_of(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _write_model(skops: Any, predictor: Any, header: str, stream: BinaryIO) -> list[str]:
    """Write what skops makes of a predictor, and what the file says of itself, to a stream that can be read.

    Returns the names that `load` will not trust.
    """
    who = type(predictor).__name__
    try:
        skops.dump(predictor, stream)
    except (OSError, MemoryError):  # of the machine
        raise
    except Exception as error:
        msg = (
            f"this {who} holds something that cannot be saved {_told(error)}: "
            "expected arrays, numbers, texts, estimators, and functions that a module names."
        )
        raise TypeError(msg) from error
    with ZipFile(stream, "a") as file:
        _check_can_be_read(list(_nodes(json.loads(file.read(SCHEMA)))), who)
        file.writestr(HEADER, header)
    return _unknown_names(skops, stream, [])


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield all parts of a schema that stand for objects."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__class__" in part:
                yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _named_by(nodes: Iterable[dict[str, Any]], accepts: Callable[[str], bool]) -> list[str]:
    """Return the names in a schema that are accepted."""
    names = {f"{node.get('__module__')}.{node['__class__']}" for node in nodes}
    return sorted(filter(accepts, names))


def _check_can_be_read(nodes: list[dict[str, Any]], who: str) -> None:
    """Refuse to write what cannot be read, or would be read as something else."""
    if not _named_by(nodes, _is_ours):
        msg = f"this {who} holds nothing of exactcp: expected a predictor or measure. skops.io.dump saves other models."
        raise TypeError(msg)
    lost = _named_by(nodes, lambda name: not _exists(name))
    if lost:
        msg = (
            f"this {who} holds {', '.join(lost)}, which no module names, so that nobody could load it: define it at "
            "the top of a module, and use no lambda."
        )
        raise TypeError(msg)
    for node in nodes:
        if node.get("__loader__") == "DictNode" and _loses_keys(node):
            keys = ", ".join(list(node["content"])[:5])
            msg = f"this {who} holds a dict whose keys a file cannot tell apart ({keys}): use texts or numbers as keys."
            raise TypeError(msg)


def _exists(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    return hasattr(sys.modules.get(module), attribute)


def _loses_keys(node: dict[str, Any]) -> bool:
    """Tell whether keys of a dict are read as others: all are texts in the file, where 1 is "1" and False is true."""
    kinds = {kind["__class__"] for kind in node["key_types"]["content"]}
    return bool(kinds & {"bool", "NoneType"}) or len(node["key_types"]["content"]) != len(node["content"])


def _checked_members(stream: BinaryIO) -> tuple[dict[str, Any], Any]:
    """Return what a file says of itself and that it holds, if its members, their sizes and the format are ours."""
    with ZipFile(stream) as file:
        members = file.infolist()
        names = [member.filename for member in members]
        strange = next((name for name in names if name not in (HEADER, SCHEMA) and not _MEMBER.fullmatch(name)), None)
        if strange is not None or len(set(names)) < len(names):
            msg = f"holds {strange or 'a member twice'!r}, which exactcp.save does not write: it is refused."
            raise _RefusedError(msg)
        if HEADER not in names or SCHEMA not in names:
            msg = "is a zip archive that exactcp.save has not written: expected a saved model."
            raise _RefusedError(msg)
        size = sum(member.file_size for member in members)
        if size > max(ALWAYS_ALLOWED, LARGEST_EXPANSION * stream.seek(0, os.SEEK_END)):
            msg = f"would grow to {size:,} bytes in memory, which no saved model does: it is refused."
            raise _RefusedError(msg)
        header = dict(json.loads(file.read(HEADER)))
        _check_format(header)
        return header, json.loads(file.read(SCHEMA))


def _check_format(header: Any) -> None:
    written = header["format"]
    if written != STATE_FORMAT:
        known = isinstance(written, int) and written > STATE_FORMAT
        remedy = "Update exactcp" if known else "Fit and save it anew"
        msg = (
            f"was saved by exactcp {str(header.get('exactcp'))[:20]} in format {str(written)[:20]}, and exactcp "
            f"{__version__} reads format {STATE_FORMAT}. {remedy}, or load it with the version that saved it."
        )
        raise _RefusedError(msg)


def _is_ours(name: str) -> bool:
    """Tell whether a name is that of a class which is defined in a room that is trusted."""
    matched = _OUR_NAME.fullmatch(name)
    if matched is None or matched[1] not in TRUSTED_ROOMS:
        return False
    module, _, attribute = name.rpartition(".")
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module


def _names_of(trusted: Iterable[Any]) -> list[str]:
    """Return what the user trusts as the names that a file uses."""
    if isinstance(trusted, bool) or not isinstance(trusted, Iterable):
        msg = f"trusted={trusted!r} is not a list: expected the names, classes or functions that the file may hold."
        raise TypeError(msg)
    items = [trusted] if isinstance(trusted, str | type) else list(trusted)
    for item in items:
        if not isinstance(item, str) and not hasattr(item, "__name__"):
            msg = f"trusted has {item!r}: expected classes, functions, or names of such, as 'my_module.my_metric'."
            raise TypeError(msg)
    return [item if isinstance(item, str) else f"{item.__module__}.{item.__name__}" for item in items]


def _unknown_names(skops: Any, stream: BinaryIO, allowed: list[str]) -> list[str]:
    """Return which types and functions of a file are not trusted; none if it cannot be read at all."""
    outline = BytesIO()  # with empty arrays: skops would keep all of them in memory at once
    try:
        with ZipFile(stream) as file, ZipFile(outline, "w") as copy:
            for name in file.namelist():
                copy.writestr(name, file.read(name) if name == SCHEMA else b"")
        found = set(skops.get_untrusted_types(file=outline))
    except Exception:  # noqa: BLE001  (whatever a damaged file makes of it; the error before is told)
        return []
    return sorted(name for name in found - set(allowed) - set(TRUSTED_OTHERS) if not _is_ours(name))


def _untrusted(unknown: list[str]) -> str:
    named = f"{', '.join(unknown[:8])}{', ...' if len(unknown) > 8 else ''}"
    return (
        f"holds {named}, which exactcp does not trust: nothing was loaded. If you know what that is and trust "
        f"who wrote the file, use exactcp.load(path, trusted={unknown!r})."
    )
