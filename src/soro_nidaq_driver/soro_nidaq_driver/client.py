# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The vendor's client: imported when needed, its errors in our words, no call without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import math
import os
import time
from types import ModuleType, SimpleNamespace
from typing import Any

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout, first_line
from soro_mechanics.core.missing_package import how_to_install
from soro_nidaq_driver.wiring import LOCAL

INSTALL = how_to_install('nidaqmx[grpc]==1.7.0')
# Errors after which the card or the link has to be opened again, rather than a wrong set-up.
TIMEOUT_CODES = frozenset(
    (
        -200284,  # samples not yet available: the conversion did not end in time
        -200474,  # operation timed out
    )
)
LOST_CODES = frozenset(
    (
        -201003,  # device cannot be accessed
        -201190,  # device not usable until its USB plug is pulled and put back
        -88705,  # device no longer present
        -88709,  # aborted because the device went away
        -50405,  # transfer aborted
    )
)


def import_client() -> ModuleType:
    """Return the module `nidaqmx`.

    DeviceError: it is not installed; the message has the command that installs it.
    """
    try:
        import nidaqmx
        import nidaqmx.errors
        import nidaqmx.stream_readers
        import nidaqmx.stream_writers
        import nidaqmx.system
    except ImportError as error:
        raise DeviceError(f'the NI-DAQmx client is not installed ({error}); {INSTALL}') from None
    return nidaqmx


@contextlib.contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn the client's exceptions into `DeviceError` and `DeviceLost`.

    - `what`: what was being done, for the message.
    """
    nidaqmx = import_client()
    errors = nidaqmx.errors
    try:
        yield
    except errors.DaqError as error:
        name = _code_name(error.error_code)
        text = f'{what}: NI-DAQmx error {error.error_code}{name}: {first_line(error)}'
        if error.error_code in TIMEOUT_CODES:
            raise DeviceTimeout(text) from None
        if error.error_code in LOST_CODES:
            raise DeviceLost(text) from None
        raise DeviceError(text) from None
    except errors.RpcError as error:
        text = f'{what}: device server: {first_line(error)}'
        if error.rpc_code.name == 'DEADLINE_EXCEEDED':
            raise DeviceTimeout(text) from None
        raise DeviceLost(
            f'{text}; does the device server run, and is driver.nidaq.address right?'
        ) from None
    except (errors.DaqNotFoundError, errors.DaqNotSupportedError) as error:
        raise DeviceError(
            f'{what}: {first_line(error)} Install the NI-DAQmx driver on this computer, or '
            'set driver.nidaq.address to a gRPC device server, or start with use_emulator:=true.'
        ) from None


RESET_TIMEOUT = 0.5  # s, of all cards (assumed): to reset one takes longer than to read it


class Link:
    """Where the client's calls go: the driver on this computer, or a gRPC device server.

    - `address`: 'local' or host:port.
    - `deadline`: longest time one remote call may take [s]. The client itself sets none.
    """

    def __init__(self, address: str, deadline: float) -> None:
        self._channel: Any = None
        self._deadline = deadline
        self._limit, self._end = math.inf, math.inf
        if address != LOCAL:
            self._channel = _open_channel(address, self._next_deadline)

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the time of all remote calls inside; the next one raises DeviceTimeout then.

        One of them may take all of it: to reset a card takes longer than to read it. It counts
        from the first call: before it, the client may load for half a second.
        """
        self._limit, self._end = seconds, math.nan
        try:
            yield
        except import_client().errors.RpcError:
            self._left()  # where the time is over, that is the reason
            raise
        finally:
            self._limit, self._end = math.inf, math.inf

    def _next_deadline(self) -> float:
        """Return the longest time of the next remote call [s]. Raises DeviceTimeout."""
        if math.isnan(self._end):
            self._end = time.monotonic() + self._limit
        left = self._left()
        return self._deadline if math.isinf(left) else left

    def _left(self) -> float:
        left = self._end - time.monotonic()
        if left <= 0.0:
            text = f'the device server answers too slowly: not done after {self._limit:g} s'
            raise DeviceTimeout(text) from None
        return left

    def options(self, name: str = '') -> Any:
        """Return the `grpc_options` of a device or a named task; None for this computer's."""
        if self._channel is None:
            return None
        import nidaqmx

        return nidaqmx.GrpcSessionOptions(self._channel, name)

    def task(self, name: str) -> Any:
        """Return a new task, its server rid of one that a lost connection left there.

        A device server keeps tasks until somebody clears them. Whoever made them may have been
        killed, or have lost the link: by its name such a task is found again.

        - `name`: of the task on the server: letters, digits, underscores.
        """
        import nidaqmx

        options = self.options(name)
        if options is None:
            return nidaqmx.Task()
        nidaqmx.Task(name, grpc_options=options).close()  # attaches to what is there
        return nidaqmx.Task(name, grpc_options=options)

    def close(self) -> None:
        """Close the connection."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _open_channel(address: str, deadline: Callable[[], float]) -> Any:
    # Its core would write lines of its own on every lost connection, which is reported here.
    os.environ.setdefault('GRPC_VERBOSITY', 'NONE')
    import_client()
    try:
        import grpc
    except ImportError as error:
        raise DeviceError(f'gRPC is not installed ({error}); {INSTALL}') from None

    raw = grpc.insecure_channel(
        address, options=(('grpc.enable_http_proxy', 0), ('grpc.use_local_subchannel_pool', 1))
    )

    def unary_unary(*method: Any, **how: Any) -> Callable[..., Any]:
        made: list[Any] = []  # when it is first wanted: there are hundreds

        def call(request: Any, metadata: Any = None) -> Any:
            timeout = deadline()  # a server that is frozen must not freeze the driver
            if not made:
                made.append(raw.unary_unary(*method, **how))
            return made[0](request, timeout=timeout, metadata=metadata, wait_for_ready=False)

        return call

    # An interceptor of gRPC would cost a quarter of every call.
    return SimpleNamespace(unary_unary=unary_unary, unary_stream=raw.unary_stream, close=raw.close)


def _code_name(code: int) -> str:
    from nidaqmx.error_codes import DAQmxErrors

    try:
        return f' ({DAQmxErrors(code).name})'
    except ValueError:
        return ''
