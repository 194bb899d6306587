# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bodies that turn emulated motors back: static balance, stalls, power off, and what files say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soro_emulation.body_process import reaction
from soro_emulation.emulated_body import EmulatedBody
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.moving_body import MovingBody
from soro_mechanics.actuator_models.motor import PositionDrive, read_motor
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.models.network.drive_values import drive_efforts
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.section import Section

EXAMPLES = find_robot_file('stiff_flop').with_name('examples')
RATE = 30.0  # answers of the body per second


class Bench:
    """Motors and body of a robot in virtual time, which ask each other as the node has them."""

    def __init__(self, name, device, kind=MovingBody, **changes):
        description = read_robot_file(find_robot_file(str(name)))
        settings = read_emulator_settings(description, device)
        motor = read_motor(settings.device, description.actuators)
        self.motor = replace(motor, **changes)
        body = replace(settings.body, hysteresis=0.0)
        body = replace(body, motion=replace(body.motion, retardation=0.05))
        self.body, self.moving = kind(description, body), kind is MovingBody
        self.rest = np.array([a.rest for a in description.actuators])
        self.axes = [PositionDrive(a.rest, a.rate, 1.0, self.motor) for a in description.actuators]
        self.time = 0.0

    @property
    def values(self):
        return np.array([axis.value for axis in self.axes])

    def run(self, goal, seconds, powered=True):
        """The node asks where drives are, and hears a period later what they bear."""
        for _ in range(round(seconds * RATE)):
            self.time += 1.0 / RATE
            moment = (self.time,) if self.moving else ()
            efforts = reaction(self.body, self.body.configuration(self.values, *moment))
            for axis, target in zip(self.axes, goal, strict=True):
                axis.follow(target, 1.0 / RATE, powered)
            for axis, load in zip(self.axes, efforts, strict=True):
                axis.load = load
        return self.values


def torques(robot, actuation):
    """Return what statics say that the motors hold."""
    return robot.model_object.linearise(robot.forward(actuation)).torque


@pytest.mark.parametrize('kind', [MovingBody, EmulatedBody])
def test_a_motor_stalls_where_its_limit_is_what_the_body_needs(kind):
    chain = EXAMPLES / 'planar_chain.yaml'
    bench = Bench(chain, 'simulated', kind, torque_limit=0.4, coulomb=0.0)
    goal = np.array([0.0, 0.6])
    found, robot = bench.run(goal, 5.0), bench.body.robot
    needed = torques(robot, found)
    assert needed[1] == pytest.approx(0.4, rel=2e-3)
    assert bench.axes[1].torque == pytest.approx(1.0)
    assert 0.05 < found[1] < 0.55  # far from where it was told to go
    # the other one has its loop, which gives way by torque over stiffness
    assert found[0] == pytest.approx(-needed[0] / bench.motor.stiffness, rel=1e-2, abs=1e-5)


def test_without_power_the_body_turns_back_what_friction_does_not_hold():
    chain = EXAMPLES / 'planar_chain.yaml'
    bench = Bench(chain, 'simulated', coulomb=0.05)
    held = bench.run(np.array([0.0, 0.4]), 2.0)
    assert held[1] == pytest.approx(0.4, abs=0.02)
    released = bench.run(np.array([0.0, 0.4]), 4.0, powered=False)
    left = torques(bench.body.robot, released)
    assert np.abs(torques(bench.body.robot, held)).max() > 0.2
    assert np.abs(left).max() < 0.051
    assert released == pytest.approx(bench.run(np.array([0.0, 0.4]), 0.5, powered=False), abs=1e-9)


def test_a_length_gives_way_by_its_force_over_the_stiffness_of_the_loop():
    bench = Bench('stewart_gough', 'simulated', coulomb=0.0, stiffness=5e3, damping=5e2)
    push = np.array([0.4, 0.0, -1.5, 0.0, 0.0, 0.0])
    bench.body.set_wrench(push)
    found, robot = bench.run(bench.rest, 6.0), bench.body.robot
    q = robot.forward(found, push)
    needed = drive_efforts(robot.model_object.linearise(q), found)
    assert np.abs(found - bench.rest).max() > 2e-5
    assert found - bench.rest == pytest.approx(-needed / 5e3, rel=0.02, abs=1e-6)


def test_what_motors_bear_needs_no_second_linearisation(monkeypatch):
    bench = Bench('stewart_gough', 'simulated', EmulatedBody)
    q = bench.body.configuration(bench.rest + 1e-3 * np.arange(6.0))
    model = bench.body.robot.model_object
    needed = drive_efforts(model.linearise(q), q.actuation)
    monkeypatch.setattr(model, 'linearise', None)
    assert reaction(bench.body, q) == pytest.approx(needed, rel=1e-12)
    assert np.abs(needed).max() > 1e-3


def test_what_is_no_motor_is_refused_with_its_place():
    robot = read_robot_file(find_robot_file('stiff_flop'))
    with pytest.raises(RobotFileError, match='motor'):
        read_motor(Section({'motor': {}}, 'emulator.nidaq'), robot.actuators)
