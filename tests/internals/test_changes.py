"""Others notice a change of an estimator all at once: copies, threads that read, processes that were forked."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from exactcp import (
    ConformalAnomalyDetector,
    FullConformalClassifier,
    FullConformalRegressor,
    VennPredictor,
)
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, LassoResidual, RandomForest, RidgeResidual, SimplifiedKNN

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(80, 3)), np.arange(80) % 2
PROBES = RNG.normal(size=(5, 3))

CLASSIFIERS = {
    "KNN": FullConformalClassifier(KNN(k=3), mondrian="label"),
    "SimplifiedKNN": FullConformalClassifier(SimplifiedKNN(k=3)),
    "KDE": FullConformalClassifier(KDE(1.0)),
    "LSSVM": FullConformalClassifier(LSSVM()),
    "LSSVM rbf": FullConformalClassifier(LSSVM(kernel="rbf")),
    "forest": FullConformalClassifier(RandomForest(n_estimators=5, random_state=0)),
    "anomaly": ConformalAnomalyDetector(),
    "Venn": VennPredictor(k=3),
    "KNNResidual": FullConformalRegressor(KNNResidual(k=3)),
    "RidgeResidual": FullConformalRegressor(RidgeResidual()),
}


def _answer(predictor):
    if isinstance(predictor, VennPredictor):
        return predictor.predict_proba_interval(PROBES)
    if isinstance(predictor, FullConformalRegressor):
        return predictor.predict_interval(PROBES, 0.8).round(9)  # unlearning leaves the last bits of a solution open
    return predictor.predict_p(PROBES)


@pytest.fixture(params=CLASSIFIERS)
def predictor(request):
    predictor = copy.deepcopy(CLASSIFIERS[request.param]).fit(X[:60], Y[:60])
    return predictor.partial_fit(X[60:61], Y[60:61]).unlearn(60)  # with room for more


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.partial_fit(X[60:61], Y[60:61]),
        lambda e: e.unlearn([0]),
        lambda e: e.partial_fit(X[60:], Y[60:]),
        lambda e: e.unlearn(np.arange(20)),
    ],
)
def test_a_shallow_copy_changes_by_itself(predictor, change):
    before, other = _answer(predictor), copy.copy(predictor)
    change(other)
    np.testing.assert_array_equal(_answer(predictor), before)
    fresh = copy.deepcopy(predictor)
    change(fresh)
    np.testing.assert_array_equal(_answer(other), _answer(fresh))
    change(predictor)
    np.testing.assert_array_equal(_answer(predictor), _answer(fresh))


def test_threads_that_read_see_the_old_or_the_new(predictor):
    old = _answer(predictor)
    changed = copy.deepcopy(predictor).partial_fit(X[60:61], Y[60:61])
    new, answers, failures = _answer(changed), [], []
    stop = threading.Event()

    def read():
        try:
            while not stop.is_set():
                answers.append(_answer(predictor))
        except BaseException as error:  # noqa: BLE001  (whatever it is, the test fails)
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(25):
            predictor.partial_fit(X[60:61], Y[60:61])
            predictor.unlearn(60)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not failures
    assert answers
    assert all(np.array_equal(answer, old) or np.array_equal(answer, new) for answer in answers)
    np.testing.assert_array_equal(_answer(predictor), old)


def test_pickles_and_copies_have_no_locks(predictor):
    for other in (pickle.loads(pickle.dumps(predictor)), copy.deepcopy(predictor)):
        np.testing.assert_array_equal(_answer(other), _answer(predictor))
        other.partial_fit(X[60:61], Y[60:61])


def test_pickles_carry_nothing_that_the_memory_held_before(predictor, monkeypatch):
    marker = np.float64(7.25e77)
    empty = np.empty

    def poisoned(shape, dtype=float, **how):
        out = empty(shape, dtype, **how)
        if out.dtype == np.float64:
            out[...] = marker
        return out

    monkeypatch.setattr(np, "empty", poisoned)
    predictor.fit(X[:60], Y[:60]).partial_fit(X[60:61], Y[60:61]).unlearn(3)
    assert marker.tobytes() not in pickle.dumps(predictor)


@pytest.mark.parametrize(
    "measure",
    [KNN(), SimplifiedKNN(), KDE(), LSSVM(), LSSVM(kernel="rbf"), KNNResidual(), RidgeResidual(), LassoResidual()],
)
def test_a_measure_that_cannot_be_fitted_again_stays_as_it_is(measure):
    fitted = measure.fit(X, Y)
    assert fitted is measure
    before = dict(vars(measure))
    with pytest.raises(ValueError, match="whose squares overflow"):
        measure.fit(np.full((10, 2), 1e200), Y[:10])
    assert vars(measure).keys() == before.keys()
    assert all(vars(measure)[name] is value for name, value in before.items())


def test_a_bag_of_another_kind_is_copied_before_it_changes():
    class Plain:
        """A user's bag, with the methods that a bag must have and no others."""

        def __init__(self, bag):
            self.bag = bag

        def __getattr__(self, name):
            if name in ("label_counts", "learn", "unlearn", "relabel", "codes", "sizes", "n", "scores"):
                return getattr(self.__dict__["bag"], name)
            raise AttributeError(name)

    class Own(KNN):
        def bag(self, X, codes, n_labels, **how):
            return Plain(super().bag(X, codes, n_labels, **how))

    own, plain = (FullConformalClassifier(measure).fit(X[:60], Y[:60]) for measure in (Own(k=3), KNN(k=3)))
    before = own.predict_p(PROBES)
    other = copy.copy(own).partial_fit(X[60:62], Y[60:62]).unlearn(0)
    np.testing.assert_array_equal(own.predict_p(PROBES), before)
    np.testing.assert_array_equal(
        other.predict_p(PROBES), plain.partial_fit(X[60:62], Y[60:62]).unlearn(0).predict_p(PROBES)
    )
