"""Conformal p-values of anomalies: nonconform, which needs Python 3.12."""

from __future__ import annotations

from typing import Any

import numpy as np
from nonconform import ConformalDetector, Split
from sklearn.ensemble import IsolationForest
from sklearn.frozen import FrozenEstimator

from benchmarks.peers.contest import COLUMNS, OURS, Contest, Data, halves
from benchmarks.peers.split import NINE_LEVEL
from exactcp import ConformalAnomalyDetector

PEER = "nonconform"


def _objects(rng: np.random.Generator, n: int, *, p: int = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    """Return objects of one kind with heavy tails."""
    return rng.standard_t(4, size=(n, p)), np.zeros(n, dtype=np.int64)


def _ours(data: Data) -> Any:
    return (
        ConformalAnomalyDetector(FrozenEstimator(data.model), n_jobs=1).fit(data.X_calibration).predict_p(data.X_test)
    )


def _theirs(data: Data) -> Any:
    detector = ConformalDetector(data.model, Split(), score_polarity="higher_is_normal")
    return detector.calibrate(data.X_calibration).compute_p_values(data.X_test)


def _column(found: Any, _: Data) -> np.ndarray:
    return np.asarray(found)[:, None]


def _nine(rng: np.random.Generator) -> Data:
    X, y = _objects(rng, 19, p=3)
    model = IsolationForest(n_estimators=10, random_state=0).fit(X[:9])
    return Data(X[:9], y[:9], X[9:18], y[9:18], X[18:], y[18:], model, NINE_LEVEL)


CONTESTS = {
    "anomaly-p": Contest(
        "Anomalies, the detector fitted before",
        "Calibrate an isolation forest with n / 2 rows of 20 columns, p-values of n / 4.",
        "p",
        lambda n: halves(_objects, n, IsolationForest(random_state=0)),
        {OURS: _ours, PEER: _theirs},
        {OURS: _column, PEER: _column},
        {PEER: "scores tie when they are the same number; here, up to rounding"},
        peak_at=10_000,
        nine=_nine,
    ),
}
