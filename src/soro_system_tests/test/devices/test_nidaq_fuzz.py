# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated NI cards and anything at all: calls in any order, any values, no gRPC at all.

Every call is answered or refused in the way of the real server; a regulator gets a command only
while a running task has its counter; what is kept stays bounded.
"""

from __future__ import annotations

import time

from fuzzing import free_port, fuzz, LONG, make_context, open_files, send_and_hang_up, serving
import grpc
from hypothesis import example, given
from hypothesis import strategies as st
from nidaqmx._stubs import nidaqmx_pb2 as pb
from nidaqmx._stubs import nidaqmx_pb2_grpc
import numpy as np
import pytest
from session_pb2 import Session

from soro_nidaq_driver.emulator.card import Cards, MAX_CHANNELS, MAX_TASKS
from soro_nidaq_driver.emulator.device import NidaqEmulator
from soro_nidaq_driver.emulator.server import NidaqService
from soro_rigs.ros_session import wait_until

pytestmark = LONG

METHODS = sorted(name for name in vars(NidaqService) if name[0].isupper())
SERVICE = pb.DESCRIPTOR.services_by_name['NiDAQmx']
OTHERS = sorted({m.name for m in SERVICE.methods} - set(METHODS))
COUNTERS = ('Dev1/ctr0', 'Dev1/ctr1', 'Dev1/ctr2')
TEXTS = (
    '', 'a', 'b', '_unnamedTask<1>', 'Dev1', 'Dev2', 'Dev1/', '/', 'Dev1/ai0', 'Dev1/ai16',
    'Dev1/ai-1', 'Dev1/port0/line0', *COUNTERS, 'Dev1/ctr²', 'Dev1/ctr٣', 'Dev1/ctr0:3',
    'Dev1/ctr' + '9' * 5000, 'x' * 20_000, '\0', 'Dev1/ctr0, Dev1/ctr1',
)  # fmt: skip
texts = st.sampled_from(TEXTS) | st.text(max_size=8)
numbers = st.sampled_from([0.5, 0.01, 0.0, 1.0, -1.0, 1e308]) | st.floats()
NAME_OF_TASK = st.sampled_from(['a', 'b', '_unnamedTask<1>', 'nobody'])


class Refused(Exception):
    """What `abort` of a real context raises."""


class Context(grpc.ServicerContext):
    """The server's side of one call."""

    def __init__(self):
        self.code, self.metadata = None, ()

    def is_active(self):
        return True

    def set_trailing_metadata(self, metadata):
        self.metadata = metadata

    def abort(self, code, details):
        self.code = code
        raise Refused(details)


# Nothing else of a context is used by the service.
Context.__abstractmethods__ = frozenset()


def value_of(field):
    """Return values of a field of a message of the protocol."""
    kinds = {
        field.TYPE_STRING: texts,
        field.TYPE_DOUBLE: numbers,
        field.TYPE_BOOL: st.booleans(),
        field.TYPE_BYTES: st.binary(max_size=8),
        field.TYPE_INT32: st.integers(-(2**31), 2**31 - 1),
        field.TYPE_UINT32: st.integers(0, 2**32 - 1),
        field.TYPE_UINT64: st.integers(0, 2**64 - 1),
        field.TYPE_INT64: st.integers(-9, 9),
    }
    if field.type == field.TYPE_MESSAGE:
        return st.builds(lambda name: Session(name=name), NAME_OF_TASK | texts)
    if field.type == field.TYPE_ENUM:
        return st.sampled_from([v.number for v in field.enum_type.values])
    return kinds[field.type]


def requests_of(name):
    """Return requests of one method with some of their fields filled."""
    described = SERVICE.methods_by_name[name].input_type
    fields = st.fixed_dictionaries({}, optional={f.name: value_of(f) for f in described.fields})
    kind = getattr(pb, described.name)
    return st.builds(lambda values: (name, kind(**values)), fields)


