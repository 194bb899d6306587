# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Contacts against an ODE of a point mass, statics, friction on a slope, and their own energy."""

from dynamics_cases import NOTHING
from network_cases import body, ground, LENGTH, pose, rod, section
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from soro_mechanics import InvalidInput
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.contact import Ball, Solid, write_contacts
from soro_mechanics.dynamics.contact_kernels import add_contacts
from soro_mechanics.dynamics.motion import new_motion
from soro_mechanics.dynamics.simulation import simulate_stepper
from soro_mechanics.dynamics.step_laws import generalised_alpha
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.models.network.arrays import new_state
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.numerics import lie_kernels

MASS, AXIAL, G = 0.1, 1e-3, 9.81  # kg, N, m/s^2
STIFFNESS, LOSS = 1e4, 0.2


def tethered(solids, **options):
    """Return a stepper of a ball that a rod of next to no stiffness holds at z = LENGTH."""
    of = section(shear=AXIAL, axial=AXIAL, bending=(1e-4, 1e-4), torsion=1e-4)
    heavy = body('tip', mass=MASS)
    heavy = type(heavy)('tip', None, MASS, np.zeros(3), 1e-4 * np.eye(3))
    one = rod(of=of, pieces=1)
    spec = NetworkSpec((ground(), heavy), (one,), (), 'tip', np.eye(4))
    given = {'tolerance': 1e-5, 'retardation': 0.0, 'rotary_inertia': False, **options}
    stepper = Stepper(spec, NOTHING, Options(solids=solids, **given))
    stepper.rest(NOTHING, LoadCase())
    return stepper


def run(stepper, duration, step, gravity):
    down = np.array(gravity)
    return simulate_stepper(
        stepper, duration, step, lambda t: NOTHING, lambda t: LoadCase(gravity=down)
    )


def floor(height, **law):
    return Solid('plane', pose((0.0, 0.0, height)), **{'stiffness': STIFFNESS, **law})


def test_a_ball_bounces_as_a_point_mass_with_the_law_of_hunt_and_crossley():
    fall, radius = 0.05, 0.02
    height = LENGTH - fall - radius
    stepper = tethered((floor(height, dissipation=LOSS),), balls=(Ball(radius=radius),))
    motion = run(stepper, 0.35, 2.5e-4, [0.0, 0.0, -G])

    def rates(t, y):
        deep = max(height + radius - y[0], 0.0)
        force = STIFFNESS * deep**1.5 * max(0.0, 1.0 - LOSS * y[1])
        return [y[1], force / MASS - G - AXIAL / LENGTH * (y[0] - LENGTH) / MASS]

    exact = solve_ivp(
        rates, (0.0, 0.35), [LENGTH, 0.0], t_eval=motion.time, rtol=1e-9, atol=1e-11, max_step=1e-3
    )
    z, speed = motion.tip[:, 2, 3], motion.tip_twist[:, 2]
    np.testing.assert_allclose(z, exact.y[0], atol=1e-4)
    bounce = speed.max() / -speed.min()
    assert bounce == pytest.approx(exact.y[1].max() / -exact.y[1].min(), abs=2e-3)
    # what Hunt and Crossley give for low speeds
    assert bounce == pytest.approx(1.0 + 2.0 / 3.0 * LOSS * speed.min(), abs=0.02)
    assert motion.contact.max() > 0.5 * MASS * G * fall
    assert motion.dissipated[-1] > 0.1 * MASS * G * fall
    assert np.abs(motion.balance).max() < 5e-3 * MASS * G * fall


def test_a_ball_at_rest_presses_with_its_weight():
    stepper = tethered((floor(LENGTH - 1e-3),), drag=60.0, spectral_radius=0.0)
    run(stepper, 1.0, 2e-3, [0.0, 0.0, -G])
    np.testing.assert_allclose(stepper.contacts[0, 0], [0.0, 0.0, MASS * G], atol=2e-5)
    deep = LENGTH - 1e-3 - stepper.tip[2, 3]
    assert deep == pytest.approx((MASS * G / STIFFNESS) ** (2.0 / 3.0), rel=1e-4)


def slide(angle, duration, step=1e-3):
    """Let the ball go on a slope, pressed in as its weight asks."""
    press = MASS * G * np.cos(angle)
    height = LENGTH + (press / STIFFNESS) ** (2.0 / 3.0)
    stepper = tethered((floor(height, friction=0.5, slip=1e-3),))
    motion = run(stepper, duration, step, [G * np.sin(angle), 0.0, -G * np.cos(angle)])
    return motion, stepper, press


def test_friction_holds_a_ball_within_its_cone():
    angle = np.deg2rad(20.0)
    motion, stepper, press = slide(angle, 0.1)
    force = stepper.contacts[0, 0]
    assert force[0] == pytest.approx(-MASS * G * np.sin(angle), rel=1e-3)
    assert -force[0] < 0.5 * force[2]
    # it creeps as the regularised law says
    part = np.tan(angle) / 0.5
    assert motion.tip_twist[-1, 0] == pytest.approx(1e-3 * part / np.sqrt(1.0 - part**2), rel=5e-3)


