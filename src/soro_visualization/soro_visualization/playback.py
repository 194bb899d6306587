# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded run in the viewer: play it, stop it, go to any moment.

Reads through any object with ``messages(topics, start, end)`` that yields entries with `topic`,
`stamp` [ns] and `message` (decoded when asked for), as soro_recording's BagReader does.
"""

from __future__ import annotations

from array import array
import bisect
from collections import OrderedDict
from collections.abc import Callable, Iterator
import logging
import threading
import time
from typing import Any

import numpy as np

from soro_mechanics.robot_file.reader import RobotDescription
from soro_visualization.drawing.cloud import read_cloud
from soro_visualization.drawing.shape import path_positions, shape_from_message
from soro_visualization.page.readout import (
    angles_from_message,
    emulated_from_statuses,
    readout_from_message,
    Snapshot,
)
from soro_visualization.page.viewer import Viewer
from soro_visualization.reading import read_or_warn

NANOSECONDS = 1e-9
RATE = 30.0  # pictures per second
SLOT = 1.0 / RATE  # s
WINDOW = 500_000_000  # ns: what is read at once while a recording is played
WINDOWS = 16  # at hand: diagnostics of two seconds, and paths of another time
STREAMS = ('configuration', 'commanded_configuration', 'actuator_state', 'joint_states')
SELDOM = ('workspace', 'desired_path', 'actual_path')
DIAGNOSTICS = '/diagnostics'
OLD = 0.5  # s after which a stream that ended is no longer shown
SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5', '10')

Window = dict[str, list[Any]]  # entries by topic, in the order in which they came


class Recording:
    """What can be seen of a recording, found by time and read when it is shown.

    - `reader`: has ``messages(topics, start, end)``; stays open.
    - `namespace`: of the robot, with its slash.

    Its attributes:
    - `start`, `duration` [s]: since 1970; from the first to the last picture.
    """

    def __init__(self, reader: Any, namespace: str) -> None:
        self.prefix = namespace.rstrip('/') + '/'
        self._reader = reader
        self._names = [self.prefix + name for name in (*STREAMS, *SELDOM)] + [DIAGNOSTICS]
        # When messages came, and no message: an hour of shapes takes gigabytes.
        self._stamps: dict[str, array[int]] = {}
        for entry in reader.messages(self._names):
            self._stamps.setdefault(self._short(entry.topic), array('q')).append(entry.stamp)
        self._windows: OrderedDict[int, Window] = OrderedDict()
        shown = self._stamps.get('configuration', [])
        self._start = shown[0] if shown else 0  # ns
        self.start = self._start * NANOSECONDS
        self.duration = (shown[-1] - shown[0]) * NANOSECONDS if shown else 0.0

    def newest(self, name: str, at: float, oldest: float = float('inf')) -> Any:
        """Return the message of a topic that was newest at a time [s since start], or None."""
        index = self.number(name, at) - 1
        if index < 0:
            return None
        stamp = self._stamps[name][index]
        if at - (stamp - self._start) * NANOSECONDS > oldest:
            return None
        found = self._between(name, stamp, stamp + 1)
        return found[-1].message if found else None  # none: the times of a damaged chunk are wrong

    def number(self, name: str, at: float) -> int:
        """Return how many messages of a topic had come at a time [s since start]."""
        return bisect.bisect_right(self._stamps.get(name, []), self._nanoseconds(at))

    def reports(self, at: float) -> Iterator[Any]:
        """Yield the diagnostics of the two seconds before a time, oldest first."""
        first, last = self._nanoseconds(at - 2.0), self._nanoseconds(at)
        for entry in self._between(DIAGNOSTICS, first + 1, last + 1):
            for status in entry.message.status:
                if status.name.startswith(self.prefix):
                    yield status

    def _between(self, name: str, start: int, end: int) -> list[Any]:
        """Return the entries of a topic from one time to before another [ns since 1970]."""
        numbers = range(start // WINDOW, (end - 1) // WINDOW + 1)
        entries = [e for number in numbers for e in self._window(number).get(name, ())]
        return [entry for entry in entries if start <= entry.stamp < end]

    def _window(self, number: int) -> Window:
        """Return what was recorded in one stretch of time; the last ones used are at hand."""
        if number not in self._windows:
            found: Window = {}
            begin = number * WINDOW
            for entry in self._reader.messages(self._names, begin, begin + WINDOW):
                found.setdefault(self._short(entry.topic), []).append(entry)
            self._windows[number] = found
            if len(self._windows) > WINDOWS:
                self._windows.popitem(last=False)
        self._windows.move_to_end(number)
        return self._windows[number]

    def _nanoseconds(self, at: float) -> int:
        """Return a time [s since start] in ns since 1970."""
        return self._start + round(at / NANOSECONDS)

    def _short(self, topic: str) -> str:
        return topic.removeprefix(self.prefix)


class Playback:
    """The clock of a recorded run, with its slider.

    - `viewer`: without controls.
    """

    def __init__(
        self, viewer: Viewer, recording: Recording, description: RobotDescription
    ) -> None:
        self._viewer, self._recording, self._description = viewer, recording, description
        self._at, self._playing, self._speed = 0.0, True, 1.0
        self._lock = threading.Lock()
        self._shown: dict[str, int] = {}
        self._said: set[str] = set()
        gui = viewer.server.gui
        with gui.add_folder('Time', order=-1.0):
            end = max(round(recording.duration, 3), 0.001)
            self._slider = gui.add_slider('time [s]', 0.0, end, step=0.001, initial_value=0.0)
            self._play = gui.add_checkbox('play', initial_value=True)
            speed = gui.add_dropdown('speed', SPEEDS, initial_value='1')

        @self._slider.on_update
        async def _(event: Any) -> None:
            if event.client_id is not None and 0.0 <= event.target.value <= end:
                with self._lock:
                    self._at = float(event.target.value)

        @self._play.on_update
        async def _(event: Any) -> None:
            self._playing = bool(event.target.value)

        @speed.on_update
        async def _(event: Any) -> None:
            if event.target.value in SPEEDS:
                self._speed = float(event.target.value)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self._viewer.address

    @property
    def duration(self) -> float:
        """Length of the recording [s]."""
        return self._recording.duration

    def pause_at(self, at: float) -> None:
        """Show one moment [s since start] until somebody plays on."""
        with self._lock:
            self._playing, self._at = False, at
        self._play.value, self._slider.value = False, round(at, 3)

    def run(self, ended: threading.Event) -> None:
        """Show the recording until told to end."""
        last = time.monotonic()
        while not ended.wait(SLOT):
            now = time.monotonic()
            self.step(now - last)
            last = now

    def step(self, elapsed: float) -> None:
        """Go on by a time [s], at the speed chosen, and show what was then."""
        with self._lock:
            if self._playing:
                self._at += elapsed * self._speed
                if self._at > self._recording.duration:
                    self._at = 0.0  # from the beginning again
            at = self._at
        if self._playing:
            self._slider.value = round(at, 3)
        self._viewer.show(self._moment(at))
        self._show_seldom(at)

    def _moment(self, at: float) -> Snapshot:
        recording, actuators = self._recording, self._description.actuators
        snapshot = Snapshot(time=at)
        snapshot.shape = self._read('configuration', at, float('inf'), shape_from_message)
        snapshot.ghost = self._read('commanded_configuration', at, OLD, shape_from_message)
        snapshot.actuators = self._read(
            'actuator_state', at, OLD, lambda message: readout_from_message(actuators, message)
        )
        snapshot.angles = self._read('joint_states', at, OLD, angles_from_message) or {}
        reports = list(recording.reports(at))
        snapshot.emulated = emulated_from_statuses(reports)
        snapshot.driven = snapshot.emulated is not None  # older recordings do not say it
        for status in reports:
            level = status.level if isinstance(status.level, int) else status.level[0]
            name = status.name.removeprefix(recording.prefix)
            snapshot.words[name] = (level, status.message)
        return snapshot

    def _read(self, name: str, at: float, oldest: float, read: Callable[[Any], Any]) -> Any:
        """Return what the newest message of a topic says, None where there is none to show."""
        return read_or_warn(read, self._recording.newest(name, at, oldest), name, self._warn)

    def _warn(self, text: str) -> None:
        if text not in self._said:  # the same message is shown many times
            self._said.add(text)
            logging.getLogger(__name__).warning(text)

    def _show_seldom(self, at: float) -> None:
        if not self._viewer.scene.started:
            return
        for name in SELDOM:
            number = self._recording.number(name, at)
            if number == self._shown.get(name, 0):
                continue
            self._shown[name] = number
            if name == 'workspace':
                cloud = self._read(name, at, float('inf'), read_cloud)
                if cloud is not None:
                    self._viewer.show_cloud(*cloud)
                continue
            message = self._recording.newest(name, at)
            positions = np.zeros((0, 3)) if message is None else path_positions(message)
            self._viewer.show_path(name.removesuffix('_path'), positions)
