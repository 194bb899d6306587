# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The recorder at the rates of haptic_5dof: messages lost, share of one processor."""

from __future__ import annotations

import os
from pathlib import Path
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

from geometry_msgs.msg import PoseStamped

from soro_msgs.msg import ActuatorCommand, ActuatorState, Backbone, Configuration
from soro_recording.bag_reader import BagReader
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until
from soro_studies.mechanics.benchmark_rows import MISSED

RATE, SECONDS = 500, float(os.environ.get('SORO_BENCH_SECONDS', '20'))
EVERY = 16  # configurations come at 30 Hz
NAMES = [f'motor_{i}' for i in range(6)]
KINDS = {
    'actuator_state': ActuatorState,
    'actuator_command': ActuatorCommand,
    'tip_pose': PoseStamped,
    'configuration': Configuration,
    'emulator/configuration': Configuration,
}


def message(kind: type, number: int) -> object:
    """Return a message of a robot with six motors and six legs."""
    made = kind()
    made.header.stamp.sec = number
    if kind is Configuration:
        poses = PoseStamped().pose
        made.backbones = [
            Backbone(name=n, poses=[poses] * 15, arc_length=[0.0] * 15, radius=[0.0] * 15)
            for n in NAMES
        ]
    elif kind is not PoseStamped:
        made.name, made.quantity = NAMES, [3] * 6
    if kind is ActuatorState:
        made.commanded = made.applied = made.measured = [0.1] * 6
        made.flags = [0] * 6
    elif kind is ActuatorCommand:
        made.value = [0.1] * 6
    return made


def processor_seconds(pid: int) -> float:
    """Return the processor time a process has used [s]."""
    fields = Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()
    return (float(fields[11]) + float(fields[12])) / os.sysconf('SC_CLK_TCK')


def connected(publishers: dict[str, Any], sent: dict[str, int], bag: Path) -> bool:
    """Send one message of each kind; whether the bag has got one of each by now."""
    for name, publisher in publishers.items():
        publisher.publish(message(KINDS[name], sent[name]))
        sent[name] += 1
    with BagReader(bag) as read:
        topics = [read.topics.get(f'/haptic/{name}') for name in KINDS]
    return all(topic is not None and topic.count > 0 for topic in topics)


def main() -> None:
    """Publish from this process, record in another, compare."""
    pause = threading.Event()
    with tempfile.TemporaryDirectory() as folder, RosSession('/haptic') as ros:
        bag = Path(folder) / 'bag'
        with subprocess.Popen(
            [sys.executable, '-m', 'soro_cli.main', 'record', '--everything', '-o', str(bag)],
            env={**os.environ, 'ROS_DOMAIN_ID': str(own_domain())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as recorder:
            sent = {name: 0 for name in KINDS}
            publishers = {n: ros.client.create_publisher(k, n, 10) for n, k in KINDS.items()}
            wait_until(lambda: all(p.get_subscription_count() for p in publishers.values()), 60.0)
            wait_until(lambda: connected(publishers, sent, bag), 60.0)
            first = dict(sent)
            used, begin = processor_seconds(recorder.pid), time.monotonic()
            for i in range(round(RATE * SECONDS)):
                for name, kind in KINDS.items():
                    if kind is not Configuration or i % EVERY == 0:
                        publishers[name].publish(message(kind, sent[name]))
                        sent[name] += 1
                pause.wait(max(0.0, begin + (i + 1) / RATE - time.monotonic()))
            taken = time.monotonic() - begin
            used = processor_seconds(recorder.pid) - used
            # A busy machine may lag; what is under way is not lost.
            pause.wait(3.0)
            recorder.terminate()
            recorder.wait(30.0)
        sent = {name: sent[name] - first[name] for name in KINDS}
        recorded = dict.fromkeys(KINDS, 0)
        with BagReader(bag) as read:
            size = read.size
            for entry in read.messages([f'/haptic/{name}' for name in KINDS]):
                name = entry.topic.removeprefix('/haptic/')
                recorded[name] += entry.message.header.stamp.sec >= first[name]
    total = sum(sent.values())
    print('| recorder | sent | recorded | lost | share of one processor | MB/s |')
    print('|---|---|---|---|---|---|')
    print(
        f'| {len(KINDS)} topics, {total / taken:.0f} messages/s for {taken:.0f} s | {total} | '
        f'{sum(recorded.values())} | {total - sum(recorded.values())} | {used / taken:.1%} | '
        f'{size / taken / 1e6:.2f} |'
    )
    if recorded != sent:
        print(f'sent {sent}, recorded {recorded}')
        sys.exit(MISSED)


if __name__ == '__main__':
    main()
