# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A recorded run in the viewer: play it, stop it, go to any moment.

Reads through any object with ``messages(topics)`` that yields entries with `topic`, `stamp` [ns]
and `message` (decoded when asked for), as soro_cli's BagReader does. No ROS runs.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
import threading
import time
from typing import Any

import numpy as np
from soro_mechanics.robot_file import RobotDescription

from soro_visualization.cloud import read_cloud
from soro_visualization.readout import readout_from_message, Snapshot
from soro_visualization.shape import shape_from_message
from soro_visualization.viewer import Viewer

NANOSECONDS = 1e-9
RATE = 30.0  # pictures per second
SLOT = 1.0 / RATE  # s: of faster streams one message in each slot is kept
STREAMS = ('configuration', 'commanded_configuration', 'actuator_state', 'joint_states')
SELDOM = ('workspace', 'desired_path', 'actual_path')
DIAGNOSTICS = '/diagnostics'
OLD = 0.5  # s after which a stream that ended is no longer shown
SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5', '10')


class Recording:
    """Entries of a recording that can be seen, found by time.

    Parameters
    ----------
    reader : object
        Has ``messages(topics)``.
    namespace : str
        Of the robot, with its slash.

    Attributes
    ----------
    start, duration : float [s]
        Since 1970; from the first to the last picture.
    """

    def __init__(self, reader: Any, namespace: str) -> None:
        self.prefix = namespace.rstrip('/') + '/'
        self._entries: dict[str, list[Any]] = {}
        self._stamps: dict[str, list[float]] = {}
        names = [self.prefix + name for name in (*STREAMS, *SELDOM)] + [DIAGNOSTICS]
        for entry in reader.messages(names):
            self._keep(entry)
        shown = self._stamps.get('configuration', [])
        self.start = shown[0] if shown else 0.0
        self.duration = shown[-1] - shown[0] if shown else 0.0

    def newest(self, name: str, at: float, oldest: float = float('inf')) -> Any:
        """Return the message of a topic that was newest at a time [s since start], or None."""
        stamps = self._stamps.get(name, [])
        index = bisect.bisect_right(stamps, self.start + at + 1e-9) - 1
        if index < 0 or self.start + at - stamps[index] > oldest:
            return None
        return self._entries[name][index].message

    def number(self, name: str, at: float) -> int:
        """Return how many messages of a topic had come at a time [s since start]."""
        return bisect.bisect_right(self._stamps.get(name, []), self.start + at + 1e-9)

    def reports(self, at: float) -> Iterator[Any]:
        """Yield the diagnostics of the two seconds before a time, oldest first."""
        last = self.number(DIAGNOSTICS, at)
        first = self.number(DIAGNOSTICS, at - 2.0)
        for entry in self._entries.get(DIAGNOSTICS, [])[first:last]:
            for status in entry.message.status:
                if status.name.startswith(self.prefix):
                    yield status

    def _keep(self, entry: Any) -> None:
        name = entry.topic.removeprefix(self.prefix)
        stamp = entry.stamp * NANOSECONDS
        stamps = self._stamps.setdefault(name, [])
        entries = self._entries.setdefault(name, [])
        slot = int(stamp / SLOT)
        if name in STREAMS and stamps and int(stamps[-1] / SLOT) == slot:
            stamps[-1], entries[-1] = stamp, entry
        else:
            stamps.append(stamp)
            entries.append(entry)


class Playback:
    """The clock of a recorded run, with its slider.

    Parameters
    ----------
    viewer : Viewer
        Without controls.
    recording : Recording
    description : RobotDescription
    """

    def __init__(
        self, viewer: Viewer, recording: Recording, description: RobotDescription
    ) -> None:
        self._viewer, self._recording, self._description = viewer, recording, description
        self._at, self._playing, self._speed = 0.0, True, 1.0
        self._lock = threading.Lock()
        self._shown: dict[str, int] = {}
        gui = viewer.server.gui
        with gui.add_folder('Time', order=-1.0):
            self._slider = gui.add_slider(
                'time [s]', min=0.0, max=max(round(recording.duration, 3), 0.001), step=0.001,
                initial_value=0.0,
            )  # fmt: skip
            play = gui.add_checkbox('play', initial_value=True)
            speed = gui.add_dropdown('speed', SPEEDS, initial_value='1')

        @self._slider.on_update
        async def _(event: Any) -> None:
            if event.client_id is not None:
                with self._lock:
                    self._at = float(event.target.value)

        @play.on_update
        async def _(event: Any) -> None:
            self._playing = bool(event.target.value)

        @speed.on_update
        async def _(event: Any) -> None:
            self._speed = float(event.target.value)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return self._viewer.address

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
        recording = self._recording
        snapshot = Snapshot(time=at)
        message = recording.newest('configuration', at)
        if message is not None:
            snapshot.shape = shape_from_message(message)
        message = recording.newest('commanded_configuration', at, OLD)
        if message is not None:
            snapshot.ghost = shape_from_message(message)
        message = recording.newest('actuator_state', at, OLD)
        if message is not None:
            snapshot.actuators = readout_from_message(self._description.actuators, message)
        message = recording.newest('joint_states', at, OLD)
        if message is not None:
            snapshot.angles = dict(zip(message.name, message.position, strict=True))
        for status in recording.reports(at):
            level = status.level if isinstance(status.level, int) else status.level[0]
            name = status.name.removeprefix(recording.prefix)
            snapshot.words[name] = (level, status.message)
        return snapshot

    def _show_seldom(self, at: float) -> None:
        if not self._viewer.scene.started:
            return
        for name in SELDOM:
            number = self._recording.number(name, at)
            if number == self._shown.get(name, 0):
                continue
            self._shown[name] = number
            message = self._recording.newest(name, at)
            if name == 'workspace':
                if message is not None:
                    self._viewer.show_cloud(*read_cloud(message))
                continue
            poses = [] if message is None else message.poses
            positions = [(p.pose.position.x, p.pose.position.y, p.pose.position.z) for p in poses]
            self._viewer.show_path(name.removesuffix('_path'), np.array(positions).reshape(-1, 3))
