# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Closed chains of two and three precurved rods in space, against collocation (solve_bvp)."""

from network_cases import body, end, ground, pose, problem, rod, section, solve
import numpy as np
import pytest
from scipy.integrate import solve_bvp

from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.layout import build_layout
from soro_mechanics.numerics import lie

K = np.array([3e3, 3e3, 6e3, 0.03, 0.045, 0.02])
SOFT = section(shear=3e3, axial=6e3, bending=(0.03, 0.045))
LOAD = np.array([0.6, -0.4, 0.5, 0.02, -0.03, 0.01])
BASES = (
    pose((0.1, 0.0, 0.0), lie.so3_exp([0.0, -0.2, 0.3])),
    pose((-0.08, 0.05, 0.0), lie.so3_exp([0.1, 0.25, 0.0])),
    pose((-0.02, -0.1, 0.02), lie.so3_exp([-0.3, 0.0, -0.2])),
)
CURVATURES = ((0.5, 1.0, 0.2), (-1.0, 0.3, 0.0), (0.8, -0.6, 0.4))
LENGTHS = (0.4, 0.42, 0.45)


def chain(count, **kind):
    tip = body('tip', pose((0.0, 0.0, 0.38)))
    rods = []
    for i in range(count):
        first = end('ground', BASES[i])
        rods.append(rod(f'rod_{i}', first, end('tip'), LENGTHS[i], SOFT, CURVATURES[i], **kind))
    return NetworkSpec((ground(), tip), tuple(rods), (), 'tip', np.eye(4))


def rates(count):
    def function(s, y):
        out = np.zeros_like(y)
        for i in range(count):
            o, scale = 18 * i, LENGTHS[i]
            rotation = y[o + 3 : o + 12].T.reshape(-1, 3, 3)
            n, m = y[o + 12 : o + 15].T, y[o + 15 : o + 18].T
            v = np.array([0.0, 0.0, 1.0]) + np.einsum('kji,kj->ki', rotation, n) / K[:3]
            u = np.array(CURVATURES[i]) + np.einsum('kji,kj->ki', rotation, m) / K[3:]
            ahead = np.einsum('kij,kj->ki', rotation, v)
            out[o : o + 3] = scale * ahead.T
            # R hat(u): every row of R crossed with u, turned
            out[o + 3 : o + 12] = scale * np.cross(rotation, u[:, None]).reshape(-1, 9).T
            out[o + 15 : o + 18] = -scale * np.cross(ahead, n).T
        return out

    return function


def conditions(count):
    def function(a, b):
        out = []
        for i in range(count):
            base = np.concatenate([BASES[i][:3, 3], BASES[i][:3, :3].ravel()])
            out.append(a[18 * i : 18 * i + 12] - base)
        first = b[3:12].reshape(3, 3)
        for i in range(1, count):
            o = 18 * i
            out.append(b[o : o + 3] - b[:3])
            skew = first.T @ b[o + 3 : o + 12].reshape(3, 3)
            out.append(
                np.array(
                    [skew[2, 1] - skew[1, 2], skew[0, 2] - skew[2, 0], skew[1, 0] - skew[0, 1]]
                )
            )
        force = sum(b[18 * i + 12 : 18 * i + 15] for i in range(count))
        moment = sum(b[18 * i + 15 : 18 * i + 18] for i in range(count))
        return np.concatenate([*out, force - LOAD[:3], moment - LOAD[3:]])

    return function


def guess(count, solver, outcome):
    """Sampled solution of the network: collocation decides for itself whether it agrees."""
    y = []
    for part, own in zip(solver.layout.rod_nodes, solver.layout.rod_pieces, strict=True):
        g, w = outcome.state.node[part], outcome.state.wrench[own]
        w = np.concatenate([w, w[-1:]])
        y += [g[:, :3, 3].T, g[:, :3, :3].reshape(-1, 9).T]
        y += [np.einsum('nij,nj->in', g[:, :3, :3], w[:, 3 * j : 3 * j + 3]) for j in range(2)]
    return np.linspace(0.0, 1.0, y[0].shape[1]), np.concatenate(y)


def problem_of():
    return problem(wrench=LOAD)


@pytest.mark.parametrize('count', [2, 3])
def test_closed_chain_against_collocation(count):
    solver, outcome = solve(chain(count, pieces=320), wrench=LOAD)
    assert outcome.converged
    found = outcome.state.body[1]
    s, y = guess(count, solver, outcome)
    rng = np.random.default_rng(0)
    y[:12] += 1e-3 * rng.normal(size=y[:12].shape)
    exact = solve_bvp(rates(count), conditions(count), s, y, tol=1e-8, max_nodes=4000)
    assert exact.success
    np.testing.assert_allclose(found[:3, 3], exact.y[:3, -1], atol=1e-7)
    np.testing.assert_allclose(found[:3, :3].ravel(), exact.y[3:12, -1], atol=1e-6)


def test_coarse_elements_converge_to_the_same_chain():
    _, fine = solve(chain(3, pieces=640), wrench=LOAD)
    errors = []
    for pieces in (20, 40):
        solver = Equilibrium(build_layout(chain(3, pieces=pieces), 0))
        outcome = solver.solve(problem_of(), np.zeros(0), None)
        assert outcome.converged
        errors.append(np.abs(outcome.state.body[1] - fine.state.body[1]).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.15)
