"""Which measure is taken where none is asked for: good advice, and why."""

from __future__ import annotations

from exactcp.cli._job import Job
from exactcp.experiments.tables import duration

FOREST_SECONDS = 2.5e-5  # of full CP with 100 trees, for each training row, label and row to predict
FOREST_PATIENCE = 10.0
ROWS_TO_COME = 100  # that a model is asked about at once, where they are not known yet
MANY_ROWS = 20_000  # from which on forests of the other methods are left to those who ask for them


def default_measure(job: Job, n_labels: int) -> tuple[str, str]:
    """Return the name of a measure for labels, and the sentence that tells it.

    Forests mostly give the smallest sets of tables, and need no scaling; their price grows with rows, labels and rows
    to predict.

    Parameters
    ----------
    job : Job
    n_labels : int

    Returns
    -------
    name : str
    sentence : str
    """
    work = sum(part.n_train * n_labels * (part.X_test.shape[0] or ROWS_TO_COME) for _, part in job.parts())
    asked = "" if job.X_test.shape[0] else f" for every {ROWS_TO_COME} rows"
    seconds = work * FOREST_SECONDS if job.method == "full" else 0.0
    others = "--measure takes others: knn, lssvm, kde, model"
    if seconds <= FOREST_PATIENCE and job.X_train.shape[0] <= MANY_ROWS:
        price = f"for about {duration(max(seconds, 0.1))}{asked}" if job.method == "full" else "at little cost"
        return "random-forest", f"by random-forest, which mostly has the smallest sets of tables, {price}; {others}."
    instead = "which is slow for so many rows"
    if seconds > FOREST_PATIENCE:
        instead = f"which would take about {duration(seconds)}{asked}"
    return "knn", f"by knn, and not by random-forest, {instead} (--measure random-forest insists); {others}."
