"""What tests and doctests share: numbers drawn without a seed are the same in every run, and figures are closed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import pytest


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
def _closed_figures() -> Iterator[None]:
    """Close what an example has drawn."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