def seldom_wrong(task, counter, duty):
    """Return a call of a counter's life, so that some of them have a whole one."""
    session = Session(name=task)
    return st.sampled_from(
        [
            ('CreateTask', pb.CreateTaskRequest(session_name=task)),
            (
                'CreateCOPulseChanFreq',
                pb.CreateCOPulseChanFreqRequest(task=session, counter=counter, duty_cycle=duty),
            ),
            ('StartTask', pb.StartTaskRequest(task=session)),
            ('WriteCtrFreqScalar', pb.WriteCtrFreqScalarRequest(task=session, duty_cycle=duty)),
            ('StopTask', pb.StopTaskRequest(task=session)),
            ('ClearTask', pb.ClearTaskRequest(task=session)),
            ('WriteDigitalLines', pb.WriteDigitalLinesRequest(task=session, write_array=b'\1')),
        ]
    )


lives = st.builds(
    seldom_wrong,
    st.sampled_from(['a', 'b']),
    st.sampled_from(COUNTERS),
    st.sampled_from([0.25, 0.5]),
).flatmap(lambda calls: calls)
calls = st.lists(lives | st.sampled_from(METHODS).flatmap(requests_of), max_size=25)


def of(task, *names):
    """Return calls with a task `task` on the first counter."""
    session = Session(name=task)
    kinds = {
        'create': ('CreateTask', pb.CreateTaskRequest(session_name=task)),
        'counter': (
            'CreateCOPulseChanFreq',
            pb.CreateCOPulseChanFreqRequest(task=session, counter=COUNTERS[0], duty_cycle=0.5),
        ),
        'other': (
            'CreateCOPulseChanFreq',
            pb.CreateCOPulseChanFreqRequest(task=session, counter=COUNTERS[1], duty_cycle=0.5),
        ),
        'unicode': (
            'CreateCOPulseChanFreq',
            pb.CreateCOPulseChanFreqRequest(task=session, counter='Dev1/ctr²', duty_cycle=0.5),
        ),
        'long': (
            'CreateAIVoltageChan',
            pb.CreateAIVoltageChanRequest(task=session, physical_channel='Dev1/ai' + '9' * 5000),
        ),
        'line': (
            'WriteDigitalLines',
            pb.WriteDigitalLinesRequest(task=session, write_array=b'\1'),
        ),
        'start': ('StartTask', pb.StartTaskRequest(task=session)),
        'stop': ('StopTask', pb.StopTaskRequest(task=session)),
    }
    return [kinds[name] for name in names]


class Rig:
    """The service with outputs that are only written down."""

    def __init__(self):
        self.output, self.level = {}, {}
        self.cards = Cards(
            ('Dev1',), self.output.__setitem__, self.output.__setitem__, self.level.__setitem__
        )
        self.service = NidaqService(self.cards, lambda inputs: [0.0] * len(inputs))

    def call(self, name, request):
        """Make a call; return its answer, None when it was refused."""
        context = Context()
        try:
            return getattr(self.service, name)(request, context)
        except Refused:
            assert context.code is grpc.StatusCode.UNKNOWN
            assert int(dict(context.metadata)['ni-error']) < 0
            return None

    def expected(self):
        """Return the counters that running tasks have."""
        return {t.counter for t in self.cards.tasks.values() if t.running and t.counter}


@given(sequence=calls)
@example(sequence=of('a', 'create', 'counter', 'start', 'other', 'stop'))
@example(sequence=of('a', 'create', 'counter', 'start', 'other', 'start'))
@example(sequence=of('a', 'create', 'unicode'))
@example(sequence=of('a', 'create', 'long'))
@example(sequence=of('a', 'create', 'line'))
@example(sequence=of('a', 'create', 'counter', 'start') + of('b', 'create', 'counter', 'start'))
@fuzz(150)
def test_only_a_running_task_puts_something_out(sequence):
    rig = Rig()
    for name, request in sequence:
        rig.call(name, request)
        driven = {counter for counter, duty in rig.output.items() if duty}
        assert driven == rig.expected()
        assert driven <= set(COUNTERS) | {f'Dev1/ctr{i}' for i in range(4)}
        assert all(0.0 <= duty < 1.0 for duty in rig.output.values())
        assert '' not in rig.level
    rig.call('ResetDevice', pb.ResetDeviceRequest(device_name='Dev1'))
    assert not any(rig.output.values())


