# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A launched robot under a load that nobody knows of, its tracker, and what can become of that."""

import json
import math

from geometry_msgs.msg import Point, Pose
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from std_msgs.msg import String
import yaml

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.msg import TipTarget
from soro_studies.system.launched_robot import DiagnosticsWatch, launched_robot

PATIENCE = 30.0  # s
TARGET = (-0.002, 0.004, 0.047)  # m
WRENCH = [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]  # N, N m
# What diagnostics say of a tracker that is broken in this way.
FAULTS = {
    'lost': 'no pose within',
    'jump': 'farther from',
    'late': 'older than',
    'frame': 'no transform',
    'frozen': 'frozen',
}


def with_simulated_device(folder):
    """Write stiff_flop without its card, whose deadlines are other tests' business."""
    data = yaml.safe_load(find_robot_file('stiff_flop').read_text(encoding='utf-8'))
    data['driver'] |= {'device': 'simulated', 'command_timeout': '3 s', 'feedback_timeout': '3 s'}
    data['driver'].pop('nidaq')
    data['driver'].pop('supervision')
    data['emulator'] = {'body': data['emulator']['body']}
    file = folder / 'stiff_flop.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return str(file)


def set_parameter(robot, node, name, **value):
    request = SetParameters.Request(
        parameters=[Parameter(name=name, value=ParameterValue(**value))]
    )
    service = f'{robot.robot.prefix}/{node}/set_parameters'
    (result,) = robot.session.call(SetParameters, service, request).results
    assert result.successful, result.reason


@pytest.mark.timeout(400)
def test_feedback_carries_an_unknown_load_and_rests_when_its_tracker_fails(tmp_path):
    file = with_simulated_device(tmp_path)
    words = [file, 'tracker:=true']
    with launched_robot(words, tmp_path, 'mine', file, clearing=True) as robot:
        diagnostics = DiagnosticsWatch(robot)
        space = robot.robot.namespace
        make = robot.session.node.create_publisher
        targets = make(TipTarget, f'{space}/tip_target', 1)
        faults = make(String, f'{space}/emulator/inject_fault', 10)

        def error():
            p = robot.shapes['emulator/configuration'].tip.position
            return math.dist((p.x, p.y, p.z), TARGET)

        def inject(**fault):
            faults.publish(String(data=json.dumps(fault)))

        def says(name, word):
            return word in diagnostics.messages.get(name, '')

        robot.move([0.3e5] * 3)
        robot.wait(lambda: robot.watch.tip_measured is not None, PATIENCE, 'tip_measured')
        robot.wait(lambda: len(robot.shapes) == 2, PATIENCE, 'model and ground truth')
        set_parameter(
            robot,
            'emulator',
            'hidden_wrench',
            type=ParameterType.PARAMETER_DOUBLE_ARRAY,
            double_array_value=WRENCH,
        )
        x, y, z = TARGET
        goal = TipTarget(pose=Pose(position=Point(x=x, y=y, z=z)))
        targets.publish(goal)
        robot.wait(lambda: says('trajectory_planner: target', 'accepted'), PATIENCE, 'target')
        robot.spin(2.0)
        feedforward = error()
        assert feedforward > 4e-3
        set_parameter(
            robot,
            'trajectory_planner',
            'control',
            type=ParameterType.PARAMETER_STRING,
            string_value='feedback',
        )
        targets.publish(goal)
        robot.wait(lambda: error() < feedforward / 10, PATIENCE, 'tip at its goal')
        robot.wait(lambda: says('trajectory_planner: control', 'feedback'), PATIENCE, 'feedback')
        for kind, words in FAULTS.items():
            inject(fault='tracker', kind=kind, by=0.1)
            robot.wait(lambda w=words: says('kinematics_solver: tracker', w), PATIENCE, words)
            robot.wait(
                lambda: says('trajectory_planner: control', 'feedforward: no tip_measured'),
                PATIENCE,
                'fall back',
            )
            assert robot.watch.state.command_source.endswith('trajectory_planner')
            assert error() < feedforward / 2  # it stays about where it was seen last
            inject(fault='none')
            robot.wait(lambda: says('kinematics_solver: tracker', 'used'), PATIENCE, 'repair')
        robot.wait(lambda: error() < feedforward / 10, PATIENCE, 'tip at its goal again')
        assert robot.process.stop() == 0, robot.process.output
