# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One main for every node: start, spin, stop cleanly, an honest exit code.

rclpy's own signal handlers make the context invalid at the first signal, so that nothing can be
published or vented afterwards. Here the node keeps its context until it is safe: the handler only
asks to stop. It wakes the executor through a pipe, because a signal does not end a wait in rcl.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
import ctypes
import os
import signal
import sys
import threading
import traceback
from types import FrameType
from typing import Any

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future
from soro_mechanics.errors import SoroError
from soro_mechanics.kernel_cache import use_kernel_cache

PR_SET_PDEATHSIG = 1  # linux/prctl.h
SIGNALS = (signal.SIGINT, signal.SIGTERM)
# Between two threads that both want the interpreter [s]. Python's own 5 ms is what a stream at
# 100 Hz, or a request whose kernels give the lock back many times, would wait each time.
SWITCH_INTERVAL = 2e-4


class StopRequested(BaseException):
    """Raised by a signal while a node that moves nothing is still starting."""


class StopSignals:
    """SIGINT and SIGTERM, turned into one future that ends the spinning.

    Parameters
    ----------
    interrupt_start : bool
        Raise `StopRequested` in the main thread until `spinning` is set, so that a long start
        can be interrupted. Drivers do not want that: they may be talking to a device.
    """

    def __init__(self, interrupt_start: bool) -> None:
        self.stop: Future = Future()
        self.spinning = False
        self._interrupt_start = interrupt_start
        self._asked = False
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)
        self._old = {s: signal.signal(s, self._handle) for s in SIGNALS}
        self._old_fd = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        self._thread = threading.Thread(target=self._watch, name='signals', daemon=True)
        self._thread.start()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # Runs in the main thread, between two bytecodes; repeated signals change nothing.
        asked, self._asked = self._asked, True
        if self._interrupt_start and not self.spinning and not asked:
            raise StopRequested

    def _watch(self) -> None:
        while True:
            numbers = os.read(self._read, 64)
            if not numbers or 0 in numbers:
                return
            if any(n in numbers for n in SIGNALS) and not self.stop.done():
                self.stop.set_result(None)

    def close(self) -> None:
        """Put the handlers back that were there before."""
        signal.set_wakeup_fd(self._old_fd)
        for number, handler in self._old.items():
            signal.signal(number, handler)
        os.write(self._write, b'\0')
        self._thread.join(timeout=1.0)
        os.close(self._read)
        os.close(self._write)


def die_with_parent() -> None:
    """Have the kernel send SIGTERM when the thread that started this process ends (Linux).

    A launcher that is killed cannot stop its children; a driver must not stay behind without it.
    """
    if sys.platform == 'linux':
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def spin(executor: Executor, stop: Future) -> None:
    """Execute callbacks until a future is done or the context is shut down.

    A subscription or action server that another thread destroys just while the executor builds its
    wait set raises InvalidHandle out of the executor (rclpy guards timers and services against
    it, waitables not). Nothing is lost by waiting again.
    """
    with contextlib.suppress(ExternalShutdownException):
        while not stop.done() and executor.context.ok():
            with contextlib.suppress(InvalidHandle):
                executor.spin_until_future_complete(stop)


def run(
    factory: Callable[[], Any], args: Sequence[str] | None = None, *, driver: bool = False
) -> int:
    """Run one node until it is told to stop; return the exit code of the process.

    Parameters
    ----------
    factory : callable
        Makes the node, without arguments. It is started by itself where its parameter
        ``autostart`` says so; ``make_safe()`` is called before anything is torn down.
    args : sequence of str, optional
        Default: the command line.
    driver : bool
        The process moves something: signals never interrupt its start, further signals are
        ignored until `make_safe` has returned, and it ends with its parent.

    Returns
    -------
    int
        0 after SIGINT, SIGTERM or a shutdown of the context; 1 after an error.
    """
    use_kernel_cache()
    sys.setswitchinterval(SWITCH_INTERVAL)
    if driver:
        die_with_parent()
    signals = StopSignals(interrupt_start=not driver)
    try:
        arguments = None if args is None else list(args)
        rclpy.init(args=arguments, signal_handler_options=SignalHandlerOptions.NO)
        return _run_node(factory, signals)
    except StopRequested:
        return 0
    except SoroError as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    except Exception:  # noqa: BLE001 - the boundary of the process
        traceback.print_exc()
        return 1
    finally:
        rclpy.try_shutdown()
        signals.close()


def _run_node(factory: Callable[[], Any], signals: StopSignals) -> int:
    node = factory()
    executor: Executor | None = None
    try:
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        if _wants_start(node) and not node.autostart() and node.exit_when_autostart_fails:
            return 1
        signals.spinning = True
        spin(executor, signals.stop)
        return 0
    finally:
        signals.spinning = True  # from here on a signal must not cut the tidying short
        if hasattr(node, 'make_safe'):
            node.make_safe()
        if executor is not None:
            executor.shutdown(timeout_sec=1.0)
        node.destroy_node()


def _wants_start(node: Any) -> bool:
    return node.has_parameter('autostart') and node.get_parameter('autostart').value is True
