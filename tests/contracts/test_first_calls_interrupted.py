"""Ctrl-C while numba compiles or loads a kernel: KeyboardInterrupt comes when it has finished, and nothing breaks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from numba.core import compiler_lock, event
from numba.core.compiler_lock import global_compiler_lock

import exactcp
from record import record

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs fork")

PACKAGE = str(Path(exactcp.__file__).parent)
FAMILIES = (
    "KDE",
    "KNN",
    "LSSVM",
    "RandomForest",
    "KNNResidual",
    "RidgeResidual primal",
    "LassoResidual",
    "Venn",
    "stream",
)


@pytest.fixture
def handlers():
    """Put the handler of SIGINT back that the process had."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def ends(family, trials, presses, *words, folder=None):
    """Interrupt first calls of a family in fresh processes; return how every trial ended."""
    program = Path(__file__).parents[1] / "support" / "interrupted_first_calls.py"
    environment = os.environ | ({} if folder is None else {"NUMBA_CACHE_DIR": str(folder)})
    command = [sys.executable, program, family, str(trials), str(presses), *words]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = done.stdout.splitlines()
    assert len(found) == trials
    return found


def assert_all_fine(found):
    assert all(end.startswith("fine") for end in found), found
    raised = sum(int(end.split()[1]) for end in found)
    assert raised >= len(found)  # what comes while one kernel is compiled is raised once
    record("interruptions of first calls", "KeyboardInterrupt", raised)


def test_a_first_call_is_interrupted_while_numba_reads_its_registries():
    assert_all_fine(ends("KDE", 2, 2, "registries"))


def test_without_the_listener_numba_is_broken():
    (end,) = ends("KDE", 1, 1, "registries", "unprotected")
    assert end == "RuntimeError: generator raised StopIteration"


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_interrupted_while_it_loads(family):
    assert_all_fine(ends(family, 8, 4))


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_interrupted_while_it_compiles(family, tmp_path):
    assert_all_fine(ends(family, 1, 20, "compiling", folder=tmp_path))


def test_a_signal_at_every_instruction_around_the_lock_is_raised_once(handlers):
    files = {compiler_lock.__file__, event.__file__, f"{PACKAGE}/_interrupts.py"}
    passed = k = 0

    def trace(frame, happened, _):
        nonlocal passed
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if happened == "opcode":
            passed += 1
            if passed == k:
                signal.raise_signal(signal.SIGINT)
        return trace

    outside, went = sys.gettrace(), []
    while went != ["in", "out"]:  # until it has fewer instructions
        passed, went, k = 0, [], k + 1
        sys.settrace(trace)
        try:
            with global_compiler_lock:
                went.append("in")
                with global_compiler_lock:
                    pass
                went.append("out")
        except KeyboardInterrupt:
            went.append("raised")
        finally:
            sys.settrace(outside)
        assert went in (["raised"], ["in", "out", "raised"]) if passed >= k else went == ["in", "out"]
        assert not global_compiler_lock.is_locked()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert k > 100


def test_a_handler_of_the_user_is_called_once_and_stays(handlers):
    called = []

    def handle(*told):
        called.append(told)

    signal.signal(signal.SIGINT, handle)
    with global_compiler_lock:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert not called
    assert [number for number, _ in called] == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handle


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_python_does_not_handle_is_left_alone(handlers, handler):
    signal.signal(signal.SIGINT, handler)
    with global_compiler_lock:
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


class Failing(event.Listener):
    """Raises before the lock is taken, as the handler of another signal may."""

    def on_start(self, _):
        raise ZeroDivisionError

    def on_end(self, _):
        raise AssertionError


def test_another_exception_before_the_lock_holds_nothing_back_for_good(handlers):
    with event.install_listener("numba:compiler_lock", Failing()), pytest.raises(ZeroDivisionError):
        global_compiler_lock.acquire()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_waiting_for_another_thread_is_interrupted_at_once(handlers):
    is_taken, is_over = threading.Event(), threading.Event()

    def compile_something():
        with global_compiler_lock:
            is_taken.set()
            is_over.wait(60)

    thread = threading.Thread(target=compile_something)
    thread.start()
    is_taken.wait(60)
    main = threading.main_thread().ident
    timer = threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            global_compiler_lock.acquire()
        assert thread.is_alive()
    finally:
        is_over.set()
        thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_call_that_compiles_nothing_does_not_take_the_lock():
    model = exactcp.FullConformalClassifier(exactcp.measures.KDE()).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    model.predict_p([[0.5]])
    with event.install_recorder("numba:compiler_lock") as recorder:
        model.predict_p([[0.5]])
    assert recorder.buffer == []
