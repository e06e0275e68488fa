"""Time against n: everyone in turns, by CPU time of one thread, until it takes too long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.peers.contest import OURS, Contest, is_peer
from benchmarks.peers.equality import Agreement, agreement
from benchmarks.stopwatch import side_by_side

SMALL = 100
REPEAT, SHORT = 5, 0.4


@dataclass
class Growth:
    """What was measured in a contest.

    Attributes
    ----------
    seconds : dict of int to dict of str to float
        CPU seconds by n and by who.
    agrees : dict of str to Agreement
        With our answers, over all n that were run.
    stopped : dict of str to int
        The n at which someone took longer than the limit, after which it was not asked again.
    """

    seconds: dict[int, dict[str, float]] = field(default_factory=dict)
    agrees: dict[str, Agreement] = field(default_factory=dict)
    stopped: dict[str, int] = field(default_factory=dict)

    def ratios(self, who: str) -> dict[int, float]:
        """Return our time over that of another, by n."""
        return {n: took[OURS] / took[who] for n, took in self.seconds.items() if OURS in took and who in took}


def grow(contest: Contest, sizes: tuple[int, ...], limit: float) -> Growth:
    """Run a contest at growing sizes; who takes longer than `limit` seconds is not asked for more rows."""
    growth = Growth()
    with threadpool_limits(1):
        for who in contest.works:
            contest.answer(who, contest.data(SMALL))  # imports and compiles
        for n in sizes:
            _run(contest, n, growth)
            growth.stopped |= {
                who: n for who, took in growth.seconds[n].items() if took > limit and who not in growth.stopped
            }
    return growth


def _run(contest: Contest, n: int, growth: Growth) -> None:
    data = contest.data(n)
    works = {who: work for who, work in contest.works.items() if who not in growth.stopped}
    ours = contest.answer(OURS, data) if OURS in works else None
    for who in works:
        if ours is not None and is_peer(who):
            found = agreement(ours, contest.answer(who, data))
            growth.agrees[who] = growth.agrees[who] + found if who in growth.agrees else found
    growth.seconds[n] = _seconds({who: lambda work=work: work(data) for who, work in works.items()})


def _seconds(works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the CPU seconds of each: of one run, and of more if that was short, so that the slow do not take all."""
    once = side_by_side(works, repeat=1, clock=time.process_time)
    short = {who: work for who, work in works.items() if once[who] < SHORT}
    more = side_by_side(short, repeat=REPEAT - 1, clock=time.process_time)
    return {who: min(took, more.get(who, took)) for who, took in once.items()}
