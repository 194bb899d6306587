# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `ros2 topic pub`, `ros2 param set` and `ros2 lifecycle set` do, where there is no `ros2`.

Start `soro launch stiff_flop`, then in a second terminal `source scripts/env.sh` and run this.
"""

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import rclpy
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from std_msgs.msg import String

rclpy.init()
node = rclpy.create_node('by_hand')

# ros2 topic pub --once /stiff_flop/emulator/inject_fault std_msgs/msg/String ...
publisher = node.create_publisher(String, '/stiff_flop/emulator/inject_fault', 1)
while publisher.get_subscription_count() == 0:
    rclpy.spin_once(node, timeout_sec=0.1)
publisher.publish(String(data='{"fault": "none"}'))

# ros2 param set /stiff_flop/trajectory_planner delay 0.05
client = AsyncParameterClient(node, '/stiff_flop/trajectory_planner')
client.wait_for_services(timeout_sec=10.0)
answer = client.set_parameters([Parameter('delay', value=0.05)])
rclpy.spin_until_future_complete(node, answer, timeout_sec=10.0)
print(answer.result().results)

# ros2 lifecycle set /stiff_flop/driver configure  (after autostart:=false; then activate)
service = node.create_client(ChangeState, '/stiff_flop/driver/change_state')
service.wait_for_service(timeout_sec=10.0)
request = ChangeState.Request(transition=Transition(id=Transition.TRANSITION_CONFIGURE))
answer = service.call_async(request)
rclpy.spin_until_future_complete(node, answer, timeout_sec=10.0)
print(answer.result().success)  # False where the driver is configured already

rclpy.shutdown()
