"""What one waits for, in parts that add up."""

from __future__ import annotations

import time


class Clock:
    """Seconds by what they were spent on.

    Attributes
    ----------
    began : float
        When the command did, by `time.perf_counter`.
    seconds : dict
        Name to seconds, in the order in which they were spent.

    Examples
    --------
    >>> clock = Clock(time.perf_counter())
    >>> clock.lap("read")
    >>> clock.lap("work", fit=0.0, predict=0.0)
    >>> list(clock.seconds), clock.total == sum(clock.seconds.values())
    (['read', 'fit', 'predict', 'work'], True)
    """

    def __init__(self, began: float) -> None:
        self.began = self._last = began
        self.seconds: dict[str, float] = {}

    def lap(self, name: str, **known: float) -> None:
        """Note what was done since the last time; known parts of it have names of their own."""
        now = time.perf_counter()
        rest = now - self._last - sum(known.values())
        for part, seconds in {**known, name: rest}.items():
            self.seconds[part] = self.seconds.get(part, 0.0) + seconds
        self._last = now

    @property
    def total(self) -> float:
        """Seconds of all parts."""
        return sum(self.seconds.values())
