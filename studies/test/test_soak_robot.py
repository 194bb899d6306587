# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a soak calls a problem, with a robot that is only pretended."""

from __future__ import annotations

import random
import time
from types import SimpleNamespace

import pytest

from soro_driver.device import DeviceState
from soro_studies.system.soak_faults import STALL
from soro_studies.system.soak_robot import RobotSoak


class Idle(RobotSoak):
    """A soak without processes: the device is in a state, and nobody is asked anything."""

    def __init__(self, state):
        output = f'[driver] [INFO] [{time.time()}] [soak.driver]: safe action: no command'
        process = SimpleNamespace(output=output)
        self._robot = SimpleNamespace(
            state=lambda: state, send=lambda target: None, process=process
        )
        self._faults, self.faults, self.moments = [], [], []
        self._stalls = SimpleNamespace(lately=lambda: (0.312, 0.5))
        self._random, self._say, self._start, self.targets = random.Random(0), print, 0.0, 0
        self._said_of_device = lambda: 'device lost'
        self._target = self._serve = self._moving = self._recover = lambda: True
        self._spin = self._begin = self._mend = lambda of: None


@pytest.mark.parametrize(
    ('state', 'problems'),
    [
        (DeviceState.ACTIVE, []),
        (DeviceState.SAFE, ['tripped without']),
        (DeviceState.FAULT, ['tripped without']),
    ],
)
def test_a_robot_that_trips_without_a_fault_is_a_problem(state, problems):
    soak = Idle(state)
    soak._load(0.01)
    assert [p.partition(' a fault')[0] for p in soak.problems] == problems
    assert [(m['late'], m['stolen']) for m in soak.moments] == [(0.312, 0.5)] * len(problems)
    assert all('driver: safe action: no command' in m['said'][0] for m in soak.moments)


@pytest.mark.parametrize(('state', 'count'), [(DeviceState.ACTIVE, 0), (DeviceState.FAULT, 1)])
def test_a_fault_that_the_robot_should_ride_out_is_judged(state, count):
    soak = Idle(state)
    soak._break(STALL)
    assert sum('stall: not ridden out' in p for p in soak.problems) == count
