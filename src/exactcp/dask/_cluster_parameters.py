"""What may be given for the parameters that say where shards are: a client, and the memory of this process."""

from __future__ import annotations

from typing import Any

from exactcp._parameters import NONE, Allowed
from exactcp.dask._modules import dask_module

CLIENT = (
    Allowed(
        "a client",
        "a distributed.Client",
        lambda value: hasattr(value, "scheduler_info") and not isinstance(value, type),
        error=TypeError,
    )
    | NONE
)


def _is_size(value: Any) -> bool:
    try:
        return not isinstance(value, bool) and dask_module("dask.utils").parse_bytes(value) > 0
    except (ValueError, TypeError, AttributeError, KeyError):
        return False


MEMORY_LIMIT = Allowed("a size of memory", "a number of bytes or a text such as '2 GB'", _is_size) | NONE
