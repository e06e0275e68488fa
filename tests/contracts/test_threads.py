"""Two threads that ask one fitted predictor get the bits that one gets."""

from __future__ import annotations

import pickle
import pickletools
import threading

import pytest

from exactcp.measures.neighbours import _tuning
from families import FAMILIES, answers, are_equal
from slices import slow_but

ASKED = [
    "NN",
    "KNN",
    "SimplifiedKNN",
    "KDE",
    "LSSVM",
    "LSSVM rbf",
    "KNNResidual",
    "RidgeResidual rbf",
    "RandomForest",
    "Venn",
]


@pytest.mark.parametrize("screen", [False, True])
@pytest.mark.parametrize("name", slow_but([name for name in ASKED if name not in ("KNNResidual", "Venn")], ASKED))
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


@pytest.mark.parametrize("name", FAMILIES)
def test_a_pickle_carries_no_compiled_code(name):
    pickled = pickle.dumps(FAMILIES[name].fitted())
    names = [argument for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)]
    assert "exactcp" in "".join(names)
    assert not [one for one in names if "numba" in one]
