"""The checker passes what is right, and sees what is broken."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from exactcp import _numpy_first
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
)
from exactcp.measures.neighbours._label_bag import NeighbourBag
from measure_table import MEASURES
from slices import slow_but


class CentreDistance(Measure):
    """A user's own measure without a bag: distance to the mean of the label. It may break a rule."""

    def __init__(self, broken=""):
        self.broken = broken

    def fit(self, X, y):
        if self.broken == "changes its input":
            X += 1.0
        last = 1 if self.broken == "first example" else None
        self.means_ = {label: X[y == label][:last].mean(axis=0) for label in np.unique(y)}
        return self

    def score(self, X, y):
        if self.broken == "depends on the others":
            X = X - X.mean(axis=0)
        if self.broken == "scores nan":
            return np.full(len(X), np.nan)
        return np.array(
            [np.linalg.norm(x - self.means_[c]) if c in self.means_ else np.inf for x, c in zip(X, y, strict=True)]
        )


class MeanDistance(RegressionMeasure):
    """A user's own measure of regression without a bag: distance to the mean target. It may break a rule."""

    def __init__(self, broken=""):
        self.broken = broken

    def fit(self, X, y):
        if self.broken == "changes its input":
            y += 1.0
        self.mean_ = float(y[0] if self.broken == "first example" else np.mean(y))
        return self

    def predict(self, X):
        return np.full(1 if self.broken == "one for all" else len(X), self.mean_)

    def score(self, X, y):
        return np.abs(y - np.mean(y)) if self.broken == "depends on the others" else super().score(X, y)


class BrokenBag:
    """Before a measure with a bag: its bag may count one neighbour too few, or not forget one of several examples."""

    def bag(self, *examples, **how):
        k = self.k
        try:
            self.k -= self.broken == "one neighbour too few"
            bag = super().bag(*examples, **how)
        finally:
            self.k = k
        if self.broken == "never forgets":
            unlearn = bag.unlearn
            bag.unlearn = lambda places, **how: unlearn(places[1:], **how) if len(places) > 1 else None
        return bag


class BrokenKNN(BrokenBag, KNN):
    def __init__(self, k=3, broken=""):
        super().__init__(k)
        self.broken = broken


class BrokenKNNResidual(BrokenBag, KNNResidual):
    def __init__(self, k=3, broken=""):
        super().__init__(k)
        self.broken = broken


# Algorithm 1 refits for seconds: one of each kind stands for the others here, and for metrics one of them, since they
# differ in their distances alone, which are compared with the textbook's on all problems
ONE_OF_A_KIND = ["NN", "KNN 3", "SimplifiedKNN 2", "KDE 0.3", "LSSVM 0.01 intercept"]
OTHERS = {
    "a user's": CentreDistance(),
    "model": ModelScore(GaussianNB(var_smoothing=1e-3)),
    "a user's, targets": MeanDistance(),
    "KNNResidual": KNNResidual(k=3, metric="cityblock"),
    "RidgeResidual": RidgeResidual(rho=0.3, residual="ordinary", fit_intercept=True),
    "RidgeResidual rbf": RidgeResidual(kernel="rbf", residual="deleted"),
    "LassoResidual": LassoResidual(lam=0.3),
    "ModelResidual": ModelResidual(Ridge()),
}
SLOW = {"KNNResidual 1": KNNResidual(k=1), "deleted": ModelResidual(Ridge(), residual="deleted")}
RIGHT = MEASURES | OTHERS | SLOW


@pytest.mark.filterwarnings("ignore:ModelResidual fits")
@pytest.mark.parametrize("name", slow_but([*ONE_OF_A_KIND, *OTHERS], RIGHT))
def test_measures_keep_the_contract(name):
    check_measure(RIGHT[name])


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        *(
            (measure(broken), sentence)
            for measure in (CentreDistance, MeanDistance)
            for broken, sentence in (
                ("first example", "depends on the order of the training examples"),
                ("depends on the others", "differently alone and among others"),
                ("changes its input", "changed its input"),
            )
        ),
        (CentreDistance("scores nan"), "scored nan"),
        (MeanDistance("one for all"), r"predict returned shape \(1,\)"),
        *(
            (measure(k=3, broken=broken), r"differs? from Algorithm 1")
            for measure in (BrokenKNN, BrokenKNNResidual)
            for broken in ("one neighbour too few", "never forgets")
        ),
    ],
)
def test_what_is_broken_is_seen(measure, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_measure(measure)


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
    count = NeighbourBag.label_counts
    monkeypatch.setattr(NeighbourBag, "label_counts", lambda *asked, **how: change(count(*asked, **how)))
    with pytest.raises(AssertionError, match="differs from Algorithm 1"), _numpy_first.forced(numpy=False):
        check_measure(KNN(k=3))
