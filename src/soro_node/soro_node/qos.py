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
# For who listens to the latched `estop`: a release does not replace a press that nobody has read
# yet. Who presses keeps one sample: who comes late must not hear of presses long since released.
ESTOP = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