def test_a_ball_slides_down_a_steep_slope_and_heats_it():
    angle, time = np.deg2rad(40.0), 0.15
    motion, _, press = slide(angle, time, 2.5e-4)
    exact = solve_ivp(
        lambda t, y: [
            y[1],
            G * (np.sin(angle) - 0.5 * np.cos(angle) * y[1] / np.hypot(y[1], 1e-3)),
        ],
        (0.0, time),
        np.zeros(2),
        rtol=1e-8,
        atol=1e-10,
    )
    way = motion.tip[-1, 0, 3]
    assert way == pytest.approx(exact.y[0, -1], rel=3e-3)
    assert motion.dissipated[-1] == pytest.approx(0.5 * press * way, rel=0.02)
    assert np.abs(motion.balance).max() < 0.01 * motion.dissipated[-1]


SOLIDS = [
    (Solid('plane', pose((0.0, 0.1, 0.0))), (0.3, 0.2, -2e-3)),
    (Solid('sphere', pose((0.1, 0.0, 0.0)), np.array([0.05, 0.0, 0.0])), (0.13, 0.038, 0.0)),
    (Solid('box', size=np.array([0.2, 0.4, 0.1])), (0.02, -0.03, 0.049)),  # a face, from within
    (Solid('box', size=np.array([0.2, 0.4, 0.1])), (0.104, 0.05, 0.052)),  # an edge
    (Solid('box', size=np.array([0.2, 0.4, 0.1])), (-0.103, 0.203, 0.051)),  # a corner
]


def touched(solid, ball, place, move=None, turn=0.4):
    """Return motion, inputs and state of a ball on a body that has moved by `move` in a step."""
    stepper = tethered(())
    m = new_motion(stepper.layout.structure, 1, 1)
    write_contacts(stepper.layout, (solid,), (ball,), m)
    state, x = new_state(stepper.layout.structure), stepper.inputs
    c, s = np.cos(turn), np.sin(turn)
    state.body[1] = pose(rotation=[[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    state.body[1][:3, 3] = place - state.body[1][:3, :3] @ ball.place
    x.follower[:] = 0.0
    if move is not None:
        m.law[:] = generalised_alpha(1e-3, 0.8)
        shift = np.empty((4, 4))
        lie_kernels.se3_exp(move, shift)
        state.body[1] = state.body[1] @ shift
        m.body_move[1] = move
        m.body_free[1, 0] = [1e-4, -2e-4, 1e-3, 0.0, 0.0, 0.0]
    add_contacts(state, x, m)
    return m, x, state


@pytest.mark.parametrize(('solid', 'place'), SOLIDS)
def test_a_force_is_the_gradient_of_what_is_stored(solid, place):
    ball = Ball(place=np.array([0.01, 0.02, -0.03]), radius=6e-3)
    m, x, state = touched(solid, ball, np.array(place))
    force, eps = m.touch.force[0, 0].copy(), 1e-7
    slope = [
        touched(solid, ball, place + eps * axis)[0].touch.stored[0, 0]
        - touched(solid, ball, place - eps * axis)[0].touch.stored[0, 0]
        for axis in np.eye(3)
    ]
    assert np.linalg.norm(force) > 1.0
    np.testing.assert_allclose(force, -np.array(slope) / (2.0 * eps), rtol=1e-5, atol=1e-4)
    # the wrench is that force at the ball: a frictionless one passes through its centre
    turned = state.body[1][:3, :3].T @ force
    np.testing.assert_allclose(x.follower[1], [*turned, *np.cross(ball.place, turned)], atol=1e-9)


@pytest.mark.parametrize('solid', [SOLIDS[0][0], SOLIDS[2][0]])
def test_the_tangent_is_the_derivative_of_the_wrench(solid):
    place = np.array([0.02, -0.03, 0.049 if solid.shape == 'box' else -2e-3])
    ball, eps = Ball(place=np.array([0.01, 0.02, -0.03])), 5e-10
    tangent = touched(solid, ball, place, np.zeros(6))[0].body_tangent[1]
    for j, axis in enumerate(np.eye(6)[:3]):
        more, less = (touched(solid, ball, place, s * eps * axis)[1].follower[1] for s in (1, -1))
        np.testing.assert_allclose(
            tangent[:, j], (less - more) / (2.0 * eps), atol=1e-5 * np.abs(tangent).max()
        )


@pytest.mark.parametrize(
    ('field', 'options'),
    [
        ('solids.shape', {'solids': (Solid('cone'),)}),
        ('solids', {'solids': (Solid('plane', slip=0.0),)}),
        ('solids', {'solids': (Solid('plane', stiffness=np.nan),)}),
        ('balls.body', {'solids': (Solid('plane'),), 'balls': (Ball('elbow'),)}),
    ],
)
def test_contacts_of_the_wrong_kind_are_refused(field, options):
    with pytest.raises(InvalidInput) as error:
        tethered(**{'solids': (), **options})
    assert error.value.field == field
