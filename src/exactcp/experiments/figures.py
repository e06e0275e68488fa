"""The figures, with the paper's numbers as stars. Drawing needs matplotlib.

A figure is its panels, a panel its curves: lines against n, or dots for each measure, one above the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from exactcp._replacing import replacing
from exactcp.experiments import paper
from exactcp.experiments.configs import METHODS, Config
from exactcp.experiments.lines import lines_by_method, make_line
from exactcp.experiments.measurements import DONE, Measurement

# of Okabe and Ito, told apart by the colour-blind; markers differ too
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("s", "o", "^", "D", "v", "P", "X")


class Curve(NamedTuple):
    """Points, a line, or both."""

    label: str
    x: Any
    y: Any
    colour: str
    marker: str = ""
    line: str = "none"
    spread: np.ndarray | None = None


class Panel(NamedTuple):
    """Curves in one system of axes; with `names`, of what stands at the heights 0, 1, ..."""

    title: str
    xlabel: str
    ylabel: str
    curves: list[Curve]
    names: Sequence[str] = ()


def draw(config: Config, measurements: list[Measurement], output: Path) -> list[Path]:
    """Draw the figure of an experiment as PNG and SVG.

    Parameters
    ----------
    config : Config
    measurements : list of Measurement
    output : Path
        A folder.

    Returns
    -------
    list of Path
    """
    from matplotlib.figure import Figure  # without pyplot, which would keep a list of figures

    figures = {"figure4": _samples, "mnist": _mnist, "parallel": _parallel}
    panels = figures.get(config.name, _times)(config, measurements)
    figure = Figure(figsize=(max(6.2, 3.6 * len(panels)), 4.2), layout="constrained")
    shown = {}
    for ax, panel in zip(figure.subplots(1, len(panels), squeeze=False, sharey=True)[0], panels, strict=True):
        ax.set(xscale="log", xlabel=panel.xlabel, title=panel.title)
        ax.label_outer()
        if panel.names:
            ax.set_yticks(range(len(panel.names)), panel.names)
        else:
            ax.set(yscale="log")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(visible=True, which="major", color="0.9", linewidth=0.7)
        ax.set_axisbelow(True)
        for curve in panel.curves:
            style = {"markersize": 11, "markeredgecolor": "black"} if curve.marker == "*" else {"markersize": 5}
            (shown[curve.label],) = ax.plot(
                curve.x, curve.y, color=curve.colour, marker=curve.marker, linestyle=curve.line, linewidth=1.4, **style
            )
            if curve.spread is not None:
                low = np.maximum(curve.y - curve.spread, curve.y / 10)  # a logarithmic scale has no zero
                ax.fill_between(curve.x, low, curve.y + curve.spread, color=curve.colour, alpha=0.2, linewidth=0)
    figure.axes[0].set_ylabel(panels[0].ylabel)
    columns = 7 if len(panels) > 2 else 3
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=columns, frameon=False)
    paths = [output / f"{config.name}.{kind}" for kind in ("png", "svg")]
    for path in paths:
        with replacing(path) as unfinished:
            figure.savefig(unfinished, dpi=150)
    return paths


def _times(config: Config, measurements: list[Measurement]) -> list[Panel]:
    """Return a panel for each measure: the times of predictions, or of training."""
    is_training = config.name == "figure2"
    lines = lines_by_method(measurements, "training" if is_training else "prediction")
    printed = paper.TRAINING if is_training else paper.PREDICTION
    ylabel = "seconds of training, optimized CP" if is_training else "seconds for one prediction"
    ends = [min(config.sizes), max(config.sizes)]
    panels = []
    for measure in config.measures:
        curves = []
        for method in (method for method in config.methods if (measure, method) in lines):
            line, place = lines[measure, method], METHODS.index(method)
            colour = COLOURS[place]
            curves.append(Curve(method, line.n, line.mean, colour, MARKERS[place], "-", line.std))
            if line.n.size and line.n[-1] < ends[1] and math.isfinite(line.slope()):  # it ran out of time
                beyond = [int(line.n[-1]), ends[1]]
                curves.append(Curve("extrapolated", beyond, [line.at(n)[0] for n in beyond], colour, line=":"))
            if (measure, method) in printed:
                at = printed[measure, method]
                curves.append(Curve("the paper", [at.n], [at.seconds], colour, "*"))
        if "standard" in config.methods:
            label = f"timeout of standard, {config.timeout_standard:g} s"
            curves.append(Curve(label, ends, [config.timeout_standard] * 2, "black", line="--"))
        panels.append(Panel(measure, "training examples n", ylabel, curves))
    return panels


def _samples(config: Config, measurements: list[Measurement]) -> list[Panel]:
    curves = []
    for B, colour, marker in zip(config.n_estimators, COLOURS, MARKERS, strict=False):
        own = [one for one in measurements if one.point.n_estimators == B]
        drawn, expected = make_line(own, "drawn"), make_line(own, "expected")
        curves += [
            Curve(f"B = {B}", expected.n, expected.mean, colour, line="-"),
            Curve(f"B = {B}", drawn.n, drawn.mean, colour, marker, spread=drawn.std),
        ]
    return [Panel("points: drawn; lines: expected", "training examples n", "bootstrap samples B'", curves)]


Values = dict[tuple[str, str], float]  # by measure and method


def _dots(config: Config, methods: tuple[str, str], here: Values, printed: Values) -> list[Curve]:
    """Return the values of each measure by two methods, one measure above the other; the paper's as stars."""
    measures = config.measures[::-1]
    curves = []
    for method, up in zip(methods, (0.12, -0.12), strict=True):
        place = METHODS.index(method)
        for values, label, marker in ((here, f"{method}, here", MARKERS[place]), (printed, "the paper", "*")):
            known = [(i, values[measure, method]) for i, measure in enumerate(measures) if (measure, method) in values]
            curves.append(Curve(label, [x for _, x in known], [i + up for i, _ in known], COLOURS[place], marker))
    return curves


