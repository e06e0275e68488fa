"""Values that MAPIE and crepes gave on small data: what they were asked is told in golden/README.md."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

FOLDER = Path(__file__).parents[1] / "golden"
DATA = {"iris": load_iris, "wine": load_wine, "diabetes": load_diabetes}
MODELS = {
    "naive Bayes": GaussianNB(),
    "votes": KNeighborsClassifier(5),
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "ridge": Ridge(alpha=0.1),
}


class Parts(NamedTuple):
    """The rows that fit, those that calibrate (none where they are the same), and those that are predicted."""

    X: np.ndarray
    y: np.ndarray
    X_calibration: np.ndarray
    y_calibration: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@cache
def golden(name: str) -> dict[str, Any]:
    """Return the entries of one peer, "mapie" or "crepes", by name."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def parts(entry: dict[str, Any]) -> Parts:
    """Return the data of an entry: slices [start, stop, step] of a data set of scikit-learn's."""
    X, y = DATA[entry["data"]](return_X_y=True)
    return Parts(*(array[slice(*entry[part])] for part in ("fit", "calibrate", "test") for array in (X, y)))


def outputs(entry: dict[str, Any]) -> Parts:
    """Return the data of an entry whose objects are a model's probabilities; nothing fits."""
    P, y, P_test, y_test = (np.array(entry[part]) for part in ("P", "y", "P_test", "y_test"))
    return Parts(P[:0], y[:0], P, y, P_test, y_test)


def sets(rows: list[str]) -> np.ndarray:
    """Return prediction sets as booleans (m, l) from strings such as "101"."""
    return np.array([[letter == "1" for letter in row] for row in rows])


def difficulty(X: np.ndarray) -> np.ndarray:
    """Return the difficulty that the normalised entries use: a function of the objects."""
    return 1.0 + 20.0 * np.abs(X[:, 2])


def over_mean(X: np.ndarray) -> np.ndarray:
    """Return the categories that the Mondrian entries of diabetes use."""
    return X[:, 1] > 0


def long_sepals(X: np.ndarray) -> np.ndarray:
    """Return the categories that the Mondrian entries of iris use."""
    return X[:, 0] > 5.8
