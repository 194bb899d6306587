# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The plant of the emulated haptic device, in simulated time, beside statics."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from soro_can_driver.emulator.device import read_hand
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.haptic_plant import GRIP_TIME, Hand, HapticPlant, MAX_STALL, RELEASED
from soro_emulation.perturbation import perturbed_robot
from soro_mechanics.core.errors import InvalidInput, RobotFileError
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels
GRIP = [400.0, 400.0, 400.0, 1.5, 1.5]  # N/m, N m/rad
ANGLE = np.array([0.2, -0.1, 0.0, 0.1, 0.0, -0.2])


def plant_of(folder, dynamics):
    """Return a plant of the robot file with this section ``dynamics``."""
    data = yaml.safe_load(Path(find_robot_file('haptic_5dof')).read_text(encoding='utf-8'))
    data['emulator']['can']['dynamics'] = dynamics
    file = folder / 'haptic_5dof.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return HapticPlant(str(file), 'can')


@pytest.fixture(scope='module')
def moving():
    return HapticPlant(str(find_robot_file('haptic_5dof')), 'can')


def test_held_long_enough_it_is_where_statics_put_it(moving):
    hand = read_hand(
        {'place': [0.01, 0.0, -0.005, 0.05, 0.0], 'stiffness': GRIP, 'force': [0, 0.5, 0, 0, 0]}
    )
    wrench = np.array([0.0, 0.0, -0.3, 0.0, 0.0, 0.0])
    for k in range(1500):
        state = moving.update(ANGLE * min(1.0, k / 200.0), hand, wrench, 1e-3 * k)
    description = read_robot_file(find_robot_file('haptic_5dof'))
    still = HapticDevice(
        perturbed_robot(description, read_emulator_settings(description, 'can').body)
    )
    still.restart(ANGLE)
    for _ in range(3):  # along its axes, which turn
        assert still.held(ANGLE, still.ports.axes.T @ state.wrench) is not None
    np.testing.assert_allclose(state.place, still.place(), atol=1e-6)
    np.testing.assert_allclose(state.elongation, still.ports.sensor, atol=1e-8)
    spring = np.array(GRIP[:3]) * (hand.place - state.place)[:3] + hand.force[:3] + wrench[:3]
    np.testing.assert_allclose(state.wrench[:3], spring, atol=1e-4)


def test_a_released_handle_swings_through_its_rest_and_settles(moving):
    pulled = read_hand({'force': [1.0, 0.0, 0.0, 0.0, 0.0]})
    begin = 100.0
    for k in range(1500):
        state = moving.update(np.zeros(6), pulled, None, begin + 1e-3 * k)
    out = state.place[0]
    places = []
    for k in range(1500):
        state = moving.update(np.zeros(6), RELEASED, None, begin + 1.5 + 1e-3 * k)
        places.append(state.place[0])
    rest = places[-1]
    assert out - rest > 3e-3
    assert min(places) < rest - 0.5 * (out - rest)  # a quasi-static one never comes there
    assert abs(state.wrench[0]) < 1e-9  # nobody there
    assert np.ptp(places[-100:]) < 0.02 * (out - rest)


def test_time_that_a_stall_took_is_lost_and_never_runs_back(tmp_path):
    stalled, steady = (plant_of(tmp_path, {'damping_ratio': '5 %'}) for _ in range(2))
    hand = read_hand({'force': [0.0, 1.0, 0.0, 0.0, 0.0]})
    for plant in (stalled, steady):
        rest = plant.update(np.zeros(6), RELEASED, None, 200.0).place
    moved = stalled.update(np.zeros(6), hand, None, 260.0).place
    for k in range(round(100 * MAX_STALL)):
        state = steady.update(np.zeros(6), hand, None, 200.01 + 1e-2 * k)
    # A minute late, it has moved for as long as a stall may count, and as a plant in time.
    np.testing.assert_allclose(moved, state.place, atol=2e-5)
    assert moved[1] - rest[1] > 2e-3
    late = stalled.update(np.zeros(6), hand, None, 260.0).time
    assert (late.wall, late.virtual) == pytest.approx((60.0, MAX_STALL))
    assert state.time.virtual == pytest.approx(state.time.wall)
    before = stalled.update(np.zeros(6), hand, None, 260.0).place
    np.testing.assert_array_equal(stalled.update(np.zeros(6), hand, None, 210.0).place, before)
    assert (
        0.0 < np.abs(stalled.update(np.zeros(6), hand, None, 260.001).place - before).max() < 2e-3
    )


def test_a_hand_on_its_way_has_the_speed_of_its_way():
    way = [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.01, 0.0, 0.0, 0.2, 0.0]]
    hand = read_hand({'way': way, 'stiffness': GRIP}, 10.0)
    np.testing.assert_allclose(hand.damping, GRIP_TIME * np.array(GRIP))
    here = hand.at(10.25)
    np.testing.assert_allclose(here.place, [0.005, 0.0, 0.0, 0.1, 0.0])
    np.testing.assert_allclose(here.speed, [0.02, 0.0, 0.0, 0.4, 0.0])
    for outside in (9.0, 11.0):
        np.testing.assert_array_equal(hand.at(outside).speed, np.zeros(5))
    given = read_hand({'stiffness': GRIP, 'damping': [1, 1, 1, 0, 0], 'mass': [0.1, 0, 0, 0, 0]})
    np.testing.assert_allclose(given.damping, [1, 1, 1, 0, 0])
    assert given.mass[0] == 0.1
    with pytest.raises(InvalidInput, match='mass'):
        read_hand({'mass': [-0.1, 0.0, 0.0, 0.0, 0.0]})
    assert isinstance(hand, Hand)


def test_a_wrong_damping_ratio_is_refused(tmp_path):
    with pytest.raises(RobotFileError, match='damping_ratio'):
        plant_of(tmp_path, {'damping_ratio': '150 %'})
