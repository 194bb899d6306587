# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The first moment of a node: its libraries take seconds to import, and nothing moves yet.

Told to end then, a process ends at once and in order; Python alone would print the place it was
at, and end with 130.
"""

from __future__ import annotations

from collections.abc import Callable
import gc
import importlib
from importlib.metadata import entry_points
import os
from pathlib import Path
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

from soro_node.process.parent_death import end_with_launcher

SELDOM = 1000  # collections of what is younger, before everything is looked at


def end_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end a node in order.

    Also that of a terminal which is closed, where a launcher shares its process group with the
    nodes; not where somebody has it ignored (nohup).
    """
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *([] if ignored else [signal.SIGHUP]))


def main() -> None:
    """Run the node whose name in ``soro_node.executable`` the executable bears."""
    _end_when_told()
    (node,) = entry_points(group='soro_node.executable', name=Path(sys.argv[0]).stem)
    _without_collections(node.load)()


def import_and_run(module: str, **arguments: str) -> None:
    """Import a module of a node and call its `main`, which has signal handlers of its own."""
    _end_when_told()
    _without_collections(lambda: importlib.import_module(module)).main(**arguments)


def _without_collections(load: Callable[[], Any]) -> Any:
    """Import something: nothing of it is garbage, and to look for that costs a tenth of the time.

    It is not looked at later either: a full collection would hold up whatever the node streams,
    also while a message of 100,000 points comes in (six of them).
    """
    gc.disable()
    loaded = load()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], SELDOM)
    gc.enable()
    return loaded


def _end_when_told() -> None:
    for number in end_signals():
        signal.signal(number, _leave)
    end_with_launcher()


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os._exit(0)
