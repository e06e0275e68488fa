"""Every parameter of every public estimator and measure is checked in `fit`, and refused in a sentence."""

from __future__ import annotations

import inspect
import math
import pickle
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Perceptron, Ridge
from sklearn.naive_bayes import GaussianNB

import exactcp
from exactcp import measures
from exactcp._parameters import LARGEST_INTEGER, Allowed, check_parameters, integer, shown
from exactcp.measures import KDE, KNN, LSSVM, Measure, RidgeResidual
from public_estimators import LABELS, X, learn, make, public_classes

WRONG = {
    "the wrong type": {},
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "negative": -3,
    "zero": 0,
    "huge": 10**400,
    "a string": "no such option",
    "None": None,
    "a boolean": True,
    "an array": np.arange(12.0),
    "an object": object(),
}
NEVER = {"nan", "-inf", "an array", "an object", "huge"}  # what no parameter of any class means
BUT = {("classes", "an array")}


def faults(cls: type) -> list[str]:
    """Return what is wrong with the sentences of a class: nothing, if all wrong values are refused in good ones."""
    found = []
    for name in make(cls).get_params(deep=False):
        rule = cls.allowed_parameters.get(name)
        for kind, value in WRONG.items():
            if rule is not None and rule.accepts(value):
                found += [f"{name} allows {kind}"] if kind in NEVER and (name, kind) not in BUT else []
                continue
            try:
                learn(make(cls, **{name: value}))
            except (ValueError, TypeError) as error:
                expected = [f"{name}=", shown(value), "" if rule is None else rule.words]
                if rule is None or not all(part in str(error) for part in expected):
                    found.append(f"{name} is {kind}: {error}")
            except Exception as error:  # noqa: BLE001
                found.append(f"{name} is {kind}: {error!r}")
            else:
                found.append(f"{name} is {kind}, and nobody says so")
    return found


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
class TestEveryClass:
    def test_declares_its_parameters(self, cls):
        assert set(cls.allowed_parameters) == set(make(cls).get_params(deep=False))

    def test_allows_its_defaults_and_what_is_fitted_by_others(self, cls):
        check_parameters(make(cls))
        learn(make(cls))

    def test_refuses_wrong_values_in_sentences(self, cls):
        assert faults(cls) == []

    def test_knows_unknown_names(self, cls):
        known = list(inspect.signature(cls.__init__).parameters)[1:]
        with pytest.raises(TypeError, match=f"{cls.__name__} got flavour=, which it does not have: it takes") as raised:
            make(cls, flavour=1)
        assert all(name in str(raised.value) for name in known)

    def test_is_cloned_and_pickled(self, cls):
        estimator = clone(make(cls))
        again = pickle.loads(pickle.dumps(estimator))
        assert str(again) == str(estimator)


def test_the_walk_notices_a_missing_declaration() -> None:
    class Undeclared(KNN):
        allowed_parameters: ClassVar = {name: KNN.allowed_parameters[name] for name in ("metric", "metric_params")}

    class Careless(KDE):
        allowed_parameters: ClassVar = {**KDE.allowed_parameters, "bandwidth": Allowed("", "anything", lambda _: True)}

    assert any("k is a string" in fault for fault in faults(Undeclared))
    assert "bandwidth allows nan" in faults(Careless)
    assert faults(KNN) == []


def test_a_default_that_is_not_allowed_is_refused_every_time() -> None:
    class Unset(KNN):
        def __init__(self, k: int | None = None) -> None:
            super().__init__(k)

    for _ in range(2):
        with pytest.raises(ValueError, match=r"k=None is not .*the default is None"):
            check_parameters(Unset())
    check_parameters(Unset(3))
    Unset.allowed_parameters = {"k": Allowed("", "anything", lambda _: True)}
    check_parameters(Unset())


def test_a_value_is_shown_on_one_line() -> None:
    assert shown(np.arange(1000)).startswith("array([ 0, 1, 2")
    assert "\n" not in shown(np.eye(30))
    assert len(shown("x" * 10_000)) == 200
    assert shown(10**5000) == "<int>"


