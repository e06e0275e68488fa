"""The workers that `exactcp predict` was told to use: of a cluster that runs, or processes of its own."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import typer

from exactcp._optional import require
from exactcp.cli._misuse import MisuseError

PATIENCE = 10.0  # seconds in which a scheduler answers
PURPOSE = "a cluster"  # that Dask is needed for
APPLY = {
    *("train", "test", "target", "task", "measure", "option", "confidence", "mondrian", "smoothed", "log", "low"),
    *("high", "seed", "scale", "categorical", "ignore", "keep_ids", "row_ids", "output", "as_json"),
    *("cluster", "workers"),
}  # names of options, and of arguments
USUAL = {"method": "full", "dates": "ignore"}  # what may be said, since it is done anyway
INSTEAD = {
    "jobs": "; workers have threads of their own",
    "impute": ", and fill the gaps before",
    "holdout": ", and write the rows to predict as TEST",
    "folds": ", and write the rows to predict as TEST",
    "model": ", and learn from TRAIN",
}


class Place(NamedTuple):
    """Where the work is done: at the address of a scheduler, or by so many processes."""

    address: str | None
    workers: int | None


def asked_place(context: Any, cluster: str | None, workers: int | None) -> Place | None:
    """Return where the work is done, None for this process; refuse options that a cluster does not have."""
    if cluster is None and workers is None:
        return None
    if cluster is not None and workers is not None:
        raise MisuseError("--cluster is where workers run, and --workers starts some here: use one of them.")
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or name in APPLY or USUAL.get(name) == context.params[name]:
            continue
        said = f"{parameter.opts[0]} {context.params[name]}" if name in USUAL else parameter.opts[0]
        remedy = f"use {USUAL[name]}" if name in USUAL else f"leave it out{INSTEAD.get(name, '')}"
        msg = f"{said} is not for --cluster and --workers: {remedy}."
        raise MisuseError(msg)
    if context.params["scale"] == "robust":
        raise MisuseError("--scale robust is not for --cluster and --workers: use standard or none.")
    return Place(cluster, workers)


@contextmanager
def connected(place: Place) -> Iterator[Any]:
    """Lend a client; when it is given back, nothing is left of it on the cluster, and processes of its own end."""
    distributed = require("distributed", "dask", PURPOSE)
    with ExitStack() as stack:
        stack.enter_context(_without_noise())
        address: Any = place.address
        if place.workers is not None:
            with _deaf_children():
                how = {"n_workers": place.workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
                cluster = distributed.LocalCluster(**how, silence_logs=logging.CRITICAL)
            address = stack.enter_context(cluster)
        else:
            _check_scheduler(distributed, str(address))
        client = stack.enter_context(distributed.Client(address, timeout=PATIENCE, set_as_default=False))
        stack.enter_context(client.as_current())
        _tell(client, place)
        yield client


def _check_scheduler(distributed: Any, address: str) -> None:
    """Refuse an address where no scheduler is; a client that does not reach it would leave tracebacks."""
    remedy = "write the address that dask scheduler prints, such as tcp://host:8786, or --workers 4 for processes here"
    if address.startswith("inproc://"):
        return

    async def identity() -> Any:
        async with distributed.rpc(address, timeout=PATIENCE) as scheduler:
            return await asyncio.wait_for(scheduler.identity(), PATIENCE)

    try:
        kind = asyncio.run(identity())["type"]
    except ValueError as error:
        msg = f"--cluster {address} is no address ({error}): {remedy}."
        raise MisuseError(msg) from None
    except Exception:  # noqa: BLE001  (whatever answers instead)
        msg = f"--cluster {address} does not answer as a scheduler of Dask within {PATIENCE:g} seconds: {remedy}."
        raise ValueError(msg) from None
    if kind != "Scheduler":
        msg = f"--cluster {address} is a {kind.lower()}: {remedy}."
        raise MisuseError(msg)


def _tell(client: Any, place: Place) -> None:
    threads = client.nthreads()
    if place.workers is not None:
        return
    where = client.dashboard_link
    seen = f"; its dashboard is {where}" if where and not client.scheduler.address.startswith("inproc://") else ""
    found = f"{len(threads)} workers with {sum(threads.values())} threads"
    if not threads:
        found = "no worker yet, and waits for some up to 5 minutes"
    typer.echo(f"exactcp: the cluster {place.address} has {found}{seen}.", err=True)


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
    """Start processes that do not hear Ctrl-C, which is for this one: it ends them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def ask_workers(client: Any, work: Callable[[Any], Any], parts: Sequence[Any], *, verbose: int, task: str) -> list[Any]:
    """Return what workers make of all parts; if one fails, or somebody interrupts, nothing is left behind."""
    from exactcp._parallel import progress

    as_completed = require("distributed", "dask", PURPOSE).as_completed
    futures = client.map(work, parts, pure=False)
    try:
        for future in progress(as_completed(futures), len(futures), verbose, task):
            _check_done(future)
        return list(client.gather(futures))
    finally:
        for future in futures:
            future.release()


def _check_done(future: Any) -> None:
    if future.status == "finished":
        return
    error = future.exception()
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
