"""Scores of labels equal the textbook's, on every kind of outputs; what cannot be used is refused."""

from __future__ import annotations

import pickle
from decimal import Decimal, localcontext
from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from exactcp import SplitConformalClassifier, pvalues, textbook
from exactcp.checks import check_measure
from exactcp.measures import ModelScore
from exactcp.measures.models._score import SCORES, SHARE
from exactcp.measures.models._score_formulas import adaptive, margins, odds, ranks, regularised

X, Y = load_iris(return_X_y=True)
RULE = {"floor": 1.0, "tolerance": 1e-10}


def _eighths(m: int, n_labels: int) -> np.ndarray:
    """Return probabilities in eighths, so that many tie and some are 0."""
    return np.random.default_rng(n_labels).multinomial(8, np.full(n_labels, 1 / n_labels), size=m) / 8


def _outputs(kind: str, n_labels: int) -> np.ndarray:
    if kind == "eighths":
        return _eighths(25, n_labels)
    return np.random.default_rng(n_labels).dirichlet(np.full(n_labels, 0.4), size=25)


def _expected(score: str, p: np.ndarray, u: np.ndarray, regularisation: float = 0.01, k_reg: int = 1) -> np.ndarray:
    """Return the textbook's scores, one object and label after another."""
    functions = {
        "probability": lambda row, c, _: -row[c],
        "odds": lambda row, c, _: textbook.label_scores.odds_score(row, c),
        "margin": lambda row, c, _: textbook.label_scores.margin_score(row, c),
        "aps": textbook.label_scores.aps_score,
        "raps": lambda row, c, u: textbook.label_scores.raps_score(row, c, u, regularisation, k_reg),
        "topk": lambda row, c, _: textbook.label_scores.rank_score(row, c),
    }
    return np.array(
        [[functions[score](row, c, v) for c in range(len(row))] for row, v in zip(p.tolist(), u, strict=True)]
    )


def _compared(scores: np.ndarray) -> list[np.ndarray]:
    """Return how each score of a table compares with each other one: counts of greater and equal ones."""
    flat = scores.ravel()
    rows = [pvalues.compare_scores(flat[None], flat[i : i + 1], **RULE) for i in range(flat.size)]
    return [np.array([row.greater[0] for row in rows]), np.array([row.equal[0] for row in rows])]


def _assert_same_order(found: np.ndarray, expected: np.ndarray) -> None:
    for one, other in zip(_compared(found), _compared(expected), strict=True):
        np.testing.assert_array_equal(one, other)


def _shares(seed: int, P: np.ndarray) -> np.ndarray:
    return np.array([textbook.algorithm.tau_of_object(seed ^ SHARE, row) for row in P])


