"""Scores of labels equal the textbook's, on every kind of outputs; what cannot be used is refused."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from exactcp import SplitConformalClassifier, pvalues, textbook
from exactcp.checks import check_measure
from exactcp.measures import ModelScore
from exactcp.measures.models import _score
from exactcp.measures.models._score import SCORES, SHARE
from exactcp.measures.models._score_formulas import adaptive, margins, odds, ranks, regularised
from golden import MODELS, golden, long_sepals, outputs, parts, sets
from users_models import KINDS, kinds

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

    def test_shares_are_independent_of_what_smooths(self):
        u, tau = pvalues.tau_of_objects(3 ^ SHARE, X), pvalues.tau_of_objects(3, X)
        assert abs(np.corrcoef(u, tau)[0, 1]) < 0.25


def test_parameters_of_fit_are_routed_by_their_alias():
    weights = np.linspace(0.1, 3.0, 150)
    with config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight="importance")
        found = ModelScore(model).fit(X, Y, importance=weights).score(X, Y)
        with pytest.raises(TypeError, match="nothing"):
            ModelScore(model).fit(X, Y, nothing=weights)
    expected = GaussianNB().fit(X, Y, sample_weight=weights).predict_proba(X)
    np.testing.assert_array_equal(found, -expected[np.arange(150), Y])


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
            (
                [0.7, -0.2, 0.5],
                r"Says.predict_proba has -0.2 for object 0: expected probabilities, from 0 to 1",
            ),
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
            ("precomuted", "use an instance that has fit and predict_proba or decision_function"),
            (StandardScaler(), "is not a classifier that scores labels"),
        ],
    )
    def test_estimators(self, estimator, sentence):
        with pytest.raises(TypeError, match=sentence):
            ModelScore(estimator).fit(X, Y)

    @pytest.mark.parametrize(
        ("P", "logits", "sentence"),
        [
            ([0.5], False, r"has shape \(1,\) for 2 labels"),
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


@pytest.mark.filterwarnings("ignore:Pipeline is frozen, and nearly perfect")
@pytest.mark.parametrize("kind", kinds(of=("texts", "csr array", "images")))
@pytest.mark.parametrize("score", ["odds", "aps"])
def test_outputs_for_objects_of_any_kind(kind, score):
    objects, y = KINDS[kind].objects, KINDS[kind].y
    measure = ModelScore(KINDS[kind].classifier, score=score, random_state=1).fit(objects, y)
    shares = pvalues.tau_of_objects(1 ^ SHARE, objects)
    expected = _expected(score, measure.estimator_.predict_proba(objects), shares)
    found = measure.score_labels(objects, ["a", "b", "c"])
    np.testing.assert_allclose(-np.expm1(-found) if score == "aps" else found, expected, rtol=1e-6, atol=1e-9)
    frozen = ModelScore(FrozenEstimator(measure.estimator_), score=score, random_state=1)
    bag = frozen.bag(objects, np.searchsorted(["a", "b", "c"], y), 3)
    np.testing.assert_array_equal(bag.label_counts(objects).scores, found)


def test_a_classifier_without_probabilities_is_wrapped_with_margins():
    X, y = load_iris(return_X_y=True)
    given = SplitConformalClassifier(RidgeClassifier(), random_state=0).fit(X, y)
    named = SplitConformalClassifier(ModelScore(RidgeClassifier(), score="margin"), random_state=0).fit(X, y)
    np.testing.assert_array_equal(given.predict_p(X), named.predict_p(X))


# where MAPIE and crepes define scores as we do, their answers are ours

MAPIE, CREPES = golden("mapie"), golden("crepes")
TAXONOMIES = {"plain": None, "labels": "label", "categories": lambda X, y: long_sepals(X)}
DIGITS = outputs(MAPIE["digits outputs"])


def _digits(score: str, **options: object) -> SplitConformalClassifier:
    P, y = DIGITS.X_calibration, DIGITS.y_calibration
    measure = ModelScore("precomputed", score=score, classes=list(range(10)), **options)
    return SplitConformalClassifier(measure).fit(P, y, P, y)


def _with_their_u(monkeypatch: pytest.MonkeyPatch, test_u: float | None = None) -> None:
    """Let objects have the share 1 - u of MAPIE's u, which belongs to a place in a batch; all test objects, test_u."""

    def shares(_: int, X: np.ndarray) -> np.ndarray:
        u = 1.0 - np.random.RandomState(7).uniform(size=len(X))
        return np.full(len(X), test_u) if test_u is not None and len(X) == len(DIGITS.X_test) else u

    monkeypatch.setattr(_score, "tau_of_objects", shares)


