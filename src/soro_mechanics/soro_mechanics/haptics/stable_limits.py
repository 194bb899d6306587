# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a haptic device renders without ringing on the softest hand that is expected.

The motors move the far end of the legs by what the legs transmit, late: that turns stiffness
beyond the legs' own, and damping, into negative damping at the handle's own frequency. Who holds
the handle pays for it, so the limits follow from a hand, and from rate, delay and inertia of the
device, by the linear loop (`linear_haptic_loop`) that stands beside the measured Z-width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
import math

import numpy as np

from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.core.errors import UnknownName
from soro_mechanics.haptics import linear_loop
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.hand_impedance import HandImpedance, HANDS
from soro_mechanics.haptics.rendering import natural_stiffness, RenderingSetup
from soro_mechanics.haptics.virtual_environment import ContactFeel, VirtualEnvironment
from soro_mechanics.haptics.virtual_object import Control, Shape, VirtualObject
from soro_mechanics.models.network.frequencies import condensed_mass

MOTOR_LAG = 0.022 / 4.0  # s: settles to 2 % in the published 22 ms
DAMPING_RATIO = 0.05  # of critical damping of every mode of the legs, assumed: printed polymer
DELAY = 1  # samples from a measurement to the motors' answer, over the wire
# Assumed: more of it [s] that a circle bears whose damping nobody chose, pressed with so much [N].
SPARE, PRESSED = 0.01, 6.0
SLIDING = 'damping of the sliding hand'
# Devices that the limits hold for: stiffer than modelled by so much, and least damped.
STIFFER, MIN_DAMPING = (0.8, 1.0, 1.25), 0.02
# Of the limits of the linear loop, where a motion does not decay. Legs that move with all their
# modes have them at 0.76 to 0.81 of it (docs/evidence/plant_assumptions.md).
MARGIN = 0.75
TRANSLATIONS, TURNS = range(3), range(3, 5)


def one_direction(
    mass: Array,
    damping: Array,
    stiffness: Array,
    hand: HandImpedance,
    axis: int,
    smoothing: float,
    speed_smoothing: float = 10e-3,
    stiffer: float = 1.0,
) -> linear_loop.OneDirection:
    """Return one direction of a handle as theory sees it; matrices of shape (5, 5).

    `stiffness` is that of the legs, which are `stiffer` than modelled.
    """
    return linear_loop.OneDirection(
        float(mass[axis, axis] + hand.mass[axis]),
        float(damping[axis, axis] + hand.damping[axis]),
        1.0 / float(np.linalg.inv(stiffness)[axis, axis]),
        float(hand.stiffness[axis]),
        MOTOR_LAG,
        smoothing,
        speed_smoothing,
        stiffer,
    )


def handle_mass(device: HapticDevice) -> Array:
    """Return the mass that moves with the handle in its five directions, shape (5, 5)."""
    network, ports = device.network, device.ports
    rest = network.forward(ports.angle, LoadCase(gravity=device.gravity), None)
    linear = network.linearise(rest)
    turn = linear.axes(1)
    mass = ports.axes.T @ turn @ condensed_mass(linear) @ turn.T @ ports.axes
    return np.asarray(0.5 * (mass + mass.T))


def modal_damping(mass: Array, stiffness: Array, ratio: float) -> Array:
    """Return the damping that gives every mode the same part of critical damping, symmetric."""
    root = np.linalg.cholesky(mass)
    inverse = np.linalg.inv(root)
    values, shapes = np.linalg.eigh(inverse @ (0.5 * (stiffness + stiffness.T)) @ inverse.T)
    part = root @ shapes
    return np.asarray(2.0 * ratio * part @ np.diag(np.sqrt(values)) @ part.T)


