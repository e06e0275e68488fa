"""The page in a browser: the slider moves everything, and the numbers are those that Python finds at that level."""

from __future__ import annotations

import csv
import io
import time

import numpy as np
import pytest
from report_problems import HOSTILE, LABELS, label_problem, target_problem

from chromium import chromium_page
from exactcp._percent import percent
from exactcp.report import LabelRun, TestRows, classification_facts, regression_facts, write_report
from exactcp.report.carried_targets import TargetLevels
from exactcp.report.levels import TARGET_LEVELS
from exactcp.report.numbers import written_number
from exactcp.report.regression import TargetRun

pytestmark = pytest.mark.browser

NUMBERS = """Object.fromEntries([...document.querySelectorAll("[data-number]")].map(
    e => [e.dataset.number, e.textContent]))"""
BARS = """[...document.querySelectorAll(".bar")].map(b => [b.querySelector(".bar-name").textContent,
    b.querySelector(".bar-count").textContent, b.getAttribute("aria-label"), b.getAttribute("aria-pressed")])"""
VERDICT = """[...document.querySelectorAll("[data-verdict]")].filter(e => !e.hidden).map(e => e.dataset.verdict)"""
ROWS = """[...document.querySelectorAll("#rows tbody tr")].map(r => [...r.cells].map(c => c.textContent.trim()))"""
HEADS = """[...document.querySelectorAll("#rows thead th")].map(h => [h.textContent, h.getAttribute("aria-sort")])"""
TABLE = (
    """[...document.getElementById("%s").rows].filter(r => !r.hidden).map(r => [...r.cells].map(c => c.textContent))"""
)


@pytest.fixture(scope="module")
def browser():
    with chromium_page() as page:
        page.resize(1100)
        yield page


def opened(browser, facts, tmp_path):
    browser.events.clear()
    browser.open(write_report(facts, tmp_path / "page.html"))
    return browser


def move(browser, facts, level):
    """Drag the slider to a level."""
    stop = facts["script"]["levels"].index(level)
    browser.run(f"(s => {{ s.value = {stop}; s.dispatchEvent(new Event('input', {{bubbles: true}})) }})(level)")


def click(browser, selector):
    browser.run(f"document.querySelector({selector!r}).click()")


def choose(browser, name, value):
    browser.run(
        f"(e => {{ e.value = {value!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})) }})"
        f"(document.querySelector('#filters [name={name}]'))"
    )


def plain(texts):
    return {name: text.replace("\N{NO-BREAK SPACE}", " ") for name, text in texts.items()}


def numbers_of_labels(facts):
    low, high = facts["expected_coverage"]
    found = {
        "coverage": percent(facts["coverage"]),
        "set_size": written_number(facts["set_size"], 3),
        "alone": percent(facts["set_sizes"]["1"] / facts["n_test"]),
        "level": percent(facts["confidence_level"]),
        "promised": percent(facts["promised_level"]),
        "low": percent(low),
        "high": percent(high),
    }
    return plain(found)


def shares(holds):
    return ["\N{MIDDLE DOT}" if share == 0 else percent(int(100 * share + 0.5) / 100) for share in holds]


