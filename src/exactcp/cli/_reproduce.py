"""`exactcp reproduce`: an experiment of the paper, measured here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from exactcp.cli import _options as typed
from exactcp.cli._mistakes import MisuseError, did_you_mean
from exactcp.cli._tables import print_result, say

if TYPE_CHECKING:
    from exactcp.experiments import Config

EXPERIMENTS = ("figure1", "figure2", "figure3", "figure4", "figure5", "mnist", "parallel")


def _complete_name(incomplete: str) -> list[str]:
    return [name for name in EXPERIMENTS if name.startswith(incomplete)]


def reproduce(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(EXPERIMENTS)}.", autocompletion=_complete_name)],
    full: Annotated[bool, typer.Option("--full", help="The paper's grid, seeds and timeouts: days.")] = False,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("reproduced"),
    data: Annotated[Path | None, typer.Option(help="MNIST: an npz file.", show_default="OpenML")] = None,
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds of one measurement.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Data sets at each n.")] = None,
    n_max: Annotated[int | None, typer.Option("--n-max", min=10, help="Most training examples.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Threads of a measurement.")] = None,
    as_json: typed.AsJson = False,
) -> None:
    """Measure an experiment of the founding paper on this machine, and compare.

    Each measurement is saved at once: the same command continues an interrupted run.
    """
    if name not in EXPERIMENTS:
        msg = f"there is no experiment {name!r}: use one of {', '.join(EXPERIMENTS)}.{did_you_mean(name, EXPERIMENTS)}"
        raise MisuseError(msg)
    if data is not None and name != "mnist":
        msg = f"--data is for mnist; the data of {name} are generated: leave it out."
        raise MisuseError(msg)
    from exactcp.experiments import make_config
    from exactcp.experiments import reproduce as run_experiment

    config = _limited(make_config(name, full=full), timeout, seeds, n_max, jobs)
    done = run_experiment(config, output, data=data, watch=_watch, tell=say)
    print_result(json.dumps(done.to_dict()) if as_json else done.page)
    say("written: " + ", ".join(str(path) for path in done.files))


def _limited(config: Config, timeout: float | None, seeds: int | None, n_max: int | None, jobs: int | None) -> Config:
    """Return the configuration with what was typed."""
    if timeout is not None:
        config = replace(config, timeout=timeout, timeout_standard=timeout)
    if seeds is not None:
        config = replace(config, seeds=tuple(range(seeds)))
    if n_max is not None:
        config = config.up_to(n_max)
    if jobs is not None:
        config = replace(config, jobs=(1, jobs) if config.name == "parallel" else (jobs,))
    return config


def _watch(over: int, planned: int, what: str) -> None:
    """Print a line for each measurement that begins."""
    say(f"{over}/{planned}: {what}")
