"""Interrupt public calls as Ctrl-C would, and look what is left, in a process that this may end.

Run as a program, in one of two ways:

`interrupted_calls.py timed COUNT SEED FAMILY...` interrupts every public call of the families by a timer, prints how
often each was interrupted and how often it ended first, and stops at the first other exception or wrong answer.

`interrupted_calls.py first FAMILY TRIALS PRESSES WORDS...` interrupts the first call of a family, which compiles its
kernels or loads them. A fork of this process, which has imported everything and compiled nothing, is a trial: SIGINT
comes at PRESSES of the function calls that the first answer takes, other ones in each trial, and the question is
repeated until it is answered. A line tells how that went: fine, another answer, or an error. The words: "compiling"
empties $NUMBA_CACHE_DIR before every trial; "registries" interrupts only where numba reads its registries;
"unprotected" does all trials without the package's listener.
"""

from __future__ import annotations

import ast
import copy
import faulthandler
import os
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from numba.core import event
from numba.core.utils import stream_list

register, registered = event.register, []
event.register = lambda *told: registered.append(told)

from exactcp import _jit, _numpy_first  # noqa: E402

_numpy_first._forced = False
_jit.load_kernels()

from families import CHANGES, FAMILIES, QUESTIONS, answers, are_equal, calls_of  # noqa: E402

event.register = register


def listen():
    """Register the package's listeners."""
    for kind, listener in registered:
        event.register(kind, listener)


def duration(call, predictor, data):
    start = time.perf_counter()
    call(predictor, data)
    return time.perf_counter() - start


def was_interrupted(call, predictor, data, delay):
    """Call with a timer running, and tell whether KeyboardInterrupt came out."""
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-6))
            call(predictor, data)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    return False


def interrupt(family, name, count, rng):
    """Interrupt one call of a family `count` times; return how often it was interrupted."""
    data, original = family.data(), family.fitted()
    call = {**CHANGES, **QUESTIONS}[name][1]
    before, changed = answers(family, original), copy.deepcopy(original)
    call(changed, data)
    after = answers(family, changed)
    lasts = min(duration(call, copy.deepcopy(original), data) for _ in range(3))
    interrupted = 0
    for _ in range(count):
        predictor = copy.deepcopy(original)
        stopped = was_interrupted(call, predictor, data, rng.uniform(0, 1.1) * lasts)
        found = answers(family, predictor)
        assert are_equal(found, after) or (stopped and are_equal(found, before)), "other answers than before and after"
        interrupted += stopped
    return interrupted


def timed(count, seed, *families):
    """Interrupt all calls of families by a timer."""
    listen()
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    for family in families:
        for name in calls_of(FAMILIES[family], CHANGES | QUESTIONS):
            sys.stdout.write(f"{family}, {name}: ")
            sys.stdout.flush()
            interrupted = interrupt(FAMILIES[family], name, int(count), np.random.default_rng(int(seed)))
            sys.stdout.write(f"{interrupted} of {count} interrupted\n")


def interrupted_first(family, places, code):
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
            found = b"".join(answer.tobytes() for answer in answers(family, family.fitted())).hex()
        except KeyboardInterrupt:
            raised += 1
        else:
            sys.setprofile(None)
            return found, raised, passed


def in_fork(*arguments):
    """Return what `interrupted_first` returns in a process that has compiled nothing, or how that ended."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            said = repr(interrupted_first(*arguments))
        except BaseException as error:  # noqa: BLE001  (whatever a broken numba raises)
            said = repr((f"{type(error).__name__}: {str(error)[:200]}", 0, 0))
        with os.fdopen(write, "w") as pipe:
            pipe.write(said)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return ast.literal_eval(said) if said else (f"died: {status}", 0, 0)


def first(name, trials, presses, *words):
    """Interrupt first calls of a family in forks."""
    family, trials, presses = FAMILIES[name], int(trials), int(presses)
    code = stream_list.__code__ if "registries" in words else None
    if "unprotected" not in words:
        listen()
    if "compiling" not in words:
        in_fork(family, None, code)  # compiles what is not yet there
    for trial in range(-1, trials):
        if "compiling" in words:
            shutil.rmtree(Path(os.environ["NUMBA_CACHE_DIR"], "exactcp"), ignore_errors=True)
        if trial < 0:
            expected, _, calls = in_fork(family, [], code)
            continue
        places = [calls * (trial + 0.5 + trials * part) / (trials * presses) for part in range(presses)]
        found, raised, _ = in_fork(family, places, code)
        sys.stdout.write(f"fine, {raised} raised\n" if calls and found == expected else f"{found}\n")


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background process ignores
    {"timed": timed, "first": first}[sys.argv[1]](*sys.argv[2:])
