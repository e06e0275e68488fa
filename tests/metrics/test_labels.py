"""Sets, p-values and probabilities of labels against slow loops, object by object; tests of both against scipy."""

import math
from dataclasses import FrozenInstanceError, asdict, fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from exactcp import metrics

# Sums of at most 9 p-values and means of at most 40 objects, added in another order: a few units of 2.2e-16.
ROUNDING = 1e-13

# The naive twins: one test object at a time; row is a list, true the column of the true label.
NAIVE_P = {
    "sum_of_p": math.fsum,
    "unconfidence": lambda row: sorted(row, reverse=True)[1] if len(row) > 1 else 0.0,
    "fuzziness": lambda row: math.fsum(row) - max(row),
    "mean_fuzziness": lambda row: (math.fsum(row) - max(row)) / (len(row) - 1) if len(row) > 1 else 0.0,
}
NAIVE_SETS = {
    "set_size": lambda row: row.count(True),
    "multiple_fraction": lambda row: 1 if row.count(True) > 1 else 0,
    "excess": lambda row: max(row.count(True) - 1, 0),
}
NAIVE_OBSERVED_P = {
    "observed_unconfidence": lambda row, true: max([v for j, v in enumerate(row) if j != true], default=0.0),
    "observed_fuzziness": lambda row, true: math.fsum(v for j, v in enumerate(row) if j != true),
}
NAIVE_OBSERVED_SETS = {
    "observed_multiple_fraction": lambda row, true: 1 if any(v for j, v in enumerate(row) if j != true) else 0,
    "observed_excess": lambda row, true: sum(1 for j, v in enumerate(row) if v and j != true),
    "coverage": lambda row, true: 1 if row[true] else 0,
}
OWN_FUNCTIONS = {"fuzziness", "set_size", "observed_fuzziness", "coverage"}


def naive_mean(criterion, rows, *columns):
    return math.fsum(criterion(*args) for args in zip(rows.tolist(), *columns, strict=True)) / len(rows)


def problem(n_labels, *, ties, m=40):
    """Random p-values (on a grid of 5 values if ties) and the column of the true label."""
    rng = np.random.default_rng(10 * n_labels + ties)
    p = rng.integers(0, 5, (m, n_labels)) / 4 if ties else rng.uniform(size=(m, n_labels))
    return p, rng.integers(0, n_labels, m)


@pytest.mark.parametrize("classes", [None, "reversed strings"])
@pytest.mark.parametrize("level", [0.25, 0.4, 0.75])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n_labels", [1, 2, 5, 9])
def test_criteria_equal_the_loop(n_labels, ties, level, classes):
    p, true = problem(n_labels, ties=ties)
    labels = label_columns(classes, n_labels)
    y, sets = y_of(true, labels), p > 1 - level
    summary = metrics.efficiency_summary(p, y, classes=labels, confidence_level=level).to_dict()
    assert summary.pop("confidence_level") == level
    expected = {name: naive_mean(one, p) for name, one in NAIVE_P.items()}
    expected |= {name: naive_mean(one, sets) for name, one in NAIVE_SETS.items()}
    expected |= {name: naive_mean(one, p, true) for name, one in NAIVE_OBSERVED_P.items()}
    expected |= {name: naive_mean(one, sets, true) for name, one in NAIVE_OBSERVED_SETS.items()}
    assert summary == pytest.approx(expected, abs=ROUNDING)
    assert all(type(value) is float for value in summary.values())
    for name in OWN_FUNCTIONS:
        arguments = [p if name in {**NAIVE_P, **NAIVE_OBSERVED_P} else sets]
        named = {}
        if name in {**NAIVE_OBSERVED_P, **NAIVE_OBSERVED_SETS}:
            arguments, named = [*arguments, y], {"classes": labels}
        assert getattr(metrics, name)(*arguments, **named) == pytest.approx(summary[name], abs=ROUNDING)


def label_columns(classes, n_labels):
    """No classes, or strings in falling order: columns need not be sorted."""
    return None if classes is None else [f"label {n_labels - j}" for j in range(n_labels)]


def y_of(true, labels):
    return true if labels is None else [labels[j] for j in true]


@settings(max_examples=50, deadline=None)
@given(p=arrays(np.float64, (4, 3), elements=st.floats(0, 1)), order=st.permutations(range(3)))
def test_order_of_the_columns_does_not_matter(p, order):
    y = [0, 1, 2, 1]
    before = metrics.efficiency_summary(p, y, confidence_level=0.8).to_dict()
    after = metrics.efficiency_summary(p[:, order], y, classes=order, confidence_level=0.8).to_dict()
    assert after == pytest.approx(before, abs=ROUNDING)
    assert before["unconfidence"] <= before["observed_unconfidence"]  # the true label is at most the largest
    assert before["excess"] <= before["observed_excess"]


