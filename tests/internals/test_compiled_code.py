"""Compiled code: on disk, never older than its sources and never needed; what Python calls of it, and what it returns.

What Python calls returns None, a number or one new array: all else dies of Ctrl-C in numba.
"""

from __future__ import annotations

import ast
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
import time
import zipfile
from collections import defaultdict
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType

import pytest
from numba.core.dispatcher import Dispatcher

import exactcp
from exactcp import _kernel_cache
from exactcp._jit import compiled, inner

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
    for source in _kernel_cache.ALWAYS - {"/__init__.py"} | {"/_compiling.py", "/_interrupts.py"}:
        name = source.removeprefix("/")
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


@cache
def _modules() -> list[ModuleType]:
    found = walk_packages(exactcp.__path__, "exactcp.")
    return [import_module(module.name) for module in found if module.name != "exactcp.__main__"]


def _kernels() -> set[Dispatcher]:
    return {value for module in _modules() for value in vars(module).values() if isinstance(value, Dispatcher)}


def test_the_digest_holds_every_kernel_and_all_that_kernels_import():
    digested = {name.removeprefix("/") for name, _ in _kernel_cache.compiled_sources(files("exactcp"))}
    for kernel in _kernels():
        assert Path(kernel.py_func.__code__.co_filename).relative_to(HOME).as_posix() in digested, kernel
    for name in digested - {"__init__.py"}:
        source = (HOME / name).read_text()
        if "exactcp._jit import" not in source:
            continue  # no kernel is there
        for node in ast.walk(ast.parse(source)):
            imported = [node.module] if isinstance(node, ast.ImportFrom) else []
            imported += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for one in (one.split(".") for one in imported if one.startswith("exactcp.")):
                assert Path(*one[1:]).with_suffix(".py").as_posix() in digested, (name, one)


def _python_parts(node: ast.AST, kernels: set[int]):
    """Yield the nodes of a module that Python runs; kernels are told by the lines that they begin at."""
    for child in ast.iter_child_nodes(node):
        lines = (
            range(child.lineno - len(child.decorator_list), child.lineno + 1)
            if hasattr(child, "decorator_list")
            else []
        )
        if not kernels.intersection(lines):
            yield child
            yield from _python_parts(child, kernels)


@cache
def _entrances() -> dict[str, Dispatcher]:
    """Return all dispatchers that code of Python names."""
    found = {}
    for module in _modules():
        own = {kernel.py_func.__code__ for kernel in vars(module).values() if isinstance(kernel, Dispatcher)}
        begins = {code.co_firstlineno for code in own if code.co_filename == module.__file__}
        for node in _python_parts(ast.parse(inspect.getsource(module)), begins):
            value = None
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                value = vars(module).get(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                value = getattr(vars(module).get(node.value.id), node.attr, None)
            if isinstance(value, Dispatcher):
                found[f"{value.py_func.__module__}.{value.py_func.__name__}"] = value
    return found


def test_what_only_kernels_call_has_no_entrance() -> None:
    """It would take time to compile, in the first call of every user."""
    kernels = _kernels()
    without = {kernel for kernel in kernels if kernel.targetoptions.get("no_cpython_wrapper")}
    assert len(without) > 100
    assert without == kernels - set(_entrances().values()), (
        "use @inner for what only kernels call, @compiled for the rest"
    )


def _fault(kernel: Dispatcher) -> str | None:
    """Tell what is wrong with what a kernel returns, by its source; None if nothing is seen."""
    function = ast.parse(textwrap.dedent(inspect.getsource(kernel.py_func))).body[0]
    nodes, values = list(ast.walk(function)), defaultdict(list)
    for node in nodes:
        for target in node.targets if isinstance(node, ast.Assign) else []:
            if isinstance(target, ast.Name):
                values[target.id].append(node.value)
    # a number that is an argument is no fault, but a source tells arrays by what is written to them only
    indexed = {one.value.id for one in nodes if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)}
    arrays = ({argument.arg for argument in function.args.args} & indexed) - values.keys()
    todo = [node.value for node in nodes if isinstance(node, ast.Return)]
    while todo:
        value = todo.pop()
        called = value.func if isinstance(value, ast.Call) else None
        called = kernel.py_func.__globals__.get(called.id) if isinstance(called, ast.Name) else None
        if isinstance(value, ast.Tuple) or (isinstance(called, type) and issubclass(called, tuple)):
            return "a tuple"
        if isinstance(value, ast.Name) and value.id in arrays:
            return "an argument"
        if isinstance(called, Dispatcher) and called is not kernel and (fault := _fault(called)):
            return fault
        todo += [value.body, value.orelse] if isinstance(value, ast.IfExp) else []
        todo += values.pop(value.id, []) if isinstance(value, ast.Name) else []
    return None


def _sum_of(number, pair):
    return number + pair[0] + pair[1]


_sum_kernel = inner(_sum_of)


def _calls_it(number):
    total = 0
    for _ in range(2):
        total = _sum_kernel(total, (number, 0))
    return total + _sum_kernel(1, (number, number))


def test_python_that_calls_a_kernel_without_an_entrance_is_told():
    with pytest.raises(TypeError, match=r"_sum_of was called by Python.*@compiled"):
        _sum_kernel(1, (2, 3))


def test_a_kernel_is_not_compiled_for_each_number_that_is_passed():
    caller = compiled(_calls_it)
    caller._cache.flush()  # else it may be found compiled, by an earlier run, and ask for nothing
    assert caller(3) == 13
    assert len(_sum_kernel.signatures) == 1


def test_by_its_source_an_entrance_returns_one_thing():
    faults = {name: _fault(kernel) for name, kernel in _entrances().items()}
    assert {name: fault for name, fault in faults.items() if fault is not None} == {}


def _returns_a_pair(x):
    return (x, x) if x > 0 else (x, 0)


def test_a_tuple_is_seen():
    assert _fault(inner(_returns_a_pair)) == "a tuple"
