# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a person reads beside the robot: actuators, device, solver, planner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.status import Code
from soro_node.conversions import lists_fit
from soro_node.display_units import millimetres
from soro_node.inputs.driver_constants import STOPPED_BIT
from soro_visualization.drawing.shape import Array, Shape
from soro_visualization.page.additions import BAD, FAINT, WARNING

# soro_msgs/ActuatorState device_state -> (name, colour, what to do)
DEVICE_STATES = {
    0: ('UNCONFIGURED', '#666b70', 'no device answers'),
    1: ('INACTIVE', '#666b70', 'not armed'),
    2: ('ACTIVE', '#237032', ''),
    3: ('SAFE', '#b35900', 'outputs made safe; "Clear" after a stop, then a new target'),
    4: ('FAULT', '#c92a2a', 'latched: clear the fault'),
    5: ('ESTOP', '#c92a2a', 'latched: release the emergency stop, then clear the fault'),
}
FLAGS = (
    (1, 'at lower limit'),
    (2, 'at upper limit'),
    (4, 'slowed'),
    (8, 'sensor fault'),
    (16, 'leak'),
    (32, 'blocked'),
    (64, 'over limit'),
)
NO_STATE, ACTIVE, SAFE = -1, 2, 3
HELD = 'stopped, or commands or device lost; look why, press Clear, then send a new target'
TASKS = ('position', 'position_and_axis', 'pose')  # of trajectory_planner
KERNELS = ': kernels'  # status of the nodes that compile
PLANNER = f'trajectory_planner{KERNELS}'
DRIVERS = ('driver: device', 'haptic_renderer: device')  # who speaks for the device


@dataclass(frozen=True)
class ActuatorReadout:
    """The newest ActuatorState in the order of the robot file."""

    #: commanded, applied, measured: (m,); SI; NaN where not known
    commanded: Array
    applied: Array
    measured: Array
    flags: tuple[int, ...]
    device_state: int  #: constant of the message
    source: str = ''  #: who is in control
    stops: int = 0  #: changes whenever the outputs were made safe for a reason
    stopped: bool = False  #: whether nothing moves before a person has cleared the driver

    @property
    def present(self) -> Array:
        """Measured, applied where there is no sensor."""
        return np.where(np.isfinite(self.measured), self.measured, self.applied)


@dataclass
class Snapshot:
    """Everything that is shown at one moment."""

    #: shape, ghost: present and commanded
    shape: Shape | None = None
    ghost: Shape | None = None
    #: the solver speaks no more: `shape` is the last it said, and may be wrong
    silent: bool = False
    #: `shape` is where the robot would be at rest: nobody has said yet where it is
    at_rest: bool = False
    actuators: ActuatorReadout | None = None  #: None: nobody speaks for the device
    #: diagnostics by 'node: status': level and message
    words: dict[str, tuple[int, str]] = field(default_factory=dict)
    driven: bool = False  #: there is somebody who can be stopped
    emulated: bool | None = None  #: whether that drives an emulator; None: it does not say
    angles: dict[str, float] = field(default_factory=dict)  #: of driven joints [rad]
    #: how much of a workspace is sampled (0 to 1) while that goes on
    computing: float | None = None
    time: float = 0.0  #: [s]


def readout_from_message(actuators: Sequence[Actuator], message: Any) -> ActuatorReadout | None:
    """Return the readout of a soro_msgs/ActuatorState, None where it is another robot's.

    ValueError: a list has not one value for each name.
    """
    names = list(message.name)
    if sorted(names) != sorted(a.name for a in actuators):
        return None
    lists = message.commanded, message.applied, message.measured, message.flags
    if not lists_fit(names, names, *lists):
        raise ValueError(
            f'commanded, applied, measured and flags have {", ".join(str(len(x)) for x in lists)} '
            f'values, expected {len(names)} each: one for every name'
        )
    order = [names.index(a.name) for a in actuators]
    return ActuatorReadout(
        np.array(message.commanded)[order],
        np.array(message.applied)[order],
        np.array(message.measured)[order],
        tuple(int(message.flags[i]) for i in order),
        int(message.device_state),
        message.command_source,
        getattr(message, 'stops', 0),  # recordings may be older than the field
        bool(message.faults & STOPPED_BIT),
    )


def angles_from_message(message: Any) -> dict[str, float]:
    """Return the finite angles of a sensor_msgs/JointState [rad]; there may be none at all."""
    pairs = zip(message.name, message.position, strict=False)
    return {name: angle for name, angle in pairs if np.isfinite(angle)}


def emulated_from_statuses(statuses: Iterable[Any]) -> bool | None:
    """Return whether the drivers of a robot drive an emulator, None where none says it.

    Of diagnostic_msgs/DiagnosticStatus. One that drives hardware is enough to call it that.
    """
    said = [
        value.value == 'true'
        for status in statuses
        if status.name.endswith(': device')
        for value in status.values
        if value.key == 'emulated'
    ]
    return all(said) if said else None


