"""Shards give what one bag of all examples gives: every measure, hostile data, one to nine shards of any sizes."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from exactcp.counting.categories import Within
from exactcp.counting.labels import new_label_counts
from exactcp.measures import KDE, LSSVM, KNNResidual, RandomForest, RidgeResidual
from exactcp.measures._shards import WithinShards
from hostile import KINDS, LABELS, hostile
from shards import AtOnce, Scrambled, cuts, label_shards, result_of, target_shards
from slices import sliced

TARGET_MEASURES: dict[str, tuple[Any, int]] = {  # and how many examples
    "KNNResidual 1": (KNNResidual(1), 60),
    "KNNResidual 4": (KNNResidual(4), 60),
    "KNNResidual 100": (KNNResidual(100), 30),
    "KNNResidual manhattan": (KNNResidual(4, metric="manhattan"), 40),
    "RidgeResidual": (RidgeResidual(), 60),
    "RidgeResidual ordinary": (RidgeResidual(0.1, residual="ordinary"), 40),
    "RidgeResidual deleted": (RidgeResidual(10.0, residual="deleted", fit_intercept=False), 40),
}


class TargetQuestions(NamedTuple):
    """Examples, what is asked about them, and what one bag answers."""

    X: np.ndarray
    y: np.ndarray
    asked: np.ndarray
    candidates: np.ndarray
    thresholds: np.ndarray
    categories: np.ndarray
    wanted: np.ndarray
    answers: dict[str, Any]


@cache
def target_questions(name: str, kind: str) -> TargetQuestions:
    measure, n = TARGET_MEASURES[name]
    X, _, asked = hostile(kind, "two", seed=3, n=n, p=3)
    rng, m = np.random.default_rng(n), asked.shape[0]
    y = rng.normal(size=n) + 1e6 * (kind == "shell")
    if kind in ("grid", "duplicates", "constant"):
        y = rng.integers(-2, 3, n).astype(float)
    candidates, thresholds = rng.choice(y, m), rng.integers(-1, n + 3, m)
    categories, wanted = rng.integers(0, 3, n), rng.integers(-1, 4, m)
    bag, within = measure.bag(X, y), Within(categories, wanted)
    answers = {
        "predict": bag.predict(asked),
        "counts": np.stack(bag.counts(asked, candidates)),
        "intervals": bag.intervals(asked, thresholds),
        "counts within": np.stack(bag.counts(asked, candidates, within=within)),
        "intervals within": bag.intervals(asked, thresholds, within=within),
    }
    return TargetQuestions(X, y, asked, candidates, thresholds, categories, wanted, answers)


def target_answers(name: str, asked: TargetQuestions, n_shards: int, tasks: Any) -> dict[str, Any]:
    bounds, sharded = cuts(asked.y.size, n_shards, seed=n_shards), TARGET_MEASURES[name][0].sharded()
    states = sharded.states(tasks, target_shards(asked.X, asked.y, bounds))
    within = WithinShards(np.split(asked.categories, bounds[1:-1]), asked.wanted)
    found = {
        "predict": sharded.predict(tasks, states, asked.asked),
        "counts": sharded.counts(tasks, states, asked.asked, asked.candidates),
        "intervals": sharded.intervals(tasks, states, asked.asked, asked.thresholds),
        "counts within": sharded.counts(tasks, states, asked.asked, asked.candidates, within),
        "intervals within": sharded.intervals(tasks, states, asked.asked, asked.thresholds, within),
    }
    return {question: np.asarray(result_of(tasks, promise)) for question, promise in found.items()}


def assert_equal_answers(name: str, asked: TargetQuestions, found: dict[str, Any]) -> None:
    """Compare counts, and numbers: bit for bit, but for ridge regression, whose sums round."""
    for question, answer in found.items():
        if question.startswith("counts") or not name.startswith("Ridge"):
            np.testing.assert_array_equal(answer, asked.answers[question], err_msg=question)
        else:
            size = np.abs(asked.y).max() + np.abs(asked.answers["predict"])
            found_there, wanted = (values.T / size for values in (answer, asked.answers[question]))
            np.testing.assert_allclose(found_there, wanted, rtol=1e-9, atol=1e-10, err_msg=question)


@pytest.mark.parametrize(("name", "kind", "n_shards"), sliced(12, TARGET_MEASURES, KINDS, range(1, 10)))
def test_targets_in_shards_equal_one_bag(name, kind, n_shards):
    asked = target_questions(name, kind)
    assert_equal_answers(name, asked, target_answers(name, asked, n_shards, AtOnce()))


@pytest.mark.parametrize(("name", "n_shards"), sliced(3, TARGET_MEASURES, [2, 5]))
def test_tasks_of_targets_depend_on_their_arguments_only(name, n_shards):
    asked = target_questions(name, "grid")
    assert_equal_answers(name, asked, target_answers(name, asked, n_shards, Scrambled(n_shards)))


N_LABELS = 5
LABEL_MEASURES: dict[str, tuple[Any, int]] = {
    "KDE": (KDE(), 60),
    "KDE tophat scott": (KDE("scott", "tophat"), 40),
    "KDE exponential 0.1": (KDE(0.1, "exponential"), 40),
    "LSSVM": (LSSVM(), 60),
    "LSSVM 0.01 without a bias": (LSSVM(0.01, fit_intercept=False), 40),
    "RandomForest": (RandomForest(5, random_state=1), 40),
    "RandomForest bernoulli": (RandomForest(4, resampling="bernoulli", random_state=2), 30),
}


class LabelQuestions(NamedTuple):
    """Examples, what is asked about them, and what one bag answers."""

    X: np.ndarray
    codes: np.ndarray
    asked: np.ndarray
    categories: np.ndarray
    wanted: np.ndarray
    counts: Any
    counts_within: Any


@cache
def label_questions(name: str, kind: str, n_shards: int) -> LabelQuestions:
    measure, n = LABEL_MEASURES[name]
    X, codes, asked = hostile(kind, LABELS[n_shards % 5], seed=n_shards, n=n, p=3)
    if name.startswith("LSSVM"):
        asked = asked[:-1]  # so far away that the last digits of the coefficients are the prediction, in one bag, too
    codes, rng = np.sort(codes) if n_shards % 2 else codes, np.random.default_rng(n_shards)
    categories, wanted = rng.integers(0, 3, n), rng.integers(-1, 4, (asked.shape[0], N_LABELS))
    bag = measure.bag(X, codes, N_LABELS)
    return LabelQuestions(
        X, codes, asked, categories, wanted, bag.label_counts(asked), _within(bag, asked, categories, wanted)
    )


def _within(bag: Any, asked: np.ndarray, categories: np.ndarray, wanted: np.ndarray) -> Any:
    """Return the counts within categories; a forest's from all of its scores, which are whole numbers."""
    counts = bag.category_counts(asked, categories, wanted)
    if counts is not None:
        return counts
    out = new_label_counts(*wanted.shape)
    for t, (training, candidates) in enumerate(bag.scores(asked)):
        for c in range(wanted.shape[1]):
            member, same = categories == wanted[t, c], bag.codes() == c
            for some, (greater, equal) in ((same, out[:2]), (~same, out[2:4])):
                greater[t, c] = (training[c, member & some] > candidates[c]).sum()
                equal[t, c] = (training[c, member & some] == candidates[c]).sum()
        out.scores[t] = candidates
    return out


