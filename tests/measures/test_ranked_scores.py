"""Scores in order: one quantile that is selected is that of all scores sorted."""

import numpy as np
import pytest

from exactcp.measures._ranked_scores import Band, RankedScores


@pytest.mark.parametrize("y", [[], [3.0], [2.0, 2.0, 2.0], [0.5, -4.0, 1.0, -1.0, np.inf, 0.0, 1.0]])
@pytest.mark.parametrize("side", ["both", "upper", "lower"])
def test_a_selected_score_is_that_of_the_order(y, side):
    y = np.asarray(y, dtype=float)
    band = Band(np.full(y.size, -0.5), np.full(y.size, 0.5), np.linspace(1.0, 2.0, y.size))
    ranked = RankedScores(y, band, side)
    counts = np.arange(y.size + 2)
    of_all = [np.inf, *sorted(band.scores(y, side).tolist(), reverse=True), -np.inf]
    for _ in range(2):  # the second time from what was kept
        assert [float(ranked.quantile(count)) for count in counts] == of_all
    assert ranked.quantile(counts).tolist() == of_all


@pytest.mark.parametrize("side", ["both", "upper", "lower"])
@pytest.mark.parametrize("width", [0.0, 1.0])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_one_scale_for_all_is_the_same_as_many(scale, width, side):
    y = np.random.default_rng(0).normal(size=9)
    lower = np.zeros(9)
    upper = lower + width if width else lower
    one = Band(lower, upper, np.broadcast_to(np.float64(scale), 9))
    many = Band(lower, upper, np.full(9, scale))
    before = y.copy()
    np.testing.assert_array_equal(one.scores(y, side), many.scores(y, side))
    above, below = y - upper, lower - y
    outside = {"upper": above, "lower": below, "both": np.maximum(above, below)}[side]
    np.testing.assert_array_equal(one.scores(y, side) * scale, outside)
    np.testing.assert_array_equal(y, before)
    assert (one.has_unit, many.has_unit) == (scale == 1.0, False)
