"""What was measured at a point of an experiment, and the file of it: a line of JSON each, written at once.

So a killed run loses no measurement.
"""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from joblib import cpu_count

from exactcp._version import __version__
from exactcp.experiments.configs import Point

DONE, TIMEOUT, FAILED = "done", "timeout", "failed"


@cache
def describe_machine() -> dict[str, Any]:
    """Return processor, cores and versions; times measured under others are not mixed with these."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return {
        "exactcp": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": next(names, platform.processor() or platform.machine()),
        "cores": cpu_count(),
    }


@dataclass(frozen=True)
class Measurement:
    """What was measured at a point.

    Attributes
    ----------
    point : Point
    status : {"done", "timeout", "failed"}
    timeout : float
        Seconds that the measurement was given.
    machine : dict
        From `describe_machine`.
    fit_seconds : float or None
    predict_seconds : float or None
        Of all `predicted` test examples together.
    predicted : int
        Test examples predicted; fewer than asked for, if the time ran out.
    found : dict
        What else came out: fuzziness, numbers of samples.
    message : str
        Why it failed.
    """

    point: Point
    status: str
    timeout: float
    machine: dict[str, Any]
    fit_seconds: float | None = None
    predict_seconds: float | None = None
    predicted: int = 0
    found: dict[str, Any] = field(default_factory=dict)
    message: str = ""

    @property
    def seconds_per_prediction(self) -> float | None:
        """The mean over the test examples that were predicted; None if there were none."""
        if self.predict_seconds is None or self.predicted == 0:
            return None
        return self.predict_seconds / self.predicted

    def value(self, quantity: str) -> float | None:
        """Return seconds of "training", seconds of one "prediction", or what was found; None if it was not measured."""
        known = {"training": self.fit_seconds, "prediction": self.seconds_per_prediction}
        return {**self.found, **known}.get(quantity)

    @property
    def fuzziness(self) -> np.ndarray | None:
        """The fuzziness of every test example; None where it was not measured."""
        return np.asarray(self.found["fuzziness"]) if "fuzziness" in self.found else None

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read a line; raise ValueError if it is not a measurement."""
        try:
            content = json.loads(line)
            return cls(**content | {"point": Point(**content["point"])})
        except (TypeError, KeyError) as error:
            raise ValueError(str(error)) from None


class Journal:
    """A JSON lines file of measurements.

    Parameters
    ----------
    path : Path
        Made when the first measurement comes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[list[Measurement], int]:
        """Return the measurements, and how many lines are none: a kill may tear the last one."""
        if not self.path.exists():
            return [], 0
        measurements, broken = [], 0
        for line in self.path.read_bytes().split(b"\n"):
            if not line.strip():
                continue
            try:
                measurements.append(Measurement.from_json(line.decode("utf-8")))
            except ValueError:
                broken += 1
        return measurements, broken

    def append(self, measurement: Measurement) -> None:
        """Write a measurement, and return when it is on the disk."""
        line = json.dumps(asdict(measurement), separators=(",", ":")).encode() + b"\n"
        try:
            with self.path.open("ab+", buffering=0) as file:
                size = file.tell()
                if size > 0:
                    file.seek(-1, os.SEEK_END)
                    if file.read(1) != b"\n":  # a torn line ends here, so that it does not spoil the next
                        line = b"\n" + line
                try:
                    while line:
                        line = line[file.write(line) :]
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(size)  # a disk that is full now keeps no half of a line
                    raise
        except OSError as error:
            raise OSError(error.errno or 0, error.strerror or str(error), str(self.path)) from error
