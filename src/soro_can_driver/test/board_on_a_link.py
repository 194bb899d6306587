# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A link in memory with a board at its end, and the wiring that leads there."""

from __future__ import annotations

from six_motors import six_motors

from soro_can_driver.board import Access, BoardState, FIRST_MOTORS, Parameter, PROTOCOL_MAJOR
from soro_can_driver.protocol import Flex, ParameterFrame, Position, Sync, unpack
from soro_driver.can_port import SERVER_PORT
from soro_driver.device import DeviceLost

VALUES = {Parameter.PROTOCOL: PROTOCOL_MAJOR << 8, Parameter.CHANNELS: FIRST_MOTORS}


def wiring(interface='socketcand', channel='can0', host='127.0.0.1', port=SERVER_PORT):
    return six_motors(interface=interface, channel=channel, host=host, port=port)


class BoardLink:
    """Stands for both kinds of link. The board answers at once and judges nothing."""

    malformed = error_frames = 0
    state = BoardState.SAFE
    absent = silent = False
    losses = 0  # parameter frames that will not arrive
    asked = ()  # indices of those that were sent

    def __init__(self, *_):
        if self.absent:
            raise DeviceLost('nobody is there')
        self._arrived = []

    def send(self, frames):
        for identifier, data in frames:
            frame = unpack(identifier, data)
            if isinstance(frame, Sync):
                self._answer(*(Position(i, 0, self.state, (0, 0, 0)) for i in (0, 1)))
                self._answer(*(Flex(i, (0, 0, 0), frame.counter, 20) for i in (0, 1)))
            elif isinstance(frame, ParameterFrame):
                type(self).asked += (frame.index,)
                if self.silent or self.losses:
                    type(self).losses = max(0, self.losses - 1)
                    continue
                if frame.index == Parameter.RESET:
                    type(self).state = BoardState.SAFE
                value = VALUES.get(frame.index, 0)
                self._answer(ParameterFrame(True, Access.READ, frame.index, frame.sub, value))

    def _answer(self, *frames):
        self._arrived += [(int(frame.id), frame.pack()) for frame in frames]

    def receive(self):
        found, self._arrived = self._arrived, []
        return found

    def close(self):
        pass
