# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The soft parallel robot in ANCF: tangent, round trip, loads, stability, independent rods."""

from dataclasses import replace

from changed_robots import REMOVED, with_changes
import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.interpolate import PchipInterpolator

from soro_mechanics import (
    Code,
    InvalidInput,
    Load,
    load_robot,
    LoadAxes,
    RobotFileError,
    Stability,
    Task,
)
from soro_mechanics.core.configuration import LoadCase, Target
from soro_mechanics.models.ancf import solve_kernels as solving
from soro_mechanics.models.ancf.compliance import full_system
from soro_mechanics.models.ancf.model import Ancf
from soro_mechanics.models.ancf.steps import solve_equations
from soro_mechanics.numerics.lie import so3_exp
from soro_mechanics.numerics.monotone_curve import monotone_slopes
from soro_mechanics.robot_file.reader import describe_robot
from soro_studies.mechanics.ancf_studies import redesigned

WRENCH = np.array([0.15, -0.1, -0.2, 0.004, -0.006, 0.003])
PRESSURES = np.array([140e3, 20e3, 70e3])  # off the knots of the curves


@pytest.fixture(scope='module')
def robot():
    return load_robot('soft_parallel')


def _twist(plus, minus, step):
    rate = (plus - minus) / (2.0 * step)
    spin = rate[:3, :3] @ (0.5 * (plus + minus))[:3, :3].T
    return np.array([*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])


def _moved(state, change):
    """Return a state after a change of all unknowns of eq (14) (rotation: left increment)."""
    nodes = state.nodes.copy()
    inner = nodes[:, 1:-1]
    inner += change[:-6].reshape(inner.shape)
    rotation = so3_exp(change[-3:]) @ state.rotation
    moved = state._replace(nodes=nodes, position=state.position + change[-6:-3], rotation=rotation)
    return moved


def _placed(model, state):
    from soro_mechanics.models.ancf.kernels import place_ends

    place_ends(state.nodes, model.structure, state.position, state.rotation)
    return state


def test_tangent_and_stretch_columns_match_differences_away_from_equilibrium(robot):
    model = Ancf(robot.description)
    points = (
        Load(np.array([0.1, 0.2, 0, 0.01, 0, 0]), 'platform', 0.0, LoadAxes.LOCAL),
        Load(np.array([0.0, 0.1, -0.1, 0, 0, 0]), 'leg_2', 0.07),
    )
    loads = model.kernel_loads(LoadCase(WRENCH, points, robot.gravity))
    state = robot.forward(PRESSURES).state
    rng = np.random.default_rng(3)
    count = 3 * 4 * 12 + 6
    state = _placed(model, _moved(state, 0.01 * rng.normal(size=count)))
    _, tangent, by_stretch = full_system(state, model.structure, loads)
    step = 1e-6
    for j in [*range(0, count - 6, 11), *range(count - 6, count)]:
        shift = np.eye(count)[j] * step
        plus = full_system(_placed(model, _moved(state, shift)), model.structure, loads)[0]
        minus = full_system(_placed(model, _moved(state, -shift)), model.structure, loads)[0]
        np.testing.assert_allclose(
            tangent[:, j], (plus - minus) / (2 * step), atol=1e-8 * np.abs(tangent).max()
        )
    for leg in range(3):
        more, less = state.stretch.copy(), state.stretch.copy()
        more[leg] += step
        less[leg] -= step
        plus = full_system(state._replace(stretch=more), model.structure, loads)[0]
        minus = full_system(state._replace(stretch=less), model.structure, loads)[0]
        np.testing.assert_allclose(
            by_stretch[:, leg], (plus - minus) / (2 * step), atol=1e-7 * np.abs(by_stretch).max()
        )


