# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What following a path remembers: what its first steps have lacked.

What the step to the next target lacks is extrapolated from what those to the last ones lacked, by
Lagrange's polynomial in the distance along the path, so that targets need not be evenly spaced,
and a path that goes back is interpolated. path: PathMemory below.

Source: Lagrange's formula; that a lack grows with the square of the step is derived from Taylor's
and checked, like the extrapolation of polynomials, in test_network_path.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import merged_kernel
from soro_mechanics.compilation.kernels_by_reference import by_reference, copied

POSE = 12
POINTS = 6  # targets in a memory
USED = 5  # of them in one extrapolation
APART = 0.7  # least distance of two used ones along the path, in parts of the step ahead
FARTHEST = 12.0  # largest distance of one to the target, the same
MOST = 1e6  # of a lack
OFF_LINE = 0.03  # distance of one off the line of the step, in parts of that to the target


@by_reference
class PathMemory(NamedTuple):
    """What the steps to the last targets, newest first, have lacked, of n unknowns."""

    pose: NDArray[np.float64]  # (POINTS, 12) of the targets, row by row; (0, 12): nothing is kept
    lack: NDArray[np.float64]  # (POINTS, n) per square of the step
    known: NDArray[np.float64]  # (1,) of them
    square: NDArray[np.float64]  # (1,) of the present step; 0: nothing is learned of it
    now: NDArray[np.float64]  # (n,) what that one lacks


def new_path_memory(unknowns: int, points: int = POINTS) -> PathMemory:
    """Return a memory of nothing; of no points: one that stays so."""
    kept = min(points, 1)
    pose, lack = np.full((points, POSE), np.nan), np.zeros((points, unknowns))
    return PathMemory(pose, lack, np.zeros(kept), np.zeros(kept), np.zeros(kept * unknowns))


def copy_path(path: PathMemory) -> PathMemory:
    """Return a memory that changes by itself."""
    return copied(path, 'pose', 'lack', 'known', 'square', 'now')


@merged_kernel
def extrapolate(target, path, place, index):
    """Write the lack per square at a target to path.now; return from how many others it is.

    sum_j y_j prod_(m != j) t_m / (t_m - t_j), t the place along the step: -1 of the newest, 0 of
    the target (4, 4). path: above, of one target at least; place, index (USED,): scratch.
    """
    step = 0.0
    for i in range(POSE):
        a = target[i // 4, i % 4] - path.pose[0, i]
        step += a * a
    place[0] = -1.0
    index[0] = 0.0
    used = 1
    for k in range(1, int(path.known[0])):
        if used == USED or not step > 0.0:
            break
        along = 0.0
        for i in range(POSE):
            here = target[i // 4, i % 4]
            along += (path.pose[k, i] - here) * (here - path.pose[0, i])
        along /= step
        far = abs(along)
        off = 0.0
        for i in range(POSE):
            here = target[i // 4, i % 4]
            off = max(off, abs(path.pose[k, i] - here - along * (here - path.pose[0, i])))
        limit = OFF_LINE * max(1.0, far)
        if not (far <= FARTHEST and off * off <= limit * limit * step):
            break
        near = False
        for j in range(used):
            near = near or abs(place[j] - along) < APART
        if not near:
            place[used] = along
            index[used] = k
            used += 1
    out = path.now
    for i in range(out.shape[0]):
        out[i] = 0.0
    for j in range(used):
        weight = 1.0
        for m in range(used):
            if m != j:
                weight *= place[m] / (place[m] - place[j])
        k = int(index[j])
        for i in range(out.shape[0]):
            out[i] += weight * path.lack[k, i]
    return used


@merged_kernel
def foresee(path, target, place, index):
    """Write what the first step to a target, by what is linear, will lack; whether it is known.

    Of a path the lack is the same at every step but for the square of its length. path: above,
    out: square and now (0 where nothing is known); target (4, 4); place, index (USED,): scratch.
    """
    square = 0.0
    for i in range(POSE):
        square += (target[i // 4, i % 4] - path.pose[0, i]) ** 2
    path.square[0] = square
    known = path.known[0] > 1.0 and extrapolate(target, path, place, index) > 1
    for k in range(path.now.shape[0]):
        path.now[k] = square * path.now[k] if known else 0.0
        known = known and abs(path.now[k]) < MOST
    if not known:
        path.now[:] = 0.0
    return known


@merged_kernel
def learn_lack(path, target, stepped):
    """Add what the step to a target (4, 4) has lacked, from `foresee` and what followed, to path.

    Its first rows become pose and lack / step^2; not stepped: all are forgotten.
    """
    for row in range(POINTS - 1, 0, -1):
        for i in range(POSE):
            path.pose[row, i] = path.pose[row - 1, i]
        for i in range(path.now.shape[0]):
            path.lack[row, i] = path.lack[row - 1, i]
    for i in range(POSE):
        path.pose[0, i] = target[i // 4, i % 4]
    for k in range(path.now.shape[0]):
        path.lack[0, k] = path.now[k] / path.square[0]
    good = stepped and path.square[0] > 0.0
    path.known[0] = min(path.known[0] + 1.0, float(POINTS)) if good else 0.0
