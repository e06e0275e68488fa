"""The figures, with the paper's numbers as stars. Drawing needs matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from exactcp._replacing import replacing
from exactcp.experiments import paper
from exactcp.experiments.lines import Line, lines_by_method, make_line, prediction_seconds, training_seconds
from exactcp.experiments.mnist_tables import fuzziness_of
from exactcp.experiments.points import Measurement
from exactcp.experiments.runner import Run
from exactcp.experiments.wording import MEASURES, METHOD_WORDS

# of Okabe and Ito, told apart by the colour-blind; markers differ too
COLOURS = {"standard": "#D55E00", "optimized": "#0072B2", "split": "#009E73"}
MARKERS = {"standard": "s", "optimized": "o", "split": "^"}
MEASURE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
PAPER: dict[str, Any] = {
    "marker": "*",
    "markersize": 11,
    "markeredgecolor": "black",
    "markeredgewidth": 0.6,
    "linestyle": "none",
}


def draw(run: Run, output: Path) -> list[Path]:
    """Draw the figure of an experiment as PNG and SVG.

    Parameters
    ----------
    run : Run
    output : Path
        A folder.

    Returns
    -------
    list of Path
    """
    painters: dict[str, Callable[[Run], Any]] = {
        "figure2": _draw_training,
        "figure4": _draw_samples,
        "mnist": _draw_mnist,
        "parallel": _draw_parallel,
    }
    figure = painters.get(run.config.name, _draw_predictions)(run)
    paths = [output / f"{run.config.name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        with replacing(path) as unfinished:
            figure.savefig(unfinished, dpi=150)
    return paths


def _new_figure(width: float, height: float, columns: int, **how: Any) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure  # without pyplot, which would keep a list of figures

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = list(figure.subplots(1, columns, squeeze=False, **how)[0])
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(visible=True, which="major", color="0.9", linewidth=0.7)
        ax.set_axisbelow(True)
    return figure, axes


def _draw_beyond(ax: Any, line: Line, colour: str, n: int) -> None:
    """Go on with a line that ran out of time, dotted."""
    if line.n.size and line.n[-1] < n and np.isfinite(line.slope()):
        ends = [int(line.n[-1]), n]
        ax.plot(ends, [line.at(end)[0] for end in ends], color=colour, linestyle=":", linewidth=1.2)


def _draw_line(ax: Any, line: Line, colour: str, marker: str, label: str) -> None:
    ax.plot(line.n, line.mean, color=colour, marker=marker, markersize=4, linewidth=1.5, label=label)
    low = np.maximum(line.mean - line.std, line.mean / 10)  # a logarithmic scale has no zero
    ax.fill_between(line.n, low, line.mean + line.std, color=colour, alpha=0.2, linewidth=0)


def _draw_predictions(run: Run) -> Any:
    lines = lines_by_method(run.measurements, prediction_seconds)
    measures = run.config.measures
    figure, axes = _new_figure(max(6.2, 3.1 * len(measures)), 3.8, len(measures), sharey=True)
    starred = False
    for ax, measure in zip(axes, measures, strict=True):
        ax.set(xscale="log", yscale="log", xlabel="training examples n", title=MEASURES[measure])
        for method in run.config.methods:
            if (measure, method) in lines:
                _draw_line(ax, lines[measure, method], COLOURS[method], MARKERS[method], METHOD_WORDS[method])
                _draw_beyond(ax, lines[measure, method], COLOURS[method], max(run.config.sizes))
            if (printed := paper.PREDICTION.get((measure, method))) is not None:
                ax.plot(printed.n, printed.seconds, color=COLOURS[method], **PAPER)
                starred = True
        if "standard" in run.config.methods:
            ax.axhline(run.config.timeout_standard, color="black", linestyle="--", linewidth=1)
    axes[0].set_ylabel("seconds for one prediction")
    _legend(figure, axes[0], run, starred=starred)
    return figure


def _legend(figure: Any, ax: Any, run: Run, *, starred: bool) -> None:
    from matplotlib.lines import Line2D

    handles, labels = ax.get_legend_handles_labels()
    if "standard" in run.config.methods:
        handles.append(Line2D([], [], color="black", linestyle="--", linewidth=1))
        labels.append(f"timeout of standard, {run.config.timeout_standard:g} s")
        handles.append(Line2D([], [], color=COLOURS["standard"], linestyle=":", linewidth=1.2))
        labels.append("extrapolated")
    if starred:
        handles.append(Line2D([], [], color="white", **PAPER))
        labels.append("the paper")
    columns = len(labels) if figure.get_figwidth() > 8 else 3
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, frameon=False)


def _draw_training(run: Run) -> Any:
    lines = lines_by_method(run.measurements, training_seconds)
    figure, (ax,) = _new_figure(5.2, 4.0, 1)
    for colour, measure in zip(MEASURE_COLOURS, run.config.measures, strict=False):
        if (measure, "optimized") in lines:
            _draw_line(ax, lines[measure, "optimized"], colour, "o", MEASURES[measure])
        if (printed := paper.TRAINING.get((measure, "optimized"))) is not None:
            ax.plot(printed.n, printed.seconds, color=colour, **PAPER, label=f"{MEASURES[measure]}, the paper")
    ax.set(xscale="log", yscale="log", xlabel="training examples n", ylabel="seconds of training, optimized CP")
    ax.legend(loc="upper left", frameon=False)
    return figure


def _draw_samples(run: Run) -> Any:
    figure, (ax,) = _new_figure(5.6, 4.0, 1)
    for colour, B in zip(MEASURE_COLOURS, run.config.n_estimators, strict=False):
        own = [one for one in run.measurements if one.point.n_estimators == B]
        expected = make_line(own, lambda one: one.found.get("expected"))
        drawn = make_line(own, lambda one: one.found.get("drawn"))
        ax.plot(expected.n, expected.mean, color=colour, linewidth=1.3)
        ax.errorbar(drawn.n, drawn.mean, drawn.std, color=colour, marker="o", markersize=4, linestyle="none")
        if expected.n.size:
            place = (expected.n[-1], expected.mean[-1])
            ax.annotate(f"B = {B}", place, (8, -3), textcoords="offset points", color=colour)
    ax.set(xscale="log", yscale="log", xlabel="training examples n", ylabel="bootstrap samples B'")
    ax.set_title("points: drawn; lines: expected", fontsize="medium")
    left, right = ax.get_xlim()
    ax.set_xlim(left, right**1.12)  # room for the names of the lines
    return figure


def _dots(ax: Any, rows: list[tuple[float, float | None, str, bool]]) -> None:
    """Draw values at heights in the colour of a method, the paper's as stars."""
    for height, value, method, from_paper in rows:
        if value is not None and np.isfinite(value) and value > 0:
            style = PAPER if from_paper else {"marker": MARKERS[method], "markersize": 6, "linestyle": "none"}
            ax.plot(value, height, color=COLOURS[method], **style)


