# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the unmodified client sends to a card for each thing the driver does."""

from __future__ import annotations

import subprocess
import sys
import time

import grpc
import numpy as np
import pytest
from recording_card import GOOD, Regulated

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout, Flag
from soro_mechanics.robot_file.section import Section
from soro_nidaq_driver import client
from soro_nidaq_driver import transport as module
from soro_nidaq_driver.device import NidaqDevice
from soro_nidaq_driver.transport import duty_of, NidaqTransport, place_of
from soro_nidaq_driver.wiring import read_wiring

BAR = 1e5
TIMEOUT = 20.0  # s: no call is late by itself


@pytest.fixture
def patient(monkeypatch):
    """Let openings take their time: the card shares this process and its processor."""
    monkeypatch.setattr(module, 'OPEN_TIMEOUT', 10.0 * TIMEOUT)
    monkeypatch.setattr(module, 'RESET_TIMEOUT', 10.0 * TIMEOUT)


@pytest.fixture
def transport(card, wiring, patient):
    made = NidaqTransport(wiring, f'127.0.0.1:{card.port}', TIMEOUT)
    yield made
    made.close()


@pytest.mark.parametrize(
    ('pressure', 'duty'),
    [
        (0.0, 0.0),
        (-1.0, 0.0),
        (0.0059 * BAR, 0.0),  # duty 0.00197: below the shortest pulse
        (0.0061 * BAR, 0.0061 / 3.0),
        (1.5 * BAR, 0.5),  # 5 V of 10 V
        (2.9999 * BAR, 0.998),
        (9.0 * BAR, 0.998),
    ],
)
def test_duty_cycles(wiring, pressure, duty):
    assert duty_of(np.array([pressure, 0.0, 0.0]), wiring)[0] == pytest.approx(duty)


def test_duty_and_back(wiring):
    for pressure in np.linspace(0.02, 2.9, 50) * BAR:
        pressures = np.array([0.5, 1.0, 0.9]) * pressure
        duty = duty_of(pressures, wiring)
        assert wiring.pressures_of_duties(duty) == pytest.approx(pressures)


def test_opening_identifies_resets_and_starts_nothing(card, transport):
    identity = transport.open()
    assert identity.model == 'USB-6341 + USB-6341'
    assert identity.serial == '00001234 + 00001234'
    assert [r.device_name for r in card.named('ResetDevice')] == ['Dev1', 'Dev2']
    counters = card.named('CreateCOPulseChanFreq')
    assert [(c.counter, c.freq) for c in counters] == [
        ('Dev1/ctr0', 2000.0),
        ('Dev2/ctr1', 2000.0),
        ('Dev1/ctr2', 2000.0),
    ]
    assert all(c.idle_state_raw == 10214 for c in counters)  # DAQmx_Val_Low
    assert card.named('StartTask') == []
    # On-demand input: one task per card.
    inputs = [(r.task.name, r.physical_channel) for r in card.named('CreateAIVoltageChan')]
    assert [c for _, c in inputs] == ['Dev1/ai0', 'Dev1/ai2', 'Dev2/ai3']
    assert inputs[0][0] == inputs[1][0] != inputs[2][0]


def test_reading_scales_and_orders_by_actuator(card, transport):
    transport.open()
    card.volts = {'Dev1/ai0': 1.0, 'Dev2/ai3': 2.0, 'Dev1/ai2': 5.0}
    before = time.monotonic()
    at, pressure, valid = transport.read()
    assert before <= at <= time.monotonic()
    assert pressure == pytest.approx([0.3 * BAR, 0.6 * BAR, 1.5 * BAR])
    assert valid.all()
    card.volts = {'Dev1/ai0': -0.11, 'Dev2/ai3': 10.19, 'Dev1/ai2': 10.21}
    assert transport.read()[2].tolist() == [False, True, False]


