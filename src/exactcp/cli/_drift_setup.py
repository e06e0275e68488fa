"""What `exactcp drift` is set up with: the measure, who says what columns are, and a state that agrees."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from exactcp.cli._drift_columns import decide_columns
from exactcp.cli._drift_rows import Reading, read_sample
from exactcp.cli._drift_state import check_same_test, columns_of_state
from exactcp.cli._measure_option import TASKS, make_measure, measures_of
from exactcp.exchangeability._watched import Column, WatchedStream

WITH_LABELS, WITH_NUMBERS = TASKS
OPTIONS = {  # of the test: parameter to what is typed
    "betting": "--betting",
    "alarm": "--alarm",
    "threshold": "--threshold",
    "window": "--window",
    "forget": "--forget",
    "mondrian": "--mondrian",
    "restart": "--restart",
    "random_state": "--seed",
}


class MeasureChoice:
    """The measure that was typed."""

    def __init__(self, name: str | None, options: list[str], seed: int | None) -> None:
        self.name, self.options, self._seed = name, options, seed

    def task(self, target: str | None, given: str | None, mondrian: Any) -> str | None:
        """Return the task that was said, or that the measure or categories are for; None if the target must tell."""
        if given is not None or target is None:
            return given
        if mondrian is not None or self.name is None:
            return None if mondrian is None else WITH_LABELS
        tasks = [task for task in (WITH_LABELS, WITH_NUMBERS) if _is_for(self.name, task)]
        return None if len(tasks) == 2 else [*tasks, WITH_LABELS][0]

    def make(self, target: str | None, task: str | None) -> Any:
        """Return the measure, None for the default of streams without targets."""
        if task == WITH_NUMBERS:
            return make_measure(self.name or "knn", self.options, task, seed=self._seed)
        name = self.name or ("simplified-knn" if self.options and target is None else None)
        return make_measure(name, self.options, WITH_LABELS, seed=self._seed)


def _is_for(name: str, task: str) -> bool:
    """Tell whether there is such a measure for a task."""
    key = name.lower().replace("-", "").replace("_", "")
    return any(key in (short.replace("-", ""), cls.__name__.lower()) for short, cls in measures_of(task).items())


class Sources:
    """Who says what the columns are: a state, a reference file, or the first row."""

    def __init__(
        self, state: Path | None, watched: WatchedStream | None, reference: Path | None, separator: str | None
    ) -> None:
        self._state, self._watched, self._reference, self._separator = state, watched, reference, separator

    def columns(self, reading: Reading) -> Callable[[list[str]], list[Column]] | None:
        """Return a function from the names of columns to what they are; None if the first row must tell."""
        if self._watched is None and self._reference is None:
            return None
        return lambda names: self._told(names, reading)

    def _told(self, names: list[str], reading: Reading) -> list[Column]:
        told: list[Column] = []
        if self._reference is not None:
            sample = read_sample(str(self._reference), self._separator, has_header=reading.has_header)
            told = decide_columns(names, sample, reading.wishes)
        if self._watched is None or self._state is None:
            return told
        known = columns_of_state(self._watched, self._state, reading.wishes, names)
        if told and sorted(told) != sorted(known):
            msg = f"{self._reference} gives other constants than {self._state} has: leave it out, or begin another."
            raise ValueError(msg)
        return known


def check_state(
    ctx: typer.Context, watched: WatchedStream, state: Path, parameters: dict[str, Any], chooser: MeasureChoice
) -> None:
    """Refuse options of the test that were typed, and are not those of the state."""
    given: dict[str, tuple[str, Any]] = {}
    for name, typed in OPTIONS.items():
        source = ctx.get_parameter_source("seed" if name == "random_state" else name)
        if source is not None and source.name == "COMMANDLINE":
            value = parameters[name]
            given[name] = (typed if name == "restart" else f"{typed} {value}", value)
    if chooser.name is not None or chooser.options:
        kinds = {column.kind for column in watched.columns}
        task = WITH_NUMBERS if "target" in kinds else None
        typed = f"--measure {chooser.name}" if chooser.name else f"--option {chooser.options[0]}"
        target = "y" if kinds & {"label", "target"} else None
        given["measure"] = (typed, chooser.make(target, task))
    check_same_test(watched, state, given)


def begun(columns: list[Column], chooser: MeasureChoice, parameters: dict[str, Any]) -> WatchedStream:
    """Return a stream of which nothing has been seen."""
    from exactcp import ExchangeabilityTest

    kind = next((column.kind for column in columns if column.kind in ("label", "target")), None)
    task = WITH_NUMBERS if kind == "target" else WITH_LABELS
    return WatchedStream(ExchangeabilityTest(chooser.make(kind, task), **parameters), columns)
