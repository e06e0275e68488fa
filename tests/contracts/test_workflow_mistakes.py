"""What users get wrong around a prediction (metrics, files, pipelines, ids, levels, streams): each is a sentence."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from test_users_mistakes import MISTAKES as MISTAKES_WITH_MODELS

import exactcp
from exactcp import FullConformalClassifier, FullConformalRegressor, SplitConformalClassifier, metrics
from exactcp.measures import KNN, KNNResidual
from exactcp.metrics import scorers
from exactcp.online import AdaptiveLevel, progressive
from exactcp.online.river import RiverClassifier, RiverRegressor
from exactcp.pipeline import make_pipeline

pd = pytest.importorskip("pandas")
pytest.importorskip("skops")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = np.arange(40) % 3
T = X[:, 0] + RNG.normal(size=40)
NAMES = [f"patient {i}" for i in range(40)]
P = RNG.random((40, 3))
SETS = P > 0.2
STREAM = list(zip(X, Y, strict=True))
ENDS = np.column_stack([T - 1, T + 1])


def _clf(**options):
    return FullConformalClassifier(KNN(3), **options)


def _labels():
    return _clf().fit(X, Y)


def _named():
    return _clf().fit(X, Y, ids=NAMES)


def _targets():
    return FullConformalRegressor(KNNResidual(3)).fit(X, T)


def _pipe():
    return make_pipeline(StandardScaler(), _clf()).fit(X, Y)


METRICS = [
    ("other labels", lambda: metrics.coverage(SETS, Y + 5), ValueError, "y has the label 5, expected one of .*classes"),
    ("names of labels", lambda: metrics.coverage(SETS, np.array(["a"] * 40)), ValueError, "label 'a', .*pass classes="),
    ("lengths", lambda: metrics.coverage(SETS, Y[:-1]), ValueError, "expected shape .40,.: pass one true label"),
    ("p-values for sets", lambda: metrics.coverage(P, Y), ValueError, r"dtype float64; expected bool: .*predict_set\("),
    ("sets of levels", lambda: metrics.set_size(np.stack([SETS] * 2, 2)), ValueError, r"several levels, .*sets\[...,"),
    ("sets for p-values", lambda: metrics.fuzziness(SETS), ValueError, r"dtype bool; .*: pass predict_p\(X\)"),
    ("scores for p-values", lambda: metrics.fuzziness(2 * P), ValueError, r"expected p-values in \[0, 1\]"),
    ("sets for intervals", lambda: metrics.interval_coverage(SETS, T), ValueError, "lower and upper ends: pass predic"),
    ("intervals of levels", lambda: metrics.mean_width(np.zeros((3, 2, 2))), ValueError, r"pass one, intervals\[...,"),
    (
        "a target that is missing",
        lambda: metrics.interval_coverage(ENDS, np.where(Y, T, np.nan)),
        ValueError,
        "leave out",
    ),
    ("percent of a score", lambda: metrics.interval_score(ENDS, T, 90), ValueError, "not a probability: use a number"),
    ("groups of others", lambda: metrics.coverage_by_group(SETS, Y, Y[1:]), ValueError, "groups have shape .39,.; exp"),
    ("no bins", lambda: metrics.coverage_by_bin(SETS, Y, X[:, 0], n_bins=0), ValueError, "not a number of bins: use"),
    ("bins of names", lambda: metrics.coverage_by_bin(SETS, Y, np.array(NAMES)), ValueError, "use coverage_by_group"),
    ("slabs of others", lambda: metrics.worst_slab_coverage(SETS, Y, X[:5]), ValueError, "no finite matrix of 40 test"),
    ("uniformity of a matrix", lambda: metrics.p_value_uniformity(P), ValueError, r"expected \(m,\), .*p.ravel\(\)"),
    (
        "labels for probabilities",
        lambda: metrics.expected_calibration_error(Y, Y),
        ValueError,
        r"pass predict_proba\(X\) or predict_pro",
    ),
    ("too few probabilities", lambda: metrics.expected_calibration_error(P[:, :2], Y), ValueError, "label 2, expected"),
    (
        "a rate beyond 1",
        lambda: metrics.select_discoveries(P[:, 0], 3),
        ValueError,
        "not a rate of false discoveries: use a numbe",
    ),
    ("hits beyond n", lambda: metrics.binomial_band(5, 3), ValueError, "no frequencies: expected 0 <= hits <= n"),
    ("negative hits", lambda: metrics.binomial_band([0, -1], [3, 3]), ValueError, "expected 0 <= hits <= n"),
    ("judged unfitted", lambda: metrics.evaluate(_clf(), X, Y), NotFittedError, "not fitted yet. Call 'fit'"),
    ("judged class", lambda: metrics.evaluate(FullConformalClassifier, X, Y), TypeError, r"a class; .*\(...\).fit\(X,"),
    ("judged model", lambda: metrics.evaluate(Ridge().fit(X, T), X, T), TypeError, "Ridge has no prediction sets or i"),
    ("judged lengths", lambda: metrics.evaluate(_labels(), X, Y[1:]), ValueError, "expected shape .40,.: pass one tru"),
    ("judged at no level", lambda: metrics.evaluate(_labels(), X, Y, []), ValueError, "has no level: give a number"),
    ("judged by others", lambda: metrics.evaluate(_labels(), X, Y + 9), ValueError, "y has the label 9, expected one"),
    ("judged by words", lambda: metrics.evaluate(_targets(), X, NAMES), ValueError, "expected numbers .*: pass the tr"),
    ("scored targets", lambda: scorers.fuzziness_scorer(_targets(), X), TypeError, "scorer is for conformal classifie"),
    (
        "scored labels",
        lambda: scorers.interval_score_scorer()(_labels(), X, Y),
        TypeError,
        "for conformal regressors. U",
    ),
    (
        "scored model",
        lambda: scorers.mean_set_size_scorer()(GaussianNB().fit(X, Y), X),
        TypeError,
        "GaussianNB has no p",
    ),
    ("percent of a scorer", lambda: scorers.mean_set_size_scorer(90), ValueError, "not a probability: use a number"),
]
COMPARED = [
    ("compared lengths", lambda: exactcp.compare(X, Y[1:]), ValueError, "X has 40 rows and y has 39 values"),
    ("compared models", lambda: exactcp.compare(X, Y, [Ridge()]), TypeError, r"wrap it, as in FullConformalRegressor"),
    ("compared tasks", lambda: exactcp.compare(X, Y, [_labels(), _targets()]), ValueError, "compare those of one task"),
    ("compared nothing", lambda: exactcp.compare(X, Y, []), ValueError, "predictors is empty: give one at least"),
    ("compared alone", lambda: exactcp.compare(X, Y, _clf()), TypeError, r"neither a dict nor a list: give \{name: pr"),
    ("one fold", lambda: exactcp.compare(X, Y, [_clf()], cv=1), ValueError, "cv=1 folds of 40 rows: use a number of f"),
    (
        "compared at levels",
        lambda: exactcp.compare(X, Y, [_clf()], [0.8, 0.9]),
        ValueError,
        "not a probability: use a n",
    ),
    ("chosen on few", lambda: exactcp.compare(X, Y, [_clf()], choose_on=3), ValueError, "cv=5 folds of 3 rows: use"),
    ("compared task", lambda: exactcp.compare(X, Y, task="classify"), ValueError, "not known: use 'auto', 'classifica"),
    ("compared one class", lambda: exactcp.compare(X, Y * 0, [_clf()]), ValueError, "one class only .* expected at le"),
]
PREPARED = [
    ("a pipeline unfitted", lambda: make_pipeline(_clf()).predict_set(X), NotFittedError, "not fitted yet. Call 'fit'"),
    ("sets of a model", lambda: make_pipeline(GaussianNB()).predict_set, AttributeError, "no attribute 'predict_set'"),
    ("intervals of labels", lambda: _pipe().predict_interval(X), AttributeError, "no attribute 'predict_interval'"),
    ("columns of a pipeline", lambda: _pipe().predict_set(X[:, :2]), ValueError, "X has 2 features, .* expecting 3"),
    ("alpha of a pipeline", lambda: _pipe().predict_set(X, alpha=0.1), TypeError, "Use confidence_level=, which is 1"),
    (
        "a pipeline that cannot unlearn",
        lambda: make_pipeline(SplitConformalClassifier(GaussianNB())).unlearn,
        AttributeError,
        "no attribute 'unlearn'",
    ),
    (
        "a predictor first",
        lambda: make_pipeline(_clf(), StandardScaler()).fit(X, Y),
        TypeError,
        "should be transformers",
    ),
    ("a scaler's class", lambda: _clf(preprocess=StandardScaler).fit(X, Y), TypeError, r"give an instance, StandardSc"),
    ("a scaler's name", lambda: _clf(preprocess="scale").fit(X, Y), TypeError, "'scale' is not a transformer: use an"),
    ("a model as a scaler", lambda: _clf(preprocess=Ridge()).fit(X, Y), TypeError, r"Ridge\(\) is not a transformer:"),
    ("supervised", lambda: _clf(preprocess=SelectKBest(k=2)).fit(X, Y), ValueError, "learns from labels, .* FrozenEst"),
    (
        "prepared on what",
        lambda: _clf(preprocess=StandardScaler(), preprocess_on="train").fit(X, Y),
        ValueError,
        "preprocess_on='train' is not known: use 'together' or 'training'",
    ),
    ("prepared by nothing", lambda: _clf(preprocess_on="training").fit(X, Y), ValueError, "without preprocess=: leave"),
    (
        "prepared words",
        lambda: _clf(preprocess=StandardScaler()).fit([["a", "b"]] * 40, Y),
        ValueError,
        "StandardScaler raised .* given X of type list",
    ),
    (
        "a frame and an array",
        lambda: _clf(preprocess=StandardScaler()).fit(pd.DataFrame(X, columns=list("abc")), Y).predict_set(X),
        TypeError,
        "X is of type ndarray, and fit got DataFrame: expected the same",
    ),
    (
        "prepared distances",
        lambda: FullConformalClassifier(KNN(3, metric="precomputed"), preprocess=StandardScaler()).fit(X @ X.T, Y),
        ValueError,
        "nothing to transform: X holds precomputed values",
    ),
]
NAMED = [
    ("too few ids", lambda: _clf().fit(X, Y, ids=NAMES[1:]), ValueError, "ids has 39 values for 40 examples: expected"),
    ("an id twice", lambda: _clf().fit(X, Y, ids=["a"] * 40), ValueError, "ids has 'a' twice: expected each id once"),
    ("one id for all", lambda: _clf().fit(X, Y, ids="a"), TypeError, "'a' is of type str: expected a list or array"),
    ("ids that are missing", lambda: _clf().fit(X, Y, ids=[None] * 40), ValueError, r"missing value, ids\[0\]=None: e"),
    ("ids that are lists", lambda: _clf().fit(X, Y, ids=X.tolist()), TypeError, "cannot be looked up: expected texts,"),
    ("an unknown id", lambda: _named().unlearn(ids=["Ada"]), KeyError, "no example has the id 'Ada': it was never lea"),
    (
        "ids from now on",
        lambda: _labels().partial_fit(X[:1], Y[:1], ids=["a"]),
        ValueError,
        "here and not in fit: give",
    ),
    ("ids no more", lambda: _named().partial_fit(X[:1], Y[:1]), ValueError, "this call has none: give ids= here, too"),
    ("a known id", lambda: _named().partial_fit(X[:1], Y[:1], ids=NAMES[3:4]), ValueError, "ids has 'patient 3', whic"),
    ("positions and ids", lambda: _named().unlearn([0], ids=NAMES[:1]), TypeError, "both indices and ids: expected on"),
    ("ids of nobody", lambda: _labels().unlearn(ids=NAMES[:1]), ValueError, "fit got none: give fit.*, or unlearn by"),
    ("forgetting nobody", lambda: _labels().unlearn(), TypeError, "neither indices nor ids: expected one of them"),
    ("forgetting all", lambda: _targets().unlearn(range(40)), ValueError, "all 40 examples would leave none: keep one"),
    ("forgetting who", lambda: _labels().unlearn(40), IndexError, "index 40 is not there: the 40 examples have the po"),
]
LEVELS = [
    (
        "a level twice",
        lambda: _labels().predict_frame(X, [0.9, 0.90]),
        ValueError,
        "has a level twice, and a frame one col",
    ),
    ("a level beyond 1", lambda: _labels().predict_set(X, [0.8, 1.2]), ValueError, "confidence_level=1.2 is not a pro"),
    ("no level", lambda: _targets().predict_interval(X, []), ValueError, "has no level: give a number such as 0.95"),
    ("a level in words", lambda: _targets().predict_interval(X, "0.9"), ValueError, "'0.9' is not a probability: use"),
    ("levels of levels", lambda: _targets().predict_interval(X, [[0.8, 0.9]]), ValueError, "is not a probability: use"),
    ("levels of regions", lambda: _targets().predict_region(X, [0.8, 0.9]), ValueError, "is not a probability: use a"),
    ("None as a level", lambda: _labels().predict_set(X, None), ValueError, "=None is not a probability: use a number"),
    ("True as a level", lambda: _labels().predict_set(X, True), ValueError, "=True is not a probability: use a number"),
    ("nonempty in words", lambda: _labels().predict_set(X, nonempty="yes"), ValueError, "not a boolean: use True or F"),
    (
        "nonempty intervals",
        lambda: _targets().predict_interval(X, nonempty=True),
        TypeError,
        "does not have: it takes X, ",
    ),
    ("percent of a frame", lambda: _labels().predict_frame(X, 90), ValueError, "confidence_level=90 is not a probabil"),
    ("frames of numpy", lambda: _labels().set_output(transform="numpy"), ValueError, "is not a kind of frame: use one"),
    ("columns of a frame", lambda: _targets().predict_frame(X[:, :2]), ValueError, "X has 2 features, .* expecting 3"),
]
STREAMS = [
    ("a negative delay", lambda: progressive(_clf(), STREAM, delay=-1), ValueError, "delay=-1 is not a number of exam"),
    (
        "percent of a stream",
        lambda: progressive(_clf(), STREAM, confidence_level=90),
        ValueError,
        "not a probability",
    ),
    ("a model in a stream", lambda: progressive(GaussianNB(), STREAM), TypeError, "neither p-values nor intervals: ex"),
    ("an empty stream", lambda: progressive(_clf(), []), ValueError, r"the stream ended after 0 example\(s\) with a l"),
    ("a late beginning", lambda: progressive(_clf(), STREAM, n_initial=100), ValueError, "and the stream has 40"),
    (
        "a text as a stream",
        lambda: progressive(_clf(), "abc"),
        ValueError,
        "the stream has 'a', of type str: expected pairs",
    ),
    (
        "objects alone",
        lambda: progressive(_clf(), X),
        ValueError,
        r"of type ndarray: expected pairs \(x, y\), or the pair",
    ),
    (
        "an adaptive class",
        lambda: AdaptiveLevel(FullConformalClassifier).fit(X, Y),
        TypeError,
        "not a conformal predictor: use an instance",
    ),
    ("river around a model", lambda: RiverClassifier(GaussianNB()), TypeError, "expected a predictor such as FullConf"),
    (
        "river the other way",
        lambda: RiverRegressor(_clf()),
        TypeError,
        r"RiverRegressor got .*: expected a predictor su",
    ),
    (
        "river around a class",
        lambda: RiverClassifier(FullConformalClassifier),
        TypeError,
        "got the class .*: expected a",
    ),
    ("a step back", lambda: AdaptiveLevel(_clf(), gamma=-1).fit(X, Y), ValueError, "not the size of a step: use a num"),
    (
        "an adaptive percent",
        lambda: AdaptiveLevel(_clf(), confidence_level=90).fit(X, Y),
        ValueError,
        "not a probability",
    ),
    ("an adaptive model", lambda: AdaptiveLevel(GaussianNB()).fit(X, Y), TypeError, "not a conformal predictor: use a"),
    ("nothing to adapt", lambda: AdaptiveLevel(_clf()).predict_set(X), NotFittedError, "has learned nothing, .*: fit"),
]
FILES = [
    ("nothing to save", lambda path: exactcp.save(_clf(), path), NotFittedError, "nothing to save: call fit first"),
    ("saved data", lambda path: exactcp.save(X, path), TypeError, "got a ndarray: expected a fitted predictor or meas"),
    (
        "saved elsewhere",
        lambda path: exactcp.save(_labels(), path / "b" / "m"),
        FileNotFoundError,
        "No such file or dir",
    ),
    ("saved to a number", lambda _: exactcp.save(_labels(), 3), TypeError, "is of type int: expected the name of a fi"),
    ("saved the other way", lambda path: exactcp.save(path, _labels()), TypeError, "expected the name of a file, such"),
    ("saved model", lambda path: exactcp.save(Ridge().fit(X, T), path), TypeError, "nothing of exactcp: .* skops.io.d"),
    (
        "saved function",
        lambda path: exactcp.save(_clf(mondrian=lambda X: X[:, 0] > 0).fit(X, Y), path),
        TypeError,
        "which no module names, .*: define it at the top of a module, and use no lambda",
    ),
    ("no file", lambda path: exactcp.load(path / "none"), FileNotFoundError, "a saved model cannot be read: No such f"),
    ("a folder", lambda path: exactcp.load(path.parent), IsADirectoryError, "a saved model cannot be read"),
    ("another file", lambda _: exactcp.load(__file__), ValueError, "is damaged, or no file of exactcp.save .*Save it"),
]
MISTAKES = METRICS + COMPARED + PREPARED + NAMED + LEVELS + STREAMS


@pytest.mark.parametrize(("mistake", "error", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in MISTAKES])
@pytest.mark.filterwarnings(
    "ignore:preprocess=", "ignore:the pipeline's steps", "ignore:X does not have valid feature names"
)
def test_every_mistake_is_a_sentence(mistake, error, sentence):
    with pytest.raises(error, match=f"(?s){sentence}"):
        mistake()


@pytest.mark.parametrize(("mistake", "error", "sentence"), [pytest.param(*row[1:], id=row[0]) for row in FILES])
def test_every_mistake_with_files_is_a_sentence(mistake, error, sentence, tmp_path):
    with pytest.raises(error, match=f"(?s){sentence}"):
        mistake(tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_how_many_mistakes_there_are():
    names = [row[0] for row in MISTAKES + FILES]
    assert len(set(names)) == len(names)
    assert len(names) + len(MISTAKES_WITH_MODELS) >= 250
