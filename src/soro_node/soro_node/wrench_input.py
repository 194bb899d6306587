# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The topic `external_wrench` of a node, and what its diagnostics say of it."""

from __future__ import annotations

from typing import Any

from geometry_msgs.msg import WrenchStamped

from soro_mechanics.core.errors import SoroError
from soro_node.diagnostics import Level
from soro_node.external_wrench import ExternalWrench
from soro_node.frames import Frames
from soro_node.qos import LOSSY

TOPIC = 'external_wrench'


class WrenchInput(ExternalWrench):
    """The newest external wrench, from `open` to `close`.

    Parameters
    ----------
    node : RobotNode
        Hears the topic and reports.
    timeout : float
        A wrench older than this [s] is gone: zero.
    """

    def __init__(self, node: Any, frames: Frames, timeout: float) -> None:
        super().__init__(frames, timeout)
        self._node = node
        self._subscription: Any = None
        self._refusal = ''

    def open(self) -> None:
        """Listen."""
        self._subscription = self._node.create_subscription(
            WrenchStamped, TOPIC, self._on_message, LOSSY
        )

    def close(self) -> None:
        """Listen no more; what is known grows old."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            self._node.destroy_subscription(subscription)

    def report(self) -> None:
        """Say what becomes of the wrench; call it again and again, for it grows old."""
        if self._refusal:
            level, text = Level.WARN, self._refusal
        elif self.overdue:
            level, text = Level.WARN, f'older than {self.timeout:g} s: counts as zero'
        else:
            level, text = Level.OK, 'used' if self.present else 'none'
        self._node.diagnostics.report(TOPIC, level, text)

    def _on_message(self, message: WrenchStamped) -> None:
        try:
            self.update(message)
        except SoroError as error:
            self._refusal = str(error)
            self._node.get_logger().warning(f'{TOPIC} refused: {error}', throttle_duration_sec=5.0)
        else:
            self._refusal = ''
