"""Scores in order: one quantile that is selected is that of all scores sorted."""

from fractions import Fraction

import numpy as np
import pytest

from exactcp import pvalues
from exactcp.measures._ranked_scores import MANY, Band, RankedScores, largest


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


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("tau", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)])
def test_smoothed_p_values_exceed_epsilon_up_to_an_end(epsilon, tau, n):
    y = np.arange(n) // 2 * 1.0
    ranked = RankedScores(y, Band(np.zeros(n), np.zeros(n), np.ones(n)), "upper")
    targets, tau = np.arange(-1.0, 5.0, 0.25), np.array([tau])
    [end] = ranked.smoothed_end(epsilon, tau, np.zeros(1), np.ones(1))
    counts = ranked.counts(targets, np.zeros(targets.size), np.ones(targets.size))
    inside = pvalues.exceeds(pvalues.smoothed_p(counts, np.repeat(tau, targets.size)), epsilon)
    np.testing.assert_array_equal(inside, targets <= end)


@pytest.mark.parametrize("kind", ["any", "ascending", "equal", "few values", "infinite", "periodic"])
@pytest.mark.parametrize("n", [MANY - 1, MANY, 3 * MANY + 7])
def test_the_largest_by_a_sample_are_those_of_all_sorted(kind, n):
    rng = np.random.default_rng(n)
    scores = {
        "any": lambda: rng.normal(size=n),
        "ascending": lambda: np.arange(float(n)),
        "equal": lambda: np.full(n, 0.3),
        "few values": lambda: rng.integers(4, size=n) * 0.1,
        "infinite": lambda: np.where(rng.random(n) < 0.2, np.inf, rng.normal(size=n)),
        "periodic": lambda: (np.arange(n) % (n // 1024)).astype(float),  # the sample has one value of many
    }[kind]()
    descending, before = np.sort(scores)[::-1], scores.copy()
    for count in (1, 2, n // 20, n // 10, n // 2, n - 1, n):
        assert largest(scores, count) == descending[count - 1]
    np.testing.assert_array_equal(scores, before)
