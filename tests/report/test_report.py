"""The page without a browser: what it says and embeds, and that it needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
from functools import cache
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest

from exactcp import pvalues
from exactcp.metrics import efficiency_summary
from exactcp.report import render, write_report
from exactcp.report.numbers import written_number

HOSTILE = '</script ><script>alert(1)</script><img src=x onerror="alert(1)">'
LABELS = ["ant", HOSTILE, "=cat, \"the\" 'first'", "dog\u2028&amp;", "10"]
TARGET_LEVELS = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99]
VOID = {"img", "meta", "input"}


def label_problem(m=300, *, denominator=20, labels=LABELS, **options):
    """Return arguments of `render`: p-values are k/20, so that many are epsilon; a label is new, some are unknown."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, len(labels), size=m)
    frames = {}
    for name in ("full", HOSTILE):
        p = rng.integers(1, 5, size=(m, len(labels))) / denominator
        p[np.arange(m), codes] = rng.integers(1, denominator + 1, size=m) / denominator
        best = {"prediction": [labels[code] for code in p.argmax(axis=1)]}
        frames[name] = pd.DataFrame(best | {f"p_{label}": p[:, j] for j, label in enumerate(labels)})
    y = [labels[code] for code in codes]
    y[3], y[7], y[8] = None, "zebra <i>", None
    X = pd.DataFrame({HOSTILE: rng.normal(size=m) * 1e4, "count": np.arange(m), "text": rng.choice(["x,y", "<b>"], m)})
    return {"predictions": frames, "y": y, "X": X, "confidence_level": 0.9, "n_calibration": 19} | options


def target_problem(m=120, **options):
    """Return arguments of `render`: some intervals are infinite or empty; a target is unknown."""
    rng = np.random.default_rng(1)
    prediction = rng.normal(loc=5e4, scale=1e4, size=m)
    y = prediction + rng.normal(scale=2e3, size=m)
    frame = {"prediction": prediction, "p_true": rng.integers(1, 41, size=m) / 40, "p_object": rng.uniform(size=m)}
    for level in TARGET_LEVELS:
        width = 5000 * level**2 * rng.uniform(0.8, 1.2, size=m)
        frame |= {f"lower_{level}": prediction - width, f"upper_{level}": prediction + width}
    frame["lower_0.99"][:5], frame["upper_0.99"][:5] = -np.inf, np.inf
    frame["lower_0.5"][7] = frame["upper_0.5"][7] = np.nan
    frame["lower_0.9"][12], frame["upper_0.9"][13] = y[12], y[13]  # ends belong to intervals
    y[11] = np.nan
    split = pd.DataFrame({"prediction": prediction, "lower": frame["lower_0.9"], "upper": np.inf})
    X = pd.DataFrame({HOSTILE: rng.uniform(size=m), "kind": rng.choice(["r", HOSTILE], size=m)})
    how = {"predictions": {"full": pd.DataFrame(frame), "split": split}, "y": y, "X": X, "confidence_level": 0.9}
    return how | {"n_calibration": 39} | options


PAGES = {
    "labels": label_problem,
    "labels, images": lambda: label_problem(X=np.random.default_rng(0).uniform(size=(300, 4, 4, 3))),
    "labels, blind": lambda: label_problem(y=None, X=None, details={"title": HOSTILE, HOSTILE: HOSTILE}),
    "targets": lambda: target_problem(details={"fit": {"full": HOSTILE}}),
    "targets, blind": lambda: target_problem(predictions=target_problem()["predictions"]["split"], y=None),
}


@cache  # pictures take a while
def rendered(name):
    return render(**PAGES[name]())


def embedded(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, flags=re.DOTALL)[1])


def unpacked(packed):
    return np.frombuffer(base64.b64decode(packed["bytes"]), dtype="<" + packed["type"])


