# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Warm solves of one robot after the other, by whatever soro_mechanics the interpreter finds.

Run by `bench_before`, once with the sources of before and once with those of now, so it uses only
what both have. Each line of the input is the name of a robot, maybe with a model (`name:model`);
the answer is a line of JSON: processor times of forward, pose and position [s], how many of each
did not solve, and tip and stiffness of a loaded shape.
"""

import json
import sys
import time

import numpy as np

from soro_mechanics import load_robot

CALLS = 100
SHARE = 0.2  # of the range, where the circle of actuations has its centre


def circle(robot, name, share, calls):
    """Return actuations (calls, m) around a centre at a share of the ranges, from rest."""
    low, high = robot.limits.T
    rest = np.array([a.rest for a in robot.actuators])
    centre = rest + share * (np.where(high - rest >= rest - low, high, low) - rest)
    size = (0.001 if name == 'pam_continuum' else 0.004) * (high - low)
    turns = 2.0 * np.pi * np.arange(calls)[:, None] / calls
    return centre + size * np.sin(turns + np.arange(len(rest)))


class Solves:
    """The circle of actuations of a robot, and its tips."""

    def __init__(self, name):
        self.robot = robot = load_robot(*name.split(':'))
        self.path = circle(robot, name, SHARE, CALLS)
        self.near, tips = robot.forward(self.path[0]), []
        for actuation in self.path:
            self.near = robot.forward(actuation, guess=self.near)
            tips.append(self.near.tip)
        self.calls = {
            'forward': (robot.forward, self.path),
            'pose': (robot.inverse, tips),
            'position': (robot.inverse, [tip[:3, 3] for tip in tips]),
        }

    def times(self):
        """Return processor times [s] of a turn around the circle, and how many did not solve."""
        found, lost = {}, {}
        for name, (solve, aims) in self.calls.items():
            near, spent, bad = self.near, [], 0
            for aim in (aims[-1], *aims):
                began = time.thread_time()
                near = solve(aim, guess=near)
                spent.append(time.thread_time() - began)
                bad += near.status.code.name not in ('NONE', 'UNSTABLE')
            found[name], lost[name] = spent[1:], bad
        return {'times': found, 'lost': lost}

    def shape(self, parts, force):
        """Return tip (4, 4) and compliance (6, 6) under a wrench at the tip."""
        rest = np.array([a.rest for a in self.robot.actuators])
        actuation = rest + np.resize(parts, len(rest)) * (self.robot.limits[:, 1] - rest)
        q = self.robot.forward(actuation, force)
        return {'tip': q.tip.tolist(), 'compliance': self.robot.compliance(q).tolist()}


def main():
    """Answer each line."""
    known = {}
    for line in sys.stdin:
        asked = json.loads(line)
        name = asked['robot']
        if name not in known:
            known[name] = Solves(name)
        solves = known[name]
        answer = solves.times() if 'parts' not in asked else solves.shape(**asked['parts'])
        print(json.dumps(answer), flush=True)


if __name__ == '__main__':
    main()
