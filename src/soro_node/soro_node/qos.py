# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The qualities of service that topics of this project have (docs/interfaces.md).

A subscription demands no more of its publishers than it needs: best effort and volatile, unless
`STRICTER` says why. A topic that needs another depth (a recording, a short history) says so where
it is made.
"""

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

# Streams: whoever is slow gets the newest, nobody waits for him.
LOSSY = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
# Commands and targets: delivered, and only the newest of them counts.
NEWEST = QoSProfile(depth=1)
# What holds until it is replaced: who comes late gets it as well.
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Commands to a driver, which fetches them in every tick: whoever floods the topic must not push
# the command of another source out before it was read (a Python program sends 500 in 10 ms).
COMMANDS = QoSProfile(depth=500, reliability=ReliabilityPolicy.BEST_EFFORT)

SENT_ONCE = 'sent once, perhaps: heard reliably, and best effort where nothing better is offered'
# Why a subscription of a node demands more than best effort or volatile, by its topic.
STRICTER = {
    'target_pose': SENT_ONCE,
    'tip_target': SENT_ONCE,
    'target_actuation': SENT_ONCE,
    'joint_trajectory': SENT_ONCE,
    'estop': 'a press that is lost is not made safe; who comes late must hear that one is held',
    'emulator/inject_fault': 'sent once, by a test that would pass if it were lost',
    'workspace': 'sent once, when the analysis is done: a viewer that opens later shows it too',
    '/tf_static': 'sent once by every node that knows of a frame that stands still',
    'desired_path': 'sent once, when a path begins: a viewer that opens later shows it too',
}
