"""A change of a KDE bag that is cut short at any call leaves the state of before."""

from __future__ import annotations

import pytest

from exactcp.measures import KDE
from interruptions import LINE
from label_changes import CHANGES, assert_survives

MEASURES = {
    "fixed": KDE(0.8),
    "compact": KDE(1.5, "epanechnikov"),
    "scott": KDE("scott"),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("measure", MEASURES)
def test_at_some_calls(measure, change):
    assert_survives(MEASURES[measure], change, KeyboardInterrupt, most=12)
    assert_survives(MEASURES[measure], change, MemoryError, most=7)


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("measure", MEASURES)
def test_at_every_call(measure, change, error):
    assert_survives(MEASURES[measure], change, error)


@pytest.mark.slow
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("measure", MEASURES)
def test_at_every_line(measure, change):
    assert_survives(MEASURES[measure], change, event=LINE)