def test_kept_loads_are_those_of_the_load_case_that_is_asked_for(robot):
    model, load = Ancf(robot.description), LoadCase(WRENCH.copy(), (), robot.gravity)
    kept = model.kernel_loads(load)
    assert model.kernel_loads(LoadCase(WRENCH.copy(), (), robot.gravity)) is kept
    load.wrench[0] += 1.0
    assert model.kernel_loads(load).body[1][1, 0] == WRENCH[0] + 1.0
    one = Load(np.array([0.1, 0.2, 0.0, 0.0, 0.0, 0.0]), 'platform')
    assert len(model.kernel_loads(replace(load, loads=(one,))).body[1]) == 3
    assert model.kernel_loads(replace(load, gravity=np.zeros(3))).body[1][0].tolist() == [0.0] * 6


def test_chain_elimination_equals_the_full_matrix(robot):
    model = Ancf(robot.description)
    q = robot.forward(PRESSURES, WRENCH)
    loads = model.kernel_loads(q.load)
    force, tangent, by_stretch = full_system(q.state, model.structure, loads)
    assert np.abs(force).max() < 1e-9
    inverse = np.linalg.inv(tangent)
    np.testing.assert_allclose(robot.compliance(q), inverse[-6:, -6:], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(
        q.state.by_platform, -(inverse @ by_stretch)[-6:], rtol=1e-7, atol=1e-9
    )


@pytest.mark.parametrize('wrench', [None, WRENCH])
def test_jacobian_and_compliance_match_differences_of_forward(robot, wrench):
    q = robot.forward(PRESSURES, wrench)
    jacobian = robot.jacobian(q)
    for j in range(3):
        shift = np.eye(3)[j] * 20.0
        plus = robot.forward(PRESSURES + shift, wrench, guess=q)
        minus = robot.forward(PRESSURES - shift, wrench, guess=q)
        np.testing.assert_allclose(
            _twist(plus.tip, minus.tip, 20.0), jacobian[:, j], atol=1e-6 * np.abs(jacobian).max()
        )
    compliance = robot.compliance(q)
    load = np.zeros(6) if wrench is None else wrench
    for j in range(6):
        shift = np.eye(6)[j] * 1e-5
        plus = robot.forward(PRESSURES, load + shift, guess=q)
        minus = robot.forward(PRESSURES, load - shift, guess=q)
        np.testing.assert_allclose(
            _twist(plus.tip, minus.tip, 1e-5),
            compliance[:, j],
            atol=1e-6 * np.abs(compliance).max(),
        )


def test_compliance_symmetry_and_the_asymmetry_of_a_dead_moment(robot):
    free = robot.compliance(robot.forward(PRESSURES, [0.2, 0.1, -0.3, 0, 0, 0]))
    assert np.abs(free - free.T).max() < 1e-9 * np.abs(free).max()
    assert np.linalg.eigvalsh(0.5 * (free + free.T))[0] > 0.0
    q = robot.forward(PRESSURES, WRENCH)
    stiffness = np.linalg.inv(robot.compliance(q))
    m = WRENCH[3:]
    hat = np.array([[0, -m[2], m[1]], [m[2], 0, -m[0]], [-m[1], m[0], 0]])
    want = np.zeros((6, 6))
    want[3:, 3:] = -hat
    np.testing.assert_allclose(stiffness - stiffness.T, want, atol=1e-7 * np.abs(stiffness).max())


def test_compliance_along_a_leg_matches_a_force_there(robot):
    q = robot.forward(PRESSURES, WRENCH)
    along = robot.compliance_along(q)
    assert [c.shape for c in along] == [(21, 6, 6)] * 3
    assert np.abs(along[1][0]).max() < 1e-12
    for station in (6, 13):
        arc = q.arc_lengths[1][station]
        for j in range(3):
            force = np.zeros(6)
            force[j] = 1e-5
            plus = robot.forward(PRESSURES, WRENCH, q, [Load(force, 'leg_2', arc)])
            minus = robot.forward(PRESSURES, WRENCH, q, [Load(-force, 'leg_2', arc)])
            twist = _twist(plus.backbones[1][station], minus.backbones[1][station], 1e-5)
            np.testing.assert_allclose(
                twist, along[1][station][:, j], atol=2e-6 * np.abs(along[1][station]).max()
            )
    # the leg's end moves with the platform
    arm = q.backbones[1][-1][:3, 3] - q.tip[:3, 3]
    shift = np.eye(6)
    shift[:3, 3:] = -np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    np.testing.assert_allclose(
        along[1][-1], shift @ robot.compliance(q) @ shift.T, rtol=1e-7, atol=1e-9
    )


def test_round_trip_of_forward_and_inverse(robot):
    rng = np.random.default_rng(11)
    for _ in range(40):
        pressures = rng.uniform(2e3, 178e3, 3)
        wrench = np.array([*rng.uniform(-0.1, 0.1, 3), 0.0, 0.0, 0.0])
        q = robot.forward(pressures, wrench)
        assert q.status.code is Code.NONE
        s = robot.inverse(q.tip[:3, 3], wrench)
        assert s.status.code is Code.NONE
        again = robot.forward(s.actuation, wrench)
        assert np.linalg.norm(again.tip[:3, 3] - q.tip[:3, 3]) < 1e-8
        assert s.position_error < 1e-8


def test_a_pose_is_met_where_its_position_is_and_another_rotation_is_not_claimed(robot):
    rng = np.random.default_rng(6)
    low, high = robot.limits.T
    for _ in range(6):
        q = robot.forward(low + (high - low) * rng.uniform(0.1, 0.9, 3))
        at = robot.inverse(q.tip, task=Task.POSITION)
        for task in (Task.POSE, Task.POSITION_AND_AXIS):
            s = robot.inverse(q.tip, task=task)
            assert s.status.code is Code.NONE and s.orientation_error < 1e-8
            np.testing.assert_allclose(s.actuation, at.actuation, rtol=1e-9)
        turned = q.tip.copy()
        turned[:3, :3] = so3_exp(np.array([0.05, 0.0, 0.0])) @ turned[:3, :3]
        s = robot.inverse(turned, multistart=False)
        assert s.status.code in (Code.UNREACHABLE, Code.AT_LIMIT)
        miss = Target(turned).miss
        assert miss((s.position_error, s.orientation_error)) < miss((0.0, 0.05))


def test_unpressed_robot_is_symmetric(robot):
    q = robot.forward([0.0, 0.0, 0.0])
    np.testing.assert_allclose(q.tip[:2, 3], 0.0, atol=1e-10)
    np.testing.assert_allclose(q.tip[:3, :3], np.eye(3), atol=1e-9)
    compliance = robot.compliance(q)
    assert compliance[0, 0] == pytest.approx(compliance[1, 1], rel=1e-9)
    assert q.backbones[0].shape == (21, 4, 4)
    np.testing.assert_allclose(q.backbones[0][0][:3, :3], np.eye(3), atol=1e-12)


def test_follower_load_equals_the_dead_load_at_the_solution(robot):
    local = np.array([0.1, 0.05, -0.2, 0.002, 0.0, 0.001])
    q = robot.forward(PRESSURES, loads=[Load(local, '', 0.0, LoadAxes.LOCAL)])
    turn = q.tip[:3, :3]
    dead = robot.forward(PRESSURES, [*(turn @ local[:3]), *(turn @ local[3:])])
    np.testing.assert_allclose(q.tip, dead.tip, atol=1e-9)


def test_straight_legs_sway_at_eulers_load(robot):
    """Three clamped-guided columns buckle sideways together at 3 pi^2 EI / L^2."""
    straight = redesigned(
        robot,
        platform_radius=robot.description.structure['ancf'].base_radius,
        elements=8,
        leg_mass=0.0,
        platform_mass=0.0,
        tension=2e4,
        penalty=2e3,
    )
    critical = 3.0 * np.pi**2 * 0.0025 / 0.153**2
    below = straight.forward(np.zeros(3), [0, 0, -0.97 * critical, 0, 0, 0])
    above = straight.forward(np.zeros(3), [0, 0, -1.03 * critical, 0, 0, 0])
    assert below.status.stability is Stability.STABLE
    assert above.status.stability is Stability.UNSTABLE
    assert above.status.code is Code.UNSTABLE


def test_hopeless_load_is_reported_and_never_a_solution(robot):
    q = robot.forward(PRESSURES, [0, 0, -1e5, 0, 0, 0])
    assert q.status.code is not Code.NONE
    assert not (q.status.converged and q.status.stable)
    assert np.all(np.isfinite(q.tip)) == q.status.converged
    assert np.all(np.isfinite(robot.jacobian(q))) == q.status.converged


def _planar_height(length, offset):
    """Height of an inextensible planar rod, clamped vertical at both ends and moved aside.

    Independent of the library: EI theta'' + H cos(theta) = 0 with the side force H unknown.
    """

    def rate(s, y, p):
        return np.vstack([y[1], -p[0] * np.cos(y[0]), np.sin(y[0]), np.cos(y[0])])

    def ends(a, b, p):
        return np.array([a[0], b[0], a[2], b[2] - offset, a[3]])

    s = np.linspace(0.0, 1.0, 41)
    first = np.vstack(
        [6 * offset * s * (1 - s), 6 * offset * (1 - 2 * s), offset * (3 * s**2 - 2 * s**3), s]
    )
    solution = solve_bvp(rate, ends, s, first, p=[12 * offset], tol=1e-9, max_nodes=20000)
    assert solution.success
    return length * solution.y[3, -1]


def test_unloaded_height_converges_to_an_independent_rod(robot):
    legs = robot.description.structure['ancf']
    want = _planar_height(0.153, (legs.base_radius - legs.platform_radius) / 0.153)
    errors = []
    for elements in (4, 8, 16, 32):
        stiff = redesigned(robot, elements=elements, leg_mass=0.0, platform_mass=0.0, tension=1e5)
        q = stiff.forward(np.zeros(3))
        errors.append(abs(q.tip[2, 3] - want))
    assert errors[0] > 4 * errors[1] > 16 * errors[2]
    assert errors[-1] < 2e-6


def test_a_fine_mesh_has_a_solution_too(robot):
    """The round-off of its curvatures was above the tolerance from 50 elements on."""
    found = [redesigned(robot, elements=n).forward([20e3, 50e3, 0.0]) for n in (20, 50, 100, 300)]
    assert all(q.status.code is Code.NONE for q in found)
    steps = np.abs(np.diff([q.tip[2, 3] for q in found]))
    assert steps[0] > 4.0 * steps[1] > 8.0 * steps[2] > 0.0


def _rod_rates(s, y, lengths, ei, gi):
    """Kirchhoff rods: y holds, per rod, p (3), q (4, scalar first), m (3) base axes, n (3)."""
    out = np.empty_like(y)
    for i, length in enumerate(lengths):
        p = y[13 * i : 13 * i + 13]
        w, x, yy, z = p[3:7]
        tangent = np.array(
            [2 * (x * z + w * yy), 2 * (yy * z - w * x), w * w - x * x - yy * yy + z * z]
        )
        m = p[7:10]
        along = np.sum(m * tangent, axis=0)
        spin = m / ei + (1 / gi - 1 / ei) * along * tangent
        out[13 * i : 13 * i + 3] = tangent
        out[13 * i + 3] = -0.5 * (spin[0] * x + spin[1] * yy + spin[2] * z)
        out[13 * i + 4] = 0.5 * (spin[0] * w + spin[1] * z - spin[2] * yy)
        out[13 * i + 5] = 0.5 * (spin[1] * w + spin[2] * x - spin[0] * z)
        out[13 * i + 6] = 0.5 * (spin[2] * w + spin[0] * yy - spin[1] * x)
        out[13 * i + 7 : 13 * i + 10] = -np.cross(tangent.T, p[10:13].T).T
        out[13 * i + 10 : 13 * i + 13] = 0.0
        out[13 * i : 13 * i + 13] *= length
    return out


def test_loaded_robot_converges_to_independent_kirchhoff_rods(robot):
    """Compare with three rods and a platform by solve_bvp: unequal stretches, a tip wrench."""
    legs = robot.description.structure['ancf']
    wrench = np.array([0.12, -0.08, -0.15, 0.006, 0.004, 0.01])
    pressures = np.array([120e3, 0.0, 60e3])
    light = {'leg_mass': 0.0, 'platform_mass': 0.0, 'tension': 2e4, 'penalty': 2e3}
    coarse, middle, fine = (
        redesigned(robot, elements=n, **light).forward(pressures, wrench) for n in (4, 8, 24)
    )
    assert fine.status.code is Code.NONE
    stretches, _ = Ancf(robot.description).stretches(pressures)
    lengths = stretches * legs.length
    circle = np.column_stack([np.cos(legs.angles), np.sin(legs.angles), 0 * legs.angles])
    start = legs.base_radius * circle
    spots = legs.platform_radius / legs.base_radius * start

    def ends(a, b, p):
        position, quaternion = p[:3], p[3:7]
        turn = _rotation(quaternion)
        rows = [quaternion @ quaternion - 1.0]
        force, moment = -wrench[:3], -wrench[3:]
        for i in range(3):
            low, high = a[13 * i : 13 * i + 13], b[13 * i : 13 * i + 13]
            rows += [*(low[:3] - start[i]), *(low[3:7] - [1, 0, 0, 0])]
            arm = turn @ spots[i]
            rows += [*(high[:3] - position - arm)]
            relative = _product(quaternion * [1, -1, -1, -1], high[3:7])
            rows += [*relative[1:]]
            force = force + high[10:13]
            moment = moment + high[7:10] + np.cross(arm, high[10:13])
        return np.array([*rows, *force, *moment])

    mesh = np.linspace(0.0, 1.0, 21)
    first = np.zeros((39, 21))
    for i in range(3):
        poses = fine.backbones[i]
        arc = fine.arc_lengths[i] / legs.length
        at = 13 * i
        for j in range(3):
            first[at + j] = np.interp(mesh, arc, poses[:, j, 3])
        quaternions = np.array([_quaternion(g[:3, :3]) for g in poses])
        for j in range(4):
            first[at + 3 + j] = np.interp(mesh, arc, quaternions[:, j])
    guess = [*fine.tip[:3, 3], *_quaternion(fine.tip[:3, :3])]
    solution = solve_bvp(
        lambda s, y, p: _rod_rates(s, y, lengths, 0.0025, 0.0016),
        ends,
        mesh,
        first,
        p=guess,
        tol=1e-6,
        max_nodes=4000,
    )
    assert solution.success
    truth = solution.p[:3]
    errors = [np.linalg.norm(q.tip[:3, 3] - truth) for q in (coarse, middle, fine)]
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    assert errors[2] < 1.5e-4
    assert np.abs(_rotation(solution.p[3:7]) - fine.tip[:3, :3]).max() < 3e-3


def _rotation(q):
    w, x, y, z = q / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _quaternion(rotation):
    w = 0.5 * np.sqrt(max(0.0, 1.0 + np.trace(rotation)))
    return np.array([
        w, *(np.array([rotation[2, 1] - rotation[1, 2], rotation[0, 2] - rotation[2, 0],
                       rotation[1, 0] - rotation[0, 1]]) / (4 * w))
    ])  # fmt: skip


def _product(a, b):
    return np.array(
        [a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))]
    )


