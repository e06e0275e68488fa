"""Every measure that takes shards, behind the predictors on Dask: what the plain predictors say."""

from __future__ import annotations

from typing import Any

import dask.array as da
import numpy as np
import pytest

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.dask import DaskFullConformalClassifier, DaskFullConformalRegressor
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    Bootstrap,
    KNNResidual,
    LassoResidual,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(60, 3)), RNG.normal(size=(9, 3))
LABELS = np.array(["ant", "bee", "cat"])[RNG.integers(0, 3, 60)]
TARGETS = X[:, 0] + 0.3 * RNG.normal(size=60)
ROUNDING = 1e-13  # of the ends of intervals, where a factorisation is put together from those of shards


def taking_shards(*measures: Any) -> list[Any]:
    """Return the measures that take shards."""
    found = []
    for measure in measures:
        try:
            measure.sharded()
        except ValueError as error:
            assert "needs all examples in one place" in str(error)  # noqa: PT017  (the reason is a sentence)
        else:
            found.append(measure)
    return found


LABEL_MEASURES = taking_shards(NN(), KNN(3), SimplifiedKNN(2), KDE(), LSSVM(), RandomForest(5, random_state=0))
TARGET_MEASURES = taking_shards(KNNResidual(3), RidgeResidual())


def chunked(values: np.ndarray) -> Any:
    """Return rows as a Dask array of three chunks."""
    return da.from_array(values, chunks=(25, *(-1,) * (values.ndim - 1)))


def right_half(objects):
    """A taxonomy of objects."""
    return objects[:, 0] > 0


@pytest.mark.parametrize("measure", LABEL_MEASURES, ids=repr)
@pytest.mark.parametrize("mondrian", [None, "label", right_half])
def test_p_values_of_labels(measure, mondrian):
    one = FullConformalClassifier(measure, mondrian=mondrian).fit(X, LABELS)
    many = DaskFullConformalClassifier(measure, mondrian=mondrian).fit(chunked(X), chunked(LABELS))
    np.testing.assert_array_equal(many.predict_p(T), one.predict_p(T))


def regressors(measure, **how):
    """Return a plain predictor and one of shards."""
    one = FullConformalRegressor(measure, **how).fit(X, TARGETS)
    return one, DaskFullConformalRegressor(measure, **how).fit(chunked(X), chunked(TARGETS))


# none of them where no measure of regression takes shards
@pytest.mark.parametrize("measure", TARGET_MEASURES, ids=repr)
@pytest.mark.parametrize("how", [{}, {"mondrian": right_half}, {"smoothed": True, "random_state": 1}], ids=list)
def test_answers_about_targets(measure, how):
    one, many = regressors(measure, **how)
    np.testing.assert_array_equal(many.predict_p(T, T[:, 0]), one.predict_p(T, T[:, 0]))
    for method, arguments in (("predict", ()), ("predict_interval", (0.8,)), ("predict_interval", ([0.5, 0.8],))):
        expected = getattr(one, method)(T, *arguments)
        np.testing.assert_allclose(getattr(many, method)(T, *arguments), expected, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(
            getattr(many, method)(chunked(T), *arguments).compute(), expected, rtol=0, atol=ROUNDING
        )


def test_nearest_neighbours_take_shards():
    assert {type(measure) for measure in LABEL_MEASURES} >= {NN, KNN, SimplifiedKNN}


@pytest.mark.parametrize("measure", [Bootstrap(KNN()), LassoResidual()], ids=["Bootstrap", "LassoResidual"])
def test_measures_that_need_all_examples_say_why(measure):
    with pytest.raises(ValueError, match="needs all examples in one place, since"):
        measure.sharded()
