# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A card that records what the unmodified nidaqmx client asks of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
import threading
from typing import Any

import grpc
from nidaqmx._stubs import nidaqmx_pb2 as pb
from nidaqmx._stubs import nidaqmx_pb2_grpc
from session_pb2 import Session

from soro_mechanics.core.actuators import Actuator

GOOD: dict[str, Any] = {
    'feedback_scale': '0.3 bar/V',
    'command_scale': '0.3 bar/V',
    'pwm_frequency': '2 kHz',
    'heartbeat': 'Dev1/port0/line0',
    'channels': {
        'a': {'feedback': 'Dev1/ai0', 'command': 'Dev1/ctr0'},
        'b': {'feedback': 'Dev2/ai3', 'command': 'Dev2/ctr1'},
        'c': {'feedback': 'Dev1/ai2', 'command': 'Dev1/ctr2'},
    },
}


class RecordingServer(nidaqmx_pb2_grpc.NiDAQmxServicer):
    """Answers every call with success, notes it, and fails or blocks as told.

    Written for these tests only and independent of the emulator: it knows no physics.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.volts: dict[str, list[float]] = {}
        self.errors: dict[str, int] = {}
        self.block = threading.Event()
        self.block.set()
        self.delay, self.delays = 0.0, {}  # s that every call takes, and some by name
        self.limits: list[tuple[str, float]] = []  # what was left of the time of each call [s]
        self.tasks: set[str] = set()
        self._inputs: dict[str, list[str]] = {}
        self.server = grpc.server(ThreadPoolExecutor(4))
        handlers = {}
        for name in dir(nidaqmx_pb2_grpc.NiDAQmxServicer):
            if hasattr(pb, f'{name}Request') and hasattr(pb, f'{name}Response'):
                handlers[name] = grpc.unary_unary_rpc_method_handler(
                    self._serve(name),
                    request_deserializer=getattr(pb, f'{name}Request').FromString,
                    response_serializer=getattr(pb, f'{name}Response').SerializeToString,
                )
        self.server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler('nidaqmx_grpc.NiDAQmx', handlers),)
        )
        self.port = self.server.add_insecure_port('127.0.0.1:0')
        self.server.start()

    def _serve(self, name: str):
        def serve(request: Any, context: grpc.ServicerContext) -> Any:
            self.limits.append((name, context.time_remaining()))
            self.block.wait()
            threading.Event().wait(self.delays.get(name, self.delay))
            self.calls.append((name, request))
            if name in self.errors:
                context.set_trailing_metadata((('ni-error', str(self.errors[name])),))
                context.abort(grpc.StatusCode.UNKNOWN, 'as told')
            return self._answer(name, request)

        return serve

    def _answer(self, name: str, request: Any) -> Any:
        response = getattr(pb, f'{name}Response')()
        if name == 'CreateTask':
            # as the device server does: a name that is known is attached to
            name = request.session_name or f'unnamed{len(self.calls)}'
            response.task.CopyFrom(Session(name=name))
            response.new_session_initialized = name not in self.tasks
            self.tasks.add(name)
        elif name == 'ClearTask':
            self.tasks.discard(request.task.name)
            self._inputs.pop(request.task.name, None)
        elif name == 'CreateAIVoltageChan':
            self._inputs.setdefault(request.task.name, []).append(request.physical_channel)
        elif name == 'ReadAnalogF64':
            terminals = self._inputs[request.task.name]
            response.read_array.extend(self.volts.get(t, 0.0) for t in terminals)
            response.samps_per_chan_read = 1
        elif name == 'GetTaskAttributeString':
            response.value = request.task.name
        elif name == 'GetDeviceAttributeString':
            response.value = 'USB-6341'
        elif name == 'GetDeviceAttributeUInt32':
            response.value = 0x1234
        return response

    def named(self, name: str) -> list[Any]:
        """Return the requests of one call."""
        return [request for n, request in list(self.calls) if n == name]

    def stop(self) -> None:
        """Stop."""
        self.block.set()
        self.server.stop(None).wait(2.0)


class Regulated:
    """What wiring needs of a robot."""

    def __init__(
        self, maximum: float = 1.5e5, quantity: str = 'pressure', minimum: float = 0.0
    ) -> None:
        self.actuators = tuple(
            Actuator(name, quantity, minimum, maximum, 2e5, 0.0) for name in ('a', 'b', 'c')
        )
