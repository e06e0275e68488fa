"""The paper's generated data: two classes or a target, 30 features."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification, make_regression

N_FEATURES = 30


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
        X, y = make_classification(n_samples=n + n_test, n_features=N_FEATURES, random_state=attempt)
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
    X, y = make_regression(n_samples=n + n_test, n_features=N_FEATURES, random_state=seed)
    return X[:n], y[:n], X[n:]
