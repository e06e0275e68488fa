"""An experiment from beginning to end: what is known is not measured again; then the table and the figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from exactcp._replacing import replacing
from exactcp.experiments.configs import Config, Point
from exactcp.experiments.data import load_images, locate
from exactcp.experiments.figures import draw
from exactcp.experiments.lines import lines_by_method
from exactcp.experiments.measurements import DONE, FAILED, TIMEOUT, Journal, Measurement, describe_machine
from exactcp.experiments.tables import make_page
from exactcp.experiments.worker import WorkerProcess

JOURNAL = "measurements.jsonl"


@dataclass
class Reproduction:
    """An experiment that has been run.

    Attributes
    ----------
    config : Config
    measurements : list of Measurement
        In the order of the plan.
    measured, reused, left_out : int
        How many were measured now, known before, and not tried because a smaller one ran out of time.
    notes : list of str
        What the reader of the page should know.
    page : str
        The Markdown page.
    files : list of Path
        The page, the figures, and the file of measurements.
    """

    config: Config
    measurements: list[Measurement] = field(default_factory=list)
    measured: int = 0
    reused: int = 0
    left_out: int = 0
    notes: list[str] = field(default_factory=list)
    page: str = ""
    files: list[Path] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return all of it but the page, for JSON: measurements, slopes, files."""
        lines = []
        for quantity in ("prediction", "training"):
            for (measure, method), line in lines_by_method(self.measurements, quantity).items():
                slope = None if math.isnan(line.slope()) else line.slope()
                facts = {"quantity": quantity, "measure": measure, "method": method, "ran_out_at": line.ran_out_at}
                lines.append({**facts, "slope": slope, "n": line.n.tolist(), "seconds": line.mean.tolist()})
        return {
            "name": self.config.name,
            "config": asdict(self.config),
            "machine": describe_machine(),
            "measured": self.measured,
            "reused": self.reused,
            "left_out": self.left_out,
            "lines": [] if self.config.task == "samples" else lines,
            "measurements": [_brief(one) for one in self.measurements],
            "files": [str(path) for path in self.files],
            "notes": self.notes,
        }


def _brief(one: Measurement) -> dict[str, Any]:
    """Return a measurement without what is known anyway, and with means instead of ten thousand numbers."""
    brief = asdict(one)
    del brief["machine"]
    if one.fuzziness is not None:
        brief["found"]["fuzziness"] = {"mean": float(one.fuzziness.mean()), "std": float(one.fuzziness.std())}
    return brief


def reproduce(
    config: Config,
    output: Path,
    *,
    data: Path | None = None,
    watch: Callable[[int, int, str], None] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Reproduction:
    """Run an experiment, or what an earlier run left of it; draw its figure and write its table.

    Parameters
    ----------
    config : Config
        From `make_config`, or your own.
    output : Path
        A folder for measurements, figures and the table; it is made.
    data : Path or None, default=None
        MNIST as an npz file; None means OpenML.
    watch : callable, default=None
        Called before each measurement and at the end: how many points are over, how many there are, and what comes.
    tell : callable, default=None
        Called with each note as it is made.

    Returns
    -------
    Reproduction

    Examples
    --------
    >>> import tempfile
    >>> from dataclasses import replace
    >>> from pathlib import Path
    >>> from exactcp.experiments import make_config, reproduce
    >>> config = make_config("figure4")
    >>> config = replace(config, sizes=(10, 100), seeds=(0,), n_estimators=(1, 10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = reproduce(config, Path(folder))
    >>> [path.name for path in done.files]
    ['figure4.md', 'figure4.png', 'figure4.svg', 'measurements.jsonl']
    """
    output.mkdir(parents=True, exist_ok=True)
    if config.task == "mnist":
        config = _as_far_as_data_go(config, locate(data, output))
    done = Reproduction(config)

    def note(text: str) -> None:
        done.notes.append(text)
        if tell is not None:
            tell(text)

    _measure(done, Journal(output / JOURNAL), watch or (lambda *_: None), note)
    done.page = make_page(config, done.measurements)
    path = output / f"{config.name}.md"
    with replacing(path) as unfinished:
        unfinished.write_text(done.page, encoding="utf-8")
    done.files = [path]
    try:
        done.files += draw(config, done.measurements, output)
    except ImportError:
        note('no figure was drawn, for want of matplotlib: python -m pip install "exactcp[plot]".')
    done.files.append(output / JOURNAL)
    return done


def _as_far_as_data_go(config: Config, path: Path) -> Config:
    """Return the experiment with the file of its data, and no more examples than that has."""
    images = load_images(path)
    sizes = tuple(sorted({min(n, len(images["X_train"])) for n in config.sizes}))
    n_test = min(config.n_test, len(images["X_test"]))
    n_test_standard = min(config.n_test_standard, n_test)
    data = str(path.resolve())
    return replace(config, data=data, sizes=sizes, n_test=n_test, n_test_standard=n_test_standard)


def _measure(
    done: Reproduction, journal: Journal, watch: Callable[[int, int, str], None], note: Callable[[str], None]
) -> None:
    """Measure what the journal lacks."""
    config, plan = done.config, done.config.plan()
    known, notes = _known(journal, config, plan)
    for text in notes:
        note(text)
    by_line: dict[Point, list[Measurement]] = {}
    with WorkerProcess() as worker:
        for i, point in enumerate(plan):
            line = by_line.setdefault(point.line, [])
            if any(_ends_line(one, point) for one in line):
                done.left_out += 1
                continue
            measurement = known.get(point)
            if measurement is None:
                watch(i, len(plan), str(point))
                measurement = worker.measure(point, config.timeout_of(point))
                journal.append(measurement)
                done.measured += 1
                if measurement.status == FAILED:
                    note(f"{point} failed: {measurement.message}")
            else:
                done.reused += 1
            line.append(measurement)
            done.measurements.append(measurement)
    watch(len(plan), len(plan), "done")


def _ends_line(one: Measurement, point: Point) -> bool:
    """Return whether a measurement ran out of time on fewer examples than a point has, or on as many for nothing."""
    is_smaller = one.point.n < point.n or (one.point.n == point.n and one.predicted == 0)
    return one.status == TIMEOUT and is_smaller


def _known(journal: Journal, config: Config, plan: list[Point]) -> tuple[dict[Point, Measurement], list[str]]:
    """Return the measurements that need not be repeated, by their points, and what to know about the file."""
    (found, broken), planned = journal.read(), set(plan)
    of_plan = [one for one in found if one.point in planned]
    here = [one for one in of_plan if one.machine == describe_machine()]
    known = {
        one.point: one
        for one in here
        if one.status == DONE or (one.status == TIMEOUT and one.timeout >= config.timeout_of(one.point))
    }
    short = {one.point for one in here} - set(known)
    numbers = [
        (broken, "line(s) are no measurements (a kill may tear one) and are passed over."),
        (len(known), f"of {len(plan)} points are measured already and are not repeated."),
        (len(found) - len(of_plan), "measurement(s) belong to other configurations and are kept, not used."),
        (len(of_plan) - len(here), "measurement(s) come from another machine or version; these are measured again."),
        (len(short), "point(s) failed or had less time; they are measured again."),
    ]
    return known, [f"{journal.path}: {number} {what}" for number, what in numbers if number]
