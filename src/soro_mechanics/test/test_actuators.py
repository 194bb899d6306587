# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Actuator models against closed forms, published numbers, solve_ivp and invariants."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from soro_mechanics.actuator_models.capstan import Capstan
from soro_mechanics.actuator_models.creep import Creep, CreepProperties, read_creep
from soro_mechanics.actuator_models.hysteresis import BoucWen, hysteresis, LAWS, PrandtlIshlinskii
from soro_mechanics.actuator_models.motor import MotorProperties, PositionDrive
from soro_mechanics.actuator_models.pneumatics import (
    AMBIENT,
    Chamber,
    GAS_CONSTANT,
    REFERENCE_DENSITY,
    TEMPERATURE,
    Valve,
)
from soro_mechanics.core.errors import InvalidInput, RobotFileError
from soro_mechanics.robot_file.section import Section
from soro_studies.emulation.gas_muscle import GasMuscle

BAR = 1e5
AIRBAG = GasMuscle(15e-3**2)  # of the muscle robot
VALVE = Valve(1e-9, 0.3)
EMPTY_RATE = VALVE.conductance * REFERENCE_DENSITY * GAS_CONSTANT * TEMPERATURE  # m^3/s


def test_flow_is_sonic_up_to_the_critical_ratio_continuous_and_antisymmetric():
    sonic = VALVE.conductance * REFERENCE_DENSITY * 6 * BAR
    assert VALVE.mass_flow(6 * BAR, [0.0, BAR, 1.8 * BAR]) == pytest.approx([sonic] * 3)
    # ISO 6358: an ellipse from the critical ratio to one
    ratio = np.linspace(0.3, 0.99, 50)
    share = VALVE.mass_flow(6 * BAR, ratio * 6 * BAR) / sonic
    assert share**2 + ((ratio - 0.3) / 0.7) ** 2 == pytest.approx(1.0)
    near = VALVE.mass_flow(6 * BAR, 6 * BAR * (0.999 + np.array([-1e-9, 1e-9])))
    assert near[0] == pytest.approx(near[1], rel=1e-5)
    p = np.linspace(0.5, 6.0, 23) * BAR
    assert VALVE.mass_flow(p, 3 * BAR) == pytest.approx(-VALVE.mass_flow(3 * BAR, p))
    assert VALVE.mass_flow(2 * BAR, 2 * BAR) == 0.0
    # 1 l/(s bar) from 7 bar absolute is 7 l/s of reference air
    assert Valve(1e-8).mass_flow(7 * BAR, BAR) == pytest.approx(7e-3 * REFERENCE_DENSITY)


@pytest.mark.parametrize('exponent', [1.0, 1.4])
def test_a_chamber_that_empties_sonically_falls_exponentially(exponent):
    chamber = Chamber(np.array([1e-4, 2e-4]), np.array([8 * BAR, 8 * BAR]), exponent)
    found = chamber.advance(lambda p: -VALVE.mass_flow(p, 0.0), 0.5)
    rate = exponent * EMPTY_RATE / np.array([1e-4, 2e-4])
    assert found == pytest.approx(8 * BAR * np.exp(-0.5 * rate), rel=1e-6)


@pytest.mark.parametrize('volume', [2e-6, 1e-4])
def test_filling_from_a_supply_is_that_of_an_ode_solver(volume):
    def flow(p):
        return VALVE.mass_flow(5 * BAR, p)

    gain = GAS_CONSTANT * TEMPERATURE / volume
    end = 4.0 * volume / EMPTY_RATE
    times = np.linspace(0.0, end, 9)
    exact = solve_ivp(
        lambda t, p: gain * flow(p), (0.0, end), [AMBIENT], 'Radau', times, rtol=1e-9, atol=1e-3
    ).y[0]
    chamber = Chamber(np.array([volume]))
    found = [AMBIENT] + [float(chamber.advance(flow, end / 8)[0]) for _ in range(8)]
    assert found == pytest.approx(exact, rel=2e-3)
    assert max(found) <= 5 * BAR + 1e-3


