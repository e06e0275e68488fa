"""A cluster of two processes says what one process says, also when workers are killed; nothing hangs.

What is asked is in `cluster_answers.py`, which runs in a process of its own under a timeout.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "cluster_answers.py"


def said_by_a_cluster(lane: str, timeout: float) -> dict[str, Any]:
    """Return what a cluster says in this lane."""
    command = [sys.executable, str(SCRIPT), lane]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow  # three processes, two of which are killed and come back: a minute or more
def test_a_cluster_says_what_one_process_says():
    said = said_by_a_cluster("quick", timeout=900)
    assert "part 8 of X and y" in said["NaN"]
    assert "NaN" in said.pop("NaN")
    assert said.pop("tasks left by an interruption") == 0
    assert "has exactcp 0.0.1" in said.pop("another version")
    assert "has no exactcp" in said.pop("without exactcp")
    assert "Give client=Client(address)" in said.pop("a closed client")
    assert said == dict.fromkeys(said, True)
    assert len(said) == 6


@pytest.mark.slow
def test_twenty_kills_in_fit_and_twenty_in_predict():
    said = said_by_a_cluster("20", timeout=3600)
    assert said == {"equal after kills in fit": 20, "equal after kills in predict": 20}
