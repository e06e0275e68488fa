"""The report: what it says, that it needs nothing but itself, and that people can read it."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import subprocess
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from chromium import find_chromium
from exactcp.report import LabelRun, TargetRun, TestRows, classification_facts, regression_facts, render, write_report

CSS = (Path(__file__).parents[2] / "src/exactcp/report/templates/page.css").read_text()
VOID = {"img", "meta", "br", "link", "hr", "input"}


def label_facts(truth=True, images=False, **changes):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=60)
    p = rng.uniform(0, 0.06, size=(60, 3))
    p[np.arange(60), codes] = rng.uniform(size=60)
    labels = ["ant", "<b>bee</b>", "cat"]
    rows = (
        TestRows(images=rng.uniform(size=(60, 4, 4)))
        if images
        else TestRows(None, ("a", "b"), rng.uniform(size=(60, 2)))
    )
    runs = [LabelRun("full", "KNN(k=15)", p, 0.1, 0.2), LabelRun("split", "KNN(k=15)", p[:, ::-1].copy(), 0.1, 0.2)]
    known = [labels[c] for c in codes] if truth else None
    given = {"confidence_level": 0.9, "asked": {"Training file": "train.csv"}, "rows": rows, **changes}
    return classification_facts(runs, labels, known, **given)


def target_facts(truth=True):
    rng = np.random.default_rng(0)
    y = rng.normal(size=40)
    ends = np.column_stack([y - 1, y + rng.uniform(-0.1, 1, size=40)])
    ends[3] = -np.inf, np.inf
    covered = (ends[:, 0] <= y) & (y <= ends[:, 1])
    widths = np.diff(ends, axis=1)[:, 0]
    p = rng.uniform(size=40)
    runs = [
        TargetRun(
            "full", "KNNResidual(k=15)", y, ends, widths, covered if truth else None, p if truth else None, 0.1, 0.2
        ),
        TargetRun("split", "KNNResidual(k=15)", y, ends, widths, covered if truth else None, None, 0.1, 0.2),
    ]
    rows = TestRows(None, ("a",), rng.uniform(size=(40, 1)))
    return regression_facts(runs, y if truth else None, rows=rows, strangeness=rng.uniform(size=40))


PAGES = {
    "labels": label_facts,
    "labels, images": lambda: label_facts(images=True),
    "labels, no truth": lambda: label_facts(truth=False),
    "targets": target_facts,
    "targets, no truth": lambda: target_facts(truth=False),
}


@cache  # figures take a while
def rendered(name):
    return render(PAGES[name]())


class Outline(html.parser.HTMLParser):
    """Elements with their attributes and text, and whether every element was closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and data.strip():
            self.texts.setdefault(self.open[-1], []).append(data.strip())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.mark.parametrize("name", PAGES)