def _mnist(config: Config, measurements: list[Measurement]) -> list[Panel]:
    found = {(one.point.measure, one.point.method): one for one in measurements if one.status == DONE}
    seconds = {key: (one.fit_seconds or 0.0) + (one.predict_seconds or 0.0) for key, one in found.items()}
    printed = {key: fit + predict for key, (fit, predict, _) in paper.MNIST_TIMES.items() if predict is not None}
    fuzziness = {key: float(one.fuzziness.mean()) for key, one in found.items() if one.fuzziness is not None}
    methods, names = ("optimized", "split"), config.measures[::-1]
    time_curves = _dots(config, methods, seconds, printed)
    fuzziness_curves = _dots(config, methods, fuzziness, {key: mean for key, (mean, _) in paper.FUZZINESS.items()})
    return [
        Panel("", "seconds of training and prediction", "", time_curves, names),
        Panel("", "fuzziness, mean", "", fuzziness_curves, names),
    ]


def _parallel(config: Config, measurements: list[Measurement]) -> list[Panel]:
    jobs = list(dict.fromkeys(one.point.jobs for one in measurements)) or [1]
    m, names, panels = config.n_test, config.measures[::-1], []
    for place, title in enumerate(("one worker", f"{jobs[-1]} workers (48 in the paper)")):
        which = (min(config.sizes), jobs[-place])
        own = [one for one in measurements if (one.point.n, one.point.jobs) == which]
        seconds = {key: line.mean[0] * m for key, line in lines_by_method(own, "prediction").items() if line.n.size}
        printed = {key: pair[place][0] for key, pair in paper.PARALLEL.items()}
        curves = _dots(config, ("standard", "optimized"), seconds, printed)
        panels.append(Panel(title, f"seconds for {m:,} predictions", "", curves, names))
    return panels
