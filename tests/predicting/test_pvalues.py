from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exactcp.counting.labels import LabelCounts
from exactcp.pvalues import (
    Counts,
    compare_residuals,
    compare_scores,
    compare_sorted,
    deterministic_p,
    label_conditional,
    marginal,
    smoothed_p,
    threshold,
    tie_groups,
)


def test_ties_within_the_tolerance_count_as_equal():
    training = np.array([[1.0, 1.0 + 5e-11, 1.0 - 5e-11, 1.0 + 2e-10, 1.0 - 2e-10, np.inf]])
    counts = compare_scores(training, np.array([1.0]), floor=0.0, tolerance=1e-10)
    assert (counts.greater[0], counts.equal[0], counts.total[0]) == (2, 3, 6)


def test_the_floor_makes_the_tolerance_absolute_near_zero():
    training = np.array([[1e-12, -1e-12, 1e-9]])
    relative = compare_scores(training, np.array([0.0]), floor=0.0, tolerance=1e-10)
    absolute = compare_scores(training, np.array([0.0]), floor=1.0, tolerance=1e-10)
    assert (relative.greater[0], relative.equal[0]) == (2, 0)
    assert (absolute.greater[0], absolute.equal[0]) == (1, 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_infinities_compare_exactly(sign):
    training = np.array([[sign * np.inf, 1e308, -1e308]])
    counts = compare_scores(training, np.array([sign * np.inf]), floor=1.0, tolerance=1e-10)
    assert (counts.greater[0], counts.equal[0]) == ((0, 1) if sign > 0 else (2, 1))


def test_nan_marks_examples_outside_the_category():
    counts = compare_scores(np.array([[np.nan, 2.0, 0.0]]), np.array([1.0]), floor=0.0, tolerance=0.0)
    assert (counts.greater[0], counts.equal[0], counts.total[0]) == (1, 0, 2)


def test_sorted_counting_equals_plain_counting(rng):
    training, scores = rng.integers(0, 6, 50).astype(float), np.array([0.0, 2.0, 5.0, 7.0, np.inf, -np.inf])
    rule = {"floor": 0.0, "tolerance": 1e-10}
    plain = compare_scores(np.tile(training, (6, 1)), scores, **rule)
    fast = compare_sorted(np.sort(training), scores, **rule)
    for field in ("greater", "equal", "total"):
        np.testing.assert_array_equal(getattr(fast, field), getattr(plain, field))


def test_residuals_are_compared_with_the_slack_of_both():
    # own slack: 1e-10 max(2, 4 / 100); the examples': 1e-12 |y_i|
    off = np.array([-4e-10, -1e-10, 1e-10, 4e-10])
    for targets, greater, equal in ((0.0, 1, 2), (100.0, 1, 2), (300.0, 0, 4)):
        counts = compare_residuals(2.0 + off, np.full(4, targets), 2.0, 4.0)
        assert (counts.greater[0], counts.equal[0], counts.total[0]) == (greater, equal, 4)
    counts = compare_residuals(np.array([np.nan, 3.0]), np.zeros(2), 2.0, 4.0)
    assert (counts.greater[0], counts.equal[0], counts.total[0]) == (1, 0, 1)


def test_chains_of_ties_are_one_group():
    ascending = np.array([-1.0, 1.0, 1.0 + 8e-11, 1.0 + 16e-11, 1.0 + 4e-10])
    np.testing.assert_array_equal(tie_groups(ascending, floor=0.0, tolerance=1e-10), [0, 1, 1, 1, 2])
    assert tie_groups(np.empty(0), floor=0.0, tolerance=1e-10).size == 0


def test_counts_of_all_examples_and_of_a_labels():
    counts = LabelCounts(*(np.array([[value, 10 * value]]) for value in (1, 2, 3, 4)), np.zeros((1, 2)))
    found = marginal(counts, 99)
    assert (found.greater.tolist(), found.equal.tolist(), found.total.tolist()) == ([[4, 40]], [[6, 60]], [[99, 99]])
    found = label_conditional(counts, np.array([5, 50]))
    assert (found.greater.tolist(), found.equal.tolist(), found.total.tolist()) == ([[1, 10]], [[2, 20]], [[5, 50]])


def test_formulas():
    counts = Counts(np.array([[3, 0]]), np.array([[1, 0]]), np.array([[9, 9]]))
    np.testing.assert_array_equal(deterministic_p(counts), [[0.5, 0.1]])
    np.testing.assert_array_equal(smoothed_p(counts, np.array([0.5])), [[0.4, 0.05]])
    np.testing.assert_array_equal(smoothed_p(counts, np.array([1.0])), deterministic_p(counts))


@pytest.mark.parametrize("epsilon", [0.0, 0.04, 0.05, 0.1, 0.3, 1.0, Fraction(1, 3)])
@pytest.mark.parametrize("tau", [1.0, 0.25, np.array([1.0, 0.5, 1e-300])])
def test_the_threshold_of_one_number_of_examples_is_that_of_several(epsilon, tau):
    for n in (0, 1, 2, 9, 19, 29, 100):
        of_several = threshold(epsilon, np.full(3, n), tau)
        assert np.array_equal(np.broadcast_to(threshold(epsilon, n, tau), 3), of_several)
