"""Work in blocks across threads: one BLAS thread each, progress when asked for, results in order.

A KeyboardInterrupt may come between any two instructions that call something. So what must not be left half done is one
call of a function that is not written in Python (`dict.pop`, `list.extend`, `SimpleQueue.get`), and what follows from
it, such as the number of BLAS threads, is worked out anew by whoever comes next.
"""

from __future__ import annotations

import os
import sys
import time
from _thread import RLock, get_ident, start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import repeat
from multiprocessing import current_process
from numbers import Integral
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import scipy.linalg  # noqa: F401  (loads the BLAS that compiled code calls, so that the controller below sees it)
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

LOG_EVERY = 10.0  # seconds between two lines where a progress bar cannot be shown
WORTH_PROCESSES = 5.0  # seconds of work left, from which starting processes pays
PATIENCE = 1.0  # seconds to wait for what takes others microseconds: after them it was left behind

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
    return int(effective_n_jobs(n_jobs))


@cache
def _count_cores(*_: Any) -> int:
    """Return joblib's number of cores, which takes longer to find than a small batch to predict."""
    return int(cpu_count())


class _Library(NamedTuple):
    """A BLAS."""

    get: Callable[[], int]
    set: Callable[[int], Any]
    is_shared: bool  # its number of threads is one for all threads that call it, and not one for each of them


@cache
def _libraries(*, shared: bool) -> list[_Library]:
    found = []
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        # newer versions of `set_num_threads` heed one thread only, and ignore the others silently
        change = getattr(library, "_real_set_num_threads", library.set_num_threads)
        is_own = library.internal_api == "openblas" and library.threading_layer == "openmp"
        found.append(_Library(library.get_num_threads if is_own else _getter(library), change, not is_own))
    return [library for library in found if library.is_shared == shared]


def _getter(library: Any) -> Callable[[], int]:
    """Return what tells the threads of a BLAS: OpenBLAS's own function, which threadpoolctl looks up in each call."""
    look_up = getattr(library, "_get_symbol", None)
    own = look_up("openblas_get_num_threads") if look_up and library.internal_api == "openblas" else None
    return own or library.get_num_threads  # type: ignore[no-any-return]


class _BlasThreads:
    """The threads of a BLAS that all threads share: as few as any of the running calls allows."""

    def __init__(self) -> None:
        self.allowed: dict[tuple[int, object], int] = {}  # by each running call, and its thread
        self._usual: list[int] | None = None  # threads of each library when no call runs; None if that is so now
        self._limit: int | None = 0  # that is set; 0 if there is none, None if an interruption left it half set
        self._times = 0  # it has been set
        self._lock = RLock()

    def settle(self) -> None:
        """Set what the running calls allow."""
        lock = self._lock
        if not lock.acquire(timeout=PATIENCE):
            lock = self._lock = RLock()
            lock.acquire()
        try:
            self._set(min(self.allowed.values(), default=0))
        finally:
            lock.release()

    def _set(self, limit: int) -> None:
        if limit == self._limit:
            return
        if self._usual is None:
            self._usual = [library.get() for library in _libraries(shared=True)]
        before, self._limit = self._limit, None
        self._times += 1
        for library, usual in zip(_libraries(shared=True), self._usual, strict=True):
            number = min(limit, usual) if limit else usual
            if before is None or number != (min(before, usual) if before else usual):  # setting takes microseconds
                library.set(number)
        self._limit = limit
        if not limit:
            self._usual = None

    def is_settled(self, limit: int) -> bool:
        """Tell whether nothing need be set: a call around this one has done so, or there are never more threads."""
        times = self._times
        if self._limit is None or self._limit > limit or _libraries(shared=False):
            return False
        if self._limit == 0:  # what other calls lower from now on becomes again what it was
            usual = max([library.get() for library in _libraries(shared=True)], default=0)
            return usual <= limit and self._times == times
        here = get_ident()
        allowed = [most for (thread, _), most in list(self.allowed.items()) if thread == here]
        return min(allowed, default=limit + 1) <= limit

    def forget_calls(self) -> None:
        """Start anew in a forked process: the calls of other threads are not there."""
        self.allowed.clear()
        self._limit, self._lock = None, RLock()


_blas = _BlasThreads()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.forget_calls)


