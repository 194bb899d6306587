# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The qualities of service that topics of this project have (docs/interfaces.md).

A topic that needs another depth (a recording, a short history) says so where it is made.
"""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

# Streams of measurements: whoever is slow gets the newest, nobody waits for him.
LOSSY = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Commands and targets: delivered, and only the newest of them counts.
NEWEST = QoSProfile(depth=1)
# What holds until it is replaced: who comes late gets it as well.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Commands to a driver, which fetches them in every tick: whoever floods the topic must not push
# the command of another source out before it was read.
COMMANDS = QoSProfile(depth=10)