def test_a_piston_on_sealed_air_swings_as_a_gas_spring():
    # m x'' = (p - p0) A, V = V0 + A x: omega^2 = n p0 A^2 / (m V0)
    area, volume, mass, n = 1e-3, 1e-4, 0.5, 1.4
    chamber, x, v, h = Chamber(np.array([volume]), exponent=n), 0.0, 0.01, 1e-4
    energy, places = [], []
    for _ in range(8000):
        v += 0.5 * h * area * (chamber.pressure[0] - AMBIENT) / mass
        x += h * v
        chamber.advance(np.zeros_like, h, np.array([volume + area * x]))
        v += 0.5 * h * area * (chamber.pressure[0] - AMBIENT) / mass
        places.append(x)
        inside = AMBIENT * volume**n * chamber.volume[0] ** (1.0 - n) / (n - 1.0)
        energy.append(0.5 * mass * v**2 + inside + AMBIENT * area * x)
    omega = np.sqrt(n * AMBIENT * area**2 / (mass * volume))
    ups = [k for k in range(1, 8000) if places[k - 1] < 0.0 <= places[k]]
    period = h * (ups[-1] - ups[0]) / (len(ups) - 1)
    assert period == pytest.approx(2.0 * np.pi / omega, rel=2e-3)
    assert np.ptp(energy) < 1e-3 * 0.5 * mass * 0.01**2


def motors(properties, count):
    return [PositionDrive(0.0, math.inf, 0.0, properties) for _ in range(count)]


def turn(drives, goals, loads, duration):
    for drive, goal, load in zip(drives, goals, loads, strict=True):
        drive.load = load
        drive.follow(goal, duration)
    return np.array([drive.value for drive in drives])


PROPERTIES = MotorProperties(2e-4, 0.5, 1e-3, 0.0, 8.0, 0.04)


def test_a_motor_without_friction_moves_as_its_equation_says():
    p = PROPERTIES
    loads = np.array([0.0, 0.2])

    def rate(t, y):
        torque = np.clip(p.stiffness * (0.3 - y[0]) - p.damping * y[1], -0.5, 0.5)
        return [y[1], (torque - p.viscous * y[1] - loads[1]) / p.inertia]

    exact = solve_ivp(rate, (0.0, 0.1), [0.0, 0.0], rtol=1e-9, atol=1e-10).y[0, -1]
    drives = motors(p, 2)
    for _ in range(1000):
        angles = turn(drives, [0.3, 0.3], loads, 1e-4)
    assert angles[1] == pytest.approx(exact, abs=1e-3)
    angles = turn(drives, [0.3, 0.3], loads, 2.0)
    # the load turns it back by load over stiffness
    assert angles == pytest.approx(0.3 - loads / p.stiffness, abs=1e-9)


def test_a_motor_gives_no_more_than_its_torque_and_a_larger_load_takes_it_along():
    free, taken = motors(PROPERTIES, 2)
    turn((free, taken), [100.0, 0.0], [0.0, 0.8], 0.01)
    assert free.torque == 1.0  # in parts of its limit
    # J w' = limit - c w
    c, j = PROPERTIES.viscous, PROPERTIES.inertia
    assert free.speed == pytest.approx(0.5 / c * (1.0 - np.exp(-c / j * 0.01)), rel=0.01)
    turn((free, taken), [0.0, 0.0], [0.0, 0.8], 1.0)
    assert taken.value < -1.0
    assert taken.torque == 1.0


def test_friction_of_gears_holds_still_and_stops_within_its_band():
    sticky = MotorProperties(2e-4, 0.5, 1e-3, 0.1, 8.0, 0.04)
    drives = motors(sticky, 3)
    assert (turn(drives, np.zeros(3), [0.09, -0.09, 0.0], 1.0) == 0.0).all()
    assert not any(drive.speed for drive in drives)
    angles = turn(drives, np.full(3, 0.2), np.zeros(3), 2.0)
    assert (np.abs(angles - 0.2) <= 0.1 / 8.0 + 1e-9).all()
    assert not any(drive.speed for drive in drives)