@pytest.mark.usefixtures('patient')
def test_scales_and_zeros_of_one_channel(card):
    b = {
        'feedback_scale': '0.75 bar/V',
        'feedback_zero': '1 V',
        'command_zero': '2 V',
        'command_scale': '0.4 bar/V',
        **GOOD['channels']['b'],
    }
    good = GOOD | {'channels': GOOD['channels'] | {'b': b}}
    wiring = read_wiring(Section(good, 'driver.nidaq'), Regulated())
    transport = NidaqTransport(wiring, f'127.0.0.1:{card.port}', TIMEOUT)
    transport.open()
    card.volts = {'Dev1/ai0': 1.0, 'Dev2/ai3': 3.0, 'Dev1/ai2': 5.0}
    # 1 to 5 V for 0 to 3 bar; the others 0 to 10 V.
    assert transport.read()[1] == pytest.approx([0.3 * BAR, 1.5 * BAR, 1.5 * BAR])
    transport.write(np.array([1.5 * BAR, 1.6 * BAR, 0.0]))
    assert [r.value for r in card.named('SetChanAttributeDouble')] == pytest.approx([0.5, 0.6])
    assert transport.applied == pytest.approx([1.5 * BAR, 1.6 * BAR, 0.0])
    transport.stop_outputs()  # 0 V: below the zero of the command, no pressure
    assert transport.applied.tolist() == [0.0, 0.0, 0.0]
    transport.close()


def test_writing_starts_changes_and_stops_counters(card, transport):
    transport.open()
    transport.write(np.array([1.5 * BAR, 0.0, 0.0]))
    # The first pulse is the channel's: its duty cycle is set before the start.
    assert [r.value for r in card.named('SetChanAttributeDouble')] == [0.5]
    assert len(card.named('StartTask')) == 1
    transport.write(np.array([0.75 * BAR, 0.0, 0.0]))
    assert [r.duty_cycle for r in card.named('WriteCtrFreqScalar')] == [0.25]
    transport.write(np.array([0.75 * BAR, 0.0, 0.0]))  # unchanged: nothing is sent
    assert len(card.named('WriteCtrFreqScalar')) == 1
    assert transport.applied == pytest.approx([0.75 * BAR, 0.0, 0.0])
    transport.write(np.zeros(3))
    assert len(card.named('StopTask')) == 1
    assert transport.applied.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize('wanted', [0.0, 0.75, 1.5])
@pytest.mark.parametrize('call', ['StartTask', 'WriteCtrFreqScalar', 'StopTask'])
def test_a_call_whose_answer_was_lost_may_have_been_carried_out(card, transport, call, wanted):
    transport.open()
    before = {'StartTask': 0.0, 'WriteCtrFreqScalar': 1.5, 'StopTask': 1.5}[call]
    after = {'StartTask': 1.5, 'WriteCtrFreqScalar': 0.75, 'StopTask': 0.0}[call]
    transport.write(np.array([before * BAR, 0.0, 0.0]))
    card.errors[call] = -200474  # the time is over; who knows what the card has done
    with pytest.raises(DeviceTimeout):
        transport.write(np.array([after * BAR, 0.0, 0.0]))
    assert np.isnan(transport.applied[0]) and not transport.applied[1:].any()
    card.errors.clear()
    card.calls.clear()
    transport.write(np.array([wanted * BAR, 0.0, 0.0]))
    names = [name for name, _ in card.calls]
    if wanted == 0.0:
        assert names[-1] == 'StopTask'
    elif call == 'WriteCtrFreqScalar':  # it runs, with one duty cycle or the other
        assert names == ['WriteCtrFreqScalar']
    else:
        assert names.index('StopTask') < names.index('StartTask')
    assert transport.applied == pytest.approx([wanted * BAR, 0.0, 0.0])


def test_heartbeat_toggles_at_its_period(card, transport, wiring):
    transport.open()
    for i in range(20):
        transport.beat(100.0 + 0.01 * i)
    levels = [bool(any(r.write_array)) for r in card.named('WriteDigitalLines')]
    assert levels == [True, False, True, False]
    assert wiring.heartbeat_period == 0.05


def test_stopping_tries_every_counter(card, transport):
    transport.open()
    transport.write(np.array([BAR, BAR, BAR]))
    card.calls.clear()
    card.errors['StopTask'] = -200088
    with pytest.raises(DeviceError, match='-200088'):
        transport.stop_outputs()
    assert len(card.named('StopTask')) == 3


