"""Adaptive levels and river's adapters are saved, and go on as if they had not been."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import exactcp
from exactcp import FullConformalClassifier, FullConformalRegressor, SplitConformalRegressor, VennPredictor
from exactcp._warning import quiet, warn
from exactcp.measures import KNN, RidgeResidual
from exactcp.online import AdaptiveLevel, progressive

pytest.importorskip("skops.io")
RNG = np.random.default_rng(4)
X = np.round(RNG.normal(size=(60, 2)), 1)
TARGETS = X[:, 0] + RNG.normal(size=60).round(1)
SIDES = np.array(["left", "right"])[(X[:, 0] > 0).astype(int)]


def saved(predictor, folder):
    exactcp.save(predictor, folder / "model.skops")
    return exactcp.load(folder / "model.skops")


@pytest.mark.parametrize(
    ("made", "y"),
    [
        (AdaptiveLevel(FullConformalRegressor(RidgeResidual()), gamma=0.05), TARGETS),
        (AdaptiveLevel(SplitConformalRegressor(RidgeResidual(), random_state=0), gamma=0.05), TARGETS),
        (AdaptiveLevel(FullConformalClassifier(KNN(2)), gamma=0.05), SIDES),
    ],
    ids=["full", "split", "classifier"],
)
def test_an_adaptive_level_has_the_same_future(made, y, tmp_path):
    progressive(made, (X[:40], y[:40]))
    again = saved(made, tmp_path)
    assert again.epsilon_ == made.epsilon_
    np.testing.assert_array_equal(again.epsilons_, made.epsilons_)
    assert made.errors_.size > 0
    for x, truth in zip(X[40:], y[40:], strict=True):
        assert again.update(x, truth) == made.update(x, truth)
    np.testing.assert_array_equal(again.errors_, made.errors_)
    ask = "predict_interval" if y is TARGETS else "predict_set"
    np.testing.assert_array_equal(getattr(again, ask)(X[:9]), getattr(made, ask)(X[:9]))


class TestRiver:
    @pytest.mark.parametrize("n", [0, 1, 30], ids=["nothing", "a beginning", "enough"])
    @pytest.mark.parametrize("kind", ["classifier", "venn", "regressor"])
    def test_the_same_future(self, kind, n, tmp_path):
        river = pytest.importorskip("river")
        from exactcp.online.river import RiverClassifier, RiverRegressor

        assert river
        made = {
            "classifier": lambda: RiverClassifier(FullConformalClassifier(KNN(2)), 0.9),
            "venn": lambda: RiverClassifier(VennPredictor(3)),
            "regressor": lambda: RiverRegressor(FullConformalRegressor(RidgeResidual()), 0.9),
        }[kind]()
        y = TARGETS.tolist() if kind == "regressor" else SIDES.tolist()
        examples = [({"a": a, "b": b}, truth) for (a, b), truth in zip(X.tolist(), y, strict=True)]
        for x, truth in examples[:n]:
            made.learn_one(x, truth)
        again = saved(made, tmp_path)
        for x, truth in examples[n:50]:
            made.learn_one(x, truth)
            again.learn_one(dict(reversed(x.items())) if n else x, truth)  # the order of the keys is remembered
        for x, _ in examples[50:]:
            assert again.predict_one(x) == made.predict_one(x)
            if kind == "classifier":
                assert again.predict_p_one(x) == made.predict_p_one(x)
        with pytest.raises(ValueError, match="lacks the keys"):
            again.predict_one({"a": 1.0})

    def test_other_things_are_refused(self, tmp_path):
        for thing in (progressive, object(), {"predictor": 1}):
            with pytest.raises(TypeError, match="expected a fitted predictor"):
                exactcp.save(thing, tmp_path / "thing.skops")


class TestQuiet:
    def test_in_one_thread_alone(self):
        """Another thread, which is asked the same meanwhile, still says what it has to say."""
        inside, said = threading.Barrier(2, timeout=10), []

        def other():
            inside.wait()
            warn("confidence_level=0.1 is low")
            inside.wait()

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            thread = threading.Thread(target=other)
            thread.start()
            with quiet("confidence_level="):
                inside.wait()
                warn("confidence_level=0.1 is low, and not said")
                warn("something else")
                inside.wait()
            thread.join()
            warn("confidence_level=0.2 is low")
            said = sorted(str(one.message) for one in caught)
        assert said == ["confidence_level=0.1 is low", "confidence_level=0.2 is low", "something else"]

    def test_adaptive_levels_leave_the_filters_of_others_alone(self):
        adaptive = AdaptiveLevel(FullConformalRegressor(RidgeResidual()), gamma=0.5).fit(X[:3], TARGETS[:3])
        before = list(warnings.filters)
        for x, truth in zip(X, TARGETS, strict=True):
            adaptive.update(x, truth)  # at levels that few examples cannot have: warnings are errors here
        assert warnings.filters == before