class TestTextbook:
    @pytest.mark.parametrize("n_labels", [2, 3, 7, 20])
    @pytest.mark.parametrize("kind", ["eighths", "random"])
    @pytest.mark.parametrize("score", ["probability", "odds", "margin", "topk"])
    def test_scores_are_equal(self, score, kind, n_labels):
        P = _outputs(kind, n_labels)
        measure = ModelScore("precomputed", score=score, classes=list(range(n_labels)))
        found = measure.fit(P, np.arange(25) % n_labels).score_labels(P, np.arange(n_labels))
        expected = _expected(score, P, np.ones(25))
        with np.errstate(invalid="ignore"):
            assert ((found == expected) | (np.abs(found - expected) <= 1e-12 * np.maximum(1, np.abs(expected)))).all()

    @pytest.mark.parametrize("n_labels", [2, 3, 7])
    @pytest.mark.parametrize("kind", ["eighths", "random"])
    def test_aps(self, kind, n_labels):
        P = _outputs(kind, n_labels)
        measure = ModelScore("precomputed", score="aps", random_state=3).fit(P, np.arange(25) % n_labels)
        mass = _expected("aps", P, _shares(3, P))
        found = measure.score_labels(P, np.arange(n_labels))
        np.testing.assert_allclose(-np.expm1(-found), mass, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("regularisation", [0.0, 0.01, 0.125, 0.3, 2.0])
    @pytest.mark.parametrize("k_reg", [None, 0, 2, 9])
    @pytest.mark.parametrize("kind", ["eighths", "random"])
    def test_raps_orders_alike(self, kind, k_reg, regularisation):
        P = _outputs(kind, 5)
        options = {"regularisation": regularisation, "k_reg": k_reg}
        measure = ModelScore("precomputed", score="raps", random_state=3, **options).fit(P, np.arange(25) % 5)
        expected = _expected("raps", P, _shares(3, P), regularisation, 1 if k_reg is None else k_reg)
        _assert_same_order(measure.score_labels(P, np.arange(5)), expected)

    @pytest.mark.parametrize("u", [0.25, 0.5, 1.0])  # with eighths, scores of different ranks tie
    @pytest.mark.parametrize("regularisation", [0.0, 0.01, 0.0625, 0.125, 0.1])
    def test_ties_between_ranks(self, regularisation, u):
        P = _eighths(25, 5)
        with np.errstate(divide="ignore"):
            found = regularised(np.log(P), np.full(25, u), regularisation, 1)
        _assert_same_order(found, _expected("raps", P, np.full(25, u), regularisation))

    def test_by_hand(self):
        P = np.array([[0.5, 0.25, 0.25]])
        logs, u = np.log(P), np.array([0.5])
        np.testing.assert_allclose(odds(logs), [[0.0, np.log(3), np.log(3)]], atol=1e-15)
        np.testing.assert_array_equal(margins(P), [[-0.25, 0.25, 0.25]])
        np.testing.assert_array_equal(ranks(logs), [[1, 2, 2]])
        np.testing.assert_allclose(np.exp(-adaptive(logs, u)), [[0.75, 0.25, 0.25]], rtol=1e-15)

    def test_labels_that_differ_by_rounding_share(self):
        logs = np.log([[0.25, 0.25 * (1 + 1e-15), 0.5]])
        np.testing.assert_array_equal(ranks(logs), [[2, 2, 1]])
        shares = adaptive(logs, np.array([0.3]))[0]
        assert shares[0] == pytest.approx(shares[1], abs=1e-12)


class TestSaturation:
    LOGITS = np.array(
        [[0.0, s, t] for s in (-800.0, -60.0, -38.0, -5.0, 0.0, 40.0, 800.0) for t in (-790.0, -45.0, 1.0)]
    )

    @staticmethod
    def _exactly(logits: np.ndarray, u: np.ndarray, regularisation: str, k_reg: int) -> list[list[Decimal]]:
        """Return the scores of RAPS (APS without regularisation) in 800 digits."""
        rows = []
        with localcontext() as context:
            context.prec = 800
            for row, share in zip(logits.tolist(), u.tolist(), strict=True):
                e = [Decimal(value).exp() for value in row]
                p = [value / sum(e) for value in e]
                rank = [1 + sum(q > own for q in p) for own in p]
                mass = [sum(q for q in p if q > own) + Decimal(share) * sum(q for q in p if q == own) for own in p]
                cost = Decimal(regularisation)
                rows.append([m + cost * max(0, r - k_reg) for m, r in zip(mass, rank, strict=True)])
        return rows

    @pytest.mark.parametrize(("regularisation", "k_reg"), [("0", 1), ("0.01", 1), ("0.01", 2), ("0.3", 1), ("0.3", 0)])
    def test_adaptive_scores_are_ordered_as_in_800_digits(self, regularisation, k_reg):
        u = np.random.default_rng(0).uniform(size=len(self.LOGITS))
        logs = self.LOGITS - np.logaddexp.reduce(self.LOGITS, axis=1, keepdims=True)
        found = regularised(logs, u, float(regularisation), k_reg).ravel()
        exact = [value for row in self._exactly(self.LOGITS, u, regularisation, k_reg) for value in row]
        order = sorted(range(found.size), key=lambda i: exact[i])
        # neighbours that differ by 1e-12 or more of what they are apart from their common limit are told apart
        assert (np.diff(found[order]) >= -1e-12 * np.maximum(1.0, np.abs(found[order[1:]]))).all()
        assert np.unique(found.round(9)).size > 0.9 * len(set(exact))

    def test_odds_of_logits(self):
        measure = ModelScore("precomputed", score="odds", logits=True, classes=[0, 1, 2]).fit(self.LOGITS, [0] * 21)
        found = measure.score_labels(self.LOGITS, [0, 1, 2])
        assert np.isfinite(found).all()
        with localcontext() as context:
            context.prec = 800
            for i, row in enumerate(self.LOGITS.tolist()):
                e = [Decimal(value).exp() for value in row]
                for c in range(3):
                    exact = ((sum(e) - e[c]) / e[c]).ln()
                    assert found[i, c] == pytest.approx(float(exact), rel=1e-12, abs=1e-12)

    def test_a_model_that_computes_one_minus_p_is_asked_for_its_decision_values(self):
        A, b = load_breast_cancer(return_X_y=True)
        model = make_pipeline(StandardScaler(), LogisticRegression(C=100.0)).fit(A, b)
        scores = ModelScore(FrozenEstimator(model), score="odds").fit(A, b).score(A, b)
        assert np.unique(-ModelScore(FrozenEstimator(model)).fit(A, b).score(A, b)).size < 0.9 * b.size  # p is 1
        assert np.unique(scores).size == np.unique(A, axis=0).shape[0]
        np.testing.assert_allclose(scores, np.where(b == 1, -1, 1) * model.decision_function(A), rtol=1e-9)

    def test_decision_values_that_say_something_else_are_left_alone(self):
        class Bold(LogisticRegression):
            def decision_function(self, Z):
                return 7.0 * super().decision_function(Z)

            def predict_proba(self, Z):
                d = super().decision_function(Z)
                return np.column_stack([1 / (1 + np.exp(3 * d)), 1 / (1 + np.exp(-3 * d))])

        A = np.linspace(-12, 12, 60)[:, None]
        model = Bold().fit(A, (A[:, 0] > 0).astype(int))
        d = LogisticRegression.decision_function(model, A)
        found = ModelScore(FrozenEstimator(model), score="odds").fit(A, A[:, 0] > 0).score(A, np.ones(60, int))
        np.testing.assert_allclose(found, -3 * d, rtol=1e-6)


class TestModels:
    @pytest.mark.parametrize("score", SCORES)
    @pytest.mark.parametrize(
        "model", [GaussianNB(), LogisticRegression(max_iter=500), DecisionTreeClassifier(max_depth=3, random_state=0)]
    )
    def test_scores_are_those_of_the_model_s_outputs(self, score, model):
        measure = ModelScore(model, score=score, random_state=5).fit(X[::2], Y[::2])
        P = clone(model).fit(X[::2], Y[::2]).predict_proba(X[1::2])
        u = _shares(5, X[1::2])
        P = P / P.sum(axis=1, keepdims=True)
        keep = (P > 1e-9).all(axis=1) if score in ("odds", "topk") else np.full(len(P), True)
        found, expected = measure.score_labels(X[1::2], [0, 1, 2])[keep], _expected(score, P, u)[keep]
        if score == "aps":
            found = -np.expm1(-found)
        if score == "raps":
            return _assert_same_order(found[:25][P[:25].min(axis=1) > 1e-9], expected[:25][P[:25].min(axis=1) > 1e-9])
        return np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)

    @pytest.mark.parametrize("model", [LinearSVC(), RidgeClassifier(), SGDClassifier(random_state=0), SVC()])
    @pytest.mark.parametrize("n_labels", [2, 3])
    def test_decision_values(self, model, n_labels):
        A, b = X[n_labels > Y], Y[n_labels > Y]
        D = clone(model).fit(A, b).decision_function(A)
        D = np.column_stack([-D, D]) if n_labels == 2 else D
        found = {
            s: ModelScore(model, score=s).fit(A, b).score_labels(A, range(n_labels)) for s in ("odds", "margin", "topk")
        }
        np.testing.assert_array_equal(found["odds"], -D)
        np.testing.assert_array_equal(
            found["margin"], [[textbook.label_scores.margin_score(row, c) for c in range(n_labels)] for row in D]
        )
        np.testing.assert_array_equal(found["topk"], [[1 + (row > row[c]).sum() for c in range(n_labels)] for row in D])

    @pytest.mark.parametrize("score", SCORES)
    def test_an_unseen_label_is_as_strange_as_can_be(self, score):
        measure = ModelScore(GaussianNB(), score=score, random_state=0).fit(X[Y > 0], Y[Y > 0])
        scores = measure.score_labels(X[:60], [2, 0, 1, 9])
        assert (scores[:, 1] >= scores.max(axis=1)).all()
        np.testing.assert_array_equal(scores[:, 1], scores[:, 3])
        np.testing.assert_array_equal(scores[:, [2, 0]], measure.score_labels(X[:60], [1, 2]))

    @pytest.mark.parametrize(
        ("model", "score", "expected"),
        [
            (GaussianNB(), "probability", [-1, 0]),
            (GaussianNB(), "odds", [-np.inf, np.inf]),
            (GaussianNB(), "margin", [-1, 1]),
            (GaussianNB(), "topk", [1, 2]),
            (LinearSVC(), "odds", [-np.inf, np.inf]),
            (LinearSVC(), "margin", [-np.inf, np.inf]),
            (LinearSVC(), "topk", [1, 2]),
        ],
    )
    def test_one_label_is_certain(self, model, score, expected):
        measure = ModelScore(model, score=score).fit(X[:5], ["a"] * 5)
        assert measure.estimator_ is None
        np.testing.assert_array_equal(measure.score_labels(X[:3], ["a", "b"]), [expected] * 3)

    @pytest.mark.parametrize("score", ["odds", "margin", "aps", "raps", "topk"])
    def test_keeps_the_contract(self, score):
        check_measure(ModelScore(GaussianNB(var_smoothing=1e-3), score=score, random_state=0))

    @pytest.mark.parametrize("score", SCORES)
    def test_one_by_one_and_again(self, score):
        measure = ModelScore(GaussianNB(), score=score, random_state=2).fit(X, Y)
        many = measure.score_labels(X[:9], [0, 1, 2])
        np.testing.assert_allclose(
            np.vstack([measure.score_labels(X[i : i + 1], [0, 1, 2]) for i in range(9)]), many, rtol=1e-12
        )
        for other in (pickle.loads(pickle.dumps(measure)), clone(measure).fit(X, Y)):
            np.testing.assert_array_equal(other.score_labels(X[:9], [0, 1, 2]), many)
        assert clone(measure).get_params()["score"] == measure.score == score
        assert measure.set_params(score="odds").score == "odds"

    def test_shares_are_independent_of_what_smooths(self):
        u, tau = pvalues.tau_of_objects(3 ^ SHARE, X), pvalues.tau_of_objects(3, X)
        assert abs(np.corrcoef(u, tau)[0, 1]) < 0.25

    @pytest.mark.parametrize("score", SCORES)
    def test_coverage(self, score):
        rng = np.random.default_rng(0)
        inside = []
        for _ in range(12):
            order = rng.permutation(150)
            clf = SplitConformalClassifier(ModelScore(GaussianNB(), score=score), random_state=1, smoothed=True)
            clf.fit(X[order[:100]], Y[order[:100]])
            sets = clf.predict_set(X[order[100:]], 0.8)
            inside += sets[np.arange(50), Y[order[100:]]].tolist()
        assert 0.7 < np.mean(inside) < 0.9


