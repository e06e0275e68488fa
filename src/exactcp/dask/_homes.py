"""Where shards live: each on one worker, where its tasks are done, so that test objects move and shards do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from exactcp.dask._modules import dask_module


def homes_of(places: Sequence[Iterable[str]], threads: Mapping[str, int]) -> list[str]:
    """Return a worker for each shard: one that has it already, unless others would then have less to do.

    Parameters
    ----------
    places : sequence of iterable of str
        The workers that have each shard.
    threads : mapping
        How many threads each worker has.
    """
    if not threads:
        return []
    most = -(-len(places) // sum(threads.values()))  # shards for each thread
    load, homes = dict.fromkeys(threads, 0), []
    for there in places:
        may_keep = [worker for worker in there if worker in load and load[worker] < most * threads[worker]]
        home = min(may_keep or load, key=lambda worker: (load[worker] / threads[worker], worker))
        load[home] += 1
        homes.append(home)
    return homes


def layered(name: str, tasks: Mapping[Any, Any], homes: Mapping[Any, str]) -> Any:
    """Return tasks as a graph of Dask, whose scheduler prefers their homes; where one is gone, it takes another."""
    graph = dask_module("dask.highlevelgraph")
    own = {key: [homes[key]] for key in tasks if key in homes}
    how = {"workers": own.get, "allow_other_workers": True} if own else None
    return graph.HighLevelGraph({name: graph.MaterializedLayer(dict(tasks), annotations=how)}, {name: set()})
