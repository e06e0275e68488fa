"""The process that measures: `python -m exactcp.experiments.worker`, a line of JSON in, lines of JSON out.

It ends when its input ends, even in the middle of a measurement: whoever asked is no longer there.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import Any, TextIO

from exactcp.experiments.measuring import measure
from exactcp.experiments.points import Point


def _listen(requests: queue.SimpleQueue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():  # with the processes of a parallel measurement
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)


def _answer(request: dict[str, Any], answers: TextIO) -> None:
    def say(event: str, **numbers: Any) -> None:
        answers.write(json.dumps({"event": event, **numbers}) + "\n")
        answers.flush()

    try:
        result = measure(Point(**request["point"]), request["timeout"], request["data"], say)
    except Exception as error:  # noqa: BLE001  (the other side writes it down and goes on)
        say("failed", message=f"{type(error).__name__}: {' '.join(str(error).split())}")
    else:
        say("done", **result)


def main() -> None:
    """Measure what is asked for."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else is printed must not look like an answer
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        _answer(json.loads(requests.get()), answers)


if __name__ == "__main__":
    main()
