"""scikit-learn's checks of estimators: one of each predictor, and one of each family of measures."""

from __future__ import annotations

import pytest
from sklearn.ensemble import IsolationForest, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from exactcp import (
    AggregatedConformalClassifier,
    ConformalAnomalyDetector,
    ConformalClusterer,
    ConformalSequencePredictor,
    CrossConformalClassifier,
    CVPlusRegressor,
    ExchangeabilitySelector,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    Bootstrap,
    KNNResidual,
    LassoResidual,
    Measure,
    ModelResidual,
    ModelScore,
    RandomForest,
    RegressionMeasure,
    RidgeResidual,
)
from public_estimators import public_classes
from slices import slow_but

SEED = {"random_state": 0}  # examples without a weight calibrate all the same, so that splits without a seed differ
SMOOTHED = {"mondrian": "label", "smoothed": True}
ESTIMATORS = {
    "full, neighbours": FullConformalClassifier(KNN(k=3)),
    "full, density": FullConformalClassifier(KDE()),
    "full, least squares": FullConformalClassifier(LSSVM(kernel="rbf")),
    "full, forest": FullConformalClassifier(RandomForest(3)),
    "split, model": SplitConformalClassifier(ModelScore(GaussianNB()), **SEED),
    "cross, smoothed": CrossConformalClassifier(KNN(k=3), cv=3, **SEED, **SMOOTHED),
    "aggregated, model": AggregatedConformalClassifier(GaussianNB(), n_splits=3, **SEED),
    "Venn": VennPredictor(),
    "Venn-Abers": VennAbersPredictor(),
    "Venn-Abers, cross": VennAbersPredictor(GaussianNB(), method="cross", cv=2),
    "full, targets, smoothed": FullConformalRegressor(KNNResidual(k=3), smoothed=True, **SEED),
    "full, ridge": FullConformalRegressor(RidgeResidual()),
    "full, lasso": FullConformalRegressor(LassoResidual()),
    "full, model of targets": FullConformalRegressor(ModelResidual(LinearRegression())),
    "split, targets": SplitConformalRegressor(Ridge(), **SEED),
    "CV+": CVPlusRegressor(Ridge(), cv=3, **SEED),
    "jackknife+": JackknifePlusRegressor(),
    "jackknife+ after bootstrap": JackknifeAfterBootstrapRegressor(Ridge(), **SEED),
    "anomalies": ConformalAnomalyDetector(),
    "anomalies, detector": ConformalAnomalyDetector(IsolationForest(n_estimators=3), **SEED),
    "anomalies, folds": ConformalAnomalyDetector(OneClassSVM(), cv=3, **SEED),
    "clusters": ConformalClusterer(n_grid=20),
    "selector": ExchangeabilitySelector(),
}
SLOW = {
    "full, smoothed": FullConformalClassifier(KNN(k=3), **SMOOTHED),
    "full, refits": FullConformalClassifier(ModelScore(GaussianNB())),
    "full, bootstrap": FullConformalClassifier(Bootstrap(GaussianNB(), n_estimators=1)),
    "split, bootstrap": SplitConformalClassifier(Bootstrap(DecisionTreeClassifier(), n_estimators=8), **SEED),
    "split, default": SplitConformalClassifier(**SEED),
    "split, smoothed": SplitConformalClassifier(KNN(k=3), **SMOOTHED),
    "cross, model": CrossConformalClassifier(GaussianNB(), cv=3, **SEED),
    "aggregated, smoothed": AggregatedConformalClassifier(KNN(k=3), n_splits=3, **SEED, **SMOOTHED),
    "Venn-Abers, inductive": VennAbersPredictor(method="inductive"),
    "jackknife+, refits": JackknifePlusRegressor(Ridge()),
    "jackknife+, minmax": JackknifePlusRegressor(RidgeResidual(), method="minmax"),
    "jackknife+ after bootstrap, forest": JackknifeAfterBootstrapRegressor(
        RandomForestRegressor(10, max_depth=5), aggregate="median", method="minmax", **SEED
    ),
    "anomalies, density": ConformalAnomalyDetector(KDE(), smoothed=True),
    "anomalies, least squares": ConformalAnomalyDetector(LSSVM(fit_intercept=False)),
    "clusters, full": ConformalClusterer(KDE(0.5), adjacency="full", n_grid=20),
}
ALL = ESTIMATORS | SLOW
WEIGHTS = {"check_classifiers_one_label_sample_weights": "weights are the model's; all examples calibrate it"}
OTHERS = {ExchangeabilityTest, ConformalSequencePredictor}  # which have no fit, or lists of sequences for X
EXPECTED_TO_FAIL = {
    "full, bootstrap": {"check_dtype_object": "a resample may lack the row that is wrong"},
    "Venn-Abers, cross": WEIGHTS,
    "anomalies, folds": {
        "check_fit_score_takes_y": "it calls partial_fit after fit, and a cross-conformal detector learns nothing more"
    },
}


@pytest.mark.parametrize("name", slow_but(ESTIMATORS, ALL))
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.SkipTestWarning",
    "ignore:divide by zero encountered in log",  # GaussianNB's, where a label has no weight
    "ignore:epsilon=0.05 needs at least 19 examples",  # checks have few
    "ignore:confidence_level=.* needs at least",
    "ignore:No features were selected:UserWarning",
    "ignore:.*Algorithm 1",
    "ignore:Bootstrap",
    "ignore:ModelResidual fits",
    "ignore:.* are in all of the .* sample",
)
def test_sklearn_checks(name):
    results = check_estimator(ALL[name], expected_failed_checks=EXPECTED_TO_FAIL.get(name), on_fail=None)
    failed = [f"{row['check_name']}: {row['exception']!r}" for row in results if row["status"] == "failed"]
    assert failed == []
    assert len(results) > 40


def test_every_predictor_is_checked():
    predictors = {one for one in public_classes() if not issubclass(one, Measure | RegressionMeasure)}
    assert predictors - {type(one) for one in ESTIMATORS.values()} == OTHERS
