"""What tests and doctests share: numbers drawn without a seed are the same in every run, and figures are closed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pytest

from exactcp import _numpy_first

# what is about kernels, or about changes in place; elsewhere NumPy answers, which needs no compiler
BY_KERNELS = (
    "tests/contracts/test_interruptions.py", "tests/contracts/test_threads.py", "tests/counting", "tests/dask",
    "tests/exchangeability", "tests/geometry", "tests/internals", "tests/measures", "tests/venn/test_venn.py",
)  # fmt: skip


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Do not look for garbage while modules and tests come, of which all stay; later look rarely.

    Compiling makes so many small objects that the search for garbage took a twelfth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Seed what `random_state=None` draws from: a test that is right by luck is then right every time, or never."""
    np.random.seed(0)  # noqa: NPY002  (scikit-learn's generator, which ours is where none is given)


@pytest.fixture(autouse=True)
def _numpy_or_kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose who answers by what a test is about, not by what ran before it."""
    place = request.path.relative_to(request.config.rootpath).as_posix()
    monkeypatch.setattr(_numpy_first, "_forced", not place.startswith(BY_KERNELS))


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    """Close what an example has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