class TestFitParameters:
    def test_go_to_the_model(self):
        weights = np.linspace(0.1, 3.0, 150)
        found = ModelScore(GaussianNB()).fit(X, Y, sample_weight=weights).score(X, Y)
        expected = GaussianNB().fit(X, Y, sample_weight=weights).predict_proba(X)
        np.testing.assert_array_equal(found, -expected[np.arange(150), Y])

    def test_are_routed(self):
        weights = np.linspace(0.1, 3.0, 150)
        with config_context(enable_metadata_routing=True):
            model = GaussianNB().set_fit_request(sample_weight="importance")
            found = ModelScore(model).fit(X, Y, importance=weights).score(X, Y)
            with pytest.raises(TypeError, match="nothing"):
                ModelScore(model).fit(X, Y, nothing=weights)
        expected = GaussianNB().fit(X, Y, sample_weight=weights).predict_proba(X)
        np.testing.assert_array_equal(found, -expected[np.arange(150), Y])

    def test_what_learns_nothing_takes_none(self):
        frozen = FrozenEstimator(GaussianNB().fit(X, Y))
        with pytest.raises(TypeError, match=r"fit got sample_weight=, and .* learns nothing more"):
            ModelScore(frozen).fit(X, Y, sample_weight=np.ones(150))


class Says(ClassifierMixin, BaseEstimator):
    """A classifier that says what it was told to."""

    def __init__(self, p=None, classes=(0, 1, 2)):
        self.p = p
        self.classes = classes

    def fit(self, Z, y):
        self.classes_ = np.array(self.classes)
        return self

    def predict_proba(self, Z):
        return np.tile(self.p, (len(Z), 1))


