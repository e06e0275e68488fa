"""`evaluate` says what the metrics say one by one; scorers choose in scikit-learn's searches."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB

from exactcp import (
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    metrics,
)
from exactcp.measures import KNN, KNNResidual
from exactcp.metrics import scorers

RNG = np.random.default_rng(1)
X = RNG.integers(0, 6, (150, 2)).astype(float)
LABELS = np.array(["no", "perhaps", "yes"])[np.clip((X @ [1, 1] / 4 + RNG.normal(0, 0.5, 150)).astype(int), 0, 2)]
TARGETS = X @ [1.0, -1.0] + RNG.normal(size=150)
TRAIN, TEST = slice(0, 100), slice(100, 150)
LEVELS = [0.5, 0.9]


@pytest.mark.parametrize(
    "classifier",
    [
        FullConformalClassifier(KNN(3)),
        FullConformalClassifier(KNN(3), smoothed=True, random_state=0),
        SplitConformalClassifier(GaussianNB(), random_state=0),
        CrossConformalClassifier(GaussianNB(), cv=3, random_state=0),
    ],
    ids=str,
)
def test_classifiers(classifier):
    fitted = clone(classifier).fit(X[TRAIN], LABELS[TRAIN])
    table = metrics.evaluate(fitted, X[TEST], LABELS[TEST], LEVELS)
    assert table["confidence_level"].tolist() == LEVELS
    assert table["n"].tolist() == [50, 50]
    for j, level in enumerate(LEVELS):
        row, sets = table.iloc[j], fitted.predict_set(X[TEST], level)
        found = metrics.coverage(sets, LABELS[TEST], classes=fitted.classes_)
        assert row["coverage"] == found
        assert [row["coverage_lower"], row["coverage_upper"]] == [
            float(end) for end in metrics.binomial_band(round(found * 50), 50)
        ]
        assert row["mean_size"] == metrics.set_size(sets)
        assert row["singletons"] == np.mean([one.sum() == 1 for one in sets])
        assert row["empty"] == np.mean([one.sum() == 0 for one in sets])
        assert row["fuzziness"] == metrics.fuzziness(fitted.predict_p(X[TEST]))
    assert (table["seconds"] > 0).all()
    one = metrics.evaluate(fitted, X[TEST], LABELS[TEST], 0.9).drop(columns="seconds")
    assert one.iloc[0].equals(table.drop(columns="seconds").iloc[1].rename(0))


@pytest.mark.parametrize(
    "regressor", [FullConformalRegressor(KNNResidual(3)), SplitConformalRegressor(Ridge()), CVPlusRegressor(Ridge())]
)
def test_regressors(regressor):
    fitted = clone(regressor).fit(X[TRAIN], TARGETS[TRAIN])
    table = metrics.evaluate(fitted, X[TEST], TARGETS[TEST], LEVELS)
    for j, level in enumerate(LEVELS):
        row, intervals = table.iloc[j], fitted.predict_interval(X[TEST], level)
        assert row["coverage"] == metrics.interval_coverage(intervals, TARGETS[TEST])
        assert row["mean_width"] == metrics.mean_width(intervals)
        assert row["median_width"] == np.median(np.diff(intervals))
        assert row["infinite"] == 0
        assert row["interval_score"] == metrics.interval_score(intervals, TARGETS[TEST], level)


def test_levels_with_too_few_examples_are_told():
    clf = FullConformalClassifier(KNN(3)).fit(X[:50], LABELS[:50])
    with pytest.warns(UserWarning, match="confidence_level=0.99 needs at least 99 examples"):
        table = metrics.evaluate(clf, X[TEST], LABELS[TEST], [0.8, 0.99])
    assert table["coverage"].iloc[1] == 1.0
    reg = FullConformalRegressor(KNNResidual(3)).fit(X[:50], TARGETS[:50])
    with pytest.warns(UserWarning, match="confidence_level=0.99 needs at least 99 examples"):
        table = metrics.evaluate(reg, X[TEST], TARGETS[TEST], [0.8, 0.99])
    assert table["infinite"].tolist() == [0, 1]
    assert table["mean_width"].iloc[1] == np.inf


def test_categories_go_along():
    groups = np.arange(150) % 2
    clf = FullConformalClassifier(KNN(3)).fit(X[TRAIN], LABELS[TRAIN], categories=groups[TRAIN])
    table = metrics.evaluate(clf, X[TEST], LABELS[TEST], 0.9, categories=groups[TEST])
    sets = clf.predict_set(X[TEST], 0.9, categories=groups[TEST])
    assert table["mean_size"][0] == metrics.set_size(sets)


class TestScorers:
    def test_they_are_the_negated_criteria(self):
        clf = FullConformalClassifier(KNN(3)).fit(X[TRAIN], LABELS[TRAIN])
        assert scorers.fuzziness_scorer(clf, X[TEST]) == -metrics.fuzziness(clf.predict_p(X[TEST]))
        assert scorers.mean_set_size_scorer(0.8)(clf, X[TEST]) == -metrics.set_size(clf.predict_set(X[TEST], 0.8))
        reg = FullConformalRegressor(KNNResidual(3)).fit(X[TRAIN], TARGETS[TRAIN])
        expected = -metrics.interval_score(reg.predict_interval(X[TEST], 0.8), TARGETS[TEST], 0.8)
        assert scorers.interval_score_scorer(0.8)(reg, X[TEST], TARGETS[TEST]) == expected

    @pytest.mark.parametrize("scoring", [scorers.fuzziness_scorer, scorers.mean_set_size_scorer(0.9)])
    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_searches_of_classifiers(self, scoring):
        grid = {"measure__k": [1, 3, 9]}
        search = GridSearchCV(FullConformalClassifier(KNN()), grid, scoring=scoring, cv=3).fit(X, LABELS)
        means = [
            cross_val_score(FullConformalClassifier(KNN(k)), X, LABELS, scoring=scoring, cv=3).mean() for k in (1, 3, 9)
        ]
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], means)
        assert search.best_params_["measure__k"] == [1, 3, 9][int(np.argmax(means))]

    def test_they_can_be_sent_to_workers(self):
        clf = FullConformalClassifier(KNN(3)).fit(X[TRAIN], LABELS[TRAIN])
        for scorer in (scorers.fuzziness_scorer, scorers.mean_set_size_scorer(0.8)):
            assert pickle.loads(pickle.dumps(scorer))(clf, X[TEST]) == scorer(clf, X[TEST])


@pytest.mark.filterwarnings("ignore:GridSearchCV chose")
def test_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "metrics.md"
    if not page.exists():
        pytest.skip("the documentation is not part of this distribution")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(block, names)  # each goes on where the one before ended
    assert len(names["unsure"]) > 0
    assert names["table"].shape == (3, 10)
    assert len(names["by_species"]) == len(names["by_length"]) == 3
    assert names["search"].best_params_["measure__alpha"] < 100
