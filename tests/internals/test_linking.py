"""What only kernels call: no machine code is made of it, and its callers find it, compiled just now or kept."""

import pytest
from numba import float64
from numba.core import registry

from exactcp import _kernel_cache
from exactcp._jit import compiled, inner


def _checked(x):
    if x < 0:
        raise ValueError("received a negative number")
    return 2.0 * x


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_kernel_cache, "FOLDER", tmp_path / "compiled" / ("0" * 32))
    monkeypatch.setattr(_kernel_cache.KernelCache, "has_failed", False)


def test_an_inner_kernel_has_no_machine_code(folder):
    for make, has_code in ((inner, False), (compiled, True)):
        kernel = make(_checked)
        kernel.compile((float64,))
        (made,) = kernel.overloads.values()
        assert made.target_context.codegen()._engine.is_symbol_defined(made.fndesc.mangled_name) == has_code


def test_callers_link_kernels_that_were_compiled_just_now_and_that_were_kept(folder):
    for found in (0, 1):
        inmost = inner(_checked)
        middle = inner(lambda x: inmost(x) + 1.0)  # noqa: B023
        for factor in (3.0, 4.0):
            entrance = compiled(lambda x, by: middle(x) * by)  # noqa: B023
            assert entrance(2.0, factor) == 5.0 * factor
            with pytest.raises(ValueError, match="a negative number"):
                entrance(-3.0, factor)
        assert sum(inmost.stats.cache_hits.values()) == found


def test_an_inner_kernel_is_optimised_once_and_one_that_is_ready_twice(monkeypatch):
    monkeypatch.setattr(_kernel_cache, "FOLDER", None)
    monkeypatch.setattr(_kernel_cache.KernelCache, "has_failed", True)  # which has been said
    codegen = registry.cpu_target.target_context.codegen()
    if not hasattr(codegen, "_loopvect"):
        pytest.skip("this numba optimises in another way")
    asked, manager = [], codegen._module_pass_manager
    monkeypatch.setattr(codegen, "_module_pass_manager", lambda **how: asked.append(how) or manager(**how))
    for ready, rounds in ((False, 1), (True, 2)):
        kernel = inner(ready=ready)(_checked)
        kernel.compile((float64,))
        assert len(asked) == rounds
        assert compiled(lambda x: kernel(x) + 1.0)(2.0) == 5.0  # noqa: B023
        asked.clear()
