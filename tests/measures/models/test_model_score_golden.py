"""Sets and p-values of `ModelScore` equal those that MAPIE and crepes gave, where the scores are defined alike."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from exactcp import SplitConformalClassifier
from exactcp.measures import ModelScore
from exactcp.measures.models import _score
from golden import MODELS, golden, long_sepals, outputs, parts, sets

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


@pytest.mark.parametrize("score", ["probability", "odds"])
@pytest.mark.parametrize("name", ["iris lac", "wine lac", "iris votes lac"])
def test_lac(name, score):
    entry = MAPIE[name]
    data = parts(entry)
    clf = SplitConformalClassifier(ModelScore(clone(MODELS[entry["model"]]), score=score)).fit(*data[:4])
    _assert_sets(clf, data.X_test, entry)


@pytest.mark.parametrize("score", ["probability", "odds"])
def test_lac_of_outputs(score):
    _assert_sets(_digits(score), DIGITS.X_test, MAPIE["digits lac"])


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("iris votes top_k", None),
        ("iris top_k", ("0.8", "0.9")),  # at 0.95 MAPIE calls probabilities below 1e-8 equal
    ],
)
def test_top_k(name, levels):
    entry = MAPIE[name]
    data = parts(entry)
    clf = SplitConformalClassifier(ModelScore(clone(MODELS[entry["model"]]), score="topk")).fit(*data[:4])
    _assert_sets(clf, data.X_test, entry, levels)


def test_top_k_of_outputs():
    _assert_sets(_digits("topk"), DIGITS.X_test, MAPIE["digits top_k"])


def test_aps(monkeypatch):
    _with_their_u(monkeypatch)
    clf = _digits("aps")
    mass = -np.expm1(-clf.calibration_scores_)  # rounded probabilities sum to 1 up to 5e-5
    np.testing.assert_allclose(mass, MAPIE["digits aps randomized"]["scores"], atol=1e-4)
    _assert_sets(clf, DIGITS.X_test, MAPIE["digits aps randomized"])


def test_aps_with_the_last_label(monkeypatch):
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
def test_raps(name, levels, monkeypatch):
    _with_their_u(monkeypatch)
    entry = MAPIE[name]
    clf = _digits("raps", regularisation=entry["regularisation"], k_reg=entry["k_reg"])
    _assert_sets(clf, DIGITS.X_test, entry, levels)


# naive Bayes saturates: differences of 1e-14 between probabilities are ties to us, and none to crepes
@pytest.mark.parametrize("name", [name for name in CREPES if name.startswith(("wine", "iris votes"))])
def test_hinge_and_margin(name):
    entry, data = CREPES[name], parts(CREPES[name])
    measure = ModelScore(clone(MODELS[entry["model"]]), score="margin" if "margin" in name else "probability")
    clf = SplitConformalClassifier(measure, mondrian=TAXONOMIES[name.split()[-1]]).fit(*data[:4])
    np.testing.assert_array_equal(clf.predict_p(data.X_test), entry["p"])
