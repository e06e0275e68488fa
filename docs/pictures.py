"""Draw the pictures of the site: `make -C docs pictures`.

`digits-*.svg` show prediction sets, one picture for a light page and one for a dark one. `which.svg` is the tree of
decisions; it is part of a page, so that it has the page's colours, and its leaves are links. `which-list.html` says the
same on narrow screens.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

STATIC = Path(__file__).parent / "_static"


def draw_digits(ink: str, paper: str, path: Path) -> None:
    """Draw six digits with their sets at 95 %, from 100 training examples."""
    import matplotlib.pyplot as plt
    import numpy as np
    from matplotlib.patches import FancyBboxPatch
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    from exactcp import FullConformalClassifier
    from exactcp.measures import KNN

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, random_state=0)
    sets = FullConformalClassifier(KNN(k=3)).fit(X_train, y_train).predict_set(X_test, confidence_level=0.95)
    size, covered = sets.sum(axis=1), sets[np.arange(len(y_test)), y_test]
    shown = [np.flatnonzero((size == k) & covered)[which] for k, which in ((1, 0), (1, 7), (2, 0), (2, 8), (3, 0))]
    shown.append(np.flatnonzero(size == 0)[0])

    fig, axes = plt.subplots(1, 6, figsize=(9, 2.55))
    fig.subplots_adjust(left=0.01, right=0.99, bottom=0.33, top=0.82, wspace=0.15)
    for ax, i in zip(axes, shown, strict=True):
        ax.imshow(X_test[i].reshape(8, 8), cmap="gray_r" if paper == "white" else "gray")
        ax.set_axis_off()
        labels = [str(label) for label in np.flatnonzero(sets[i])]
        for place, label in enumerate(labels):
            x = 0.5 + 0.27 * (place - (len(labels) - 1) / 2)
            colour = "#13795b" if int(label) == y_test[i] else "#6c757d"
            box = FancyBboxPatch(
                (x - 0.08, -0.3), 0.16, 0.2, "round,pad=0.03", transform=ax.transAxes, clip_on=False, color=colour
            )
            ax.add_patch(box)
            ax.text(x, -0.2, label, transform=ax.transAxes, color="white", ha="center", va="center", fontsize=15)
        if not labels:
            ax.text(0.5, -0.2, "none fits", transform=ax.transAxes, color=ink, ha="center", va="center", fontsize=12)
    fig.text(0.5, 0.93, "What can this digit be?", ha="center", va="center", color=ink, fontsize=15, weight="bold")
    share = f"{covered.mean():.1%}".replace("%", " %")
    said = f"95 % asked for, {share} of {len(y_test):,} sets hold the true digit; 100 training examples, none held out"
    fig.text(0.5, 0.06, said, ha="center", va="center", color=ink, fontsize=12)
    plt.rcParams |= {"svg.hashsalt": "exactcp"}
    fig.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(fig)


class Leaf(NamedTuple):
    """A condition, and what to take if it holds."""

    condition: str
    answer: str
    link: str


TREE = {
    "a label:\nwhich can it be?": (
        Leaf("no model yet", "FullConformalClassifier(KNN())", "auto_examples/plot_labels.html"),
        Leaf("columns of all kinds", "FullConformalClassifier(RandomForest())", "auto_examples/plot_forest.html"),
        Leaf("nearly linear, or few examples", "FullConformalClassifier(LSSVM())", "auto_examples/plot_diagnosis.html"),
        Leaf("my model, many examples", "SplitConformalClassifier(model)", "auto_examples/plot_network.html"),
        Leaf("my model, few examples", "CrossConformalClassifier(model)", "auto_examples/plot_few.html"),
    ),
    "a number:\nbetween which two?": (
        Leaf("no model yet", "FullConformalRegressor(RidgeResidual())", "auto_examples/plot_frame.html"),
        Leaf("the noise depends on x", "CVPlusRegressor(ModelQuantile(...))", "auto_examples/plot_noise_grows.html"),
        Leaf("my model, many examples", "SplitConformalRegressor(model)", "auto_examples/plot_resampling.html"),
        Leaf("my model, few examples", "CVPlusRegressor(model)", "auto_examples/plot_resampling.html"),
        Leaf("my forest", "JackknifeAfterBootstrapRegressor(forest)", "auto_examples/plot_resampling.html"),
        Leaf("a whole distribution", "predict_distribution(X)", "auto_examples/plot_distribution.html"),
    ),
    "a probability": (Leaf("one I can trust", "VennAbersPredictor()", "auto_examples/plot_probabilities.html"),),
    "something strange": (
        Leaf("objects unlike the others", "ConformalAnomalyDetector()", "auto_examples/plot_anomalies.html"),
        Leaf("a stream that changes", "ExchangeabilityTest()", "auto_examples/plot_stream.html"),
    ),
}
ROW, GAP, TOP = 44, 18, 14
COLUMNS = (6, 226, 506)
WIDTHS = (190, 250, 368)


def _box(x: float, y: float, width: float, height: float, kind: str, lines: list[str]) -> str:
    first = y + height / 2 - 9 * (len(lines) - 1)
    texts = "".join(
        f'<text x="{x + width / 2:g}" y="{first + 18 * number:g}" dy="0.35em">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return f'<g class="{kind}"><rect x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="9"/>{texts}</g>'


def _line(x: float, y: float, to_x: float, to_y: float) -> str:
    middle = (x + to_x) / 2
    return f'<path d="M{x:g} {y:g} C{middle:g} {y:g} {middle:g} {to_y:g} {to_x:g} {to_y:g}"/>'


def draw_tree(tree: dict[str, tuple[Leaf, ...]]) -> str:
    """Return the tree of decisions as SVG: what is asked, what is the case, what to take."""
    y, lines, boxes = TOP, [], []
    for task, leaves in tree.items():
        middle = y + (len(leaves) * ROW - 10) / 2
        words = task.split("\n")
        height = 32 if len(words) == 1 else 56
        boxes.append(_box(COLUMNS[0], middle - height / 2, WIDTHS[0], height, "task", words))
        for leaf in leaves:
            own = y + (ROW - 10) / 2
            lines.append(_line(COLUMNS[0] + WIDTHS[0], middle, COLUMNS[1], own))
            lines.append(_line(COLUMNS[1] + WIDTHS[1], own, COLUMNS[2], own))
            boxes.append(_box(COLUMNS[1], own - 16, WIDTHS[1], 32, "case", [leaf.condition]))
            answer = _box(COLUMNS[2], own - 16, WIDTHS[2], 32, "leaf", [leaf.answer])
            boxes.append(f'<a href="{escape(leaf.link)}">{answer}</a>')
            y += ROW
        y += GAP
    width, height = COLUMNS[2] + WIDTHS[2] + 6, y - GAP + TOP - 10
    parts = [
        f'<svg class="decisions" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">',
        "<title>What do I want to know, what is the case, which predictor do I take</title>",
        '<g class="lines">',
        *lines,
        "</g>",
        *boxes,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def list_tree(tree: dict[str, tuple[Leaf, ...]]) -> str:
    """Return the same as a list, for screens on which the picture would be too small to read."""
    parts = ['<div class="decision-list">']
    for task, leaves in tree.items():
        parts.append(f"<p><strong>{escape(task).replace(chr(10), ' ')}</strong></p>\n<ul>")
        for leaf in leaves:
            link = f'<a href="{escape(leaf.link)}"><code>{escape(leaf.answer)}</code></a>'
            parts.append(f"<li>{escape(leaf.condition)}:<br>{link}</li>")
        parts.append("</ul>")
    return "\n".join([*parts, "</div>"]) + "\n"


def main() -> None:
    """Draw all of them."""
    draw_digits("#1f2328", "white", STATIC / "digits-light.svg")
    draw_digits("#e6edf3", "black", STATIC / "digits-dark.svg")
    (STATIC / "which.svg").write_text(draw_tree(TREE), encoding="utf-8")
    (STATIC / "which-list.html").write_text(list_tree(TREE), encoding="utf-8")


if __name__ == "__main__":
    main()
