"""One small predictor of every family, its public calls, and its answers: for tests that cut or mix the calls."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from exactcp import (
    ConformalAnomalyDetector,
    ConformalClusterer,
    CrossConformalClassifier,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    VennAbersPredictor,
    VennPredictor,
)
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    Bootstrap,
    KNNResidual,
    LassoResidual,
    ModelResidual,
    ModelScore,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)

NEW = 40  # examples beside those of a fit


class Data(NamedTuple):
    """Examples to fit, to learn later, and to ask about."""

    X: np.ndarray
    y: np.ndarray
    asked: int  # the last ones

    def part(self, first: int, last: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Return these examples."""
        return self.X[first:last], self.y[first:last]


class Family(NamedTuple):
    """A predictor, how many examples it is fitted to, and about how many it is asked."""

    make: Callable[[], Any]
    n: int = 400
    is_regression: bool = False
    asked: int = NEW
    p: int = 5

    def data(self) -> Data:
        """Return n examples and NEW others."""
        rng = np.random.default_rng(self.n)
        X = rng.normal(size=(self.n + NEW, self.p))
        noise = rng.normal(size=self.n + NEW)
        y = X[:, 0] + 0.3 * noise if self.is_regression else (X[:, 0] + noise > 0).astype(np.int64)
        return Data(X, y, self.asked)

    def fitted(self) -> Any:
        """Return the predictor with what it has learned."""
        predictor, (X, y) = self.make(), self.data().part(0, self.n)
        if isinstance(predictor, ExchangeabilityTest):
            predictor.update_many(X, y)
            return predictor
        return predictor.fit(X, y)


def full(measure: Any, **parameters: Any) -> Callable[[], Any]:
    return lambda: FullConformalClassifier(measure, **parameters)


def full_regression(measure: Any) -> Callable[[], Any]:
    return lambda: FullConformalRegressor(measure)


FAMILIES = {
    "NN": Family(full(NN())),
    "KNN": Family(full(KNN(5)), n=1500),
    "KNN trees": Family(full(KNN(5, search="tree"))),
    "SimplifiedKNN": Family(full(SimplifiedKNN(5)), n=1500),
    "KDE": Family(full(KDE())),
    "LSSVM": Family(full(LSSVM())),
    "LSSVM rbf": Family(full(LSSVM(kernel="rbf")), n=150),
    "RandomForest": Family(full(RandomForest(n_estimators=5, random_state=0)), n=100),
    "RandomForest bernoulli": Family(full(RandomForest(n_estimators=5, resampling="bernoulli", random_state=0)), n=100),
    "Bootstrap": Family(full(Bootstrap(GaussianNB(), n_estimators=3, random_state=0), n_jobs=1), n=12, asked=2),
    "ModelScore": Family(full(ModelScore(GaussianNB()), n_jobs=1), n=12, asked=2),
    "KNNResidual": Family(full_regression(KNNResidual(5)), n=1500, is_regression=True),
    "RidgeResidual primal": Family(full_regression(RidgeResidual(solver="primal")), is_regression=True),
    "RidgeResidual svd": Family(full_regression(RidgeResidual(solver="svd")), is_regression=True),
    "RidgeResidual rbf": Family(full_regression(RidgeResidual(kernel="rbf")), n=150, is_regression=True),
    "LassoResidual": Family(full_regression(LassoResidual(lam=0.1)), n=60, is_regression=True),
    "ModelResidual": Family(full_regression(ModelResidual(LinearRegression())), n=25, is_regression=True, asked=2),
    "Venn": Family(lambda: VennPredictor(5), n=1500),
    "VennAbers": Family(lambda: VennAbersPredictor(LSSVM()), n=150),
    "anomaly": Family(lambda: ConformalAnomalyDetector(SimplifiedKNN(5))),
    "clustering": Family(lambda: ConformalClusterer(KDE(), n_grid=10), n=60, p=2),
    "split": Family(lambda: SplitConformalClassifier(KNN(5), random_state=0)),
    "cross": Family(lambda: CrossConformalClassifier(KDE(), random_state=0)),
    "jackknife+": Family(lambda: JackknifePlusRegressor(KNNResidual(5)), n=80, is_regression=True),
    "jackknife+ after bootstrap": Family(
        lambda: JackknifeAfterBootstrapRegressor(LinearRegression(), random_state=0), n=80, is_regression=True
    ),
    "stream": Family(lambda: ExchangeabilityTest(KNN(5), random_state=0)),
    "stream trees": Family(lambda: ExchangeabilityTest(KNN(5, search="tree"), random_state=0)),
    "stream KDE": Family(lambda: ExchangeabilityTest(KDE(), random_state=0)),
    "stream LSSVM": Family(lambda: ExchangeabilityTest(LSSVM(), random_state=0)),
}


