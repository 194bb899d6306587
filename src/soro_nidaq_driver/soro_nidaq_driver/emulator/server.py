# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A gRPC device server for the unmodified nidaqmx client, on the stubs that come with it.

It answers the calls that a driver of regulators makes (on-demand analog input and output, counter
pulse output, a digital line, reset, identification); every other call is UNIMPLEMENTED.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
import threading
import time
from typing import Any

import grpc
from nidaqmx._stubs import nidaqmx_pb2 as pb
from nidaqmx._stubs import nidaqmx_pb2_grpc
from session_pb2 import Session

from soro_mechanics.core.errors import InvalidInput
from soro_nidaq_driver.emulator import card as daq

# DAQmx attributes that the client asks for.
VERSION = {0x1272: 25, 0x1923: 8, 0x2F22: 0}
TASK_NAME, PRODUCT_TYPE, SERIAL_NUMBER, DUTY_CYCLE = 0x1276, 0x631, 0x632, 0x1176
THREADS = 4
Fields = dict[str, Any] | None


def _call(method: Callable[..., Any]) -> Callable[..., Any]:
    """Serve one call: one at a time, not after its deadline, refusals as the real server's.

    A method returns the fields of its response, if there are any.
    """

    def served(self: NidaqService, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            self.wait_while_silent()
            with self.lock:
                if not context.is_active():  # given up by the client: must have no effect
                    raise daq.CardError(-200474, 'The request came too late.')
                self.raise_injected(method.__name__)
                values = method(self, request) or {}
                return getattr(pb, f'{method.__name__}Response')(**values)
        except daq.CardError as error:
            context.set_trailing_metadata((('ni-error', str(error.code)),))
            context.abort(grpc.StatusCode.UNKNOWN, str(error))
            raise AssertionError('abort returns never') from None

    return served


class NidaqService(nidaqmx_pb2_grpc.NiDAQmxServicer):  # type: ignore[misc]
    """The service; methods are named and typed by the protocol.

    - `volts`: ``volts(inputs)`` converts the named analog inputs once.
    """

    def __init__(self, cards: daq.Cards, volts: Callable[[list[str]], list[float]]) -> None:
        self.lock = threading.Lock()
        self._cards = cards
        self._volts = volts
        self._injected: dict[str, int] = {}
        self._late = 0.0
        self._silent = threading.Event()
        self._silent.set()
        self._counts = {'unanswered': 0, 'late': 0}
        self._counting = threading.Lock()  # calls overlap

    # Faults ---------------------------------------------------------------------------------

    def inject_error(self, call: str, code: int) -> None:
        """Answer a call ('ReadAnalogF64') with an error code from now on; 0 ends that."""
        with self.lock:
            if code:
                self._injected[call] = code
            else:
                self._injected.clear()

    def be_silent(self, silent: bool) -> None:
        """Answer nothing at all, or go on."""
        self._silent.clear() if silent else self._silent.set()

    def be_late(self, delay: float) -> None:
        """Take every call up so much later [s]."""
        self._late = delay

    def wait_while_silent(self) -> None:
        """Block the answer while silent, or for a delay."""
        if not self._silent.is_set():
            self._count('unanswered')
        self._silent.wait()
        if self._late > 0.0:
            self._count('late')
            time.sleep(self._late)

    def raise_injected(self, call: str) -> None:
        """Raise the error that was injected for a call."""
        if call in self._injected:
            raise daq.CardError(self._injected[call], f'injected error {self._injected[call]}')

    @property
    def counters(self) -> dict[str, int]:
        """How many calls injected faults have hit."""
        with self._counting:
            return dict(self._counts)

    def _count(self, fault: str) -> None:
        with self._counting:
            self._counts[fault] += 1

    # System and device ----------------------------------------------------------------------

    @_call
    def GetSystemInfoAttributeUInt32(self, request: Any) -> Fields:  # noqa: N802, D102
        return {'value': VERSION.get(request.attribute_raw, 0)}

    @_call
    def GetDeviceAttributeString(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.check_card(request.device_name)
        return {'value': daq.MODEL if request.attribute_raw == PRODUCT_TYPE else ''}

    @_call
    def GetDeviceAttributeUInt32(self, request: Any) -> Fields:  # noqa: N802, D102
        serial = self._cards.serial(request.device_name)
        return {'value': serial if request.attribute_raw == SERIAL_NUMBER else 0}

    @_call
    def ResetDevice(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.reset(request.device_name)

    @_call
    def GetErrorString(self, request: Any) -> Fields:  # noqa: N802, D102
        return {'error_string': f'NI-DAQmx error {request.error_code}'}

    # Tasks ----------------------------------------------------------------------------------

    @_call
    def CreateTask(self, request: Any) -> Fields:  # noqa: N802, D102
        # a client that does not say otherwise attaches to a task of the same name
        task, new = self._cards.find_or_create(request.session_name)
        return {'task': Session(name=task.name), 'new_session_initialized': new}

    @_call
    def ClearTask(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.clear(request.task.name)

    @_call
    def StartTask(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.start(self._cards.task(request.task.name))

    @_call
    def StopTask(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.stop(self._cards.task(request.task.name))

    @_call
    def GetTaskAttributeString(self, request: Any) -> Fields:  # noqa: N802, D102
        task = self._cards.task(request.task.name)
        return {'value': task.name if request.attribute_raw == TASK_NAME else ''}

    @_call
    def SetChanAttributeDouble(self, request: Any) -> Fields:  # noqa: N802, D102
        task = self._cards.task(request.task.name)
        if request.attribute_raw == DUTY_CYCLE:
            self._cards.check_duty(request.value)
            task.duty = request.value

    @_call
    def CfgImplicitTiming(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.task(request.task.name)

    # Channels -------------------------------------------------------------------------------

    @_call
    def CreateAIVoltageChan(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.check_terminal(request.physical_channel, 'ai', daq.INPUTS)
        task = self._cards.changeable_task(request.task.name)
        task.inputs.append(request.physical_channel)

    @_call
    def CreateAOVoltageChan(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.check_terminal(request.physical_channel, 'ao', daq.OUTPUTS)
        task = self._cards.changeable_task(request.task.name)
        if not -10.0 <= request.min_val < request.max_val <= 10.0:
            raise daq.CardError(
                daq.INVALID_VALUE, 'Requested value is not supported: minimum, maximum'
            )
        task.analog, task.limits = request.physical_channel, (request.min_val, request.max_val)

    @_call
    def CreateCOPulseChanFreq(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.check_terminal(request.counter, 'ctr', daq.COUNTERS)
        self._cards.check_duty(request.duty_cycle)
        task = self._cards.changeable_task(request.task.name)
        task.counter, task.duty = request.counter, request.duty_cycle

    @_call
    def CreateDOChan(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.check_terminal(request.lines, 'port0/line', daq.LINES)
        task = self._cards.changeable_task(request.task.name)
        task.line = request.lines

    # Samples --------------------------------------------------------------------------------

    @_call
    def ReadAnalogF64(self, request: Any) -> Fields:  # noqa: N802, D102
        task = self._cards.task(request.task.name)
        if task.aborted:
            self._cards.require_running(task)
        task.running = True  # on-demand input starts by itself
        return {'read_array': self._volts(task.inputs), 'samps_per_chan_read': 1}

    @_call
    def WriteCtrFreqScalar(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.write_duty(self._cards.task(request.task.name), request.duty_cycle)

    @_call
    def WriteAnalogScalarF64(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.write_volts(self._cards.task(request.task.name), request.value)

    @_call
    def WriteDigitalLines(self, request: Any) -> Fields:  # noqa: N802, D102
        self._cards.write_line(self._cards.task(request.task.name), any(request.write_array))
        return {'samps_per_chan_written': 1}


class NidaqServer:
    """Listens on loopback and serves one `NidaqService`."""

    def __init__(self, service: NidaqService, port: int) -> None:
        self._service, self._address = service, f'127.0.0.1:{port}'
        self._server: Any = None  # one that never listens aborts a process that is interrupted

    def start(self) -> None:
        """Listen."""
        threads = ThreadPoolExecutor(THREADS, thread_name_prefix='nidaq')
        self._server = grpc.server(threads, options=(('grpc.so_reuseport', 0),))
        nidaqmx_pb2_grpc.add_NiDAQmxServicer_to_server(self._service, self._server)
        try:
            bound = self._server.add_insecure_port(self._address)
        except RuntimeError:
            bound = 0
        if not bound:
            free = 'a free port: is an emulator of the same namespace running? (parameter port)'
            raise InvalidInput('endpoint', self._address, free)
        self._server.start()

    def stop(self) -> None:
        """Stop listening; calls under way are given up."""
        self._service.be_silent(False)
        if self._server is not None:
            self._server.stop(grace=None).wait(1.0)
