# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Analog outputs beside counters: what reaches the card, what it refuses, what a stop does."""

from __future__ import annotations

import socket

import numpy as np
import pytest
from recording_card import GOOD, Regulated

from soro_driver.device import DeviceError
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.section import Section
from soro_nidaq_driver.emulator.card import CardError, Cards
from soro_nidaq_driver.emulator.server import NidaqServer, NidaqService
from soro_nidaq_driver.transport import NidaqTransport
from soro_nidaq_driver.wiring import read_wiring

BAR = 1e5
MIXED = GOOD | {
    'channels': {
        'a': {'feedback': 'Dev1/ai0', 'command': 'Dev1/ctr0'},
        'b': {'feedback': 'Dev2/ai3', 'command': 'Dev1/ao1', 'command_zero': '1 V'},
        'c': {'feedback': 'Dev1/ai2', 'command': 'Dev2/ao0'},
    }
}


def wiring_of(data):
    return read_wiring(Section(data, 'driver.nidaq'), Regulated())


@pytest.fixture
def unused_port():
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        return free.getsockname()[1]


@pytest.fixture
def transport(card):
    made = NidaqTransport(wiring_of(MIXED), f'127.0.0.1:{card.port}', 2.0)
    yield made
    made.close()


def volts(card):
    return [r.value for r in card.named('WriteAnalogScalarF64')]


def test_opening_makes_the_outputs_and_puts_them_to_zero(card, transport):
    transport.open()
    made = card.named('CreateAOVoltageChan')
    assert [(r.physical_channel, r.min_val, r.max_val) for r in made] == [
        ('Dev1/ao1', 0.0, 10.0),
        ('Dev2/ao0', 0.0, 10.0),
    ]
    assert volts(card) == [0.0, 0.0]
    assert [r.counter for r in card.named('CreateCOPulseChanFreq')] == ['Dev1/ctr0']
    assert {r.device_name for r in card.named('ResetDevice')} == {'Dev1', 'Dev2'}
    assert transport.applied.tolist() == [0.0, 0.0, 0.0]


def test_set_points_become_volts_of_outputs_and_duty_cycles_of_counters(card, transport):
    transport.open()
    transport.write(np.array([1.5 * BAR, 0.6 * BAR, 0.3 * BAR]))
    # 0.3 bar/V: 0.6 bar is 2 V above the zero of 1 V; the counter gets 5 V of 10 V.
    assert volts(card)[2:] == pytest.approx([3.0, 1.0])
    assert [r.value for r in card.named('SetChanAttributeDouble')] == pytest.approx([0.5])
    assert transport.applied == pytest.approx([1.5 * BAR, 0.6 * BAR, 0.3 * BAR])
    transport.write(np.array([1.5 * BAR, 0.6 * BAR, 9.0 * BAR]))  # beyond what there is
    assert volts(card)[4:] == [10.0]
    transport.stop_outputs()
    assert volts(card)[5:] == [0.0, 0.0]
    assert transport.applied.tolist() == [0.0, 0.0, 0.0]


def test_an_output_that_fails_leaves_the_others_stopped(card, transport):
    transport.open()
    transport.write(np.array([1.5 * BAR, 0.6 * BAR, 0.3 * BAR]))
    card.errors['WriteAnalogScalarF64'] = -200279
    before = len(card.named('StopTask'))
    with pytest.raises(DeviceError):
        transport.stop_outputs()
    assert len(card.named('StopTask')) == before + 1  # the counter
    assert len(volts(card)) == 4 + 2  # both were tried
    assert transport.applied[0] == 0.0 and np.isnan(transport.applied[1:]).all()


def test_values_that_are_none_reach_no_output(card, transport):
    transport.open()
    with pytest.raises(DeviceError, match='finite'):
        transport.write(np.array([0.0, np.nan, 0.0]))
    assert volts(card) == [0.0, 0.0]


