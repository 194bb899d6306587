# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The part of the rendering page about walls with stiffness and damping."""

from __future__ import annotations

from dataclasses import dataclass

from soro_mechanics.haptics.hand_impedance import LIGHT_GRIP
from soro_studies.haptics.compliant_wall import (
    Bounced,
    Cycled,
    FREQUENCY,
    MakeMoving,
    press_slowly,
    Pressed,
    run_into,
    swing,
)
from soro_studies.haptics.page_table import page_table
from soro_studies.haptics.rendering_experiments import MakeBench

WALLS = (60.0, 120.0, 240.0, 500.0, 1000.0)  # N/m, around the natural stiffness
DAMPERS = (0.0, 5.0, 20.0)  # N s/m
CONTACTS = (
    (120.0, 0.0),
    (120.0, 10.0),
    (500.0, 0.0),
    (500.0, 10.0),
    (1000.0, 0.0),
    (1000.0, 10.0),
    (1000.0, 40.0),
)
SPEED = 0.1  # m/s


@dataclass(frozen=True)
class CompliantWalls:
    """Results of all experiments with compliant walls."""

    pressed: list[Pressed]
    cycled: list[Cycled]
    bounced: list[Bounced]


def press_compliant_walls(make: MakeBench, make_moving: MakeMoving) -> CompliantWalls:
    """Run all experiments; a minute or two."""
    return CompliantWalls(
        [press_slowly(make, k) for k in WALLS],
        [swing(make, k, b) for k in WALLS for b in DAMPERS],
        [run_into(make_moving, k, b, LIGHT_GRIP, SPEED) for k, b in CONTACTS],
    )


def compliant_section(walls: CompliantWalls) -> str:
    """Return the section."""
    return '\n\n'.join(
        [
            '## Walls with stiffness and damping',
            'The paper leaves them open. Asked is force = k depth + b speed. Pressed '
            'slowly, 20 mm '
            'beyond the wall and back in 4 s: slope of true force over true position inside.',
            _pressed(walls.pressed),
            f'In cycles of {FREQUENCY:g} Hz, always in contact. Stiffness: the part of the '
            'force in '
            'phase with the position. Lost: area of the force-position curve per cycle, negative '
            'where the hand gets energy; asked: pi b omega a^2 at the amplitude a of the handle. '
            'Computed: the linear loop with its delay and lags, at the shape in the middle of the '
            'swing.',
            _cycled(walls.cycled),
            'The motors answer late by some T = 15 ms, and a wall k before legs of K is '
            'rendered by '
            'moving their far end by 1 - K / k of what they transmit. To first order that adds '
            'T k (1 - k / K) of damping: it takes energy below the stiffness of the legs, '
            'and gives '
            'it above. A stiff wall that took energy by itself would need b above T k (k / '
            'K - 1), '
            'more than the lag of the motors bears far above K: the last walls of the next '
            'table do '
            'not come to rest. There the hand has to damp, and the energy monitor bounds what it '
            'gets.',
            f'At contact: a {LIGHT_GRIP.name} with mass and damping (see the Z-width page, '
            'handle and '
            f'legs have inertia) runs in at {1e3 * SPEED:g} mm/s, to 15 mm beyond the wall, and '
            'stays. Balance: where the springs of hand and wall would meet. Rebound: how far it '
            'swings back beyond the place where it rests; left: how often it left the wall again.',
            _bounced(walls.bounced),
        ]
    )


def _pressed(pressed: list[Pressed]) -> str:
    rows = [
        [
            f'{p.asked:.0f}',
            f'{p.felt:.0f}',
            f'{p.felt / p.asked - 1.0:+.1%}',
            f'{p.felt / p.natural:.2f}',
        ]
        for p in pressed
    ]
    return page_table(('asked, N/m', 'felt, N/m', 'error', 'of the natural stiffness'), rows)


def _cycled(cycled: list[Cycled]) -> str:
    rows = [
        [
            f'{c.stiffness:.0f}',
            f'{c.damping:.0f}',
            f'{c.felt.real:.0f}',
            f'{c.computed.real:.0f}',
            f'{1e3 * c.amplitude:.1f}',
            f'{1e3 * c.lost:.2f}',
            f'{1e3 * c.asked_loss:.2f}',
            f'{1e3 * c.computed_loss:.2f}',
            f'{c.felt_damping:.1f}',
        ]
        for c in cycled
    ]
    head = (
        'asked, N/m',
        'asked, N s/m',
        'felt, N/m',
        'computed, N/m',
        'a, mm',
        'lost, mJ',
        'asked, mJ',
        'computed, mJ',
        'felt, N s/m',
    )
    return page_table(head, rows)


def _bounced(bounced: list[Bounced]) -> str:
    rows = [
        [
            f'{b.stiffness:.0f}',
            f'{b.damping:.0f}',
            f'{1e3 * b.deepest:.2f}',
            f'{1e3 * b.settled:.2f}',
            f'{1e3 * b.balance:.2f}',
            f'{1e3 * b.rebound:.2f}',
            f'{b.losses}',
        ]
        for b in bounced
    ]
    head = (
        'wall, N/m',
        'N s/m',
        'deepest, mm',
        'at rest, mm',
        'balance, mm',
        'rebound, mm',
        'left',
    )
    return page_table(head, rows)
