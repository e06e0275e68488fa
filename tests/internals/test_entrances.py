"""What Python calls of the compiled code returns None, a number or one new array: all else dies of Ctrl-C in numba."""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType

import pytest
from numba import types
from numba.core.dispatcher import Dispatcher

import exactcp
from families import CHANGES, FAMILIES, QUESTIONS, calls_of


def _modules() -> list[ModuleType]:
    found = walk_packages(exactcp.__path__, "exactcp.")
    return [import_module(module.name) for module in found if module.name != "exactcp.__main__"]


def _is_compiled(node: ast.AST, module: ModuleType) -> bool:
    if not isinstance(node, ast.FunctionDef):
        return False
    value = vars(module).get(node.name)
    if not isinstance(value, Dispatcher) or value.py_func.__module__ != module.__name__:
        return False  # a method may have the name of a kernel that it calls
    return value.py_func.__code__.co_firstlineno in range(node.lineno - len(node.decorator_list), node.lineno + 1)


def _python_parts(node: ast.AST, module: ModuleType):
    """Yield the nodes of a module that Python runs."""
    for child in ast.iter_child_nodes(node):
        if not _is_compiled(child, module):
            yield child
            yield from _python_parts(child, module)


@cache
def _entrances() -> dict[str, Dispatcher]:
    """Return all dispatchers that code of Python names."""
    found = {}
    for module in _modules():
        for node in _python_parts(ast.parse(inspect.getsource(module)), module):
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
    kernels = {value for module in _modules() for value in vars(module).values() if isinstance(value, Dispatcher)}
    without = {kernel for kernel in kernels if kernel.targetoptions.get("no_cpython_wrapper")}
    assert len(without) > 100
    assert without == kernels - set(_entrances().values()), (
        "use @inner for what only kernels call, @compiled for the rest"
    )


def _fault(kernel: Dispatcher) -> str | None:
    """Tell what is wrong with what a kernel returns, by its source; None if nothing is seen."""
    function = ast.parse(textwrap.dedent(inspect.getsource(kernel.py_func))).body[0]
    names = kernel.py_func.__globals__
    parameters = {argument.arg for argument in function.args.args}
    values: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values.setdefault(target.id, []).append(node.value)

    def fault_of(value: ast.expr | None, seen: frozenset[str] = frozenset()) -> str | None:
        if isinstance(value, ast.Tuple):
            return "a tuple"
        if isinstance(value, ast.IfExp):
            return fault_of(value.body, seen) or fault_of(value.orelse, seen)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            called = names.get(value.func.id)
            if isinstance(called, type) and issubclass(called, tuple):
                return "a named tuple"
            return _fault(called) if isinstance(called, Dispatcher) and called is not kernel else None
        if isinstance(value, ast.Name) and value.id not in seen:
            # a number that is an argument is no fault, but a source does not tell numbers from arrays
            written = any(
                isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == value.id
                for node in ast.walk(function)
            )
            if value.id in parameters and value.id not in values and written:
                return "an argument"
            return next(filter(None, (fault_of(v, seen | {value.id}) for v in values.get(value.id, []))), None)
        return None

    returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)]
    return next(filter(None, map(fault_of, returns)), None)


def _sum_of(number, pair):
    return number + pair[0] + pair[1]


_sum_kernel = exactcp._jit.inner(_sum_of)


def _calls_it(number):
    total = 0
    for _ in range(2):
        total = _sum_kernel(total, (number, 0))
    return total + _sum_kernel(1, (number, number))


def test_python_that_calls_a_kernel_without_an_entrance_is_told():
    with pytest.raises(TypeError, match=r"_sum_of was called by Python.*@compiled"):
        _sum_kernel(1, (2, 3))


def test_a_kernel_is_not_compiled_for_each_number_that_is_passed():
    caller = exactcp._jit.compiled(_calls_it)
    caller._cache.flush()  # else it may be found compiled, by an earlier run, and ask for nothing
    assert caller(3) == 13
    assert len(_sum_kernel.signatures) == 1


def test_by_its_source_an_entrance_returns_one_thing():
    faults = {name: _fault(kernel) for name, kernel in _entrances().items()}
    assert {name: fault for name, fault in faults.items() if fault is not None} == {}


def _check_compiled_entrances(families):
    for family_name in families:
        family = FAMILIES[family_name]
        fitted, data = family.fitted(), family.data()
        calls = {**CHANGES, **QUESTIONS}
        for call in [*calls_of(family, CHANGES), *calls_of(family, QUESTIONS)]:
            calls[call][1](fitted, data)
    compiled = {name: kernel for name, kernel in _entrances().items() if kernel.signatures}
    assert compiled
    several = (types.BaseTuple, types.BaseNamedTuple)
    wrong = {
        name
        for name, kernel in compiled.items()
        for overload in kernel.overloads.values()
        if isinstance(overload.signature.return_type, several)
    }
    assert wrong == set()


@pytest.mark.filterwarnings("ignore")
def test_as_compiled_an_entrance_returns_one_thing():
    _check_compiled_entrances(["KNN", "LSSVM"])
