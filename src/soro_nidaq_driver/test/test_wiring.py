# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section `driver.nidaq`: what it means, and what is refused."""

from __future__ import annotations

import pytest
from recording_card import GOOD, Regulated

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.section import Section
from soro_nidaq_driver.wiring import read_wiring


def test_wiring(wiring):
    assert wiring.cards == ('Dev1', 'Dev2')
    assert [c.feedback_scale for c in wiring.channels] == pytest.approx([3e4] * 3)
    assert [c.command for c in wiring.channels] == ['Dev1/ctr0', 'Dev2/ctr1', 'Dev1/ctr2']
    assert wiring.address == 'local'


def channel(**change):
    channels = {k: dict(v) for k, v in GOOD['channels'].items()}
    channels['b'] |= change
    return {'channels': channels}


@pytest.mark.parametrize(
    ('change', 'path'),
    [
        ({'address': 'somewhere'}, 'driver.nidaq.address'),
        ({'feedback_scale': '0.3 bar'}, 'driver.nidaq.feedback_scale'),
        ({'feedback_scale': '-1 bar/V'}, 'driver.nidaq.feedback_scale'),
        ({'command_scale': '0.1 bar/V'}, 'driver.nidaq.command_scale'),
        ({'command_zero': '6 V'}, 'driver.nidaq.command_scale'),
        (channel(command_zero='-1 V'), 'driver.nidaq.channels.b.command_zero'),
        (channel(feedback_scale='3 V'), 'driver.nidaq.channels.b.feedback_scale'),
        ({'pwm_frequency': '10 Hz'}, 'driver.nidaq.pwm_frequency'),
        ({'sensor_minimum': '11 V'}, 'driver.nidaq.sensor_maximum'),
        ({'heartbeat': 'Dev1/ai0'}, 'driver.nidaq.heartbeat'),
        ({'chanels': {}}, 'driver.nidaq.chanels'),
        ({'channels': {'a': GOOD['channels']['a']}}, 'driver.nidaq.channels.b'),
        (channel(feedback='Dev1/ctr0'), 'driver.nidaq.channels.b.feedback'),
        (channel(command='Dev1/ai0'), 'driver.nidaq.channels.b.command'),
        (channel(feedback='Dev1/ai0'), 'driver.nidaq.channels.b.feedback'),
        (channel(command='Dev1/ctr0'), 'driver.nidaq.channels.b.command'),
        ({'channels': GOOD['channels'] | {'d': {}}}, 'driver.nidaq.channels.d'),
    ],
)
def test_wrong_wiring_is_refused_with_its_path(change, path):
    with pytest.raises(RobotFileError) as error:
        read_wiring(Section(GOOD | change, 'driver.nidaq'), Regulated())
    assert error.value.path == path


@pytest.mark.parametrize('other', [{'quantity': 'length'}, {'minimum': -1e4}])
def test_only_pressures_that_are_none_at_zero_volt(other):
    with pytest.raises(RobotFileError, match='no pressure, or sucks'):
        read_wiring(Section(GOOD, 'driver.nidaq'), Regulated(**other))
