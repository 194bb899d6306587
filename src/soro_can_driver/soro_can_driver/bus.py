# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The bus as the transport sees it: frames of the protocol in and out."""

from __future__ import annotations

from collections.abc import Iterator

from soro_can_driver.frame import Frame, ProtocolError
from soro_can_driver.protocol import unpack
from soro_driver.can_bus import RawCanBus


class CanBus(RawCanBus):
    """Counts what is not a frame of the protocol."""

    def send(self, *frames: Frame) -> None:
        """Send frames, in one packet where the link can. Raises DeviceTimeout, DeviceLost."""
        self.put([(int(frame.id), frame.pack()) for frame in frames])

    def receive(self) -> Iterator[Frame]:
        """Yield what has arrived, without waiting. Raises DeviceLost."""
        for identifier, data in self.take():
            try:
                yield unpack(identifier, data)
            except ProtocolError:
                self._foreign += 1
