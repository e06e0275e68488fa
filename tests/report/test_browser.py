"""The page in a browser: the slider moves everything, and the numbers are those that Python computes at that level."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pytest
from test_report import HOSTILE, LABELS, PAGES, TARGET_LEVELS, label_problem, rendered, target_problem

from chromium import chromium_page
from exactcp import pvalues
from exactcp._percent import percent
from exactcp.metrics.bands import expected_coverage, judge
from exactcp.report import write_report
from exactcp.report.numbers import written_number

pytestmark = pytest.mark.browser

NUMBERS = """Object.fromEntries([...document.querySelectorAll("[data-number]:not([data-run] *)")].map(
    e => [e.dataset.number, e.textContent]))"""
BARS = """[...document.querySelectorAll(".bar")].map(b => [b.firstChild.textContent,
    Number(b.lastChild.textContent.replace(",", "")), b.getAttribute("aria-pressed")])"""
VERDICT = """[...document.querySelectorAll("[data-verdict]")].filter(e => !e.hidden).map(e => e.dataset.verdict)"""
HEADS = """[...document.querySelectorAll("#rows thead th")].map(h => [h.textContent, h.getAttribute("aria-sort")])"""
TABLE = """[...document.querySelectorAll("%s tr")].map(r => [...r.cells].map(c => c.textContent.trim()))"""
ROWS = TABLE % "#rows tbody"
CARDS = (
    """[...document.querySelectorAll("#%s:not([hidden]) li")].map(e => Number(e.firstChild.textContent.slice(4)) - 1)"""
)
LOOK = """(() => {
  const rgba = text => text.match(/[\\d.]+/g).map(Number);
  const light = c => c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = e => {
    const c = rgba(getComputedStyle(e).backgroundColor);
    return c.length === 3 || c[3] > 0 ? c : behind(e.parentElement);
  };
  const texts = [...document.body.querySelectorAll("*")].filter(e => e.checkVisibility() && !e.closest("script, select")
    && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
  const contrasts = texts.map(e => [light(rgba(getComputedStyle(e).color)), light(behind(e))])
    .map(([a, b]) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
  const unnamed = [...document.querySelectorAll("button, input, select, canvas")].filter(e =>
    !(e.labels?.length || e.textContent.trim() || e.getAttribute("aria-label")));
  return { contrast: Math.min(...contrasts), texts: texts.length, unnamed: unnamed.length,
    paper: light(behind(document.body)), overflow: document.documentElement.scrollWidth - innerWidth,
    broken: [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length };
})()"""


@pytest.fixture(scope="module")
def browser():
    with chromium_page() as page:
        page.resize(1100)
        yield page


def opened(browser, tmp_path, **how):
    browser.open(write_report(tmp_path / "page.html", **how))
    return browser


def move(browser, level):
    """Drag the slider to a level."""
    data = "JSON.parse(document.getElementById('data').textContent)"
    browser.run(f"level.value = {data}.levels.indexOf({level}); level.dispatchEvent(new Event('input'))")


def click(browser, selector, place=0):
    browser.run(f"document.querySelectorAll({selector!r})[{place}].click()")


def choose(browser, name, value):
    browser.run(
        f"(e => {{ e.value = {value!r}; e.dispatchEvent(new Event('input', {{bubbles: true}})) }})"
        f"(document.querySelector('#filters [name={name}]'))"
    )


def shown(browser):
    return [int(row[0]) - 1 for row in browser.run(ROWS)]


def p_and_codes(how, labels=LABELS):
    names = [*labels, "zebra <i>"]
    p = how["predictions"]["full"][[f"p_{label}" for label in labels]].to_numpy()
    return p, np.array([-1 if label is None else names.index(label) for label in how["y"]])


def table_by_label(sets, codes, labels):
    for code, name in enumerate([*labels, "zebra <i> (not in the training rows)"]):
        own, is_new = sets[codes == code], code == len(labels)
        if len(own) == 0:
            continue
        counts, covered = own.sum(axis=0), 0.0 if is_new else own[:, code].mean()
        shares = [percent(int(100 * n / len(own) + 0.5) / 100) if n else "\N{MIDDLE DOT}" for n in counts]
        if len(labels) > 12:
            others = [j for j in np.argsort(-counts, kind="stable").tolist() if counts[j] and j != code][:3]
            shares = [", ".join(f"{labels[j]} {shares[j]}" for j in others)]
        yield [name, str(len(own)), percent(covered), written_number(own.sum(axis=1).mean(), 3), *shares]


@pytest.mark.parametrize("n_labels", [1, 5, 13, 40])
@pytest.mark.parametrize("denominator", [20, 1000])
def test_the_slider_gives_the_numbers_of_python(browser, tmp_path, denominator, n_labels):
    labels = LABELS if n_labels == len(LABELS) else [f"label {j}" for j in range(n_labels)]
    how = label_problem(denominator=denominator, confidence_level=0.85, labels=labels)
    page, (p, codes) = opened(browser, tmp_path, **how), p_and_codes(how, labels)
    n_known = (codes >= 0).sum()
    for level in (0.85, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999, 0.005, 0.05):  # epsilons that p-values are equal to
        move(page, level)
        sets = pvalues.exceeds(p, pvalues.significance(level))
        covered = np.column_stack([sets, np.zeros(300, dtype=bool)])[np.arange(300), codes][codes >= 0].mean()
        numbers, sizes = page.run(NUMBERS), sets.sum(axis=1)
        expected = expected_coverage(level, n_known, 19)
        assert page.run(VERDICT) == [judge(covered, expected)]
        assert [numbers["low"], numbers["high"]] == [percent(end) for end in expected]
        assert numbers["level"] == numbers["promised"] == percent(level)
        assert numbers["coverage"] == percent(covered)
        assert numbers["set_size"] == written_number(sizes.mean(), 3)
        assert numbers["alone"] == percent((sizes == 1).mean())
        bars = np.bincount(np.minimum(sizes, 11), minlength=2).tolist()
        names = [f"{size} or more" if size == 11 < max(sizes) else str(size) for size in range(len(bars))]
        assert [bar[:2] for bar in page.run(BARS)] == [list(bar) for bar in zip(names, bars, strict=True)]
        assert page.run(TABLE % "#label-rows") == list(table_by_label(sets, codes, labels))
        assert page.run(TABLE % "#comparison-rows")[0][1:3] == [numbers["coverage"], numbers["set_size"]]
        second = np.sort(p, axis=1)[:, -2] if n_labels > 1 else np.zeros(300)
        hard = np.lexsort((-second, -sizes)) if np.ptp(sizes + second) else np.array([])
        assert page.run(CARDS % "hardest") == hard[:9].tolist()
    assert page.complaints() == []


@pytest.mark.parametrize("name", PAGES)
def test_without_moving_the_script_changes_no_number(browser, tmp_path, name):
    (tmp_path / "page.html").write_text(rendered(name), encoding="utf-8")
    numbers = f"[{NUMBERS}, guarantee.textContent, {VERDICT}, {TABLE % '#comparison-rows'}]"
    browser.open(tmp_path / "page.html")
    live = browser.run(numbers)
    browser.open(tmp_path / "page.html", scripts=False)
    assert browser.run(numbers) == live
    assert browser.run("[...document.querySelectorAll('[data-live]')].every(e => e.hidden)")


def test_rows_filters_bars_and_sorting(browser, tmp_path):
    how = label_problem(confidence_level=0.85)
    page, (p, codes) = opened(browser, tmp_path, **how), p_and_codes(how)
    sets = pvalues.exceeds(p, pvalues.significance(0.85))
    for row, cells in enumerate(page.run(ROWS)):
        inside = [LABELS[j] for j in np.flatnonzero(sets[row])]
        missed = how["y"][row] is not None and how["y"][row] not in inside
        assert cells[:2] == [str(row + 1), how["y"][row] or ""]
        assert cells[2] == ((" ".join(inside) or "empty") + (" missed" if missed else ""))
        assert cells[3] == str(len(inside))
        assert cells[6:8] == [written_number(p[row].max(), 3), f"{how['X'].iloc[row, 0]:.6g}"]
    assert page.run("found.textContent") == "300 of 300 rows, 1 to 25 shown."
    # a bar shows its rows
    two = sets.sum(axis=1) == 2
    click(page, ".bar", 2)
    assert page.run(BARS)[2][2] == "true"
    assert shown(page) == np.flatnonzero(two)[:25].tolist()
    # with a label, what the set holds, whether it is covered, and credibility at most
    for name, value in (("truth", "0"), ("holds", "4"), ("hit", "0"), ("strange", "0.2")):
        choose(page, name, value)
    narrow = np.flatnonzero(two & (codes == 0) & sets[:, 4] & ~sets[:, 0] & (p.max(axis=1) <= 0.2))
    assert narrow.size > 0
    assert shown(page) == narrow[:25].tolist()
    assert page.run("found.textContent").startswith(f"{narrow.size} of 300 rows")
    click(page, "#clear")
    assert page.run("found.textContent").startswith("300 of 300")
    assert "true" not in [pressed for _, _, pressed in page.run(BARS)]
    # sorting, both ways, with ties in the order of rows and missing values last
    place = [name for name, _ in page.run(HEADS)].index("credibility")
    for sign, direction in ((1, "ascending"), (-1, "descending")):
        click(page, "#rows thead button", place)
        assert shown(page) == np.argsort(sign * p.max(axis=1), kind="stable")[:25].tolist()
        assert [turned for _, turned in page.run(HEADS)].count(direction) == 1
    for _ in range(2):
        click(page, "#rows thead button", 1)
    for _ in range(11):
        click(page, "#next")
    assert shown(page)[-2:] == [3, 8]
    assert page.run("document.getElementById('next').disabled")
    # a label of the table shows its rows
    click(page, "#label-rows tr:last-child button")
    assert shown(page) == [7]
    # and the filter stays when the level moves
    choose(page, "truth", "")
    choose(page, "hit", "0")
    for level in (0.5, 0.95):
        move(page, level)
        inside = pvalues.exceeds(p, pvalues.significance(level))[np.arange(300), np.minimum(codes, 4)] & (codes < 5)
        assert page.run("found.textContent").startswith(f"{(~inside & (codes >= 0)).sum()} of 300")
    assert page.complaints() == []


def test_intervals_move_with_the_slider(browser, tmp_path):
    how = target_problem()
    page, frame, y = opened(browser, tmp_path, **how), how["predictions"]["full"], how["y"]
    for level in TARGET_LEVELS:
        move(page, level)
        lower, upper = (frame[f"{side}_{level}"].to_numpy() for side in ("lower", "upper"))
        widths, covered = np.nan_to_num(upper - lower, posinf=np.inf), (lower <= y) & (y <= upper)
        numbers, bars = page.run(NUMBERS), page.run(BARS)
        assert numbers["coverage"] == percent(covered[~np.isnan(y)].mean())
        assert numbers["mean_width"] == written_number(widths[np.isfinite(widths)].mean())
        assert numbers["infinite"] == str(np.isinf(widths).sum())
        assert sum(n for _, n, _ in bars) == 120
        assert (bars[-1][0] == "infinite") == (level == 0.99)
        for row, cells in enumerate(page.run(ROWS)):
            assert cells[3:5] == ["" if np.isnan(end) else written_number(end, 6) for end in (lower[row], upper[row])]
            assert cells[6] == ("" if np.isnan(y[row]) else "yes" if covered[row] else "missed")
        assert page.run(CARDS % "hardest") == np.argsort(-widths, kind="stable")[:9].tolist()
        assert page.run(CARDS % "strangest") == np.argsort(frame["p_object"], kind="stable")[:9].tolist()
    click(page, ".bar", len(bars) - 1)
    assert shown(page) == [0, 1, 2, 3, 4]
    move(page, 0.5)
    choose(page, "strange", "0.1")
    assert shown(page) == np.flatnonzero(frame["p_object"] <= 0.1)[:25].tolist()
    assert page.complaints() == []


def test_everything_can_be_reached_and_moved_by_keys(browser, tmp_path):
    page, seen = opened(browser, tmp_path, **label_problem()), []
    for _ in range(45):
        page.press("Tab")
        seen.append(page.run("(e => e.id || e.name || e.className)(document.activeElement)"))
    assert seen[0] == "level"  # what the page is about comes first
    wanted = ["level", "bar", "truth", "holds", "hit", "strange", "clear"]
    assert [name for name in dict.fromkeys(seen) if name in wanted] == wanted
    page.run("level.focus()")
    page.press("ArrowLeft", 20)
    assert page.run("level.getAttribute('aria-valuetext')") == percent(0.8)
    page.press("Tab")
    page.press("Enter")
    assert page.run("[document.activeElement.id, level.getAttribute('aria-valuetext')]") == ["level", percent(0.9)]
    page.run("document.querySelectorAll('.bar')[1].focus()")
    for key, pressed in ((" ", "true"), ("Enter", "false")):  # and the bar keeps the focus
        page.press(key)
        assert page.run("document.activeElement.getAttribute('aria-pressed')") == pressed
    page.run("document.querySelector('#rows thead button').focus()")
    page.press("Enter")
    assert page.run(HEADS)[0][1] == "descending"


def test_images_are_shown_in_rows_and_cards(browser, tmp_path):
    images = np.arange(300 * 6.0).reshape(300, 2, 3) % 7
    page = opened(browser, tmp_path, **label_problem(X=images))
    for selector, row in (("#rows canvas", 0), ("#strangest canvas", page.run(CARDS % "strangest")[0])):
        shades = page.run(f"[...document.querySelector('{selector}').getContext('2d').getImageData(0, 0, 3, 2).data]")
        own = images[row] - images[row].min()
        assert shades[::4] == [255 - round(255 * pixel / own.max()) for pixel in own.ravel()]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", PAGES)
def test_a_browser_shows_the_page(browser, tmp_path, name, dark, width):
    (tmp_path / "page.html").write_text(rendered(name), encoding="utf-8")
    browser.resize(width, dark=dark)
    browser.open(tmp_path / "page.html")
    looked = browser.run(LOOK)
    assert looked["contrast"] >= 4.5
    assert looked["texts"] > 40
    assert looked["overflow"] <= 0
    assert looked["broken"] == 0
    assert (looked["paper"] < 0.1) == dark
    assert looked["unnamed"] == 0
    assert browser.run("document.querySelectorAll('img[src=x], [onerror], #rows td > b').length") == 0
    assert HOSTILE in browser.run("document.body.innerText")
    assert browser.complaints() == []


def test_the_browser_would_have_complained(browser, tmp_path):
    page = rendered("labels").replace("</body>", "<script>alert(1)</script></body>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    browser.open(tmp_path / "page.html")
    assert browser.complaints() != []


@pytest.mark.parametrize("make", [partial(label_problem, labels=list("abcdefghij")), target_problem])
def test_ten_thousand_rows_open_in_two_seconds_and_weigh_five_megabytes(browser, tmp_path, make):
    X = np.random.default_rng(0).normal(size=(10_000, 20))
    path = write_report(tmp_path / "page.html", **make(10_000, X=X, n_calibration=5000))
    assert path.stat().st_size < 5_000_000
    assert min(browser.open(path) for _ in range(3)) < 2
    assert browser.run("found.textContent") == "10,000 of 10,000 rows, 1 to 25 shown."
    began = time.perf_counter()
    browser.run("level.value -= 1; level.dispatchEvent(new Event('input'))")
    assert time.perf_counter() - began < 0.5