def test_a_capstan_holds_between_two_exponentials():
    capstan = Capstan(0.2, np.array([10.0]))
    factor = np.exp(0.2 * np.pi)
    assert capstan.apply(np.array([12.0]), np.pi) == pytest.approx([10.0])
    assert capstan.apply(np.array([100.0]), np.pi) == pytest.approx([100.0 / factor])
    assert capstan.apply(np.array([20.0]), np.pi) == pytest.approx([20.0 * factor])
    assert capstan.apply(np.array([-1.0]), np.pi) == [0.0]


@pytest.mark.parametrize('law', LAWS)
def test_largest_opening_of_the_hysteresis_loop(law):
    loop = hysteresis(law, np.array([BAR]), np.zeros(1), 0.03)
    path = np.linspace(0.0, BAR, 401)
    for _ in range(2):
        up = [float(loop.apply(np.array([x]))[0]) for x in path]
        down = [float(loop.apply(np.array([x]))[0]) for x in path[::-1]][::-1]
    assert max(np.array(down) - np.array(up)) == pytest.approx(0.03 * BAR, rel=1e-6)
    again = [float(loop.apply(np.array([x]))[0]) for x in path]
    assert again == pytest.approx(up, abs=1e-6 * BAR)  # a closed cycle closes
    assert (np.diff(again) > 0.0).all()


@pytest.mark.parametrize('law', LAWS)
def test_what_rests_is_felt_as_it_is(law):
    rest = np.array([0.405, -0.1])
    loop = hysteresis(law, np.array([0.65, 0.4]), rest, 0.03)
    assert loop.apply(rest) == pytest.approx(rest, abs=1e-15)
    lag = rest + [0.05, -0.05] - loop.apply(rest + [0.05, -0.05])
    assert lag[0] > 0.0 > lag[1]
    none = hysteresis(law, np.array([0.65, 0.4]), rest, 0.0)
    assert none.apply(np.array([0.7, 0.1])) == pytest.approx([0.7, 0.1], abs=1e-15)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.0, BAR), min_size=1, max_size=12),
    st.integers(1, 5),
    st.sampled_from(LAWS),
)
def test_hysteresis_does_not_depend_on_speed(path, parts, law):
    """Rate-independent: more points on the same straight way change nothing."""
    one, many = (hysteresis(law, np.array([BAR]), np.zeros(1), 0.05) for _ in range(2))
    before = 0.0
    for x in path:
        a = one.apply(np.array([x]))
        for y in np.linspace(before, x, parts + 1)[1:]:
            b = many.apply(np.array([y]))
        before = x
        assert a == pytest.approx(b, abs=1e-6 * BAR)
        assert abs(a[0] - x) <= 0.05 * BAR


def test_the_inverse_of_play_operators_undoes_them_from_any_history():
    thresholds = np.array([[0.0, 0.1, 0.25, 0.5], [0.0, 0.2, 0.3, 0.9]])
    weights = np.array([0.7, 0.4, -0.2, 0.3])
    forward = PrandtlIshlinskii(thresholds, weights, np.zeros((2, 4)))
    rng = np.random.default_rng(3)
    for x in rng.uniform(-2.0, 2.0, (20, 2)):
        forward.apply(x)
    for wanted in rng.uniform(-2.0, 2.0, (200, 2)):
        assert forward.apply(forward.undo(wanted)) == pytest.approx(wanted, abs=1e-12)
    with pytest.raises(InvalidInput):
        PrandtlIshlinskii(thresholds, np.array([0.3, -0.4, 0.0, 0.0]), np.zeros((2, 4)))
    with pytest.raises(InvalidInput):
        BoucWen(np.ones(1), np.ones(1), np.zeros(1))


