"""What users get wrong: each mistake is a sentence, and leaves what was fitted as it was."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lars, LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import exactcp
from exactcp import (
    ConformalAnomalyDetector,
    CrossConformalClassifier,
    CVPlusRegressor,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennAbersPredictor,
    metrics,
)
from exactcp.measures import KNN, KNNResidual, ModelQuantile, ModelResidual, ModelScore
from exactcp.metrics import scorers
from exactcp.online import progressive
from exactcp.online.river import RiverClassifier, RiverRegressor
from exactcp.pipeline import make_pipeline as own_pipeline

pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.arange(40) % 3
T = X[:, 0] + RNG.normal(size=40)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0, "u", "v")})
TEXTS = ["good day", "bad night", "odd noon", "good bad"] * 10
EQUAL = np.full((40, 3), 1 / 3)


class NeverClassifier(ClassifierMixin, BaseEstimator):
    """Its fit is long work, which no mistake should reach that can be known before."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted")

    def predict_proba(self, X):
        raise AssertionError("asked")


class NeverRegressor(RegressorMixin, BaseEstimator):
    def fit(self, X, y, sample_weight=None):
        raise AssertionError("fitted")

    def predict(self, X):
        raise AssertionError("asked")


class Saying(ClassifierMixin, BaseEstimator):
    def __init__(self, said):
        self.said = said

    def fit(self, X, y):
        self.classes_ = np.unique(y)

    def predict_proba(self, X):
        return self.said(len(X))


class Predicting(RegressorMixin, BaseEstimator):
    def __init__(self, said):
        self.said = said

    def fit(self, X, y):
        self.fitted_ = True

    def predict(self, X):
        return self.said(len(X))


class WithoutFit:
    def predict(self, X):
        return np.zeros(len(X))

    def predict_proba(self, X):
        return np.full((len(X), 3), 1 / 3)


class WithoutParameters:
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


def _one_wrong(value):
    def said(m):
        p = np.full((m, 3), 1 / 3)
        p[1] = value
        return p

    return said


def _labels(model=None, **options):
    return SplitConformalClassifier(NeverClassifier() if model is None else model, random_state=0, **options)


def _targets(model=None, **options):
    return SplitConformalRegressor(NeverRegressor() if model is None else model, random_state=0, **options)


def _anomalies(model=None, **options):
    return ConformalAnomalyDetector(
        IsolationForest(n_estimators=2) if model is None else model, random_state=0, **options
    )


def _difficult(difficulty, model=None, objects=None):
    measure = ModelResidual(Ridge() if model is None else model, difficulty=difficulty)
    return _targets(measure).fit(X if objects is None else objects, T)


def _folded(cv):
    return CVPlusRegressor(NeverRegressor(), cv=cv).fit(X, T)


def _one_of_a_label():
    clf = FullConformalClassifier(ModelScore("precomputed"), algorithm="standard")
    return clf.fit(EQUAL, np.repeat([0, 1, 2], [20, 19, 1])).predict_p(EQUAL[:1])


def _mixed(model):
    columns = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    return make_pipeline(columns, model)


def _fitted_frame():
    return _labels(_mixed(GaussianNB())).fit(FRAME, Y)


def _fitted():
    return _labels(GaussianNB()).fit(X, Y)


def _fitted_texts():
    return _labels(make_pipeline(CountVectorizer(), LogisticRegression())).fit(TEXTS, Y)


FROZEN = FrozenEstimator(GaussianNB().fit(X, Y))
FROZEN_RIDGE = FrozenEstimator(Ridge().fit(X, T))
FROZEN_DETECTOR = FrozenEstimator(IsolationForest(n_estimators=2, random_state=0).fit(X))
ONES = np.ones(40)
CROSSING = Predicting(lambda m: np.tile([1.0, 0.0], (m, 1)))