@pytest.mark.parametrize("denominator", [20, 1000])
def test_the_slider_gives_the_numbers_of_python(browser, tmp_path, denominator):
    facts, _, _ = label_problem(denominator=denominator, level=0.85)
    page = opened(browser, facts, tmp_path)
    still = page.run("document.getElementById('controls').hidden")
    assert still is False
    for level in (0.85, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999, 0.005, 0.05):  # epsilons that p-values are equal to
        move(page, facts, level)
        python, _, _ = label_problem(denominator=denominator, level=level)
        assert plain(page.run(NUMBERS)) == numbers_of_labels(python)
        assert page.run(VERDICT) == [python["verdict"]]
        sizes = {size: count for size, count in python["set_sizes"].items() if count or int(size) <= 1}
        bars = {name: int(n.replace(",", "")) for name, n, _, _ in page.run(BARS)}
        assert {name: n for name, n in bars.items() if n or int(name) <= 1} == sizes
        expected = [
            [
                row["label"],
                written_number(row["n"]),
                percent(row["coverage"]),
                written_number(row["set_size"], 3),
                *shares(row["holds"]),
            ]
            for row in python["by_label"] + python["by_new_label"]
        ]
        expected[-1][0] += " (not in the training rows)"
        assert page.run(TABLE % "label-rows") == expected
        compared = [[percent(row["coverage"]), written_number(row["set_size"], 4)] for row in python["comparison"]]
        assert [[row[2], row[3]] for row in page.run(TABLE % "comparison-rows")] == compared
        x, y = (page.run(f"Number(document.querySelector('.mark').getAttribute('{at}'))") for at in ("cx", "cy"))
        assert x == pytest.approx(48 + level * 282)
        assert y == pytest.approx(230 - python["coverage"] * 220)
        said = page.run("said.textContent").replace("\N{NO-BREAK SPACE}", " ")
        level_text, coverage_text = (
            percent(share).replace("\N{NO-BREAK SPACE}", " ") for share in (level, python["coverage"])
        )
        assert (
            said
            == f"At {level_text}: coverage {coverage_text}, {written_number(python['set_size'], 3)} labels in a set."
        )
    assert page.complaints() == []


def test_without_moving_the_script_changes_no_number(browser, tmp_path):
    for facts in (label_problem()[0], target_problem()[0]):
        told = f"[{NUMBERS}, guarantee.textContent, {VERDICT}, {TABLE % 'comparison-rows'}]"
        page = opened(browser, facts, tmp_path)
        live = page.run(told)
        page.open_without_scripts(tmp_path / "page.html")
        assert page.run(told) == live
        assert page.run("controls.hidden && explore.hidden")
        assert page.run("[...document.images].every(i => i.getBoundingClientRect().width > 0)")  # they stand still


def sets_of(p, level):
    epsilon = 1 - level
    return [[LABELS[j] for j in np.flatnonzero(row > round(epsilon, 10))] for row in p]


def test_rows_filters_bars_and_sorting(browser, tmp_path):
    facts, (p, _), truth = label_problem()
    page = opened(browser, facts, tmp_path)
    move(page, facts, 0.85)
    sets = sets_of(p, 0.85)
    rows = page.run(ROWS)
    assert len(rows) == 25
    for row, cells in enumerate(rows):
        assert cells[0] == str(row + 1)
        assert cells[1] == (truth[row] or "")
        missed = truth[row] is not None and truth[row] not in sets[row]
        assert cells[2] == ((" ".join(sets[row]) or "empty") + (" missed" if missed else ""))
        assert cells[3] == str(len(sets[row]))
        assert cells[6] == written_number(float(p[row].max()), 3)
    assert page.run("found.textContent") == "300 of 300 rows, 1 to 25 shown."
    # a bar shows its rows
    two = [row for row, inside in enumerate(sets) if len(inside) == 2]
    assert len(two) > 25
    page.run("document.querySelectorAll('.bar')[2].click()")
    assert page.run(BARS)[2][3] == "true"
    assert page.run("found.textContent").startswith(f"{len(two)} of 300 rows")
    assert [int(row[0]) - 1 for row in page.run(ROWS)] == two[:25]
    # with a label, what the set holds, whether it is covered, and credibility at most
    choose(page, "truth", "0")
    choose(page, "holds", "4")
    choose(page, "hit", "0")
    choose(page, "strange", "0.2")
    narrow = [r for r in two if truth[r] == "ant" and "10" in sets[r] and "ant" not in sets[r] and p[r].max() <= 0.2]
    assert [int(row[0]) - 1 for row in page.run(ROWS)] == narrow[:25]
    assert page.run("found.textContent").startswith(f"{len(narrow)} of 300 rows")
    click(page, "#clear")
    assert page.run("found.textContent").startswith("300 of 300")
    assert [bar[3] for bar in page.run(BARS)].count("true") == 0
    # sorting, both ways, with ties in the order of rows and the unknown last
    credibility = p.max(axis=1)
    place = [name for name, _ in page.run(HEADS)].index("credibility")
    for sign, name in ((1, "ascending"), (-1, "descending")):
        page.run(f"document.querySelectorAll('#rows thead button')[{place}].click()")
        order = np.argsort(sign * credibility, kind="stable")[:25]
        assert [int(row[0]) - 1 for row in page.run(ROWS)] == order.tolist()
        assert [told for _, told in page.run(HEADS)].count(name) == 1
    for _ in range(2):
        page.run("document.querySelectorAll('#rows thead button')[1].click()")
        click(page, "#next")
    for _ in range(11):
        click(page, "#next")
    assert [row[1] for row in page.run(ROWS)][-2:] == ["", ""]
    assert page.run("document.getElementById('next').disabled")
    # a label of the table shows its rows
    page.run("document.querySelector('#label-rows tr:last-child button').click()")
    assert [row[1] for row in page.run(ROWS)] == ["zebra <i>"]
    # and the filter stays when the level moves
    choose(page, "truth", "")
    choose(page, "hit", "0")
    for level in (0.5, 0.95):
        move(page, facts, level)
        found = [r for r, inside in enumerate(sets_of(p, level)) if truth[r] is not None and truth[r] not in inside]
        assert page.run("found.textContent").startswith(f"{len(found)} of 300")
    assert page.complaints() == []