class Outline(html.parser.HTMLParser):
    """Elements with their attributes, and whether every element was closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_and_accessible(name):
    outline = Outline(rendered(name))
    assert outline.all("html")[0]["lang"] == "en"
    assert any(meta.get("name") == "viewport" for meta in outline.all("meta"))
    headings = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert all(len((image["alt"] or "").split()) >= 4 for image in outline.all("img"))
    assert all(head["scope"] in ("col", "row") for head in outline.all("th"))
    assert len(outline.all("caption")) == len(outline.all("table"))
    names = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(names) == len(set(names))
    referred = {own["aria-labelledby"] for _, own in outline.elements if "aria-labelledby" in own}
    assert referred <= set(names)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_needs_a_network_or_runs_another_script_than_its_own(name):
    page = rendered(name)
    outline = Outline(page)
    assert {tag for tag, _ in outline.elements} & {"link", "iframe", "object"} == set()
    assert outline.all("script") == [{"type": "application/json", "id": "data"}, {}]  # whatever a name contains
    assert HOSTILE not in page
    text = re.search(r"<script>(.*)</script>", page, flags=re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = next(meta["content"] for meta in outline.all("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert re.findall(r"script-src ([^;]*)", policy) == [f"'sha256-{digest}'"]
    for _, attributes in outline.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert all((attributes.get(name) or "data:").startswith("data:") for name in ("src", "href", "srcset"))
    assert "url(" not in page
    assert "@import" not in page


@pytest.mark.parametrize("denominator", [20, 40, 1000, 7])
def test_numbers_of_labels_at_every_level_are_those_of_the_sets(denominator):
    how = label_problem(denominator=denominator)
    page = render(**how)
    data = embedded(page)
    known = [row for row, label in enumerate(how["y"]) if label is not None]
    assert len(data["levels"]) == 207
    assert data["levels"][data["start"]] == 0.9
    for frame, numbers in zip(how["predictions"].values(), data["runs"], strict=True):
        p = frame[[f"p_{label}" for label in LABELS]].to_numpy()
        for place, level in enumerate(data["levels"]):
            sets = pvalues.exceeds(p, pvalues.significance(level))
            hits = [how["y"][row] in LABELS and sets[row, LABELS.index(how["y"][row])] for row in known]
            assert numbers["coverage"][place] == sum(hits) / len(known)
            assert numbers["set_size"][place] == sets.sum() / 300
            assert numbers["alone"][place] == (sets.sum(axis=1) == 1).sum() / 300
    first = how["predictions"]["full"]
    assert np.array_equal(unpacked(data["p"]).reshape(300, 5), first[[f"p_{label}" for label in LABELS]])
    best = [LABELS[code] for code in unpacked(data["best"])]
    assert best == first["prediction"].tolist()
    truth = [[*LABELS, "zebra <i>", None][code] for code in unpacked(data["truth"])]
    assert truth == how["y"]
    sentence = "1 test rows have a label that no training row has (zebra &lt;i&gt;): no set can hold it"
    assert sentence in " ".join(page.split())


def test_numbers_of_targets_at_every_level_are_those_of_the_intervals():
    how = target_problem()
    data = embedded(render(**how))
    frame, known = how["predictions"]["full"], ~np.isnan(how["y"])
    assert data["levels"] == TARGET_LEVELS
    full, split = data["runs"]
    for place, level in enumerate(data["levels"]):
        ends = frame[[f"lower_{level}", f"upper_{level}"]].to_numpy()
        for side, name in enumerate(("lower", "upper")):
            assert np.array_equal(unpacked(data[name]).reshape(10, 120)[place], ends[:, side], equal_nan=True)
        widths = np.nan_to_num(ends[:, 1] - ends[:, 0], posinf=np.inf)
        finite = widths[np.isfinite(widths)]
        assert full["mean_width"][place] == finite.mean()
        assert full["median_width"][place] == np.median(finite)
        assert full["infinite"][place] == (5 if level == 0.99 else 0)
        assert full["coverage"][place] == ((ends[:, 0] <= how["y"]) & (how["y"] <= ends[:, 1]))[known].mean()
    assert [n for n in split["infinite"] if n is not None] == [120]  # a frame of one level
    assert split["mean_width"] == [None] * 10
    assert np.isnan(unpacked(data["p_true"])[11])  # there is no truth


def test_labels_are_compared_as_texts():
    frame = pd.DataFrame({"prediction": [1, 2, 2], "p_1": [0.9, 0.1, 0.2], "p_2": [0.2, 0.8, 0.9]})
    for y in ([1, 2, 1], ["1", "2", "1"], np.array([1.0, 2.0, 1.0]), pd.Series([1, 2, 1], index=[5, 6, 7])):
        assert embedded(render(frame, y))["runs"][0]["coverage"][100] == 2 / 3
    for missing in (np.nan, None, pd.NA):
        data = embedded(render(frame, [1, missing, 2]))
        assert unpacked(data["truth"]).tolist() == [0, -1, 1]


def test_polars_and_pandas_give_the_same_page_whatever_the_style_of_pictures_is(tmp_path):
    how = label_problem()
    same = {name: pl.DataFrame(frame.to_dict("list")) for name, frame in how["predictions"].items()}
    with mpl.style.context("dark_background"):
        path = write_report(tmp_path / "page.html", **how | {"predictions": same, "X": pl.DataFrame(how["X"])})
    assert path.read_text(encoding="utf-8") == rendered("labels")


@pytest.mark.parametrize(
    ("share", "verdict", "words"),
    [
        (0.6, "below", "The coverage does not agree with the promise"),
        (0.9, "as promised", "The coverage agrees with the promise."),
        (1.0, "above", "The coverage agrees with the promise, and is higher than was asked for."),
    ],
)
def test_the_page_gives_a_verdict(share, verdict, words):
    frame = pd.DataFrame({"prediction": ["yes"] * 200, "p_yes": 0.9, "p_no": 0.01})
    y = ["yes" if i < 200 * share else "no" for i in range(200)]
    page = " ".join(render(frame, y, confidence_level=0.9).replace("\N{NO-BREAK SPACE}", " ").split())
    shown = re.findall(r'data-verdict="([^"]*)"( hidden)?>(.*?)</(?:p|div)>', page)
    assert [(kind, words in re.sub("<.?strong>", "", text)) for kind, hidden, text in shown if not hidden] == [
        (verdict, True)
    ]
    assert f'<dd><span data-number="coverage">{100 * share:.0f} %' in page
    assert f"{efficiency_summary(frame[['p_yes', 'p_no']]).mean_fuzziness:.3g}" in page


def test_with_folds_less_is_promised_at_every_level():
    how = label_problem(promised_level=0.8)
    page = render(**how)
    data = embedded(page)
    assert data["promised"][::50] == pytest.approx([max(0.0, 1 - 2 * (1 - level)) for level in data["levels"][::50]])
    assert data["expected"][0] == [0, 1]
    plain = embedded(rendered("labels"))
    assert data["expected"][data["levels"].index(0.95)] == plain["expected"][plain["levels"].index(0.9)]
    assert "all that is proven of predictors with folds" in page


def test_cells_of_any_kind():
    cells = {
        "whole": [1, 2, 2**40, 4],
        "part": [1.5, np.nan, np.inf, -0.25],
        "mixed": [True, "x", np.datetime64("2020-01-01"), None],
        "long": ["a" * 31, "b", pd.NA, pd.NaT],
    }
    frame = pd.DataFrame({"prediction": [0, 0, 0, 0], "p_0": [0.1, 0.2, 0.3, 0.4]})
    columns = embedded(render(frame, X=pd.DataFrame(cells)))["columns"]
    assert [column["name"] for column in columns] == list(cells)
    assert unpacked(columns[0]["numbers"]).tolist() == cells["whole"]
    assert np.array_equal(unpacked(columns[1]["numbers"]), cells["part"], equal_nan=True)
    mixed, long = ([column["texts"][code] for code in unpacked(column["codes"])] for column in columns[2:])
    assert mixed == ["True", "x", "2020-01-01", ""]
    assert long == ["a" * 29 + "\N{HORIZONTAL ELLIPSIS}", "b", "", ""]
    names = [column["name"] for column in embedded(render(frame, X=np.ones((4, 9))))["columns"]]
    assert names == [f"column {j}" for j in range(1, 7)]


@pytest.mark.parametrize(("X", "shown"), [(None, 20_000), (np.zeros((21_000, 20, 20)), 6_009)])
def test_a_page_has_as_many_rows_as_fit(X, shown):
    frame = pd.DataFrame({"prediction": ["a"] * 21_000, "p_a": np.linspace(0, 1, 21_000)})
    page = render(frame, X=X)
    assert embedded(page)["shown"] == shown
    assert len(page) < 5_000_000
    assert f"the page has the first {shown:,} of 21,000 rows" in page
    assert embedded(page)["runs"][0]["set_size"][100] == (frame["p_a"] > 0.495).mean()


FRAME = pd.DataFrame({"prediction": [0.0, 1.0], "lower_0.9": 0.0, "upper_0.9": 1.0})


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"predictions": FRAME, "y": [0.0]}, "y has 1 rows for 2 predictions"),
        ({"predictions": FRAME, "X": FRAME[:1]}, "X has 1 rows for 2 predictions"),
        ({"predictions": {"full": FRAME, "split": FRAME[:1]}}, r"numbers of rows: \{'full': 2, 'split': 1\}"),
        ({"predictions": {}}, "one at least"),
        ({"predictions": FRAME}, r"intervals at \[0.9\] and not at 0.95"),
        ({"predictions": FRAME[["prediction"]]}, "expected a frame that predict_frame returned"),
        ({"predictions": {"full": FRAME.rename(columns={"lower_0.9": "p_a"}), "x": FRAME}}, r"no columns \['p_a'\]"),
    ],
)
def test_mistakes_are_sentences(how, words):
    with pytest.raises(ValueError, match=words):
        render(**how)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (13900.4, 3, "13,900"), (1234567.0, 4, "1,235,000"), (0.5, 4, "0.5"), (100.0, 3, "100"), (0.0187, 3, "0.0187"),
        (-2.0625, 4, "-2.062"), (999.96, 4, "1,000"), (0.0, 4, "0"), (12345, 2, "12,345"), (float("inf"), 4, "inf"),
        (float("nan"), 4, "unknown"), (None, 4, "unknown"), (1e-9, 3, "1e-09"), (-1e-4, 3, "-0.0001"),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(value, digits, text):
    assert written_number(value, digits) == text
