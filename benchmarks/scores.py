"""Which score of a classifier makes the best sets: `python -m benchmarks.scores [--quick]`, for docs/models.md.

Split CP, deterministic p-values; a model is fitted once a repetition, and all scores are calibrated with the same rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from exactcp import SplitConformalClassifier
from exactcp.measures import ModelScore

SCORES = ("probability", "odds", "margin", "aps", "raps", "topk")
LEVELS = (0.9, 0.95)
MODELS = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "naive Bayes": make_pipeline(StandardScaler(), GaussianNB(var_smoothing=1e-3)),
    "random forest": RandomForestClassifier(100),
    "gradient boosting": HistGradientBoostingClassifier(max_iter=30),
}


def _twenty_labels(*, return_X_y: bool) -> Any:  # noqa: ARG001
    return make_classification(
        3000, 20, n_informative=12, n_classes=20, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )


DATA: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
    "20 labels": _twenty_labels,
}


class Quality(NamedTuple):
    """What sets are judged by."""

    size: float  # the mean
    worst: float  # coverage of the label that is covered least
    singletons: float  # share of the sets


def qualities(data: str, model: str, repetition: int) -> Iterator[tuple[str, float, Quality]]:
    """Yield (score, level, quality) of one model on one split of one data set."""
    X, y = DATA[data](return_X_y=True)
    X, X_rest, y, y_rest = train_test_split(X, y, test_size=0.6, random_state=repetition)
    X_calibration, X_test, y_calibration, y_test = train_test_split(
        X_rest, y_rest, test_size=0.5, random_state=repetition
    )
    seeded = clone(MODELS[model])
    seeded.set_params(**{name: repetition for name in seeded.get_params() if name.endswith("random_state")})
    frozen = FrozenEstimator(seeded.fit(X, y))
    for score in SCORES:
        clf = SplitConformalClassifier(ModelScore(frozen, score=score), random_state=repetition)
        clf.fit(X, y, X_calibration, y_calibration)
        for level in LEVELS:
            sets = clf.predict_set(X_test, level)
            inside = sets[np.arange(y_test.size), np.searchsorted(clf.classes_, y_test)]
            worst = min(inside[y_test == label].mean() for label in np.unique(y_test))
            yield score, level, Quality(sets.sum(axis=1).mean(), worst, (sets.sum(axis=1) == 1).mean())


def main() -> None:
    """Print a table for each level: means over models by data set, and over data sets by model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scores", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two repetitions")
    repetitions = 2 if parser.parse_args().quick else 6
    found = {
        (data, model, score, level, repetition): quality
        for data in DATA
        for model in MODELS
        for repetition in range(repetitions)
        for score, level, quality in qualities(data, model, repetition)
    }
    for level in LEVELS:
        print(f"\nAt {level}: mean size / coverage of the worst label / singletons\n")
        print(f"| | {' | '.join(SCORES)} |\n|---|{'---|' * len(SCORES)}")
        for place, names in ((0, DATA), (1, MODELS)):
            for name in names:
                kept = [{k: q for k, q in found.items() if k[place] == name and k[2:4] == (s, level)} for s in SCORES]
                means = [np.mean([tuple(q) for q in one.values()], axis=0) for one in kept]
                cells = [f"{size:.2f} / {worst:.2f} / {single:.2f}" for size, worst, single in means]
                print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
