"""The paper's data: two generated classes, a generated target, 30 features each; and MNIST, from a file or OpenML."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path

import numpy as np
from sklearn import datasets

from exactcp._replacing import replacing

N_FEATURES = 30
MNIST_NAMES = ("X_train", "y_train", "X_test", "y_test")
BROKEN = (ValueError, KeyError, OSError, EOFError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error)
FORMAT = f"an npz file with {', '.join(MNIST_NAMES)}"


def classification_data(n: int, n_test: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training objects, their labels, and test objects; every label has a training example.

    Parameters
    ----------
    n, n_test : int
    seed : int

    Returns
    -------
    X, y, X_test : ndarray
    """
    attempt = seed
    while True:
        X, y = datasets.make_classification(n_samples=n + n_test, n_features=N_FEATURES, random_state=attempt)
        if np.unique(y[:n]).size == 2:
            return X[:n], y[:n], X[n:]
        attempt += 1000  # few examples may all have one label


def regression_data(n: int, n_test: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return training objects, their targets, and test objects.

    Parameters
    ----------
    n, n_test : int
    seed : int

    Returns
    -------
    X, y, X_test : ndarray
    """
    X, y = datasets.make_regression(n_samples=n + n_test, n_features=N_FEATURES, random_state=seed)
    return X[:n], y[:n], X[n:]


def load_images(path: Path) -> dict[str, np.ndarray]:
    """Read MNIST from an npz file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
        X_train, y_train, X_test and y_test; an image is a row of pixels.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in MNIST_NAMES}
    except FileNotFoundError:
        msg = f"--data {path} does not exist: give {FORMAT}."
        raise ValueError(msg) from None
    except BROKEN as error:
        msg = f"--data {path} cannot be read ({' '.join(str(error).split())}): give {FORMAT}."
        raise ValueError(msg) from None
    X_train, y_train, X_test, y_test = arrays.values()
    pairs = ((X_train, y_train), (X_test, y_test))
    fits = all(X.ndim > 1 and y.shape == X.shape[:1] and X.size for X, y in pairs)
    if not fits or X_train.shape[1:] != X_test.shape[1:] or not all(a.dtype.kind in "uif" for a in arrays.values()):
        shapes = ", ".join(f"{name} {a.dtype} {a.shape}" for name, a in arrays.items())
        msg = f"--data {path} has {shapes}: expected numbers, images of one size, a label for each: give {FORMAT}."
        raise ValueError(msg)
    return {name: a.reshape(len(a), -1) if a.ndim > 1 else a for name, a in arrays.items()}


def locate(data: Path | None, output: Path) -> Path:
    """Return where MNIST is: the file given, what an earlier run fetched, or what OpenML gives now.

    Parameters
    ----------
    data : Path or None
    output : Path
        A folder, which keeps what is fetched.

    Returns
    -------
    Path
    """
    cached = output / "mnist.npz"
    if data is not None or cached.exists():
        return data or cached
    try:
        X, y = datasets.fetch_openml(
            "mnist_784", version=1, return_X_y=True, as_frame=False, parser="liac-arff", n_retries=1
        )
    except Exception as error:  # noqa: BLE001  (whatever network and cache come up with)
        reason = " ".join(str(error).split()) or type(error).__name__
        msg = f"MNIST is not at hand, and OpenML did not give it ({reason}): use --data with {FORMAT}."
        raise ValueError(msg) from None
    X, y = X.astype(np.uint8), y.astype(np.uint8)
    with replacing(cached) as unfinished:
        np.savez_compressed(unfinished, X_train=X[:60_000], y_train=y[:60_000], X_test=X[60_000:], y_test=y[60_000:])
    return cached
