# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Other processes beside a robot: a button, and whoever floods a topic at full speed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import subprocess
import sys

HEAD = """
import sys, threading, rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool
rclpy.init()
wait = threading.Event().wait
node = rclpy.create_node({name!r}, namespace={namespace!r})
def matched(publisher):
    while publisher.get_subscription_count() == 0:
        rclpy.spin_once(node, timeout_sec=0.01)
    rclpy.spin_once(node, timeout_sec=0.3)  # the other side has to know as well
"""
BUTTON = """
pub = node.create_publisher(Bool, 'estop', {quality})
matched(pub)
print('ready', flush=True)
for word in sys.stdin:
    if word.strip() == 'end':
        break
    pub.publish(Bool(data=word.strip() == 'press'))
    print('done', flush=True)
node.destroy_node()
rclpy.shutdown()
"""
RELEASES = """
pub = node.create_publisher(Bool, 'estop', 1)
matched(pub)
print('on', flush=True)
sys.stdin.readline()
while True:
    pub.publish(Bool(data=False))
    wait({pause})
"""
COMMANDS = """
from soro_msgs.msg import ActuatorCommand
pub = node.create_publisher(ActuatorCommand, 'actuator_command', 1)
message = ActuatorCommand(source='/flood', name={names!r}, quantity={quantity!r}, value={values!r})
matched(pub)
print('on', flush=True)
sys.stdin.readline()
while True:
    message.header.stamp = node.get_clock().now().to_msg()
    pub.publish(message)
    if {pause}:
        wait({pause})
"""
QUALITIES = {
    'latched': 'QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)',
    'default': 'QoSProfile(depth=1)',  # of `ros2 topic pub`
    'best effort': 'QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)',
}


class Button:
    """A node in a process of its own that presses and releases the emergency stop."""

    def __init__(self, namespace: str, quality: str = 'latched') -> None:
        code = HEAD.format(name='button', namespace=namespace)
        code += BUTTON.format(quality=QUALITIES[quality])
        self.process = subprocess.Popen(
            [sys.executable, '-c', code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        # Whoever waits sends nothing meanwhile: buttons are there before a robot is driven.
        assert self.process.stdout.readline() == 'ready\n'

    def say(self, word: str) -> None:
        """Have it `press` or `release`; returns when that was sent."""
        self.process.stdin.write(f'{word}\n')
        self.process.stdin.flush()
        assert self.process.stdout.readline() == 'done\n'

    def vanish(self) -> None:
        """End it as a program ends, whatever it has said."""
        if self.process.poll() is None:
            self.process.communicate('end\n', timeout=30.0)


@contextmanager
def button(namespace: str, quality: str = 'latched') -> Iterator[Button]:
    """Run a button."""
    made = Button(namespace, quality)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


@contextmanager
def flood(
    namespace: str, number: int, code: str, **values: object
) -> Iterator[Callable[[], None]]:
    """Run some processes that publish without an end, every `pause` [s] at most.

    They begin when what is returned is called: until then whoever sends beside them is not held
    up. They are nice to it, too: what the test asks of is the driver.
    """
    made = []
    try:
        for k in range(number):
            text = HEAD.format(name=f'flood_{k}', namespace=namespace) + code.format(**values)
            made.append(
                subprocess.Popen(
                    ['nice', '-n', '5', sys.executable, '-c', text],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        for process in made:
            assert process.stdout.readline() == 'on\n'

        def begin() -> None:
            for process in made:
                process.stdin.write('go\n')
                process.stdin.flush()

        yield begin
    finally:
        for process in made:
            process.kill()
            process.communicate()
