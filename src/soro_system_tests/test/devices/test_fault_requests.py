# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults of every emulated device: what the page says of them, and requests that are wrong."""

from __future__ import annotations

from importlib import import_module
from inspect import getsource
from pathlib import Path
import re

import numpy as np
import pytest

from soro_can_driver.emulator.device import CanEmulator
from soro_driver import endpoint
from soro_driver.can_port import CanPort
from soro_driver.settings import read_driver_settings
from soro_dspace_driver.emulator.device import DspaceEmulator
from soro_emulation.bus_faults import EmulatedBus
from soro_emulation.device_emulator import DeviceEmulator, EmulatorContext
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_emulation.injected_fault import whole_number
from soro_emulation.serial_pty import SerialPty
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.robot_file.catalogue import EXAMPLES, find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_rigs.event_log import read_events

PAGE = Path(__file__).resolve().parents[4] / 'docs/nodes/emulator.md'
SERIAL = ('serial_pty', 'serial_line')
MODELS = 'soro_mechanics.actuator_models.'
BENCH = ('pneumatic_bench', f'{MODELS}regulator', 'analog_input')
# Modules that read a device's section and its faults: of its own emulator, of soro_emulation.
MODULES = {
    'nidaq': (('device',), (*BENCH, 'safety_relay')),
    'dspace': (('device',), (f'{MODELS}creep', *BENCH, *SERIAL)),
    'stm32': (('device', 'muscle_bank'), SERIAL),
    'can': (('device',), ('bus_faults', 'haptic_plant', 'serial_line')),
    'simulated': (('device',), ()),
}
MOTOR = (
    '    motor: {inertia: 1e-5 kg m^2, limit: 1 N m, viscous: 1e-3 N m s/rad, friction: 1e-3 N m, '
    'stiffness: 5 N m/rad, damping: 0.1 N m s/rad}\n'
)
SHARED = {'actuator'}  # read by `injected_fault.actuator_index`


def emulator(device, module='device'):
    return import_module(f'soro_{device}_driver.emulator.{module}')


def faults_of(device):
    module = emulator(device)
    own = [k for k in vars(module).values() if getattr(k, '__module__', '') == module.__name__]
    (found,) = [k.faults for k in own if isinstance(k, type) and issubclass(k, DeviceEmulator)]
    return found


def sources(device):
    own, shared = MODULES[device]
    modules = [emulator(device, name) for name in own]
    modules += [import_module(n if '.' in n else f'soro_emulation.{n}') for n in shared]
    return '\n'.join(map(getsource, modules))


def rows(device):
    """Return (names, keys) of the items of a device's list of faults."""
    text = PAGE.read_text(encoding='utf-8')
    listed = text.split(f'\nOn `{device}`:\n\n- ')[1].split('\n\n')[0].split('\n- ')
    items = [
        re.match(r'((?:`\w+`(?:, )?)+)(?:\s\((.*?)\))?:\s', item, re.DOTALL) for item in listed
    ]
    return [(re.findall(r'`(\w+)`', m[1]), re.findall(r'`(\w+)`', m[2] or '')) for m in items]


@pytest.mark.parametrize('device', MODULES)
def test_the_page_names_every_fault_and_no_other(device):
    known = faults_of(device)
    names = [name for row, _ in rows(device) for name in row]
    assert sorted(names) == sorted(known)


@pytest.mark.parametrize('device', MODULES)
def test_the_page_names_every_key_of_a_fault(device):
    text = sources(device)
    read = set(re.findall(r"(?:finite|whole_number|choice)\(values, '(\w+)'", text))
    read |= set(re.findall(r"values\.get\('(\w+)'", text))
    read |= set(re.findall(r"parts\['(\w+)'\]", text))
    if device == 'can':
        read |= set(emulator('can').HAND_KEYS)
        read -= {'corruption'}  # controllers discard what is damaged: it is lost
    said = {key for _, keys in rows(device) for key in keys} - {'dspace'}
    assert said - SHARED == read - SHARED


@pytest.mark.parametrize('device', MODULES)
def test_the_page_names_every_key_of_the_section(device):
    part = PAGE.read_text(encoding='utf-8').split('## Section `emulator`')[1].split('\n## ')[0]
    keys = {k for row in re.findall(r'`([\w.]+)`', part) for k in row.split('.')}
    text = sources(device)
    read = re.findall(
        r'\b(?:section|s|item|root|device)\.(?:quantity|number|integer|vector|section|text)\(\s*'
        r"'(\w+)'",
        text,
    )
    read += re.findall(r"read_optional\(\s*\w+, '(\w+)'", text)
    fields = re.findall(r"^    (\w+): \S+ = given\((?:[^()]*key='(\w+)')?", text, re.MULTILINE)
    read += [key or name for name, key in fields]
    assert read and set(read) <= keys


