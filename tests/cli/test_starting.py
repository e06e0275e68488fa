"""The command line where its packages are not installed."""

import sys

import pytest

from exactcp.__main__ import start
from exactcp._parallel import progress


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_says_what_to_install(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as caught:
        start()
    assert caught.value.code == (
        f'exactcp: The command line needs {package}, which is not installed: run python -m pip install "exactcp[cli]".'
    )


def test_progress_needs_no_package(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert list(progress(iter("abc"), 3, 1, "reading")) == ["a", "b", "c"]
    assert capsys.readouterr().err == "reading: 3/3, done\n"
