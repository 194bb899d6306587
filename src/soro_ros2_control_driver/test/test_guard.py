# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The guard between driver and controllers: what is published, when set-points stop, and where."""

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from sensor_msgs.msg import JointState

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.section import Section
from soro_ros2_control_driver.guard import Guard, HEAD, Kind, MAX_TTL, Report, STALE
from soro_ros2_control_driver.wiring import read_wiring

REST, LOW, HIGH = np.array([0.0, 0.2]), np.array([-1.0, 0.0]), np.array([1.0, 0.5])
HERE = np.array([0.4, 0.3])


def make(vents=(False, False)):
    guard = Guard(REST, LOW, HIGH, np.array(vents))
    guard.measure(HERE, 10.0)
    return guard


def send(guard, kind, now, values=(), number=1, ttl=0.2):
    data = np.array(values, '<f8').tobytes()
    return guard.receive(HEAD.pack(kind, number, ttl) + data, now)


def test_nothing_is_published_before_it_is_armed():
    guard = make()
    assert send(guard, Kind.SETPOINTS, 10.0, [0.1, 0.1]) is None
    assert guard.tick(99.0) is None


def test_set_points_are_clipped_at_the_last_place():
    guard = make()
    assert send(guard, Kind.ARM, 10.0) is None
    assert np.array_equal(send(guard, Kind.SETPOINTS, 10.0, [7.0, -7.0]), [1.0, 0.0])
    for wrong in ([0.1], [0.1, 0.2, 0.3], [np.nan, 0.1], [np.inf, 0.1]):
        assert send(guard, Kind.SETPOINTS, 10.1, wrong) is None
    assert np.array_equal(guard.applied, [1.0, 0.0])


def test_it_holds_what_is_measured_when_set_points_stop_and_vents_pressures():
    for vents, safe in ((False, False), HERE), ((True, False), [0.0, 0.3]):
        guard = make(vents)
        send(guard, Kind.ARM, 10.0)
        send(guard, Kind.SETPOINTS, 10.0, [0.9, 0.1])
        assert guard.tick(10.19) is None
        assert np.array_equal(guard.tick(10.21), safe)
        assert guard.expired
        assert guard.tick(10.3) is None
        # Only a person's ARM moves it again.
        assert send(guard, Kind.SETPOINTS, 10.3, [0.9, 0.1]) is None
        send(guard, Kind.ARM, 10.4)
        assert send(guard, Kind.SETPOINTS, 10.4, [0.9, 0.1]) is not None
        assert not guard.expired


def test_refused_set_points_do_not_feed_the_watchdog():
    guard = make()
    send(guard, Kind.ARM, 10.0)
    send(guard, Kind.SETPOINTS, 10.0, [0.9, 0.1])
    send(guard, Kind.SETPOINTS, 10.15, [np.nan, 0.1])
    assert guard.tick(10.21) is not None


def test_armed_and_never_commanded_it_falls_safe():
    guard = make()
    send(guard, Kind.ARM, 10.0)
    guard.measure(HERE, 10.4)
    assert np.array_equal(guard.tick(10.0 + MAX_TTL + 0.01), HERE)


def test_an_old_measurement_is_not_held():
    guard = make()
    send(guard, Kind.ARM, 10.0)
    send(guard, Kind.SETPOINTS, 10.0, [0.9, 0.1])
    assert np.array_equal(send(guard, Kind.SAFE, 10.1 + STALE), [0.9, 0.1])
    fresh = Guard(REST, LOW, HIGH, np.array([False, False]))
    assert send(fresh, Kind.SAFE, 10.0) is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(list(Kind)),
            st.floats(0.0, 1.0),
            st.lists(st.floats(width=32), min_size=0, max_size=3),
            st.floats(),
        ),
        max_size=30,
    )
)
def test_whatever_is_sent_only_fresh_set_points_within_limits_move_it(messages):
    guard, now, armed_until = make(), 10.0, -np.inf
    for kind, wait, values, ttl in messages:
        now += wait
        guard.measure(HERE, now)
        late = guard.tick(now)
        assert late is None or np.array_equal(late, HERE)
        if now > armed_until:
            assert not guard.armed
        out = send(guard, kind, now, values, ttl=ttl)
        if kind is Kind.ARM:
            armed_until = now + MAX_TTL
        elif kind is Kind.SAFE:
            armed_until = -np.inf
            assert np.array_equal(out, HERE)
        elif out is not None:
            assert np.all((out >= LOW) & (out <= HIGH))
            assert now <= armed_until
            armed_until = now + min(max(ttl, 0.0), MAX_TTL)


def test_a_report_is_read_as_it_was_written():
    guard = make()
    send(guard, Kind.ARM, 10.0, number=77)
    send(guard, Kind.SETPOINTS, 10.0, [0.1, 0.2], number=78)
    report = Report.unpack(guard.report(300, 1))
    assert (report.armed, report.expired, report.publishers, report.listeners) == (
        True, False, 255, 1,
    )  # fmt: skip
    assert (report.number, report.arrival) == (78, 10.0)
    assert np.array_equal(report.measured, HERE)
    assert np.array_equal(report.applied, [0.1, 0.2])


class Robot:
    actuators = tuple(Actuator(n, 'angle', -1.0, 1.0, 1.0, 0.0) for n in ('a', 'b', 'c'))


def wiring(**changes):
    data = {
        'command_topic': '/arm/commands',
        'joints': {'a': 'j1', 'b': 'j2', 'c': 'j3'},
        'channels': {'a': 3, 'b': 1, 'c': 2},
        'scale': '2 -1 1',
        'zero': '0 0.5 0',
        **changes,
    }
    section = Section(data, 'driver.ros2_control')
    return read_wiring(section, Robot())


def test_commands_stand_in_the_order_of_the_controller():
    # a = 0.1 is joint 0.2 at place 3; b = 0.2 is joint 0.5 - 0.2 at place 1; c = 0.3 at place 2.
    assert wiring().command(np.array([0.1, 0.2, 0.3])) == pytest.approx([0.3, 0.3, 0.2])


def test_joint_states_are_found_by_name():
    w = wiring()
    message = JointState(name=['x', 'j3', 'j2', 'j1'], position=[9.0, 0.3, 0.3, 0.2])
    assert w.measurement(message) == pytest.approx([0.1, 0.2, 0.3])
    assert w.measurement(JointState(name=['j1', 'j2'], position=[0.0, 0.0])) is None
    assert w.measurement(JointState(name=['j1', 'j2', 'j3'])) is None
    broken = JointState(name=['j1', 'j2', 'j3'], position=[0.0, 0.0, np.nan])
    assert w.measurement(broken) is None


@pytest.mark.parametrize(
    ('changes', 'field'),
    [
        ({'command_topic': 'commands'}, 'command_topic'),
        ({'joints': {'a': 'j1', 'b': 'j1', 'c': 'j3'}}, 'joints'),
        ({'joints': {'a': 'j1'}}, 'joints.b'),
        ({'scale': '0 1 1'}, 'scale'),
        ({'measured': 'voltage'}, 'measured'),
        ({'speed': '1'}, 'speed'),
    ],
)
def test_a_wrong_section_names_its_field(changes, field):
    with pytest.raises(RobotFileError) as error:
        wiring(**changes)
    assert f'driver.ros2_control.{field}' in str(error.value)
