"""A transformer before a full predictor: what is done by hand, count for count, and what validity comes of it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import binomtest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as LDA
from sklearn.ensemble import IsolationForest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, RobustScaler, StandardScaler
from sklearn.utils import get_tags

from exactcp import ConformalAnomalyDetector, FullConformalClassifier, FullConformalRegressor
from exactcp._rows import symmetric_order
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, ModelScore, RandomForest, RidgeResidual, SimplifiedKNN
from exactcp.predicting.powers_of_two import PowerOfTwoScaler

RNG = np.random.default_rng(1)
SCALES = np.array([1.0, 1000.0, 0.01])
X = RNG.normal(size=(24, 3)) * SCALES
X[5], X[7] = X[4], X[6]  # duplicates
LABELS = np.arange(24) % 3
TARGETS = np.round(X[:, 0] + X[:, 1] / 1000, 1)
X_TEST = np.vstack([RNG.normal(size=(4, 3)) * SCALES, X[:2]])
TEXTS = ["good nice day", "bad awful day", "nice good cat", "awful terrible dog", "good day", "terrible cat"] * 4
TEXT_LABELS = np.array(["+", "-", "+", "-", "+", "-"] * 4)

COST = "fitted anew in every call"
ALONE = "fitted on the training objects alone"


@pytest.fixture
def quiet():
    """Let preprocess say what it costs."""
    with warnings.catch_warnings():
        for text in (COST, ALONE):
            warnings.filterwarnings("ignore", message=f".*{text}.*")
        yield


def _by_hand(predictor, transformer, X_train, X_test, *y):
    """Return a predictor without `preprocess`, and test objects, after the transformer has seen all."""
    n, both = len(X_train), np.vstack([X_train, X_test])
    order = symmetric_order(both)  # in another one, sums have other last digits
    made = clone(transformer).fit_transform(both[order])[np.argsort(order)]
    plain = clone(predictor).set_params(preprocess=None)
    return plain.fit(made[:n], *y), made[n:]


ASKED = {
    FullConformalClassifier: [("predict",), ("predict_p",), ("predict_set", 0.8), ("predict_set", 0.6)],
    FullConformalRegressor: [
        ("predict",),
        ("predict_p", np.zeros(6)),
        ("predict_interval", 0.8),
        ("predict_region", 0.8),
    ],
    ConformalAnomalyDetector: [("predict",), ("predict_p",), ("select", 0.5)],
}


@pytest.mark.usefixtures("quiet")
class TestByHand:
    @pytest.mark.parametrize("transformer", [StandardScaler(), PCA(2), QuantileTransformer(n_quantiles=10)])
    @pytest.mark.parametrize(
        ("predictor", "y"),
        [
            *((FullConformalClassifier(measure), LABELS) for measure in (KNN(3), KDE(0.5), LSSVM())),
            *(
                (FullConformalClassifier(KNN(3), random_state=0, **how), LABELS)
                for how in ({"mondrian": "label"}, {"smoothed": True}, {"mondrian": lambda X, y: y > 0})
            ),
            pytest.param(FullConformalClassifier(SimplifiedKNN(2)), LABELS, marks=pytest.mark.slow),  # as KNN
            pytest.param(  # seconds of growing trees
                FullConformalClassifier(RandomForest(5, random_state=0)), LABELS, marks=pytest.mark.slow
            ),
            (FullConformalRegressor(KNNResidual(3)), TARGETS),
            (FullConformalRegressor(RidgeResidual()), TARGETS),
            (ConformalAnomalyDetector(epsilon=0.1), None),
        ],
    )
    def test_answers(self, predictor, y, transformer):
        answers = () if y is None else (y,)
        plain, objects = _by_hand(predictor, transformer, X, X_TEST, *answers)
        fitted = clone(predictor).set_params(preprocess=transformer).fit(X, *answers)
        for question, *how in ASKED[type(predictor)]:
            found, expected = getattr(fitted, question)(X_TEST, *how), getattr(plain, question)(objects, *how)
            if question == "predict_region":
                found, expected = ([region.intervals for region in regions] for regions in (found, expected))
            np.testing.assert_equal(found, expected)

    @pytest.mark.parametrize("on", ["together", "training"])
    @pytest.mark.parametrize(
        ("predictor", "y"),
        [
            (FullConformalClassifier(KNN(3)), np.append(LABELS[:16], [3] * 8)),  # a new label
            (FullConformalRegressor(KNNResidual(3)), TARGETS),
            (ConformalAnomalyDetector(), None),
        ],
    )
    def test_learning_and_unlearning(self, predictor, y, on):
        def examples(some, objects=X):
            return (objects[some],) if y is None else (objects[some], y[some])

        changed = clone(predictor).set_params(preprocess=StandardScaler(), preprocess_on=on)
        fresh, kept = clone(changed), np.delete(np.arange(24), [0, 4, 23])
        changed.fit(*examples(slice(16))).partial_fit(*examples(slice(16, 24))).unlearn([0, -1]).unlearn(3)
        objects, asked = X, X_TEST
        if on == "training":
            scaler, fresh = StandardScaler().fit(X[:16]), clone(predictor)
            objects, asked = scaler.transform(X), scaler.transform(X_TEST)
            np.testing.assert_array_equal(changed.preprocess_.mean_, scaler.mean_)
        fresh.fit(*examples(kept, objects))
        question = "predict_interval" if y is TARGETS else "predict_p"
        np.testing.assert_array_equal(getattr(changed, question)(X_TEST), getattr(fresh, question)(asked))
        assert changed.n_examples_ == 21
        assert getattr(changed, "classes_", [3])[-1] == 3

    def test_random_transformers_repeat_themselves(self):
        svd = make_pipeline(TfidfVectorizer(), TruncatedSVD(3))
        clf = FullConformalClassifier(KNN(3), preprocess=svd).fit(TEXTS, TEXT_LABELS)
        np.testing.assert_array_equal(clf.predict_p(TEXTS[:2]), clf.predict_p(TEXTS[:2]))
        assert svd[-1].random_state is None


def test_a_frozen_transformer_is_used_as_it_is() -> None:
    scaler = FrozenEstimator(StandardScaler().fit(X_TEST))
    clf = FullConformalClassifier(KNN(3), preprocess=scaler).fit(X, LABELS)
    plain = FullConformalClassifier(KNN(3)).fit(scaler.transform(X), LABELS)
    np.testing.assert_array_equal(clf.predict_p(X_TEST), plain.predict_p(scaler.transform(X_TEST)))
    clf.partial_fit(X_TEST[:1], [0])
    plain.partial_fit(scaler.transform(X_TEST[:1]), [0])
    np.testing.assert_array_equal(clf.predict_p(X_TEST), plain.predict_p(scaler.transform(X_TEST)))
    assert clf.preprocess_ is not scaler  # it may be fitted again


class TestWords:
    def test_cost_is_told_once(self):
        clf = FullConformalClassifier(KNN(3), preprocess=StandardScaler()).fit(X, LABELS)
        with pytest.warns(UserWarning, match=COST):
            clf.predict_p(X_TEST)
        clf.predict_set(X_TEST, 0.8)
        clf.partial_fit(X_TEST[:1], [0]).predict_p(X_TEST)
        with pytest.warns(UserWarning, match=COST):
            clf.fit(X, LABELS).predict(X_TEST)

    def test_approximate_validity_is_told_in_fit(self):
        clf = FullConformalClassifier(KNN(3), preprocess=StandardScaler(), preprocess_on="training")
        with pytest.warns(UserWarning, match=ALONE):
            clf.fit(X, LABELS)
        clf.predict_p(X_TEST)
        clf.partial_fit(X_TEST[:1], [0]).predict_p(X_TEST)

    def test_a_level_with_too_few_examples(self):
        clf = FullConformalClassifier(KNN(1), preprocess=StandardScaler()).fit(X[:6], LABELS[:6])
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            clf.predict_set(X_TEST, 0.95)
        assert [COST in str(one.message) for one in told] == [True, False]


@pytest.mark.usefixtures("quiet")
def test_coverage_is_exact_with_nine_examples() -> None:
    """Heavy tails, where one object moves the scale of all, and other test objects that are not like the first."""
    covered, n_draws = 0, 200
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, 12)
        Z = rng.standard_cauchy((12, 2)) * [1.0, 50.0] + y[:, None]
        Z[10:] *= 100.0
        clf = FullConformalClassifier(SimplifiedKNN(1), preprocess=StandardScaler(), smoothed=True, random_state=seed)
        p = clf.partial_fit(Z[:9], y[:9], classes=[0, 1]).predict_p(Z[9:])[0]
        covered += p[y[9]] > 0.2
    assert binomtest(int(covered), n_draws, 0.8).pvalue > 1e-3


class _Spread(TransformerMixin, BaseEstimator):
    """Says how far an object is from all objects of the fit: small for those that were in it."""

    def fit(self, X, y=None):
        self.X_ = np.asarray(X)
        return self

    def transform(self, X):
        gaps = np.abs(np.asarray(X)[:, None, 0] - self.X_[None, :, 0])
        return gaps.min(axis=1)[:, None]


@pytest.mark.usefixtures("quiet")
def test_fitting_on_training_objects_alone_may_break_validity() -> None:
    """The checker can tell: with such a transformer "together" keeps the level, and "training" loses it."""
    alarms = {"together": 0, "training": 0}
    for seed in range(60):
        Z = np.random.default_rng(seed).normal(size=(10, 1))
        for on in alarms:
            detector = ConformalAnomalyDetector(SimplifiedKNN(1), preprocess=_Spread(), preprocess_on=on)
            alarms[on] += detector.fit(Z[:9]).predict_p(Z[9:])[0] <= 0.2
    assert binomtest(alarms["together"], 60, 0.2, alternative="greater").pvalue > 1e-3
    assert binomtest(alarms["training"], 60, 0.2, alternative="greater").pvalue < 1e-3


@pytest.mark.usefixtures("quiet")
class TestWhatXMayBe:
    def test_text(self):
        vectors = make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))
        clf = FullConformalClassifier(KNN(3), preprocess=vectors).fit(TEXTS, TEXT_LABELS)
        new = ["a good day", "an awful dog"]
        made = clone(vectors).fit_transform(TEXTS + new)
        plain = FullConformalClassifier(KNN(3)).fit(made[:24], TEXT_LABELS)
        for asked in (new, np.array(new), tuple(new)):
            np.testing.assert_array_equal(clf.predict_p(asked), plain.predict_p(made[24:]))
        assert not hasattr(clf, "n_features_in_")
        clf.partial_fit(new, ["+", "-"]).unlearn([24, 25])
        np.testing.assert_array_equal(clf.predict_p(new), plain.predict_p(made[24:]))

    def test_a_mixed_frame_with_categories(self):
        frame = pd.DataFrame({"a": X[:, 0], "colour": np.array(["red", "blue"])[LABELS % 2], "site": LABELS % 2})
        test = pd.DataFrame({"a": X_TEST[:, 0], "colour": "blue", "site": [0, 1, 0, 1, 0, 5]})
        columns = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(sparse_output=False), ["colour"]))
        reg = FullConformalRegressor(KNNResidual(3), preprocess=columns, mondrian="site").fit(frame, TARGETS)
        made = clone(columns).fit_transform(pd.concat([frame, test]).drop(columns="site"))
        plain = FullConformalRegressor(KNNResidual(3)).fit(made[:24], TARGETS, categories=frame["site"])
        expected = plain.predict_p(made[24:], np.zeros(6), categories=test["site"])
        np.testing.assert_array_equal(reg.predict_p(test, np.zeros(6)), expected)
        assert reg.feature_names_in_.tolist() == ["a", "colour"]
        with pytest.raises(ValueError, match="feature names"):
            reg.predict(test.rename(columns={"a": "b"}))

    def test_polars(self):
        pl = pytest.importorskip("polars")
        clf = FullConformalClassifier(KNN(3), preprocess=StandardScaler())
        frames = [pl.DataFrame(part, schema=["a", "b", "c"], orient="row") for part in (X, X_TEST)]
        p = clf.fit(frames[0], LABELS).predict_p(frames[1])
        np.testing.assert_array_equal(p, clf.fit(X, LABELS).predict_p(X_TEST))

    def test_sparse_for_a_model(self):
        clf = FullConformalClassifier(
            ModelScore(LogisticRegression()), preprocess=CountVectorizer(), algorithm="standard"
        )
        clf.fit(TEXTS[:8], TEXT_LABELS[:8])
        counts = CountVectorizer().fit_transform([*TEXTS[:8], "good dog"])
        plain = FullConformalClassifier(ModelScore(LogisticRegression()), algorithm="standard")
        plain.fit(counts[:8], TEXT_LABELS[:8])
        np.testing.assert_array_equal(clf.predict_p(["good dog"]), plain.predict_p(counts[8:]))

    def test_sparse_input(self):
        svd = TruncatedSVD(2, random_state=0)
        said = get_tags(svd).input_tags.sparse  # which old versions of scikit-learn do not say of it
        assert get_tags(FullConformalClassifier(preprocess=svd)).input_tags.sparse == said
        clf = FullConformalClassifier(KNN(3), preprocess=svd).fit(sparse.csr_array(X), LABELS)
        made = clone(svd).fit_transform(sparse.csr_array(np.vstack([X, X_TEST])))
        plain = FullConformalClassifier(KNN(3)).fit(made[:24], LABELS)
        np.testing.assert_array_equal(clf.predict_p(sparse.csr_array(X_TEST)), plain.predict_p(made[24:]))


@pytest.mark.usefixtures("quiet")
class TestWithinScikitLearn:
    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_search(self):
        clf = FullConformalClassifier(KNN(3), preprocess=PCA())
        search = GridSearchCV(clf, {"preprocess__n_components": [1, 2], "measure__k": [1, 3]}, cv=2).fit(X, LABELS)
        assert search.best_params_.keys() == {"preprocess__n_components", "measure__k"}
        assert search.predict(X_TEST).shape == (6,)

    def test_fitted_anew_without(self):
        clf = FullConformalClassifier(KNN(3), preprocess=StandardScaler(), preprocess_on="training").fit(X, LABELS)
        clf.set_params(preprocess=None, preprocess_on="together").fit(X, LABELS)
        plain = FullConformalClassifier(KNN(3)).fit(X, LABELS)
        np.testing.assert_array_equal(clf.predict_p(X_TEST), plain.predict_p(X_TEST))
        assert not hasattr(clf, "preprocess_")

    def test_the_training_objects_are_kept(self):
        mine = X.copy()
        clf = FullConformalClassifier(KNN(3), preprocess=StandardScaler()).fit(mine, LABELS)
        expected = clf.predict_p(X_TEST)
        mine[:] = 0
        np.testing.assert_array_equal(clf.predict_p(X_TEST), expected)


class _Counting(StandardScaler):
    fits = 0

    def fit(self, X, y=None, sample_weight=None):
        type(self).fits += 1
        return super().fit(X, y, sample_weight)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("measure", [KNN(3), RandomForest(5, random_state=0)])  # by all counts, and by sets alone
def test_a_question_fits_the_transformer_once(measure) -> None:
    frame = pd.DataFrame(X, columns=list("abc")).assign(site=LABELS)
    for mondrian, objects in ((None, X), ("label", X), ("site", frame)):
        clf = FullConformalClassifier(measure, preprocess=_Counting(), mondrian=mondrian).fit(objects, LABELS)
        detector = ConformalAnomalyDetector(SimplifiedKNN(2), preprocess=_Counting(), epsilon=0.2).fit(X)
        for question in (
            lambda: clf.predict_p(objects),  # noqa: B023
            lambda: clf.predict_set(objects, 0.6),  # noqa: B023
            lambda: clf.predict_confidence(objects),  # noqa: B023
            lambda: detector.predict(X),  # noqa: B023
        ):
            before = _Counting.fits
            question()
            assert _Counting.fits == before + 1


class _Picky(TransformerMixin, BaseEstimator):
    """Refuses objects beyond 5."""

    def fit(self, X, y=None):
        if np.max(X) > 5:
            msg = "an object is beyond 5"
            raise ValueError(msg)
        return self

    def transform(self, X):
        return np.asarray(X)


class _Dropping(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[1:]


@pytest.mark.usefixtures("quiet")
def test_all_or_nothing() -> None:
    clf = FullConformalClassifier(KNN(3), preprocess=_Picky()).fit(X[:, [0]], LABELS)
    expected = clf.predict_p(X_TEST[:, [0]])
    for learn in (clf.fit, clf.partial_fit):
        with pytest.raises(ValueError, match=r"_Picky raised ValueError in fit_transform.*beyond 5"):
            learn(np.array([[1.0], [9.0]]), [0, 1])
    with pytest.raises(ValueError, match="beyond 5"):
        clf.predict_p([[9.0]])
    np.testing.assert_array_equal(clf.predict_p(X_TEST[:, [0]]), expected)
    assert clf.n_examples_ == 24


@pytest.mark.usefixtures("quiet")
class TestRefusals:
    @pytest.mark.parametrize(
        ("how", "error", "said"),
        [
            ({"preprocess": StandardScaler}, TypeError, r"is a class: give an instance, StandardScaler\("),
            ({"preprocess_on": "training"}, ValueError, "would have no effect without preprocess="),
            ({"preprocess": SelectKBest(k=2)}, ValueError, "SelectKBest, which learns from labels"),
            ({"preprocess": make_pipeline(SelectKBest(k=2), StandardScaler())}, ValueError, "Pipeline, which learns"),
            ({"preprocess": make_pipeline(StandardScaler(), LDA())}, ValueError, "LinearDiscriminantAnalysis, which"),
            (
                {"preprocess": FrozenEstimator(StandardScaler().fit(X)), "preprocess_on": "training"},
                ValueError,
                "a FrozenEstimator learns nothing",
            ),
            ({"preprocess": FrozenEstimator(StandardScaler())}, ValueError, "is frozen, and has not been fitted"),
            ({"preprocess": OneHotEncoder()}, TypeError, "sparse matrix, and the measure takes dense vectors"),
            ({"preprocess": _Dropping()}, ValueError, "_Dropping returned 23 rows for 24 objects"),
            (
                {"preprocess": StandardScaler(), "measure": KNN(metric="precomputed")},
                ValueError,
                "nothing to transform",
            ),
        ],
    )
    def test_in_fit(self, how, error, said):
        with pytest.raises(error, match=said):
            FullConformalClassifier(**how).fit(X, LABELS)

    def test_a_supervised_one_that_is_frozen(self):
        best = FrozenEstimator(SelectKBest(k=2).fit(X, LABELS))
        for transformer in (best, make_pipeline(StandardScaler(), best)):
            clf = FullConformalClassifier(KNN(3), preprocess=transformer).fit(X, LABELS)
            assert clf.predict_p(X_TEST).shape == (6, 3)

    def test_missing_values_that_stay(self):
        holes = X.copy()
        holes[0, 0] = np.nan
        with pytest.raises(ValueError, match=r"StandardScaler made of X what the measure does not take.*NaN"):
            FullConformalClassifier(KNN(3), preprocess=StandardScaler()).fit(holes, LABELS)

    def test_objects_of_another_type(self):
        clf = FullConformalClassifier(KNN(3), preprocess=StandardScaler()).fit(X, LABELS)
        with pytest.raises(TypeError, match="X is of type csr_array, and fit got ndarray"):
            clf.predict(sparse.csr_array(X_TEST))
        with pytest.raises(ValueError, match="2 features, but FullConformalClassifier is expecting 3"):
            clf.predict(X_TEST[:, :2])

    def test_before_a_detector(self):
        with pytest.raises(ValueError, match="give a detector its transformer in a pipeline"):
            ConformalAnomalyDetector(IsolationForest(), preprocess=StandardScaler()).fit(X)


WIDE = np.random.default_rng(0).normal(size=(30, 3)) * [1, 1e5, 1e-5] + [0, 3, 0]
SCALERS = {"largest": StandardScaler(), "quartiles": RobustScaler()}


class TestPowersOfTwo:
    """A power of two changes no digit, and saves what squaring would lose."""

    @pytest.mark.parametrize("unit", SCALERS)
    def test_a_scaler_after_it_gives_the_same_bits(self, unit):
        plain = clone(SCALERS[unit])
        found = make_pipeline(PowerOfTwoScaler(unit), clone(SCALERS[unit])).fit(WIDE)
        np.testing.assert_array_equal(found.transform(WIDE[:7] + 1), plain.fit(WIDE).transform(WIDE[:7] + 1))

    @pytest.mark.parametrize("unit", SCALERS)
    @pytest.mark.parametrize("exponent", [-700, 400])
    def test_tiny_and_huge_numbers_are_scaled_as_others_are(self, unit, exponent):
        scaler = make_pipeline(PowerOfTwoScaler(unit), clone(SCALERS[unit]))
        np.testing.assert_array_equal(scaler.fit_transform(np.ldexp(WIDE, exponent)), scaler.fit_transform(WIDE))

    def test_its_numbers_by_hand_and_a_column_of_zeros(self):
        made = PowerOfTwoScaler().fit_transform([[0.0, 12.0, -3.0], [0.0, 1.0, 0.5]])
        assert made.tolist() == [[0.0, 0.75, -0.75], [0.0, 0.0625, 0.125]]
        # 12 - 4 is 8, below 16
        made = PowerOfTwoScaler("quartiles").fit_transform([[0.0], [4.0], [8.0], [12.0], [1000.0]])
        assert made[:, 0].tolist() == [0.0, 0.25, 0.5, 0.75, 62.5]

    def test_another_unit_is_refused(self):
        with pytest.raises(ValueError, match="unit='mean'"):
            PowerOfTwoScaler("mean").fit(WIDE)
