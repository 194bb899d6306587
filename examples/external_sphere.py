# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A soft sphere that another program renders: two topics, as CHAI3D or SOFA would use them.

It hears where the handle is (`tip_pose`) and answers every pose with the force of the sphere on
the hand (`haptic_renderer/added_wrench`). Start `soro launch haptic_5dof`, then `soro calibrate`,
then in another terminal, `source scripts/env.sh` before it:

    python examples/external_sphere.py --ros-args -r __ns:=/haptic_5dof -p stiffness:=100.0

Without poses for `timeout` it sends zero and says so; without it the renderer takes zero after its
own `stream_timeout`: a program that ends or hangs lets go of the hand.
"""

import contextlib
import math
import time

from geometry_msgs.msg import PoseStamped, WrenchStamped
import rclpy
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data

from soro_msgs.srv import SetVirtualEnvironment

ASK_AGAIN = 1.0  # s between requests for free space, until one is granted


def sphere_force(place, centre, radius, stiffness):
    """Return the force on a hand at a place [N]: outward, by the depth, zero outside."""
    away = [p - c for p, c in zip(place, centre, strict=True)]
    distance = math.sqrt(sum(x * x for x in away))
    depth = radius - distance
    if depth <= 0.0 or distance == 0.0:
        return [0.0, 0.0, 0.0]
    return [stiffness * depth * x / distance for x in away]


class ExternalSphere(Node):
    """The other program."""

    def __init__(self):
        super().__init__('external_sphere')
        parameter = self.declare_parameter
        self.centre = parameter('centre', [-0.03, 0.0, 0.0]).value  # m, in base_link
        self.radius = parameter('radius', 0.025).value  # m
        self.stiffness = parameter('stiffness', 100.0).value  # N/m; up to 200 is quiet
        self.timeout = parameter('timeout', 0.1).value  # s without a pose
        self.frame, self.heard, self.granted = '', None, None
        self.wrench = self.create_publisher(WrenchStamped, 'haptic_renderer/added_wrench', 1)
        kind, service = SetVirtualEnvironment, 'haptic_renderer/set_environment'
        self.environment = self.create_client(kind, service)
        self.create_subscription(PoseStamped, 'tip_pose', self.on_pose, qos_profile_sensor_data)
        self.create_timer(ASK_AGAIN, self.ask)
        self.create_timer(self.timeout / 2.0, self.look)

    def ask(self):
        """Ask for free space: the renderer takes a wrench only after somebody asked for that."""
        answer = self.granted
        if answer is not None and answer.done():
            if not answer.result().error_code:
                return
            self.get_logger().warning(f'no wrench is taken: {answer.result().error_message}')
        if self.environment.service_is_ready():
            self.granted = self.environment.call_async(SetVirtualEnvironment.Request())

    def on_pose(self, message):
        """Answer a pose with a force."""
        self.heard = time.monotonic()
        # Forces have the axes of base_link, at the tip.
        self.frame = message.header.frame_id.removesuffix('base_link') + 'tip_aligned'
        p = message.pose.position
        self.send(sphere_force([p.x, p.y, p.z], self.centre, self.radius, self.stiffness))

    def look(self):
        """Let go where no pose comes."""
        if self.heard is not None and time.monotonic() - self.heard > self.timeout:
            self.heard = None
            self.send([0.0, 0.0, 0.0])
            self.get_logger().warning(f'no tip_pose for {self.timeout:g} s: no force')

    def send(self, force):
        """Publish a force on the hand."""
        message = WrenchStamped()
        message.header.frame_id = self.frame
        f = message.wrench.force
        f.x, f.y, f.z = force
        self.wrench.publish(message)


def main():
    """Run until interrupted, then let go."""
    rclpy.init()
    node = ExternalSphere()
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        rclpy.spin(node)
    if rclpy.ok():
        node.send([0.0, 0.0, 0.0])
        rclpy.shutdown()


if __name__ == '__main__':
    main()
