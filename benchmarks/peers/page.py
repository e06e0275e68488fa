"""The page of the documentation: tables and words that follow from the numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from joblib import cpu_count

from benchmarks.peers.contest import OURS, PLAIN, is_peer
from benchmarks.peers.pictures import INKS, draw
from benchmarks.peers.results import Result
from benchmarks.peers.validity import SURE
from exactcp import __version__

PACKAGES = (
    "MAPIE",
    "puncc",
    "crepes",
    "nonconformist",
    "venn-abers",
    "online-cp",
    "gpyconform",
    "scikit-learn",
    "numpy",
    "numba",
)
QUALITY = {"sets": "mean set size", "intervals": "interval score", "probabilities": "Brier loss"}
EVEN = 1.05  # a ratio up to here is no loss: the clock is not finer
INTRODUCTION = """\
<!-- Written by `python -m benchmarks.peers --page docs/benchmarks-peers.md`. -->
# Beside other packages

The same work by other packages, on the same data, by the same model where there is one: first whether the answers are
equal, then what they cost. `python -m benchmarks.peers` measures it on your machine, in an environment of its own
(`benchmarks/peers-requirements.txt`); this page is what it wrote. Ratios are **ours / theirs**: above 1 the peer is
faster.

{versions}.

CPU time of one thread, the best of up to five runs in turns, without making the data, everything compiled; {cores}
cores, {date}. Who takes longer than a second is not asked for more rows. A peer is asked for what it is fastest at: one
level, no smoothing.{left_out}
"""
LEFT_OUT = " nonconform needs Python 3.12, and is not measured with an older one."


def write_page(page: Path, results: list[Result]) -> None:
    """Write the page, and its pictures to the folder _static beside it."""
    draw(results, page.parent / "_static")
    page.write_text("\n".join(_page(results)), encoding="utf-8")


def _page(results: list[Result]) -> Iterator[str]:
    has_all = find_spec("nonconform") is not None
    packages = [*PACKAGES, "nonconform"] if has_all else PACKAGES
    versions = ", ".join([f"exactcp {__version__}", *(f"{name} {version(name)}" for name in packages)])
    today = dt.datetime.now(dt.UTC)
    date, left_out = f"{today.day} {today:%B %Y}", "" if has_all else LEFT_OUT
    yield INTRODUCTION.format(versions=versions, cores=cpu_count(), date=date, left_out=left_out)
    yield "## Are the answers equal?\n"
    yield "Rows over all n that both reached; equal means equal, up to rounding in the ninth digit.\n"
    yield from _table(["", "peer", "equal", "largest difference", "why"], _agreements(results))
    yield "\n## How often do nine examples cover?\n"
    yield from _nine(results)
    yield "\n## Where a peer is better\n"
    yield from _losses(results)
    yield "\n## Time\n"
    yield from _picture("time", "CPU seconds against n, on logarithmic scales, a panel for each of the tasks below")
    for result in results:
        yield from _section(result)
    yield "\n## Memory\n"
    yield "Peak memory above that before, in MB, in a process of its own, of those who reach this n.\n"
    yield from _picture("memory", "Peak memory of each package over ours, a row for each task")
    yield from _table(["", "n", "MB"], _values(results, "megabytes", ",.0f"))
    yield "\n## Set sizes, interval scores, losses\n"
    yield "Smaller is better; equal answers are equally good. Without a guarantee they may be smaller and wrong.\n"
    yield from _picture("efficiency", "Set size, interval score or loss of each package over ours, a row for each task")
    yield from _table(["", "of", ""], _values(results, "quality", ".3f"))
    yield ""


def _picture(name: str, words: str) -> Iterator[str]:
    for look in INKS:
        yield f"```{{image}} _static/peers-{name}-{look}.svg\n:class: only-{look}\n:alt: {words}\n```\n"


def _values(results: list[Result], which: str, form: str) -> Iterator[list[str]]:
    for result in results:
        found = getattr(result, which)
        if found:
            of = f"{result.contest.peak_at:,}" if which == "megabytes" else QUALITY[result.contest.kind]
            yield [result.contest.title, of, ", ".join(f"{who} {value:{form}}" for who, value in found.items())]


def _agreements(results: list[Result]) -> Iterator[list[str]]:
    for result in results:
        for who, found in result.growth.agrees.items():
            why = result.contest.differs.get(who, "")
            far = "0" if found.largest == 0.0 else f"{found.largest:.2g}"
            yield [result.contest.title, who, f"{found.same:,} of {found.rows:,}", far, why]


def _nine(results: list[Result]) -> Iterator[str]:
    yield (
        "At level 0.8, with nine examples that calibrate (or, where nothing is held out, train), 8 in 10 draws should\n"
        f"cover, exactly. The band holds {100 * SURE:.1f} % of what would be seen if they did.\n"
    )
    rows = [
        [result.contest.title, who, f"{found.covered:.3f}", f"{found.low:.3f} to {found.high:.3f}", found.verdict]
        for result in results
        for who, found in result.nine.items()
    ]
    yield from _picture("nine", "Share of draws that cover, of each package, and the band in which it should be")
    yield from _table(["", "package", "coverage", "band", ""], rows)
    yield f"\n{PLAIN} is the price of no guarantee at all: its own probabilities or standard deviations, believed."


def _losses(results: list[Result]) -> Iterator[str]:
    """Yield a sentence for each peer that was faster anywhere, and one for each that was never."""
    for result in results:
        for who in result.contest.works:
            ratios = result.growth.ratios(who)
            if not is_peer(who):
                continue
            slower = {n: ratio for n, ratio in ratios.items() if ratio > EVEN}
            if slower:
                most = max(slower, key=slower.__getitem__)
                took = _milliseconds(result.growth.seconds[most][OURS])
                sizes = "every n" if len(slower) == len(ratios) else f"n = {', '.join(f'{n:,}' for n in slower)}"
                yield (
                    f"- {result.contest.title}: **{who} is faster** at {sizes}; at {most:,} we take "
                    f"{slower[most]:.1f} times as long ({took} ms)."
                )
    yield from _even(results)


def _even(results: list[Result]) -> Iterator[str]:
    never = [
        f"{who} ({result.contest.title})"
        for result in results
        for who in result.contest.works
        if is_peer(who) and max(result.growth.ratios(who).values()) <= EVEN
    ]
    if never:
        yield f"- At no n faster than we are: {', '.join(never)}."


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}" if seconds >= 0.1 else f"{1000 * seconds:.3g}"


def _section(result: Result) -> Iterator[str]:
    contest, growth = result.contest, result.growth
    yield f"\n### {contest.title}\n\n{contest.does}\n"
    peers = [who for who in contest.works if who != OURS]
    ratios = {who: growth.ratios(who) for who in peers}
    rows = [
        [
            f"{n:,}",
            _milliseconds(took[OURS]) if OURS in took else "-",
            *(f"{ratios[who][n]:.2f}" if n in ratios[who] else "-" for who in peers),
        ]
        for n, took in growth.seconds.items()
    ]
    yield from _table(["n", "ours, ms", *(f"ours / {who}" for who in peers)], rows)
    if growth.stopped:
        yield f"\nTook longer than the limit: {', '.join(f'{who} at n = {n:,}' for who, n in growth.stopped.items())}."


def _table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
