# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a moving network may touch: solids that stand still, and balls fixed on its bodies."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.dynamics.contact_kernels import BOX, PLANE, SPHERE
from soro_mechanics.dynamics.motion import Motion
from soro_mechanics.models.network.layout import Layout

SHAPES = {'plane': PLANE, 'sphere': SPHERE, 'box': BOX}
LAW = 'stiffness', 'dissipation', 'friction', 'slip'


@dataclass(frozen=True, eq=False)
class Solid:
    """A solid that stands still, and the law of its contacts; see `contact_kernels`.

    Assumed where not given: the law. A ball that meets it with speed v leaves it with about
    (1 - 2/3 dissipation v) v.
    """

    shape: str  # plane: below z = 0; sphere; box: around its centre
    pose: Array = field(default_factory=lambda: np.eye(4))  # in base_link
    size: Array = field(default_factory=lambda: np.zeros(3))  # m; sphere: its radius first
    stiffness: float = 1e5  # N / m^1.5
    dissipation: float = 0.3  # s/m
    friction: float = 0.5
    slip: float = 1e-3  # m/s, below which a contact sticks


@dataclass(frozen=True, eq=False)
class Ball:
    """A ball fixed on a body that may touch solids."""

    body: str = ''  # '': the tip, and then from its pose
    place: Array = field(default_factory=lambda: np.zeros(3))  # of the centre, in the body's frame
    radius: float = 0.0  # m


def write_contacts(
    layout: Layout, solids: tuple[Solid, ...], balls: tuple[Ball, ...], m: Motion
) -> None:
    """Write the contacts of a network into its motion; InvalidInput where a field is not right."""
    for k, one in enumerate(solids):
        if one.shape not in SHAPES:
            raise UnknownName('solids.shape', one.shape, tuple(SHAPES))
        law = [getattr(one, name) for name in LAW]
        numbers = finite_array('solids', [*np.resize(one.size, 3), *law], (7,))
        if (numbers < 0.0).any() or not min(one.slip, one.stiffness) > 0.0:
            raise InvalidInput('solids', numbers.tolist(), 'sizes and a law above zero')
        m.solid.shape[k], m.solid.size[k] = SHAPES[one.shape], numbers[:3]
        m.solid.place[k] = finite_array('solids.pose', one.pose, (4, 4))
        for name, number in zip(LAW, numbers[3:], strict=True):
            getattr(m.solid, name)[k] = number
    for i, ball in enumerate(balls):
        if ball.body not in ('', *layout.bodies[1:]):
            raise UnknownName('balls.body', ball.body, layout.bodies[1:])
        *place, radius = finite_array('balls', [*ball.place, ball.radius], (4,))
        body = layout.bodies.index(ball.body) if ball.body else layout.tip_body
        if ball.body and body == layout.tip_body:  # whose frame is at the tip
            place = layout.off_tip[:3, :3] @ place + layout.off_tip[:3, 3]
        m.ball.body[i], m.ball.centre[i], m.ball.radius[i] = body, place, radius
