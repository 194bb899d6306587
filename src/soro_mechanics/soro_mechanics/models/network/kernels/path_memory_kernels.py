# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What following a path remembers: solutions to extrapolate, and steps that correct old maps.

The first rows of a `memory` are the last solutions, newest first: pose of the platform (12), then
the unknowns. The next solution is extrapolated from them by Lagrange's polynomial in the distance
along the path, so that targets need not be evenly spaced, and a path that goes back is
interpolated.

The other rows are pairs of steps. Old linear maps H turn a residual r into a step -H r; after a
step s the next one, d, should have been zero, and Broyden's update (1 + w s') H with
w = d / (s's - s'd) would have made it so (Kelley 1995, Iterative Methods for Linear and Nonlinear
Equations, chapter 7). The pairs (s, w) stay: what maps that are some millimetres old have wrong
is nearly the same for the next targets.
"""

from soro_mechanics.compilation.kernels import merged_kernel

POSE = 12
POINTS = 6  # solutions in a memory
USED = 5  # of them in one extrapolation
PAIRS = 12
ROWS = POINTS + 2 * PAIRS + 2  # the last two take the present steps when all pairs are there
APART = 0.7  # least distance of two used solutions along the path, in parts of the step ahead
FARTHEST = 12.0  # largest distance of one to the target, the same
OFF_LINE = 0.03  # distance of one off the line of the step, in parts of that to the target
MIN_PART = 0.1  # an update that makes any step longer by more than its inverse is left out


@merged_kernel
def extrapolate(target, memory, count, place, index, out):
    """Write the extrapolated unknowns at a target; return how many solutions were used.

    Parameters
    ----------
    target : ndarray, shape (4, 4)
        Pose of the platform.
    memory : ndarray, shape (ROWS, POSE + unknowns)
    count : int
        Solutions in it, at least one.
    place, index : ndarray, shape (USED,)
        Scratch.
    out : ndarray, shape (unknowns,)
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
def foresee(path, target, start, place, index, change):
    """Correct a first step of the actuators, by what is linear, by what such steps have lacked.

    Of a path the lack is the same at every step but for the square of its length: rows of `path`
    hold it per square, and the last but one their number, the square of this step and its end. NaN
    where nothing is known.
    """
    now = path[POINTS]
    now[1] = 0.0
    for i in range(POSE):
        now[1] += (target[i // 4, i % 4] - path[0, i]) ** 2
    for k in range(start.shape[0]):
        now[POSE + k] = start[k] + change[k]
    lack = path[POINTS + 1, POSE:]
    if not now[0] > 1.0 or extrapolate(target, path, int(now[0]), place, index, lack) < 2:
        return False
    for k in range(start.shape[0]):
        change[k] += now[1] * lack[k]
    return True


@merged_kernel
def learn_lack(path, target, end, stepped):
    """Write what the first step to a target has lacked, now that its end is known."""
    now = path[POINTS]
    remember(path, target)
    for k in range(end.shape[0]):
        path[0, POSE + k] = (end[k] - now[POSE + k]) / now[1]
    now[0] = min(now[0] + 1.0, float(POINTS)) if stepped and now[1] > 0.0 else 0.0


@merged_kernel
def remember(memory, target):
    """Make room for a new solution in the first row and write its pose."""
    for k in range(POINTS - 1, 0, -1):
        for i in range(memory.shape[1]):
            memory[k, i] = memory[k - 1, i]
    for i in range(POSE):
        memory[0, i] = target[i // 4, i % 4]


@merged_kernel
def correct_step(memory, pairs, stepped):
    """Apply the pairs to the step in the row behind them, and learn from the one before it.

    Parameters
    ----------
    memory : ndarray, shape (ROWS, POSE + unknowns)
        In the rows behind the pairs: the last step, and the present one as the maps give it.
    pairs : int
    stepped : bool
        Whether there is a last step, towards the same target.

    Returns
    -------
    int
        Pairs that there are now; the corrected step stands in the first row behind them.
    """
    size = memory.shape[1]
    last = memory[POINTS + 2 * pairs]
    step = memory[POINTS + 2 * pairs + 1]
    for k in range(pairs):
        dot = _dot(memory[POINTS + 2 * k], step)
        w = memory[POINTS + 2 * k + 1]
        for i in range(POSE, size):
            step[i] += dot * w[i]
    if stepped and pairs < PAIRS:
        square = _dot(last, last)
        part = square - _dot(last, step)
        if part > MIN_PART * square:
            # step becomes w; the corrected step is d + w s'd = w s's
            corrected = memory[POINTS + 2 * pairs + 2]
            for i in range(POSE, size):
                step[i] /= part
                corrected[i] = square * step[i]
            return pairs + 1
    for i in range(POSE, size):
        last[i] = step[i]
    return pairs


@merged_kernel
def _dot(a, b):
    # four sums, because a single one waits for each addition
    s0 = s1 = s2 = s3 = 0.0
    for i in range(POSE, a.shape[0], 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    return (s0 + s1) + (s2 + s3)
