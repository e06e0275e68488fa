"""The process that measures, from both sides: lines of JSON go to it and come back.

A measurement in a process of its own can be ended at any moment, inside compiled code too; and it gets its number of
threads before any library counts cores.
"""

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
from typing import Any, Self

from exactcp.experiments.configs import Point
from exactcp.experiments.measurements import DONE, FAILED, TIMEOUT, Measurement, describe_machine

PREPARATION = 1800.0  # seconds for data and compilation, which no timeout counts
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT")


class WorkerProcess:
    """A process that measures one point after another, as long as none runs out of time."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._jobs = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def _start(self, jobs: int) -> subprocess.Popen[str]:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `end`)
        process = subprocess.Popen(
            [sys.executable, "-c", "from exactcp.experiments.worker import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | dict.fromkeys(THREADS, str(jobs)),
            start_new_session=True,  # an interruption from the keyboard is for us; we end the worker
        )
        self._process, self._jobs = process, jobs
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=_collect, args=(process, self._answers), daemon=True).start()
        return process

    def end(self) -> str:
        """End the process and those that it started; return how it ended, and the last line of its errors."""
        process, self._process = self._process, None
        if process is None:
            return ""
        if hasattr(os, "killpg") and process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):  # it may have ended by itself just now
                os.killpg(process.pid, signal.SIGKILL)  # it leads a session of its own
        else:
            process.kill()
        code = process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", errors="replace").split("\n")
        for pipe in (process.stdin, process.stdout, self._errors):
            if pipe is not None:
                pipe.close()
        told = next((line.strip() for line in reversed(lines) if line.strip()), "was there enough memory?")
        return f"the measuring process ended with code {code}: {told}"

    def measure(self, point: Point, timeout: float) -> Measurement:
        """Measure a point, or as much of it as the timeout allows.

        Parameters
        ----------
        point : Point
        timeout : float
            Seconds, from when data and compiled code are ready.

        Returns
        -------
        Measurement
        """
        if self._process is not None and (self._jobs != point.jobs or self._process.poll() is not None):
            self.end()
        process = self._process or self._start(point.jobs)
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it ended at once; so do the answers
            process.stdin.write(json.dumps({"point": asdict(point), "timeout": timeout}) + "\n")
            process.stdin.flush()
        status, fields = self._await(process, timeout)
        return Measurement(point, status, timeout, describe_machine(), **fields)

    def _await(self, process: subprocess.Popen[str], timeout: float) -> tuple[str, dict[str, Any]]:
        known: dict[str, Any] = {}
        deadline, started = time.monotonic() + PREPARATION, False
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.end()
                return (TIMEOUT, known) if started else (FAILED, {"message": f"not ready after {PREPARATION:.0f} s"})
            if answer is None:
                process.wait()
                return FAILED, {"message": self.end()}
            event = answer.pop("event")
            if event in (DONE, FAILED):
                return event, answer
            if event == "started":
                deadline, started = time.monotonic() + timeout, True
            known |= answer


def _collect(process: subprocess.Popen[str], answers: queue.SimpleQueue[dict[str, Any] | None]) -> None:
    assert process.stdout is not None
    with suppress(ValueError, OSError):  # torn by the end of the process, or the pipe was closed
        for line in process.stdout:
            answers.put(json.loads(line))
    answers.put(None)


def serve() -> None:
    """Measure what is asked for, in the process; it ends when its input ends, even in the middle of a measurement."""
    from exactcp.experiments.measuring import measure

    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed must not look like an answer
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()

    def say(event: str, **numbers: Any) -> None:
        answers.write(json.dumps({"event": event, **numbers}) + "\n")
        answers.flush()

    while True:
        request = json.loads(requests.get())
        try:
            result = measure(Point(**request["point"]), request["timeout"], say)
        except Exception as error:  # noqa: BLE001  (the other side writes it down and goes on)
            say(FAILED, message=f"{type(error).__name__}: {' '.join(str(error).split())}")
        else:
            say(DONE, **result)


def _listen(requests: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():  # with the processes of a parallel measurement
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)
