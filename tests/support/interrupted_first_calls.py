"""Interrupt the first call of a family, which compiles its kernels or loads them, in fresh processes.

Run as a program: interrupted_first_calls.py FAMILY TRIALS PRESSES WORDS...

A fork of this process, which has imported everything and compiled nothing, is a trial: SIGINT comes at PRESSES of the
function calls that the first answer takes, other ones in each trial, and the question is repeated until it is answered.
A line tells how that went: fine, another answer, or an error. The words: "compiling" empties $NUMBA_CACHE_DIR before
every trial; "registries" interrupts only where numba reads its registries; "unprotected" does all trials without the
package's listener.
"""

from __future__ import annotations

import ast
import hashlib
import os
import shutil
import signal
import sys
import warnings
from pathlib import Path

from numba.core import event
from numba.core.utils import stream_list

register, registered = event.register, []
event.register = lambda *told: registered.append(told)

from families import FAMILIES, answers  # noqa: E402

event.register = register


def ask(name):
    family = FAMILIES[name]
    found = b"".join(answer.tobytes() for answer in answers(family, family.fitted()))
    return hashlib.sha256(found).hexdigest()


def interrupted(name, places, code):
    """Return the answer after interruptions, how often KeyboardInterrupt came, and how many functions were called.

    Only calls of this code are counted, if there is one, and none if there are no places.
    """
    waiting, passed, raised = sorted(places or [], reverse=True), 0, 0

    def press(frame, happened, _):
        nonlocal passed
        passed += happened == "call" and code in (None, frame.f_code)
        if waiting and passed > waiting[-1]:
            waiting.pop()
            signal.raise_signal(signal.SIGINT)

    while True:
        try:
            sys.setprofile(None if places is None else press)
            found = ask(name)
        except KeyboardInterrupt:
            raised += 1
        else:
            sys.setprofile(None)
            return found, raised, passed


def in_fork(*arguments):
    """Return what `interrupted` returns in a process that has compiled nothing, or how that ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = repr(interrupted(*arguments))
        except BaseException as error:  # noqa: BLE001  (whatever a broken numba raises)
            said = repr((f"{type(error).__name__}: {str(error)[:200]}", 0, 0))
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return ast.literal_eval(said) if said else (f"died: {status}", 0, 0)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background process ignores
    name, trials, presses, words = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    code = stream_list.__code__ if "registries" in words else None
    if "unprotected" not in words:
        for kind, listener in registered:
            event.register(kind, listener)
    if "compiling" not in words:
        in_fork(name, None, code)  # compiles what is not yet there
    for trial in range(-1, trials):
        if "compiling" in words:
            shutil.rmtree(Path(os.environ["NUMBA_CACHE_DIR"], "exactcp"), ignore_errors=True)
        if trial < 0:
            expected, _, calls = in_fork(name, [], code)
            continue
        places = [calls * (trial + 0.5 + trials * part) / (trials * presses) for part in range(presses)]
        found, raised, _ = in_fork(name, places, code)
        sys.stdout.write(f"fine, {raised} raised\n" if calls and found == expected else f"{found}\n")
