# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Between SI and the units people read and write, on a terminal and a page: bar, mm, deg.

What is typed always carries its unit (``0.9bar``, ``10mm``); only a zero may go without.
"""

from __future__ import annotations

from collections.abc import Sequence
import difflib
import math
import re
import shlex
from typing import TYPE_CHECKING

from soro_mechanics.core.actuators import Actuator, limit_violations
from soro_mechanics.robot_file.quantity import COMMA, parse, QuantityError, UNITS, units_of
from soro_node.user_errors import UserError

if TYPE_CHECKING:
    from soro_mechanics.robot_file.reader import RobotDescription

# SI unit -> (unit shown, its size in SI)
SHOWN: dict[str, tuple[str, float]] = {
    'Pa': ('bar', 1e5),
    'm': ('mm', 1e-3),
    'rad': ('deg', math.pi / 180.0),
    '1': ('', 1.0),
    '1/m': ('1/m', 1.0),
    'N': ('N', 1.0),
    'N m': ('N m', 1.0),
    's': ('ms', 1e-3),
}
DECIMALS = {'Pa': 3, 'm': 2, 'rad': 2, '1': 4, '1/m': 3, 'N': 2, 'N m': 3}  # on a page
ROUND_OFF = 1e-9  # of the unit shown: what a solver leaves of a zero
OUT_OF_RANGE = 103  # ErrorCode


def shown(value: float, si_unit: str) -> str:
    """Return a value with the unit people read, four significant digits."""
    unit, size = SHOWN[si_unit]
    if si_unit == 's' and abs(value) >= 1.0:
        unit, size = 's', 1.0
    number = value / size
    return f'{0.0 if abs(number) < ROUND_OFF else number:.4g} {unit}'.rstrip()


def unit_of(actuator: Actuator) -> str:
    """Return the unit in which an actuator is shown."""
    return SHOWN[actuator.unit][0]


def size_of(actuator: Actuator) -> float:
    """Return the size of that unit in SI."""
    return SHOWN[actuator.unit][1]


def step_of(actuator: Actuator) -> float:
    """Return the smallest step of a slider, in the unit shown."""
    return 10.0 ** -DECIMALS[actuator.unit]


def shown_steady(value: float, si_unit: str) -> str:
    """Return a value that changes, with its unit and as many decimals as always; - if unknown."""
    unit, size = SHOWN[si_unit]
    if not math.isfinite(value):
        return f'- {unit}'.rstrip()
    return f'{value / size:.{DECIMALS[si_unit]}f} {unit}'.rstrip()


def millimetres(position: Sequence[float]) -> str:
    """Return a position [m] as x, y, z in millimetres."""
    return ', '.join(f'{1e3 * float(v):.1f}' for v in position) + ' mm'


def shown_position(values: Sequence[float]) -> str:
    """Return a position, axis by axis."""
    return '  '.join(f'{axis} {shown(v, "m")}' for axis, v in zip('xyz', values, strict=True))


def number(text: str, si_unit: str, what: str) -> float:
    """Read one typed quantity. UserError: the unit is missing or of another dimension."""
    try:
        return 0.0 if _is_zero(text) else parse(text, si_unit)[0]
    except QuantityError as error:
        raise UserError(f'{what} = {text!r}: {error}', OUT_OF_RANGE) from None


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0.0
    except ValueError:
        return False


def _word(name: str, value: float, si_unit: str) -> str:
    """Return a quantity as one word of a command line; spaces of '0.5 1/m', '1 N m' must stay."""
    text = shown(value, si_unit)
    spaced = si_unit[0] == '1' or ' ' in si_unit
    return shlex.quote(f'{name}={text}') if spaced else f'{name}={text.replace(" ", "")}'


def check_units(words: Sequence[str]) -> list[str]:
    """Refuse words whose unit no actuator has, before any robot is looked for.

    Returns those without one: right for a stretch only, but which robot is not known yet.

    UserError: with the unit that was probably meant.
    """
    known = [u for si in SHOWN if si != 's' for u in units_of(si)]
    for word in words:
        unit = _unit_of(word)
        if unit and unit not in known:
            near = [u for u in known if sorted(u) == sorted(unit)]  # bra
            near = near or difflib.get_close_matches(unit, known, n=1, cutoff=0.5)
            meant = f'; did you mean {near[0]!r}?' if near else f'; units are {", ".join(known)}'
            meant = f'; {COMMA}' if ',' in unit else meant
            raise UserError(f'{word!r}: no drive or pose has unit {unit!r}{meant}', OUT_OF_RANGE)
    numbers = [(word, word.split('=')[-1]) for word in words]
    return [word for word, text in numbers if re.search(r'[\d.]\s*$', text) and not _is_zero(text)]


def _unit_of(word: str) -> str:
    """Return the unit of a typed quantity; empty where there is none, or no number."""
    match = re.fullmatch(
        r'\s*[-+]?[\d.]+(?:[eE][-+]?\d+)?(?![\d/])\s*(.*?)\s*', word.split('=')[-1]
    )
    return '' if match is None else match.group(1)


def _neighbour(words: Sequence[str], si_unit: str) -> str:
    """Say which verb takes what was typed: lengths are a target, other units an actuation."""
    kinds = {UNITS[u][0] for u in map(_unit_of, words) if u in UNITS}
    if kinds == {'m'} and si_unit != 'm':
        return '. A position is given to soro ik, or to soro move without --actuation'
    if kinds and 'm' not in kinds and si_unit == 'm':
        return '. An actuation is given to soro fk, or to soro move --actuation'
    return ''


def actuation(words: Sequence[str], actuators: Sequence[Actuator]) -> list[float]:
    """Read an actuation: one quantity per actuator in order, or ``name=quantity`` words.

    With names the actuators left out stay at rest.
    """
    try:
        return _actuation(words, actuators)
    except UserError as error:
        raise UserError(f'{error}{_neighbour(words, actuators[0].unit)}', error.code) from None


def beyond_limits(
    words: Sequence[str], values: Sequence[float], robot: RobotDescription
) -> tuple[str, ...]:
    """Say which limits the values of typed words exceed, in the units that were typed."""
    typed = {UNITS[u][0]: (u, UNITS[u][1]) for u in map(_unit_of, words) if u in UNITS}

    def say(value: float, si_unit: str) -> str:
        unit, size = typed.get(si_unit, SHOWN[si_unit])
        return f'{value / size:.6g} {unit}'.rstrip()

    return tuple(limit_violations(robot.actuators, robot.coupled_limits, values, say=say))


def feasible_actuation(words: Sequence[str], robot: RobotDescription) -> list[float]:
    """Read an actuation and refuse one beyond the limits."""
    values = actuation(words, robot.actuators)
    if beyond := beyond_limits(words, values, robot):
        raise UserError(f'beyond the limits: {"; ".join(beyond)}', OUT_OF_RANGE)
    return values


def _actuation(words: Sequence[str], actuators: Sequence[Actuator]) -> list[float]:
    names = [a.name for a in actuators]
    example = ' '.join(_word(a.name, a.rest, a.unit) for a in actuators)
    if any('=' in word for word in words):
        values, named = [a.rest for a in actuators], set()
        for word in words:
            name, equals, text = word.partition('=')
            if not equals or name not in names:
                raise UserError(
                    f'{word!r} is no actuator and its value; write for example {example}'
                )
            if name in named:
                raise UserError(f'{name!r} is given twice; write it once')
            named.add(name)
            i = names.index(name)
            values[i] = number(text, actuators[i].unit, name)
        return values
    if len(words) != len(actuators):
        raise UserError(
            f'{len(words)} values for {len(actuators)} actuators; write one for each, '
            f'or by name: {example}'
        )
    return [number(w, a.unit, a.name) for w, a in zip(words, actuators, strict=True)]


def position(words: Sequence[str]) -> list[float]:
    """Read three lengths."""
    try:
        return [number(w, 'm', axis) for w, axis in zip(words, 'xyz', strict=True)]
    except UserError as error:
        raise UserError(f'{error}{_neighbour(words, "m")}', error.code) from None


def wrench(words: Sequence[str] | None) -> list[float]:
    """Read a wrench: force alone, or force and moment; nothing typed is no load."""
    if not words:
        return [0.0] * 6
    if len(words) not in (3, 6):
        raise UserError('--wrench takes three forces, or three forces and three moments')
    forces = [number(w, 'N', f'f{axis}') for w, axis in zip(words[:3], 'xyz', strict=True)]
    spaced = [w.replace('Nm', 'N m') for w in words[3:]]  # Nm, Nmm and mNm, typed as one word
    moments = [number(w, 'N m', f'm{axis}') for w, axis in zip(spaced, 'xyz', strict=False)]
    return forces + (moments or [0.0] * 3)


def limits(actuator: Actuator) -> str:
    """Return the range of an actuator in words."""
    return f'{shown(actuator.minimum, actuator.unit)} ... {shown(actuator.maximum, actuator.unit)}'


def quaternion(values: Sequence[float]) -> list[float]:
    """Normalise a typed quaternion, x y z w."""
    size = math.sqrt(sum(v * v for v in values))
    if not math.isfinite(size) or size < 1e-6:
        raise UserError('--quaternion: x y z w of a rotation are needed, not all zero')
    return [v / size for v in values]
