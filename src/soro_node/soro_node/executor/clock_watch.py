# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Timers that no clock but the steady one stops; says where /clock is waited for in vain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

PATIENCE = 5.0  # s


def steady_timer(node: Any, period: float, callback: Callable[[], object]) -> Any:
    """Return a timer of a node; the node's own clock may be a stopped simulation."""
    return node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


def watch_clock(node: Node, patience: float = PATIENCE) -> None:
    """Warn once when `use_sim_time` is true and no time has come for a while [s]."""
    if not node.get_parameter('use_sim_time').value:
        return

    def look() -> None:
        node.destroy_timer(timer[0])
        if node.get_parameter('use_sim_time').value and not node.get_clock().now().nanoseconds:
            node.get_logger().warning(
                'use_sim_time is true and nobody publishes /clock: stamps stay at zero and timers '
                'stand still. Start what publishes it (ros2 bag play --clock, a simulator), or '
                'launch with use_sim_time:=false'
            )

    timer = [steady_timer(node, patience, look)]
