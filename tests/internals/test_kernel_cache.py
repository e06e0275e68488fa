"""Compiled code on disk: never older than any source that is in it, shared by processes, and not needed."""

from __future__ import annotations

import ast
import os
import pickle
import shutil
import subprocess
import sys
import time
import zipfile
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import walk_packages

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import exactcp
from exactcp import _kernel_cache
from exactcp._jit import compiled

HOME = Path(exactcp.__file__).parent
TOY = {
    "__init__.py": "__version__ = '1'\n",
    "constants.py": "ADDED = 1.0\n",
    "callee.py": "from toy._jit import inner\n\n\n@inner\ndef rate(x):\n    return 2.0 * x\n",
    "caller.py": (
        "from toy._jit import compiled\nfrom toy.callee import rate\nfrom toy.constants import ADDED\n\n\n"
        "@compiled\ndef answer(x):\n    return rate(x) + ADDED\n\n\n"
    ),
}
ASK = "from toy.caller import answer; print(answer(5), sum(answer.stats.cache_misses.values()))"


@pytest.fixture
def toy(tmp_path):
    """Two kernels in two files, with a constant in a third one, and the package's own way to compile them."""
    package = tmp_path / "toy"
    package.mkdir()
    for name in ("_compiling.py", "_interrupts.py", "_jit.py", "_kernel_cache.py", "_linking.py"):
        (package / name).write_text((HOME / name).read_text().replace("exactcp", "toy"))
    for name, source in TOY.items():
        (package / name).write_text(source)
    return package


