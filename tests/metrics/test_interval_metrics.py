"""Metrics of intervals against loops, against each other, and where they are infinite."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_pinball_loss

from exactcp import metrics

# sums of some hundred numbers, in another order
ROUNDING = 1e-12


def _problem(seed, m=200):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(-4, 5, (m, 2)), axis=1).astype(float)  # on a grid: targets meet ends
    return ends, rng.integers(-5, 6, m).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_equal_the_loop(seed):
    intervals, y = _problem(seed)
    rows = list(zip(intervals.tolist(), y.tolist(), strict=True))
    assert metrics.interval_coverage(intervals, y) == sum(low <= t <= high for (low, high), t in rows) / 200
    assert metrics.mean_width(intervals) == sum(high - low for (low, high), _ in rows) / 200
    for level in (0.5, 0.9, 0.95):
        total = 0.0
        for (low, high), t in rows:
            total += high - low
            if t < low:
                total += 2 / (1 - level) * (low - t)
            elif t > high:
                total += 2 / (1 - level) * (t - high)
        assert metrics.interval_score(intervals, y, level) == pytest.approx(total / 200, rel=ROUNDING)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_pinball_loss_is_scikit_learns(level):
    intervals, y = _problem(0)
    expected = mean_pinball_loss(y, intervals[:, 0], alpha=level)
    assert metrics.pinball_loss(intervals[:, 0], y, level) == pytest.approx(expected, rel=ROUNDING)


def test_the_interval_score_is_that_of_both_quantiles():
    intervals, y = _problem(1)
    both = [metrics.pinball_loss(intervals[:, j], y, level) for j, level in enumerate((0.05, 0.95))]
    assert metrics.interval_score(intervals, y, 0.9) == pytest.approx(2 / 0.1 * sum(both), rel=ROUNDING)


def test_infinite_and_empty_intervals():
    intervals, y = [[-np.inf, np.inf], [np.nan, np.nan], [2.0, 1.0], [0.0, 4.0]], [0.0, 0.0, 1.5, 4.0]
    assert metrics.interval_coverage(intervals, y) == 0.5
    assert metrics.mean_width(intervals) == np.inf
    assert metrics.mean_width(intervals[1:]) == pytest.approx(4 / 3)
    assert metrics.interval_score(intervals[3:], y[3:]) == 4.0
    for j in (0, 1, 2):
        assert metrics.interval_score(intervals[j : j + 1], y[j : j + 1]) == np.inf


def test_columns_of_frames_are_taken():
    intervals, y = _problem(2)
    frame = pd.DataFrame({"lower": intervals[:, 0], "upper": intervals[:, 1], "y": y}, index=np.arange(200)[::-1])
    ends = frame[["lower", "upper"]]
    assert metrics.interval_score(ends, frame["y"]) == metrics.interval_score(intervals, y)
    assert metrics.interval_coverage(ends.values.tolist(), y.tolist()) == metrics.interval_coverage(intervals, y)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: metrics.mean_width([1.0, 2.0]), r"intervals have shape \(2,\); expected \(m, 2\)"),
        (lambda: metrics.mean_width(np.zeros((3, 2, 2))), r"of several levels, pass one, intervals\[..., 0\]"),
        (lambda: metrics.mean_width(np.zeros((0, 2))), r"intervals have shape \(0, 2\)"),
        (lambda: metrics.mean_width([["a", "b"]]), "expected numbers: pass predict_interval"),
        (lambda: metrics.mean_width([[True, False]]), "not sets or labels"),
        (lambda: metrics.interval_coverage([[0, 1]], [1, 2]), "there are 1 predictions"),
        (lambda: metrics.interval_coverage([[0, 1]], [np.nan]), "y has a nan or infinite value"),
        (lambda: metrics.interval_coverage([[0, 1]], ["a"]), "pass the true targets"),
        (lambda: metrics.interval_score([[0, 1]], [0], 95), "confidence_level=95 is not a probability"),
        (lambda: metrics.pinball_loss([0.0], [0.0], 1.0), "level=1.0 is not the level of a quantile"),
        (lambda: metrics.pinball_loss([[0.0]], [0.0], 0.5), "one end of predict_interval"),
    ],
)
def test_mistakes_are_told(call, match):
    with pytest.raises(ValueError, match=match):
        call()
