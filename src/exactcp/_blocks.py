"""Work in blocks across threads: one BLAS thread each, progress when asked for, results in order."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import scipy.linalg  # noqa: F401  (loads the BLAS that compiled code calls, so that the controller below sees it)
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import ThreadpoolController

WORTH_PROCESSES = 5.0  # seconds of work left, from which starting processes pays

Block = TypeVar("Block")
Result = TypeVar("Result")


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means; None means all cores, since the result does not depend on it."""
    return int(effective_n_jobs(-1 if n_jobs is None else n_jobs))


def map_blocks(
    work: Callable[[Block], Result],
    blocks: Sequence[Block],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    task: str = "working",
) -> list[Result]:
    """Apply `work`, which releases the GIL, to every block, and return the results in the order of the blocks.

    Parameters
    ----------
    work : callable
    blocks : sequence
    n_jobs : int or None
        Threads; None means all cores.
    verbose : int
        Above 0, a progress bar goes to the standard error stream.
    task : str
        What the progress bar calls it.

    Returns
    -------
    list
    """
    cores = thread_count(n_jobs)
    threads = max(1, min(cores, len(blocks)))
    with _threadpools().limit(limits=max(1, cores // threads), user_api="blas"):
        if threads == 1:
            return list(progress(map(work, blocks), len(blocks), verbose, task))
        pool = ThreadPoolExecutor(threads)  # starts in a fifth of the time of joblib's threads
        try:
            return list(progress(pool.map(work, blocks), len(blocks), verbose, task))
        finally:
            pool.shutdown(cancel_futures=True)  # after an error or an interruption, what has not begun does not begin


def map_tasks(
    work: Callable[[Block], Result],
    tasks: Sequence[Block],
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
    task: str = "working",
) -> list[Result]:
    """Apply `work`, Python code such as training a model, to every task in processes, and return the results in order.

    Few or short tasks run here: starting processes takes seconds.
    """
    start = time.perf_counter()
    steps: Iterable[Result] = map(work, tasks)
    results = []
    for result in progress(steps, len(tasks), verbose, task):
        results.append(result)
        spent = time.perf_counter() - start
        left = len(tasks) - len(results)
        if thread_count(n_jobs) > 1 and left > 1 and spent / len(results) * left > WORTH_PROCESSES:
            parallel = Parallel(n_jobs=thread_count(n_jobs), return_as="generator", batch_size="auto")
            rest = parallel(delayed(work)(one) for one in tasks[len(results) :])
            return [*results, *progress(rest, left, verbose, task)]
    return results


def progress(steps: Iterable[Result], total: int, verbose: int, task: str) -> Iterable[Result]:
    """Pass the steps through, and show on the standard error stream how many of the total are done, if verbose."""
    if verbose <= 0:
        return steps
    from rich.console import Console
    from rich.progress import track

    console: Any = Console(file=sys.stderr)
    return track(steps, description=task, total=total, console=console)
