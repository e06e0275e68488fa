"""`exactcp reproduce`: an experiment of the paper, measured here."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from exactcp.cli._misuse import MisuseError, did_you_mean
from exactcp.cli._results import print_result

if TYPE_CHECKING:
    from exactcp.experiments import Config

EXPERIMENT_NAMES = ("figure1", "figure2", "figure3", "figure4", "figure5", "mnist", "parallel")


def _complete_name(incomplete: str) -> list[str]:
    return [name for name in EXPERIMENT_NAMES if name.startswith(incomplete)]


def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENT_NAMES)}.", autocompletion=_complete_name)],
    full: Annotated[bool, typer.Option("--full", help="The paper's grid, seeds and timeouts: days.")] = False,
    output: Annotated[Path, typer.Option(help="Folder for measurements, figure and table.")] = Path("reproduced"),
    data: Annotated[Path | None, typer.Option(help="MNIST: an npz file. [default: OpenML]")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds that one measurement may take.")] = None,
    seeds: Annotated[int | None, typer.Option(help="How many data sets are drawn at each n.")] = None,
    n_max: Annotated[int | None, typer.Option("--n-max", help="Most training examples.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Threads of a measurement; of 'parallel', those of all.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print measurements as JSON instead of the table.")] = False,
) -> None:
    """Measure an experiment of the founding paper on this machine, and compare.

    Every measurement is written down at once: the same command goes on where an interrupted one ended.
    """
    config = _config(name, full=full, timeout=timeout, seeds=seeds, n_max=n_max, jobs=jobs)
    if data is not None and name != "mnist":
        msg = f"--data is for mnist; the data of {name} are generated: leave it out."
        raise MisuseError(msg)
    errors = Console(stderr=True)
    with errors.status("importing"):
        from exactcp.experiments import reproduce as run_experiment
    with _progress(errors) as watch:
        told: list[str] = []
        done = run_experiment(config, output, data=data, watch=watch, tell=_tell(errors, told))
    for note in done.notes[len(told) :]:
        errors.print(note, highlight=False, soft_wrap=True)
    if as_json:
        print_result(json.dumps(done.to_dict()))
    else:
        print_result(done.page)
    errors.print("written: " + ", ".join(str(path) for path in done.files), highlight=False, soft_wrap=True)


def _config(
    name: str, *, full: bool, timeout: float | None, seeds: int | None, n_max: int | None, jobs: int | None
) -> Config:
    if name not in EXPERIMENT_NAMES:
        meant = did_you_mean(name, EXPERIMENT_NAMES)
        msg = f"there is no experiment {name!r}: use one of {', '.join(EXPERIMENT_NAMES)}.{meant}"
        raise MisuseError(msg)
    for option, value, least in (("--seeds", seeds, 1), ("--n-max", n_max, 10), ("--jobs", jobs, 1)):
        if value is not None and value < least:
            msg = f"{option} {value} is too few: use {least} or more."
            raise MisuseError(msg)
    if timeout is not None and not timeout > 0:
        msg = f"--timeout {timeout:g} is no time: use a number of seconds above 0."
        raise MisuseError(msg)
    from exactcp.experiments import make_config

    config = make_config(name, full=full)
    if timeout is not None:
        config = replace(config, timeout=timeout, timeout_standard=timeout)
    if seeds is not None:
        config = replace(config, seeds=tuple(range(seeds)))
    if n_max is not None:
        config = config.up_to(n_max)
    if jobs is not None:
        config = replace(config, jobs=(1, jobs) if name == "parallel" else (jobs,))
    return config


def _tell(console: Console, told: list[str]) -> Callable[[str], None]:
    def tell(note: str) -> None:
        told.append(note)
        console.print(note, highlight=False, soft_wrap=True)

    return tell


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[int, int, str], None]]:
    """Show how much of the plan is over, and what is measured.

    On a terminal it is a bar; elsewhere, as in the log of a run that nobody watches, a line now and then.
    """
    if not console.is_terminal:
        yield _log_line(console)
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        BarColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=1)

        def watch(over: int, planned: int, what: str) -> None:
            bar.update(task, completed=over, total=planned, description=what)

        yield watch


def _log_line(console: Console) -> Callable[[int, int, str], None]:
    from exactcp import _parallel

    last = time.monotonic()

    def watch(over: int, planned: int, what: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _parallel.LOG_EVERY:
            console.print(f"{over}/{planned}: {what}", highlight=False, soft_wrap=True)
            last = time.monotonic()

    return watch
