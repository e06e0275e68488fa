"""How far a cluster is: how many of its tasks are left, asked now and then, and drawn in a terminal."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

OFTEN = 0.5  # seconds between two questions
SELDOM = 20  # times as long as a question takes, at least
TO_DO = ("waiting", "queued", "processing", "no-worker")  # states of tasks that are left


def tasks_left(dask_scheduler: Any = None) -> int:
    """Return how many tasks a scheduler has still to do; it runs there."""
    return sum(task.state in TO_DO for task in list(dask_scheduler.tasks.values()))


@contextmanager
def telling_of_tasks(client: Any, verbose: int) -> Iterator[None]:
    """Draw a bar of tasks while the workers of a client learn, if verbose."""
    if verbose <= 0:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    ended = threading.Event()
    with Progress(*columns, console=Console(stderr=True)) as bar:
        shown = bar.add_task("learning", total=None)
        watcher = threading.Thread(target=_watch, args=(client, bar, shown, ended), daemon=True)
        watcher.start()
        try:
            yield
            total = bar.tasks[0].total or 1
            bar.update(shown, total=total, completed=total)
        finally:
            ended.set()
            watcher.join(timeout=5.0)


def _watch(client: Any, bar: Any, shown: Any, ended: threading.Event) -> None:
    """Move a bar until the work has ended: tasks that were left once are the total."""
    most, pause = 0, OFTEN
    while not ended.wait(pause):
        began = time.monotonic()
        try:
            left = client.run_on_scheduler(tasks_left)
        except Exception:  # noqa: BLE001  (that it is not told how far it is stops nothing)
            return
        most = max(most, left)
        if most and not ended.is_set():
            bar.update(shown, total=most, completed=most - left)
        pause = max(OFTEN, SELDOM * (time.monotonic() - began))
