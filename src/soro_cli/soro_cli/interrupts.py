# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C from the first moment of a command to its last: an exit code, never a traceback."""

from __future__ import annotations

from contextlib import AbstractContextManager
import signal
import threading
from types import FrameType

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class Interrupts(AbstractContextManager['Interrupts']):
    """Lets interrupts through, which the script `soro` holds back until here, and remembers them.

    One that is ignored stays so: after nohup the work goes on.

    - `came`: whether one came: an exception that follows may have been meant as one.
    """

    def __init__(self) -> None:
        self.came = False
        self._before: object = None

    def __enter__(self) -> Interrupts:
        if _ours():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def let_through(self) -> None:
        """Raise KeyboardInterrupt for one that was held back."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt


def no_more_interrupts() -> None:
    """End without a word on an interrupt from now on: there is a result, or none is wanted."""
    if _ours():
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def hear_interrupts() -> None:
    """Hear them where a shell without job control (a script's ``&``) has them ignored.

    For what runs until it is told to end, before it is ready to end in order.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _ours() -> bool:
    """Whether an interrupt raises KeyboardInterrupt here, as Python has it by default."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
