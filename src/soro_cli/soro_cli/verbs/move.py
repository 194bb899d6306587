# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro move: send a target, wait until the robot is there or say why it is not."""

from __future__ import annotations

import argparse
from typing import Any

from soro_cli.robot_choice import add_robot_options, running_robot
from soro_cli.tables import note, print_json, print_table, some
from soro_cli.verbs.mechanics_options import check_units, seconds
from soro_cli.verbs.pose_options import add_pose_options, typed_pose, TypedPose
from soro_node.user_errors import UserError

SUMMARY = 'move the robot to a pose, an actuation or its rest, and hold it there'
EPILOG = """\
examples:
  soro move 10mm 0 45mm
  soro move 10mm 0 45mm --quaternion 0 0.38 0 0.92 --task axis
  soro move --actuation 0.9bar 0 0
  soro move --actuation pair_2=0.5bar
  soro move --rest

A pose is typed as for soro ik. Without --quaternion any orientation will do.
"""
TURNED = 0.05  # rad; assumed: with an orientation, arrived when the tip is turned this little


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_pose_options(parser)
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        '--actuation', nargs='+', metavar='VALUE', help='one per actuator, or name=value'
    )
    target.add_argument('--rest', action='store_true', help='all actuators at rest')
    parser.add_argument(
        '--tolerance',
        metavar='LENGTH',
        default='2mm',
        help='with a pose: arrived when the tip is this near (default: %(default)s)',
    )
    parser.add_argument(
        '--share',
        type=float,
        default=0.02,
        help='else: arrived when within this share of the range (default: %(default)s)',
    )
    parser.add_argument(
        '--timeout', type=seconds, default=15.0, help='patience [s] (default: %(default)s)'
    )
    parser.add_argument('--no-wait', action='store_true', help='send the target and leave')
    add_robot_options(parser, offline=False)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb."""
    from soro_node import display_units

    tolerance = display_units.number(arguments.tolerance, 'm', '--tolerance')
    pose = typed_pose(arguments)
    if sum(1 for x in (pose, arguments.actuation, arguments.rest or None) if x) != 1:
        raise UserError('write one target: a position, --actuation or --rest', 2)
    check_units(arguments.actuation or ())
    with running_robot(arguments) as robot:
        if pose is not None:
            return _move_to_pose(robot, arguments, pose, tolerance)
        if arguments.rest:
            target = robot.description.rest.tolist()
        else:
            target = display_units.feasible_actuation(arguments.actuation, robot.description)
        return _move_to_actuation(robot, arguments, target)


def _move_to_pose(
    robot: Any, arguments: argparse.Namespace, pose: TypedPose, tolerance: float
) -> int:
    from soro_cli.mechanics_online import OnlineMechanics, pose_message
    from soro_msgs.msg import TipTarget
    from soro_node import display_units

    position = pose.position
    answer = OnlineMechanics(robot).inverse(position, pose.quaternion, pose.task, [0.0] * 6, '')
    if answer.error_code != 0:
        raise UserError(f'not moved: {answer.error_message}', answer.error_code)
    doubt = _doubt(robot, answer.actuation)
    message = TipTarget(pose=pose_message(position, pose.quaternion).pose, task=pose.task)
    message.source = robot.session.node.get_fully_qualified_name()

    def near(watch: Any) -> bool:
        turned = pose.quaternion is None or watch.turned(pose.quaternion, pose.task) <= TURNED
        return turned and watch.distance(position) <= tolerance

    def left(watch: Any) -> str:
        away = display_units.shown(watch.distance(position), 'm')
        if pose.quaternion is None or pose.task == 0:
            return f'{away} from the target'
        angle = display_units.shown(watch.turned(pose.quaternion, pose.task), 'rad')
        return f'{away} and {angle} from the target'

    return _send(robot, arguments, TipTarget, 'tip_target', message, near, left, doubt)


def _doubt(robot: Any, actuation: list[float]) -> str:
    """Say what the model thinks wrong with the robot there, before anything moves."""
    from soro_cli.mechanics_online import OnlineMechanics

    try:
        answer = OnlineMechanics(robot).forward(actuation, [0.0] * 6, '')
    except UserError as error:
        note(f'soro: the model was not asked what becomes of the robot there: {error}')
        return ''
    doubt = answer.error_message if answer.error_code != 0 else answer.configuration.doubt
    if doubt:
        note(f'soro: warning: {doubt}')
    return doubt


def _move_to_actuation(robot: Any, arguments: argparse.Namespace, target: list[float]) -> int:
    from soro_msgs.msg import ActuatorCommand
    from soro_node.conversions import command_message
    from soro_node.display_units import shown

    actuators = robot.description.actuators
    message = command_message(robot.session.node, actuators, target)

    def near(watch: Any) -> bool:
        return watch.near_actuation(target, arguments.share)

    def left(watch: Any) -> str:
        both = zip(actuators, watch.measured, target, strict=True)
        parts = [(abs(x - t) / (a.maximum - a.minimum), a, x, t) for a, x, t in both]
        parts.sort(key=lambda part: -part[0])
        far = [p for p in parts if p[0] > arguments.share] or parts[:1]
        names = [f'{a.name} {shown(x, a.unit)} of {shown(t, a.unit)}' for _, a, x, t in far]
        return f'{some(names)}, off by {far[0][0]:.1%} of its range'

    doubt = _doubt(robot, target)
    return _send(robot, arguments, ActuatorCommand, 'target_actuation', message, near, left, doubt)


def _send(
    robot: Any,
    arguments: argparse.Namespace,
    kind: Any,
    topic: str,
    message: Any,
    near: Any,
    left: Any,
    doubt: str,
) -> int:
    import time

    from soro_cli.motion import ACTIVE, ESTOP, MotionWatch, REFUSAL
    from soro_cli.ros_session import DISCOVERY, TIMED_OUT
    from soro_mechanics.core.status import Code

    def there() -> bool:
        """Whether the driver obeys and the robot is there; it may be there and refuse."""
        obeys = watch.state is not None and watch.state.device_state == ACTIVE
        return obeys and near(watch)

    session = robot.session
    publisher = session.node.create_publisher(kind, f'{robot.prefix}/{topic}', 1)
    watch = MotionWatch(robot)
    if not session.spin_until(lambda: publisher.get_subscription_count() > 0, DISCOVERY):
        raise UserError(
            f'nobody listens to {robot.prefix}/{topic}; is trajectory_planner running?'
        )
    ready = watch.ready(DISCOVERY) or arguments.no_wait
    if watch.stopped or (watch.state is not None and watch.state.device_state == ESTOP):
        raise UserError(f'not moved: {watch.explained(watch.reasons()[0])}', Code.NOT_ACTIVE)
    if not ready:
        raise UserError(f'not moved: {"; ".join(watch.reasons()) or "no tip_pose received"}')
    message.header.stamp = session.node.get_clock().now().to_msg()
    message.stops = 0 if watch.state is None else watch.state.stops
    publisher.publish(message)
    start = time.monotonic()
    if arguments.no_wait:
        session.spin_until(lambda: publisher.wait_for_all_acked(), DISCOVERY)
        return 0
    # A refusal that still stands after diagnostics were due is about this target.
    first = min(arguments.timeout, REFUSAL)
    arrived = watch.wait(there, first)
    if not arrived and watch.refusal:
        raise UserError(f'not moved: {watch.refusal}')
    arrived = arrived or watch.wait(there, arguments.timeout - first)
    seconds = time.monotonic() - start
    if not arrived:
        why = '; '.join(watch.reasons()) or 'no node complains; wait longer or allow more'
        raise UserError(
            f'not arrived after {arguments.timeout:g} s ({left(watch)}): {why}', TIMED_OUT
        )
    _report(robot, arguments, watch, seconds, doubt)
    return 0


def _report(
    robot: Any, arguments: argparse.Namespace, watch: Any, seconds: float, doubt: str
) -> None:
    from soro_node.display_units import shown, shown_position

    actuators = robot.description.actuators
    measured = watch.tip_measured
    if arguments.json:
        print_json(
            {
                'arrived': True,
                'warning': doubt,
                'seconds': seconds,
                'tip': watch.tip,
                'tip_measured': measured,
                'feedback': watch.feedback,
                'actuator_name': [a.name for a in actuators],
                'measured': watch.measured,
                'commanded': watch.commanded,
            }
        )
        return
    rows = [
        (a.name, shown(c, a.unit), shown(m, a.unit))
        for a, c, m in zip(actuators, watch.commanded, watch.measured, strict=True)
    ]
    title = f'arrived after {seconds:.1f} s' + (f'; {doubt}' if doubt else '')
    print_table(title, ('actuator', 'commanded', 'measured'), rows)
    print(f'tip: {shown_position(watch.tip)} (model)')
    if measured is not None:
        control = 'feedback' if watch.feedback else 'feedforward'
        print(f'tip: {shown_position(measured)} (tracker; {control})')