def assert_equal_label_counts(name: str, asked: LabelQuestions, n_shards: int, tasks: Any) -> None:
    bounds, sharded = cuts(asked.codes.size, n_shards, seed=n_shards), LABEL_MEASURES[name][0].sharded()
    states = sharded.states(tasks, label_shards(asked.X, asked.codes, bounds), N_LABELS)
    categories = np.split(asked.categories, bounds[1:-1])
    counts = sharded.label_counts(tasks, states, asked.asked)
    within = sharded.category_counts(tasks, states, asked.asked, categories, asked.wanted)
    for promise, wanted in ((counts, asked.counts), (within, asked.counts_within)):
        found = result_of(tasks, promise)
        for field in wanted._fields[:4]:
            np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field), err_msg=field)
        np.testing.assert_allclose(found.scores, wanted.scores, rtol=1e-9, atol=1e-9)  # they round


@pytest.mark.parametrize(("name", "kind", "n_shards"), sliced(12, LABEL_MEASURES, KINDS, range(1, 10)))
def test_labels_in_shards_equal_one_bag(name, kind, n_shards):
    assert_equal_label_counts(name, label_questions(name, kind, n_shards), n_shards, AtOnce())


@pytest.mark.parametrize(("name", "n_shards"), sliced(3, LABEL_MEASURES, [2, 5]))
def test_tasks_of_labels_depend_on_their_arguments_only(name, n_shards):
    assert_equal_label_counts(name, label_questions(name, "grid", n_shards), n_shards, Scrambled(n_shards))
