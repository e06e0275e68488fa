"""Sets, p-values and probabilities of labels against slow loops, object by object; tests of both against scipy."""

import math
from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest
from scipy import stats

from exactcp import metrics

# Sums of at most 9 p-values and means of at most 40 objects, added in another order: a few units of 2.2e-16.
ROUNDING = 1e-13

NAIVE = {  # of one test object: its p-values and set as lists, and the column of the true label
    "sum_of_p": lambda p, inside, true: math.fsum(p),
    "unconfidence": lambda p, inside, true: sorted([0.0, *p])[-2],
    "fuzziness": lambda p, inside, true: math.fsum(p) - max(p),
    "mean_fuzziness": lambda p, inside, true: (math.fsum(p) - max(p)) / max(len(p) - 1, 1),
    "set_size": lambda p, inside, true: inside.count(True),
    "multiple_fraction": lambda p, inside, true: inside.count(True) > 1,
    "excess": lambda p, inside, true: max(inside.count(True) - 1, 0),
    "observed_unconfidence": lambda p, inside, true: max([0.0, *p[:true], *p[true + 1 :]]),
    "observed_fuzziness": lambda p, inside, true: math.fsum(v for j, v in enumerate(p) if j != true),
    "observed_multiple_fraction": lambda p, inside, true: any(v for j, v in enumerate(inside) if j != true),
    "observed_excess": lambda p, inside, true: sum(1 for j, v in enumerate(inside) if v and j != true),
    "coverage": lambda p, inside, true: inside[true],
}


def problem(n_labels, *, ties, m=40):
    """Random p-values (on a grid of 5 values if ties) and the column of the true label."""
    rng = np.random.default_rng(10 * n_labels + ties)
    p = rng.integers(0, 5, (m, n_labels)) / 4 if ties else rng.uniform(size=(m, n_labels))
    return p, rng.integers(0, n_labels, m)


@pytest.mark.parametrize("are_named", [False, True])
@pytest.mark.parametrize("level", [0.25, 0.4, 0.75])  # the set leaves out p equal to epsilon
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_labels", [1, 2, 5, 9])
def test_criteria_equal_the_loop(n_labels, ties, level, are_named):
    p, true = problem(n_labels, ties=ties)
    labels = [f"label {n_labels - j}" for j in range(n_labels)] if are_named else None  # columns need not be sorted
    y, sets = [labels[j] for j in true] if are_named else true, p > 1 - level
    summary = metrics.efficiency_summary(p, y, classes=labels, confidence_level=level).to_dict()
    rows = list(zip(p.tolist(), sets.tolist(), true.tolist(), strict=True))
    expected = {name: math.fsum(one(*row) for row in rows) / len(rows) for name, one in NAIVE.items()}
    assert summary == pytest.approx({"confidence_level": level} | expected, abs=ROUNDING)
    assert list(summary) == ["confidence_level", *NAIVE]
    assert all(type(value) is float for value in summary.values())
    own = {
        "fuzziness": metrics.fuzziness(p),
        "set_size": metrics.set_size(sets),
        "observed_fuzziness": metrics.observed_fuzziness(p, y, classes=labels),
        "coverage": metrics.coverage(sets, y, classes=labels),
    }
    assert own == pytest.approx({name: summary[name] for name in own}, abs=ROUNDING)


def test_summary_without_labels_and_default_level():
    p, y = problem(3, ties=False)
    without, with_y = metrics.efficiency_summary(p), metrics.efficiency_summary(p, y)
    assert [name for name, value in without.to_dict().items() if value is None] == list(NAIVE)[-5:]
    assert None not in with_y.to_dict().values()
    assert without.confidence_level == 0.95
    assert without.set_size == metrics.set_size(p > 0.05)
    with pytest.raises(FrozenInstanceError):
        without.excess = 0.0


def test_error_by_label():
    sets = np.array([[True, False, True], [False, True, True], [True, False, False], [False, False, False]])
    errors = metrics.error_by_label(sets, ["z", "z", "x", "z"], classes=["z", "y", "x"])
    assert list(errors) == ["z", "y", "x"]
    assert errors["z"] == 2 / 3
    assert math.isnan(errors["y"])
    assert errors["x"] == 1.0
    assert metrics.error_by_label(sets, [0, 1, 2, 0]) == {0: 0.5, 1: 0.0, 2: 1.0}


def test_inputs_are_left_alone_and_other_array_likes_are_taken():
    p, y = problem(3, ties=False)
    p.setflags(write=False)
    single = p.astype(np.float32)
    assert metrics.efficiency_summary(single, y.astype(object)) == metrics.efficiency_summary(
        single.astype(np.float64).tolist(), y.tolist()
    )
    assert metrics.fuzziness(np.array([[1, 0], [1, 1]])) == 0.5


def test_paired_test_equals_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.exponential(1.0, 30), rng.exponential(1.5, 30)
    result = metrics.paired_test(a, b)
    welch = stats.ttest_ind(a, b, equal_var=False, alternative="less")
    paired = stats.ttest_rel(a, b, alternative="less")
    # Welch is computed from the moments, the same formula in another order: a few units in the last place.
    assert (result.welch_statistic, result.welch_p) == pytest.approx(tuple(welch), rel=1e-12)
    assert (result.paired_statistic, result.paired_p) == (paired.statistic, paired.pvalue)
    moments = (result.mean_a, result.std_a, result.mean_b, result.std_b)
    assert moments == pytest.approx((a.mean(), a.std(), b.mean(), b.std()), rel=1e-15)
    assert asdict(result) == result.to_dict()
    assert all(type(value) is float for value in result.to_dict().values())


