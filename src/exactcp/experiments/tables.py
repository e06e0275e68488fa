"""A Markdown page for each experiment: what was measured, and the paper's numbers in the next column.

A table is its rows, keys with names, and its columns: a heading, and the cells by the keys of the rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exactcp import metrics
from exactcp.experiments import paper
from exactcp.experiments.configs import METHODS, Config
from exactcp.experiments.lines import Line, lines_by_method, make_line
from exactcp.experiments.measurements import TIMEOUT, Measurement, describe_machine

UNKNOWN = "-"
TITLES = {
    "figure1": "Figure 1: time of one prediction against n",
    "figure2": "Figure 2: training time of optimized CP against n",
    "figure3": "Figure 3: time of one prediction of k-NN regression against n",
    "figure4": "Figure 4: bootstrap samples B' against B and n",
    "figure5": "Figure 5: time of one prediction, k-NN and simplified k-NN",
    "mnist": "Table 2 and the fuzziness table: MNIST",
    "parallel": "Table 3: one worker against all",
}
NOTHING = make_line([], "prediction")

Key = tuple[str, str]  # a measure and a method
TableColumns = Sequence[tuple[str, Mapping[Any, str]]]


def make_page(config: Config, measurements: list[Measurement]) -> str:
    """Return the Markdown page of an experiment."""
    pages = {"figure4": _samples_tables, "mnist": _mnist_tables, "parallel": _parallel_tables}
    tables = pages.get(config.name, _time_tables)(config, measurements)
    return "\n\n".join([f"# {TITLES[config.name]}", _conditions(config), *tables]) + "\n"


def _table(heading: str, rows: Mapping[Any, str], columns: TableColumns, remark: str = "") -> str:
    """Return a heading, a table whose first column is the names of the rows, and a remark; no row without cells."""
    lines = [["", *(name for name, _ in columns)], ["---", *["---:"] * len(columns)]]
    for key, name in rows.items():
        if any(key in cells for _, cells in columns):
            lines.append([name, *(cells.get(key, UNKNOWN) for _, cells in columns)])
    return "\n".join([heading, "", *(f"| {' | '.join(line)} |" for line in lines), *(["", remark] if remark else [])])


def _side_by_side(names: dict[str, str], here: dict[Key, str], printed: dict[Key, str]) -> list[Any]:
    """Return two columns for each method: the cells of the measures here, and those of the paper."""
    columns = []
    for method, name in names.items():
        for heading, cells in ((f"{name}, here", here), ("the paper", printed)):
            columns.append((heading, {measure: cell for (measure, own), cell in cells.items() if own == method}))
    return columns


def _conditions(config: Config) -> str:
    machine = describe_machine()
    jobs = " and ".join(str(jobs or machine["cores"]) for jobs in config.jobs)
    return (
        f"Measured until {time.strftime('%Y-%m-%d')} with exactcp {machine['exactcp']}, Python {machine['python']}, on "
        f"{machine['cores']} cores ({machine['processor']}), {jobs} thread(s) a measurement, {len(config.seeds)} "
        f"seed(s). A measurement may take {config.timeout:g} s, of the standard method {config.timeout_standard:g} s, "
        f"which predicts {config.n_test_standard:,} test examples; the others predict {config.n_test:,} in one call. "
        "The paper's times are those of one core of a Xeon E5-2680 v3."
    )


def _time_tables(config: Config, measurements: list[Measurement]) -> list[str]:
    """Return the tables of times against n: of one prediction, or of training."""
    is_training = config.name == "figure2"
    lines = lines_by_method(measurements, "training" if is_training else "prediction")
    printed = paper.TRAINING if is_training else paper.PREDICTION
    n_of_paper = {measure: at.n for (measure, _), at in printed.items()}  # the same for all methods
    largest = max((int(line.n[-1]) for line in lines.values() if line.n.size), default=0)
    summary = _table(
        "## Training" if is_training else "## One prediction",
        {key: ", ".join(key) for key in lines},
        [
            ("here", {key: _value(line, n_of_paper.get(key[0], largest)) for key, line in lines.items()}),
            ("the paper", {key: f"{at.remark or duration(at.seconds)} (n = {at.n:,})" for key, at in printed.items()}),
            ("slope in n", {key: _number(line.slope()) for key, line in lines.items()}),
            ("measured up to n", {key: _reach(line) for key, line in lines.items()}),
        ],
        "A slope is the exponent of n over the last decade of a line; beyond it the line is extrapolated.",
    )
    columns = []
    for method in config.methods:
        own = {measure: line for (measure, of), line in lines.items() if of == method}
        columns.append((method, {(m, n): _spread(line, n) for m, line in own.items() for n in line.n}))
    rows = {(measure, n): f"{measure}, n = {n:,}" for measure in config.measures for n in config.sizes}
    everything = _table("## All measurements, mean ± standard deviation over seeds", rows, columns)
    return [summary, everything] if is_training else [summary, _ratios(config, lines), everything]


def _ratios(config: Config, lines: dict[Key, Line]) -> str:
    rows = {measure: measure for measure in config.measures}
    standard, optimized, split = ({m: lines.get((m, method), NOTHING) for m in rows} for method in METHODS)
    columns = [
        ("slope of standard - optimized", {m: _number(standard[m].slope() - optimized[m].slope()) for m in rows}),
        ("standard / optimized", {m: _ratio(standard[m], optimized[m], digits=0) for m in rows}),
        ("optimized / split", {m: _ratio(optimized[m], split[m], digits=2) for m in rows}),
    ]
    return _table("## Ratios of times, at the largest n that both reached", rows, columns)


def duration(seconds: float | None) -> str:
    """Return a time with two or three digits in the unit that suits it."""
    if seconds is None or math.isnan(seconds):
        return UNKNOWN
    if seconds == 0:
        return "0 s"
    for unit, name, until in (
        (1e-6, "µs", 1e-3),
        (1e-3, "ms", 0.1),
        (1.0, "s", 120.0),
        (60.0, "min", 3600.0),
        (3600.0, "h", 360_000.0),
        (86_400.0, "days", 63_072_000.0),
        (31_536_000.0, "years", math.inf),
    ):
        if seconds < until:
            value = seconds / unit
            return f"{value:.3g} {name}" if value < 1000 else f"{value:,.0f} {name}"
    return UNKNOWN


def _value(line: Line, n: int) -> str:
    value, measured = line.at(n)
    if math.isnan(value):
        return UNKNOWN
    how = "" if measured else ", extrapolated" if n > line.n[-1] else ", interpolated"
    return f"{duration(value)} (n = {n:,}{how})"


def _reach(line: Line) -> str:
    upto = f"{line.n[-1]:,}" if line.n.size else "none"
    return upto + (f", ran out at {line.ran_out_at:,}" if line.ran_out_at else "")


def _ratio(above: Line, below: Line, *, digits: int) -> str:
    common = np.intersect1d(above.n, below.n)
    if common.size == 0:
        return UNKNOWN
    n = common[-1]
    return f"{above.at(n)[0] / below.at(n)[0]:,.{digits}f} (n = {n:,})"


def _spread(line: Line, n: int, times: int = 1) -> str:
    """Return mean ± standard deviation of seconds at n, in the mean's unit."""
    if n not in line.n:
        return UNKNOWN
    i = np.searchsorted(line.n, n)
    mean, std = line.mean[i] * times, line.std[i] * times
    text = duration(mean)
    number, unit = text.split(" ")
    scale = float(number.replace(",", "")) / mean if mean else 1.0
    return text if std == 0 else f"{number} ± {float(f'{std * scale:.2g}'):g} {unit}"