class TestBadInput:
    @pytest.mark.parametrize(
        ("p", "sentence"),
        [
            ([0.5, np.nan, 0.5], "Says.predict_proba returned nan for object 0: expected numbers"),
            (
                [0.7, -0.2, 0.5],
                r"Says.predict_proba has -0.2 for object 0: expected probabilities, from 0 to 1\. Divide",
            ),
            ([0.7, 0.2, 0.5], r"has probabilities that sum to 1.4 for object 0: expected 1\."),
            ([0.5, 0.5], r"has shape \(4, 2\) for 3 labels: expected a column for each label"),
            ([0.25] * 4, r"has shape \(4, 4\) for 3 labels"),
        ],
    )
    @pytest.mark.parametrize("score", SCORES)
    def test_outputs(self, p, sentence, score):
        with pytest.raises(ValueError, match=sentence):
            ModelScore(Says(p), score=score).fit(X, Y).score_labels(X[:4], [0, 1, 2])

    def test_labels_that_the_model_renamed(self):
        with pytest.raises(
            ValueError, match=r"Says has learned the label 2, and its classes_ are \[0, 1\]: expected the"
        ):
            ModelScore(Says([0.5, 0.5], classes=(0, 1))).fit(X, Y)

    @pytest.mark.parametrize(
        ("estimator", "sentence"),
        [
            (
                Ridge(),
                r"is not a classifier that scores labels: .* Ridge predicts numbers: use it in FullConformalRegressor",
            ),
            (KMeans(3), "KMeans finds clusters, and predicts neither labels nor numbers"),
            (IsolationForest(), "IsolationForest detects anomalies: use it in ConformalAnomalyDetector"),
            (GaussianNB, r"GaussianNB is a class: give an instance, GaussianNB\(\)"),
            (len, "has no fit: give what it says of the objects as X of ModelScore"),
            ("precomuted", "use an instance that has fit and predict_proba or decision_function"),
            (StandardScaler(), "is not a classifier that scores labels"),
        ],
    )
    def test_estimators(self, estimator, sentence):
        with pytest.raises(TypeError, match=sentence):
            ModelScore(estimator).fit(X, Y)

    @pytest.mark.parametrize("score", ["probability", "aps", "raps"])
    @pytest.mark.parametrize("model", [LinearSVC(), make_pipeline(StandardScaler(), SVC()), SGDClassifier()])
    def test_no_probabilities_is_said_before_anything_is_fitted(self, model, score):
        with pytest.raises(
            TypeError, match=f"score='{score}' needs probabilities, and .* has none: .* 'margin' or 'topk'"
        ):
            ModelScore(model, score=score).bag(X, Y, 3)

    def test_parameters_of_given_outputs(self):
        for name, value in (("logits", True), ("classes", [0, 1])):
            with pytest.raises(ValueError, match=f"{name}=.* tells of precomputed outputs, and GaussianNB says itself"):
                ModelScore(GaussianNB(), **{name: value}).fit(X, Y)

    @pytest.mark.parametrize(
        ("P", "logits", "sentence"),
        [
            ([[0.5, 0.6]], False, "sum to 1.1 for object 0"),
            ([[0.5, np.nan]], False, "has nan in row 0"),
            (
                [[0.2, 0.3, 0.5]],
                False,
                r"shape \(1, 3\) for 2 labels: .* Name the columns of precomputed outputs by classes=",
            ),
            ([0.5], False, r"has shape \(1,\) for 2 labels"),
            ([["x", "y"]], False, "is no array of numbers"),
            ([[np.inf, 1.0]], True, r"has \[inf, 1.0\] in row 0: expected finite numbers"),
            ([[-np.inf, -np.inf]], True, "in row 0: expected finite numbers"),
        ],
    )
    def test_given_outputs(self, P, logits, sentence):
        with pytest.raises(ValueError, match=sentence):
            ModelScore("precomputed", logits=logits, classes=["a", "b"]).fit(P, ["a"])

    def test_decision_values_of_pairs_of_labels(self):
        A = np.vstack([X, X + 9])
        model = SVC(decision_function_shape="ovo")
        with pytest.raises(ValueError, match=r"returned shape \(2, 6\) for 4 labels: .* decision_function_shape='ovr'"):
            ModelScore(model, score="margin").fit(A, np.repeat([0, 1, 2, 3], 75)).score_labels(A[:2], [0, 1, 2, 3])

    def test_an_unfitted_frozen_model(self):
        with pytest.raises(ValueError, match="GaussianNB"):
            ModelScore(FrozenEstimator(GaussianNB())).fit(X, Y)


