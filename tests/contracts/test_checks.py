"""The checker passes what is right, and sees what is broken."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from exactcp.checks import check_measure
from exactcp.measures import (
    KNN,
    KNNResidual,
    LassoResidual,
    Measure,
    ModelResidual,
    ModelScore,
    RegressionMeasure,
    RidgeResidual,
    SimplifiedKNN,
)
from exactcp.measures.neighbours._label_bag import NeighbourBag
from measure_table import MEASURES
from slices import slow_but

# Algorithm 1 refits for seconds: one of each kind stands for the others here, and for metrics one of them, since they
# differ in their distances alone, which are compared with the textbook's on all problems
ONE_OF_A_KIND = ["NN", "KNN 3", "SimplifiedKNN 2", "KDE 0.3", "LSSVM 0.01 intercept"]


@pytest.mark.parametrize("name", slow_but(ONE_OF_A_KIND, MEASURES))
def test_all_measures_keep_the_contract(name):
    check_measure(MEASURES[name])


class CentreDistance(Measure):
    """A user's own measure without a bag: distance to the mean of the label."""

    def fit(self, X, y):
        self.means_ = {label: X[y == label].mean(axis=0) for label in np.unique(y)}
        return self

    def score(self, X, y):
        return np.array(
            [np.linalg.norm(x - self.means_[c]) if c in self.means_ else np.inf for x, c in zip(X, y, strict=True)]
        )


def test_a_users_measure_passes():
    check_measure(CentreDistance())


class FirstExample(CentreDistance):
    def fit(self, X, y):
        self.means_ = {label: X[y == label][0] for label in np.unique(y)}
        return self


class DependsOnTheOthers(CentreDistance):
    def score(self, X, y):
        return super().score(X - X.mean(axis=0), y)


class ScoresNan(CentreDistance):
    def score(self, X, y):
        return np.where(super().score(X, y) == np.inf, np.nan, np.nan)


class ChangesItsInput(CentreDistance):
    def fit(self, X, y):
        X += 1.0
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        (FirstExample(), "depends on the order of the training examples"),
        (DependsOnTheOthers(), "differently alone and among others"),
        (ScoresNan(), "scored nan"),
        (ChangesItsInput(), "changed its input"),
    ],
)
def test_broken_definitions_are_seen(measure, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_measure(measure)


def _broken_count(change):
    count = NeighbourBag.label_counts
    return lambda *arguments, **how: change(count(*arguments, **how))


@pytest.mark.parametrize(
    "change",
    [
        lambda counts: counts._replace(
            greater_same=counts.greater_same + counts.equal_same, equal_same=counts.equal_same * 0
        ),
        lambda counts: counts._replace(greater_other=np.maximum(counts.greater_other - 1, 0)),
    ],
)
def test_a_bag_that_miscounts_is_seen(change, monkeypatch):
    monkeypatch.setattr(NeighbourBag, "label_counts", _broken_count(change))
    with pytest.raises(AssertionError, match="differs from Algorithm 1"):
        check_measure(KNN(k=3))


class OneNeighbourTooFew(KNN):
    def bag(self, X, codes, n_labels, **how):
        return clone(KNN(k=max(1, self.k - 1))).bag(X, codes, n_labels, **how)


class NeverForgets(SimplifiedKNN):
    def bag(self, X, codes, n_labels, **how):
        bag = super().bag(X, codes, n_labels, **how)
        unlearn = bag.unlearn

        def forget_all_but_one(indices, **how):
            if len(indices) > 1:
                unlearn(indices[1:], **how)

        bag.unlearn = forget_all_but_one
        return bag


@pytest.mark.parametrize("measure", [OneNeighbourTooFew(k=3), NeverForgets(k=2)])
def test_a_broken_bag_is_seen(measure):
    with pytest.raises(AssertionError, match=r"differs? from Algorithm 1"):
        check_measure(measure)


def test_a_classifier_as_a_measure_passes():
    check_measure(ModelScore(GaussianNB(var_smoothing=1e-3)))


class TestRegression:
    @pytest.mark.filterwarnings("ignore:ModelResidual fits")
    @pytest.mark.parametrize(
        "measure",
        [
            KNNResidual(k=3, metric="cityblock"),
            RidgeResidual(rho=0.3, residual="ordinary", fit_intercept=True),
            RidgeResidual(kernel="rbf", residual="deleted"),
            LassoResidual(lam=0.3),
            ModelResidual(Ridge()),
            pytest.param(KNNResidual(k=1), marks=pytest.mark.slow),
            pytest.param(ModelResidual(Ridge(), residual="deleted"), marks=pytest.mark.slow),
        ],
    )
    def test_measures_keep_the_contract(self, measure):
        check_measure(measure)

    def test_a_users_measure_passes(self):
        check_measure(MeanDistance())

    def test_broken_definitions_are_seen(self):
        for broken, sentence in (
            (FirstTarget(), "depends on the order of the training examples"),
            (DependsOnOtherTargets(), "differently alone and among others"),
            (ChangesItsTargets(), "changed its input"),
            (OneForAll(), r"predict returned shape \(1,\)"),
        ):
            with pytest.raises(AssertionError, match=sentence):
                check_measure(broken)

    @pytest.mark.parametrize("bag", ["one neighbour too few", "never forgets"])
    def test_a_broken_bag_is_seen(self, bag):
        with pytest.raises(AssertionError, match="differs from Algorithm 1"):
            check_measure(BrokenBag(k=2, broken=bag))


class MeanDistance(RegressionMeasure):
    """A user's own measure of regression without a bag: distance to the mean target."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class FirstTarget(MeanDistance):
    def fit(self, X, y):
        self.mean_ = float(y[0])
        return self


class DependsOnOtherTargets(MeanDistance):
    def score(self, X, y):
        return np.abs(y - np.mean(y))


class ChangesItsTargets(MeanDistance):
    def fit(self, X, y):
        y += 1.0
        return super().fit(X, y)


class OneForAll(MeanDistance):
    def predict(self, X):
        return np.array([self.mean_])


class BrokenBag(KNNResidual):
    def __init__(self, k=2, broken=""):
        super().__init__(k)
        self.broken = broken

    def bag(self, X, y, **how):
        bag = KNNResidual(self.k - (self.broken == "one neighbour too few")).bag(X, y, **how)
        if self.broken == "never forgets":
            bag.unlearn = lambda positions, **how: None
        return bag
