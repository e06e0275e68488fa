"""What tests and doctests share: numbers drawn without a seed are the same in every run."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Seed what `random_state=None` draws from: a test that is right by luck is then right every time, or never."""
    np.random.seed(0)  # noqa: NPY002  (scikit-learn's generator, which ours is where none is given)
