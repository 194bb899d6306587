# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Flex sensors as ports: their derivatives against re-solving, and W as a whole."""

from dataclasses import replace

import numpy as np
import pytest
from soro_mechanics.network.schema import SensorSpec
from soro_mechanics.robot import Robot
from test_network_robots import EXAMPLES

from soro_mechanics import Code, load_robot

SENSORS = (
    SensorSpec('low', 0, 0.1, 0.5, np.array([1.0, 0.0, 0.0])),
    SensorSpec('high', 0, 0.5, 0.9, np.array([1.0, 0.0, 0.0])),
    SensorSpec('other', 1, 0.2, 0.7, np.array([0.6, 0.8, 0.0])),
)
ANGLES = np.array([-0.2, 0.3])
FORCE = np.array([0.2, 0.02, -0.2, 0.0, 0.0, 0.0])


@pytest.fixture(scope='module', params=['macro', 'elements'])
def sensed(request):
    description = load_robot(EXAMPLES / 'planar_chain.yaml').description
    network = replace(description.structure['network'], sensors=SENSORS)
    if request.param == 'elements':
        mesh = np.linspace(0.0, 1.0, 11)
        rods = tuple(replace(r, macro=False, fractions=mesh) for r in network.rods)
        network = replace(network, rods=rods)
    robot = Robot(replace(description, structure={'network': network}))
    q = robot.forward(ANGLES, FORCE)
    assert q.status.code is Code.NONE
    return robot, q


def test_sensors_follow_motors_and_forces(sensed):
    robot, q = sensed
    ports = robot.engine.ports(q)

    def values(angles, wrench):
        near = robot.forward(angles, wrench, guess=q)
        return robot.engine.ports(near).sensor

    for i in range(2):
        step = 1e-5 * np.eye(2)[i]
        slope = (values(ANGLES + step, FORCE) - values(ANGLES - step, FORCE)) / 2e-5
        np.testing.assert_allclose(
            ports.jacobian[6:, i], slope, atol=1e-4 * np.abs(ports.jacobian[6:]).max()
        )
    held = ports.compliance_held
    for i in range(6):
        step = 1e-4 * np.eye(6)[i]
        slope = (values(ANGLES, FORCE + step) - values(ANGLES, FORCE - step)) / 2e-4
        np.testing.assert_allclose(held[6:, i], slope, atol=1e-4 * np.abs(held[6:]).max())


def test_values_are_turns_of_the_backbone(sensed):
    robot, q = sensed
    found = robot.engine.ports(q).sensor
    for sensor, value in zip(SENSORS[:2], found[:2], strict=True):
        g = q.backbones[sensor.rod]
        fractions = q.arc_lengths[sensor.rod] / q.arc_lengths[sensor.rod][-1]
        a, b = (np.argmin(np.abs(fractions - x)) for x in (sensor.start, sensor.end))
        # a planar bend: the angle between the tangents
        turn = np.arccos(np.clip(g[a][:3, 2] @ g[b][:3, 2], -1.0, 1.0))
        assert abs(value) == pytest.approx(turn, rel=2e-3)


def test_condensed_ports_are_symmetric_and_consistent(sensed):
    robot, q = sensed
    response = robot.engine.ports(q)
    held = response.compliance_held
    np.testing.assert_allclose(held, held.T, atol=1e-4 * np.abs(held).max())
    assert np.linalg.eigvalsh(0.5 * (held + held.T))[0] > -1e-9 * np.abs(held).max()
    ports = response.condensed()
    # W_ea W_aa^-1 is the Jacobian (Koehler 2023, eq 8)
    jacobian = np.concatenate([ports.ea, ports.sa]) @ np.linalg.inv(ports.aa)
    scale = np.abs(response.jacobian).max()
    np.testing.assert_allclose(jacobian, response.jacobian, atol=1e-3 * scale)
