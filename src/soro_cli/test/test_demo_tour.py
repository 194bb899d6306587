# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tour's postures for every robot of the catalogue, and its report."""

from __future__ import annotations

import base64
from contextlib import contextmanager
from pathlib import Path
import re
from types import SimpleNamespace

import numpy as np
import pytest
from rclpy.node import Node as RosNode
from std_msgs.msg import String

from soro_cli.demo.journal import Tour
from soro_cli.demo.questions import AGAIN, Patience
from soro_cli.demo.report import write_report
from soro_cli.demo.tour import (
    _posture,
    _recording,
    _tell_viewer,
    make_room,
    MARK,
    run_tour,
    SHARES,
)
from soro_cli.ros_session import RosSession
from soro_mechanics.core.actuators import limit_violations
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file, robot_files
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.user_errors import UserError
from soro_recording.bag_metadata import PART
from soro_recording.bag_reader import BagReader
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession as Graph


@pytest.mark.parametrize('name', sorted(robot_files()))
@pytest.mark.parametrize('lopsided', [True, False])
def test_postures_are_allowed_for_every_robot(name, lopsided):
    robot = read_robot_file(find_robot_file(name))
    rest = np.array([a.rest for a in robot.actuators])
    postures = [_posture(robot, share, lopsided) for share in SHARES]
    for posture in postures:
        assert not list(limit_violations(robot.actuators, robot.coupled_limits, posture))
    if lopsided:
        # Far enough from each other and from rest to be seen moving.
        span = np.array([a.maximum - a.minimum for a in robot.actuators])
        for a, b in zip([rest, *postures], postures, strict=False):
            assert np.max(np.abs(a - b) / span) > 0.02


def test_the_report_is_one_page_with_everything_in_it(tmp_path):
    robot = read_robot_file(find_robot_file('stiff_flop'))
    said = []
    tour = Tour(robot, tmp_path / 'bag', said.append)
    tour.add('circle of <5 mm>', 'RMSE 1 mm', rms_error=1e-3)
    figures = [tmp_path / 'path.png', tmp_path / 'shape.png']
    for figure in figures:
        figure.write_bytes(figure.stem.encode())
    page = write_report(tour, tmp_path, figures, [tmp_path / 'bag']).read_text()
    assert said == ['circle of <5 mm>: RMSE 1 mm']
    assert tour.numbers == {'rms_error': 1e-3}
    assert 'circle of &lt;5 mm&gt;' in page
    pictures = re.findall(r'base64,([^"]+)"', page)
    assert [base64.b64decode(picture) for picture in pictures] == [b'shape', b'path']
    assert re.findall(r'href="([^"]+)"', page) == ['bag']
    assert not re.search(r'https?://', page)


def tour_of(name, tmp_path, said=()):
    say = said.append if isinstance(said, list) else lambda _: None
    return Tour(read_robot_file(find_robot_file(name)), tmp_path / 'bag', say)


def test_where_the_robot_can_be_watched_is_said_and_not_reported(tmp_path):
    printed = '[visualization] [INFO] [1.0] [demo.visualization]: viewer: http://127.0.0.1:8732\n'
    process, said = SimpleNamespace(output='[launch] x\n'), []
    tour = tour_of('stiff_flop', tmp_path, said)

    def spin_until(heard, patience):
        assert patience > 0.0 and not heard()
        process.output += printed
        return heard()

    _tell_viewer(tour, SimpleNamespace(spin_until=spin_until), process)
    (line,) = said
    assert line.endswith(' http://127.0.0.1:8732') and not tour.lines
    process.output = '[launch] without a viewer\n'
    _tell_viewer(tour, SimpleNamespace(spin_until=lambda heard, patience: False), process)
    assert said == [line]


class Node:
    """Answers one code after the other, and the last one for ever."""

    def __init__(self, *codes):
        self.codes, self.asked, self.waited = list(codes), 0, 0.0

    def spin(self, seconds):
        self.waited += seconds

    def question(self):
        self.asked += 1
        code = self.codes.pop(0) if len(self.codes) > 1 else self.codes[0]
        return SimpleNamespace(error_code=code, error_message='kernels are being compiled')


