# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""All arrays that the fast inverse of a platform reads, as parts of three flat ones.

To hand an array over to a kernel costs 0.1 to 0.2 us, for the fifty of them as much as to
integrate the rods. A kernel gets the flat ones and cuts them; `cut.py_func` gives Python the same
parts. One piece per rod, two bodies. A part begins at a multiple of eight numbers: vector
instructions like a whole line of the cache.
"""

from typing import Any, NamedTuple

from soro_mechanics.models.network.arrays import State
from soro_mechanics.models.network.kernels.lane_kernels import BASE, LANES, LOAD, TABLE
from soro_mechanics.numerics.kernels import merged_kernel

SCRATCH = 64


class PlatformStructure(NamedTuple):
    """The part of `Structure` that an iteration reads, and the rod of every actuator."""

    counts: Any
    rod_node: Any
    rod_piece: Any
    rod_macro: Any
    lane: Any
    joint_kind: Any
    rod_of_actuator: Any
    share: Any
    attach: Any
    motor_axis: Any
    offset: Any
    joint_axes: Any
    light_drive: Any  # without columns of a variation nothing is read of this
    light_shift: Any  # and this
    scale: Any
    body_mass: Any
    body_centre: Any


class PlatformInputs(NamedTuple):
    """The same of `Inputs`."""

    length: Any
    theta: Any
    gap: Any
    table: Any
    gravity: Any
    dead: Any
    follower: Any
    dilution: Any


class PlatformWork(NamedTuple):
    """The same of `Work`, and the paths of the rods."""

    lanes: Any
    paths: Any
    load: Any
    end: Any
    basis: Any
    balance: Any
    h: Any
    closure: Any
    raw: Any
    scratch: Any


class Maps(NamedTuple):
    """Linear maps of one full assembly, per rod; names as in `platform_kernels`."""

    signature: Any
    ab: Any
    e: Any
    y: Any
    inverse: Any
    q: Any
    ta: Any
    spin: Any
    d: Any


@merged_kernel
def _after(at, size):
    """Return where the next part begins."""
    return at + (size + 7) // 8 * 8


@merged_kernel
def cut(numbers, values):
    """Return PlatformStructure, PlatformInputs, State and PlatformWork as parts of flat arrays.

    Parameters
    ----------
    numbers : ndarray of int, shape (numbers_size(rods),)
    values : ndarray, shape (values_size(rods, steps, batches),)
    """
    n = numbers[1]
    steps = numbers[4]
    batches = numbers[7]
    a = 0
    lanes = values[a : a + 4 * batches * BASE * LANES].reshape((batches, 4, BASE * LANES))
    a = _after(a, lanes.size)
    table = values[a : a + batches * (2 * steps + 1) * TABLE * LANES]
    table = table.reshape((batches, 2 * steps + 1, TABLE * LANES))
    a = _after(a, table.size)
    paths = values[a : a + batches * (steps + 1) * 12 * LANES]
    paths = paths.reshape((batches, steps + 1, 12 * LANES))
    a = _after(a, paths.size)
    load = values[a : a + batches * LOAD * LANES].reshape((batches, LOAD * LANES))
    a = _after(a, load.size)
    end = values[a : a + 32 * n].reshape((n, 2, 4, 4))
    a = _after(a, end.size)
    basis = values[a : a + 120 * n].reshape((n, 2, 6, 10))
    a = _after(a, basis.size)
    balance = values[a : a + 12].reshape((2, 6))
    a = _after(a, 12)
    h = values[a : a + 16 * n].reshape((n, 4, 4))
    a = _after(a, h.size)
    closure = values[a : a + 6 * n].reshape((n, 6))
    a = _after(a, closure.size)
    raw = values[a : a + 12 * n].reshape((n, 12))
    a = _after(a, raw.size)
    scratch = values[a : a + 32 * SCRATCH].reshape((SCRATCH, 32))
    a = _after(a, scratch.size)
    work = PlatformWork(lanes, paths, load, end, basis, balance, h, closure, raw, scratch)
    body = values[a : a + 32].reshape((2, 4, 4))
    a = _after(a, 32)
    node = values[a : a + 32 * n].reshape((2 * n, 4, 4))
    a = _after(a, node.size)
    wrench = values[a : a + 6 * n].reshape((n, 6))
    a = _after(a, wrench.size)
    joint = values[a : a + 6 * n].reshape((n, 2, 3))
    a = _after(a, joint.size)
    spin = values[a : a + 18 * n].reshape((n, 2, 3, 3))
    a = _after(a, spin.size)
    state = State(body, node, wrench, joint, spin, values[a:a].reshape((0, 0)))
    length = values[a : a + n]
    a = _after(a, n)
    theta = values[a : a + 2 * n].reshape((n, 2))
    a = _after(a, theta.size)
    gap = values[a : a + 16 * n].reshape((n, 4, 4))
    a = _after(a, gap.size)
    gravity = values[a : a + 3]
    a = _after(a, 3)
    dead = values[a : a + 12].reshape((2, 6))
    a = _after(a, 12)
    follower = values[a : a + 12].reshape((2, 6))
    a = _after(a, 12)
    dilution = values[a : a + n]
    a = _after(a, n)
    x = PlatformInputs(length, theta, gap, table, gravity, dead, follower, dilution)
    share = values[a : a + n]
    a = _after(a, n)
    attach = values[a : a + 32 * n].reshape((n, 2, 4, 4))
    a = _after(a, attach.size)
    motor_axis = values[a : a + 6 * n].reshape((n, 2, 3))
    a = _after(a, motor_axis.size)
    offset = values[a : a + 32 * n].reshape((n, 2, 4, 4))
    a = _after(a, offset.size)
    joint_axes = values[a : a + 12 * n].reshape((n, 2, 2, 3))
    a = _after(a, joint_axes.size)
    scale = values[a : a + 2]
    a = _after(a, 2)
    mass = values[a : a + 2]
    a = _after(a, 2)
    centre = values[a : a + 6].reshape((2, 3))
    nothing = values[0:batches].reshape((batches, 1))
    kinds = numbers[10 + 4 * n : 10 + 6 * n].reshape((n, 2))
    s = PlatformStructure(
        numbers[0:8], numbers[8 : 9 + n], numbers[9 + n : 10 + 2 * n],
        numbers[10 + 2 * n : 10 + 3 * n], numbers[10 + 3 * n : 10 + 4 * n], kinds,
        numbers[10 + 6 * n : 10 + 7 * n], share, attach, motor_axis, offset, joint_axes, nothing,
        nothing, scale, mass, centre,
    )  # fmt: skip
    return s, x, state, work


@merged_kernel
def cut_maps(maps, n):
    """Return Maps as parts of a flat array of maps_size(n) numbers."""
    a = 1 + 2 * n
    b = a + 36 * n
    c = b + 36 * n
    d = c + 36 * n
    e = d + 36
    f = e + 6 * n
    g = f + 6 * n
    h = g + 6 * n
    return Maps(
        maps[0:a],
        maps[a:b].reshape((n, 6, 6)),
        maps[b:c].reshape((n, 6, 6)),
        maps[c:d].reshape((n, 6, 6)),
        maps[d:e].reshape((6, 6)),
        maps[e:f].reshape((n, 6)),
        maps[f:g].reshape((n, 6)),
        maps[g:h].reshape((n, 6)),
        maps[h : h + n],
    )


def maps_size(n: int) -> int:
    """Return the numbers of the maps of so many rods."""
    return 37 + 129 * n


def numbers_size(n: int) -> int:
    """Return the length of `numbers` for so many rods."""
    return 10 + 7 * n


def values_size(n: int, steps: int, batches: int) -> int:
    """Return a length that `values` does not exceed for so many rods."""
    lanes = LANES * batches * (4 * BASE + TABLE * (2 * steps + 1) + 12 * (steps + 1) + LOAD)
    return lanes + 32 * SCRATCH + 360 * n + 400
