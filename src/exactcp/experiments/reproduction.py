"""An experiment from beginning to end: data, measurements, figure, table."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from exactcp._replacing import replacing
from exactcp.experiments.configs import Config
from exactcp.experiments.figures import draw
from exactcp.experiments.lines import lines_by_method, prediction_seconds, training_seconds
from exactcp.experiments.machine import describe_machine
from exactcp.experiments.mnist import fingerprint, load_images, locate
from exactcp.experiments.mnist_tables import fuzziness_of
from exactcp.experiments.runner import Moment, Run, run
from exactcp.experiments.tables import make_page


@dataclass(frozen=True)
class Reproduction:
    """An experiment that has been run.

    Attributes
    ----------
    run : Run
        All measurements.
    page : str
        The Markdown page.
    files : list of Path
        The page, the figures, and the file of measurements.
    notes : list of str
        What the reader of the page should know.
    """

    run: Run
    page: str
    files: list[Path]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it but the page, for JSON: measurements, slopes, files."""
        lines = []
        for quantity, value in (("prediction", prediction_seconds), ("training", training_seconds)):
            for (measure, method), line in lines_by_method(self.run.measurements, value).items():
                slope = line.slope()
                lines.append(
                    {
                        "quantity": quantity,
                        "measure": measure,
                        "method": method,
                        "n": line.n.tolist(),
                        "seconds": line.mean.tolist(),
                        "slope": None if math.isnan(slope) else slope,
                        "ran_out_at": line.ran_out_at,
                    }
                )
        return {
            "name": self.run.config.name,
            "config": asdict(self.run.config),
            "machine": describe_machine(),
            "measured": self.run.measured,
            "reused": self.run.reused,
            "left_out": self.run.left_out,
            "lines": [] if self.run.config.task == "samples" else lines,
            "measurements": [_brief(one) for one in self.run.measurements],
            "files": [str(path) for path in self.files],
            "notes": self.notes,
        }


def _brief(one: Any) -> dict[str, Any]:
    """Return a measurement without what is known anyway, and with means instead of ten thousand numbers."""
    brief: dict[str, Any] = asdict(one)
    del brief["machine"]
    values = fuzziness_of(one)
    if values is not None:
        brief["found"]["fuzziness"] = {"mean": float(values.mean()), "std": float(values.std())}
    return brief


def reproduce(
    config: Config,
    output: Path,
    *,
    data: Path | None = None,
    watch: Callable[[Moment], None] | None = None,
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
        MNIST; None means OpenML.
    watch : callable, default=None
        Called before each measurement and at the end, with how far the run has come.
    tell : callable, default=None
        Called with each note before the first measurement.

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
    where = None
    if config.task == "mnist":
        where = locate(data, output)
        images = load_images(where)
        sizes = tuple(sorted({min(n, len(images.X_train)) for n in config.sizes}))
        n_test = min(config.n_test, len(images.X_test))
        n_test_standard = min(config.n_test_standard, n_test)
        config = replace(config, data=fingerprint(images), sizes=sizes, n_test=n_test, n_test_standard=n_test_standard)
        del images
    done = run(config, output, data=None if where is None else str(where), watch=watch, tell=tell)
    page = make_page(done)
    path = output / f"{config.name}.md"
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    files, notes = [path], list(done.notes)
    try:
        files += draw(done, output)
    except ImportError:
        notes.append('no figure was drawn, for want of matplotlib: python -m pip install "exactcp[plot]".')
    return Reproduction(done, page, [*files, output / "measurements.jsonl"], notes)
