# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Import Numba without the part of SciPy that our kernels do not use, and spare it some work.

The first kernel of a process makes Numba look for BLAS, which imports ``scipy.linalg`` and with it
half of SciPy and, by way of ``numpy.f2py``, a guesser of character sets: a fifth of the processor
time that a node needs until its kernels run. No kernel of ours calls BLAS. SciPy is installed with
this library, so the answer is known, and a kernel of somebody else that does call BLAS still
imports it when it is compiled. A seventh of the import itself is coverage, which Numba takes where
it is installed, of use only where coverage is being measured. For functions of CFFI, which no
kernel of ours calls either, it builds a parser of C: whoever wants them imports cffi before.

A third of a compilation was two things: the options of the compiler, 40 properties, were read at
every addition in a kernel, and every assignment to a slice compiled the text of an error (it still
raises ValueError). Of a cached kernel Numba parses the bitcode too, most of the time that loading
takes; only the compiler of a caller needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import functools
import math
import sys
import time
from typing import Any

BLAS = 'scipy.linalg'
SILENT = 1.0  # s of compiling, before a person who waits is told
PAUSE = 5.0  # s without any, after which it is told again


def import_numba() -> None:
    """Import Numba itself; call before anything of it is imported."""
    with _without('coverage'):
        import numba  # noqa: F401


def load_numba() -> None:
    """Import what Numba imports for its first kernel; call before one runs."""
    import_numba()
    with _without('cffi'):
        from numba.core.typing import cffi_utils  # noqa: F401
    if BLAS not in sys.modules and 'numba.np.arraymath' not in sys.modules:
        with _without(BLAS):
            from numba.np import arraymath
        arraymath._HAVE_BLAS = True
    _spare_work()


@contextlib.contextmanager
def _without(package: str) -> Iterator[None]:
    """Have a package look as if it was not installed, unless it is imported already."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # what the import system calls absent
    try:
        yield
    finally:
        del sys.modules[package]


class _Told:
    """Says on a terminal, or in a notebook, that kernels of ours are being compiled for long."""

    last, due = -math.inf, math.inf

    def notify(self, event: Any) -> None:
        now, function = time.monotonic(), event.data['dispatcher'].py_func
        if not str(function.__module__).startswith('soro_mechanics.'):  # None: of no module
            return
        if event.is_start and now - self.last > PAUSE:
            self.due = now + SILENT
        self.last = now
        if now >= self.due:
            self.due = math.inf
            if sys.stderr and (sys.stderr.isatty() or 'ipykernel' in sys.modules):
                text = 'soro: kernels are being compiled, once on this computer: a minute or two'
                print(text, file=sys.stderr, flush=True)


@functools.cache
def _spare_work() -> None:
    from numba.core import event
    from numba.core.codegen import JITCodeLibrary
    from numba.core.codegen import ll as llvm
    from numba.core.extending import overload
    from numba.core.targetconfig import TargetConfig
    from numba.np import arrayobj

    def values(options: Any) -> dict[str, Any]:
        return {**defaults(options.__class__), **options._values}

    @functools.cache
    def defaults(kind: Any) -> dict[str, Any]:
        return {name: option.default for name, option in kind.options.items()}

    def shapes_differ(source: Any, target: Any) -> None:
        raise ValueError('cannot assign slice from input of different size')

    @overload(shapes_differ)
    def implementation(source: Any, target: Any) -> Any:
        return shapes_differ

    def unserialize(kind: Any, codegen: Any, state: Any) -> Any:
        name, form, data = state
        if form != 'object':
            return plain[0](codegen, state)
        library = codegen.create_library(name)
        library.enable_object_caching()
        library._set_compiled_object(data[0])
        library._finalize_final_module()
        library._soro_bitcode = data[1]
        return library

    def module_for_linking(library: Any) -> Any:
        if library._shared_module is None and hasattr(library, '_soro_bitcode'):
            library._shared_module = llvm.parse_bitcode(library._soro_bitcode)
        return plain[1](library)

    def pointer_to_function(library: Any, name: str) -> Any:
        if name.encode() in getattr(library, '_soro_bitcode', b''):
            library._codegen._engine._defined_symbols.add(name)  # else read from the module
        return plain[2](library, name)

    event.Listener.register(_Told)
    event.register('numba:compile', _Told())
    kind = JITCodeLibrary
    plain = kind._unserialize, kind._get_module_for_linking, kind.get_pointer_to_function
    kind._unserialize = classmethod(unserialize)
    kind._get_module_for_linking = module_for_linking
    kind.get_pointer_to_function = pointer_to_function
    TargetConfig.values = values
    arrayobj.raise_with_shape_context = shapes_differ