@pytest.mark.parametrize(
    ('code', 'kind', 'name'),
    [
        (-200279, DeviceError, 'SAMPLES_NO_LONGER_AVAILABLE'),
        (-200284, DeviceTimeout, 'SAMPLES_NOT_YET_AVAILABLE'),
        (-200474, DeviceTimeout, 'OPERATION_TIMED_OUT'),
        (-201190, DeviceLost, 'DEVICE_NOT_USABLE_UNTIL_USB_REPLUG'),
        (-201003, DeviceLost, 'DEV_CANNOT_BE_ACCESSED'),
        (-987654, DeviceError, '-987654'),
    ],
)
def test_codes_of_the_card(card, transport, code, kind, name):
    transport.open()
    card.errors['ReadAnalogF64'] = code
    with pytest.raises(DeviceError) as error:
        transport.read()
    assert type(error.value) is kind
    assert str(code) in str(error.value) and name in str(error.value)


@pytest.mark.usefixtures('patient')
def test_a_server_that_does_not_answer_costs_one_timeout(card, wiring):
    transport = NidaqTransport(wiring, f'127.0.0.1:{card.port}', 1.0)
    transport.open()
    card.block.clear()
    card.limits.clear()
    with pytest.raises(DeviceTimeout, match='DEADLINE_EXCEEDED'):
        transport.read()
    assert len(card.limits) == 1
    with pytest.raises(DeviceTimeout):
        transport.stop_outputs()
    assert len(card.limits) == 2
    transport.close()
    assert len(card.limits) == 3
    assert max(left for _, left in card.limits) < 1.5  # of the 1.0 s that were asked for, about


@pytest.mark.usefixtures('patient')
def test_opening_over_a_slow_link_has_an_end(card, wiring, monkeypatch):
    slow = NidaqTransport(wiring, f'127.0.0.1:{card.port}', TIMEOUT)
    card.delay = 0.02
    with monkeypatch.context() as patch:
        patch.setattr(module, 'OPEN_TIMEOUT', 0.3)
        with pytest.raises(DeviceTimeout, match='not done after 0.3 s'):
            slow.open()
    calls = len(card.calls)
    assert calls <= 0.3 / 0.02 + 1.0  # the last one may end after the limit
    with pytest.raises(DeviceLost, match='not connected'):
        slow.read()
    slow.close()
    card.delay = 0.0
    slow.open()
    slow.read()
    slow.close()
    assert len(card.calls) > 2 * calls


def test_a_card_that_takes_long_to_be_reset_is_opened(card, transport):
    transport.open()
    transport.read()
    left = dict(card.limits)
    assert left['ReadAnalogF64'] < 2.0 * TIMEOUT < left['ResetDevice']


def test_a_limit_on_several_calls_is_said_in_a_sentence(card):
    link = client.Link(f'127.0.0.1:{card.port}', TIMEOUT)
    system = client.import_client().system
    with pytest.raises(DeviceTimeout, match='answers too slowly'), link.within(0.0):
        system.Device('Dev1', grpc_options=link.options()).reset_device()
    assert card.calls == []
    system.Device('Dev1', grpc_options=link.options()).reset_device()  # the limit is over
    assert len(card.named('ResetDevice')) == 1
    link.close()


def test_a_call_is_prepared_once(card, monkeypatch):
    made, channel = [], grpc._channel.Channel
    prepare = channel.unary_unary

    def noted(channel, method, *arguments, **options):
        made.append(method)
        return prepare(channel, method, *arguments, **options)

    monkeypatch.setattr(channel, 'unary_unary', noted)
    link = client.Link(f'127.0.0.1:{card.port}', TIMEOUT)
    device = client.import_client().system.Device('Dev1', grpc_options=link.options())
    for _ in range(3):
        device.reset_device()
    assert len(card.named('ResetDevice')) == 3
    assert sum('ResetDevice' in method for method in made) == 1
    link.close()


def test_tasks_that_a_lost_link_left_on_the_server_are_cleared(card, transport):
    transport.open()
    made = set(card.tasks)
    assert len(made) == 6  # inputs of two cards, three counters, the heartbeat
    card.errors['ClearTask'] = -50405  # the link is lost: nothing can be given back
    transport.close()
    assert card.tasks == made
    card.errors.clear()
    transport.open()
    assert card.tasks == made
    # each of them new: what the lost one was in the middle of is gone
    cleared = [request.task.name for request in card.named('ClearTask')]
    assert made <= set(cleared)
    transport.read()


