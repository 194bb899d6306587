# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Rotations, and shooting through a platform on clamped rods; shares no code with the library.

Cosserat rods with their weight are integrated from their bases, whose wrenches are sought with the
pose of the platform: six equations for every rod's end and six for the platform's balance.
"""

from typing import NamedTuple

import numpy as np


def hat(u):
    out = np.zeros((*u.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -u[..., 2], u[..., 1], -u[..., 0]
    return out - np.swapaxes(out, -1, -2)


def turned(u):
    """Return the rotation by u (..., 3), Rodrigues' formula."""
    angle = np.linalg.norm(u, axis=-1)[..., None, None]
    k = hat(u)
    return np.eye(3) + np.sinc(angle / np.pi) * k + 0.5 * np.sinc(angle / 2 / np.pi) ** 2 * k @ k


class Clamped(NamedTuple):
    """A platform on k rods, which are clamped to the ground and to it; SI."""

    base: np.ndarray  # (k, 4, 4) of the rods' first ends
    attach: np.ndarray  # (k, 4, 4) of their second ends, in the platform
    parts: tuple  # of every rod: lengths (k,), steps, rest curvature (3,)
    stretch: np.ndarray  # (3,) GA, GA, EA
    bend: np.ndarray  # (3,) EI, EI, GJ
    line: np.ndarray  # (k, 3) weight per length
    weight: np.ndarray  # (3,) of the platform, at its origin

    def ends(self, z):
        """Return place, rotation, force, moment at second ends, of base wrenches (n, k, 6)."""
        n, k = z.shape[:2]
        y = [
            np.broadcast_to(a, (n, *a.shape)) for a in (self.base[:, :3, 3], self.base[:, :3, :3])
        ]
        y, s = [*y, z[..., 3:]], np.zeros(k)
        for lengths, steps, rest in self.parts:
            h = lengths / steps
            for _ in range(steps):
                rate = [self._rates(y, z[..., :3] - self.line * s[:, None], rest)]
                for part in (0.5, 0.5, 1.0):
                    force = z[..., :3] - self.line * (s + part * h)[:, None]
                    rate.append(self._rates(_after(y, rate[-1], part * h), force, rest))
                mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(*rate, strict=True)]
                y, s = _after(y, mean, h), s + h
        return *y[:2], z[..., :3] - self.line * s[:, None], y[2]

    def _rates(self, y, force, rest):
        """Return d/ds of place, rotation and moment, base axes."""
        turn, moment = y[1:]
        n, m = (np.einsum('...ji,...j->...i', turn, v) for v in (force, moment))
        ahead = np.einsum('...ij,...j->...i', turn, np.array([0, 0, 1.0]) + n / self.stretch)
        return ahead, turn @ hat(rest + m / self.bend), -np.cross(ahead, force)

    def lacking(self, z, start, wrench):
        """Return what rows of unknowns (n, 6 + 6 k) leave of the equations."""
        n, k = len(z), len(self.base)
        frame, origin = turned(z[:, 3:6]) @ start[:3, :3], start[:3, 3] + z[:, :3]
        place, turn, force, moment = self.ends(z[:, 6:].reshape(n, k, 6))
        arm = np.einsum('nij,kj->nki', frame, self.attach[:, :3, 3])
        off = np.swapaxes(turn, -1, -2) @ frame[:, None] @ self.attach[:, :3, :3]
        off = np.stack([off[..., j, i] - off[..., i, j] for i, j in ((1, 2), (2, 0), (0, 1))], -1)
        inner = np.concatenate([1e3 * (place - origin[:, None] - arm), 50.0 * off], axis=-1)
        held = wrench[:3] + self.weight - force.sum(1)
        turning = wrench[3:] - (moment + np.cross(place - origin[:, None], force)).sum(1)
        return np.concatenate([held, 10.0 * turning, inner.reshape(n, 6 * k)], axis=1)

    def solved(self, start, wrench):
        """Return pose (4, 4) and compliance (6, 6) of the platform, sought from a pose."""
        size, pose = 6 + 6 * len(self.base), start.copy()
        z = np.zeros(size)
        step = np.concatenate([np.full(6, 1e-6), np.tile([1e-5] * 3 + [1e-6] * 3, size // 6 - 1)])
        for _ in range(15):
            sides = z + np.concatenate([np.zeros((1, size)), np.diag(step), -np.diag(step)])
            found = self.lacking(sides, pose, wrench)
            tangent = (found[1 : size + 1] - found[size + 1 :]).T / (2 * step)
            if np.abs(found[0]).max() < 1e-9:
                break
            change = np.linalg.solve(tangent, -found[0])
            z += change * min(1.0, 0.3 / np.abs(change[3:6]).max())
            pose[:3, 3] += z[:3]
            pose[:3, :3] = turned(z[3:6]) @ pose[:3, :3]
            z[:6] = 0.0
        assert np.abs(found[0]).max() < 1e-9
        loads = np.zeros((size, 6))
        loads[:6] = np.diag([1.0] * 3 + [10.0] * 3)
        return pose, -np.linalg.solve(tangent, loads)[:6]


def _after(y, rate, h):
    return [a + h.reshape(-1, *[1] * (a.ndim - 2)) * b for a, b in zip(y, rate, strict=True)]