def flag_words(flags: int) -> str:
    """Return the flags of an actuator in words."""
    return ', '.join(word for bit, word in FLAGS if flags & bit)


def why_still(snapshot: Snapshot) -> str:
    """Say why no target moves the robot, in the words of its nodes; empty: one does."""
    readout = snapshot.actuators
    if readout is not None and readout.device_state in (ACTIVE, SAFE):
        return HELD if readout.stopped else said_of_kernels(snapshot, PLANNER)
    said = next((snapshot.words[d][1] for d in DRIVERS if d in snapshot.words), '')
    if readout is None:
        return said or 'no driver answers: it is still starting, or has ended'
    name, _, hint = DEVICE_STATES.get(readout.device_state, ('?', '', ''))
    return said or f'{name}: {hint}'


def said_of_kernels(snapshot: Snapshot, end: str = KERNELS) -> str:
    """Return what nodes say whose kernels are not ready; empty: none says so."""
    said = {k: text for k, (level, text) in snapshot.words.items() if level and k.endswith(end)}
    names = ', '.join(name.removesuffix(KERNELS) for name in said)
    return f'{names}: {next(iter(said.values()))}' if said else ''


def banner(snapshot: Snapshot) -> str:
    """Return HTML that says why the robot does not move, and whether what is drawn is real."""
    why = why_still(snapshot).replace('call driver/clear_fault', 'press Clear')
    if not why:
        return ''
    drawn = '<br>It is drawn at rest: nothing has been measured.' if snapshot.at_rest else ''
    return (
        '<div style="margin:0.3em 0.5em;padding:0.4em 0.6em;border-radius:0.4em;'
        f'background:#fff3bf;color:#5f3dc4">Does not move: {escape(why)}{drawn}</div>'
    )


def badge(driven: bool, emulated: bool | None) -> str:
    """Return HTML that says whether this is an emulator or hardware."""
    if not driven:
        text, colour = 'no device', '#666b70'
    elif emulated:
        text, colour = 'EMULATOR', '#1971c2'
    else:  # a robot that may move people is taken for one that does
        text, colour = 'HARDWARE?' if emulated is None else 'HARDWARE', '#c92a2a'
    return _pill(text, colour)


def status_html(snapshot: Snapshot) -> str:
    """Return the status lines as HTML."""
    kernels = said_of_kernels(snapshot)
    rows = [('kernels', f'<span style="color:{WARNING}">{escape(kernels)}</span>')] * bool(kernels)
    readout = snapshot.actuators
    if readout is None:
        rows.append(('device', _pill('silent', '#666b70') + ' no actuator_state'))
    else:
        name, colour, hint = DEVICE_STATES.get(readout.device_state, ('?', '#666b70', ''))
        rows.append(('device', _pill(name, colour) + ' ' + escape(hint)))
        rows.append(('in control', escape(readout.source.rsplit('/', 1)[-1] or 'nobody')))
    shape = snapshot.shape
    if snapshot.silent:
        level, text = snapshot.words.get('kinematics_solver: solver', (0, ''))
        why = escape(text) if level else 'no configuration'
        rows.append(('solver', _pill('silent', '#666b70') + ' ' + why))
    elif shape is not None:
        code = Code(shape.code) if shape.code in list(Code) else Code.UNKNOWN
        text = 'solved' if code is Code.NONE else code.name
        rows.append(('solver', f'{escape(shape.model)}, {text}, residual {shape.residual:.1e}'))
        if shape.doubt:
            rows.append(('warning', f'<span style="color:{WARNING}">{escape(shape.doubt)}</span>'))
        rows.append(('tip', millimetres(shape.tip[:3, 3])))
    for key, label in (
        ('trajectory_planner: stream', 'planner'),
        ('trajectory_planner: target', 'last target'),
    ):
        if key in snapshot.words:
            level, text = snapshot.words[key]
            colour = ('inherit', WARNING, BAD, FAINT)[min(level, 3)]
            rows.append((label, f'<span style="color:{colour}">{escape(text)}</span>'))
    cells = ''.join(
        f'<tr><td style="color:{FAINT};padding-right:0.6em;white-space:nowrap">{k}</td>'
        f'<td>{v}</td></tr>'
        for k, v in rows
    )
    return f'<table style="font-size:0.75em;margin:0 0.5em;border-spacing:0">{cells}</table>'


def _pill(text: str, colour: str) -> str:
    return (
        f'<span style="background:{colour};color:white;border-radius:0.5em;'
        f'padding:0.05em 0.5em;font-size:0.9em">{text}</span>'
    )
