# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The first calls of a robot whose kernels are not compiled yet: interpreted, not waited for.

Numba compiles for half a minute to minutes before a first result, once per user and computer; the
interpreter has it within seconds. So another process compiles (`compile_robot`), and until it has
cached a kernel this one runs the kernel's Python. What takes many solves or a limited time does
not begin before the kernels are compiled (`finish`).

The compiled kernel decides what a result is: where the interpreter raises (a division by zero is
infinite in a kernel), the arguments are put back and the compiled one is waited for. Should the
process end without a kernel, it is compiled here, as if there were no interpretation.

Only for those who use this library alone: `soro_node` sets SORO_KERNELS=compiled, and warms its
kernels while it is configured.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable
import contextlib
import os
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np

PERIOD = 0.2  # s between two looks for a compiled kernel
COMPILED = 'compiled'  # what SORO_KERNELS says to wait instead
# The path as it is here, not a folder's real name: Numba keeps a cache per path of a source.
_CHILD = """
import sys
sys.path[:] = {!r}
from soro_mechanics.compile_robot import compile_beside
compile_beside({!r})
"""
_kinds: dict[type, type] = {}  # of interpreted kernels -> of Numba's
_now: _Interpretation | None = None
_beginning = threading.Lock()


def begin(file: str, model: str) -> None:
    """Interpret, for a robot that is being loaded, what is not compiled yet."""
    global _now
    if os.environ.get('SORO_KERNELS') == COMPILED or not sys.executable or not file:
        return
    with _beginning:
        if _now is None:
            _now = _Interpretation()
        _now.include(os.path.abspath(file), model)


def finish() -> None:
    """Wait for the kernels that are being compiled; from now on all run compiled."""
    if _now is not None:
        _now.end()


def _forget() -> None:
    """In a forked process: nothing is interpreted, as the compiling process is not its child."""
    global _now, _beginning
    _now, _beginning = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


class _Switch(BaseException):
    """The kernel that is being interpreted has been compiled."""


class _Interpretation:
    """Kernels that are interpreted, and the process that compiles them."""

    def __init__(self) -> None:
        self.local = threading.local()
        self._kernels: list[Any] = []
        self._robots: dict[tuple[str, str], bool] = {}  # whether a process was asked for it
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._next_look = 0.0

    def include(self, file: str, model: str) -> None:
        """Interpret the kernels of the modules that are loaded, for this robot."""
        with self._lock:
            self._robots.setdefault((file, model), False)
        for name, module in list(sys.modules.items()):
            if not name.startswith('soro_mechanics.') or 'kernels' not in name:
                continue
            for kernel in list(vars(module).values()):
                # A kernel that has been compiled here stays so.
                if not getattr(kernel, 'called_by_python', getattr(kernel, 'overloads', True)):
                    self._include(kernel)

    def _include(self, kernel: Any) -> None:
        kind = type(kernel)
        if kind in _kinds:
            return
        ours = next((k for k, of in _kinds.items() if of is kind), None)
        if ours is None:
            members = {'__call__': _call, '_reduce_class': lambda _: kind}  # pickled as Numba's
            ours = type(kind.__name__, (kind,), members)
            _kinds[ours] = kind
        kernel.__class__ = ours
        self._kernels.append(kernel)

    def ready(self, kernel: Any, arguments: tuple[Any, ...]) -> bool:
        """Whether a kernel has been compiled for these arguments, by this process or another."""
        try:
            return kernel.is_compiled(arguments)
        except AttributeError:  # of another Numba: as if there were no interpretation
            return True

    def compiling(self) -> bool:
        """Whether a process compiles; begin, if none has for the robots that were loaded."""
        with self._lock:
            if self._child is None or self._child.poll() is not None:
                self._start([robot for robot, asked in self._robots.items() if not asked])
            return self._child is not None and self._child.poll() is None

    def _start(self, robots: list[tuple[str, str]]) -> None:
        if not robots:
            return
        self._robots.update(dict.fromkeys(robots, True))
        with contextlib.suppress(OSError):
            self._child = subprocess.Popen(
                [sys.executable, '-c', _CHILD.format(sys.path, robots)],
                env={**os.environ, 'SORO_KERNELS': COMPILED},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt is for the program
            )
            atexit.register(_stop, self._child)
            print(
                f'soro: the kernels of model {", ".join(model for _, model in robots)} are '
                'compiled beside this program, once, in a minute or two; until then they are '
                'interpreted, slower, and inverse waits for them',
                file=sys.stderr,
                flush=True,
            )

    def look(self) -> None:
        """Inside a kernel: leave it, now and then, for its compiled one."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + PERIOD
        if self.ready(*self.local.outer) or not self.compiling():
            raise _Switch

    def wait_for(self, kernel: Any, arguments: tuple[Any, ...]) -> None:
        """Wait until a kernel is compiled, or no process compiles it."""
        while not self.ready(kernel, arguments) and self.compiling():
            time.sleep(PERIOD)

    def end(self) -> None:
        """Wait for the process, if there is one, and interpret no more."""
        global _now
        while self._child is not None and self._child.poll() is None:
            time.sleep(PERIOD)
        _now = None
        for kernel in self._kernels:
            release(kernel)


def _stop(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.kill()
        child.wait()


def release(kernel: Any) -> None:
    """Make an interpreted kernel an ordinary one again; threads may do so at once."""
    kernel.__class__ = _kinds.get(kind := type(kernel), kind)


def _call(kernel: Any, *arguments: Any) -> Any:
    """Call a kernel, interpreted while it is not compiled."""
    now = _now
    if now is None:
        release(kernel)
        return kernel(*arguments)
    if getattr(now.local, 'outer', None) is not None:
        now.look()
        return kernel.py_func(*arguments)
    if not now.ready(kernel, arguments) and now.compiling():
        restore = _remembered(arguments)
        now.local.outer = kernel, arguments
        try:
            with np.errstate(all='ignore'):
                return kernel.py_func(*arguments)
        except BaseException as error:
            restore()
            if not isinstance(error, _Switch | Exception):  # an interrupt, say
                raise
        finally:
            now.local.outer = None
        now.wait_for(kernel, arguments)  # the compiled kernel says what it was
    release(kernel)
    return kernel(*arguments)


def _remembered(arguments: tuple[Any, ...]) -> Callable[[], None]:
    """Return a function that puts back what the arrays among the arguments hold now."""
    kept: list[tuple[Any, Any]] = []

    def keep(value: Any) -> None:
        if isinstance(value, np.ndarray):
            if value.flags.writeable:
                kept.append((value, value.copy()))
        elif isinstance(value, tuple | list):
            for item in value:
                keep(item)

    def restore() -> None:
        for array, content in kept:
            array[...] = content

    keep(arguments)
    return restore
