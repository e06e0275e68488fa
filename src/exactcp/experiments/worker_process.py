"""The worker as seen from this side: it is started with its threads, asked, and ended when its time is up."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from exactcp.experiments.machine import describe_machine
from exactcp.experiments.points import DONE, FAILED, TIMEOUT, Measurement, Point

PREPARATION = 1800.0  # seconds for data and compilation, which no timeout counts
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


class WorkerProcess:
    """A process that measures one point after another, as long as none runs out of time.

    A measurement in a process of its own can be ended at any moment, inside compiled code too; and it can be given its
    number of threads before any library counts cores.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._jobs = 0
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def _start(self, jobs: int) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `end`)
        environment = os.environ | dict.fromkeys(THREADS, str(jobs))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "exactcp.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=environment,
            start_new_session=True,  # an interruption from the keyboard is for us; we end the worker
        )
        self._jobs = jobs
        self._answers = queue.Queue()
        threading.Thread(target=_collect, args=(self._process, self._answers), daemon=True).start()

    def end(self) -> None:
        """End the process and those that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        if hasattr(os, "killpg") and process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):  # it may have ended by itself just now
                os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
        else:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, self._errors):
            if pipe is not None:
                pipe.close()

    def _last_words(self) -> str:
        """Return why the process has ended, as far as it told, and clear up."""
        code = self._process.wait() if self._process is not None else 0
        self._errors.seek(0)
        words = self._errors.read().decode("utf-8", errors="replace").split("\n")
        self.end()
        told = next((line.strip() for line in reversed(words) if line.strip()), "was there enough memory?")
        return f"the measuring process ended with code {code}: {told}"

    def measure(self, point: Point, timeout: float, data: str | None = None) -> Measurement:
        """Measure a point, or as much of it as the timeout allows.

        Parameters
        ----------
        point : Point
        timeout : float
            Seconds, from when data and compiled code are ready.
        data : str or None
            File of MNIST.

        Returns
        -------
        Measurement
        """
        if self._process is not None and (self._jobs != point.jobs or self._process.poll() is not None):
            self.end()
        if self._process is None:
            self._start(point.jobs)
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"point": asdict(point), "timeout": timeout, "data": data}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # it ended at once; so do the answers
        return self._await(point, timeout)

    def _await(self, point: Point, timeout: float) -> Measurement:
        known: dict[str, Any] = {}
        deadline, started = time.monotonic() + PREPARATION, False
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.end()
                if started:
                    return _measurement(point, TIMEOUT, timeout, known)
                return _measurement(point, FAILED, timeout, {"message": f"not ready after {PREPARATION:.0f} s"})
            if answer is None:
                return _measurement(point, FAILED, timeout, {"message": self._last_words()})
            event = answer.pop("event")
            if event in (DONE, FAILED):
                return _measurement(point, event, timeout, answer)
            if event == "started":
                deadline, started = time.monotonic() + timeout, True
            known |= answer


def _measurement(point: Point, status: str, timeout: float, fields: dict[str, Any]) -> Measurement:
    return Measurement(point, status, timeout, describe_machine(), **fields)


def _collect(process: subprocess.Popen[str], answers: queue.Queue[dict[str, Any] | None]) -> None:
    assert process.stdout is not None
    try:
        for line in process.stdout:
            answers.put(json.loads(line))
    except (ValueError, OSError):
        pass  # torn by the end of the process, or the pipe was closed
    answers.put(None)
