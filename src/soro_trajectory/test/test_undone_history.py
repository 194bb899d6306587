# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The stream undoes creep and hysteresis of the drives: what the body feels is what was wanted."""

from dataclasses import replace

import numpy as np
import pytest
from test_command_stream import PERIOD, Rig, START

from soro_mechanics import load_robot
from soro_mechanics.actuator_models.creep import CreepProperties
from soro_mechanics.actuator_models.history import HistoryProperties
from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.robot import Robot
from soro_msgs.msg import ActuatorState
from soro_studies.mechanics.history_study import Preisach
from soro_trajectory.command_stream import Phase

HALF, PART, TAU = 0.06, 0.1, 1.5
PLAYS = 12


@pytest.fixture(scope='module')
def robot():
    """Return stiff_flop whose file says what `Body` does, in a few plays."""
    plain = load_robot('stiff_flop').description
    span = np.array([a.maximum - a.minimum for a in plain.actuators])
    plays = HALF * (np.arange(PLAYS) + 0.5) / PLAYS
    past = HistoryProperties(
        np.outer(span, np.concatenate([[0.0], plays])),
        np.concatenate([[1e-3], np.full(PLAYS, (1.0 - 1e-3) / PLAYS)]) * np.ones((3, 1)),
        CreepProperties(np.full((1, 3), PART), np.full((1, 3), TAU)),
    )
    return Robot(replace(plain, structure={**plain.structure, 'history': past}))


class Body:
    """What the actuators move: relays behind the differential equation of a Kelvin element."""

    def __init__(self, robot):
        self._span = robot.limits[:, 1] - robot.limits[:, 0]
        self._relays = [Preisach(HALF) for _ in self._span]
        self._late = START.copy()

    def feel(self, pressure):
        for _ in range(10):
            self._late = self._late + 0.1 * PERIOD / TAU * (pressure - self._late)
        x = (pressure + PART * (self._late - pressure)) / self._span
        felt = [relay.apply(a) for relay, a in zip(self._relays, x, strict=True)]
        return self._span * np.array(felt)


def moved(rig, body, steps):
    """Step; return what the body felt."""
    felt = []
    for _ in range(steps):
        rig.step()
        felt.append(body.feel(rig.present))
    return np.array(felt)


def test_the_body_feels_what_is_wanted_at_rest_and_on_a_path(robot):
    rig, body = Rig(robot), Body(robot)
    moved(rig, body, 20)
    span = float(np.ptp(robot.limits[0]))
    for target in ([1.0e5, 0.2e5, 0.1e5], [0.3e5, 0.6e5, 0.1e5], [0.5e5, 0.3e5, 0.3e5]):
        rig.go_to(target)
        felt = moved(rig, body, 300)
        assert rig.stream.phase is Phase.HOLD
        assert felt[-1] == pytest.approx(target, abs=0.003 * span)
        assert felt[-200] == pytest.approx(target, abs=0.003 * span)  # it does not creep there
        assert np.abs(rig.present - target).max() > 0.01 * span  # which takes another command
    time = np.linspace(0.0, 6.0, 200)
    way = np.array(target) + 0.2e5 * np.sin(time)[:, None] * np.array([1.0, -0.5, 0.7])
    way[0] = target
    rig.stream.follow(Schedule(time, way, np.zeros((200, 3)), 0.0), rig.now)
    wanted = [rig.stream.feedforward(rig.now + (k + 1) * PERIOD) for k in range(590)]
    felt = moved(rig, body, 590)
    assert np.abs(felt - wanted).max() < 0.006 * span
    plain = np.abs(np.array(rig.sent[-590:]) - wanted).max()
    assert plain > 0.03 * span


def test_limits_and_rates_are_kept(robot):
    rig = Rig(robot, slew=0.5)
    rig.step(5)
    low, high = robot.limits.T
    for target in ([high[0], 0.0, 0.0], low, [0.5e5] * 3):
        rig.go_to(target)
        rig.step(150)
    sent = np.array(rig.sent)
    assert all(robot.feasible(value) for value in sent)
    rates = np.array([a.rate for a in robot.actuators])
    assert (np.abs(np.diff(sent, axis=0)) <= 0.5 * rates * PERIOD * (1.0 + 1e-6)).all()


def test_takeover_begins_at_the_measurement_and_knows_what_others_have_moved(robot):
    rig, body = Rig(robot), Body(robot)
    for value in (0.2e5, 1.1e5, 0.4e5):  # another source commands
        way = np.linspace(rig.present, np.full(3, value) * [1.0, 0.1, 0.1], 60)
        for rig.present in way:
            moved(rig, body, 1)
    assert rig.sent == []
    before = rig.present.copy()
    rig.go_to([0.6e5, 0.2e5, 0.1e5])
    felt = moved(rig, body, 300)
    assert np.array_equal(rig.sent[0], before)
    assert felt[-1] == pytest.approx([0.6e5, 0.2e5, 0.1e5], abs=500.0)


def test_hold_keeps_what_was_sent_and_a_stopped_robot_gets_nothing(robot):
    rig = Rig(robot)
    rig.go_to([1.0e5, 0.1e5, 0.0])
    rig.step(12)
    rig.stream.hold(rig.now)
    last = rig.sent[-1]
    rig.step(400)
    assert all(np.array_equal(value, last) for value in rig.sent[-400:])
    rig.go_to([0.8e5, 0.1e5, 0.0])
    rig.run_until(Phase.HOLD)
    rig.step(50)
    rig.stream.hold(rig.now)  # creep is not followed any more
    last = rig.sent[-1]
    rig.step(100)
    assert np.array_equal(rig.sent[-1], last)
    rig.state = ActuatorState.FAULT
    rig.step()
    count = len(rig.sent)
    rig.step(100)
    assert len(rig.sent) == count
    assert rig.stream.setpoint is None and rig.stream.felt is None