def _assert_sets(
    clf: SplitConformalClassifier, X: np.ndarray, entry: dict, levels: tuple[str, ...] | None = None
) -> None:
    for level in entry["sets"] if levels is None else levels:
        np.testing.assert_array_equal(clf.predict_set(X, float(level)), sets(entry["sets"][level]), err_msg=level)


@pytest.mark.parametrize(
    ("name", "score", "levels"),
    [
        *((name, "odds", None) for name in ("iris lac", "wine lac", "iris votes lac")),
        ("iris votes top_k", "topk", None),
        ("iris top_k", "topk", ("0.8", "0.9")),  # at 0.95 MAPIE calls probabilities below 1e-8 equal
    ],
)
def test_sets_are_those_of_mapie(name, score, levels):
    entry = MAPIE[name]
    data = parts(entry)
    clf = SplitConformalClassifier(ModelScore(clone(MODELS[entry["model"]]), score=score)).fit(*data[:4])
    _assert_sets(clf, data.X_test, entry, levels)


@pytest.mark.parametrize(("score", "name"), [("probability", "lac"), ("odds", "lac"), ("topk", "top_k")])
def test_sets_of_outputs_are_those_of_mapie(score, name):
    _assert_sets(_digits(score), DIGITS.X_test, MAPIE[f"digits {name}"])


def test_sets_by_aps_are_those_of_mapie(monkeypatch):
    _with_their_u(monkeypatch)
    clf = _digits("aps")
    mass = -np.expm1(-clf.calibration_scores_)  # rounded probabilities sum to 1 up to 5e-5
    np.testing.assert_allclose(mass, MAPIE["digits aps randomized"]["scores"], atol=1e-4)
    _assert_sets(clf, DIGITS.X_test, MAPIE["digits aps randomized"])


def test_sets_by_aps_with_the_last_label(monkeypatch):
    """Of MAPIE's default, the calibration is randomised and the set takes the label that crosses the quantile."""
    tiny = np.finfo(float).tiny
    _with_their_u(monkeypatch, tiny)
    _assert_sets(_digits("aps"), DIGITS.X_test, MAPIE["digits aps true"])


@pytest.mark.parametrize(
    ("name", "levels"),
    [  # elsewhere MAPIE's coin is not that of its scores
        ("digits raps 0.01 2 randomized", ("0.8", "0.9")),
        ("digits raps 0.1 1 randomized", ("0.8",)),
    ],
)
def test_sets_by_raps_are_those_of_mapie(name, levels, monkeypatch):
    _with_their_u(monkeypatch)
    entry = MAPIE[name]
    clf = _digits("raps", regularisation=entry["regularisation"], k_reg=entry["k_reg"])
    _assert_sets(clf, DIGITS.X_test, entry, levels)


# naive Bayes saturates: differences of 1e-14 between probabilities are ties to us, and none to crepes
@pytest.mark.parametrize("name", [name for name in CREPES if " margin " in name and "Bayes" not in name])
def test_p_values_of_margins_are_those_of_crepes(name):
    entry, data = CREPES[name], parts(CREPES[name])
    measure = ModelScore(clone(MODELS[entry["model"]]), score="margin")
    clf = SplitConformalClassifier(measure, mondrian=TAXONOMIES[name.split()[-1]]).fit(*data[:4])
    np.testing.assert_array_equal(clf.predict_p(data.X_test), entry["p"])