DATA = [
    ("lengths", lambda: _labels().fit(X, Y[:-1]), ValueError, "X has 40 rows and y has 39 values"),
    ("lengths in folds", lambda: CrossConformalClassifier(NeverClassifier()).fit(X, Y[:3]), ValueError, "y has 3 val"),
    ("generator", lambda: _labels().fit((row for row in X), Y), TypeError, r"of type generator: .* Give list\(X\)"),
    ("generator of labels", lambda: _labels().fit(X, (c for c in Y)), TypeError, r"y is of type .* Give list\(y\)"),
    ("scalar", lambda: _labels().fit(3.0, Y), TypeError, "X is of type float: expected .* a row for each object"),
    ("one target", lambda: _targets().fit(X[:1], T[:1]), ValueError, "n_samples=1 .*: expected 2, one to fit and one"),
    ("one left out", lambda: JackknifePlusRegressor(NeverRegressor()).fit(X[:1], T[:1]), ValueError, "expected 2, so"),
    ("nothing", lambda: _labels().fit(X[:0], Y[:0]), ValueError, "X has no objects"),
    ("dict of columns", lambda: _labels().fit({"a": [1]}, [0]), TypeError, r"pandas.DataFrame\(X\); .* a list: \[X\]"),
    ("one text", lambda: _fitted_texts().predict_set("good day"), TypeError, r"One text is a list of one: \[X\]"),
    ("a set", lambda: _labels().fit({"a", "b"}, [0, 1]), TypeError, "A set has no order"),
    ("no y", lambda: _labels().fit(X, None), ValueError, r"target y is None: give fit\(X, y\)"),
    ("X and y swapped", lambda: _labels().fit(Y, X), ValueError, "expected a label for each object. Give one column"),
    ("two targets", lambda: _targets().fit(X, np.column_stack([T, T])), ValueError, "expected a number for each obj"),
    ("nan among labels", lambda: _labels().fit(X, np.where(Y, Y, np.nan)), ValueError, r"y contains NaN: y\[0\] is na"),
    ("nan among targets", lambda: _targets().fit(X, np.where(Y, T, np.nan)), ValueError, r"y\[0\] is nan. .* leave it"),
    ("targets as labels", lambda: _labels().fit(X, T), ValueError, "Unknown label type: continuous"),
    ("reordered", lambda: _fitted_frame().predict_set(FRAME[["b", "a", "c"]]), ValueError, r"Give X\[\['a', 'b', 'c'"),
    ("renamed", lambda: _fitted_frame().predict_set(FRAME.rename(columns={"a": "z"})), ValueError, "- z\n.*\n- a\nGiv"),
    ("too many columns", lambda: _fitted_frame().predict_set(FRAME.assign(d=1)), ValueError, r"- d\nGive X\[\['a', 'b"),
    ("other columns", lambda: _fitted().predict_set(X[:, :2]), ValueError, "X has 2 features, but .* expecting 3"),
    ("list after frame", lambda: _fitted_frame().predict_set(FRAME.to_numpy().tolist()), ValueError, "Pipeline raised"),
    ("array after texts", lambda: _fitted_texts().predict_set(X), AttributeError, "Pipeline raised .* type ndarray"),
    ("a row", lambda: _fitted().predict_set(X[0]), ValueError, r"one-dimensional, .* object is X.reshape\(1, -1\)"),
    ("a listed row", lambda: _fitted().predict_set(X[0].tolist()), ValueError, r"one-dimensional.* object is \[X\]"),
    ("a row of a frame", lambda: _fitted_frame().predict_set(FRAME.iloc[0]), ValueError, r"is X.to_frame\(\).T"),
    ("texts and distances", lambda: _labels(KNN()).fit(FRAME, Y), ValueError, "not numbers .*OneHotEncoder"),
    ("sparse and distances", lambda: _labels(KNN()).fit(sparse.csr_array(X), Y), TypeError, r"Sparse .*'.toarray\(\)'"),
    ("words for numbers", lambda: _targets(Ridge()).fit(FRAME, T), ValueError, "Ridge raised ValueError in fit, given"),
    ("calibrated with others", lambda: _fitted().calibrate(X, Y + 1), ValueError, r"label\(s\) 3; .*calibrate with la"),
    ("half a calibration set", lambda: _labels().fit(X, Y, X), ValueError, "one of X_calibration and y_calibration"),
    ("all calibrate", lambda: _labels(calibration_size=40).fit(X, Y), ValueError, "would leave 0 to fit: .* 1 to 39"),
    ("below y_min", lambda: _targets(y_min=0.0).fit(X, T), ValueError, r"outside of \[y_min, y_max\] = .*: widen"),
    ("no targets left", lambda: _targets(y_min=3, y_max=1).fit(X, T), ValueError, "expected y_min < y_max"),
    ("not fitted", lambda: _labels().predict_set(X), NotFittedError, "not fitted yet. Call 'fit'"),
    ("not fitted, anomalies", lambda: _anomalies().predict(X), NotFittedError, "not fitted yet. Call 'fit'"),
    ("percent", lambda: _fitted().predict_set(X, 90), ValueError, "not a probability: use a number between 0 and 1"),
]
MODELS = [
    ("no fit", lambda: _labels(WithoutFit()).fit(X, Y), TypeError, r"has no fit: .* X of ModelScore\('precomputed'\)"),
    ("no parameters", lambda: _targets(WithoutParameters()).fit(X, T), TypeError, "no get_params, .*BaseEstimator"),
    ("frozen raw", lambda: _labels(FrozenEstimator(GaussianNB())).fit(X, Y), NotFittedError, "frozen, and has not bee"),
    ("raw detector", lambda: _anomalies(FrozenEstimator(IsolationForest())).fit(X), NotFittedError, "or give Isolat"),
    ("frozen, other labels", lambda: _labels(FROZEN).fit(X, Y + 5), ValueError, "these are the labels that the model"),
    ("class", lambda: _labels(LogisticRegression).fit(X, Y), TypeError, r"is a class: give an instance, LogisticRegr"),
    ("clusterer, anomalies", lambda: _anomalies(KMeans(3)).fit(X), TypeError, "KMeans finds clusters"),
    ("regressor, anomalies", lambda: _anomalies(Ridge()).fit(X), TypeError, "Ridge predicts numbers"),
    ("class, anomalies", lambda: _anomalies(IsolationForest).fit(X), TypeError, "is a class: give an instance, Isolat"),
    ("regressor", lambda: _labels(Ridge()).fit(X, Y), TypeError, "Ridge predicts numbers: use it in FullConformalReg"),
    ("regressor, Venn", lambda: VennAbersPredictor(Ridge(), method="cross").fit(X, Y), TypeError, "not a model that s"),
    ("classifier", lambda: _targets(GaussianNB()).fit(X, T), TypeError, "GaussianNB predicts labels: use it in FullCo"),
    ("classifier, anomalies", lambda: _anomalies(GaussianNB()).fit(X), ValueError, "without labels have one class: us"),
    ("clusterer", lambda: _labels(KMeans(3)).fit(X, Y), TypeError, "KMeans finds clusters, .* use ConformalClusterer"),
    ("detector", lambda: _labels(IsolationForest()).fit(X, Y), TypeError, "detects anomalies: use it in ConformalAnom"),
    ("local outliers", lambda: _anomalies(LocalOutlierFactor()).fit(X), TypeError, r"give LocalOutlierFactor\(novelty"),
    ("transformer", lambda: _anomalies(StandardScaler()).fit(X), TypeError, "neither score_samples nor decision_func"),
    ("measure of labels", lambda: _targets(ModelScore(GaussianNB())).fit(X, T), TypeError, "ModelScore predicts label"),
    ("measure of numbers", lambda: _labels(ModelQuantile(Ridge())).fit(X, Y), TypeError, "ModelQuantile predicts num"),
    ("resampled", lambda: JackknifeAfterBootstrapRegressor(KNNResidual()).fit(X, T), TypeError, "Residual is a measu"),
    ("frozen, resampled", lambda: JackknifeAfterBootstrapRegressor(FROZEN_RIDGE).fit(X, T), TypeError, "trained alrea"),
    ("only decisions", lambda: _labels(ModelScore(LinearSVC())).fit(X, Y), TypeError, r"\(...\), score='odds'"),
    ("aps", lambda: _labels(ModelScore(LinearSVC(), score="aps")).fit(X, Y), TypeError, "'aps' needs probabilities"),
    ("logits", lambda: _labels(ModelScore(GaussianNB(), logits=True)).fit(X, Y), ValueError, "tells of precomputed"),
    ("full Venn", lambda: VennAbersPredictor(GaussianNB()).fit(X, Y), TypeError, "'full' needs .*: use method='induc"),
]
SAID = [
    ("nan", lambda: _labels(Saying(_one_wrong(np.nan))).fit(X, Y), ValueError, "returned nan for object 1: .* Impute"),
    ("negative", lambda: _labels(Saying(_one_wrong([-0.5, 0.5, 1.0]))).fit(X, Y), ValueError, "has -0.5 for object 1"),
    ("sums", lambda: _labels(Saying(lambda m: np.ones((m, 3)))).fit(X, Y), ValueError, "sum to 3 for object 0: expec"),
    ("columns", lambda: _labels(Saying(lambda m: np.full((m, 2), 0.5))).fit(X, Y), ValueError, r"\(20, 2\) for 3 labe"),
    ("rows", lambda: _labels(Saying(lambda m: EQUAL[1:m])).fit(X, Y), ValueError, r"shape \(19, 3\) for 20 objects"),
    ("None", lambda: _labels(Saying(lambda m: None)).fit(X, Y), ValueError, "returned NoneType for 20 objects"),
    ("words", lambda: _labels(Saying(lambda m: ["x"] * m)).fit(X, Y), ValueError, "list that holds no numbers"),
    ("inf target", lambda: _targets(Predicting(lambda m: np.full(m, np.inf))).fit(X, T), ValueError, "inf for object"),
    ("two targets", lambda: _targets(Predicting(lambda m: np.zeros((m, 2)))).fit(X, T), ValueError, "for ModelQuantil"),
    ("one quantile", lambda: _targets(ModelQuantile(Ridge())).fit(X, T), ValueError, "expected two columns, .* second"),
    ("quantiles cross", lambda: _targets(ModelQuantile(CROSSING)).fit(X, T), ValueError, "for 100.% .* Swap the two"),
    ("levels", lambda: _targets(ModelQuantile(0.05, 0.95)).fit(X, T), TypeError, "lower=0.05 is not a regressor: use"),
    ("negative difficulty", lambda: _difficult(lambda X: -np.ones(len(X))), ValueError, "difficulty returned -1.0 for"),
    ("no difficulty", lambda: _difficult(lambda X: np.zeros(len(X))), ValueError, "give a floor above 0"),
    ("difficulty of texts", lambda: _difficult("knn", _mixed(Ridge()), FRAME), ValueError, "of numbers, .* give a"),
    ("difficulty by labels", lambda: _difficult(GaussianNB(), NeverRegressor()), TypeError, "NB predicts labels"),
    ("a floor alone", lambda: _targets(ModelResidual(Ridge(), floor=1.0)).fit(X, T), ValueError, "difficulty=None: gi"),
]
GIVEN = [
    ("no measure", lambda: _labels("precomputed").fit(EQUAL, Y), TypeError, r"Use ModelScore\('precomputed'\)"),
    ("logits unsaid", lambda: _labels(ModelScore("precomputed")).fit(X, Y), ValueError, "give logits as X of ModelSco"),
    ("nan given", lambda: _labels(ModelScore("precomputed")).fit(EQUAL * np.nan, Y), ValueError, "has nan in row 0"),
    ("texts given", lambda: _labels(ModelScore("precomputed")).fit(TEXTS, Y), ValueError, "no array of numbers"),
    ("a label of one example", _one_of_a_label, ValueError, "for 2 labels: .* Name the columns .* by classes="),
    ("one of two", lambda: _targets(ModelQuantile("precomputed")).fit(T, T), ValueError, r"expected shape \(n, 2\)"),
    ("three predictions", lambda: _targets(ModelResidual("precomputed")).fit(X, T), ValueError, r"shape \(n,\) or \(n"),
]
PASSED_ON = [
    ("too few weights", lambda: _labels().fit(X, Y, sample_weight=ONES[1:]), ValueError, "39 values for 40 examples"),
    ("one weight", lambda: _labels().fit(X, Y, sample_weight=2.0), ValueError, "type float for 40 examples: expected"),
    ("no weights", lambda: _targets(Lars()).fit(X, T, sample_weight=ONES), TypeError, "Lars raised TypeError in fit"),
    ("frozen", lambda: _labels(FROZEN).fit(X, Y, sample_weight=ONES), TypeError, "learns nothing more: .* where it is"),
    ("given", lambda: _targets(ModelResidual("precomputed")).fit(T, T, sample_weight=ONES), TypeError, "learns nothin"),
    ("groups", lambda: _folded(GroupKFold(3)), ValueError, "not exchangeable o"),
    ("left out twice", lambda: _folded(ShuffleSplit(9, random_state=0)), ValueError, "out [02-9] times: expected once"),
    ("folds", lambda: _folded(50), ValueError, "use a number from 2 to 40"),
    ("categories", lambda: _labels().fit(X, Y, categories=Y[1:]), ValueError, r"shape \(39,\) for 40 examples"),
    ("forgotten", lambda: _labels(GaussianNB()).fit(X, Y, categories=Y).predict_set(X), ValueError, "Give categories="),
    ("late", lambda: _fitted().predict_set(X, categories=Y), ValueError, "was given here and not in fit"),
    ("a column", lambda: _labels(mondrian="cc").fit(FRAME, Y), ValueError, "not a column of X, .* Did you mean 'c'"),
    ("a column of an array", lambda: _labels(mondrian="labels").fit(X, Y), ValueError, "expected a data frame.*'label"),
    ("a function", lambda: _labels(mondrian=lambda X: 3).fit(X, Y), ValueError, r"shape \(\) for 40 examples"),
]
NAMES = [f"patient {i}" for i in range(40)]
P = RNG.random((40, 3))
SETS = P > 0.2
STREAM = list(zip(X, Y, strict=True))
ENDS = np.column_stack([T - 1, T + 1])