def _labelled(method: str, first: int, last: int | None) -> Callable[[Any, Data], Any]:
    return lambda predictor, data: getattr(predictor, method)(*data.part(first, last))


def _asked(method: str) -> Callable[[Any, Data], Any]:
    return lambda predictor, data: getattr(predictor, method)(data.X[-data.asked :])


def _predict_p(predictor: Any, data: Data) -> Any:
    X, y = data.part(-data.asked, None)
    return predictor.predict_p(X, y) if isinstance(predictor, FullConformalRegressor) else predictor.predict_p(X)


CHANGES: dict[str, tuple[str, Callable[[Any, Data], Any]]] = {  # name: (method, call)
    "fit": ("fit", lambda predictor, data: predictor.fit(data.X[NEW // 2 :], data.y[NEW // 2 :])),
    "partial_fit one": ("partial_fit", _labelled("partial_fit", -1, None)),
    "partial_fit some": ("partial_fit", _labelled("partial_fit", -9, None)),
    "partial_fit many": ("partial_fit", lambda predictor, data: predictor.partial_fit(data.X[1:], data.y[1:])),
    "unlearn one": ("unlearn", lambda predictor, _: predictor.unlearn([3])),
    "unlearn many": ("unlearn", lambda predictor, data: predictor.unlearn(list(range(0, data.X.shape[0] - NEW, 2)))),
    "update": ("update", lambda predictor, data: predictor.update(data.X[-1], data.y[-1])),
    "update_many": ("update_many", _labelled("update_many", -NEW, None)),
}
QUESTIONS: dict[str, tuple[str, Callable[[Any, Data], Any]]] = {
    "predict_p": ("predict_p", _predict_p),
    "predict_set": ("predict_set", _asked("predict_set")),
    "predict_interval": ("predict_interval", _asked("predict_interval")),
    "predict_region": (
        "predict_region",
        lambda predictor, data: np.concatenate([r.to_numpy() for r in predictor.predict_region(data.X[-data.asked :])]),
    ),
    "predict_proba": ("predict_proba", _asked("predict_proba")),
    "predict": ("predict", _asked("predict")),
}


def calls_of(family: Family, calls: dict[str, tuple[str, Callable[[Any, Data], Any]]]) -> list[str]:
    """Return the names of the calls that the predictor has."""
    predictor = family.make()
    kept = [name for name, (method, _) in calls.items() if hasattr(predictor, method)]
    return [name for name in kept if not isinstance(predictor, VennAbersPredictor) or name != "predict_p"]


def answers(family: Family, predictor: Any) -> list[np.ndarray]:
    """Return all that the predictor says about the new examples, and what it has said."""
    data = family.data()
    if isinstance(predictor, ExchangeabilityTest):
        later = copy.deepcopy(predictor)
        later.update_many(*data.part(0, 9))
        return [later.p_values_, later.log_martingale_]
    return [np.asarray(QUESTIONS[name][1](predictor, data)) for name in calls_of(family, QUESTIONS)]


def are_equal(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    """Tell whether answers are the same bit for bit."""
    return len(some) == len(others) and all(
        a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(some, others, strict=True)
    )