def _draw_mnist(run: Run) -> Any:
    found = {(one.point.measure, one.point.method): one for one in run.measurements}
    measures = run.config.measures[::-1]
    figure, (left, right) = _new_figure(9.0, 3.8, 2, sharey=True)
    shift = {"optimized": 0.12, "split": -0.12}
    times: list[tuple[float, float | None, str, bool]] = []
    fuzzy: list[tuple[float, float | None, str, bool]] = []
    for i, measure in enumerate(measures):
        for method, up in shift.items():
            one = found.get((measure, method))
            seconds = None
            if one is not None and one.status == "done":
                seconds = (one.fit_seconds or 0.0) + (one.predict_seconds or 0.0)
            fit, predict, _ = paper.MNIST_TIMES.get((measure, method), (0, None, None))
            times += [(i + up, seconds, method, False), (i + up, predict and fit + predict, method, True)]
            values = fuzziness_of(one)
            printed = paper.FUZZINESS.get((measure, method), (None,))[0]
            fuzzy += [(i + up, None if values is None else float(values.mean()), method, False)]
            fuzzy += [(i + up, printed, method, True)]
    _dots(left, times)
    _dots(right, fuzzy)
    left.set(xscale="log", xlabel="seconds of training and prediction", yticks=range(len(measures)))
    left.set_yticklabels([MEASURES[measure] for measure in measures])
    right.set(xscale="log", xlabel="fuzziness, mean")
    _legend_of_dots(figure, ("optimized", "split"))
    return figure


def _legend_of_dots(figure: Any, methods: tuple[str, ...]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=COLOURS[m], marker=MARKERS[m], linestyle="none") for m in methods]
    handles.append(Line2D([], [], color="white", **PAPER))
    labels = [f"{METHOD_WORDS[m]}, here" for m in methods] + ["the paper, in the method's colour"]
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)


def _draw_parallel(run: Run) -> Any:
    jobs = list(dict.fromkeys(one.point.jobs for one in run.measurements))[:2]
    measures = run.config.measures[::-1]
    figure, axes = _new_figure(9.0, 3.8, 2, sharey=True, sharex=True)
    n, m = min(run.config.sizes), run.config.n_test
    shift = {"standard": 0.12, "optimized": -0.12}
    for place, ax in enumerate(axes):
        rows: list[tuple[float, float | None, str, bool]] = []
        for i, measure in enumerate(measures):
            for method, up in shift.items():
                seconds = _mean_seconds(run.measurements, (measure, method, n, jobs[min(place, len(jobs) - 1)]))
                printed = paper.PARALLEL.get((measure, method))
                rows += [(i + up, seconds * m, method, False)]
                rows += [(i + up, printed[place][0] if printed else None, method, True)]
        _dots(ax, rows)
        workers = jobs[min(place, len(jobs) - 1)]
        ax.set(xscale="log", xlabel=f"seconds for {m:,} predictions", yticks=range(len(measures)))
        ax.set_title("one worker" if place == 0 else f"{workers} workers here, 48 in the paper", fontsize="medium")
    axes[0].set_yticklabels([MEASURES[measure] for measure in measures])
    _legend_of_dots(figure, ("standard", "optimized"))
    return figure


def _mean_seconds(measurements: list[Measurement], which: tuple[str, str, int, int]) -> float:
    own = [
        one.seconds_per_prediction
        for one in measurements
        if (one.point.measure, one.point.method, one.point.n, one.point.jobs) == which
    ]
    known = [seconds for seconds in own if seconds is not None]
    return float(np.mean(known)) if known else float("nan")
