"""A Markdown page for each experiment: what was measured, and the paper's numbers in the next column."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from exactcp.experiments import paper
from exactcp.experiments.lines import Line, lines_by_method, make_line, prediction_seconds, training_seconds
from exactcp.experiments.machine import describe_machine
from exactcp.experiments.mnist_tables import mnist_page
from exactcp.experiments.points import Measurement
from exactcp.experiments.runner import Run
from exactcp.experiments.wording import (
    MEASURES,
    METHOD_WORDS,
    UNKNOWN,
    duration,
    markdown_table,
    number_in_words,
    spread,
)

TITLES = {
    "figure1": "Figure 1: time of one prediction against n",
    "figure2": "Figure 2: training time of optimized CP against n",
    "figure3": "Figure 3: time of one prediction of k-NN regression against n",
    "figure4": "Figure 4: bootstrap samples B' against B and n",
    "figure5": "Figure 5: time of one prediction, k-NN and simplified k-NN",
    "mnist": "Table 2 and the fuzziness table: MNIST",
    "parallel": "Table 3: one worker against all",
}


def make_page(run: Run) -> str:
    """Return the Markdown page of an experiment."""
    pages: dict[str, Callable[[Run], str]] = {
        "figure2": _training_page,
        "figure4": _samples_page,
        "mnist": mnist_page,
        "parallel": _parallel_page,
    }
    page = pages.get(run.config.name, _prediction_page)(run)
    return f"# {TITLES[run.config.name]}\n\n{_conditions(run)}\n\n{page}"


def _conditions(run: Run) -> str:
    machine, config = describe_machine(), run.config
    jobs = " and ".join(str(jobs or machine["cores"]) for jobs in config.jobs)
    text = (
        f"Measured until {time.strftime('%Y-%m-%d')} with exactcp {machine['exactcp']}, Python {machine['python']}, on "
        f"{machine['cores']} cores ({machine['processor']}), {jobs} thread(s) a measurement, "
        f"{len(config.seeds)} seed(s)."
    )
    if config.task == "samples":
        return text
    text += f" A measurement may take {config.timeout:g} s"
    if "standard" in config.methods:
        text += (
            f", of the standard method {config.timeout_standard:g} s, which predicts {config.n_test_standard:,} test "
            f"examples; the others predict {config.n_test:,} in one call"
        )
    return text + ". The paper's times are those of one core of a Xeon E5-2680 v3."


def _paper_cell(printed: paper.Printed | None) -> str:
    if printed is None:
        return UNKNOWN
    return f"{printed.remark or duration(printed.seconds)} (n = {printed.n:,})"


def _value_cell(line: Line, n: int) -> str:
    value, measured = line.at(n)
    if measured:
        return duration(value)
    return UNKNOWN if np.isnan(value) else f"{duration(value)} ({'extra' if n > line.n[-1] else 'inter'}polated)"


def _summary(lines: dict[tuple[str, str], Line], printed: dict[tuple[str, str], paper.Printed]) -> str:
    rows = []
    largest = max((int(line.n[-1]) for line in lines.values() if line.n.size), default=0)
    for (measure, method), line in lines.items():
        here = printed.get((measure, method)) or next((p for (m, _), p in printed.items() if m == measure), None)
        n = here.n if here else largest
        upto = f"{line.n[-1]:,}" if line.n.size else "none"
        rows.append(
            [
                f"{MEASURES[measure]}, {METHOD_WORDS[method]}",
                f"{n:,}",
                _value_cell(line, n),
                _paper_cell(printed.get((measure, method))),
                number_in_words(line.slope()),
                upto + (f", ran out at {line.ran_out_at:,}" if line.ran_out_at else ""),
            ]
        )
    return markdown_table(["", "n", "here", "the paper", "slope in n", "measured up to n"], rows)


def _prediction_page(run: Run) -> str:
    lines = lines_by_method(run.measurements, prediction_seconds)
    claims = []
    for measure in run.config.measures:
        of = {method: lines.get((measure, method)) for method in METHOD_WORDS}
        standard, optimized, split = of["standard"], of["optimized"], of["split"]
        row = [MEASURES[measure], UNKNOWN, UNKNOWN, UNKNOWN]
        if optimized is not None and standard is not None:
            row[1] = number_in_words(standard.slope() - optimized.slope())
            common = np.intersect1d(standard.n, optimized.n)
            if common.size:
                row[2] = f"{standard.at(common[-1])[0] / optimized.at(common[-1])[0]:,.0f} (n = {common[-1]:,})"
        if optimized is not None and split is not None:
            common = np.intersect1d(split.n, optimized.n)
            if common.size:
                row[3] = f"{optimized.at(common[-1])[0] / split.at(common[-1])[0]:,.2f} (n = {common[-1]:,})"
        claims.append(row)
    headings = ["", "standard's slope minus optimized's", "standard / optimized", "optimized / split CP"]
    return (
        "## One prediction\n\n"
        + _summary(lines, paper.PREDICTION)
        + "\nA slope is the exponent of n over the last decade of a line; beyond it the line is extrapolated.\n\n"
        + "## Ratios of times, at the largest n that both reached\n\n"
        + markdown_table(headings, claims)
        + _all_lines(run, lines)
    )


def _all_lines(run: Run, lines: dict[tuple[str, str], Line]) -> str:
    text = "\n## All measurements, mean ± standard deviation over seeds\n"
    for measure in run.config.measures:
        methods = [method for method in run.config.methods if (measure, method) in lines]
        rows = []
        for n in run.config.sizes:
            row = [f"{n:,}"]
            for method in methods:
                line = lines[measure, method]
                i = np.flatnonzero(line.n == n)
                row.append(spread(line.mean[i[0]], line.std[i[0]]) if i.size else UNKNOWN)
            if any(cell != UNKNOWN for cell in row[1:]):
                rows.append(row)
        text += f"\n{MEASURES[measure]}:\n\n" + markdown_table(["n", *(METHOD_WORDS[m] for m in methods)], rows)
    return text


def _training_page(run: Run) -> str:
    lines = lines_by_method(run.measurements, training_seconds)
    largest = [(line.mean[-1], measure) for (measure, _), line in lines.items() if line.n.size]
    text = "## Training\n\n" + _summary(lines, paper.TRAINING)
    if largest:
        order = ", ".join(MEASURES[measure] for _, measure in sorted(largest, reverse=True))
        text += f"\nFrom slow to fast at the end of the lines, here: {order}. In the paper LS-SVM trains longest, "
        text += "random forest shortest.\n"
    return text + _all_lines(run, lines)


def _samples_page(run: Run) -> str:
    drawn: dict[tuple[int, int], list[Measurement]] = {}
    for one in run.measurements:
        if "drawn" in one.found:
            drawn.setdefault((one.point.n, one.point.n_estimators), []).append(one)
    rows = []
    for n in run.config.sizes:
        row = [f"{n:,}"]
        for B in run.config.n_estimators:
            found = drawn.get((n, B), [])
            mean = np.mean([one.found["drawn"] for one in found]) if found else np.nan
            row.append(f"{mean:.1f} ({found[0].found['expected']:.1f})" if found else UNKNOWN)
        rows.append(row)
    return (
        "## Samples drawn until each example is missing from B, mean over seeds (and expected)\n\n"
        + markdown_table(["n", *(f"B = {B}" for B in run.config.n_estimators)], rows)
        + "\nThe paper prints no numbers here; it says that B' < B n.\n"
    )


def _parallel_page(run: Run) -> str:
    by_jobs = {
        jobs: [one for one in run.measurements if one.point.jobs == jobs]
        for jobs in dict.fromkeys(one.point.jobs for one in run.measurements)
    }
    rows = []
    for method in run.config.methods:
        for measure in run.config.measures:
            row = _parallel_row(by_jobs, measure, method, min(run.config.sizes), run.config.n_test)
            printed = paper.PARALLEL.get((measure, method))
            cells = [f"{mean:.2f} ± {std:.2f} s" for mean, std in printed] if printed else [UNKNOWN, UNKNOWN]
            gain = f"{printed[0][0] / printed[1][0]:.1f}" if printed else UNKNOWN
            rows.append(
                [f"{METHOD_WORDS[method]}, {MEASURES[measure]}", row[0], cells[0], row[1], cells[1], row[2], gain]
            )
    if run.config.large:
        m = round(run.config.large * 3 / 7)
        row = _parallel_row(by_jobs, "KNN", "optimized", run.config.large, m)
        one, many = paper.PARALLEL_LARGE
        name = f"optimized, k-NN, {run.config.large + m:,} examples"
        rows.append([name, row[0], duration(one), row[1], duration(many), row[2], f"{one / many:.1f}"])
    jobs = list(by_jobs)
    headings = ["", "1 worker, here", "1, the paper", f"{jobs[-1] if jobs else 'all'} workers, here"]
    headings += ["48, the paper", "speed-up here", "in the paper"]
    return (
        f"## Time of {run.config.n_test:,} predictions from {min(run.config.sizes):,} examples\n\n"
        + markdown_table(headings, rows)
        + "\n≈: the mean of the predictions that were made, times their number. Workers of the standard method are "
        + "processes, which are started before the clock; those of the optimized one are threads.\n"
    )


def _parallel_row(
    by_jobs: dict[int, list[Measurement]], measure: str, method: str, n: int, n_test: int
) -> tuple[str, str, str]:
    """Return the times of one worker and of all, and their ratio."""
    cells, means = [], []
    for group in by_jobs.values():
        own = [one for one in group if (one.point.measure, one.point.method, one.point.n) == (measure, method, n)]
        line = make_line(own, prediction_seconds)
        if line.n.size == 0:
            cells.append("none in time" if own else UNKNOWN)
            means.append(np.nan)
            continue
        partial = any(one.predicted < n_test for one in own)
        cells.append(("≈ " if partial else "") + spread(line.mean[0] * n_test, line.std[0] * n_test))
        means.append(line.mean[0])
    cells, means = (cells * 2)[:2], (means * 2)[:2]  # one core: one worker is all
    return cells[0], cells[1], number_in_words(means[0] / means[1])
