"""Where shards live: each on one worker, where its tasks are done, so that test objects move and shards do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from exactcp.dask._modules import dask_module

STAYS = "exactcp_stays"  # annotation of tasks that nobody takes from a worker that runs


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


def layered(name: str, tasks: Mapping[Any, Any], homes: Mapping[Any, str], *, are_kept: bool = False) -> Any:
    """Return tasks as a graph of Dask, whose scheduler prefers their homes; where one is gone, it takes another.

    An idle worker takes tasks from a busy one, with all that they need; not where homes are kept (`keep_homes`).
    """
    graph = dask_module("dask.highlevelgraph")
    own = {key: [homes[key]] for key in tasks if key in homes}
    how = {"workers": own.get, "allow_other_workers": True, STAYS: are_kept} if own else None
    return graph.HighLevelGraph({name: graph.MaterializedLayer(dict(tasks), annotations=how)}, {name: set()})


def keep_homes(client: Any) -> None:
    """Have the scheduler of a client know of tasks that stay at home; one that takes no plugins lets them move."""
    if client in _clients_told:
        return
    _clients_told.add(client)
    with suppress(Exception):  # then more bytes move
        client.register_plugin(_home_keeper())


_clients_told: WeakSet[Any] = WeakSet()  # clients whose schedulers know


def _home_keeper() -> Any:
    """Return a plugin for schedulers, which may lack exactcp: a class in a function goes there as a whole."""
    plugin_class, stays = dask_module("distributed").SchedulerPlugin, STAYS

    class HomeKeeper(plugin_class):  # type: ignore[misc, valid-type]
        """Lets nobody take tasks that stay at home from a worker that runs."""

        name, idempotent = "exactcp-homes", True

        def start(self, scheduler: Any) -> None:
            stealing = scheduler.extensions.get("stealing")
            thief_of = getattr(stealing, "_get_thief", None)
            if thief_of is None:  # nobody takes anything, or it is another version of Dask
                return

            def thief_of_free(state: Any, task: Any, *args: Any, **kwargs: Any) -> Any:
                home = task.processing_on
                is_kept = (task.annotations or {}).get(stays) and home is not None
                if is_kept and home.address in (task.worker_restrictions or ()) and home.status.name == "running":
                    return None
                return thief_of(state, task, *args, **kwargs)

            stealing._get_thief = thief_of_free  # noqa: SLF001

    return HomeKeeper()
