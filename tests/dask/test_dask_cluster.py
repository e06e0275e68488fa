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

SCRIPT = Path(__file__).parents[1] / "support" / "cluster_answers.py"


def said_by_a_cluster(lane: str, *number: str, timeout: float) -> dict[str, Any]:
    """Return what a cluster says in this lane."""
    command = [sys.executable, str(SCRIPT), lane, *number]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_cluster_says_what_one_process_says():
    said = said_by_a_cluster("slice", timeout=600)
    assert said == dict.fromkeys(said, True)
    assert len(said) == 7


@pytest.mark.slow  # a fit is interrupted
def test_mistakes_get_a_sentence_and_leave_nothing_behind():
    said = said_by_a_cluster("mistakes", timeout=900)
    assert "part 8 of X and y" in said["NaN"]
    assert "NaN" in said.pop("NaN")
    assert said.pop("tasks left by an interruption") == 0
    assert "has exactcp 0.0.1" in said.pop("another version")
    assert "has no exactcp" in said.pop("without exactcp")
    assert "Give client=Client(address)" in said.pop("a closed client")
    assert said == {"equal after a change that failed": True}


@pytest.mark.slow
def test_workers_come_the_scheduler_is_slow_and_memory_is_short():
    said = said_by_a_cluster("faults", timeout=900)
    assert "all workers have reached their memory limit" in said.pop("all workers without memory")
    assert said == dict.fromkeys(said, True)
    assert len(said) == 3


@pytest.mark.slow  # processes are killed, and start again
def test_nannies_kill_workers_that_have_too_much_memory():
    said = said_by_a_cluster("memory", timeout=900)
    assert "more memory" in said.pop("a task that needs too much")  # they die of it, or wait for each other's end
    assert said == dict.fromkeys(said, True)
    assert len(said) == 3


@pytest.mark.slow  # a quarter of an hour on a busy machine: a worker takes seconds to come back
def test_twenty_kills_in_fit_and_twenty_in_predict():
    said = said_by_a_cluster("kills", "20", timeout=3600)
    assert said == {"kills in fit": 20, "kills in predict": 20, "equal": 20}
