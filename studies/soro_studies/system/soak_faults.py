# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a soak breaks on the emulated devices, and whether the robot must stop for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class SoakFault:
    """A fault of an emulator (docs/nodes/emulator.md).

    Attributes
    ----------
    name : str
    values : dict
    stops : bool
        Whether the driver must leave ACTIVE; else the robot goes on.
    """

    name: str
    values: dict[str, Any] = field(default_factory=dict)
    stops: bool = True

    @property
    def words(self) -> str:
        """The fault and its values."""
        rest = ' '.join(f'{k}={v}' for k, v in self.values.items())
        return f'{self.name} {rest}'.rstrip()


# Of the driver's process, the emulator's process, and the topic `estop`; for every device.
FREEZE, STALL, ESTOP = SoakFault('freeze'), SoakFault('stall', stops=False), SoakFault('estop')
COMMON = (FREEZE, STALL, ESTOP)
# Of the process that makes NI cards safe when the driver has died.
FREEZE_SUPERVISOR = SoakFault('supervisor_freeze')

_SERIAL = (
    SoakFault('silent'),
    SoakFault('unplug'),
    SoakFault('reboot'),
    SoakFault('garbage', {'count': 1000}, stops=False),
    SoakFault('link', {'direction': 'both', 'loss': 0.05, 'repetition': 0.05}, stops=False),
)
FAULTS: dict[str, tuple[SoakFault, ...]] = {
    'nidaq': (
        SoakFault('silent'),
        SoakFault('sensor', {'voltage': 11.0}),
        SoakFault('error', {'call': 'ReadAnalogF64', 'code': -200279}),
        SoakFault('error', {'call': 'ReadAnalogF64', 'code': -201190}),
        FREEZE_SUPERVISOR,
    ),
    'dspace': (*_SERIAL, SoakFault('deaf'), SoakFault('sensor', {'voltage': 11.0})),
    'stm32': _SERIAL,
    'can': (
        SoakFault('silent'),
        SoakFault('unplug'),
        SoakFault('reboot'),
        SoakFault('bus_off'),
        SoakFault('babble'),
        SoakFault('link', {'direction': 'both', 'loss': 0.02}, stops=False),
    ),
    'simulated': (
        SoakFault('silent', {'duration': 60.0}),
        SoakFault('disconnect'),
        SoakFault('reboot'),
        SoakFault('garbage', {'count': 100}, stops=False),
    ),
}


def faults_of(device: str) -> tuple[SoakFault, ...]:
    """Return everything that is done to a robot with this device."""
    return (*FAULTS[device], *COMMON)
