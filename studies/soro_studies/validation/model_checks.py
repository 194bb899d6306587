# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Every model of every robot, judged without any paper: differences, symmetry, energy, each other.

Loads are dead forces at the tip, as large as bend the robot by a few per cent of its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
import datetime
from typing import Any

import numpy as np

from soro_mechanics.analysis.workspace import sample_actuations
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.robot_file.catalogue import robot_files

SAMPLES = 4
COMPARED = 20  # where models are held beside each other
MANY = 10  # actuators: each sample is expensive, one must do
SEED = 7
# Of the way from rest to a random actuation within the limits; all of it where nothing is said.
# Lengths of rods and muscles are not independent of each other: far from rest most combinations
# cannot be assembled.
SHARE = {'stewart_gough': 0.05, 'pam_continuum': 0.2}
# The same theory with other numbers: nothing new to check, and no comparison of theories.
OTHER_NUMBERS = ('kirchhoff_published',)
DEFLECTION = 0.02  # of the robot's size, under the load
# Of the load, for differences: large enough that Newton's method takes several steps. After one
# alone the difference would be the tangent that the step was made with, and prove nothing.
STEP = 1e-2
TURN = 5e-4  # of the actuators' range, likewise; at most STEP of the share of it that is sampled
SIDE = 8  # intervals along each side of the closed path of loads (even: Simpson's rule)


@dataclass(frozen=True)
class ModelCheck:
    """The worst of all samples of one model.

    Attributes
    ----------
    robot, model : str
    share : float
        Of the way from rest to a random actuation.
    asymmetry : float
        Of the compliance (3, 3) under load, relative: zero where loads have a potential.
    least : float
        Smallest eigenvalue of the compliance over the largest: positive where stable.
    compliance, jacobian : float
        Relative difference from differences of the solution, of fourth order.
    loop : float
        Work of the load around a closed path, over the largest work on the way: zero where
        energy is kept.
    """

    robot: str
    model: str
    share: float
    asymmetry: float
    least: float
    compliance: float
    jacobian: float
    loop: float


@dataclass(frozen=True)
class Spread:
    """How far the tip of one model is from that of the robot's first model [m].

    Attributes
    ----------
    robot, first, model : str
    share : float
        Of the way from rest to a random actuation.
    size : float
        Largest distance of a backbone's point from the base at rest [m].
    unloaded, loaded : tuple of float
        Median and largest distance of the samples.
    """

    robot: str
    first: str
    model: str
    share: float
    size: float
    unloaded: tuple[float, float]
    loaded: tuple[float, float]


def check_models() -> list[ModelCheck]:
    """Check every model of the catalogue."""
    return [
        check_model(robot.with_model(model))
        for robot in map(load_robot, robot_files())
        for model in _theories(robot)
    ]


def check_model(robot: Robot, samples: int = SAMPLES) -> ModelCheck:
    """Check one model at random actuations under random forces."""
    found = []
    samples = 1 if len(robot.actuators) > MANY else samples
    for actuation, direction in zip(*_samples(robot, samples), strict=True):
        start = _solved(robot, actuation, np.zeros(3), None)
        force = _force(robot, start, direction)
        q = _solved(robot, actuation, force, start)
        c = robot.compliance(q)[:3, :3]
        by_force = _by_force(robot, q, force)
        by_actuation = _by_actuation(robot, q, force)
        values = np.linalg.eigvalsh(0.5 * (c + c.T))
        found.append(
            [
                _apart(c.T, c),
                -float(values[0] / values[-1]),
                _apart(by_force, c),
                _apart(robot.jacobian(q)[:3], by_actuation),
                abs(_loop(robot, start, force)),
            ]
        )
    worst = np.max(found, axis=0)
    return ModelCheck(
        robot.name,
        robot.model,
        _share(robot),
        float(worst[0]),
        -float(worst[1]),
        float(worst[2]),
        float(worst[3]),
        float(worst[4]),
    )


def _apart(one: Array, other: Array) -> float:
    return float(np.linalg.norm(one - other) / np.linalg.norm(other))


