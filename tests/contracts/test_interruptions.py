"""Ctrl-C: KeyboardInterrupt in every public call, never a crash, and the answers of before or after."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from families import CHANGES, FAMILIES, QUESTIONS, calls_of

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a timer that sends signals")


def survived(count, seed, *families):
    """Interrupt all public calls of families in a process of their own; return how many interruptions came."""
    program = Path(__file__).parents[1] / "support" / "timed_interruptions.py"
    done = subprocess.run(
        [sys.executable, program, str(count), str(seed), *families], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\nexit {done.returncode}\n{done.stderr[-2000:]}"
    found = [int(number) for number in re.findall(r": (\d+) of", done.stdout)]
    calls = [len(calls_of(FAMILIES[name], CHANGES)) + len(calls_of(FAMILIES[name], QUESTIONS)) for name in families]
    assert len(found) == sum(calls)
    return sum(found)


def test_three_families_are_interrupted():
    assert survived(2, 0, "KNN", "LSSVM", "stream") > 15


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_interrupted_hundreds_of_times(family):
    calls = len(calls_of(FAMILIES[family], CHANGES)) + len(calls_of(FAMILIES[family], QUESTIONS))
    assert survived(1 + 300 // calls, 1, family) > 100
