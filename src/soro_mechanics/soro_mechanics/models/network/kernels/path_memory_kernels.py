# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What following a path remembers: what its first steps have lacked.

The first rows of a `memory` are of the last targets, newest first: pose of the body (12), then
numbers that are a function of it. Those of the next target are extrapolated from them by
Lagrange's polynomial in the distance along the path, so that targets need not be evenly spaced,
and a path that goes back is interpolated.

Source: Lagrange's formula; that a lack grows with the square of the step is derived from Taylor's
and checked, like the extrapolation of polynomials, in test_network_path.py.
"""

from soro_mechanics.compilation.kernels import merged_kernel

POSE = 12
POINTS = 6  # targets in a memory
USED = 5  # of them in one extrapolation
APART = 0.7  # least distance of two used ones along the path, in parts of the step ahead
FARTHEST = 12.0  # largest distance of one to the target, the same
MOST = 1e6  # of a lack
OFF_LINE = 0.03  # distance of one off the line of the step, in parts of that to the target


@merged_kernel
def extrapolate(target, memory, count, place, index, out):
    """Write the extrapolated numbers at a target; return from how many others they are.

    sum_j y_j prod_(m != j) t_m / (t_m - t_j), t the place along the step: -1 of the newest, 0 of
    the target. target (4, 4); memory (at least POINTS, POSE + n); count: targets in it, at least
    one; place, index (USED,): scratch; out (n,).
    """
    step = 0.0
    for i in range(POSE):
        a = target[i // 4, i % 4] - memory[0, i]
        step += a * a
    place[0] = -1.0
    index[0] = 0.0
    used = 1
    for k in range(1, count):
        if used == USED or not step > 0.0:
            break
        along = 0.0
        for i in range(POSE):
            here = target[i // 4, i % 4]
            along += (memory[k, i] - here) * (here - memory[0, i])
        along /= step
        far = abs(along)
        off = 0.0
        for i in range(POSE):
            here = target[i // 4, i % 4]
            off = max(off, abs(memory[k, i] - here - along * (here - memory[0, i])))
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
    for i in range(out.shape[0]):
        out[i] = 0.0
    for j in range(used):
        weight = 1.0
        for m in range(used):
            if m != j:
                weight *= place[m] / (place[m] - place[j])
        k = int(index[j])
        for i in range(out.shape[0]):
            out[i] += weight * memory[k, POSE + i]
    return used


@merged_kernel
def foresee(path, target, place, index):
    """Write what the first step to a target, by what is linear, will lack; whether it is known.

    Of a path the lack is the same at every step but for the square of its length: rows of `path`
    hold it per square, the last but one their number, the square of this step and its lack. NaN
    where nothing is known. path (POINTS + 2, POSE + n); target (4, 4); place, index (USED,):
    scratch.
    """
    now = path[POINTS]
    now[1] = 0.0
    for i in range(POSE):
        now[1] += (target[i // 4, i % 4] - path[0, i]) ** 2
    lack, out = path[POINTS + 1, POSE:], now[POSE:]
    known = now[0] > 1.0 and extrapolate(target, path, int(now[0]), place, index, lack) > 1
    for k in range(lack.shape[0]):
        out[k] = now[1] * lack[k] if known else 0.0
        known = known and abs(out[k]) < MOST
    if not known:
        out[:] = 0.0
    return known


@merged_kernel
def learn_lack(path, target, stepped):
    """Add what the step to a target (4, 4) has lacked, from `foresee` and what followed, to path.

    Its first row becomes pose and lack / step^2; not stepped: all are forgotten.
    """
    now = path[POINTS]
    for row in range(POINTS - 1, 0, -1):
        for i in range(path.shape[1]):
            path[row, i] = path[row - 1, i]
    for i in range(POSE):
        path[0, i] = target[i // 4, i % 4]
    for k in range(POSE, path.shape[1]):
        path[0, k] = now[k] / now[1]
    now[0] = min(now[0] + 1.0, float(POINTS)) if stepped and now[1] > 0.0 else 0.0
