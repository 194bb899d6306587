# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tendons pulled by length: the lengths that are asked for, slack ones, derivatives, inverse."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import root

from soro_mechanics import Code, load_robot, Stability
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.models.network.tendon.equilibrium import solve_complementarity
from soro_mechanics.numerics import lie

ARM = Path(__file__).parents[3] / 'config' / 'robots' / 'examples' / 'tendon_arm.yaml'
WRENCH = np.array([0.05, 0.1, -0.05, 0.002, -0.001, 0.002])
# of both sections bent, the ones outside let go a little farther than that takes
PULL = np.array([6e-3, -3.2e-3, -3.1e-3, 7e-3, -8.2e-3, 1e-3])


def spools(tmp_path, *changes):
    """Return the example with motors that set lengths, and a softer axis."""
    text = ARM.read_text().replace('drives: tension', 'drives: tendon')
    for force in ('15 N', '10 N'):
        text = text.replace(
            f'quantity: force, minimum: 0 N, maximum: {force}, rate: 30 N/s',
            'quantity: length, minimum: -20 mm, maximum: 20 mm, rate: 20 mm/s',
        )
    own = (('  network: {mesh: 20}', '  network: {mesh: 12}'), ('92 kN', '2 kN'))
    for old, new in (*own, *changes):
        assert old in text
        text = text.replace(old, new)
    path = tmp_path / 'arm.yaml'
    path.write_text(text)
    robot = load_robot(path)
    robot.model_object.equilibrium(()).tolerance = 3e-11  # differences are taken
    return robot


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    return spools(tmp_path_factory.mktemp('arm'))


@pytest.fixture(scope='module')
def pulled(robot):
    q = robot.forward(PULL, WRENCH)
    assert q.status.code is Code.NONE
    assert q.status.stability is Stability.STABLE
    return q


def twist_between(ahead, behind, step):
    turn = lie.so3_log(ahead[:3, :3] @ behind[:3, :3].T)
    return np.concatenate([(ahead - behind)[:3, 3], turn]) / (2.0 * step)


def slope(solve, step):
    """Return a central difference without its error of second order."""
    found = [twist_between(solve(h), solve(-h), h) for h in (step, 0.5 * step)]
    return (4.0 * found[1] - found[0]) / 3.0


def test_taut_tendons_have_the_length_asked_for_and_slack_ones_are_free(robot, pulled):
    found = robot.model_object.tendons(pulled)
    taut = found.tension > 0.0
    assert 2 < np.count_nonzero(taut) < 6
    np.testing.assert_allclose(found.pull[taut], PULL[taut], atol=1e-9)
    assert (found.pull[~taut] > PULL[~taut]).all()
    assert (found.tension[~taut] == 0.0).all()


def test_the_same_tensions_give_the_same_shape(robot, pulled):
    text = load_robot(ARM).description
    assert [a.quantity for a in text.actuators] == ['force'] * 6
    other = load_robot(ARM)
    tension = robot.model_object.tendons(pulled).tension
    q = other.forward(tension, WRENCH)
    np.testing.assert_allclose(q.tip[:3, 3], pulled.tip[:3, 3], atol=1e-3)  # another mesh


def test_tensions_found_by_another_solver(robot, pulled):
    """Root of the path lengths in the tensions of the taut tendons, each solve at tension."""
    solver = pulled.state.equilibrium
    tendons = solver.layout.tendons
    found = robot.model_object.tendons(pulled)
    taut = np.flatnonzero(found.tension > 0.0)
    x = pulled.state.inputs
    loose = x._replace(pull=np.tile([-np.inf, 0.0], (6, 1)))

    def lack(tension):
        full = np.zeros(6)
        full[taut] = tension
        held = loose._replace(tension=np.einsum('k,kpt->pt', full, tendons.where))
        start = pulled.state.state._replace(tension=np.zeros_like(x.tension))
        state = solver.newton(held, start).state
        return (tendons.rest - tendons.lengths(state) - PULL)[taut] * 1e3

    other = root(lack, found.tension[taut] + 0.02, tol=1e-8)
    np.testing.assert_allclose(other.x, found.tension[taut], rtol=1e-5, atol=1e-5)


def test_jacobian_per_metre_of_pull(robot, pulled):
    jacobian = robot.jacobian(pulled)
    size = np.abs(jacobian).max()
    for i in range(6):

        def solve(h, i=i):
            return robot.forward(PULL + h * np.eye(6)[i], WRENCH, guess=pulled).tip

        np.testing.assert_allclose(jacobian[:, i], slope(solve, 4e-6), atol=1e-5 * size)
    slack = robot.model_object.tendons(pulled).tension == 0.0
    assert not jacobian[:, slack].any()


def test_compliance_with_the_motors_locked(robot, pulled):
    compliance = robot.compliance(pulled)
    size = np.abs(compliance).max()
    for i in range(6):

        def solve(h, i=i):
            return robot.forward(PULL, WRENCH + h * np.eye(6)[i], guess=pulled).tip

        found = slope(solve, 2e-3 if i < 3 else 2e-4)
        np.testing.assert_allclose(compliance[:, i], found, atol=1e-5 * size)
    last = robot.compliance_along(pulled)[0][-1]
    np.testing.assert_allclose(last, compliance, atol=1e-9 * size)