def _number(value: float) -> str:
    """Return a number with two digits after the point, or a dash if there is none."""
    return f"{value:.2f}" if math.isfinite(value) else UNKNOWN


def _samples_tables(config: Config, measurements: list[Measurement]) -> list[str]:
    columns = []
    for B in config.n_estimators:
        own = [one for one in measurements if one.point.n_estimators == B]
        drawn, expected = make_line(own, "drawn"), make_line(own, "expected")
        numbers = zip(drawn.n.tolist(), drawn.mean, expected.mean, strict=True)
        columns.append((f"B = {B}", {n: f"{mean:.1f} ({of_theory:.1f})" for n, mean, of_theory in numbers}))
    heading = "## Samples drawn until each example is missing from B, mean over seeds (and expected)"
    remark = "The paper prints no numbers here; it says that B' < B n."
    return [_table(heading, {n: f"n = {n:,}" for n in config.sizes}, columns, remark)]


def _mnist_tables(config: Config, measurements: list[Measurement]) -> list[str]:
    """Return the tables of times, and of fuzziness with its tests."""
    rows = {measure: measure for measure in config.measures}
    times = {(one.point.measure, one.point.method): _times(one) for one in measurements}
    printed = {key: _printed_times(*printed) for key, printed in paper.MNIST_TIMES.items()}
    columns = _side_by_side({"standard": "CP", "optimized": "optimized CP", "split": "ICP"}, times, printed)
    total = sum((one.fit_seconds or 0) + (one.predict_seconds or 0) for one in measurements)
    heading = f"## Training / prediction, {max(config.sizes):,} training and {config.n_test:,} test images"
    remark = "T(p): the timeout (48 hours in the paper) came when p predictions had been made. All of these fits and "
    table_of_times = _table(heading, rows, columns, f"{remark}predictions together: {duration(total)}.")

    known = {(one.point.measure, one.point.method): one.fuzziness for one in measurements if one.fuzziness is not None}
    fuzziness = {key: f"{values.mean():.5f} ± {values.std():.5f}" for key, values in known.items()}
    printed = {key: f"{mean:.5f} ± {std:.5f}" for key, (mean, std) in paper.FUZZINESS.items()}
    both = [m for m in rows if (m, "optimized") in known and (m, "split") in known and len(known[m, "split"]) > 1]
    tests = {m: metrics.paired_test(known[m, "optimized"], known[m, "split"]) for m in both}
    columns = _side_by_side({"optimized": "CP", "split": "ICP"}, fuzziness, printed)
    columns.append(("Welch's p", {m: _probability(test.welch_p) for m, test in tests.items()}))
    columns.append(("paired p", {m: _probability(test.paired_p) for m, test in tests.items()}))
    heading = "## Fuzziness (smaller is better), mean ± standard deviation"
    remark = "Welch's and the paired t-test: is full CP's fuzziness smaller than split CP's? *: p < 0.01."
    return [table_of_times, _table(heading, rows, columns, remark)]