def downloaded(page, tmp_path):
    folder = tmp_path / "downloads"
    page.send("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    click(page, "#download")
    for _ in range(100):
        files = list(folder.glob("*.csv"))
        if files and files[0].stat().st_size:
            break
        time.sleep(0.05)
    with open(files[0], encoding="utf-8", newline="") as file:
        text = file.read()
    name = files[0].name
    files[0].unlink()
    return name, list(csv.reader(io.StringIO(text), strict=True))


def test_rows_are_downloaded_as_they_are_filtered_and_sorted(browser, tmp_path):
    facts, (p, _), truth = label_problem()
    page = opened(browser, facts, tmp_path)
    move(page, facts, 0.85)
    choose(page, "truth", "1")
    name, (head, *lines) = downloaded(page, tmp_path)
    assert name == "rows-0.85.csv"
    shown = [f"p_{label}" for label in LABELS]
    assert head == [
        "row",
        "truth",
        "set",
        "size",
        "label",
        "confidence",
        "credibility",
        *shown,
        HOSTILE,
        "truth_given",
        "text",
    ]
    sets = sets_of(p, 0.85)
    expected = [row for row in range(300) if truth[row] == HOSTILE]
    assert [int(line[0]) - 1 for line in lines] == expected
    texts = facts["script"]["columns"][2]
    for row, line in zip(expected, lines, strict=True):
        assert line[1] == HOSTILE
        assert line[2] == "|".join(sets[row])
        assert np.array_equal(np.array(line[7:12], dtype=float), p[row])
        assert float(line[6]) == p[row].max()
        assert float(line[12]) == facts["script"]["columns"][0]["numbers"][row]
        assert line[14] == texts["texts"][texts["places"][row]]


def test_intervals_move_with_the_slider(browser, tmp_path):
    facts, said, y = target_problem()
    page = opened(browser, facts, tmp_path)
    known = ~np.isnan(y)
    for place, level in enumerate(said.levels):
        move(page, facts, level)
        widths = said.widths[place][np.isfinite(said.widths[place])]
        numbers = plain(page.run(NUMBERS))
        assert numbers["coverage"] == plain({"": percent(said.covered[place][known].mean())})[""]
        assert numbers["mean_width"] == written_number(widths.mean())
        assert numbers["median_width"] == written_number(float(np.median(widths)))
        assert numbers["infinite"] == str(np.isinf(said.widths[place]).sum())
        bars = page.run(BARS)
        assert sum(int(n) for _, n, _, _ in bars) == 120
        assert (bars[-1][0] == "infinite") == (level == 0.99)
        for row, cells in enumerate(page.run(ROWS)):
            low, high = said.intervals[place, row]
            expected = ["" if np.isnan(end) else written_number(round(float(end), 1), 6) for end in (low, high)]
            assert cells[3:5] == expected
            inside = "" if np.isnan(y[row]) else "yes" if said.covered[place, row] else "missed"
            assert cells[6] == inside
        crosses = page.run("document.querySelector('#intervals .outside').getAttribute('d').split('M').length - 1")
        seen = known & ~np.isnan(said.intervals[place, :, 0])
        assert crosses == (seen & ~said.covered[place]).sum()
    page.run("document.querySelectorAll('.bar')[document.querySelectorAll('.bar').length - 1].click()")
    assert [int(row[0]) for row in page.run(ROWS)] == [1, 2, 3, 4, 5]
    name, (head, *lines) = downloaded(page, tmp_path)
    assert name == "rows-0.99.csv"
    assert head[:6] == ["row", "truth", "prediction", "lower", "upper", "width"]
    assert [line[3:5] for line in lines] == [["-inf", "inf"]] * 5
    options = page.run("[...against.options].map(o => o.textContent)")
    assert options == ["prediction", "row", HOSTILE, "kind"]
    for choice in range(4):
        page.run(f"against.value = '{choice}'; against.dispatchEvent(new Event('change'))")
        assert options[choice] in page.run("intervals.querySelector('svg').getAttribute('aria-label')")
        lines = page.run("intervals.querySelector('.interval').getAttribute('d').split('M').length - 1")
        assert lines == 120
    assert page.complaints() == []


def test_no_name_becomes_html(browser, tmp_path):
    for facts in (label_problem()[0], target_problem()[0]):
        page = opened(browser, facts, tmp_path)
        assert page.run("document.querySelectorAll('script').length") == 2
        assert page.run("document.querySelectorAll('img[src=x], [onerror], #rows b, #rows i').length") == 0
        assert HOSTILE in page.run("document.body.textContent")
        assert page.complaints() == []


def test_everything_can_be_reached_and_moved_by_keys(browser, tmp_path):
    facts, _, _ = label_problem()
    page = opened(browser, facts, tmp_path)
    seen = []
    for _ in range(40):
        page.press("Tab")
        seen.append(
            page.run("document.activeElement.id || document.activeElement.name || document.activeElement.className")
        )
    assert seen[0] == "level"  # what the page is about comes first
    order = list(dict.fromkeys(seen))
    wanted = ["level", "bar", "truth", "holds", "hit", "strange", "clear"]
    assert [name for name in order if name in wanted] == wanted
    assert {"sort", "scroll"} <= set(seen)
    page.run("level.focus()")
    page.press("ArrowLeft", 20)
    assert page.run("level.getAttribute('aria-valuetext')") == percent(0.8)
    assert "80" in page.run("said.textContent")
    page.press("Tab")
    assert page.run("document.activeElement.id") == "level-back"
    page.press("Enter")
    assert page.run("level.getAttribute('aria-valuetext')") == percent(0.9)
    page.run("document.querySelectorAll('.bar')[1].focus()")
    page.press(" ")
    assert page.run("document.activeElement.getAttribute('aria-pressed')") == "true"  # and the bar keeps the focus
    assert not page.run("document.getElementById('bar-filter').hidden")
    page.press("Enter")
    assert page.run("document.activeElement.getAttribute('aria-pressed')") == "false"
    page.run("document.querySelector('#rows thead button').focus()")
    page.press("Enter")
    assert page.run(HEADS)[0][1] == "descending"


def test_readers_of_the_screen_are_told(browser, tmp_path):
    for facts in (label_problem()[0], target_problem()[0]):
        page = opened(browser, facts, tmp_path)
        unnamed = """[...document.querySelectorAll("button, input, select")].filter(e => !(e.labels?.length ||
            e.textContent.trim() || e.getAttribute("aria-label"))).length"""
        assert page.run(unnamed) == 0
        live = "[...document.querySelectorAll('[aria-live]')].map(e => e.id)"
        assert page.run(live) == ["said", "found"]
        assert page.run("[...document.querySelectorAll('svg')].every(s => s.getAttribute('aria-label').length > 20)")
        assert page.run("[...document.querySelectorAll('[tabindex]')].every(e => e.tabIndex === 0)")
        assert page.run("[...document.querySelectorAll('[onclick], div[role=button], a:not([href])')].length") == 0


def test_images_are_shown_in_rows(browser, tmp_path):
    images = np.arange(300 * 6.0).reshape(300, 2, 3) % 7
    page = opened(browser, label_problem(rows=TestRows(images=images))[0], tmp_path)
    shades = page.run("[...document.querySelector('#rows canvas').getContext('2d').getImageData(0, 0, 3, 2).data]")
    assert shades[::4] == [255 - round(255 * pixel / 5) for pixel in images[0].ravel()]
    assert page.complaints() == []


def big_labels(m=10_000):
    rng = np.random.default_rng(0)
    p = (rng.integers(1, 60, size=(m, 10))) / 5001
    codes = rng.integers(0, 10, size=m)
    p[np.arange(m), codes] = rng.integers(1, 5002, size=m) / 5001
    rows = TestRows(None, tuple(f"column {j}" for j in range(20)), rng.normal(size=(m, 20)))
    runs = [LabelRun("full", "KNN()", p, 1, 1), LabelRun("split", "KNN()", p, 1, 1)]
    names = [f"label {j}" for j in range(10)]
    return classification_facts(runs, names, [names[code] for code in codes], rows=rows, n_calibration=5000)


def big_targets(m=10_000):
    rng = np.random.default_rng(0)
    y = rng.normal(size=m) * 100
    half = np.outer(np.linspace(1, 3, len(TARGET_LEVELS)), rng.uniform(50, 150, size=m))
    ends = np.stack([y - half, y + half * 0.7], axis=2)
    said = TargetLevels(TARGET_LEVELS, ends, ends[..., 1] - ends[..., 0], np.ones(half.shape, dtype=bool))
    at = TARGET_LEVELS.index(0.95)
    p = rng.integers(1, 5002, size=m) / 5001
    run = TargetRun("full", "KNNResidual()", y, ends[at], said.widths[at], said.covered[at], p, 1, 1, said)
    rows = TestRows(None, tuple(f"column {j}" for j in range(20)), rng.normal(size=(m, 20)))
    return regression_facts([run], y, rows=rows, strangeness=rng.uniform(size=m), n_calibration=5000)


@pytest.mark.parametrize("facts", [big_labels, big_targets])
def test_ten_thousand_rows_open_in_two_seconds_and_weigh_five_megabytes(browser, tmp_path, facts):
    found = facts()
    path = write_report(found, tmp_path / "page.html")
    assert path.stat().st_size < 5_000_000
    assert found["script"]["shown"] == 10_000
    browser.events.clear()
    seconds = min(browser.open(path) for _ in range(3))
    assert seconds < 2
    assert browser.run("document.querySelectorAll('#rows tbody tr').length") == 25
    began = time.perf_counter()
    browser.run("level.value -= 1; level.dispatchEvent(new Event('input'))")
    took = 1000 * (time.perf_counter() - began)
    assert took < 500
    assert browser.complaints() == []


@pytest.mark.parametrize("n_labels", [13, 40])
def test_many_labels(browser, tmp_path, n_labels):
    rng = np.random.default_rng(0)
    names = [f"label {place}" for place in range(n_labels)]
    p = rng.integers(1, 21, size=(200, n_labels)) / 20
    truth = [names[code] for code in rng.integers(0, n_labels, size=200)]

    def facts_at(level):
        return classification_facts([LabelRun("full", "m", p, 0, 0)], names, truth, confidence_level=level)

    facts = facts_at(0.9)
    page = opened(browser, facts, tmp_path)
    for level in (0.9, 0.5, 0.05):
        move(page, facts, level)
        python = facts_at(level)
        told = page.run(TABLE % "label-rows")
        assert [row[2] for row in told] == [percent(row["coverage"]) for row in python["by_label"]]
        for cells, row in zip(told, python["by_label"], strict=True):
            others = sorted((-share, j) for j, share in enumerate(row["holds"]) if share and names[j] != row["label"])[
                :3
            ]
            assert cells[4] == ", ".join(f"{names[j]} {percent(int(0.5 - 100 * share) / 100)}" for share, j in others)
        counts = {name: int(n) for name, n, _, _ in page.run(BARS)}
        sizes = {int(size): count for size, count in python["set_sizes"].items()}
        assert sum(counts.values()) == 200
        assert counts.get("11 or more", counts.get("11", 0)) == sum(n for size, n in sizes.items() if size >= 11)
        assert all(counts.get(str(size), 0) == sizes[size] for size in range(11))
    assert page.complaints() == []