def test_every_page_is_whole_and_accessible(name):
    page = rendered(name)
    outline = Outline(page)
    assert outline.all("html")[0]["lang"] == "en"
    assert outline.texts["title"]
    assert any(meta.get("name") == "viewport" for meta in outline.all("meta"))
    headings = [int(tag[1]) for tag, _ in outline.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert len(outline.all("img")) >= 1
    for image in outline.all("img"):
        assert len((image["alt"] or "").split()) >= 4
        assert image["src"].startswith("data:image/")
    for head in outline.all("th"):
        assert head["scope"] in ("col", "row")
    assert len(outline.all("caption")) == len(outline.all("table"))
    names = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(names) == len(set(names))
    assert {
        attributes["aria-labelledby"] for _, attributes in outline.elements if "aria-labelledby" in attributes
    } <= set(names)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_needs_a_network_or_runs_another_script_than_its_own(name):
    page = rendered(name)
    outline = Outline(page)
    assert {tag for tag, _ in outline.elements} & {"link", "iframe", "object"} == set()
    data, code = outline.all("script")
    assert data == {"type": "application/json", "id": "data"}
    assert code == {}
    text = re.search(r"<script>(.*)</script>", page, flags=re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    policy = next(meta["content"] for meta in outline.all("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none';")
    assert re.findall(r"script-src ([^;]*)", policy) == [f"'sha256-{digest}'"]
    assert not any(name.startswith("on") for _, attributes in outline.elements for name in attributes)
    for _, attributes in outline.elements:
        for attribute in ("src", "href", "srcset", "data"):
            assert (attributes.get(attribute) or "data:").startswith("data:")
    assert "url(" not in page
    assert "@import" not in page


def test_what_the_user_named_is_text_and_not_html():
    page = render(label_facts(title="<script>alert(1)</script>"))
    assert "<b>bee</b>" not in page
    assert "&lt;b&gt;bee&lt;/b&gt;" in page
    assert "<script>alert" not in page
    assert len(Outline(page).all("script")) == 2


def test_the_page_says_what_the_facts_say():
    facts = label_facts()
    page = render(facts).replace("\N{NO-BREAK SPACE}", " ")
    assert f"{100 * facts['coverage']:.1f}".removesuffix(".0") + " %" in page
    low, high = facts["expected_coverage"]
    assert low < 0.9 < high
    guarantee = re.search(r'<p id="guarantee"[^>]*>(.*?)</p>', page, flags=re.DOTALL)[1]
    guarantee = " ".join(re.sub(r"<[^>]*>", "", guarantee).split())
    assert len(re.findall(r"\.(?= |$)", guarantee)) == 2  # sentences
    assert "at least 90 %" in guarantee
    assert page.count('<p class="name">') == 18
    assert "train.csv" in page


def test_the_facts_count_what_they_say_they_count():
    p = np.array([[0.9, 0.01], [0.3, 0.2], [0.02, 0.01], [0.04, 0.5]])
    facts = classification_facts([LabelRun("full", "m", p, 0, 0)], [0, 1], [0, 1, "new", None], confidence_level=0.9)
    assert facts["n_known"] == 3
    assert facts["coverage"] == pytest.approx(2 / 3)  # a label that was never seen is not covered
    assert facts["accuracy"] == pytest.approx(1 / 3)
    assert facts["set_sizes"] == {"0": 1, "1": 2, "2": 1}
    assert facts["set_size"] == 1.0
    assert facts["p_true"] == [0.9, 0.2, 0.0]
    assert sorted(facts["p_false"]) == [0.01, 0.01, 0.02, 0.3]
    assert [row["row"] for row in facts["hardest"]] == [2, 4, 1, 3]
    assert [row["row"] for row in facts["strangest"]] == [3, 2, 4, 1]
    assert [row["covered"] for row in facts["hardest"]] == [True, None, True, False]
    assert facts["hardest"][0]["set"] == ["0", "1"]
    assert facts["by_label"] == [
        {"label": "0", "n": 1, "coverage": 1.0, "set_size": 1.0, "holds": [1.0, 0.0]},
        {"label": "1", "n": 1, "coverage": 1.0, "set_size": 2.0, "holds": [1.0, 1.0]},
    ]
    curve = facts["calibration"][0]
    assert curve["coverages"][curve["levels"].index(0.75)] == pytest.approx(1 / 3)
    json.dumps(facts)


def test_labels_that_are_no_class_have_rows_of_their_own():
    p = np.array([[0.9, 0.01], [0.3, 0.2], [0.02, 0.01], [0.04, 0.5]])
    facts = classification_facts([LabelRun("full", "m", p, 0, 0)], [0, 1], [0, 1, "new", None], confidence_level=0.9)
    assert facts["new_labels"] == {"new": 1}
    assert facts["by_new_label"] == [{"label": "new", "n": 1, "coverage": 0.0, "set_size": 0.0, "holds": [0.0, 0.0]}]
    assert facts["coverage_of_old_labels"] == 1.0
    assert facts["strangest"][0]["truth"] == "new, a new label"
    assert "new (not in the training rows)" in render(facts)


@pytest.mark.parametrize(
    ("share", "verdict", "words"),
    [
        (0.6, "below", "The coverage does not agree with the promise"),
        (0.9, "as promised", "The coverage agrees with the promise."),
        (1.0, "above", "The coverage agrees with the promise, and is higher than was asked for."),
    ],
)
def test_the_page_gives_a_verdict(share, verdict, words):
    p = np.tile([0.9, 0.01], (200, 1))
    truth = ["yes" if i < 200 * share else "no" for i in range(200)]
    facts = classification_facts([LabelRun("full", "m", p, 0, 0)], ["yes", "no"], truth, confidence_level=0.9)
    assert facts["verdict"] == verdict
    whole = render(facts)
    page = " ".join(whole.split())
    assert page.count('id="verdict"') == 1
    shown = re.findall(r'data-verdict="([^"]*)"( hidden)?>(.*?)</(?:p|div)>', page)
    assert [kind for kind, hidden, _ in shown if not hidden] == [verdict]
    assert next(
        words in text.replace("<strong>", "").replace("</strong>", "") for _, hidden, text in shown if not hidden
    )
    assert Outline(whole).open == []


def test_rows_that_do_not_differ_are_not_called_hard():
    same = np.tile([0.9, 0.01], (20, 1))
    facts = classification_facts([LabelRun("full", "m", same, 0, 0)], ["a", "b"], None, confidence_level=0.9)
    assert facts["hardest"] == []
    assert "hardest" not in render(facts).replace("script", "")
    ends = np.tile([1.0, 3.0], (20, 1)) + np.arange(20)[:, None] / 3
    run = TargetRun("split", "m", ends.mean(axis=1), ends, np.diff(ends, axis=1)[:, 0], None, None, 0, 0)
    assert regression_facts([run])["hardest"] == []
    assert "The hardest rows" not in render(regression_facts([run]))


def test_the_facts_of_targets():
    facts = target_facts()
    assert facts["infinite"] == 1
    assert facts["hardest"][0]["row"] == 4
    assert facts["widths"]["full"][3] is None
    assert facts["coverage"] == facts["comparison"][1]["coverage"]
    assert 0.8 < facts["coverage"] < 1
    json.dumps(facts)


def test_wrong_numbers_of_labels_are_refused():
    with pytest.raises(ValueError, match="1 true labels and 2 test rows"):
        classification_facts([LabelRun("full", "m", np.ones((2, 2)), 0, 0)], [0, 1], [0])


def test_the_same_facts_give_the_same_page(tmp_path):
    path = write_report(label_facts(images=True), tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == render(label_facts(images=True))


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_and_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") < 4.5


LIGHT, DARK = (
    dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))
    for block in re.findall(r":root \{(.*?)\}", CSS, flags=re.DOTALL)
)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_colour_stands_out_from_every_background(colors):
    used = {
        kind: set(re.findall(rf"[^-]{kind}: var\(--(\w+)\)", CSS)) for kind in ("color", "background", "stroke", "fill")
    }
    assert used["color"] >= {"ink", "quiet", "accent", "warn"}
    assert used["background"] == {"paper", "card", "bar"}
    assert set(re.findall(r"\.([\w-]+) \{[^}]*background: var\(--bar\)", CSS)) == {"bar-fill"}  # which holds no text
    for background in ("paper", "card"):
        for text in used["color"]:
            assert contrast(colors[text], colors[background]) >= 4.5, (text, background)
    for name in used["stroke"] - {"paper"}:
        assert contrast(colors[name], colors["paper"]) >= 3, name
    for name in re.findall(r"key-\d \{ fill: var\(--(\w+)\)", CSS):
        assert contrast(colors[name], colors["paper"]) >= 4.5, name
    assert set(re.findall(r"#[0-9a-f]{6}\b", CSS)) == {*LIGHT.values(), *DARK.values()}  # no colour goes unchecked


def test_the_colours_of_the_pictures_stand_out_from_paper():
    from exactcp.report import figures

    for color in (figures.BLUE, figures.ORANGE, figures.GREY):
        assert contrast(color, "#ffffff") >= 3


LOOK = """
<script>
function luminance(c) {
  const l = c.slice(0, 3).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
}
function rgba(text) { return text.match(/[\\d.]+/g).map(Number); }
function backdrop(element) {
  for (let e = element; e; e = e.parentElement) {
    const c = rgba(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] > 0) return c;
  }
  return [255, 255, 255];
}
addEventListener("load", () => {
  let lowest = 21, texts = 0;
  for (const e of document.body.querySelectorAll("*")) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const a = luminance(rgba(getComputedStyle(e).color)), b = luminance(backdrop(e));
    lowest = Math.min(lowest, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    texts += 1;
  }
  const root = document.documentElement;
  const seen = {
    contrast: lowest, texts, width: innerWidth, overflow: root.scrollWidth - innerWidth,
    broken: [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length,
    images: document.images.length,
    sections: [...document.querySelectorAll("h2")].map(h => h.textContent),
  };
  parent.document.body.dataset.seen = JSON.stringify(seen);
});
</script>"""


def browse(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [find_chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--enable-logging=stderr", "--allow-file-access-from-files", "--virtual-time-budget=5000"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, timeout=120)


def console(run: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in run.stderr.splitlines() if ":CONSOLE" in line]


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1100])
@pytest.mark.parametrize("name", PAGES)
def test_a_browser_shows_the_page(name, width, tmp_path):
    page = render(PAGES[name]())
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    looked_at = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page).replace(
        "</body>", LOOK + "</body>"
    )
    (tmp_path / "looked_at.html").write_text(looked_at, encoding="utf-8")
    # a frame, since a window cannot be as narrow as a phone
    frame = f'<iframe src="looked_at.html" width="{width}" height="900" style="border:0"></iframe>'
    (tmp_path / "frame.html").write_text(f"<!doctype html><body>{frame}</body>", encoding="utf-8")
    run = browse("--window-size=1300,1000", "--dump-dom", (tmp_path / "frame.html").as_uri())
    seen = json.loads(html.unescape(re.search(r'data-seen="([^"]*)"', run.stdout)[1]))
    assert seen["width"] == width
    assert seen["overflow"] <= 0
    assert seen["contrast"] >= 4.5
    assert seen["texts"] > 40
    assert seen["broken"] == 0
    assert seen["images"] == len(Outline(page).all("img"))
    assert "Coverage and efficiency" in seen["sections"]
    as_it_is = browse("--dump-dom", (tmp_path / "page.html").as_uri())
    assert console(as_it_is) == []


@pytest.mark.browser
def test_the_browser_would_have_complained(tmp_path):
    page = render(label_facts()).replace("</body>", "<script>alert(1)</script></body>")
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    assert console(browse("--dump-dom", (tmp_path / "page.html").as_uri())) != []


@pytest.mark.browser
def test_a_browser_takes_a_picture_and_prints(tmp_path):
    path = write_report(label_facts(images=True), tmp_path / "page.html")
    browse("--window-size=1100,2600", f"--screenshot={tmp_path / 'page.png'}", path.as_uri())
    browse(f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer", path.as_uri())
    from matplotlib.image import imread

    picture = imread(tmp_path / "page.png")
    assert picture.shape[:2] == (2600, 1100)
    assert picture[..., :3].std() > 0.05  # not an empty page
    pages = (tmp_path / "page.pdf").read_bytes().count(b"/Type /Page\n")
    assert 1 <= pages <= 5


@pytest.mark.parametrize("n_labels", [1, 11, 13, 40])
def test_any_number_of_labels_makes_a_page(n_labels):
    names = [f"label {place}" for place in range(n_labels)]
    p = np.random.default_rng(0).uniform(size=(50, n_labels))
    facts = classification_facts([LabelRun("full", "m", p, 0, 0)], names, [names[row % n_labels] for row in range(50)])
    page = render(facts)
    Outline(page)
    assert ("beside it" in page) == (n_labels > 12)