class Pictures(ClassifierMixin, BaseEstimator):
    """A classifier of images, which must come as they are."""

    def fit(self, Z, y):
        assert Z.shape[1:] == (8, 8)
        self.model_ = GaussianNB().fit(Z.reshape(len(Z), -1), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, Z):
        return self.model_.predict_proba(Z.reshape(len(Z), -1))


class TestAnything:
    TEXTS: ClassVar = [f"{word} {i % 7}" for word in ("good", "bad", "fine") for i in range(8)]
    CODES: ClassVar = np.repeat([0, 1, 2], 8)
    COUNTS: ClassVar = np.random.default_rng(0).poisson(1.0, (24, 5))

    @pytest.mark.parametrize(
        ("model", "objects"),
        [
            (make_pipeline(TfidfVectorizer(token_pattern=r"\w+"), LogisticRegression()), TEXTS),
            (MultinomialNB(), csr_array(COUNTS)),
            (Pictures(), np.random.default_rng(0).normal(size=(24, 8, 8))),
        ],
        ids=["texts", "sparse", "pictures"],
    )
    @pytest.mark.parametrize("score", ["probability", "odds", "aps"])
    def test_goes_to_the_model_as_it_is(self, model, objects, score):
        measure = ModelScore(model, score=score, random_state=1).fit(objects, self.CODES)
        P = measure.estimator_.predict_proba(objects)
        expected = _expected(score, P, pvalues.tau_of_objects(1 ^ SHARE, objects))
        found = measure.score_labels(objects, [0, 1, 2])
        np.testing.assert_allclose(-np.expm1(-found) if score == "aps" else found, expected, rtol=1e-6, atol=1e-9)
        tags = get_tags(measure).input_tags
        assert (tags.sparse, tags.string) == (get_tags(model).input_tags.sparse, get_tags(model).input_tags.string)
        bag = ModelScore(FrozenEstimator(measure.estimator_), score=score, random_state=1).bag(objects, self.CODES, 3)
        np.testing.assert_array_equal(bag.label_counts(objects).scores, found)


def test_a_classifier_without_probabilities_is_wrapped_with_margins():
    X, y = load_iris(return_X_y=True)
    given = SplitConformalClassifier(RidgeClassifier(), random_state=0).fit(X, y)
    named = SplitConformalClassifier(ModelScore(RidgeClassifier(), score="margin"), random_state=0).fit(X, y)
    np.testing.assert_array_equal(given.predict_p(X), named.predict_p(X))
