"""What `exactcp predict` gives back: rows, a page, a summary."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer

from exactcp.cli._job import Job, Outcome
from exactcp.cli._problem import Problem
from exactcp.report import TestRows, write_report


def joined(test: Any, columns: dict[str, Any]) -> Any:
    """Return the test rows with the new columns; a column of the file that has a new one's name is renamed."""
    import pandas as pd

    renamed = {name: f"{name}_given" for name in test.columns if name in columns}
    for name, new in renamed.items():
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
    everybody = "all labels together" if problem.task == "classification" else "all rows together"
    asked = {
        **asked,
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
    write_report(facts, path)


def summarise(outcome: Outcome, problem: Problem, job: Job, output: Path | None, report: Path | None) -> dict[str, Any]:
    """Return the summary for scripts."""
    return {
        "task": problem.task,
        "confidence_level": job.confidence,
        "n_train": problem.X_train.shape[0],
        "n_test": problem.X_test.shape[0],
        **outcome.summary,
        "seed": job.seed,
        "output": None if output is None else str(output),
        "report": None if report is None else str(report),
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
    seconds = f"fit {summary['fit_seconds']:.2f} s, predict {summary['predict_seconds']:.2f} s"
    return f"exactcp: {summary['task']} ({reason}) by {summary['measure']}: {', '.join(found)}; {seconds}."