def compare_models(samples: int = COMPARED) -> list[Spread]:
    """Compare the models of every robot that has several."""
    found = []
    for name in robot_files():
        robot = load_robot(name)
        if len(_theories(robot)) > 1:
            found += _compare(robot, samples)
    return found


def _compare(robot: Robot, samples: int) -> list[Spread]:
    first, *others = (robot.with_model(m) for m in _theories(robot))
    actuations, directions = _samples(robot, samples)
    if len(robot.actuators) > MANY:
        # Of many lengths only those that a shape has mean the same to every theory.
        tips = [_solved(first, a, np.zeros(3), None).tip[:3, 3] for a in actuations]
        actuations = np.array([first.inverse(tip).actuation for tip in tips])
    alone = [_solved(first, a, np.zeros(3), None) for a in actuations]
    forces = [_force(first, q, d) for q, d in zip(alone, directions, strict=True)]
    loaded = [_solved(first, a, f, None) for a, f in zip(actuations, forces, strict=True)]
    zero = [np.zeros(3)] * len(alone)
    rest = _solved(first, np.array([a.rest for a in first.actuators]), np.zeros(3), None)
    spreads = []
    for model in others:
        pairs = []
        for loads, known in ((zero, alone), (forces, loaded)):
            apart = [
                np.linalg.norm(_solved(model, a, f, None).tip[:3, 3] - q.tip[:3, 3])
                for a, f, q in zip(actuations, loads, known, strict=True)
            ]
            pairs.append((float(np.median(apart)), float(np.max(apart))))
        spreads.append(
            Spread(
                robot.name,
                first.model,
                model.model,
                _share(robot),
                _size(rest),
                pairs[0],
                pairs[1],
            )
        )
    return spreads


def _theories(robot: Robot) -> list[str]:
    return [m for m in robot.models if m not in OTHER_NUMBERS]


def _share(robot: Robot) -> float:
    return SHARE.get(robot.name, 1.0)


def _samples(robot: Robot, count: int) -> tuple[Array, Array]:
    """Return actuations (n, m) and unit directions (n, 3)."""
    rest = np.array([a.rest for a in robot.actuators])
    actuations = rest + _share(robot) * (sample_actuations(robot, count, SEED) - rest)
    directions = np.random.default_rng(SEED).normal(size=(count, 3))
    return actuations, directions / np.linalg.norm(directions, axis=1, keepdims=True)


def _solved(
    robot: Robot, actuation: Array, force: Array, guess: Configuration | None
) -> Configuration:
    q = robot.forward(actuation, [*force, 0.0, 0.0, 0.0], guess)
    if not q.status.converged:
        raise RuntimeError(f'{robot.name}, {robot.model}, {actuation}: {q.status.message}')
    return q


def _size(q: Configuration) -> float:
    return max(float(np.linalg.norm(b[:, :3, 3], axis=1).max()) for b in q.backbones)


def _force(robot: Robot, q: Configuration, direction: Array) -> Array:
    largest = np.linalg.eigvalsh(robot.compliance(q)[:3, :3])[-1]
    return direction * DEFLECTION * _size(q) / largest


def _by_force(robot: Robot, q: Configuration, force: Array) -> Array:
    step = STEP * float(np.linalg.norm(force))

    def tip(change: Array) -> Array:
        return _solved(robot, q.actuation, force + change, q).tip[:3, 3]

    return np.column_stack([_slope(tip, axis, step) for axis in np.eye(3)])


def _by_actuation(robot: Robot, q: Configuration, force: Array) -> Array:
    ranges = np.array([a.maximum - a.minimum for a in robot.actuators])
    steps = min(TURN, STEP * _share(robot)) * ranges

    def tip(change: Array) -> Array:
        return _solved(robot, q.actuation + change, force, q).tip[:3, 3]

    axes = np.eye(len(steps))
    return np.column_stack(
        [_slope(tip, axis, step) for axis, step in zip(axes, steps, strict=True)]
    )


