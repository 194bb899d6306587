# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``haptic`` of a robot file: what makes legs and a handle a haptic device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True)
class FlexStrip:
    """One flex sensor: where along which rod [m] its active length lies."""

    name: str
    rod: str
    start: float
    length: float


@dataclass(frozen=True, eq=False)
class HapticSpec:
    """Everything that the section ``haptic`` says, in SI."""

    #: (3,); unit, in the tip frame: the turn about it is not felt and not controlled
    handle_axis: Array
    torque_limit: float  #: of every motor, at the angle that the actuators state [N m]
    distance: float  #: of the strips from the neutral fibre [m]
    deviation: float  #: standard deviation of a strip's elongation before a calibration [m]
    strips: tuple[FlexStrip, ...]


def read_haptic(root: Section, actuators: tuple[Actuator, ...]) -> HapticSpec:
    """Read and check the section ``haptic`` of a robot file."""
    with root.section('haptic') as top:
        axis = top.vector('handle_axis', '1', 3)
        size = float(np.linalg.norm(axis))
        if not size > 0.0:
            raise top.error('handle_axis', 'write a direction that is not zero')
        torque = top.quantity('torque_limit', 'N m', positive=True)
        with top.section('flex_sensors') as table:
            distance = table.quantity('distance', 'm', positive=True)
            deviation = table.quantity('deviation', 'm', positive=True)
            strips: list[FlexStrip] = []
            for item in table.sections('strips'):
                with item:
                    strip = FlexStrip(
                        item.text('name'),
                        item.text('rod'),
                        item.quantity('from', 'm', minimum=0.0),
                        item.quantity('length', 'm', positive=True),
                    )
                    if strip.name in [s.name for s in strips]:
                        raise item.error('name', 'two sensors have this name')
                strips.append(strip)
        for actuator in actuators:
            if actuator.quantity != 'angle':
                raise root.error('haptic', f'{actuator.name} is not an angle')
    return HapticSpec(axis / size, torque, distance, deviation, tuple(strips))
