"""The tests can fail: what tools/mutants.py breaks is noticed, or `survivors.toml` says why nothing can notice it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from record import record

sys.path.append(str(Path(__file__).parents[2] / "tools"))
import mutants

FAMILIES = mutants.load_families()
SURVIVORS = mutants.load_survivors()
FORMULAS = ["predicting/test_pvalues.py::test_formulas"]
KNOWN = mutants.Breaker("pvalues").found["pvalues:deterministic_p:number:1"]  # the candidate counts twice


def test_a_known_mutant_is_noticed():
    passed, printed = mutants.run(FORMULAS, KNOWN.name)
    assert not passed
    assert "1 failed" in printed
    assert mutants.run(FORMULAS)[0]


class Blind(mutants.Family):
    """A family whose tests notice nothing."""

    def notices(self, mutant):
        return False


@pytest.mark.parametrize(
    ("reason", "mutant", "verdict"),
    [
        ("it rains", KNOWN, "explained"),
        ("it rains", replace(KNOWN, digest="of another source"), "survives"),
        ("", KNOWN, "survives"),
    ],
)
def test_a_survivor_needs_a_reason_about_the_source_as_it_is(reason, mutant, verdict):
    survivors = {KNOWN.name: {"digest": KNOWN.digest, "reason": reason}}
    [(_, said)] = mutants.judge([mutant], Blind([], []), survivors)
    assert said.split(":")[0] == verdict


def test_families_have_modules_and_tests():
    for family in FAMILIES.values():
        assert family.module_names()
        assert all((mutants.TESTS / test.split("::")[0]).exists() for test in family.tests)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_mutants_are_noticed_or_explained(name):
    family = FAMILIES[name]
    verdicts = dict(mutants.judge(family.draw(seed=0), family, SURVIVORS))
    for verdict, what in (("noticed", "mutants noticed"), ("explained", "mutants that survive, explained")):
        record(what, name, list(verdicts.values()).count(verdict))
    assert set(verdicts.values()) <= set(mutants.FINE), "\n".join(f"{one}: {said}" for one, said in verdicts.items())
