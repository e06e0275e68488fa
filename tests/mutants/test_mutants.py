"""The tests can fail: every line that `mutants` breaks is noticed; `mutants/__init__.py` tells how to add some."""

from __future__ import annotations

import os
import pkgutil
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import exactcp
import mutants
from record import record

TESTS = Path(__file__).parents[1]
PACKAGE = Path(exactcp.__file__).parent
FAMILIES = {
    name: import_module(f"mutants.{name}").FAMILY
    for _, name, _ in pkgutil.iter_modules(mutants.__path__)
    if not name.startswith("test_")
}
ALL = [(family, name) for family, table in FAMILIES.items() for name in table.mutants]
PATIENCE = 1800  # seconds; a mutant may never come to an end
PASSED, FAILED = 0, 1  # pytest's exit codes


def _broken(mutant):
    """The text of a mutant's file."""
    text = (PACKAGE / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.old) == 1, f"{mutant.old!r} occurs {text.count(mutant.old)} times in {mutant.file}"
    assert mutant.new != mutant.old
    return text.replace(mutant.old, mutant.new)


def _copy_package(folder):
    shutil.copytree(PACKAGE, folder / "exactcp", ignore=shutil.ignore_patterns("*.nb[ic]"))


def _run(folder, tests, *, compiled):
    """Run tests on the package in a folder; return pytest's exit code, or FAILED if there was none, and its output."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "NUMBA_CACHE_DIR": str(folder / "compiled"),
        "NUMBA_DISABLE_JIT": "0" if compiled else "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "EXACTCP_RECORD": "",  # what broken code measures is no number for the page
    }
    how = {"env": environment, "cwd": folder, "capture_output": True, "text": True}
    found = [sys.executable, "-c", "import importlib.util; print(importlib.util.find_spec('exactcp').origin)"]
    where = subprocess.run(found, check=True, **how).stdout
    assert Path(where.strip()).is_relative_to(folder)
    options = [
        "-o",
        "addopts=",
        "-m",
        "not slow",
        "-x",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        "--hypothesis-profile",
        "hasty",
    ]
    if not compiled:
        options += ["-W", "ignore::RuntimeWarning"]  # integers that overflow, as they do in compiled code
    program = [sys.executable, "-m", "pytest", *options, *(str(TESTS / test) for test in tests)]
    try:
        done = subprocess.run(program, check=False, timeout=PATIENCE, **how)
    except subprocess.TimeoutExpired:
        return FAILED, "took too long"
    return FAILED if done.returncode < 0 else done.returncode, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_know_the_package(family):
    for mutant in FAMILIES[family].mutants.values():
        _broken(mutant)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_package_as_it_is_passes(family, tmp_path):
    table = FAMILIES[family]
    _copy_package(tmp_path)
    tests = dict.fromkeys([*table.tests, *(test for mutant in table.mutants.values() for test in mutant.tests)])
    code, output = _run(tmp_path, tests, compiled=table.compiled)
    assert code == PASSED, output


@pytest.mark.slow
@pytest.mark.parametrize(("family", "name"), ALL)
def test_every_broken_line_is_noticed(family, name, tmp_path):
    table, mutant = FAMILIES[family], FAMILIES[family].mutants[name]
    _copy_package(tmp_path)
    (tmp_path / "exactcp" / mutant.file).write_text(_broken(mutant), encoding="utf-8")
    code, output = _run(tmp_path, mutant.tests or table.tests, compiled=table.compiled)
    assert code in (PASSED, FAILED), output  # anything else: the tests were not run
    assert (code == PASSED) == bool(mutant.survives), output
    record("mutants that survive, explained" if mutant.survives else "mutants noticed", family, 1)
