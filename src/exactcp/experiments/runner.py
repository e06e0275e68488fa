"""Going through an experiment: what is known is kept, what is not is measured and written down at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from exactcp.experiments.configs import Config
from exactcp.experiments.forecast import Forecast, expected_seconds, is_final, runs_out
from exactcp.experiments.journal import Journal
from exactcp.experiments.machine import describe_machine
from exactcp.experiments.points import FAILED, LineKey, Measurement, Point
from exactcp.experiments.worker_process import WorkerProcess

JOURNAL = "measurements.jsonl"


@dataclass
class Run:
    """What a run has of its plan.

    Attributes
    ----------
    config : Config
    measurements : list of Measurement
        In the order of the plan.
    measured, reused, left_out : int
        How many were measured now, known before, and not tried because a smaller one ran out of time.
    notes : list of str
        What one should know about the file of measurements.
    """

    config: Config
    measurements: list[Measurement] = field(default_factory=list)
    measured: int = 0
    reused: int = 0
    left_out: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Moment:
    """Where a run is: what comes next, how much of the plan is over, and for how long it will go on, about."""

    point: Point | None
    over: int
    planned: int
    seconds_left: float


def run(
    config: Config,
    output: Path,
    *,
    data: str | None = None,
    watch: Callable[[Moment], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Run:
    """Measure what the file of measurements lacks.

    Parameters
    ----------
    config : Config
    output : Path
        The folder of the file, which several experiments and interrupted runs share.
    data : str or None, default=None
        File of MNIST.
    watch : callable, default=None
        Called with a `Moment` before each measurement and at the end.
    tell : callable, default=None
        Called with each note before the first measurement.

    Returns
    -------
    Run
    """
    output.mkdir(parents=True, exist_ok=True)
    journal, plan, result, forecast = Journal(output / JOURNAL), config.plan(), Run(config), Forecast()
    known = _known(journal, config, plan, result.notes)
    for note in result.notes:
        if tell is not None:
            tell(note)
    by_line: dict[LineKey, list[Measurement]] = {}
    expected = [0.0 if p.key in known else expected_seconds(p, config.timeout_of(p)) for p in plan]
    with WorkerProcess() as worker:
        for i, point in enumerate(plan):
            line = by_line.setdefault(point.line, [])
            if runs_out(line, point):
                result.left_out += 1
                expected[i] = 0.0
                continue
            measurement = known.get(point.key)
            if measurement is None:
                if watch is not None:
                    watch(Moment(point, i, len(plan), forecast.seconds(expected[i:])))
                start = time.monotonic()
                measurement = worker.measure(point, config.timeout_of(point), data)
                journal.append(measurement)
                forecast.learn(expected[i], time.monotonic() - start)
                result.measured += 1
            else:
                result.reused += 1
            line.append(measurement)
            result.measurements.append(measurement)
    if watch is not None:
        watch(Moment(None, len(plan), len(plan), 0.0))
    result.notes += [f"{one.point} failed: {one.message}" for one in result.measurements if one.status == FAILED]
    return result


def _known(journal: Journal, config: Config, plan: list[Point], notes: list[str]) -> dict[str, Measurement]:
    """Return the measurements that need not be repeated, by the key of their points, and note what the file is like."""
    found, broken = journal.read()
    machine, planned = describe_machine(), {point.key for point in plan}
    known: dict[str, Measurement] = {}
    elsewhere = unused = short = 0
    for one in found:
        if one.point.key not in planned:
            unused += 1
        elif one.machine != machine:
            elsewhere += 1
        elif is_final(one, config.timeout_of(one.point)):
            known[one.point.key] = one
        else:
            short += one.point.key not in known
    if broken:
        notes.append(f"{journal.path}: {broken} line(s) are no measurements (a kill may tear one) and are passed over.")
    if known:
        notes.append(f"{journal.path}: {len(known)} of {len(plan)} points are measured already and are not repeated.")
    if unused:
        notes.append(f"{journal.path}: {unused} measurement(s) belong to other configurations and are kept, not used.")
    if elsewhere:
        notes.append(
            f"{journal.path}: {elsewhere} measurement(s) come from another machine or version and are not mixed in; "
            "these points are measured again."
        )
    if short:
        notes.append(f"{journal.path}: {short} point(s) failed or had less time; they are measured again.")
    return known
