# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A Maxwell branch against the standard linear solid in closed form; events against free fall."""

from dynamics_cases import beam, NOTHING, swing
from network_cases import body, ground, LENGTH, rod, section
import numpy as np
import pytest

from soro_mechanics import InvalidInput
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.inertia_kernels import append_step
from soro_mechanics.dynamics.simulation import simulate_stepper
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.numerics import lie_kernels

AXIAL, BRANCH, RELAXATION = 300.0, 2.0, 0.05


def viscous():
    """Return a stepper of a rod along z that is next to massless, with a branch."""
    one = rod(of=section(mass=1e-5, shear=AXIAL, axial=AXIAL), pieces=2)
    spec = NetworkSpec((ground(), body('tip')), (one,), (), 'tip', np.eye(4))
    options = Options(
        tolerance=1e-9,
        retardation=0.0,
        branch=BRANCH,
        relaxation=RELAXATION,
        spectral_radius=0.0,
        rotary_inertia=False,
    )
    stepper = Stepper(spec, NOTHING, options)
    stepper.rest(NOTHING, LoadCase())
    return stepper


def test_a_pulled_rod_creeps_as_a_standard_linear_solid():
    force, step = 1.0, 2e-4
    pull = np.array([0.0, 0.0, force, 0.0, 0.0, 0.0])
    motion = simulate_stepper(
        viscous(), 0.3, step, lambda t: NOTHING, lambda t: LoadCase(pull * (t > 0.0))
    )
    part = BRANCH / (1.0 + BRANCH) * np.exp(-motion.time / (RELAXATION * (1.0 + BRANCH)))
    strain = motion.tip[:, 2, 3] / LENGTH - 1.0
    np.testing.assert_allclose(strain[20:], force / AXIAL * (1.0 - part[20:]), rtol=2e-3)
    # all that the creep after the first stretch takes from the load is stored or lost
    work = force * LENGTH * (strain[-1] - strain[20])
    put = motion.work[-1] - motion.work[20]
    assert put == pytest.approx(work, rel=2e-3)
    assert abs(motion.balance[-1] - motion.balance[20]) < 5e-3 * work


def test_a_held_stretch_relaxes_as_a_standard_linear_solid():
    """Under the force that a ramp of the strain and a hold take, the strain is that."""
    force, ramp, step = 0.5, 0.02, 5e-4
    stepper = viscous()

    rate = force / AXIAL / ramp

    def stress(t):
        memory = BRANCH * RELAXATION * (1.0 - np.exp(-min(t, ramp) / RELAXATION))
        memory *= np.exp(-max(t - ramp, 0.0) / RELAXATION)
        return AXIAL * rate * (min(t, ramp) + memory)

    for k in range(400):
        t = (k + 1) * step
        load = np.array([0.0, 0.0, stress(t), 0.0, 0.0, 0.0])
        assert stepper.step(step, NOTHING, LoadCase(load)).taken
        expected = 1.0 + rate * min(t, ramp)
        if k > 10:
            assert stepper.tip[2, 3] / LENGTH == pytest.approx(expected, abs=2e-3 * rate * ramp)


def test_moves_add_up_as_their_exponentials_do():
    rng, work = np.random.default_rng(3), np.empty(6)
    for size in (0.0, 0.05):
        move, step = size * rng.normal(size=6), 3e-4 * rng.normal(size=6)
        g, h, exact = np.empty((4, 4)), np.empty((4, 4)), np.empty(6)
        lie_kernels.se3_exp(move, g)
        lie_kernels.se3_exp(0.7 * step, h)
        lie_kernels.se3_log(g @ h, exact)
        append_step(move, step, 0.7, work)
        np.testing.assert_allclose(move, exact, atol=1e-6 * size)


def falling(events, **options):
    """Let a heavy tip fall that next to nothing holds."""
    of = section(shear=1e-3, axial=1e-3, bending=(1e-4, 1e-4), torsion=1e-4)
    tip = type(body('tip'))('tip', None, 0.1, np.zeros(3), 1e-4 * np.eye(3))
    one = rod(of=of, pieces=1)
    spec = NetworkSpec((ground(), tip), (one,), (), 'tip', np.eye(4))
    given = {'tolerance': 1e-5, 'retardation': 0.0, 'rotary_inertia': False}
    stepper = Stepper(spec, NOTHING, Options(**given, **options))
    stepper.rest(NOTHING, LoadCase())
    down = np.array([0.0, 0.0, -9.81])
    return simulate_stepper(
        stepper, 0.15, 4e-3, lambda t: NOTHING, lambda t: LoadCase(gravity=down), events=events
    )


def below(depth):
    return lambda t, moving: moving.tip[2, 3] - LENGTH + depth


def test_events_are_found_at_their_times_and_do_not_disturb():
    ends = below(0.09)
    ends.terminal = True
    rises = below(0.03)
    rises.direction = 1
    motion = falling((below(0.02), rises, ends, below(0.1)))
    assert [len(e) for e in motion.events] == [1, 0, 1, 0]
    for events, depth in zip(motion.events[::2], (0.02, 0.09), strict=True):
        assert events[0].time == pytest.approx(np.sqrt(2.0 * depth / 9.81), abs=2e-5)
        assert events[0].tip[2, 3] == pytest.approx(LENGTH - depth, abs=1e-7)
        assert events[0].tip_twist[2] == pytest.approx(-np.sqrt(2.0 * 9.81 * depth), rel=1e-3)
    assert motion.time[-1] == events[0].time
    assert motion.message
    alone = falling(())
    assert not alone.events
    np.testing.assert_array_equal(motion.tip[:-1], alone.tip[: len(motion.time) - 1])


def test_an_event_that_is_no_number_is_refused():
    with pytest.raises(InvalidInput) as error:
        falling((lambda t, moving: np.nan,))
    assert error.value.field == 'events'


def test_a_moment_comes_back_whole():
    def push(t):
        return np.array([0.3 * np.sin(30.0 * t), 0.0, 0.0, 0.0, 0.0, 0.0])

    _, stepper = swing(beam(4), 0.02, 1e-3, push, branch=0.5, relaxation=0.02)
    back, tips = stepper.save(), []
    for _ in range(2):
        for k in range(5):
            assert stepper.step((k % 2 + 1) * 5e-4, NOTHING, LoadCase(push(0.01 * k))).taken
        tips.append(stepper.tip)
        back()
    np.testing.assert_array_equal(*tips)
