# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The decorators of every kernel: compiled once, cached, without the GIL, no checks of division.

Numba copies a callee, and all that the callee calls, into each of its callers and optimises it
there again: in a tree of calls the innermost kernel is compiled once per level above it, which is
most of the minutes that the kernels of a robot took. Here a large kernel is *called*: its caller
holds a symbol, and the compiled kernel's address is given to the linker before the caller is
linked, whether that has just been compiled or comes out of the cache. A small kernel is copied, as
inlining it is worth more than it costs. What turns Python's objects into arguments, of a structure
of arrays a third of what there is to compile, only those have that Python calls. References to
arrays, a fifth of it, are counted only in a kernel that makes one: otherwise its caller has them.
What other kernels call already is not compiled again for Python, but by a function that calls it.

Of several processes that need a kernel which is not compiled yet, one compiles it and the others
wait for that, instead of compiling the same beside it. Not for long where it stands back, as the
process that compiles for later does: on a busy computer it may get no processor for minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import copy
import dataclasses
import fcntl
import gc
import hashlib
import os
from pathlib import Path
import sys
import time
from typing import Any, IO

from soro_mechanics.compilation.kernel_cache_repair import (
    FunctionCache,
    RepairedCache,
    RepairedIndex,
)
from soro_mechanics.compilation.numba_start import import_numba

import_numba()

from numba import njit  # noqa: E402
from numba.core import imputils, types  # noqa: E402
from numba.core.codegen import ll as llvm  # noqa: E402
from numba.core.compiler_lock import global_compiler_lock  # noqa: E402
from numba.core.dispatcher import _FunctionCompiler  # noqa: E402
from numba.core.errors import NumbaError  # noqa: E402
from numba.core.registry import CPUDispatcher  # noqa: E402
from numba.core.targetconfig import ConfigStack  # noqa: E402

MAX_WAIT = 300.0  # s for another process, several times the longest compilation seen
PATIENCE = 5.0  # s for one that gets less of a busy processor: it may get none
SELDOM = 50_000  # objects made between two looks for garbage, while something is compiled
MAKERS = {'array', 'astype', 'copy', 'empty', 'eye', 'full', 'ones', 'ravel', 'sum', 'zeros'}
VIEW = 'only kernels that count no references may call it; Python calls its py_func'
MOST = 8  # arguments of a kernel
LARGE = 8_000  # bytes of LLVM bitcode above which a kernel is called instead of copied
_OPTIONS = {'cache': True, 'nogil': True, 'error_model': 'numpy', 'no_cfunc_wrapper': True}


def _before_fork() -> None:
    """Wait for threads that compile: of a lock they held, a forked process would wait for ever."""
    global_compiler_lock.acquire()
    llvm.ffi.lib._lock.__enter__()


