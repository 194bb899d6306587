# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One main for every node: start, spin, stop cleanly, an honest exit code.

rclpy's own signal handlers make the context invalid at the first signal, so that nothing can be
published or vented afterwards. Here the node keeps its context until it is safe: the handler only
asks to stop. It wakes the executor through a pipe, because a signal does not end a wait in rcl.

Whoever is told to end has ended within two seconds, whatever computes: the interpreter runs
handlers between two bytecodes only, and a compiler or a kernel may keep the main thread from the
next one for minutes. A second thread then makes the node safe and ends the process. Drivers are
the exception: nothing cuts their talk with a device short.

The middleware may stand still for ever in a lock of its own while something is destroyed, and with
it the interpreter. A node that has nothing left to make safe is then ended from outside of both
after `LAST_RESORT`: what its threads were doing is printed, the exit code is 1.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
from types import FrameType
from typing import Any, NoReturn

import rclpy
from rclpy.exceptions import InvalidHandle
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions
from rclpy.task import Future

from soro_mechanics.compilation.kernel_cache import use_kernel_cache
from soro_mechanics.core.errors import SoroError
from soro_node.executor.rclpy_private import spare_inspection
from soro_node.executor.single_executor import SingleExecutor
from soro_node.middleware import set_middleware
from soro_node.process.early_start import end_signals
from soro_node.process.log_files import ros_arguments
from soro_node.process.parent_death import die_with_parent, end_with_launcher, launcher

# Between two threads that both want the interpreter [s]. Python's own 5 ms is what a stream at
# 100 Hz, or a request whose kernels give the lock back many times, would wait each time.
SWITCH_INTERVAL = 2e-4
PATIENCE = 1.0  # s from a signal until another thread does what the main thread should
ASIDE, LAST = 5, 10  # nice values, see `run`
LAST_RESORT = 4.0  # s; a launcher loses patience after five
LEAVE_TIME = 0.5  # s that a node which is safe has to take leave of the others
STDERR = sys.__stderr__ or os.open(os.devnull, os.O_WRONLY)  # it may be closed


class StopRequested(BaseException):
    """Raised by a signal while a node that moves nothing is still starting."""


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP, turned into one future that ends the spinning.

    The handlers stay until the process has gone: a further signal changes nothing.

    - `interruptible`: raise `StopRequested` in the main thread until `spinning` is set, so that a
      long start can be interrupted, and call `overdue` should the main thread not end the process.
      Drivers do not want either: they may be talking to a device.
    - `overdue`: called in another thread `PATIENCE` after the first signal.
    """

    def __init__(self, interruptible: bool, overdue: Callable[[], None]) -> None:
        self.stop: Future = Future()
        self.spinning = False
        self._interruptible = interruptible
        self._overdue = overdue
        self._asked = False
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        self._numbers = end_signals()
        for number in self._numbers:
            signal.signal(number, self._handle)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        threading.Thread(target=self._watch, name='signals', daemon=True).start()

    @property
    def asked(self) -> bool:
        """Whether a signal has come."""
        return self._asked or self.stop.done()

    @property
    def interrupts(self) -> bool:
        """Whether a signal has come that ends the start of a node which moves nothing."""
        return self._interruptible and self.asked and not self.spinning

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # Runs in the main thread, between two bytecodes; repeated signals change nothing.
        asked, self._asked = self._asked, True
        if self._interruptible and not asked:
            _end_at_last()
            if not self.spinning:
                raise StopRequested

    def _watch(self) -> None:
        while not any(number in self._numbers for number in os.read(self._read, 64)):
            pass
        self.stop.set_result(None)
        time.sleep(PATIENCE)
        if self._interruptible:
            self._overdue()


class Safety:
    """A node that is made safe once, by the thread that comes first; others wait for that."""

    def __init__(self) -> None:
        self.node: Any = None
        self.exit_code = 0
        self._lock = threading.Lock()

    def make_safe(self) -> None:
        """Call `make_safe` of the node, where there is a node that has it."""
        with self._lock:
            node, self.node = self.node, None
            if hasattr(node, 'make_safe'):
                node.make_safe()
                self.exit_code = getattr(node, 'exit_code', 0)


_signals: StopSignals | None = None  # of this process, once it runs a node


def ending() -> bool:
    """Whether this process has been told to end: nothing is armed any more."""
    return _signals is not None and _signals.asked


def end_if_interrupted() -> None:
    """Raise `StopRequested` anew: a compiler's callback swallows it, and what follows fails."""
    if _signals is not None and _signals.interrupts:
        raise StopRequested


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
    factory: Callable[[], Any],
    args: Sequence[str] | None = None,
    *,
    driver: bool = False,
    niceness: int = 0,
    then: int = 0,
) -> NoReturn:
    """Run one node until it is told to stop, and end the process.

    The exit code is 0 after SIGINT, SIGTERM, SIGHUP or a shutdown of the context, 1 after an
    error, and that of the node's attribute ``exit_code`` where it has one.

    - `factory`: makes the node, without arguments. It is started by itself where its parameter
      ``autostart`` says so; ``make_safe()`` is called before anything is torn down.
    - `args`: default: the command line.
    - `driver`: the process moves something: signals interrupt neither its start nor `make_safe`;
      started by hand, it ends with its parent.
    - `niceness`: how far the process stands back where the processor is short: `ASIDE` for what
      computes, `LAST` for what only shows; what a device waits for does not.
    - `then`: the same from when the node has started on: a page is there before others compute.
    """
    global _signals
    use_kernel_cache()
    set_middleware()
    spare_inspection()
    faulthandler.enable(STDERR)  # a crash in compiled code says where
    sys.setswitchinterval(SWITCH_INTERVAL)
    os.nice(niceness)  # before the middleware makes its threads
    end_with_launcher()
    if driver and launcher() is None and signal.SIGHUP in end_signals():  # not under nohup
        die_with_parent(signal.SIGTERM)
    # A callback from C loses what it raises, and Python says so; a stop is raised anew.
    sys.unraisablehook = lambda x: x.exc_type is StopRequested or sys.__unraisablehook__(x)
    safety = Safety()
    _signals = signals = StopSignals(not driver, lambda: _end_without_main_thread(safety))
    try:
        rclpy.init(args=ros_arguments(args), signal_handler_options=SignalHandlerOptions.NO)
        code = _run_node(factory, signals, safety, then) or safety.exit_code
    except StopRequested:
        code = safety.exit_code
    except SoroError as error:
        print(f'error: {error}', file=sys.stderr)
        code = 1
    except Exception:  # noqa: BLE001 - the boundary of the process
        traceback.print_exc()
        code = 1
    rclpy.try_shutdown()
    _end_process(code)