def test_stretch_curves_are_monotone_and_invert(robot):
    model = Ancf(robot.description)
    curve = model.legs.curves[0]
    reference = PchipInterpolator(curve.pressures, curve.values)
    inner = np.linspace(31e3, 149e3, 30)
    got = np.array([model.stretches(np.full(3, p))[0][0] for p in inner])
    np.testing.assert_allclose(got, reference(inner), atol=1e-12)
    pressures = np.linspace(-5e3, 200e3, 83)
    values = np.array([model.stretches(np.full(3, p))[0] for p in pressures])
    assert np.all(np.diff(values, axis=0) > 0.0)
    back = np.array([model.actuation_for(v) for v in values])
    np.testing.assert_allclose(back, np.repeat(pressures[:, None], 3, axis=1), atol=1e-6)
    slopes = np.array([model.stretches(np.full(3, p))[1][0] for p in (31e3, 95e3, 170e3)])
    for p, slope in zip((31e3, 95e3, 170e3), slopes, strict=True):
        rise = model.stretches(np.full(3, p + 1))[0][0] - model.stretches(np.full(3, p - 1))[0][0]
        assert slope == pytest.approx(rise / 2, rel=1e-7)
    assert np.all(monotone_slopes(np.array([0.0, 1, 2]), np.array([0.0, 1e-9, 5])) > 0.0)


