# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Flex sensors as ports: their derivatives against re-solving, and W as a whole."""

from dataclasses import replace

from lie_jacobians import jacobian
import numpy as np
import pytest
from test_network_robots import EXAMPLES

from soro_mechanics import Code, Load, load_robot
from soro_mechanics.core.configuration import LoadAxes
from soro_mechanics.models.network.description.spec import SensorSpec
from soro_mechanics.models.network.kernels.response_kernels import inner_columns, side_stiffness
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot

SENSORS = (
    SensorSpec('low', 0, 0.1, 0.5, np.array([1.0, 0.0, 0.0])),
    SensorSpec('high', 0, 0.5, 0.9, np.array([1.0, 0.0, 0.0])),
    SensorSpec('other', 1, 0.2, 0.7, np.array([0.6, 0.8, 0.0])),
)
ANGLES = np.array([-0.2, 0.3])
FORCE = np.array([0.2, 0.02, -0.2, 0.0, 0.0, 0.0])


@pytest.fixture(scope='module')
def sensed():
    description = load_robot(EXAMPLES / 'planar_chain.yaml').description
    network = replace(description.structure['network'], sensors=SENSORS)
    mesh = np.linspace(0.0, 1.0, 11)
    network = replace(network, rods=tuple(replace(r, fractions=mesh) for r in network.rods))
    robot = Robot(replace(description, structure={'network': network}))
    q = robot.forward(ANGLES, FORCE)
    assert q.status.code is Code.NONE
    return robot, q


def test_sensors_follow_motors_and_forces(sensed):
    robot, q = sensed
    ports = robot.model_object.ports(q)

    def values(angles, wrench):
        near = robot.forward(angles, wrench, guess=q)
        return robot.model_object.ports(near).sensor

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
    found = robot.model_object.ports(q).sensor
    for sensor, value in zip(SENSORS[:2], found[:2], strict=True):
        g = q.backbones[sensor.rod]
        fractions = q.arc_lengths[sensor.rod] / q.arc_lengths[sensor.rod][-1]
        a, b = (np.argmin(np.abs(fractions - x)) for x in (sensor.start, sensor.end))
        # a planar bend: the angle between the tangents
        turn = np.arccos(np.clip(g[a][:3, 2] @ g[b][:3, 2], -1.0, 1.0))
        assert abs(value) == pytest.approx(turn, rel=2e-3)


def test_condensed_ports_are_symmetric_and_consistent(sensed):
    robot, q = sensed
    response = robot.model_object.ports(q)
    held = response.compliance_held
    np.testing.assert_allclose(held, held.T, atol=1e-4 * np.abs(held).max())
    assert np.linalg.eigvalsh(0.5 * (held + held.T))[0] > -1e-9 * np.abs(held).max()
    ports = response.condensed()
    # W_ea W_aa^-1 is the Jacobian (Koehler 2023, eq 8)
    jacobian = np.concatenate([ports.ea, ports.sa]) @ np.linalg.inv(ports.aa)
    scale = np.abs(response.jacobian).max()
    np.testing.assert_allclose(jacobian, response.jacobian, atol=1e-3 * scale)


@pytest.fixture(scope='module')
def legs():
    """Return the haptic device, its first legs with several sensors each, and a configuration."""
    description = load_robot('haptic_5dof').description
    network = description.structure['network']
    across = np.array([0.6, 0.8, 0.0])
    sensors = tuple(
        SensorSpec(f'{rod}_{k}', rod, *ends, axis)
        for rod in range(2)
        for k, (ends, axis) in enumerate(
            [((0.0, 0.5), np.array([1.0, 0.0, 0.0])), ((0.3, 0.8), across), ((0.6, 1.0), across)]
        )
    )
    robot = Robot(replace(description, structure={'network': replace(network, sensors=sensors)}))
    q = robot.forward(robot.limits @ [0.4, 0.6], [0.3, -0.2, 0.4, 0.01, 0.0, 0.0])
    assert q.status.code is Code.NONE
    return robot, q


def sensor_rows(robot, q):
    """Return rod, both nodes counted along it, and the moments there that a unit force is."""
    linear = robot.model_object.linearise(q)
    places, first = linear.layout.sensors, linear.layout.structure.rod_node
    found = []
    for rod, nodes, axis in zip(places.rod, places.nodes, places.axis, strict=True):
        a, b = nodes - first[rod]
        pose = q.backbones[rod][:, :3, :3]
        turn = lie.so3_log(pose[a].T @ pose[b])
        at_a = -axis @ jacobian('so3_left_jacobian_inverse', turn)
        at_b = axis @ jacobian('so3_right_jacobian_inverse', turn)
        found.append((rod, (a, b), (at_a, at_b)))
    return found


def test_sensors_of_clamped_rods_as_an_elimination_from_both_ends_says(legs):
    robot, q = legs
    linear = robot.model_object.linearise(q)
    s, rows = linear.layout.structure, sensor_rows(robot, q)
    assert not s.joint_kind.any()
    inner = linear.sensors().inner.copy()
    expected = np.zeros_like(inner)
    for i, (rod, nodes, moments) in enumerate(rows):
        count = s.rod_node[rod + 1] - s.rod_node[rod]
        left, right = np.zeros((2, count, 6, 6))
        side_stiffness(s, linear.work, rod, left, right)
        columns = np.zeros((count, 6, 1))
        for node, moment in zip(nodes, moments, strict=True):
            columns[node, 3:, 0] += moment
        inner_columns(s, linear.work, rod, left, right, columns, np.empty((6, 7)))
        for k, (other, others, seen) in enumerate(rows):
            if other == rod:
                expected[k, i] = sum(
                    m @ columns[n, 3:, 0] for n, m in zip(others, seen, strict=True)
                )
    np.testing.assert_allclose(inner, expected, atol=1e-11 * np.abs(expected).max())


def test_sensors_follow_moments_on_their_own_nodes(legs):
    robot, q = legs
    held = robot.model_object.ports(q).compliance_held[6:, 6:]
    step = 1e-5 / np.abs(held).max()

    def values(loads):
        near = robot.forward(q.actuation, q.wrench, loads=loads, guess=q)
        return robot.model_object.ports(near).sensor

    rows = sensor_rows(robot, q)
    for i in (1, 4):  # between inner nodes: the ends belong to motor and handle
        rod, nodes, moments = rows[i]
        both = [
            [
                Load(
                    np.concatenate([np.zeros(3), size * moment]),
                    on=robot.model_object.spec.rods[rod].name,
                    arc_length=q.arc_lengths[rod][node],
                    axes=LoadAxes.LOCAL,
                )
                for node, moment in zip(nodes, moments, strict=True)
            ]
            for size in (step, -step)
        ]
        slope = (values(both[0]) - values(both[1])) / (2.0 * step)
        np.testing.assert_allclose(held[:, i], slope, atol=1e-4 * np.abs(held).max())
