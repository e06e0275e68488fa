"""Work in blocks across threads: one BLAS thread each, progress when asked for, results in order."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from multiprocessing import current_process
from queue import SimpleQueue
from threading import Lock, current_thread, local, main_thread
from typing import Any, NamedTuple, TypeVar

import scipy.linalg  # noqa: F401  (loads the BLAS that compiled code calls, so that the controller below sees it)
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

LOG_EVERY = 10.0  # seconds between two lines where a progress bar cannot be shown
WORTH_PROCESSES = 5.0  # seconds of work left, from which starting processes pays

Block = TypeVar("Block")
Result = TypeVar("Result")


class Effort(NamedTuple):
    """How much of the machine a call may use, and whether it tells of its progress."""

    n_jobs: int | None = None  # threads, see `thread_count`
    verbose: int = 0  # above 0, a progress bar goes to the standard error stream

    def threads(self) -> int:
        """Return how many threads may be used."""
        return thread_count(self.n_jobs)

    def alone(self) -> Effort:
        """Return the same with one thread."""
        return self._replace(n_jobs=1)


FREE, ALONE = Effort(), Effort(n_jobs=1)


def effort_of(estimator: Any) -> Effort:
    """Return the effort that an estimator's parameters ask for."""
    return Effort(estimator.n_jobs, estimator.verbose)


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means.

    None is what joblib's `parallel_config` says, one in a worker of joblib or of a pool, which shares the machine with
    others, and otherwise all cores, since the result does not depend on it.
    """
    if n_jobs is None:
        backend, n_jobs = get_active_backend()
        if backend.nesting_level or current_process().daemon:
            return 1
        if n_jobs is None:
            may_use = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
            return _count_cores(may_use, os.environ.get("LOKY_MAX_CPU_COUNT"))
    return 1 if n_jobs == 1 else int(effective_n_jobs(n_jobs))


@cache
def _count_cores(*_: Any) -> int:
    """Return joblib's number of cores, which takes longer to find than a small batch to predict."""
    return int(cpu_count())


@cache
def _libraries(*, per_thread: bool) -> list[Any]:
    """Return the BLAS libraries: those that all threads share, or those that have a number for each calling thread."""
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [lib for lib in found if (lib.internal_api == "openblas" and lib.threading_layer == "openmp") == per_thread]


def _set_threads(library: Any, number: int) -> None:
    # newer versions of `set_num_threads` obey one thread only, and ignore the others silently
    getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


class _BlasLimits:
    """The limits of all running `blas_threads`: BLAS has the smallest, and its usual number of threads without any."""

    def __init__(self) -> None:
        self._limits: dict[object, int] = {}
        self._usual: list[int] | None = None  # of each library, while there are limits
        self._lock = Lock()

    def change(self, context: object, limit: int | None) -> None:
        """Set the limit of a context; None removes it."""
        libraries = _libraries(per_thread=False)
        with self._lock:
            if limit is None:
                self._limits.pop(context, None)
            elif self._usual is not None:
                self._limits[context] = limit
            elif limit < max(now := [library.get_num_threads() for library in libraries], default=0):
                self._usual = now
                self._limits[context] = limit
            if self._usual is None:
                return
            for library, usual in zip(libraries, self._usual, strict=True):
                number = min(usual, *self._limits.values()) if self._limits else usual
                if number != library.get_num_threads():
                    _set_threads(library, number)
            if not self._limits:
                self._usual = None

    def forget(self) -> None:
        """Start anew in a forked process, which has no threads but one."""
        self._limits.clear()
        self._lock = Lock()
        _held.limit = None


class _HeldLimit(local):
    """The smallest limit that holds for a thread."""

    limit: int | None = None


_held = _HeldLimit()
_blas_limits = _BlasLimits()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas_limits.forget)


@contextmanager
def blas_threads(n_jobs: int | None) -> Iterator[None]:
    """Limit BLAS to as many threads as `n_jobs` means; several limits at a time, also of other threads, all hold."""
    context, limit, held = object(), thread_count(n_jobs), _held.limit
    if held is not None and held <= limit:  # by a limit around this one
        yield
        return
    own = [(library, library.get_num_threads()) for library in _libraries(per_thread=True)]
    try:
        _blas_limits.change(context, limit)
        for library, usual in own:
            _set_threads(library, min(limit, usual))
        _held.limit = limit
        yield
    finally:
        _held.limit = held
        try:
            _restore(context, own)
        except BaseException:  # an interruption: what it left undone is done now
            _restore(context, own)
            raise