@dataclass(frozen=True)
class StableLimits:
    """What may be rendered."""

    hand: str  #: the softest that is expected
    #: translations, turns: of the handle, on every device that the limits hold for
    translations: tuple[linear_loop.OneDirection, ...]
    turns: tuple[linear_loop.OneDirection, ...]
    period: float  #: of the loop [s]
    #: stiffness, rotational_stiffness: stiffest springs [N/m], [N m/rad]; infinite where the hand
    #: bears any
    stiffness: float
    rotational_stiffness: float
    #: softest, rotational_softest: softest springs: giving way is a feedback too, whose gain the
    #: delay limits
    softest: float
    rotational_softest: float
    #: sliding, resisting: weakest damping of an admittance, strongest along what a hybrid lets
    #: free [N s/m]; sliding_late: the former with a delay of `SPARE` more
    sliding: float
    resisting: float
    sliding_late: float

    def damping(self, stiffness: float) -> float:
        """Return the strongest damping of a surface of some stiffness [N s/m].

        None at the stiffest one: damping, late, and stiffness share what the hand bears.
        """
        return MARGIN * min(
            linear_loop.damping_limit(partial(_rendered, d, stiffness / MARGIN, self.period))
            for d in self.translations
        )

    def environment(self, objects: Sequence[VirtualObject]) -> tuple[VirtualEnvironment, str]:
        """Return the environment that is rendered, and what of the objects was changed for it.

        The text is empty where nothing was.
        """
        # What resists along the same direction shares the damping that the hand bears there.
        asked = sum(min(o.damping, self.resisting) for o in objects if _resists(o))
        share = min(1.0, self.resisting / asked) if asked else 1.0
        found = [self._limited(thing, share) for thing in objects]
        guides = sum(o.damping for o, _, _ in found if _resists(o) and o.shape is not Shape.FIELD)
        changes = '; '.join(f'{thing.name}: {text}' for thing, _, text in found if text)
        reason = f'else it would ring on the softest hand expected ({self.hand}, expected_hand)'
        environment = VirtualEnvironment(
            [thing for thing, _, _ in found],
            surface_damping=[damping for _, damping, _ in found],
            drag=self.resisting - guides,
        )
        return environment, f'{changes}: {reason}' if changes else ''

    def free_space(self) -> VirtualEnvironment:
        """Return an environment without objects."""
        return VirtualEnvironment(drag=self.resisting)

    def _round(self, radius: float) -> float:
        """Return the least damping of an admittance on a pressed circle with `SPARE` delay.

        There a normal force n turns with the hand: a stiffness n / radius, late.
        """
        d = self.translations[0]
        late = self.period * DELAY + SPARE + d.motor + d.smoothing
        return self.sliding_late + PRESSED * late / radius

    def _limited(self, thing: VirtualObject, share: float) -> tuple[VirtualObject, float, str]:
        """Return an object within the limits, the damping of its surface, and the changes."""
        said: list[str] = []
        resisting = share * min(thing.damping, self.resisting)
        if thing.shape is Shape.FIELD:
            damping = _within(thing.damping, 0.0, resisting, 'damping', said)
            return replace(thing, damping=damping), 0.0, ', '.join(said)
        stiffness, turning = thing.stiffness, thing.rotational_stiffness
        turns = self.rotational_softest, self.rotational_stiffness
        if thing.shape is Shape.ANGLE_LIMIT:
            turning = _between(turning, *turns, 0.0, 'N m/rad', said)
        else:
            stiffness = _between(stiffness, self.softest, self.stiffness, 0.0, 'N/m', said)
            if turning > 0.0:
                turning = _between(turning, *turns, math.inf, 'N m/rad', said)
        along = across = thing.damping
        if thing.stiffness == 0.0:
            across = 0.0  # damping is of surfaces that were asked to give way
        elif across > 0.0:
            across = _within(across, 0.0, self.damping(stiffness), 'damping', said)
        if along == 0.0 and thing.control is Control.ADMITTANCE and thing.shape is Shape.CIRCLE:
            least = self._round(thing.size[0])
            along = _within(ContactFeel().default_damping, least, math.inf, SLIDING, said)
        elif along > 0.0 and thing.control is Control.ADMITTANCE:
            along = _within(along, self.sliding, math.inf, SLIDING, said)
        elif _resists(thing):
            along = _within(along, 0.0, resisting, SLIDING, said)
        limited = replace(thing, stiffness=stiffness, rotational_stiffness=turning, damping=along)
        return limited, across, ', '.join(said)


