"""Interrupt public calls by a timer, as Ctrl-C would, and look what is left.

Run as a program: timed_interruptions.py COUNT SEED FAMILY... prints, for every public call of the families, how often
it was interrupted and how often it ended first, and stops at the first other exception or wrong answer.
"""

from __future__ import annotations

import copy
import faulthandler
import signal
import sys
import time
import warnings

import numpy as np

from families import CHANGES, FAMILIES, QUESTIONS, answers, are_equal, calls_of


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
    before = answers(family, original)
    changed = copy.deepcopy(original)
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


if __name__ == "__main__":
    faulthandler.enable()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    for family_name in sys.argv[3:]:
        family = FAMILIES[family_name]
        for name in [*calls_of(family, CHANGES), *calls_of(family, QUESTIONS)]:
            sys.stdout.write(f"{family_name}, {name}: ")
            sys.stdout.flush()
            interrupted = interrupt(family, name, count, np.random.default_rng(seed))
            sys.stdout.write(f"{interrupted} of {count} interrupted\n")
