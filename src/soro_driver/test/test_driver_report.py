# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the diagnostics say where nobody can be sure that the outputs are safe."""

from __future__ import annotations

import pytest

from soro_driver.device import DeviceLost, DeviceState, Fault
from soro_driver.driver_report import device_status, loop_status
from soro_node.diagnostics import Level

UNSURE = 'emergency stop; device lost, outputs not confirmed safe'


def press(rig):
    rig.press()


def cut(rig):
    rig.device.fail = dict.fromkeys(('read', 'make_safe', 'open'), DeviceLost('cable'))


def lose(rig):
    cut(rig)
    assert rig.tick().state is DeviceState.UNCONFIGURED


@pytest.mark.parametrize('events', [(cut, press), (lose, press), (press, cut)])
def test_an_emergency_stop_does_not_hide_that_the_device_is_lost(rig, events):
    rig.armed()
    for event in events:
        event(rig)
    tick = rig.tick()
    held = Fault.STOPPED if lose in events else Fault(0)  # lost while it was armed
    assert tick.state is DeviceState.ESTOP and tick.faults == Fault.COMMUNICATION | held
    assert tick.reason.startswith('emergency stop; ') and 'cable' in tick.reason
    status = device_status(rig.loop, None)
    assert (status.level, status.message) == (Level.ERROR, UNSURE)
    assert status.values['faults'] == f'{Fault.COMMUNICATION | held:#010x}'
    assert status.values['not_made_safe'] == 'fake 1'


def test_an_emergency_stop_of_a_device_that_came_back_is_confirmed(rig):
    rig.armed()
    lose(rig)
    press(rig)
    rig.device.fail.clear()
    tick = rig.tick(60)
    assert tick.state is DeviceState.ESTOP and tick.faults == Fault.STOPPED
    assert tick.reason == 'emergency stop'
    assert device_status(rig.loop, None).message.startswith('emergency stop: release it')


def test_a_pass_that_does_not_end_is_an_error(rig, monkeypatch):
    rig.armed()
    monkeypatch.setattr(type(rig.loop.thread), 'running', True)
    rig.loop._step(0.0)
    longest = rig.device.open_timeout + rig.loop.settings.ttl
    rig.clock.now += longest - 0.01
    assert loop_status(rig.loop).level is Level.OK
    rig.clock.now += 0.02
    for status in (device_status(rig.loop, None), loop_status(rig.loop)):
        assert status.level is Level.ERROR
        assert status.message.startswith('control loop does not answer')
    rig.loop._step(0.0)
    assert loop_status(rig.loop).level is Level.OK