def _clf(**options):
    return FullConformalClassifier(KNN(3), **options)


def _full():
    return _clf().fit(X, Y)


def _reg():
    return FullConformalRegressor(KNNResidual(3)).fit(X, T)


def _piped():
    return own_pipeline(StandardScaler(), _clf()).fit(X, Y)


METRICS = [
    ("names of labels", lambda: metrics.coverage(SETS, np.array(["a"] * 40)), ValueError, "label 'a', .*pass classes="),
    ("p-values for sets", lambda: metrics.coverage(P, Y), ValueError, r"dtype float64; expected bool: .*predict_set\("),
    ("sets of levels", lambda: metrics.set_size(np.stack([SETS] * 2, 2)), ValueError, r"several levels, .*sets\[...,"),
    ("sets for p-values", lambda: metrics.fuzziness(SETS), ValueError, r"dtype bool; .*: pass predict_p\(X\)"),
    ("scores for p-values", lambda: metrics.fuzziness(2 * P), ValueError, r"expected p-values in \[0, 1\]"),
    ("sets for intervals", lambda: metrics.interval_coverage(SETS, T), ValueError, "lower and upper ends: pass predic"),
    ("intervals of levels", lambda: metrics.mean_width(np.zeros((3, 2, 2))), ValueError, r"pass one, intervals\[...,"),
    ("missing target", lambda: metrics.interval_coverage(ENDS, np.where(Y, T, np.nan)), ValueError, "leave out"),
    ("groups of others", lambda: metrics.coverage_by_group(SETS, Y, Y[1:]), ValueError, "groups have shape .39,.; exp"),
    ("no bins", lambda: metrics.coverage_by_bin(SETS, Y, X[:, 0], n_bins=0), ValueError, "not a number of bins: use"),
    ("bins of names", lambda: metrics.coverage_by_bin(SETS, Y, np.array(NAMES)), ValueError, "use coverage_by_group"),
    ("slabs of others", lambda: metrics.worst_slab_coverage(SETS, Y, X[:5]), ValueError, "no finite matrix of 40 test"),
    ("uniformity of a matrix", lambda: metrics.p_value_uniformity(P), ValueError, r"expected \(m,\), .*p.ravel\(\)"),
    ("labels for probabilities", lambda: metrics.expected_calibration_error(Y, Y), ValueError, r"pass predict_proba"),
    ("too few probabilities", lambda: metrics.expected_calibration_error(P[:, :2], Y), ValueError, "label 2, expected"),
    ("a rate beyond 1", lambda: metrics.select_discoveries(P[:, 0], 3), ValueError, "not a rate of false discover"),
    ("hits beyond n", lambda: metrics.binomial_band(5, 3), ValueError, "no frequencies: expected 0 <= hits <= n"),
    ("judged class", lambda: metrics.evaluate(FullConformalClassifier, X, Y), TypeError, r"a class; .*\(...\).fit\(X,"),
    ("judged model", lambda: metrics.evaluate(Ridge().fit(X, T), X, T), TypeError, "Ridge has no prediction sets or i"),
    ("judged by words", lambda: metrics.evaluate(_reg(), X, NAMES), ValueError, "expected numbers .*: pass the tr"),
    ("scored targets", lambda: scorers.fuzziness_scorer(_reg(), X), TypeError, "scorer is for conformal classifie"),
    ("model scored", lambda: scorers.mean_set_size_scorer()(FROZEN, X), TypeError, "FrozenEstimator has no "),
    ("percent of a scorer", lambda: scorers.mean_set_size_scorer(90), ValueError, "not a probability: use a number"),
]
COMPARED = [
    ("compared lengths", lambda: exactcp.compare(X, Y[1:]), ValueError, "X has 40 rows and y has 39 values"),
    ("compared models", lambda: exactcp.compare(X, Y, [Ridge()]), TypeError, r"wrap it, as in FullConformalRegressor"),
    ("two tasks", lambda: exactcp.compare(X, Y, [_full(), _reg()]), ValueError, "compare those of one task"),
    ("compared nothing", lambda: exactcp.compare(X, Y, []), ValueError, "predictors is empty: give one at least"),
    ("compared alone", lambda: exactcp.compare(X, Y, _clf()), TypeError, r"neither a dict nor a list: give \{name: pr"),
    ("one fold", lambda: exactcp.compare(X, Y, [_clf()], cv=1), ValueError, "cv=1 folds of 40 rows: use a number of f"),
    ("chosen on few", lambda: exactcp.compare(X, Y, [_clf()], choose_on=3), ValueError, "cv=5 folds of 3 rows: use"),
    ("compared task", lambda: exactcp.compare(X, Y, task="classify"), ValueError, "not known: use 'auto' or 'classif"),
    ("compared one class", lambda: exactcp.compare(X, Y * 0, [_clf()]), ValueError, "one class only .* expected at le"),
]
PREPARED = [
    ("columns of a pipeline", lambda: _piped().predict_set(X[:, :2]), ValueError, "X has 2 features, .* expecting 3"),
    ("alpha of a pipeline", lambda: _piped().predict_set(X, alpha=0.1), TypeError, "Use confidence_level=, which is 1"),
    ("first in a row", lambda: own_pipeline(_clf(), StandardScaler()).fit(X, Y), TypeError, "should be transformers"),
]
LEVELS = [
    ("a level twice", lambda: _full().predict_frame(X, [0.9, 0.90]), ValueError, "has a level twice, and a frame one"),
    ("no level", lambda: _reg().predict_interval(X, []), ValueError, "has no level: give a number such as 0.95"),
    ("a level in words", lambda: _reg().predict_interval(X, "0.9"), ValueError, "'0.9' is not a probability: use"),
    ("levels of levels", lambda: _reg().predict_interval(X, [[0.8, 0.9]]), ValueError, "is not a probability: use"),
    ("levels of regions", lambda: _reg().predict_region(X, [0.8, 0.9]), ValueError, "is not a probability: use a"),
    ("True as a level", lambda: _full().predict_set(X, True), ValueError, "=True is not a probability: use a number"),
    ("nonempty in words", lambda: _full().predict_set(X, nonempty="yes"), ValueError, "not a boolean: use True or F"),
    ("frames of numpy", lambda: _full().set_output(transform="numpy"), ValueError, "is not a kind of frame: use one"),
    ("columns of a frame", lambda: _reg().predict_frame(X[:, :2]), ValueError, "X has 2 features, .* expecting 3"),
]
STREAMS = [
    ("a negative delay", lambda: progressive(_clf(), STREAM, delay=-1), ValueError, "delay=-1 is not a number of exam"),
    ("a model in a stream", lambda: progressive(GaussianNB(), STREAM), TypeError, "neither p-values nor intervals: ex"),
    ("an empty stream", lambda: progressive(_clf(), []), ValueError, r"the stream ended after 0 example\(s\) with a l"),
    ("objects alone", lambda: progressive(_clf(), X), ValueError, r"of type ndarray: expected pairs \(x, y\), or the"),
    ("river, targets", lambda: RiverRegressor(_clf()), TypeError, r"RiverRegressor got .*: expected a predictor"),
    ("class in river", lambda: RiverClassifier(FullConformalClassifier), TypeError, "got the class .*: expected a"),
]
MISTAKES = DATA + MODELS + SAID + GIVEN + PASSED_ON + METRICS + COMPARED + PREPARED + LEVELS + STREAMS


