# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is generated of soro_msgs is all that rclpy loads: the middleware has nothing to say."""

import subprocess
import sys

CODE = """
import importlib, inspect, os
import rclpy
from rclpy.action import ActionClient, ActionServer
from rclpy.serialization import deserialize_message, serialize_message

rclpy.init()
node, kept = rclpy.create_node('types'), []


def types(kind, mark):
    module = importlib.import_module(f'soro_msgs.{kind}')
    return [k for _, k in inspect.getmembers(module, inspect.isclass) if hasattr(k, mark)
            and '_' not in k.__name__]


for kind in types('msg', 'SLOT_TYPES'):
    kept += [node.create_publisher(kind, kind.__name__, 1),
             node.create_subscription(kind, kind.__name__, print, 1)]
    assert str(deserialize_message(serialize_message(kind()), kind)) == str(kind())
for kind in types('srv', 'Request'):
    kept += [node.create_client(kind, f'srv{kind.__name__}'),
             node.create_service(kind, f'srv{kind.__name__}', print)]
for kind in types('action', 'Goal'):
    kept += [ActionClient(node, kind, f'act{kind.__name__}'),
             ActionServer(node, kind, f'act{kind.__name__}', print)]
print(len(kept), flush=True)
os._exit(0)
"""


def test_no_type_support_is_asked_for_in_vain():
    done = subprocess.run(
        [sys.executable, '-c', CODE], capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2 * (16 + 6 + 3)
    assert done.stderr == ''