def _resists(thing: VirtualObject) -> bool:
    """Whether the damping of an object acts against any motion that it lets free."""
    guide = thing.shape in (Shape.LINE, Shape.CIRCLE) and thing.control is not Control.ADMITTANCE
    return thing.shape is Shape.FIELD or guide


def _between(
    asked: float, least: float, most: float, rigid: float, unit: str, said: list[str]
) -> float:
    """Return a stiffness within its limits; `rigid` is how "as stiff as possible" is written."""
    wanted = math.inf if asked == rigid else asked
    stiffness = min(max(wanted, least), most)
    if stiffness == wanted:
        return asked
    before = 'as stiff as possible' if asked == rigid else f'{asked:.4g}'
    said.append(f'{stiffness:.3g} {unit} instead of {before}')
    return stiffness


def _within(asked: float, least: float, most: float, what: str, said: list[str]) -> float:
    """Return a damping within its limits [N s/m]."""
    damping = min(max(asked, least), most)
    if damping != asked:
        said.append(f'{what} {damping:.3g} N s/m instead of {asked:.4g}')
    return damping


def _rendered(
    d: linear_loop.OneDirection, stiffness: float, period: float, damping: Array
) -> Array:
    return linear_loop.spectral_radius(d, stiffness, period, DELAY, damping)


def _resisting(d: linear_loop.OneDirection, period: float, damping: Array) -> Array:
    return linear_loop.resisting_radius(d, damping, period, DELAY)


def stable_limits(device: HapticDevice, setup: RenderingSetup, hand: str) -> StableLimits:
    """Find the limits of a device at rest, the narrowest of `STIFFER` and `MIN_DAMPING`.

    Parameters
    ----------
    device : HapticDevice
    setup : RenderingSetup
        Its period and filters.
    hand : str
        One of `HANDS`.

    Raises
    ------
    UnknownName
        No such hand.
    """
    if hand not in HANDS:
        raise UnknownName('expected_hand', hand, tuple(HANDS))
    mass, nominal = handle_mass(device), natural_stiffness(device.ports)
    translations: list[linear_loop.OneDirection] = []
    turns: list[linear_loop.OneDirection] = []
    for stiffer in STIFFER:
        stiffness = stiffer * nominal
        damping = modal_damping(mass, stiffness, MIN_DAMPING)
        for axes, kept in ((TRANSLATIONS, translations), (TURNS, turns)):
            filters = setup.time_constant, setup.speed_time_constant
            matrices = mass, damping, stiffness
            kept += [one_direction(*matrices, HANDS[hand], a, *filters, stiffer) for a in axes]
    period, coupling = setup.period, ContactFeel().coupling
    late = DELAY + math.ceil(SPARE / period)
    sliding, sliding_late = (
        max(linear_loop.sliding_limit(d, coupling, period, delay) for d in translations) / MARGIN
        for delay in (DELAY, late)
    )
    return StableLimits(
        hand,
        tuple(translations),
        tuple(turns),
        period,
        _stiffest(translations, period),
        _stiffest(turns, period),
        _softest(translations, period),
        _softest(turns, period),
        sliding,
        MARGIN
        * min(linear_loop.damping_limit(partial(_resisting, d, period)) for d in translations),
        sliding_late,
    )


def _stiffest(directions: Sequence[linear_loop.OneDirection], period: float) -> float:
    """Return the stiffest spring that is stable in all directions, with a margin.

    Never below the natural stiffness of the softest: there the motors stand still.
    """
    found = math.inf
    for d in directions:
        found = min(
            found, linear_loop.admittance_limit(d, period, DELAY, min(found, linear_loop.STIFFEST))
        )
    return max(MARGIN * found, min(d.nominal for d in directions))


def _softest(directions: Sequence[linear_loop.OneDirection], period: float) -> float:
    """Return the softest spring that is stable in all directions, with a margin."""
    found = max(linear_loop.yielding_limit(d, period, DELAY) for d in directions)
    return min(found / MARGIN, *(d.nominal for d in directions))
