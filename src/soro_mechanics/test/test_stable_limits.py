# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of what a haptic device renders: where they come from, and that nothing passes them."""

import math

import numpy as np
import pytest
from scipy.linalg import expm

from soro_mechanics import load_robot
from soro_mechanics.core.errors import UnknownName
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.hand_impedance import HANDS
from soro_mechanics.haptics.linear_loop import (
    _exponential,
    resisting_radius,
    sliding_radius,
    spectral_radius,
)
from soro_mechanics.haptics.rendering import rendering_setup
from soro_mechanics.haptics.stable_limits import DELAY, stable_limits
from soro_mechanics.haptics.virtual_environment import (
    ContactFeel,
    Control,
    PRESETS,
    published_environment,
    Shape,
    VirtualObject,
)

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels
PERIOD = 0.002


def numbers(thing):
    return thing.stiffness, thing.rotational_stiffness, thing.damping


@pytest.fixture(scope='module')
def limits_of():
    device = HapticDevice(load_robot('haptic_5dof'))
    setup = rendering_setup(PERIOD, device.motor_limits(), 17.0)
    return {hand: stable_limits(device, setup, hand) for hand in HANDS}


def test_the_softer_the_hand_the_lower_the_limits(limits_of):
    stiffest = [limits_of[hand].stiffness for hand in HANDS]
    assert stiffest == sorted(stiffest) and math.isinf(stiffest[-1])
    # Below what legs that move with all their modes bear (docs/evidence/plant_assumptions.md): as
    # told, 20 % stiffer, 20 % softer, with 2 % of damping.
    assert 230.0 < limits_of['fingertip'].stiffness < min(348.0, 330.0, 373.0, 305.0)
    # Below what is stable on the full model (`soro_studies.haptics.z_width`).
    assert 0.7 * 148.0 < limits_of['none'].stiffness < 148.0
    assert limits_of['light_grip'].stiffness < 2700.0
    with pytest.raises(UnknownName, match='expected_hand'):
        stable_limits(HapticDevice(load_robot('haptic_5dof')), None, 'robot')


@pytest.mark.parametrize('hand', ['none', 'fingertip', 'light_grip'])
def test_everything_within_the_limits_is_stable_on_the_linear_loop(limits_of, hand):
    limits = limits_of[hand]
    across, turns = limits.translations, limits.turns  # of every device they hold for
    for d in across:
        for stiffness in np.geomspace(limits.softest, limits.stiffness, 15):
            assert spectral_radius(d, stiffness, PERIOD, DELAY) < 1.0
            if stiffness > 100.0:  # damping of what gives way more is another matter
                damping = limits.damping(stiffness)
                assert spectral_radius(d, stiffness, PERIOD, DELAY, damping) < 1.0
        # Half of it rings: giving way is a feedback whose gain the delay limits.
        assert max(spectral_radius(d, 0.5 * limits.softest, PERIOD, DELAY) for d in across) > 1.0
        coupling = ContactFeel().coupling
        assert sliding_radius(d, limits.sliding, coupling, PERIOD, DELAY) < 1.0 + 1e-9
        assert resisting_radius(d, limits.resisting, PERIOD, DELAY) < 1.0 + 1e-9
    for d in turns:
        stiffness = min(limits.rotational_stiffness, 1e3)
        assert spectral_radius(d, stiffness, PERIOD, DELAY) < 1.0


@pytest.mark.parametrize('preset', PRESETS)
def test_no_preset_passes_the_limits(limits_of, preset):
    limits = limits_of['fingertip']
    environment, said = limits.environment(published_environment(preset, np.eye(4)))
    for thing in environment.objects:
        assert thing.name in said and 'fingertip' in said and 'expected_hand' in said
        if thing.shape is Shape.ANGLE_LIMIT:
            assert 0.0 < thing.rotational_stiffness <= limits.rotational_stiffness
        else:
            assert 0.0 < thing.stiffness <= limits.stiffness
            assert thing.rotational_stiffness <= limits.rotational_stiffness
    assert bool(said) is (preset != 'free')


