# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Networks in motion against beams, momenta, energy, an ODE of rigid links, and their statics."""

from dataclasses import replace
import gc
import json
from pathlib import Path
import weakref

from dynamics_cases import beam, flight, MASS, momentum, NOTHING, PRECISE, swing
from network_cases import BENDING, body, end, ground, LENGTH, pose, rod, section
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from soro_mechanics.core.configuration import Load, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.dynamics.modes import modes, shape
from soro_mechanics.dynamics.simulation import as_signal, simulate_stepper
from soro_mechanics.dynamics.step_laws import generalised_alpha
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.models.network.description.spec import DriveSpec, NetworkSpec
from soro_mechanics.models.network.equilibrium import Problem
from soro_mechanics.models.network.frequencies import natural_frequencies
from soro_mechanics.models.network.linearisation import Linearisation

FIRST = 1.8751041**2 * np.sqrt(BENDING / (MASS * LENGTH**4)) / (2.0 * np.pi)


def push(t):
    """Bend the tip far and smoothly within 50 ms."""
    part = np.sin(np.pi * min(t, 0.05) / 0.05) ** 2
    return part * np.array([1.0, 0.3, 0.0, 0.0, 0.0, 0.0])


def nothing(t):
    return np.zeros(6)


def frequency(y, step):
    """Return the frequency of a signal from its upward passages through zero."""
    i = np.flatnonzero((y[:-1] < 0.0) & (y[1:] >= 0.0))
    at = i - y[i] / (y[i + 1] - y[i])
    return (len(at) - 1) / (at[-1] - at[0]) / step


@pytest.mark.parametrize('radius', [0.0, 0.5, 0.8, 1.0])
def test_an_oscillator_keeps_at_most_the_spectral_radius_of_its_fastest_modes(radius):
    for stiffness in (1e-6, 1.0, 1e8):
        law = generalised_alpha(1.0, radius)
        # v' + k (x + D) = 0 at the end
        move = -np.array([stiffness, *law[2, 1:]]) / (law[2, 0] + stiffness)
        rows = [[1.0, 0.0, 0.0, 0.0] + move]
        rows += [law[i, 0] * move + [0.0, *law[i, 1:]] for i in range(3)]
        size = np.abs(np.linalg.eigvals(np.array(rows))).max()
        assert size <= 1.0 + 1e-6
        if stiffness == 1e8:
            assert size == pytest.approx(radius, abs=5e-3)


def test_a_small_swing_has_the_frequency_of_a_beam_and_keeps_its_energy():
    step = 4e-3
    spec = beam(40, stiff=3e6)
    motion, _ = swing(spec, 2.0, step, nothing, [1e-3, 0, 0, 0, 0, 0], spectral_radius=1.0)
    assert frequency(motion.tip[:, 0, 3], step) == pytest.approx(FIRST, rel=8e-3)
    assert np.abs(motion.balance).max() < 2e-3 * motion.strain[0]
    assert motion.kinetic.max() == pytest.approx(motion.strain[0], rel=0.02)


def test_small_motions_of_a_loaded_beam_have_its_natural_frequencies():
    load, down, step = np.array([0.3, 0, -0.5, 0, 0, 0]), np.array([0, 0, -9.81]), 2e-3

    def kick(t):
        return load + np.sin(np.pi * min(t / 0.1, 1.0)) * np.array([1e-4, 2e-4, 0, 0, 0, 0])

    motion, stepper = swing(beam(), 1.6, step, kick, gravity=down, spectral_radius=1.0)
    stepper.rest(NOTHING, LoadCase(load, gravity=down))
    linear = Linearisation(stepper.layout, stepper.inputs, stepper.state, stepper.layout.work())
    in_plane, across = (frequency(y - y.mean(), step) for y in motion.tip[60:, :2, 3].T)
    expected = natural_frequencies(linear, 2)
    np.testing.assert_allclose(sorted([in_plane, across]), expected, rtol=1.5e-3)


