"""CV+: MAPIE, puncc."""

from __future__ import annotations

from typing import Any

import numpy as np
from deel.puncc.api.prediction import BasePredictor
from deel.puncc.regression import CVPlus
from mapie.regression import CrossConformalRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from benchmarks.peers.contest import OURS, Contest, Data, targets, whole
from exactcp import CVPlusRegressor

FOLDS = 10
SIZES = (50, 100, 316, 1_000, 3_162, 10_000)


def _ours(data: Data) -> Any:
    reg = CVPlusRegressor(LinearRegression(), cv=KFold(FOLDS), n_jobs=1)
    return reg.fit(data.X, data.y).predict_interval(data.X_test, data.level)


def _mapie(data: Data) -> Any:
    reg = CrossConformalRegressor(LinearRegression(), confidence_level=data.level, cv=KFold(FOLDS))
    return reg.fit_conformalize(data.X, data.y).predict_interval(data.X_test)


def _puncc(data: Data) -> Any:
    reg = CVPlus(BasePredictor(LinearRegression()), K=FOLDS, random_state=0)
    reg.fit(X=data.X, y=data.y)
    return reg.predict(data.X_test, alpha=data.epsilon)


CONTESTS = {
    "cv-plus": Contest(
        "CV+",
        f"Fit linear regressions in {FOLDS} folds of n rows, predict intervals for 100 rows.",
        "intervals",
        lambda n: whole(targets, n, 100),
        {OURS: _ours, "MAPIE": _mapie, "puncc": _puncc},
        {
            "MAPIE": lambda found, _: np.asarray(found[1])[:, :, 0],
            "puncc": lambda found, _: np.column_stack(found[1:]),
        },
        {"puncc": "its folds are shuffled and cannot be given, so that the intervals are those of other folds"},
        SIZES,
        peak_at=10_000,
    ),
}