def _slope(place: Callable[[Array], Array], axis: Array, step: float) -> Array:
    """Return the central difference of fourth order along an axis."""
    near, far = (place(k * step * axis) - place(-k * step * axis) for k in (1.0, 2.0))
    return np.asarray((8.0 * near - far) / (12.0 * step))


def _loop(robot: Robot, q: Configuration, force: Array) -> float:
    """Return the work around the parallelogram of two forces, relative to the most on the way."""
    across = np.roll(force, 1)
    corners = [np.zeros(3), force, force + across, across, np.zeros(3)]
    forces = [corners[0]]
    for a, b in zip(corners[:-1], corners[1:], strict=True):
        forces += [a + (b - a) * k / SIDE for k in range(1, SIDE + 1)]
    places = []
    for each in forces:
        q = _solved(robot, q.actuation, each, q)
        places.append(q.tip[:3, 3])
    # Complementary work, x . dF: dF is constant along a side, so Simpson's rule serves each.
    weights = np.array([1.0, *[4.0, 2.0] * (SIDE // 2 - 1), 4.0, 1.0]) / (3.0 * SIDE)
    sides = [
        float((corners[k + 1] - corners[k]) @ (weights @ np.array(places[k * SIDE :][: SIDE + 1])))
        for k in range(4)
    ]
    from_start = np.array(places) - places[0]
    most = max(abs(float(f @ x)) for f, x in zip(forces, from_start, strict=True))
    return sum(sides) / most


def results() -> dict[str, Any]:
    """Compute everything, as JSON takes it."""
    return {
        'date': datetime.date.today().isoformat(),
        'checks': [asdict(check) for check in check_models()],
        'spreads': [asdict(spread) for spread in compare_models()],
    }


def markdown(kept: dict[str, Any]) -> list[str]:
    """Return what `results` found as sections of the validation report."""
    if not kept:
        return []
    checks = [ModelCheck(**check) for check in kept['checks']]
    spreads = [Spread(**spread) for spread in kept['spreads']]
    lines = [
        '## Every model without any paper',
        '',
        f'At {SAMPLES} random actuations (one, where there are more than {MANY} actuators), '
        '*share* of the way from rest to anywhere within the limits, under forces that bend the '
        'robot by about '
        f'{100 * DEFLECTION:g} % of its size; the worst of them. *Asymmetry* of the compliance '
        'and *work around a closed path* of loads vanish where the model is the equilibrium of '
        'an energy: rods that are integrated (`network` but for `haptic_5dof`) have one up to the '
        'fourth power of the step, as far as their solution is that of the continuous rod. The '
        'other columns compare the tangent with differences of the whole solution, of fourth '
        'order.',
        '',
        '| Robot | Model | Share | Asymmetry | Least eigenvalue / largest '
        '| Compliance, differences | Jacobian, differences | Work around a closed path |',
        '|---|---|---|---|---|---|---|---|',
    ]
    lines += [
        f'| {c.robot} | {c.model} | {c.share:.0%} | {c.asymmetry:.1e} | {c.least:.3g} '
        f'| {c.compliance:.1e} | {c.jacobian:.1e} | {c.loop:.1e} |'
        for c in checks
    ]
    lines += [
        '',
        '## The models of a robot beside each other',
        '',
        f'Distance between the tips at the same {COMPARED} actuations (*share* as above), without '
        'load and under the same force: median and largest. Different theories of the same body, '
        'so these are no errors of the computation; they say what a simpler model costs within '
        'that share.',
        '',
        '| Robot | Models | Share | Size | Without load, median | largest | Loaded, median '
        '| largest |',
        '|---|---|---|---|---|---|---|---|',
    ]
    for s in spreads:
        values = ' | '.join(f'{1e3 * v:.3g} mm' for v in (*s.unloaded, *s.loaded))
        lines.append(
            f'| {s.robot} | {s.model} to {s.first} | {s.share:.0%} | {1e3 * s.size:.0f} mm '
            f'| {values} |'
        )
    return [*lines, '']
