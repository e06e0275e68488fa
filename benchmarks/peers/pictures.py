"""The pictures of the page, each for a light and for a dark one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.peers.contest import OURS, PLAIN
from benchmarks.peers.results import Result

INKS = {"light": "#24292f", "dark": "#d0d7de"}
COLOURS = {  # seen apart by the colour-blind, on white and on black
    OURS: "#d55e00",
    "MAPIE": "#3d8fd1",
    "puncc": "#009e73",
    "crepes": "#cc79a7",
    "nonconformist": "#c9a400",
    "venn-abers": "#3d8fd1",
    "online-cp": "#3d8fd1",
    "GPyConform": "#3d8fd1",
    "nonconform": "#3d8fd1",
    PLAIN: "#8c959f",
    "exactcp, its distribution": "#e8a06a",
}
MARKS = dict(zip(COLOURS, "osD^vPX*pdh", strict=True))
ACROSS = 3


def draw(results: list[Result], folder: Path) -> None:
    """Draw all pictures into a folder."""
    for look, ink in INKS.items():
        with _style(ink):
            _time(results).savefig(folder / f"peers-time-{look}.svg", transparent=True, metadata={"Date": None})
            _nine(results).savefig(folder / f"peers-nine-{look}.svg", transparent=True, metadata={"Date": None})
            for name, values in (("memory", "megabytes"), ("efficiency", "quality")):
                fig = _beside_ours({one.contest.title: getattr(one, values) for one in results}, name)
                fig.savefig(folder / f"peers-{name}-{look}.svg", transparent=True, metadata={"Date": None})


@contextmanager
def _style(ink: str) -> Iterator[None]:
    parts = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor")
    with plt.rc_context(
        dict.fromkeys(parts, ink) | {"svg.hashsalt": "exactcp", "svg.fonttype": "none", "font.size": 9}
    ):
        yield
    plt.close("all")


def _legend(fig: Any, names: list[str]) -> None:
    handles = [plt.Line2D([], [], color=COLOURS[who], marker=MARKS[who], ms=5, label=who) for who in names]
    fig.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False)


def _named(results: list[Result]) -> list[str]:
    return [who for who in COLOURS if any(who in result.contest.works for result in results)]


def _time(results: list[Result]) -> Any:
    """Draw CPU seconds against n, a panel for each contest."""
    down = -(-len(results) // ACROSS)
    fig, axes = plt.subplots(down, ACROSS, figsize=(10, 2.5 * down + 0.6), layout="constrained", squeeze=False)
    for ax in axes.flat[len(results) :]:
        ax.set_axis_off()
    for ax, result in zip(axes.flat, results, strict=False):
        for who in result.contest.works:
            points = [(n, took[who]) for n, took in result.growth.seconds.items() if who in took]
            ax.loglog(
                *zip(*points, strict=True), color=COLOURS[who], marker=MARKS[who], ms=4, lw=1.8 if who == OURS else 1.1
            )
        ax.set_title(result.contest.title.replace(", ", ",\n", 1), fontsize=9)
        ax.set_xlabel("n")
        ax.set_ylabel("CPU seconds")
        ax.grid(alpha=0.25)
        ax.minorticks_off()
    _legend(fig, _named(results))
    return fig


def _places(row: int, count: int) -> np.ndarray:
    """Return heights around a row: who is equal is seen beside each other."""
    return row + np.linspace(-0.24, 0.24, count)


def _nine(results: list[Result]) -> Any:
    """Draw the coverage of nine examples, and the band in which it should be."""
    results = [result for result in results if result.nine]
    fig, ax = plt.subplots(figsize=(8, 0.8 * len(results) + 1.3), layout="constrained")
    for row, result in enumerate(results):
        for place, (who, found) in zip(_places(row, len(result.nine)), result.nine.items(), strict=True):
            ax.plot(found.covered, place, color=COLOURS[who], marker=MARKS[who], ms=6)
            ax.fill_betweenx([row - 0.3, row + 0.3], found.low, found.high, color="#8c959f", alpha=0.06, lw=0)
    ax.set_yticks(np.arange(len(results)), [result.contest.title for result in results])
    ax.set_ylim(len(results) - 0.4, -0.6)
    ax.set_xlabel("share of draws that cover, where 0.8 is asked for")
    ax.grid(alpha=0.25, axis="x")
    _legend(fig, _named(results))
    return fig


def _beside_ours(values: dict[str, dict[str, float]], name: str) -> Any:
    """Draw everyone's number over ours, a row for each contest."""
    values = {title: found for title, found in values.items() if found}
    fig, ax = plt.subplots(figsize=(8, 0.7 * len(values) + 1.3), layout="constrained")
    for row, found in enumerate(values.values()):
        for place, (who, value) in zip(_places(row, len(found)), found.items(), strict=True):
            ax.plot(max(value, 1e-3) / max(found[OURS], 1e-3), place, color=COLOURS[who], marker=MARKS[who], ms=6)
    ax.axvline(1.0, color=COLOURS[OURS], lw=1)
    ax.set_yticks(np.arange(len(values)), list(values))
    ax.set_ylim(len(values) - 0.5, -0.5)
    if name == "memory":
        ax.set_xscale("log")
    ax.set_xlabel(f"{name} / ours (smaller is better)" if name != "memory" else "peak memory / ours")
    ax.grid(alpha=0.25, axis="x")
    _legend(fig, [who for who in COLOURS if any(who in found for found in values.values())])
    return fig
