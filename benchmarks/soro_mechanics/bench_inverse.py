# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Time warm forward and inverse of every robot, and what part of them is outside kernels.

Targets are tips of actuations on a small circle, a step of it after the other: about a fifth of
the range of all actuators, and `apart`, where each has another part of it and the robot is bent.
Asked: an inverse in 1.3 of the robot's own forward, a third of the time outside kernels.
"""

from dataclasses import replace
import sys
import time

from numba.core.dispatcher import Dispatcher
import numpy as np
from warm_solves import circle

from soro_mechanics import load_robot
from soro_studies.mechanics.benchmark_rows import measure, report

ROBOTS = (
    'haptic_5dof', 'stewart_gough', 'soft_parallel', 'soft_parallel:network', 'stiff_flop',
    'stiff_flop:network', 'stiff_flop_two_segment', 'pam_continuum', 'spatial_cc',
)  # fmt: skip
CALLS, PASSES = 200, 5
RATIO, OUTSIDE = 1.3, 1.0 / 3.0
GOLDEN = 0.6180339887


class Timed:
    """A kernel that adds up the time which its outermost calls take."""

    spent, inside = 0.0, False

    def __init__(self, kernel):
        self.kernel = kernel

    def __call__(self, *values):
        """Call the kernel."""
        if Timed.inside:
            return self.kernel(*values)
        Timed.inside, began = True, time.perf_counter()
        try:
            return self.kernel(*values)
        finally:
            Timed.inside, Timed.spent = False, Timed.spent + time.perf_counter() - began

    def __getattr__(self, name):
        return getattr(self.kernel, name)


def took(call):
    """Return the time of calls, one after the other [s]."""
    began = time.perf_counter()
    for k in range(CALLS):
        call(k)
    return time.perf_counter() - began


def outside(call):
    """Return the part of the time of calls outside kernels, medians of passes.

    The whole is timed without the watches at the kernels, which would count as outside.
    """
    whole, inside = [took(call) for _ in range(PASSES)], []
    loaded = [m for name, m in list(sys.modules.items()) if name.startswith('soro_mechanics')]
    kernels = [(m, k, v) for m in loaded for k, v in vars(m).items() if isinstance(v, Dispatcher)]
    for module, name, kernel in kernels:
        setattr(module, name, Timed(kernel))
    for _ in range(PASSES):
        Timed.spent = 0.0
        took(call)
        inside.append(Timed.spent)
    for module, name, kernel in kernels:
        setattr(module, name, kernel)
    return 1.0 - float(np.median(inside) / np.median(whole))


def rows(name, apart=False):
    """Return the rows of one robot at one centre."""
    robot = load_robot(*name.split(':'))
    places = GOLDEN * np.arange(1, len(robot.actuators) + 1)
    share = 0.05 + 0.45 * (places % 1.0) if apart else 0.2
    label = f'{name} apart' if apart else name
    path = circle(robot, name, share, CALLS)
    near, tips = {'q': robot.forward(path[0])}, []

    def forward(k):
        near['q'] = robot.forward(path[k % CALLS], guess=near['q'])
        return near['q']

    def inverse(target):
        near['q'] = robot.inverse(target, guess=near['q'])
        return near['q']

    for k in range(CALLS):
        tips.append(forward(k).tip)
    calls = {
        'forward': forward,
        'pose': lambda k: inverse(tips[k % CALLS]),
        'position': lambda k: inverse(tips[k % CALLS][:3, 3]),
    }
    found, own = [], 0.0  # processor time of a forward
    for what, call in calls.items():
        row = measure(f'{label}: warm {what}', call, CALLS, RATIO * own or np.inf, warm_up=CALLS)
        own = own or row.processor
        share = outside(call)
        late = ', missed' if share > OUTSIDE else ''
        note = f'{row.processor / own:.2f} of forward (1.3), {share:.0%} outside (33 %{late})'
        found.append(replace(row, note=note))
        near['q'] = robot.forward(path[0]) if what == 'forward' else near['q']
    return found


if __name__ == '__main__':
    report([row for name in ROBOTS for apart in (False, True) for row in rows(name, apart)])
