"""The command line where its packages are not installed."""

import signal
import sys
import time

import pytest

from exactcp.__main__ import start
from exactcp._parallel import progress
from exactcp._starting import hearing_lost_ones


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_says_what_to_install(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as caught:
        start()
    assert caught.value.code == (
        f'exactcp: The command line needs {package}, which is not installed: run python -m pip install "exactcp[cli]".'
    )


class Interrupted:
    """Something whose end is interrupted, which Python ignores."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


def lose_an_interruption():
    Interrupted(KeyboardInterrupt())
    time.sleep(60)


@pytest.fixture
def hearing():
    """The handler of interruptions, which is another where a shell has put the tests into the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hearing")
def test_an_interruption_that_was_lost_comes_again(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_type))
    with hearing_lost_ones():
        Interrupted(ValueError("told"))
        with pytest.raises(KeyboardInterrupt):
            lose_an_interruption()
        Interrupted(AssertionError("an outcome of it"))
    Interrupted(OSError("told again"))
    assert told == [ValueError, OSError]


def test_progress_needs_no_package(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(progress(iter("abc"), 3, 1, "reading")) == ["a", "b", "c"]
    assert capsys.readouterr().err == "reading: 3/3, done\n"
