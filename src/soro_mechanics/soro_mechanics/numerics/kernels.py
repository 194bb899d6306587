# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The decorators of every kernel: compiled once, cached, without the GIL, no checks of division.

Numba copies a callee, and all that the callee calls, into each of its callers and optimises it
there again: in a tree of calls the innermost kernel is compiled once per level above it, which is
most of the minutes that the kernels of a robot took. Here a large kernel is *called*: its caller
holds a symbol, and the compiled kernel's address is given to the linker before the caller is
linked, whether that has just been compiled or comes out of the cache. A small kernel is copied, as
inlining it is worth more than it costs.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from typing import Any

from numba import njit
from numba.core import cgutils, imputils
from numba.core.codegen import ll as llvm
from numba.core.registry import CPUDispatcher
import numpy as np

LARGE = 24_000  # bytes of LLVM bitcode above which a kernel is called instead of copied
# A literal True is a type of its own to Numba, and its callee is compiled once more for it; these
# are values, for arguments that decide too little to be worth that.
YES, NO = np.bool_(True), np.bool_(False)
_OPTIONS = {'cache': True, 'nogil': True, 'error_model': 'numpy', 'no_cfunc_wrapper': True}


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel that its callers call where it is large."""

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, or load; returns what Numba knows the result by."""
        known = set(self.overloads)
        entry = super().compile(sig)
        for arguments in self.overloads.keys() - known:
            result = self.overloads[arguments]
            _give_address(self, result)
            # Numba forgets it when it loads a kernel; whoever copies this one needs it too.
            result.library._reload_init.update(result.reload_init or ())
            self.targetctx.remove_user_function(result.entry_point)
            self.targetctx._defns[result.entry_point].append(*_call(self, result))
        return entry


def kernel(function: Any) -> Any:
    """Compile a function of this library when it is first called."""
    return _as_kernel(njit(**_OPTIONS)(function))


def fused_kernel(function: Any) -> Any:
    """Like `kernel`, for long sums of products: a product and its sum may be rounded once.

    Not where a difference of equal products has to vanish exactly.
    """
    return _as_kernel(njit(**_OPTIONS, fastmath={'contract'})(function))


def merged_kernel(function: Any) -> Any:
    """Like `fused_kernel`, merged into the loop that calls it.

    A call hands over every array of a structure on the stack, 4 kB and a microsecond for all of
    the network's: merged, once for every rod or element.
    """
    return _as_kernel(njit(**_OPTIONS, fastmath={'contract'}, forceinline=True)(function))


def _as_kernel(dispatcher: Any) -> Any:
    # Of a function inside another one nobody could ask for the address again; where Numba does
    # not compile, this is the function itself.
    if isinstance(dispatcher, CPUDispatcher) and '<locals>' not in dispatcher.py_func.__qualname__:
        dispatcher.__class__ = Kernel
    return dispatcher


@dataclasses.dataclass(frozen=True)
class _Address:
    """Gives a kernel's address to the linker, before a caller is loaded from the cache."""

    module: str
    name: str
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        __import__(self.module)
        getattr(sys.modules[self.module], self.name).compile(self.arguments)


def _symbol(dispatcher: Any, result: Any) -> str:
    function = dispatcher.py_func
    text = f'{function.__module__} {function.__qualname__} {result.signature}'
    return 'soro_kernel_' + hashlib.sha256(text.encode()).hexdigest()[:32]


def _give_address(dispatcher: Any, result: Any) -> None:
    address = result.library.get_pointer_to_function(result.fndesc.llvm_func_name)
    llvm.add_symbol(_symbol(dispatcher, result), address)


def _call(dispatcher: Any, result: Any) -> tuple[Any, Any]:
    """Return what lowers a call of a compiled kernel, and its argument types."""
    described, library = result.fndesc, result.library
    copied = imputils.user_function(described, ())
    where = _Address(
        dispatcher.py_func.__module__, dispatcher.py_func.__qualname__, result.signature.args
    )
    merged = dispatcher.targetoptions.get('forceinline', False)
    large = not merged and len(library._get_module_for_linking().as_bitcode()) > LARGE

    def call(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
        if not large:
            context.add_linking_libs((library,))
            return copied(context, builder, sig, arguments)
        context.active_code_library._reload_init.add(where)
        convention = context.call_conv
        kind = convention.get_function_type(described.restype, described.argtypes)
        callee = cgutils.get_or_insert_function(builder.module, kind, _symbol(dispatcher, result))
        status, value = convention.call_function(
            builder, callee, described.restype, described.argtypes, arguments
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        value = imputils.fix_returning_optional(context, builder, sig, status, value)
        return imputils.impl_ret_new_ref(context, builder, described.restype, value)

    call.signature = described.argtypes  # type: ignore[attr-defined]
    call.libs = ()  # type: ignore[attr-defined]
    return call, described.argtypes
