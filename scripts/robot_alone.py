# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot without a driver, for a picture: an actuation is published as if it were measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import os
import subprocess
import sys
import threading

import rclpy

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorState

NODES = (('soro_kinematics', 'KinematicsSolver'), ('soro_compliance', 'Compliance'))
PERIOD = 0.1  # s


@contextmanager
def without_driver(robot: str, shares: dict[int, float]) -> Iterator[None]:
    """Run solver and compliance, and say where the actuators are.

    Parameters
    ----------
    robot : str
    shares : dict of int to float
        Of the range of some actuators; the others rest.
    """
    description = read_robot_file(find_robot_file(robot))
    values = [
        a.minimum + shares[i] * (a.maximum - a.minimum) if i in shares else a.rest
        for i, a in enumerate(description.actuators)
    ]
    processes = [
        subprocess.Popen(
            [
                sys.executable,
                '-c',
                f'from {package}.node import main; main()',
                '--ros-args',
                '-r',
                f'__ns:=/{robot}',
                '-p',
                f'robot:={robot}',
            ],
            env=os.environ,
        )
        for package, _ in NODES
    ]
    node = rclpy.create_node('actuation', namespace=robot)
    publisher = node.create_publisher(ActuatorState, 'actuator_state', 5)
    ended = threading.Event()

    def speak() -> None:
        while not ended.wait(PERIOD):
            message = ActuatorState(
                name=[a.name for a in description.actuators],
                quantity=[a.quantity_code for a in description.actuators],
                commanded=values,
                applied=values,
                measured=values,
                flags=[0] * len(values),
                device_state=ActuatorState.INACTIVE,
            )
            message.header.stamp = node.get_clock().now().to_msg()
            publisher.publish(message)

    thread = threading.Thread(target=speak, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for process in processes:
            process.terminate()
        for process in processes:
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()  # a solve under way on a busy machine; nothing moves here
                process.wait()
        node.destroy_node()