def obeying(n_jobs: int | None, work: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Result:
    """Call `work` with as many BLAS threads as `n_jobs` means; they are what they were when no such call is left.

    An `n_jobs` that means nothing is ignored: there are better places to refuse it.
    """
    if not (n_jobs is None or (isinstance(n_jobs, (int, Integral)) and n_jobs)):
        return work(*args, **kwargs)
    limit = thread_count(n_jobs)
    if _blas.is_settled(limit):
        return work(*args, **kwargs)
    call = get_ident(), object()
    own = [library.get() for library in _libraries(shared=False)]
    try:
        try:
            _blas.allowed[call] = limit
            _settle([min(limit, usual) for usual in own])
            return work(*args, **kwargs)
        finally:
            _blas.allowed.pop(call, None)
    finally:
        try:
            _settle(own)
        except BaseException:
            _settle(own)
            raise


def _settle(own: Sequence[int]) -> None:
    """Set what the running calls allow, and the numbers of this thread's own."""
    _blas.settle()
    for library, number in zip(_libraries(shared=False), own, strict=True):
        library.set(number)


def map_blocks(
    work: Callable[[Block], Result], blocks: Sequence[Block], *, effort: Effort = FREE, task: str = "working"
) -> list[Result]:
    """Apply `work`, which releases the GIL, to every block, and return the results in the order of the blocks.

    After an error or an interruption nothing begins that has not begun; what runs is waited for, until another
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
    threads = min(effort.threads(), len(blocks))
    show = partial(progress, total=len(blocks), verbose=effort.verbose, task=task)
    if threads <= 1:
        return obeying(1, lambda: list(show(map(work, blocks))))
    return obeying(1, _map_threads, work, blocks, threads, show)


def _map_threads(
    work: Callable[[Block], Result],
    blocks: Sequence[Block],
    threads: int,
    show: Callable[[Iterable[Result]], Iterable[Result]],
) -> list[Result]:
    """Spread the blocks over threads that take them in turn; this one waits."""
    waiting = deque(enumerate(blocks))
    outcomes: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    ended: SimpleQueue[None] = SimpleQueue()
    started: list[int] = []
    serve = partial(_serve, work, waiting, outcomes, ended)
    try:
        started.extend(map(start_new_thread, repeat(serve, threads), repeat(())))
        return list(show(_in_order(outcomes, len(blocks))))
    finally:
        waiting.clear()
        for _ in started:
            ended.get()


def _serve(
    work: Callable[[Block], Result],
    waiting: deque[tuple[int, Block]],
    outcomes: SimpleQueue[tuple[int, Any, BaseException | None]],
    ended: SimpleQueue[None],
) -> None:
    """Work on what is waiting, in a thread; tell the number, the result and the error of each block."""
    try:
        for library in _libraries(shared=False):
            library.set(1)
        while True:
            try:
                number, block = waiting.popleft()
            except IndexError:
                return
            try:
                outcomes.put((number, work(block), None))
            except BaseException as error:  # noqa: BLE001  (raised where the blocks were asked for)
                waiting.clear()
                outcomes.put((number, None, error))
    finally:
        ended.put(None)


def _in_order(outcomes: SimpleQueue[tuple[int, Any, BaseException | None]], total: int) -> Iterator[Any]:
    """Yield the results of the blocks in their order, and raise the first error."""
    done: dict[int, tuple[Any, BaseException | None]] = {}
    for number in range(total):
        while number not in done:
            at, result, error = outcomes.get()
            done[at] = result, error
        result, error = done.pop(number)
        if error is not None:
            try:
                raise error
            finally:
                del error  # which holds this frame
        yield result


def map_tasks(
    work: Callable[[Block], Result], tasks: Sequence[Block], *, effort: Effort = FREE, task: str = "working"
) -> list[Result]:
    """Apply `work`, Python code such as training a model, to every task in processes, and return the results in order.

    Few or short tasks run here: starting processes takes seconds.
    """
    start = time.perf_counter()
    steps: Iterable[Result] = map(work, tasks)
    results = []
    for result in progress(steps, len(tasks), effort.verbose, task):
        results.append(result)
        spent = time.perf_counter() - start
        left = len(tasks) - len(results)
        if effort.threads() > 1 and left > 1 and spent / len(results) * left > WORTH_PROCESSES:
            parallel = Parallel(n_jobs=effort.threads(), return_as="generator", batch_size="auto")
            rest = parallel(delayed(work)(one) for one in tasks[len(results) :])
            return [*results, *progress(rest, left, effort.verbose, task)]
    return results


def progress(steps: Iterable[Result], total: int, verbose: int, task: str) -> Iterable[Result]:
    """Pass the steps through, and show on the standard error stream how many of the total are done, if verbose.

    On a terminal it is a bar; elsewhere, as in the log of a run that nobody watches, a line now and then.
    """
    if verbose <= 0:
        return steps
    try:
        from rich.console import Console
        from rich.progress import track
    except ImportError:  # it comes with the command line
        return _log(steps, total, task)
    console: Any = Console(file=sys.stderr)
    if not console.is_terminal:
        return _log(steps, total, task)
    return track(steps, description=task, total=total, console=console)


def _log(steps: Iterable[Result], total: int, task: str) -> Iterator[Result]:
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