class TestSentences:
    @pytest.mark.parametrize(
        ("estimator", "sentence"),
        [
            (exactcp.FullConformalClassifier(n_jobs=0), "n_jobs=0 is not a number of threads: use an integer other"),
            (exactcp.FullConformalClassifier(mondrian=LABELS), "give the categories of examples beside them"),
            (exactcp.AggregatedConformalClassifier(calibration_size=0.99), "use a share, or a number from 1 to 11"),
            (exactcp.FullConformalRegressor(KNN()), "KNN predicts labels: use it in FullConformalClassifier"),
            (
                exactcp.FullConformalRegressor(mondrian=LABELS),
                "is not a taxonomy of objects: .* Give the categories of examples beside them",
            ),
            (exactcp.ExchangeabilityTest(threshold=0.5), "threshold=0.5 is not a level for alarms: use a number above"),
            (KNN(k=10**12), "It exceeds 2,147,483,647"),
            (LSSVM(gamma="scale"), "gamma='scale' is not a scale: .* full CP is then not valid"),
            (measures.ModelScore(Perceptron()), "use an instance that has predict_proba"),
        ],
    )
    def test_say_what_to_do(self, estimator, sentence):
        with pytest.raises((ValueError, TypeError), match=f"(?i){sentence}"):
            learn(estimator)

    @pytest.mark.parametrize(
        ("call", "sentence"),
        [
            (lambda: exactcp.FullConformalClassifier(alpha=0.1), "predict_set.X, confidence_level=0.9"),
            (lambda: exactcp.FullConformalRegressor(confidence_level=0.9), "predict_interval.X, confidence_level=0.9"),
            (lambda: exactcp.FullConformalClassifier(estimator=GaussianNB()), "Use measure="),
            (lambda: exactcp.SplitConformalRegressor(model=Ridge()), "Use measure="),
            (lambda: KNN(n_neighbors=3), "Use k="),
            (lambda: exactcp.FullConformalClassifier(smooth=True), "Did you mean smoothed="),
            (lambda: RidgeResidual(alpha=0.1), "Use rho="),
            (
                lambda: exactcp.FullConformalClassifier(KNN(1)).fit(X, LABELS).predict_set(X, alpha=0.1),
                "FullConformalClassifier.predict_set got alpha=, .* Use confidence_level=, which is 1 minus",
            ),
            (
                lambda: exactcp.FullConformalClassifier(KNN(1)).fit(X, LABELS, sample_weight=LABELS),
                "FullConformalClassifier.fit got sample_weight=, which it does not have: it takes X, y",
            ),
        ],
    )
    def test_know_the_names_of_others(self, call, sentence):
        with pytest.raises(TypeError, match=sentence):
            call()

    def test_users_measures_need_no_declaration(self):
        class Distance(Measure):
            def __init__(self, power=1, **more):
                self.power, self.more = power, more

            def fit(self, X, y):
                self.center_ = X.mean(axis=0)
                return self

            def score(self, X, y):
                return np.abs(X - self.center_).sum(axis=1) ** self.power

        assert Distance(power=2, other=3).more == {"other": 3}
        check_parameters(Distance())
        with pytest.warns(UserWarning, match="Algorithm 1"):
            exactcp.FullConformalClassifier(SimpleDistance()).fit(X, LABELS).predict_p(X[:1])

    def test_integers_end_where_memory_does(self):
        rule = integer("a number", at_least=1)
        assert rule.accepts(LARGEST_INTEGER)
        assert rule.accepts(np.int8(1))
        assert not rule.accepts(LARGEST_INTEGER + 1)
        assert not rule.accepts(np.True_)
        assert not rule.accepts(1.0)


class SimpleDistance(Measure):
    """A user's measure, without declarations."""

    def fit(self, X, y):
        self.center_ = X.mean(axis=0)
        return self

    def score(self, X, y):
        return np.abs(X - self.center_).sum(axis=1)
