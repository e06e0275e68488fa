from __future__ import annotations

import os

import numba
import numpy as np
import pytest
from hypothesis import Phase, settings
from joblib import cpu_count
from threadpoolctl import threadpool_limits

import written_order
from exactcp.geometry import distances
from exactcp.measures.neighbours import _search as _neighbour_search
from exactcp.measures.neighbours import _tuning

if numba.config.DISABLE_JIT:  # LLVM's instructions have no meaning to Python
    distances.squared_distance = written_order.squared_distance
    distances.inner_product = written_order.inner_product

# the same examples in every run: a failure is then a change's own; `--hypothesis-profile explore` looks for new ones,
# `hasty` does not look for the simplest failure
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=1000, deadline=None)
settings.register_profile("hasty", derandomize=True, deadline=None, phases=[Phase.explicit, Phase.generate])
settings.load_profile("repeatable")

# workers share the cores: threads of BLAS that wait for a core of another worker turn around meanwhile, and small
# problems then take ten times as long. Tests that are about the number of threads set it themselves
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if WORKERS > 1:
    threadpool_limits(max(1, cpu_count() // WORKERS))


def some_basis(objects: np.ndarray) -> np.ndarray:
    """Orthonormal columns that have nothing to do with the objects, half as many as they have."""
    p = objects.shape[1]
    return np.linalg.qr(np.random.default_rng(p).normal(size=(p, p // 2)))[0]


@pytest.fixture(params=["plain", "screened", "sketched"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test on all code paths of the nearest-neighbour bag, whatever the size of the data."""
    if request.param == "sketched":
        monkeypatch.setattr(_neighbour_search, "find_basis", some_basis)
    if request.param != "plain":
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(few=0, small=-1, screen_from=0))
    return request.param


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