def test_second_order_in_the_step():
    tips, lost = [], []
    for step in (1e-3, 5e-4, 2.5e-4, 1.25e-4):
        motion, _ = swing(beam(), 0.1, step, push)
        tips.append(motion.tip[-1])
        lost.append(abs(motion.balance[-1]))
        assert motion.work[-1] > 0.08  # J
    gaps = [np.linalg.norm(a[:3, 3] - b[:3, 3]) for a, b in zip(tips, tips[1:], strict=False)]
    assert gaps[1] / gaps[2] == pytest.approx(4.0, rel=0.15)
    assert lost[1] / lost[2] == pytest.approx(4.0, rel=0.1)
    assert gaps[2] < 1e-4 * LENGTH


def test_half_the_step_and_twice_the_elements_change_little():
    coarse, _ = swing(beam(20), 0.1, 1e-3, push)
    fine, _ = swing(beam(40), 0.1, 5e-4, push)
    assert np.linalg.norm(coarse.tip[-1, :3, 3] - fine.tip[-1, :3, 3]) < 5e-3 * LENGTH


def test_chosen_steps_keep_their_tolerance():
    exact, _ = swing(beam(), 0.1, 2e-4, push)
    errors = []
    for tolerance in (1e-5, 1e-6):
        motion, _ = swing(beam(), 0.1, 5e-3, push, tolerance=tolerance)
        assert motion.time[-1] == pytest.approx(0.1)
        errors.append(np.linalg.norm(motion.tip[-1, :3, 3] - exact.tip[-1, :3, 3]))
    assert errors[0] < 4e-4
    assert errors[1] < 0.5 * errors[0]


def test_retardation_damps_a_mode_by_half_of_it_times_its_frequency():
    step, retardation = 4e-3, 4e-3
    motion, _ = swing(
        beam(20, stiff=3e6),
        1.6,
        step,
        nothing,
        [1e-3, 0, 0, 0, 0, 0],
        retardation=retardation,
        spectral_radius=1.0,
    )
    x = motion.tip[:, 0, 3]
    peaks = np.flatnonzero((x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:])) + 1
    decrement = np.log(x[peaks[0]] / x[peaks[-1]]) / (len(peaks) - 1)
    ratio = decrement / np.hypot(decrement, 2.0 * np.pi)
    omega = 2.0 * np.pi * frequency(x, step)
    assert ratio == pytest.approx(0.5 * retardation * omega, rel=0.03)
    assert abs(motion.balance[-1]) < 2e-2 * motion.strain[0]


def test_a_free_flight_keeps_momentum_and_angular_momentum():
    drifts = []
    for step in (1e-3, 5e-4):
        of = section(mass=MASS, shear=300.0, axial=300.0)
        twist = [0.3, -0.2, 0.1, 3.0, 2.0, 9.0]
        _, seen = flight(6, step, round(0.2 / step), twist=twist, of=of)
        first = seen[0][0]
        drifts.append(
            np.abs(seen[-1][0] - first)
            / [*[np.linalg.norm(first[:3])] * 3, *[np.linalg.norm(first[3:])] * 3]
        )
    assert np.max(drifts[0]) < 1e-3
    assert np.max(drifts[1]) < 0.3 * np.max(drifts[0])


def test_a_pushed_flying_beam_has_the_momentum_of_the_impulse():
    """Beam of Simo and Vu-Quoc 1986 (J. Appl. Mech. 53(4)): E I = 500, G A = E A = 1e4, L = 10."""
    of = section(mass=1.0, radius=np.sqrt(40.0), shear=1e4, axial=1e4, bending=(500.0, 500.0))

    def wrench(t):
        part = max(0.0, 1.0 - abs(t / 2.5 - 1.0))
        return part * np.array([8.0, 0.0, 0.0, 0.0, 80.0, 0.0])

    step = 0.05
    stepper, seen = flight(10, step, 160, wrench, of=of, length=10.0, rotary_inertia=True)
    last = seen[-1][0]
    np.testing.assert_allclose(last[:3], [20.0, 0.0, 0.0], atol=0.08)
    loads = [wrench(step * k) for k in range(len(seen))]
    torque = [w[3:] + np.cross(tip[:3, 3], w[:3]) for w, (_, tip) in zip(loads, seen, strict=True)]
    np.testing.assert_allclose(last[3:], step * np.sum(torque, axis=0), atol=0.5)
    assert np.linalg.norm(momentum(stepper)) > 100.0