def test_a_hand_computed_example():
    # Sums 1.0, 1.5, 0.25; sets at 0.8 (p > 0.2): {a, b}, {a, b, c}, {c}; true labels b, a, a.
    p = [[0.625, 0.25, 0.125], [0.5, 0.5, 0.5], [0.0, 0.0, 0.25]]
    summary = metrics.efficiency_summary(p, ["b", "a", "a"], classes=["a", "b", "c"], confidence_level=0.8)
    expected = {
        "confidence_level": 0.8,
        "sum_of_p": 2.75 / 3,
        "unconfidence": (0.25 + 0.5 + 0.0) / 3,
        "fuzziness": (0.375 + 1.0 + 0.0) / 3,
        "mean_fuzziness": (0.375 + 1.0 + 0.0) / 6,
        "set_size": 6 / 3,
        "multiple_fraction": 2 / 3,
        "excess": 3 / 3,
        "observed_unconfidence": (0.625 + 0.5 + 0.25) / 3,
        "observed_fuzziness": (0.75 + 1.0 + 0.25) / 3,
        "observed_multiple_fraction": 3 / 3,
        "observed_excess": (1 + 2 + 1) / 3,
        "coverage": 2 / 3,
    }
    assert summary.to_dict() == pytest.approx(expected, abs=ROUNDING)
    assert list(summary.to_dict()) == list(expected)


def test_the_set_leaves_out_p_equal_to_epsilon():
    summary = metrics.efficiency_summary([[0.25, 0.5]], [0], confidence_level=0.75)
    assert (summary.set_size, summary.coverage) == (1.0, 0.0)


def test_summary_without_labels_and_default_level():
    p, y = problem(3, ties=False)
    without, with_y = metrics.efficiency_summary(p), metrics.efficiency_summary(p, y)
    observed = {f.name for f in fields(without) if f.name.startswith("observed") or f.name == "coverage"}
    assert len(observed) == 5
    assert {name for name, value in without.to_dict().items() if value is None} == observed
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
    assert asdict(result) == result.to_dict()
    assert all(type(value) is float for value in result.to_dict().values())


def test_paired_test_has_the_population_standard_deviation():
    result = metrics.paired_test([0.0, 2.0, 4.0, 6.0], [1.0, 1.0, 3.0, 3.0])
    assert (result.mean_a, result.std_a) == pytest.approx((3.0, math.sqrt(5.0)), rel=1e-15)
    assert (result.mean_b, result.std_b) == (2.0, 1.0)


