"""Run the contests: equality first, then time, memory, validity and efficiency."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.peak import peak_megabytes
from benchmarks.peers import contests
from benchmarks.peers.contest import OURS, Contest
from benchmarks.peers.contests import TASKS
from benchmarks.peers.growth import Growth, grow
from benchmarks.peers.validity import Coverage, coverage_of_nine, quality

QUALITY_AT = 1_000


@dataclass(frozen=True)
class Plan:
    """How much is measured: the largest n, when someone is stopped (seconds), draws of nine, whether memory is."""

    largest: int = 100_000
    limit: float = 1.0
    draws: int = 1_000
    memory: bool = True


QUICK = Plan(largest=3_162, limit=0.3, draws=200, memory=False)


@dataclass
class Result:
    """What came out of one contest.

    Attributes
    ----------
    name : str
        Of the contest.
    growth : Growth
    megabytes : dict of str to float
        Peak memory above that before, at `contest.peak_at` rows, of those who reach them.
    nine : dict of str to Coverage
    quality : dict of str to float
        At 1,000 rows, or the last size below.
    """

    name: str
    growth: Growth
    megabytes: dict[str, float] = field(default_factory=dict)
    nine: dict[str, Coverage] = field(default_factory=dict)
    quality: dict[str, float] = field(default_factory=dict)

    @property
    def contest(self) -> Contest:
        """Return the contest."""
        return TASKS[self.name]


def run(plan: Plan, name: str) -> Result:
    """Run one contest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _result(name, plan)


def _result(name: str, plan: Plan) -> Result:
    contest = TASKS[name]
    result = Result(name, grow(contest, tuple(n for n in contest.sizes if n <= plan.largest), plan.limit))
    if plan.memory and contest.peak_at:
        result.megabytes = {
            who: peak_megabytes(contests.__name__, name, who, contest.peak_at) for who in _reaching(result)
        }
    if contest.nine is not None:
        result.nine = {who: coverage_of_nine(contest, who, plan.draws) for who in contest.works}
    if contest.kind != "p":
        data = contest.data(min(QUALITY_AT, max(contest.sizes)))
        result.quality = {who: quality(contest, who, data) for who in contest.works}
    return result


def _reaching(result: Result) -> list[str]:
    """Return who was not stopped below the size at which memory is measured."""
    stopped = result.growth.stopped
    return [who for who in result.contest.works if stopped.get(who, result.contest.peak_at) >= result.contest.peak_at]


def lines(result: Result) -> Iterator[str]:
    """Yield the result as lines of text."""
    contest, growth = result.contest, result.growth
    yield f"{contest.title}. {contest.does}"
    for who in contest.works:
        if who in growth.agrees:
            found = growth.agrees[who]
            yield f"  {who}: {found.same:,} of {found.rows:,} answers equal, largest difference {found.largest:.3g}"
        if who != OURS:
            ratios = ", ".join(f"{n:,}: {ratio:.2f}" for n, ratio in growth.ratios(who).items())
            end = f"; stopped after n = {growth.stopped[who]:,}" if who in growth.stopped else ""
            yield f"  time, {OURS} / {who}, by n: {ratios}{end}"
    for who, found in result.nine.items():
        yield f"  nine examples, {who}: {found.covered:.3f} ({found.low:.3f} to {found.high:.3f}), {found.verdict}"
    if result.quality:
        yield "  efficiency: " + ", ".join(f"{who} {value:.3f}" for who, value in result.quality.items())
    if result.megabytes:
        peaks = ", ".join(f"{who} {value:,.0f}" for who, value in result.megabytes.items())
        yield f"  peak MB at n = {contest.peak_at:,}: {peaks}"