def test_locked_tendons_make_the_arm_stiffer(robot, pulled):
    linear = robot.model_object.linearise(pulled)
    x = pulled.state.inputs
    free = Linearisation(
        linear.layout, x._replace(pull=x.pull[:0]), pulled.state.state, linear.layout.work()
    )
    soft, stiff = (y.body_compliance(1, 1) for y in (free, linear))
    change = soft - stiff
    lowest = np.linalg.eigvalsh(0.5 * (change + change.T))[0]
    assert lowest > -1e-3 * np.abs(soft).max()  # a dead moment has no energy
    assert stiff[0, 0] < 0.7 * soft[0, 0]


def test_frequencies_with_the_motors_locked(robot):
    """Deflection under its own weight sideways (Rayleigh), in the mode of a locked arm."""
    taut = robot.forward([2e-4, 2e-4, 2e-4, 3e-4, 3e-4, 3e-4])
    assert (robot.model_object.tendons(taut).tension > 0.0).all()
    loose = robot.forward(np.full(6, -20e-3))
    stiff, soft = (robot.network.natural_frequencies(q, 1)[0] for q in (taut, loose))
    ratio = robot.compliance(loose)[0, 0] / robot.compliance(taut)[0, 0]
    assert stiff / soft == pytest.approx(np.sqrt(ratio), rel=0.25)


def test_an_elastic_tendon_gives_way(tmp_path):
    soft = spools(tmp_path, ('rods: [arm], polar', 'rods: [arm], stiffness: 5 N/mm, polar'))
    q = soft.forward(PULL, WRENCH)
    found = soft.model_object.tendons(q)
    taut = found.tension > 0.0
    np.testing.assert_allclose(found.pull[taut], PULL[taut], atol=1e-9)
    stretched = (PULL - found.tension / 5e3)[taut]
    lengths = q.state.equilibrium.layout.tendons.rest[taut] - stretched
    np.testing.assert_allclose(found.length[taut], lengths, atol=1e-9)
    jacobian = soft.jacobian(q)
    i = int(np.argmax(found.tension))
    expected = slope(lambda h: soft.forward(PULL + h * np.eye(6)[i], WRENCH, guess=q).tip, 1e-5)
    np.testing.assert_allclose(jacobian[:, i], expected, atol=1e-5 * np.abs(jacobian).max())


def test_all_tendons_let_go(robot):
    """Nothing is left of them: the arm stands under its own weight and the load."""
    force = [0.02, 0.0, 0.0, 0.0, 0.0, 0.0]
    q = robot.forward(np.full(6, -20e-3), force)
    assert q.status.code is Code.NONE
    assert not robot.model_object.tendons(q).tension.any()
    assert not robot.jacobian(q).any()
    tension = load_robot(ARM).forward(np.zeros(6), force)
    np.testing.assert_allclose(q.tip[:3, 3], tension.tip[:3, 3], atol=1e-4)


@pytest.mark.parametrize('pull', [PULL, [-4e-3, 5e-3, -1e-3, -8e-3, 4e-3, -2e-3]])
def test_inverse_of_a_reached_place(robot, pull):
    """Six tendons, three coordinates: some pulls, with the least tensions, lead there."""
    place = robot.forward(pull, WRENCH).tip[:3, 3]
    s = robot.inverse(place, WRENCH)
    assert s.status.code is Code.NONE, s.status.message
    np.testing.assert_allclose(s.configuration.tip[:3, 3], place, atol=2e-6)
    assert robot.feasible(s.actuation)
    again = robot.forward(s.actuation, WRENCH)
    np.testing.assert_allclose(again.tip[:3, 3], place, atol=2e-6)
    mine = robot.model_object.tendons(robot.forward(pull, WRENCH)).tension
    assert np.linalg.norm(robot.model_object.tendons(again).tension) <= np.linalg.norm(mine) + 1e-6


def test_inverse_beyond_the_limits_says_so(robot):
    s = robot.inverse([0.0, 0.0, 0.4])
    assert s.status.code is Code.UNREACHABLE
    assert robot.feasible(s.actuation)


def test_inverse_stays_within_the_pulls(tmp_path):
    """A place for which near_1 must be pulled by more than its spool holds."""
    free = spools(tmp_path)
    place = free.forward([9e-3, -20e-3, -20e-3, -20e-3, -20e-3, -20e-3]).tip
    assert free.inverse(place).status.code is Code.NONE
    tight = spools(tmp_path, ('minimum: -20 mm, maximum: 20 mm', 'minimum: -20 mm, maximum: 6 mm'))
    s = tight.inverse(place)
    assert s.status.code is Code.AT_LIMIT
    assert s.at_limit
    assert tight.feasible(s.actuation)
    assert s.position_error > 1e-4


@pytest.mark.parametrize('size', [1, 3, 6, 12])
def test_complementarity(size):
    random = np.random.default_rng(size)
    for _ in range(50):
        root_of = random.normal(size=(size, size))
        skew = random.normal(size=(size, size))
        matrix = root_of @ root_of.T + 1e-3 * np.eye(size) + 0.1 * (skew - skew.T)
        rest = random.normal(size=size)
        z = solve_complementarity(matrix, rest, random.random(size) > 0.5)
        gap = matrix @ z + rest
        assert z.min() >= 0.0 and gap.min() > -1e-9
        assert np.abs(z * gap).max() < 1e-6