def _run_node(factory: Callable[[], Any], signals: StopSignals, safety: Safety, then: int) -> int:
    node = safety.node = factory()
    executor: Executor | None = None
    try:
        executor = SingleExecutor()
        executor.add_node(node)
        starts = node.has_parameter('autostart') and node.get_parameter('autostart').value is True
        if starts and not node.autostart() and node.exit_when_autostart_fails:
            return 1
        if then:  # Linux keeps a priority for each thread
            _each_thread(lambda thread: os.setpriority(os.PRIO_PROCESS, thread, then))
        signals.spinning = True
        spin(executor, signals.stop)
        return 0
    finally:
        signals.spinning = True  # from here on a signal must not cut the tidying short
        safety.make_safe()
        _end_at_last()
        _gather_threads()
        if executor is not None:
            executor.shutdown(timeout_sec=1.0)
        node.destroy_node()


def _each_thread(act: Callable[[int], None]) -> None:
    """Do something to every thread of this process (Linux)."""
    for thread in os.listdir('/proc/self/task') if sys.platform == 'linux' else ():
        with contextlib.suppress(OSError):  # it has just ended
            act(int(thread))


def _gather_threads() -> None:
    """Put every thread of this process on one core for what is left to do (Linux).

    A participant of Fast DDS that is destroyed waits in a loop which frees its lock for a moment
    only (its issue 6513). Where another node leaves at the same moment, the thread that hears of
    it needs that lock; on a core of its own it comes too late every time, for ever: of 480 nodes
    that ended six at a time two never did. On the same core it gets its turn.
    """
    if not hasattr(os, 'sched_setaffinity'):
        return
    cores = sorted(os.sched_getaffinity(0))
    core = {cores[os.getpid() % len(cores)]}
    _each_thread(lambda thread: os.sched_setaffinity(thread, core))


def _end_at_last() -> None:
    """End the process after `LAST_RESORT`, from a thread that needs no interpreter."""
    faulthandler.dump_traceback_later(LAST_RESORT, exit=True, file=STDERR)


def _end_process(code: int) -> NoReturn:
    """End the process now that everything is in order.

    The interpreter's own end would first wait for threads that go on computing, then take apart
    every compiled kernel: a second of processor time and more, with several nodes on a busy
    computer longer than a launcher waits before it sends SIGTERM (exit code 143).
    """
    try:
        atexit._run_exitfuncs()  # what libraries have asked for
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):  # closed, or nobody reads it
                stream.flush()
    finally:
        os._exit(code)


def _end_without_main_thread(safety: Safety) -> NoReturn:
    """Make the node safe and end the process: the main thread computes, or waits for that."""
    code = 1
    _end_at_last()
    try:
        safety.make_safe()
        time.sleep(LEAVE_TIME)
        code = safety.exit_code
    except Exception:  # noqa: BLE001 - the boundary of the process
        traceback.print_exc()
    finally:
        os._exit(code)
