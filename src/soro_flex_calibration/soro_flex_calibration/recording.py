# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a calibration records: motor angles and counts that were measured together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
import threading
from zipfile import BadZipFile

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.flex_calibration import FlexRecording
from soro_mechanics.robot_file.atomic_write import write_whole

MAX_STEP = 0.05  # rad, of a motor: two or three assemblies at the published device
MORE_STEPS = 10  # updates where one does not converge
# What NumPy raises for files that are no archive of arrays, or lack some.
UNREADABLE = (OSError, EOFError, ValueError, KeyError, TypeError, AttributeError, BadZipFile)
# What a pose without samples lacks.
NO_PAIRS = 'flex_state with the stamps of actuator_state; does the device read flex sensors?'
WAITING = 50  # halves of a sample whose other half has not come yet


@dataclass(frozen=True)
class RawRecording:
    """Samples as measured."""

    names: tuple[str, ...]  #: sensors
    angles: Array  #: (samples, m) [rad]
    counts: Array  #: (samples, sensors)
    taken: str = ''  #: when, UTC; empty where a file does not say
    flagged: tuple[str, ...] = ()  #: sensors that the device called faulty meanwhile

    def thinned(self, samples: int) -> RawRecording:
        """Return about so many samples, evenly."""
        step = -(-len(self.angles) // samples)
        return replace(self, angles=self.angles[::step], counts=self.counts[::step])

    @property
    def warning(self) -> str:
        """What a fit to it must not conceal; empty: nothing."""
        names = ', '.join(self.flagged)
        return f'flagged by the device meanwhile: {names}' if names else ''

    def save(self, path: Path) -> None:
        """Write to a file (npz), whole or not at all; InvalidInput where that cannot be."""
        data = {
            'names': np.array(self.names),
            'angles': self.angles,
            'counts': self.counts,
            'taken': np.array(self.taken),
            'flagged': np.array(self.flagged, dtype=str),
        }
        write_whole(path, lambda file: np.savez(file, **data))

    @classmethod
    def load(cls, path: Path) -> RawRecording:
        """Read a file that `save` wrote.

        InvalidInput: there is none (code NO_STATE), or it is no recording.
        """
        if not path.is_file():
            raise InvalidInput('use_recorded', str(path), 'a recording; move first', Code.NO_STATE)
        try:
            with np.load(path, allow_pickle=False) as data:
                names = tuple(str(n) for n in data['names'])
                angles, counts = (np.asarray(data[k], float) for k in ('angles', 'counts'))
                taken, flagged = '', ()  # older files say neither
                if 'taken' in data:
                    taken, flagged = str(data['taken']), tuple(str(n) for n in data['flagged'])
        except UNREADABLE as error:
            expected = f'a recording that can be read ({error}); move again'
            raise InvalidInput('use_recorded', str(path), expected) from None
        good = angles.ndim == 2 and len(angles) and counts.shape == (len(angles), len(names))
        if not (good and np.isfinite(angles).all() and np.isfinite(counts).all()):
            raise InvalidInput('use_recorded', str(path), 'a whole recording; move again')
        return cls(names, angles, counts, taken, flagged)

    def with_model(
        self,
        device: HapticDevice,
        check: Callable[[], None] = lambda: None,
        force: Array | None = None,
    ) -> FlexRecording:
        """Solve the model at every sample and return rotations of the nodes with the counts.

        `check` is called before every sample, and raises where nobody wants the result any more;
        `force` (3,) [N] is on the handle all the time, axes of base_link.
        InvalidInput: NOT_CONVERGED: the model has no equilibrium at a sample.
        """
        device.restart(self.angles[0])
        here = self.angles[0]
        rotations: list[list[Array]] = [[] for _ in self.names]
        for angle in self.angles:
            check()
            _walk(device, here, angle, np.zeros(3) if force is None else force)
            here = angle
            for i, name in enumerate(self.names):
                rotations[i].append(device.node_rotations(name))
        return FlexRecording(
            self.names,
            tuple(np.array(r) for r in rotations),
            self.counts,
            tuple(device.places(name) for name in self.names),
        )


def _walk(device: HapticDevice, start: Array, end: Array, force: Array) -> None:
    """Let the model follow the motors in steps that its solver for the loop can take."""
    steps = max(1, int(np.ceil(np.abs(end - start).max() / MAX_STEP)))
    for k in range(1, steps + 1):
        angle = start + (k / steps) * (end - start)
        for _ in range(1 + MORE_STEPS):
            code = device.update(angle, device.ports.axes[:3].T @ force)
            if code is not Code.NOT_CONVERGED:
                break
        if code is not Code.NONE:
            expected = 'angles at which the model has a stable equilibrium'
            raise InvalidInput('angle', angle, expected, Code.NOT_CONVERGED)


class Recorder:
    """Pairs states of actuators and readings of sensors (`names`, in that order) by their stamps.

    Safe from any thread.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._lock = threading.Lock()
        self._halves: OrderedDict[int, dict[str, Array]] = OrderedDict()
        self._angles: list[Array] = []
        self._counts: list[Array] = []
        self._on = False
        self.faulty: set[str] = set()

    def record(self, on: bool) -> None:
        """Keep what comes from now on, or do not."""
        with self._lock:
            self._on = on

    def take_state(self, stamp: int, angles: Array) -> None:
        """Take measured motor angles, shape (m,) [rad], of a time [ns]."""
        self._take(stamp, 'angles', angles)

    def take_counts(self, stamp: int, counts: Array, faulty: set[str]) -> None:
        """Take counts, shape (sensors,), and the names of sensors flagged by the device."""
        with self._lock:
            if self._on:
                self.faulty |= faulty
        self._take(stamp, 'counts', counts)

    @property
    def samples(self) -> int:
        """Number of complete samples."""
        with self._lock:
            return len(self._angles)

    def recording(self) -> RawRecording:
        """Return everything recorded."""
        with self._lock:
            if not self._angles:
                raise InvalidInput('samples', 0, NO_PAIRS, Code.NO_STATE)
            taken = datetime.now(timezone.utc).isoformat(sep=' ', timespec='seconds')
            return RawRecording(
                self._names,
                np.array(self._angles),
                np.array(self._counts),
                taken,
                tuple(sorted(self.faulty)),
            )

    def _take(self, stamp: int, part: str, values: Array) -> None:
        if not np.all(np.isfinite(values)):
            return
        with self._lock:
            if not self._on:
                return
            half = self._halves.setdefault(stamp, {})
            half[part] = values
            if len(half) == 2:
                del self._halves[stamp]
                self._angles.append(half['angles'])
                self._counts.append(half['counts'])
            while len(self._halves) > WAITING:
                self._halves.popitem(last=False)
