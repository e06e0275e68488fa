"""All cases whose answers are frozen, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from frozen_answers import classifier_cases, label_cases, large_cases, target_cases
from frozen_applications import (
    command_cases,
    other_cases,
    part_cases,
    refit_cases,
    saved_cases,
    shard_cases,
    stream_cases,
    target_part_cases,
    venn_abers_cases,
    venn_cases,
)
from frozen_store import Case

KINDS: dict[str, Callable[[], Iterator[Case]]] = {
    "label bags": label_cases,
    "classifiers": classifier_cases,
    "regressors": target_cases,
    "sizes": large_cases,
    "streams": stream_cases,
    "Venn": venn_cases,
    "Venn-Abers": venn_abers_cases,
    "parts": part_cases,
    "target parts": target_part_cases,
    "refits": refit_cases,
    "others": other_cases,
    "shards": shard_cases,
    "commands": command_cases,
    "saved": saved_cases,
}


def every_case(kind: str) -> list[Case]:
    """Return all cases of a kind."""
    return list(KINDS[kind]())