def test_algorithm_1_halves_its_steps_and_gives_up_cleanly(robot):
    model = Ancf(robot.description)
    first = model.rest
    loads = model.kernel_loads(LoadCase(gravity=robot.gravity))
    far = np.array([0.6, 0.0, 0.1])  # beyond the reach of any leg
    _, outcome = solve_equations(first, model.structure, loads, solving.INVERSE, far, 1e-9)
    assert not outcome.converged
    np.testing.assert_array_equal(first.stretch, np.ones(3))


def test_loads_that_do_not_exist_are_refused(robot):
    with pytest.raises(InvalidInput) as caught:
        robot.forward(PRESSURES, loads=[Load(np.ones(6), 'leg_9')])
    assert caught.value.code is Code.UNKNOWN_NAME
    with pytest.raises(InvalidInput):
        robot.forward(PRESSURES, loads=[Load(np.array([1.0, 0, 0, 0, 0, 0]), 'leg_1', 0.2)])
    with pytest.raises(InvalidInput) as caught:
        robot.forward(PRESSURES, loads=[Load(np.array([0, 0, 0, 0, 0, 1.0]), 'leg_1', 0.1)])
    assert caught.value.code is Code.UNSUPPORTED
    with pytest.raises(InvalidInput):
        robot.compliance(robot.forward(PRESSURES), method='integral')


