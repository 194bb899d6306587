# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Raw results of soaks that were never run."""

from __future__ import annotations

MEBI = 2**20
PROCESSES = ('driver', 'emulator', 'emulator child 1', 'kinematics_solver', 'launch', 'recorder')


def samples_of(minutes, memory=lambda k: 100 * MEBI):
    """Return samples every two seconds."""
    return [
        [2.0 * k, {name: [int(memory(k)), 20, 25] for name in PROCESSES}]
        for k in range(int(30 * minutes) + 1)
    ]


def raw_of(robot='stiff_flop', lasted=30.2, **values):
    """Return the raw result of a robot, as its process writes it."""
    return {
        'robot': robot, 'began': '2026-11-20T04:36:28+00:00', 'minutes': 30.0, 'seed': 3,
        'together': 2, 'machine': 'x86_64, 2 cores, Python 3.11.7', 'seconds': 60.0 * lasted,
        'targets': 700, 'service_refusals': 0,
        'calls': {
            'forward': {'count': 4000, 'p50': 0.01, 'p99': 0.4671},
            'inverse': {'count': 1000, 'p50': 0.02, 'p99': 0.2},
        },
        'stops': [
            {'answered': 0.01, 'stopped': 0.0312, 'after': 4.0},
            {'answered': 0.01, 'stopped': None, 'after': 40.0},
        ],
        'faults': [
            {
                'fault': 'silent', 'after': 9.0, 'noticed': 0.284, 'state': 'FAULT',
                'recovered': 1.0, 'message': 'device lost',
            },
            {
                'fault': 'stall', 'after': 20.0, 'noticed': None, 'state': 'ACTIVE',
                'recovered': None, 'message': '',
            },
        ],
        'problems': {'stop missed: late': 1, 'estop: not noticed': 2}, 'exit': 0, 'tracebacks': 0,
        'start': {'took': 9.0, 'cleared': 0}, 'shared_memory': {'seen': 21, 'left': ['a: b']},
        'samples': samples_of(lasted), **values,
    }  # fmt: skip