def _times(one: Measurement) -> str:
    predicted = f"T({one.predicted})" if one.status == TIMEOUT else duration(one.predict_seconds)
    return f"{duration(one.fit_seconds)} / {predicted}"


def _printed_times(fit: float, predict: float | None, predicted: int | None) -> str:
    return f"{_as_printed(fit)} / {f'T({predicted})' if predict is None else _as_printed(predict)}"


def _as_printed(seconds: float) -> str:
    """Return a time as the paper's table writes it: 29s, 34m 5s, 29h 13m."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h {minutes}m"
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"


def _probability(p: float) -> str:
    """Return the p-value of a test, with a star where it is below 0.01."""
    return (f"{p:.3f}" if p >= 0.001 else f"{p:.0e}" if p > 1e-99 else "< 1e-99") + ("*" if p < 0.01 else "")


def _seconds(mean: float, std: float) -> str:
    return duration(mean) if math.isnan(std) else f"{mean:.2f} ± {std:.2f} s"


def _parallel_tables(config: Config, measurements: list[Measurement]) -> list[str]:
    """Return the table of one worker and of all."""
    jobs = list(dict.fromkeys(one.point.jobs for one in measurements)) or [1]
    one, many = (
        lines_by_method([own for own in measurements if own.point.jobs == k], "prediction") for k in (jobs[0], jobs[-1])
    )
    n, m, m_large = min(config.sizes), config.n_test, round(config.large * 3 / 7)
    methods = [(measure, method, n, m) for method in config.methods for measure in config.measures]
    rows = {row: ", ".join(row[:2]) for row in methods}
    printed = {row: paper.PARALLEL[row[:2]] for row in methods if row[:2] in paper.PARALLEL}
    if config.large:
        large = ("KNN", "optimized", config.large, m_large)
        rows[large], printed[large] = f"KNN, optimized, {config.large + m_large:,} examples", paper.PARALLEL_LARGE

    def here(lines: dict[Key, Line]) -> dict[Any, str]:
        return {row: _spread(lines.get(row[:2], NOTHING), *row[2:]) for row in rows}

    def of_paper(place: int) -> dict[Any, str]:
        return {row: _seconds(*both[place]) for row, both in printed.items()}

    def gain(row: Any) -> float:
        return one.get(row[:2], NOTHING).at(row[2])[0] / many.get(row[:2], NOTHING).at(row[2])[0]

    columns = [
        ("1 worker, here", here(one)),
        ("1, the paper", of_paper(0)),
        (f"{jobs[-1]} workers, here", here(many)),
        ("48, the paper", of_paper(1)),
        ("speed-up here", {row: _number(gain(row)) for row in rows}),
        ("in the paper", {row: f"{both[0][0] / both[1][0]:.1f}" for row, both in printed.items()}),
    ]
    remark = (
        "Of the standard method: the mean of the predictions that were made, times their number; its workers are "
        "processes, which are started before the clock. Those of the optimized one are threads."
    )
    return [_table(f"## Time of {m:,} predictions from {n:,} examples", rows, columns, remark)]
