"""What `exactcp predict` gives back: rows, a page, a summary."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer

from exactcp.cli._clock import Clock
from exactcp.cli._formats import is_standard
from exactcp.cli._job import Job, Outcome
from exactcp.cli._problem import Problem
from exactcp.cli._results import print_result

PREDICTORS = {
    "full": dict.fromkeys(("classification", "regression"), "full conformal prediction"),
    "split": dict.fromkeys(("classification", "regression"), "split conformal prediction"),
    "cross": {"classification": "cross-conformal prediction, 10 folds", "regression": "CV+, 10 folds"},
    "cv+": {"regression": "CV+, 10 folds"},
    "jackknife+": {"regression": "jackknife+"},
}


def joined(test: Any, columns: dict[str, Any]) -> Any:
    """Return the test rows with the new columns; a column of the file that has a new one's name is renamed."""
    import pandas as pd

    taken, renamed = {*test.columns, *columns}, {}
    for name in test.columns:
        if name in columns:
            new = f"{name}_given"
            while new in taken:
                new += "_given"
            taken.add(new)
            renamed[name] = new
            typer.echo(f"exactcp: TEST has a column {name!r} already, which is written as {new!r}.", err=True)
    return pd.concat([test.rename(columns=renamed), pd.DataFrame(columns, index=test.index)], axis=1)


def write_page(
    outcome: Outcome,
    problem: Problem,
    job: Job,
    path: Path,
    *,
    asked: dict[str, str],
    shape: tuple[int, ...] | None,
    began: float,
) -> None:
    """Write the report."""
    from exactcp.report import TestRows, render, write_report

    everybody = "all labels together" if problem.task == "classification" else "all rows together"
    asked = {
        **asked,
        "Predictor": PREDICTORS[job.method][problem.task],
        "Measure": outcome.summary["measure"],
        "p-values": f"smoothed, seed {job.seed}" if job.smoothed else "deterministic",
        "Valid for": everybody if job.mondrian is None else "each label",
    }
    cells = problem.test[problem.features]
    if shape is None:
        rows = TestRows(columns=tuple(problem.features), cells=cells.astype(object).to_numpy())
    else:
        rows = TestRows(images=cells.to_numpy(dtype=float, na_value=0.0).reshape(-1, *shape))
    facts = outcome.facts(asked=asked, rows=rows, title=f"Predictions of {asked['Target'].partition(' (')[0]}")
    facts["total_seconds"] = time.perf_counter() - began
    if is_standard(path):
        print_result(render(facts))
    else:
        write_report(facts, path)


def summarise(
    outcome: Outcome, problem: Problem, job: Job, files: tuple[Path | None, Path | None], *, clock: Clock
) -> dict[str, Any]:
    """Return the summary for scripts."""
    output, report = (None if path is None else str(path) for path in files)
    return {
        "task": problem.task,
        "method": job.method,
        "confidence_level": job.confidence,
        "confidence_levels": list(job.confidences),
        "folds": None if problem.folds is None else int(problem.folds.max()),
        "n_train": problem.X_train.shape[0],
        "n_test": problem.X_test.shape[0],
        **outcome.summary,
        "total_seconds": clock.total,
        "seconds": clock.seconds,
        "seed": job.seed,
        "output": output,
        "report": report,
    }


def sentence(summary: dict[str, Any], reason: str) -> str:
    """Return the summary for people."""
    found = [f"{summary['n_test']:,} rows from {summary['n_train']:,}"]
    if summary["coverage"] is not None:
        found.append(f"coverage {summary['coverage']:.3f}")
    if summary["task"] == "classification":
        found.append(f"{summary['set_size']:.3f} labels in a set")
    elif summary["mean_width"] is not None:
        found.append(f"mean width {summary['mean_width']:.4g}")
    if summary["seed"] is not None:
        found.append(f"seed {summary['seed']}")
    parts = (f"{name} {summary[f'{name}_seconds']:.2f} s" for name in ("fit", "predict", "total"))
    return f"exactcp: {summary['task']} ({reason}) by {summary['measure']}: {', '.join(found)}; {', '.join(parts)}."


def doubts(summary: dict[str, Any], *, is_one_file: bool = False) -> list[str]:
    """Return sentences on labels that cannot be predicted, and on a coverage that is not what was promised."""
    found = []
    new = summary.get("new_labels")
    if new:
        shown = ", ".join(repr(label) for label in list(new)[:5]) + (", ..." if len(new) > 5 else "")
        rows = "rows have a label that the rows they are predicted from lack"
        if not is_one_file:
            rows = "rows of TEST have a label that TRAIN lacks"
        found.append(f"{sum(new.values()):,} {rows} ({shown}): no set can hold it, and they count as missed.")
    if summary["verdict"] == "below":
        reason = "TEST may not come from where TRAIN does; the report (--report) lists what to look at."
        if is_one_file:
            reason = "the rows were chosen at random, so that one run in forty is like this; try another --seed."
        found.append(
            f"coverage {summary['coverage']:.3f} is lower than chance explains (it would be "
            f"{summary['expected_coverage'][0]:.3f} at least): {'that is one reason, and ' if new else ''}{reason}"
        )
    return found
