"""The facts of label predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactcp import metrics, pvalues
from exactcp.metrics.bands import coverage_curve
from exactcp.report.carried_labels import carry_label_rows, carry_labels
from exactcp.report.levels import CURVE_LEVELS, LABEL_LEVELS, coverage_facts, describe_levels, stops
from exactcp.report.rows import SHOWN_ROWS, TestRows


@dataclass(frozen=True)
class LabelRun:
    """What one predictor said about the test rows, and how long it took.

    Attributes
    ----------
    predictor : str
        Such as "full" or "split".
    measure : str
        Its name, such as "KNN".
    p : ndarray of shape (m, l)
        The p-value of every label for every test row.
    fit_seconds, predict_seconds : float
        How long both took.
    best : ndarray of int of shape (m,), or None
        Which label was chosen, where ties of p-values were broken otherwise than by the first label.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.report import LabelRun
    >>> p = np.array([[0.9, 0.05], [0.3, 0.4]])
    >>> run = LabelRun("full", "KNN", p, fit_seconds=0.1, predict_seconds=0.2)
    >>> (run.p > 0.1).sum(axis=1)
    array([1, 2])
    """

    predictor: str
    measure: str
    p: np.ndarray
    fit_seconds: float
    predict_seconds: float
    best: np.ndarray | None = None

    @property
    def chosen(self) -> np.ndarray:
        """The place of the chosen label of each row."""
        return np.asarray(self.p.argmax(axis=1) if self.best is None else self.best)


def classification_facts(
    runs: Sequence[LabelRun],
    classes: Sequence[Any],
    truth: Any = None,
    *,
    confidence_level: float = 0.95,
    asked: Mapping[str, Any] | None = None,
    rows: TestRows | None = None,
    n_calibration: int | None = None,
    promised_level: float | None = None,
    title: str = "Conformal prediction sets",
) -> dict[str, Any]:
    """Return the facts of a page about prediction sets.

    Parameters
    ----------
    runs : sequence of LabelRun
        The first is the one the page is about.
    classes : sequence of l labels
        In the order of the columns of the p-values.
    truth : array-like of shape (m,), default=None
        True labels; None in the place of those that are not known. A label that is no class is never covered.
    confidence_level : float, default=0.95
        At which the page opens.
    asked : mapping, default=None
        Heading to text: what was asked.
    rows : TestRows, default=None
        What test rows look like, if they are to be shown.
    n_calibration : int, default=None
        Examples with which the p-values were counted, for what coverage to expect.
    promised_level : float, default=None
        Coverage that is proven; None means the confidence level itself.
    title : str
        Of the page.

    Returns
    -------
    dict

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.report import LabelRun, classification_facts
    >>> p = np.array([[0.9, 0.02], [0.4, 0.3], [0.01, 0.8]])
    >>> run = LabelRun("full", "KNN", p, fit_seconds=0.1, predict_seconds=0.2)
    >>> facts = classification_facts([run], ["cat", "dog"], ["cat", "dog", "dog"])
    >>> facts["coverage"], facts["set_sizes"]
    (1.0, {'0': 0, '1': 2, '2': 1})
    """
    names = [str(label) for label in classes]
    codes = _codes(truth, names, runs[0].p.shape[0])
    known = codes is not None and bool((codes != MISSING).any())
    epsilon = pvalues.significance(confidence_level)
    main = runs[0].p
    sets = pvalues.exceeds(main, epsilon)
    sizes = np.bincount(sets.sum(axis=1), minlength=len(names) + 1)
    comparison = [_compare(run, codes if known else None, confidence_level) for run in runs]
    n_known = int((codes != MISSING).sum()) if known and codes is not None else 0
    p_true = _p_true(main, codes) if known else None
    labels = None if truth is None else [None if label is None else str(label) for label in truth]
    describe = _describer(runs[0], sets, names, labels, rows or TestRows())
    promised = float(confidence_level if promised_level is None else promised_level)
    new = [] if codes is None or labels is None else [labels[row] for row in np.flatnonzero(codes == UNKNOWN_LABEL)]
    ordered = np.sort(main, axis=1)
    second = ordered[:, -2] if main.shape[1] > 1 else np.zeros(main.shape[0])
    n_labels = sets.sum(axis=1)
    # where all sets are equally large, no row is harder than another
    hardest = np.lexsort((-second, -n_labels))[:SHOWN_ROWS].tolist() if np.ptp(n_labels) else []
    told = describe_levels(stops(LABEL_LEVELS, confidence_level), confidence_level, promised, n_known, n_calibration)
    places = [told["levels"].index(level) for level in CURVE_LEVELS]
    ps = [run.p for run in runs]
    counted = carry_labels(ps, [_p_true(p, codes) for p in ps] if known else None, told["epsilons"])
    return {
        "title": title,
        "task": "classification",
        "asked": dict(asked or {}),
        "confidence_level": float(confidence_level),
        "n_test": int(main.shape[0]),
        **coverage_facts(comparison[0]["coverage"], promised, n_known, n_calibration),
        "classes": names,
        "new_labels": dict(Counter(new)),
        "coverage_of_old_labels": _coverage_of_old(sets, codes),
        "accuracy": comparison[0]["accuracy"],
        "set_size": comparison[0]["set_size"],
        "set_sizes": {str(size): int(count) for size, count in enumerate(sizes.tolist())},
        "mean_fuzziness": comparison[0]["mean_fuzziness"],
        "by_label": _by_label(sets, codes, names) if known else [],
        "by_new_label": _by_new_label(sets, codes, new) if new else [],
        "p_true": None if p_true is None else p_true.tolist(),
        "p_false": _p_false(main, codes).tolist() if known else None,
        "credibility": ordered[:, -1].tolist(),
        "second_p": second.tolist(),
        "calibration": _calibration(runs, counted, places, n_known) if known else [],
        "band": None if told["expected"] is None else [told["expected"][place] for place in places],
        # the largest sets, and among those of equal size the least decided
        "hardest": [describe(row) for row in hardest],
        "strangest": [describe(row) for row in np.argsort(ordered[:, -1], kind="stable")[:SHOWN_ROWS].tolist()],
        "comparison": comparison,
        "script": {
            **told,
            "runs": counted,
            **carry_label_rows(main, runs[0].chosen, labels, names, rows or TestRows()),
        },
    }


MISSING, UNKNOWN_LABEL = -2, -1


def _codes(truth: Any, names: list[str], m: int) -> np.ndarray | None:
    if truth is None:
        return None
    if len(truth) != m:
        msg = f"there are {len(truth)} true labels and {m} test rows: give one for each, None if it is not known."
        raise ValueError(msg)
    places = {name: code for code, name in enumerate(names)}
    return np.array(
        [MISSING if label is None else places.get(str(label), UNKNOWN_LABEL) for label in truth], dtype=np.int64
    )


def _p_true(p: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    """Return the p-value of the true label of rows where it is known: 0 if it is no class."""
    assert codes is not None
    rows = np.flatnonzero(codes != MISSING)
    return np.where(codes[rows] == UNKNOWN_LABEL, 0.0, p[rows, np.maximum(codes[rows], 0)])


def _p_false(p: np.ndarray, codes: np.ndarray | None) -> np.ndarray:
    assert codes is not None
    rows = np.flatnonzero(codes != MISSING)
    return np.asarray(p[rows][np.arange(p.shape[1]) != codes[rows, None]])


def _compare(run: LabelRun, codes: np.ndarray | None, confidence_level: float) -> dict[str, Any]:
    summary = metrics.efficiency_summary(run.p, confidence_level=confidence_level)
    coverage = accuracy = None
    if codes is not None:
        rows = np.flatnonzero(codes != MISSING)
        coverage = float(coverage_curve(_p_true(run.p, codes), [confidence_level])[0])
        accuracy = float((run.chosen[rows] == codes[rows]).mean())
    return {
        "predictor": run.predictor,
        "measure": run.measure,
        "coverage": coverage,
        "accuracy": accuracy,
        "set_size": summary.set_size,
        "mean_fuzziness": summary.mean_fuzziness,
        "fit_seconds": run.fit_seconds,
        "predict_seconds": run.predict_seconds,
    }


def _coverage_of_old(sets: np.ndarray, codes: np.ndarray | None) -> float | None:
    """Return the coverage of rows whose label is a class; None if there are none."""
    if codes is None or not (codes >= 0).any():
        return None
    rows = np.flatnonzero(codes >= 0)
    return float(sets[rows, codes[rows]].mean())


def _by_label(sets: np.ndarray, codes: np.ndarray | None, names: list[str]) -> list[dict[str, Any]]:
    assert codes is not None
    found = []
    for code, name in enumerate(names):
        own = sets[codes == code]
        if own.size:
            coverage, size = float(own[:, code].mean()), float(own.sum(axis=1).mean())
            row = {"label": name, "n": int(own.shape[0]), "coverage": coverage, "set_size": size}
            found.append({**row, "holds": own.mean(axis=0).tolist()})
    return found


def _by_new_label(sets: np.ndarray, codes: np.ndarray | None, new: list[Any]) -> list[dict[str, Any]]:
    assert codes is not None
    own, labels = sets[codes == UNKNOWN_LABEL], np.array(new)
    return [
        {
            "label": label,
            "n": count,
            "coverage": 0.0,
            "set_size": float(own[labels == label].sum(axis=1).mean()),
            "holds": own[labels == label].mean(axis=0).tolist(),
        }
        for label, count in Counter(new).items()
    ]


def _calibration(
    runs: Sequence[LabelRun], counted: list[dict[str, Any]], places: list[int], n_known: int
) -> list[dict[str, Any]]:
    first = runs[0].measure  # curves of other measures would hide the two that are compared
    return [
        {
            "predictor": run.predictor,
            "levels": list(CURVE_LEVELS),
            "coverages": [counts["covered"][place] / n_known for place in places],
        }
        for run, counts in zip(runs, counted, strict=True)
        if run.measure == first
    ]


def _describer(
    run: LabelRun, sets: np.ndarray, names: list[str], labels: list[str | None] | None, rows: TestRows
) -> Any:
    def describe(row: int) -> dict[str, Any]:
        ordered = np.sort(run.p[row])
        inside = [name for name, is_in in zip(names, sets[row], strict=True) if is_in]
        truth = None if labels is None else labels[row]
        return {
            **rows.describe(row),
            "truth": truth if truth is None or truth in names else f"{truth}, a new label",
            "set": inside,
            "label": names[int(run.chosen[row])],
            "confidence": float(1 - ordered[-2]) if ordered.size > 1 else 1.0,
            "credibility": float(ordered[-1]),
            "covered": None if truth is None else truth in inside,
        }

    return describe
