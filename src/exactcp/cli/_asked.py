"""What a command that learns from a table was asked for: checked, read, and made a job."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import typer

from exactcp.cli._job import Job
from exactcp.cli._measure_option import make_measure
from exactcp.cli._misuse import MisuseError
from exactcp.cli._problem import Columns, Problem, read_problem
from exactcp.cli._tables import Marks


@dataclass(frozen=True)
class Asked:
    """The options of learning.

    Attributes
    ----------
    columns : Columns
    task : {"auto", "classification", "regression"}
    method : {"full", "split", "cross", "cv+", "jackknife+"}
    measure : str or None
    options : list of str
        Of the measure, each ``name=value``.
    mondrian : "label" or None
    smoothed : bool
    seed, jobs : int or None
    scale : {"standard", "robust", "none"}
    impute : bool
    categorical : tuple of str
    marks : Marks
    """

    columns: Columns
    task: str = "auto"
    method: str = "full"
    measure: str | None = None
    options: Sequence[str] = ()
    mondrian: str | None = None
    smoothed: bool = False
    seed: int | None = None
    jobs: int | None = None
    scale: str = "standard"
    impute: bool = False
    categorical: tuple[str, ...] = ()
    marks: Marks = field(default_factory=Marks)

    def check(self) -> None:
        """Refuse numbers that cannot be meant."""
        if self.seed is not None and self.seed >= 2**32:
            msg = f"--seed {self.seed} is too large: use a whole number below 2**32."
            raise MisuseError(msg)
        check_jobs(self.jobs)

    def read(self, train: Path, test: Path | None = None) -> Problem:
        """Read the files, and refuse options of the other task."""
        encoding = {"scale": self.scale, "impute": self.impute, "categorical": self.categorical}
        problem = read_problem((train, test), self.columns, task=self.task, encoding=encoding, marks=self.marks)
        self._check_task(problem.task)
        return problem

    def job(self, problem: Problem, levels: tuple[float, ...] = (0.95,)) -> Job:
        """Return the job without a measure and a transformer."""
        seed = self.seed
        if self.smoothed and seed is None:
            seed = secrets.randbits(32)  # told in the summary, so that the run can be repeated
        return Job(
            problem.task,
            problem.X_train,
            problem.X_test,
            problem.y_train,
            confidences=levels,
            mondrian=self.mondrian,
            smoothed=self.smoothed,
            seed=seed,
            jobs=self.jobs,
            method=self.method,
            folds=problem.folds,
        )

    def with_measure(self, job: Job, kinds: dict[str, str], *, advise: bool = True) -> Job:
        """Return a job with the measure that was asked for, or good advice, and the transformer that it needs.

        Parameters
        ----------
        job : Job
        kinds : dict
            Of the columns.
        advise : bool, default=True
            Whether forests may be taken where nothing was asked for.

        Returns
        -------
        Job
            With an unfitted transformer.
        """
        name = self.measure
        if name is None and not self.options and job.task == "classification" and advise:
            from exactcp.cli._default_measure import default_measure

            name, advice = default_measure(job, len({*job.y_train.tolist()}))
            typer.echo(f"exactcp: no --measure is given: {advice}", err=True)
        from exactcp.cli._objects import make_transformer

        job = replace(job, measure=make_measure(name, self.options, job.task, seed=job.seed))
        scale = scale_of(job, self.scale)
        return job.with_transformer(make_transformer(kinds, scale=scale, impute=self.impute))

    def _check_task(self, task: str) -> None:
        """Refuse options of the other task."""
        if task == "classification":
            if self.method in ("cv+", "jackknife+"):
                msg = (
                    f"--method {self.method} is for regression, and the task is classification: use full, split or "
                    "cross."
                )
                raise MisuseError(msg)
            return
        if self.mondrian is not None:
            raise MisuseError("--mondrian label is for classification, and the task is regression: leave it out.")
        if self.smoothed and self.method != "full":
            msg = f"--smoothed is for p-values, and --method {self.method} has none in regression: leave it out."
            raise MisuseError(msg)


def check_jobs(jobs: int | None) -> None:
    """Refuse no threads."""
    if jobs == 0:
        raise MisuseError("--jobs 0 would be no threads: use 1 or more, or leave it out for all cores.")


def scale_of(job: Job, asked: str) -> str:
    """Return how numeric columns are scaled for the measure of a job."""
    from exactcp.cli._predictors import needs_scaling

    return asked if needs_scaling(job.measure) else "none"
