"""Threads that share a predictor, while nobody changes it and while one does; what its pickle carries of a process."""

from __future__ import annotations

import copy
import pickle
import pickletools
import threading

import numpy as np
import pytest

from exactcp import FullConformalClassifier
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, LassoResidual, RidgeResidual, SimplifiedKNN
from exactcp.measures.neighbours import _tuning
from families import FAMILIES, answers, are_equal
from slices import slow_but

ASKED = ["NN", "KNN", "SimplifiedKNN", "KDE", "LSSVM", "LSSVM rbf", "RidgeResidual rbf", "RandomForest"]


@pytest.mark.parametrize("screen", [False, True])
@pytest.mark.parametrize("name", slow_but(ASKED, [*ASKED, "KNNResidual", "Venn"]))
def test_two_threads_get_the_bits_of_one(name, screen, monkeypatch):
    if screen:
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(small=-1))
    family = FAMILIES[name]
    fitted = pickle.dumps(family.fitted())  # before any question: what questions cache is not there
    expected = answers(family, pickle.loads(fitted))
    for _ in range(4):
        predictor, found, together = pickle.loads(fitted), [], threading.Barrier(2)

        def ask(predictor=predictor, found=found, together=together):
            together.wait()
            found.append(answers(family, predictor))

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [are_equal(one, expected) for one in found] == [True, True]


CHANGED = ["KNN", "SimplifiedKNN", "KDE", "LSSVM", "LSSVM rbf", "RandomForest", "anomaly", "Venn", "KNNResidual"]


def with_room_for_more(family):
    return family.fitted().partial_fit(*family.data().part(-1, None)).unlearn(family.n)


@pytest.mark.parametrize("name", [*CHANGED, "RidgeResidual primal"])
def test_threads_that_read_see_the_old_or_the_new(name):
    family = FAMILIES[name]
    predictor, new = with_room_for_more(family), family.data().part(-1, None)

    def said_by(predictor):  # unlearning leaves the last bits of a solution open
        return [np.asarray(answer, float).round(9).tobytes() for answer in answers(family, predictor)]

    expected = [said_by(predictor), said_by(copy.deepcopy(predictor).partial_fit(*new))]
    found, failures, stop = [], [], threading.Event()

    def read():
        try:
            while not stop.is_set():
                found.append(said_by(predictor))
        except BaseException as error:  # noqa: BLE001  (whatever it is, the test fails)
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for _ in range(25):
            predictor.partial_fit(*new)
            predictor.unlearn(family.n)
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not failures
    assert found
    # each question is answered by the old or the new
    assert all(one in known for said in found for one, *known in zip(said, *expected, strict=True))
    assert said_by(predictor) == expected[0]


@pytest.mark.parametrize("name", [*CHANGED, "RidgeResidual primal"])
def test_a_pickle_carries_nothing_that_the_memory_held_before(name, monkeypatch):
    marker, empty = np.float64(7.25e77), np.empty

    def poisoned(shape, dtype=float, **how):
        out = empty(shape, dtype, **how)
        if out.dtype == np.float64:
            out[...] = marker
        return out

    monkeypatch.setattr(np, "empty", poisoned)
    assert marker.tobytes() not in pickle.dumps(with_room_for_more(FAMILIES[name]).unlearn(3))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_pickle_carries_no_compiled_code(name):
    pickled = pickle.dumps(FAMILIES[name].fitted())
    names = [argument for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)]
    assert "exactcp" in "".join(names)
    assert not [one for one in names if "numba" in one]


X, Y = np.random.default_rng(0).normal(size=(80, 3)), np.arange(80) % 2


@pytest.mark.parametrize(
    "measure",
    [KNN(), SimplifiedKNN(), KDE(), LSSVM(), LSSVM(kernel="rbf"), KNNResidual(), RidgeResidual(), LassoResidual()],
)
def test_a_measure_that_cannot_be_fitted_again_stays_as_it_is(measure):
    before = dict(vars(measure.fit(X, Y)))
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
    before = own.predict_p(X[60:65])
    other, expected = (copy.copy(one).partial_fit(X[60:62], Y[60:62]).unlearn(0) for one in (own, plain))
    np.testing.assert_array_equal(own.predict_p(X[60:65]), before)
    np.testing.assert_array_equal(other.predict_p(X[60:65]), expected.predict_p(X[60:65]))