def test_drag_takes_momentum_away_exponentially():
    _, seen = flight(4, 2e-3, 200, twist=[1.0, 0.5, 0, 0, 0, 0], drag=3.0)
    np.testing.assert_allclose(
        seen[-1][0][:3], np.exp(-1.2) * seen[0][0][:3], rtol=2e-5, atol=1e-12
    )


def test_a_step_response_is_that_of_exudyn():
    """A force across the tip at once: planar beams of exudyn 1.13.6 by `peer_motion.exudyn_path`.

    x and z every 20 ms, extrapolated from 40 and 80 elements, 2 and 1 ms: 5 ms of retardation.
    """
    file = Path(__file__).with_name('exudyn_step.json')
    expected, down = np.array(json.loads(file.read_text())), np.array([0.0, 0.0, -9.81])
    stepper, path = Stepper(beam(40), NOTHING, Options()), []
    stepper.rest(NOTHING, LoadCase(gravity=down))
    stepper.fit(modes(stepper, 1).frequency[0])
    for _ in range(len(expected)):
        for _ in range(10):
            assert stepper.step(2e-3, NOTHING, LoadCase(0.2 * np.eye(6)[0], gravity=down)).taken
        path.append(stepper.tip[[0, 2], 3])
    assert np.ptp(expected[:, 0]) > 0.1
    off = np.linalg.norm(np.array(path) - expected, axis=1).max()
    assert off < 2e-4, f'{1e3 * off:.3f} mm'


def test_a_stepper_that_is_gone_leaves_no_array():
    stepper = Stepper(beam(4), NOTHING, Options())
    stepper.rest(NOTHING, LoadCase())
    for _ in range(3):
        assert stepper.step(2e-3, NOTHING, LoadCase(0.1 * np.eye(6)[0])).taken
    kept = [
        weakref.ref(a) for a in (stepper.work.scratch, stepper.motion.load, stepper.state.node)
    ]
    del stepper
    gc.collect()
    assert [a() for a in kept] == [None] * 3


def links(count, weight, bending):
    """Return the rates of angles and speeds of rigid links with springs, clamped along z."""
    size = LENGTH / count
    mass = MASS * size
    index = np.arange(count)
    # place of mass j, the middle of link j: sum of links before it and half of its own
    arms = size * np.where(
        index[None] < index[:, None], 1.0, 0.5 * (index[None] == index[:, None])
    )
    coupling = mass * arms.T @ arms + np.diag(np.full(count, mass * size**2 / 12.0))
    spring = np.full(count, bending / size)
    spring[0] *= 2.0

    def rates(t, y):
        angle, speed = y[:count], y[count:]
        apart = angle[:, None] - angle[None]
        bend = spring * np.diff(angle, prepend=0.0)
        moment = np.append(bend[1:], 0.0) - bend + weight * mass * arms.sum(axis=0) * np.cos(angle)
        moment -= (coupling * np.sin(apart)) @ speed**2
        return np.concatenate([speed, np.linalg.solve(coupling * np.cos(apart), moment)])

    return rates


def test_a_large_swing_is_that_of_rigid_links_with_springs():
    """A soft beam along z is let go under a weight across it, and swings by more than a radian."""
    count, bending, time = 16, 3e-3, 0.25
    found = solve_ivp(
        links(count, 9.81, bending),
        (0.0, time),
        np.zeros(2 * count),
        'LSODA',
        rtol=1e-7,
        atol=1e-9,
    )
    angle = found.y[:count, -1]
    assert angle[-1] > 1.0
    expected = LENGTH / count * np.array([np.sin(angle).sum(), 0.0, np.cos(angle).sum()])
    spec = beam(count, stiff=3e4, bending=(bending, bending))
    stepper = Stepper(spec, NOTHING, Options(**PRECISE, retardation=0.0))
    down = np.array([9.81, 0.0, 0.0])
    stepper.rest(NOTHING, LoadCase())
    for _ in range(250):
        assert stepper.step(time / 250, NOTHING, LoadCase(gravity=down)).taken
    np.testing.assert_allclose(stepper.tip[:3, 3], expected, atol=0.01 * LENGTH)


