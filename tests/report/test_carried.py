"""What a page carries for its script: exact, inert, and small."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from report_problems import HOSTILE, LABELS, label_problem, target_problem

from exactcp import pvalues
from exactcp._percent import percent
from exactcp.cli._job import Job
from exactcp.cli._predictors import PREDICTORS
from exactcp.cli._regress import regress
from exactcp.measures import KNNResidual
from exactcp.report import LabelRun, TestRows, carrying, classification_facts, render
from exactcp.report.carried_labels import carry_labels
from exactcp.report.levels import LABEL_LEVELS, TARGET_LEVELS, describe_levels
from exactcp.report.numbers import cell, written_number
from exactcp.report.page import SCRIPTS


def carried(page: str) -> dict:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL)[1])


def test_p_values_come_back_as_they_were():
    facts, (p, _), _ = label_problem()
    told = carried(render(facts))["script"]
    values, places = np.array(told["p"]["values"]), np.array(told["p"]["places"])
    assert np.array_equal(values[places].reshape(p.shape), p)
    assert values.size <= 20
    rng = np.random.default_rng(0)
    smoothed = rng.uniform(size=(30, 3))
    facts = classification_facts([LabelRun("full", "m", smoothed, 0, 0)], ["a", "b", "c"])
    told = carried(render(facts))["script"]["p"]
    assert np.array_equal(np.array(told["values"])[told["places"]].reshape(30, 3), smoothed)


@pytest.mark.parametrize("denominator", [20, 40, 1000, 7])
def test_counts_at_every_level_are_those_of_the_sets(denominator):
    facts, ps, truth = label_problem(denominator=denominator)
    told, known = facts["script"], [row for row, label in enumerate(truth) if label is not None]
    assert told["levels"] == sorted(LABEL_LEVELS)
    for place, level in enumerate(told["levels"]):
        for p, run in zip(ps, told["runs"], strict=True):
            sets = pvalues.exceeds(p, pvalues.significance(level))
            hits = [truth[row] in LABELS and sets[row, LABELS.index(truth[row])] for row in known]
            assert run["covered"][place] == sum(hits)
            assert run["labels"][place] == sets.sum()
            assert run["alone"][place] == (sets.sum(axis=1) == 1).sum()


def test_one_label_and_no_truth():
    assert carry_labels([np.array([[0.5], [0.1]])], None, [0.1, 0.05]) == [
        {"covered": None, "labels": [1, 2], "alone": [1, 2]}
    ]


def test_a_level_of_ones_own_is_a_stop():
    facts, _, _ = label_problem(level=0.9123)
    told = facts["script"]
    assert told["levels"][told["asked"]] == 0.9123
    assert told["epsilons"][told["asked"]] == 0.0877
    assert facts["set_size"] == told["runs"][0]["labels"][told["asked"]] / facts["n_test"]


def test_promises_of_folds_are_twice_epsilon_and_others_are_not_guessed():
    told = describe_levels([0.4, 0.9], 0.9, 0.8, n_known=10, n_calibration=None)
    assert told["promised"] == [0.0, 0.8]
    assert told["expected"][0] == [0, 10]
    told = describe_levels([0.8, 0.9], 0.9, 0.85, n_known=10, n_calibration=None)
    assert (told["promised"], told["expected"]) == (None, None)


def test_intervals_are_carried_to_five_digits_and_hits_as_they_were_counted():
    facts, said, y = target_problem()
    told = carried(render(facts))["script"]
    assert told["levels"] == [0.5, 0.8, 0.9, 0.99]
    assert told["decimals"] == 1
    for place in range(4):
        low, high = said.intervals[place].T
        for ends, sent in ((low, told["lower"][place]), (high, told["upper"][place])):
            back = [np.nan if end is None else float(end) for end in sent]
            assert np.array_equal(back, np.round(ends, 1), equal_nan=True)
        assert told["covered"][place] == "".join("01"[int(hit)] for hit in said.covered[place])
        assert told["widths"][place] == [[9, round(float(said.widths[place, 9]), 1)]]
    assert told["truth"][11] is None
    known = np.flatnonzero(~np.isnan(y))
    assert told["runs"][0][0]["coverage"] == said.covered[0][known].mean()
    assert told["runs"][0][3]["infinite"] == 5
    assert told["runs"][1] == [None, None, facts["script"]["runs"][1][2], None]  # split was asked at one level


def test_hostile_names_stay_texts():
    for facts in (label_problem()[0], target_problem()[0]):
        page = render(facts)
        assert HOSTILE not in page
        assert page.count("<script") == 2
        assert page.count("</script") == 2
        assert "<img src=x" not in page
        assert HOSTILE in [column["name"] for column in carried(page)["script"]["columns"]]


def test_cells_of_any_kind():
    cells = np.empty((4, 5), dtype=object)
    cells[:, 0] = [1, 2**60, None, 3]
    cells[:, 1] = [np.int64(1), 2.5, np.nan, np.inf]
    cells[:, 2] = [True, "x", np.datetime64("2020-01-01"), None]
    cells[:, 3] = [1234567.891, 0.1 + 0.2, -0.0, 2019.0]
    cells[:, 4] = [None] * 4
    columns = carrying.carry_looks(TestRows(None, tuple("abcde"), cells), 4)["columns"]
    assert columns[0] == {"name": "a", "texts": ["", "1", str(2**60), "3"], "places": [1, 2, 0, 3]}
    assert columns[1]["numbers"] == [1, 2.5, None, None]
    assert columns[2]["texts"] == ["", "2020-01-01", "True", "x"]
    assert columns[3]["numbers"] == [1234570, 0.3, 0, 2019]
    assert columns[4]["numbers"] == [None] * 4


def test_what_does_not_fit_is_left_out_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(carrying, "ROWS_ROOM", 3000)
    monkeypatch.setattr(carrying, "CELLS_ROOM", 1000)
    facts, (p, _), _ = label_problem()
    page = " ".join(render(facts).split())
    shown = facts["script"]["shown"]
    assert 100 < shown < 250
    assert len(facts["script"]["p"]["places"]) == 5 * shown
    assert len(facts["script"]["truth"]) == shown
    assert f"carries the first {shown} of 300 rows" in page
    assert [column["name"] for column in facts["script"]["columns"]] == ["truth"]
    assert "2 columns, which would make the page too large" in page
    assert facts["script"]["runs"][0]["labels"][0] == pvalues.exceeds(p, pvalues.significance(0.005)).sum()
    monkeypatch.setattr(carrying, "PICTURES_ROOM", 100)
    assert carrying.carry_looks(TestRows(images=np.zeros((10, 4, 4))), 10)["pictures"] is None


def test_scripts_take_texts_as_texts():
    for name in SCRIPTS:
        code = (files("exactcp.report") / "scripts" / f"{name}.js").read_text(encoding="utf-8")
        assert code.isascii()
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "</",
            "http:/",
            "https:/",
        ):
            assert word not in code.replace('"http://www.w3.org/2000/svg"', ""), (name, word)
        assert len(code.splitlines()) <= 200, name
    assert {path.name for path in (files("exactcp.report") / "scripts").iterdir()} == {f"{name}.js" for name in SCRIPTS}


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (13900.4, 3, "13,900"), (13897.2, 4, "13,900"), (1234567.0, 4, "1,235,000"), (0.5, 4, "0.5"), (100.0, 3, "100"),
        (0.0187, 3, "0.0187"), (-2.0625, 4, "-2.062"), (999.96, 4, "1,000"), (0.0, 4, "0"), (7, 2, "7"),
        (12345, 2, "12,345"),
        (float("inf"), 4, "inf"), (float("nan"), 4, "unknown"), (None, 4, "unknown"), (1e-9, 3, "1e-09"),
        (-1e-4, 3, "-0.0001"),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(value, digits, text):
    assert written_number(value, digits) == text


def test_shares_and_cells():
    assert [percent(share)[:-2] for share in (0.0001, 0.0004, 1e-12, 0.5, 0.12345)] == [
        "0.01",
        "0.04",
        "1e-10",
        "50",
        "12.3",
    ]
    assert cell(np.float32(0.25)) == "0.25"
    assert cell(12) == "12"


@pytest.mark.parametrize("method", ["full", "split", "cv+"])
def test_the_command_line_gives_intervals_at_other_levels(method, monkeypatch):
    rng = np.random.default_rng(0)
    X, folds = rng.normal(size=(60, 2)), np.arange(60) % 2
    y = np.exp(X[:, 0] + rng.normal(size=60) / 3)
    truth = np.where(np.arange(60) == 5, np.nan, y)
    how = {"confidences": (0.9,), "measure": KNNResidual(k=3), "compare": True}
    job = Job("regression", X, X, y, method=method, folds=folds, **how)
    told = regress(job, truth).facts()["script"]
    assert told["levels"] == sorted(TARGET_LEVELS)
    for place, level in enumerate(told["levels"]):
        ends, covered = np.empty((60, 2)), np.empty(60, dtype=bool)
        for fold in (0, 1):
            predictor = PREDICTORS["regression"][method](KNNResidual(k=3), random_state=0)
            predictor.fit(X[folds != fold], y[folds != fold])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                own = predictor.predict_interval(X[folds == fold], level)
            covered[folds == fold] = (own[:, 0] <= y[folds == fold]) & (y[folds == fold] <= own[:, 1])
            ends[folds == fold] = own
        sent = np.array([told["lower"][place], told["upper"][place]], dtype=float).T
        assert np.array_equal(sent, np.round(ends, told["decimals"]))
        known = ~np.isnan(truth)
        assert told["runs"][0][place]["coverage"] == covered[known].mean()
    assert regress(replace(job, slow=True), truth).facts()["script"]["levels"] == [0.9]
    monkeypatch.setattr("exactcp.cli._regress.PAIRS_AT_LEVELS", 3599)
    assert regress(replace(job, confidences=(0.9, 0.6)), truth).facts()["script"]["levels"] == [0.6, 0.9]
