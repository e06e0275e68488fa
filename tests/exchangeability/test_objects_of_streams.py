"""Streams of whatever a model takes: texts, frames, dicts, sparse rows; with the p-values of its scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from exactcp import ExchangeabilityTest
from exactcp._rows import take_rows
from exactcp.measures import ModelResidual, ModelScore
from exactcp.pvalues import tau_of_steps

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
    "sparse": (sparse.csc_matrix(np.diag(RNG.normal(size=N))), None),
}


def _textbook(scores, seed=0):
    """Smoothed p-values of a fixed score, by counting."""
    taus = tau_of_steps(seed, 0, len(scores))
    return [
        ((scores[:i] > s).sum() + tau * ((scores[:i] == s).sum() + 1)) / (i + 1)
        for i, (s, tau) in enumerate(zip(scores, taus, strict=True))
    ]


def _model(name, last):
    X, transformer = OBJECTS[name]
    model = last if transformer is None else make_pipeline(transformer, last)
    return X, FrozenEstimator(model.fit(X, TARGETS if isinstance(last, Ridge) else LABELS))


@pytest.mark.parametrize("name", OBJECTS)
class TestFrozenModels:
    def test_labels(self, name):
        X, model = _model(name, LogisticRegression())
        test = ExchangeabilityTest(model, random_state=0)
        p = test.update_many(X, LABELS)
        own = model.predict_proba(X)[np.arange(N), np.searchsorted(model.classes_, LABELS)]
        np.testing.assert_array_equal(p, _textbook(-own.round(12)))
        one_by_one = ExchangeabilityTest(model, random_state=0)
        rows = [take_rows(X, np.array([i])) for i in range(N)]
        singles = [row[0] if isinstance(row, list) else row for row in rows]
        np.testing.assert_array_equal([one_by_one.update(x, y) for x, y in zip(singles, LABELS, strict=True)], p)

    def test_targets_in_windows(self, name):
        X, model = _model(name, Ridge())
        p = ExchangeabilityTest(model, random_state=0).update_many(X, TARGETS)
        np.testing.assert_array_equal(p, _textbook(np.abs(TARGETS - model.predict(X)).round(12)))
        slid = ExchangeabilityTest(ModelResidual(model), window=5, random_state=0)
        slid.update_many(X, TARGETS)
        whole = ExchangeabilityTest(model, random_state=0)
        first = whole.update_many(take_rows(X, np.arange(5)), TARGETS[:5])
        np.testing.assert_array_equal(slid.p_values_[:5], first)


def test_a_model_that_is_fitted_anew_takes_frames():
    model = make_pipeline(COLUMNS, GaussianNB())
    test = ExchangeabilityTest(ModelScore(model), random_state=0)
    with pytest.warns(UserWarning, match="refits it as often"):
        p = test.update_many(FRAME[:8], LABELS[:8])
    assert ((p > 0) & (p <= 1)).all()


def test_a_row_of_a_frame_is_an_object():
    X, model = _model("pandas", LogisticRegression())
    test = ExchangeabilityTest(model, random_state=0)
    expected = ExchangeabilityTest(model, random_state=0).update_many(X, LABELS)
    found = [test.update(row, label) for (_, row), label in zip(X.iterrows(), LABELS, strict=True)]
    np.testing.assert_array_equal(found, expected)


class TestRefusals:
    def test_sentences(self):
        X, model = _model("pandas", LogisticRegression())
        test = ExchangeabilityTest(model, random_state=0)
        test.update_many(X[:5], LABELS[:5])
        for wrong, sentence in (
            (lambda: test.update(X[:2], "cold"), "x has 2 rows: expected one object. Use update_many"),
            (lambda: test.update(X[:1], None), "had one label, and this one has none"),
            (lambda: test.update(X[["town", "a"]][:1], "cold"), r"Give X\[\['a', 'town'\]\]"),
            (lambda: test.update_many(X[:2], LABELS[:3]), "expected one label for each of the 2 rows"),
            (lambda: test.update_many(X[:0], LABELS[:0]), "X has no objects"),
        ):
            with pytest.raises(ValueError, match=sentence):
                wrong()
            assert test.p_values_.size == 5
        with pytest.raises(ValueError, match="not numbers"):
            ExchangeabilityTest().update_many(FRAME)  # k-NN takes vectors

    def test_a_stream_that_begins_anew_may_have_other_columns(self):
        X, model = _model("pandas", LogisticRegression())
        test = ExchangeabilityTest(model, random_state=0)
        test.update_many(X, LABELS)
        assert test.feature_names_in_.tolist() == ["a", "town"]
        assert not hasattr(test.reset(), "feature_names_in_")
        assert test.update_many(X[["town", "a"]], LABELS).size == N