def test_it_settles_to_the_static_solution():
    load, down = np.array([0.5, 0.1, 0, 0, 0, 0.01]), np.array([0.0, 2.0, -9.81])
    _, stepper = swing(
        beam(),
        12.0,
        0.05,
        lambda t: load,
        np.zeros(6),
        down,
        spectral_radius=0.0,
        retardation=0.02,
    )
    problem = Problem(NOTHING, LoadCase(load, (), down))
    still = stepper.equilibrium.newton(stepper.equilibrium.inputs(problem), stepper.state)
    assert still.converged
    np.testing.assert_allclose(stepper.tip, still.state.body[1], atol=1e-9)


def test_actuators_put_in_what_is_stored_and_lost():
    """A four-bar of two rods and a bar: motor, fed length, rest strain, tension; all at once."""
    of = section(mass=MASS, shear=3e3, axial=3e3)
    tilted = np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    left = rod('left', end('ground', motor_axis=(0, 1, 0)), of=of, pieces=6)
    left = type(left)(
        **{
            **left.__dict__,
            'ends': (type(left.ends[0])(**{**left.ends[0].__dict__, 'motor': True}), left.ends[1]),
        }
    )
    right = rod(
        'right',
        end('ground', pose((0.1, 0, 0)), 'revolute', tilted),
        end('tip', pose((0.1, 0, 0)), 'spherical'),
        of=of,
        pieces=6,
    )
    drives = (
        DriveSpec(0, 0, 'angle'),
        DriveSpec(1, 1, 'length'),
        DriveSpec(2, 0, 'stretch', shift=np.array([0, 0, 1.0, 0, 0, 0])),
        DriveSpec(3, 0, 'tension', hole=np.array([2e-3, 1e-3])),
    )
    heavy = type(body('tip'))('tip', None, 0.02, np.array([0.05, 0, 0]), 1e-6 * np.eye(3))
    spec = NetworkSpec((ground(), heavy), (left, right), drives, 'tip', np.eye(4))
    rest, most = np.array([0.0, LENGTH, 0.0, 0.0]), np.array([0.3, 0.03, 0.02, 2.0])

    def drive(t):
        return rest + most * np.sin(0.5 * np.pi * min(t / 0.08, 1.0)) ** 2

    lost, put, weight = [], [], LoadCase(gravity=np.array([0, 0, -9.81]))
    for step in (2e-3, 1e-3, 5e-4):
        stepper = Stepper(spec, rest, Options(**PRECISE, retardation=2e-3))
        stepper.rest(rest, weight)
        motion = simulate_stepper(stepper, 0.12, step, drive, lambda t: weight)
        lost.append(abs(motion.balance[-1]))
        put.append(motion.work[-1])
    assert lost[-1] < 2e-3 * put[-1]
    assert lost[1] / lost[2] == pytest.approx(4.0, rel=0.15)


def test_loads_that_it_was_not_made_with_are_refused():
    loads = (Load(np.eye(6)[0], 'rod', 0.5 * LENGTH),)
    stepper = Stepper(beam(4), NOTHING, Options(), loads)
    stepper.rest(NOTHING, LoadCase(loads=loads))
    bent = stepper.tip
    assert bent[0, 3] > 1e-3 and stepper.step(1e-3, NOTHING, LoadCase(loads=loads)).taken
    asked = stepper.rest, stepper.inputs_at, lambda *case: stepper.step(1e-3, *case)
    for ask in asked:
        with pytest.raises(InvalidInput) as error:
            ask(NOTHING, LoadCase())
        assert error.value.field == 'loads'
    np.testing.assert_allclose(stepper.tip, bent, atol=1e-9)


def test_a_step_that_finds_no_solution_leaves_everything_where_it_was():
    stepper = Stepper(beam(), NOTHING, Options(**PRECISE, max_iterations=1))
    stepper.rest(NOTHING, LoadCase())
    before = stepper.tip
    report = stepper.step(0.1, NOTHING, LoadCase(np.array([50.0, 0, 0, 0, 0, 0])))
    assert not report.taken
    assert stepper.time == 0.0
    np.testing.assert_array_equal(stepper.tip, before)