@pytest.mark.parametrize(
    ('path', 'value'),
    [
        ('body.bending_stiffness', '0.0025'),
        ('body.legs', []),
        ('body.legs[1].name', 'leg_1'),
        ('body.legs[1].name', 'platform'),
        ('models.ancf.elements', 1),
        ('models.ancf.pennalty', '8 N'),
        ('drives[1].curve.stretch', [1.0, 1.1, 1.05, 1.2, 1.3, 1.4, 1.5]),
        ('drives[1].curve.stretch', [1.0]),
        ('drives[1].curve.stretch', [1.0, '2 mm', 1.2, 1.25, 1.3, 1.4, 1.5]),
        ('drives[1].curve.at', '0 60 30 90 120 150 180 kPa'),
        ('drives[1].curve.at', '0 30 kPa'),
    ],
)
def test_wrong_legs_are_refused(path, value):
    data = with_changes('soft_parallel', {'models.network': REMOVED, path: value})
    with pytest.raises(RobotFileError) as caught:
        describe_robot(data, 'bad.yaml')
    assert caught.value.path == path


@pytest.mark.parametrize('change', [{'spacing_ratio': 0.9}, {'elements': 10}])
def test_a_guess_from_another_design_leads_to_this_ones_shape(robot, change):
    other = redesigned(robot, **change)
    pressures = [90e3, 60e3, 120e3]
    cold = other.forward(pressures)
    warm = other.forward(pressures, guess=robot.forward(pressures))
    assert warm.status.code is cold.status.code is Code.NONE
    np.testing.assert_allclose(warm.tip, cold.tip, atol=1e-9)
    for a, b in zip(warm.backbones, cold.backbones, strict=True):
        np.testing.assert_allclose(a[0], b[0], atol=1e-12)