class Emulated:
    """Emulated cards behind the unmodified client."""

    def __init__(self, port):
        self.outputs, self.level = {}, {}
        self.cards = Cards(
            ('Dev1', 'Dev2'), self.outputs.__setitem__, self.outputs.__setitem__,
            self.level.__setitem__,
        )  # fmt: skip
        self.server = NidaqServer(NidaqService(self.cards, lambda t: [1.0] * len(t)), port)


def test_the_emulated_card_keeps_a_voltage_until_it_is_reset(unused_port):
    emulated = Emulated(unused_port)
    emulated.server.start()
    transport = NidaqTransport(wiring_of(MIXED), f'127.0.0.1:{unused_port}', 2.0)
    try:
        transport.open()
        transport.write(np.array([1.5 * BAR, 0.6 * BAR, 0.3 * BAR]))
        driven = {k: v for k, v in emulated.outputs.items() if v}
        assert driven == pytest.approx({'Dev1/ctr0': 0.5, 'Dev1/ao1': 3.0, 'Dev2/ao0': 1.0})
        transport.disconnect()  # ends the tasks only: a counter stops, an analog output does not
        assert emulated.outputs['Dev1/ao1'] == pytest.approx(3.0)
        emulated.cards.reset('Dev1')
        assert (emulated.outputs['Dev1/ao1'], emulated.outputs['Dev2/ao0']) == (0.0, 1.0)
    finally:
        transport.close()
        emulated.server.stop()


def test_a_reset_ends_the_voltages_of_running_tasks():
    outputs = {}
    cards = Cards(('Dev1',), outputs.__setitem__, outputs.__setitem__, outputs.__setitem__)
    task, _ = cards.find_or_create('x')
    task.analog, task.limits = 'Dev1/ao0', (0.0, 10.0)
    cards.write_volts(task, 4.0)
    cards.reset('Dev1')
    assert outputs == {'Dev1/ao0': 0.0, 'Dev1/ao1': 0.0}
    for volts in (-0.1, 10.1):
        with pytest.raises(CardError):
            cards.write_volts(task, volts)


def test_an_emulated_card_is_as_large_as_its_wiring():
    outputs = {}
    wired = ['Dev1/ao7', 'Dev1/ctr5', 'Dev1/ai31', 'Dev1/port1/line2']
    takers = outputs.__setitem__, outputs.__setitem__, outputs.__setitem__
    cards = Cards(('Dev1', 'Dev2'), *takers, wired)
    for terminal, kind, count in (('ao7', 'ao', 2), ('ctr5', 'ctr', 4), ('ai31', 'ai', 16)):
        cards.check_terminal(f'Dev1/{terminal}', kind, count)
        for other in (f'Dev2/{terminal}', f'Dev1/{kind}30', f'Dev1/{kind}'):
            with pytest.raises(CardError):
                cards.check_terminal(other, kind, count)
    cards.check_terminal('Dev1/port1/line2', 'port0/line', 8)
    with pytest.raises(CardError):
        cards.check_terminal('Dev1/ao7', 'ai', 16)
    cards.reset('Dev1')
    assert outputs == {'Dev1/ao0': 0.0, 'Dev1/ao1': 0.0, 'Dev1/ao7': 0.0}


@pytest.mark.parametrize(
    ('change', 'path'),
    [
        ({'full_voltage': '12 V'}, 'driver.nidaq.full_voltage'),
        ({'channels': MIXED['channels'] | {'c': MIXED['channels']['b']}}, 'channels.c.feedback'),
        (
            {
                'channels': MIXED['channels']
                | {'c': {'feedback': 'Dev1/ai9', 'command': 'Dev1/ao'}}
            },
            'channels.c.command',
        ),
    ],
)
def test_wirings_that_are_none_are_refused(change, path):
    with pytest.raises(RobotFileError) as error:
        wiring_of(MIXED | change)
    assert error.value.path.endswith(path)
