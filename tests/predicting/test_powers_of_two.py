"""A power of two changes no digit, and saves what squaring would lose."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import RobustScaler, StandardScaler

from exactcp.predicting.powers_of_two import PowerOfTwoScaler

X = np.random.default_rng(0).normal(size=(30, 3)) * [1, 1e5, 1e-5] + [0, 3, 0]
SCALERS = {"largest": StandardScaler(), "quartiles": RobustScaler()}


@pytest.mark.parametrize("unit", SCALERS)
def test_a_scaler_after_it_gives_the_same_bits(unit):
    plain = clone(SCALERS[unit])
    found = make_pipeline(PowerOfTwoScaler(unit), clone(SCALERS[unit])).fit(X)
    np.testing.assert_array_equal(found.transform(X[:7] + 1), plain.fit(X).transform(X[:7] + 1))


@pytest.mark.parametrize("unit", SCALERS)
@pytest.mark.parametrize("exponent", [-700, 400])
def test_tiny_and_huge_numbers_are_scaled_as_others_are(unit, exponent):
    scaler = make_pipeline(PowerOfTwoScaler(unit), clone(SCALERS[unit]))
    np.testing.assert_array_equal(scaler.fit_transform(np.ldexp(X, exponent)), scaler.fit_transform(X))


def test_its_numbers_by_hand_and_a_column_of_zeros():
    made = PowerOfTwoScaler().fit_transform([[0.0, 12.0, -3.0], [0.0, 1.0, 0.5]])
    assert made.tolist() == [[0.0, 0.75, -0.75], [0.0, 0.0625, 0.125]]
    made = PowerOfTwoScaler("quartiles").fit_transform([[0.0], [4.0], [8.0], [12.0], [1000.0]])  # 12 - 4 is 8, below 16
    assert made[:, 0].tolist() == [0.0, 0.25, 0.5, 0.75, 62.5]


def test_another_unit_is_refused():
    with pytest.raises(ValueError, match="unit='mean'"):
        PowerOfTwoScaler("mean").fit(X)
