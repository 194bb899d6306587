# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN bus through python-can: any interface that it knows."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
import errno
from typing import Any

from soro_driver.can_port import CanPort, Raw
from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout, first_line
from soro_mechanics.core.missing_package import how_to_install

INSTALL = how_to_install('python-can==4.6.1')
MAX_PENDING = 4096  # frames taken at once: a babbling bus must not hold the loop


class PythonCanLink:
    """Frames as identifier and data over one bus of python-can.

    - `timeout`: of sending one frame [s].

    DeviceError: python-can is not installed, or does not know the interface.
    DeviceLost: nobody answers.
    """

    def __init__(self, wiring: CanPort, timeout: float) -> None:
        try:
            import can
        except ImportError as error:
            raise DeviceError(f'python-can is not installed ({error}); {INSTALL}') from None
        self._can: Any = can
        self._timeout, self.place = timeout, f'CAN {wiring.interface} {wiring.channel}'
        self.error_frames = self.malformed = 0
        fd = wiring.framing == 'fd'
        options = {'data_bitrate': wiring.data_bitrate, 'fd': True} if fd else {}
        try:
            self._bus = can.Bus(
                interface=wiring.interface,
                channel=wiring.channel,
                bitrate=wiring.bitrate,
                **options,
            )
        except (ValueError, NotImplementedError) as error:  # of an unknown interface both
            raise DeviceError(f'{self.place}: {first_line(error)}') from None
        except (can.CanError, OSError, TimeoutError) as error:
            raise DeviceLost(f'{self.place}: {first_line(error)}{remedy(error, wiring)}') from None

    def close(self) -> None:
        """Disconnect; never raises."""
        with suppress(self._can.CanError, OSError):  # it is gone already
            self._bus.shutdown()

    def send(self, frames: Iterable[Raw]) -> None:
        """Send frames. Raises DeviceTimeout, DeviceLost."""
        try:
            for identifier, data in frames:
                long = len(data) > 8
                self._bus.send(
                    self._can.Message(
                        arbitration_id=identifier,
                        data=data,
                        is_extended_id=False,
                        is_fd=long,
                        bitrate_switch=long,
                        dlc=len(data),
                    ),
                    timeout=self._timeout,
                )
        except TimeoutError as error:
            raise DeviceTimeout(f'{self.place}: sending: {first_line(error)}') from None
        except (self._can.CanError, OSError) as error:
            raise DeviceLost(f'{self.place}: sending: {first_line(error)}') from None

    def receive(self) -> list[Raw]:
        """Return what has arrived, without waiting. Raises DeviceLost."""
        found: list[Raw] = []
        for _ in range(MAX_PENDING):
            try:
                message = self._bus.recv(0)
            except (self._can.CanError, OSError) as error:
                raise DeviceLost(f'{self.place}: receiving: {first_line(error)}') from None
            if message is None:
                break
            if message.is_error_frame:
                self.error_frames += 1
            elif message.is_extended_id or message.is_remote_frame:
                self.malformed += 1  # another node's
            else:
                found.append((message.arbitration_id, bytes(message.data)))
        return found


def remedy(error: BaseException, wiring: CanPort) -> str:
    """Return what to do about an interface of this computer that cannot be used; '' if unknown."""
    rates = f'bitrate {wiring.bitrate}'
    if wiring.framing == 'fd':
        rates += f' dbitrate {wiring.data_bitrate} fd on'
    up = f'`sudo ip link set {wiring.channel} up type can {rates}`'
    text = {
        errno.EAFNOSUPPORT: 'this kernel has no CAN: `sudo modprobe -a can can_raw`, then plug '
        f'the adapter in and {up}',
        errno.ENODEV: f'there is no interface {wiring.channel} (`ip link` lists them): plug the '
        f'adapter in, then {up}',
        errno.ENETDOWN: f'the interface is down: {up}',
    }.get(getattr(error, 'errno', None) or getattr(error, 'error_code', None) or 0, '')
    return text and f'; {text}'
