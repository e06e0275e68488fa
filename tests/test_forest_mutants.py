"""The comparison with the textbook can fail: each line that FOREST's traps are about is broken once, and is noticed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from forest_mutants import MUTANTS

HERE = Path(__file__).parent


def test_every_broken_line_is_noticed():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(HERE)}
    program = [sys.executable, str(HERE / "forest_mutants.py"), "30"]
    printed = subprocess.run(program, env=environment, check=True, capture_output=True, text=True).stdout
    wrong = {name: int(count) for name, count in (line.split("\t") for line in printed.splitlines())}
    assert list(wrong) == list(MUTANTS)
    assert wrong.pop("none") == 0
    assert [name for name, count in wrong.items() if count == 0] == []
