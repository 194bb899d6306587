# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The first moment of a node: its libraries take seconds to import, and nothing moves yet.

Told to end then, a process ends at once and in order; Python alone would print the place it was
at, and end with 130.
"""

from __future__ import annotations

import importlib
import os
import signal
from types import FrameType
from typing import NoReturn


def import_and_run(module: str, **arguments: str) -> None:
    """Import a module of a node and call its `main`, which has signal handlers of its own."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    importlib.import_module(module).main(**arguments)


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os._exit(0)
