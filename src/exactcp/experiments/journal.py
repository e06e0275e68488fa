"""The file of measurements: one line of JSON for each, written at once, so that a killed run loses none."""

from __future__ import annotations

import os
from pathlib import Path

from exactcp.experiments.points import Measurement


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
        line = measurement.to_json().encode("utf-8") + b"\n"
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
