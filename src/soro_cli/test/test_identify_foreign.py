# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro identify of data that soro did not record: other names, units and frames."""

import json
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores
from scipy.spatial.transform import Rotation

from soro_cli.main import main
from soro_mechanics.identification.defaults import default_parameters
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

NOISE = 5e-5  # m
TURN, PLACE = Rotation.from_rotvec([0.0, 0.0, np.pi / 2]), np.array([0.3, -0.1, 0.05])
PSI = 6894.757
POSTURES, HOLD, PERIOD = 24, 16, 100_000_000  # ns
START = 1_700_000_000 * 10**9
MAPPING = """
actuators:
  actuator_1: {{from: {a}, unit: 6894.757 Pa, zero: 1013 mbar}}
  actuator_2: {{from: {b}, unit: mbar}}
  actuator_3: {{from: {c}, unit: kPa}}
tip:
  position: {position}
  unit: mm
{orientation}
  frame: {{position: 300 -100 50 mm, rotation: 0 0 90 deg}}
{time}
"""


class Lab:
    """What somebody measured of `spatial_cc`, whose numbers are not those of its file."""

    def __init__(self):
        random = np.random.default_rng(7)
        description = read_robot_file(find_robot_file('spatial_cc'))
        robot = Robot(description, 'constant_curvature')
        space = ParameterSpace(description, default_parameters(robot))
        self.truth = 1.0 + random.uniform(-0.08, 0.08, len(space.names))
        plant = space.robot(self.truth.tolist(), 'constant_curvature')
        low, high = robot.limits.T
        self.actuation = low + 0.8 * (high - low) * random.uniform(size=(POSTURES, len(low)))
        tips = np.array([plant.forward(a).tip for a in self.actuation])
        tips[:, :3, 3] += NOISE * random.standard_normal((POSTURES, 3))
        self.marker = 1e3 * TURN.inv().apply(tips[:, :3, 3] - PLACE)  # mm, axes of the camera
        self.turns = (TURN.inv() * Rotation.from_matrix(tips[:, :3, :3])).as_quat()

    def gauges(self, actuation):
        """Return what the gauges show: psi absolute, mbar, kPa."""
        a, b, c = actuation
        return (a + 101300.0) / PSI, b / 100.0, c / 1000.0


@pytest.fixture(scope='module')
def lab():
    return Lab()


def csv_file(lab, folder, times):
    """Write a table: every posture once, or held over time in milliseconds."""
    rows = ['Zeit;ms,P1 (psia),P2 (mbar),P3/kPa,Marker X,Marker Y,Marker Z']
    now = 0
    for actuation, marker in zip(lab.actuation, lab.marker, strict=True):
        for _ in range(HOLD if times else 1):
            now += 100
            rows.append(
                ','.join(f'{x!r}' for x in map(float, (now, *lab.gauges(actuation), *marker)))
            )
    file = folder / 'theirs.csv'
    file.write_text('\n'.join(rows) + '\n', encoding='utf-8')
    return file


