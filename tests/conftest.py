from __future__ import annotations

import numpy as np
import pytest

from exactcp.measures import _neighbour_bag, _neighbour_search


@pytest.fixture(params=["plain", "screened"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on both code paths of the nearest-neighbour bag, whatever the size of the data."""
    if request.param == "screened":
        monkeypatch.setattr(_neighbour_bag, "SCREEN_FROM", 0)
        monkeypatch.setattr(_neighbour_bag, "FEW", 0)
        monkeypatch.setattr(_neighbour_search, "FEW", 0)
        monkeypatch.setattr(_neighbour_search, "SMALL", -1)
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
