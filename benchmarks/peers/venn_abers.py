"""Venn-Abers: venn-abers, and scikit-learn's isotonic calibration, which has no guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from venn_abers import VennAbers, VennAbersCalibrator

from benchmarks.peers.contest import OURS, PLAIN, Contest, Data, halves, two_labels, whole
from exactcp import VennAbersPredictor
from exactcp.measures import ModelScore

FOLDS = 5
PEER = "venn-abers"


def _our_inductive(data: Data) -> Any:
    model = FrozenEstimator(GaussianNB().fit(data.X, data.y))
    clf = VennAbersPredictor(model, method="inductive", n_jobs=1).fit(data.X_calibration, data.y_calibration)
    return clf.predict_proba_interval(data.X_test)


def _isotonic(P_calibration: np.ndarray, y: np.ndarray, P_test: np.ndarray) -> np.ndarray:
    calibrator = VennAbers()
    calibrator.fit(P_calibration, y)
    return calibrator.predict_proba(P_test)[1]


def _their_inductive(data: Data) -> Any:
    model = GaussianNB().fit(data.X, data.y)
    return _isotonic(model.predict_proba(data.X_calibration), data.y_calibration, model.predict_proba(data.X_test))


def _plain(data: Data) -> Any:
    model = FrozenEstimator(GaussianNB().fit(data.X, data.y))
    clf = CalibratedClassifierCV(model, method="isotonic").fit(data.X_calibration, data.y_calibration)
    return clf.predict_proba(data.X_test)


def _probabilities(n: int) -> Data:
    """Return rows that are what a model said of others."""
    data = halves(two_labels, n, GaussianNB())
    known, asked = (data.model.predict_proba(X) for X in (data.X_calibration, data.X_test))
    return data._replace(X_calibration=known, X_test=asked)


def _our_isotonic(data: Data) -> Any:
    clf = VennAbersPredictor(ModelScore("precomputed"), method="inductive", n_jobs=1)
    return clf.fit(data.X_calibration, data.y_calibration).predict_proba_interval(data.X_test)


def _their_isotonic(data: Data) -> Any:
    return _isotonic(data.X_calibration, data.y_calibration, data.X_test)


def _our_cross(data: Data) -> Any:
    clf = VennAbersPredictor(GaussianNB(), method="cross", cv=StratifiedKFold(FOLDS), n_jobs=1)
    return clf.fit(data.X, data.y).predict_proba_interval(data.X_test)


def _their_cross(data: Data) -> Any:
    clf = VennAbersCalibrator(GaussianNB(), inductive=False, n_splits=FOLDS, shuffle=False)
    return clf.fit(data.X, data.y).predict_proba(data.X_test, p0_p1_output=True)[1]


def _of_ours(found: Any, _: Data) -> np.ndarray:
    return np.asarray(found)[:, 1]


def _of_folds(found: Any, _: Data) -> np.ndarray:
    bounds = np.asarray(found[0] if isinstance(found, list) else found)
    return np.column_stack([bounds[:, :FOLDS].mean(axis=1), bounds[:, FOLDS:].mean(axis=1)])


def _of_plain(found: Any, _: Data) -> np.ndarray:
    return np.column_stack([found[:, 1], found[:, 1]])


CONTESTS = {
    "ivap": Contest(
        "Inductive Venn-Abers",
        "Fit naive Bayes to n / 2 rows of 20 columns and two labels, calibrate with the others, predict n / 4.",
        "probabilities",
        lambda n: halves(two_labels, n),
        {OURS: _our_inductive, PEER: _their_inductive, PLAIN: _plain},
        {OURS: _of_ours, PLAIN: _of_plain},
        peak_at=100_000,
    ),
    "isotonic": Contest(
        "Inductive Venn-Abers, the isotonic part alone",
        "Given probabilities of n / 2 rows calibrate those of n / 4.",
        "probabilities",
        _probabilities,
        {OURS: _our_isotonic, PEER: _their_isotonic},
        {OURS: _of_ours},
    ),
    "cvap": Contest(
        "Cross Venn-Abers",
        f"Naive Bayes in {FOLDS} folds of n rows, predict 1,000 rows.",
        "probabilities",
        lambda n: whole(two_labels, n, 1_000),
        {OURS: _our_cross, PEER: _their_cross},
        {OURS: _of_ours, PEER: _of_folds},
        {PEER: "it joins the folds by geometric means and also offers Brier loss; compared are the means of p0 and p1"},
    ),
}
