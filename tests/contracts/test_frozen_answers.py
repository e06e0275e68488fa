"""The answers are those of the commit that froze them: counts exactly, floats as near as processors agree.

On the same data with the same models, some are those that MAPIE and crepes gave.
"""

from __future__ import annotations

import copy
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold

from exactcp import CrossConformalClassifier, CVPlusRegressor, SplitConformalClassifier, SplitConformalRegressor
from frozen_cases import KINDS, every_case
from frozen_store import Case, Store, difference, exact, faults_of, line_of, name_of, near, thin
from golden import MODELS, golden, long_sepals, over_mean, parts, sets
from measure_table import MEASURES

cases_of = cache(every_case)
MEASURES_OF = [(kind, measure) for kind in KINDS for measure in dict.fromkeys(case.measure for case in cases_of(kind))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_slice_with_everything_of_its_kind(kind):
    store = Store(kind)
    assert not [fault for case in thin(cases_of(kind)) for fault in faults_of(case, store)]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "measure"), MEASURES_OF)
def test_all(kind, measure):
    store = Store(kind)
    cases = [case for case in cases_of(kind) if case.measure == measure]
    assert not [fault for case in cases for fault in faults_of(case, store)]


def test_the_slice_has_every_measure_and_all_that_is_frozen_is_asked():
    for kind in KINDS:
        store, cases = Store(kind), cases_of(kind)
        kept = thin(cases)
        for field in ("measure", "problem", "route", "history"):
            assert {getattr(case, field) for case in kept} == {getattr(case, field) for case in cases}, (kind, field)
        for case in cases:
            assert all(store.find(case, operation) is not None for operation in case.operations), name_of(case)
        assert store.left_over() == []
    assert {case.measure for case in thin(cases_of("label bags"))} == set(MEASURES)


class TestTheCheckCanFail:
    case = next(case for case in cases_of("label bags") if case.measure == "KNN 3" and case.route == "screened")

    def faults(self, store: Store, case: Case) -> list[str]:
        return list(faults_of(case, store))

    def test_another_stored_number_is_named(self):
        store = Store("label bags")
        assert self.faults(store, self.case) == []
        store.lines = copy.deepcopy(store.lines)
        line = store.find(self.case, "counts")
        words = line[1].split()
        line[1] = " ".join([words[0], str(int(words[1]) + 1), *words[2:]])
        (fault,) = self.faults(store, self.case)
        assert fault.startswith("label bags | KNN 3 | random | screened | fresh | counts: 1 of ")

    def test_another_answer_is_named(self):
        answers = self.case.ask()
        for operation, answer in answers.items():
            values = answer.values.copy()
            values.flat[-1] += 1
            wrong = self.case._replace(ask=lambda o=operation, a=answer, v=values: answers | {o: a._replace(values=v)})
            (fault,) = self.faults(Store("label bags"), wrong)
            n_faults = 1 if answer.relative is None else 2  # the number itself, and the sum of all
            assert fault.startswith(f"{name_of(self.case, operation)}: {n_faults} of ")

    def test_an_answer_that_is_not_written_in_full_has_a_digest(self):
        values = np.arange(10_000)
        line = line_of(exact(values))
        values[17] += 1
        assert difference(exact(values), line) == "another digest: digits or numbers that are not written differ"

    def test_errors_missing_answers_and_other_shapes(self):
        def fails():
            raise ValueError("no")

        store = Store("label bags")
        assert self.faults(store, self.case._replace(ask=fails)) == [f"{name_of(self.case)}: ValueError: no"]
        assert "expected answers to" in self.faults(store, self.case._replace(ask=dict))[0]
        (*_, fault) = self.faults(store, self.case._replace(problem="another"))
        assert fault.endswith("was never written")
        assert difference(exact([1, 2]), line_of(exact([1, 2, 3]))) == "shape i 2, was i 3"

    def test_the_tolerance_is_the_only_one(self):
        known = line_of(near([1.0, np.nan, np.inf], 1e-9))
        assert difference(near([1.0 + 1e-10, np.nan, np.inf], 1e-9), known) is None
        assert difference(near([1.0 + 1e-10, np.nan, np.inf], 1e-9), known, bits=True) is not None
        assert difference(near([1.0 + 1e-8, np.nan, np.inf], 1e-9), known) is not None
        assert difference(exact([1.0 + 1e-15]), line_of(exact([1.0]))) is not None


# --- those of peers

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


RIDGE = MODELS["ridge"]
INTERVALS = {
    "split": (MAPIE["diabetes split"], SplitConformalRegressor(RIDGE)),
    "split, crepes": (CREPES["diabetes interval plain"], SplitConformalRegressor(RIDGE)),
    "split by category": (CREPES["diabetes interval categories"], SplitConformalRegressor(RIDGE, mondrian=over_mean)),
    "CV+": (MAPIE["diabetes cross plus"], CVPlusRegressor(RIDGE, cv=KFold(10))),
    "CV+ minmax": (MAPIE["diabetes cross minmax"], CVPlusRegressor(RIDGE, cv=KFold(10), method="minmax")),
}


@pytest.mark.parametrize("name", INTERVALS)
@pytest.mark.filterwarnings("ignore:.*examples:UserWarning")  # one category has too few for 0.95
def test_intervals_are_those_of_peers(name):
    entry, reg = INTERVALS[name]
    data = parts(entry)
    reg.fit(*(data[:4] if "split" in name else data[:2]))
    for level, expected in entry["intervals"].items():
        # BLAS differs between machines
        np.testing.assert_allclose(reg.predict_interval(data.X_test, float(level)), expected, rtol=1e-9)
