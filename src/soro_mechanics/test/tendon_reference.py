# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rods with tendons by the equations of Rucker and Webster 2011, integrated by SciPy.

IEEE Transactions on Robotics 27(6), 1033-1044: the coupled rod and tendon, paths at constant
offset. Strains (v, u) are the unknowns along the rod, as there; nothing is shared with the code
under test.
"""

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import root


def hat(w):
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def cross(a, b):
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


class TendonRod:
    """A straight clamped rod; tendons (offset x, y, tension, end) that all begin at its base."""

    def __init__(self, length, stiffness, tendons, weight, wrench):
        self.length, self.tendons = length, tendons
        self.k_se, self.k_bt = np.diag(stiffness[:3]), np.diag(stiffness[3:])
        self.weight, self.wrench = np.array(weight), np.array(wrench)

    def pulls(self, v, u, at):
        """Return force and moment of the tendons that run beyond `at` on what is before them."""
        force, moment = np.zeros(3), np.zeros(3)
        for x, y, tension, end in self.tendons:
            if end > at:
                r = np.array([x, y, 0.0])
                t = v + cross(u, r)
                t /= np.linalg.norm(t)
                force += tension * t
                moment += tension * cross(r, t)
        return force, moment

    def rates(self, s, y, middle):
        """Return p', R', v', u' and the growth of every path (their equations 15 to 17)."""
        rotation, v, u = y[3:12].reshape(3, 3), y[12:15], y[15:18]
        a_sum, b_sum, g_sum, h_sum = (np.zeros((3, 3)) for _ in range(4))
        a_vec, b_vec = np.zeros(3), np.zeros(3)
        paths = []
        for x, y_, tension, end in self.tendons:
            r = np.array([x, y_, 0.0])
            p = cross(u, r) + v
            size = np.linalg.norm(p)
            paths.append(size if end > middle else 0.0)
            if end <= middle:
                continue
            a = -tension * hat(p) @ hat(p) / size**3
            a_sum += a
            b_sum += hat(r) @ a
            g_sum -= a @ hat(r)
            h_sum -= hat(r) @ a @ hat(r)
            a_vec += a @ cross(u, p)
            b_vec += hat(r) @ a @ cross(u, p)
        n, m = self.k_se @ (v - [0.0, 0.0, 1.0]), self.k_bt @ u
        d = -cross(u, n) - rotation.T @ self.weight - a_vec
        c = -cross(u, m) - cross(v, n) - b_vec
        both = np.block([[self.k_se + a_sum, g_sum], [b_sum, self.k_bt + h_sum]])
        strains = np.linalg.solve(both, np.concatenate([d, c]))
        turn = (rotation @ hat(u)).ravel()
        return np.concatenate([rotation @ v, turn, strains, paths])

    def integrate(self, base):
        """Return the state at the end from the wrench of material and tendons at the base."""
        strain = self.strains(base, 0.0, np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
        y = np.concatenate([np.zeros(3), np.eye(3).ravel(), strain, np.zeros(len(self.tendons))])
        stops = sorted({0.0, self.length, *(t[3] for t in self.tendons)})
        for a, b in zip(stops[:-1], stops[1:], strict=True):
            y = solve_ivp(
                self.rates,
                (a, b),
                y,
                args=(0.5 * (a + b),),
                method='DOP853',
                rtol=1e-11,
                atol=1e-13,
            ).y[:, -1]
            if b < self.length:  # a tendon ends: what it carried goes over to the rod
                total = self.total(y[12:18], 0.5 * (a + b))
                y[12:18] = self.strains(total, b, y[12:18])
        return y

    def total(self, strain, at):
        v, u = strain[:3], strain[3:]
        force, moment = self.pulls(v, u, at)
        n = self.k_se @ (v - [0.0, 0.0, 1.0]) + force
        return np.concatenate([n, self.k_bt @ u + moment])

    def strains(self, total, at, start):
        scale = np.concatenate([np.diag(self.k_se), np.diag(self.k_bt)])
        found = root(lambda e: (self.total(e, at) - total) / scale, start, tol=1e-14)
        return found.x

    def solve(self):
        """Return tip (4, 4) and path lengths: total wrench at the end is the load there."""
        bend = self.k_bt[0, 0]
        unit = np.array([bend / self.length**2] * 3 + [bend / self.length] * 3)

        def lack(x):
            y = self.integrate(x * unit)
            rotation = y[3:12].reshape(3, 3)
            load = [*(rotation.T @ self.wrench[:3]), *(rotation.T @ self.wrench[3:])]
            end = self.total(y[12:18], self.length - 1e-12)
            return (end - load) / unit

        found = root(lack, np.zeros(6), tol=1e-12)
        assert np.abs(found.fun).max() < 1e-8, found.message
        y = self.integrate(found.x * unit)
        tip = np.eye(4)
        tip[:3, :3], tip[:3, 3] = y[3:12].reshape(3, 3), y[:3]
        return tip, y[18:]