LIMITS = {
    "identical": ([0.25, 0.5, 0.3], [0.25, 0.5, 0.3], 0.5, 0.5),
    "all zero": ([0.0, 0.0], [0.0, 0.0], 0.5, 0.5),
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


def _probabilities(n_labels, m=300):
    rng = np.random.default_rng(n_labels)
    return rng.dirichlet(np.ones(n_labels), m), rng.integers(0, n_labels, m)


def _widened(proba, rng):
    lower = proba * rng.uniform(0.5, 1, proba.shape)
    return np.stack([lower, 1 - (1 - proba) * rng.uniform(0.5, 1, proba.shape)], axis=2)


def _naive_error(lower, upper, points, y, n_bins):
    total = 0.0
    for b in range(n_bins):
        own = [i for i, row in enumerate(points) if min(int(max(row) * n_bins), n_bins - 1) == b]
        if own:
            best = [int(np.argmax(points[i])) for i in own]
            right = np.mean([y[i] == j for i, j in zip(own, best, strict=True)])
            low, high = (np.mean([side[i, j] for i, j in zip(own, best, strict=True)]) for side in (lower, upper))
            total += len(own) * max(low - right, right - high, 0.0)
    return total / len(y)


@pytest.mark.parametrize("n_labels", [2, 3, 6])
def test_calibration_error_of_probabilities(n_labels):
    proba, y = _probabilities(n_labels)
    for n_bins in (1, 10, 15):
        error = metrics.expected_calibration_error(proba, y, n_bins=n_bins)
        assert error == pytest.approx(_naive_error(proba, proba, proba, y, n_bins), abs=1e-12)


@pytest.mark.parametrize("n_labels", [2, 5])
def test_calibration_error_of_intervals(n_labels, rng):
    proba, y = _probabilities(n_labels)
    intervals = _widened(proba, rng)
    lower, upper = intervals[..., 0], intervals[..., 1]
    points = upper / (1 - lower + upper)
    points /= points.sum(axis=1, keepdims=True)
    error = metrics.expected_calibration_error(intervals, y, n_bins=7)
    assert error == pytest.approx(_naive_error(lower, upper, points, y, 7), abs=1e-12)


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
ERRORS = {
    "p is a vector": (lambda: metrics.fuzziness([0.5, 0.25]), r"p has shape \(2,\); expected \(m, l\).*one row"),
    "p has no rows": (lambda: metrics.fuzziness(np.empty((0, 3))), r"p has shape \(0, 3\).*at least one test object"),
    "p has no columns": (lambda: metrics.fuzziness(np.empty((3, 0))), r"p has shape \(3, 0\).*one label"),
    "p below zero": (lambda: metrics.fuzziness([[-0.5, 0.5]]), r"value -0\.5; expected p-values"),
    "p is nan": (lambda: metrics.observed_fuzziness([[np.nan, 0.5]], [0]), r"value nan; expected p-values"),
    "p is text": (lambda: metrics.efficiency_summary([["a"]]), r"p has dtype <U1; expected numbers"),
    "y is a matrix": (lambda: metrics.coverage(SETS, [[0], [1]]), r"y has shape \(2, 1\).*pass one true label"),
    "unknown label": (
        lambda: metrics.error_by_label(SETS, ["a", "c"], classes=["a", "b"]),
        r"y has the label 'c', expected one of \['a', 'b'\]: pass classes=.*that no example has",
    ),
    "negative label": (lambda: metrics.coverage(SETS, [-1, 0]), r"label -1, expected one of \[0, 1\]"),
    "too few classes": (lambda: metrics.coverage(SETS, [0, 0], classes=[0]), r"classes=\[0\].*expected 2 different"),
    "classes twice": (lambda: metrics.coverage(SETS, [0, 0], classes=[0, 0]), r"classes=\[0, 0\].*classes_"),
    "sets are 0 and 1": (lambda: metrics.set_size([[0, 1]]), r"sets has dtype int64; expected bool"),
    "sets is a vector": (lambda: metrics.set_size([True]), r"sets has shape \(1,\); expected \(m, l\)"),
    "level 1": (lambda: metrics.efficiency_summary(P, confidence_level=1), r"confidence_level=1 is not.*such as 0\.95"),
    "level 0": (lambda: metrics.efficiency_summary(P, confidence_level=0.0), r"confidence_level=0\.0 is not a prob"),
    "level nan": (lambda: metrics.efficiency_summary(P, confidence_level=np.nan), r"confidence_level=nan is not"),
    "different lengths": (
        lambda: metrics.paired_test([1, 2], [1, 2, 3]),
        r"a has 2 values and b has 3.*same test objects",
    ),
    "one object": (lambda: metrics.paired_test([1.0], [2.0]), r"a has shape \(1,\).*at least 2 test objects"),
    "b is a matrix": (lambda: metrics.paired_test([1.0, 2.0], P), r"b has shape \(2, 2\).*such as its fuzziness"),
    "a is infinite": (
        lambda: metrics.paired_test([1.0, np.inf], [1, 2]),
        r"a has a nan or infinite value; expected finite",
    ),
    "flat probabilities": (lambda: metrics.expected_calibration_error([0.5], [0]), r"probabilities have shape \(1,\)"),
    "three ends": (
        lambda: metrics.expected_calibration_error([[[0.5, 0.6, 0.7]]], [0]),
        r"or \(m, l, 2\) of intervals",
    ),
    "probability 2": (lambda: metrics.expected_calibration_error([[2.0, 0.0]], [0]), r"values outside \[0, 1\]"),
    "sets for probabilities": (lambda: metrics.expected_calibration_error([[True, False]], [0]), "dtype bool"),
    "crossed ends": (
        lambda: metrics.expected_calibration_error([[[0.6, 0.5], [0.4, 0.5]]], [0]),
        "a lower probability exceeds the upper one",
    ),
    "labels of probabilities": (lambda: metrics.expected_calibration_error([[0.5, 0.5]], ["a"]), "pass classes="),
    "p of 2": (lambda: metrics.p_value_uniformity([2.0]), "p has the value 2.0"),
    "classes without y": (
        lambda: metrics.p_value_uniformity([0.5], classes=[0]),
        "classes would have no effect without y",
    ),
    "alternative": (lambda: metrics.p_value_uniformity([0.5], alternative="lower"), "alternative='lower' is not"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_received_expected_remedy(name):
    call, sentence = ERRORS[name]
    with pytest.raises(ValueError, match=sentence):
        call()