def _after_fork() -> None:
    llvm.ffi.lib._lock.__exit__()
    global_compiler_lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class _Cache(RepairedCache):
    """Keeps a kernel with what Python calls it by, and without, apart."""

    options: dict[str, Any]  # of its kernel

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return self.key(sig, codegen, not self.options['no_cpython_wrapper'])

    def key(self, sig: Any, codegen: Any, for_python: bool) -> Any:
        """Return what a compiled kernel is kept by."""
        return (*super()._index_key(sig, codegen), for_python)


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel that its callers call where it is large.

    A literal is a type of its own to Numba, which would compile a callee once more for each.
    """

    called_again = False  # by what is compiled for Python

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Compile for a call from Python."""
        with global_compiler_lock, self._for_python(True):
            return super()._compile_for_args(*args, **kws)

    @contextlib.contextmanager
    def _for_python(self, called: bool) -> Iterator[None]:
        options = self.targetoptions
        before = options['no_cpython_wrapper']
        options['no_cpython_wrapper'] = not called
        try:
            yield
        finally:
            options['no_cpython_wrapper'] = before

    @property
    def is_compiling(self) -> bool:
        """Whether a call of it here would be recursion."""
        return bool(self._compiling_counter) and not self.called_again

    @property
    def bodies(self) -> dict[Any, Any]:
        """What is compiled here as other kernels call it, by its arguments."""
        return vars(self).setdefault('_bodies', {})

    def prepare(self, arguments: tuple[Any, ...]) -> None:
        """Compile or load what other kernels call."""
        with self._for_python(False):
            if arguments in self.bodies:
                self.overloads.setdefault(arguments, self.bodies[arguments])
            self.compile(arguments)

    @property
    def called_by_python(self) -> bool:
        """Whether Python can call it, compiled or loaded here."""
        return any(map(has_wrapper, list(self.overloads.values())))

    def is_compiled(self, arguments: tuple[Any, ...]) -> bool:
        """Whether Python need not wait for a compilation, as this or another process did it."""
        if self.called_by_python:
            return True
        kinds = tuple(map(self.typeof_pyval, arguments))
        return self.is_kept(self.fold_argument_types(kinds, {})[1], True)

    def is_kept(self, arguments: tuple[Any, ...], for_python: bool) -> bool:
        """Whether the cache has it for these types, for Python or for kernels."""
        file = self._cache._cache_file
        found = file._load_index().get(
            self._cache.key(arguments, self.targetctx.codegen(), for_python)
        )
        return found is not None and Path(file._cache_path, found).exists()

    def add_overload(self, cres: Any) -> None:
        """Keep a result; Python may call it if it can."""
        if has_wrapper(cres):
            if _has_array(cres.signature.return_type) and not self.targetoptions['_nrt']:
                raise TypeError(
                    f'{self.py_func.__qualname__} returns parts of its arguments; {VIEW}'
                )
            super().add_overload(cres)
        else:
            self.overloads[tuple(cres.signature.args)] = cres

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile for what a caller passes; the same for all values of a type."""
        values = {name: types.unliteral(kind) for name, kind in kws.items()}
        found = super().get_call_template([*map(types.unliteral, args)], values)
        returned = [r.signature.return_type for r in self.overloads.values()]
        if any(map(_has_array, returned)):
            caller = ConfigStack.top_or_none()
            if caller and caller.nrt != self.targetoptions['_nrt']:
                name = self.py_func.__qualname__
                raise NumbaError(f'{name} returns arrays: `makes_arrays` for it and its callers')
        return found

    def compile(self, sig: Any) -> Any:
        """Compile for a signature, or load; returns what Numba knows the result by."""
        known = self.overloads.get(sig)
        if known and not (has_wrapper(known) or self.targetoptions['no_cpython_wrapper']):
            del self.overloads[sig]  # `_call` keeps it for those that call its address
        before = set(self.overloads)
        with _alone(self, sig), _collecting_seldom():
            entry = super().compile(sig)
        for arguments in self.overloads.keys() - before:
            result = self.overloads[arguments]
            body, symbol = self.bodies.setdefault(arguments, result), _symbol(self, result)
            if body is result:
                name = result.fndesc.llvm_func_name
                llvm.add_symbol(symbol, result.library.get_pointer_to_function(name))
            # Numba forgets it when it loads a kernel; whoever copies this one needs it too.
            result.library._reload_init.update(result.reload_init or ())
            self.targetctx.remove_user_function(result.entry_point)
            call = _call(self, body, symbol)
            self.targetctx._defns[result.entry_point].append(call, result.fndesc.argtypes)
        return entry


class _Compiler(_FunctionCompiler):  # type: ignore[misc]
    """Compiles a kernel, or for Python what calls it where it is compiled."""

    kernel: Kernel

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        with self.kernel._for_python(not self.kernel.targetoptions['no_cpython_wrapper']):
            try:
                return super()._compile_core(args, return_type)
            finally:
                self.kernel.called_again = False

    def _get_implementation(self, args: Any, kws: Any) -> Any:
        kernel = self.kernel
        if kernel.targetoptions['no_cpython_wrapper']:
            return self.py_func
        if not (args in kernel.bodies or kernel.is_kept(args, False)) or len(args) > MOST:
            return self.py_func
        kernel.prepare(args)
        kernel.targetoptions['no_cpython_wrapper'] = kernel.called_again = True
        call, function = _calls(kernel)[len(args)], self.py_func
        # A name of its own: the linker knows what it calls by the other one.
        call.__name__ = call.__qualname__ = f'{function.__qualname__}_for_python'
        call.__module__ = function.__module__
        return call


def _calls(kernel: Any) -> tuple[Callable[..., Any], ...]:
    """Return what calls a kernel, by the number of its arguments."""
    return (
        lambda: kernel(),
        lambda a: kernel(a),
        lambda a, b: kernel(a, b),
        lambda a, b, c: kernel(a, b, c),
        lambda a, b, c, d: kernel(a, b, c, d),
        lambda a, b, c, d, e: kernel(a, b, c, d, e),
        lambda a, b, c, d, e, f: kernel(a, b, c, d, e, f),
        lambda a, b, c, d, e, f, g: kernel(a, b, c, d, e, f, g),
        lambda a, b, c, d, e, f, g, h: kernel(a, b, c, d, e, f, g, h),
    )


def _has_array(kind: Any) -> bool:
    """Whether a type has arrays."""
    if isinstance(kind, types.BaseTuple):
        return any(map(_has_array, kind.types))
    return isinstance(kind, types.Array)


def has_wrapper(result: Any) -> bool:
    """Whether Python can call a compiled kernel."""
    name = result.fndesc.llvm_cpython_wrapper_name
    return bool(result.library.get_pointer_to_function(name))


def kernel(function: Any) -> Any:
    """Compile a function of this library when it is first called."""
    return _as_kernel(njit(**_OPTIONS)(function))


def fused_kernel(function: Any) -> Any:
    """Like `kernel`, for long sums of products: a product and its sum may be rounded once.

    Not where a difference of equal products has to vanish exactly.
    """
    return _as_kernel(njit(**_OPTIONS, fastmath={'contract'})(function))


def merged_kernel(function: Any) -> Any:
    """Like `fused_kernel`, merged into the loop that calls it."""
    return _as_kernel(njit(**_OPTIONS, fastmath={'contract'}, forceinline=True)(function))


def makes_arrays(dispatcher: Any) -> Any:
    """Count references in a kernel of which Numba says without that "NRT required".

    It makes an array that no name tells of: by arithmetic, or by copying a slice.
    """
    if isinstance(dispatcher, Kernel):
        dispatcher.targetoptions['_nrt'] = True
    return dispatcher


def _as_kernel(dispatcher: Any) -> Any:
    # Of a function inside another one nobody could ask for the address again; where Numba does
    # not compile, this is the function itself.
    if isinstance(dispatcher, CPUDispatcher) and '<locals>' not in dispatcher.py_func.__qualname__:
        dispatcher.__class__ = Kernel
        dispatcher.targetoptions['no_cpython_wrapper'] = True
        makes = not MAKERS.isdisjoint(dispatcher.py_func.__code__.co_names)
        dispatcher.targetoptions['_nrt'] = makes
        dispatcher._compiler.__class__ = _Compiler
        dispatcher._compiler.kernel = dispatcher
        if isinstance(dispatcher._cache, FunctionCache):
            cache = dispatcher._cache
            cache.__class__, cache._cache_file.__class__ = _Cache, RepairedIndex
            cache.options = dispatcher.targetoptions
    return dispatcher


@contextlib.contextmanager
def _alone(dispatcher: Any, sig: Any) -> Iterator[None]:
    """Keep other processes from compiling a kernel for a signature meanwhile.

    A kernel waits for its callees only, and they never for it. Threads take turns first, as Numba
    has them.
    """
    with global_compiler_lock, contextlib.ExitStack() as stack:
        if sig not in dispatcher.overloads:
            with contextlib.suppress(OSError, AttributeError):  # no cache: nothing to wait for
                folder, function = Path(dispatcher._cache.cache_path), dispatcher.py_func
                for_python = not dispatcher.targetoptions['no_cpython_wrapper']
                text = f'{function.__module__} {function.__qualname__} {sig} {for_python}'
                name = hashlib.sha256(text.encode()).hexdigest()[:32]
                folder.mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((folder / f'{name}.lock').open('a+'))
                _take(lock)
                stack.callback(fcntl.flock, lock, fcntl.LOCK_UN)  # forked processes hold it too
        yield


@contextlib.contextmanager
def _collecting_seldom() -> Iterator[None]:
    """Look for garbage rarely while something is compiled.

    Most of what a compiler makes stays until the end: to look at it over and over took a sixth of
    the time.
    """
    often = gc.get_threshold()
    if often[0]:  # zero: switched off
        gc.set_threshold(max(often[0], SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(*often)


def _take(lock: IO[str]) -> None:
    """Take an exclusive lock and say who has it; compile as well if its holder stands still."""
    rank, begin = _rank(), time.monotonic()
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            behind = int(lock.read() or rank) > rank
            if time.monotonic() - begin > (PATIENCE if behind else MAX_WAIT):
                return
            time.sleep(0.02)
        else:
            lock.truncate(0)
            with contextlib.suppress(OSError):  # disk full; what a file buffers fails again later
                os.write(lock.fileno(), f'{rank}\n'.encode())
            return


def _rank() -> int:
    """Return how far this thread stands back: its nice value, 20 where it takes leftovers only."""
    leftovers = sys.platform == 'linux' and os.sched_getscheduler(0) == os.SCHED_IDLE
    return 20 if leftovers else os.nice(0)


@dataclasses.dataclass(frozen=True)
class _Address:
    """Gives a kernel's address to the linker, before a caller is loaded from the cache."""

    module: str
    name: str
    arguments: tuple[Any, ...]

    def __call__(self) -> None:
        __import__(self.module)
        getattr(sys.modules[self.module], self.name).prepare(self.arguments)


def _symbol(dispatcher: Any, result: Any) -> str:
    function = dispatcher.py_func
    text = f'{function.__module__} {function.__qualname__} {result.signature}'
    return 'soro_kernel_' + hashlib.sha256(text.encode()).hexdigest()[:32]


def _call(dispatcher: Any, result: Any, symbol: str) -> Any:
    """Return what lowers a call of a compiled kernel."""
    library, merged = result.library, dispatcher.targetoptions.get('forceinline', False)
    elsewhere = copy.copy(result.fndesc)
    elsewhere.mangled_name = symbol
    copied, called = (imputils.user_function(f, ()) for f in (result.fndesc, elsewhere))
    function = dispatcher.py_func
    where = _Address(function.__module__, function.__qualname__, result.signature.args)

    def call(context: Any, *words: Any) -> Any:
        # Asked for where a caller is compiled only, not where all are loaded.
        if merged or len(library._get_module_for_linking().as_bitcode()) <= LARGE:
            context.add_linking_libs((library,))
            return copied(context, *words)
        context.active_code_library._reload_init.add(where)
        return called(context, *words)

    call.signature = copied.signature  # type: ignore[attr-defined]
    call.libs = ()  # type: ignore[attr-defined]
    return call