def test_bouc_wen_solves_its_differential_equation():
    def x(t):
        return np.sin(3.0 * t) + 0.5 * np.sin(7.0 * t)

    def rate(t, z):
        v = 3.0 * np.cos(3.0 * t) + 3.5 * np.cos(7.0 * t)
        return (v - 0.5 * abs(v) * z - 0.5 * v * abs(z)) / 0.4  # Wen 1976, n = 1

    times = np.linspace(0.0, 4.0, 4001)
    z = solve_ivp(rate, (0.0, 4.0), [0.0], 'LSODA', times, rtol=1e-9, atol=1e-10, max_step=1e-3).y
    loop = BoucWen(np.array([0.1]), np.array([0.4]), np.zeros(1))
    found = np.array([loop.apply(np.array([v]))[0] for v in x(times)])
    assert found == pytest.approx(x(times) - 0.1 * z[0], abs=2e-5)


def test_creep_is_a_kelvin_chain():
    # each element: eta e' = s - k e, with compliances 0.1 and 0.2 of the whole
    parts, times = np.array([0.1, 0.2]), np.array([0.5, 6.0])
    creep = Creep(1, CreepProperties(tuple(parts), tuple(times)), 0.0)
    exact = solve_ivp(
        lambda t, e: (parts * (3.0 if t < 2.0 else 1.0) - e) / times,
        (0.0, 5.0),
        [0.0, 0.0],
        max_step=0.01,
    ).y[:, -1]
    creep.apply(np.array([3.0]), 0.0)
    creep.apply(np.array([3.0]), 2.0)
    assert creep.apply(np.array([1.0]), 5.0) == pytest.approx(0.7 * 1.0 + exact.sum(), rel=1e-4)
    assert creep.apply(np.array([1.0]), 1e6) == pytest.approx([1.0])


def test_creep_of_a_robot_file():
    data = {'creep': {'part': [0.04, '10 %'], 'time_constant': '0.5 8 s'}}
    with Section(data, 'emulator', 'robot.yaml') as section:
        found = read_creep(section)
    assert (found.part, found.time_constant) == ((0.04, 0.1), (0.5, 8.0))
    for wrong in ({'part': 0.6}, {'part': [0.1, 0.1], 'time_constant': '8 s'}):
        with pytest.raises(RobotFileError):
            read_creep(Section({'creep': wrong}, 'emulator', 'robot.yaml'))


def test_a_sealed_muscle_pulls_what_was_published_and_is_a_gas_spring():
    assert AIRBAG.capacity == pytest.approx(22.7, rel=0.01)  # Chen et al. 2022, fig. 4(a)
    assert AIRBAG.pull(0.1, 0.0) == pytest.approx(AIRBAG.capacity)
    assert AIRBAG.sealed_stiffness(0.1, 0.1) == pytest.approx(228.0, rel=1e-3)
    # against the chamber, whose law was written down another way
    chamber = Chamber(np.array([0.1 * AIRBAG.area]))
    chamber.advance(np.zeros_like, 0.1, np.array([0.13 * AIRBAG.area]))
    pressure = AIRBAG.sealed_pressure(0.13, 0.1)
    assert pressure == pytest.approx(chamber.pressure[0])
    for muscle in (AIRBAG, GasMuscle(AIRBAG.area, 1.4, 50.0, 0.09)):
        assert muscle.pull(0.1, muscle.sealed_pressure(0.1, 0.1)) == pytest.approx(0.0, abs=1e-9)

        def pull(length, muscle=muscle):
            return muscle.pull(length, muscle.sealed_pressure(length, 0.1))

        slope = (pull(0.111) - pull(0.109)) / 2e-3
        assert muscle.sealed_stiffness(0.11, 0.1) == pytest.approx(slope, rel=1e-3)
    # fig. 5(b): the stiffness falls with the pressure
    stiffness = AIRBAG.sealed_stiffness(np.linspace(0.08, 0.3, 20), 0.08)
    assert (np.diff(stiffness) < 0.0).all()