@pytest.mark.parametrize(("mistake", "error", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in MISTAKES])
@pytest.mark.filterwarnings(
    "ignore:Algorithm 1",
    "ignore:preprocess=",
    "ignore:the pipeline's steps",
    "ignore:X does not have valid feature names",
)
def test_every_mistake_is_a_sentence(mistake, error, sentence):
    with pytest.raises(error, match=f"(?s){sentence}"):
        mistake()


def test_a_sentence_about_columns_is_one_about_vectors_too():
    numbers = FRAME[["a", "b"]]
    fitted = _labels(KNN(3)).fit(numbers, Y)
    with pytest.raises(ValueError, match=r"Give X\[\['a', 'b'\]\]"):
        fitted.predict_set(numbers[["b", "a"]])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda fitted: fitted.fit(X, Y[:-1]),
        lambda fitted: fitted.fit(X[:, :2], Y, sample_weight=ONES[1:]),
        lambda fitted: fitted.fit(X, np.zeros(40)),
        lambda fitted: fitted.fit(FRAME, Y),
        lambda fitted: fitted.set_params(measure=Saying(_one_wrong(np.nan))).fit(X, Y),
        lambda fitted: fitted.calibrate(X, Y + 1),
        lambda fitted: fitted.calibrate(X[:, :2], Y),
        lambda fitted: fitted.partial_fit(X, Y[:-1]),
        lambda fitted: fitted.partial_fit(X, Y, categories=Y),
        lambda fitted: fitted.fit(X, Y, categories=Y[1:]),
    ],
)
@pytest.mark.filterwarnings("ignore:About 50% of the examples that calibrate")
def test_what_was_fitted_stays_as_it_was(spoil):
    fitted = _fitted()
    before, scores, features = fitted.predict_p(X), fitted.calibration_scores_, fitted.n_features_in_
    with pytest.raises(ValueError, match=r"\w"):
        spoil(fitted)
    np.testing.assert_array_equal(fitted.predict_p(X), before)
    assert fitted.calibration_scores_ is scores
    assert fitted.n_features_in_ == features
    assert not hasattr(fitted, "feature_names_in_")


def test_a_frozen_classifier_has_venn_abers_probabilities():
    frozen = VennAbersPredictor(FROZEN, method="inductive").fit(X, Y)
    measured = VennAbersPredictor(ModelScore(FROZEN), method="inductive").fit(X, Y)
    np.testing.assert_array_equal(frozen.predict_proba_interval(X), measured.predict_proba_interval(X))


def test_a_model_whose_fit_returns_nothing_is_used_all_the_same():
    clf = _labels(Saying(lambda m: EQUAL[:m])).fit(X, Y)
    assert clf.predict_p(X).shape == (40, 3)