@pytest.mark.parametrize('value', ['x', None, True, 1.5, float('nan'), -1, 10**12, [3]])
def test_numbers_of_things_are_whole_and_bounded(value):
    with pytest.raises(InvalidInput, match='count'):
        whole_number({'count': value}, 'count', 5, most=1000)
    assert whole_number({'count': 7.0}, 'count', 5, most=1000) == 7
    assert whole_number({}, 'count', 5, most=1000) == 5


@pytest.mark.parametrize('motor', ['', MOTOR])
def test_emulated_motors_stand_at_rest_before_they_are_armed(tmp_path, motor):
    """Not where the encoders read zero, which may be beyond the limits."""
    file = tmp_path / 'cranks.yaml'
    cranks = find_robot_file(EXAMPLES / 'crank_platform.yaml').read_text(encoding='utf-8')
    bench = Path(__file__).with_name('can_bench_driver.yaml').read_text(encoding='utf-8')
    text = cranks.partition('\nemulator:')[0] + '\n' + bench + motor
    rest = np.radians([10.0, -5.0, 3.0, 0.0, 7.0, -9.0])
    for i, at in enumerate(np.degrees(rest).round(), start=1):
        text = re.sub(rf'(name: motor_{i}, .*?rate: [^,]*)', rf'\1, rest: {at:g} deg', text)
    file.write_text(text.replace('zero: 0 0 0 0 0 0 deg', 'zero: 40 0 0 0 -20 0 deg'))
    device = device_of(file, CanEmulator)
    try:
        assert device.actuation(0.0) == pytest.approx(rest, abs=1e-9)
        device.inject('reboot', {})
        device.advance(0.1)
        assert device.actuation(0.1) == pytest.approx(rest, abs=1e-9)
    finally:
        device.stop()


def device_of(robot_name, make):
    robot = read_robot_file(find_robot_file(robot_name))
    settings = read_driver_settings(robot)
    properties = read_emulator_settings(robot, settings.device).device
    place = endpoint.Endpoint(0, Path('nowhere'))
    context = EmulatorContext(robot, settings.section, properties, place, 1, EventLog(''))
    return make(context, 0.0)


WRONG = [
    ('garbage', {'count': 'many'}),
    ('garbage', {'count': -1}),
    ('garbage', {'count': 1e300}),
    ('link', {'direction': ['both']}),
    ('link', {'direction': 'up'}),
    ('link', {'loss': 2}),
    ('link', {'burst': 1e300}),
]


@pytest.mark.parametrize(('fault', 'values'), WRONG)
def test_wrong_requests_of_a_link_change_nothing(fault, values):
    pty = SerialPty(Path('nowhere'), 115200, lambda f, now: [], lambda now: [], 1)
    place = endpoint.Endpoint(0, Path('nowhere'))
    port = CanPort('socketcand', 'can0', '', 0, 10**6, 10**6, 'classic')
    bus = EmulatedBus(port, place, lambda i, d: [(i, d)], lambda: [], 1)
    for each in (pty, bus):
        with pytest.raises(SoroError):
            each.inject(fault, values)
    assert list(bus.idle()) == [] and list(bus.receive(1, b'x')) == [(1, b'x')]


@pytest.mark.parametrize('key', ['protocol', 'channels'])
@pytest.mark.parametrize('value', [1e9, -1, 1.5, 'two'])
def test_what_a_device_claims_fits_its_frames(key, value):
    device = device_of('soft_parallel', DspaceEmulator)
    before = device._board.major, device._board.channels
    with pytest.raises(InvalidInput):
        device.inject(key, {'major': value, 'count': value})
    assert (device._board.major, device._board.channels) == before


def test_any_key_of_a_request_can_be_noted(tmp_path):
    log = EventLog(str(tmp_path / 'log'))
    log.write('fault', 1.0, fault='none', event='x', time_=2.0, t=3.0, other=np.pi)
    (event,) = read_events(tmp_path / 'log')
    assert (event['event'], event['t'], event['other']) == ('fault', 1.0, np.pi)
