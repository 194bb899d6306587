# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emergency stop of a node that drives: heard on `estop`, latched, kept on disk, released."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path

from rclpy.node import Node
from std_srvs.srv import Trigger

from soro_driver.safety.latches import Latches
from soro_mechanics.core.errors import SoroError
from soro_node.inputs.estop_input import EstopInput, UNKNOWN
from soro_node.user_data import user_data_folder


def latch_file(namespace: str, robot: str, emulated: bool, node_name: str) -> Path:
    """Return where a latched emergency stop outlives a process."""
    folder = user_data_folder(namespace, Path(robot).stem, emulated)
    domain = os.environ.get('ROS_DOMAIN_ID', '0')  # another one is another robot
    return folder / f'{node_name}_estop_{domain}.json'


class EmergencyStop:
    """Takes presses and releases to the latches of a node.

    - `act`: makes the outputs safe, before anything is written to the disk.
    """

    def __init__(self, node: Node, latches: Latches, act: Callable[[], None]) -> None:
        self._node, self._latches, self._act = node, latches, act
        self.note()
        if latches.estop:
            node.get_logger().error('emergency stop of before the start: it is still latched')
        self._input = EstopInput(node, self.receive)

    def receive(self, pressed: bool, sender: str) -> None:
        """Take what a publisher says."""
        if pressed:
            new = self._latches.press(sender)
            self._act()
        else:
            new = self._latches.let_go(sender)
        if new:
            self._save()

    def release(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """End presses whose senders have gone; what a publisher still latches presses again."""
        try:
            unnamed = UNKNOWN in self._latches.pressed_by()
            self._latches.forget(self._input.alive())
        except SoroError as error:
            response.success, response.message = False, str(error)
            return response
        if unnamed:
            self._input.listen_anew()
        self._save()
        response.success = True
        latched = self._latches.estop
        response.message = 'released: call driver/clear_fault' if latched else 'not pressed'
        return response

    def note(self) -> None:
        """Say what is wrong with the file, where something is."""
        if self._latches.note:
            self._node.get_logger().error(self._latches.note)

    def _save(self) -> None:
        self._latches.save()
        self.note()