def test_no_server(wiring):
    transport = NidaqTransport(wiring, '127.0.0.1:1', 0.1)
    start = time.monotonic()
    with pytest.raises(DeviceLost, match='UNAVAILABLE'):
        transport.open()
    assert time.monotonic() - start < 2.0
    transport.close()


def test_what_is_not_open_neither_measures_nor_obeys(card, transport):
    for _ in range(2):
        with pytest.raises(DeviceLost, match='not connected'):
            transport.read()
        with pytest.raises(DeviceLost, match='not connected'):
            transport.write(np.zeros(3))
        with pytest.raises(DeviceLost, match='not connected'):
            transport.stop_outputs()
        transport.open()
        card.volts = {'Dev1/ai0': 1.0}
        transport.read()
        transport.close()


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_what_is_no_number_does_not_reach_the_card(card, transport, value):
    transport.open()
    transport.write(np.array([BAR, 0.0, 0.0]))
    card.calls.clear()
    with pytest.raises(DeviceError, match='not finite'):
        transport.write(np.array([0.5 * BAR, value, 0.0]))
    assert card.calls == []


def test_two_drivers_cannot_have_one_card(card, wiring, transport):
    transport.open()
    second = NidaqTransport(wiring, f'127.0.0.1:{card.port}', 0.1)
    resets = len(card.named('ResetDevice'))
    with pytest.raises(DeviceError, match='in use by process'):
        second.open()
    assert len(card.named('ResetDevice')) == resets
    second.close()
    transport.close()
    second.open()
    second.close()


def test_one_card_is_in_use_however_its_address_is_written(card, wiring, transport):
    transport.open()
    second = NidaqTransport(wiring, f'localhost:{card.port}', 0.1)
    with pytest.raises(DeviceError, match='in use by process'):
        second.open()
    second.close()


@pytest.mark.parametrize(
    ('address', 'place'),
    [
        ('local', 'local'),
        ('localhost:31763', 'local'),
        ('127.0.0.1:31763', 'local'),
        ('[::1]:31763', 'local'),
        ('LocalHost:20001', 'localhost:20001'),
        ('127.0.0.1:20001', 'localhost:20001'),
        ('Lab:31763', 'lab:31763'),
    ],
)
def test_places_of_cards(address, place):
    assert place_of(address) == place


def test_without_the_vendors_driver(wiring):
    transport = NidaqTransport(wiring, 'local', 0.1)
    with pytest.raises(DeviceError, match='Install the NI-DAQmx driver on this computer'):
        transport.open()
    transport.close()


def test_without_the_client_the_command_that_installs_it_is_named():
    code = (
        'import sys; sys.modules["nidaqmx"] = None\n'
        'from soro_nidaq_driver.device import NidaqDevice\n'
        'from soro_nidaq_driver.client import import_client\n'
        'try: import_client()\n'
        'except Exception as error: print(type(error).__name__, error)\n'
    )
    result = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=60
    )
    assert result.stdout.startswith('DeviceError')
    assert client.INSTALL in result.stdout


def wait_for_parted(device):
    """Wait until every supervisor that the device has parted from has ended."""
    for process in device._supervisor._parted:
        process.wait(20.0)


@pytest.fixture
def device(card, wiring):
    made = NidaqDevice(wiring, f'127.0.0.1:{card.port}')
    yield made
    made.close()
    wait_for_parted(made)


def wait_ready(device):
    deadline = time.monotonic() + 20.0
    while not device.ready():
        assert time.monotonic() < deadline


def test_device_reads_and_refuses_set_points_without_arming(card, device):
    device.open()
    card.volts = {'Dev1/ai0': 1.0, 'Dev2/ai3': -3.0, 'Dev1/ai2': 0.0}
    reading = device.read()
    assert reading.measured[0] == pytest.approx(0.3 * BAR) and np.isnan(reading.measured[1])
    assert reading.flags.tolist() == [0, Flag.SENSOR_FAULT, 0]
    with pytest.raises(DeviceError, match='without arming'):
        device.write(np.zeros(3), 0.2)