LIMITS = {
    "identical": ([0.25, 0.5, 0.3], [0.25, 0.5, 0.3], 0.5, 0.5),
    "the same constant": ([0.1] * 7, [0.1] * 7, 0.5, 0.5),
    "constants, a smaller": ([0.1] * 7, [0.3] * 7, 0.0, 0.0),
    "constants, a larger": ([0.3] * 7, [0.1] * 7, 1.0, 1.0),
    "equal up to rounding": ([0.1 + 0.2, 0.1, 0.7], [0.3, 0.1, 0.7], 0.5, 0.5),
    "a shift, a smaller": ([0.1, 0.2, 0.7], [1.2, 1.3, 1.8], None, 0.0),
    "a shift, a larger": ([1.2, 1.3, 1.8], [0.1, 0.2, 0.7], None, 1.0),
    "a constant, b not": ([0.3] * 4, [0.1, 0.2, 0.4, 0.9], None, None),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.filterwarnings("error")
def test_paired_test_without_spread_takes_the_limit(name):
    a, b, welch_p, paired_p = LIMITS[name]
    result = metrics.paired_test(a, b)
    for p, statistic, expected in (
        (result.welch_p, result.welch_statistic, welch_p),
        (result.paired_p, result.paired_statistic, paired_p),
    ):
        if expected is None:
            assert 0 < p < 1
            assert np.isfinite(statistic)
        else:
            # Equal means up to rounding give 0.5 up to rounding, whether the limit or scipy answers.
            assert p == pytest.approx(expected, abs=1e-12)
            assert np.sign(round(statistic, 12) if np.isfinite(statistic) else statistic) == np.sign(expected - 0.5)


@pytest.mark.parametrize("n_bins", [1, 7, 15])
@pytest.mark.parametrize("n_labels", [2, 3, 6])
@pytest.mark.parametrize("of_intervals", [False, True])
def test_calibration_error_equals_the_loop(of_intervals, n_labels, n_bins, rng):
    points, y = rng.dirichlet(np.ones(n_labels), 300), rng.integers(0, n_labels, 300)
    given, lower, upper = points, points, points
    if of_intervals:
        lower, upper = points * rng.uniform(0.5, 1, points.shape), 1 - (1 - points) * rng.uniform(0.5, 1, points.shape)
        given, points = np.stack([lower, upper], axis=2), upper / (1 - lower + upper)
        points /= points.sum(axis=1, keepdims=True)
    total, best = 0.0, points.argmax(axis=1)
    for b in range(n_bins):
        own = [i for i in range(300) if min(int(points[i, best[i]] * n_bins), n_bins - 1) == b]
        if own:
            right = np.mean([y[i] == best[i] for i in own])
            low, high = (np.mean([side[i, best[i]] for i in own]) for side in (lower, upper))
            total += len(own) * max(low - right, right - high, 0.0)
    assert metrics.expected_calibration_error(given, y, n_bins=n_bins) == pytest.approx(total / 300, abs=1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_uniformity_is_scipys(alternative, rng):
    p, y = rng.random((60, 3)) ** 1.3, np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
    true = [row["abc".index(label)] for row, label in zip(p, y, strict=True)]
    expected = stats.kstest(true, "uniform", alternative=alternative)
    for found in (
        metrics.p_value_uniformity(p, y, classes=["a", "b", "c"], alternative=alternative),
        metrics.p_value_uniformity(true, alternative=alternative),
    ):
        assert found == (expected.statistic, expected.pvalue)


P = [[0.5, 0.25], [1.0, 0.0]]
SETS = [[True, False], [True, True]]
ENDS = [[[0.6, 0.5], [0.4, 0.5]]]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: metrics.fuzziness(np.empty((0, 3))), r"p has shape \(0, 3\).*at least one test object"),
        (lambda: metrics.observed_fuzziness([[np.nan, 0.5]], [0]), r"value nan; expected p-values"),
        (lambda: metrics.coverage(SETS, [[0], [1]]), r"y has shape \(2, 1\).*pass one true label"),
        (lambda: metrics.error_by_label(SETS, [0, 5], classes=[0, 1]), r"label 5, expected one of \[0, 1\]: .*that no"),
        (lambda: metrics.coverage(SETS, [0, 0], classes=[0]), r"classes=\[0\].*expected 2 different"),
        (lambda: metrics.coverage(SETS, [0, 0], classes=[0, 0]), r"classes=\[0, 0\].*classes_"),
        (lambda: metrics.efficiency_summary(P, confidence_level=1), r"confidence_level=1 is not.*such as 0\.95"),
        (lambda: metrics.paired_test([1, 2], [1, 2, 3]), r"a has 2 values and b has 3.*same test objects"),
        (lambda: metrics.paired_test([1.0], [2.0]), r"a has shape \(1,\).*at least 2 test objects"),
        (lambda: metrics.paired_test([1.0, np.inf], [1, 2]), r"a has a nan or infinite value; expected finite"),
        (lambda: metrics.expected_calibration_error([[2.0, 0.0]], [0]), r"values outside \[0, 1\]"),
        (lambda: metrics.expected_calibration_error(ENDS, [0]), "a lower probability exceeds the upper one"),
        (lambda: metrics.p_value_uniformity([0.5], classes=[0]), "classes would have no effect without y"),
        (lambda: metrics.p_value_uniformity([]), "p is empty"),
        (lambda: metrics.p_value_uniformity([0.5], alternative="lower"), "alternative='lower' is not"),
    ],
)
def test_errors_say_received_expected_remedy(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