def environment(where, **variables):
    """Variables of a process that finds packages in `where` and keeps compiled code nowhere else than told."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_", "COV_"))}
    return {**kept, "PYTHONPATH": str(where), "PYTHONDONTWRITEBYTECODE": "1", **variables}


def run(program, env):
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)


def says(program, env):
    done = run(program, env)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_an_upgrade_is_compiled_anew_whichever_file_it_changed(toy, tmp_path):
    edits = [
        {},
        {"callee.py": TOY["callee.py"].replace("2.0", "3.0")},
        {"constants.py": "ADDED = 2.0\n"},
        {name: TOY[name] for name in ("callee.py", "constants.py")},
    ]
    program = f"import sys, pathlib\nfor edit in {edits}:\n"
    program += f"    for name, source in edit.items(): pathlib.Path({str(toy)!r}, name).write_text(source)\n"
    program += "    for name in [*sys.modules]: name.startswith('toy') and sys.modules.pop(name)\n"
    env = environment(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    told = says(f"{program}    {ASK}", env)
    assert told == ["11.0", "1", "16.0", "1", "17.0", "1", "11.0", "0"]  # what was compiled before is found again


@pytest.mark.slow  # it starts three processes
def test_where_nothing_can_be_written_it_is_compiled_and_said_once(toy, tmp_path):
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as archive:
        for source in toy.glob("*.py"):
            archive.write(source, f"toy/{source.name}")
    (tmp_path / "file").write_text("no folder can be made in here")
    env = environment(tmp_path / "toy.zip", HOME=str(tmp_path / "file"), LOCALAPPDATA=str(tmp_path / "file"))
    done = run(f"{ASK}; answer(2.0); import toy; print(toy.__file__)", env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:2] == ["11.0", "1"]
    assert ".zip" in done.stdout
    assert done.stderr.count("NUMBA_CACHE_DIR") == done.stderr.count("\n") == 1
    cached = {**env, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert [says(ASK, cached)[1] for _ in range(2)] == ["1", "0"]  # a zipped package has a cache as well
    assert not list(toy.rglob("*.nb?"))


def test_a_user_without_a_home_has_no_cache(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(_kernel_cache.config, "CACHE_DIR", "")
    monkeypatch.setattr(_kernel_cache, "AppDirs", lambda *_, **__: type("Nowhere", (), {"user_cache_dir": "~/.cache"}))
    assert _kernel_cache.find_folder() == (None, "the user has no home")


@pytest.mark.slow  # it starts four processes
def test_processes_that_write_at_once_do_not_mix_their_code(toy, tmp_path):
    env = environment(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    asks = [ASK.replace("5", argument) for argument in ("5", "5.0", "True")]
    processes = [
        subprocess.Popen([sys.executable, "-c", ask], env=env, stdout=subprocess.PIPE, text=True) for ask in asks
    ]
    answers = [["11.0", "1"], ["11.0", "1"], ["3.0", "1"]]
    assert [process.communicate()[0].split() for process in processes] == answers
    assert says("; ".join(asks), env) == [part for answer, _ in answers for part in (answer, "0")]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_kernel_cache, "FOLDER", tmp_path / "compiled" / ("0" * 32))
    monkeypatch.setattr(_kernel_cache.KernelCache, "has_failed", False)
    return _kernel_cache.FOLDER


def _half(x):
    return x / 2


def _hits(kernel):
    assert kernel(3.0) == 1.5
    return sum(kernel.stats.cache_hits.values())


def test_a_damaged_file_is_written_anew(folder):
    assert [_hits(compiled(_half)) for _ in range(2)] == [0, 1]
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], b"\0" * len(whole), pickle.dumps((1, 2, 3))):
        file.write_bytes(damaged)
        assert [_hits(compiled(_half)) for _ in range(2)] == [0, 1]


def test_a_full_disk_is_said_once_and_leaves_no_file(folder, monkeypatch, caplog):
    def full(path, data):
        path.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert _hits(compiled(_half)) == _hits(compiled(_half, error_model="python")) == 0
    assert [record.message.count("No space left") for record in caplog.records] == [1]
    assert list(folder.iterdir()) == []


def test_whether_code_can_be_kept_is_told_beforehand(folder, tmp_path, monkeypatch):
    assert _kernel_cache.check_can_keep() == folder
    assert list(folder.iterdir()) == []
    (tmp_path / "file").touch()
    monkeypatch.setattr(_kernel_cache, "FOLDER", tmp_path / "file" / "compiled")
    with pytest.raises(RuntimeError, match=r"cannot be kept \(.*file.*\): set NUMBA_CACHE_DIR"):
        _kernel_cache.check_can_keep()
    monkeypatch.setattr(_kernel_cache, "FOLDER", None)
    monkeypatch.setattr(_kernel_cache, "REASON", "the user has no home")
    with pytest.raises(RuntimeError, match=r"cannot be kept \(the user has no home\): set NUMBA_CACHE_DIR"):
        _kernel_cache.check_can_keep()


def test_old_folders_go_and_the_newest_stay(folder):
    now = time.time()
    ages = {f"{i:032x}": 3600.0 * i for i in range(1, 12)} | {"f" * 32: 8 * 24 * 3600.0, "notes": 99 * 24 * 3600.0}
    for name, age in ages.items():
        (folder.parent / name).mkdir(parents=True)
        (folder.parent / name / "file").touch()
        os.utime(folder.parent / name, (now - age, now - age))
    assert _hits(compiled(_half)) == 0
    newest = {f"{i:032x}" for i in range(_kernel_cache.KEPT_FOLDERS)}
    assert {other.name for other in folder.parent.iterdir()} == newest | {"notes"}
    old = folder.parent / f"{2:032x}"
    os.utime(old, (now - 8 * 24 * 3600.0,) * 2)
    _kernel_cache.remove_old(folder)
    assert not old.exists()


def test_the_digest_holds_every_kernel_and_all_that_kernels_import():
    digested = {name.removeprefix("/") for name, _ in _kernel_cache.compiled_sources(files("exactcp"))}
    for module in walk_packages(exactcp.__path__, "exactcp."):
        if module.name != "exactcp.__main__":
            for value in vars(import_module(module.name)).values():
                if isinstance(value, Dispatcher):
                    source = Path(value.py_func.__code__.co_filename).relative_to(HOME)
                    assert source.as_posix() in digested, value
    for name in digested - {"__init__.py"}:
        source = (HOME / name).read_text()
        if "exactcp._jit import" not in source:
            continue  # no kernel lives there
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom | ast.Import):
                imported = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
                for one in imported:
                    if one.split(".")[0] == "exactcp":
                        assert Path(*one.split(".")[1:]).with_suffix(".py").as_posix() in digested, (name, one)


WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
PREDICT = (
    "import numpy as np; from exactcp import FullConformalClassifier; from exactcp.measures import KNN;"
    "X = np.random.default_rng(0).normal(size=(40, 3)); y = np.arange(40) % 2;"
    "print(*FullConformalClassifier(KNN(3)).fit(X, y).predict_p(X[:9] + 0.5).ravel())"
)


def _wheel(folder, version, change=lambda source: source):
    """Write a wheel of the package as it is, with the source of one kernel changed."""
    folder.mkdir()
    path = folder / f"exactcp-{version}-py3-none-any.whl"
    info = f"exactcp-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for source in HOME.rglob("*.py"):
            text = source.read_text()
            archive.writestr(
                f"exactcp/{source.relative_to(HOME)}", change(text) if source.name == "distances.py" else text
            )
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: exactcp\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", WHEEL)
        archive.writestr(f"{info}/RECORD", "")
    return path


def _install(wheel, target):
    options = ["--quiet", "--no-index", "--no-deps", "--upgrade", "--disable-pip-version-check", "--target", target]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, wheel], check=True)


@pytest.mark.slow
def test_an_upgraded_wheel_answers_as_a_fresh_installation(tmp_path):
    def change(source):
        changed = source.replace("return math.sqrt(squared_distance(a, b))", "return abs(a[0] - b[0])")
        assert changed != source
        return changed

    old = _wheel(tmp_path / "old", "0.1.0")
    new = _wheel(tmp_path / "new", "0.1.0", change)  # not even the version tells them apart
    target = tmp_path / "site-packages"
    env = environment(target, HOME=str(tmp_path))
    _install(old, target)
    before = says(PREDICT, env)
    _install(new, target)
    after = says(PREDICT, env)
    shutil.rmtree(tmp_path / ".cache")
    assert says(PREDICT, env) == after
    assert np.any(np.array(after, float) != np.array(before, float))
