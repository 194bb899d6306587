# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The safety state: every way in, every way out, and no way round."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from soro_driver.device import DeviceState, Fault
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.safety.safety_state import SafetyState
from soro_mechanics.core.status import Code

STATES = {
    DeviceState.UNCONFIGURED: [],
    DeviceState.INACTIVE: ['opened'],
    DeviceState.ACTIVE: ['opened', 'arm'],
    DeviceState.SAFE: ['opened', 'arm', 'begin_safe'],
    DeviceState.FAULT: ['opened', 'arm', 'fault'],
    DeviceState.ESTOP: ['opened', 'arm', 'estop'],
}


def press(safety: SafetyState) -> None:
    safety.latches.press('button')
    safety.press_estop()


def release(safety: SafetyState) -> None:
    safety.latches.let_go('button')


EVENTS = {
    'opened': lambda s: s.opened(),
    'lost': lambda s: s.lost('lost'),
    'arm': lambda s: s.arm(),
    'disarm': lambda s: s.disarm(),
    'begin_safe': lambda s: s.begin_safe('silent'),
    'end_safe': lambda s: setattr(s, 'safe_done', True),
    'engage': lambda s: s.engage(),
    'fault': lambda s: s.fault(Fault.SENSOR, 'sensor'),
    'estop': lambda s: (press(s), s.latch_estop()),
    'release': lambda s: release(s),
    'hold': lambda s: (s.latches.stop('stopped'), s.begin_safe('stopped')),
    'clear': lambda s: s.clear(),
}


def apply(safety: SafetyState, *events: str) -> SafetyState:
    for event in events:
        EVENTS[event](safety)
    return safety


def in_state(state: DeviceState) -> SafetyState:
    safety = apply(SafetyState(), *STATES[state])
    assert safety.state is state
    return safety


def test_states_have_the_values_of_the_message():
    from soro_msgs.msg import ActuatorState

    for state in DeviceState:
        assert getattr(ActuatorState, state.name) == state


@pytest.mark.parametrize('state', DeviceState)
def test_estop_latches_in_every_state(state):
    safety = in_state(state)
    press(safety)
    safety.latch_estop()
    assert safety.state is DeviceState.ESTOP
    release(safety)
    assert not safety.latch_estop()
    assert safety.state is DeviceState.ESTOP


@pytest.mark.parametrize('state', DeviceState)
def test_an_estop_that_is_released_before_it_was_latched_latches(state):
    safety = in_state(state)
    press(safety)
    release(safety)
    safety.latch_estop()
    assert safety.state is DeviceState.ESTOP


@pytest.mark.parametrize('state', DeviceState)
def test_losing_the_device_disarms_in_every_state(state):
    safety = in_state(state)
    safety.lost('cable')
    safety.opened()
    assert not safety.armed
    was_armed = state in (DeviceState.ACTIVE, DeviceState.SAFE)
    assert ('device lost: cable' in safety.reason) is was_armed
    with_latch = {DeviceState.FAULT: DeviceState.FAULT, DeviceState.ESTOP: DeviceState.ESTOP}
    assert safety.state is with_latch.get(state, DeviceState.INACTIVE)


@pytest.mark.parametrize(
    ('state', 'code'),
    [
        (DeviceState.UNCONFIGURED, Code.NOT_ACTIVE),
        (DeviceState.FAULT, Code.DEVICE_FAULT),
        (DeviceState.ESTOP, Code.NOT_ACTIVE),
    ],
)
def test_arming_is_refused_with_what_to_do(state, code):
    safety = in_state(state)
    with pytest.raises(NotAllowed) as error:
        safety.arm()
    assert error.value.code is code
    assert safety.state is state


def test_safe_accepts_commands_only_when_its_action_has_ended():
    safety = in_state(DeviceState.SAFE)
    assert not safety.accepts_commands
    safety.engage()
    assert safety.state is DeviceState.SAFE
    safety.safe_done = True
    assert safety.accepts_commands
    safety.engage()
    assert safety.state is DeviceState.ACTIVE


@pytest.mark.parametrize('state', DeviceState)
def test_after_a_stop_nothing_moves_before_it_is_cleared(state):
    safety = in_state(state)
    safety.latches.stop('stopped')
    safety.begin_safe('stopped')
    safety.safe_done = True
    assert safety.present_faults & Fault.STOPPED
    safety.engage()
    for event in ('opened', 'disarm', 'arm'):
        with contextlib.suppress(NotAllowed):
            apply(safety, event)
        assert not safety.accepts_commands and safety.state is not DeviceState.ACTIVE
    release(safety)
    safety.clear()
    assert not safety.present_faults & Fault.STOPPED
    safety.opened()
    safety.arm()
    assert safety.accepts_commands


def test_clear_is_refused_while_the_estop_is_pressed():
    safety = in_state(DeviceState.ESTOP)
    with pytest.raises(NotAllowed, match='pressed'):
        safety.clear()
    release(safety)
    safety.clear()
    assert safety.state is DeviceState.INACTIVE


def test_an_estop_that_is_pressed_while_faults_are_cleared_is_not_lost():
    safety = in_state(DeviceState.ESTOP)
    release(safety)
    press(safety)
    release(safety)
    safety.clear()
    assert safety.latch_estop()
    assert safety.state is DeviceState.ESTOP


def test_the_first_cause_is_the_one_that_is_told():
    safety = in_state(DeviceState.ACTIVE)
    assert safety.fault(Fault.OVER_LIMIT, 'too much pressure')
    assert not safety.fault(Fault.OVER_LIMIT, 'again')
    assert safety.fault(Fault.TRACKING, 'does not follow')
    assert safety.reason == 'too much pressure'
    assert safety.faults == Fault.OVER_LIMIT | Fault.TRACKING


@pytest.mark.parametrize('events', [('lost', 'estop'), ('estop', 'lost')])
def test_a_loss_is_told_beside_what_is_latched(events):
    safety = apply(in_state(DeviceState.ACTIVE), *events)
    assert safety.reason == 'emergency stop; lost'
    held = Fault.STOPPED if events[0] == 'lost' else Fault(0)  # lost while it was armed
    assert safety.present_faults == Fault.COMMUNICATION | held
    safety.opened()
    assert safety.reason == 'emergency stop' and safety.present_faults == held
    safety = apply(in_state(DeviceState.FAULT), 'lost')
    assert safety.reason == 'sensor; lost'
    assert safety.present_faults == Fault.SENSOR | Fault.COMMUNICATION


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(sorted(EVENTS)), max_size=12))
def test_nothing_becomes_active_without_arming_after_the_last_trouble(events):
    """Whatever happens in whatever order: ACTIVE needs an arm after every trouble."""
    safety = SafetyState()
    armed_since_trouble = False
    for event in events:
        try:
            EVENTS[event](safety)
        except NotAllowed:
            continue
        if event == 'arm':
            armed_since_trouble = True
        elif event in ('lost', 'fault', 'estop', 'disarm', 'opened', 'clear', 'hold'):
            armed_since_trouble = False
        if safety.accepts_commands:
            assert armed_since_trouble
