"""Predictions that reports are tested with."""

from __future__ import annotations

import numpy as np

from exactcp.report import LabelRun, TargetLevels, TargetRun, TestRows, classification_facts, regression_facts

HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(1)">'
LABELS = ["ant", HOSTILE, "=cat, \"the\" 'first'", "dog\u2028&amp;", "10"]


def label_problem(m=300, *, denominator=20, level=0.9, rows=None, n_calibration=19, **changes):
    """Return facts of sets whose p-values are k/20, so that many are epsilon; a label is new, some unknown."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, size=m)
    ps = []
    for _ in range(2):
        p = rng.integers(1, 5, size=(m, 5)) / denominator
        p[np.arange(m), codes] = rng.integers(1, denominator + 1, size=m) / denominator
        ps.append(p)
    truth: list[str | None] = [LABELS[code] for code in codes]
    truth[3], truth[7], truth[8] = None, "zebra <i>", None
    runs = [LabelRun(name, "KNN(k=5)", p, 0.1, 0.2) for name, p in zip(("full", "split"), ps, strict=True)]
    cells = np.empty((m, 3), dtype=object)
    cells[:, 0], cells[:, 1], cells[:, 2] = (
        rng.normal(size=m) * 1e4,
        np.arange(m),
        rng.choice(["x,y", 'q"', "\n"], size=m),
    )
    rows = rows or TestRows(None, (HOSTILE, "truth", "text"), cells)
    facts = classification_facts(
        runs, LABELS, truth, confidence_level=level, rows=rows, n_calibration=n_calibration, **changes
    )
    return facts, ps, truth


def target_problem(m=120, *, levels=(0.5, 0.8, 0.9, 0.99), level=0.9):
    """Return facts of intervals, some of which are infinite, empty, or have a gap, and what they were made of."""
    rng = np.random.default_rng(1)
    prediction = rng.normal(loc=5e4, scale=1e4, size=m)
    y = prediction + rng.normal(scale=2e3, size=m)
    half = np.array([700, 2500, 3300, 6000])[:, None] * rng.uniform(0.8, 1.2, size=m)
    intervals = np.stack([prediction - half, prediction + half], axis=2)
    intervals[-1, :5] = -np.inf, np.inf
    intervals[0, 7] = np.nan
    widths = np.nan_to_num(intervals[..., 1] - intervals[..., 0], nan=0.0, posinf=np.inf)
    widths[:, 9] /= 2
    covered = (intervals[..., 0] <= y) & (y <= intervals[..., 1])
    said = TargetLevels(levels, intervals, widths, covered)
    place = levels.index(level)
    own = (intervals[place], widths[place], covered[place])
    run = TargetRun("full", "KNNResidual()", prediction, *own, rng.integers(1, 41, size=m) / 40, 0.1, 0.2, said)
    other = TargetRun("split", "KNNResidual()", prediction, *own, None, 0.1, 0.2)
    y[11] = np.nan
    cells = np.empty((m, 2), dtype=object)
    cells[:, 0], cells[:, 1] = rng.uniform(size=m), rng.choice(["r", HOSTILE], size=m)
    rows = TestRows(None, (HOSTILE, "kind"), cells)
    facts = regression_facts(
        [run, other], y, confidence_level=level, rows=rows, strangeness=rng.uniform(size=m), n_calibration=39
    )
    return facts, said, y
