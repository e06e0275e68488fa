"""Kernels that only kernels call: no machine code is made of them, since their callers take them in.

Whoever calls a kernel links its code, and optimises it together with its own. Machine code of the kernel alone would
never run, and to make it takes as long as to make that of its callers.
"""

# ruff: noqa: SLF001  (numba has no public way to say what becomes of the code)
from __future__ import annotations

from typing import Any, ClassVar

from llvmlite.binding import parse_bitcode
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, compile_result
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import AnnotateTypes


class LinkedLibrary(JITCodeLibrary):
    """The code of a kernel for its callers."""

    def _optimize_final_module(self) -> None:
        """Optimise it once, where numba does so twice: its callers optimise it again, twice, when they take it in."""
        codegen = self._codegen
        if not hasattr(codegen, "_loopvect"):  # a numba that has these passes elsewhere
            super()._optimize_final_module()
            return
        passes, builder = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        """Make nothing of it that could be called."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    @property
    def codegen(self) -> LinkedLibrary:
        """What numba tells where the code finds Python objects: this code has no place for them, and needs none."""
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing."""


class ReadyLibrary(LinkedLibrary):
    """The code of a kernel for its callers, optimised as if it were called by Python."""

    def _optimize_final_module(self) -> None:
        JITCodeLibrary._optimize_final_module(self)


@register_pass(mutates_CFG=False, analysis_only=True)
class UseLinkedLibrary(LoweringPass):
    """Lower the kernel into a library for its callers."""

    _name = "exactcp_use_linked_library"
    library: ClassVar[type[LinkedLibrary]] = LinkedLibrary

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        """Give the next pass the library to write to."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class UseReadyLibrary(UseLinkedLibrary):
    """Lower the kernel into a library that is ready for its callers."""

    _name = "exactcp_use_ready_library"
    library = ReadyLibrary


class InnerCompiler(Compiler):
    """Compiles what only kernels call."""

    lowering: ClassVar[type[UseLinkedLibrary]] = UseLinkedLibrary

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, with another library."""
        (pipeline,) = super().define_pipelines()
        pipeline.add_pass_after(self.lowering, AnnotateTypes)
        pipeline.finalize()
        return [pipeline]


class ReadyCompiler(InnerCompiler):
    """Compiles what only kernels call, and what becomes slower if it is optimised less before they take it in."""

    lowering = UseReadyLibrary


def reduced(result: Any) -> tuple[Any, ...]:
    """Return what `rebuilt` needs to know of a kernel that only kernels call."""
    library, described = result.library, result.fndesc
    described.typemap = described.calltypes = None  # which are large, and no longer needed
    code = (library.name, library._get_module_for_linking().as_bitcode())
    return code, described, result.environment, result.signature


def rebuilt(context: Any, code: tuple[str, bytes], described: Any, environment: Any, signature: Any) -> Any:
    """Return a kernel that was kept, for its callers."""
    name, bitcode = code
    library = LinkedLibrary(context.codegen(), name)
    library._final_module = library._shared_module = parse_bitcode(bitcode)
    library._finalize_final_module()
    return compile_result(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=environment,
        entry_point=context.get_executable(library, described, environment),
        fndesc=described,
        type_annotation="",
        signature=signature,
        objectmode=False,
        lifted=(),
        reload_init=[],
    )