def _restore(context: object, own: list[tuple[Any, int]]) -> None:
    _blas_limits.change(context, None)
    for library, usual in own:
        _set_threads(library, usual)


def _limit_this_thread() -> None:
    _held.limit = 1  # by who has started it, and waits
    for library in _libraries(per_thread=True):
        _set_threads(library, 1)


def map_blocks(
    work: Callable[[Block], Result], blocks: Sequence[Block], *, effort: Effort = FREE, task: str = "working"
) -> list[Result]:
    """Apply `work`, which releases the GIL, to every block, and return the results in the order of the blocks.

    After an error or an interruption no other block is started; those that run are waited for, until another
    interruption. If several blocks raise an error, the first of them is raised.

    Parameters
    ----------
    work : callable
        Each call has one BLAS thread.
    blocks : sequence
    effort : Effort
    task : str
        What the progress bar calls it.

    Returns
    -------
    list
    """
    threads, total = min(effort.threads(), len(blocks)), len(blocks)
    with blas_threads(1):
        if threads <= 1:
            return list(progress(map(work, blocks), total, effort.verbose, task))
        executor, done = ThreadPoolExecutor(threads, initializer=_limit_this_thread), SimpleQueue[Any]()
        try:
            with holding_interrupts():
                futures = [executor.submit(work, block) for block in blocks]
                for future in futures:
                    future.add_done_callback(done.put)
            return list(progress(_in_order(futures, done), total, effort.verbose, task))
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def _in_order(futures: list[Future[Result]], done: SimpleQueue[Any]) -> Iterator[Result]:
    """Yield the results in their order, and raise the first error; an interruption cannot cut `SimpleQueue.get`."""
    for future in futures:
        while not future.done():
            done.get()
        yield future.result()


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Hold Ctrl-C back: in the middle of starting a thread, it leaves locks behind for which others wait for ever."""
    handler = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(handler):
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *args: came.append(args))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(*came[0])


def map_tasks(
    work: Callable[[Block], Result], tasks: Sequence[Block], *, effort: Effort = FREE, task: str = "working"
) -> list[Result]:
    """Apply `work`, Python code such as training a model, to every task in processes, and return the results in order.

    Few or short tasks run here: starting processes takes seconds.
    """
    start = time.perf_counter()
    results = []
    for result in progress(map(work, tasks), len(tasks), effort.verbose, task):
        results.append(result)
        spent = time.perf_counter() - start
        left = len(tasks) - len(results)
        if effort.threads() > 1 and left > 1 and spent / len(results) * left > WORTH_PROCESSES:
            parallel = Parallel(n_jobs=effort.threads(), return_as="generator", batch_size="auto")
            rest = parallel(delayed(work)(one) for one in tasks[len(results) :])
            return [*results, *progress(rest, left, effort.verbose, task)]
    return results


def progress(steps: Iterable[Result], total: int, verbose: int, task: str) -> Iterator[Result]:
    """Pass the steps through, and show on the standard error stream how many of the total are done, if verbose.

    On a terminal it is a bar; elsewhere, as in the log of a run that nobody watches, a line now and then.
    """
    if verbose <= 0:
        yield from steps
        return
    try:
        from rich.console import Console
        from rich.progress import track

        console = Console(file=sys.stderr)
        has_bar = console.is_terminal
    except ImportError:  # it comes with the command line
        has_bar = False
    if has_bar:
        yield from track(steps, description=task, total=total, console=console)
        return
    start = last = time.monotonic()
    for done, step in enumerate(steps, start=1):
        yield step
        now = time.monotonic()
        if now - last >= LOG_EVERY:
            print(f"{task}: {done}/{total}, {time_left((now - start) / done * (total - done))}", file=sys.stderr)  # noqa: T201
            last = now
    print(f"{task}: {total}/{total}, done", file=sys.stderr)  # noqa: T201


def time_left(seconds: float) -> str:
    """Return how long it will take, for progress.

    Examples
    --------
    >>> time_left(12.3), time_left(600), time_left(9000)
    ('about 12 s left', 'about 10 min left', 'about 2.5 h left')
    """
    if seconds < 90:
        return f"about {max(seconds, 1):.0f} s left"
    return f"about {seconds / 60:.0f} min left" if seconds < 5400 else f"about {seconds / 3600:.1f} h left"
