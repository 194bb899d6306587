# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the tests with random inputs share: how many examples, and emulators to throw them at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import socket
import threading
import time

from hypothesis import HealthCheck, settings
import pytest

from soro_driver.endpoint import Endpoint
from soro_driver.settings import read_driver_settings
from soro_emulation.device_emulator import DeviceEmulator, EmulatorContext
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

# SORO_FUZZ=20: twenty times as many examples, every time others.
EFFORT = int(os.environ.get('SORO_FUZZ', '0'))
LONG = pytest.mark.timeout(3600 if EFFORT else 300)


def fuzz(examples: int) -> settings:
    """Return the settings of a test with so many examples."""
    return settings(
        max_examples=examples * max(EFFORT, 1),
        deadline=None,
        derandomize=EFFORT == 0,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def free_port() -> int:
    """Return a port of loopback that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def make_context(
    name: str, device: str, port: int | None = None, path: Path | None = None, log: str = ''
) -> EmulatorContext:
    """Return what an emulator of a robot of the catalogue is made from."""
    robot = read_robot_file(find_robot_file(name))
    wiring = read_driver_settings(robot).section
    properties = read_emulator_settings(robot, device).device
    return EmulatorContext(robot, wiring, properties, Endpoint(port, path), 7, EventLog(log))


@contextmanager
def serving(emulator: DeviceEmulator) -> Iterator[DeviceEmulator]:
    """Start an emulator and let its time pass as the node does; stop it at the end."""
    ended = threading.Event()

    def advance() -> None:
        while not ended.wait(0.005):
            emulator.advance(time.monotonic())

    emulator.start()
    thread = threading.Thread(target=advance, daemon=True)
    thread.start()
    try:
        yield emulator
    finally:
        ended.set()
        thread.join()
        emulator.stop()


def open_files() -> int:
    """Return how many files this process has open."""
    return len(os.listdir('/proc/self/fd'))


def threads_called(name: str) -> int:
    """Return how many threads run whose names begin with this."""
    return sum(t.name.startswith(name) for t in threading.enumerate())


def send_and_hang_up(port: int, data: bytes) -> None:
    """Connect, send bytes as far as they are taken, and close without reading."""
    with socket.create_connection(('127.0.0.1', port), 5.0) as client:
        try:
            client.sendall(data)
        except OSError:
            pass  # the server has closed it already
