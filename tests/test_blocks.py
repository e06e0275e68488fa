"""Work in blocks: results in order, errors at once, processes only where they pay."""

from __future__ import annotations

import threading
import time

import pytest

from exactcp import _blocks


def test_results_come_in_the_order_of_the_blocks():
    slow_first = lambda i: time.sleep(0.002 * (8 - i)) or i  # noqa: E731
    assert _blocks.map_blocks(slow_first, range(8), n_jobs=2) == list(range(8))
    assert _blocks.map_blocks(slow_first, [], n_jobs=2) == []


def test_an_error_stops_what_has_not_begun():
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(0.01)
        if i == 0:
            raise KeyboardInterrupt
        return i

    with pytest.raises(KeyboardInterrupt):
        _blocks.map_blocks(work, range(200), n_jobs=2)
    assert len(begun) < 200


def test_threads_are_those_asked_for():
    here = threading.get_ident()
    assert set(_blocks.map_blocks(lambda _: threading.get_ident(), range(5), n_jobs=1)) == {here}
    assert here not in set(_blocks.map_blocks(lambda _: threading.get_ident(), range(5), n_jobs=2))


def _square(i):
    return i * i


def test_tasks_in_processes_come_in_order(monkeypatch):
    monkeypatch.setattr(_blocks, "WORTH_PROCESSES", 0.0)
    assert _blocks.map_tasks(_square, list(range(6)), n_jobs=2) == [0, 1, 4, 9, 16, 25]
