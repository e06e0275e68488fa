"""What `exactcp predict` gives back: rows, a page, a summary."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from exactcp.cli._clock import Clock
from exactcp.cli._formats import EXCEL, TABBED, ending, is_standard
from exactcp.cli._job import Job, Outcome
from exactcp.cli._problem import Problem
from exactcp.cli._results import print_result
from exactcp.cli._tables import write_table

PREDICTOR_NAMES = {
    "full": dict.fromkeys(("classification", "regression"), "full conformal prediction"),
    "split": dict.fromkeys(("classification", "regression"), "split conformal prediction"),
    "cross": {"classification": "cross-conformal prediction, 10 folds", "regression": "CV+, 10 folds"},
    "cv+": {"regression": "CV+, 10 folds"},
    "jackknife+": {"regression": "jackknife+"},
}


def rows_written(columns: dict[str, Any], path: Path | None) -> dict[str, Any]:
    """Return the columns that a file has: sets as lists where it can hold them, and otherwise as text alone."""
    is_flat = path is None or ending(path) in ("", ".csv", ".txt", *TABBED, *EXCEL)
    kept = {}
    for name, column in columns.items():
        if not any(isinstance(cell, tuple) for cell in column[:1]):
            kept[name] = column
        elif not is_flat:
            kept[name] = [list(labels) for labels in column]
    return kept


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


class Results:
    """Where the results of a command go, and what became of them.

    Parameters
    ----------
    rows : Path or None
        None is standard output.
    page : Path or None
        The report.
    as_json : bool
        Whether a summary is printed for scripts, and the rows go to a file only.
    clock : Clock
    """

    def __init__(self, rows: Path | None, page: Path | None, *, as_json: bool, clock: Clock) -> None:
        self.rows, self.page, self.as_json, self.clock = rows, page, as_json, clock
        self._done: tuple[Outcome, Problem, Job] | None = None

    def give(self, job: Job, problem: Problem, asked: dict[str, str], *, shape: tuple[int, ...] | None) -> None:
        """Do a job, and write its report and its rows."""
        from exactcp.cli._waiting import telling_of_compiling

        self.clock.lap("read")
        with telling_of_compiling():
            job = _told_in_advance(job)
            self.clock.lap("estimate")
            outcome = _run(job, problem)
        self.clock.lap("judge", **{part: outcome.summary[f"{part}_seconds"] for part in ("fit", "predict")})
        if self.page is not None:
            with Console(stderr=True).status("drawing the report"):
                self._write_page(outcome, problem, job, asked, shape)
            self.clock.lap("report")
        if self.rows is not None or not self.as_json:
            columns = {**problem.marks, **rows_written(outcome.columns, self.rows)}
            write_table(joined(problem.test, columns), self.rows)
            self.clock.lap("write")
        self._done = outcome, problem, job

    def summarise(self, saved: Path | None) -> None:
        """Tell what was done, for people or for scripts."""
        if self._done is None:
            return
        outcome, problem, job = self._done
        summary = self._summary(outcome, problem, job, saved)
        for doubt in doubts(summary, is_one_file=bool(problem.marks), is_model=job.fitted is not None):
            typer.echo(f"exactcp: warning: {doubt}", err=True)
        if self.as_json:
            print_result(json.dumps(summary))
        else:
            typer.echo(sentence(summary, problem.reason), err=True)

    def _write_page(
        self, outcome: Outcome, problem: Problem, job: Job, asked: dict[str, str], shape: tuple[int, ...] | None
    ) -> None:
        from exactcp.report import render, write_report

        everybody = "all labels together" if problem.task == "classification" else "all rows together"
        asked = {
            **asked,
            "Predictor": PREDICTOR_NAMES[job.method][problem.task],
            "Measure": outcome.summary["measure"],
            "p-values": f"smoothed, seed {job.seed}" if job.smoothed else "deterministic",
            "Valid for": everybody if job.mondrian is None else "each label",
        }
        X = problem.test[problem.features]
        if shape is not None:
            X = X.to_numpy(dtype=float, na_value=0.0).reshape(-1, *shape)
        title = f"Predictions of {asked['Target'].partition(' (')[0]}"
        page = {**outcome.page, "X": X, "details": {"title": title, **asked, **outcome.page["details"]}}
        if self.page is None or is_standard(self.page):
            print_result(render(**page))
        else:
            write_report(self.page, **page)

    def _summary(self, outcome: Outcome, problem: Problem, job: Job, saved: Path | None) -> dict[str, Any]:
        output, report, model = (None if path is None else str(path) for path in (self.rows, self.page, saved))
        return {
            "task": problem.task,
            "method": job.method,
            "confidence_level": job.confidence,
            "confidence_levels": list(job.confidences),
            "folds": None if problem.folds is None else int(problem.folds.max()),
            "n_train": job.n_train,
            "n_test": problem.X_test.shape[0],
            **outcome.summary,
            "total_seconds": self.clock.total,
            "seconds": self.clock.seconds,
            "seed": job.seed,
            "output": output,
            "report": report,
            "saved": model,
        }


def _told_in_advance(job: Job) -> Job:
    """Say how long it takes, if one waits for it; progress is then told in any case."""
    from exactcp.cli._refits import SLOW, expect_refits
    from exactcp.cli._waiting import expect_job_seconds, how_long

    refits = expect_refits(job)
    if refits is not None:
        words = str(refits) if refits.is_slow else None
    else:
        seconds = expect_job_seconds(job)
        words = how_long(seconds, job.X_test.shape[0]) if seconds >= SLOW else None
    if words is None:
        return job
    typer.echo(f"exactcp: {words}", err=True)
    return replace(job, slow=True)


def _run(job: Job, problem: Problem) -> Outcome:
    from exactcp.cli._classify import classify
    from exactcp.cli._predictors import last, untold_cost
    from exactcp.cli._regress import regress

    if job.fitted is not None:
        options = job.options()
        last(job.fitted).set_params(n_jobs=options["n_jobs"], verbose=options["verbose"])
    with untold_cost():
        return classify(job, problem.truth) if problem.task == "classification" else regress(job, problem.truth)


def sentence(summary: dict[str, Any], reason: str) -> str:
    """Return the summary for people."""
    from exactcp.report.numbers import written_number

    found = [f"{summary['n_test']:,} rows from {summary['n_train']:,}"]
    if summary["coverage"] is not None:
        found.append(f"coverage {summary['coverage']:.3f}")
    if summary["task"] == "classification":
        found.append(f"{summary['set_size']:.3f} labels in a set")
    elif summary["mean_width"] is not None:
        found.append(f"mean width {written_number(summary['mean_width'])}")
    if summary["seed"] is not None:
        found.append(f"seed {summary['seed']}")
    parts = (f"{name} {summary[f'{name}_seconds']:.2f} s" for name in ("fit", "predict", "total"))
    return f"exactcp: {summary['task']} ({reason}) by {summary['measure']}: {', '.join(found)}; {', '.join(parts)}."


def doubts(summary: dict[str, Any], *, is_one_file: bool = False, is_model: bool = False) -> list[str]:
    """Return sentences on labels that cannot be predicted, and on a coverage that is not what was promised."""
    found = []
    new = summary.get("new_labels")
    if new:
        shown = ", ".join(repr(label) for label in list(new)[:5]) + (", ..." if len(new) > 5 else "")
        rows = "rows have a label that the rows they are predicted from lack"
        if not is_one_file:
            rows = "rows of TEST have a label that TRAIN lacks"
        if is_model:
            rows = "rows of NEW have a label that the model lacks"
        found.append(f"{sum(new.values()):,} {rows} ({shown}): no set can hold it, and they count as missed.")
    if summary["verdict"] == "below":
        whence = "NEW may not come from where the rows of the model do"
        if not is_model:
            whence = "TEST may not come from where TRAIN does"
        reason = f"{whence}; the report (--report) lists what to look at."
        if is_one_file:
            reason = "the rows were chosen at random, so that one run in forty is like this; try another --seed."
        found.append(
            f"coverage {summary['coverage']:.3f} is lower than chance explains (it would be "
            f"{summary['expected_coverage'][0]:.3f} at least): {'that is one reason, and ' if new else ''}{reason}"
        )
    return found