def test_a_busy_node_is_asked_again_and_the_wait_is_told(tmp_path):
    node, said = Node(Code.BUSY, Code.BUSY, 0), []
    tour = tour_of('stiff_flop', tmp_path, said)
    answer, seconds = Patience(tour, node).ask('compare_models', node.question)
    assert (answer.error_code, node.asked, node.waited) == (0, 3, 2 * AGAIN)
    assert seconds < 1.0  # of the last answer alone
    assert 'compare_models is busy' in said[0]
    assert tour.lines[0][0] == 'waited for compare_models'


def test_a_node_that_stays_busy_is_given_up_and_an_answer_is_not_waited_for(tmp_path):
    tour = tour_of('stiff_flop', tmp_path)
    busy, at_once = Node(Code.BUSY), Node(0)
    with pytest.raises(UserError, match='being compiled') as error:
        Patience(tour, busy, wait=0.0).ask('compare_models', busy.question)
    assert error.value.code == Code.BUSY
    Patience(tour, at_once).ask('compare_models', at_once.question)
    assert at_once.asked == 1 and at_once.waited == 0.0
    with pytest.raises(UserError, match='solve_inverse'):
        wrong = Node(Code.UNREACHABLE)
        Patience(tour, wrong).ask('solve_inverse', wrong.question)
    assert wrong.asked == 1


def bag_with(folder: Path, *names: str) -> Path:
    bag = folder / 'bag'
    bag.mkdir()
    for name in names:
        (bag / name).touch()
    return bag


RECORDED = ('bag_0.mcap', 'metadata.yaml')


@pytest.mark.parametrize('names', [RECORDED, (*RECORDED, PART)])
def test_the_bag_of_an_earlier_tour_is_replaced(tmp_path, names):
    bag = bag_with(tmp_path, *names, MARK)
    make_room(bag)
    assert not bag.exists()
    make_room(bag)


@pytest.mark.parametrize('names', [RECORDED, (*RECORDED, MARK, 'notes.txt'), ()])
def test_a_bag_of_somebody_else_is_left_alone_and_nothing_starts(tmp_path, names, monkeypatch):
    bag = bag_with(tmp_path, *names)
    monkeypatch.setattr('soro_cli.demo.tour.RobotProcess', None)
    with pytest.raises(UserError, match=f'{bag} is in the way.*--output'):
        run_tour('stiff_flop', tmp_path, lambda _: None)
    assert {p.name for p in bag.iterdir()} == set(names)


@contextmanager
def robot_to_record(monkeypatch):
    """A session in which a robot's solver runs."""
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    with Graph() as ros, RosSession() as session:
        solver = RosNode('kinematics_solver', namespace='/demo', context=ros.context)
        solver.declare_parameter('robot', 'stiff_flop')
        solver.create_publisher(String, 'workspace', 1)
        ros.spin(solver)
        yield session


def test_a_tour_marks_its_bag_and_the_next_one_replaces_it(tmp_path, monkeypatch):
    bag = tmp_path / 'bag'
    with robot_to_record(monkeypatch) as session, _recording(bag, session):
        pass
    with BagReader(bag) as recorded:
        assert recorded.finished
    make_room(bag)
    assert not bag.exists()


def test_the_bag_of_a_tour_that_was_interrupted_early_is_replaced_too(tmp_path, monkeypatch):
    bag = tmp_path / 'bag'

    def interrupted(_: RosSession) -> bool:
        if bag.is_dir():
            raise KeyboardInterrupt
        return False

    monkeypatch.setattr('soro_cli.demo.tour._is_recorded', interrupted)
    with (
        robot_to_record(monkeypatch) as session,
        pytest.raises(KeyboardInterrupt),
        _recording(bag, session),
    ):
        pass
    assert bag.is_dir()
    make_room(bag)
    assert not bag.exists()


def test_a_link_to_a_bag_is_left_alone(tmp_path):
    (tmp_path / 'mine').mkdir()
    target = bag_with(tmp_path / 'mine', *RECORDED, MARK)
    link = tmp_path / 'bag'
    link.symlink_to(target)
    with pytest.raises(UserError, match='in the way'):
        make_room(link)
    assert len(list(target.iterdir())) == 3