def test_device_armed_written_and_made_safe(card, device):
    device.open()
    wait_ready(device)
    device.arm()
    device.write(np.array([BAR, 0.0, 0.0]), 0.2)
    assert device.read().applied[0] == pytest.approx(BAR)
    device.make_safe()
    assert device.read().applied[0] == 0.0
    assert len(card.named('StopTask')) == 3
    with pytest.raises(DeviceError, match='without arming'):
        device.write(np.array([BAR, 0.0, 0.0]), 0.2)


def test_a_counter_that_cannot_be_stopped_gets_its_card_reset(card, device):
    device.open()
    wait_ready(device)
    device.arm()
    device.write(np.array([BAR, 0.0, 0.0]), 0.2)
    card.calls.clear()
    card.errors['StopTask'] = -200088
    card.delays['ResetDevice'] = 0.1  # longer than another call may take
    with pytest.raises(DeviceError) as error:
        device.make_safe()
    assert type(error.value) is DeviceError  # the counter's: the cards have been reset
    assert {r.device_name for r in card.named('ResetDevice')} == {'Dev1', 'Dev2'}


@pytest.mark.parametrize('call', ['ResetDevice', 'CreateAIVoltageChan', 'CreateCOPulseChanFreq'])
def test_a_reset_that_failed_leaves_no_measurements_behind(card, device, call):
    device.open()
    card.volts = {'Dev1/ai0': 1.0}
    assert np.isfinite(device.read().measured).any()
    card.errors[call] = -200474
    with pytest.raises(DeviceTimeout):
        device.reset()
    with pytest.raises(DeviceLost):
        device.read()
    del card.errors[call]
    device.close()
    device.open()
    assert device.read().measured[0] == pytest.approx(0.3 * BAR)


def test_the_supervisor_resets_the_cards_when_the_device_is_closed_unsafe(card, device):
    device.open()
    wait_ready(device)
    device.arm()
    device.write(np.array([BAR, 0.0, 0.0]), 0.2)
    card.calls.clear()
    device.close()  # as after a lost connection: not made safe before
    wait_for_parted(device)
    assert {r.device_name for r in card.named('ResetDevice')} == {'Dev1', 'Dev2'}


@pytest.fixture
def cut_off(card, device):
    """Return a device whose link went dead while an output was on; its driver has noticed."""
    device.open()
    wait_ready(device)
    device.arm()
    device.write(np.array([BAR, 0.0, 0.0]), 0.2)
    card.block.clear()
    with pytest.raises(DeviceTimeout):
        device.make_safe()
    device.close()
    return device


def test_the_supervisor_stays_while_the_link_is_dead(card, cut_off):
    (supervisor,) = cut_off._supervisor._parted
    with pytest.raises(DeviceTimeout):
        cut_off.open()
    cut_off.close()
    assert supervisor.poll() is None
    card.calls.clear()
    card.block.set()
    wait_for_parted(cut_off)
    assert {r.device_name for r in card.named('ResetDevice')} == {'Dev1', 'Dev2'}


def test_the_supervisor_goes_when_the_cards_have_been_reset(card, device, monkeypatch):
    def dismiss():
        card.calls.append(('dismissed', None))
        return True  # its last reset may still be under way

    monkeypatch.setattr(device._supervisor, 'dismiss', dismiss)
    device.open()
    steps = [n for n, _ in card.calls if n in ('ResetDevice', 'dismissed', 'CreateTask')]
    assert steps[:6] == [*['ResetDevice'] * 2, 'dismissed', *['ResetDevice'] * 2, 'CreateTask']


def test_the_supervisor_goes_quietly_after_make_safe(card, device):
    device.open()
    wait_ready(device)
    device.arm()
    device.make_safe()
    card.calls.clear()
    device.close()
    wait_for_parted(device)
    assert card.named('ResetDevice') == []


def test_arming_is_refused_when_the_supervisor_was_killed_and_a_new_one_starts(card, device):
    device.open()
    wait_ready(device)
    device.arm()
    device._supervisor._process.kill()
    device._supervisor._process.wait()
    with pytest.raises(DeviceError, match='supervisor process is gone'):
        device.write(np.array([BAR, 0.0, 0.0]), 0.2)
    device.make_safe()
    wait_ready(device)
    device.arm()
