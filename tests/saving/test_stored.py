"""Stored estimators: pickles know their version, copies are equal, and files that are mapped into memory can learn."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

from exactcp import (
    ConformalAnomalyDetector,
    FullConformalClassifier,
    FullConformalRegressor,
    VennPredictor,
    __version__,
    _estimator,
)
from exactcp.measures import KDE, KNN, LSSVM, NN, KNNResidual, LassoResidual, RandomForest, RidgeResidual
from public_estimators import LABELS, TARGETS, X, learn, learns_targets, make, public_classes

LEARNING = [
    FullConformalClassifier(NN()),
    FullConformalClassifier(KNN(2)),
    FullConformalClassifier(LSSVM()),
    FullConformalClassifier(LSSVM(kernel="rbf")),
    FullConformalClassifier(KDE()),
    FullConformalClassifier(RandomForest(3, random_state=0)),
    pytest.param(
        FullConformalClassifier(RandomForest(3, resampling="bernoulli", random_state=0)), marks=pytest.mark.slow
    ),
    # machine code for arrays that cannot be written to is made anew: classification stands for all neighbours
    pytest.param(FullConformalRegressor(KNNResidual(2)), marks=pytest.mark.slow),
    FullConformalRegressor(RidgeResidual()),
    FullConformalRegressor(RidgeResidual(kernel="rbf")),
    pytest.param(FullConformalRegressor(LassoResidual()), marks=pytest.mark.slow),
    pytest.param(VennPredictor(2), marks=pytest.mark.slow),
    ConformalAnomalyDetector(),
]


def answers(estimator: Any) -> np.ndarray:
    """Return what a predictor says about all objects."""
    if learns_targets(estimator):
        return estimator.predict_p(X, TARGETS)
    return estimator.predict_proba(X) if hasattr(estimator, "predict_proba") else estimator.predict_p(X)


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
class TestEveryClass:
    def test_pickles_of_other_formats_are_refused(self, cls, monkeypatch):
        estimator = learn(make(cls))
        monkeypatch.setattr(_estimator, "__version__", "99.1")
        monkeypatch.setattr(_estimator, "STATE_FORMAT", 99)
        stored = pickle.dumps(estimator)
        assert vars(pickle.loads(stored)).keys() == vars(estimator).keys()
        monkeypatch.undo()
        with pytest.raises(ValueError, match=r"was stored by exactcp 99.1, and exactcp .* reads it: .* Fit it anew"):
            pickle.loads(stored)

    def test_pickles_of_other_versions_are_read_with_the_warning_of_scikit_learn(self, cls, monkeypatch):
        estimator = learn(make(cls))
        monkeypatch.setattr(_estimator, "__version__", "99.1")
        stored = pickle.dumps(estimator)
        monkeypatch.undo()
        with pytest.warns(InconsistentVersionWarning) as warned:
            again = pickle.loads(stored)
        assert vars(again).keys() == vars(estimator).keys()
        own = (
            f"this {cls.__name__} was pickled by exactcp 99.1, and exactcp {__version__} reads it: nothing is promised"
        )
        assert any(str(one.message).startswith(own) for one in warned)
        assert {one.filename for one in warned} == {__file__}

    def test_pickles_that_name_no_version_are_refused(self, cls):
        state = vars(learn(make(cls))).copy()
        with pytest.raises(
            ValueError, match=f"this {cls.__name__} was stored by a version of exactcp that did not say"
        ):
            make(cls).__setstate__(state)

    @pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
    def test_copies_have_the_same_attributes(self, cls, duplicate):
        estimator = learn(make(cls))
        again = duplicate(estimator)
        assert type(again) is cls
        assert vars(again).keys() == vars(estimator).keys()
        assert str(again) == str(estimator)


@pytest.mark.parametrize("estimator", LEARNING, ids=lambda one: str(one)[:70])
def test_an_estimator_mapped_from_a_file_learns(estimator: Any, tmp_path: Path) -> None:
    y = TARGETS if learns_targets(estimator) else LABELS
    estimator.fit(X[:8], y[:8])
    joblib.dump(estimator, tmp_path / "stored")
    mapped = joblib.load(tmp_path / "stored", mmap_mode="r")
    for change in (
        lambda one: one,
        lambda one: one.partial_fit(X[8:9], y[8:9]),
        lambda one: one.partial_fit(X[9:], y[9:]),
        lambda one: one.unlearn([0]),
        lambda one: one.unlearn(np.arange(4)),
    ):
        change(estimator)
        change(mapped)
        np.testing.assert_array_equal(answers(mapped), answers(estimator))
    np.testing.assert_array_equal(
        answers(joblib.load(tmp_path / "stored", mmap_mode="r")), answers(estimator.fit(X[:8], y[:8]))
    )