@pytest.mark.parametrize('shape', [shape for shape in Shape if shape is not Shape.FIELD])
@pytest.mark.parametrize('control', list(Control))
# Every stiffness with every second damping, and the other way round.
@pytest.mark.parametrize(
    ('asked', 'damping'),
    [
        (asked, damping)
        for i, asked in enumerate([1e-3, 100.0, 346.0, 1e4, 1e9])
        for j, damping in enumerate([0.0, 1e-6, 1.0, 1e6])
        if (i + j) % 2 == 0
    ],
)
def test_no_request_passes_the_limits(limits_of, shape, control, asked, damping):
    if control is Control.ADMITTANCE and shape not in (Shape.WALL, Shape.LINE, Shape.CIRCLE):
        return
    limits = limits_of['fingertip']
    thing = VirtualObject(
        'x',
        shape,
        control,
        size=[0.1, 0.1, 0.1],
        stiffness=asked,
        rotational_stiffness=asked,
        damping=damping,
    )
    environment, said = limits.environment([thing])
    (rendered,) = environment.objects
    made = environment.compiled
    if shape is not Shape.ANGLE_LIMIT:
        expected = min(max(asked, limits.softest), limits.stiffness)
        assert rendered.stiffness == expected == made.stiffness[0]
        assert made.surface_damping[0] <= max(limits.damping(rendered.stiffness), 0.0)
    turning = min(max(asked, limits.rotational_softest), limits.rotational_stiffness)
    assert rendered.rotational_stiffness == turning == made.rotational_stiffness[0]
    if control is Control.ADMITTANCE and damping > 0.0:
        assert made.damping[0] >= limits.sliding
    elif control is Control.ADMITTANCE:  # on a circle a push turns with the hand, late
        assert (made.damping[0] > ContactFeel().default_damping) == (shape is Shape.CIRCLE)
    elif shape in (Shape.LINE, Shape.CIRCLE):
        assert made.damping[0] <= limits.resisting
    changed = numbers(rendered) != numbers(thing) or made.surface_damping[0] != damping
    assert (said != '') or not changed


def test_what_the_hand_bears_is_left_alone(limits_of):
    objects = [VirtualObject('soft', Shape.WALL, stiffness=200.0, damping=1.0)]
    environment, said = limits_of['light_grip'].environment(objects)
    assert [*map(numbers, environment.objects)] == [*map(numbers, objects)] and said == ''
    stiff = published_environment('hold', np.eye(4))
    environment, said = limits_of['firm_grip'].environment(stiff)
    assert [*map(numbers, environment.objects)] == [*map(numbers, stiff)] and said == ''


def test_a_field_resists_no_more_than_the_hand_bears(limits_of):
    limits = limits_of['fingertip']
    for asked in (1.0, 100.0):
        environment, said = limits.environment([VirtualObject('f', Shape.FIELD, damping=asked)])
        assert environment.objects[0].damping == min(asked, limits.resisting)
        assert bool(said) is (asked > limits.resisting)


def test_what_resists_in_one_direction_shares_what_the_hand_bears(limits_of):
    limits = limits_of['fingertip']
    fields = [VirtualObject(f'f{k}', Shape.FIELD, damping=100.0) for k in range(2)]
    guide = VirtualObject('g', Shape.LINE, damping=100.0)
    for objects in (fields, [fields[0], guide], [*fields, guide]):
        environment, said = limits.environment(objects)
        assert all(o.name in said for o in objects)
        environment.live.add_wrench(np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
        forces = []
        for speed in (0.0, 0.2):
            moving = np.array([0.0, 0.0, speed, 0.0, 0.0, 0.0])
            for _ in range(200):  # until all of the wrench is added
                environment.update(np.eye(4), np.zeros(6), moving, PERIOD)
            forces.append(environment.force[2])
        total = (forces[1] - forces[0]) / 0.2
        assert 0.0 < total <= limits.resisting * (1.0 + 1e-9)
    alone, _ = limits.environment([*fields[:1], VirtualObject('w', Shape.WALL, damping=1.0)])
    assert alone.objects[0].damping == limits.resisting


def test_a_rigid_surface_that_is_softened_gets_no_damping(limits_of):
    rigid = VirtualObject('w', Shape.LINE, Control.ADMITTANCE, damping=20.0)
    environment, _ = limits_of['fingertip'].environment([rigid])
    made = environment.compiled
    assert (made.damping[0], made.surface_damping[0]) == (20.0, 0.0)


def test_the_exponential_is_scipys():
    random = np.random.default_rng(0)
    for size in (1e-6, 1.0, 30.0):
        matrix = size * random.normal(size=(4, 4))
        exact = expm(matrix)
        np.testing.assert_allclose(
            _exponential(matrix), exact, rtol=1e-9, atol=1e-11 * np.abs(exact).max()
        )