@pytest.mark.parametrize('turn', [1.0, -2.5, 3.0, 3.3, -5.0, 2.0 * np.pi, 9.0])
def test_a_robot_that_turns_too_fast_for_a_step_is_not_stopped_without_a_word(turn):
    """What a frame does in a step is known modulo one turn, whatever turned it."""
    step = 5e-3
    spun = [0.0, 0.0, 0.0, 0.0, 0.0, turn / step]
    stepper, _ = flight(2, step, 0, twist=spun, centre=(0.0, 0.0, 0.0))
    tip, before = stepper.tip, momentum(stepper)
    report = stepper.step(step, NOTHING, LoadCase())
    assert report.taken is (abs(turn) < np.pi) and report.taken is (report.code is Code.NONE)
    np.testing.assert_allclose(momentum(stepper)[5], before[5], rtol=1e-6)
    if report.taken:
        c, s = np.cos(turn), np.sin(turn)
        tip = tip @ pose(rotation=[[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(stepper.tip, tip, atol=1e-6)


@pytest.mark.parametrize('turn', [1.0, 2.5, 3.3, 2.0 * np.pi, 9.0])
def test_nor_is_a_body_that_turns_too_fast_on_its_joint(turn):
    step = 5e-3
    ball = end('tip', joint='spherical')
    stepper, _ = flight(2, step, 0, centre=(0.0, 0.0, 0.0), tip=ball)
    speed = stepper.motion.body_past[stepper.layout.tip_body, 0]
    speed[5] = turn / step
    report = stepper.step(step, NOTHING, LoadCase())
    assert report.taken is (turn < np.pi)
    assert speed[5] == pytest.approx(turn / step, rel=1e-6)


def wound():
    """Return a straight wire at rest: a motor turns its one end, its other end is held."""
    of = section(mass=MASS, shear=3e4, axial=3e4)
    far = end('ground', pose((0.0, 0.0, 2.0 * LENGTH)))
    halves = [
        rod(n, *ends, of=of, pieces=4)
        for n, ends in (('near', (end('ground'), end('tip'))), ('far', (end('tip'), far)))
    ]
    drives = (DriveSpec(0, 0, 'angle'),)
    spec = NetworkSpec((ground(), body('tip')), tuple(halves), drives, 'tip', np.eye(4))
    stepper = Stepper(spec, np.zeros(1), Options(**PRECISE, retardation=5e-3))
    stepper.rest(np.zeros(1), LoadCase())
    return stepper


@pytest.mark.parametrize('goal', [2.0 * np.pi, -2.0, 5.0])
def test_a_motor_that_turns_too_far_for_a_step_stands_still_until_steps_are_shorter(goal):
    """Frames do not tell whole turns, and half ones not their side; counted from the last step."""
    stepper, asked = wound(), np.array([goal])
    before = stepper.tip
    report = stepper.step(1e-3, asked, LoadCase())
    assert not report.taken and report.code is Code.OUT_OF_RANGE and stepper.time == 0.0
    np.testing.assert_array_equal(stepper.tip, before)
    for part in np.linspace(0.0, 1.0, 40)[1:]:
        assert stepper.step(5e-3, part * asked, LoadCase()).taken
    c, s = np.cos(0.5 * goal), np.sin(0.5 * goal)  # the middle turns by half
    there = pose((0.0, 0.0, LENGTH), [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(stepper.tip, there, atol=1e-5)


def test_a_simulation_takes_shorter_steps_for_motors_or_says_what_would_help():
    times, duration = np.linspace(0.0, 0.4, 3), 0.4
    turn = as_signal('actuation', [[0.0], [2.0 * np.pi], [2.0 * np.pi]], 1, times)
    quiet = turn, lambda t: LoadCase()
    motion = simulate_stepper(wound(), duration, 0.2, *quiet)
    assert motion.code is Code.OUT_OF_RANGE and len(motion.time) == 1
    for word in ('actuation', '6.28', '90 deg', 'shorter step'):
        assert word in motion.message
    same = simulate_stepper(wound(), duration, 0.2, *quiet, tolerance=1e-3)
    assert same.code is Code.NONE and same.time[-1] == pytest.approx(duration)


def test_modes_are_natural_frequencies_with_the_damping_of_the_retardation():
    load, down = np.array([0.3, 0, -0.5, 0, 0, 0]), np.array([0, 0, -9.81])
    stepper = Stepper(beam(), NOTHING, Options(**PRECISE, retardation=4e-3))
    stepper.rest(NOTHING, LoadCase(load, gravity=down))
    linear = Linearisation(stepper.layout, stepper.inputs, stepper.state, stepper.layout.work())
    found = modes(stepper, 3)
    np.testing.assert_allclose(found.frequency, natural_frequencies(linear, 3), rtol=1e-6)
    # the load's part of the stiffness has no damping, the rods' own part has all of it
    straight = Stepper(beam(), NOTHING, Options(**PRECISE, retardation=4e-3))
    straight.rest(NOTHING, LoadCase())
    own = modes(straight, 4)
    np.testing.assert_allclose(own.damping, 0.5 * 4e-3 * 2.0 * np.pi * own.frequency, rtol=1e-6)
    tip = own.bodies[0, 1]
    assert np.hypot(*tip[:2]) > 100.0 * abs(tip[2])
    np.testing.assert_allclose(own.nodes[:, -1], own.bodies[:, 1], atol=1e-9)


@pytest.mark.parametrize('stretch', [0.7, 1.3, 1.8])
def test_a_thread_that_is_driven_longer_swings_as_slowly_as_it_is_long(stretch):
    """Its mass is kept, EI belongs to the unloaded length; no inertia is negative."""
    drive = DriveSpec(0, 0, 'stretch', shift=np.array([0, 0, 1.0, 0, 0, 0]), offset=-1.0)
    spec = replace(beam(40, stiff=3e6), drives=(drive,))
    stepper = Stepper(spec, np.ones(1), Options(**PRECISE))
    stepper.rest(np.array([stretch]), LoadCase())
    assert np.linalg.eigvalsh(stepper.motion.node_mass).min() > -1e-15
    np.testing.assert_allclose(modes(stepper, 2).frequency, FIRST / stretch, rtol=2e-3)


def test_a_mode_is_drawn_as_that_of_a_cantilever():
    stepper = Stepper(beam(40), NOTHING, Options(**PRECISE))
    stepper.rest(NOTHING, LoadCase())
    for index, root in ((0, 1.8751041), (2, 4.6940911)):  # both planes have the same ones
        at = root * np.linspace(0.0, 1.0, 41)
        slope = (np.sinh(root) - np.sin(root)) / (np.cosh(root) + np.cos(root))
        exact = np.cosh(at) - np.cos(at) - slope * (np.sinh(at) - np.sin(at))
        places = shape(stepper, modes(stepper, 4), index, 0.01)['rod']
        away = places[:, :2] @ places[-1, :2] / np.linalg.norm(places[-1, :2])
        np.testing.assert_allclose(away, 0.01 * exact / exact[-1], atol=2e-5)
        np.testing.assert_allclose(places[:, 2], np.linspace(0.0, LENGTH, 41), atol=1e-9)


def test_a_newton_step_that_is_trusted_errs_less_than_the_time_step():
    exact, _ = swing(beam(), 0.1, 2.5e-4, push)
    checked, _ = swing(beam(), 0.1, 1e-3, push)
    trusted, _ = swing(beam(), 0.1, 1e-3, push, trusted=1.0)
    assert trusted.iterations < checked.iterations
    tips = [motion.tip[-1, :3, 3] for motion in (exact, checked, trusted)]
    assert np.linalg.norm(tips[2] - tips[1]) < 0.2 * np.linalg.norm(tips[1] - tips[0])


@pytest.mark.parametrize('step', [1e-3, 1e-4, 1e-5])
def test_short_steps_of_a_heavy_body_on_a_feeble_thread_end_where_round_off_does(step):
    of = section(mass=1e-4, shear=0.1, axial=0.1, bending=(1e-5, 1e-5), torsion=1e-5)
    heavy = body('tip', mass=1.0)
    heavy = type(heavy)('tip', None, 1.0, np.zeros(3), 1e-3 * np.eye(3))
    one = rod(of=of, pieces=2)
    spec = NetworkSpec((ground(), heavy), (one,), (), 'tip', np.eye(4))
    stepper = Stepper(spec, NOTHING, Options(retardation=0.0))
    stepper.rest(NOTHING, LoadCase())
    for _ in range(20):
        assert stepper.step(step, NOTHING, LoadCase(gravity=np.array([0.0, 0.0, -9.81]))).taken
    fallen = LENGTH - stepper.tip[2, 3]
    assert fallen == pytest.approx(0.5 * 9.81 * (20 * step) ** 2, rel=1e-3)
