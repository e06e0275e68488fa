"""What coverage to expect of test rows, and the verdict on a measured one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import betabinom, binom

from exactcp.metrics.bands import expected_counts, expected_coverage, judge


def test_a_verdict_takes_the_chance_of_the_training_rows_into_account():
    """With 30 calibrating rows and 2,000 test rows, coverage varies far more than test rows alone would let it."""
    rng = np.random.default_rng(0)
    wrong = {None: 0, 30: 0}
    for _ in range(400):
        calibration, test = rng.uniform(size=30), rng.uniform(size=2000)
        p = ((calibration[:, None] >= test).sum(axis=0) + 1) / 31
        for n in wrong:
            wrong[n] += judge(float((p > 0.1).mean()), expected_coverage(0.9, 2000, n)) == "below"
    assert wrong[30] <= binom.ppf(0.999, 400, 0.025)
    assert wrong[None] > binom.ppf(0.999, 400, 0.025)


@pytest.mark.parametrize(("n", "n_calibration"), [(1, 19), (7, 9), (100, 100), (500, 1297), (2000, 30)])
def test_the_band_is_the_beta_binomial_law(n, n_calibration):
    epsilons = [Fraction(k, 200) for k in range(1, 200, 7)] + [Fraction(1), Fraction(3, 2)]
    found = expected_counts(epsilons, n, n_calibration)
    for epsilon, ends in zip(epsilons, found.tolist(), strict=True):
        missed = math.floor(epsilon * (n_calibration + 1))
        if epsilon >= 1:  # nothing is promised
            assert ends == [0, n]
        elif missed == 0:
            assert ends == [n, n]
        else:
            assert ends == betabinom.ppf([0.025, 0.975], n, n_calibration + 1 - missed, missed).tolist()
