"""Intervals, coverage of parts and what chance can do: against loops, scipy, and all slabs one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import betabinom, binom, binomtest

from exactcp import metrics
from exactcp.metrics.bands import expected_counts, judge
from exactcp.metrics.groups import _worst_slab


def _sets(rng, m=120):
    return rng.random((m, 3)) < 0.7, np.array(["a", "b", "c"])[rng.integers(0, 3, m)]


def _intervals(seed, m=200):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(-4, 5, (m, 2)), axis=1).astype(float)  # on a grid: targets meet ends
    return ends, rng.integers(-5, 6, m).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_intervals_equal_the_loop(seed):
    intervals, y = _intervals(seed)
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
        assert metrics.interval_score(intervals, y, level) == pytest.approx(total / 200, rel=1e-12)


def test_infinite_and_empty_intervals():
    intervals, y = [[-np.inf, np.inf], [np.nan, np.nan], [2.0, 1.0], [0.0, 4.0]], [0.0, 0.0, 1.5, 4.0]
    assert metrics.interval_coverage(intervals, y) == 0.5
    assert metrics.mean_width(intervals) == np.inf
    assert metrics.mean_width(intervals[1:]) == pytest.approx(4 / 3)
    assert metrics.interval_score(intervals[3:], y[3:]) == 4.0
    for j in (0, 1, 2):
        assert metrics.interval_score(intervals[j : j + 1], y[j : j + 1]) == np.inf


def test_a_verdict_takes_the_chance_of_the_training_rows_into_account():
    """With 30 calibrating rows and 2,000 test rows, coverage varies far more than test rows alone would let it."""
    rng = np.random.default_rng(0)
    wrong = {None: 0, 30: 0}
    for _ in range(400):
        calibration, test = rng.uniform(size=30), rng.uniform(size=2000)
        p = ((calibration[:, None] >= test).sum(axis=0) + 1) / 31
        for n in wrong:
            wrong[n] += judge(float((p > 0.1).mean()), metrics.expected_coverage(0.9, 2000, n)) == "below"
    assert wrong[30] <= binom.ppf(0.999, 400, 0.025)
    assert wrong[None] > binom.ppf(0.999, 400, 0.025)


@pytest.mark.parametrize(("n", "n_calibration"), [(1, 19), (7, 9), (100, 100), (500, 1297), (2000, 30)])
def test_expected_counts_are_those_of_the_beta_binomial_law(n, n_calibration):
    epsilons = [Fraction(k, 200) for k in range(1, 200, 7)] + [Fraction(1), Fraction(3, 2)]
    for epsilon, ends in zip(epsilons, expected_counts(epsilons, n, n_calibration).tolist(), strict=True):
        missed = math.floor(epsilon * (n_calibration + 1))
        if epsilon >= 1:  # nothing is promised
            assert ends == [0, n]
        elif missed == 0:
            assert ends == [n, n]
        else:
            assert ends == betabinom.ppf([0.025, 0.975], n, n_calibration + 1 - missed, missed).tolist()
    assert metrics.expected_coverage(0.9, 0) is None


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_bands_are_those_of_scipy(confidence):
    pairs = [(hits, n) for n in (1, 2, 9, 100) for hits in {0, 1, n // 2, n}]
    lower, upper = metrics.binomial_band(*np.array(pairs).T, confidence)
    for j, (hits, n) in enumerate(pairs):
        expected = binomtest(hits, n).proportion_ci(confidence, method="exact")
        assert (lower[j], upper[j]) == pytest.approx((expected.low, expected.high), rel=1e-9, abs=1e-12)
    assert [float(end) for end in metrics.binomial_band(0, 0)] == [0.0, 1.0]


@pytest.mark.parametrize("kind", ["sets", "intervals"])
def test_groups_equal_the_loop(kind, rng):
    groups = rng.choice(["x", "y", "z"], 120)
    if kind == "sets":
        sets, y = _sets(rng)
        table = metrics.coverage_by_group(sets, y, groups, classes=["a", "b", "c"], confidence=0.9)
        covered = [bool(row["abc".index(label)]) for row, label in zip(sets, y, strict=True)]
    else:
        intervals, y = np.sort(rng.normal(size=(120, 2)), axis=1), rng.normal(size=120)
        table = metrics.coverage_by_group(pd.DataFrame(intervals), pd.Series(y), pd.Series(groups), confidence=0.9)
        covered = [low <= t <= high for (low, high), t in zip(intervals.tolist(), y.tolist(), strict=True)]
    assert table.group == ["x", "y", "z"]
    for j, name in enumerate("xyz"):
        own = [hit for hit, group in zip(covered, groups, strict=True) if group == name]
        band = binomtest(sum(own), len(own)).proportion_ci(0.9, method="exact")
        assert (table.n[j], table.coverage[j]) == (len(own), sum(own) / len(own))
        assert (table.lower[j], table.upper[j]) == pytest.approx((band.low, band.high), rel=1e-9)
    frame = table.to_frame()
    assert frame.columns.tolist() == ["group", "n", "coverage", "lower", "upper"]
    assert len(frame) == len(table) == 3
    assert isinstance(table.to_frame("polars"), pl.DataFrame)


@pytest.mark.parametrize("n_bins", [1, 2, 5, 100])
@pytest.mark.parametrize("ties", [False, True])
def test_bins_hold_every_object_once(n_bins, ties, rng):
    intervals, y = np.sort(rng.normal(size=(50, 2)), axis=1), rng.normal(size=50)
    values = rng.integers(0, 3, 50) if ties else rng.normal(size=50)
    table = metrics.coverage_by_bin(intervals, y, values, n_bins=n_bins)
    assert table.n.sum() == 50
    assert (table.n > 0).all()
    assert len(table) == min(n_bins, 3 if ties else 50) or (ties and len(table) <= 3)
    covered = (intervals[:, 0] <= y) & (y <= intervals[:, 1])
    for j, (low, high) in enumerate(table.group):
        inside = (values >= low) & ((values <= high) if j == len(table) - 1 else (values < high))
        assert table.n[j] == inside.sum()
        assert table.coverage[j] == covered[inside].mean()
    if not ties and n_bins <= 5:
        assert table.n.max() - table.n.min() <= 1


def test_sizes_equal_the_loop(rng):
    sets, y = _sets(rng)
    table = metrics.size_stratified_coverage(sets, y, classes=["a", "b", "c"])
    assert table.group == sorted({int(row.sum()) for row in sets})
    for j, size in enumerate(table.group):
        own = [row["abc".index(t)] for row, t in zip(sets, y, strict=True) if row.sum() == size]
        assert table.n[j] == len(own)
        assert table.coverage[j] == np.mean(own)
    intervals, y = np.sort(rng.normal(size=(50, 2)), axis=1), rng.normal(size=50)
    wide = np.diff(intervals)[:, 0]
    for n_bins, expected in ((None, 5), (3, 3)):
        found = metrics.size_stratified_coverage(intervals, y, n_bins=n_bins)
        assert len(found) == expected
        assert found.group == metrics.coverage_by_bin(intervals, y, wide, n_bins=expected).group


class TestSlabs:
    @pytest.mark.parametrize("seed", range(20))
    def test_no_run_of_neighbours_is_worse(self, seed):
        rng = np.random.default_rng(seed)
        m, least = int(rng.integers(1, 40)), int(rng.integers(1, 8))
        least = min(least, m)
        places, covered = rng.normal(size=m), rng.random(m) < rng.choice([0.0, 0.5, 0.9, 1.0])
        share, low, high = _worst_slab(places, covered, least)
        ordered = covered[np.argsort(places)]
        shares = [ordered[i:j].mean() for i in range(m) for j in range(i + least, m + 1)]
        assert share == pytest.approx(min(shares), abs=1e-15)
        inside = (low <= places) & (places <= high)
        assert inside.sum() >= least
        assert covered[inside].mean() == pytest.approx(share, abs=1e-15)

    def test_the_slab_is_read_on_the_other_half(self):
        """Coverage that depends on nothing: what is chosen to be bad is not bad where it is read."""
        rng, inside = np.random.default_rng(3), 0
        for seed in range(40):
            X, y = rng.normal(size=(200, 2)), rng.random(200)
            found = metrics.worst_slab_coverage(np.tile([0.0, 0.8], (200, 1)), y, X, n_directions=20, random_state=seed)
            inside += found.lower <= 0.8 <= found.upper
            assert found.lower <= found.coverage <= found.upper
        assert inside >= 34  # of 40, at 95 % each; P(fewer) < 0.002

    def test_no_object_inside_is_nan(self):
        found = metrics.worst_slab_coverage([[0, 1], [0, 1]], [0.5, 0.5], [[0.0], [9.0]], random_state=0)
        assert np.isnan(found.coverage)
        assert (found.n, found.lower, found.upper) == (0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda f: f.coverage_by_group([[0, 1]] * 2, [0, 0], ["a", None]), "groups hold values that have no order"),
        (lambda f: f.coverage_by_group([[0, 1]], [0], [1], classes=["a", "b"]), "classes would have no effect"),
        (lambda f: f.coverage_by_group([[0, 1]], [0], [1], confidence=95), "confidence=95 is not the confidence level"),
        (lambda f: f.coverage_by_bin([[0, 1]], [0], [np.nan]), "leave out those without one"),
        (lambda f: f.size_stratified_coverage([[True, False]], [0], n_bins=3), "n_bins=3 would have no effect"),
        (lambda f: f.worst_slab_coverage([[0, 1]] * 2, [0, 0], [[0.0]] * 2, smallest_share=1), "smallest_share=1 is"),
        (lambda f: f.worst_slab_coverage([[0, 1]] * 2, [0, 0], [[0.0]] * 2, n_directions=0), "n_directions=0 is"),
        (lambda f: f.mean_width([[True, False]]), "not sets or labels"),
        (lambda f: f.interval_coverage([[0, 1]], [1, 2]), "there are 1 predictions"),
    ],
)
def test_mistakes_are_told(call, match):
    with pytest.raises(ValueError, match=match):
        call(metrics)
