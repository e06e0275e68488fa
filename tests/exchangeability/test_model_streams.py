"""ExchangeabilityTest with real targets, and with models: whatever they take, and what was trained before."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from exactcp import ExchangeabilityTest, textbook
from exactcp._parallel import ALONE
from exactcp._rows import take_rows
from exactcp.measures import KNNResidual, LassoResidual, ModelResidual, ModelScore, RidgeResidual
from exactcp.measures._choice import target_bag
from exactcp.pvalues import tau_of_steps
from slices import sliced
from target_problems import TARGET_PROBLEMS

WITH_TWIN = {
    "k-NN": KNNResidual(k=3),
    "1-NN": KNNResidual(k=1),
    "k-NN of manhattan": KNNResidual(k=2, metric=lambda a, b: float(np.abs(a - b).sum())),
    "studentized ridge": RidgeResidual(rho=0.5),
    "deleted ridge": RidgeResidual(rho=2.0, residual="deleted"),
    "ridge through the origin": RidgeResidual(rho=1.0, fit_intercept=False),
}
FIXED = ModelResidual(FrozenEstimator(LinearRegression().fit([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [0.0, 1.0, 3.0])))
STREAMED = {**WITH_TWIN, "lasso": LassoResidual(lam=0.1), "model": ModelResidual(DummyRegressor()), "frozen": FIXED}
PROBLEM_NAMES = ["random", "grid with ties", "duplicates only", "ten labels", "singleton label", "constant targets"]


class TestTargets:
    @pytest.mark.parametrize(("name", "problem_name", "window"), sliced(2, WITH_TWIN, PROBLEM_NAMES, [None, 5]))
    def test_p_values_equal_the_textbook(self, name, problem_name, window):
        X, y, _ = TARGET_PROBLEMS[problem_name]
        X, y, measure = X[:18], y[:18], WITH_TWIN[name]
        score, taus = textbook.regression.absolute(measure.twin()), tau_of_steps(3, 0, len(y))
        how = {"follows_shifts": measure.follows_shifts, "window": window}
        expected = textbook.online.stream_target_p_values(score, X, y, taus, **how)
        test = ExchangeabilityTest(measure, random_state=3, window=window)
        np.testing.assert_array_equal(test.update_many(X, y), expected)

    @pytest.mark.filterwarnings("ignore:.*refits:UserWarning")
    @pytest.mark.parametrize("name", STREAMED)
    def test_a_stream_is_counting_and_then_learning_one_by_one_or_many_at_once(self, name, rng):
        X, y = rng.integers(0, 4, (40, 2)).astype(float), rng.integers(0, 5, 40).astype(float)
        counted, streamed = (target_bag(clone(STREAMED[name]), X[:20], y[:20], effort=ALONE) for _ in range(2))
        counts = streamed.stream(X[20:], y[20:])
        for i in range(20, 40):
            greater, equal, _ = counted.counts(X[i : i + 1], y[i : i + 1])
            np.testing.assert_array_equal(counts[i - 20], [greater[0], equal[0], 0, 0])
            counted.learn(X[i : i + 1], y[i : i + 1])
        np.testing.assert_array_equal(streamed.targets(), y)
        for found, wanted in zip(streamed.counts(X, y), counted.counts(X, y), strict=True):
            np.testing.assert_array_equal(found, wanted)
        together, alone = (ExchangeabilityTest(STREAMED[name], random_state=0) for _ in range(2))
        p = together.update_many(X, y + 1e4)
        np.testing.assert_array_equal([alone.update(*example) for example in zip(X, y + 1e4, strict=True)], p)
        np.testing.assert_array_equal(alone.log_martingale_, together.log_martingale_)
        assert together.classes_.size == 0


RNG = np.random.default_rng(0)
N = 40
LABELS = np.array(["cold", "warm"])[RNG.integers(0, 2, N)]
TARGETS = RNG.normal(size=N).round(1)
TEXTS = [f"{label} {word}" for label, word in zip(LABELS, RNG.choice(["day", "night", "cold"], N), strict=True)]
FRAME = pd.DataFrame({"a": RNG.normal(size=N).round(1), "town": RNG.choice(["u", "v"], N)})
COLUMNS = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["town"]), remainder="passthrough"
)
OBJECTS = {
    "texts": (TEXTS, TfidfVectorizer()),
    "dicts": (FRAME.to_dict("records"), DictVectorizer()),
    "pandas": (FRAME, COLUMNS),
    "polars": (pl.from_pandas(FRAME), COLUMNS),
    "sparse": (sparse.csc_matrix(np.diag(RNG.normal(size=N))), "passthrough"),
}


def _textbook(scores):
    """Smoothed p-values of a fixed score, by counting."""
    return [
        ((scores[:i] > s).sum() + tau * ((scores[:i] == s).sum() + 1)) / (i + 1)
        for i, (s, tau) in enumerate(zip(scores, tau_of_steps(0, 0, len(scores)), strict=True))
    ]


def _model(name, last):
    X, transformer = OBJECTS[name]
    model = make_pipeline(transformer, last).fit(X, TARGETS if isinstance(last, Ridge) else LABELS)
    return X, FrozenEstimator(model)


class CountingRegressor(RegressorMixin, BaseEstimator):
    """A trained model that counts the objects that it is asked about."""

    asked = 0

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        type(self).asked += len(X)
        return X[:, 0]


class TestFrozenModels:
    @pytest.mark.parametrize("name", OBJECTS)
    def test_labels(self, name):
        X, model = _model(name, LogisticRegression())
        p = ExchangeabilityTest(model, random_state=0).update_many(X, LABELS)
        own = model.predict_proba(X)[np.arange(N), np.searchsorted(model.classes_, LABELS)]
        np.testing.assert_array_equal(p, _textbook(-own.round(12)))
        one_by_one = ExchangeabilityTest(model, random_state=0)
        rows = [take_rows(X, np.array([i])) for i in range(N)]
        singles = [row[0] if isinstance(row, list) else row for row in rows]
        np.testing.assert_array_equal([one_by_one.update(x, y) for x, y in zip(singles, LABELS, strict=True)], p)
        if name == "pandas":
            by_row = ExchangeabilityTest(model, random_state=0)
            rows = zip(X.iterrows(), LABELS, strict=True)
            np.testing.assert_array_equal([by_row.update(row, label) for (_, row), label in rows], p)

    @pytest.mark.parametrize("name", OBJECTS)
    def test_targets_in_windows(self, name):
        X, model = _model(name, Ridge())
        p = ExchangeabilityTest(model, random_state=0).update_many(X, TARGETS)
        np.testing.assert_array_equal(p, _textbook(np.abs(TARGETS - model.predict(X)).round(12)))
        slid = ExchangeabilityTest(ModelResidual(model), window=5, random_state=0)
        np.testing.assert_array_equal(slid.update_many(X, TARGETS)[:5], p[:5])

    @pytest.mark.parametrize("single", [True, False])
    def test_each_example_is_scored_once(self, single, rng):
        X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
        test = ExchangeabilityTest(FrozenEstimator(CountingRegressor().fit(X, y)), random_state=0)
        CountingRegressor.asked = 0
        p = [test.update(*one) for one in zip(X, y, strict=True)] if single else test.update_many(X, y)
        assert CountingRegressor.asked == 30 + 1  # one row is asked again: does the model look at its batch?
        np.testing.assert_allclose(p, _textbook(np.abs(y - X[:, 0])), rtol=1e-15)
        given = ExchangeabilityTest(ModelResidual("precomputed"), random_state=0).update_many(X[:, :1], y)
        np.testing.assert_array_equal(given, p)


@pytest.mark.parametrize(
    ("model", "y"),
    [(ModelScore(make_pipeline(COLUMNS, GaussianNB())), LABELS), (make_pipeline(COLUMNS, LinearRegression()), TARGETS)],
)
def test_a_model_that_is_refitted_takes_frames_and_says_what_it_costs(model, y):
    test = ExchangeabilityTest(model, random_state=0)
    with pytest.warns(UserWarning, match="refits") as said:
        p = test.update_many(FRAME[:8], y[:8])
    assert len(said) == 1
    assert ((p > 0) & (p <= 1)).all()


class TestColumns:
    def test_refusals(self):
        X, model = _model("pandas", LogisticRegression())
        test = ExchangeabilityTest(model, random_state=0)
        test.update_many(X[:5], LABELS[:5])
        for wrong, sentence in (
            (lambda: test.update(X[:2], "cold"), "x has 2 rows: expected one object. Use update_many"),
            (lambda: test.update(X[["town", "a"]][:1], "cold"), r"Give X\[\['a', 'town'\]\]"),
            (lambda: test.update_many(X[:0], LABELS[:0]), "X has no objects"),
        ):
            with pytest.raises(ValueError, match=sentence):
                wrong()
            assert test.p_values_.size == 5

    def test_a_stream_that_begins_anew_may_have_other_columns(self):
        X, model = _model("pandas", LogisticRegression())
        test = ExchangeabilityTest(model, random_state=0)
        test.update_many(X, LABELS)
        assert test.feature_names_in_.tolist() == ["a", "town"]
        assert not hasattr(test.reset(), "feature_names_in_")
        assert test.update_many(X[["town", "a"]], LABELS).size == N
