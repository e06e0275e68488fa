"""The workers that `exactcp predict` was told to use: of a cluster that runs, or processes of its own."""

from __future__ import annotations

import asyncio
import logging
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import Any

import typer

from exactcp._optional import require
from exactcp._parallel import progress
from exactcp.cli._cluster_options import WorkPlace
from exactcp.cli._misuse import MisuseError

ANSWERS_WITHIN = 10.0  # seconds in which a scheduler answers
LONG = 300.0  # in which there is a worker
A_CLUSTER = "a cluster"  # that Dask is needed for


@contextmanager
def connected(place: WorkPlace) -> Iterator[Any]:
    """Lend a client; when it is given back, nothing is left of it on the cluster, and processes of its own end."""
    distributed = require("distributed", "dask", A_CLUSTER)
    with ExitStack() as stack:
        stack.enter_context(_without_noise())
        address: Any = place.address
        if place.workers is not None:
            with _deaf_children():
                how = {"n_workers": place.workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
                address = stack.enter_context(distributed.LocalCluster(**how, silence_logs=logging.CRITICAL))
        else:
            _check_scheduler(distributed, str(address))
        client = stack.enter_context(distributed.Client(address, timeout=ANSWERS_WITHIN, set_as_default=False))
        stack.enter_context(client.as_current())
        if place.address is not None:
            _tell_of_workers(client, place.address)
        yield client


def _check_scheduler(distributed: Any, address: str) -> None:
    """Refuse an address where no scheduler is; a client that does not reach it would leave tracebacks."""
    remedy = "write the address that dask scheduler prints, such as tcp://host:8786, or --workers 4 for processes here"
    if "://" in address and not address.startswith("tcp://"):  # which a client knows how to reach
        return

    async def identity() -> Any:
        async with distributed.rpc(address, timeout=ANSWERS_WITHIN) as scheduler:
            return await asyncio.wait_for(scheduler.identity(), ANSWERS_WITHIN)

    try:
        kind = asyncio.run(identity())["type"]
    except ValueError as error:
        msg = f"--cluster {address} is no address ({error}): {remedy}."
        raise MisuseError(msg) from None
    except Exception:  # noqa: BLE001  (whatever answers instead)
        msg = f"--cluster {address} does not answer as a scheduler of Dask within {ANSWERS_WITHIN:g} seconds: {remedy}."
        raise ValueError(msg) from None
    if kind != "Scheduler":
        msg = f"--cluster {address} is a {kind.lower()}: {remedy}."
        raise MisuseError(msg)


def _tell_of_workers(client: Any, address: str) -> None:
    """Say whose workers they are; wait for some if there are none yet."""
    if not client.nthreads():
        typer.echo(f"exactcp: the cluster {address} has no worker yet, and one is waited for.", err=True)
        try:
            client.submit(len, (), pure=False).result(timeout=LONG)  # for which a cluster that adapts starts workers
        except TimeoutError:
            msg = f"--cluster {address} has had no worker for {LONG:g} seconds: start some, by dask worker {address}."
            raise ValueError(msg) from None
    threads = client.nthreads()
    where = "" if client.dashboard_link is None else f"; its dashboard is {client.dashboard_link}"
    found = f"{len(threads)} workers with {sum(threads.values())} threads"
    typer.echo(f"exactcp: the cluster {address} has {found}{where}.", err=True)


@contextmanager
def _without_noise() -> Iterator[None]:
    """Let Dask say nothing that is not for users: what is wrong is told in a sentence."""
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado", "asyncio")]
    before = [logger.level for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph", category=UserWarning)
        try:
            for logger in loggers:
                logger.setLevel(logging.CRITICAL)
            yield
        finally:
            for logger, level in zip(loggers, before, strict=True):
                logger.setLevel(level)


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Start threads and processes that do not hear Ctrl-C, which is for this process: it ends the others."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # which would let the thread that starts it hear again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ask_workers(client: Any, work: Callable[[Any], Any], parts: Sequence[Any], *, verbose: int, task: str) -> list[Any]:
    """Return what workers make of all parts; if one fails, or somebody interrupts, nothing is left behind."""
    as_completed = require("distributed", "dask", A_CLUSTER).as_completed
    futures = client.map(work, parts, pure=False)
    try:
        for future in progress(as_completed(futures), len(futures), verbose, task):
            if future.status != "finished":
                for one in futures:  # the first part that is wrong is told, whoever was the first to tell
                    _check_future(one)
        return list(client.gather(futures))
    finally:
        for future in futures:
            future.release()


def _check_future(future: Any) -> None:
    """Wait for a future, and raise its error if it has one."""
    error = future.exception()
    if error is None:
        return
    if type(error).__name__ in ("ImportError", "ModuleNotFoundError"):
        msg = (
            f"a worker cannot do its part ({error}): expected the same version of exactcp[cli,dask] where the workers "
            "are."
        )
        raise RuntimeError(msg) from error
    if type(error).__name__ == "KilledWorker":
        msg = f"a worker died several times of the same part ({error}): most often it needs more memory."
        raise MemoryError(msg) from error
    raise error
