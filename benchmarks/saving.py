"""Saving and loading a fitted predictor, beside writing and reading its arrays, and the size of the file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.datasets import make_classification

import exactcp
from benchmarks.stopwatch import side_by_side
from exactcp.measures import KNN


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the ratios of k-NN with 30 columns."""
    n = 10_000 if quick else 100_000
    X, y = make_classification(n, 30, random_state=0)
    predictor = exactcp.FullConformalClassifier(KNN()).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        yield _measured("full KNN(15)", predictor, n, Path(folder))


def _measured(name: str, predictor: Any, n: int, folder: Path) -> dict[str, Any]:
    path, plain = folder / "model.skops", folder / "arrays.npz"
    exactcp.save(predictor, path)
    exactcp.load(path)
    arrays = _arrays_of(path)
    np.savez(plain, *arrays)
    seconds = side_by_side(
        {
            "save": lambda: exactcp.save(predictor, path),
            "load": lambda: exactcp.load(path),
            "write": lambda: np.savez(plain, *arrays),
            "read": lambda: list(np.load(plain).values()),
        },
        repeat=3,
    )
    return {
        "predictor": name,
        "n": n,
        "p": 30,
        "save / savez": seconds["save"] / seconds["write"],
        "load / numpy.load": seconds["load"] / seconds["read"],
        "file / arrays": path.stat().st_size / sum(array.nbytes for array in arrays),
        "save, s": seconds["save"],
        "load, s": seconds["load"],
    }


def _arrays_of(path: Path) -> list[np.ndarray]:
    with ZipFile(path) as file:
        return [np.load(file.open(name)) for name in file.namelist() if name.endswith(".npy")]


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:  # noqa: ARG001
    """Yield nothing: a file is linear in its arrays."""
    return iter(())