def bag(lab, folder, storage):
    """Write a bag as another project would: arrays of numbers, a camera's own frame."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    types = store.types
    with Writer(folder, version=9, storage_plugin=storage) as writer:
        plc = writer.add_connection(
            '/plc/valves', 'std_msgs/msg/Float64MultiArray', typestore=store
        )
        gauge = writer.add_connection(
            '/plc/third', 'sensor_msgs/msg/FluidPressure', typestore=store
        )
        camera = writer.add_connection(
            '/vrpn/Marker3/pose', 'geometry_msgs/msg/PoseStamped', typestore=store
        )
        now = START
        layout = types['std_msgs/msg/MultiArrayLayout']([], 0)
        for k in range(POSTURES):
            a, b, c = lab.gauges(lab.actuation[k])
            for _ in range(HOLD):
                now += PERIOD
                stamp = types['builtin_interfaces/msg/Time'](*divmod(now, 10**9))
                header = types['std_msgs/msg/Header'](stamp, 'camera')
                numbers = types['std_msgs/msg/Float64MultiArray'](layout, np.array([7.0, a, b]))
                third = types['sensor_msgs/msg/FluidPressure'](header, c, 0.0)
                pose = types['geometry_msgs/msg/Pose'](
                    types['geometry_msgs/msg/Point'](*lab.marker[k]),
                    types['geometry_msgs/msg/Quaternion'](*lab.turns[k]),
                )
                seen = types['geometry_msgs/msg/PoseStamped'](header, pose)
                for where, message in ((plc, numbers), (gauge, third), (camera, seen)):
                    data = store.serialize_cdr(message, where.msgtype)
                    writer.write(where, now + 2_000_000, data)
    return folder


def fitted(capsys, data, mapping, *more):
    words = ['identify', str(data), '--robot', 'spatial_cc', '--mapping', str(mapping)]
    code = main([*words, '--model', 'constant_curvature', '--json', *more])
    out = capsys.readouterr()
    return code, json.loads(out.out) if out.out else out.err


def check(lab, answer, oriented):
    assert answer['better'] and answer['oriented'] is oriented
    assert answer['postures'] == POSTURES
    assert answer['level'] == 0.99 and not answer['systematic']
    found = answer['parameters'].values()
    for truth, one in zip(lab.truth, found, strict=True):
        assert one['factor'] == pytest.approx(truth, abs=0.01)
        assert one['low'] < truth < one['high']
    assert Path(answer['picture']).is_file()


def in_rows(lab, tmp_path):
    """Write a table of postures and its mapping."""
    mapping = tmp_path / 'theirs.yaml'
    position = '[Marker X, Marker Y, Marker Z]'
    a, b, c = 'P1 (psia)', 'P2 (mbar)', 'P3/kPa'
    text = MAPPING.format(a=a, b=b, c=c, orientation='', position=position, time='')
    mapping.write_text(text, encoding='utf-8')
    return csv_file(lab, tmp_path, False), mapping


def test_hysteresis_that_the_model_lacks_leaves_no_certain_interval(tmp_path, capsys):
    late = Lab()
    way = np.sign(np.diff(late.actuation, axis=0, prepend=0.0))
    late.actuation = late.actuation + 0.01 * np.ptp(late.actuation, axis=0) * way
    data, mapping = in_rows(late, tmp_path)
    code, answer = fitted(capsys, data, mapping, '-o', str(tmp_path))
    assert code == 0 and answer['systematic'] and answer['level'] is None
    for truth, one in zip(late.truth, answer['parameters'].values(), strict=True):
        assert one['low'] < truth < one['high']
    words = ['identify', str(data), '--robot', 'spatial_cc', '--mapping', str(mapping)]
    assert main([*words, '-o', str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert 'widened interval' in said.out and '99%' not in said.out
    assert 'follow what the robot did' in said.err and '--history hysteresis' in said.err


@pytest.mark.parametrize('times', [True, False])
def test_a_foreign_table_is_fitted(lab, tmp_path, capsys, times):
    mapping = tmp_path / 'theirs.yaml'
    mapping.write_text(
        MAPPING.format(
            a='P1 (psia)',
            b='P2 (mbar)',
            c='P3/kPa',
            orientation='',
            position='[Marker X, Marker Y, Marker Z]',
            time='time: {from: "Zeit;ms", unit: ms}' if times else '',
        ),
        encoding='utf-8',
    )
    target = tmp_path / 'mine.yaml'
    more = ['-o', str(tmp_path), '--write', str(target)]
    code, answer = fitted(capsys, csv_file(lab, tmp_path, times), mapping, *more)
    assert code == 0
    check(lab, answer, False)
    assert read_robot_file(target).name == 'spatial_cc'


@pytest.mark.parametrize('storage', StoragePlugin)
def test_a_foreign_bag_is_fitted(lab, tmp_path, capsys, storage):
    mapping = tmp_path / 'theirs.yaml'
    mapping.write_text(
        MAPPING.format(
            a='/plc/valves.data.1',
            b='/plc/valves.data.2',
            c='/plc/third.fluid_pressure',
            position='/vrpn/Marker3/pose.pose.position',
            time='',
            orientation='  orientation: /vrpn/Marker3/pose.pose.orientation',
        ),
        encoding='utf-8',
    )
    folder = bag(lab, tmp_path / 'bag', storage)
    code, answer = fitted(capsys, folder, mapping, '-o', str(tmp_path))
    assert code == 0
    check(lab, answer, True)


WRONG = {
    'unit': ('unit: kPa', 'unit: mm', 'another dimension'),
    'column': ('P2 (mbar)', 'P9', 'P2 (mbar)'),
    'axes': ('Marker Y, ', '', 'xyz'),
    'actuator': ('actuator_3', 'actuator_4', 'actuator_3'),
    'key': ('  unit: mm', '  units: mm', 'unit'),
    'no unit of a drive': (', unit: mbar', '', 'actuator_2.unit = None: required'),
    'no unit of the tip': ('  unit: mm\n', '', 'tip.unit = None: required'),
    'no unit of time': ('tip:', 'time: {from: P1 (psia)}\ntip:', 'time.unit = None: required'),
}


@pytest.mark.parametrize('name', WRONG)
def test_a_wrong_mapping_is_refused_with_its_entry(lab, tmp_path, capsys, name):
    old, new, words = WRONG[name]
    text = MAPPING.format(
        a='P1 (psia)',
        b='P2 (mbar)',
        c='P3/kPa',
        orientation='',
        time='',
        position='[Marker X, Marker Y, Marker Z]',
    )
    assert old in text
    mapping = tmp_path / 'theirs.yaml'
    mapping.write_text(text.replace(old, new), encoding='utf-8')
    code, said = fitted(capsys, csv_file(lab, tmp_path, False), mapping)
    assert code == 1 and words in str(said)


def with_turns(lab, folder, turn, orientation='orientation: [qx, qy, qz, qw]'):
    """Write a table whose tracker sends a quaternion in every row; return it and its mapping."""
    file, mapping = csv_file(lab, folder, False), folder / 'theirs.yaml'
    first, *rows = file.read_text().splitlines()
    rows = [row + ',' + ','.join(map(str, turn(k))) for k, row in enumerate(rows)]
    file.write_text('\n'.join([first + ',qx,qy,qz,qw', *rows]) + '\n', encoding='utf-8')
    names = {'a': 'P1 (psia)', 'b': 'P2 (mbar)', 'c': 'P3/kPa', 'time': ''}
    place = '[Marker X, Marker Y, Marker Z]'
    text = MAPPING.format(**names, position=place, orientation=f'  {orientation}')
    mapping.write_text(text, encoding='utf-8')
    return file, mapping


def test_a_tracker_of_positions_stays_one_whatever_its_frame_is(lab, tmp_path, capsys):
    data = with_turns(lab, tmp_path, lambda k: (0.0, 0.0, 0.0, 1.0))
    code, answer = fitted(capsys, *data, '-o', str(tmp_path))
    assert code == 0
    check(lab, answer, False)


def test_what_a_tracker_has_not_seen_is_no_orientation(lab, tmp_path, capsys):
    data = with_turns(lab, tmp_path, lambda k: (0.0, 0.0, 0.0, 0.0) if k == 3 else lab.turns[k])
    code, said = fitted(capsys, *data)
    assert code == 1 and 'qx: 0 0 0 0' in str(said)


def test_a_header_that_stands_twice_is_no_source(lab, tmp_path, capsys):
    file, mapping = with_turns(lab, tmp_path, lambda k: lab.turns[k])
    file.write_text(file.read_text().replace('qz', 'qy'), encoding='utf-8')
    mapping.write_text(mapping.read_text().replace('qz', 'qx'), encoding='utf-8')
    code, said = fitted(capsys, file, mapping)
    assert code == 1 and 'qy is the header of two columns' in str(said)


@pytest.mark.parametrize('what', ['data', 'mapping'])
def test_what_is_read_is_not_written_over(lab, tmp_path, capsys, what):
    file, mapping = with_turns(lab, tmp_path, lambda k: lab.turns[k])
    target = {'data': file, 'mapping': mapping}[what]
    before = target.read_bytes()
    code, said = fitted(capsys, file, mapping, '--write', str(target))
    assert code == 1 and 'name a robot file' in str(said)
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    ('field', 'words'),
    [
        ('/vrpn/Marker3/pose.header.frame_id', 'str is no number'),
        ('/vrpn/Marker3/pose.pose.__class__', 'is no number'),
        ('/plc/valves.data', 'is no number'),
    ],
)
def test_a_field_that_is_no_number_is_refused(lab, tmp_path, capsys, field, words):
    mapping = with_turns(lab, tmp_path, lambda k: lab.turns[k])[1]
    text = mapping.read_text()
    for name in ('P1 (psia)', 'P2 (mbar)', 'P3/kPa'):
        text = text.replace(name, field)
    text = text.replace('[Marker X, Marker Y, Marker Z]', '/vrpn/Marker3/pose.pose.position')
    mapping.write_text(text.replace('[qx, qy, qz, qw]', '/vrpn/Marker3/pose.pose.orientation'))
    folder = bag(lab, tmp_path / 'bag', next(iter(StoragePlugin)))
    code, said = fitted(capsys, folder, mapping)
    assert code == 1 and words in str(said)
