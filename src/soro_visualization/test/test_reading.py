# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Messages that nobody can show: they are named, and end nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
from fixed_shapes import arc, NAMES, shape, straight
from geometry_msgs.msg import Pose
import numpy as np
import pytest
from sensor_msgs.msg import JointState, PointCloud2
from visualization_msgs.msg import Marker

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorState
from soro_visualization.drawing.markers import tube
from soro_visualization.drawing.shape import Rod, shape_from_message
from soro_visualization.page.readout import (
    angles_from_message,
    badge,
    emulated_from_statuses,
    readout_from_message,
    Snapshot,
    status_html,
)
from soro_visualization.playback import Playback, Recording

ODD = {
    'bodies': (lambda m: m.body_name.append('platform'), 'body_name and body_pose'),
    'actuation': (lambda m: m.actuation.pop(), 'actuator_name and actuation'),
    'no backbone': (lambda m: m.backbones.clear(), 'backbones is empty'),
    'no radius': (lambda m: setattr(m.backbones[0], 'radius', []), r'\[3, 0, 3\] poses'),
    'few lengths': (lambda m: m.backbones[0].arc_length.pop(), r'\[3, 3, 2\] poses'),
    'one pose': (
        lambda m: (
            m.backbones[0].poses.__delitem__(slice(1, None)),
            m.backbones[0].radius.__delitem__(slice(1, None)),
            m.backbones[0].arc_length.__delitem__(slice(1, None)),
        ),
        r'\[1, 1, 1\] poses',
    ),
    'thin': (lambda m: m.backbones[0].radius.__setitem__(1, 0.0), 'radius is not positive'),
    'point': (
        lambda m: (
            [setattr(p.position, 'z', 0.0) for p in m.backbones[0].poses],
            setattr(m.tip.position, 'z', 0.0),
        ),
        'extent is 0 m',
    ),
}


def odd(name):
    message = straight()
    message.tip = Pose()
    ODD[name][0](message)
    return message


@pytest.mark.parametrize('name', ODD)
def test_a_configuration_that_cannot_be_drawn_is_refused_with_the_field(name):
    with pytest.raises(ValueError, match=ODD[name][1]):
        shape_from_message(odd(name))


@pytest.mark.parametrize('value', [np.nan, np.inf])
def test_a_configuration_with_numbers_that_are_none_is_no_shape(value):
    for spoil in (
        lambda m: m.backbones[0].radius.__setitem__(0, value),
        lambda m: m.backbones[0].arc_length.__setitem__(1, value),
        lambda m: setattr(m.wrench.force, 'x', value),
        lambda m: setattr(m.tip.orientation, 'x', value),
    ):
        message = straight()
        spoil(message)
        assert shape_from_message(message) is None


def test_a_radius_too_thin_to_count_spheres_is_a_line():
    rod = arc(1.0)
    thin = Rod(rod.name, rod.positions, rod.quaternions, np.full(21, 1e-320), rod.arc_length)
    assert tube(thin, 0, 'backbone', Marker().color).type == Marker.LINE_STRIP


def test_a_state_without_a_value_for_each_name_is_refused():
    actuators = read_robot_file(find_robot_file('stiff_flop')).actuators
    with pytest.raises(ValueError, match='0, 0, 0, 0 values, expected 3 each'):
        readout_from_message(actuators, ActuatorState(name=NAMES))
    assert readout_from_message(actuators, ActuatorState(name=['other'])) is None


def test_joints_without_angles_and_angles_that_are_none_are_left_out():
    assert angles_from_message(JointState(name=['a'], velocity=[1.0])) == {}
    message = JointState(name=['a', 'b', 'c'], position=[1.0, np.inf, np.nan])
    assert angles_from_message(message) == {'a': 1.0}


def device(node, **values):
    pairs = [KeyValue(key=k, value=v) for k, v in values.items()]
    return DiagnosticStatus(name=f'/arm/{node}: device', values=pairs)


@pytest.mark.parametrize(
    ('said', 'emulated', 'word'),
    [
        ((), None, 'HARDWARE?'),
        (('true',), True, 'EMULATOR'),
        (('false',), False, 'HARDWARE<'),
        (('true', 'false'), False, 'HARDWARE<'),
    ],
)
def test_the_badge_says_what_the_driver_says(said, emulated, word):
    statuses = [device('driver', state='ACTIVE'), *(device('driver', emulated=s) for s in said)]
    assert emulated_from_statuses(statuses) is emulated
    assert word in badge(True, emulated)
    assert 'no device' in badge(False, emulated)


def test_a_recording_with_such_messages_is_shown_without_them(caplog):
    messages = {
        'configuration': odd('no radius'),
        'commanded_configuration': odd('bodies'),
        'actuator_state': ActuatorState(name=NAMES),
        'joint_states': JointState(name=['a'], velocity=[1.0]),
        'workspace': PointCloud2(),
    }
    entries = [
        SimpleNamespace(topic=f'/arm/{name}', stamp=10**9, message=message)
        for name, message in messages.items()
    ]

    def read(topics, start=0, end=10**12):
        return [e for e in entries if start <= e.stamp < end]

    viewer = Pages()
    recording = Recording(SimpleNamespace(messages=read), '/arm')
    playback = Playback(viewer, recording, read_robot_file(find_robot_file('stiff_flop')))
    for _ in range(2):
        playback.step(0.0)
    assert viewer.moments[-1].shape is None and viewer.moments[-1].actuators is None
    topics = sorted(text.split(':')[0] for text in caplog.messages)
    assert topics == ['actuator_state', 'commanded_configuration', 'configuration', 'workspace']


class Pages:
    """Stands for a viewer; takes what is shown."""

    def __init__(self):
        self.moments, self.scene = [], SimpleNamespace(started=True)
        element = SimpleNamespace(on_update=lambda callback: None)
        self.server = SimpleNamespace(
            gui=SimpleNamespace(
                add_folder=lambda *a, **k: Folder(),
                add_slider=lambda *a, **k: element,
                add_checkbox=lambda *a, **k: element,
                add_dropdown=lambda *a, **k: element,
            )
        )
        self.show = self.moments.append

    def show_path(self, name, positions):
        assert len(positions) == 0


class Folder:
    """A folder of the panel."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


@pytest.mark.parametrize('doubt', ['', 'the rest is <unstable>'])
def test_what_the_model_doubts_stands_on_the_page(doubt):
    page = status_html(Snapshot(shape=replace(shape(), doubt=doubt)))
    assert ('the rest is &lt;unstable&gt;' in page) is bool(doubt)
    assert ('warning' in page) is bool(doubt)
