"""The kernels' tests once more, with the bounds of arrays checked in compiled code: it compiles all of it anew."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FAMILIES = ("density", "forest", "lasso", "least_squares", "neighbours", "test_equals_textbook.py", "test_updates.py")
KERNELS = ("counting", "geometry", *(f"measures/{family}" for family in FAMILIES))


@pytest.mark.slow
@pytest.mark.parametrize("tests", KERNELS)
def test_no_kernel_reads_or_writes_beyond_an_array(tests):
    env = {**os.environ, "NUMBA_BOUNDSCHECK": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-n2", "-p", "no:cacheprovider", str(TESTS / tests)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
