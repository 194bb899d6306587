# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A small process beside the driver that clears the outputs when the driver cannot.

A counter goes on generating pulses when the process that started it is killed, or frozen. The
supervisor holds the other end of a pipe: while the driver is armed it sends a byte per tick; when
bytes stop, or the pipe closes without a goodbye, every card is reset (all outputs idle). A reset
that fails is tried again: while the driver is frozen without end, for `GIVE_UP` after its end.
"""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

from soro_driver.device import DeviceError

from soro_nidaq_driver.client import import_client, Link, translated

ALIVE, IDLE, GOODBYE = b'a', b'i', b'q'
READY = b'ready\n'
CALL_TIMEOUT = 0.25  # s, of one call of the supervisor
RETRY, GIVE_UP = 0.1, 5.0  # s, between attempts to clear outputs, and for all after the end


class Supervisor:
    """The driver's side.

    Parameters
    ----------
    address : str
        'local' or host:port, as for the driver.
    cards : sequence of str
        Cards to reset.
    timeout : float
        Silence of the driver, while armed, after which they are reset [s].
    """

    def __init__(self, address: str, cards: Sequence[str], timeout: float) -> None:
        self._arguments = [address, ','.join(cards), f'{timeout:g}']
        self._process: subprocess.Popen[bytes] | None = None
        self._parted: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start the process, unless it runs; rely on it when it is `ready`."""
        if self._process is not None and self._process.poll() is None:
            return
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
        # Its own session: Ctrl-C in the driver's terminal must not reach it.
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'soro_nidaq_driver.supervisor', *self._arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, bufsize=0,
            start_new_session=True,
        )  # fmt: skip
        os.set_blocking(self._process.stdin.fileno(), False)  # type: ignore[union-attr]

    def ready(self) -> bool:
        """Start it unless it runs; whether it has loaded what it needs.

        Raises
        ------
        DeviceError
            It has ended: the driver must not be armed without it.
        """
        self.start()
        process = self._process
        if process is None or process.stdout is None:
            return process is not None  # it has said so before
        can_read, _, _ = select.select([process.stdout], [], [], 0.0)
        if not can_read:
            return False
        if process.stdout.readline() != READY:
            self.stop(safe=True)
            raise DeviceError('the supervisor process has ended; see its message above')
        process.stdout.close()
        process.stdout = None
        return True

    @property
    def pid(self) -> int:
        """Process id; 0 when it is not running."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running and self._process is not None else 0

    def alive(self) -> None:
        """Say that the driver is armed and ticking.

        Raises
        ------
        DeviceError
            The supervisor is gone: nobody would clear the outputs.
        """
        self._send(ALIVE)

    def idle(self) -> None:
        """Say that the outputs are safe; silence is allowed until the next `alive`."""
        if self.pid:
            self._send(IDLE)

    def stop(self, safe: bool) -> None:
        """Part from the process; it resets the cards unless they are `safe`. Never raises."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        try:
            if safe:
                process.stdin.write(GOODBYE)
            process.stdin.close()
        except OSError:
            pass  # it has ended already
        if process.stdout is not None:
            process.stdout.close()
        self._parted.append(process)

    def dismiss(self) -> bool:
        """End every process that was parted from, the outputs being idle; whether one still ran.

        What it asked the cards for last may still be carried out.
        """
        running = [process for process in self._parted if process.poll() is None]
        for process in running:
            process.kill()
            process.wait()
        self._parted.clear()
        return bool(running)

    def join(self, timeout: float) -> bool:
        """Wait until every process that was parted from has ended; whether they have."""
        end = time.monotonic() + timeout
        for process in self._parted:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                return False
        self._parted.clear()
        return True

    def _send(self, byte: bytes) -> None:
        try:
            if self._process is None or self._process.stdin is None:
                raise BrokenPipeError
            self._process.stdin.write(byte)
        except BlockingIOError:
            pass  # 64 KiB of bytes wait for it; it is busy resetting
        except OSError:
            raise DeviceError('the supervisor process is gone') from None


class CardReset:
    """Resets cards; connected beforehand, so that the emergency only takes one call per card.

    Parameters
    ----------
    address : str
        'local' or host:port.
    cards : sequence of str
    """

    def __init__(self, address: str, cards: Sequence[str]) -> None:
        self._address = address
        self._names = tuple(cards)
        self._link: Link | None = None
        self._cards: list[Any] = []
        self.connect()

    def connect(self) -> None:
        """Connect anew; asking for a serial number loads and opens all that a reset needs."""
        if self._link is not None:
            self._link.close()
        nidaqmx = import_client()
        self._link = Link(self._address, CALL_TIMEOUT)
        options = self._link.options()
        with contextlib.suppress(DeviceError), translated('connect'):
            self._cards = [nidaqmx.system.Device(n, grpc_options=options) for n in self._names]
            for card in self._cards:
                card.serial_num  # noqa: B018 - a property that calls the device

    def __call__(self) -> list[str]:
        """Reset every card; return what went wrong."""
        troubles: list[str] = []
        for card in self._cards:
            try:
                with translated(f'reset of {card.name}'):
                    card.reset_device()
            except DeviceError as error:
                troubles.append(str(error))
        if not self._cards:
            troubles.append('not connected')
        return troubles


def watch(reset: CardReset, timeout: float, pipe: int) -> int:
    """Follow the bytes of the driver until it says goodbye or is gone; return the exit code."""
    wait: float | None = None  # s of silence until the cards are reset; None: for ever
    start, failed = 0.0, False
    while True:
        ready, _, _ = select.select([pipe], [], [], wait)
        data = os.read(pipe, 4096) if ready else b''
        if GOODBYE in data:
            return 0
        if data:
            wait, failed = (timeout if data[-1:] == ALIVE else None), False
            continue
        gone = bool(ready)
        if gone or not failed:
            start = time.monotonic()
        troubles = _clear(reset, again=failed)
        while troubles and gone and time.monotonic() - start < GIVE_UP:
            time.sleep(RETRY)
            troubles = _clear(reset, again=True)
        if gone or not (troubles and failed):  # a frozen driver's trouble is said once
            took = 1e3 * (time.monotonic() - start)
            result = '; '.join(troubles) or f'outputs cleared in {took:.0f} ms'
            state = 'gone' if gone else 'silent'
            print(f'supervisor: the driver is {state}: {result}', file=sys.stderr, flush=True)
        if gone:
            return 1
        # A frozen driver cannot clear anything: try until that works or it wakes up. A driver
        # that wakes up finds its tasks aborted and reports that.
        failed = bool(troubles)
        wait = RETRY if failed else None


def _clear(reset: CardReset, again: bool) -> list[str]:
    """Reset the cards, connected anew after a failure; return what went wrong."""
    if again:
        reset.connect()
    return reset()


def main() -> None:
    """Run the supervisor: address, cards, timeout; bytes on standard input."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when the driver does
    address, cards, timeout = sys.argv[1:4]
    reset = CardReset(address, cards.split(','))
    try:
        os.write(sys.stdout.fileno(), READY)
    except BrokenPipeError:
        pass  # the driver has parted already; the pipe below tells how
    sys.exit(watch(reset, float(timeout), sys.stdin.fileno()))


if __name__ == '__main__':
    main()
