"""Our answers equal those that MAPIE and crepes gave on the same data with the same models."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from exactcp import CrossConformalClassifier, CVPlusRegressor, SplitConformalClassifier, SplitConformalRegressor
from golden import MODELS, golden, long_sepals, over_mean, parts, sets

MAPIE, CREPES = golden("mapie"), golden("crepes")
TAXONOMIES = {"plain": None, "labels": "label", "categories": lambda X, y: long_sepals(X)}


@pytest.mark.parametrize("name", ["iris lac", "wine lac", "iris votes lac"])
def test_split_sets_are_those_of_lac(name):
    entry = MAPIE[name]
    data = parts(entry)
    clf = SplitConformalClassifier(clone(MODELS[entry["model"]])).fit(*data[:4])
    for level, expected in entry["sets"].items():
        np.testing.assert_array_equal(clf.predict_set(data.X_test, float(level)), sets(expected))


# naive Bayes saturates: differences of 1e-14 between probabilities are ties to us, and none to crepes
@pytest.mark.parametrize("name", [name for name in CREPES if " hinge " in name and "naive Bayes" not in name])
def test_split_p_values_are_those_of_the_hinge(name):
    entry = CREPES[name]
    data = parts(entry)
    clf = SplitConformalClassifier(clone(MODELS[entry["model"]]), mondrian=TAXONOMIES[name.split()[-1]])
    np.testing.assert_array_equal(clf.fit(*data[:4]).predict_p(data.X_test), entry["p"])


def test_cross_conformal_sets_are_those_of_lac():
    entry = MAPIE["iris cross lac crossval"]
    data = parts(entry)
    clf = CrossConformalClassifier(MODELS["naive Bayes"], cv=KFold(5, shuffle=True, random_state=0)).fit(data.X, data.y)
    # at 0.9, 75 examples: MAPIE wants 0.1 * 74 scores as large, we want more than 0.1 * 76 with the object's own
    for level in (0.8, 0.95):
        np.testing.assert_array_equal(clf.predict_set(data.X_test, level), sets(entry["sets"][str(level)]))


@pytest.mark.parametrize(
    ("entry", "mondrian"),
    [
        (MAPIE["diabetes split"], None),
        (CREPES["diabetes interval plain"], None),
        (CREPES["diabetes interval categories"], over_mean),
    ],
    ids=["mapie", "crepes", "categories"],
)
@pytest.mark.filterwarnings("ignore:.*examples:UserWarning")  # one category has too few for 0.95
def test_split_intervals(entry, mondrian):
    data = parts(entry)
    reg = SplitConformalRegressor(MODELS["ridge"], mondrian=mondrian).fit(*data[:4])
    for level, expected in entry["intervals"].items():
        # BLAS differs between machines
        np.testing.assert_allclose(reg.predict_interval(data.X_test, float(level)), expected, rtol=1e-9)


@pytest.mark.parametrize("method", ["plus", "minmax"])
def test_cv_plus_intervals(method):
    entry = MAPIE[f"diabetes cross {method}"]
    data = parts(entry)
    reg = CVPlusRegressor(MODELS["ridge"], cv=KFold(10), method=method).fit(data.X, data.y)
    for level, expected in entry["intervals"].items():
        np.testing.assert_allclose(reg.predict_interval(data.X_test, float(level)), expected, rtol=1e-9)
