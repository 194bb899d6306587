# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The four bench protocols on a launched robot, and the commands that read their tables."""

import subprocess
import sys

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
import yaml

from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.action import BenchProtocol
from soro_msgs.msg import ActuatorState
from soro_studies.system.launched_robot import launched_robot

PATIENCE = 120.0  # s
LENGTH = 2e-3  # m, of a pull
DRIVES = [f'actuator_{i} [Pa]' for i in (1, 2, 3)]
REST = ('0bar', '0bar', '0bar')
ELONGATION, WIDER = 'body.segments.0.elongation.linear', 1.1


def soro(robot, *words, tries=1, codes=(0,)):
    """Run a command beside the robot; return what it prints."""
    command = [sys.executable, '-m', 'soro_cli.main', *map(str, words)]
    pipe = subprocess.PIPE
    for _ in range(tries):  # a busy computer loses the tracker now and then, or stalls the driver
        if tries > 1:
            pull_by(robot, np.zeros(3))
            if robot.state() != ActuatorState.ACTIVE:
                robot.clear()
        with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) as process:
            robot.wait(lambda: process.poll() is not None, PATIENCE, f'end of {words}')
            out, errors = process.communicate()
        if process.returncode in codes:
            return out
    raise AssertionError(out + errors + robot.story)


def robot_file(folder):
    """Write a light robot without a card, whose body has chambers `WIDER` than its file says."""
    data = yaml.safe_load(find_robot_file('spatial_cc').read_text(encoding='utf-8'))
    slow = dict.fromkeys(('command_timeout', 'feedback_timeout'), '3 s')
    keep = {k: data['driver'][k] for k in ('engage_band', 'on_command_loss')}
    data['driver'] = (
        keep | slow | {'device': 'simulated', 'rate': '50 Hz', 'time_to_live': '500 ms'}
    )
    areas = [f'body.segments.0.chambers.{i}.area' for i in range(3)]
    changes = [{'path': path, 'factor': WIDER} for path in areas]
    body = {'model': 'ncm', 'hysteresis': 0.0, 'changes': changes}
    data['emulator'] = {'body': body}
    file = folder / 'arm.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return str(file)


def wrench_request(force):
    value = ParameterValue(
        type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=[*force, 0.0, 0.0, 0.0]
    )
    return SetParameters.Request(parameters=[Parameter(name='hidden_wrench', value=value)])


def pull_by(robot, force):
    service = f'{robot.robot.prefix}/emulator/set_parameters'
    assert robot.session.call(SetParameters, service, wrench_request(force)).results[0].successful


def hand(robot, model):
    """Pull as the action says, with a force that would do it by the model; by `hidden_wrench`."""
    space, node = robot.robot.namespace, robot.session.node
    client = node.create_client(SetParameters, f'{space}/emulator/set_parameters')
    # The robot rests, and its tip is softer to the side than along.
    slope = np.linalg.inv(
        model.compliance(model.forward([a.rest for a in model.actuators]))[:3, :3]
    )
    last = []

    def pull(message):
        words = message.feedback.step
        if words.startswith('pull') and last != [message.goal_id.uuid.tolist(), words]:
            last[:] = message.goal_id.uuid.tolist(), words
            way = np.array([float(x) for x in words.split('(')[1].split(')')[0].split()])
            client.call_async(wrench_request(slope @ way * LENGTH))

    kind = BenchProtocol.Impl.FeedbackMessage
    topic = f'{space}/trajectory_planner/bench_protocol/_action/feedback'
    node.create_subscription(kind, topic, pull, 10)


def columns(file):
    with file.open() as lines:
        names = next(lines).strip().split(', ')
    return dict(zip(names, np.loadtxt(file, delimiter=',', skiprows=1).T, strict=True))


@pytest.mark.timeout(500)
def test_each_protocol_writes_the_table_that_its_readers_read(tmp_path):
    file = robot_file(tmp_path)
    words = [file, 'tracker:=true', 'force_sensor:=true']
    with launched_robot(words, tmp_path, 'mine', file, PATIENCE, clearing=True) as robot:
        robot.wait(lambda: robot.watch.tip_measured is not None, PATIENCE, 'tip_measured')
        hand(robot, load_robot('spatial_cc', model='ncm'))
        options = {
            'pull': '--length 2mm --duration 60s',
            'stretch': '--settle 0.3s --count 3 --amplitude 0.6',
            'step': '--actuator actuator_2 --duration 3s',
            'chirp': '--amplitude 0.3 --frequency 0.2 0.5 --duration 8s',
        }
        table = {name: tmp_path / f'{name}.csv' for name in options}
        for name, words in options.items():
            soro(robot, 'protocol', name, table[name], *words.split(), tries=4)
            print(name, flush=True)
        assert robot.process.stop() == 0, robot.process.output
        offline = ('--robot', file, '--json')
        pulled = soro(
            robot, 'compliance', *REST, '--measured', table['pull'], '--offline', *offline
        )
        print(pulled)
        mapping = {name: path.with_suffix('.yaml') for name, path in table.items()}
        read = ('--mapping', mapping['stretch'], '--parameter', f'linear={ELONGATION}')
        assert '"better": true' in soro(robot, 'identify', table['stretch'], *offline, *read)
        read = ('--mapping', mapping['chirp'], '--history', 'delay')  # none: no better fit, code 1
        assert 'delay' in soro(robot, 'identify', table['chirp'], *offline, *read, codes=(0, 1))
    step = columns(table['step'])
    assert (np.diff(step['time [s]']) > 0.0).all()
    pressures = np.array([step[name] for name in DRIVES])
    assert pressures[1, -1] == pytest.approx(0.5e5, rel=0.05)
    assert np.abs(pressures[::2]).max() < 0.05e5
