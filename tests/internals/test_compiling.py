"""How long compiling takes is counted, and told once to whoever waits for it."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from exactcp import _compiling


def test_the_stopwatch_counts_nested_kernels_once(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_compiling.time, "perf_counter", lambda: now[0])
    watch, told = _compiling.Stopwatch(), []
    watch.listener = told.append
    watch.begin()
    now[0] = 1.0
    watch.begin()
    now[0] = 3.0
    watch.end()
    watch.end()
    now[0] = 10.0
    watch.begin()
    assert told == [0.0, 1.0, 3.0, 3.0, 3.0]
    assert watch.seconds == 3.0
    assert watch.kernels == 3


class Terminal(io.StringIO):
    """A stream that a person reads."""

    def isatty(self):
        return super().isatty() or True  # a closed one raises


@pytest.fixture
def terminal(monkeypatch):
    """Standard error of a process without IPython; that of this one belongs to pytest."""
    monkeypatch.setattr(_compiling, "sys", SimpleNamespace(stderr=Terminal(), modules={}))
    return _compiling.sys.stderr


def test_who_waits_in_a_terminal_is_told_once(terminal):
    notice = _compiling.Notice()
    for seconds in (0.1, 1.9, 2.1, 9.0):
        notice(seconds)
        assert terminal.getvalue() == (f"{_compiling.SENTENCE}\n" if seconds > 2 else "")


def test_the_stopwatch_of_the_package_tells(terminal, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_compiling.time, "perf_counter", lambda: now[0])
    watch = _compiling.Stopwatch()
    watch.listener = _compiling.Notice()
    watch.begin()
    now[0] = 60.0
    watch.begin()  # a kernel that the first one calls: it is said before all is over
    assert terminal.getvalue().count("compiling") == 1
    assert isinstance(_compiling.STOPWATCH.listener, _compiling.Notice)


def _piped(monkeypatch):
    monkeypatch.setattr(_compiling.sys, "stderr", io.StringIO())


def _closed(monkeypatch):
    _compiling.sys.stderr.close()


def _without_stream(monkeypatch):
    monkeypatch.setattr(_compiling.sys, "stderr", None)


def _in_a_worker(monkeypatch):
    monkeypatch.setattr(_compiling, "current_process", lambda: SimpleNamespace(name="LokyProcess-1"))


@pytest.mark.parametrize("elsewhere", [_piped, _closed, _without_stream, _in_a_worker])
def test_nobody_is_told_where_nobody_reads(elsewhere, terminal, monkeypatch):
    assert _compiling.is_watched()
    elsewhere(monkeypatch)
    assert not _compiling.is_watched()
    _compiling.Notice()(60.0)


def test_a_notebook_is_read(terminal, monkeypatch):
    """Its streams are no terminals; IPython in a script has no kernel."""
    _piped(monkeypatch)
    for shell, is_read in ((SimpleNamespace(kernel=object()), True), (SimpleNamespace(), False), (None, False)):
        monkeypatch.setitem(_compiling.sys.modules, "IPython", SimpleNamespace(get_ipython=lambda shell=shell: shell))
        assert _compiling.is_watched() == is_read
