"""The founding paper's MNIST figures, to every printed digit (theory EF.1)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactcp import FullConformalClassifier
from exactcp.experiments.data import load_images
from exactcp.measures import KDE, KNN, NN, RandomForest, SimplifiedKNN
from exactcp.metrics import fuzziness

MNIST = Path(__file__).parents[3] / "shared" / "data" / "mnist.npz"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MNIST.exists(), reason="needs the MNIST file, which is not part of the repository"),
]


@pytest.fixture(scope="module")
def mnist():
    X, y, X_test, _ = load_images(MNIST).values()
    return X.astype(float), y, X_test.astype(float)


@pytest.mark.parametrize(
    ("measure", "mean", "std"),
    [
        (NN(), "0.00047", "0.00105"),
        (SimplifiedKNN(k=15), "0.04998", "0.07151"),
        (KNN(k=15), "0.00066", "0.00125"),
        (KDE(), "0.04251", "0.06776"),
        (RandomForest(n_estimators=10), "0.01370", "0.00498"),  # a row that the paper could not fill
    ],
)
def test_fuzziness(measure, mean, std, mnist):
    X, y, X_test = mnist
    p = FullConformalClassifier(measure).fit(X, y).predict_p(X_test)
    own = np.array([fuzziness(row[None]) for row in p]) / 9
    assert f"{own.mean():.5f}" == mean
    assert f"{own.std():.5f}" == std