def test_tasks_and_their_channels_are_bounded():
    rig = Rig()
    for _ in range(10 * MAX_TASKS):
        rig.call('CreateTask', pb.CreateTaskRequest())
    assert len(rig.cards.tasks) == MAX_TASKS
    task = next(iter(rig.cards.tasks.values()))
    request = pb.CreateAIVoltageChanRequest(
        task=Session(name=task.name), physical_channel='Dev1/ai0'
    )
    answers = [rig.call('CreateAIVoltageChan', request) for _ in range(10 * MAX_CHANNELS)]
    assert len(task.inputs) == MAX_CHANNELS
    assert answers[MAX_CHANNELS - 1] is not None and answers[MAX_CHANNELS] is None
    assert rig.call('ClearTask', pb.ClearTaskRequest(task=Session(name=task.name))) is not None
    assert rig.call('CreateTask', pb.CreateTaskRequest()) is not None


# The wire ------------------------------------------------------------------------------------


class Wire:
    """A served emulator and a client that sends bytes as they are."""

    def __init__(self, emulator, port):
        self.emulator, self.port = emulator, port
        self.channel = grpc.insecure_channel(f'127.0.0.1:{port}')
        self.stub = nidaqmx_pb2_grpc.NiDAQmxStub(self.channel)

    def send(self, method, data):
        """Send bytes to a method; return the status, OK included."""
        call = self.channel.unary_unary(f'/{SERVICE.full_name}/{method}')
        try:
            call(data, timeout=20.0)
        except grpc.RpcError as error:
            return error.code(), dict(error.trailing_metadata() or ()), error.details()
        return grpc.StatusCode.OK, {}, ''

    def check(self):
        """Do as a driver does, and find the robot at rest."""
        answer = self.stub.GetDeviceAttributeUInt32(
            pb.GetDeviceAttributeUInt32Request(device_name='Dev1', attribute_raw=0x632),
            timeout=20.0,
        )
        assert answer.value
        assert np.abs(self.emulator.actuation(0.0)).max() == 0.0


@pytest.fixture(scope='module')
def wire():
    port = free_port()
    context = make_context('stiff_flop', 'nidaq', port)
    with serving(NidaqEmulator(context, time.monotonic())) as emulator:
        made = Wire(emulator, port)
        made.check()
        yield made
        made.channel.close()


PREFACE = b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
SETTINGS = b'\0\0\0\4\0\0\0\0\0'
HUGE = b'\xff\xff\xff\1\4\0\0\0\1' + bytes(1000)  # a frame of headers, 16 MB long as it says
pieces = st.sampled_from([PREFACE, PREFACE[:7], SETTINGS, HUGE, b'GET / HTTP/1.1\r\n\r\n'])


@given(parts=st.lists(pieces | st.binary(max_size=300), max_size=6))
@example(parts=[])
@example(parts=[PREFACE, HUGE])
@example(parts=[PREFACE, SETTINGS, b'\xff' * 70_000])
@fuzz(40)
def test_what_is_no_grpc_harms_nobody(wire, parts):
    send_and_hang_up(wire.port, b''.join(parts))
    wire.check()


@given(method=st.sampled_from(METHODS), data=st.binary(max_size=200))
@example(method='ReadAnalogF64', data=b'\x0a\xff\xff\xff\xff\x0f')  # a length beyond the end
@fuzz(100)
def test_bytes_that_are_no_request_are_refused(wire, method, data):
    code, metadata, details = wire.send(method, data)
    # What cannot be read is INTERNAL; what can be is refused with a code of the card.
    known = code in (grpc.StatusCode.OK, grpc.StatusCode.INTERNAL) or 'ni-error' in metadata
    assert known, (code, details)
    wire.check()


@given(method=st.sampled_from(OTHERS) | st.from_regex(r'\A[A-Za-z/]{1,30}\Z'))
@example(method='WriteAnalogF64')
@fuzz(60)
def test_methods_that_nobody_serves_are_unimplemented(wire, method):
    if method not in METHODS:
        assert wire.send(method, b'')[0] is grpc.StatusCode.UNIMPLEMENTED
    wire.check()


def test_a_request_that_is_too_large_is_refused(wire):
    request = pb.CreateTaskRequest(session_name='x' * 2**23).SerializeToString()
    assert wire.send('CreateTask', request)[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
    wire.check()


def test_connections_that_end_leave_nothing_open(wire):
    wire.check()
    before = open_files()
    for i in range(200):
        send_and_hang_up(wire.port, (PREFACE + SETTINGS) if i % 2 else bytes(50))
    wait_until(lambda: open_files() <= before + 2)
    wire.check()
