"""The two tables of MNIST: times, and fuzziness with its tests."""

from __future__ import annotations

import numpy as np

from exactcp import metrics
from exactcp.experiments import paper
from exactcp.experiments.points import TIMEOUT, Measurement
from exactcp.experiments.runner import Run
from exactcp.experiments.wording import MEASURES, UNKNOWN, duration, markdown_table, probability

KDE_REMARK = (
    "KDE at bandwidth 1 on raw pixels is the nearest neighbour of the same label, and its figure is that of simplified "
    "1-NN (0.04251 ± 0.06776 on all of MNIST), as it must be; the paper's differs, with ICP by far."
)
SPLIT_REMARK = (
    "ICP's figures depend on how the examples are split, here by scikit-learn's `train_test_split` with seed 0: with "
    "seed 1, simplified k-NN has 0.05640 ± 0.07516 on all of MNIST."
)


def mnist_page(run: Run) -> str:
    """Return both tables."""
    found = {(one.point.measure, one.point.method): one for one in run.measurements}
    sizes = f"{max(run.config.sizes):,} training and {run.config.n_test:,} test images"
    total = sum((one.fit_seconds or 0) + (one.predict_seconds or 0) for one in run.measurements)
    return (
        f"## Training / prediction, {sizes}\n\n{_times(run, found)}\n"
        "T(p): the timeout (48 hours in the paper) came when p predictions had been made. "
        f"All of these fits and predictions together: {duration(total)}.\n\n"
        f"## Fuzziness (smaller is better), mean ± standard deviation\n\n{_fuzziness(run, found)}\n"
        "Welch's and the paired t-test: is full CP's fuzziness smaller than split CP's? *: p < 0.01. The paper finds "
        f"all of its four differences significant by Welch's test. {KDE_REMARK} {SPLIT_REMARK}\n"
    )


def _times(run: Run, found: dict[tuple[str, str], Measurement]) -> str:
    headings = [""]
    for name in ("CP", "optimized CP", "ICP"):
        headings += [f"{name}, here", "the paper"]
    rows = []
    for measure in run.config.measures:
        row = [MEASURES[measure]]
        for method in ("standard", "optimized", "split"):
            row += [_time_cell(found.get((measure, method))), _mnist_paper_cell(measure, method)]
        rows.append(row)
    return markdown_table(headings, rows)


def _time_cell(one: Measurement | None) -> str:
    if one is None or (one.fit_seconds is None and one.status != TIMEOUT):
        return UNKNOWN
    predicted = f"T({one.predicted})" if one.status == TIMEOUT else duration(one.predict_seconds)
    return f"{duration(one.fit_seconds)} / {predicted}"


def _mnist_paper_cell(measure: str, method: str) -> str:
    if (measure, method) not in paper.MNIST_TIMES:
        return UNKNOWN
    fit, predict, made = paper.MNIST_TIMES[measure, method]
    return f"{_as_printed(fit)} / {_as_printed(predict) if predict is not None else f'T({made})'}"


def _as_printed(seconds: float) -> str:
    """Return a time as the paper's table writes it: 29s, 34m 5s, 29h 13m."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"


def fuzziness_of(one: Measurement | None) -> np.ndarray | None:
    """Return the fuzziness of every test example, or None where it is not known."""
    values = None if one is None else one.found.get("fuzziness")
    return None if values is None else np.asarray(values, dtype=np.float64)


def _fuzziness(run: Run, found: dict[tuple[str, str], Measurement]) -> str:
    rows = []
    for measure in run.config.measures:
        full, split = (fuzziness_of(found.get((measure, method))) for method in ("optimized", "split"))
        row = [MEASURES[measure]]
        for method, values in (("optimized", full), ("split", split)):
            printed = paper.FUZZINESS.get((measure, method))
            row.append(UNKNOWN if values is None else f"{values.mean():.5f} ± {values.std():.5f}")
            row.append(f"{printed[0]:.5f} ± {printed[1]:.5f}" if printed else UNKNOWN)
        if full is None or split is None or full.size < 2:
            rows.append([*row, UNKNOWN, UNKNOWN])
            continue
        tests = metrics.paired_test(full, split)
        marked = (f"{probability(p)}{'*' if p < 0.01 else ''}" for p in (tests.welch_p, tests.paired_p))
        rows.append([*row, *marked])
    headings = ["", "CP, here", "the paper", "ICP, here", "the paper", "Welch's p", "paired p"]
    return markdown_table(headings, rows)
